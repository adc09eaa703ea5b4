"""A small network that classifies observations: a judge of generated images."""

from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn
from torch.nn import functional as F

from .._params import (
    PositiveFloat,
    PositiveInt,
    RandomStateLike,
    Sizes,
    constraints_of,
    fit_context,
)
from ._data import Layout, find_layout
from ._seeding import seeded


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Three convolutions, or two dense layers for rows, trained by cross-entropy.

    Parameters
    ----------
    image_shape : tuple of int or None, default=None
        Shape of one observation, of which X holds flattened rows: (H, W), (C, H, W) or
        (H, W, C). None takes X as rows.
    max_iter : int, default=300
        Optimiser steps.
    batch_size : int, default=64
        Rows per step.
    lr : float, default=1e-3
        Learning rate of Adam.
    random_state : int, RandomState instance or None, default=None
        Determines initial weights and the rows of every step.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    module_ : torch.nn.Module
        The network; its outputs are logits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models._classifier import ImageClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = ImageClassifier(image_shape=(8, 8), max_iter=100, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.8
    True
    """

    def __init__(
        self,
        *,
        image_shape: Sizes | None = None,
        max_iter: PositiveInt = 300,
        batch_size: PositiveInt = 64,
        lr: PositiveFloat = 1e-3,
        random_state: RandomStateLike = None,
    ) -> None:
        self.image_shape = image_shape
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.lr = lr
        self.random_state = random_state

    _parameter_constraints: dict[str, list[Any]] = constraints_of(__init__)  # type: ignore[arg-type]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Observations, flattened.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
        """
        rows, labels = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(labels)
        self.classes_, classes = np.unique(labels, return_inverse=True)
        self._centre, self._scale = float(rows.mean()), float(rows.std()) or 1.0
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        layout = self._layout()
        with seeded(seed):
            self.module_ = _make_network(layout.input_shape, len(self.classes_))
        optimizer = torch.optim.Adam(self.module_.parameters(), lr=self.lr, fused=True)
        generator = torch.Generator().manual_seed(seed)
        images, targets = self._to_tensor(rows), torch.from_numpy(classes)
        size = min(self.batch_size, len(rows))
        for _ in range(self.max_iter):
            batch = torch.randint(len(rows), (size,), generator=generator)
            optimizer.zero_grad()
            F.cross_entropy(self.module_(images[batch]), targets[batch]).backward()
            optimizer.step()
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Observations, flattened.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        images = self._to_tensor(validate_data(self, X, dtype=np.float32, reset=False))
        with torch.inference_mode():
            logits = torch.cat([self.module_(part) for part in images.split(1024)])
            return torch.softmax(logits, dim=1).numpy()

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Observations, flattened.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _layout(self) -> Layout:
        if self.image_shape is None:
            return Layout((self.n_features_in_,), "flat")
        return find_layout(tuple(self.image_shape))

    def _to_tensor(self, X: NDArray[np.float32]) -> torch.Tensor:
        rows = torch.from_numpy((X - self._centre) / self._scale)
        return self._layout().to_module(rows).contiguous()


def _make_network(input_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    layers: list[Any] = []
    if len(input_shape) == 3:
        channels = (input_shape[0], 16, 32, 32)
        for n_in, n_out in pairwise(channels):
            layers += [nn.Conv2d(n_in, n_out, 3, stride=2, padding=1), nn.ReLU()]
    layers.append(nn.Flatten())
    with torch.no_grad():
        n_values = nn.Sequential(*layers)(torch.zeros(1, *input_shape)).shape[1]
    layers += [nn.Linear(n_values, 64), nn.ReLU(), nn.Linear(64, n_classes)]
    return nn.Sequential(*layers)
