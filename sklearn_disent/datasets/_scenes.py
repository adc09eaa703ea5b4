"""Backgrounds of the CANDLE-like pictures, as functions of the direction of view."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class View(NamedTuple):
    """Where the rays of a picture go; every array has the shape of the picture."""

    azimuth: Floats  # radians to the right of straight ahead
    height: Floats  # tangent of the elevation: 0 is the horizon
    x: Floats  # where the ray meets the ground, or the far plane
    z: Floats


class Scene(NamedTuple):
    """How a scene is painted, above and below the horizon, and how bright objects are in it."""

    far: Callable[[View], Floats]
    ground: Callable[[View], Floats]
    exposure: float


def _blend(a: tuple[float, ...], b: tuple[float, ...], share: Floats) -> Floats:
    """From colour a at share 0 to colour b at share 1."""
    share = np.clip(share, 0, 1)[..., None]
    return (1 - share) * np.array(a) + share * np.array(b)


def _paint(picture: Floats, where: NDArray[np.bool_], color: tuple[float, ...]) -> Floats:
    return np.where(where[..., None], np.array(color), picture)


def _grain(view: View, size: float) -> Floats:
    """A fixed irregular pattern on the ground, in [0, 1]."""
    x, z = np.floor(view.x / size), np.floor(view.z / size)
    value = np.sin(12.9898 * x + 78.233 * z) * 43758.5453
    return value - np.floor(value)


def _skyline(view: View, width: float, low: float, high: float) -> Floats:
    """Height of a row of blocks in this direction."""
    block = np.floor(view.azimuth / width)
    value = np.abs(np.sin(91.7 * block + 3.1))
    return low + (high - low) * value


def _windows(view: View) -> NDArray[np.bool_]:
    column, row = view.azimuth / 0.045 % 1, view.height / 0.045 % 1
    return (column > 0.35) & (column < 0.75) & (row > 0.35) & (row < 0.75)


def _indoor_wall(view: View) -> Floats:
    wall = _blend((0.86, 0.78, 0.66), (0.93, 0.87, 0.78), view.height / 0.3)
    frame = (np.abs(view.azimuth + 0.24) < 0.11) & (np.abs(view.height - 0.15) < 0.09)
    pane = (np.abs(np.abs(view.azimuth + 0.24) - 0.05) < 0.042) & (
        np.abs(view.height - 0.15) < 0.075
    )
    wall = _paint(_paint(wall, frame, (0.98, 0.98, 0.95)), pane, (0.55, 0.78, 0.93))
    return _paint(wall, view.height < 0.02, (0.5, 0.36, 0.25))


def _planks(view: View) -> Floats:
    tone = _grain(View(view.azimuth, view.height, view.x, view.z * 0.2), 0.7)
    return _blend((0.52, 0.33, 0.19), (0.62, 0.42, 0.25), tone)


def _columns(view: View) -> Floats:
    wall = _blend((0.62, 0.63, 0.68), (0.78, 0.79, 0.83), view.height / 0.25)
    place = (view.azimuth / 0.16) % 1
    shaft = _blend((0.95, 0.94, 0.9), (0.72, 0.71, 0.69), place / 0.34)
    wall = np.where((place < 0.34)[..., None], shaft, wall)
    return _paint(wall, np.abs(view.height - 0.22) < 0.015, (0.85, 0.7, 0.35))


def _tiles(view: View) -> Floats:
    odd = (np.floor(view.x / 1.1) + np.floor(view.z / 1.1)) % 2
    return _blend((0.85, 0.85, 0.86), (0.42, 0.43, 0.47), odd)


def _hills(view: View) -> Floats:
    sky = _blend((0.75, 0.88, 0.98), (0.3, 0.58, 0.92), view.height / 0.3)
    ridge = 0.05 + 0.035 * np.sin(7 * view.azimuth + 1) + 0.015 * np.sin(17 * view.azimuth)
    return _paint(sky, view.height < ridge, (0.3, 0.5, 0.32))


def _meadow(view: View) -> Floats:
    return _blend((0.28, 0.6, 0.2), (0.4, 0.7, 0.28), _grain(view, 0.5))


def _sea(view: View) -> Floats:
    sky = _blend((0.98, 0.93, 0.8), (0.45, 0.75, 0.95), view.height / 0.2)
    sun = (view.azimuth - 0.22) ** 2 + (view.height - 0.18) ** 2 < 0.045**2
    sky = _paint(sky, sun, (1.0, 0.97, 0.6))
    return _paint(sky, view.height < 0.05, (0.12, 0.45, 0.68))


def _sand(view: View) -> Floats:
    return _blend((0.88, 0.78, 0.55), (0.95, 0.86, 0.64), _grain(view, 0.35))


def _houses(view: View) -> Floats:
    sky = _blend((0.82, 0.86, 0.9), (0.62, 0.72, 0.84), view.height / 0.3)
    house = view.height < _skyline(view, 0.13, 0.1, 0.26)
    brick = np.floor(view.azimuth / 0.13) % 2
    front = _blend((0.6, 0.3, 0.24), (0.66, 0.6, 0.54), brick)
    front = _paint(front, _windows(view), (0.85, 0.9, 0.95))
    return np.where(house[..., None], front, sky)


def _asphalt(view: View) -> Floats:
    road = _blend((0.3, 0.3, 0.32), (0.36, 0.36, 0.38), _grain(view, 0.3))
    line = (np.abs(np.abs(view.x) - 2.2) < 0.09) & (view.z % 2.4 < 1.5)
    return _paint(road, line, (0.92, 0.92, 0.88))


def _vault(view: View) -> Floats:
    distance = np.hypot(view.azimuth, 1.2 * view.height)
    ring = np.floor(np.log(np.maximum(distance, 1e-3)) / 0.32) % 2
    vault = _blend((0.2, 0.2, 0.22), (0.32, 0.31, 0.3), ring)
    return _paint(vault, distance < 0.1, (0.9, 0.92, 0.82))


def _tunnel_floor(view: View) -> Floats:
    floor = _blend((0.16, 0.16, 0.17), (0.21, 0.21, 0.22), _grain(view, 0.6))
    return _paint(floor, np.abs(np.abs(view.x) - 2.0) < 0.08, (0.75, 0.65, 0.2))


def _moon(view: View) -> Floats:
    sky = _blend((0.14, 0.18, 0.36), (0.04, 0.05, 0.16), view.height / 0.3)
    disc = (view.azimuth + 0.22) ** 2 + (view.height - 0.18) ** 2 < 0.05**2
    return _paint(sky, disc, (0.95, 0.95, 0.85))


def _dark_meadow(view: View) -> Floats:
    return _blend((0.06, 0.16, 0.13), (0.1, 0.22, 0.17), _grain(view, 0.5))


def _dusk(view: View) -> Floats:
    sky = _blend((0.98, 0.55, 0.3), (0.4, 0.22, 0.5), view.height / 0.28)
    tower = view.height < _skyline(view, 0.08, 0.05, 0.2)
    front = np.broadcast_to(np.array([0.12, 0.1, 0.18]), sky.shape)
    front = _paint(front, _windows(view), (0.98, 0.83, 0.4))
    return np.where(tower[..., None], front, sky)


def _pavement(view: View) -> Floats:
    odd = (np.floor(view.x / 1.6) + np.floor(view.z / 1.6)) % 2
    return _blend((0.3, 0.24, 0.32), (0.36, 0.29, 0.37), odd)


# Two of each context: home, nature, town, night.
SCENES = {
    "indoor": Scene(_indoor_wall, _planks, 0.95),
    "hall": Scene(_columns, _tiles, 0.95),
    "grassland": Scene(_hills, _meadow, 1.0),
    "beach": Scene(_sea, _sand, 1.05),
    "street": Scene(_houses, _asphalt, 0.95),
    "tunnel": Scene(_vault, _tunnel_floor, 0.7),
    "moonlit grass": Scene(_moon, _dark_meadow, 0.6),
    "dusk city": Scene(_dusk, _pavement, 0.75),
}


def draw_scene(name: str, eye: Floats, rays: Floats) -> Floats:
    """Colours in [0, 1] of the rays (..., 3) that leave the eye in a scene without an object."""
    flat = np.hypot(rays[..., 0], rays[..., 2])
    below = rays[..., 1] < -1e-3
    reach = -eye[1] / np.where(below, rays[..., 1], -1e-3)
    view = View(
        azimuth=np.arctan2(rays[..., 0], -rays[..., 2]),
        height=rays[..., 1] / flat,
        x=eye[0] + reach * rays[..., 0],
        z=eye[2] + reach * rays[..., 2],
    )
    scene = SCENES[name]
    return np.where(below[..., None], scene.ground(view), scene.far(view))
