"""Modularity and informativeness as learning objectives (Zhang and Sugiyama 2024).

Differentiable twins of :func:`sklearn_disent.metrics.modularity_distance` with given groups and of
the contractions of :func:`sklearn_disent.metrics.informativeness_distance`: tensors in, scalar
out, lower is better, the same values. A batch is all they see: a factor that has one value in it
counts here, where the metric leaves it out, and all pairs of the batch are held in memory.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Groups = Sequence[Sequence[int]]
Aggregate = Literal["mean", "max", "sum"]


def variance_term(
    factors: Tensor,
    codes: Tensor,
    *,
    groups: Groups | None = None,
    aggregate: Aggregate = "mean",
    min_class_size: int = 1,
) -> Tensor:
    """Modularity by variances: how much the codes of a factor vary while the factor does not.

    The sum over factors of the variance of their codes within each value of the factor.

    Parameters
    ----------
    factors : Tensor of int, of shape (n, K)
        Classes, negative where unknown.
    codes : Tensor of shape (n, D)
        Codes.
    groups : sequence of sequences of int or None, default=None
        Columns of `codes` of every factor; None takes one each, in order.
    aggregate : {"mean", "max", "sum"}, default="mean"
        Over the values of a factor.
    min_class_size : int, default=1
        Values with fewer rows are left out.

    Returns
    -------
    modularity : Tensor
        A scalar, 0 where every value of a factor has one code.

    See Also
    --------
    diameter_term, mean_pairwise_term : The same by distances.
    sklearn_disent.metrics.modularity_distance : The metric.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: From logical definitions to quantitative
    metrics. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> factors, codes = torch.tensor([[0], [0], [1]]), torch.tensor([[0.0], [2.0], [5.0]])
    >>> terms.variance_term(factors, codes)  # the mean of 1 and 0
    tensor(0.5000)
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
    aggregate: Aggregate = "max",
    min_class_size: int = 1,
) -> Tensor:
    """Modularity by diameters: the largest distance of two codes within a value of a factor.

    Parameters
    ----------
    factors : Tensor of int, of shape (n, K)
        Classes, negative where unknown.
    codes : Tensor of shape (n, D)
        Codes.
    groups : sequence of sequences of int or None, default=None
        Columns of `codes` of every factor; None takes one each, in order.
    aggregate : {"mean", "max", "sum"}, default="max"
        Over the values of a factor; the sum over factors is returned.
    min_class_size : int, default=1
        Values with fewer rows are left out.

    Returns
    -------
    modularity : Tensor
        A scalar, 0 where every value of a factor has one code.

    See Also
    --------
    variance_term : The same by variances.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> factors, codes = torch.tensor([[0], [0], [1]]), torch.tensor([[0.0], [2.0], [5.0]])
    >>> terms.diameter_term(factors, codes)
    tensor(2.)
    """
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
    aggregate: Aggregate = "mean",
    min_class_size: int = 1,
) -> Tensor:
    """Modularity by pairs: half the mean distance of two codes within a value of a factor.

    Parameters
    ----------
    factors : Tensor of int, of shape (n, K)
        Classes, negative where unknown.
    codes : Tensor of shape (n, D)
        Codes.
    groups : sequence of sequences of int or None, default=None
        Columns of `codes` of every factor; None takes one each, in order.
    aggregate : {"mean", "max", "sum"}, default="mean"
        Over the values of a factor; the sum over factors is returned.
    min_class_size : int, default=1
        Values with fewer rows are left out.

    Returns
    -------
    modularity : Tensor
        A scalar, 0 where every value of a factor has one code.

    See Also
    --------
    variance_term : The same by variances.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> factors, codes = torch.tensor([[0], [0], [1]]), torch.tensor([[0.0], [2.0], [5.0]])
    >>> terms.mean_pairwise_term(factors, codes)  # the mean of 0.5 and 0
    tensor(0.2500)
    """
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
    deviation: Literal["variance", "diameter", "mean_pairwise"] = "variance",
) -> Tensor:
    """Modularity from pairs: codes of a factor must agree where its two values are the same.

    Parameters
    ----------
    same : Tensor of bool, of shape (n, K)
        Whether both of a pair have the same value of a factor.
    codes, partners : Tensor of shape (n, D)
        Codes of the two.
    groups : sequence of sequences of int or None, default=None
        Columns of `codes` of every factor; None takes one each, in order.
    deviation : {"variance", "diameter", "mean_pairwise"}, default="variance"
        Of every such pair, taken as a class of two rows: the terms of that name would give the
        same for classes of no more than these rows.

    Returns
    -------
    modularity : Tensor
        A scalar, 0 where all codes that must agree do.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.same_pair_term(torch.tensor([[True]]), torch.zeros(1, 1), torch.full((1, 1), 2.0))
    tensor(1.)
    """
    if deviation not in ("variance", "diameter", "mean_pairwise"):
        raise ValueError(
            f"deviation must be 'variance', 'diameter' or 'mean_pairwise', got {deviation!r}."
        )
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


def contraction_term(values: Tensor, codes: Tensor, *, aggregate: Aggregate = "mean") -> Tensor:
    """Informativeness: how much nearer two codes are than their factors.

    Parameters
    ----------
    values : Tensor of shape (n, d)
        The factors as numbers. A factor without order is given as indicators of its classes over
        the square root of 2, which puts different classes at distance 1.
    codes : Tensor of shape (n, D)
        Codes.
    aggregate : {"mean", "max", "sum"}, default="mean"
        Over all pairs of rows.

    Returns
    -------
    contraction : Tensor
        A scalar, 0 where no two codes are nearer than their factors.

    See Also
    --------
    pair_contraction : The same of given pairs.
    sklearn_disent.metrics.informativeness_distance : The metric.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> values = torch.tensor([[0.0], [3.0]])
    >>> terms.contraction_term(values, values / 3, aggregate="max")
    tensor(2.)
    """
    contraction = torch.relu(_distances(values.to(codes.dtype)) - _distances(codes))
    return _aggregate(contraction.flatten(), aggregate)


def pair_contraction(same: Tensor, codes: Tensor, partners: Tensor) -> Tensor:
    """Informativeness from pairs: how much nearer two codes are than their factors.

    Parameters
    ----------
    same : Tensor of shape (n, K)
        Whether both of a pair have the same value of a factor: 1 or 0. Different values are at
        distance 1.
    codes, partners : Tensor of shape (n, D)
        Codes of the two.

    Returns
    -------
    contraction : Tensor of shape (n,)
        0 where the codes are at least as far apart as the factors.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.pair_contraction(torch.tensor([[0]]), torch.zeros(1, 1), torch.full((1, 1), 0.25))
    tensor([0.7500])
    """
    apart = (same == 0).sum(1).to(codes.dtype).sqrt()
    squares = (codes - partners).square().sum(1)
    # The norm has no derivative at zero; the smallest number gives it one without a say.
    return torch.relu(apart - squares.clamp(min=torch.finfo(squares.dtype).tiny).sqrt())


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


def _aggregate(values: Tensor, aggregate: Aggregate) -> Tensor:
    if aggregate not in {"mean", "max", "sum"}:
        raise ValueError(f"aggregate must be 'mean', 'max' or 'sum', got {aggregate!r}.")
    if values.numel() == 0:
        return values.sum()
    return getattr(values, aggregate)()
