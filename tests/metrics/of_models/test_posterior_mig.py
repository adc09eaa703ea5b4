"""MIG of posteriors: by hand, invariances, degenerate cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    elbo_decomposition,
    posterior_mig_score,
)


def test_posterior_mig_of_sharp_and_of_blurred_codes(data, Posterior):
    X, y = data
    assert posterior_mig_score(Posterior(0.01), X[:, :2], y) == pytest.approx(1.0, abs=0.02)
    # Noise that tells 400 samples apart knows their factors, too; a blur hides it.
    assert posterior_mig_score(Posterior(0.001), X, y) < 0.2
    values = [posterior_mig_score(Posterior(std), X, y) for std in (0.1, 0.5, 1.0, 5.0, 100.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.9
    assert values[-1] < 1e-3


def test_posterior_mig_by_hand(Posterior):
    """Two values at distance 2d: the information is that of a binary input with normal noise."""
    y = np.repeat([[0], [1]], 50, axis=0)
    z = np.linspace(-12.0, 12.0, 20_001)
    p = np.exp(-0.5 * (z - 1) ** 2) / np.sqrt(2 * np.pi)
    expected = np.log(2) - (p * np.log1p(np.exp(-2 * z))).sum() * (z[1] - z[0])
    value = posterior_mig_score(Posterior(1.0), 2.0 * y - 1, y)
    assert value == pytest.approx(expected / np.log(2), abs=1e-4)


def test_posterior_mig_invariances(data, Posterior):
    X, y = data
    value = posterior_mig_score(Posterior(0.4), X, y)
    order = np.random.default_rng(1).permutation(len(X))
    names = np.array(["a", "d", "c", "b"])
    same = [
        posterior_mig_score(Posterior(0.4), X[order], y[order]),
        posterior_mig_score(Posterior(0.4), X[:, ::-1], y[:, ::-1]),
        posterior_mig_score(Posterior(4.0), 3.0 - 10 * X, y),
        posterior_mig_score(Posterior(0.4), X, names[y]),
        posterior_mig_score(Posterior(0.4), np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)),
    ]
    assert_allclose(same, value, atol=1e-4)
    assert type(value) is float
    per_factor = posterior_mig_score(Posterior(0.4), X, y, average=None)
    assert per_factor.mean() == pytest.approx(value)


def test_posterior_mig_weights_equal_repetition(data, Posterior):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    expected = posterior_mig_score(Posterior(0.4), X[repeated], y[repeated])
    value = posterior_mig_score(Posterior(0.4), X, y, sample_weight=weight)
    assert value == pytest.approx(expected, abs=1e-9)


def test_posterior_mig_of_continuous_and_missing_factors(data, Posterior):
    X, y = data
    with pytest.raises(ValueError, match="factor_bins=10"):
        posterior_mig_score(Posterior(), X, y + 0.5)
    assert posterior_mig_score(Posterior(), X, y + 0.5, factor_bins="unique") > 0.9
    missing = y.astype(float)
    missing[:100, 0] = np.nan
    with pytest.raises(ValueError, match="nan_policy"):
        posterior_mig_score(Posterior(), X, missing)
    expected = posterior_mig_score(Posterior(), X[100:], y[100:])
    assert posterior_mig_score(Posterior(), X, missing, nan_policy="omit") == expected


def test_degenerate_cases_are_defined_and_warned_of(data, Posterior):
    X, y = data
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[1\] have a single value"):
        value = posterior_mig_score(Posterior(), X, np.column_stack([y[:, 0], 0 * y[:, 0]]))
    assert value == pytest.approx(posterior_mig_score(Posterior(), X, y[:, :1]))
    with pytest.warns(DegenerateScoreWarning, match="All posteriors are the same"):
        assert posterior_mig_score(Posterior(), np.zeros((400, 2)), y) == 0.0
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[0, 1, 2\] have posteriors narrower"):
        assert posterior_mig_score(Posterior(1e-9), X, y) > 0.0
    with pytest.warns(DegenerateScoreWarning, match="narrower than 1e-05"):
        terms = elbo_decomposition(Posterior(1e-9), X[:50], n_samples=100)
    assert np.isfinite(terms).all()
    with pytest.raises(ValueError, match="variances must be finite, got log-variances up to"):
        posterior_mig_score(Posterior(1e200), X, y)
