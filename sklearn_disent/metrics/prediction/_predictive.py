"""Scores of how well, and how simply, factors are predicted from codes."""

from numbers import Integral

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from .._aggregation import average_of, top_gap
from .._validation import (
    check_data,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
    warn_single_valued,
)
from ._predictors import (
    PREDICTION,
    Predictability,
    Predictors,
    Split,
    draw_seeds,
    fit_and_predict,
    predictability_of,
    predictors_for,
    run,
    split_rows,
    target_of,
    unit_range,
)

__all__ = ["downstream_accuracy_score", "explicitness_score", "sap_score"]


@validate_params(PREDICTION, prefer_skip_nested_validation=True)
def sap_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: str = "auto",
    classifier: BaseEstimator | None = None,
    test_size: float = 0.25,
    split: Split | None = None,
    average: str | None = "macro",
    nan_policy: str = "raise",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> float | NDArray[np.float64]:
    r"""Separated attribute predictability: is each factor predicted by one code alone?

    For every factor, how well the best single code predicts it, minus how well the second best
    does. Between 0 and 1, higher is better.

    .. math:: \mathrm{SAP} = \frac{1}{K} \sum_k S_{k(1)} - S_{k(2)}

    where :math:`S_{kj}` is the :math:`r^2` of the linear regression of factor k on code j, or the
    held-out accuracy of a linear classifier of factor k from code j.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    method : {"auto", "r2", "svc"}, default="auto"
        "r2" takes all factors as numbers, "svc" as classes. "auto" chooses for each factor:
        classes for strings, booleans and unordered categories, else numbers.
    classifier : classifier or None, default=None
        Replaces the default ``LinearSVC(C=0.01, class_weight="balanced", dual=False)``.
    test_size : float, default=0.25
        Share of the rows held out at random, for classifiers only.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) for classifiers to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Factors classified at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the classifier where its own `random_state` is None.

    Returns
    -------
    sap : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    relevance_matrix : The matrix S, with ``kind="predictability"``.
    mig_score : The same gap, of mutual information.

    Notes
    -----
    The :math:`r^2` is that of all rows, without a split. It sees linear dependence only, and
    depends on the numbers that integer factors carry; pass them as strings or categories if they
    have no order.

    A linear classifier on one code tells few of many ordered classes apart: codes equal to
    factors of five classes score from 0 to 0.4, depending on the scale of the codes, which are
    not standardised in the published settings. Pass
    ``classifier=make_pipeline(StandardScaler(), LinearSVC())``, or one that is not linear, to
    avoid that. A constant code predicts classes no better than guessing, and has an
    :math:`r^2` of 0. A lone code stands against 0. Factors with a single value are left out, with
    a warning (nan if `average` is None).

    References
    ----------
    Kumar, Sattigeri and Balakrishnan (2018). Variational inference of disentangled latent
    concepts from unlabeled observations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import sap_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(2000, 2))
    >>> round(sap_score(factors, factors * [2.0, -1.0]), 2)
    1.0
    >>> round(sap_score(factors, rng.normal(size=(2000, 2))), 2)
    0.0
    """
    fits = predictability_of(
        factors,
        codes,
        method=method,
        classifier=classifier,
        test_size=test_size,
        split=split,
        nan_policy=nan_policy,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    return _sap(fits, average)


def _sap(fits: Predictability, average: str | None) -> float | NDArray[np.float64]:
    warn_single_valued(fits.used)
    return average_of(top_gap(fits.relevance), fits.used, average)


@validate_params(
    {
        **PREDICTION,
        "multi_class": [StrOptions({"ovr", "multinomial"})],
        "adjusted": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def explicitness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    multi_class: str = "ovr",
    adjusted: bool = True,
    factor_bins: int | str | None = None,
    test_size: float = 0.25,
    split: Split | None = None,
    average: str | None = "macro",
    nan_policy: str = "raise",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> float | NDArray[np.float64]:
    r"""Explicitness: can the classes of each factor be read off all codes linearly?

    The area under the ROC curve of logistic regressions on held-out rows, one class against the
    rest, averaged over classes and factors, as :math:`2\,\mathrm{AUC} - 1`. Between 0 and 1,
    higher is better; 0 is guessing.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    multi_class : {"ovr", "multinomial"}, default="ovr"
        One regression per class, as published, or one for all classes of a factor.
    adjusted : bool, default=True
        Whether to scale guessing to 0 (an AUC below one half counts as 0); else the mean AUC.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; they are an error if None.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split.

    Returns
    -------
    explicitness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dci_informativeness_score : How well predictors of any kind do.

    Notes
    -----
    The two values of `multi_class` differ widely. A code equal to a factor of 11 ordered classes
    scores 6 / 11 with "ovr", since a linear function of it does not single out a class in the
    middle, and nearly 1 with "multinomial", where the classes' probabilities share one
    denominator. Widely used implementations take the latter, without adjusting.

    Codes are standardised by the training rows; the regressions have the default penalty of
    scikit-learn. Classes missing from the training or the held-out rows cannot be scored and are
    left out, with a warning; a factor without any other class scores as guessing does. Factors
    with a single value are left out, with a warning (nan if `average` is None).

    References
    ----------
    Ridgeway and Mozer (2018). Learning deep disentangled embeddings with the F-statistic loss.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import explicitness_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(2, size=(400, 2))
    >>> explicitness_score(factors, factors @ [[1, 1], [1, -1]], random_state=0)
    1.0
    >>> explicitness_score(factors, rng.normal(size=(400, 2)), random_state=0) < 0.2
    True
    """
    checked = check_data(factors, codes, factor_bins=factor_bins, nan_policy=nan_policy)
    train, test = split_rows(
        checked, len(codes), split, test_size, check_random_state(random_state)
    )
    used = varied_factors(checked.factors)
    warn_if_constant(checked.codes, "they predict no factor")
    # Whether a code varies is asked of the training rows, which set its scale.
    X = unit_range(checked.codes)
    spread = np.where(np.ptp(X[train], axis=0) > 0, X[train].std(axis=0), 1.0)
    X = (X - X[train].mean(axis=0)) / spread
    fitted = np.flatnonzero(used)
    jobs = [(_class_aucs, X, checked.factors[:, k], train, test, multi_class) for k in fitted]
    aucs = np.full(len(used), 0.5)
    missing = {}
    for k, (values, n_missing) in zip(fitted, run(jobs, n_jobs)):
        aucs[k] = values.mean() if len(values) else 0.5
        if n_missing:
            missing[int(k)] = n_missing
    if missing:
        warn_degenerate(
            "Some classes are missing from the training or the held-out rows and are left out of "
            f"the score, {missing} by factor. Pass more rows, another split or a larger test_size."
        )
    return average_of(np.maximum(2 * aucs - 1, 0.0) if adjusted else aucs, used, average)


def _class_aucs(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    multi_class: str,
) -> tuple[NDArray[np.float64], int]:
    """AUC of every class against the rest, and how many classes have none."""
    known, held_out = np.unique(y[train]), np.unique(y[test])
    classes = np.intersect1d(known, held_out)
    if len(known) < 2 or len(held_out) < 2:
        classes = classes[:0]
    n_missing = len(np.unique(y)) - len(classes)
    if len(classes) == 0:
        return np.zeros(0), n_missing
    if multi_class == "ovr":
        fits = [LogisticRegression().fit(X[train], y[train] == value) for value in classes]
        scores = np.column_stack([fit.decision_function(X[test]) for fit in fits])
    else:
        fit = LogisticRegression().fit(X[train], y[train])
        scores = fit.predict_proba(X[test])[:, np.searchsorted(known, classes)]
    positive = y[test][:, None] == classes
    n_positive = positive.sum(axis=0)
    # The AUC counts the pairs in which the positive ranks higher, ties by half (Mann-Whitney).
    wins = (rankdata(scores, axis=0) * positive).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return wins / (n_positive * (len(test) - n_positive)), n_missing


@validate_params(
    {
        **PREDICTION,
        "code_selection": [StrOptions({"best", "all"})],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def downstream_accuracy_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    code_selection: str = "best",
    estimator: Predictors | None = None,
    max_samples: int | None = 1000,
    test_size: float = 0.2,
    split: Split | None = None,
    average: str | None = "macro",
    nan_policy: str = "raise",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> float | NDArray[np.float64]:
    """Accuracy of a small predictor that sees few rows and, by default, one code per factor.

    What a disentangled representation promises: a factor is read off a single code, with little
    data and little computation. Held-out accuracy for classes, r^2 for continuous factors,
    averaged over factors. Between 0 and 1, higher is better; codes independent of the factors
    get somewhat more than the accuracy of guessing.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    code_selection : {"best", "all"}, default="best"
        Predict each factor from the single code that does best, or from all codes.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        The predictor. None means random forests of 100 trees of depth 5.
    max_samples : int or None, default=1000
        Rows drawn at random, before the split; None uses all of them.
    test_size : float, default=0.2
        Share of these rows that is held out.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random draw and split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Fits at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The draw, the split, and the estimator where its own `random_state` is None.

    Returns
    -------
    accuracy : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dci_informativeness_score : Accuracy from all codes and all rows.
    sap_score : How far the best code is ahead of the second.

    Notes
    -----
    The best code is the one with the highest held-out accuracy, hence slightly too high: with
    200 held-out rows and ten codes without information, by about 0.04. An r^2 below 0 counts
    as 0. Factors with a single value are left out, with a warning (nan if `average` is None).

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of
    variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import downstream_accuracy_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> downstream_accuracy_score(factors, factors * [2.0, -1.0], random_state=0)
    1.0
    >>> mixed = factors @ [[1, 1], [1, -1]]
    >>> downstream_accuracy_score(factors[:, :1], mixed, random_state=0) < 0.6
    True
    """
    checked = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    random_state = check_random_state(random_state)
    train, test = split_rows(checked, len(codes), split, test_size, random_state, max_samples)
    used = varied_factors(checked.factors)
    warn_if_constant(checked.codes, "they predict no factor")
    predictors = predictors_for(estimator, checked.kinds, _small_forests)
    X = unit_range(checked.codes) if estimator is None else checked.codes
    views = [X[:, [j]] for j in range(X.shape[1])] if code_selection == "best" else [X]
    seeds = draw_seeds(random_state, len(used), len(views))
    fitted = np.flatnonzero(used)
    jobs = [
        (fit_and_predict, predictors[k], view, target_of(checked, k, predictors[k]), train, test, s)
        for k in fitted
        for view, s in zip(views, seeds[k])
    ]
    scores = np.array([score for _, score in run(jobs, n_jobs)])
    accuracy = np.zeros(len(used))
    accuracy[used] = scores.reshape(len(fitted), len(views)).max(axis=1)
    return average_of(accuracy, used, average)


def _small_forests() -> tuple[BaseEstimator, BaseEstimator]:
    options = {"n_estimators": 100, "max_depth": 5}
    return RandomForestClassifier(**options), RandomForestRegressor(**options)
