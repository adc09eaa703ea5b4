"""Optimal transport on the line against POT, by hand, and by what must hold."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from sklearn_disent.metrics import (
    relative_living_times,
    wasserstein_barycenter_1d,
    wasserstein_distance_1d,
)

REFERENCE = Path(__file__).parents[2] / "reference" / "topology"


def random_histograms(seed, n=2, n_bins=12):
    """Some with empty bins, some nearly equal."""
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.full(n_bins, 0.3), size=n)
    masses[masses < 1e-3] = 0
    return masses / masses.sum(axis=1, keepdims=True)


seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


@given(seeds, st.sampled_from([1, 2, 3.5]))
@few
def test_distance_equals_pot(seed, p):
    ot = pytest.importorskip("ot")
    a, b = random_histograms(seed)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 12)) * 5
    expected = ot.emd2_1d(x, y, a, b, metric="minkowski", p=p) ** (1 / p)
    ours = wasserstein_distance_1d(a, b, support_a=x, support_b=y, p=p)
    assert ours == pytest.approx(expected, abs=1e-10)
    bins = np.arange(12.0)
    expected = ot.wasserstein_1d(bins, bins, a, b, p=p) ** (1 / p)
    assert wasserstein_distance_1d(a, b, p=p) == pytest.approx(expected, abs=1e-10)


@given(seeds, st.integers(2, 3))
@few
def test_free_barycenter_equals_pot_on_a_fine_grid(seed, n):
    ot = pytest.importorskip("ot")
    masses = random_histograms(seed, n, n_bins=6)
    # The mean of n whole numbers is a multiple of 1 / n: on that grid POT finds the barycentre.
    fine = np.zeros((n * 5 + 1, n))
    fine[::n] = masses.T
    grid = np.arange(len(fine)) / n
    expected = ot.lp.barycenter(fine, np.subtract.outer(grid, grid) ** 2, np.full(n, 1 / n))
    positions, atoms = wasserstein_barycenter_1d(masses, support="free")
    ours = np.bincount(np.rint(positions * n).astype(int), atoms, len(fine))
    np.testing.assert_allclose(ours, expected, atol=1e-10)
    np.testing.assert_allclose(positions * n, np.rint(positions * n), atol=1e-10)


@given(seeds)
@few
def test_nearest_barycenter_equals_pot_on_the_bins(seed):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(seed)
    masses, weights = random_histograms(seed, 4, n_bins=6), rng.dirichlet(np.ones(4))
    cost = np.subtract.outer(np.arange(6.0), np.arange(6)) ** 2
    expected = ot.lp.barycenter(np.ascontiguousarray(masses.T), cost, weights)
    ours = wasserstein_barycenter_1d(masses, weights=weights, support="nearest")
    np.testing.assert_allclose(ours, expected, atol=1e-10)


@given(seeds)
@few
def test_distance_is_a_metric(seed):
    a, b, c = random_histograms(seed, 3)
    ab, bc, ac = (wasserstein_distance_1d(*pair) for pair in ((a, b), (b, c), (a, c)))
    assert wasserstein_distance_1d(a, 3 * a) == 0
    assert ab == wasserstein_distance_1d(b, a)
    assert ac <= ab + bc + 1e-12
    assert wasserstein_distance_1d(a, b, p=1) <= ab + 1e-12
    bins = np.arange(12)
    assert wasserstein_distance_1d(a, b, p=1) == pytest.approx(
        wasserstein_distance(bins, bins, a, b), abs=1e-12
    )


@given(seeds)
@few
def test_barycenter_on_bins_keeps_the_mean(seed):
    masses = random_histograms(seed, 5)
    ours = wasserstein_barycenter_1d(masses)
    assert ours.sum() == pytest.approx(1.0)
    assert ours @ np.arange(12) == pytest.approx((masses @ np.arange(12)).mean())


@given(seeds)
@few
def test_no_distribution_is_nearer_than_the_barycenter(seed):
    masses = random_histograms(seed, 4)
    positions, atoms = wasserstein_barycenter_1d(masses, support="free")

    def cost(mass, support):
        return sum(wasserstein_distance_1d(mass, m, support_a=support) ** 2 for m in masses)

    best = cost(atoms, positions)
    moved = positions + np.random.default_rng(seed).normal(size=len(positions)) * 0.1
    assert best <= cost(atoms, moved)
    assert best <= min(cost(m, np.arange(12)) for m in masses) + 1e-12
    assert best <= cost(masses.mean(axis=0), np.arange(12)) + 1e-12


def test_distance_by_hand():
    # Heights alone would say the same of every pair of peaks: here the way counts.
    peaks = np.eye(100)
    assert wasserstein_distance_1d(peaks[1], peaks[60]) == 59
    # Half of the mass moves by 2: mean 1, root mean square sqrt(2).
    assert wasserstein_distance_1d([1, 0, 0], [1, 0, 1], p=1) == 1
    assert wasserstein_distance_1d([1, 0, 0], [1, 0, 1]) == pytest.approx(np.sqrt(2))
    assert wasserstein_distance_1d([1], [1, 1], support_a=[5], support_b=[6, 4], p=1) == 1


def test_barycenter_by_hand():
    np.testing.assert_allclose(wasserstein_barycenter_1d([[1, 0], [0, 1]]), [0.5, 0.5])
    np.testing.assert_allclose(
        wasserstein_barycenter_1d([[1, 0], [0, 1]], support="nearest"), [1, 0]
    )
    ours = wasserstein_barycenter_1d([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]], weights=[3, 1])
    np.testing.assert_allclose(ours, [0, 1, 0, 0, 0])
    # Lower and upper halves meet: (0, 2) with (0, 4) gives (0, 3).
    ours = wasserstein_barycenter_1d([[1, 0, 1, 0, 0], [1, 0, 0, 0, 1]])
    np.testing.assert_allclose(ours, [0.5, 0, 0, 0.5, 0])
    np.testing.assert_allclose(wasserstein_barycenter_1d([[2.0]]), [1])


def test_rounding_does_not_become_a_distance():
    rng = np.random.default_rng(0)
    mass = rng.dirichlet(np.ones(200))
    order = rng.permutation(200)
    ours = wasserstein_distance_1d(mass, mass[order], support_b=order)
    assert ours == 0


# Living times of a hundred repeats take seconds: two clouds, and the others in slow tests.
@pytest.mark.parametrize(
    "cloud",
    [
        "circle",
        "sphere",
        *(pytest.param(c, marks=pytest.mark.slow) for c in ("two_circles", "disk", "flat_torus")),
    ],
)
def test_barycenters_of_golden_clouds(cloud):
    golden = json.loads((REFERENCE / "golden.json").read_text())["barycenters"][cloud]
    with np.load(REFERENCE / "clouds.npz") as data:
        X = data[cloud]
    times = relative_living_times(X, random_state=0)
    positions, atoms = wasserstein_barycenter_1d(times, support="free")
    mean = positions @ atoms
    assert mean == pytest.approx(golden["mean"], abs=1e-9)
    assert np.sqrt((positions - mean) ** 2 @ atoms) == pytest.approx(golden["std"], abs=1e-9)
    np.testing.assert_allclose(
        wasserstein_barycenter_1d(times)[:6], golden["first_bins"], atol=1e-6
    )


@pytest.mark.parametrize(
    ("a", "match"),
    [
        ([0, 0], "some mass"),
        ([1, -1], r"a must be finite and >= 0, got -1.0. Histograms hold masses"),
        ([1, np.nan], "finite"),
        ([[1, 0]], r"shape \(n_bins,\)"),
        ([], "not be empty"),
    ],
)
def test_bad_histograms_are_named(a, match):
    with pytest.raises(ValueError, match=match):
        wasserstein_distance_1d(a, [1, 0])


def test_bad_options_are_named():
    with pytest.raises(ValueError, match=r"support_a must hold one finite position per bin"):
        wasserstein_distance_1d([1, 0], [1], support_a=[1])
    with pytest.raises(ValueError, match="'p' parameter"):
        wasserstein_distance_1d([1], [1], p=0.5)
    with pytest.raises(ValueError, match="weights must have shape"):
        wasserstein_barycenter_1d([[1, 0]], weights=[1, 2])
    with pytest.raises(ValueError, match="weights must be finite"):
        wasserstein_barycenter_1d([[1, 0]], weights=[0])
    with pytest.raises(ValueError, match=r"rows \[1\] have none"):
        wasserstein_barycenter_1d([[1, 0], [0, 0]])
