"""Three squares on a grid."""

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_xysquares


def test_xysquares_picture_drawn_by_hand():
    classes = (0, 7, 3, 2, 3, 1)
    image = make_xysquares(indices=[np.ravel_multi_index(classes, (8,) * 6)]).images[0]
    wanted = np.zeros((64, 64, 3), dtype=np.uint8)
    wanted[56:64, 0:8, 0] = 255
    wanted[16:24, 24:32, 1] = 255
    wanted[8:16, 24:32, 2] = 255
    np.testing.assert_array_equal(image, wanted)


@pytest.mark.parametrize("spacing", [1, 3, 8])
def test_xysquares_factors_can_be_measured(spacing):
    squares = make_xysquares(200, spacing=spacing, random_state=0)
    for channel, color in enumerate(("red", "green", "blue")):
        covered = squares.images[..., channel] == 255
        assert (covered.sum(axis=(1, 2)) == 64).all()
        for axis, name in ((1, f"x_{color}"), (2, f"y_{color}")):
            first = covered.any(axis=axis).argmax(axis=1)
            column = squares.target[:, squares.factor_names.index(name)]
            np.testing.assert_array_equal(first, squares.factor_values[name][column])


def test_xysquares_places_are_equally_far_apart_unless_they_overlap():
    still = {"x_green": 0, "y_green": 0, "x_blue": 0, "y_blue": 0, "y_red": 4}
    for spacing in (8, 2):
        images = make_xysquares(factors=still, spacing=spacing, shuffle=False).images
        flat = images.reshape(8, -1).astype(int)
        distances = np.abs(flat[:, None] - flat[None]).sum(axis=2) // 255
        steps = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
        np.testing.assert_array_equal(distances, 16 * np.minimum(spacing * steps, 8))


def test_xysquares_small_images_are_means_of_four_pixels():
    for spacing in (8, 3):
        large = make_xysquares(50, spacing=spacing, random_state=0).images
        small = make_xysquares(50, spacing=spacing, random_state=0, image_size=32).images
        means = large.reshape(-1, 32, 2, 32, 2, 3).mean(axis=(2, 4))
        np.testing.assert_array_equal(small, np.floor(means + 0.5))


def test_xysquares_fields_and_repeats():
    squares = make_xysquares(30, factors={"x_red": [1, 5]}, random_state=0)
    X, y = make_xysquares(30, factors={"x_red": [1, 5]}, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, squares.images)
    np.testing.assert_array_equal(y, squares.target)
    rows = np.ravel_multi_index(squares.target.T, squares.factor_sizes)
    np.testing.assert_array_equal(rows, squares.indices)
    assert set(squares.target[:, 0]) == {1, 5}
    assert np.shares_memory(squares.data, squares.images)
    assert "spacing=8 pixels" in squares.DESCR
    again = make_xysquares(indices=squares.indices)
    np.testing.assert_array_equal(again.images, squares.images)


def test_xysquares_refuses_bad_parameters():
    for options in ({"spacing": 0}, {"spacing": 9}, {"image_size": 48}, {"n_samples": 0}):
        with pytest.raises(InvalidParameterError):
            make_xysquares(**options)
    with pytest.raises(ValueError, match="Unknown factor 'x'"):
        make_xysquares(factors={"x": 0})
