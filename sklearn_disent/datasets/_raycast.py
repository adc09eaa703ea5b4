"""Ray casting of single solids by sphere tracing, for the procedural data sets.

A solid is a function of points (n, 3) that returns a lower bound of the distance to its surface,
negative inside. A ray may then step by that bound without missing the surface. y is up.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Solid = Callable[[Floats], Floats]

HIT = 1e-3  # distance at which a ray has arrived; far below a pixel at every scale used here
MAX_STEPS = 96


def _capped(radial: Floats, axial: Floats) -> Floats:
    """Distance to the intersection of two half-planes that meet at a right angle."""
    outside = np.sqrt(np.maximum(radial, 0) ** 2 + np.maximum(axial, 0) ** 2)
    return np.minimum(np.maximum(radial, axial), 0) + outside


def sphere(radius: float, centre_y: float) -> Solid:
    """Ball around (0, centre_y, 0)."""

    def distance(p: Floats) -> Floats:
        return np.sqrt(p[:, 0] ** 2 + (p[:, 1] - centre_y) ** 2 + p[:, 2] ** 2) - radius

    return distance


def box(half: float, centre_y: float, angle: float = 0.0) -> Solid:
    """Cube of side 2 half around (0, centre_y, 0), turned by angle about the vertical."""
    cos, sin = np.cos(angle), np.sin(angle)

    def distance(p: Floats) -> Floats:
        x = np.abs(cos * p[:, 0] - sin * p[:, 2]) - half
        z = np.abs(sin * p[:, 0] + cos * p[:, 2]) - half
        y = np.abs(p[:, 1] - centre_y) - half
        inside = np.minimum(np.maximum(np.maximum(x, y), z), 0)
        x, y, z = np.maximum(x, 0), np.maximum(y, 0), np.maximum(z, 0)
        return inside + np.sqrt(x * x + y * y + z * z)

    return distance


def cylinder(radius: float, half_height: float, centre_y: float) -> Solid:
    """Upright cylinder around (0, centre_y, 0)."""

    def distance(p: Floats) -> Floats:
        return _capped(
            np.sqrt(p[:, 0] ** 2 + p[:, 2] ** 2) - radius,
            np.abs(p[:, 1] - centre_y) - half_height,
        )

    return distance


def capsule(radius: float, height: float) -> Solid:
    """Upright capsule of the given total height, standing on y = 0."""

    def distance(p: Floats) -> Floats:
        along = p[:, 1] - np.clip(p[:, 1], radius, height - radius)
        return np.sqrt(p[:, 0] ** 2 + along**2 + p[:, 2] ** 2) - radius

    return distance


def cone(radius: float, height: float) -> Solid:
    """Upright cone standing on y = 0."""
    slope = np.array([height, radius]) / np.hypot(height, radius)

    def distance(p: Floats) -> Floats:
        rim = np.sqrt(p[:, 0] ** 2 + p[:, 2] ** 2)
        side = slope[0] * rim + slope[1] * (p[:, 1] - height)
        # The larger of the two distances to the side and to the base never exceeds the true one.
        return np.maximum(side, -p[:, 1])

    return distance


def torus(ring: float, tube: float, angle: float = 0.0) -> Solid:
    """Ring standing upright on y = 0, its hole facing the viewer at angle 0."""
    cos, sin = np.cos(angle), np.sin(angle)
    centre_y = ring + tube

    def distance(p: Floats) -> Floats:
        x, z = cos * p[:, 0] - sin * p[:, 2], sin * p[:, 0] + cos * p[:, 2]
        return np.hypot(np.hypot(x, p[:, 1] - centre_y) - ring, z) - tube

    return distance


def trace(
    solid: Solid, origins: Floats, directions: Floats, centre: Floats, radius: float
) -> Floats:
    """Distance along each ray to the solid, inf where it misses.

    Parameters
    ----------
    solid : callable
        Distance bound of points (n, 3).
    origins, directions : ndarray of shape (n, 3) or broadcastable
        Rays; directions have length 1.
    centre, radius
        A ball that contains the solid; rays that miss it are not traced.
    """
    origins = np.broadcast_to(origins, directions.shape)
    to_centre = centre - origins
    along = np.einsum("ij,ij->i", to_centre, directions)
    half_chord2 = radius**2 - (np.einsum("ij,ij->i", to_centre, to_centre) - along**2)
    found = np.full(len(directions), np.inf)
    rays = np.flatnonzero((half_chord2 > 0) & (along + np.sqrt(np.maximum(half_chord2, 0)) > 0))
    half_chord = np.sqrt(half_chord2[rays])
    t, t_end = np.maximum(along[rays] - half_chord, 0), along[rays] + half_chord
    for _ in range(MAX_STEPS):
        if not len(rays):
            break
        step = solid(origins[rays] + t[:, None] * directions[rays])
        arrived = step < HIT
        found[rays[arrived]] = t[arrived]
        t = t + step
        going = ~arrived & (t < t_end)
        rays, t, t_end = rays[going], t[going], t_end[going]
    return found


def normals(solid: Solid, points: Floats) -> Floats:
    """Outward unit normals at points on the surface, by central differences."""
    gradient = np.empty_like(points)
    for axis in range(3):
        shift = np.zeros(3)
        shift[axis] = 1e-4
        gradient[:, axis] = solid(points + shift) - solid(points - shift)
    return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


def camera_rays(
    eye: Floats, target: Floats, field_of_view: float, image_shape: tuple[int, int], samples: int
) -> Floats:
    """Directions of the rays of a pinhole camera, (height, width, samples ** 2, 3).

    Parameters
    ----------
    eye, target : ndarray of shape (3,)
        Where the camera is and what it looks at.
    field_of_view : float
        Angle in degrees over the shorter side of the image.
    image_shape : (height, width)
    samples : int
        Rays per pixel and side.
    """
    height, width = image_shape
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    scale = 2 * np.tan(np.radians(field_of_view) / 2) / min(height, width)
    rows = (np.arange(height * samples) + 0.5) / samples - height / 2
    columns = (np.arange(width * samples) + 0.5) / samples - width / 2
    rays = forward + scale * columns[None, :, None] * right - scale * rows[:, None, None] * up
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    blocks = rays.reshape(height, samples, width, samples, 3).transpose(0, 2, 1, 3, 4)
    return blocks.reshape(height, width, samples**2, 3)
