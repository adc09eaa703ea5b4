"""Moved handwritten digits."""

import numpy as np
import pytest
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_transformed_digits

UPRIGHT = {"rotation": 4, "scale": 4}


def mass_centre(images):
    ticks = (2 * np.arange(images.shape[-1]) + 1) / images.shape[-1] - 1
    total = images.sum(axis=(1, 2), dtype=float)
    x = (images * ticks).sum(axis=(1, 2)) / total
    y = (images * ticks[:, None]).sum(axis=(1, 2)) / total
    return x, y


def test_digits_are_those_of_scikit_learn():
    moved = make_transformed_digits(
        factors={**UPRIGHT, "posX": 0, "posY": 0}, image_size=64, random_state=0
    )
    original = load_digits()
    np.testing.assert_array_equal(original.target[moved.source], moved.target[:, 0])
    # The 8 x 8 digit covers 2 * .6 of the span of 2, around -.34 on both axes.
    centre, half = (1 - 0.34) * 32, 0.6 * 32
    edges = np.round(np.linspace(centre - half, centre + half, 9)).astype(int)
    shrunk = np.add.reduceat(np.add.reduceat(moved.images, edges[:-1], 1), edges[:-1], 2)
    for small, row in zip(shrunk[::7], moved.source[::7]):
        assert np.corrcoef(small.ravel()[:56], original.data[row][:56])[0, 1] > 0.9


def test_digits_move_by_the_positions():
    digits = make_transformed_digits(
        factors={**UPRIGHT, "digit": [0, 8], "instance": [0, 5]}, shuffle=False
    )
    x, y = (c.reshape(4, 8, 8) for c in mass_centre(digits.images))
    step = 2 * 0.34 / 7
    np.testing.assert_allclose(np.diff(x, axis=1), step, atol=0.005)
    np.testing.assert_allclose(np.diff(y, axis=2), step, atol=0.005)
    np.testing.assert_allclose(np.diff(x, axis=2), 0, atol=0.005)


def test_digits_ink_grows_with_the_square_of_scale():
    digits = make_transformed_digits(
        factors={"rotation": 4, "posX": 3, "posY": 3, "instance": 2}, shuffle=False, image_size=64
    )
    ink = digits.images.sum(axis=(1, 2), dtype=float).reshape(10, 5)
    wanted = digits.factor_values["scale"] ** 2
    np.testing.assert_allclose(ink / ink[:, -1:], np.broadcast_to(wanted, ink.shape), rtol=0.02)


def test_digits_turn_counter_clockwise():
    around = {"digit": 4, "instance": 1, "scale": 2, "posX": [3, 4], "posY": [3, 4]}
    turned = make_transformed_digits(
        factors={**around, "rotation": [0, 4, 6]}, shuffle=False, image_size=64
    )
    # The mean over the four middle positions is centred, so a turn of the picture is comparable.
    right, upright, left = turned.images.reshape(3, 4, 64, 64).mean(axis=1)
    for picture, degrees in ((right, -60), (left, 30)):
        wanted = rotate(upright, degrees, reshape=False, order=1)
        assert np.corrcoef(picture.ravel(), wanted.ravel())[0, 1] > 0.97


def test_digits_stay_inside_and_background_is_black():
    corners = make_transformed_digits(
        factors={"instance": [0, 1], "posX": [0, 7], "posY": [0, 7], "rotation": [0, 4, 8]}
    )
    assert np.median(corners.images) == 0
    framed = corners.images.astype(float)
    framed[:, 1:-1, 1:-1] = 0
    assert (framed.sum(axis=(1, 2)) / corners.images.sum(axis=(1, 2))).max() < 0.05


def test_digits_fields_and_repeats():
    digits = make_transformed_digits(60, random_state=2)
    X, y = make_transformed_digits(60, random_state=2, return_X_y=True)
    np.testing.assert_array_equal(X, digits.images)
    np.testing.assert_array_equal(y, digits.target)
    assert X.dtype == np.uint8
    assert np.shares_memory(digits.data, digits.images)
    assert digits.factor_sizes == (10, 20, 9, 5, 8, 8)
    rows = np.ravel_multi_index(y.T, digits.factor_sizes)
    np.testing.assert_array_equal(rows, digits.indices)
    again = make_transformed_digits(indices=digits.indices[30:40])
    np.testing.assert_array_equal(again.images, X[30:40])


def test_digits_refuse_bad_parameters():
    with pytest.raises(InvalidParameterError):
        make_transformed_digits(image_size=28)
    with pytest.raises(ValueError, match=r"\[0, 19\], got 20"):
        make_transformed_digits(factors={"instance": 20})
