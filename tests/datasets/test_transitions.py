"""Pairs in time."""

from functools import partial

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import (
    make_dsprites,
    make_pendulum,
    make_transitions,
    make_xysquares,
)

SPRITES = ["shape", "scale", "orientation", "posX", "posY"]


@pytest.mark.parametrize("kind", ["laplace", "sparse"])
def test_transitions_images_are_those_of_their_classes(kind):
    pairs = make_transitions(make_dsprites, 60, kind=kind, random_state=0)
    for half in ("", "_pair"):
        again = make_dsprites(indices=pairs[f"indices{half}"])
        np.testing.assert_array_equal(again.images, pairs[f"images{half}"])
        np.testing.assert_array_equal(again.target, pairs[f"target{half}"])
        np.testing.assert_array_equal(again.data, pairs[f"data{half}"])
        assert np.shares_memory(pairs[f"data{half}"], pairs[f"images{half}"])
    np.testing.assert_array_equal(pairs.changed, pairs.target != pairs.target_pair)
    assert pairs.changed.any(axis=1).all()
    assert pairs.factor_names == SPRITES
    assert pairs.factor_sizes == (3, 6, 40, 32, 32)
    assert "Pairs in time" in pairs.DESCR
    assert "128,328,864 white pixels" in pairs.DESCR


def test_transitions_laplace_steps_have_the_published_chances():
    # One factor of 5 classes beside a large one: the chance of each step, given the start.
    pairs = make_transitions((5, 1000), 200_000, rate=1.3, random_state=0)
    start, end = pairs.target[:, 0], pairs.target_pair[:, 0]
    weights = np.exp(-1.3 * np.abs(np.subtract.outer(range(5), range(5))) / np.log(5))
    chances = weights / weights.sum(axis=1, keepdims=True)
    large = np.exp(-1.3 * np.abs(np.arange(1000) - 500) / np.log(1000))
    rest = large[500] / large.sum()  # chance that the other factor stays, off the edges
    for c in range(5):
        seen = np.bincount(end[start == c], minlength=5) / (start == c).sum()
        stays = chances[c, c]
        # A pair in which nothing changes is drawn again, half the time in this factor.
        moved = stays * rest / 2 * chances[c] / (1 - stays)
        wanted = chances[c] + moved
        wanted[c] = stays - stays * rest / 2
        # Standard error at most .0025.
        np.testing.assert_allclose(seen, wanted, atol=0.01)


def test_transitions_laplace_is_sparse_and_the_rate_makes_it_more_so():
    shares = []
    for rate in (0.3, 1.0, 3.0):
        pairs = make_transitions((10, 10, 10, 10), 20_000, rate=rate, random_state=0)
        assert pairs.changed.any(axis=1).all()
        steps = np.abs(pairs.target_pair - pairs.target)
        # A factor of 10 classes stays with chance 1 / sum exp(-rate |c' - c| / ln 10).
        weights = np.exp(-rate * np.abs(np.subtract.outer(range(10), range(10))) / np.log(10))
        stays = (1 / weights.sum(axis=1)).mean()
        none = stays**4
        assert (~pairs.changed).mean() == pytest.approx(stays - none / 4, abs=0.01)
        shares.append(steps.mean())
    assert shares[0] > shares[1] > shares[2]


def test_transitions_laplace_leaves_words_alone():
    pairs = make_transitions(make_dsprites, 500, random_state=0)
    assert not pairs.changed[:, 0].any()
    assert pairs.changed[:, 1:].any(axis=0).all()
    fixed = make_transitions(make_dsprites, 500, categorical=["posX", "posY"], random_state=0)
    assert fixed.changed.any(axis=0).tolist() == [True, True, True, False, False]
    free = make_transitions(make_dsprites, 500, categorical=[], random_state=0)
    assert free.changed.any(axis=0).all()


@pytest.mark.parametrize("n_changed", [1, 2, 4])
def test_transitions_sparse_changes_exactly_so_many(n_changed):
    pairs = make_transitions((3, 6, 4, 5), 8000, kind="sparse", n_changed=n_changed, random_state=0)
    assert (pairs.changed.sum(axis=1) == n_changed).all()
    # Every factor equally often, standard error .0055.
    np.testing.assert_allclose(pairs.changed.mean(axis=0), n_changed / 4, atol=0.025)
    # And to every other class equally often.
    start, end = pairs.target[:, 0], pairs.target_pair[:, 0]
    for c in range(3):
        new = np.bincount(end[(start == c) & pairs.changed[:, 0]], minlength=3)
        assert new[c] == 0
        others = np.delete(new, c) / new.sum()
        np.testing.assert_allclose(others, 0.5, atol=0.08)


def test_transitions_sparse_random_number():
    pairs = make_transitions((3, 6, 4, 5), 9000, kind="sparse", n_changed=None, random_state=0)
    counts = np.bincount(pairs.changed.sum(axis=1), minlength=5) / 9000
    np.testing.assert_allclose(counts, [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=0.02)
    one = make_transitions((3,), 50, kind="sparse", n_changed=None, random_state=0)
    assert one.changed.all()


def test_transitions_starts_are_uniform():
    pairs = make_transitions((4, 3), 12_000, random_state=0)
    counts = np.bincount(pairs.indices, minlength=12)
    assert np.abs(counts - 1000).max() < 120


def test_transitions_stay_in_the_part_that_is_kept():
    part = {"shape": 1, "scale": [0, 5], "orientation": [0, 10, 20], "posX": 3}
    pairs = make_transitions(make_dsprites, 300, factors=part, random_state=0)
    for target in (pairs.target, pairs.target_pair):
        assert set(target[:, 0]) == {1}
        assert set(target[:, 1]) == {0, 5}
        assert set(target[:, 2]) == {0, 10, 20}
        assert set(target[:, 3]) == {3}
    assert not pairs.changed[:, [0, 3]].any()


def test_transitions_repeat_and_return_X_y():
    make = partial(make_dsprites, image_size=32, dtype="uint8")
    pairs = make_transitions(make, 20, random_state=5)
    assert pairs.images.shape == (20, 32, 32)
    X, X_pair, y, y_pair = make_transitions(make, 20, random_state=5, return_X_y=True)
    np.testing.assert_array_equal(X, pairs.images)
    np.testing.assert_array_equal(X_pair, pairs.images_pair)
    np.testing.assert_array_equal(y, pairs.target)
    np.testing.assert_array_equal(y_pair, pairs.target_pair)
    other = make_transitions(make, 20, random_state=6)
    assert (other.target != pairs.target).any()


def test_transitions_without_images_give_classes():
    pairs = make_transitions((3, 4), 10, random_state=0)
    np.testing.assert_array_equal(pairs.data, pairs.target)
    np.testing.assert_array_equal(pairs.data_pair, pairs.target_pair)
    assert "images" not in pairs
    X, X_pair, *_ = make_transitions([3, 4], 10, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, pairs.data)
    np.testing.assert_array_equal(X_pair, pairs.data_pair)


def test_transitions_noise_repeats_with_the_seed():
    make = partial(make_dsprites, background="noise")
    first = make_transitions(make, 5, random_state=0).images
    np.testing.assert_array_equal(first, make_transitions(make, 5, random_state=0).images)
    fixed = partial(make, random_state=3)
    pairs = make_transitions(fixed, 5, random_state=0)
    np.testing.assert_array_equal(pairs.images, fixed(indices=pairs.indices).images)


def test_transitions_single_steps_move_a_square_on():
    pairs = make_transitions(make_xysquares, 100, rate=20, random_state=0)
    assert (pairs.changed.sum(axis=1) == 1).all()
    assert (np.abs(pairs.target_pair - pairs.target).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_pendulum, {}, "make_pendulum is not"),
        (partial(make_dsprites, return_X_y=True), {}, "is not"),
        ((3, 0), {}, "at least 1"),
        ((), {}, "list of sizes"),
        ((3, 4), {"categorical": ["shape"]}, "Unknown factor 'shape'"),
        ((3, 4), {"categorical": ["factor_0", "factor_1"]}, "No factor can change"),
        ((3, 4), {"kind": "sparse", "n_changed": 3}, "n_changed=3 factors cannot change: only 2"),
        ((3, 4), {"factors": {"factor_0": 5}}, r"\[0, 2\], got 5"),
    ],
)
def test_transitions_refuse_what_cannot_be(make, options, message):
    with pytest.raises(ValueError, match=message):
        make_transitions(make, 5, **options)


def test_transitions_refuse_bad_parameters():
    for options in ({"rate": 0}, {"kind": "gauss"}, {"n_changed": 0}):
        with pytest.raises(InvalidParameterError):
            make_transitions((3, 4), 5, **options)
    with pytest.raises(InvalidParameterError):
        make_transitions(5)
