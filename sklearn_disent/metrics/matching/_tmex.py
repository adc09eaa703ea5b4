"""T-MEX: tests which codes depend on which factors, and compares with the graph that should be."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..._memory import freed_memory_kept
from ..._params import (
    Array,
    AtLeastTwo,
    NanPolicy,
    OpenShare,
    PositiveInt,
    Predictor,
    RandomStateLike,
    validated,
)
from .._factor_columns import Columns, as_columns
from .._numeric import distance_factors
from .._subsampling import few_rows
from .._threads import one_thread
from .._validation import Checked, check_data, varied_factors, warn_degenerate, warn_if_constant
from ..prediction._predictors import as_target, draw_seeds, refuse_kind, seeded

__all__ = ["tmex_error"]

# Landmarks of the kernel in the default regression.
_N_LANDMARKS = 100
# Of the squared weights of that regression.
_PENALTY = 1e-3
# Below this share of a code's variance, what a regression leaves over is its own error.
_REMAINDER = 1e-4
# Rows per half below which there is nothing to test.
_FEWEST = 8


@validated
def tmex_error(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    graph: Array | None = None,
    alpha: OpenShare = 0.05,
    n_splits: PositiveInt = 9,
    estimator: Predictor | None = None,
    max_samples: AtLeastTwo | None = 5_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_matrix: bool = False,
) -> float | tuple[float, NDArray[np.float64]]:
    r"""T-MEX: in how many places does the tested graph of codes and factors differ from the true?

    For every pair a test decides whether code j still depends on factor k when all other factors
    are known. The error counts the pairs in which the answer differs from the graph that should
    be: by default one code per factor, in any order, and nothing else. From 0, which is best, to
    the number of pairs; lower is better.

    .. math:: \min_\pi \sum_{kj} \bigl|\hat W_{k \pi(j)} - W_{kj}\bigr|, \qquad
        \hat W_{kj} = 1[z_j \not\perp y_k \mid y_{-k}]

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    graph : array-like of shape (n_factors, n_units) or None, default=None
        Which units should depend on which factor, as zeros and ones; codes may come in any order,
        and those beyond n_units should depend on nothing. None means the identity.
    alpha : float, default=0.05
        Level of the tests.
    n_splits : int, default=9
        Number of random halvings of the rows, over which the statistic of the test is averaged.
    estimator : regressor or None, default=None
        Regression of several targets at once. None means ridge regression on the factors and on
        100 landmarks of a Gaussian kernel.
    max_samples : int or None, default=5_000
        Rows drawn at random if there are more; None takes all of them.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The halvings, and the estimator where its own `random_state` is None.
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    error : float
        The number of differences.
    matrix : ndarray of shape (n_factors, n_codes)
        The tested graph, 1 where a code depends on a factor. Only returned if `return_matrix` is
        True.

    See Also
    --------
    mcc_score : How strongly codes and factors correlate.
    unmatched_r2_error : What codes say about factors that are not theirs.

    Notes
    -----
    The test is the projected covariance measure. On one half of the rows the code is regressed on
    all factors, and what the others explain of this prediction is taken off; on the other half the
    remainder is correlated with the remainder of the code given the other factors. It is one-sided,
    and its weights are all equal here. As averages vary less than single statistics, the level is
    kept, and mostly undercut.

    A remainder of less than 1e-4 of a code's variance counts as the error of the regression: codes
    that are functions of the other factors are not tested on rounding. With factors that determine
    each other nothing can be found out given the others, and the tests do not reject. A larger
    sample finds weaker dependence: compare models at equal numbers of rows. With fewer than 16 rows
    there is no test, and no dependence is found, with a warning. Factors with a single value are
    left out, with a warning.

    References
    ----------
    Yao, Huang, Locatello, Magliacane and others (2025). The third pillar of causal analysis? A
    measurement perspective on causal representations. arXiv:2505.17708.

    Lundborg, Kim, Shah and Samworth (2024). The projected covariance measure for assumption-lean
    variable significance testing. Annals of Statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import tmex_error
    >>> factors = np.random.default_rng(0).normal(size=(400, 2))
    >>> tmex_error(factors, factors[:, ::-1], n_splits=3, random_state=0)
    0.0
    >>> tmex_error(factors, factors @ [[1, 1], [1, -1]], n_splits=3, random_state=0)
    2.0
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state)
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(data.codes, "they depend on no factor")
    used = varied_factors(data.factors)
    wanted = _check_graph(graph, len(used))
    found = np.zeros((len(used), data.codes.shape[1]))
    if len(data.codes) < 2 * _FEWEST:
        warn_degenerate(
            f"Dependence is tested with {2 * _FEWEST} rows or more, got {len(data.codes)}: none is "
            "found."
        )
    else:
        rng = check_random_state(random_state)
        statistic = _statistics(data, used, n_splits, estimator, rng)
        found = (statistic > norm.ppf(1 - alpha)).astype(float)
    error = _differences(found[used], wanted[used])
    return (error, found) if return_matrix else error


def _check_graph(graph: ArrayLike | None, n_factors: int) -> NDArray[np.float64]:
    if graph is None:
        return np.eye(n_factors)
    wanted = np.asarray(graph)
    if wanted.ndim != 2 or len(wanted) != n_factors or not np.isin(wanted, (0, 1)).all():
        raise ValueError(
            f"graph must be a matrix of zeros and ones with {n_factors} rows, one per factor, got "
            f"shape {wanted.shape}. Its columns are the units that codes should be."
        )
    return wanted.astype(float)


def _differences(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    """Least number of differing entries over all orders of the codes; zeros fill up columns."""
    width = max(found.shape[1], wanted.shape[1])
    one, two = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (found, wanted))
    cost = np.abs(one[:, :, None] - two[:, None, :]).sum(axis=0)
    return float(cost[linear_sum_assignment(cost)].sum())


def _statistics(
    data: Checked,
    used: NDArray[np.bool_],
    n_splits: int,
    estimator: BaseEstimator | None,
    rng: RandomState,
) -> NDArray[np.float64]:
    """Projected covariance measure (n_factors, n_codes), mean over halvings; 0 where unused."""
    statistic = np.zeros((len(used), data.codes.shape[1]))
    columns, Z = as_columns(data), data.codes - data.codes.mean(axis=0)
    largest = np.abs(Z).max(axis=0)
    Z = Z / np.where(largest > 0, largest, 1.0)
    refuse_kind(estimator, "classifier")
    with freed_memory_kept(), one_thread():
        for _ in range(n_splits):
            order = rng.permutation(len(Z))
            halves = order[: len(Z) // 2], order[len(Z) // 2 :]
            # Seeds follow the order of factors that vary: one that does not changes nothing.
            seeds = draw_seeds(rng, int(used.sum()) + 1)
            statistic[used] += _one_split(
                columns, Z, np.flatnonzero(used), halves, estimator, seeds
            )
    return statistic / n_splits


def _one_split(
    columns: Columns,
    Z: NDArray[np.float64],
    factors: NDArray[np.int64],
    halves: tuple[NDArray[np.int64], NDArray[np.int64]],
    estimator: BaseEstimator | None,
    seeds: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The statistic (len(factors), n_codes): how far projections of one half hold on the other."""
    one, two = halves
    Y = columns.values[:, np.isin(columns.factor, factors)]
    factor = columns.factor[np.isin(columns.factor, factors)]
    whole = _fit(estimator, Y[one], Z[one], seeds[-1])
    predicted_one, predicted_two = whole.own, whole.predict(Y[two])
    floor = _REMAINDER * Z.var(axis=0)
    statistic = np.zeros((len(factors), Z.shape[1]))
    for row, k in enumerate(factors):
        others = Y[:, factor != k]
        # What factor k adds to the prediction: learnt on one half, ...
        learnt = _fit(estimator, others[one], predicted_one, seeds[row])
        projection = predicted_two - learnt.predict(others[two])
        # ... and on the other half both it and the codes are cleared of the other factors.
        both = np.hstack([projection, Z[two]])
        remainder = both - _fit(estimator, others[two], both, seeds[row]).own
        f, z = np.hsplit(remainder, 2)
        product = f * z
        spread = product.std(axis=0)
        tested = (spread > 0) & (f.var(axis=0) > floor) & (z.var(axis=0) > floor)
        ratio = np.sqrt(len(two)) * product.mean(axis=0) / np.where(tested, spread, 1.0)
        statistic[row] = np.where(tested, ratio, 0.0)
    return statistic


class _Regression(NamedTuple):
    own: NDArray[np.float64]
    """Predictions of the rows that it was fitted to."""
    predict: Callable[[NDArray], NDArray]


def _fit(estimator: BaseEstimator | None, X: NDArray, Y: NDArray, seed: int) -> _Regression:
    """Regression of all columns of Y; on nothing, their means."""
    if X.shape[1] == 0:
        mean = Y.mean(axis=0)
        return _Regression(np.tile(mean, (len(Y), 1)), lambda new: np.tile(mean, (len(new), 1)))
    if estimator is None:
        return _kernel_ridge(X, Y, int(seed))
    fitted = seeded(estimator, seed).fit(X, as_target(Y))

    def predict(new: NDArray) -> NDArray:
        return np.reshape(fitted.predict(new), (len(new), Y.shape[1]))

    return _Regression(predict(X), predict)


def _kernel_ridge(X: NDArray, Y: NDArray, seed: int) -> _Regression:
    """Ridge regression on the columns and on landmarks of a Gaussian kernel.

    The same as scikit-learn's Nystroem and Ridge in a pipeline, up to rounding, without clones,
    checks of every array, and the features of the fitted rows a second time; a test compares.
    """
    n_landmarks = min(_N_LANDMARKS, max(len(X) // 4, 1))
    landmarks = X[RandomState(seed).permutation(len(X))[:n_landmarks]]
    root = _inverse_root(_gaussian(landmarks, landmarks))
    n_columns = X.shape[1]
    own = np.empty((len(X), n_columns + len(landmarks)))
    # The columns themselves, too: a kernel comes close to linear functions only.
    own[:, :n_columns] = X
    np.matmul(_gaussian(X, landmarks), root, out=own[:, n_columns:])
    middle, target = np.full(len(X), 1 / len(X)) @ own, Y.mean(axis=0)
    own -= middle
    gram = own.T @ own
    gram[np.diag_indices_from(gram)] += _PENALTY
    weights = solve(gram, own.T @ (Y - target), assume_a="pos", check_finite=False)
    linear, curved = weights[:n_columns], root @ weights[n_columns:]
    intercept = target - middle @ weights

    def predict(new: NDArray) -> NDArray:
        return new @ linear + _gaussian(new, landmarks) @ curved + intercept

    return _Regression(own @ weights + target, predict)


def _gaussian(rows: NDArray, landmarks: NDArray) -> NDArray[np.float64]:
    """Kernel exp(-|x - l|^2 / n_columns)."""
    left, right = distance_factors(rows, landmarks)
    # Scaled on the side of the landmarks, which are few.
    exponent = left @ (right / -rows.shape[1]).T
    # Rounding may leave equal points at less than no distance.
    np.minimum(exponent, np.zeros(len(landmarks)), out=exponent)
    return np.exp(exponent, out=exponent)


def _inverse_root(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(kernel)
    return vectors / np.sqrt(np.clip(values, 1e-12, None)) @ vectors.T
