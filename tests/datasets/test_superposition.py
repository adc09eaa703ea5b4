"""Sparse features in superposition."""

import numpy as np
import pytest
from sklearn.decomposition import sparse_encode

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_superposition


def test_superposition_rows_are_sums_of_directions():
    toy = make_superposition(300, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(toy.directions, axis=1), 1)
    for row, wanted in zip(toy.activations[:20], toy.data[:20]):
        total = sum((row[k] * toy.directions[k] for k in np.flatnonzero(row)), np.zeros(16))
        np.testing.assert_allclose(total, wanted, atol=1e-12)
    assert toy.target is toy.activations
    assert len(toy.factor_names) == 64


@pytest.mark.parametrize("distribution", ["uniform", "exponential"])
def test_superposition_features_are_sparse_and_independent(distribution):
    toy = make_superposition(
        40_000,
        n_features=12,
        n_dimensions=4,
        density=0.1,
        distribution=distribution,
        random_state=0,
    )
    active = toy.activations > 0
    # Standard error .0015.
    np.testing.assert_allclose(active.mean(axis=0), 0.1, atol=0.006)
    assert np.abs(np.corrcoef(active.T) - np.eye(12)).max() < 0.025
    sizes = toy.activations[active]
    mean, std = {"uniform": (0.5, 12**-0.5), "exponential": (1, 1)}[distribution]
    assert sizes.mean() == pytest.approx(mean, rel=0.02)
    assert sizes.std() == pytest.approx(std, rel=0.03)
    assert (sizes.max() <= 1) == (distribution == "uniform")


def test_superposition_each_feature_may_have_its_own_density():
    density = np.linspace(0.01, 0.5, 8)
    toy = make_superposition(20_000, n_features=8, n_dimensions=3, density=density, random_state=0)
    np.testing.assert_allclose((toy.activations > 0).mean(axis=0), density, atol=0.015)


@pytest.mark.parametrize(("n_features", "n_dimensions"), [(8, 2), (64, 16), (100, 50)])
def test_superposition_spread_directions_are_nearly_orthogonal(n_features, n_dimensions):
    options = {"n_features": n_features, "n_dimensions": n_dimensions, "random_state": 0}
    spread = make_superposition(1, **options)
    loose = make_superposition(1, directions="random", **options)
    welch = np.sqrt((n_features - n_dimensions) / (n_dimensions * (n_features - 1)))
    cosines = np.abs(spread.directions @ spread.directions.T) - np.eye(n_features)
    assert spread.coherence == pytest.approx(cosines.max())
    assert welch <= spread.coherence <= 1.6 * welch
    assert spread.coherence < loose.coherence
    if n_dimensions == 2:
        # In a plane the best is known: equal angles.
        assert spread.coherence == pytest.approx(np.cos(np.pi / n_features), abs=0.002)


def test_superposition_is_orthogonal_when_there_is_room():
    toy = make_superposition(50, n_features=5, n_dimensions=8, random_state=0)
    np.testing.assert_allclose(toy.directions @ toy.directions.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(toy.data @ toy.directions.T, toy.activations, atol=1e-12)


def test_superposition_activations_are_recovered_from_the_directions():
    # Sparse enough, the code is the sparsest one: compressed sensing finds it.
    toy = make_superposition(200, n_features=60, n_dimensions=30, density=0.03, random_state=0)
    rows = (toy.activations > 0).sum(axis=1) > 0
    codes = sparse_encode(
        toy.data[rows], toy.directions, algorithm="lasso_lars", alpha=1e-4, positive=True
    )
    assert np.abs(codes - toy.activations[rows]).max() < 0.02


def test_superposition_noise_and_repeats():
    plain = make_superposition(500, random_state=0)
    noisy = make_superposition(500, noise=0.2, random_state=0)
    np.testing.assert_array_equal(noisy.activations, plain.activations)
    assert (noisy.data - plain.data).std() == pytest.approx(0.2, rel=0.05)
    X, activations = make_superposition(500, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, plain.data)
    np.testing.assert_array_equal(activations, plain.activations)
    more = make_superposition(700, random_state=0)
    np.testing.assert_array_equal(more.directions, plain.directions)


def test_superposition_refuses_bad_parameters():
    with pytest.raises(ValueError, match="one for each of the 64 features, got shape"):
        make_superposition(density=[0.1, 0.2])
    with pytest.raises(ValueError, match=r"density must lie in \(0, 1\], got 1.5"):
        make_superposition(n_features=2, density=[0.1, 1.5])
    for options in ({"density": 0.0}, {"n_dimensions": 0}, {"directions": "grid"}):
        with pytest.raises(InvalidParameterError):
            make_superposition(**options)
