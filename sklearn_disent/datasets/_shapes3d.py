"""A look-alike of 3D Shapes, ray-cast once and coloured by a palette."""

import os
import tempfile
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import Array, PositiveInt, RandomStateLike, loads
from . import _raycast as rc
from ._base import FactorGrid, Selection, data_folder, finish

GRID = FactorGrid(
    {
        "floor_hue": np.arange(10) / 10,
        "wall_hue": np.arange(10) / 10,
        "object_hue": np.arange(10) / 10,
        "scale": np.linspace(0.75, 1.25, 8),
        "shape": np.array(["cube", "cylinder", "sphere", "capsule"]),
        "orientation": np.linspace(-30.0, 30.0, 15),
    }
)
GEOMETRIES = FactorGrid({name: GRID.values[name] for name in ("scale", "shape", "orientation")})

# Found by fitting original images.
SIDE = 64
SAMPLES = 3  # rays per pixel and side
EYE_DISTANCE, EYE_HEIGHT, LOOK_AT_HEIGHT, FIELD_OF_VIEW = 6.0, 1.60, 1.38, 38.7
ROOM, WALL_HEIGHT = 6.08, 3.11
UNIT = 0.647  # half-size of the object at scale 1
LIGHT = np.array([-0.28, 1.0, 0.14]) / np.linalg.norm([-0.28, 1.0, 0.14])
SHADOW, BACK_WALL, SIDE_WALL = 0.32, 0.98, 0.76
SKY = np.array([153, 226, 249])
CHUNK = 256

CACHE_NAME = "shapes3d_geometry_v1.npy"

DESCR = """\
A look-alike of 3D Shapes
-------------------------

One solid in a square room, RGB, 64 x 64 pixels, on the full grid of six factors (480,000 images):

    floor_hue   10   0, 0.1, ..., 0.9
    wall_hue    10   0, 0.1, ..., 0.9
    object_hue  10   0, 0.1, ..., 0.9
    scale        8   linspace(0.75, 1.25, 8)
    shape        4   cube, cylinder, sphere, capsule
    orientation 15   linspace(-30, 30, 15) degrees, of the camera about the room

The order is row-major: orientation varies fastest.

These are not the images of 3D Shapes (Burgess and Kim, 2018): they are ray-cast, with a geometry
that was fitted to 50 of the originals. The fit left a mean absolute error of .029 of a pixel's
range (the mean image has .266); this renderer uses the numbers of that fit, but has not itself been
compared with originals. Colours, proportions, shadow and camera agree roughly; single pixels do
not. Use fetch_shapes3d for the originals.
"""


@lru_cache(maxsize=15)
def _room(orientation: int) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """The empty room from one camera: eye, rays, what they meet, its brightness, where.

    Rays meet 0 the sky, 1 the floor, 2 a wall.
    """
    azimuth = np.radians(GRID.values["orientation"][orientation])
    eye = np.array([EYE_DISTANCE * np.sin(azimuth), EYE_HEIGHT, EYE_DISTANCE * np.cos(azimuth)])
    target = np.array([0.0, LOOK_AT_HEIGHT, 0.0])
    rays = rc.camera_rays(eye, target, FIELD_OF_VIEW, (SIDE, SIDE), SAMPLES).reshape(-1, 3)
    # The camera stands inside, so a ray leaves the room through the nearer of its wall planes.
    walls = (np.copysign(ROOM, rays) - eye) / np.where(rays == 0, 1e-12, rays)
    to_wall = np.minimum(walls[:, 0], walls[:, 2])
    to_floor = np.where(rays[:, 1] < 0, -EYE_HEIGHT / np.minimum(rays[:, 1], -1e-12), np.inf)
    on_floor = to_floor < to_wall
    on_wall = ~on_floor & (EYE_HEIGHT + to_wall * rays[:, 1] < WALL_HEIGHT)
    meets = np.where(on_floor, 1, np.where(on_wall, 2, 0))
    falloff = np.clip(1 - 0.027 * (to_floor - 6.5), 0, 1)
    wall_light = np.where(walls[:, 2] <= walls[:, 0], BACK_WALL, SIDE_WALL)
    light = np.where(on_floor, falloff, np.where(on_wall, wall_light, 1.0))
    spots = eye + np.where(on_floor, to_floor, 0.0)[:, None] * rays
    return eye, rays, meets, light, spots


def _solid(shape: int, half: float) -> rc.Solid:
    if shape == 0:
        return rc.box(half, half)
    if shape == 1:
        return rc.cylinder(half, half, half)
    if shape == 2:
        return rc.sphere(1.22 * half, 1.22 * half)
    return rc.capsule(0.916 * half, 3.72 * half)


def _cast(scale: int, shape: int, orientation: int) -> NDArray[np.uint8]:
    """Weights (64, 64, 4) of sky, floor, wall and object in each pixel, in units of 1/255."""
    eye, rays, meets, light, spots = _room(orientation)
    half = UNIT * GRID.values["scale"][scale]
    solid = _solid(shape, half)
    centre, radius = np.array([0.0, 1.86 * half, 0.0]), 2.6 * half
    t = rc.trace(solid, eye, rays, centre, radius)
    on_object = np.isfinite(t)
    points = eye + t[on_object, None] * rays[on_object]
    meets, light = np.where(on_object, 3, meets), light.copy()
    light[on_object] = np.clip(0.868 + 0.29 * (rc.normals(solid, points) @ LIGHT), 0, 1)

    floor = np.flatnonzero(meets == 1)
    towards = np.broadcast_to(LIGHT, (len(floor), 3))
    dark = np.isfinite(rc.trace(solid, spots[floor] + 0.01 * LIGHT, towards, centre, radius))
    light[floor[dark]] *= SHADOW

    weights = np.zeros((len(rays), 4), dtype=np.float32)
    weights[np.arange(len(rays)), meets] = light
    pixels = weights.reshape(SIDE, SIDE, SAMPLES**2, 4).mean(axis=2)
    return np.floor(255 * pixels + 0.5).astype(np.uint8)


class _GeometryTable:
    """The 480 weight images, cast when first asked for and kept in memory; on disk when whole."""

    def __init__(self) -> None:
        self.weights = np.zeros((len(GEOMETRIES), SIDE, SIDE, 4), dtype=np.uint8)
        self.known = np.zeros(len(GEOMETRIES), dtype=bool)

    def get(self, needed: NDArray[np.int64], folder: Path | None) -> NDArray[np.uint8]:
        missing = needed[~self.known[needed]]
        if len(missing) and folder is not None and self._load(folder / CACHE_NAME):
            return self.weights
        for index in missing:
            scale, shape, orientation = GEOMETRIES.to_classes(np.array([index]))[0].tolist()
            self.weights[index] = _cast(scale, shape, orientation)
            self.known[index] = True
        if len(missing) and folder is not None and self.known.all():
            self._save(folder / CACHE_NAME)
        return self.weights

    def _load(self, file: Path) -> bool:
        try:
            stored = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return False  # absent or damaged: cast again
        if stored.shape != self.weights.shape or stored.dtype != np.uint8:
            return False
        self.weights[...] = stored
        self.known[...] = True
        return True

    def _save(self, file: Path) -> None:
        # A cache that cannot be written costs time, nothing else.
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".npy")
            with os.fdopen(handle, "wb") as stream:
                np.save(stream, self.weights)
            os.replace(temporary, file)
        except OSError:
            return


_TABLE = _GeometryTable()


def _palette(hues: NDArray[np.float64]) -> NDArray[np.float64]:
    """RGB in 0..255 of fully saturated, bright hues."""
    offsets = np.array([5.0, 3.0, 1.0])
    k = (offsets + 6 * hues[..., None]) % 6
    return 255 * (1 - np.clip(np.minimum(k, 4 - k), 0, 1))


def _render(target: NDArray[np.int64], image_size: int, folder: Path | None) -> NDArray[np.uint8]:
    """Colour the geometries of the classes, chunk by chunk into one array."""
    geometry = GEOMETRIES.to_indices(target[:, 3:])
    weights = _TABLE.get(np.unique(geometry), folder)
    colors = _palette(GRID.values["floor_hue"])
    palettes = np.empty((len(target), 4, 3), dtype=np.float32)
    palettes[:, 0] = SKY
    palettes[:, 1:] = colors[target[:, :3]]
    palettes /= 255
    images = np.empty((len(target), image_size, image_size, 3), dtype=np.uint8)
    # Images of one geometry share one product: weights (pixels, 4) times palettes (4, 3 n).
    order = np.argsort(geometry, kind="stable")
    starts = np.flatnonzero(np.diff(geometry[order], prepend=-1))
    for group in np.split(order, starts[1:]):
        mask = weights[geometry[group[0]]].astype(np.float32)
        if image_size != SIDE:
            mask = mask.reshape(image_size, 2, image_size, 2, 4).mean(axis=(1, 3))
        for start in range(0, len(group), CHUNK):
            rows = group[start : start + CHUNK]
            colored = mask.reshape(-1, 4) @ palettes[rows] + np.float32(0.5)
            np.minimum(colored, 255, out=colored)
            images[rows] = colored.astype(np.uint8).reshape(-1, image_size, image_size, 3)
    return images


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_shapes3d(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[32, 64] = 64,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    data_home: str | PathLike[str] | None = None,
    cache: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw a look-alike of 3D Shapes, or a part of it.

    One solid in a square room, at every combination of 10 floor, 10 wall and 10 object hues,
    8 scales, 4 shapes and 15 orientations: 480,000 images. They resemble those of 3D Shapes [1]_
    and have the same factors in the same order, but are not the same images.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all (5.9 GB for the whole set at 64 pixels).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"floor_hue": 0, "shape": [1, 2]}``. Factors
        that are not named keep all of their classes.

    image_size : {32, 64}, default=64
        Side of the images; 32 gives means of 2 x 2 pixels.

    shuffle : bool, default=True
        Whether the images come in random order. Without shuffling they come in row-major order,
        which unshuffled cross-validation cannot use. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    data_home : str, path-like or None, default=None
        Folder for the cache; None is scikit-learn's data folder, see
        :func:`sklearn.datasets.get_data_home`.

    cache : bool, default=True
        Whether the 480 ray-cast geometries are written to a file of 8 MB once all of them have
        been needed. Casting them takes some 10 seconds; they stay in memory in any case.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size, 3), uint8 in 0..255

        data : ndarray of shape (n_samples, image_size * image_size * 3)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 6), int64
            Classes of floor_hue, wall_hue, object_hue, scale, shape and orientation.

        factor_names : list of str

        factor_sizes : tuple of int
            Number of classes of each factor in the whole set, ``(10, 10, 10, 8, 4, 15)``.
        factor_values : dict of str to ndarray
            The value that each class stands for.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    fetch_shapes3d : The original file.
    make_dsprites : dSprites, pixel by pixel.

    Notes
    -----
    An image is linear in its colours: the share of sky, floor, wall and object in every pixel,
    times their shading, depends on scale, shape and orientation alone. So 480 geometries are cast,
    with 3 x 3 rays per pixel, and every image is the product of one of them with a palette.

    The geometry was fitted to 50 original images. The fit left a mean absolute error of .029 of a
    pixel's range, against .266 for the mean image; this renderer uses the numbers of that fit, but
    has not itself been compared with originals.

    References
    ----------
    .. [1] C. Burgess and H. Kim (2018). 3D Shapes Dataset.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_shapes3d
    >>> shapes = make_shapes3d(50, factors={"scale": 4, "orientation": 7}, random_state=0)
    >>> shapes.images.shape, shapes.images.dtype
    ((50, 64, 64, 3), dtype('uint8'))
    >>> shapes.factor_names
    ['floor_hue', 'wall_hue', 'object_hue', 'scale', 'shape', 'orientation']
    """
    chosen = GRID.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    folder = data_folder(data_home) if cache else None
    images = _render(GRID.to_classes(chosen), image_size, folder)
    return finish(images, chosen, GRID, DESCR, return_X_y)
