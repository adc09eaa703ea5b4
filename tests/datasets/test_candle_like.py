"""The drawn stand-in for CANDLE."""

import pickle
from itertools import combinations

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import load_candle_design, make_candle_like, render_candle_like
from sklearn_disent.datasets._candle_like import GRID, draw_classes
from sklearn_disent.datasets._candle_render import MIDDLE, REACH, render
from sklearn_disent.datasets._candle_scenes import SCENES

SMALL = {"image_shape": (24, 24)}
STILL = MIDDLE[None]


def draw(n_samples, confounding, seed=0, factors=None):
    return draw_classes(n_samples, confounding, factors, np.random.RandomState(seed))


def still(target, image_shape=(64, 64)):
    """Images and boxes with the object in the middle and the camera at rest."""
    return render(target, np.repeat(STILL, len(target), axis=0), image_shape)


def rows_of(base, factor):
    """One row per class of a factor, the others as in base."""
    rows = np.repeat(np.array(base)[None], GRID.sizes[factor], axis=0)
    rows[:, factor] = np.arange(GRID.sizes[factor])
    return rows


@pytest.fixture
def undrawn(replace_in):
    """Spare the pictures in tests of many rows of factors."""

    def blank(target, nuisance, image_shape, painted):
        return np.zeros((len(target), 1, 1, 3), np.uint8), np.zeros((len(target), 1, 4), np.int64)

    replace_in(make_candle_like, render=blank)


# -- factors ---------------------------------------------------------------------------------


def test_candle_like_confounding_makes_factors_dependent(cramers_v):
    target, confounders = draw(20_000, 1.0)
    assert cramers_v(target[:, 0], target[:, 2]) == pytest.approx(0.5, abs=0.05)
    assert cramers_v(target[:, 0], target[:, 4]) == pytest.approx(0.5, abs=0.05)
    assert cramers_v(target[:, 4], target[:, 5]) > 0.2
    # Rotation is free, and light has no parent in common with object, color or size.
    for i in (0, 1, 2, 4, 5):
        assert cramers_v(target[:, 3], target[:, i]) < 0.05
    for i in (0, 1, 2):
        assert cramers_v(target[:, 5], target[:, i]) < 0.05
    assert confounders.max(axis=0).tolist() == [3, 2]


@pytest.mark.parametrize("asked", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("pair", [(0, 2), (0, 4), (1, 4), (2, 4), (4, 5)])
def test_candle_like_confounding_is_a_share_of_cramers_v(cramers_v, asked, pair):
    full, part = (cramers_v(*draw(20_000, c, seed=3)[0][:, pair].T) for c in (1.0, asked))
    # V of independent columns is not 0 in a sample: that bias is the third number.
    assert part == pytest.approx(asked * full, abs=0.02)


def test_candle_like_without_confounding_is_independent_and_uniform(cramers_v):
    target, confounders = draw(5000, 0.0)
    columns = np.hstack([target, confounders]).T
    for a, b in combinations(columns, 2):
        assert cramers_v(a, b) < 0.1
    for column in target.T:
        counts = np.bincount(column)
        assert (np.abs(counts * len(counts) / 5000 - 1) < 0.25).all()


def test_candle_like_confounders_explain_the_dependence(cramers_v):
    target, confounders = draw(40_000, 1.0)
    for context in range(4):
        rows = confounders[:, 0] == context
        assert cramers_v(target[rows, 0], target[rows, 2]) < 0.05
        assert cramers_v(target[rows, 0], target[rows, 4]) < 0.06
        assert len(np.unique(target[rows, 4])) == 16
    light_in_hour = [
        cramers_v(*target[(confounders[:, 1] == hour)][:, [4, 5]].T) for hour in range(3)
    ]
    assert max(light_in_hour) < 0.06


def test_candle_like_selection_is_conditioning():
    kept = {"object": [0, 3], "scene": list(range(8))}
    target, _ = draw(20_000, 1.0, factors=kept)
    assert set(target[:, 0]) == {0, 3}
    assert set(target[:, 4]) == set(range(8))
    whole, _ = draw(200_000, 1.0, seed=1)
    whole = whole[np.isin(whole[:, 0], [0, 3]) & (whole[:, 4] < 8)]
    for a, b in ((0, 2), (0, 4), (1, 4)):
        tables = []
        for rows in (target, whole):
            table = np.zeros((GRID.sizes[a], GRID.sizes[b]))
            np.add.at(table, (rows[:, a], rows[:, b]), 1 / len(rows))
            tables.append(table)
        np.testing.assert_allclose(*tables, atol=0.012)


def test_candle_like_classes_are_those_of_candle():
    design = load_candle_design()
    assert GRID.names == design.factor_names
    for name, values in design.factor_values.items():
        np.testing.assert_array_equal(GRID.values[name], values)
    assert set(SCENES) == set(design.factor_values["scene"].tolist())


def test_candle_like_design_has_the_released_combinations(undrawn):
    whole = make_candle_like(design="candle", random_state=0)
    design = load_candle_design()
    assert whole.target.shape == (12_546, 6)
    np.testing.assert_array_equal(np.sort(whole.indices), np.sort(GRID.to_indices(design.target)))
    assert (np.diff(whole.indices) < 0).any()


def test_candle_like_design_draws_without_replacement():
    part = make_candle_like(40, design="candle", factors={"size": 2}, random_state=0, **SMALL)
    assert set(part.target[:, 2]) == {2}
    assert set(part.target[:, 0]) == {4}  # of the largest size there are tori alone
    assert len(np.unique(part.indices)) == 40
    ordered = make_candle_like(40, design="candle", shuffle=False, random_state=0, **SMALL)
    assert (np.diff(ordered.indices) > 0).all()
    with pytest.raises(ValueError, match="which has 1206"):
        make_candle_like(1207, design="candle", factors={"size": 2})
    with pytest.raises(ValueError, match="selects no row"):
        make_candle_like(design="candle", factors={"size": 2, "object": 0})
    missing = GRID.to_indices(np.array([[0, 0, 2, 0, 0, 0]]))
    with pytest.raises(ValueError, match="is not among the 12,546 combinations"):
        make_candle_like(design="candle", indices=missing)


def test_candle_like_without_a_number_is_the_grid():
    part = make_candle_like(
        factors={"scene": [2, 5], "color": 1, "rotation": 0}, random_state=0, **SMALL
    )
    assert len(part.images) == 5 * 3 * 2 * 3 == len(np.unique(part.indices))
    assert part.confounders is None
    ordered = make_candle_like(
        factors={"scene": [2, 5], "color": 1, "rotation": 0}, shuffle=False, **SMALL
    )
    np.testing.assert_array_equal(ordered.indices, np.sort(part.indices))


def test_candle_like_indices_keep_their_order_and_may_repeat():
    rows = [20_000, 7, 7, 1234]
    scenes = make_candle_like(indices=rows, random_state=0, **SMALL)
    assert scenes.indices.tolist() == rows
    np.testing.assert_array_equal(scenes.target, GRID.to_classes(np.array(rows)))
    assert (scenes.images[1] != scenes.images[2]).any()  # the camera shook
    calm = make_candle_like(indices=rows, random_state=0, jitter=0.0, **SMALL)
    np.testing.assert_array_equal(calm.images[1], calm.images[2])


# -- interventions ---------------------------------------------------------------------------


def test_candle_like_intervention_sets_a_factor_and_keeps_the_rest():
    seen = make_candle_like(12, random_state=0, **SMALL)
    done = make_candle_like(12, do={"object": 3, "light": 0}, random_state=0, **SMALL)
    assert (done.target[:, [0, 5]] == [3, 0]).all()
    np.testing.assert_array_equal(done.target[:, 1:5], seen.target[:, 1:5])
    np.testing.assert_array_equal(done.nuisance, seen.nuisance)
    np.testing.assert_array_equal(done.confounders, seen.confounders)
    same = (seen.target[:, [0, 5]] == [3, 0]).all(axis=1)
    for i in range(12):
        assert (done.images[i] == seen.images[i]).all() == same[i]


def test_candle_like_intervention_removes_the_dependence(cramers_v, undrawn):
    values = np.random.RandomState(5).randint(5, size=3000)
    data = make_candle_like(3000, do={"object": values}, random_state=0)
    np.testing.assert_array_equal(data.target[:, 0], values)
    assert cramers_v(data.target[:, 0], data.target[:, 2]) < 0.06
    assert cramers_v(data.target[:, 1], data.target[:, 4]) > 0.3


def test_candle_like_twins_are_the_same_picture_otherwise():
    seen = make_candle_like(10, random_state=1, **SMALL)
    both = make_candle_like(10, do={"color": 2}, twins=True, random_state=1, **SMALL)
    np.testing.assert_array_equal(both.images, seen.images)
    np.testing.assert_array_equal(both.target, seen.target)
    np.testing.assert_array_equal(both.boxes, seen.boxes)
    twins = both.twins
    assert (twins.target[:, 1] == 2).all()
    np.testing.assert_array_equal(np.delete(twins.target, 1, 1), np.delete(seen.target, 1, 1))
    np.testing.assert_array_equal(twins.boxes, seen.boxes)
    assert np.shares_memory(twins.data, twins.images)
    for a, b, ((top, left, bottom, right),) in zip(both.images, twins.images, both.boxes):
        changed = (a != b).any(axis=2)
        changed[top:bottom, left:right] = False
        assert not changed.any()


def test_candle_like_twin_of_any_image_can_be_rendered():
    seen = make_candle_like(6, random_state=2, **SMALL)
    images, boxes = render_candle_like(seen.target, seen.nuisance, **SMALL)
    np.testing.assert_array_equal(images, seen.images)
    np.testing.assert_array_equal(boxes, seen.boxes)
    other = seen.target.copy()
    other[:, 4] = (other[:, 4] + 1) % 16
    moved, same_boxes = render_candle_like(other, seen.nuisance, **SMALL)
    np.testing.assert_array_equal(same_boxes, boxes)
    assert (np.abs(moved.astype(int) - images).mean(axis=(1, 2, 3)) > 10).all()
    still_images, _ = render_candle_like(seen.target, **SMALL)
    np.testing.assert_array_equal(still_images, still(seen.target, (24, 24))[0])


def test_candle_like_refuses_bad_interventions():
    for do, message in (
        ({"shape": 0}, "Unknown factor 'shape'"),
        ({"object": 5}, r"do\['object'\] must hold classes in \[0, 4\], got 5"),
        ({"object": -1}, "got -1"),
        ({"object": 1.0}, "must be an integer class or 4 of them"),
        ({"object": [0, 1]}, "must be an integer class or 4 of them, one per image"),
        ({}, "names no factor"),
    ):
        with pytest.raises(ValueError, match=message):
            make_candle_like(4, do=do, **SMALL)
    with pytest.raises(ValueError, match="twins=True needs do"):
        make_candle_like(4, twins=True, **SMALL)
    with pytest.raises(ValueError, match="return_X_y"):
        make_candle_like(4, do={"object": 0}, twins=True, return_X_y=True, **SMALL)


def test_render_refuses_what_it_cannot_draw():
    target = np.zeros((2, 6), dtype=int)
    for bad, message in (
        (np.zeros((2, 5), dtype=int), r"target must be \(n_images, 6\)"),
        (np.zeros((2, 6)), "integer"),
        (target + np.eye(6, dtype=int)[2] * 3, "'size' must lie in"),
    ):
        with pytest.raises(ValueError, match=message):
            render_candle_like(bad)
    for bad, message in (
        (np.zeros((3, 5)), r"nuisance must be \(2, 5\)"),
        (np.full((2, 5), np.nan), "finite"),
        (np.repeat(MIDDLE[None] + [0, 9, 0, 0, 0], 2, axis=0), "'depth' must lie in"),
    ):
        with pytest.raises(ValueError, match=message):
            render_candle_like(target, bad)


# -- pictures --------------------------------------------------------------------------------


def test_candle_like_nuisance_is_free_and_named(cramers_v, undrawn):
    data = make_candle_like(3000, random_state=0)
    assert data.nuisance_names == ["position", "depth", "pan", "tilt", "roll"]
    assert data.nuisance.shape == (3000, 5)
    assert (np.abs(data.nuisance - MIDDLE) <= REACH).all()
    assert (data.nuisance.std(axis=0) > 0.5 * REACH).all()
    quarters = np.floor(4 * (data.nuisance - MIDDLE + REACH) / (2 * REACH)).astype(int).clip(0, 3)
    for column in quarters.T:
        assert max(cramers_v(column, factor) for factor in data.target.T) < 0.12
    half = make_candle_like(50, jitter=0.5, random_state=0)
    assert (np.abs(half.nuisance - MIDDLE) <= 0.5 * REACH).all()


@pytest.mark.parametrize("column", range(5))
def test_candle_like_every_nuisance_shows(column):
    nuisance = np.repeat(STILL, 3, axis=0)
    nuisance[:, column] += REACH[column] * np.array([-1, 0, 1])
    target = np.repeat([[0, 1, 1, 2, 4, 1]], 3, axis=0)
    images, boxes = render(target, nuisance, (64, 64))
    for a, b in combinations(images.astype(int), 2):
        assert (np.abs(a - b).max(axis=2) > 20).mean() > 0.02
    top, left, bottom, _ = boxes[:, 0].T
    if column == 0:
        assert (np.diff(left) > 3).all()
    if column == 1:
        assert (np.diff(bottom - top) < 0).all()
    if column == 2:
        assert (boxes == boxes[0]).all()


def test_candle_like_depth_hides_the_size():
    # A large object far away covers as many pixels as a smaller one nearby.
    for near_size, far_size in ((0, 1), (1, 2)):
        target = np.array([[1, 0, near_size, 0, 0, 1], [1, 0, far_size, 0, 0, 1]])
        nuisance = np.repeat(STILL, 2, axis=0)
        nuisance[:, 1] += REACH[1] * np.array([-1, 1])
        _, boxes = render(target, nuisance, (240, 320))
        heights = boxes[:, 0, 2] - boxes[:, 0, 0]
        assert heights[0] > heights[1]


def test_candle_like_box_is_tight():
    # Two colours differ on the object alone, so that its pixels are where pictures differ.
    target = np.array([[o, 0, s, 2, 2, 1] for o in range(5) for s in range(3)])
    nuisance = MIDDLE + REACH * np.random.RandomState(0).uniform(-1, 1, size=(15, 5))
    red, boxes = render(target, nuisance, (64, 64))
    blue, _ = render(target + np.array([0, 1, 0, 0, 0, 0]), nuisance, (64, 64))
    for a, b, ((top, left, bottom, right),) in zip(red, blue, boxes):
        rows, columns = np.nonzero((a != b).any(axis=2))
        found = rows.min(), columns.min(), rows.max() + 1, columns.max() + 1
        assert found == (top, left, bottom, right)
    heights = np.diff(still(target)[1][:, 0, [0, 2]], axis=1).reshape(5, 3)
    assert (np.diff(heights, axis=1) > 0).all()


@pytest.mark.parametrize("factor", range(6))
@pytest.mark.parametrize("kind", range(5))
def test_candle_like_every_factor_shows(factor, kind):
    images, _ = still(rows_of([kind, 1, 1, 1, 2, 1], factor), (32, 32))
    for a, b in combinations(images.astype(int), 2):
        assert np.abs(a - b).max() > 20


def test_candle_like_rotation_of_round_objects_is_hidden_without_paint():
    for kind, shows in ((0, True), (1, False), (2, False), (3, False), (4, True)):
        rows = rows_of([kind, 1, 1, 1, 2, 1], 3)[1:5]
        images, _ = render(rows, np.repeat(STILL, 4, axis=0), (64, 64), painted=False)
        gaps = [np.abs(a.astype(int) - b).max() for a, b in combinations(images, 2)]
        assert (min(gaps) > 20) if shows else (max(gaps) <= 2)
    plain = make_candle_like(3, painted=False, random_state=0, **SMALL)
    painted = make_candle_like(3, random_state=0, **SMALL)
    assert (plain.images != painted.images).any()


def test_candle_like_scenes_have_texture_and_differ():
    images, boxes = still(rows_of([1, 0, 0, 0, 0, 1], 4), (64, 64))
    for a, b in combinations(images.astype(int), 2):
        assert np.abs(a - b).mean() > 8
    for image, ((top, left, bottom, right),) in zip(images.astype(float), boxes):
        steps = np.abs(np.diff(image, axis=1)).mean(axis=2)
        steps[top:bottom, max(left - 1, 0) : right] = 0
        # Nearly all rows have some detail, above the horizon and below it.
        assert (steps.max(axis=1) > 2).mean() > 0.8


def test_candle_like_shadow_falls_away_from_the_light():
    target = np.array([[1, 0, 1, 0, 9, light] for light in (0, 2)])
    (left_lit, right_lit), boxes = still(target)
    bottom, left, right = boxes[0, 0, [2, 1, 3]]
    ground = slice(bottom - 8, bottom)
    assert left_lit[ground, right:].mean() < right_lit[ground, right:].mean() - 2
    assert left_lit[ground, :left].mean() > right_lit[ground, :left].mean() + 2


@pytest.mark.parametrize("image_shape", [(16, 16), (48, 64), (64, 48), (16, 96)])
def test_candle_like_any_shape_holds_the_object(image_shape):
    rng = np.random.RandomState(0)
    target = np.stack([rng.randint(size, size=60) for size in GRID.sizes], axis=1)
    corners = rng.choice([-1.0, 1.0], size=(60, 5))
    images, boxes = render(target, MIDDLE + REACH * corners, image_shape)
    assert images.shape == (60, *image_shape, 3)
    top, left, bottom, right = boxes[:, 0].T
    assert (top > 0).all()
    assert (left > 0).all()
    assert (bottom < image_shape[0]).all()
    assert (right < image_shape[1]).all()
    assert ((bottom - top) * (right - left) > 6).all()


@pytest.mark.slow
def test_candle_like_at_the_size_of_candle():
    scenes = make_candle_like(32, image_shape=(240, 320), random_state=0)
    assert scenes.images.shape == (32, 240, 320, 3)
    assert scenes.images.nbytes == 32 * 240 * 320 * 3


def test_candle_like_repeats_and_returns_X_y():
    scenes = make_candle_like(8, random_state=1, **SMALL)
    X, y = make_candle_like(8, random_state=1, return_X_y=True, **SMALL)
    np.testing.assert_array_equal(X, scenes.images)
    np.testing.assert_array_equal(y, scenes.target)
    assert X.dtype == np.uint8
    assert np.shares_memory(scenes.data, scenes.images)
    assert scenes.factor_sizes == (5, 5, 3, 6, 16, 3)
    np.testing.assert_array_equal(scenes.indices, GRID.to_indices(scenes.target))
    assert "confounding=1.0" in scenes.DESCR
    copy = pickle.loads(pickle.dumps(scenes))
    np.testing.assert_array_equal(copy.images, scenes.images)


def test_candle_like_refuses_bad_parameters():
    for arguments in (
        {"confounding": 1.5},
        {"confounding": -0.1},
        {"n_samples": 0},
        {"design": "half"},
        {"jitter": 2.0},
    ):
        with pytest.raises(InvalidParameterError):
            make_candle_like(**{"n_samples": 4, **arguments})
    for shape in ((8, 64), (64,), (64.0, 64), (321, 64), (240, 321)):
        with pytest.raises(ValueError, match="two integers from 16 to 320"):
            make_candle_like(1, image_shape=shape)
    for arguments in (
        {"design": "candle", "n_samples": 3},
        {"indices": [3]},
        {"factors": {"size": 0}},
    ):
        with pytest.raises(ValueError, match="confounding is the strength"):
            make_candle_like(confounding=0.5, **arguments)
    with pytest.raises(ValueError, match="indices already says"):
        make_candle_like(3, indices=[3])
