"""OMES: overlap and multiple encoding, from pairs of rows that share all factors but one."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import Average, FactorBins, NanPolicy, Share, validated
from .._aggregation import Score, average_of
from .._numeric import column_range, compressed, standardize
from .._sharing import shared
from .._validation import (
    Checked,
    check_data,
    live_codes,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
)
from ._votes import label_of_others

__all__ = ["omes_score"]


@validated
def omes_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    alpha: Share = 0.5,
    partners: Literal["any", "different"] = "any",
    prune_threshold: Share = 0.05,
    factor_bins: FactorBins | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""OMES: is each factor in one code alone, and does this code hold nothing else?

    Pairs of rows share all factors but one. A code responds to that factor as far as its values in
    the two rows do not correlate. Overlap asks whether a code responds to one factor alone,
    multiple encoding whether a factor moves one code alone. Between 0 and 1, higher is better;
    codes of noise, which respond to everything, get about (1 / K + 1 / D) / 2.

    .. math:: \frac1K \sum_k \alpha \max_j O_{kj} S_{kj} + (1 - \alpha) \max_j M_{kj} S_{kj},
        \qquad S_{kj} = 1 - |\mathrm{corr}(z_j, z'_j)|

    .. math:: O_{kj} = 1 - \frac1K \sum_l \bigl|1[l = k] - S_{lj}\bigr|, \qquad
        M_{kj} = 1 - \frac1D \sum_i \bigl|1[i = j] - S_{ki}\bigr|

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    alpha : float, default=0.5
        Weight of overlap; one minus it is that of multiple encoding.
    partners : {"any", "different"}, default="any"
        Both rows of a pair are drawn from those that share the other factors, whatever this factor
        is there, or such that it differs, see Notes.
    prune_threshold : float, default=0.05
        Codes whose standard deviation is below this share of the largest one are left out.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    omes : float, or ndarray of shape (n_factors,) if `average` is None
        The score.
    matrix : ndarray of shape (n_factors, n_codes)
        The response :math:`S_{kj}`; zeros where a factor or code was left out. Only returned if
        `return_matrix` is True.

    See Also
    --------
    r_factor_vae_score : Votes of the code that varies most while one factor varies alone.
    irs_score : How little codes change while one factor stays the same.

    Notes
    -----
    All pairs count, by their sums, so that nothing is drawn; groups of rows that share the other
    factors count by their size. With "any", the correlation is the share of a code's variance that
    the other factors explain, and :math:`S_{kj} = \mathrm E\,\mathrm{Var}(z_j | y_{-k}) /
    \mathrm{Var}(z_j)`: the total effect of factor k in the sense of Sobol. With "different", a
    code equal to a factor of C values has a correlation of -1 / (C - 1) in these pairs, so that
    even a perfect code of a binary factor scores 0: hence the default.

    Groups count only if the factor takes several values there; a factor without such groups, as in
    a sparse sample of many factors, is left out with a warning. In groups of few rows noise looks
    like less than it is. The authors leave out codes of an absolute standard deviation below 0.05;
    here it is relative to the largest. Factors with a single value are left out, with a warning
    (nan if `average` is None).

    References
    ----------
    Dapueto, Noceti and Odone (2024). Disentangled representation learning through unsupervised
    transfer and intervention-based metrics. arXiv:2409.18017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import omes_score
    >>> factors = np.stack(np.meshgrid(range(4), range(4)), axis=-1).reshape(-1, 2)
    >>> round(omes_score(factors, factors * [1.0, -2.0]), 3)
    1.0
    >>> round(omes_score(factors, factors @ [[1.0, 1.0], [1.0, -1.0]]), 3)
    0.25
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "they respond to no factor")
    varied_factors(data.factors)
    response, used = _response(data, partners)
    kept = _unpruned(data.codes, prune_threshold)
    values = np.zeros(len(used))
    if used.any() and kept.any():
        values[used] = _omes(response[used][:, kept], alpha)
    score = average_of(values, used, average)
    return (score, np.where(kept, response, 0.0)) if return_matrix else score


def _omes(response: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Score of each factor from the matrix S (n_factors, n_codes)."""
    n_factors, n_codes = response.shape
    # |1 - S| + sum of the others = 1 - 2 S + sum of all, as S lies in [0, 1].
    overlap = 1.0 - (1.0 - 2.0 * response + response.sum(axis=0)) / n_factors
    multiple = 1.0 - (1.0 - 2.0 * response + response.sum(axis=1, keepdims=True)) / n_codes
    best = [(part * response).max(axis=1) for part in (overlap, multiple)]
    return np.clip(alpha * best[0] + (1.0 - alpha) * best[1], 0.0, 1.0)


def _unpruned(codes: NDArray[np.float64], prune_threshold: float) -> NDArray[np.bool_]:
    live = live_codes(codes, warn=False)
    if not live.any():
        return live
    # Relative to the largest code first: the squares of tiny values would vanish.
    spread = (codes / column_range(codes).max()).std(axis=0)
    return live & (spread >= prune_threshold * spread.max())


@shared
def _response(data: Checked, partners: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The matrix S (n_factors, n_codes), and which factors have pairs."""
    names = np.flatnonzero(varied_factors(data.factors, warn=False))
    response = np.zeros((data.factors.shape[1], data.codes.shape[1]))
    used = np.zeros(len(response), dtype=bool)
    # Column by column in memory.
    codes = np.ascontiguousarray(standardize(data.codes).T)
    for k in names.tolist():
        label, y = label_of_others(data.factors, names, k), data.factors[:, k]
        rows = _varies_within(label, y)
        used[k] = rows.any()
        if used[k]:
            group = compressed(label[rows])
            response[k] = 1.0 - _pair_correlation(codes[:, rows], group, y[rows], partners)
    if (names_without := names[~used[names]]).size:
        warn_degenerate(
            f"factors {names_without.tolist()} have no two rows that differ in them alone and are "
            "left out of the score. Pass more rows, or fewer values per factor."
        )
    return response, used


def _varies_within(label: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows of the groups in which y takes several values."""
    low, high = np.full(label.max() + 1, y.max()), np.zeros(label.max() + 1, dtype=y.dtype)
    np.minimum.at(low, label, y)
    np.maximum.at(high, label, y)
    return (low < high)[label]


def _pair_correlation(
    codes: NDArray[np.float64], group: NDArray[np.int64], y: NDArray[np.int64], partners: str
) -> NDArray[np.float64]:
    """Absolute correlation of each code in the two rows of a pair, over all pairs of a group.

    Codes are (n_codes, n).
    """
    size = np.bincount(group).astype(float)
    # How many partners a row has: its group, or what differs there.
    cell = compressed(group * (y.max() + 1) + y)
    n_alike = np.bincount(cell)[cell] if partners == "different" else np.zeros(len(y))
    n_partners = size[group] - n_alike
    n_pairs = np.bincount(group, n_partners)
    # A group weighs as many rows as it has, whatever its number of pairs.
    weight = (size / n_pairs)[group] / len(y)
    result = np.zeros(len(codes))
    for j, z in enumerate(codes):
        partner_sum = np.bincount(group, z)[group]
        if partners == "different":
            partner_sum = partner_sum - np.bincount(cell, z)[cell]
        weighted = weight * z
        mean = weighted @ n_partners
        covariance = weighted @ partner_sum - mean**2
        variance = (weighted * z) @ n_partners - mean**2
        # A code that stays the same wherever there are pairs does not respond.
        ratio = covariance / variance if variance > 1e-12 else 1.0
        result[j] = min(abs(ratio), 1.0)
    return result
