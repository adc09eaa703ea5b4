"""Layouts, intensities and mosaics."""

import numpy as np
import pytest

from sklearn_disent.inspection._images import as_images, centers, intensities, mosaic


@pytest.mark.parametrize(
    ("shape", "hint", "expected"),
    [
        ((2, 8, 9), None, (2, 8, 9)),
        ((2, 1, 8, 9), None, (2, 8, 9)),
        ((2, 8, 9, 1), None, (2, 8, 9)),
        ((2, 3, 8, 9), None, (2, 8, 9, 3)),
        ((2, 8, 9, 3), None, (2, 8, 9, 3)),
        ((2, 72), (8, 9), (2, 8, 9)),
        ((2, 216), (3, 8, 9), (2, 8, 9, 3)),
        ((2, 216), (8, 9, 3), (2, 8, 9, 3)),
        ((2, 3, 8, 3), (3, 8, 3), (2, 8, 3, 3)),
        ((2, 8, 3, 3), (3, 8, 3), (2, 8, 3, 3)),
    ],
)
def test_as_images_reads_every_layout(shape, hint, expected):
    array = np.arange(np.prod(shape)).reshape(shape)
    assert as_images(array, hint).shape == expected


def test_as_images_keeps_channels_apart():
    array = np.zeros((1, 3, 4, 5))
    array[0, 1] = 1
    assert np.array_equal(as_images(array)[0, 2, 3], [0, 1, 0])
    assert np.array_equal(as_images(array.reshape(1, -1), (3, 4, 5))[0, 2, 3], [0, 1, 0])


def test_as_images_leaves_rows_alone():
    assert as_images(np.zeros((4, 64))) is None


@pytest.mark.parametrize("shape", [(2, 2, 8, 8), (2, 3, 8, 3), (2, 8, 8, 5)])
def test_as_images_refuses_unclear_channels(shape):
    with pytest.raises(ValueError, match="1 or 3 channels"):
        as_images(np.zeros(shape))


def test_as_images_checks_size():
    with pytest.raises(ValueError, match=r"image_shape=\(3, 3\) has 9 values.*10 features"):
        as_images(np.zeros((2, 10)), (3, 3))
    with pytest.raises(ValueError, match="got 1 dimensions"):
        as_images(np.zeros(10))


def test_intensities_of_bytes_and_floats_share_a_scale():
    first, second = intensities(np.array([0, 255], np.uint8), np.array([-0.01, 1.01]))
    assert np.array_equal(first, [0, 1])
    assert np.array_equal(second, [0, 1])
    assert np.array_equal(intensities(np.array([0, 1], np.uint8))[0], [0, 1])


def test_intensities_of_other_scales_use_their_range():
    first, second = intensities(np.array([0.0, 16.0]), np.array([-4.0, 8.0]))
    assert np.allclose(first, [0.2, 1.0])
    assert np.allclose(second, [0.0, 0.6])
    assert np.array_equal(intensities(np.full(2, 7.0))[0], [0, 0])


def test_mosaic_places_images_with_gaps():
    images = np.arange(6.0).reshape(2, 3, 1, 1) * np.ones((2, 3, 2, 2))
    picture = mosaic(images)
    assert picture.shape == (5, 8)
    rows, columns = centers(images)
    assert np.array_equal(picture[np.ix_(rows.astype(int), columns.astype(int))], images[..., 0, 0])
    assert np.isnan(picture[2]).all()
    assert np.isnan(picture[:, 2]).all()


def test_mosaic_of_colours_has_no_nan():
    picture = mosaic(np.ones((1, 2, 4, 4, 3)))
    assert picture.shape == (4, 9, 3)
    assert np.array_equal(picture[0, 4], [0.75] * 3)
