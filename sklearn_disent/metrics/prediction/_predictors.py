"""Factors predicted from codes: splits, fits, and the matrices that come of them."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone, is_classifier, is_regressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from ..._params import NanPolicy, OpenShare, Predictor, RandomStateLike, validated
from .._sharing import shared
from .._validation import FACTORS_CODES, Checked, check_data, live_codes, warn_if_constant

# Constraints of every metric that predicts factors.
PREDICTION: dict[str, list] = {
    **FACTORS_CODES,
    "estimator": [HasMethods(["fit", "predict"]), tuple, None],
    "classifier": [HasMethods(["fit", "predict"]), None],
    "method": [StrOptions({"auto", "r2", "svc"})],
    "test_size": [Interval(Real, 0, 1, closed="neither")],
    "split": [tuple, list, None],
    "n_jobs": [Integral, None],
}

# (classifier, regressor), or one of them for all factors.
Predictors = Predictor | tuple[Predictor, Predictor]
Split = tuple[ArrayLike, ArrayLike] | list[ArrayLike]
Method = Literal["auto", "r2", "svc"]

# Shuffles of each code where an estimator tells nothing of its own about importance.
_N_REPEATS = 5

# Codes of linear classifiers are scaled down to this if they are larger.
_LARGEST_CODE = 1e20


class Importance(NamedTuple):
    """What predictors of all codes tell about each factor."""

    importance: NDArray[np.float64]
    """(n_factors, n_codes), zeros for a factor of a single value."""
    informativeness: NDArray[np.float64]
    """(n_factors,), held-out accuracy or r^2."""
    used: NDArray[np.bool_]
    """(n_factors,), which factors vary."""


class Predictability(NamedTuple):
    """How well each code alone predicts each factor."""

    relevance: NDArray[np.float64]
    """(n_factors, n_codes)."""
    used: NDArray[np.bool_]
    """(n_factors,), which factors vary."""


@validated
def correlation_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.float64]:
    """Absolute Pearson correlation (n_factors, n_codes) of factor values and codes."""
    checked = check_data(
        factors, codes, sample_weight=sample_weight, nan_policy=nan_policy, continuous=True
    )
    return absolute_correlation(checked)


@validated
def importance_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    """Importance (n_factors, n_codes) of every code to a predictor of the factor from all codes."""
    return importance_of(
        factors,
        codes,
        estimator=estimator,
        test_size=test_size,
        split=split,
        nan_policy=nan_policy,
        n_jobs=n_jobs,
        random_state=random_state,
    ).importance


@validated
def predictability_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: Method = "auto",
    classifier: Predictor | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    """r^2 or held-out accuracy (n_factors, n_codes) of predicting a factor from one code."""
    return predictability_of(
        factors,
        codes,
        method=method,
        classifier=classifier,
        test_size=test_size,
        split=split,
        nan_policy=nan_policy,
        n_jobs=n_jobs,
        random_state=random_state,
    ).relevance


@shared
def importance_of(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: float = 0.25,
    split: Split | None = None,
    nan_policy: str = "raise",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> Importance:
    """Validate, then fit one predictor per factor: the first line of the DCI scores."""
    checked = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(checked.codes, "they predict no factor")
    random_state = check_random_state(random_state)
    train, test = split_rows(checked, len(codes), split, test_size, random_state)
    predictors = predictors_for(estimator, checked.kinds, _forests)
    # Trees round to float32: the range goes to [0, 1] first. Others get the codes as they are.
    X = unit_range(checked.codes) if estimator is None else checked.codes
    used = np.ptp(checked.factors, axis=0) > 0
    importance = np.zeros((len(used), X.shape[1]))
    informativeness = np.zeros(len(used))
    seeds = draw_seeds(random_state, len(used))
    fitted = np.flatnonzero(used)
    results = run(
        [
            (_importance, predictors[k], X, target_of(checked, k, predictors[k]), train, test, s)
            for k, s in zip(fitted, seeds[fitted])
        ],
        n_jobs,
    )
    for k, (weights, score) in zip(fitted, results):
        importance[k], informativeness[k] = weights, score
    return Importance(importance, informativeness, used)


@shared
def predictability_of(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: str = "auto",
    classifier: BaseEstimator | None = None,
    test_size: float = 0.25,
    split: Split | None = None,
    nan_policy: str = "raise",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> Predictability:
    """Validate, then predict every factor from every single code: the first line of SAP.

    An entry is the r^2 of a linear regression on all rows ("r2"), or the held-out accuracy of a
    linear classifier ("svc"); "auto" takes the latter for categorical factors only.
    """
    checked = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(checked.codes, "they predict no factor")
    used = np.ptp(checked.factors, axis=0) > 0
    if method == "auto":
        classified = np.array([kind == "categorical" for kind in checked.kinds])
    else:
        classified = np.full(len(used), method == "svc")
    relevance = absolute_correlation(checked) ** 2
    fitted = np.flatnonzero(classified & used)
    if len(fitted) == 0:
        return Predictability(relevance, used)
    model = _linear_classifier(classifier, [checked.kinds[k] for k in fitted])
    random_state = check_random_state(random_state)
    train, test = split_rows(checked, len(codes), split, test_size, random_state)
    seeds = draw_seeds(random_state, len(used))
    # The solver squares codes, and does not come to an end with those that overflow.
    X = checked.codes / max(np.abs(checked.codes).max() / _LARGEST_CODE, 1.0)
    relevance[fitted] = run(
        [
            (_single_code_scores, model, X, checked.factors[:, k], train, test, s)
            for k, s in zip(fitted, seeds[fitted])
        ],
        n_jobs,
    )
    return Predictability(relevance, used)


def absolute_correlation(checked: Checked) -> NDArray[np.float64]:
    """Absolute Pearson correlation of factor values and codes, 0 where either is constant."""
    weight = checked.sample_weight

    def standardise(X: NDArray) -> NDArray:
        varied = live_codes(X, warn=False)
        # The largest magnitude goes first: the squares of tiny values would vanish.
        X = X - np.average(X, axis=0, weights=weight)
        X = X / np.where(varied, np.abs(X).max(axis=0), 1.0)
        scale = np.sqrt(np.average(X**2, axis=0, weights=weight))
        return np.where(varied, X / np.where(varied, scale, 1.0), 0.0)

    Y, Z = standardise(checked.values), standardise(checked.codes)
    if weight is not None:
        Z = Z * (weight / weight.mean())[:, None]
    return np.clip(np.abs(Y.T @ Z) / len(Z), 0.0, 1.0)


def split_rows(
    checked: Checked,
    n_given: int,
    split: Split | None,
    test_size: float,
    random_state: RandomState,
    max_samples: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to fit on and rows to score on: those given, or a random split with both non-empty."""
    n_samples = len(checked.codes)
    if split is None:
        order = random_state.permutation(n_samples)[:max_samples]
        n_test = min(max(round(test_size * len(order)), 1), len(order) - 1)
        return order[n_test:], order[:n_test]
    if len(split) != 2:
        raise ValueError(f"split must be a pair (train, test) of row indices, got {len(split)}.")
    if n_samples != n_given:
        raise ValueError(
            f"split holds row numbers, but nan_policy='omit' dropped {n_given - n_samples} rows. "
            "Drop the rows with missing values first, then split."
        )
    return _as_rows(split[0], "train", n_samples), _as_rows(split[1], "test", n_samples)


def _as_rows(part: ArrayLike, name: str, n_samples: int) -> NDArray[np.int64]:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"The {name} part of split must be a non-empty 1D array of row indices or a mask of "
            f"{n_samples} rows, got shape {rows.shape} and dtype {rows.dtype}."
        )
    if rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(
            f"The {name} part of split must hold row indices from 0 to {n_samples - 1}, got "
            f"{rows.min()} to {rows.max()}."
        )
    return rows


def predictors_for(
    estimator: Predictors | None,
    kinds: Sequence[str],
    default: Callable[[], tuple[BaseEstimator, BaseEstimator]],
) -> list[BaseEstimator]:
    """One unfitted estimator per factor: classifiers for classes, regressors for continuous."""
    if estimator is None:
        estimator = default()
    if isinstance(estimator, tuple):
        if len(estimator) != 2 or not (is_classifier(estimator[0]) and is_regressor(estimator[1])):
            raise ValueError(
                "estimator must be one estimator or a pair (classifier, regressor), got "
                f"{estimator!r}."
            )
        return [estimator[kind == "continuous"] for kind in kinds]
    if is_classifier(estimator):
        if "continuous" in kinds:
            raise ValueError(
                f"factor {list(kinds).index('continuous')} is continuous, but "
                f"{type(estimator).__name__} predicts classes. Pass a regressor, a pair "
                "(classifier, regressor), or bin the factor."
            )
    elif not is_regressor(estimator):
        raise ValueError(f"estimator must be a classifier or a regressor, got {estimator!r}.")
    return [estimator] * len(kinds)


def target_of(checked: Checked, k: int, predictor: BaseEstimator) -> NDArray:
    """Factor k as a classifier (class indices) or a regressor (numbers) wants it."""
    return checked.factors[:, k] if is_classifier(predictor) else checked.values[:, k]


def draw_seeds(random_state: RandomState, *shape: int) -> NDArray[np.int64]:
    """One seed per fit, drawn before any of them runs, so that n_jobs changes nothing."""
    return random_state.randint(np.iinfo(np.int32).max, size=shape)


def run(jobs: Sequence[tuple], n_jobs: int | None) -> list[Any]:
    """Results of (function, *arguments) jobs, in threads, each with one OpenMP thread.

    Many small fits on all OpenMP threads at once wait for each other far longer than they work.
    BLAS has one setting per process and is capped outside, OpenMP one per thread, hence inside.
    """
    with threadpool_limits(1, user_api="blas"):
        return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_capped)(*job) for job in jobs)


def _capped(function: Callable, *arguments: Any) -> Any:
    with threadpool_limits(1, user_api="openmp"):
        return function(*arguments)


def unit_range(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each code shifted and scaled to [0, 1]; a constant one to 0."""
    low, spread = codes.min(axis=0), np.ptp(codes, axis=0)
    return (codes - low) / np.where(spread > 0, spread, 1.0)


def fit_and_predict(
    predictor: BaseEstimator,
    X: NDArray[np.float64],
    y: NDArray,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    seed: int,
) -> tuple[BaseEstimator | None, float]:
    """Fitted model and its held-out score; no model if the training rows hold one value only."""
    first = y[train[0]]
    if (y[train] == first).all():
        return None, held_out_score(predictor, y[test], np.full(len(test), first))
    model = clone(predictor)
    # Seeds that the user has set stay.
    unset = {
        name: int(seed)
        for name, value in model.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    model.set_params(**unset).fit(X[train], y[train])
    return model, held_out_score(model, y[test], model.predict(X[test]))


def held_out_score(predictor: BaseEstimator, y: NDArray, predicted: NDArray) -> float:
    """Accuracy of a classifier, r^2 of a regressor, in [0, 1].

    An r^2 below 0, worse than the mean, counts as 0. Where the held-out values do not vary, it is
    1 if they are all predicted exactly, else 0.
    """
    if is_classifier(predictor):
        return float(np.mean(predicted == y))
    total, error = np.sum((y - y.mean()) ** 2), np.sum((y - predicted) ** 2)
    if total == 0:
        return float(error == 0)
    return float(max(1.0 - error / total, 0.0))


def _importance(
    predictor: BaseEstimator,
    X: NDArray[np.float64],
    y: NDArray,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    seed: int,
) -> tuple[NDArray[np.float64], float]:
    model, score = fit_and_predict(predictor, X, y, train, test, seed)
    if model is None:
        return np.zeros(X.shape[1]), score
    weights = _own_importance(model, X.shape[1])
    if weights is None:
        result = permutation_importance(
            model,
            X[test],
            y[test],
            scoring=lambda model, X, y: held_out_score(model, y, model.predict(X)),
            n_repeats=_N_REPEATS,
            random_state=int(seed),
        )
        # A code whose shuffling helps is as unimportant as one whose shuffling does nothing.
        weights = np.maximum(result.importances_mean, 0.0)
    if not np.isfinite(weights).all():
        raise ValueError(
            f"{type(model).__name__} gave importances that are not finite, got {weights}. "
            "Rescale the codes or pass another estimator."
        )
    return weights, score


def _own_importance(model: BaseEstimator, n_codes: int) -> NDArray[np.float64] | None:
    """Importances or absolute coefficients (mean over classes) of a fitted model, if any."""
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        # Behind a PCA, say, coefficients no longer belong to codes.
        if not all(isinstance(step, OneToOneFeatureMixin) for step in steps[:-1]):
            return None
        model = steps[-1]
    for name in ("feature_importances_", "coef_"):
        weights = getattr(model, name, None)
        if weights is not None:
            weights = weights.toarray() if issparse(weights) else weights
            weights = np.atleast_2d(np.abs(np.asarray(weights, dtype=np.float64))).mean(axis=0)
            if weights.shape == (n_codes,):
                return weights
    return None


def _single_code_scores(
    predictor: BaseEstimator,
    codes: NDArray[np.float64],
    y: NDArray,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    seed: int,
) -> list[float]:
    columns = range(codes.shape[1])
    return [fit_and_predict(predictor, codes[:, [j]], y, train, test, seed)[1] for j in columns]


def _forests() -> tuple[BaseEstimator, BaseEstimator]:
    # All codes compete for every split: with a random subset, codes that know nothing of the
    # factor would be split on for want of others, and perfect codes would not score 1.
    # Leaves of 2: larger ones miss what gradient boosting finds in fine structure of a code,
    # pure ones fit noise.
    options = {"n_estimators": 50, "max_features": None, "min_samples_leaf": 2}
    return ExtraTreesClassifier(**options), ExtraTreesRegressor(**options)


def _linear_classifier(classifier: BaseEstimator | None, kinds: Sequence[str]) -> BaseEstimator:
    if "continuous" in kinds:
        raise ValueError(
            "method='svc' needs classes, but some factors are continuous. Use method='auto' or "
            "'r2', or bin them."
        )
    if classifier is None:
        # The primal problem is solved without chance, and quickly with one feature.
        return LinearSVC(C=0.01, class_weight="balanced", dual=False)
    if not is_classifier(classifier):
        raise ValueError(f"classifier must be a classifier, got {classifier!r}.")
    return classifier
