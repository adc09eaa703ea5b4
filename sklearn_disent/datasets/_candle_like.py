"""A drawn stand-in for CANDLE: one object in a scene, with confounded factors and boxes."""

from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from .._params import PositiveInt, RandomStateLike, Share, validated
from . import _raycast as rc
from ._base import ImageShape, make_bunch
from ._scenes import SCENES, draw_scene

VALUES = {
    "object": np.array(["cube", "sphere", "cylinder", "cone", "torus"]),
    "color": np.array(["red", "blue", "yellow", "purple", "orange"]),
    "size": np.array([1.5, 2.0, 2.5]),
    "rotation": np.array([0, 15, 30, 45, 60, 90]),
    "scene": np.array(list(SCENES)),
    "light": np.array(["left", "middle", "right"]),
}

COLORS = np.array(
    [[0.9, 0.12, 0.12], [0.15, 0.3, 0.95], [0.95, 0.88, 0.15], [0.6, 0.2, 0.8], [1.0, 0.52, 0.08]]
)
LIGHTS = np.array([[-0.9, 1.0, 0.45], [0.0, 1.0, 0.6], [0.9, 1.0, 0.45]])
LIGHTS /= np.linalg.norm(LIGHTS, axis=1, keepdims=True)

EYE, LOOK_AT = np.array([0.0, 2.0, 7.0]), np.array([0.0, 1.3, 0.0])
FIELD_OF_VIEW = 42.0
SAMPLES = 2  # rays per pixel and side
UNIT = 0.44  # half-size of an object of size 1
SHADOW = 0.45  # share of the ground's light that is left in the shadow

# How the four contexts (home, nature, town, night) prefer objects, colours, sizes and scenes.
_PREFERENCES = {
    "object": np.array(
        [[0.75, 0, 0, 0, 0.25], [0, 0.75, 0, 0, 0.25], [0, 0, 0.75, 0, 0.25], [0, 0, 0, 0.75, 0.25]]
    ),
    "color": np.array(
        [[0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0, 0.5], [0.6, 0, 0, 0, 0.4], [0, 0, 0, 1, 0]]
    ),
    "size": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]]),
}
# With this weight a preference is followed; it makes Cramer's V of object and size .5.
_OBEDIENCE = 0.82

DESCR = """\
A stand-in for CANDLE, drawn
----------------------------

One object on the ground of a scene, RGB. The factors are object 5 (cube, sphere, cylinder, cone,
torus), color 5, size 3, rotation 6 (degrees about the vertical), scene 8 and light 3 (where a lamp
stands). The two-level causal graph is that of CANDLE (Reddy, Godfrey and Balasubramanian, 2022):

    C -> object, color, size, scene      a context: home, nature, town or night
    U -> light, scene                    unobserved: the hour
    rotation                             free

confounding={confounding} is the strength of the arrows out of C and U: 0 makes all factors
independent and uniform. The pictures are drawn by ray casting and share only the factors with
CANDLE; there are 8 scenes instead of 16. Use load_candle for the real images.
"""


def _draw_classes(
    n_samples: int, confounding: float, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes of the factors (n, 6), and of the confounders C and U (n, 2)."""
    context, hour = rng.randint(4, size=n_samples), rng.randint(3, size=n_samples)
    strength = _OBEDIENCE * confounding

    def draw(preference: NDArray[np.float64]) -> NDArray[np.int64]:
        n_classes = preference.shape[1]
        cumulative = np.cumsum(strength * preference + (1 - strength) / n_classes, axis=1)
        drawn = (rng.uniform(size=(n_samples, 1)) > cumulative).sum(axis=1)
        return np.minimum(drawn, n_classes - 1)

    columns = {name: draw(table[context]) for name, table in _PREFERENCES.items()}
    columns["rotation"] = rng.randint(6, size=n_samples)
    # Each context has two scenes; the hour 0 prefers the first, 2 the second, 1 neither.
    scenes = np.zeros((n_samples, 8))
    rows = np.arange(n_samples)
    scenes[rows, 2 * context] = 1 - hour / 2
    scenes[rows, 2 * context + 1] = hour / 2
    columns["scene"] = draw(scenes)
    columns["light"] = draw(np.eye(3)[hour])
    target = np.stack([columns[name] for name in VALUES], axis=1).astype(np.int64)
    return target, np.stack([context, hour], axis=1).astype(np.int64)


def _solid(kind: int, half: float, angle: float) -> rc.Solid:
    if kind == 0:
        return rc.box(half, half, angle)
    if kind == 1:
        return rc.sphere(1.15 * half, 1.15 * half)
    if kind == 2:
        return rc.cylinder(0.85 * half, 1.1 * half, 1.1 * half)
    if kind == 3:
        return rc.cone(1.1 * half, 2.4 * half)
    return rc.torus(0.85 * half, 0.33 * half, angle)


@lru_cache(maxsize=1024)
def _geometry(
    kind: int, size: int, rotation: int, light: int, image_shape: tuple[int, int]
) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[int, int, int, int]]:
    """What the object does to the picture, whatever its colour and scene.

    Returns the share of light that the background keeps (height, width), the brightness of the
    object times its coverage (height, width), and its box.
    """
    half, angle = UNIT * VALUES["size"][size], np.radians(VALUES["rotation"][rotation])
    solid = _solid(kind, half, angle)
    centre, radius = np.array([0.0, 1.2 * half, 0.0]), 1.8 * half
    rays = rc.camera_rays(EYE, LOOK_AT, FIELD_OF_VIEW, image_shape, SAMPLES).reshape(-1, 3)
    t = rc.trace(solid, EYE, rays, centre, radius)
    on_object = np.isfinite(t)
    points = EYE + t[on_object, None] * rays[on_object]
    facing = np.maximum(rc.normals(solid, points) @ LIGHTS[light], 0)
    # Half of every object is painted darker, so that the rotation of round ones shows too.
    painted = np.cos(angle) * points[:, 0] - np.sin(angle) * points[:, 2] > 0
    brightness = np.zeros(len(rays))
    brightness[on_object] = (0.42 + 0.68 * facing) * np.where(painted, 0.62, 1.0)

    kept = np.where(on_object, 0.0, 1.0)
    ground = np.flatnonzero(~on_object & (rays[:, 1] < -1e-3))
    spots = EYE - EYE[1] / rays[ground, 1][:, None] * rays[ground]
    towards = np.broadcast_to(LIGHTS[light], spots.shape)
    dark = np.isfinite(rc.trace(solid, spots + 2 * rc.HIT * towards, towards, centre, radius))
    kept[ground[dark]] = SHADOW

    def pixels(values: NDArray[Any]) -> NDArray[np.float32]:
        return values.reshape(*image_shape, -1).mean(axis=2).astype(np.float32)

    covered = pixels(on_object) > 0
    rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
    extent = int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1
    return pixels(kept), pixels(brightness), extent


@lru_cache(maxsize=4)
def _backgrounds(image_shape: tuple[int, int]) -> NDArray[np.float32]:
    """All scenes without an object, (8, height, width, 3) in [0, 1]."""
    rays = rc.camera_rays(EYE, LOOK_AT, FIELD_OF_VIEW, image_shape, SAMPLES)
    drawn = [draw_scene(name, EYE, rays).mean(axis=2) for name in SCENES]
    return np.stack(drawn).astype(np.float32)


def _render(
    target: NDArray[np.int64], image_shape: tuple[int, int]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    images = np.empty((len(target), *image_shape, 3), dtype=np.uint8)
    boxes = np.empty((len(target), 1, 4), dtype=np.int64)
    backgrounds = _backgrounds(image_shape)
    exposure = np.array([SCENES[name].exposure for name in VALUES["scene"]])
    paints = (COLORS[None] * exposure[:, None, None]).astype(np.float32)
    geometry_of = np.ravel_multi_index(tuple(target[:, [0, 2, 3, 5]].T), (5, 3, 6, 3))
    order = np.argsort(geometry_of, kind="stable")
    starts = np.flatnonzero(np.diff(geometry_of[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        kind, size, rotation, light = target[rows[0], [0, 2, 3, 5]].tolist()
        kept, brightness, extent = _geometry(kind, size, rotation, light, image_shape)
        boxes[rows, 0] = extent
        for row in rows:
            color, scene = target[row, [1, 4]]
            picture = backgrounds[scene] * kept[..., None]
            picture += brightness[..., None] * paints[scene, color]
            images[row] = np.clip(255 * picture + 0.5, 0, 255)
    return images, boxes


@validated
def make_candle_like(
    n_samples: PositiveInt = 1000,
    *,
    confounding: Share = 1.0,
    image_shape: ImageShape = (64, 64),
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw one object in a scene, with confounded factors and bounding boxes.

    The factors follow the two-level causal graph of CANDLE [1]_: a context C acts on object,
    color, size and scene; an unobserved U acts on light and scene; rotation is free. No factor
    causes another, yet they are dependent.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images, drawn independently.

    confounding : float in [0, 1], default=1.0
        Strength of C and U. At 1, object and size, and object and scene, have Cramér's V of about
        .5; at 0 all factors are independent and uniform. (In small samples V is biased upwards:
        by about .08 for object and scene at 1000 rows.)

    image_shape : (height, width), default=(64, 64)
        At least 16 each.

    random_state : int, RandomState instance or None, default=None
        Determines the factors. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, height, width, 3), uint8 in 0..255

        data : ndarray of shape (n_samples, height * width * 3)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 6), int64
            Classes of object, color, size, rotation, scene and light.
        boxes : ndarray of shape (n_samples, 1, 4), int64
            (top, left, bottom, right) of the object, so that it is the part
            ``image[top:bottom, left:right]``.
        confounders : ndarray of shape (n_samples, 2), int64
            Classes of C (4) and U (3). A model is not meant to see them.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    load_candle : The real images.
    load_candle_design : The factors of the real images, without the images.

    Notes
    -----
    The pictures share only the factors with CANDLE, which is rendered from photographs of real
    places; 8 scenes stand for its 16. Half of every object is painted darker, so that the
    rotation about the vertical shows on round objects too. In CANDLE, U leaves no trace in the
    labels; here it makes light and scene dependent.

    References
    ----------
    .. [1] A. G. Reddy, B. Godfrey L and V. N. Balasubramanian (2022). On Causally Disentangled
       Representations. AAAI.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_candle_like
    >>> scenes = make_candle_like(20, image_shape=(32, 32), random_state=0)
    >>> scenes.images.shape, scenes.boxes.shape
    ((20, 32, 32, 3), (20, 1, 4))
    >>> scenes.factor_names
    ['object', 'color', 'size', 'rotation', 'scene', 'light']
    """
    shape = tuple(image_shape)
    if len(shape) != 2 or not all(isinstance(s, Integral) and s >= 16 for s in shape):
        raise ValueError(
            f"image_shape must be (height, width), two integers of at least 16, got {image_shape}. "
            "Scale larger images down if you need smaller ones."
        )
    rng = check_random_state(random_state)
    target, confounders = _draw_classes(n_samples, confounding, rng)
    images, boxes = _render(target, shape)
    if return_X_y:
        return images, target
    descr = DESCR.format(confounding=confounding)
    return make_bunch(images, target, VALUES, descr, boxes=boxes, confounders=confounders)
