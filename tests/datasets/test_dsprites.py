"""The rendered dSprites against checksums and hand-countable pictures."""

import hashlib
import tracemalloc

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_dsprites

# (shape, scale, orientation): the first 16 digits of the sha1 of its 1024 positions and its number
# of white pixels, computed from a rendering whose whole-set sha1 is the one below.
BLOCKS = {
    (0, 0, 0): ("69fd2a948d5cddbd", 94864),
    (0, 5, 7): ("a670c7a0ff42bc31", 377512),
    (1, 2, 13): ("51a0a91c866b377c", 145143),
    (1, 5, 39): ("140b8603e57a48e1", 296258),
    (2, 0, 21): ("a4f8d9cbce165b3a", 57464),
    (2, 4, 3): ("4f14dbd9e84d6906", 186214),
}
WHOLE_SET = "4fb42563c45f510102a6f529a527b9d1462b21f6"


@pytest.mark.parametrize("pose", BLOCKS)
def test_dsprites_blocks_have_the_reference_checksum(pose):
    factors = dict(zip(["shape", "scale", "orientation"], pose))
    images = make_dsprites(factors=factors, shuffle=False).images
    digest, n_white = BLOCKS[pose]
    assert int(images.sum()) == n_white
    assert hashlib.sha1(images).hexdigest().startswith(digest)


@pytest.mark.slow
def test_dsprites_whole_set_has_the_reference_checksum():
    digest, n_white, per_block = hashlib.sha1(), 0, 737_280 // 90
    distinct = set()
    for block in range(90):
        indices = np.arange(block * per_block, (block + 1) * per_block)
        images = make_dsprites(indices=indices).images
        digest.update(images)
        n_white += int(images.sum(dtype=np.int64))
        distinct.update(row.tobytes() for row in np.packbits(images.reshape(per_block, -1), axis=1))
    assert digest.hexdigest() == WHOLE_SET
    assert n_white == 128_328_864
    assert len(distinct) == 715_706


def test_dsprites_upright_square_is_the_rectangle_computed_by_hand():
    # Centre 16 + 32 * 16 / 31 = 32.516 px, half-size 4.8 px: pixels whose centres lie in
    # [27.716, 37.316], which are 28 to 36.
    index = {"shape": 0, "scale": 0, "orientation": 0, "posX": 16, "posY": 16}
    image = make_dsprites(factors=index).images[0]
    wanted = np.zeros((64, 64), dtype=np.uint8)
    wanted[28:37, 28:37] = 1
    np.testing.assert_array_equal(image, wanted)


def test_dsprites_positions_point_right_and_down():
    corners = {"shape": 2, "scale": 5, "orientation": 0, "posX": [0, 31], "posY": [0, 31]}
    sprites = make_dsprites(factors=corners, shuffle=False)
    for image, (_, _, _, pos_x, pos_y) in zip(sprites.images, sprites.target):
        rows, columns = np.nonzero(image)
        assert (columns.mean() > 32) == (pos_x == 31)
        assert (rows.mean() > 32) == (pos_y == 31)


def test_dsprites_heart_points_down_at_angle_zero_and_turns_counter_clockwise():
    turn = {"shape": 2, "scale": 5, "orientation": [0, 10], "posX": 16, "posY": 16}
    upright, turned = make_dsprites(factors=turn, shuffle=False).images
    widths = upright.sum(axis=1)
    assert widths[np.flatnonzero(widths)[-1]] <= 2
    # A quarter turn counter-clockwise takes the tip from the bottom to the right.
    heights = turned.sum(axis=0)
    assert heights[np.flatnonzero(heights)[-1]] <= 2
    assert heights[np.flatnonzero(heights)[0]] > 2


def test_dsprites_first_and_last_orientation_coincide():
    rest = {"scale": 3, "posX": [5, 20], "posY": [7, 9]}
    first = make_dsprites(factors={**rest, "orientation": 0}, shuffle=False)
    last = make_dsprites(factors={**rest, "orientation": 39}, shuffle=False)
    np.testing.assert_array_equal(first.images, last.images)


def test_dsprites_images_do_not_depend_on_what_is_drawn_with_them():
    indices = np.random.RandomState(0).randint(737_280, size=700)
    together = make_dsprites(indices=indices)
    np.testing.assert_array_equal(together.indices, indices)
    for place in (0, 350, 699):
        alone = make_dsprites(indices=indices[place : place + 1])
        np.testing.assert_array_equal(alone.images[0], together.images[place])
        np.testing.assert_array_equal(alone.target[0], together.target[place])


def test_dsprites_target_says_what_is_drawn():
    sprites = make_dsprites(200, random_state=1)
    assert sprites.target.dtype == np.int64
    assert sprites.factor_sizes == (3, 6, 40, 32, 32)
    rows = np.ravel_multi_index(sprites.target.T, sprites.factor_sizes)
    np.testing.assert_array_equal(rows, sprites.indices)
    # The mean of the white pixels of a square or an ellipse is its centre, to half a pixel.
    ys, xs = np.mgrid[:64, :64] + 0.5
    for image, classes in zip(sprites.images, sprites.target):
        if classes[0] == 2:
            continue
        centre = 16 + 32 * sprites.factor_values["posX"][classes[3]]
        assert abs((image * xs).sum() / image.sum() - centre) < 0.5
        centre = 16 + 32 * sprites.factor_values["posY"][classes[4]]
        assert abs((image * ys).sum() / image.sum() - centre) < 0.5


def test_dsprites_area_grows_with_scale():
    sprites = make_dsprites(factors={"orientation": 4, "posX": 10, "posY": 10}, shuffle=False)
    areas = sprites.images.sum(axis=(1, 2)).reshape(3, 6)
    assert (np.diff(areas.astype(int), axis=1) > 0).all()


def test_dsprites_small_images_are_means_of_four_pixels():
    indices = np.arange(0, 737_280, 9000)
    large = make_dsprites(indices=indices).images
    small = make_dsprites(indices=indices, image_size=32).images
    assert small.dtype == np.float32
    np.testing.assert_array_equal(small, large.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4)))


def test_dsprites_fields_and_return_X_y():
    sprites = make_dsprites(50, random_state=0)
    assert sprites.images.dtype == np.uint8
    assert set(np.unique(sprites.images)) == {0, 1}
    assert np.shares_memory(sprites.data, sprites.images)
    assert sprites.factor_values["shape"].tolist() == ["square", "ellipse", "heart"]
    assert "128,328,864 white pixels against 128,328,862" in sprites.DESCR
    X, y = make_dsprites(50, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, sprites.images)
    np.testing.assert_array_equal(y, sprites.target)


def test_dsprites_shuffled_folds_hold_every_class():
    from sklearn.model_selection import KFold

    target = make_dsprites(3000, factors={"orientation": 0}, random_state=0).target
    for train, _ in KFold(3).split(target):
        assert [len(np.unique(column)) for column in target[train].T] == [3, 6, 1, 32, 32]


def test_dsprites_memory_is_that_of_the_images():
    tracemalloc.start()
    make_dsprites(20_000, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.4 * 20_000 * 64 * 64


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_samples": 0},
        {"n_samples": 1.5},
        {"image_size": 48},
        {"factors": [("shape", 0)]},
        {"shuffle": "yes"},
        {"random_state": "seed"},
    ],
)
def test_dsprites_refuses_bad_parameters(arguments):
    with pytest.raises(InvalidParameterError):
        make_dsprites(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"indices": [737_280]}, "737279"),
        ({"n_samples": 5, "indices": [0]}, "n_samples must be None"),
        ({"factors": {"color": 0}}, "Unknown factor 'color'"),
        (
            {"n_samples": 7, "factors": {"orientation": 0, "posX": 0, "posY": 0, "shape": 0}},
            "has 6",
        ),
    ],
)
def test_dsprites_refuses_impossible_subsets(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_dsprites(**arguments)
