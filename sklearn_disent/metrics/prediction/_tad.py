"""Total attribute disentanglement: how far one code is ahead of all others at each attribute."""

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from ..._params import FactorBins, NanPolicy, Share, ShareBelowOne, validated
from .._aggregation import top_gap
from .._numeric import column_range
from .._validation import (
    BY_DEFINITION,
    check_data,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
)

__all__ = ["tad_score"]


@validated
def tad_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    min_auroc: Share = 0.75,
    max_dependence: Share = 0.2,
    min_range: ShareBelowOne = 0.05,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    return_count: bool = False,
) -> float | tuple[float, int]:
    r"""Total attribute disentanglement: how far is one code ahead at each binary attribute?

    For every attribute, the area under the ROC curve (AUROC) of the best code minus that of the
    second best, summed over the attributes that some code captures and that do not depend on
    others. From 0 to half the number of attributes, higher is better.

    .. math:: \mathrm{TAD} = \sum_{a \in S} A_{a(1)} - A_{a(2)}, \qquad
        A_{aj} = \max\bigl(\mathrm{AUROC}(y_a, z_j), \mathrm{AUROC}(y_a, -z_j)\bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    min_auroc : float, default=0.75
        An attribute is captured, and counts, if a code has at least this AUROC.
    max_dependence : float, default=0.2
        An attribute counts only if no other one explains a larger share of its entropy.
    min_range : float, default=0.05
        A code whose range is not above this share of the largest range has AUROC 0.5.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    return_count : bool, default=False
        Whether to return the number of attributes that count as well.

    Returns
    -------
    tad : float
        The score, a sum.
    n_attributes : int
        The number of attributes that count. Only returned if `return_count` is True.

    See Also
    --------
    sap_score : The same gap, of linear predictors of any factor.

    Notes
    -----
    The score is for binary attributes, as of faces. Of a factor with more classes, each class is an
    attribute, "is it this one?"; those of one factor are not held to depend on each other. Classes
    in the middle of an ordered code are not captured by an AUROC.

    The authors leave out codes of an absolute range below a threshold, which depends on their
    scale. A single code is compared with 0.5. Where no attribute counts, the score is 0. Factors
    with a single value are left out, with a warning.

    References
    ----------
    Yeats, Liu, Womble and Li (2022). NashAE: Disentangling representations through adversarial
    covariance minimization. ECCV.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import tad_score
    >>> attributes = np.random.default_rng(0).integers(2, size=(1000, 3))
    >>> tad_score(attributes, attributes * [1.0, -2.0, 1.0], return_count=True)[1]
    3
    >>> tad_score(attributes, attributes * [1.0, -2.0, 1.0]) > 1.4
    True
    >>> tad_score(attributes, attributes[:, [0, 0, 1, 1, 2, 2]])
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "they capture no attribute")
    if not varied_factors(data.factors).any():
        warn_degenerate(f"None of the factors can be scored: {BY_DEFINITION}.")
    attributes = _attributes(data.factors)
    area = _auroc(attributes, data.codes)
    spread = column_range(data.codes)
    area[:, ~((spread > 0) & (spread > min_range * spread.max()))] = 0.5
    free = _dependence(attributes) <= max_dependence
    score, count = _tad(area, free, min_auroc)
    return (score, count) if return_count else score


class _Attributes(NamedTuple):
    """Classes of all factors, one after the other, each of which is on or off in a row."""

    place: NDArray[np.int64]
    """(n, K): the class of each factor, among those of all factors."""
    factor: NDArray[np.int64]
    """(A,): the factor that each belongs to."""
    column: NDArray[np.int64]
    """(A,): its place. Of two classes one is kept, and of one none."""


def _attributes(factors: NDArray[np.int64]) -> _Attributes:
    sizes = factors.max(axis=0) + 1
    first = np.cumsum(sizes) - sizes
    kept = [list(range({1: 1, 2: 1}.get(size, 0), size)) for size in sizes.tolist()]
    factor = np.repeat(np.arange(len(sizes)), [len(part) for part in kept])
    column = np.concatenate([start + np.array(part, int) for start, part in zip(first, kept)])
    return _Attributes(factors + first, factor, column)


def _auroc(attributes: _Attributes, codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """AUROC (n_attributes, n_codes) in the better direction: the Mann-Whitney statistic."""
    place, _, column = attributes
    n_places = int(place.max()) + 1
    # Narrow numbers stay in the cache while they are read in the order of a code.
    narrow = [y.astype(np.min_scalar_type(n_places)) for y in place.T]
    n_on = np.sum([np.bincount(y, minlength=n_places) for y in narrow], axis=0)[column]
    area = np.empty((len(column), codes.shape[1]))
    for j, code in enumerate(codes.T):
        order = np.argsort(code)
        ranks = _sorted_ranks(code[order])
        sums = [np.bincount(y[order], ranks, minlength=n_places) for y in narrow]
        above = np.sum(sums, axis=0)[column]
        area[:, j] = (above - n_on * (n_on + 1) / 2) / (n_on * (len(codes) - n_on))
    return np.clip(np.maximum(area, 1.0 - area), 0.5, 1.0)


def _sorted_ranks(code: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of a sorted code from 1 on, equal for equal values, as those of scipy.stats."""
    begins = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
    if len(begins) == len(code):
        return np.arange(1.0, len(code) + 1)
    counts = np.diff(np.append(begins, len(code)))
    return np.repeat(begins + (counts + 1) / 2, counts)


def _dependence(attributes: _Attributes) -> NDArray[np.float64]:
    """Largest share of each attribute's entropy that one of another factor explains (A,)."""
    place, factor, column = attributes
    n, n_places = len(place), int(place.max()) + 1
    table = np.zeros((n_places, n_places))
    first, end = place.min(axis=0), place.max(axis=0) + 1
    for a, b in combinations_with_replacement(range(place.shape[1]), 2):
        shape = end[a] - first[a], end[b] - first[b]
        cells = np.ravel_multi_index((place[:, a] - first[a], place[:, b] - first[b]), shape)
        counts = np.bincount(cells, minlength=np.prod(shape)).reshape(shape)
        table[first[a] : end[a], first[b] : end[b]] = counts
        table[first[b] : end[b], first[a] : end[a]] = counts.T
    both = table[np.ix_(column, column)] / n
    p = np.diag(both)
    entropy = entr(p) + entr(1 - p)
    joint = np.stack([both, p[:, None] - both, p - both, 1 - p[:, None] - p + both])
    information = entropy[:, None] + entropy - entr(np.clip(joint, 0.0, 1.0)).sum(axis=0)
    others = factor[:, None] != factor
    share = np.where(others, information / np.where(entropy > 0, entropy, 1.0)[:, None], 0.0)
    return share.max(axis=1, initial=0.0)


def _tad(area: NDArray, free: NDArray[np.bool_], min_auroc: float) -> tuple[float, int]:
    """Sum of the gaps (and number) of attributes that are captured and free of others."""
    counted = free & (area.max(axis=1, initial=0.5) >= min_auroc)
    # An AUROC of 0.5 is nothing: a lone code stands against that.
    return float(top_gap(area - 0.5)[counted].sum()), int(counted.sum())
