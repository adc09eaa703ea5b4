"""Painting panoramas: where a direction of view leads, noise, and the brushes that scenes share.

A panorama is a picture over azimuth and elevation, seen from one place. A camera that only turns
can be served from it: a picture is then a lookup, however elaborate the scene.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]  # float32, to spare memory; a mask counts as 0 and 1
Mask = NDArray[np.bool_]
Color = Sequence[float] | Floats

EYE_HEIGHT = 2.0
_SAMPLES = 2  # rays per point of a panorama and side
_SIDE = 256  # of the table of noise, which repeats after this many cells
_TABLE = np.pad(
    np.random.RandomState(20220215).rand(_SIDE, _SIDE).astype(np.float32), (0, 1), mode="wrap"
).ravel()


class View(NamedTuple):
    """Where rays from the eye go; all arrays have one entry per ray."""

    azimuth: Floats  # radians to the right of the middle of the scene
    height: Floats  # tangent of the elevation: 0 is the horizon
    below: Mask  # whether the ray meets the ground
    x: Floats  # where it does, or would on a ground very far away
    z: Floats
    distance: Floats


def look(azimuth: NDArray, elevation: NDArray) -> View:
    """The view in the directions of azimuths and elevations in radians, arrays of one shape."""
    azimuth, elevation = np.broadcast_arrays(azimuth, elevation)
    height = np.tan(elevation).astype(np.float32).ravel()
    azimuth = azimuth.astype(np.float32).ravel()
    distance = EYE_HEIGHT / np.maximum(-height, 1e-3)
    return View(
        azimuth,
        height,
        height < -1e-3,
        distance * np.sin(azimuth),
        distance * np.cos(azimuth),
        distance,
    )


class Wall(NamedTuple):
    """Where rays meet upright walls around the eye."""

    along: Floats  # place along the wall, 0 opposite the eye
    up: Floats  # height above the ground
    distance: Floats
    front: Mask  # the wall ahead, not one of those at the sides
    is_wall: Mask  # not the ground in front of it


def walls(view: View, ahead: float, aside: float) -> Wall:
    """A room with its front wall `ahead` of the eye and side walls `aside` of it."""
    sin, cos = np.sin(view.azimuth), np.cos(view.azimuth)
    to_front = ahead / np.maximum(cos, 1e-3)
    to_side = aside / np.maximum(np.abs(sin), 1e-3)
    front = to_front <= to_side
    distance = np.minimum(to_front, to_side)
    along = np.where(front, distance * sin, np.sign(sin) * (aside + ahead - distance * cos))
    up = EYE_HEIGHT + view.height * distance
    return Wall(along, up, distance, front, up > 0)


# -- noise -----------------------------------------------------------------------------------


def _cell(i: Floats, j: Floats) -> NDArray[np.int32]:
    """Place in the table of noise of the cells with these whole numbers."""
    row, column = (whole.astype(np.int32) & (_SIDE - 1) for whole in (i, j))
    return row * (_SIDE + 1) + column


def lattice(x: Floats, y: Floats) -> Floats:
    """A value in [0, 1) for each cell of the plane, the same at every call."""
    return _TABLE.take(_cell(np.floor(x), np.floor(y)))


def noise(x: Floats, y: Floats) -> Floats:
    """Smooth irregular values in [0, 1], about one bump per unit of length."""
    i, j = np.floor(x), np.floor(y)
    u, v = x - i, y - j
    u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    cell = _cell(i, j)
    low, high = _TABLE.take(cell), _TABLE.take(cell + 1)
    low += u * (_TABLE.take(cell + _SIDE + 1) - low)
    high += u * (_TABLE.take(cell + _SIDE + 2) - high)
    return low + v * (high - low)


def rough(x: Floats, y: Floats, octaves: int = 4) -> Floats:
    """Noise with ever finer detail, in [0, 1]."""
    total = np.zeros_like(x)
    for octave in range(octaves):
        # The offset keeps the bumps of the octaves from lying on top of each other.
        total += noise(x * 2**octave + 17.3 * octave, y * 2**octave + 5.1 * octave) / 2**octave
    return total / (2 - 2 / 2**octaves)


# -- brushes ---------------------------------------------------------------------------------


def mix(a: Color, b: Color, share: Floats | float) -> Floats:
    """From colour a at share 0 to colour b at share 1."""
    share = np.clip(np.asarray(share, dtype=np.float32), 0, 1)[..., None]
    return (1 - share) * np.asarray(a, np.float32) + share * np.asarray(b, np.float32)


def over(picture: Floats, where: Mask | Floats, color: Color) -> Floats:
    """The picture with a colour, or another picture, laid over a part of it."""
    share = np.asarray(where, dtype=np.float32)[..., None]
    return picture * (1 - share) + np.asarray(color, np.float32) * share


def shade(picture: Floats, light: Floats) -> Floats:
    return picture * light[..., None]


def near(value: Floats, middle: float | Floats, half_width: float | Floats) -> Mask:
    return np.abs(value - middle) < half_width


def stripes(value: Floats, period: float, share: float) -> Mask:
    """Whether a value lies in the first part of its period."""
    return (value / period) % 1 < share


def sky(
    view: View, horizon: Color, zenith: Color, cloudiness: float, cloud: Color, place: float
) -> Floats:
    """A sky that changes from the horizon upwards, with clouds that are flat in the distance."""
    up = np.maximum(view.height, 0.0)
    picture = mix(horizon, zenith, up / 0.55)
    shape = rough(view.azimuth * 3.0 + place, 6.0 * up + 2.0, 5)
    cover = np.clip((shape - 1 + cloudiness) / 0.18, 0, 1) * np.clip(up / 0.06, 0, 1)
    return over(picture, 0.85 * cover, cloud)


def ridge(view: View, base: float, relief: float, scale: float, place: float) -> Mask:
    """What lies below the outline of hills or trees."""
    outline = rough(view.azimuth * scale + place, np.full_like(view.azimuth, place), 4)
    return view.height < base + relief * (outline - 0.5)


def haze(picture: Floats, view: View, color: Color, reach: float) -> Floats:
    """The ground fades into a colour with distance, which hides that the plane has no end."""
    return mix(picture, color, 1 - np.exp(-np.maximum(view.distance - 6, 0) / reach))


def windows(along: Floats, up: Floats, size: tuple[float, float], share: float = 0.5) -> Mask:
    """A grid of windows that fill a share of each cell."""
    column, row = (along / size[0]) % 1, (up / size[1]) % 1
    gap = (1 - share) / 2
    return near(column, 0.5, 0.5 - gap) & near(row, 0.5, 0.5 - gap * 0.8)


def blocks(view: View, width: float, low: float, high: float, place: float) -> tuple[Mask, Floats]:
    """A row of buildings: what lies below their roofs, and a number for each building."""
    number = np.floor(view.azimuth / width + place)
    roof = low + (high - low) * lattice(number, np.full_like(number, 3 + place))
    return view.height < roof, lattice(number, np.full_like(number, 91 + place))


# -- panoramas -------------------------------------------------------------------------------


class Panorama(NamedTuple):
    """A painted scene: colours at evenly spaced elevations (rows) and azimuths (columns)."""

    colors: NDArray[np.uint8]  # (rows, columns, 3)
    top: float  # elevation of row 0
    left: float  # azimuth of column 0
    step: float  # radians from one point to the next

    def sample(self, azimuth: NDArray, elevation: NDArray) -> Floats:
        """Colours (n, 3) in [0, 255] between the points of the panorama."""
        n_rows, n_columns = self.colors.shape[:2]
        row = np.clip((self.top - elevation) / self.step, 0, n_rows - 1.001)
        column = np.clip((azimuth - self.left) / self.step, 0, n_columns - 1.001)
        i, j = row.astype(np.int32), column.astype(np.int32)
        v, u = (row - i).astype(np.float32)[:, None], (column - j).astype(np.float32)[:, None]
        points = self.colors.reshape(-1, 3)
        first = i * n_columns + j
        upper = points.take(first, axis=0).astype(np.float32)
        upper += u * (points.take(first + 1, axis=0) - upper)
        first += n_columns
        lower = points.take(first, axis=0).astype(np.float32)
        lower += u * (points.take(first + 1, axis=0) - lower)
        lower -= upper
        lower *= v
        upper += lower
        return upper


def paint_panorama(
    painter: Callable[[View], Floats],
    azimuths: tuple[float, float],
    elevations: tuple[float, float],
    step: float,
) -> Panorama:
    """Paint a scene over a range of directions, each point the mean of several rays."""
    left, top = azimuths[0], elevations[1]
    n_rows, n_columns = (int(np.ceil((b - a) / step)) + 2 for a, b in (elevations, azimuths))
    offsets = ((np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5) * step
    columns = (left + step * np.arange(n_columns))[:, None] + offsets
    colors = np.empty((n_rows, n_columns, 3), dtype=np.uint8)
    block = max(1, (1 << 14) // columns.size)
    for start in range(0, n_rows, block):
        middle = top - step * np.arange(start, min(start + block, n_rows))
        rows = np.clip(middle[:, None] + offsets, -1.55, 1.55)
        view = look(columns.ravel()[None, :], rows.ravel()[:, None])
        picture = painter(view).reshape(len(middle), _SAMPLES, n_columns, _SAMPLES, 3)
        colors[start : start + block] = np.clip(255 * picture.mean(axis=(1, 3)) + 0.5, 0, 255)
    return Panorama(colors, top, left, step)
