"""A ball in a cup of water with a hole: a chain of causes."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from .._params import Array, AtLeastTwo, NonNegativeFloat, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection
from ._structural import Effect, Floats, StructuralModel, Values, coverage, interval

# The scene, in the units of the original drawing; y is up. Of its 20 x 20 units the image shows
# the part in which something happens, so that the smallest ball is more than a pixel wide.
LEFT, EXTENT = 2.0, 14.0
CUP_LEFT, CUP_RIGHT, CUP_MIDDLE = 3.0, 8.0, 5.5
WATER_FLOOR = 5.0  # water stands this high above the bottom of the cup, plus its height
FLOOR = 0.5  # where the ball lies and the jet lands
HOLE = 0.4  # height of the hole
LINE = 0.2  # half the width of walls, ground and jet
GRAVITY = 0.98
WATER, BALL, BLACK = np.array([135, 206, 250]), np.array([178, 34, 34]), np.zeros(3)
CHUNK = 128

DESCR = """\
Flow
----

A ball lies in a cup of water, which leaves through a hole in the side as a jet. RGB, 64 x 64
pixels, uint8, at every combination of 30 balls, 30 supplies of water and 9 holes (8,100 images).
Four factors:

    ball_size       radius r, 1/6 to 17/15 in steps of 1/30
    water_height    h = r^3 + s, where the supply s is 1 to 3.9 in steps of 0.1 and is hidden
    hole_position   height p of the hole, 2 to 14/3 in steps of 1/3
    water_flow      how far the jet reaches, sqrt(1.96 h (p - 0.5))

    ball_size -> water_height -> water_flow <- hole_position

Lengths are in units of the scene, of which the image shows 14 x 14. The order is row-major over
ball_size, supply and hole_position: hole_position varies fastest. `factors` holds the values;
`target` holds classes, which for height and flow are bins of equal width.

Source: M. Yang, F. Liu, Z. Chen, X. Shen, J. Hao and J. Wang (2021). CausalVAE: Disentangled
Representation Learning via Neural Structural Causal Models. CVPR. Drawn from its equations.
"""


def _height(values: Values) -> Floats:
    return values["ball_size"] ** 3 + values["supply"]


def _flow(values: Values) -> Floats:
    fall = values["hole_position"] - FLOOR
    return np.sqrt(2 * GRAVITY * values["water_height"] * fall)


MODEL = StructuralModel(
    FactorGrid(
        {
            "ball_size": np.arange(5, 35) / 30,
            "supply": np.arange(10, 40) / 10,
            "hole_position": np.arange(6, 15) / 3,
        }
    ),
    {
        "ball_size": None,
        "water_height": Effect(("ball_size",), _height),
        "hole_position": None,
        "water_flow": Effect(("water_height", "hole_position"), _flow),
    },
)


def _over(
    images: NDArray[np.float32], cover: NDArray[np.float32], color: NDArray[np.float64]
) -> None:
    """Paint a color where it covers the images."""
    shade = cover[..., None]
    images *= 1 - shade
    images += shade * color.astype(np.float32)


def _jet(hole: Floats, flow: Floats, x: Floats, y: Floats, pixel: float) -> NDArray[np.float32]:
    """Share of every pixel that the jet covers: a parabola from the hole to the ground."""
    hole, flow = hole[:, None, None], flow[:, None, None]
    run = np.clip(x - CUP_RIGHT, 0, flow)
    steep = (hole - FLOOR) / flow**2
    # To the parabola along y, then aslant to first order; beyond its ends, to the nearer end.
    slope = 2 * steep * run
    gap = np.abs(y - (hole - steep * run**2)) / np.sqrt(1 + slope**2)
    return coverage(np.hypot(gap, x - CUP_RIGHT - run) - LINE, pixel)


def _draw(values: Floats, image_size: int) -> NDArray[np.float32]:
    """Pictures of some scenes, in 0..255: water, ball, walls, jet and ground, each where it is."""
    ball, height, hole, flow = values.T
    pixel = EXTENT / image_size
    edges_x = LEFT + np.linspace(0, EXTENT, image_size + 1)
    edges_y = np.linspace(0, EXTENT, image_size + 1)
    x, y = (edges_x[1:] - pixel / 2)[None, :], (edges_y[1:] - pixel / 2)[::-1, None]
    pictures = np.full((len(values), image_size, image_size, 3), 255, dtype=np.float32)
    in_cup = slice(
        int((CUP_LEFT - LINE - LEFT) / pixel), int((CUP_RIGHT + LINE - LEFT) / pixel) + 1
    )
    right_of_cup = slice(int((CUP_RIGHT - 2 * LINE - LEFT) / pixel), None)
    low = slice(image_size - int(6 / pixel), None)

    level = interval(np.zeros(len(values)), WATER_FLOOR + height, edges_y)[:, ::-1]
    cup = interval(CUP_LEFT, CUP_RIGHT, edges_x)[in_cup]
    _over(pictures[:, :, in_cup], level[:, :, None] * cup, WATER)

    radius = ball[:, None, None]
    disc = np.hypot(x[:, in_cup] - CUP_MIDDLE, y[low] - FLOOR - radius) - radius
    _over(pictures[:, low, in_cup], coverage(disc, pixel), BALL)

    left = interval(CUP_LEFT - LINE, CUP_LEFT + LINE, edges_x)[in_cup]
    right = interval(CUP_RIGHT - LINE, CUP_RIGHT + LINE, edges_x)[in_cup]
    gap = interval(hole, hole + HOLE, edges_y)[:, ::-1]
    _over(pictures[:, :, in_cup], left + (1 - gap[:, :, None]) * right, BLACK)

    jet = _jet(hole + HOLE / 2, flow, x[:, right_of_cup], y[low], pixel)
    _over(pictures[:, low, right_of_cup], jet, WATER)
    ground = interval(0.0, 2 * LINE, edges_y)[::-1]
    _over(pictures[:, low], np.repeat(ground[low, None], image_size, axis=1), BLACK)
    return pictures


def _render(values: Floats, image_size: int) -> NDArray[np.uint8]:
    """Draw the scenes, chunk by chunk into one array."""
    images = np.empty((len(values), image_size, image_size, 3), dtype=np.uint8)
    for start in range(0, len(values), CHUNK):
        images[start : start + CHUNK] = np.rint(_draw(values[start : start + CHUNK], image_size))
    return images


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_flow(
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
    """Draw a ball in a leaking cup of water: a chain of causes, with interventions.

    The ball lifts the water, and the height of the water and of a hole in the cup decide how far
    the jet reaches: the Flow of CausalVAE [1]_, at 30 x 30 x 9 settings (8,100 images).

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images on the grid of ball_size, supply and hole_position, in
        this order, repeats allowed. Excludes `n_samples` and `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep of ball_size, supply (of water, hidden) and hole_position, by name.
        (Height and flow have none to choose from: they follow.)

    do : dict of str to float or array-like of float, or None, default=None
        Interventions: ``{"water_height": 3.0}`` sets the height of the water whatever the ball,
        and lets the jet follow. Of a list of values each image gets one at random, independently
        of everything else. Values must lie in the range that the factor has in the whole set.

    noise : float, default=0.0
        Standard deviation of Gaussian noise that is added to height and flow, in units of the
        scene; what leaves the range of a factor is put back on its end.

    n_bins : int, default=20
        Number of classes of water_height and water_flow in `target`.

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
            Classes of ball_size, water_height, hole_position and water_flow: nearest value on the
            grid for ball and hole, bins of equal width for height and flow.
        factors : ndarray of shape (n_samples, 4), float64
            Values of the factors, in units of the scene.
        graph : ndarray of shape (4, 4), int64
            1 in row i and column j if factor i causes factor j. What `do` sets has no causes.
        exogenous : ndarray of shape (n_samples, 3), float64
            Ball, supply and hole before any intervention. A model is not meant to see the supply.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image on the grid of ball_size, supply and hole_position.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_pendulum : Two causes of two effects.
    make_candle_like : Factors that are confounded instead of causing one another.

    Notes
    -----
    Noise and the choice from lists in `do` depend on `random_state` and on the index of the image:
    with the same int, the same `indices` without `do` give the factual twin of every intervened
    image.

    The equations are those of the original program, which draws with matplotlib in 96 x 96
    pixels, shakes the drawn jet (not its label) by up to some percent, and lists the factors as
    ball, height, flow and hole. Here shapes are drawn with smooth edges, the image shows 14 x 14
    of the original's 20 x 20 units, and the jet lands where its label says. One core draws some
    3,000 images in a second.

    References
    ----------
    .. [1] M. Yang, F. Liu, Z. Chen, X. Shen, J. Hao and J. Wang (2021). CausalVAE: Disentangled
       Representation Learning via Neural Structural Causal Models. CVPR.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_flow
    >>> scenes = make_flow(50, random_state=0)
    >>> scenes.images.shape, scenes.factor_names
    ((50, 64, 64, 3), ['ball_size', 'water_height', 'hole_position', 'water_flow'])
    >>> make_flow(50, do={"water_height": 3.0}, random_state=0).graph
    array([[0, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 0, 1],
           [0, 0, 0, 0]])
    """
    selection = (n_samples, indices, factors, shuffle, random_state)
    render = partial(_render, image_size=image_size)
    return MODEL.draw(render, DESCR, selection, do, noise, n_bins, return_X_y)
