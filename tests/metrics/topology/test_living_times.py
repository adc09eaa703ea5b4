"""Relative living times against golden clouds, gudhi and the definition of the complex."""

import builtins
import inspect
import json
from functools import cache
from importlib.util import find_spec
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy.spatial.distance import cdist

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import relative_living_times
from sklearn_disent.metrics.topology import _living_times
from sklearn_disent.metrics.topology._living_times import _holes_by_gudhi, lifetime_histogram
from sklearn_disent.metrics.topology._witness import holes_of, witness_complex

REFERENCE = Path(__file__).parents[2] / "reference" / "topology"
GOLDEN = json.loads((REFERENCE / "golden.json").read_text())
CLOUDS = sorted(GOLDEN["readme_L32_g8"]["clouds"])
SETTINGS = ["readme_L32_g8", "paper_L64_g128"]


@cache
def load(name):
    with np.load(REFERENCE / "clouds.npz") as data:
        return data[name]


def options_of(setting):
    return {key: GOLDEN[setting][key] for key in ("n_landmarks", "gamma")}


def circle(n=300, seed=0):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def assert_within_four_errors(setting, cloud, n_repeats):
    """Other landmarks than the golden ones, hence within the errors of both means."""
    golden = GOLDEN[setting]["clouds"][cloud]
    times = relative_living_times(
        load(cloud), n_repeats=n_repeats, overflow="drop", random_state=1, **options_of(setting)
    )
    # The golden errors are of 100 repeats.
    widen = np.sqrt(1 + 100 / n_repeats)
    # Holes from 100 on were dropped before the golden mean was taken over the rest.
    mean = (times @ np.arange(100)).sum() / times.sum()
    assert abs(mean - golden["mean_holes"]) <= 4 * widen * golden["se_mean_holes"] + 1e-5
    if "se_first_bins" in golden:
        errors = 4 * widen * np.array(golden["se_first_bins"]) + 1e-5
        assert (np.abs(times.mean(axis=0)[:4] - golden["first_bins"]) <= errors).all()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_living_times_agree_with_golden_means(setting, cloud):
    assert_within_four_errors(setting, cloud, 20)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_living_times_agree_with_golden_means_of_all_repeats(setting, cloud):
    assert_within_four_errors(setting, cloud, 100)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_living_times_equal_golden_rows(cloud):
    options = {"n_repeats": 10, "overflow": "drop", "random_state": 0}
    times = relative_living_times(load(cloud), **options, **options_of("readme_L32_g8"))
    # Landmarks of 10 repeats are the first of those of 100.
    np.testing.assert_allclose(times, load(f"{cloud}_times"), atol=1e-12)
    if cloud in {"circle", "sphere"}:
        times = relative_living_times(load(cloud), **options, **options_of("paper_L64_g128"))
        np.testing.assert_allclose(times, load(f"{cloud}_times_paper"), atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_backends_are_equal(setting, cloud):
    pytest.importorskip("gudhi")
    options = {"n_repeats": 2, "random_state": 5, **options_of(setting)}
    ours, theirs = (
        relative_living_times(load(cloud), backend=backend, **options)
        for backend in ("numpy", "gudhi")
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 3), st.floats(0.05, 1))
@settings(max_examples=25, deadline=None)
def test_backends_are_equal_on_ties(seed, n_landmarks, n_features, gamma):
    pytest.importorskip("gudhi")
    rng = np.random.default_rng(seed)
    # Points of a grid: many equal distances, and landmarks on top of each other.
    X = rng.integers(4, size=(25, n_features)).astype(float)
    distances = cdist(X, X[rng.integers(25, size=n_landmarks)])
    alpha = gamma * max(distances.max(), 1.0)
    ours, theirs = (
        lifetime_histogram(*find(distances, alpha), alpha, 10)
        for find in (holes_of, _holes_by_gudhi)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.sampled_from([8, 16, 32, 64, 128]))
@settings(max_examples=30, deadline=None)
def test_backends_are_equal_on_circles_at_small_scales(seed, n_landmarks, parts):
    # Often no triangle has entered yet, and the complex has dimension 1.
    pytest.importorskip("gudhi")
    X = circle(200, seed)
    options = {"n_landmarks": n_landmarks, "gamma": 1 / parts, "n_repeats": 4, "max_holes": 10}
    ours, theirs = (
        relative_living_times(X, backend=backend, random_state=seed, **options)
        for backend in ("numpy", "gudhi")
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "gudhi"])
def test_circle_keeps_its_hole_at_small_scales(backend):
    if backend == "gudhi":
        pytest.importorskip("gudhi")
    options = {"n_landmarks": 12, "gamma": 1 / 128, "n_repeats": 40, "random_state": 0}
    times = relative_living_times(circle(1000), backend=backend, **options)
    # .3 where the holes of a complex without triangles are lost.
    assert (times @ np.arange(100)).mean() == pytest.approx(1.0, abs=0.05)


def random_cloud(seed):
    """A circle, a Gaussian, a grid with ties, or a cloud with duplicates; and some landmarks."""
    rng = np.random.default_rng(seed)
    n_points, n_features = int(rng.integers(8, 30)), int(rng.integers(1, 4))
    kind = seed % 4
    if kind == 0:
        X = circle(n_points, seed) + 0.02 * rng.normal(size=(n_points, 2))
    elif kind == 1:
        X = rng.normal(size=(n_points, n_features))
    elif kind == 2:
        X = rng.integers(3, size=(n_points, n_features)).astype(float)
    else:
        X = rng.normal(size=(n_points, n_features))[rng.integers(n_points // 2, size=n_points)]
    distances = cdist(X, X[rng.integers(n_points, size=rng.integers(1, 8))])
    return distances, rng.choice([1 / 128, 1 / 8, 1 / 2, 1]) * max(distances.max(), 1.0)


def rank_over_gf2(columns):
    pivots = {}
    for column in columns:
        while column:
            pivot = column.bit_length()
            if pivot not in pivots:
                pivots[pivot] = column
                break
            column ^= pivots[pivot]
    return len(pivots)


def filtration(D):
    """Value of every simplex up to dimension 3, straight from the definition."""
    n_landmarks = D.shape[1]
    values = {}
    for size in range(1, 5):
        for simplex in combinations(range(n_landmarks), size):
            others = [q for q in range(n_landmarks) if q not in simplex]
            nearest = D[:, others].min(axis=1, initial=np.inf)
            own = np.maximum(0, D[:, list(simplex)].max(axis=1) - nearest).min()
            facets = [values[facet] for facet in combinations(simplex, size - 1) if facet]
            values[simplex] = max([own, *facets])
    return values


def betti_numbers(values, alpha):
    """Of dimensions 0 to 2: simplices minus the ranks of the boundaries on both sides."""
    layers = [[s for s in values if len(s) == size and values[s] <= alpha] for size in range(1, 5)]
    ranks = [0]
    for faces, simplices in pairwise(layers):
        bit = {face: 1 << i for i, face in enumerate(faces)}
        ranks.append(
            rank_over_gf2([sum(bit[f] for f in combinations(s, len(s) - 1)) for s in simplices])
        )
    return [len(layers[d]) - ranks[d] - ranks[d + 1] for d in range(3)]


def assert_clouds_follow_the_ranks(seeds):
    backends = [holes_of, _holes_by_gudhi] if find_spec("gudhi") else [holes_of]
    for seed in seeds:
        D, alpha_max = random_cloud(seed)
        values = filtration(D)
        steps = np.unique([v for v in values.values() if v <= alpha_max])
        share = np.diff(np.append(steps, alpha_max)) / alpha_max
        betti = np.array([betti_numbers(values, alpha) for alpha in steps])
        for dimension in range(3):
            expected = np.bincount(betti[:, dimension], share, 40)
            for find in backends:
                found = lifetime_histogram(*find(D, alpha_max, dimension), alpha_max, 40)
                np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{seed=}")


def test_random_clouds_follow_the_ranks_over_gf2():
    assert_clouds_follow_the_ranks(range(60))


@pytest.mark.slow
def test_many_random_clouds_follow_the_ranks_over_gf2():
    assert_clouds_follow_the_ranks(range(60, 660))


@pytest.mark.parametrize(("dimension", "expected"), [(0, 1), (1, 0), (2, 1)])
def test_sphere_has_one_piece_no_loop_and_one_void(dimension, expected):
    X = np.random.default_rng(0).normal(size=(400, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    options = {"n_landmarks": 20, "gamma": 1 / 4, "n_repeats": 5, "random_state": 0}
    times = relative_living_times(X, dimension=dimension, max_holes=30, **options)
    np.testing.assert_allclose(times.sum(axis=1), 1)
    assert times.mean(axis=0).argmax() == expected


def test_pieces_are_counted():
    X = np.concatenate([circle(60), circle(60) + 50, circle(60) - 50])
    times = relative_living_times(X, dimension=0, gamma=1 / 20, n_repeats=3, random_state=0)
    assert times.mean(axis=0).argmax() == 3
    with pytest.warns(DegenerateScoreWarning, match="single point"):
        times = relative_living_times(np.ones((40, 2)), dimension=0, n_repeats=2, max_holes=3)
    np.testing.assert_array_equal(times, [[0, 1, 0]] * 2)
    with pytest.raises(ValueError, match="dimension"):
        relative_living_times(X, dimension=3)


@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.floats(0.05, 1))
@settings(max_examples=25, deadline=None)
def test_witness_complex_follows_its_definition(seed, n_landmarks, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    D = cdist(X, X[rng.integers(20, size=n_landmarks)])
    alpha = gamma * D.max()

    def relaxation(simplex):
        others = [q for q in range(n_landmarks) if q not in simplex]
        nearest = D[:, others].min(axis=1, initial=np.inf)
        return np.maximum(0, D[:, list(simplex)].max(axis=1) - nearest).min()

    edges = {s: relaxation(s) for s in combinations(range(n_landmarks), 2)}
    triangles = {
        s: max(relaxation(s), *(edges[e] for e in combinations(s, 2)))
        for s in combinations(range(n_landmarks), 3)
    }
    found = witness_complex(D, alpha)
    ends = [tuple(sorted(pair)) for pair in found.edge_ends.T.tolist()]
    assert len(set(ends)) == len(ends)
    assert dict(zip(ends, found.edge_values)) == {e: v for e, v in edges.items() if v <= alpha}
    vertices = [tuple(sorted({v for e in t for v in ends[e]})) for t in found.triangle_sides.T]
    values = dict(zip(vertices, found.triangle_values))
    assert values == {t: v for t, v in triangles.items() if v <= alpha}
    assert (np.diff(found.edge_values) >= 0).all()
    assert (np.diff(found.triangle_values) >= 0).all()


def test_square_has_one_hole_until_its_diagonals():
    # A square of landmarks with witnesses on the midpoints of the sides: its sides enter at 0.
    # A diagonal enters when a corner is its witness: sqrt(2) - 1 beyond the nearest corner, the
    # other ones at 1. The two triangles follow at once.
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    middles = (square + np.roll(square, 1, axis=0)) / 2
    distances = cdist(np.vstack([square, middles]), square)
    births, deaths = holes_of(distances, 1.0)
    np.testing.assert_allclose(births.min(), 0.0, atol=1e-15)
    histogram = lifetime_histogram(births, deaths, 1.0, 3)
    np.testing.assert_allclose(histogram, [2 - np.sqrt(2), np.sqrt(2) - 1, 0], atol=1e-12)


def test_lifetime_histogram_by_hand():
    # No hole on [0, 1), one on [1, 2), two on [2, 3), one on [3, 4].
    births, deaths = np.array([2.0, 1.0]), np.array([3.0])
    expected = [0.25, 0.5, 0.25]
    np.testing.assert_allclose(lifetime_histogram(births, deaths, 4.0, 3), expected)
    np.testing.assert_allclose(lifetime_histogram(births, deaths, 4.0, 2), [0.25, 0.75])
    np.testing.assert_allclose(lifetime_histogram(births, deaths, 4.0, 2, "drop"), [0.25, 0.5])
    nothing = np.zeros(0)
    np.testing.assert_array_equal(lifetime_histogram(nothing, nothing, 4.0, 3), [1, 0, 0])


@pytest.mark.parametrize("overflow", ["clip", "drop"])
def test_overflow_keeps_or_loses_mass(overflow):
    options = {**options_of("paper_L64_g128"), "n_repeats": 5, "random_state": 0}
    times = relative_living_times(load("gaussian10"), max_holes=30, overflow=overflow, **options)
    mass = times.sum(axis=1)
    if overflow == "clip":
        np.testing.assert_allclose(mass, 1.0)
        assert (times[:, -1] > 0.2).all()
    else:
        assert (mass < 0.8).all()


@given(st.integers(0, 100), st.floats(0, 2 * np.pi), st.sampled_from([1e-200, 1e-3, 7.0, 1e200]))
@settings(max_examples=10, deadline=None)
def test_living_times_ignore_rotation_scale_and_shift(seed, angle, scale):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    c, s = np.cos(angle), np.sin(angle)
    moved = scale * (X @ np.array([[c, s], [-s, c]]) + [3.0, -1.0])
    options = {"n_landmarks": 10, "n_repeats": 3, "max_holes": 10, "random_state": 0}
    np.testing.assert_allclose(
        relative_living_times(X, **options), relative_living_times(moved, **options), atol=1e-9
    )


def test_many_features_change_nothing():
    # From 32 features on distances come from matrix products.
    X = circle()
    wide = np.hstack([X, np.zeros((len(X), 60))])
    options = {"n_repeats": 5, "random_state": 0}
    np.testing.assert_allclose(
        relative_living_times(X, **options), relative_living_times(wide, **options), atol=1e-6
    )
    images = wide[:, :60].reshape(-1, 6, 10)
    np.testing.assert_array_equal(
        relative_living_times(images, **options), relative_living_times(wide[:, :60], **options)
    )


def test_living_times_repeat_at_any_n_jobs():
    options = {"n_repeats": 20, "random_state": 3}
    one = relative_living_times(circle(), **options)
    with parallel_config("threading", n_jobs=3):
        np.testing.assert_array_equal(one, relative_living_times(circle(), **options))
    assert not np.array_equal(one, relative_living_times(circle(), n_repeats=20, random_state=4))


def test_constant_cloud_has_no_holes():
    with pytest.warns(DegenerateScoreWarning, match="single point"):
        times = relative_living_times(np.full((40, 50), 0.3), n_repeats=2, max_holes=5)
    np.testing.assert_array_equal(times, [[1, 0, 0, 0, 0]] * 2)


@pytest.mark.parametrize("n_landmarks", [1, 2, 3])
def test_few_landmarks_have_no_holes(n_landmarks):
    times = relative_living_times(circle(50), n_landmarks=n_landmarks, n_repeats=3, gamma=1.0)
    np.testing.assert_array_equal(times[:, 0], 1.0)


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (circle(20), ValueError, "at least n_landmarks=32 points.*got 20"),
        (circle()[:, 0], ValueError, r"X\[:, None\]"),
        (np.zeros((0, 2)), ValueError, "not be empty"),
        (np.where(circle() > 0.9, np.nan, circle()), ValueError, "NaN or infinite values in"),
        (np.full((50, 2), "a"), TypeError, "real numbers"),
    ],
)
def test_bad_clouds_are_named(X, error, match):
    with pytest.raises(error, match=match):
        relative_living_times(X)


@pytest.mark.parametrize(
    "options",
    [{"gamma": 0}, {"gamma": 1.5}, {"n_landmarks": 0}, {"max_holes": 1}, {"backend": "x"}],
)
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        relative_living_times(circle(), **options)


def test_missing_gudhi_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(_living_times, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'sklearn-disent\[topology\]'"):
        relative_living_times(circle(), backend="gudhi")
    assert relative_living_times(circle(), n_repeats=1).shape == (1, 100)


def test_numpy_backend_needs_no_gudhi(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        assert not name.startswith("gudhi")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    relative_living_times(circle(), n_repeats=1)


def test_settings_have_the_defaults_of_the_function():
    defaults = inspect.signature(relative_living_times).parameters
    for name, value in _living_times.Settings()._asdict().items():
        if name in defaults:
            assert defaults[name].default == value, name
