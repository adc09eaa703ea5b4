"""A ray-cast stand-in for 3D Faces: heads that turn and nod under a moving light."""

import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import Array, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection, data_folder, finish
from ._dsprites import sums_of_four
from ._faces3d_head import SIDE, people, view

GRID = FactorGrid(
    {
        "identity": np.arange(50),
        "azimuth": np.linspace(-60.0, 60.0, 21),
        "elevation": np.linspace(-30.0, 30.0, 11),
        "lighting": np.linspace(-75.0, 75.0, 11),
    }
)
VIEWS = FactorGrid({name: GRID.values[name] for name in ("azimuth", "elevation")})

LIGHT_HEIGHT = 25.0  # degrees above the camera
AMBIENT = 0.18
WRAP = 0.15  # how far light reaches around an edge: skin is not stone

CACHE_NAME = "faces3d_like_v1_{identity:02d}.npy"

DESCR = """\
A stand-in for 3D Faces
-----------------------

A head on black, grey, 64 x 64 pixels, uint8, on the full grid of four factors (127,050 images):

    identity   50   0 to 49: proportions and tones
    azimuth    21   linspace(-60, 60, 21) degrees: the face turns from the left to the right
    elevation  11   linspace(-30, 30, 11) degrees: it nods from down to up
    lighting   11   linspace(-75, 75, 11) degrees: where the light comes from, left to right

The order is row-major: lighting varies fastest. Factors, sizes and order are those of the 3D Faces
of Chen, Li, Grosse and Duvenaud (2018), rendered from the model of Paysan et al. (2009), which may
not be passed on. These are not its images, nor scans of people: each head is a union of 19
ellipsoids, ray-cast, with a surface shaded smooth. There, as usual, identity is left out of the
factors that are evaluated: use target[:, 1:].

Source of the original: R. T. Q. Chen, X. Li, R. Grosse and D. Duvenaud (2018). Isolating Sources of
Disentanglement in Variational Autoencoders. NeurIPS. P. Paysan, R. Knothe, B. Amberg, S. Romdhani
and T. Vetter (2009). A 3D Face Model for Pose and Illumination Invariant Face Recognition. AVSS.
"""


class _ViewTable:
    """Views of the heads: cast when first needed and kept in memory; whole heads on disk."""

    def __init__(self) -> None:
        self.single: dict[tuple[int, int], NDArray[np.uint8]] = {}
        self.whole: dict[int, NDArray[np.uint8]] = {}

    def get(
        self, identity: int, needed: NDArray[np.int64], folder: Path | None
    ) -> dict[int, NDArray[np.uint8]]:
        """The needed views of a head, by their number."""
        if identity not in self.whole and folder is not None:
            self._load(identity, folder / CACHE_NAME.format(identity=identity))
        if identity in self.whole:
            return {index: self.whole[identity][index] for index in needed.tolist()}
        # A head of which most views are needed is cast whole, so that it can be kept.
        many = folder is not None and len(needed) > len(VIEWS) / 2
        for index in range(len(VIEWS)) if many else needed.tolist():
            if (identity, index) not in self.single:
                angles = (float(v[c]) for v, c in zip(VIEWS.values.values(), VIEWS_OF[index]))
                self.single[identity, index] = view(people(GRID.sizes[0])[identity], *angles)
        if many and folder is not None:
            self._save(identity, folder / CACHE_NAME.format(identity=identity))
        return {index: self.single[identity, index] for index in needed.tolist()}

    def _load(self, identity: int, file: Path) -> None:
        try:
            stored = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return  # absent or damaged: cast again
        if stored.shape == (len(VIEWS), SIDE, SIDE, 3) and stored.dtype == np.uint8:
            self.whole[identity] = stored

    def _save(self, identity: int, file: Path) -> None:
        views = np.stack([self.single[identity, index] for index in range(len(VIEWS))])
        # A cache that cannot be written costs time, nothing else.
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".npy")
            with os.fdopen(handle, "wb") as stream:
                np.save(stream, views)
            os.replace(temporary, file)
        except OSError:
            return


VIEWS_OF = VIEWS.to_classes(np.arange(len(VIEWS))).tolist()
_TABLE = _ViewTable()


def _lights() -> NDArray[np.float32]:
    """Directions (11, 3) from which light comes."""
    around, above = np.radians(GRID.values["lighting"]), np.radians(LIGHT_HEIGHT)
    level = np.cos(above)
    rows = [np.sin(around) * level, np.full(len(around), np.sin(above)), np.cos(around) * level]
    return np.stack(rows, axis=1).astype(np.float32)


def _shade(table: NDArray[np.uint8], lights: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Pictures (n, 64, 64) of one view under n lights."""
    tone, x, y = np.moveaxis(table.astype(np.float32), -1, 0)
    x, y = (x - 128) / 127, (y - 128) / 127
    z = np.sqrt(np.maximum(1 - x * x - y * y, 0))
    facing = lights @ np.stack([x, y, z]).reshape(3, -1)
    lit = np.maximum((facing + np.float32(WRAP)) / np.float32(1 + WRAP), 0)
    lit *= np.float32(1 - AMBIENT)
    lit += np.float32(AMBIENT)
    lit *= tone.ravel()
    return np.rint(lit).astype(np.uint8).reshape(-1, SIDE, SIDE)


def _render(target: NDArray[np.int64], image_size: int, folder: Path | None) -> NDArray[np.uint8]:
    """Light the views of the classes, head by head into one array."""
    images = np.empty((len(target), image_size, image_size), dtype=np.uint8)
    lights = _lights()
    geometry = target[:, 0] * len(VIEWS) + VIEWS.to_indices(target[:, 1:3])
    order = np.argsort(geometry, kind="stable")
    starts = np.flatnonzero(np.diff(geometry[order], prepend=-1))
    groups = np.split(order, starts[1:])
    found = geometry[order[starts]]
    views: dict[int, NDArray[np.uint8]] = {}
    head = -1
    for index, rows in zip(found.tolist(), groups):
        identity, number = divmod(index, len(VIEWS))
        if identity != head:
            own = found[found // len(VIEWS) == identity] % len(VIEWS)
            views, head = _TABLE.get(identity, own, folder), identity
        pictures = _shade(views[number], lights[target[rows, 3]])
        if image_size != SIDE:
            images[rows] = (sums_of_four(pictures) + 2) >> 2
        else:
            images[rows] = pictures
    return images


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_faces3d_like(
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
    """Render a stand-in for 3D Faces, or a part of it.

    A head at every combination of 50 identities, 21 azimuths, 11 elevations and 11 directions of
    light: 127,050 grey images with the factors, the sizes and the order of the 3D Faces of [1]_.
    They are not its images, which come from a model of scanned faces that may not be passed on:
    each head is ray-cast from 19 ellipsoids.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all (520 MB for the whole set at 64 pixels).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name: ``{"identity": 0, "lighting": 5}`` leaves the two factors
        of pose. Factors that are not named keep all of their classes.

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
        Whether heads of which more than half of the 231 views are needed are kept in files, of
        2.8 MB for each of the 50 identities. Casting the views of one head takes about 1.5
        seconds; they are kept in memory in any case.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size), uint8 in 0..255

        data : ndarray of shape (n_samples, image_size ** 2)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 4), int64
            Classes of identity, azimuth, elevation and lighting.

        factor_names : list of str

        factor_sizes : tuple of int
            Number of classes of each factor in the whole set, ``(50, 21, 11, 11)``.
        factor_values : dict of str to ndarray
            The value that each class stands for: a number, and angles in degrees.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_shapes3d : Coloured solids in a room.
    load_celeba : Photographs of faces, from your own copy.

    Notes
    -----
    The paper [1]_ does not evaluate identity, which is "treated as noise": pass
    ``target[:, 1:]`` to metrics to do the same. Its Figure 5 keeps all factors but pose fixed.

    The light moves with the camera, not with the head. It casts no shadows. Where parts of a head
    meet, their normals are blended, so that the surface is shaded as if it were one. One core casts
    some 150 views in a second, each of which serves 11 lights, and lights 20,000 images in a second
    of views that are known: the whole set takes a minute and a half at first, then some seconds.

    References
    ----------
    .. [1] R. T. Q. Chen, X. Li, R. Grosse and D. Duvenaud (2018). Isolating Sources of
       Disentanglement in Variational Autoencoders. NeurIPS.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_faces3d_like
    >>> faces = make_faces3d_like(50, factors={"identity": 3, "elevation": 5}, random_state=0)
    >>> faces.images.shape, faces.images.dtype
    ((50, 64, 64), dtype('uint8'))
    >>> faces.factor_names
    ['identity', 'azimuth', 'elevation', 'lighting']
    """
    chosen = GRID.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    folder = data_folder(data_home) if cache else None
    images = _render(GRID.to_classes(chosen), image_size, folder)
    return finish(images, chosen, GRID, DESCR, return_X_y)
