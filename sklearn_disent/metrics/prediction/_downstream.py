"""Downstream accuracy: what a small predictor makes of few rows and one code per factor."""

from functools import partial
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    Average,
    NanPolicy,
    OpenShare,
    PositiveInt,
    RandomStateLike,
    averaged,
)
from .._aggregation import Score, average_of
from .._validation import Checked, check_data, varied_factors, warn_if_constant
from ._bagged_neighbors import bagged_mean
from ._predictors import (
    Predictors,
    Split,
    Task,
    draw_seeds,
    fit_and_predict,
    held_out_score,
    predictors_for,
    run,
    split_rows,
    target_of,
)
from ._single_code_forest import predict_classes

__all__ = ["downstream_accuracy_score"]

# Of the paper's forests.
_N_TREES = 100


@averaged
def downstream_accuracy_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    code_selection: Literal["best", "all"] = "best",
    estimator: Predictors | None = None,
    max_depth: PositiveInt | None = 5,
    max_samples: AtLeastTwo | None = 1000,
    train_size: PositiveInt | None = None,
    test_size: OpenShare | PositiveInt | None = 0.2,
    split: Split | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    """Accuracy of a small predictor that sees few rows and, by default, one code per factor.

    It measures what a disentangled representation promises: a factor can be read off a single code,
    with little data and little computation. Held-out accuracy for classes, r^2 for continuous
    factors, averaged over factors. Between 0 and 1, higher is better; codes independent of the
    factors get somewhat more than the accuracy of guessing.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    code_selection : {"best", "all"}, default="best"
        Predict each factor from the single code that does best, or from all codes.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        The predictor. None means random forests of 100 trees.
    max_depth : int or None, default=5
        Depth of the default forests, 5 as published. None lets them grow to the end; on a single
        code the mean over all possible trees then has a closed form, see Notes.
    max_samples : int or None, default=1000
        Rows drawn at random, before the split; None uses all of them.
    train_size : int or None, default=None
        Number of rows to fit on, of all that are given; `max_samples` does not apply then. None
        takes the drawn rows that are not held out.
    test_size : float, int or None, default=0.2
        Held-out rows: their number, or their share of the drawn rows (of all rows, with
        `train_size`). None holds out all rows that are not fit on, and needs `train_size`.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random draw and split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
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
    The best code is the one with the highest held-out accuracy, which makes the score slightly
    optimistic: by about 0.04 with 200 held-out rows and ten codes without information. With the
    default of 200 held-out rows, as in the paper, the standard error of an accuracy is up to 0.035
    per factor; ``train_size=800, test_size=None`` fits on as many rows and scores on all others,
    with 10,000 of which it is 0.005. An r^2 below
    0 counts as 0. Factors with a single value are left out, with a warning (nan if `average` is
    None).

    A tree that is grown to the end on one code predicts the nearest of the rows that it has drawn.
    With ``max_depth=None`` and the best code, each prediction is therefore the mean over all
    bootstraps, without trees: the k-th nearest of n rows has the weight
    ((n - k + 1) / n)^n - ((n - k) / n)^n. Forests approach it as their number of trees grows. Such
    predictions follow the noise of a code: expect lower scores than from trees of depth 5.

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
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True, per_factor=True)
    rng, used = check_random_state(random_state), varied_factors(data)
    accuracy = []
    for part in data.parts or (data,):
        if split is None:
            rows = _draw(len(part.codes), train_size, test_size, max_samples, rng)
        else:
            rows = split_rows(part, split, 0.5, rng)
        accuracy.append(
            _accuracies(part, code_selection, (estimator, max_depth), rows, n_jobs, rng)
        )
    return average_of(np.concatenate(accuracy), used, average)


def _draw(
    n_samples: int,
    train_size: int | None,
    test_size: float | None,
    max_samples: int | None,
    rng: RandomState,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random rows to fit on and to score on."""
    if train_size is None and test_size is None:
        raise ValueError(
            "test_size=None holds out what is not fit on, and needs train_size, got None. Set "
            "train_size, or test_size."
        )
    order = rng.permutation(n_samples)[: max_samples if train_size is None else None]
    if test_size is None:
        n_test = len(order) - (train_size or 0)
    elif isinstance(test_size, Integral):
        n_test = int(test_size)
    else:
        n_test = min(max(round(test_size * len(order)), 1), len(order) - 1)
    n_train = len(order) - n_test if train_size is None else train_size
    if n_test < 1 or n_train < 1 or n_train + n_test > len(order):
        raise ValueError(
            f"train_size={train_size} and test_size={test_size} do not fit into {len(order)} rows. "
            "Lower one of them, or pass more rows."
        )
    return order[n_test : n_test + n_train], order[:n_test]


def _accuracies(
    data: Checked,
    code_selection: str,
    forest_or_other: tuple[Predictors | None, int | None],
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    n_jobs: int | None,
    rng: RandomState,
) -> NDArray[np.float64]:
    """Held-out score of each used factor (n_factors,), from its best code or from all."""
    warn_if_constant(data.codes, "they predict no factor")
    estimator, max_depth = forest_or_other
    used = data.varied
    X, predictors = predictors_for(data, estimator, partial(_small_forests, max_depth))
    views = [X[:, [j]] for j in range(X.shape[1])] if code_selection == "best" else [X]
    # Codes of a factor compete on the same bootstraps, which are drawn once.
    seeds = draw_seeds(rng, len(used))
    fitted = np.flatnonzero(used)
    tasks = [
        Task(predictors[k], view, target_of(data, k, predictors[k]), *parts, seeds[k])
        for k in fitted.tolist()
        for view in views
    ]
    one_by_one = estimator is None and code_selection == "best"
    score = partial(_small_forest_score, max_depth) if one_by_one else _predictor_score
    scores = np.array(run([(score, task) for task in tasks], n_jobs))
    accuracy = np.zeros(len(used))
    accuracy[used] = scores.reshape(len(fitted), len(views)).max(axis=1)
    return accuracy


def _predictor_score(task: Task) -> float:
    return fit_and_predict(task)[1]


def _small_forest_score(max_depth: int | None, task: Task) -> float:
    """The same for a small forest of one code, which need not be grown tree by tree."""
    classes = task.y[task.train]
    if max_depth is None:
        return _bagged_neighbors_score(task)
    if not is_classifier(task.predictor) or (classes == classes[0]).all():
        return _predictor_score(task)
    code = task.X[:, 0]
    predicted = predict_classes(
        code[task.train],
        classes,
        code[task.test],
        n_trees=_N_TREES,
        max_depth=max_depth,
        random_state=int(task.seed),
    )
    return held_out_score(task.predictor, task.y[task.test], predicted)


def _bagged_neighbors_score(task: Task) -> float:
    """Held-out score of the mean over all fully grown trees of one code."""
    # Trees round codes to float32.
    code, y = task.X[:, 0].astype(np.float32), task.y[task.train]
    if not is_classifier(task.predictor):
        predicted = bagged_mean(code[task.train], y[:, None], code[task.test])[:, 0]
    else:
        classes, place = np.unique(y, return_inverse=True)
        share = bagged_mean(code[task.train], np.eye(len(classes))[place], code[task.test])
        predicted = classes[share.argmax(axis=1)]
    return held_out_score(task.predictor, task.y[task.test], predicted)


def _small_forests(max_depth: int | None) -> tuple[BaseEstimator, BaseEstimator]:
    options = {"n_estimators": _N_TREES, "max_depth": max_depth}
    return RandomForestClassifier(**options), RandomForestRegressor(**options)
