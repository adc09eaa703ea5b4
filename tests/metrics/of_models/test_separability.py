"""WSEPIN: known values of simple posteriors."""

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import wsepin_score


class Posterior:
    def __init__(self, std):
        self.std = std

    def posterior(self, X):
        X = np.asarray(X, dtype=float)
        return X, np.full(X.shape, 2 * np.log(self.std))


def test_independent_gaussians_have_the_information_of_a_channel():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    expected = 0.5 * np.log1p(1 / 0.5**2)
    score = wsepin_score(Posterior(0.5), X, max_samples=None, random_state=0)
    assert score == pytest.approx(expected, abs=0.05)


def test_copies_separate_nothing_but_noise():
    x = np.random.default_rng(0).normal(size=(3000, 1))
    alone = wsepin_score(Posterior(0.1), x, random_state=0)
    twice = wsepin_score(Posterior(0.1), np.hstack([x, x]), random_state=0)
    # A second look through the same noise halves its variance: log(2) / 2.
    assert alone == pytest.approx(0.5 * np.log1p(100), abs=0.05)
    assert twice == pytest.approx(0.5 * np.log(2), abs=0.05)


def test_collapsed_model_scores_zero():
    with pytest.warns(DegenerateScoreWarning, match="All posteriors are the same"):
        assert wsepin_score(Posterior(1.0), np.zeros((50, 2)), random_state=0) == 0.0
