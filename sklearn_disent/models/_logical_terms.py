"""Modularity and informativeness as learning objectives (Zhang and Sugiyama 2024).

Differentiable twins of :func:`sklearn_disent.metrics.modularity_distance` with given groups and of
the contractions of :func:`sklearn_disent.metrics.informativeness_distance`: tensors in, scalar
out, lower is better, the same values. A batch is all they see: a factor that has one value in it
counts here, where the metric leaves it out, and all pairs of the batch are held in memory.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Groups = Sequence[Sequence[int]]


def variance_term(
    factors: Tensor,
    codes: Tensor,
    *,
    groups: Groups | None = None,
    aggregate: str = "mean",
    min_class_size: int = 1,
) -> Tensor:
    """Sum over factors of the variance of their codes within each value of the factor.

    `factors` (n, K) are classes, negative where unknown; `groups` lists the columns of `codes` of
    every factor, by default one each, in order. `aggregate` ("mean", "max" or "sum") is over the
    values of a factor; those with fewer than `min_class_size` samples are left out.
    """
    total = codes.sum() * 0.0
    for points, classes, counts in _labelled(factors, codes, groups):
        means = _class_sums(points, classes, len(counts)) / counts[:, None]
        squares = (points - means[classes]).square().sum(1)
        variances = _class_sums(squares, classes, len(counts)) / counts
        total = total + _aggregate(variances[counts >= min_class_size], aggregate)
    return total


def diameter_term(
    factors: Tensor,
    codes: Tensor,
    *,
    groups: Groups | None = None,
    aggregate: str = "max",
    min_class_size: int = 1,
) -> Tensor:
    """Sum over factors of the largest distance of two codes within a value; see `variance_term`."""
    total = codes.sum() * 0.0
    for points, classes, counts in _labelled(factors, codes, groups):
        farthest = _same_class_distances(points, classes).amax(1)
        diameters = points.new_zeros(len(counts)).scatter_reduce(0, classes, farthest, "amax")
        total = total + _aggregate(diameters[counts >= min_class_size], aggregate)
    return total


def mean_pairwise_term(
    factors: Tensor,
    codes: Tensor,
    *,
    groups: Groups | None = None,
    aggregate: str = "mean",
    min_class_size: int = 1,
) -> Tensor:
    """Sum over factors of half the mean distance of two codes of a value; see `variance_term`."""
    total = codes.sum() * 0.0
    for points, classes, counts in _labelled(factors, codes, groups):
        sums = _class_sums(_same_class_distances(points, classes).sum(1), classes, len(counts))
        total = total + _aggregate((sums / (2 * counts**2))[counts >= min_class_size], aggregate)
    return total


def same_pair_term(
    same: Tensor,
    codes: Tensor,
    partners: Tensor,
    *,
    groups: Groups | None = None,
    deviation: str = "variance",
) -> Tensor:
    """Modularity from pairs: codes of a factor must agree where its two values are the same.

    `same` (n, K) tells for each pair and factor whether both have the same value; `codes` and
    `partners` (n, D) are the codes of the two. Every such pair is taken as a class of two samples,
    whose `deviation` is "variance", "diameter" or "mean_pairwise"; the terms above would give the
    same for classes of no more than these samples.
    """
    total = codes.sum() * 0.0
    for k, columns in enumerate(_columns(groups, same.shape[1])):
        rows = same[:, k].bool()
        if not rows.any():
            continue
        gap = (codes[rows] - partners[rows])[:, columns]
        if deviation == "variance":
            # Each of the two is half the gap away from their mean.
            total = total + gap.square().sum(1).mean() / 4
            continue
        # The norm has no derivative at zero: equal codes are left as they are.
        squares = gap.square().sum(1)
        apart = squares > 0
        distances = torch.where(apart, torch.where(apart, squares, 1.0).sqrt(), 0.0)
        total = total + (distances.max() if deviation == "diameter" else distances.mean() / 4)
    return total


def contraction_term(values: Tensor, codes: Tensor, *, aggregate: str = "mean") -> Tensor:
    """How much nearer two codes are than their factors, at most ("max") or in the mean.

    `values` (n, d) are the factors as numbers; a factor without order is given as indicators of
    its classes over the square root of 2, which puts different classes at distance 1.
    """
    contraction = torch.relu(_distances(values.to(codes.dtype)) - _distances(codes))
    return _aggregate(contraction.flatten(), aggregate)


def _columns(groups: Groups | None, n_factors: int) -> list[list[int]]:
    if groups is None:
        return [[k] for k in range(n_factors)]
    if len(groups) != n_factors:
        raise ValueError(
            f"groups must hold one list of columns per factor, got {len(groups)} groups for "
            f"{n_factors} factors."
        )
    return [list(group) for group in groups]


def _labelled(
    factors: Tensor, codes: Tensor, groups: Groups | None
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Codes, classes 0..C-1 and sizes of the classes, per factor that is known for some row."""
    parts = []
    for k, columns in enumerate(_columns(groups, factors.shape[1])):
        known = factors[:, k] >= 0
        if known.any():
            _, classes, counts = factors[known, k].unique(return_inverse=True, return_counts=True)
            parts.append((codes[known][:, columns], classes, counts))
    return parts


def _class_sums(values: Tensor, classes: Tensor, n_classes: int) -> Tensor:
    return values.new_zeros((n_classes, *values.shape[1:])).index_add(0, classes, values)


def _distances(points: Tensor) -> Tensor:
    # The product formula that cdist takes for many rows loses half the digits of short distances.
    return torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")


def _same_class_distances(points: Tensor, classes: Tensor) -> Tensor:
    return _distances(points).masked_fill(classes[:, None] != classes, 0.0)


def _aggregate(values: Tensor, aggregate: str) -> Tensor:
    if aggregate not in {"mean", "max", "sum"}:
        raise ValueError(f"aggregate must be 'mean', 'max' or 'sum', got {aggregate!r}.")
    if values.numel() == 0:
        return values.sum()
    return getattr(values, aggregate)()
