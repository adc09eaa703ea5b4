"""Mixtures of sources with an auxiliary variable."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import FastICA

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_nonlinear_ica


def matched_correlation(sources, codes):
    from scipy.optimize import linear_sum_assignment

    n = sources.shape[1]
    table = np.abs(np.corrcoef(sources.T, codes.T)[:n, n:])
    return table[linear_sum_assignment(-table)].mean()


@pytest.mark.parametrize("n_features", [None, 9])
@pytest.mark.parametrize("n_layers", [1, 2, 5])
def test_ica_mixing_can_be_undone(n_features, n_layers):
    ica = make_nonlinear_ica(500, n_features=n_features, n_layers=n_layers, random_state=0)
    assert ica.data.shape == (500, n_features or 5)
    np.testing.assert_allclose(ica.mixing.transform(ica.sources), ica.data)
    np.testing.assert_allclose(ica.mixing.inverse_transform(ica.data), ica.sources, atol=1e-9)
    assert len(ica.mixing.weights) == n_layers
    for weight in ica.mixing.weights:
        assert np.linalg.cond(weight) <= 4 + 1e-9
    again = pickle.loads(pickle.dumps(ica.mixing))
    np.testing.assert_array_equal(again.transform(ica.sources), ica.data)


def test_ica_mixing_by_hand():
    ica = make_nonlinear_ica(50, n_sources=2, n_layers=2, negative_slope=0.5, random_state=0)
    first, second = ica.mixing.weights
    for row, wanted in zip(ica.sources, ica.data):
        hidden = [sum(row[i] * first[i, j] for i in range(2)) for j in range(2)]
        hidden = [h if h > 0 else 0.5 * h for h in hidden]
        np.testing.assert_allclose(hidden @ second, wanted)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("modulation", ["scale", "mean", "both"])
def test_ica_sources_have_their_moments_in_every_segment(distribution, modulation):
    ica = make_nonlinear_ica(
        40_000,
        n_sources=3,
        n_segments=5,
        distribution=distribution,
        modulation=modulation,
        random_state=1,
    )
    kurtosis = {"gaussian": 3, "laplace": 6}[distribution]
    pooled = []
    for segment in range(5):
        rows = ica.sources[ica.u == segment]
        assert len(rows) == 8000
        np.testing.assert_allclose(rows.mean(axis=0), ica.means[segment], atol=0.09)
        np.testing.assert_allclose(rows.std(axis=0), ica.scales[segment], rtol=0.05)
        assert np.abs(np.corrcoef(rows.T) - np.eye(3)).max() < 0.05
        pooled.append((rows - ica.means[segment]) / ica.scales[segment])
    assert (np.concatenate(pooled) ** 4).mean() == pytest.approx(kurtosis, rel=0.05)
    assert (ica.means == 0).all() == (modulation == "scale")
    assert (ica.scales == 1).all() == (modulation == "mean")


@pytest.mark.parametrize(("modulation", "k"), [("scale", 1), ("mean", 1), ("both", 2)])
def test_ica_segments_are_varied_enough_for_the_theorem(modulation, k):
    # Natural parameters of the Gaussians, less those of one segment, must span k n dimensions.
    ica = make_nonlinear_ica(10, n_segments=11, modulation=modulation, random_state=0)
    natural = np.hstack([ica.means / ica.scales**2, -0.5 / ica.scales**2])
    spread = natural[1:] - natural[0]
    used = spread[:, np.ptp(spread, axis=0) > 1e-12]
    assert used.shape[1] == 5 * k
    assert np.linalg.matrix_rank(used, tol=1e-8) == 5 * k


def test_ica_linear_mixtures_are_solved_by_linear_ica_and_nonlinear_ones_are_not():
    scores = {}
    for n_layers in (1, 6):
        ica = make_nonlinear_ica(
            8000,
            n_sources=3,
            n_layers=n_layers,
            distribution="laplace",
            modulation="scale",
            random_state=0,
        )
        codes = FastICA(random_state=0, whiten="unit-variance").fit_transform(ica.data)
        scores[n_layers] = matched_correlation(ica.sources, codes)
        inverted = ica.mixing.inverse_transform(ica.data)
        assert matched_correlation(ica.sources, inverted) == pytest.approx(1)
    assert scores[1] > 0.99
    assert scores[6] < 0.97


def test_ica_noise_order_and_repeats():
    plain = make_nonlinear_ica(400, random_state=0)
    noisy = make_nonlinear_ica(400, random_state=0, noise=0.3)
    np.testing.assert_array_equal(noisy.sources, plain.sources)
    assert (noisy.data - plain.data).std() == pytest.approx(0.3, rel=0.1)
    X, sources = make_nonlinear_ica(400, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, plain.data)
    np.testing.assert_array_equal(sources, plain.target)
    ordered = make_nonlinear_ica(403, random_state=0, shuffle=False)
    assert (np.diff(ordered.u) >= 0).all()
    assert set(np.bincount(ordered.u)) == {10, 11}
    assert not (np.diff(plain.u) >= 0).all()
    # More rows of the same world.
    np.testing.assert_array_equal(ordered.means, plain.means)
    for a, b in zip(ordered.mixing.weights, plain.mixing.weights):
        np.testing.assert_array_equal(a, b)


def test_ica_refuses_bad_parameters():
    with pytest.raises(ValueError, match="n_features=3 features cannot hold n_sources=5"):
        make_nonlinear_ica(n_features=3)
    for options in ({"negative_slope": 0}, {"n_segments": 1}, {"distribution": "cauchy"}):
        with pytest.raises(InvalidParameterError):
            make_nonlinear_ica(**options)


def test_ica_variances_begin_where_asked():
    near, far = (
        make_nonlinear_ica(100, n_segments=50, least_variance=v, random_state=0)
        for v in (2.9, 0.01)
    )
    assert 2.9 <= near.scales.min() ** 2 <= near.scales.max() ** 2 <= 3.0
    assert far.scales.min() ** 2 < 0.2
    assert "[0.01, 3]" in far.DESCR
    np.testing.assert_array_equal(near.mixing.weights, far.mixing.weights)
    with pytest.raises(InvalidParameterError, match="least_variance"):
        make_nonlinear_ica(100, least_variance=4.0)
