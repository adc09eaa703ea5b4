"""Factors predicted from codes: splits, fits, and the matrices that result."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone, is_classifier, is_regressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.inspection import permutation_importance
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from ..._memory import freed_memory_kept
from ..._params import (
    Array,
    NanPolicy,
    OpenShare,
    PositiveFloat,
    Predictor,
    RandomStateLike,
    validated,
)
from .._aggregation import concentration
from .._estimators import path_to_model
from .._groups import Units, units_of
from .._numeric import column_range, standardize
from .._sharing import shared
from .._threads import one_thread
from .._validation import Checked, check_data, warn_if_constant

# (classifier, regressor), or one of them for all factors.
Predictors = Predictor | tuple[Predictor, Predictor]
Split = tuple[ArrayLike, ArrayLike] | list[ArrayLike]
Method = Literal["auto", "r2", "svc"]
Tolerance = PositiveFloat | Literal["auto"]

# Shuffles of each code where an estimator has no importances of its own.
_N_REPEATS = 5

# Trees by which forests grow that are to stop by themselves.
_STEP, _FIRST_STEPS = 5, 3
# With more rows than these, forests stop by themselves, at this standard error of the scores.
_MANY_ROWS, _AUTO_TOL = 5000, 0.005

# Codes of linear classifiers are scaled to these if they are larger or smaller.
_LARGEST_CODE, _SMALLEST_CODE = 1e20, 1e-100


class Task(NamedTuple):
    """One factor to be predicted."""

    predictor: BaseEstimator
    X: NDArray[np.float64]
    """(n, D): what it is predicted from."""
    y: NDArray
    """(n,): classes for a classifier, numbers for a regressor."""
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    seed: int


class Importance(NamedTuple):
    """What comes of predicting each factor from all codes."""

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
    sample_weight: Array | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.float64]:
    """Absolute Pearson correlation (n_factors, n_codes) of factor values and codes."""
    data = check_data(
        factors, codes, None, nan_policy, sample_weight, continuous=True, per_factor=True
    )
    return absolute_correlation(data)


@validated
def spearman_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    sample_weight: Array | None = None,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.float64]:
    """Absolute rank correlation (n_factors, n_codes) of factor values and codes."""
    data = check_data(factors, codes, None, nan_policy, sample_weight, continuous=True)
    weight = data.sample_weight
    ranks = [
        np.column_stack([_mid_ranks(column, weight) for column in array.T])
        for array in (data.values, data.codes)
    ]
    return absolute_correlation(data._replace(values=ranks[0], codes=ranks[1]))


@validated
def importance_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    tol: Tolerance | None = "auto",
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    """Importance (n_factors, n_codes) of every code to a predictor of the factor from all codes."""
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True, per_factor=True)
    return importance_of(data, estimator, test_size, split, n_jobs, random_state, tol).importance


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
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True, per_factor=True)
    options = (method, classifier, test_size, split, n_jobs, random_state)
    return predictability_of(data, *options).relevance


@shared
def importance_of(
    data: Checked,
    estimator: Predictors | None,
    test_size: float,
    split: Split | None,
    n_jobs: int | None,
    random_state: int | RandomState | None,
    tol: float | Literal["auto"] | None = "auto",
) -> Importance:
    """Importance of all codes to one predictor per factor, and how well it predicts."""
    if tol not in (None, "auto") and estimator is not None:
        raise ValueError(
            f"tol={tol} stops the default forests from growing, and does not go with estimator="
            f"{estimator!r}. Leave one of them out."
        )
    if data.parts:
        options = (estimator, test_size, split, n_jobs, random_state, tol)
        found = [importance_of(part, *options) for part in data.parts]
        return Importance(*map(np.concatenate, zip(*found)))
    warn_if_constant(data.codes, "they predict no factor")
    rng = check_random_state(random_state)
    parts = split_rows(data, split, test_size, rng)
    used = column_range(data.factors) > 0
    X, predictors = predictors_for(data, estimator, forests)
    seeds = draw_seeds(rng, len(used))
    targets = [target_of(data, k, predictor) for k, predictor in enumerate(predictors)]
    fitted = np.flatnonzero(used).tolist()
    tasks = [Task(predictors[k], X, targets[k], *parts, seeds[k]) for k in fitted]
    importance, informativeness = np.zeros((len(used), X.shape[1])), np.zeros(len(used))
    fits = fit_all(tasks, n_jobs, tol if estimator is None else None)
    for k, (weights, predicted) in zip(fitted, fits):
        importance[k] = weights
        informativeness[k] = held_out_score(predictors[k], targets[k][parts[1]], predicted)
    return Importance(importance, informativeness, used)


def _contents(tasks: Sequence[Task], n_jobs: int | None, tol: float | str | None = None) -> tuple:
    """What results depend on, by value: each metric splits and scales the codes by itself."""
    digests: dict[int, bytes] = {}
    for array in (array for task in tasks for array in task[1:5]):
        if id(array) not in digests:
            digests[id(array)] = blake2b(np.ascontiguousarray(array).data).digest()
    arrays = (tuple(digests[id(array)] for array in task[1:5]) for task in tasks)
    return tol, *((id(task.predictor), task.seed, own) for task, own in zip(tasks, arrays))


@partial(shared, key_of=_contents)
def fit_all(
    tasks: Sequence[Task], n_jobs: int | None, tol: float | Literal["auto"] | None = None
) -> list[tuple[NDArray[np.float64], NDArray]]:
    """Importance of each code and predictions of the held-out rows, for every task.

    With `tol`, predictors are forests that stop growing at a standard error; "auto" lets them do so
    where there are many rows, which make every tree dear and its importances precise.
    """
    if tol == "auto":
        is_long = tasks and len(tasks[0].train) + len(tasks[0].test) > _MANY_ROWS
        tol = _AUTO_TOL if is_long else None
    if tol is None:
        return run([(_importance, task) for task in tasks], n_jobs)
    return _grow_until(tasks, tol, n_jobs)


@shared
def predictability_of(
    data: Checked,
    method: str,
    classifier: Predictor | None,
    test_size: float,
    split: Split | None,
    n_jobs: int | None,
    random_state: int | RandomState | None,
    units: Units | None = None,
) -> Predictability:
    """How well each single code predicts each factor.

    An entry is the r^2 of a linear regression on all rows ("r2"), or the held-out accuracy of a
    linear classifier ("svc"); "auto" takes the latter for categorical factors only.
    """
    if data.parts:
        options = (method, classifier, test_size, split, n_jobs, random_state)
        fits = [predictability_of(part, *options) for part in data.parts]
        return Predictability(*map(np.concatenate, zip(*fits)))
    warn_if_constant(data.codes, "they predict no factor")
    used = column_range(data.factors) > 0
    kinds = np.array(data.kinds)
    classified = kinds == "categorical" if method == "auto" else np.full(len(used), method == "svc")
    units = units or units_of(None, data.codes.shape[1])
    relevance = _linear_r2(data, units)
    fitted = np.flatnonzero(classified & used)
    if len(fitted) == 0:
        return Predictability(relevance, used)
    model = _linear_classifier(classifier, kinds[fitted].tolist())
    rng = check_random_state(random_state)
    parts = split_rows(data, split, test_size, rng)
    seeds = draw_seeds(rng, len(used))
    X = _solvable(data.codes)
    tasks = [Task(model, X, data.factors[:, k], *parts, seeds[k]) for k in fitted]
    score = partial(_unit_scores, units=units)
    relevance[fitted] = run([(score, task) for task in tasks], n_jobs)
    return Predictability(relevance, used)


def _solvable(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Codes for a solver that squares them, and does not come to an end with those that overflow
    or vanish. The small ones tell it nothing in either scale."""
    X = codes / max(np.abs(codes).max() / _LARGEST_CODE, 1.0)
    largest = np.abs(X).max(axis=0)
    is_small = (largest > 0) & (largest < _SMALLEST_CODE)
    # In two steps: one factor would overflow.
    unit = np.where(is_small, X / np.where(is_small, largest, 1.0), 0.0)
    return np.where(is_small, unit * _SMALLEST_CODE, X)


def absolute_correlation(data: Checked) -> NDArray[np.float64]:
    """Absolute Pearson correlation of factor values and codes, 0 where either is constant."""
    if data.parts:
        return np.vstack([absolute_correlation(part) for part in data.parts])
    weight = data.sample_weight
    Y, Z = standardize(data.values, weight), standardize(data.codes, weight)
    if weight is not None:
        Z = Z * (weight / weight.mean())[:, None]
    return np.clip(np.abs(Y.T @ Z) / len(Z), 0.0, 1.0)


def _mid_ranks(
    column: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Ranks, equal for equal values; with weights those of rows that are repeated as often."""
    place = np.unique(column, return_inverse=True)[1]
    counts = np.bincount(place, weight)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _linear_r2(data: Checked, units: Units) -> NDArray[np.float64]:
    """r^2 (n_factors, n_units) of linear regressions on the columns of each unit, of all rows."""
    single = absolute_correlation(data) ** 2
    columns = []
    for unit in units:
        if len(unit) == 1:
            columns.append(single[:, unit[0]])
            continue
        Y, Z = standardize(data.values), standardize(data.codes[:, unit])
        fitted = Z @ np.linalg.lstsq(Z, Y, rcond=1e-10)[0]
        columns.append(np.clip((fitted**2).mean(axis=0), 0.0, 1.0))
    return np.column_stack(columns)


def split_rows(
    data: Checked,
    split: Split | None,
    test_size: float,
    rng: RandomState,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to fit on and rows to score on: those given, or a random split with both non-empty."""
    n_samples = len(data.codes)
    if split is None:
        order = rng.permutation(n_samples)
        n_test = min(max(round(test_size * n_samples), 1), n_samples - 1)
        return order[n_test:], order[:n_test]
    if len(split) != 2:
        raise ValueError(f"split must be a pair (train, test) of row indices, got {len(split)}.")
    if n_samples != data.n_given:
        raise ValueError(
            f"split holds row numbers, but nan_policy='omit' dropped {data.n_given - n_samples} "
            "rows. Drop the rows with missing values first, then split."
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
    data: Checked,
    estimator: Predictors | None,
    default: Callable[[], tuple[BaseEstimator, BaseEstimator]],
) -> tuple[NDArray[np.float64], list[BaseEstimator]]:
    """Codes to predict from, and one unfitted estimator per factor: a classifier for classes, a
    regressor for continuous values.
    """
    if estimator is None:
        # Trees round to float32: the range goes to [0, 1] first. Others get the codes as they are.
        return unit_range(data.codes), _one_per_factor(default(), data.kinds)
    return data.codes, _one_per_factor(estimator, data.kinds)


def _one_per_factor(estimator: Predictors, kinds: Sequence[str]) -> list[BaseEstimator]:
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


def target_of(data: Checked, k: int, predictor: BaseEstimator) -> NDArray:
    """Factor k as a classifier (class indices) or a regressor (numbers) wants it."""
    return data.factors[:, k] if is_classifier(predictor) else data.values[:, k]


def draw_seeds(rng: RandomState, *shape: int) -> NDArray[np.int64]:
    """One seed per fit, drawn before any of them runs, so that n_jobs changes nothing."""
    return rng.randint(np.iinfo(np.int32).max, size=shape)


def run(jobs: Sequence[tuple], n_jobs: int | None) -> list[Any]:
    """Results of (function, *arguments) jobs, in threads, each with one OpenMP thread.

    Many small fits on all OpenMP threads at once wait for each other far longer than they work.
    BLAS has one setting per process and is capped outside, OpenMP one per thread, hence inside.
    """
    found = ThreadpoolController()
    with freed_memory_kept(), one_thread("blas"):
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_capped)(found, *job) for job in jobs
        )


def _capped(found: ThreadpoolController, function: Callable, *arguments: Any) -> Any:
    with one_thread("openmp", found):
        return function(*arguments)


def unit_range(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each code shifted and scaled to [0, 1]; a constant one to 0."""
    low, spread = codes.min(axis=0), column_range(codes)
    return (codes - low) / np.where(spread > 0, spread, 1.0)


def fit_and_predict(task: Task) -> tuple[BaseEstimator | None, float]:
    """Fitted model and its held-out score; no model if the training rows hold one value only."""
    model, predicted = fit(task)
    return model, held_out_score(task.predictor, task.y[task.test], predicted)


def fit(task: Task) -> tuple[BaseEstimator | None, NDArray]:
    """Fitted model and what it predicts of the held-out rows."""
    predictor, X, y, train, test, seed = task
    first = y[train[0]]
    if (y[train] == first).all():
        return None, np.full(len(test), first)
    model = seeded(predictor, seed).fit(X[train], y[train])
    return model, np.asarray(model.predict(X[test]))


def seeded(predictor: BaseEstimator, seed: int) -> BaseEstimator:
    """A copy of an estimator whose random states are set; those that the user has set stay."""
    model = clone(predictor)
    unset = {
        name: int(seed)
        for name, value in model.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return model.set_params(**unset)


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


def _importance(task: Task) -> tuple[NDArray[np.float64], NDArray]:
    model, predicted = fit(task)
    n_codes = task.X.shape[1]
    if model is None:
        return np.zeros(n_codes), predicted
    weights = _own_importance(model, n_codes)
    if weights is None:
        result = permutation_importance(
            model,
            task.X[task.test],
            task.y[task.test],
            scoring=lambda model, X, y: held_out_score(model, y, model.predict(X)),
            n_repeats=_N_REPEATS,
            random_state=int(task.seed),
        )
        # A code whose shuffling helps is as unimportant as one whose shuffling does nothing.
        weights = np.maximum(result.importances_mean, 0.0)
    if not np.isfinite(weights).all():
        raise ValueError(
            f"{type(model).__name__} gave importances that are not finite, got {weights}. "
            "Rescale the codes or pass another estimator."
        )
    return weights, predicted


def _own_importance(model: BaseEstimator, n_codes: int) -> NDArray[np.float64] | None:
    """Importances or absolute coefficients (mean over classes) of a fitted model, if any."""
    before, model = path_to_model(model)
    # Behind a PCA, say, coefficients no longer belong to codes.
    if not all(isinstance(step, OneToOneFeatureMixin) for step in before):
        return None
    for name in ("feature_importances_", "coef_"):
        with np.errstate(invalid="ignore"):
            weights = getattr(model, name, None)
        if weights is not None:
            weights = weights.toarray() if issparse(weights) else weights
            weights = np.atleast_2d(np.abs(np.asarray(weights, dtype=np.float64))).mean(axis=0)
            if name == "feature_importances_" and np.isnan(weights).all():
                weights = np.zeros_like(weights)  # 0 / 0: no split of the forest gained anything
            if weights.shape == (n_codes,):
                return weights
    return None


def _unit_scores(task: Task, units: Units) -> list[float]:
    return [fit_and_predict(task._replace(X=task.X[:, unit]))[1] for unit in units]


def _grow_until(
    tasks: Sequence[Task], tol: float, n_jobs: int | None
) -> list[tuple[NDArray[np.float64], NDArray]]:
    """The same by forests that stop growing at a standard error of `tol`.

    It is the larger one of disentanglement and completeness, from their values by each step of a
    few trees. All forests have the same size, and their trees are the first ones of whole forests.
    """
    models = [
        None
        if (task.y[task.train] == task.y[task.train[0]]).all()
        else seeded(task.predictor, task.seed).set_params(warm_start=True)
        for task in tasks
    ]
    parts: list[NDArray[np.float64]] = []
    most = max((task.predictor.n_estimators for task in tasks), default=0) // _STEP
    while len(parts) < most:
        # The first steps at once: a forest checks its data in every call.
        n_steps = min(_FIRST_STEPS, most) if not parts else 1
        size = (len(parts) + n_steps) * _STEP
        jobs = [(_grow, model, task, size, n_steps) for model, task in zip(models, tasks)]
        parts += list(np.stack(run(jobs, n_jobs), axis=1))
        values = np.array([_concentrations(part) for part in parts])
        is_enough = len(parts) >= _FIRST_STEPS
        if is_enough and (values.std(axis=0, ddof=1) <= tol * np.sqrt(len(parts))).all():
            break
    importance = np.mean(parts, axis=0) if parts else []
    return [
        (
            # As that of a forest: trees of a single node do not count.
            weights / (weights.sum() or 1.0),
            np.full(len(task.test), task.y[task.train[0]])
            if model is None
            else np.asarray(model.predict(task.X[task.test])),
        )
        for weights, model, task in zip(importance, models, tasks)
    ]


def _grow(model: BaseEstimator | None, task: Task, size: int, n_steps: int) -> NDArray[np.float64]:
    """Mean importance (n_steps, n_codes) of the trees that each step adds to a forest."""
    if model is None:
        return np.zeros((n_steps, task.X.shape[1]))
    model.set_params(n_estimators=size).fit(task.X[task.train], task.y[task.train])
    new = [tree.feature_importances_ for tree in model.estimators_[-n_steps * _STEP :]]
    return np.reshape(new, (n_steps, _STEP, -1)).mean(axis=1)


def _concentrations(importance: NDArray[np.float64]) -> list[float]:
    """Disentanglement and completeness of importances (n_factors, n_codes); 0 of none at all."""
    total = max(importance.sum(), np.finfo(float).tiny)
    axes = (0, 1)
    return [float(concentration(importance, a) @ importance.sum(a) / total) for a in axes]


def refuse_kind(estimator: Any, kind: Literal["classifier", "regressor"]) -> None:
    """Refuse an estimator of the kind that cannot do what is asked."""
    is_wrong = {"classifier": is_classifier, "regressor": is_regressor}[kind]
    # None and names stand for estimators of ours; some estimators do not tell their kind.
    if hasattr(estimator, "__sklearn_tags__") and is_wrong(estimator):
        wanted = "regressor" if kind == "classifier" else "classifier"
        raise ValueError(f"estimator must be a {wanted}, got {estimator!r}.")


def as_target(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns to be predicted; a single one as a vector, since many regressors warn otherwise."""
    return Y if Y.shape[1] > 1 else Y[:, 0]


@cache
def forests() -> tuple[BaseEstimator, BaseEstimator]:
    # All codes compete for every split: with a random subset, codes independent of the factor
    # would be split on for want of others, and perfect codes would not score 1.
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
