"""Minimality and sufficiency of posteriors: by hand, collapsed latents, the ledger."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    minimality_score,
    posterior_ledger,
    posterior_minimality_score,
    posterior_sufficiency_score,
)


def test_scores_of_sharp_posteriors_are_those_of_classes(Posterior):
    y = np.indices((4, 4)).reshape(2, -1).T.repeat(5, axis=0)
    X = np.column_stack([y[:, 0], 4.0 * y[:, 0] + y[:, 1]])
    model = Posterior(0.02)
    assert_allclose(posterior_minimality_score(model, X, y, average=None), [1.0, 0.5], atol=1e-3)
    assert posterior_sufficiency_score(model, X, y) == pytest.approx(1.0, abs=1e-3)
    # Codes hold log 4 and log 16 nats.
    weighted = posterior_minimality_score(model, X, y, code_weights="information")
    assert weighted == pytest.approx((1 * 1 + 0.5 * 2) / 3, abs=1e-3)
    blurred = posterior_sufficiency_score(Posterior(1.0), X, y)
    assert 0.2 < blurred < 0.9


def test_information_of_two_points_by_hand(Posterior):
    """A binary input with normal noise; all that the code holds is about the factor."""
    y = np.repeat([[0], [1]], 50, axis=0)
    z = np.linspace(-12.0, 12.0, 20_001)
    p = np.exp(-0.5 * (z - 1) ** 2) / np.sqrt(2 * np.pi)
    expected = np.log(2) - (p * np.log1p(np.exp(-2 * z))).sum() * (z[1] - z[0])
    model, X = Posterior(1.0), 2.0 * y - 1
    ledger = posterior_ledger(model, X, y)
    assert ledger.total[0] == pytest.approx(expected, abs=1e-4)
    assert ledger.own[0] == pytest.approx(expected, abs=1e-4)
    assert posterior_minimality_score(model, X, y) == pytest.approx(1.0, abs=1e-3)
    assert posterior_sufficiency_score(model, X, y) == pytest.approx(expected / np.log(2), abs=1e-3)


def test_collapsed_latents_do_not_count(Posterior):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(2000, 3))
    X = np.column_stack([y, 1e-4 * rng.normal(size=(2000, 7))])
    model = Posterior(0.05)
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[3, 4, 5, 6, 7, 8, 9\] hold at most"):
        score = posterior_minimality_score(model, X, y)
    assert score == pytest.approx(1.0, abs=1e-3)
    assert minimality_score(y, X, min_variance=0) < 0.5
    with pytest.warns(DegenerateScoreWarning, match="All posteriors are|None of"):
        assert posterior_minimality_score(model, 0 * X, y) == 0.0


def test_ledger_tells_other_factors_from_nuisance(Posterior):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(3000, 2))
    X = np.column_stack([y[:, 0], 4 * y[:, 0] + y[:, 1], y[:, 1] + rng.uniform(-0.4, 0.4, 3000)])
    ledger = posterior_ledger(Posterior(0.05), X, y, factor_names=["a", "b"])
    assert_allclose(ledger.total, ledger.own + ledger.others + ledger.nuisance)
    assert_allclose(ledger.others, [0, np.log(3), 0], atol=5e-3)
    assert_allclose(ledger.nuisance[:2], 0.0, atol=5e-3)
    assert ledger.nuisance[2] > 0.5
    assert "a" in str(ledger)


class Widths(TransformerMixin, BaseEstimator):
    """The first half of the columns are codes, the second their standard deviations."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.hsplit(np.asarray(X, dtype=float), 2)[0]

    def posterior(self, X):
        return self.transform(X), 2 * np.log(np.hsplit(np.asarray(X, dtype=float), 2)[1])


def test_noise_of_unequal_posteriors_is_weighted():
    """What a code holds is its entropy minus the weighted mean of those of its posteriors."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(400, 2))
    std = np.where(np.arange(400)[:, None] < 200, [0.05, 0.3], [1.0, 0.9])
    X = np.column_stack([y + rng.uniform(-0.3, 0.3, y.shape), std])
    # Nearly all weight is on the narrow ones: an unweighted mean is off by more than a nat.
    weight = np.where(np.arange(400) < 200, 9, 1)
    repeated = np.repeat(np.arange(400), weight)
    ledger = posterior_ledger(Widths(), X, y, sample_weight=weight)
    expected = posterior_ledger(Widths(), X[repeated], y[repeated])
    assert_allclose(ledger.total, expected.total, atol=1e-4)
    assert_allclose(ledger.own, expected.own, atol=1e-4)
    unweighted = posterior_ledger(Widths(), X, y)
    assert (ledger.total - unweighted.total > 0.2).all()
    options = {"average": None, "sample_weight": weight}
    share = posterior_minimality_score(Widths(), X, y, **options)
    assert_allclose(share, expected.share, atol=1e-4)
    assert_allclose(
        share,
        posterior_minimality_score(Widths(), X[repeated], y[repeated], average=None),
        atol=1e-4,
    )


def test_weighted_noise_by_hand():
    """Two far points of unequal widths and weights w: total = H(w), whatever the widths."""
    y = np.repeat([[0], [1]], 50, axis=0)
    X = np.column_stack([100.0 * y, np.where(y == 0, 0.5, 2.0)])
    weight = np.where(y[:, 0] == 0, 3.0, 1.0)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    ledger = posterior_ledger(Widths(), X, y, sample_weight=weight)
    assert_allclose(ledger.total, entropy, atol=2e-3)
    assert_allclose(ledger.nuisance, 0.0, atol=2e-3)
    score = posterior_minimality_score(Widths(), X, y, sample_weight=weight)
    assert score == pytest.approx(1.0, abs=2e-3)


def test_weights_equal_repetition_and_y_is_needed(data, Posterior):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    for score in (posterior_minimality_score, posterior_sufficiency_score):
        expected = score(Posterior(0.4), X[repeated], y[repeated])
        assert score(Posterior(0.4), X, y, sample_weight=weight) == pytest.approx(expected)
        with pytest.raises(ValueError, match=f"{score.__name__} needs the factors"):
            score(Posterior(0.4), X, None)
