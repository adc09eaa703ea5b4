"""Forests on one code: the same as scikit-learn's, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier

from sklearn_disent.metrics import downstream_accuracy_score
from sklearn_disent.metrics.prediction._single_code_forest import predict_classes

FOREST = {"n_trees": 20, "max_depth": 5}


def reference(code, y, new, random_state, n_trees, max_depth):
    forest = RandomForestClassifier(n_trees, max_depth=max_depth, random_state=random_state)
    return forest.fit(code[:, None], y).predict(new[:, None])


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@settings(deadline=None, max_examples=20)
@given(
    n=st.integers(2, 120),
    n_classes=st.integers(2, 12),
    noise=st.sampled_from([0.0, 0.3, 3.0]),
    decimals=st.sampled_from([None, 1, 0]),
    seed=st.integers(0, 2**31 - 1),
    max_depth=st.integers(1, 7),
)
def test_forest_is_that_of_scikit_learn(n, n_classes, noise, decimals, seed, max_depth):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n) * 3 - 5
    code = y + noise * rng.normal(size=n)
    if decimals is not None:
        code = code.round(decimals)
    new = np.concatenate([code, rng.normal(size=20) * 10])
    found = predict_classes(code, y, new, n_trees=20, max_depth=max_depth, random_state=seed)
    assert_array_equal(found, reference(code, y, new, seed, 20, max_depth))


def test_forest_of_a_constant_code_predicts_the_most_frequent_class():
    y = np.array([4, 4, 7, 4])
    found = predict_classes(np.zeros(4), y, np.ones(3), random_state=0, **FOREST)
    assert_array_equal(found, [4, 4, 4])


def test_codes_closer_than_a_float_can_tell_are_not_split():
    code = np.array([0.5, 0.5 + 1e-8, 0.5 + 2e-8, 0.5 + 3e-8] * 5)
    y = np.array([0, 0, 1, 1] * 5)
    found = predict_classes(code, y, code, random_state=1, **FOREST)
    assert len(np.unique(found)) == 1
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 splits some of them")
    assert_array_equal(found, reference(code, y, code, 1, **FOREST))


@pytest.mark.slow
def test_downstream_accuracy_is_that_of_scikit_learns_forests():
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.integers(3, size=400), rng.integers(12, size=400)])
    z = y @ rng.normal(size=(2, 3)) + rng.normal(size=(400, 3))
    ours = downstream_accuracy_score(y, z, random_state=0, average=None)
    forest = RandomForestClassifier(100, max_depth=5)
    unit = (z - z.min(0)) / np.ptp(z, axis=0)  # as for the default
    theirs = downstream_accuracy_score(y, unit, estimator=forest, random_state=0, average=None)
    assert_array_equal(ours, theirs)
