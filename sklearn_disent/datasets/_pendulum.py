"""A pendulum, a light, and the shadow that they cause."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from .._params import Array, AtLeastTwo, NonNegativeFloat, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection
from ._structural import Effect, Floats, StructuralModel, Values, coverage, interval

# The scene, in the units of the original drawing; y is up.
PIVOT_X, PIVOT_Y = 10.0, 10.5
ROD, BALL_RADIUS, ROD_HALF_WIDTH = 8.0, 1.5, 0.35
TIP = ROD + BALL_RADIUS  # how far from the pivot the pendulum ends, and its shadow with it
SUN_Y, SUN_RADIUS = 20.5, 3.0
GROUND, SHADOW_HALF_WIDTH, SHORTEST = -0.5, 0.45, 3.0
LEFT, RIGHT, BOTTOM, TOP = -1.0, 21.0, -1.0, 21.0
# What each thing takes away from white.
BALL, SUN = 255 - np.array([178, 34, 34]), 255 - np.array([255, 165, 0])
CHUNK = 1024

DESCR = """\
Pendulum
--------

A pendulum hangs from a point and is lit from above at an angle; its shadow lies on the ground.
RGB, 64 x 64 pixels, uint8, at every combination of 84 angles of the pendulum and 87 angles of the
light (7,308 images). Four factors, of which two cause the other two:

    pendulum_angle   -36 to 38.7 degrees from the vertical, in steps of 0.9
    light_angle      54 to 132.3 degrees from the ground, in steps of 0.9, without 90
    shadow_length    max(3, |a - b|)
    shadow_position  (a + b) / 2, its middle

    a = 10 - 11 cot(light)                     shadow of the pivot at (10, 10.5) on y = -0.5
    b = x - (y + 0.5) cot(light)               shadow of the tip
    x, y = 10 + 9.5 sin(pendulum), 10.5 - 9.5 cos(pendulum)

    pendulum_angle, light_angle -> shadow_length, shadow_position

Lengths are in units of the scene, of which the image shows 22 x 22. The order is row-major over the
two angles: light_angle varies fastest. `factors` holds the values; `target` holds classes, which
for length and position are bins of equal width.

Source: M. Yang, F. Liu, Z. Chen, X. Shen, J. Hao and J. Wang (2021). CausalVAE: Disentangled
Representation Learning via Neural Structural Causal Models. CVPR. Drawn from its equations.
"""


def _shadow_ends(values: Values) -> tuple[Floats, Floats]:
    """Where the shadows of the pivot and of the tip fall."""
    swing, light = np.radians(values["pendulum_angle"]), np.radians(values["light_angle"])
    # The cotangent is finite where light falls from straight above.
    cot = np.cos(light) / np.sin(light)
    tip_x, tip_y = PIVOT_X + TIP * np.sin(swing), PIVOT_Y - TIP * np.cos(swing)
    return PIVOT_X - (PIVOT_Y - GROUND) * cot, tip_x - (tip_y - GROUND) * cot


def _length(values: Values) -> Floats:
    pivot, tip = _shadow_ends(values)
    return np.maximum(np.abs(pivot - tip), SHORTEST)


def _position(values: Values) -> Floats:
    pivot, tip = _shadow_ends(values)
    return (pivot + tip) / 2


_ANGLES = ("pendulum_angle", "light_angle")
MODEL = StructuralModel(
    FactorGrid(
        {
            "pendulum_angle": 0.9 * np.arange(-40, 44),
            "light_angle": 0.9 * np.array([j for j in range(60, 148) if j != 100]),
        }
    ),
    {
        "pendulum_angle": None,
        "light_angle": None,
        "shadow_length": Effect(_ANGLES, _length),
        "shadow_position": Effect(_ANGLES, _position),
    },
)


def _centres(image_size: int) -> tuple[Floats, Floats, float]:
    """Middles of the pixels, x (1, size) and y (size, 1), and the side of a pixel."""
    pixel = (RIGHT - LEFT) / image_size
    steps = (np.arange(image_size, dtype=np.float64) + 0.5) * pixel
    return LEFT + steps[None, :], TOP - steps[:, None], pixel


def _pendulums(angles: Floats, image_size: int) -> NDArray[np.uint8]:
    """What pendulums take away from white, (n, size, size, 3)."""
    x, y, pixel = _centres(image_size)
    swing = np.radians(angles)[:, None, None]
    across, down = np.sin(swing), np.cos(swing)
    along = (x - PIVOT_X) * across - (y - PIVOT_Y) * down
    aside = (x - PIVOT_X) * down + (y - PIVOT_Y) * across
    rod = np.hypot(along - np.clip(along, 0, ROD), aside) - ROD_HALF_WIDTH
    ball = coverage(np.hypot(along - ROD, aside) - BALL_RADIUS, pixel)[..., None]
    black = coverage(rod, pixel)[..., None] * (1 - ball)
    return np.rint(255 * black + ball * BALL).astype(np.uint8)


def _suns(angles: Floats, image_size: int) -> NDArray[np.uint8]:
    """What suns take away from white: each stands where light through the pivot comes from."""
    x, y, pixel = _centres(image_size)
    light = np.radians(angles)[:, None, None]
    sun_x = PIVOT_X + (SUN_Y - PIVOT_Y) * np.cos(light) / np.sin(light)
    disc = coverage(np.hypot(x - sun_x, y - SUN_Y) - SUN_RADIUS, pixel)[..., None]
    return np.rint(disc * SUN).astype(np.uint8)


def _shadows(length: Floats, position: Floats, image_size: int) -> NDArray[np.uint8]:
    """What shadows take away from white, (n, size, size)."""
    edges = np.linspace(LEFT, RIGHT, image_size + 1)
    columns = interval(position - length / 2, position + length / 2, edges)
    band = interval(GROUND - SHADOW_HALF_WIDTH, GROUND + SHADOW_HALF_WIDTH, edges)[::-1]
    return np.rint(255 * band[:, None] * columns[:, None, :]).astype(np.uint8)


def _render(values: Floats, image_size: int) -> NDArray[np.uint8]:
    """Draw the scenes, chunk by chunk into one array.

    Pendulum, sun and shadow never touch, so an image is white less each of them; pendulum and sun
    depend on one angle each, and are drawn once for each angle.
    """
    images = np.empty((len(values), image_size, image_size, 3), dtype=np.uint8)
    for start in range(0, len(values), CHUNK):
        swing, light, length, position = values[start : start + CHUNK].T
        picture = images[start : start + CHUNK]
        picture[...] = 255
        for draw, angles in ((_pendulums, swing), (_suns, light)):
            unique, which = np.unique(angles, return_inverse=True)
            picture -= draw(unique, image_size)[which]
        picture -= _shadows(length, position, image_size)[..., None]
    return images


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_pendulum(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    do: Mapping[str, float | ArrayLike] | None = None,
    noise: NonNegativeFloat = 0.0,
    n_bins: AtLeastTwo = 20,
    image_size: Literal[32, 64] = 64,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw a pendulum, a light and the shadow they cause, with interventions.

    The angle of the pendulum and the angle of the light cause length and position of a shadow on
    the ground: the Pendulum of CausalVAE [1]_, at 84 x 87 pairs of angles (7,308 images).

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images on the grid of the two angles, in this order, repeats
        allowed. Excludes `n_samples` and `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep of pendulum_angle and light_angle, by name. (The shadow has none to choose
        from: it follows.)

    do : dict of str to float or array-like of float, or None, default=None
        Interventions: ``{"shadow_length": 5.0}`` draws every shadow 5 units long, whatever its
        causes. Of a list of values each image gets one at random, independently of everything
        else. Values must lie in the range that the factor has in the whole set; a long shadow far
        to the side is cut at the edge of the image.

    noise : float, default=0.0
        Standard deviation of Gaussian noise that is added to length and position of the shadow,
        in units of the scene; what leaves the range of a factor is put back on its end.

    n_bins : int, default=20
        Number of classes of shadow_length and shadow_position in `target`.

    image_size : {32, 64}, default=64
        Side of the images.

    shuffle : bool, default=True
        Whether the images come in random order. Without shuffling they come in row-major order,
        which unshuffled cross-validation cannot use. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size, 3), uint8 in 0..255

        data : ndarray of shape (n_samples, image_size * image_size * 3)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 4), int64
            Classes of pendulum_angle, light_angle, shadow_length and shadow_position: nearest
            value on the grid for the angles, bins of equal width for the shadow.
        factors : ndarray of shape (n_samples, 4), float64
            Values of the factors: degrees, degrees, units and units.
        graph : ndarray of shape (4, 4), int64
            1 in row i and column j if factor i causes factor j. What `do` sets has no causes.
        exogenous : ndarray of shape (n_samples, 2), float64
            The two angles before any intervention.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image on the grid of the two angles.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_flow : A chain of causes.
    make_candle_like : Factors that are confounded instead of causing one another.

    Notes
    -----
    Noise and the choice from lists in `do` depend on `random_state` and on the index of the image:
    with the same int, the same `indices` without `do` give the factual twin of every intervened
    image.

    The equations are those of the original program, which leaves out light from straight above
    because it divides by a tangent, and draws with matplotlib in 96 x 96 pixels. Here shapes are
    drawn with exact edges, and the scene fills the image. The original has no noise; a later
    variant has .1 in length and position. One core draws some 10,000 images in a second.

    References
    ----------
    .. [1] M. Yang, F. Liu, Z. Chen, X. Shen, J. Hao and J. Wang (2021). CausalVAE: Disentangled
       Representation Learning via Neural Structural Causal Models. CVPR.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_pendulum
    >>> scenes = make_pendulum(50, random_state=0)
    >>> scenes.images.shape, scenes.factor_names
    ((50, 64, 64, 3), ['pendulum_angle', 'light_angle', 'shadow_length', 'shadow_position'])
    >>> scenes.graph
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    >>> short = make_pendulum(indices=scenes.indices, do={"shadow_length": 4.0})
    >>> bool((short.factors[:, 2] == 4.0).all())
    True
    """
    selection = (n_samples, indices, factors, shuffle, random_state)
    render = partial(_render, image_size=image_size)
    return MODEL.draw(render, DESCR, selection, do, noise, n_bins, return_X_y)
