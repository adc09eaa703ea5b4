"""Real handwritten digits, moved in known ways."""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from .._params import Array, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection, make_bunch

N_INSTANCES = 20
GRID = FactorGrid(
    {
        "digit": np.arange(10),
        "instance": np.arange(N_INSTANCES),
        "rotation": np.linspace(-60.0, 60.0, 9),
        "scale": np.linspace(0.6, 1.0, 5),
        "posX": np.linspace(-1.0, 1.0, 8),
        "posY": np.linspace(-1.0, 1.0, 8),
    }
)

# The image spans [-1, 1] on both axes.
HALF_SIZE = 0.6  # of the 8 x 8 digit at scale 1
MAX_SHIFT = 0.34
FINE = 8  # cells of the enlarged digit for each of its 8 x 8 pixels
CHUNK = 128

DESCR = """\
Digits, moved
-------------

Handwritten digits of scikit-learn's load_digits, 20 of each class, rotated, scaled and shifted:
grey images on the full grid of six factors (576,000 images).

    digit     10   the class, 0 to 9
    instance  20   which handwriting of that class: the first 20 in load_digits
    rotation   9   linspace(-60, 60, 9) degrees, counter-clockwise
    scale      5   linspace(0.6, 1, 5)
    posX       8   linspace(-1, 1, 8), from left to right
    posY       8   linspace(-1, 1, 8), from top to bottom

The order is row-major: posY varies fastest. Digit and instance come from people's handwriting, the
other factors from the computer. Instance means something else for every digit.

Source of the digits: E. Alpaydin and C. Kaynak (1998). Optical Recognition of Handwritten Digits.
UCI Machine Learning Repository.
"""


@lru_cache(maxsize=1)
def _glyphs() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Digits (10, 20, side, side) in [0, 1], enlarged with an empty border, and their rows."""
    digits = load_digits()
    rows = np.stack([np.flatnonzero(digits.target == k)[:N_INSTANCES] for k in range(10)])
    small = np.pad(digits.images[rows] / 16, [(0, 0), (0, 0), (1, 1), (1, 1)])
    # A cubic spline draws round strokes where linear interpolation shows the 8 x 8 cells. It is
    # linear in the pixels, so the enlarged unit vectors are its matrix along either axis.
    unit = np.eye(small.shape[-1])
    spline = zoom(unit, (FINE, 1), order=3, mode="grid-constant", grid_mode=True)
    large = np.clip(spline @ small @ spline.T, 0, 1).astype(np.float32)
    # The spline swings a little beyond the digit; the outermost cells stand for all outside.
    edge = np.ones(large.shape[-1], dtype=bool)
    edge[FINE // 2 : -FINE // 2] = False
    large[..., edge, :] = large[..., edge] = 0
    return large, rows


def _place(target: NDArray[np.int64], image_size: int) -> NDArray[np.uint8]:
    """Sample the glyphs at where the pixels of the moved images come from."""
    glyphs, _ = _glyphs()
    side = glyphs.shape[-1]
    values = {name: v[target[:, i]] for i, (name, v) in enumerate(GRID.values.items())}
    ticks = (2 * np.arange(image_size) + 1) / image_size - 1
    x = ticks[None, None, :] - MAX_SHIFT * values["posX"][:, None, None]
    y = ticks[None, :, None] - MAX_SHIFT * values["posY"][:, None, None]
    angle = np.radians(values["rotation"])[:, None, None]
    # Into the glyph: undo the turn, counter-clockwise on a screen whose y points down.
    reach = HALF_SIZE * values["scale"][:, None, None]
    cells = FINE * 8 / 2 / reach
    column = (np.cos(angle) * x - np.sin(angle) * y) * cells + side / 2 - 0.5
    row = (np.sin(angle) * x + np.cos(angle) * y) * cells + side / 2 - 0.5
    # The border is empty, so what lies outside may be taken from it.
    column, row = np.clip(column, 0, side - 1.001), np.clip(row, 0, side - 1.001)
    left, top = column.astype(np.int32), row.astype(np.int32)
    right, down = (column - left).astype(np.float32), (row - top).astype(np.float32)
    flat = glyphs.reshape(-1)
    start = (target[:, 0] * N_INSTANCES + target[:, 1])[:, None, None] * side**2
    corner = start + top * side + left
    upper = flat[corner] * (1 - right) + flat[corner + 1] * right
    lower = flat[corner + side] * (1 - right) + flat[corner + side + 1] * right
    return (255 * (upper * (1 - down) + lower * down) + 0.5).astype(np.uint8)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_transformed_digits(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[32, 64] = 32,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rotate, scale and shift real handwritten digits, with every factor known.

    20 handwritings of each digit of :func:`~sklearn.datasets.load_digits`, at 9 rotations,
    5 scales and 8 x 8 positions: 576,000 images. Only the images asked for are made.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all (590 MB for the whole set at 32 pixels).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"instance": 0}``, which has one handwriting of
        each digit. Factors that are not named keep all of their classes.

    image_size : {32, 64}, default=32
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

        images : ndarray of shape (n_samples, image_size, image_size), uint8 in 0..255

        data : ndarray of shape (n_samples, image_size ** 2)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 6), int64
            Classes of digit, instance, rotation, scale, posX and posY.

        factor_names : list of str

        factor_sizes : tuple of int
            Number of classes of each factor in the whole set, ``(10, 20, 9, 5, 8, 8)``.
        factor_values : dict of str to ndarray
            The value that each class stands for.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.
        source : ndarray of shape (n_samples,), int64
            Row of each handwriting in ``load_digits()``.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_dsprites : Drawn shapes under the same transformations.

    Notes
    -----
    The digits are enlarged once by a cubic spline and sampled linearly. Instance is nested in
    digit: instance 3 of one digit has nothing in common with instance 3 of another.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_transformed_digits
    >>> digits = make_transformed_digits(100, random_state=0)
    >>> digits.images.shape, digits.images.dtype
    ((100, 32, 32), dtype('uint8'))
    >>> digits.factor_names
    ['digit', 'instance', 'rotation', 'scale', 'posX', 'posY']
    """
    chosen = GRID.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    target = GRID.to_classes(chosen)
    images = np.empty((len(chosen), image_size, image_size), dtype=np.uint8)
    for start in range(0, len(chosen), CHUNK):
        part = slice(start, start + CHUNK)
        images[part] = _place(target[part], image_size)
    if return_X_y:
        return images, target
    source = _glyphs()[1][target[:, 0], target[:, 1]]
    return make_bunch(images, target, GRID.values, DESCR, indices=chosen, source=source)
