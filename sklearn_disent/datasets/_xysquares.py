"""Three squares that move on a grid, at which pixel-wise losses cannot see what is near."""

from numbers import Integral
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import Array, Interval, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection, finish

SIDE = 64
SQUARE = 8  # side of a square, in pixels
N_PLACES = 8
CHUNK = 1024

Spacing = Annotated[int, Interval(Integral, 1, SQUARE, closed="both")]

DESCR = """\
XYSquares
---------

A red, a green and a blue square of 8 x 8 pixels on black, RGB, 64 x 64 pixels, uint8 in
{{0, 255}}, on the full grid of six factors (262,144 images):

    x_red    8   left edge of the red square, in pixels, from left to right
    y_red    8   its upper edge, from top to bottom
    x_green  8   the same of the green square
    y_green  8
    x_blue   8   and of the blue one
    y_blue   8

The order is row-major: y_blue varies fastest. Each square fills its own channel, so where squares
overlap their colors add up.

Neighbouring places are spacing={spacing} pixels apart. At 8 they do not overlap, so that a square
which moves at all changes as many pixels, however far it moves: a pixel-wise reconstruction loss
cannot tell near from far, and autoencoders have no reason to put neighbours side by side. Less
than 8 brings overlap back, and disentanglement with it.

Source: N. Michlo, R. Klein and S. James (2023). Overlooked Implications of the Reconstruction
Loss for VAE Disentanglement. IJCAI. Drawn from its description.
"""


def _edges(spacing: int) -> NDArray[np.int64]:
    """First pixel of a square at each of its places; the places stand in the middle."""
    first = (SIDE - (SQUARE + (N_PLACES - 1) * spacing)) // 2
    return first + spacing * np.arange(N_PLACES)


def _grid(spacing: int) -> FactorGrid:
    return FactorGrid(
        {f"{axis}_{color}": _edges(spacing) for color in ("red", "green", "blue") for axis in "xy"}
    )


def _render(target: NDArray[np.int64], spacing: int, image_size: int) -> NDArray[np.uint8]:
    """Draw squares as products of a row and a column, chunk by chunk into one array."""
    pixels = np.arange(SIDE) - _edges(spacing)[:, None]
    covered = ((pixels >= 0) & (pixels < SQUARE)).astype(np.float32)
    # A pixel of a small image is the share of 2 x 2 pixels that is covered, along each axis.
    covered = covered.reshape(N_PLACES, image_size, -1).mean(axis=2)
    images = np.empty((len(target), image_size, image_size, 3), dtype=np.uint8)
    for start in range(0, len(target), CHUNK):
        part = target[start : start + CHUNK]
        for channel in range(3):
            columns, rows = covered[part[:, 2 * channel]], covered[part[:, 2 * channel + 1]]
            square = 255 * rows[:, :, None] * columns[:, None, :] + np.float32(0.5)
            images[start : start + CHUNK, :, :, channel] = square.astype(np.uint8)
    return images


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_xysquares(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    spacing: Spacing = 8,
    image_size: Literal[32, 64] = 64,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Render XYSquares: three squares, each at 8 x 8 places, or the part that is asked for.

    A red, a green and a blue square move independently: 262,144 images. At the default spacing
    the places of a square do not overlap, so that every two places are equally far apart in
    pixels. Autoencoders with a pixel-wise loss then find no order in the places [1]_.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all (3.2 GB for the whole set at 64 pixels).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name: ``{"x_green": 0, "y_green": 0, "x_blue": 0, "y_blue": 0}``
        leaves one moving square. Factors that are not named keep all of their classes.

    spacing : int in [1, 8], default=8
        Pixels between neighbouring places, in the image of 64 pixels. Squares are 8 pixels wide,
        so anything less than 8 makes neighbours overlap.

    image_size : {32, 64}, default=64
        Side of the images; 32 gives means of 2 x 2 pixels.

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
        target : ndarray of shape (n_samples, 6), int64
            Classes of x_red, y_red, x_green, y_green, x_blue and y_blue.

        factor_names : list of str

        factor_sizes : tuple of int
            Number of classes of each factor in the whole set, ``(8, 8, 8, 8, 8, 8)``.
        factor_values : dict of str to ndarray
            First column (x) or row (y) of the square in an image of 64 pixels.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_dsprites : Shapes at 32 x 32 overlapping places.

    Notes
    -----
    The places are those of disent's XYSquares with 8 of them on each axis, centred; at a smaller
    spacing disent would offer more. The factors are in its order, and have longer names. One core
    draws some 20,000 images in a second.

    References
    ----------
    .. [1] N. Michlo, R. Klein and S. James (2023). Overlooked Implications of the Reconstruction
       Loss for VAE Disentanglement. IJCAI.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_xysquares
    >>> squares = make_xysquares(100, random_state=0)
    >>> squares.images.shape, squares.factor_names[:2]
    ((100, 64, 64, 3), ['x_red', 'y_red'])
    >>> squares.factor_values["x_red"]
    array([ 0,  8, 16, 24, 32, 40, 48, 56])
    """
    grid = _grid(spacing)
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    images = _render(grid.to_classes(chosen), spacing, image_size)
    return finish(images, chosen, grid, DESCR.format(spacing=spacing), return_X_y)
