"""Robustness of codes to interventions on factors, and the scores that rest on it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from ..._params import (
    Array,
    Average,
    FactorBins,
    NanPolicy,
    NonNegativeInt,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Share,
    validated,
    with_matrix,
)
from .._aggregation import Score, average_of
from .._numeric import by_class
from .._sharing import shared
from .._validation import (
    BY_DEFINITION,
    Checked,
    check_data,
    live_codes,
    varied_factors,
    warn_degenerate,
)
from ._backdoor import Adjustment, adjusted_robustness, strata_of
from ._sets import (
    Choice,
    SetRule,
    check_rho,
    choose_codes,
    overlap_ceiling,
    overlap_score,
    warn_of_empty,
)

__all__ = ["irs_score", "unconfoundedness_score"]


@with_matrix
def irs_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    q: PositiveShare = 0.99,
    adjust: Adjustment | None = None,
    confounders: Array | None = None,
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
    adjust : {"raise", "lower", "upper", "overlap"} or None, default=None
        None takes the rows with y_k = v as they were observed. Any other value weights them as if
        y_k had been set to v, see Notes, and says what to do where v never occurs together with
        some values of the other factors: "raise" an error; take the "lower" or the "upper" bound
        of the robustness; or leave such values out ("overlap").
    confounders : array-like of shape (n_samples, n_confounders) or None, default=None
        What to adjust for, as classes: what acts on several factors, if it was observed. One
        confounder may be 1D. None adjusts for all other factors. Not used if `adjust` is None.
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

    By default the score is observational, in spite of its name: where factors are dependent, a code
    of one factor changes less while another one is held fixed, and is called robust to it. Codes
    that are the factors of CANDLE (:func:`~sklearn_disent.datasets.load_candle_design`) have a
    robustness of .52 of the size to the object, where an intervention on the object leaves none.
    `adjust` gives each row with y_k = v the weight :math:`p(y_{-k}) / p(y_{-k} \mid y_k = v)`, the
    back-door adjustment for the other factors (or for `confounders`); if all combinations are
    equally frequent, nothing changes. Combinations that are missing leave bounds alone, which are
    valid but not the narrowest: 42 % are missing in CANDLE.

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
    matrix = np.maximum(robustness_for(data, q, adjust, confounders), 0.0)
    if not varied_factors(data.factors).any():
        warn_degenerate(f"No factor varies: {BY_DEFINITION}.")
    score = _irs(matrix, _largest_deviations(data, warn=average is None), average)
    return (score, matrix) if return_matrix else score


@validated
def unconfoundedness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    rho: PositiveInt = 1,
    sets: SetRule = "top",
    threshold: Share = 0.5,
    q: PositiveShare = 0.99,
    adjust: Adjustment | None = None,
    confounders: Array | None = None,
    n_permutations: NonNegativeInt = 0,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_details: bool = False,
) -> float | Bunch:
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
        Number of codes per factor, at most the number of codes. Not used by "threshold".
    sets : {"top", "threshold", "matching"}, default="top"
        Which codes a factor gets: the `rho` most robust to it; all with a robustness of at least
        `threshold`; or `rho` codes that no other factor gets, such that the robustness of all
        pairs is largest in total.
    threshold : float, default=0.5
        Least robustness of the codes of a factor, if `sets` is "threshold".
    q : float, default=0.99
        Quantile of the deviations behind the robustness, see :func:`irs_score`.
    adjust : {"raise", "lower", "upper", "overlap"} or None, default=None
        Whether the robustness is the observed one (None) or that under interventions, and what to
        do where combinations are missing, see :func:`irs_score`.
    confounders : array-like of shape (n_samples, n_confounders) or None, default=None
        What to adjust for; None means all other factors. Not used if `adjust` is None.
    n_permutations : int, default=0
        Number of shuffles; 0 for none. Scores of codes of other samples are the level of chance
        in the details.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        Determines the permutations.
    return_details : bool, default=False
        Whether to return a Bunch instead of the score alone.

    Returns
    -------
    unconfoundedness : float
        The score.
    details : :class:`~sklearn.utils.Bunch`
        Instead, if `return_details`:

        score : float
            The score.
        sets : ndarray of shape (n_factors, n_codes), bool
            Which codes are those of a factor.
        matrix : ndarray of shape (n_factors, n_codes)
            The robustness that they were chosen by, from 0 to 1.
        ceiling : float
            What the score of so many factors and codes cannot exceed.
        null : ndarray of shape (n_permutations,)
            Scores of codes that have nothing to do with the factors.
        chance : float
            Their mean; nan without permutations.
        p_value : float
            Share of them, the score included, that are not below the score; nan without.

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

    If K factors with `rho` codes each outnumber the D codes that vary, some must share, and the
    score stays below 1 whatever the codes: a warning and the details say by how much. Codes of
    noise have a score as well: up to about 1 - 1/D at rho = 1, if all codes have the same
    distribution, down to 0, if one has outliers and therefore seems robust to every factor.
    `n_permutations` measures this level of chance.

    By "threshold" a factor may get no code at all; it then counts as confused with all others,
    with a warning. Codes by "matching" overlap only if there are too few: the score is nearly
    always 1, and it is `sets` in the details that is of use. The robustness is observational by
    default, as it is in :func:`irs_score`: where factors are dependent, a factor may be given the
    code of another one.

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
    choice = Choice(sets, rho, threshold)
    if sets != "threshold":
        check_rho(rho, data)
    varied, live = varied_factors(data.factors), live_codes(data.codes, warn=False)
    known = known_score(int(varied.sum()), live, chance=0.0)
    if known is None:
        ceiling = _ceiling(int(varied.sum()), int(live.sum()), choice)
        score, member, matrix = _unconfounded(data, choice, q, adjust, confounders)
    else:
        score, ceiling = known, 1.0
        matrix = np.zeros((len(varied), len(live)))
        member = matrix > 0
    if not return_details:
        return score
    details = Bunch(score=score, sets=member, matrix=np.maximum(matrix, 0.0), ceiling=ceiling)
    rng, null = check_random_state(random_state), np.empty(0)
    if known is None:
        draws = (
            data._replace(codes=data.codes[rng.permutation(len(data.codes))])
            for _ in range(n_permutations)
        )
        null = np.array([_unconfounded(d, choice, q, adjust, confounders)[0] for d in draws])
    details.null = null
    details.chance = float(null.mean()) if len(null) else np.nan
    reached = int((null >= score - 1e-12).sum())
    details.p_value = (1 + reached) / (1 + len(null)) if len(null) else np.nan
    return details


def _unconfounded(
    data: Checked, choice: Choice, q: float, adjust: str | None, confounders: ArrayLike | None
) -> tuple[float, NDArray[np.bool_], NDArray[np.float64]]:
    """Score, sets and robustness of two or more factors that vary, and codes some of which do."""
    matrix = robustness_for(data, q, adjust, confounders)
    member = code_sets(data, matrix, choice)
    varied = varied_factors(data.factors, warn=False)
    warn_of_empty(member[varied], "they count as confused with all other factors")
    return overlap_score(member[varied]), member, matrix


def _ceiling(n_factors: int, n_codes: int, choice: Choice) -> float:
    """What the score cannot exceed, with a warning where that is below 1."""
    if choice.sets != "top" or n_factors * choice.rho <= n_codes:
        return 1.0
    ceiling = overlap_ceiling(n_factors, n_codes, choice.rho)
    warn_degenerate(
        f"{n_factors} factors with rho={choice.rho} codes each must share the {n_codes} codes that "
        f"vary: unconfoundedness cannot exceed {ceiling:.3f}, whatever the codes. Use more codes, "
        "or compare with this value."
    )
    return ceiling


@validated
def robustness_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    q: PositiveShare = 0.99,
    adjust: Adjustment | None = None,
    confounders: Array | None = None,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.float64]:
    """Robustness (n_factors, n_codes) of every code to every factor, from 0 to 1."""
    data = check_data(factors, codes, factor_bins, nan_policy)
    return np.maximum(robustness_for(data, q, adjust, confounders), 0.0)


def robustness_for(
    data: Checked, q: float, adjust: str | None, confounders: ArrayLike | None
) -> NDArray[np.float64]:
    """Observational robustness, or that under interventions."""
    if adjust is None:
        return robustness_of(data, q)
    return adjusted_robustness(data, q, adjust, strata_of(data, confounders))


def code_sets(data: Checked, matrix: NDArray, choice: Choice) -> NDArray[np.bool_]:
    """Which codes (n_factors, n_codes) are those of a factor; factors and codes that vary only."""
    varied, live = varied_factors(data.factors, warn=False), live_codes(data.codes, warn=False)
    sets = np.zeros(matrix.shape, dtype=bool)
    sets[np.ix_(varied, live)] = choose_codes(matrix[varied][:, live], choice)
    return sets


@shared
def robustness_of(data: Checked, q: float) -> NDArray[np.float64]:
    """IRS of every factor and code (n_factors, n_codes), zero where either is constant.

    Entries may fall a little below zero, which ranks codes that are robust to nothing.
    """
    # Each code is contiguous: rows are put into order where they stay near the cache.
    columns = np.ascontiguousarray(data.codes.T)
    columns = columns - columns.mean(axis=1, keepdims=True)
    varied, live = varied_factors(data.factors, warn=False), live_codes(data.codes, warn=False)
    largest = np.where(live, np.abs(columns).max(axis=1), 1.0)
    matrix = np.zeros((len(varied), len(live)))
    # One array for all factors: new memory of many rows costs more than to fill it.
    in_order = np.empty_like(columns)
    for k in np.flatnonzero(varied):
        order = by_class(data.factors[:, k])
        stops = np.cumsum(np.bincount(data.factors[:, k]))
        np.take(columns, order, axis=1, out=in_order, mode="clip")
        blocks = np.split(in_order, stops[:-1], axis=1)
        spread = np.mean([_deviation_quantile(block, q) for block in blocks], axis=0)
        matrix[k] = np.where(live, 1.0 - spread / largest, 0.0)
    return matrix


def _deviation_quantile(block: NDArray, q: float) -> NDArray:
    """q-quantile of |z - mean z| along each row, linear between order statistics."""
    deviation = np.abs(block - block.mean(axis=-1, keepdims=True))
    n = block.shape[-1]
    position = q * (n - 1)
    low = int(position)
    high = min(low + 1, n - 1)
    deviation.partition((low, high), axis=-1)
    one, two = deviation[..., low], deviation[..., high]
    return one + (position - low) * (two - one)


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
