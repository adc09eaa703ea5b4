"""A network that classifies all factors at once: a judge of generated images."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from .._arrays import as_array, is_missing
from .._lazy import FlatRows
from .._memory import freed_memory_kept
from .._params import (
    AtLeastTwo,
    OpenShare,
    PositiveFloat,
    PositiveInt,
    RandomStateLike,
    Sizes,
    constraints_of,
    fit_context,
    readable,
)
from ..exceptions import TrainingDivergedError
from ._data import Layout, as_rows, check_lazy, check_outputs, find_layout
from ._seeding import seeded

_CHUNK = 256  # rows judged at a time
_SMALLEST_SIDE = 4  # convolutions halve images until a side is as short as this
_MIN_STEPS = 25  # of an epoch: with few rows, a pass over them is too short to see a plateau
_DECAY = 0.98  # of the mean of the weights over steps
_N_RATES = 3  # plateaus until training ends; at each but the last one the learning rate falls
_FALL = 0.3  # what it is multiplied by


class FactorClassifier(ClassifierMixin, BaseEstimator):
    """Classify all factors of an image by one network: a shared trunk, and a head per factor.

    It is the judge of :func:`~sklearn_disent.metrics.counterfactual_generativeness_score`. Some of
    the rows are held out; training goes on until the loss on them no longer falls, at three
    learning rates, and ends with the weights (a mean over steps) that were best. The accuracy of
    each factor on the rows held out tells what the judge is worth.

    Parameters
    ----------
    image_shape : tuple of int or None, default=None
        Shape of one image if rows are images: (height, width), (channels, height, width) or
        (height, width, channels). None takes the shape from X: images of an array of three or more
        dimensions, else rows.
    max_epochs : int, default=100
        Epochs of every call to ``fit`` or ``partial_fit``, at most.
    n_epochs_no_change : int, default=3
        Epochs without a lower loss on the rows held out that make a plateau.
    validation_fraction : float, default=0.15
        Share of the rows that are held out.
    batch_size : int, default=64
        Rows per step, at least two: normalization is over the batch.
    lr : float, default=1e-3
        First learning rate of Adam.
    random_state : int, RandomState instance or None, default=None
        Determines initial weights, the rows that are held out and the order of the others.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of such for several factors
        The classes.
    accuracy_ : ndarray of shape (n_factors,)
        Share of the rows held out that are classified rightly.
    chance_ : ndarray of shape (n_factors,)
        The accuracy of answering with the class that is most frequent among the rows trained on.
    n_epochs_ : int
        Epochs trained for.
    module_ : torch.nn.Module
        The network; its outputs are the logits of each factor.

    See Also
    --------
    sklearn_disent.metrics.CounterfactualGenerativenessScorer : Fits one and judges with it.

    Notes
    -----
    uint8 images stay as they are in memory and are divided by 255 a batch at a time, unless they
    are 0 and 1 only. Images have stride-2 convolutions with batch normalization until they are 4
    pixels high or wide; rows have two dense layers.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_dsprites
    >>> from sklearn_disent.models import FactorClassifier
    >>> positions = {"orientation": [0], "posX": [0, 15, 31], "posY": [0, 31]}
    >>> sprites = make_dsprites(factors=positions, image_size=32, random_state=0)
    >>> judge = FactorClassifier(max_epochs=2, random_state=0)
    >>> judge.fit(sprites.images, sprites.target[:, [3, 4]]).accuracy_.shape
    (2,)
    """

    classes_: Any

    def __init__(
        self,
        *,
        image_shape: Sizes | None = None,
        max_epochs: PositiveInt = 100,
        n_epochs_no_change: PositiveInt = 3,
        validation_fraction: OpenShare = 0.15,
        batch_size: AtLeastTwo = 64,
        lr: PositiveFloat = 1e-3,
        random_state: RandomStateLike = None,
    ) -> None:
        self.image_shape = image_shape
        self.max_epochs = max_epochs
        self.n_epochs_no_change = n_epochs_no_change
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.lr = lr
        self.random_state = random_state

    _parameter_constraints: dict[str, list[Any]] = constraints_of(__init__)  # type: ignore[arg-type]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.three_d_array = True
        return tags

    @readable
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, H, W), (n, C, H, W) or (n, H, W, C)
            Images or rows.
        y : array-like of shape (n_samples,) or (n_samples, n_factors)
            Classes of one factor or of several.

        Returns
        -------
        self : object
        """
        if y is None:
            raise ValueError("FactorClassifier requires y to be passed, but the target y is None.")
        labels = check_array(_labels(y), dtype=None, ensure_2d=False, input_name="y")
        several = labels.ndim == 2 and labels.shape[1] > 1
        one = column_or_1d
        columns = list(labels.T) if several else [one(labels, warn=labels.ndim == 2)]
        self.fit_factors(X, columns)
        if not several:
            (self.classes_,) = self.classes_
        return self

    def fit_factors(
        self, X: ArrayLike, columns: Sequence[NDArray], rows: NDArray[np.intp] | None = None
    ) -> Self:
        """Train on some rows of X, which are not copied; labels may differ in type by factor.

        Parameters
        ----------
        X : array-like
            Images or rows.
        columns : sequence of ndarray of shape (n_samples,)
            Classes of each factor.
        rows : ndarray of int or None, default=None
            Which rows to use; None means all.

        Returns
        -------
        self : object
        """
        values = self._read(X, columns[0], reset=True)
        for column in columns:
            check_classification_targets(column)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = np.arange(len(values)) if rows is None else rows
        known = [np.unique(column[rows], return_inverse=True) for column in columns]
        self.classes_ = [classes for classes, _ in known]
        order = np.random.default_rng(seed).permutation(len(rows))
        if len(rows) < 2:
            raise ValueError(
                f"FactorClassifier must have at least 2 rows, got {len(rows)}: one is held out, to "
                "see how good the classifier is. Pass more rows."
            )
        n_held_out = min(max(1, round(self.validation_fraction * len(rows))), len(rows) - 1)
        data = _Labeled(self, values, rows, np.column_stack([inverse for _, inverse in known]))
        self._scale = 1.0
        if values.dtype == np.uint8 and max(v.max() for v in data.blocks()) > 1:
            self._scale = 1 / 255
        with np.errstate(over="ignore", invalid="ignore"):
            self._centre, self._spread = _moments(data.blocks(), self._scale)
        with seeded(seed):
            sizes = [len(classes) for classes in self.classes_]
            self.module_ = _Network(self._layout.input_shape, sizes)
        with freed_memory_kept():
            self._train(data, order[n_held_out:], order[:n_held_out], seed)
        self._assess(data, order[n_held_out:], order[:n_held_out])
        return self

    def _train(self, data: "_Labeled", train: NDArray, held_out: NDArray, seed: int) -> None:
        """Epochs until the loss on the rows held out has not fallen at any learning rate."""
        generator, network = np.random.default_rng(seed), self.module_
        optimizer = torch.optim.Adam(network.parameters(), lr=self.lr, fused=True)
        # The mean over the last steps is better than the last step, and its loss less noisy.
        mean = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(_DECAY), use_buffers=True)
        best, best_weights, since, plateaus = np.inf, network.state_dict(), 0, 0
        self.n_epochs_ = 0
        while self.n_epochs_ < self.max_epochs:
            self.n_epochs_ += 1
            network.train()
            for batch in _batches(train, self.batch_size, generator):
                images, targets = data[batch]
                optimizer.zero_grad()
                _loss(network(images), targets).backward()
                optimizer.step()
                mean.update_parameters(network)
            loss = _held_out_loss(mean.module, data, held_out)
            since += 1
            if loss < best:
                best, since = loss, 0
                best_weights = {name: v.clone() for name, v in mean.module.state_dict().items()}
            if since >= self.n_epochs_no_change:
                plateaus, since = plateaus + 1, 0
                if plateaus == _N_RATES:
                    break
                for group in optimizer.param_groups:
                    group["lr"] *= _FALL
        if not np.isfinite(best):
            raise TrainingDivergedError(
                "FactorClassifier diverged: its loss on the rows held out was never finite. Use a "
                f"smaller lr than {self.lr:g}, and check X for values far from the others."
            )
        network.load_state_dict(best_weights)
        network.eval()

    @torch.inference_mode()
    def _assess(self, data: "_Labeled", train: NDArray, held_out: NDArray) -> None:
        """Accuracy on the rows held out, and that of the most frequent class."""
        right = np.zeros(len(self.classes_))
        for part in _parts(held_out):
            images, targets = data[part]
            answers = torch.stack([head.argmax(1) for head in self.module_(images)], dim=1)
            right += (answers == targets).sum(0).numpy()
        self.accuracy_ = right / len(held_out)
        frequent = [np.bincount(column).argmax() for column in data.classes[train].T]
        self.chance_ = (data.classes[held_out] == frequent).mean(axis=0)

    @readable
    def predict_proba(self, X: ArrayLike) -> Any:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like
            Images or rows, as in :meth:`fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or list of such
            One per factor, if there are several.
        """
        check_is_fitted(self)
        values = self._read(X, None, reset=False)
        found = self._probabilities(values, None)
        return found if isinstance(self.classes_, list) else found[0]

    def factor_proba(self, X: ArrayLike, factor: int) -> NDArray[np.float32]:
        """Probabilities of the classes of one factor; the other heads are not asked.

        Parameters
        ----------
        X : array-like
            Images or rows, as in :meth:`fit`.
        factor : int
            Which factor.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._probabilities(self._read(X, None, reset=False), factor)[0]

    @torch.inference_mode()
    def _probabilities(self, values: NDArray, factor: int | None) -> list[NDArray[np.float32]]:
        parts = []
        for start in range(0, len(values), _CHUNK):
            logits = self.module_(self._to_tensor(values[start : start + _CHUNK]), factor)
            parts.append([torch.softmax(head, dim=1) for head in logits])
        found = [torch.cat(heads).numpy() for heads in zip(*parts)]
        check_outputs(self, *found)
        return found

    @readable
    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable classes.

        Parameters
        ----------
        X : array-like
            Images or rows, as in :meth:`fit`.

        Returns
        -------
        classes : ndarray of shape (n_samples,) or (n_samples, n_factors)
        """
        probabilities = self.predict_proba(X)
        if not isinstance(self.classes_, list):
            return self.classes_[probabilities.argmax(axis=1)]
        pairs = zip(self.classes_, probabilities)
        return np.column_stack([classes[found.argmax(axis=1)] for classes, found in pairs])

    @readable
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Mean accuracy; of several factors, the mean over them.

        Parameters
        ----------
        X : array-like
            Images or rows, as in :meth:`fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_factors)
            True classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float
        """
        right = np.reshape(self.predict(X) == np.asarray(y), (len(np.asarray(y)), -1))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(right.mean(axis=1), weights=weights))

    def _read(self, X: ArrayLike, y: NDArray | None, *, reset: bool) -> NDArray:
        """Rows of X, unconverted; the layout is that of the images."""
        rows, shape = as_rows(X)
        least = 1 if y is None else 2
        validate = partial(
            validate_data, self, reset=reset, dtype="numeric", ensure_min_samples=least
        )
        if isinstance(rows, FlatRows):
            values: Any = check_lazy(rows, validate, "X")
        else:
            values = validate(rows)
        if y is not None:
            check_consistent_length(values, y)
        if values.dtype == bool:
            values = values.view(np.uint8)
        if reset:
            shape = shape if self.image_shape is None else tuple(self.image_shape)
            self._layout = find_layout(shape or (values.shape[1],))
            if int(np.prod(self._layout.input_shape)) != values.shape[1]:
                raise ValueError(
                    f"image_shape {tuple(shape or ())} has {np.prod(shape or ()):.0f} values, but "
                    f"X has {values.shape[1]} per image. Correct it, or leave it None."
                )
        return values

    def _to_tensor(self, values: NDArray) -> torch.Tensor:
        """Rows of a batch as the network's input."""
        with np.errstate(over="ignore"):  # what has no finite output is refused
            batch = torch.from_numpy(np.array(values, dtype=np.float32))
        scale = self._scale if values.dtype == np.uint8 else 1.0
        batch.mul_(scale / self._spread).sub_(self._centre / self._spread)
        layout: Layout = self._layout
        return layout.to_module(batch)


class _Labeled:
    """Some rows with their classes, fetched a batch at a time as tensors."""

    def __init__(
        self, judge: FactorClassifier, values: NDArray, rows: NDArray, classes: NDArray
    ) -> None:
        self.judge, self.values, self.rows, self.classes = judge, values, rows, classes

    def __getitem__(self, places: NDArray) -> tuple[torch.Tensor, torch.Tensor]:
        images = self.judge._to_tensor(self.values[self.rows[places]])
        return images, torch.from_numpy(self.classes[places])

    def blocks(self) -> Iterator[NDArray]:
        for part in _parts(self.rows):
            yield self.values[part]


class _Network(nn.Module):
    """Logits of every factor: convolutions, or a dense layer for rows, and a layer per factor."""

    def __init__(self, input_shape: tuple[int, ...], n_classes: Sequence[int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        if len(input_shape) == 3:
            side = min(input_shape[1:])
            channels = [input_shape[0], 32]
            while side > 2 * _SMALLEST_SIDE:
                side, channels = (side + 1) // 2, [*channels, 64]
            for n_in, n_out in pairwise(channels):
                convolution = nn.Conv2d(n_in, n_out, 3, stride=2, padding=1, bias=False)
                layers += [convolution, nn.BatchNorm2d(n_out), nn.ReLU()]
        layers.append(nn.Flatten())
        with torch.no_grad():
            n_values = nn.Sequential(*layers).eval()(torch.zeros(1, *input_shape)).shape[1]
        layers += [nn.Linear(n_values, 256), nn.ReLU()]
        self.trunk = nn.Sequential(*layers).train()
        self.heads = nn.ModuleList(nn.Linear(256, n) for n in n_classes)

    def forward(self, images: torch.Tensor, factor: int | None = None) -> list[torch.Tensor]:
        seen = self.trunk(images)
        return [head(seen) for head in (self.heads if factor is None else [self.heads[factor]])]


@torch.inference_mode()
def _held_out_loss(network: nn.Module, data: _Labeled, held_out: NDArray) -> float:
    network.eval()
    total = 0.0
    for part in _parts(held_out):
        images, targets = data[part]
        total += float(_loss(network(images), targets)) * len(part)
    return total / len(held_out)


def _labels(y: ArrayLike) -> NDArray:
    """Classes as an array, of objects that can be compared."""
    labels = as_array(y, "y")
    if labels.dtype == object and (labels.ndim == 0 or any(map(is_missing, labels.flat))):
        raise ValueError(
            "y must be an array of classes without missing values. Drop the rows without a class, "
            "and pass sparse matrices as y.toarray()."
        )
    return labels


def _loss(logits: Sequence[torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
    """Sum of the cross-entropies of all factors."""
    return torch.stack([F.cross_entropy(a, b) for a, b in zip(logits, targets.T)]).sum()


def _batches(
    rows: NDArray, size: int, generator: np.random.Generator
) -> Iterator[NDArray[np.intp]]:
    """Batches of one epoch in random order, all of the same size."""
    if len(rows) == 1:
        rows = np.repeat(rows, 2)  # normalization over a batch needs two
    size = min(size, len(rows))
    n_passes = -(-_MIN_STEPS // (len(rows) // size))
    for _ in range(n_passes):
        order = generator.permutation(rows)
        for start in range(0, len(order) - size + 1, size):
            yield order[start : start + size]


def _parts(rows: NDArray) -> Iterator[NDArray]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def _moments(blocks: Iterator[NDArray], scale: float) -> tuple[float, float]:
    """Mean and standard deviation of all values; the latter is 1 if all are equal."""
    n, total, squares = 0, 0.0, 0.0
    for block in blocks:
        values = block.astype(np.float64) * scale
        n, total = n + values.size, total + values.sum()
        squares += np.square(values).sum()
    mean = total / n
    return float(mean), float(np.sqrt(max(squares / n - mean**2, 0.0))) or 1.0
