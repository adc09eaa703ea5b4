"""Rays against five solids of fixed size, standing on y = 0: exactly, for many rays at once.

A picture of a solid of any size, place and rotation is one of these, seen along transformed rays.
The solids are about two units high. y is up.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Span = tuple[Floats, Floats]

KINDS = ("cube", "sphere", "cylinder", "cone", "torus")
SPHERE = 1.15
CYLINDER_RADIUS, CYLINDER_HEIGHT = 0.85, 2.2
CONE_RADIUS, CONE_HEIGHT = 1.1, 2.4
TORUS_RING, TORUS_TUBE = 0.85, 0.33

# Half-width along x, height and half-width along z of the box around each solid.
EXTENTS = {
    "cube": (1.0, 2.0, 1.0),
    "sphere": (SPHERE, 2 * SPHERE, SPHERE),
    "cylinder": (CYLINDER_RADIUS, CYLINDER_HEIGHT, CYLINDER_RADIUS),
    "cone": (CONE_RADIUS, CONE_HEIGHT, CONE_RADIUS),
    "torus": (TORUS_RING + TORUS_TUBE, 2 * (TORUS_RING + TORUS_TUBE), TORUS_TUBE),
}


def _slab(origins: Floats, directions: Floats, low: float, high: float) -> Span:
    """Where rays are between two parallel planes, given one coordinate of origin and direction."""
    directions = np.where(np.abs(directions) < 1e-12, 1e-12, directions)
    a, b = (low - origins) / directions, (high - origins) / directions
    return np.minimum(a, b), np.maximum(a, b)


def _inside(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Roots of a t^2 + 2 b t + c, in ascending order if a > 0; nan if there are none."""
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - a * c)
    a = np.where(np.abs(a) < 1e-12, 1e-12, a)
    return (-b - root) / a, (-b + root) / a


def _enter(*spans: Span) -> Floats:
    """Where rays enter the intersection of convex solids; inf where they miss it."""
    start = np.maximum.reduce([s[0] for s in spans])
    end = np.minimum.reduce([s[1] for s in spans])
    return np.where((start <= end) & (end > 0), np.maximum(start, 0), np.inf)


def _meet_cube(o: Floats, d: Floats) -> Floats:
    return _enter(
        _slab(o[:, 0], d[:, 0], -1, 1),
        _slab(o[:, 1], d[:, 1], 0, 2),
        _slab(o[:, 2], d[:, 2], -1, 1),
    )


def _meet_sphere(o: Floats, d: Floats) -> Floats:
    y = o[:, 1] - SPHERE
    b = o[:, 0] * d[:, 0] + y * d[:, 1] + o[:, 2] * d[:, 2]
    c = o[:, 0] ** 2 + y**2 + o[:, 2] ** 2 - SPHERE**2
    return _enter(_inside(np.ones_like(b), b, c))


def _meet_cylinder(o: Floats, d: Floats) -> Floats:
    a = d[:, 0] ** 2 + d[:, 2] ** 2
    b = o[:, 0] * d[:, 0] + o[:, 2] * d[:, 2]
    c = o[:, 0] ** 2 + o[:, 2] ** 2 - CYLINDER_RADIUS**2
    return _enter(_inside(a, b, c), _slab(o[:, 1], d[:, 1], 0, CYLINDER_HEIGHT))


def _meet_cone(o: Floats, d: Floats) -> Floats:
    k2 = (CONE_RADIUS / CONE_HEIGHT) ** 2
    y = CONE_HEIGHT - o[:, 1]
    a = d[:, 0] ** 2 + d[:, 2] ** 2 - k2 * d[:, 1] ** 2
    b = o[:, 0] * d[:, 0] + o[:, 2] * d[:, 2] + k2 * y * d[:, 1]
    c = o[:, 0] ** 2 + o[:, 2] ** 2 - k2 * y**2
    low, high = _inside(a, b, c)
    slab = _slab(o[:, 1], d[:, 1], 0, CONE_HEIGHT)
    between = _enter((low, high), slab)
    # A ray steeper than the side is inside the double cone before the one root and after the
    # other; the part in the upper half lies outside the slab.
    far = np.full_like(a, np.inf)
    steep = np.minimum(_enter((-far, high), slab), _enter((low, far), slab))
    return np.where(a > 0, between, steep)


def _in_torus(o: Floats, d: Floats, t: Floats) -> NDArray[np.bool_]:
    """Whether rays are in the torus at distances (n, k)."""
    y = o[:, 1] - TORUS_RING - TORUS_TUBE
    b = o[:, 0] * d[:, 0] + y * d[:, 1] + o[:, 2] * d[:, 2]
    c = o[:, 0] ** 2 + y**2 + o[:, 2] ** 2 + TORUS_RING**2 - TORUS_TUBE**2
    ring = (o[:, :1] + t * d[:, :1]) ** 2 + (y[:, None] + t * d[:, 1:2]) ** 2
    return ((t + 2 * b[:, None]) * t + c[:, None]) ** 2 < 4 * TORUS_RING**2 * ring


def _meet_torus(o: Floats, d: Floats) -> Floats:
    width, height, depth = EXTENTS["torus"]
    spans = (
        _slab(o[:, 0], d[:, 0], -width, width),
        _slab(o[:, 1], d[:, 1], 0, height),
        _slab(o[:, 2], d[:, 2], -depth, depth),
    )
    start = np.maximum(np.maximum.reduce([s[0] for s in spans]), 0)
    end = np.minimum.reduce([s[1] for s in spans])
    found, rays = np.full(len(o), np.inf), np.flatnonzero(start < end)
    # A ray that is inside at none of so many places within the box grazes the tube by less than a
    # hundredth of its radius.
    places = np.linspace(0, 1, 16)
    t = start[rays, None] + (end - start)[rays, None] * places
    inside = _in_torus(o[rays], d[rays], t)
    first = np.argmax(inside, axis=1)
    hit = inside[np.arange(len(rays)), first]
    rays, first, t = rays[hit], first[hit], t[hit]
    low, high = t[np.arange(len(t)), np.maximum(first - 1, 0)], t[np.arange(len(t)), first]
    origins, directions = o[rays], d[rays]
    for _ in range(10):
        middle = (low + high) / 2
        within = _in_torus(origins, directions, middle[:, None])[:, 0]
        low, high = np.where(within, low, middle), np.where(within, middle, high)
    found[rays] = high
    return found


_MEET = {
    "cube": _meet_cube,
    "sphere": _meet_sphere,
    "cylinder": _meet_cylinder,
    "cone": _meet_cone,
    "torus": _meet_torus,
}


def meet(kind: str, origins: Floats, directions: Floats) -> Floats:
    """Distance along each ray to a solid, inf where it misses.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    origins, directions : ndarray of shape (n, 3)
        Rays from outside the solid; directions have length 1.
    """
    found = _MEET[kind](origins, directions)
    return np.where(np.isnan(found), np.inf, found)


def normals(kind: str, points: Floats) -> Floats:
    """Outward unit normals (n, 3) at points on the surface of a solid."""
    x, y, z = points.T
    if kind == "cube":
        offsets = np.stack([x, y - 1, z], axis=1)
        facing = np.abs(offsets) == np.abs(offsets).max(axis=1, keepdims=True)
        normal = np.where(facing, np.sign(offsets), 0.0)
    elif kind == "sphere":
        normal = np.stack([x, y - SPHERE, z], axis=1)
    elif kind == "torus":
        y = y - TORUS_RING - TORUS_TUBE
        ring = TORUS_RING / np.maximum(np.hypot(x, y), 1e-9)
        normal = np.stack([x * (1 - ring), y * (1 - ring), z], axis=1)
    else:
        height, radius = (
            (CYLINDER_HEIGHT, CYLINDER_RADIUS) if kind == "cylinder" else (CONE_HEIGHT, CONE_RADIUS)
        )
        rim = np.hypot(x, z)
        slope = 0.0 if kind == "cylinder" else radius / height
        normal = np.stack([x, slope * rim, z], axis=1)
        if kind == "cylinder":
            top = (y > height - 1e-6) & (rim < radius - 1e-9)
            normal[top] = [0.0, 1.0, 0.0]
        normal[y < 1e-6] = [0.0, -1.0, 0.0]
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
