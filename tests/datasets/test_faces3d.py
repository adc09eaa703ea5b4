"""The stand-in for 3D Faces: its heads, its light, its cache."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import _faces3d, make_faces3d_like
from sklearn_disent.datasets import _faces3d_head as _head
from sklearn_disent.datasets import _raycast as rc


def render(**classes):
    straight = {"identity": 3, "azimuth": 10, "elevation": 5, "lighting": 5}
    factors = {**straight, **classes}
    return make_faces3d_like(factors=factors, shuffle=False, cache=False).images.astype(int)


def test_faces_formula_meets_what_sphere_tracing_meets():
    traits = _head.people(50)[7]
    solid, turn = _head.head(traits), _head.turn_of_head(25.0, -10.0)
    hits = _head._meet(solid, turn)
    axes = 1 / np.sqrt(np.linalg.eigvalsh(solid.forms).max(axis=1))

    def distance(points):
        # The root of a form, less 1, times the smallest half axis never exceeds the distance.
        level = np.einsum("pi,nij,pj->np", points, solid.forms, points)
        level += 2 * solid.linear @ points.T + (solid.constant + 1)[:, None]
        return ((np.sqrt(np.maximum(level, 0)) - 1) * axes[:, None]).min(axis=0)

    some = np.arange(0, len(hits.on), 37)
    rays = (turn.T @ _head._rays().astype(float)).T[some]
    eye = turn.T @ _head.EYE
    traced = rc.trace(distance, eye, rays, np.array([0.0, -0.7, 0.0]), 2.2)
    both = np.isfinite(traced) & hits.on[some]
    # They may disagree on rays that graze the head, and on the neck below the ball traced in.
    assert (np.isfinite(traced) == hits.on[some]).mean() > 0.97
    place = np.cumsum(hits.on)[some[both]] - 1
    found = np.linalg.norm(hits.points.T[place] - eye, axis=1)
    assert np.median(np.abs(found - traced[both])) < 2e-3
    assert np.mean(np.abs(found - traced[both]) < 0.02) > 0.95


def test_faces_normals_are_gradients_of_the_blend():
    traits = _head.people(50)[7]
    solid, turn = _head.head(traits), _head.turn_of_head(-20.0, 5.0)
    hits = _head._meet(solid, turn)
    normals = _head._normals(solid, hits)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=0), 1, atol=1e-5)

    def blend(points):
        level = np.einsum("pi,nij,pj->np", points, solid.forms, points)
        level += 2 * solid.linear @ points.T + (solid.constant + 1)[:, None]
        distances = (np.sqrt(level) - 1) * solid.size[:, None]
        return -np.log(np.exp(-_head.SMOOTH * distances).sum(axis=0)) / _head.SMOOTH

    some = slice(None, None, 50)
    wanted = rc.normals(blend, hits.points.T[some].astype(float))
    assert ((wanted * normals.T[some]).sum(axis=1) > 0.9999).all()


def test_faces_mirror_images():
    # A head is symmetric, so azimuth and light of the other sign give the mirror image.
    left = render(azimuth=[3, 8], lighting=[0, 4])
    right = render(azimuth=[17, 12], lighting=[10, 6])
    difference = np.abs(left[[0, 1, 2, 3]] - right[[3, 2, 1, 0]][:, :, ::-1])
    assert difference.mean() < 0.3
    assert np.quantile(difference, 0.99) <= 3


def test_faces_light_comes_from_the_side_it_says():
    images = render(lighting=list(range(11)))
    columns = np.arange(64)
    middle = (images.sum(axis=1) @ columns) / images.sum(axis=(1, 2))
    assert (np.diff(middle) > 0).all()
    assert middle[0] < 31.5 - 3
    assert middle[10] > 31.5 + 3


def test_faces_turn_right_and_nod_up():
    # Irises and brows are the darkest parts that face the viewer: their middle shows the pose.
    def eyes(azimuth, elevation):
        tone, x, y = np.moveaxis(_head.view(_head.people(50)[3], azimuth, elevation), 2, 0)
        facing = np.hypot(x - 128.0, y - 128.0) < 90
        rows, columns = np.nonzero((tone > 15) & (tone < 60) & facing)
        assert 4 <= len(rows) <= 80
        return rows.mean(), columns.mean()

    across = [eyes(azimuth, 0.0)[1] for azimuth in (-24.0, -12.0, 0.0, 12.0, 24.0)]
    assert (np.diff(across) > 2).all()
    down = [eyes(0.0, elevation)[0] for elevation in (-18.0, -9.0, 0.0, 9.0, 18.0)]
    assert (np.diff(down) < -2).all()


@pytest.mark.parametrize("factor", ["identity", "azimuth", "elevation", "lighting"])
def test_faces_every_class_shows(factor):
    size = dict(zip(_faces3d.GRID.names, _faces3d.GRID.sizes))[factor]
    images = render(**{factor: list(range(size))})
    flat = images.reshape(size, -1)
    differences = np.abs(flat[:, None] - flat[None]).mean(axis=2)
    assert (differences + 100 * np.eye(size)).min() > 0.8


@pytest.mark.slow
def test_faces_pose_and_light_can_be_read_by_a_linear_model():
    faces = make_faces3d_like(
        900, factors={"identity": 3}, image_size=32, random_state=0, cache=False
    )
    X = faces.data / 255
    for column in (1, 2, 3):
        y = faces.target[:, column]
        found = cross_val_predict(RidgeCV(np.logspace(-1, 3, 5)), X, y, cv=3)
        assert np.corrcoef(found, y)[0, 1] > 0.95, faces.factor_names[column]


def test_faces_small_images_are_means_of_four_pixels():
    indices = np.arange(0, 127_050, 12_001)
    large = make_faces3d_like(indices=indices, cache=False).images
    small = make_faces3d_like(indices=indices, cache=False, image_size=32).images
    means = large.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4))
    np.testing.assert_array_equal(small, np.floor(means + 0.5))


def test_faces_do_not_depend_on_what_is_drawn_with_them():
    faces = make_faces3d_like(25, random_state=0, cache=False)
    X, y = make_faces3d_like(25, random_state=0, cache=False, return_X_y=True)
    np.testing.assert_array_equal(X, faces.images)
    np.testing.assert_array_equal(y, faces.target)
    alone = make_faces3d_like(indices=faces.indices[[9]], cache=False)
    np.testing.assert_array_equal(alone.images[0], faces.images[9])
    rows = np.ravel_multi_index(faces.target.T, faces.factor_sizes)
    np.testing.assert_array_equal(rows, faces.indices)
    assert faces.factor_sizes == (50, 21, 11, 11)
    assert np.shares_memory(faces.data, faces.images)
    assert "These are not its images" in faces.DESCR


def test_faces_pictures_do_not_change():
    images = make_faces3d_like(indices=[0, 50_000, 127_049], cache=False).images
    # Means, not checksums: the last bit of a root may differ between platforms.
    np.testing.assert_allclose(images.mean(axis=(1, 2)), [36.645, 75.539, 52.316], atol=0.1)


@pytest.fixture
def fresh_table(monkeypatch):
    """A table that knows no view yet."""

    def fresh():
        # Of the function itself: collecting doctests may have imported the module a second time.
        names = make_faces3d_like.__wrapped__.__globals__
        monkeypatch.setitem(names, "_TABLE", names["_ViewTable"]())
        return names["_TABLE"]

    return fresh


def test_faces_cache_is_written_read_and_replaced_when_damaged(tmp_path, fresh_table):
    part = {"identity": 4, "azimuth": list(range(11)), "lighting": 5}
    fresh_table()
    drawn = make_faces3d_like(factors=part, data_home=tmp_path, shuffle=False).images
    file = tmp_path / "sklearn_disent" / "faces3d_like_v1_04.npy"
    assert [f.name for f in file.parent.iterdir()] == [file.name]
    stored = np.load(file)
    assert stored.shape == (231, 64, 64, 3)

    table = fresh_table()
    again = make_faces3d_like(factors=part, data_home=tmp_path, shuffle=False).images
    np.testing.assert_array_equal(again, drawn)
    assert not table.single
    # Views that were not needed when the file was written are in it.
    other = {"identity": 4, "azimuth": 20, "elevation": 3, "lighting": 2}
    kept = make_faces3d_like(factors=other, data_home=tmp_path).images
    np.testing.assert_array_equal(kept, make_faces3d_like(factors=other, cache=False).images)

    for damaged in (b"not an array", file.read_bytes()[:1000]):
        file.unlink()
        file.write_bytes(damaged)
        # As if the views had been cast again, which takes a second.
        fresh_table().single.update({(4, i): table for i, table in enumerate(stored)})
        again = make_faces3d_like(factors=part, data_home=tmp_path, shuffle=False).images
        np.testing.assert_array_equal(again, drawn)
        np.testing.assert_array_equal(np.load(file), stored)


def test_faces_few_views_are_not_written(tmp_path, fresh_table):
    fresh_table()
    make_faces3d_like(5, random_state=0, data_home=tmp_path)
    make_faces3d_like(factors={"identity": 0, "azimuth": [3, 4]}, data_home=tmp_path, cache=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_faces_cache_that_cannot_be_written_costs_only_time(tmp_path, fresh_table):
    fresh_table()
    (tmp_path / "sklearn_disent").write_text("a file where the folder should be")
    part = {"identity": 4, "azimuth": list(range(11)), "lighting": 5}
    assert len(make_faces3d_like(factors=part, data_home=tmp_path).images) == 121


def test_faces_refuse_bad_parameters():
    for options in ({"n_samples": 0}, {"image_size": 48}, {"cache": "yes"}, {"data_home": 3}):
        with pytest.raises(InvalidParameterError):
            make_faces3d_like(**options)
    with pytest.raises(ValueError, match="Unknown factor 'pose'"):
        make_faces3d_like(factors={"pose": 0})


def test_forms_are_weighted_products_of_coordinates():
    rng = np.random.default_rng(0)
    forms = rng.normal(size=(4, 3, 3))
    forms += forms.transpose(0, 2, 1)
    points = rng.normal(size=(3, 5)).astype(np.float32)
    expected = np.einsum("ip,nij,jp->np", points, forms, points)
    np.testing.assert_allclose(_head._weights(forms) @ _head._squares(points), expected, rtol=1e-4)
