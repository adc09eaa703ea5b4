"""Pictures of one object in a scene: factors and nuisance in, images and boxes out."""

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from . import _solids as solids
from ._candle import VALUES
from ._candle_panorama import EYE_HEIGHT, Panorama, paint_panorama
from ._candle_scenes import SCENES

NUISANCE = ("position", "depth", "pan", "tilt", "roll")
# Middle and half-range of each: units of length for the first two, degrees for the others.
MIDDLE = np.array([0.0, 7.2, 0.0, 0.0, 0.0])
REACH = np.array([0.8, 1.2, 25.0, 3.0, 4.0])

COLORS = np.array(
    [
        [0.86, 0.10, 0.10],
        [0.12, 0.26, 0.90],
        [0.96, 0.86, 0.12],
        [0.55, 0.16, 0.74],
        [1.0, 0.48, 0.06],
    ]
)
LAMPS = np.array([[-0.9, 1.0, 0.45], [0.0, 1.0, 0.30], [0.9, 1.0, 0.45]])
LAMPS /= np.linalg.norm(LAMPS, axis=1, keepdims=True)

EYE = np.array([0.0, EYE_HEIGHT, 0.0])
FIELD_OF_VIEW = 44.0  # degrees over the shorter side
PITCH = -7.5  # degrees of the camera from the horizon
SAMPLES = 2  # rays per pixel and side, where the object or its shadow is
UNIT = 0.36  # half-size of an object of size 1
SHADOW = 0.50  # share of light that the shadow of the lamp leaves the ground
CONTACT = 0.45  # share that is lost right below the object
MARK = 0.60  # brightness of the painted half of an object
# What touches the ground, in units of the half-size: half-widths of a rectangle, and a radius by
# which it is rounded.
CONTACTS = {
    "cube": (0.9, 0.9, 0.1),
    "sphere": (0.0, 0.0, 0.4),
    "cylinder": (0.0, 0.0, 0.85),
    "cone": (0.0, 0.0, 1.1),
    "torus": (0.3, 0.0, 0.15),
}
GLOSS, SHININESS = 0.25, 24


@lru_cache(maxsize=8)
def _camera_rays(image_shape: tuple[int, int], samples: int) -> NDArray[np.float64]:
    """Directions (height * samples, width * samples, 3) before the camera is turned."""
    height, width = image_shape
    scale = 2 * np.tan(np.radians(FIELD_OF_VIEW) / 2) / min(height, width)
    rows = ((np.arange(height * samples) + 0.5) / samples - height / 2) * scale
    columns = ((np.arange(width * samples) + 0.5) / samples - width / 2) * scale
    rays = np.empty((len(rows), len(columns), 3))
    rays[..., 0], rays[..., 1], rays[..., 2] = columns[None, :], -rows[:, None], -1.0
    return rays / np.linalg.norm(rays, axis=2, keepdims=True)


def _camera(tilt: float, roll: float) -> NDArray[np.float64]:
    """Rotation from the camera's frame to the ground's, for angles in degrees."""
    pitch, roll = np.radians(PITCH + tilt), np.radians(roll)
    up = np.array(
        [[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]]
    )
    turn = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    return up @ turn


def _angles(rays: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Azimuth and elevation of directions (..., 3)."""
    return (
        np.arctan2(rays[..., 0], -rays[..., 2]),
        np.arcsin(np.clip(rays[..., 1], -1, 1)),
    )


@lru_cache(maxsize=8)
def _range_of_view(image_shape: tuple[int, int]) -> tuple[float, float, float]:
    """Largest azimuth, lowest and highest elevation that any picture of this shape shows."""
    rays = _camera_rays(image_shape, 1)
    edge = np.concatenate([rays[0], rays[-1], rays[:, 0], rays[:, -1]])
    seen = [
        _angles(edge @ _camera(*angles).T)
        for angles in product((-REACH[3], 0.0, REACH[3]), (-REACH[4], 0.0, REACH[4]))
    ]
    azimuth = max(np.abs(a).max() for a, _ in seen) + np.radians(REACH[2])
    margin = 0.02
    low, high = min(e.min() for _, e in seen), max(e.max() for _, e in seen)
    return min(azimuth + margin, np.pi), low - margin, high + margin


@lru_cache(maxsize=64)
def _panorama(scene: str, image_shape: tuple[int, int]) -> Panorama:
    azimuth, low, high = _range_of_view(image_shape)
    pixel = 2 * np.tan(np.radians(FIELD_OF_VIEW) / 2) / min(image_shape)
    return paint_panorama(SCENES[scene].paint, (-azimuth, azimuth), (low, high), pixel / 1.3)


class _Pose:
    """Where an object stands: a change of frame to the solid of fixed size, and back."""

    def __init__(self, kind: str, size: float, rotation: float, position: float, depth: float):
        self.kind, self.half = kind, UNIT * size
        self.place = np.array([position, 0.0, -depth])
        cos, sin = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
        self.turn = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])

    def to_solid(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return (points - self.place) @ self.turn.T / self.half

    def corners(self) -> NDArray[np.float64]:
        """Of the box around the object, (8, 3), in the frame of the ground."""
        x, y, z = solids.EXTENTS[self.kind]
        box = np.array(list(product((-x, x), (0, y), (-z, z))))
        return box @ self.turn * self.half + self.place

    def around(self, margin: float) -> NDArray[np.float64]:
        """Corners (4, 3) of a rectangle on the ground around what touches it."""
        x, z, radius = CONTACTS[self.kind]
        x, z = x + radius + margin, z + radius + margin
        box = np.array([[i * x, 0, k * z] for i in (-1, 1) for k in (-1, 1)])
        return box @ self.turn * self.half + self.place


def _region(
    points: NDArray[np.float64], camera: NDArray[np.float64], image_shape: tuple[int, int]
) -> tuple[slice, slice]:
    """Rows and columns of the pixels around the picture of points in front of the eye."""
    seen = (points - EYE) @ camera
    height, width = image_shape
    scale = min(height, width) / (2 * np.tan(np.radians(FIELD_OF_VIEW) / 2))
    ahead = np.maximum(-seen[:, 2], 0.1)
    columns, rows = width / 2 + scale * seen[:, 0] / ahead, height / 2 - scale * seen[:, 1] / ahead
    return (
        slice(max(int(rows.min()) - 1, 0), min(int(rows.max()) + 2, height)),
        slice(max(int(columns.min()) - 1, 0), min(int(columns.max()) + 2, width)),
    )


def _shine(
    pose: _Pose, rays: NDArray, t: NDArray, light: NDArray, sun: NDArray, scene: str, painted: bool
) -> tuple[NDArray, NDArray]:
    """Light (n, 3) that the surface returns in its own colour, and gloss (n,) in the lamp's."""
    points = pose.to_solid(EYE + t[:, None] * rays)
    normal = solids.normals(pose.kind, points) @ pose.turn
    lamp = SCENES[scene].lamp
    facing = np.maximum(normal @ light, 0)
    half_way = light - rays
    half_way /= np.linalg.norm(half_way, axis=1, keepdims=True)
    gloss = GLOSS * lamp * np.maximum(np.einsum("ij,ij->i", normal, half_way), 0) ** SHININESS
    # Undersides see the ground, not the sky.
    open_sky = 0.72 + 0.28 * normal[:, 1]
    returned = open_sky[:, None] * np.array(SCENES[scene].ambient)
    returned += np.maximum(normal @ sun, 0)[:, None] * np.array(SCENES[scene].sun)
    returned += lamp * facing[:, None]
    if painted:
        returned *= np.where(points[:, 0] > 0, MARK, 1.0)[:, None]
    return returned, gloss


def _ground_light(
    pose: _Pose, spots: NDArray[np.float64], light: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of its light that the ground keeps beside the object, at spots (n, 3)."""
    local = pose.to_solid(spots)
    x, z, radius = CONTACTS[pose.kind]
    across, along = np.abs(local[:, 0]) - x, np.abs(local[:, 2]) - z
    beyond = np.maximum(np.hypot(np.maximum(across, 0), np.maximum(along, 0)) - radius, 0)
    kept = 1 - CONTACT * np.exp(-((beyond / 0.35) ** 2))
    towards = light @ pose.turn.T
    # Elsewhere the way to the lamp passes beside the box around the object.
    x, height, z = solids.EXTENTS[pose.kind]
    reach = height / towards[1] * towards
    margin = np.array([x, 0, z])
    low, high = np.minimum(-reach, 0) - margin, np.maximum(-reach, 0) + margin
    near = np.flatnonzero(((local >= low) & (local <= high))[:, [0, 2]].all(axis=1))
    rays = np.broadcast_to(towards, (len(near), 3))
    dark = np.isfinite(solids.meet(pose.kind, local[near] + 1e-3 * towards, rays))
    kept[near[dark]] *= SHADOW
    return kept


def _sun(scene: str, pan: float) -> NDArray[np.float64]:
    """Direction of a scene's own light: behind the object, where the scene shows it."""
    azimuth = np.radians(SCENES[scene].sun_azimuth - pan)
    elevation = np.radians(SCENES[scene].sun_elevation)
    cos = np.cos(elevation)
    return np.array([cos * np.sin(azimuth), np.sin(elevation), -cos * np.cos(azimuth)])


def _pixels(values: NDArray) -> NDArray:
    """Means over the rays of each pixel, of values (rows, columns, ...) per ray."""
    parts = [values[i::SAMPLES, j::SAMPLES] for i in range(SAMPLES) for j in range(SAMPLES)]
    return sum(parts[1:], parts[0]) / SAMPLES**2


def _extent(covered: NDArray[np.bool_], corner: tuple[int, int]) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) around the pixels of a part of the image that begins at corner."""
    rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
    top, left = corner
    return top + rows[0], left + columns[0], top + rows[-1] + 1, left + columns[-1] + 1


def _draw_object(
    picture: NDArray[np.float32],
    classes: NDArray[np.int64],
    nuisance: NDArray[np.float64],
    painted: bool,
) -> tuple[int, int, int, int]:
    """Draw the object and its shadow over a background in [0, 255]; returns its box."""
    kind, color, size, rotation, scene, lamp = classes.tolist()
    position, depth, pan, tilt, roll = nuisance.tolist()
    name = str(VALUES["scene"][scene])
    pose = _Pose(
        solids.KINDS[kind], VALUES["size"][size], VALUES["rotation"][rotation], position, depth
    )
    light, camera, shape = LAMPS[lamp], _camera(tilt, roll), picture.shape[:2]
    corners = pose.corners()
    fine = _camera_rays(shape, SAMPLES)

    # The shadow first, as if the object were of air: its own pixels are painted over.
    shadow = corners - corners[:, 1:2] / light[1] * light
    rows, columns = _region(np.concatenate([shadow, pose.around(0.8)]), camera, shape)
    rays = _rays_of(fine, rows, columns) @ camera.T
    kept = np.ones(rays.shape[:2], dtype=np.float32)
    ground = rays[..., 1] < -1e-3
    spots = EYE - EYE_HEIGHT / rays[ground][:, 1:2] * rays[ground]
    kept[ground] = _ground_light(pose, spots, light)
    picture[rows, columns] *= _pixels(kept)[..., None]

    rows, columns = _region(corners, camera, shape)
    rays = _rays_of(fine, rows, columns) @ camera.T
    flat = rays.reshape(-1, 3)
    directions = flat @ pose.turn.T
    t = solids.meet(pose.kind, np.broadcast_to(pose.to_solid(EYE), flat.shape), directions)
    on_object = np.isfinite(t)
    t = t[on_object] * pose.half
    returned, gloss = _shine(pose, flat[on_object], t, light, _sun(name, pan), name, painted)
    added = np.zeros((len(flat), 3), dtype=np.float32)
    added[on_object] = 255 * np.minimum(returned * COLORS[color] + gloss[:, None], 1.0)
    on_object = on_object.reshape(rays.shape[:2])
    share = _pixels(on_object.astype(np.float32))
    part = picture[rows, columns]
    part *= 1 - share[..., None]
    part += _pixels(added.reshape(rays.shape))
    return _extent(share > 0, (rows.start, columns.start))


def _rays_of(fine: NDArray[np.float64], rows: slice, columns: slice) -> NDArray[np.float64]:
    """Rays of the pixels in some rows and columns."""
    return fine[
        SAMPLES * rows.start : SAMPLES * rows.stop, SAMPLES * columns.start : SAMPLES * columns.stop
    ]


def render(
    target: NDArray[np.int64],
    nuisance: NDArray[np.float64],
    image_shape: tuple[int, int],
    painted: bool = True,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, height, width, 3) and boxes (n, 1, 4) of classes (n, 6) and nuisance (n, 5)."""
    images = np.empty((len(target), *image_shape, 3), dtype=np.uint8)
    boxes = np.empty((len(target), 1, 4), dtype=np.int64)
    rays = _camera_rays(image_shape, 1).reshape(-1, 3)
    for row, (classes, shake) in enumerate(zip(target, nuisance)):
        azimuth, elevation = _angles(rays @ _camera(shake[3], shake[4]).T)
        scene = str(VALUES["scene"][classes[4]])
        panorama = _panorama(scene, image_shape)
        picture = panorama.sample(azimuth + np.radians(shake[2]), elevation)
        picture = picture.reshape(*image_shape, 3)
        boxes[row, 0] = _draw_object(picture, classes, shake, painted)
        images[row] = np.clip(picture + 0.5, 0, 255)
    return images, boxes
