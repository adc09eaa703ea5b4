"""Unfairness: total variation by hand, and codes that mix factors."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.metrics import unfairness_error
from sklearn_disent.metrics.prediction._unfairness import _disparity

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(2, size=(4000, 2))
TREE = DecisionTreeClassifier()


def test_disparity_by_hand():
    # Given 0 always 0, given 1 always 1, overall a half: total variation 1/2 for both.
    assert _disparity(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])) == 0.5
    assert _disparity(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])) == 0.0
    # Values that no row has do not count.
    assert _disparity(np.array([0, 0, 1, 1]), np.array([0, 0, 3, 3])) == 0.5


def test_mixed_codes_are_unfair_and_perfect_ones_are_not():
    fair = unfairness_error(FACTORS, FACTORS * 1.0, estimator=TREE, random_state=0)
    # The sum tells both factors only where they are equal; elsewhere one of them is guessed.
    unfair = unfairness_error(FACTORS, FACTORS.sum(1)[:, None], estimator=TREE, random_state=0)
    assert fair < 0.05
    assert unfair == pytest.approx(0.25, abs=0.05)


def test_dependent_factors_are_predicted_unfairly():
    same = FACTORS[:, [0, 0]]
    assert unfairness_error(same, same * 1.0, estimator=TREE, random_state=0) == pytest.approx(
        0.5, abs=0.05
    )
