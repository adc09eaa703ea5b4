"""Robustness of codes to interventions on factors, and the scores that rest on it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    Average,
    FactorBins,
    NanPolicy,
    PositiveInt,
    PositiveShare,
    validated,
    with_matrix,
)
from .._aggregation import Score, average_of
from .._sharing import shared
from .._validation import Checked, check_data, live_codes, varied_factors, warn_degenerate

__all__ = ["irs_score", "unconfoundedness_score"]


@with_matrix
def irs_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    q: PositiveShare = 0.99,
    factor_bins: FactorBins | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""Interventional robustness score: does each code stay put while one factor is held fixed?

    For a code l and a factor k, the deviations of the code from its mean among rows of equal
    y_k, as a share of its largest deviation over all rows. Between 0 and 1, higher is better: 1
    when every code is a function of one factor.

    .. math:: \mathrm{IRS}_{kl} = 1 - \frac{1}{d_l} \frac{1}{|V_k|} \sum_{v \in V_k}
        Q_q\bigl(|z_l - \mathrm{E}[z_l \mid y_k = v]|\bigr), \qquad
        \mathrm{IRS} = \frac{\sum_l d_l \max_k \mathrm{IRS}_{kl}}{\sum_l d_l}, \qquad
        d_l = \max |z_l - \mathrm{E} z_l|

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    q : float, default=0.99
        Quantile of the deviations; 1 is the maximum, as in the paper.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused. With "unique" every row may
        be a class of its own, from which nothing deviates.
    average : {"macro"} or None, default="macro"
        The mean over codes, weighted by their largest deviations, or the value of each code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    irs : float, or ndarray of shape (n_codes,) if `average` is None
        The score.
    matrix : ndarray of shape (n_factors, n_codes)
        Robustness of every code to every factor, 0 where either is constant. Only returned if
        `return_matrix` is True.

    See Also
    --------
    relevance_matrix : The robustness of every code to every factor.
    unconfoundedness_score : Do different factors rest on different codes?

    Notes
    -----
    All values of a factor weigh the same, however many rows they have. A code that deviates more
    from its conditional means than it ever does from its mean counts as 0. Constant codes have no
    weight (nan if `average` is None, with a warning); factors with a single value are left out
    with a warning. If nothing varies the score is 0, with a warning.

    References
    ----------
    Suter, Miladinovic, Schoelkopf and Bauer (2019). Robustly disentangled causal mechanisms:
    Validating deep representations for interventional robustness. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import irs_score
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> irs_score(factors, factors * 1.0)
    1.0
    >>> irs_score(factors, factors @ np.array([[1.0, 1.0], [1.0, -1.0]]))
    0.5
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    matrix = np.clip(robustness_of(data, q), 0.0, 1.0)
    if not varied_factors(data.factors).any():
        warn_degenerate("No factor varies: the score is 0 by definition.")
    score = _irs(matrix, _largest_deviations(data, warn=average is None), average)
    return (score, matrix) if return_matrix else score


@validated
def unconfoundedness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    rho: PositiveInt = 1,
    q: PositiveShare = 0.99,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    r"""Unconfoundedness: do different factors rest on different codes?

    Every factor gets the `rho` codes that are most robust to it. The score is one minus the mean
    overlap of these sets over all pairs of factors. Between 0 and 1, higher is better: 1 when no
    two factors share a code.

    .. math:: \mathrm{UC} = 1 - \frac{2}{K (K - 1)} \sum_{i < j}
        \frac{|Z_i \cap Z_j|}{|Z_i \cup Z_j|}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    rho : int, default=1
        Number of codes per factor, at most the number of codes.
    q : float, default=0.99
        Quantile of the deviations behind the robustness, see :func:`irs_score`.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    unconfoundedness : float
        The score.

    See Also
    --------
    irs_score : The robustness behind the choice of codes.

    Notes
    -----
    Ties in robustness (to ten digits) are broken by the order of the codes, on which the score may
    then depend. The published code chose other than the `rho` best codes for `rho` above 1; here
    they are the best ones. Constant codes are never chosen; if all codes are constant, the score is
    0, with a warning. Factors with a single value are left out with a warning. A single factor has
    no other to share codes with and scores 1, with a warning.

    References
    ----------
    Reddy, Godfrey L and Balasubramanian (2022). On causally disentangled representations. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import unconfoundedness_score
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> unconfoundedness_score(factors, factors * 1.0)
    1.0
    >>> unconfoundedness_score(factors, factors @ np.array([[1.0, 1.0], [1.0, -1.0]]))
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    check_rho(rho, data)
    varied, live = varied_factors(data.factors), live_codes(data.codes, warn=False)
    known = known_score(int(varied.sum()), live, chance=0.0)
    if known is not None:
        return known
    return _unconfoundedness(robustness_of(data, q)[varied][:, live], rho)


@validated
def robustness_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    q: PositiveShare = 0.99,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.float64]:
    """Robustness (n_factors, n_codes) of every code to every factor, from 0 to 1."""
    data = check_data(factors, codes, factor_bins, nan_policy)
    return np.clip(robustness_of(data, q), 0.0, 1.0)


@shared
def robustness_of(data: Checked, q: float) -> NDArray[np.float64]:
    """IRS of every factor and code (n_factors, n_codes), zero where either is constant.

    Entries may fall a little below zero, which ranks codes that are robust to nothing.
    """
    centered = data.codes - data.codes.mean(axis=0)
    varied, live = varied_factors(data.factors, warn=False), live_codes(centered, warn=False)
    largest = np.where(live, np.abs(centered).max(axis=0), 1.0)
    matrix = np.zeros((len(varied), len(live)))
    for k in np.flatnonzero(varied):
        order = np.argsort(data.factors[:, k], kind="stable")
        blocks = np.split(centered[order], np.cumsum(np.bincount(data.factors[:, k]))[:-1])
        spread = np.mean([_deviation_quantile(block, q) for block in blocks], axis=0)
        matrix[k] = np.where(live, 1.0 - spread / largest, 0.0)
    return matrix


def _deviation_quantile(block: NDArray, q: float) -> NDArray:
    """q-quantile per column of |z - mean z|, linear between order statistics."""
    deviation = np.abs(block - block.mean(axis=0))
    position = q * (len(block) - 1)
    low = int(position)
    high = min(low + 1, len(block) - 1)
    ordered = np.partition(deviation, (low, high), axis=0)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def _largest_deviations(data: Checked, *, warn: bool) -> NDArray[np.float64]:
    """Largest deviation of every code from its mean, 0 for a constant one."""
    deviation = np.abs(data.codes - data.codes.mean(axis=0)).max(axis=0)
    return np.where(live_codes(data.codes, warn=warn), deviation, 0.0)


def _irs(matrix: NDArray, deviation: NDArray, average: str | None) -> Score:
    """From the matrix (K, D) and the largest deviation of every code, 0 for a constant one."""
    # A factor of a single value has a row of zeros, which never is the largest.
    best, live = matrix.max(axis=0), deviation > 0
    if average is None or not live.any():
        return average_of(best, live, average, what="codes")
    # Relative to the largest first: the sum of huge deviations might overflow.
    return float(np.average(best, weights=deviation / deviation.max()))


def _unconfoundedness(matrix: NDArray, rho: int) -> float:
    """From the robustness matrix (K, D) of live codes and two or more factors."""
    member = top_codes(matrix, rho).astype(np.int64)
    shared = (member @ member.T)[np.triu_indices(len(matrix), k=1)]
    return float(1.0 - np.mean(shared / (2 * member[0].sum() - shared)))


def check_rho(rho: int, data: Checked) -> None:
    n_codes = data.codes.shape[1]
    if rho > n_codes:
        raise ValueError(
            f"rho must not exceed the number of codes, {n_codes}, got {rho}. Lower rho."
        )


def top_codes(matrix: NDArray, rho: int) -> NDArray[np.bool_]:
    """Which codes are among the `rho` most robust to a factor, or all if there are fewer."""
    # Rounded, so that equal entries are ties, which the order of the codes decides.
    chosen = np.argsort(-matrix.round(10), axis=1, kind="stable")[:, :rho]
    member = np.zeros(matrix.shape, dtype=bool)
    np.put_along_axis(member, chosen, True, axis=1)
    return member


def known_score(n_factors: int, live: NDArray[np.bool_], chance: float) -> float | None:
    """The score where there is nothing to find out, with a warning; else None."""
    if n_factors == 0:
        return float(average_of(np.zeros(1), np.zeros(1, dtype=bool), "macro"))
    if not live.any():
        warn_degenerate("All codes are constant: they do not distinguish any factors.")
        return chance
    if n_factors == 1:
        warn_degenerate(
            "Only one factor can be scored: there is no other to confuse it with, and the score "
            "is 1 whatever the codes."
        )
        return 1.0
    return None
