"""The drawn stand-in for CANDLE."""

from itertools import combinations

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_candle_like
from sklearn_disent.datasets._candle_like import _draw_classes, _render


def draw(n_samples, confounding, seed=0):
    return _draw_classes(n_samples, confounding, np.random.RandomState(seed))


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


def test_candle_like_without_confounding_is_independent_and_uniform(cramers_v):
    target, confounders = draw(2000, 0.0)
    columns = np.hstack([target, confounders]).T
    for a, b in combinations(columns, 2):
        assert cramers_v(a, b) < 0.1
    for column in target.T:
        counts = np.bincount(column)
        assert (np.abs(counts * len(counts) / 2000 - 1) < 0.25).all()


def test_candle_like_dependence_grows_with_confounding(cramers_v):
    found = [cramers_v(*draw(20_000, strength)[0][:, [0, 2]].T) for strength in (0, 0.3, 0.6, 1.0)]
    assert (np.diff(found) > 0.02).all()


def test_candle_like_confounders_explain_the_dependence(cramers_v):
    target, confounders = draw(40_000, 1.0)
    for context in range(4):
        rows = confounders[:, 0] == context
        assert cramers_v(target[rows, 0], target[rows, 2]) < 0.05
        assert cramers_v(target[rows, 0], target[rows, 4]) < 0.05


def test_candle_like_box_is_tight():
    # The same scene and light without the object would differ only by its shadow outside the box.
    target = np.array([[o, 0, s, 2, 2, 1] for o in range(5) for s in range(3)])
    red, boxes = _render(target, (64, 64))
    blue, _ = _render(target + np.array([0, 1, 0, 0, 0, 0]), (64, 64))
    for a, b, ((top, left, bottom, right),) in zip(red, blue, boxes):
        rows, columns = np.nonzero((a != b).any(axis=2))
        found = rows.min(), columns.min(), rows.max() + 1, columns.max() + 1
        assert found == (top, left, bottom, right)
    heights = (boxes[:, 0, 2] - boxes[:, 0, 0]).reshape(5, 3)
    assert (np.diff(heights, axis=1) > 0).all()


@pytest.mark.parametrize("factor", range(6))
@pytest.mark.parametrize("kind", range(5))
def test_candle_like_every_factor_shows(factor, kind):
    sizes = (5, 5, 3, 6, 8, 3)
    base = np.array([kind, 1, 1, 1, 2, 1])
    rows = np.repeat(base[None], sizes[factor], axis=0)
    rows[:, factor] = np.arange(sizes[factor])
    images, _ = _render(rows, (32, 32))
    for a, b in combinations(images.astype(int), 2):
        assert np.abs(a - b).max() > 20


def test_candle_like_shadow_falls_away_from_the_light():
    target = np.array([[1, 0, 1, 0, 3, light] for light in (0, 2)])
    (left_lit, right_lit), boxes = _render(target, (64, 64))
    bottom, left, right = boxes[0, 0, [2, 1, 3]]
    ground = slice(bottom - 8, bottom)
    assert left_lit[ground, right:].mean() < right_lit[ground, right:].mean() - 2
    assert left_lit[ground, :left].mean() > right_lit[ground, :left].mean() + 2


@pytest.mark.parametrize("image_shape", [(16, 16), (48, 64), (64, 48)])
def test_candle_like_any_shape(image_shape):
    scenes = make_candle_like(6, image_shape=image_shape, random_state=0)
    assert scenes.images.shape == (6, *image_shape, 3)
    assert scenes.images.dtype == np.uint8
    top, left, bottom, right = scenes.boxes[:, 0].T
    assert (top > 0).all()
    assert (left > 0).all()
    assert (bottom < image_shape[0]).all()
    assert (right < image_shape[1]).all()


def test_candle_like_repeats_and_returns_X_y():
    scenes = make_candle_like(8, image_shape=(32, 32), random_state=1)
    X, y = make_candle_like(8, image_shape=(32, 32), random_state=1, return_X_y=True)
    np.testing.assert_array_equal(X, scenes.images)
    np.testing.assert_array_equal(y, scenes.target)
    assert np.shares_memory(scenes.data, scenes.images)
    assert scenes.factor_sizes == (5, 5, 3, 6, 8, 3)
    assert "confounding=1.0" in scenes.DESCR


def test_candle_like_refuses_bad_parameters():
    for arguments in ({"confounding": 1.5}, {"confounding": -0.1}, {"n_samples": 0}):
        with pytest.raises(InvalidParameterError):
            make_candle_like(**arguments)
    for shape in ((8, 64), (64,), (64.0, 64)):
        with pytest.raises(ValueError, match="two integers of at least 16"):
            make_candle_like(1, image_shape=shape)
