"""Scores that hold factors fixed or let them vary, by grouping rows on factor values."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    FactorBins,
    NanPolicy,
    PositiveInt,
    RandomStateLike,
    Share,
    validated,
)
from .. import _numeric
from .._groups import Groups, Units, kept_units, mean_over_units, restricted
from .._softmax import SoftmaxRegression
from .._threads import one_thread
from .._validation import Checked, check_data, live_codes, varied_factors, warn_degenerate
from ._robustness import known_score

__all__ = [
    "beta_vae_score",
    "factor_vae_score",
    "r_factor_vae_score",
]

# Rows drawn at once: keeps the temporaries in the cache, whatever the number of draws.
_CHUNK = 2**17


@validated
def beta_vae_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_train: PositiveInt = 10000,
    n_eval: PositiveInt = 5000,
    batch_size: PositiveInt = 64,
    standardize: bool = True,
    adjusted: bool = False,
    factor_bins: FactorBins | None = None,
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""Beta-VAE score: does the difference of codes reveal which factor was held fixed?

    A factor is chosen, and pairs of rows that agree in it are drawn. The mean absolute difference
    of their codes is passed to a logistic regression, which has to name the factor. Between 0 and
    1, higher is better; codes independent of the factors reach the share of the most frequent
    factor, about 1 / n_factors.

    .. math:: d = \frac{1}{B} \sum_{b=1}^{B} |z^{(1)}_b - z^{(2)}_b|, \qquad
        \mathrm{score} = P(\hat k(d) = k)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_train : int, default=10000
        Number of groups of pairs on which the classifier is trained.
    n_eval : int, default=5000
        Number of groups of pairs on which it is judged.
    batch_size : int, default=64
        Pairs per group. Every pair has a value of its own of the fixed factor, drawn uniformly.
    standardize : bool, default=True
        Whether codes are divided by their standard deviation first. As published they are not,
        which makes the score depend on the scale of the codes.
    adjusted : bool, default=False
        Whether to rescale, so that guessing gives 0 and a perfect score stays 1.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The draws.

    Returns
    -------
    score : float
        Share of the evaluation groups whose factor is named.

    See Also
    --------
    factor_vae_score : The same question, with a majority vote in place of the regression.

    Notes
    -----
    Rows are drawn with replacement from the given samples, which take the place of a simulator; a
    value that only one row has is never fixed, since nothing differs there. The score is a share
    of `n_eval` random groups, with a standard error of about sqrt(p (1 - p) / n_eval). A linear
    classifier does as well on rotated codes as on aligned ones: a score of 1 does not prove
    disentanglement. Factors with a single value are left out with a warning. If all codes are
    constant the score is that of guessing, 1 / n_factors; if only one factor is left it is 1;
    both with a warning.

    Of `groups`, the differences of the columns of a unit are averaged, each column
    relative to its own spread.

    References
    ----------
    Higgins, Matthey, Pal, Burgess, Glorot, Botvinick, Mohamed and Lerchner (2017). beta-VAE:
    Learning basic visual concepts with a constrained variational framework. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import beta_vae_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> draws = {"n_train": 500, "n_eval": 500, "random_state": 0}
    >>> beta_vae_score(factors, factors * 0.01, **draws)
    1.0
    >>> beta_vae_score(factors, rng.normal(size=(1000, 3)), adjusted=True, **draws) < 0.1
    True
    """
    data, units = restricted(check_data(factors, codes, factor_bins, nan_policy), groups)
    live, pool = live_codes(data.codes, warn=False), _pool_of_values(data.factors)
    known = known_score(len(pool.first), live, chance=1 / max(len(pool.first), 1))
    if known is None:
        kept = data.codes[:, live]
        scaled = _by_code(_numeric.standardize(kept, ddof=1) if standardize else kept)
        rng = check_random_state(random_state)
        draws = (n_train, n_eval)
        known = _named_share(pool, scaled, draws, batch_size, rng, kept_units(units, live))
    return _adjust(known, len(pool.first), adjusted)


@validated
def factor_vae_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_train: PositiveInt = 10000,
    n_eval: PositiveInt = 5000,
    batch_size: AtLeastTwo = 64,
    prune_threshold: Share = 0.05,
    adjusted: bool = False,
    factor_bins: FactorBins | None = None,
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""FactorVAE score: does the code that varies least reveal which factor was held fixed?

    A factor is fixed at one of its values and rows with that value are drawn. The code whose
    variance, as a share of its variance over all rows, is least casts a vote. Each code stands
    for the factor that it votes for most often. Between 0 and 1, higher is better; codes
    independent of the factors reach about 1 / n_factors.

    .. math:: j^* = \arg\min_j \frac{\mathrm{Var}(z_j \mid y_k = v)}{\mathrm{Var}(z_j)}, \qquad
        \mathrm{score} = P(\hat k(j^*) = k)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_train : int, default=10000
        Number of votes that assign codes to factors.
    n_eval : int, default=5000
        Number of votes that are judged.
    batch_size : int, default=64
        Rows behind every vote.
    prune_threshold : float, default=0.05
        Codes whose standard deviation is below this share of the largest one do not vote.
    adjusted : bool, default=False
        Whether to rescale, so that guessing gives 0 and a perfect score stays 1.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The draws.

    Returns
    -------
    score : float
        Share of the evaluation votes that name the fixed factor.

    See Also
    --------
    beta_vae_score : The same question, put to a logistic regression.
    r_factor_vae_score : One factor varies and all others are fixed.

    Notes
    -----
    Collapsed codes are pruned relative to the code that varies most; published implementations
    use an absolute standard deviation of 0.05, which gives good codes of small scale a score of 0.
    Rows are drawn with replacement from the given samples, which take the place of a simulator,
    and values of a factor uniformly; a value that only one row has is never fixed, since nothing
    varies there. The standard error is about sqrt(p (1 - p) / n_eval). Factors with a single value
    are left out with a warning. If all codes are constant there are no votes and the score is 0;
    if only one factor is left it is 1; both with a warning.

    Of `groups`, the variances of the columns of a unit are averaged, each column
    relative to its own spread.

    References
    ----------
    Kim and Mnih (2018). Disentangling by factorising. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import factor_vae_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> factor_vae_score(factors, factors * 0.01, random_state=0)
    1.0
    >>> factor_vae_score(factors, rng.normal(size=(1000, 3)), adjusted=True, random_state=0) < 0.1
    True
    """
    data, units = restricted(check_data(factors, codes, factor_bins, nan_policy), groups)
    pool, draws = _pool_of_values(data.factors), (n_train, n_eval, batch_size)
    return _vote_score(data, pool, draws, prune_threshold, adjusted, random_state, np.argmin, units)


@validated
def r_factor_vae_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_train: PositiveInt = 10000,
    n_eval: PositiveInt = 5000,
    batch_size: AtLeastTwo = 64,
    prune_threshold: Share = 0.05,
    adjusted: bool = False,
    factor_bins: FactorBins | None = None,
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""Relevance FactorVAE score: does the code that varies most reveal which factor alone varies?

    All factors but one are fixed and rows with these values are drawn. The code whose variance,
    as a share of its variance over all rows, is largest casts a vote. Each code stands for the
    factor that it votes for most often. Between 0 and 1, higher is better; codes independent of
    the factors reach about 1 / n_factors.

    .. math:: j^* = \arg\max_j \frac{\mathrm{Var}(z_j \mid y_{-k} = v)}{\mathrm{Var}(z_j)}, \qquad
        \mathrm{score} = P(\hat k(j^*) = k)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_train : int, default=10000
        Number of votes that assign codes to factors.
    n_eval : int, default=5000
        Number of votes that are judged.
    batch_size : int, default=64
        Rows behind every vote.
    prune_threshold : float, default=0.05
        Codes whose standard deviation is below this share of the largest one do not vote.
    adjusted : bool, default=False
        Whether to rescale, so that guessing gives 0 and a perfect score stays 1.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The draws.

    Returns
    -------
    score : float
        Share of the evaluation votes that name the factor that varied.

    See Also
    --------
    factor_vae_score : One factor is fixed and all others vary.

    Notes
    -----
    The given samples take the place of a simulator: combinations of the other factors count only
    if this factor takes several values there. Where there are none, as in a sparse sample of many
    factors, the factor is left out with a warning; it helps to bin fine factors, or to sample
    whole grids. Other implementations also draw from combinations at which nothing varies, which
    costs good codes up to a few percent. Pruning, draws, constant codes and single factors are
    treated as in :func:`factor_vae_score`.

    Of `groups`, the variances of the columns of a unit are averaged, each column
    relative to its own spread.

    References
    ----------
    Kim, Wang, Sahu and Pavlovic (2019). Relevance Factor VAE: Learning and identifying
    disentangled factors. arXiv:1902.01568.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import r_factor_vae_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> r_factor_vae_score(factors, factors * 0.01, random_state=0)
    1.0
    >>> r_factor_vae_score(factors, rng.normal(size=(1000, 3)), random_state=0) < 0.5
    True
    """
    data, units = restricted(check_data(factors, codes, factor_bins, nan_policy), groups)
    pool, draws = _pool_of_others(data.factors), (n_train, n_eval, batch_size)
    return _vote_score(data, pool, draws, prune_threshold, adjusted, random_state, np.argmax, units)


class _Pool(NamedTuple):
    """Groups of rows for every factor k: first[k] <= group < first[k] + n_groups[k]."""

    rows: NDArray[np.int64]
    """Row indices, group after group."""
    start: NDArray[np.int64]
    """(all groups,): where the group begins in `rows`."""
    size: NDArray[np.int64]
    """(all groups,): its number of rows, at least 2."""
    first: NDArray[np.int64]
    """(n_factors that have groups,)."""
    n_groups: NDArray[np.int64]
    """(n_factors that have groups,)."""

    def draw_groups(
        self, factor: NDArray, shape: tuple[int, ...], rng: RandomState
    ) -> NDArray[np.int64]:
        """A group of each factor, uniformly; factor broadcasts against shape."""
        return self.first[factor] + (rng.random_sample(shape) * self.n_groups[factor]).astype(int)

    def draw_rows(
        self, group: NDArray, shape: tuple[int, ...], rng: RandomState
    ) -> NDArray[np.int64]:
        """A row of each group, uniformly; group broadcasts against shape."""
        share = rng.random_sample(shape)
        share *= self.size[group]
        place = share.astype(np.int64)
        place += self.start[group]
        # Places are known to exist: not to check them halves the time of the reading.
        return np.take(self.rows, place, mode="clip")


def _pool_of_values(factors: NDArray[np.int64]) -> _Pool:
    """Groups of equal value of one factor."""
    varied = varied_factors(factors)
    labels = [factors[:, k] for k in np.flatnonzero(varied)]
    return _pool(labels, [np.bincount(label) > 1 for label in labels], np.flatnonzero(varied))


def _pool_of_others(factors: NDArray[np.int64]) -> _Pool:
    """Groups of equal value of all factors but one, in which that one varies."""
    names = np.flatnonzero(varied_factors(factors))
    labels, usable = [], []
    for k in names.tolist():
        label = label_of_others(factors, names, k)
        order = _numeric.by_class(label)
        begin = np.cumsum(np.bincount(label)) - np.bincount(label)
        value = factors[order, k]
        usable.append(np.minimum.reduceat(value, begin) < np.maximum.reduceat(value, begin))
        labels.append(label)
    return _pool(labels, usable, names)


def label_of_others(
    factors: NDArray[np.int64], names: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Number (n_samples,) of the combination of all named factors but k."""
    label = np.zeros(len(factors), dtype=np.int64)
    for other in names[names != k]:
        # Compressed at every step, so that the product of all classes cannot overflow.
        joint = label * (factors[:, other].max() + 1) + factors[:, other]
        label = _numeric.compressed(joint)
    return label


def _pool(labels: list[NDArray], usable: list[NDArray], names: NDArray) -> _Pool:
    left_out = [int(k) for k, use in zip(names, usable) if not use.any()]
    if left_out:
        warn_degenerate(
            f"factors {left_out} have no two rows to compare and are left out of the score: every "
            "row is alone in the values that would be fixed. Pass more rows, or fewer values per "
            "factor."
        )
    kept = [(label, use) for label, use in zip(labels, usable) if use.any()]
    if not kept:
        empty = np.zeros(0, dtype=np.int64)
        return _Pool(empty, empty, empty, empty, empty)
    rows = np.concatenate([_numeric.by_class(label) for label, _ in kept])
    counts = [np.bincount(label) for label, _ in kept]
    starts = [len(kept[0][0]) * i + np.cumsum(c) - c for i, c in enumerate(counts)]
    start = np.concatenate([start[use] for start, (_, use) in zip(starts, kept)])
    count = np.concatenate([count[use] for count, (_, use) in zip(counts, kept)])
    n_groups = np.array([use.sum() for _, use in kept])
    return _Pool(rows, start, count, np.cumsum(n_groups) - n_groups, n_groups)


def _adjust(accuracy: float, n_factors: int, adjusted: bool) -> float:
    if not adjusted or n_factors < 2:
        return accuracy
    chance = 1.0 / n_factors
    return (accuracy - chance) / (1.0 - chance)


def _by_code(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Codes as contiguous rows (n_codes, n_samples)."""
    return np.ascontiguousarray(codes.T)


def _chunks(n_draws: int, batch_size: int) -> list[int]:
    size = max(_CHUNK // batch_size, 1)
    return [min(size, n_draws - begin) for begin in range(0, n_draws, size)]


def _named_share(
    pool: _Pool,
    codes: NDArray,
    n_draws: tuple[int, int],
    batch_size: int,
    rng: RandomState,
    units: Units | None,
) -> float:
    """Share of the groups whose fixed factor a logistic regression names."""
    (X, y), (X_eval, y_eval) = (_mean_differences(pool, codes, n, batch_size, rng) for n in n_draws)
    X, X_eval = mean_over_units(X, units), mean_over_units(X_eval, units)
    if np.ptp(y) == 0:
        return float(np.mean(y_eval == y[0]))
    with one_thread():
        classifier = SoftmaxRegression(max_iter=1000).fit(X, y)
        return float(np.mean(classifier.predict(X_eval) == y_eval))


def _mean_differences(
    pool: _Pool, codes: NDArray, n_draws: int, batch_size: int, rng: RandomState
) -> tuple[NDArray, NDArray]:
    """Mean absolute difference of the codes over pairs that agree in a factor, and the factor."""
    differences, fixed = [], []
    for size in _chunks(n_draws, batch_size):
        factor = rng.randint(len(pool.first), size=size)
        shape = (size, batch_size)
        group = pool.draw_groups(factor[:, None], shape, rng)
        one, two = pool.draw_rows(group, shape, rng), pool.draw_rows(group, shape, rng)
        differences.append(
            np.column_stack([np.abs(code[one] - code[two]).mean(axis=1) for code in codes])
        )
        fixed.append(factor)
    return np.concatenate(differences), np.concatenate(fixed)


def _vote_score(
    data: Checked,
    pool: _Pool,
    draws: tuple[int, int, int],
    prune_threshold: float,
    adjusted: bool,
    random_state: int | RandomState | None,
    pick: Callable[..., NDArray],
    units: Units | None,
) -> float:
    live, n_factors = live_codes(data.codes, warn=False), len(pool.first)
    known = known_score(n_factors, live, chance=0.0)
    if known is not None:
        return known
    codes = data.codes[:, live]
    # Relative to the largest code first: the squares of tiny values would vanish.
    spread = (codes / _numeric.column_range(codes).max()).std(axis=0)
    varied = spread >= prune_threshold * spread.max()
    kept = codes[:, varied]
    live[live] = varied
    units = kept_units(units, live)
    scaled = _by_code(_numeric.standardize(kept, ddof=1))
    rng = check_random_state(random_state)
    n_train, n_eval, batch_size = draws
    votes, judged = (
        _votes(pool, scaled, n, batch_size, rng, pick, units) for n in (n_train, n_eval)
    )
    return _adjust(_majority_accuracy(votes, judged), n_factors, adjusted)


def _majority_accuracy(votes: NDArray, judged: NDArray) -> float:
    """Vote tables (K, D): share of the judged votes that fall to the majority's factor."""
    winner = votes.argmax(axis=0)
    return float(judged[winner, np.arange(votes.shape[1])].sum() / judged.sum())


def _votes(
    pool: _Pool,
    codes: NDArray,
    n_draws: int,
    batch_size: int,
    rng: RandomState,
    pick: Callable[..., NDArray],
    units: Units | None,
) -> NDArray[np.int64]:
    """How often each code, or unit of codes, was picked for each factor (K, D)."""
    n_units = len(codes) if units is None else len(units)
    votes = np.zeros((len(pool.first), n_units), dtype=np.int64)
    for size in _chunks(n_draws, batch_size):
        factor = rng.randint(len(pool.first), size=size)
        group = pool.draw_groups(factor, (size,), rng)
        rows = pool.draw_rows(group[:, None], (size, batch_size), rng)
        batch = np.empty(rows.shape)
        variance = np.column_stack(
            [_batch_variance(np.take(code, rows, out=batch, mode="clip")) for code in codes]
        )
        np.add.at(votes, (factor, pick(mean_over_units(variance, units), axis=1)), 1)
    return votes


def _batch_variance(batch: NDArray) -> NDArray:
    """Variance of every row of standardized values, exactly 0 where it is mere rounding."""
    n = batch.shape[1]
    mean = batch @ np.full(n, 1.0 / n)  # quicker than sums along short rows
    square = np.einsum("ij,ij->i", batch, batch) / n
    variance = (square - mean**2) * n / (n - 1)
    # Otherwise rounding would choose among several codes that all stay put.
    return np.where(variance > 1e-12 * np.maximum(square, 1.0), variance, 0.0)
