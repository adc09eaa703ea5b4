"""Unfairness: how far predictions of one factor depend on another one."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    Average,
    FactorBins,
    NanPolicy,
    OpenShare,
    Predictor,
    RandomStateLike,
    validated,
)
from .._aggregation import Score, average_of
from .._subsampling import few_rows
from .._validation import check_data, varied_factors, warn_degenerate, warn_if_constant
from ._predictors import (
    Split,
    Task,
    draw_seeds,
    fit,
    fit_all,
    forests,
    refuse_kind,
    run,
    split_rows,
    unit_range,
)

__all__ = ["unfairness_error"]


@validated
def unfairness_error(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictor | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    factor_bins: FactorBins | None = None,
    average: Average | None = "macro",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""Unfairness: do predictions of one factor from the codes depend on another factor?

    Every factor is predicted from all codes. Where the predictions for rows with one value of
    another factor, the sensitive one, are distributed as those for all rows, the sensitive factor
    does not matter: demographic parity. Between 0 and 1, lower is better.

    .. math:: \frac{1}{K (K - 1)} \sum_{k \ne s} \frac{1}{|V_s|} \sum_{v \in V_s}
        \mathrm{TV}\bigl(p(\hat y_k),\ p(\hat y_k \mid y_s = v)\bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : classifier or None, default=None
        Predictor of one factor from all codes. None means extra trees, as in
        :func:`dci_informativeness_score`, fewer of them with more than 5,000 rows.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    average : {"macro"} or None, default="macro"
        The mean over predicted factors, or one value for each.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    error : float, or ndarray of shape (n_factors,) if `average` is None
        The mean over sensitive factors and their values.

    See Also
    --------
    dci_informativeness_score : How good the predictions are, which this does not ask.

    Notes
    -----
    Predictions that are always the same are perfectly fair: constant codes have error 0, with a
    warning. Distributions are those of the held-out rows; with r of them per value of the sensitive
    factor and C classes, chance alone gives about sqrt(C / (6 r)), so compare at equal numbers of
    rows. Factors that depend on each other are predicted unfairly by perfect codes. The published
    code uses gradient boosting and draws new rows for each value of the sensitive factor. A single
    factor has no other beside it, and error 0, with a warning; factors with a single value are left
    out, with a warning (nan if `average` is None).

    References
    ----------
    Locatello, Abbati, Rainforth, Bauer, Schölkopf and Bachem (2019). On the fairness of
    disentangled representations. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import unfairness_error
    >>> factors = np.random.default_rng(0).integers(2, size=(1000, 2))
    >>> unfairness_error(factors, factors * 1.0, random_state=0) < 0.1
    True
    >>> together = factors.sum(axis=1, keepdims=True)
    >>> unfairness_error(factors, together, random_state=0) > 0.1
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "all predictions are the same")
    used = varied_factors(data.factors)
    if used.sum() == 1:
        warn_degenerate("Only one factor can be scored: no other one can be sensitive.")
    rng = check_random_state(random_state)
    train, test = split_rows(data, split, test_size, rng)
    seeds = draw_seeds(rng, len(used))
    refuse_kind(estimator, "regressor")
    model = forests()[0] if estimator is None else estimator
    X = unit_range(data.codes) if estimator is None else data.codes
    factors_used = np.flatnonzero(used)
    tasks = [Task(model, X, data.factors[:, k], train, test, seeds[k]) for k in factors_used]
    if estimator is None:
        # The forests of DCI, which are not grown again where that is scored as well.
        predicted = [own for _, own in fit_all(tasks, n_jobs, "auto")]
    else:
        predicted = [own for _, own in run([(fit, task) for task in tasks], n_jobs)]
    values, groups = np.zeros(len(used)), data.factors[test]
    for k, own in zip(factors_used, predicted):
        others = [_disparity(own, groups[:, s]) for s in factors_used if s != k]
        values[k] = np.mean(others) if others else 0.0
    return average_of(values, used, average)


def _disparity(predicted: NDArray[np.int64], sensitive: NDArray[np.int64]) -> float:
    """Total variation of predictions given a value from predictions at large, mean over values."""
    table = np.zeros((sensitive.max() + 1, predicted.max() + 1))
    np.add.at(table, (sensitive, predicted), 1.0)
    table = table[table.any(axis=1)]
    given = table / table.sum(axis=1, keepdims=True)
    overall = table.sum(axis=0) / table.sum()
    return float(0.5 * np.abs(given - overall).sum(axis=1).mean())
