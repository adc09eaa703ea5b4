"""DCI-ES: areas of hand-made loss curves, and probes on simple codes."""

import warnings

import numpy as np
import pytest
from numpy.random import RandomState
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge

from sklearn_disent.metrics import dcies_explicitness_score, dcies_size_score
from sklearn_disent.metrics.prediction._dcies import _explicitness, _fourier

RNG = np.random.default_rng(0)
FACTORS = RNG.uniform(-1, 1, size=(500, 2))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ([0.2, 0.2, 0.2], 1.0),  # the smallest probe does as well as any
        ([1.0, 0.5, 0.0], 0.0),  # a straight line
        ([1.0, 1.0, 0.0], -0.5),  # late
        ([1.0, 0.0, 0.0], 0.5),  # early
        ([0.2, 0.9, 0.2], 1.0),  # a probe that does worse than a smaller one counts as that one
        ([2.0, 2.0, 2.0], 1.0),  # nothing to learn
    ],
)
def test_areas_by_hand(loss, expected):
    assert _explicitness(np.array([loss]).T, np.arange(3.0)) == pytest.approx(expected)


@pytest.mark.parametrize("probe", ["fourier", "forest", "mlp"])
def test_linear_codes_are_more_explicit_than_waves(probe):
    waves = np.column_stack([np.sin(3 * FACTORS), np.cos(3 * FACTORS)])
    options = {"probe": probe, "max_capacity": 64, "random_state": 0}
    linear = dcies_explicitness_score(FACTORS, FACTORS * 2.0, **options)
    assert linear > dcies_explicitness_score(FACTORS, waves, **options)
    if probe == "fourier":
        assert linear == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("probe", ["fourier", "forest", "mlp"])
def test_one_factor_is_probed_without_a_warning(probe):
    options = {"probe": probe, "max_capacity": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = dcies_explicitness_score(FACTORS[:40, :1], FACTORS[:40], **options)
    assert np.isfinite(one)


def test_waves_are_those_of_scikit_learn():
    X, Y = FACTORS[:300], np.sin(3 * FACTORS[:300])
    *_, last = _fourier(X, Y, FACTORS[300:], [1, 2, 16], RandomState(0))
    sampler = RBFSampler(gamma=1 / 2, n_components=16, random_state=0).fit(X)
    own, new = (np.hstack([Z, sampler.transform(Z)]) for Z in (X, FACTORS[300:]))
    np.testing.assert_allclose(last, Ridge(1e-3).fit(own, Y).predict(new), atol=1e-3)


def test_size_counts_codes():
    factors = RNG.integers(3, size=(50, 2))
    assert dcies_size_score(factors, np.repeat(factors, 5, axis=1)) == 0.2
    assert dcies_size_score(factors, factors[:, :1]) == 1.0
