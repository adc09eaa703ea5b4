"""Shares of the variance of factors that codes explain, together and one by one."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_random_state

from ..._params import Average, NanPolicy, OpenShare, Predictor, RandomStateLike, validated
from .._aggregation import Score, average_of, match_one_to_one, matched_values
from .._factor_columns import as_columns, mean_by_factor
from .._numeric import column_range
from .._sharing import shared
from .._threads import one_thread
from .._validation import Checked, check_data, warn_if_constant, warn_single_valued
from ._predictors import (
    Split,
    as_target,
    draw_seeds,
    refuse_kind,
    seeded,
    split_rows,
    unit_range,
)

__all__ = ["factor_r2_score", "matched_r2_score", "unmatched_r2_error"]

Regression = Literal["linear", "kernel"] | Predictor

# Landmarks of the kernel: more gain less than 0.01 on smooth functions of five codes.
_N_LANDMARKS = 300


@validated
def factor_r2_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Regression = "linear",
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Explained variance: do all codes together determine each factor?

    The share of the variance of a factor on held-out rows that a regression on all codes explains.
    Between 0 and 1, higher is better: with linear regression 1 when the factors are identified up
    to a linear map, with a flexible one when they are identified up to any map (block
    identifiability).

    .. math:: \frac1K \sum_k \max\Bigl(0,\ 1 -
        \frac{\mathrm E\,(y_k - \hat y_k(z))^2}{\mathrm{Var}(y_k)}\Bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : {"linear", "kernel"} or regressor, default="linear"
        The regression of the factors on the codes: linear, kernel ridge regression with a Gaussian
        kernel on 300 landmarks, or one of yours, which must take several targets.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    r2 : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    matched_r2_score : One code per factor.
    mcc_score : One code per factor, by correlation.
    dci_informativeness_score : Accuracy for classes.

    Notes
    -----
    Ordered and continuous factors are numbers; the classes of others are predicted by indicators,
    whose values are averaged. Codes are scaled to standard deviation 1 before the built-in
    regressions; yours gets them scaled to [0, 1]. Factors with a single value are left out, with a
    warning (nan if `average` is None).

    References
    ----------
    von Kügelgen, Sharma, Gresele, Brendel, Schölkopf, Besserve and Locatello (2021).
    Self-supervised learning with data augmentations provably isolates content from style. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import factor_r2_score
    >>> factors = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(factor_r2_score(factors, factors @ [[0.6, 0.8], [-0.8, 0.6]], random_state=0), 3)
    1.0
    >>> bent = np.exp(factors)
    >>> linear = factor_r2_score(factors, bent, random_state=0)
    >>> factor_r2_score(factors, bent, estimator="kernel", random_state=0) > linear
    True
    """
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(data.codes, "they explain no factor")
    used = column_range(data.factors) > 0
    warn_single_valued(used)
    rng = check_random_state(random_state)
    parts = split_rows(data, split, test_size, rng)
    views = [data.codes]
    values = _explained(data, views, parts, estimator, draw_seeds(rng, 1))[:, 0]
    return average_of(values, used, average)


@validated
def matched_r2_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Regression = "linear",
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Explained variance of matched pairs: does one code of its own determine each factor?

    Every factor is predicted from every single code, and factors are matched with codes, one to
    one, such that the explained shares of variance are largest in sum. Their mean over the matched
    pairs is between 0 and 1, higher is better.

    .. math:: \frac{1}{\min(K, D)} \max_\pi \sum_k R_{k \pi(k)}

    where :math:`R_{kj}` is the share of the variance of factor k that a regression on code j
    explains on held-out rows.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : {"linear", "kernel"} or regressor, default="linear"
        The regression of the factors on one code, see :func:`factor_r2_score`. "kernel" allows
        any smooth function of a code.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over matched pairs, or one value per factor, 0 for one without a code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    r2 : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    unmatched_r2_error : What other codes explain of each factor.
    factor_r2_score : What all codes explain together.
    mcc_score : The square root of the same, in the linear case.

    Notes
    -----
    See :func:`factor_r2_score` about classes and scales. Factors with a single value are left out,
    with a warning (nan if `average` is None).

    References
    ----------
    von Kügelgen, Sharma, Gresele, Brendel, Schölkopf, Besserve and Locatello (2021).
    Self-supervised learning with data augmentations provably isolates content from style. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import matched_r2_score
    >>> factors = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(matched_r2_score(factors, factors[:, ::-1], random_state=0), 3)
    1.0
    >>> rotated = factors @ [[0.6, 0.8], [-0.8, 0.6]]
    >>> matched_r2_score(factors, rotated, random_state=0) < 0.7
    True
    """
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    fits = _single_codes(data, estimator, test_size, split, random_state)
    warn_single_valued(fits.used)
    values = _matched(fits)
    if average is None or not fits.used.any():
        return average_of(values, fits.used, average)
    return float(values.sum() / min(int(fits.used.sum()), data.codes.shape[1]))


@validated
def unmatched_r2_error(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Regression = "linear",
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Explained variance off the matched pairs: what do codes say about factors not theirs?

    Factors are matched with codes as in :func:`matched_r2_score`. For every factor, the largest
    share of its variance that a code other than its own explains. Between 0 and 1, lower is better.

    .. math:: \frac1K \sum_k \max_{j \ne \pi(k)} R_{kj}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : {"linear", "kernel"} or regressor, default="linear"
        The regression of the factors on one code, see :func:`factor_r2_score`.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    error : float, or ndarray of shape (n_factors,) if `average` is None
        The error.

    See Also
    --------
    matched_r2_score : The matched pairs themselves.

    Notes
    -----
    Codes that say nothing have error 0: read it beside :func:`matched_r2_score`. Factors that
    depend on each other cannot reach 0 with codes that hold them. A single code has no other
    beside it, and error 0. Factors with a single value are left out, with a warning (nan if
    `average` is None).

    References
    ----------
    von Kügelgen, Sharma, Gresele, Brendel, Schölkopf, Besserve and Locatello (2021).
    Self-supervised learning with data augmentations provably isolates content from style. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import unmatched_r2_error
    >>> factors = np.random.default_rng(0).normal(size=(500, 2))
    >>> unmatched_r2_error(factors, factors[:, ::-1], random_state=0) < 0.05
    True
    >>> unmatched_r2_error(factors, factors[:, [0, 0, 1]], random_state=0) > 0.45
    True
    """
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    fits = _single_codes(data, estimator, test_size, split, random_state)
    warn_single_valued(fits.used)
    return average_of(_unmatched(fits), fits.used, average)


class _Fits(NamedTuple):
    explained: NDArray[np.float64]
    """(n_factors, n_codes)."""
    used: NDArray[np.bool_]
    """(n_factors,)."""


def _matched(fits: _Fits) -> NDArray[np.float64]:
    values = np.zeros(len(fits.used))
    if fits.used.any():
        own = fits.explained[fits.used]
        values[fits.used] = matched_values(own, match_one_to_one(own))
    return values


def _unmatched(fits: _Fits) -> NDArray[np.float64]:
    values = np.zeros(len(fits.used))
    if fits.used.any():
        others = fits.explained[fits.used].copy()
        code = match_one_to_one(others)
        others[code >= 0, code[code >= 0]] = 0.0
        values[fits.used] = others.max(axis=1)
    return values


@shared
def _single_codes(
    data: Checked,
    estimator: Regression,
    test_size: float,
    split: Split | None,
    random_state: int | RandomState | None,
) -> _Fits:
    warn_if_constant(data.codes, "they explain no factor")
    rng = check_random_state(random_state)
    parts = split_rows(data, split, test_size, rng)
    views = [data.codes[:, [j]] for j in range(data.codes.shape[1])]
    # The same landmarks for every code: their order does not matter.
    seeds = np.repeat(draw_seeds(rng, 1), len(views))
    explained = _explained(data, views, parts, estimator, seeds)
    return _Fits(explained, column_range(data.factors) > 0)


def _explained(
    data: Checked,
    views: list[NDArray[np.float64]],
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    estimator: Regression,
    seeds: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Held-out share of variance (n_factors, len(views)) that each view of the codes explains."""
    train, test = parts
    targets = as_columns(data)
    refuse_kind(estimator, "classifier")
    known, asked = targets.values[train], targets.values[test]
    shares = np.zeros((data.factors.shape[1], len(views)))
    for column, (view, seed) in enumerate(zip(views, seeds)):
        X = unit_range(view)
        predicted = _predicted(X[train], known, X[test], estimator, seed)
        own = explained_variance(asked, np.reshape(predicted, asked.shape))
        shares[:, column] = mean_by_factor(own, targets.factor, len(shares))
    return shares


def _predicted(
    X: NDArray[np.float64], Y: NDArray[np.float64], new: NDArray, estimator: Regression, seed: int
) -> NDArray[np.float64]:
    if isinstance(estimator, str) and estimator == "linear":
        return _linear(X, Y, new)
    model = _kernel(len(X)) if isinstance(estimator, str) else estimator
    with one_thread():
        return seeded(model, seed).fit(X, as_target(Y)).predict(new)


def _linear(X: NDArray[np.float64], Y: NDArray[np.float64], new: NDArray) -> NDArray[np.float64]:
    """Least squares with an intercept on standardized columns.

    The same as scikit-learn's StandardScaler and LinearRegression, whose checks took nine tenths of
    the time; a test compares.
    """
    middle, target = X.mean(axis=0), Y.mean(axis=0)
    scale = np.where(column_range(X) > 0, X.std(axis=0), 1.0)
    weights = np.linalg.lstsq((X - middle) / scale, Y - target, rcond=None)[0]
    return (new - middle) / scale @ weights + target


def explained_variance(Y: NDArray[np.float64], predicted: NDArray) -> NDArray[np.float64]:
    """Share of the variance of each column that is predicted, in [0, 1].

    Where the column does not vary, it is 1 if it is predicted to rounding, else 0.
    """
    error, total = ((Y - predicted) ** 2).mean(axis=0), Y.var(axis=0)
    share = 1.0 - error / np.where(total > 0, total, 1.0)
    return np.where(total > 0, np.clip(share, 0.0, 1.0), (error < 1e-12).astype(float))


def _kernel(n_rows: int) -> BaseEstimator:
    kernel = Nystroem(n_components=min(_N_LANDMARKS, max(n_rows // 2, 1)))
    return make_pipeline(StandardScaler(), make_union(FunctionTransformer(), kernel), Ridge(1e-2))
