"""Training with labels of some rows: what several models share, and the terms of it."""

import copy
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from torch import Tensor, nn
from torch.nn import functional as F

from sklearn_disent.models._base import BaseVAE, Terms, VAEOutput
from sklearn_disent.models._schedules import Weight, weight_constraint

# How many rows keep their labels: a count, or a share of the rows that have any.
N_LABELED = [
    Interval(Integral, 0, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="both"),
    None,
]

_TAKES_CLASSES = ("xent", "embed")


class SemiSupervisedVAE(BaseVAE):
    """What models share that may be trained with labels; parameters are those of BetaVAE."""

    _parameter_constraints: dict = {
        **BaseVAE._parameter_constraints,
        "supervised": [StrOptions({"xent", "l2", "cov", "embed"}), None],
        "gamma_sup": weight_constraint(),
        "n_labeled": N_LABELED,
        "factor_sizes": ["array-like", None],
        "sigma_sup": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        supervised: str | None = None,
        gamma_sup: Weight = 100.0,
        n_labeled: int | float | None = None,
        factor_sizes: Sequence[int] | None = None,
        sigma_sup: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.supervised = supervised
        self.gamma_sup = gamma_sup
        self.n_labeled = n_labeled
        self.factor_sizes = factor_sizes
        self.sigma_sup = sigma_sup

    def _read_fit_arrays(
        self, rows: NDArray, y: Any, *, cold: bool, **arrays: Any
    ) -> dict[str, NDArray]:
        extras = super()._read_fit_arrays(rows, y, cold=cold, **arrays)
        if self.supervised is None:
            return extras
        labels = read_labels(y, len(rows), classes=self.supervised in _TAKES_CLASSES)
        check_enough_latents(labels.shape[1], self.n_components)
        if cold:
            self.factor_sizes_ = find_sizes(labels, self.factor_sizes)
        elif len(self.factor_sizes_) != labels.shape[1]:
            raise ValueError(
                f"y must have the {len(self.factor_sizes_)} factors of the first fit, got "
                f"{labels.shape[1]} columns."
            )
        if self.supervised in _TAKES_CLASSES:
            check_classes(labels, self.factor_sizes_)
        kept = keep_labels(labels, self.n_labeled, self.random_state)
        return {**extras, "labels": kept.astype(np.float32)}

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        module = super()._make_module(kwargs)
        if self.supervised is not None:
            if not hasattr(self, "factor_sizes_"):
                if self.factor_sizes is None:
                    raise ValueError(
                        "The number of factors is not known before fit. Set factor_sizes, or call "
                        "fit."
                    )
                self.factor_sizes_ = tuple(self.factor_sizes)
            # Nothing random in it: the other weights are those of the unsupervised model.
            module.supervision = Supervision(self.supervised, self.factor_sizes_, self.sigma_sup)
        return module

    def _objective(self, x: Tensor, output: VAEOutput, extras: Any) -> Terms:
        terms = super()._objective(x, output, extras)
        if self.supervised is None:
            return terms
        labels = extras["labels"].to(self.device)
        # No labels, no term, not even one of value zero: then the loss is that of the
        # unsupervised model to the last bit.
        if not labels.isnan().all():
            terms["supervised"] = (self.gamma_sup, self.module_.supervision(output.mean, labels))
        return terms


# -- the terms -------------------------------------------------------------------------------
# codes (n, D) are posterior means, of which the first F are meant for the F factors; labels (n, F)
# are numbers, NaN where unknown. Losses are (n, F), zero where the label is unknown.


def xent_losses(codes: Tensor, labels: Tensor, sizes: Tensor) -> Tensor:
    """Cross-entropy of the code as a logit and the label as a share ``y / size``."""
    known, values = _known(labels)
    targets = values / sizes
    losses = F.binary_cross_entropy_with_logits(_matched(codes, labels), targets, reduction="none")
    return torch.where(known, losses, 0.0)


def l2_losses(codes: Tensor, labels: Tensor, scale: Tensor) -> Tensor:
    """Squared distance of ``scale * code`` from the label."""
    known, values = _known(labels)
    return torch.where(known, (scale * _matched(codes, labels) - values).square(), 0.0)


def embed_losses(
    codes: Tensor, labels: Tensor, tables: Sequence[Tensor], sigma: float = 1.0
) -> Tensor:
    """Cross-entropy of classes, each the likelier the nearer its point is to the code."""
    known, values = _known(labels)
    columns = []
    for j, table in enumerate(tables):
        logits = -((codes[:, j, None] - table) * sigma).square()
        columns.append(F.cross_entropy(logits, values[:, j].long(), reduction="none"))
    return torch.where(known, torch.stack(columns, dim=1), 0.0)


def cov_penalty(codes: Tensor, labels: Tensor) -> Tensor:
    """Sum of squared covariances of every latent with the factors that are not its own.

    The covariances of a factor are over the rows that have its label.
    """
    known, values = _known(labels)
    share = known.to(codes.dtype) / known.sum(0).clamp(min=1)
    centred = torch.where(known, values - (share * values).sum(0), 0.0)
    covariance = (share * centred).T @ codes
    own = torch.eye(*covariance.shape, dtype=torch.bool, device=codes.device)
    return covariance.masked_fill(own, 0.0).square().sum()


def mean_over_known(losses: Tensor, labels: Tensor) -> Tensor:
    """Sum over factors of the mean over the rows with a label."""
    counts = (~labels.isnan()).sum(0).clamp(min=1)
    return (losses.sum(0) / counts).sum()


class Supervision(nn.Module):
    """One of the terms with what it learns: scales of factors, or points of classes."""

    def __init__(self, kind: str, sizes: Sequence[int], sigma: float) -> None:
        super().__init__()
        self.kind, self.sigma = kind, sigma
        if kind == "xent":
            self.register_buffer("sizes", torch.tensor(sizes, dtype=torch.float32))
        elif kind == "l2":
            self.scale = nn.Parameter(torch.ones(len(sizes)))
        elif kind == "embed":
            self.tables = nn.ParameterList(_spread_points(size) for size in sizes)

    def forward(self, codes: Tensor, labels: Tensor) -> Tensor:
        if self.kind == "cov":
            return cov_penalty(codes, labels)
        if self.kind == "xent":
            losses = xent_losses(codes, labels, self.sizes)
        elif self.kind == "l2":
            losses = l2_losses(codes, labels, self.scale)
        else:
            losses = embed_losses(codes, labels, list(self.tables), self.sigma)
        return mean_over_known(losses, labels)


def _spread_points(size: int) -> Tensor:
    """Evenly spaced points of mean 0 and variance 1, as the prior has."""
    points = torch.arange(size, dtype=torch.float32) - (size - 1) / 2
    return points / points.square().mean().sqrt()


def _known(labels: Tensor) -> tuple[Tensor, Tensor]:
    known = ~labels.isnan()
    return known, torch.where(known, labels, 0.0)


def _matched(codes: Tensor, labels: Tensor) -> Tensor:
    return codes[:, : labels.shape[1]]


# -- reading labels --------------------------------------------------------------------------


def read_labels(y: ArrayLike | None, n_rows: int, *, classes: bool) -> NDArray[np.float64]:
    """Labels as numbers (n_rows, n_factors), NaN where unknown.

    -1 is unknown among integers, and wherever labels are `classes`, which are never negative.
    """
    if y is None:
        raise ValueError(
            "Training with labels requires y to be passed, but the target y is None. Pass y with "
            "NaN or -1 for unknown labels."
        )
    given = np.asarray(y)
    try:
        labels = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Labels must be numbers, got dtype {given.dtype}. Encode them, for instance with "
            "sklearn.preprocessing.OrdinalEncoder."
        ) from None
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.shape[1] == 0:
        raise ValueError(f"y must be 2D (n_samples, n_factors), got shape {given.shape}.")
    if len(labels) != n_rows:
        raise ValueError(f"y must have one row per observation, {n_rows}, got {len(labels)}.")
    if np.isinf(labels).any():
        raise ValueError("Labels must be finite, or NaN where unknown; got an infinite one.")
    if classes or given.dtype.kind in "iu":
        labels[labels == -1] = np.nan
        _refuse(labels < 0, labels, "classes are numbered from 0, and -1 or NaN means unknown")
    if classes:
        whole = np.isnan(labels) | (labels == np.rint(labels))
        _refuse(~whole, labels, "classes are whole numbers; for others, use 'l2' or 'cov'")
    return labels


def _refuse(wrong: NDArray[np.bool_], labels: NDArray, rule: str) -> None:
    if wrong.any():
        row, factor = np.argwhere(wrong)[0]
        raise ValueError(
            f"The label of factor {factor} in row {row} is {labels[row, factor]:g}, but {rule}."
        )


def find_sizes(labels: NDArray, factor_sizes: ArrayLike | None) -> tuple[int, ...]:
    """Numbers of classes: as told, or one more than the largest label."""
    n_factors = labels.shape[1]
    if factor_sizes is not None:
        sizes = np.asarray(factor_sizes)
        if sizes.shape != (n_factors,) or sizes.dtype.kind not in "iu" or (sizes < 2).any():
            raise ValueError(
                "factor_sizes must hold the number of classes, at least 2, of each of the "
                f"{n_factors} factors, got {factor_sizes!r}."
            )
        return tuple(sizes.tolist())
    sizes = []
    for factor, column in enumerate(labels.T):
        values = np.unique(column[~np.isnan(column)])
        if len(values) == 1:
            raise ValueError(
                f"Factor {factor} has the single value {values[0]:g} in all its labels, which "
                "teaches nothing. Leave it out of y, label more rows, or give factor_sizes if "
                "other rows have other values."
            )
        sizes.append(max(2, int(values[-1]) + 1) if len(values) else 2)
    return tuple(sizes)


def check_classes(labels: NDArray, sizes: Sequence[int]) -> None:
    """Refuse labels beyond the number of classes."""
    for factor, size in enumerate(sizes):
        largest = np.nanmax(labels[:, factor], initial=0)
        if largest >= size:
            raise ValueError(
                f"Factor {factor} has {size} classes, hence labels from 0 to {size - 1}, got "
                f"{largest:g}. Set factor_sizes to the true numbers of classes."
            )


def check_enough_latents(n_factors: int, n_components: int) -> None:
    """Each factor has a latent of its own."""
    if n_components < n_factors:
        raise ValueError(
            f"Training with labels of {n_factors} factors needs at least as many latents, got "
            f"n_components={n_components}."
        )


def keep_labels(labels: NDArray, n_labeled: int | float | None, random_state: Any) -> NDArray:
    """Hide the labels of all rows but `n_labeled`, drawn from those that have any."""
    if n_labeled is None:
        return labels
    candidates = np.flatnonzero(~np.isnan(labels).all(axis=1))
    if not isinstance(n_labeled, Integral):
        n_labeled = round(n_labeled * len(candidates))
    if n_labeled > len(candidates):
        raise ValueError(
            f"n_labeled={n_labeled} exceeds the number of rows with labels, {len(candidates)}."
        )
    # A copy, so that a generator of the user's has the same state for the weights that follow.
    rng = check_random_state(copy.deepcopy(random_state))
    hidden = np.ones(len(labels), dtype=bool)
    hidden[rng.permutation(candidates)[:n_labeled]] = False
    return np.where(hidden[:, None], np.nan, labels)
