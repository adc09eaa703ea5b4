"""Modularity as distance to a product of functions (Zhang and Sugiyama 2024).

A code is modular if each group of its columns is a function of one factor alone. Fix that factor
and let the others vary: the columns should stay where they are. How far they move is measured by
a deviation of the codes of each value, aggregated over the values and added over the factors.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import Array, FactorBins, NanPolicy, PositiveInt, averaged, validated
from .._sharing import shared
from .._validation import (
    Checked,
    check_data,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
)
from ._assignment import assign_codes, check_groups, project_codes, scale_codes
from ._deviations import class_centers, class_deviations

__all__ = [
    "modularity_distance",
    "product_modularity_score",
    "constancy_modularity_score",
    "product_approximation",
]

Floats = NDArray[np.float64]

PointDeviation = Literal["variance", "radius", "mad"]
PairwiseDeviation = Literal["mean_pairwise", "diameter"]
Aggregate = Literal["auto", "mean", "max", "sum"]
Assignment = Literal["one_to_one", "partition", "projection"]
CodeScale = Literal["given", "unit"]
Groups = Annotated[Sequence[ArrayLike], "array-like"]
SumOrMacro = Literal["sum", "macro"]

_AGGREGATES: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "max": np.max, "sum": np.sum}


@averaged
def modularity_distance(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    deviation: PointDeviation | PairwiseDeviation = "variance",
    aggregate: Aggregate = "auto",
    groups: Groups | None = None,
    assignment: Assignment = "one_to_one",
    code_scale: CodeScale = "given",
    factor_bins: FactorBins | None = None,
    min_class_size: PositiveInt = 1,
    sample_weight: Array | None = None,
    average: SumOrMacro | None = "sum",
    nan_policy: NanPolicy = "raise",
) -> float | Floats:
    r"""Distance of the codes from being a product of functions of one factor each.

    Between 0 and infinity, lower is better: 0 if and only if the codes of each factor depend on
    that factor alone. Constant codes have distance 0: whether codes are informative is another
    question, see :func:`informativeness_distance`.

    .. math:: \sum_k \nabla_{v}\, \mathrm{dev}\{z_k : y_k = v\}

    where :math:`z_k` are the codes of factor k and :math:`\nabla` aggregates over its values.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    deviation : {"variance", "radius", "mad", "diameter", "mean_pairwise"}, default="variance"
        How far the codes of one value spread. By the best approximation with a single point:
        "radius" of the smallest enclosing ball, "mad", the mean distance to the geometric median,
        or "variance", the mean squared distance to the mean. By constancy: "diameter", the
        largest distance of two codes, or "mean_pairwise", half their mean distance.
    aggregate : {"auto", "mean", "max", "sum"}, default="auto"
        How the values of a factor are put together; "auto" is as published, the largest for
        "radius" and "diameter" and the mean for the others.
    groups : sequence of array-like of int, default=None
        For every factor the columns of `codes` that are meant for it. Together they name each
        column once. If None, `assignment` finds them.
    assignment : {"one_to_one", "partition", "projection"}, default="one_to_one"
        Without `groups`: one code per factor, such that the factors explain as much as possible
        of the variance of their codes, the rest of the codes being left out; or every code for
        the factor that explains most of it; or for every factor, scaled to [0, 1], the linear
        function of all codes that comes nearest to it.
    code_scale : {"given", "unit"}, default="given"
        Take codes as they are, as published, or scale those of each factor to a total variance
        of 1. Scorers and reports have "unit" by default.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    min_class_size : int, default=1
        Values with fewer samples are left out. A lone sample never deviates, which flatters the
        codes when samples per value are few.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"sum", "macro"} or None, default="sum"
        The sum over factors, as published, their mean, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    distance : float, or ndarray of shape (n_factors,) if `average` is None
        The distance.

    See Also
    --------
    product_modularity_score : ``exp(-distance)`` of the deviations from a point.
    constancy_modularity_score : ``exp(-distance)`` of the deviations between pairs.
    product_approximation : The nearest product of functions itself.
    classes_from_pairs : Factors from pairs that are known to agree or to differ.

    Notes
    -----
    The distance is in units of the codes, squared for "variance": it shrinks with them, so that a
    search would choose codes that have collapsed. With `code_scale="unit"` it has no unit, and that
    of "variance" is the mean over values of the share of the variance that the factor does not
    explain. `assignment="projection"`, which the paper uses for learned codes, has the scale of the
    factors. Without groups a mere permutation of the codes costs nothing.

    A factor with a single value is left out, with a warning (nan if `average` is None), and so is
    one without a value of `min_class_size` samples. If none is left the distance is infinite. A
    factor to which no code is assigned has distance 0, as a constant code has, with a warning.

    The paper's mean pairwise distance is half the mean over all ordered pairs, those of a sample
    with itself included, so that its square counterpart is the variance.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Sections 3.1 and 3.2.

    Examples
    --------
    >>> from sklearn_disent.metrics import modularity_distance
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> modularity_distance(factors, [[5, 1], [5, 2], [7, 1], [7, 2]])
    0.0
    >>> codes = [[1, 2], [3, 4], [5, 6], [7, 8]]
    >>> modularity_distance(factors, codes, groups=[[0], [1]])
    5.0
    >>> modularity_distance(factors, codes, groups=[[0], [1]], average=None)
    array([1., 4.])
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    blocks = _blocks_of(data, groups, assignment, code_scale)
    return _distance(blocks, deviation, aggregate, min_class_size, average)


@averaged
def product_modularity_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    deviation: PointDeviation = "variance",
    aggregate: Aggregate = "auto",
    groups: Groups | None = None,
    assignment: Assignment = "one_to_one",
    code_scale: CodeScale = "given",
    factor_bins: FactorBins | None = None,
    min_class_size: PositiveInt = 1,
    sample_weight: Array | None = None,
    average: SumOrMacro | None = "sum",
    nan_policy: NanPolicy = "raise",
) -> float | Floats:
    r"""Modularity by the nearest product of functions of one factor each.

    ``exp(-distance)``: between 0 and 1, higher is better, 1 if and only if the codes of each
    factor depend on that factor alone.

    .. math:: \exp\Bigl(-\inf_{m_1, \dots, m_K} \sum_k \nabla_v \nabla_{y_k = v}\,
              d(z_k, m_k(v))\Bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    deviation : {"variance", "radius", "mad"}, default="variance"
        What the inner aggregation makes of the distances to the point that approximates the codes
        of a value: the mean square (point: mean), the largest (centre of the smallest enclosing
        ball) or the mean (geometric median).
    aggregate : {"auto", "mean", "max", "sum"}, default="auto"
        How the values of a factor are put together; "auto" is the largest for "radius" and the
        mean for the others.
    groups : sequence of array-like of int, default=None
        For every factor the columns of `codes` that are meant for it.
    assignment : {"one_to_one", "partition", "projection"}, default="one_to_one"
        How the codes are assigned without `groups`, see :func:`modularity_distance`.
    code_scale : {"given", "unit"}, default="given"
        Take codes as they are, as published, or scale those of each factor to a total variance
        of 1. Scorers and reports have "unit" by default.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    min_class_size : int, default=1
        Values with fewer samples are left out.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"sum", "macro"} or None, default="sum"
        Score of the sum over factors, as published, of their mean, or of every factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    score : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    modularity_distance : The distance, and more about the parameters.
    constancy_modularity_score : The same property, measured without a search for the best point.
    inverse_informativeness_score : Whether the codes determine the factors at all.

    Notes
    -----
    Larger codes get lower scores: the distance is in units of the codes. The ball is exact
    (Welzl 1991), and so is the median of one code; the geometric median of several is found to
    rounding, by Weiszfeld's iteration with safeguards and Newton steps.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definition 5, examples 2 to 4.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_logical_codes
    >>> from sklearn_disent.metrics import product_modularity_score
    >>> data = make_logical_codes("duplicate")
    >>> round(product_modularity_score(data.target, data.codes, groups=data.blocks), 2)
    0.67
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    blocks = _blocks_of(data, groups, assignment, code_scale)
    return score_of(_distance(blocks, deviation, aggregate, min_class_size, average))


@averaged
def constancy_modularity_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    deviation: PairwiseDeviation = "mean_pairwise",
    aggregate: Aggregate = "auto",
    groups: Groups | None = None,
    assignment: Assignment = "one_to_one",
    code_scale: CodeScale = "given",
    factor_bins: FactorBins | None = None,
    min_class_size: PositiveInt = 1,
    sample_weight: Array | None = None,
    average: SumOrMacro | None = "sum",
    nan_policy: NanPolicy = "raise",
) -> float | Floats:
    r"""Modularity by the constancy of the codes of a factor while the other factors vary.

    ``exp(-distance)``: between 0 and 1, higher is better, 1 if and only if the codes of each
    factor depend on that factor alone.

    .. math:: \exp\Bigl(-\sum_k \nabla_v \nabla_{y_k = y_k' = v}\, d(z_k, z_k')\Bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    deviation : {"mean_pairwise", "diameter"}, default="mean_pairwise"
        Half the mean distance or the largest distance of two codes of the same value.
    aggregate : {"auto", "mean", "max", "sum"}, default="auto"
        How the values of a factor are put together; "auto" is the largest for "diameter" and the
        mean for "mean_pairwise".
    groups : sequence of array-like of int, default=None
        For every factor the columns of `codes` that are meant for it.
    assignment : {"one_to_one", "partition", "projection"}, default="one_to_one"
        How the codes are assigned without `groups`, see :func:`modularity_distance`.
    code_scale : {"given", "unit"}, default="given"
        Take codes as they are, as published, or scale those of each factor to a total variance
        of 1. Scorers and reports have "unit" by default.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    min_class_size : int, default=1
        Values with fewer samples are left out.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"sum", "macro"} or None, default="sum"
        Score of the sum over factors, as published, of their mean, or of every factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    score : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    modularity_distance : The distance, and more about the parameters.
    product_modularity_score : The same property, measured from the best approximation.
    contraction_informativeness_score : Whether the codes determine the factors at all.

    Notes
    -----
    Larger codes get lower scores: the distance is in units of the codes. Single codes are sorted,
    which takes n log n steps; groups of several compare all pairs of a value, chunk by chunk.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definition 6, examples 7 and 8.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_logical_codes
    >>> from sklearn_disent.metrics import constancy_modularity_score
    >>> data = make_logical_codes("misalignment")
    >>> round(constancy_modularity_score(data.target, data.codes, groups=data.blocks), 2)
    0.58
    >>> constancy_modularity_score(data.target, data.codes)  # as good as any permutation
    1.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    blocks = _blocks_of(data, groups, assignment, code_scale)
    return score_of(_distance(blocks, deviation, aggregate, min_class_size, average))


class ProductApproximation(NamedTuple):
    """Product of functions of one factor each that is nearest to the codes."""

    codes: Floats
    """(n_samples, n_used): the approximation at every sample, factor by factor."""
    maps: list[Floats]
    """Per factor (n_classes, n_columns): its function, a row per class in sorted order."""
    groups: list[NDArray[np.int64]] | None
    """Per factor the columns of the codes that are approximated; None for a projection."""


@validated
def product_approximation(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    deviation: PointDeviation = "variance",
    groups: Groups | None = None,
    assignment: Assignment = "one_to_one",
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    nan_policy: NanPolicy = "raise",
) -> ProductApproximation:
    r"""Nearest modular codes: the best product of functions of one factor each.

    For every value of a factor the point that is nearest to the codes of that value,

    .. math:: m_k^*(v) = \arg\inf_z \nabla_{y_k = v}\, d(z_k, z).

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    deviation : {"variance", "radius", "mad"}, default="variance"
        Nearest in the mean square (the mean), at worst (the centre of the smallest enclosing
        ball) or in the mean (the geometric median).
    groups : sequence of array-like of int, default=None
        For every factor the columns of `codes` that are meant for it.
    assignment : {"one_to_one", "partition", "projection"}, default="one_to_one"
        How the codes are assigned without `groups`, see :func:`modularity_distance`.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    approximation : ProductApproximation
        A named tuple: `codes` (n_samples, n_used) are the approximation at every sample, with the
        columns of the first factor first; `maps` hold the function of each factor, an array
        (n_classes, n_columns) whose rows follow the sorted values; `groups` are the columns of
        each factor, None for a projection.

    See Also
    --------
    modularity_distance : How far the codes are from it.

    Notes
    -----
    Where the median is not unique it is the middle one for a single code, as `numpy.median`, and
    the one found from the mean for several.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Proposition 2, example 5.

    Examples
    --------
    >>> from sklearn_disent.metrics import product_approximation
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> codes = [[1, 2], [3, 4], [5, 6], [7, 8]]
    >>> product_approximation(factors, codes, groups=[[0], [1]]).codes
    array([[2., 4.],
           [2., 6.],
           [6., 4.],
           [6., 6.]])
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    columns, points = _columns_and_points(data, groups, assignment)
    maps = [
        class_centers(part, classes, data.sample_weight, deviation)
        if part.shape[1]
        else np.zeros((classes.max() + 1, 0))
        for part, classes in zip(points, data.factors.T)
    ]
    approximation = np.hstack([m[classes] for m, classes in zip(maps, data.factors.T)])
    return ProductApproximation(approximation, maps, columns)


class _Blocks(NamedTuple):
    """Codes, one block of columns per factor, beside the classes of that factor."""

    factors: NDArray[np.int64]
    points: list[Floats]
    sample_weight: Floats | None


@shared
def _blocks_of(
    data: Checked, groups: Sequence[ArrayLike] | None, assignment: str, code_scale: str
) -> _Blocks:
    warn_if_constant(data.codes, "a constant is a function of any factor, hence modular")
    points = _columns_and_points(data, groups, assignment)[1]
    points = [scale_codes(part, code_scale, data.sample_weight) for part in points]
    return _Blocks(data.factors, points, data.sample_weight)


def _columns_and_points(
    data: Checked, groups: Sequence[ArrayLike] | None, assignment: str
) -> tuple[list[NDArray] | None, list[Floats]]:
    n_factors, n_codes = data.factors.shape[1], data.codes.shape[1]
    if groups is not None:
        columns = check_groups(groups, n_factors, n_codes)
        return columns, [data.codes[:, group] for group in columns]
    if assignment == "projection":
        return None, project_codes(data)
    # A factor that does not vary explains nothing and must not take a code from another.
    varied = varied_factors(data.factors, warn=False)
    columns = [np.zeros(0, dtype=np.int64)] * n_factors
    found = assign_codes(data.factors[:, varied], data.codes, data.sample_weight, assignment)
    for k, group in zip(np.flatnonzero(varied), found):
        columns[k] = group
    without = [k for k in np.flatnonzero(varied).tolist() if len(columns[k]) == 0]
    if without:
        warn_degenerate(
            f"No code is left for the factors {without}: they count as encoded by a constant, "
            "with distance 0. Use groups or assignment='projection' to give them codes."
        )
    return columns, [data.codes[:, group] for group in columns]


def _distance(
    blocks: _Blocks, deviation: str, aggregate: str, min_class_size: int, average: str | None
) -> float | Floats:
    used = varied_factors(blocks.factors)
    values = np.zeros(len(blocks.points))
    if aggregate == "auto":
        aggregate = "max" if deviation in {"radius", "diameter"} else "mean"
    for k in np.flatnonzero(used):
        classes, points = blocks.factors[:, k], blocks.points[k]
        large = np.bincount(classes, blocks.sample_weight) >= min_class_size
        if not large.any():
            used[k] = False
            warn_degenerate(
                f"factor {k} has no value with {min_class_size} samples and is left out. Lower "
                "min_class_size or bin the factor more coarsely."
            )
        elif points.shape[1]:
            deviations = class_deviations(points, classes, blocks.sample_weight, deviation)
            values[k] = _AGGREGATES[aggregate](deviations[large])
    return combine(values, used, average)


def combine(values: Floats, used: NDArray[np.bool_], average: str | None) -> float | Floats:
    """Distances of the used factors as one number; with average=None nan for the others."""
    if average is None:
        return np.where(used, values, np.nan)
    if not used.any():
        warn_degenerate("None of the factors can be judged: the distance is infinite, the score 0.")
        return np.inf
    return float(values[used].sum() if average == "sum" else values[used].mean())


def score_of(distance: float | Floats) -> float | Floats:
    """exp(-distance), which turns [0, inf] around into [0, 1]."""
    return np.exp(-distance) if isinstance(distance, np.ndarray) else float(np.exp(-distance))
