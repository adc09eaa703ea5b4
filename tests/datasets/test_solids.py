"""Exact intersections of rays with solids, against sphere tracing and finite differences."""

import numpy as np
import pytest

from sklearn_disent.datasets import _raycast as rc
from sklearn_disent.datasets import _solids as solids

TRACED = {
    "cube": rc.box(1.0, 1.0),
    "sphere": rc.sphere(solids.SPHERE, solids.SPHERE),
    "cylinder": rc.cylinder(
        solids.CYLINDER_RADIUS, solids.CYLINDER_HEIGHT / 2, solids.CYLINDER_HEIGHT / 2
    ),
    "cone": rc.cone(solids.CONE_RADIUS, solids.CONE_HEIGHT),
    "torus": rc.torus(solids.TORUS_RING, solids.TORUS_TUBE),
}
MIDDLE = np.array([0.0, 1.1, 0.0])


def rays_towards(n_rays, seed):
    """Rays from all around, that meet or narrowly miss a solid."""
    rng = np.random.RandomState(seed)
    origins = rng.normal(size=(n_rays, 3))
    origins = MIDDLE + 6 * origins / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = MIDDLE + rng.uniform(-1.6, 1.6, size=(n_rays, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", solids.KINDS)
def test_meet_agrees_with_sphere_tracing(kind):
    origins, directions = rays_towards(4000, 0)
    found = solids.meet(kind, origins, directions)
    traced = rc.trace(TRACED[kind], origins, directions, MIDDLE, 2.0)
    agree = np.isfinite(found) == np.isfinite(traced)
    # Tracing stops a little before the surface, so that rays that graze it are counted as hits.
    assert agree.mean() > 0.985
    both = np.isfinite(found) & np.isfinite(traced)
    assert 0.2 < both.mean() < 0.9
    distance = np.abs(TRACED[kind](origins + np.where(both, found, 0)[:, None] * directions))
    assert distance[both].max() < 2e-3
    assert (found[both] >= traced[both] - 5e-3).all()


@pytest.mark.parametrize("kind", solids.KINDS)
def test_meet_ignores_what_lies_behind(kind):
    origins, directions = rays_towards(200, 1)
    assert np.isinf(solids.meet(kind, origins, -directions)).all()


@pytest.mark.parametrize("kind", solids.KINDS)
def test_solids_stand_in_their_boxes(kind):
    origins, directions = rays_towards(4000, 2)
    t = solids.meet(kind, origins, directions)
    hit = np.isfinite(t)
    points = origins[hit] + t[hit, None] * directions[hit]
    x, height, z = solids.EXTENTS[kind]
    np.testing.assert_allclose(np.abs(points[:, [0, 2]]).max(axis=0), [x, z], atol=0.05)
    assert (np.abs(points[:, [0, 2]]) <= np.array([x, z]) + 1e-6).all()
    assert points[:, 1].min() == pytest.approx(0, abs=0.03)
    assert points[:, 1].max() == pytest.approx(height, abs=0.06)


@pytest.mark.parametrize("kind", solids.KINDS)
def test_normals_are_those_of_the_distance(kind):
    origins, directions = rays_towards(2000, 3)
    t = solids.meet(kind, origins, directions)
    hit = np.isfinite(t)
    points = origins[hit] + t[hit, None] * directions[hit]
    found, expected = solids.normals(kind, points), rc.normals(TRACED[kind], points)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    # On an edge or the tip, differences see two faces at once.
    assert (np.einsum("ij,ij->i", found, expected) > 0.99).mean() > 0.98
    assert (np.einsum("ij,ij->i", found, directions[hit]) < 0.02).all()
