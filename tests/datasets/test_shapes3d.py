"""The look-alike of 3D Shapes."""

import colorsys
import hashlib

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import _shapes3d, make_shapes3d

STRAIGHT = {"scale": 4, "orientation": 7}


def test_shapes3d_palette_is_hsv():
    hues = np.arange(10) / 10
    wanted = [[255 * c for c in colorsys.hsv_to_rgb(h, 1, 1)] for h in hues]
    np.testing.assert_allclose(_shapes3d._palette(hues), wanted, atol=1e-9)


def test_shapes3d_colors_are_where_they_belong():
    hues = {"floor_hue": 0, "wall_hue": 3, "object_hue": 6, "shape": 2}
    image = make_shapes3d(factors={**STRAIGHT, **hues}, cache=False).images[0].astype(int)
    np.testing.assert_array_equal(image[2, 32], [153, 226, 249])
    wall, floor, ball = image[28, 5], image[60, 5], image[40, 32]
    np.testing.assert_allclose(wall, 0.98 * 255 * np.array([0.2, 1, 0]), atol=1)
    assert floor[0] > 230
    assert floor[1:].max() == 0
    np.testing.assert_allclose(ball / ball.max(), [0, 0.4, 1], atol=0.01)


def test_shapes3d_images_are_linear_in_the_palette():
    # Any two images of one geometry give the weights of floor, wall and object away.
    geometry = {**STRAIGHT, "shape": 0}
    shapes = make_shapes3d(factors=geometry, cache=False, shuffle=False)
    images = shapes.images.reshape(10, 10, 10, 64, 64, 3).astype(float)
    change = images[1:, :1, :1] - images[:1, :1, :1]
    other = images[1:, 5:6, 7:8] - images[:1, 5:6, 7:8]
    assert np.abs(change - other).max() <= 2


def test_shapes3d_object_grows_with_scale_and_shapes_differ():
    part = {"floor_hue": 0, "wall_hue": 0, "object_hue": 6, "orientation": 7}
    shapes = make_shapes3d(factors={**part, "scale": [0, 3, 7]}, cache=False, shuffle=False)
    blue = (shapes.images[..., 2] > 100) & (shapes.images[..., 0] < 50)
    areas = blue.sum(axis=(1, 2)).reshape(3, 4)
    assert (np.diff(areas, axis=0) > 20).all()
    widths, heights = blue.any(axis=1).sum(axis=1), blue.any(axis=2).sum(axis=1)
    cube, cylinder, sphere, capsule = zip(widths[4:8], heights[4:8])
    # The front of the cube is nearer than the rim of the cylinder.
    assert 0 < cube[0] - cylinder[0] <= 4
    assert abs(sphere[0] - sphere[1]) <= 2
    assert capsule[1] > 1.7 * capsule[0]


def test_shapes3d_orientations_see_opposite_side_walls():
    part = {"floor_hue": 0, "wall_hue": 3, "object_hue": 6, "scale": 0, "shape": 2}
    left, middle, right = make_shapes3d(
        factors={**part, "orientation": [0, 7, 14]}, cache=False, shuffle=False
    ).images[:, 30, :, 1]
    # Side walls are darker than the back wall; straight ahead only the back wall is seen.
    assert (middle > 240).mean() > 0.95
    assert left[-1] < 200 < left[0]
    assert right[0] < 200 < right[-1]


def test_shapes3d_small_images_are_means_of_four_pixels():
    indices = np.arange(0, 480_000, 60_001)
    large = make_shapes3d(indices=indices, cache=False).images
    small = make_shapes3d(indices=indices, cache=False, image_size=32).images
    means = large.reshape(-1, 32, 2, 32, 2, 3).mean(axis=(2, 4))
    assert np.abs(small - means).max() <= 1


def test_shapes3d_fields_and_repeats():
    shapes = make_shapes3d(20, factors=STRAIGHT, random_state=0, cache=False)
    X, y = make_shapes3d(20, factors=STRAIGHT, random_state=0, cache=False, return_X_y=True)
    np.testing.assert_array_equal(X, shapes.images)
    np.testing.assert_array_equal(y, shapes.target)
    assert shapes.factor_sizes == (10, 10, 10, 8, 4, 15)
    rows = np.ravel_multi_index(shapes.target.T, shapes.factor_sizes)
    np.testing.assert_array_equal(rows, shapes.indices)
    assert np.shares_memory(shapes.data, shapes.images)
    assert "These are not the images of 3D Shapes" in shapes.DESCR


def test_shapes3d_pictures_do_not_change():
    factors = {"floor_hue": [0, 4], "wall_hue": 2, "object_hue": 7, "scale": 2, "orientation": 3}
    images = make_shapes3d(factors=factors, shuffle=False, cache=False).images
    # Means, not checksums: the last bit of a sine may differ between platforms.
    means = [139.61, 139.71, 138.26, 136.15, 149.15, 149.79, 148.29, 146.63]
    np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), means, atol=0.05)


@pytest.fixture
def small_table(monkeypatch):
    """A table with all but one geometry known, so that the cache is complete at once."""

    def fresh():
        table = _shapes3d._GeometryTable()
        table.known[1:] = True
        # Of the function itself: collecting doctests may have imported the module a second time.
        monkeypatch.setitem(make_shapes3d.__wrapped__.__globals__, "_TABLE", table)
        return table

    return fresh


def test_shapes3d_cache_is_written_read_and_replaced_when_damaged(tmp_path, small_table):
    first = {"floor_hue": 0, "wall_hue": 0, "scale": 0, "shape": 0, "orientation": 0}
    small_table()
    drawn = make_shapes3d(factors=first, data_home=tmp_path, shuffle=False).images
    file = tmp_path / "sklearn_disent" / _shapes3d.CACHE_NAME
    digest = hashlib.sha1(file.read_bytes()).hexdigest()
    assert [f.name for f in file.parent.iterdir()] == [file.name]

    table = small_table()
    again = make_shapes3d(factors=first, data_home=tmp_path, shuffle=False).images
    np.testing.assert_array_equal(again, drawn)
    assert table.known.all()

    file.write_bytes(file.read_bytes()[:1000])
    small_table()
    again = make_shapes3d(factors=first, data_home=tmp_path, shuffle=False).images
    np.testing.assert_array_equal(again, drawn)
    assert hashlib.sha1(file.read_bytes()).hexdigest() == digest


def test_shapes3d_works_without_a_writable_folder(tmp_path, small_table):
    (tmp_path / "file").write_text("no folder")
    small_table()
    first = {"floor_hue": 0, "wall_hue": 0, "scale": 0, "shape": 0, "orientation": 0}
    shapes = make_shapes3d(factors=first, data_home=tmp_path / "file")
    assert shapes.images.shape == (10, 64, 64, 3)


def test_shapes3d_cache_false_leaves_no_file(tmp_path, small_table):
    small_table()
    make_shapes3d(indices=[0], data_home=tmp_path, cache=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_shapes3d_all_geometries_are_distinct_and_cover_every_pixel():
    shapes = make_shapes3d(
        factors={"floor_hue": 0, "wall_hue": 3, "object_hue": 6}, cache=False, shuffle=False
    )
    assert len(np.unique(shapes.data, axis=0)) == 480
    weights = make_shapes3d.__wrapped__.__globals__["_TABLE"].weights
    assert (weights.sum(axis=-1, dtype=int) <= 257).all()
    assert (weights.sum(axis=-1, dtype=int) >= 50).all()


def test_shapes3d_refuses_bad_parameters():
    with pytest.raises(InvalidParameterError):
        make_shapes3d(image_size=48)
    with pytest.raises(ValueError, match="Unknown factor 'hue'"):
        make_shapes3d(factors={"hue": 0})
    with pytest.raises(ValueError, match="479999"):
        make_shapes3d(indices=[480_000])
