"""Fully grown forests on one code, in closed form."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from sklearn_disent.metrics import downstream_accuracy_score
from sklearn_disent.metrics.prediction._bagged_neighbors import bagged_mean

RNG = np.random.default_rng(0)


def test_weights_by_hand():
    # Of three rows, the nearest is drawn with probability 1 - (2/3)^3.
    mean = bagged_mean(np.array([0.0, 1.0, 5.0]), np.eye(3), np.array([0.1]))
    assert mean[0] == pytest.approx([19 / 27, 7 / 27, 1 / 27], abs=1e-15)
    # Equal codes share: two of three rows at 0, whose targets are 1 and 0.
    mean = bagged_mean(np.array([0.0, 0.0, 1.0]), np.array([[1.0], [0.0], [0.0]]), np.array([-1.0]))
    assert mean[0, 0] == pytest.approx(0.5 * 26 / 27, abs=1e-15)


@pytest.mark.parametrize("decimals", [6, 1])
def test_forests_approach_the_closed_form(decimals):
    code = RNG.normal(size=200).round(decimals).astype(np.float32)
    y = (code + RNG.normal(size=200) > 0).astype(int) + (code > 1)
    new = RNG.normal(size=100).astype(np.float32)
    forest = RandomForestClassifier(100, random_state=0).fit(code[:, None], y)
    share = bagged_mean(code, np.eye(3)[y], new)
    # Standard errors of 100 trees are up to 0.05.
    assert np.abs(share - forest.predict_proba(new[:, None])).max() < 0.25
    assert np.abs((share - forest.predict_proba(new[:, None])).mean(axis=0)).max() < 0.02


def test_downstream_accuracy_without_a_limit_of_depth():
    factors = RNG.integers(3, size=(600, 1))
    codes = np.hstack([RNG.normal(size=(600, 1)), factors + 0.3 * RNG.normal(size=(600, 1))])
    options = {"max_depth": None, "random_state": 0}
    closed = downstream_accuracy_score(factors, codes, **options)
    forest = downstream_accuracy_score(
        factors, codes, estimator=RandomForestClassifier(50), random_state=0
    )
    assert closed == pytest.approx(forest, abs=0.04)
    assert downstream_accuracy_score(factors + 0.5 * (factors == 2), codes, **options) > 0.5
