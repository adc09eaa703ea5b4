"""A model that is trained by the logical definitions of modularity and informativeness."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from .._params import Array, LabelCount, PositiveInt, Weight
from ..exceptions import TrainingWarning
from ._base import BaseVAE
from ._data import check_units
from ._labels import check_enough_latents, find_sizes, keep_labels, read_labels
from ._module import Terms, VAEOutput
from ._partners import read_partners
from .terms import (
    contraction_term,
    diameter_term,
    gaussian_kl,
    mean_pairwise_term,
    pair_contraction,
    same_pair_term,
    variance_term,
)

_MODULARITY = {
    "variance": variance_term,
    "diameter": diameter_term,
    "mean_pairwise": mean_pairwise_term,
}


class ProductVAE(BaseVAE):
    """VAE that learns modular and informative codes from the labels of some rows.

    The loss is ``-E_q log p(x|z) + beta KL(q(z|x), N(0, I)) + lambda_m M + lambda_i I``. M is how
    much the codes of a factor vary while the factor does not; I is how much nearer two codes are
    than their factors. Both follow from logical definitions, of a product of functions and of an
    injection, and are zero where these hold.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=1.0
        Weight of the KL divergence.
    lambda_m : float or schedule, default=10.0
        Weight of modularity.
    lambda_i : float or schedule, default=10.0
        Weight of informativeness.
    modularity : {"variance", "mean_pairwise", "diameter"}, default="variance"
        How codes of one value of a factor vary.
    informativeness : {"mean", "max"}, default="mean"
        Which contraction over pairs of rows.
    groups : sequence of sequences of int or None, default=None
        Latents of every factor; None takes one each, in order. Latents outside all groups are free.
    supervision : {"labels", "pairs"}, default="labels"
        Whether labels are compared between all rows of a batch, or only between each row and the
        next: then all that is used is whether the two have the same value.
    n_labeled : int, float or None, default=None
        How many rows keep their labels, drawn at random: a count, or a share of those that have
        any. None keeps all.
    factor_distance : {"discrete", "range"}, default="discrete"
        Distance between values of a factor: 1 if they differ, or their difference as a share of
        the largest. "range" needs labels.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    Labels : Guides any model by labels, by regression or classification.
    Logic : Guides any model by a logical property.
    sklearn_disent.metrics.modularity_distance : M as a metric.
    sklearn_disent.metrics.informativeness_distance : I as a metric.

    Notes
    -----
    M and I are computed from the posterior means of the rows of a batch that have labels, and
    logged as ``train_modularity`` and ``train_informativeness``. M alone is zero for constant
    codes, which I prevents. Labels are classes 0, 1, ...; -1 and NaN mean unknown. With
    ``fit(X, X_pair=X_pair, same=same)`` pairs take the place of labels. The paper defines the
    quantities, as metrics and as objectives; this model is one way to train by them.

    With labels it is the VAE guided by two properties,
    ``guidance=[modularity_by_product().guidance(), informativeness_by_injectivity().guidance()]``
    (:class:`Logic`). It stays a class for what guidance cannot do: it encodes partner observations,
    takes factors that are unknown one by one, and leaves latents outside all groups out of I.

    "diameter" with "max" looks at one pair of rows of a batch each, and trains poorly: codes
    collapse, with a contraction of 0.71 where the means reach 0.3. ``fit`` warns.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: From logical definitions to quantitative
    metrics. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import ProductVAE
    >>> y = np.random.default_rng(0).integers(4, size=(300, 2))
    >>> X = np.eye(8)[y[:, 0]] + np.eye(8)[y[:, 1] + 4]
    >>> vae = ProductVAE(n_components=2, n_labeled=0.5, max_epochs=1, random_state=0).fit(X, y)
    >>> vae.transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 1.0,
        lambda_m: Weight = 10.0,
        lambda_i: Weight = 10.0,
        modularity: Literal["variance", "mean_pairwise", "diameter"] = "variance",
        informativeness: Literal["mean", "max"] = "mean",
        groups: Array | None = None,
        supervision: Literal["labels", "pairs"] = "labels",
        n_labeled: LabelCount | None = None,
        factor_distance: Literal["discrete", "range"] = "discrete",
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.lambda_m = lambda_m
        self.lambda_i = lambda_i
        self.modularity = modularity
        self.informativeness = informativeness
        self.groups = groups
        self.supervision = supervision
        self.n_labeled = n_labeled
        self.factor_distance = factor_distance

    _own_metadata = ("X_pair", "same")
    _state_names = ("_sizes", "_columns")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless pairs are given
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_pair: Any = None,
        same: ArrayLike | None = None,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Train the module.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, H, W), (n, C, H, W) or (n, H, W, C)
            Observations: NumPy array, memory map, torch tensor, DataFrame or nested list.
        y : array-like of shape (n,) or (n, n_factors) or None, default=None
            Classes, NaN or -1 where unknown. The model does not use them if pairs are given.
        X_pair : array-like of the shape of X, default=None
            Partner of each observation.
        same : array-like of shape (n, n_factors), default=None
            Whether both of a pair have the same value of a factor: 1, 0, or -1 where unknown.
        boxes, mask : array-like or None, default=None
            Regions of the images, for a guidance that reads them (:class:`Regions`).
        **metadata : dict
            What other guidance reads, one entry per observation.

        Returns
        -------
        self : object
        """
        metadata |= {"X_pair": X_pair, "same": same, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not (self.warm_start and self.initialized_), **metadata)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        X_pair: Any = None,
        same: ArrayLike | None = None,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Train for ``max_epochs`` further epochs.

        Parameters
        ----------
        X : array-like
            Observations, as in :meth:`fit`.
        y : array-like or None, default=None
            Labels, as in :meth:`fit`.
        classes : None, default=None
            Not used; skorch's callers pass it.
        X_pair, same : array-like or None, default=None
            Pairs, as in :meth:`fit`.
        boxes, mask : array-like or None, default=None
            As in :meth:`fit`.
        **metadata : dict
            As in :meth:`fit`.

        Returns
        -------
        self : object
        """
        metadata |= {"X_pair": X_pair, "same": same, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not self.initialized_, **metadata)

    def _read_extras(
        self, rows: NDArray, y: Any, metadata: dict[str, Any], *, reset: bool
    ) -> dict[str, Any]:
        extras = super()._read_extras(rows, y, metadata, reset=reset)
        if self.modularity == "diameter" and self.informativeness == "max":
            warnings.warn(
                "modularity='diameter' with informativeness='max' trains on two pairs of rows per "
                "batch, and codes tend to collapse. Use 'variance' with 'mean'.",
                TrainingWarning,
                stacklevel=5,
            )
        X_pair, same = metadata["X_pair"], metadata["same"]
        if (X_pair is None) != (same is None):
            raise ValueError("Pass X_pair and same together: partners, and what they share.")
        if X_pair is not None:
            known = read_labels(same, len(rows), classes=True)
            if (known > 1).any():
                raise ValueError(f"same must be 1, 0, or -1 where unknown, got {np.nanmax(known)}.")
            partners = read_partners(X_pair, rows)
            self._check_range(partners, self._layout, reset=reset)
            check_units(partners, self._units)
            extras["partners"] = partners
        else:
            known = read_labels(y, len(rows), classes=True)
            self._sizes = find_sizes(known, None)
        check_enough_latents(known.shape[1], self.n_components)
        self._columns = read_groups(self.groups, known.shape[1], self.n_components)
        known = keep_labels(known, self.n_labeled, self.random_state)
        name = "labels" if X_pair is None else "same"
        return {**extras, name: np.where(np.isnan(known), -1, known).astype(np.int64)}

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        terms: Terms = {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }
        if "same" in extras:
            same = extras["same"].to(self.device)
            partners = self.module_.encode(self._to_tensor(extras["partners"], self._layout))[0]
            return {**terms, **self._pair_terms(same, output.mean, partners)}
        labels = extras["labels"].to(self.device)
        known = (labels >= 0).any(1)
        labels, codes = labels[known], output.mean[known]
        if len(labels) < 2:
            return terms
        if self.supervision == "labels":
            return {**terms, **self._label_terms(labels, codes)}
        others = labels.roll(1, 0)
        same = torch.where((labels < 0) | (others < 0), -1, (labels == others).long())
        return {**terms, **self._pair_terms(same, codes, codes.roll(1, 0))}

    def _label_terms(self, labels: Tensor, codes: Tensor) -> Terms:
        modularity = _MODULARITY[self.modularity](labels, codes, groups=self._columns)
        terms: Terms = {"modularity": (self.lambda_m, modularity)}
        complete = (labels >= 0).all(1)
        if complete.any():
            values = factor_values(labels[complete], self._sizes, self.factor_distance)
            contraction = contraction_term(
                values, self._factor_codes(codes[complete]), aggregate=self.informativeness
            )
            terms["informativeness"] = (self.lambda_i, contraction)
        return terms

    def _pair_terms(self, same: Tensor, codes: Tensor, partners: Tensor) -> Terms:
        modularity = same_pair_term(
            same == 1, codes, partners, groups=self._columns, deviation=self.modularity
        )
        terms: Terms = {"modularity": (self.lambda_m, modularity)}
        complete = (same >= 0).all(1)
        if complete.any():
            contraction = pair_contraction(
                same[complete],
                self._factor_codes(codes[complete]),
                self._factor_codes(partners[complete]),
            )
            value = getattr(contraction, self.informativeness)()
            terms["informativeness"] = (self.lambda_i, value)
        return terms

    def _factor_codes(self, codes: Tensor) -> Tensor:
        """Codes of all factors, without free latents."""
        return codes[:, [column for group in self._columns for column in group]]


def factor_values(labels: Tensor, sizes: Sequence[int], distance: str) -> Tensor:
    """Points whose Euclidean distances are those of the factors, per factor and altogether."""
    if distance == "range":
        return labels / (torch.tensor(sizes, device=labels.device) - 1)
    indicators = [F.one_hot(labels[:, k], size) for k, size in enumerate(sizes)]
    return torch.cat(indicators, dim=1) / 2**0.5


def read_groups(groups: Any, n_factors: int, n_components: int) -> list[list[int]]:
    """Columns of every factor, none of them twice."""
    if groups is None:
        return [[k] for k in range(n_factors)]
    columns = [[int(column) for column in np.atleast_1d(group)] for group in groups]
    flat = [column for group in columns for column in group]
    if len(columns) != n_factors or not all(columns):
        raise ValueError(
            f"groups must hold one or more latents for each of the {n_factors} factors, got "
            f"{groups!r}."
        )
    if len(set(flat)) < len(flat) or not set(flat) <= set(range(n_components)):
        raise ValueError(
            f"groups must hold different latents from 0 to {n_components - 1}, got {groups!r}."
        )
    return columns
