"""Scores whose cost grows too fast take some of the rows, and all of them if they are few."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent import metrics
from sklearn_disent.metrics._catalogue import REPORTED
from sklearn_disent.metrics._subsampling import few_rows

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(3, size=(300, 2))
CODES = FACTORS + 0.3 * RNG.normal(size=(300, 2))
LIMITED = sorted(
    name
    for name, metric in REPORTED.items()
    if "max_samples" in metric.options and name != "downstream_accuracy"
)
CHEAP = {
    "nk": {"estimator": DecisionTreeClassifier(max_depth=3)},
    "tmex_error": {"n_splits": 1},
    "unfairness_error": {"estimator": DecisionTreeClassifier(max_depth=3)},
    **{
        key: {"estimator": DecisionTreeClassifier(max_depth=3)}
        for key in ("dci_disentanglement", "dci_completeness", "dci_informativeness")
    },
}


def test_some_metrics_are_limited():
    assert {"dci_completeness", "infoe", "infom", "nk", "explicitness"} <= set(LIMITED)


@pytest.mark.parametrize("name", LIMITED)
def test_max_samples_draws_the_same_rows_for_the_same_seed(name):
    score = REPORTED[name].function
    options = {"random_state": 0, **CHEAP.get(name, {})}
    rows = np.sort(np.random.RandomState(0).choice(300, 100, replace=False))
    few = score(FACTORS, CODES, max_samples=100, **options)
    assert few == score(FACTORS[rows], CODES[rows], **options)
    whole = score(FACTORS, CODES, max_samples=None, **options)
    assert whole == score(FACTORS, CODES, max_samples=300, **options)
    assert inspect.signature(score).parameters["max_samples"].default in (5_000, 10_000, 100_000)


def test_split_is_taken_as_it_is():
    split = np.arange(200), np.arange(200, 300)
    options = {"split": split, "estimator": DecisionTreeClassifier(random_state=0)}
    few = metrics.dci_scores(FACTORS, CODES, max_samples=10, **options)
    assert few == metrics.dci_scores(FACTORS, CODES, max_samples=None, **options)


def test_rows_keep_their_order_and_type():
    frame = pd.DataFrame({"a": list("xyz") * 100})
    few, none, same = few_rows((frame, None, CODES), 50, 0)
    assert none is None
    assert len(few) == len(same) == 50
    assert few.index.is_monotonic_increasing
    assert few["a"].tolist() == frame["a"][few.index].tolist()
    # Different lengths are refused by what comes after.
    assert few_rows((frame[:10], CODES), 5, 0)[1] is CODES
