"""Sphere tracing against intersections known in closed form."""

import numpy as np
import pytest

from sklearn_disent.datasets import _raycast as rc

DOWN = np.array([0.0, -1.0, 0.0])
AHEAD = np.array([0.0, 0.0, -1.0])


def first_hit(solid, origin, direction):
    origin, direction = np.array([origin]), np.array([direction])
    return rc.trace(solid, origin, direction, np.array([0.0, 1.0, 0.0]), 4.0)[0]


@pytest.mark.parametrize(
    ("solid", "height", "depth"),
    [
        (rc.sphere(1.0, 1.0), 2.0, 1.0),
        (rc.box(1.0, 1.0), 2.0, 1.0),
        (rc.box(1.0, 1.0, np.pi / 4), 2.0, np.sqrt(2)),
        (rc.cylinder(0.5, 1.0, 1.0), 2.0, 0.5),
        (rc.capsule(0.5, 2.0), 2.0, 0.5),
        (rc.cone(1.0, 2.0), 2.0, 0.5),
    ],
)
def test_trace_meets_solids_where_they_are(solid, height, depth):
    # From above on the axis, and from the front at height 1.
    assert first_hit(solid, [0, 5, 0], DOWN) == pytest.approx(5 - height, abs=0.01)
    assert first_hit(solid, [0, 1, 6], AHEAD) == pytest.approx(6 - depth, abs=0.01)
    assert first_hit(solid, [3.9, 1, 6], AHEAD) == np.inf
    assert first_hit(solid, [0, 1, 6], -AHEAD) == np.inf


def test_trace_goes_through_the_hole_of_the_torus():
    torus = rc.torus(0.8, 0.2)
    assert first_hit(torus, [0, 1, 6], AHEAD) == np.inf
    assert first_hit(torus, [0.8, 1, 6], AHEAD) == pytest.approx(5.8, abs=0.01)
    turned = rc.torus(0.8, 0.2, np.pi / 2)
    assert first_hit(turned, [0, 1, 6], AHEAD) == pytest.approx(5.0, abs=0.01)


@pytest.mark.parametrize(
    "solid",
    [
        rc.sphere(1.0, 1.0),
        rc.box(1.0, 1.0, 0.3),
        rc.cylinder(0.7, 1.0, 1.0),
        rc.capsule(0.5, 2.0),
        rc.cone(1.0, 2.0),
        rc.torus(0.8, 0.2, 0.5),
    ],
)
def test_solids_never_overstate_the_distance(solid):
    # A bound that changes by no more than the way between two points cannot skip a surface.
    rng = np.random.RandomState(0)
    a, b = rng.uniform(-3, 3, size=(2, 2000, 3))
    assert (np.abs(solid(a) - solid(b)) <= np.linalg.norm(a - b, axis=1) + 1e-9).all()


def test_normals_point_outwards():
    points = np.array([[0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, -1.0]])
    found = rc.normals(rc.sphere(1.0, 1.0), points)
    np.testing.assert_allclose(found, points - [0, 1, 0], atol=1e-6)


def test_camera_rays_span_the_field_of_view():
    eye, target = np.array([0.0, 0.0, 5.0]), np.zeros(3)
    rays = rc.camera_rays(eye, target, 90.0, (2, 4), 1)
    assert rays.shape == (2, 4, 1, 3)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1)
    # 90 degrees over two rows: centres at half the tangent of 45 degrees; row 0 is up.
    slopes = rays[:, :, 0, :2] / -rays[:, :, 0, 2:]
    np.testing.assert_allclose(slopes[:, 0, 1], [0.5, -0.5])
    np.testing.assert_allclose(slopes[0, :, 0], [-1.5, -0.5, 0.5, 1.5])


def test_distance_from_the_side_of_a_cone_is_exact():
    # The side goes from (1, 0) to (0, 1): (1, 1) is half a diagonal of the unit square from it.
    points = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, -0.5, 0.0]])
    expected = [np.sqrt(0.5), np.sqrt(0.5), 0.5]
    np.testing.assert_allclose(rc.cone(1.0, 1.0)(points), expected)
