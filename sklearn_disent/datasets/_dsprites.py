"""dSprites, drawn again pixel by pixel from its geometry."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import Array, PositiveInt, RandomStateLike, loads
from . import _sprite_variants as variants
from ._base import FactorGrid, Selection, make_bunch
from ._noise import noise_key

GRID = FactorGrid(
    {
        "shape": np.array(["square", "ellipse", "heart"]),
        "scale": np.linspace(0.5, 1.0, 6),
        "orientation": np.linspace(0.0, 2 * np.pi, 40),
        "posX": np.linspace(0.0, 1.0, 32),
        "posY": np.linspace(0.0, 1.0, 32),
    }
)

SIDE = 64
HALF_SIZE = 9.6  # of the square at scale 1, in pixels
SUBPIXEL = 256  # a GPU snaps vertices to 1/256 of a pixel before it fills a polygon
CHUNK = 512  # images drawn at once: their edges fit in the cache

DESCR = """\
dSprites, rendered
------------------

One white shape on black, 64 x 64 pixels, on the full grid of five factors (737,280 images):

    shape        3   square, ellipse, heart
    scale        6   linspace(0.5, 1, 6)
    orientation 40   linspace(0, 2 pi, 40) with both ends, so 0 and 39 draw the same picture
    posX        32   linspace(0, 1, 32), 0 is left
    posY        32   linspace(0, 1, 32), 0 is top

The order is row-major: posY varies fastest. The sixth factor of the original files, color, has one
value and is left out.

How exact it is: the geometry was recovered from the public animation of the data set and checked
on images that played no part in the fit. 12 labelled originals and the first 1000 images agree in
every pixel. Over the whole set there are 128,328,864 white pixels against 128,328,862 published,
so a handful of the 737,280 images differ from the original by one pixel. 715,706 images are
distinct, mostly because orientations 0 and 39 coincide.

At image_size=32, images are float32 means of 2 x 2 pixels, in {0, 0.25, 0.5, 0.75, 1}; as uint8
they are in {0, 64, 128, 191, 255}.

Source of the original: L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites:
Disentanglement testing Sprites dataset. Licence: Apache-2.0.
"""


def _outline(shape: int) -> NDArray[np.float64]:
    """Vertices (n_vertices, 2) of a shape at scale 1 and angle 0: u to the right, v down."""
    if shape == 0:
        return HALF_SIZE * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if shape == 1:
        t = 2 * np.pi * np.arange(100) / 100
        return np.stack([1.33 * HALF_SIZE * np.cos(t), HALF_SIZE / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    lobes = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([HALF_SIZE * np.sin(t) ** 3, HALF_SIZE * (-0.15 - lobes / 14.5)], axis=1)


@lru_cache(maxsize=3)
def _offsets(shape: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Vertex offsets from the centre, each (n_scales * n_orientations, n_vertices), y down."""
    scale = GRID.values["scale"][:, None, None, None]
    theta = GRID.values["orientation"][None, :, None]
    u, v = np.moveaxis(scale * _outline(shape), -1, 0)
    # Counter-clockwise on a screen whose y points down.
    dx = np.cos(theta) * u + np.sin(theta) * v
    dy = -np.sin(theta) * u + np.cos(theta) * v
    n_vertices = u.shape[-1]
    return dx.reshape(-1, n_vertices), dy.reshape(-1, n_vertices)


def _snap(coordinates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Nearest multiple of 1/256 pixel, halves up, in units of 1/256 pixel."""
    return np.floor(SUBPIXEL * coordinates + 0.5).astype(np.int64)


def _draw_rows(shape: int, classes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Draw images of one shape as bits: (n, 64) rows whose bit c is the pixel of column c.

    Fills by the even-odd rule at pixel centres. From the snapped vertices on, everything is
    integer, so no rounding can decide a pixel.
    """
    n_images = len(classes)
    dx, dy = _offsets(shape)
    pose = classes[:, 1] * len(GRID.values["orientation"]) + classes[:, 2]
    centre_x = 16 + 32 * GRID.values["posX"][classes[:, 3], None]
    centre_y = 16 + 32 * GRID.values["posY"][classes[:, 4], None]
    x0 = _snap(centre_x + dx[pose])
    y0 = _snap(SIDE - (centre_y + dy[pose]))  # the fill rules below hold for y up
    x1, y1 = np.roll(x0, -1, axis=1), np.roll(y0, -1, axis=1)

    # An edge covers the rows with lo <= row + 1/2 < hi, so horizontal edges cover none.
    half = SUBPIXEL // 2
    first = -((half - np.minimum(y0, y1)) // SUBPIXEL)
    n_rows = -((half - np.maximum(y0, y1)) // SUBPIXEL) - first
    edge = np.repeat(np.arange(n_rows.size), n_rows.ravel())
    step = np.arange(len(edge)) - np.repeat(np.cumsum(n_rows) - n_rows.ravel(), n_rows.ravel())
    row = first.ravel()[edge] + step

    # A row toggles from the first column with column + 1/2 >= x, x on the edge at row + 1/2:
    # column = ceil(x - 1/2), with x = x0 + (row + 1/2 - y0) (x1 - x0) / (y1 - y0).
    ex, ey = x0.ravel()[edge], y0.ravel()[edge]
    run, rise = x1.ravel()[edge] - ex, y1.ravel()[edge] - ey
    numerator = (ex - half) * rise + (SUBPIXEL * row + half - ey) * run
    column = -((-numerator) // (SUBPIXEL * rise))

    bits = np.zeros(n_images * SIDE, dtype=np.uint64)
    place = edge // n_rows.shape[1] * SIDE + (SIDE - 1 - row)
    toggles = np.uint64(0xFFFFFFFFFFFFFFFF) << column.astype(np.uint64)
    np.bitwise_xor.at(bits, place, toggles)
    return bits.reshape(n_images, SIDE)


def sums_of_four(images: NDArray[np.uint8], unit: int = 255) -> NDArray[np.uint16]:
    """Sums of 2 x 2 pixels; `unit` is the largest value of a pixel."""
    narrow = images if unit == 1 else images.astype(np.uint16)
    halves = narrow[:, ::2] + narrow[:, 1::2]
    return halves[:, :, ::2] + halves[:, :, 1::2]


def _finish(
    images: NDArray[np.uint8], image_size: int, dtype: str | None, unit: int
) -> NDArray[Any]:
    """Bring images of pixels in 0..unit to their size and type."""
    if image_size == SIDE:
        return images * np.float32(1 / unit) if dtype == "float32" else images
    sums = sums_of_four(images, unit)
    if dtype == "uint8":
        return np.array([0, 64, 128, 191, 255], np.uint8)[sums] if unit == 1 else (sums + 2) >> 2
    return sums * np.float32(0.25 / unit)


def _render(
    indices: NDArray[np.int64],
    image_size: int,
    dtype: str | None = None,
    paint: Callable[..., NDArray[np.uint8]] | None = None,
) -> NDArray[Any]:
    """Draw the images of row-major indices, chunk by chunk into one array."""
    shape_of = indices // (len(GRID) // GRID.sizes[0])
    if dtype is None:
        dtype = "uint8" if image_size == SIDE or paint is not None else "float32"
    channels = () if paint is None else (3,)
    images = np.empty((len(indices), image_size, image_size, *channels), dtype=dtype)
    for shape in range(GRID.sizes[0]):
        rows = np.flatnonzero(shape_of == shape)
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            bits = _draw_rows(shape, GRID.to_classes(indices[chunk]))
            octets = bits.astype("<u8", copy=False).view(np.uint8)
            drawn = np.unpackbits(octets, bitorder="little").reshape(-1, SIDE, SIDE)
            if paint is not None:
                drawn = paint(drawn, indices[chunk])
            images[chunk] = _finish(drawn, image_size, dtype, 1 if paint is None else 255)
    return images


@loads(tuple[NDArray[Any], NDArray[np.int64]])
def make_dsprites(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[32, 64] = 64,
    dtype: Literal["uint8", "float32"] | None = None,
    color: variants.Color | None = None,
    background: variants.Background | None = None,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw dSprites, or a part of it, without a download.

    One white square, ellipse or heart on black, at every combination of 6 scales,
    40 orientations and 32 x 32 positions: 737,280 images. Only the selected images are drawn.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all (3.02 GB for the whole set at 64 pixels).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images to draw, in this order, repeats allowed. Excludes
        `n_samples` and `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"shape": [0], "orientation": [0]}``. Factors
        that are not named keep all of their classes.

    image_size : {32, 64}, default=64
        Side of the images. 64 gives the images of the data set, uint8 in {0, 1}; 32 gives means
        of 2 x 2 pixels, float32 in [0, 1].

    dtype : {"uint8", "float32"} or None, default=None
        Type of the images. None is uint8 at 64 pixels and in the variants with `color` or
        `background`, float32 otherwise. At 32 pixels the whole set takes 3.02 GB as float32 and
        0.75 GB as uint8, with the values round(255 k / 4). uint8 images lie in 0..255, float32
        ones in [0, 1]; only plain images of 64 pixels are uint8 in {0, 1}, as in the data set.

    color : {"random"} or None, default=None
        "random" gives each sprite a color of its own, each channel uniform on [0.5, 1]: the color
        dSprites of [2]_. The images are then RGB. The color is not a factor: it depends on
        `random_state` and on the index of the image, and not on what is drawn with it.

    background : {"noise", "texture"} or None, default=None
        What takes the place of black; the images are then RGB. "noise" is uniform in every channel
        of every pixel: the noisy dSprites of [2]_. "texture" is a random part of a picture,
        averaged with a random tint, and the sprite is drawn by inverting it, unless it has a
        `color`: as the Scream dSprites of [2]_, but with a picture that is painted by a formula
        instead of Munch's. It depends on `random_state` and on the index of the image.

    shuffle : bool, default=True
        Whether the images come in random order. An integer `cv` in scikit-learn means KFold
        without shuffling, whose folds would lack whole factor values in row-major order. Without
        shuffling, a draw of `n_samples` is returned in row-major order. `indices` always keep
        their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size)
            With `color` or `background`, of shape (n_samples, image_size, image_size, 3).

        data : ndarray of shape (n_samples, n_features)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 5), int64
            Classes of shape, scale, orientation, posX and posY.

        factor_names : list of str

        factor_sizes : tuple of int
            Number of classes of each factor in the whole set, ``(3, 6, 40, 32, 32)``.
        factor_values : dict of str to ndarray
            The value that each class stands for: the shape's name, the scale, the angle in radians,
            the position in [0, 1].
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.
        colors : ndarray of shape (n_samples, 3), uint8
            Colors of the sprites, if `color` is "random".

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True. X is the images, not the flattened data, since the models of this
        package take images; ``images.reshape(len(images), -1)`` is what PCA takes.

    See Also
    --------
    fetch_dsprites : The original file.
    make_shapes3d : Coloured solids in a room.

    Notes
    -----
    The geometry was recovered from the public animation of the data set and checked on images
    that played no part in the fit: 12 labelled originals and the first 1000 images agree in every
    pixel. Over the whole set the count of white pixels is 128,328,864 against 128,328,862
    published, so expect a handful of 1-pixel differences in 737,280 images.

    Outlines are filled as a graphics card does: vertices snapped to 1/256 pixel, the even-odd
    rule at pixel centres. One core draws some 30,000 images in a second, and 10,000 to 20,000 with
    `color` or `background`.

    References
    ----------
    .. [1] L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites: Disentanglement
       testing Sprites dataset.
    .. [2] F. Locatello, S. Bauer, M. Lucic, G. Rätsch, S. Gelly, B. Schölkopf and O. Bachem (2019).
       Challenging Common Assumptions in the Unsupervised Learning of Disentangled
       Representations. ICML.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_dsprites
    >>> sprites = make_dsprites(100, factors={"orientation": 0}, random_state=0)
    >>> sprites.images.shape, sprites.images.dtype
    ((100, 64, 64), dtype('uint8'))
    >>> sprites.factor_names
    ['shape', 'scale', 'orientation', 'posX', 'posY']
    >>> sprites.target.max(axis=0)
    array([ 2,  5,  0, 31, 31])
    >>> make_dsprites(5, color="random", background="noise", random_state=0).images.shape
    (5, 64, 64, 3)
    """
    chosen = GRID.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    target = GRID.to_classes(chosen)
    if color is None and background is None:
        images, descr, fields = _render(chosen, image_size, dtype), DESCR, {}
    else:
        key = noise_key(random_state)
        dress = partial(variants.paint, color=color, background=background, key=key)
        images, descr = _render(chosen, image_size, dtype, dress), DESCR + variants.DESCR
        fields = {"colors": variants.sprite_colors(key, chosen)} if color == "random" else {}
    if return_X_y:
        return images, target
    return make_bunch(images, target, GRID.values, descr, indices=chosen, **fields)
