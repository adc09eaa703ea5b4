"""Data sets on a full grid, from their real files: dSprites, 3D Shapes, MPI3D."""

from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import (
    Array,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    RandomStateLike,
    validated,
)
from . import _dsprites, _shapes3d
from ._base import FactorGrid, Selection, data_folder, make_bunch
from ._download import RemoteFile, fetch_file
from ._files import open_h5, open_npz_array, read_npz_array, take_rows, unpack_h5


def finish(
    images: NDArray[Any],
    chosen: NDArray[np.int64],
    grid: FactorGrid,
    descr: str,
    return_X_y: bool,
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """What a fetcher of images on a grid returns."""
    target = grid.to_classes(chosen)
    if return_X_y:
        return images, target
    return make_bunch(images, target, grid.values, descr, indices=chosen)


def is_whole(chosen: NDArray[np.int64], n_total: int) -> bool:
    """Whether all rows are wanted, in their order, so that nothing has to be read."""
    return len(chosen) == n_total and bool((np.diff(chosen) == 1).all())


def check_grid(path: Path, name: str, classes: NDArray[Any], grid: FactorGrid) -> None:
    """Verify that the labels in a file are the full grid in row-major order."""
    expected = grid.to_classes(np.arange(len(grid)))
    if classes.shape != expected.shape or (classes != expected).any():
        raise ValueError(
            f"{path} is not the file that this loader expects: {name!r} must be the full grid of "
            f"{', '.join(grid.names)} in row-major order. Delete it and fetch it again."
        )


def check_images(path: Path, images: Any, shape: tuple[int, ...]) -> None:
    """Verify shape and type of the images in a file before anything is read."""
    if images.shape != shape or images.dtype != np.uint8:
        # What was unpacked beside the download may be at fault.
        path = getattr(images, "filename", None) or path
        raise ValueError(
            f"{path} is not the file that this loader expects: images must be uint8 of shape "
            f"{shape}, got {images.dtype} of shape {images.shape}. Delete it and fetch it again."
        )


DSPRITES_FILE = RemoteFile(
    "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    "https://github.com/google-deepmind/dsprites-dataset/raw/master/"
    "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    "md5:7da33b31b13a06f4b04a70402ce90c2e",
)
DSPRITES_GRID = _dsprites.GRID
DSPRITES_DESCR = """\
dSprites
--------

One white shape on black, 64 x 64 pixels, uint8 in {0, 1}, on the full grid of shape 3 (square,
ellipse, heart), scale 6, orientation 40, posX 32 and posY 32: 737,280 images. The sixth factor of
the file, color, has one value and is left out. Orientations 0 and 39 draw the same picture.

Source: L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites: Disentanglement
testing Sprites dataset. Licence: Apache-2.0.
"""


@validated
def fetch_dsprites(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    n_retries: NonNegativeInt = 3,
    delay: NonNegativeFloat = 1.0,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load dSprites from its file, which is downloaded if it is missing (26 MB).

    :func:`make_dsprites` draws the same images without a download, except for a handful of single
    pixels in the whole set.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    data_home : str, path-like or None, default=None
        Folder below which files are kept, in ``sklearn_disent/``; None is scikit-learn's data
        folder, see :func:`sklearn.datasets.get_data_home`.

    download_if_missing : bool, default=True
        Whether a missing file is downloaded. If False, it raises an OSError that says where to
        place the file by hand.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    n_retries : int, default=3
        How often a failed download is tried again. It resumes where it broke off.

    delay : float, default=1.0
        Seconds before the first retry, doubled before each further one.

    progress : bool, default=True
        Whether downloads show a progress bar.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, 64, 64), uint8 in {0, 1}
            The whole set in its order is a read-only memory map, of which nothing is read yet;
            a selection is in memory.

        data : ndarray
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, n_factors), int64
            Classes of the factors.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_dsprites : The same images, drawn.

    Notes
    -----
    The file is compressed; the first call unpacks its images beside it, to 3.02 GB. The pickled
    metadata in it are never read.

    References
    ----------
    .. [1] L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites: Disentanglement
       testing Sprites dataset.

    Examples
    --------
    >>> from sklearn_disent.datasets import fetch_dsprites
    >>> hearts = fetch_dsprites(1000, factors={"shape": 2})  # doctest: +SKIP
    """
    chosen = DSPRITES_GRID.select(
        n_samples, indices, factors, shuffle=shuffle, random_state=random_state
    )
    path = fetch_file(
        DSPRITES_FILE,
        data_folder(data_home) / "dsprites",
        download_if_missing=download_if_missing,
        n_retries=n_retries,
        delay=delay,
        progress=progress,
    )
    classes = read_npz_array(path, "latents_classes")
    check_grid(path, "latents_classes", classes[:, 1:], DSPRITES_GRID)
    images = open_npz_array(path, "imgs")
    check_images(path, images, (len(DSPRITES_GRID), 64, 64))
    if not is_whole(chosen, len(DSPRITES_GRID)):
        images = take_rows(images, chosen)
    return finish(images, chosen, DSPRITES_GRID, DSPRITES_DESCR, return_X_y)


SHAPES3D_FILE = RemoteFile(
    "3dshapes.h5",
    "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
    "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
)
SHAPES3D_GRID = _shapes3d.GRID
SHAPES3D_DESCR = """\
3D Shapes
---------

One solid in a room, RGB, 64 x 64 pixels, uint8, on the full grid of floor_hue 10, wall_hue 10,
object_hue 10, scale 8, shape 4 (cube, cylinder, sphere, capsule) and orientation 15: 480,000
images.

Source: C. Burgess and H. Kim (2018). 3D Shapes Dataset. Licence: Apache-2.0.
"""


@validated
def fetch_shapes3d(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    n_retries: NonNegativeInt = 3,
    delay: NonNegativeFloat = 1.0,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load 3D Shapes from its file, which is downloaded if it is missing (268 MB).

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    data_home : str, path-like or None, default=None
        Folder below which files are kept, in ``sklearn_disent/``; None is scikit-learn's data
        folder, see :func:`sklearn.datasets.get_data_home`.

    download_if_missing : bool, default=True
        Whether a missing file is downloaded. If False, it raises an OSError that says where to
        place the file by hand.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    n_retries : int, default=3
        How often a failed download is tried again. It resumes where it broke off.

    delay : float, default=1.0
        Seconds before the first retry, doubled before each further one.

    progress : bool, default=True
        Whether downloads show a progress bar.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, 64, 64, 3), uint8
            The whole set in its order is a read-only memory map; a selection is in memory.

        data : ndarray
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, n_factors), int64
            Classes of the factors.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_shapes3d : A look-alike without a download.

    Notes
    -----
    Needs h5py (``pip install sklearn-disent[data]``). A part of the set is read from the file
    itself; the whole set is first unpacked beside it, once, to 5.9 GB.

    References
    ----------
    .. [1] C. Burgess and H. Kim (2018). 3D Shapes Dataset.

    Examples
    --------
    >>> from sklearn_disent.datasets import fetch_shapes3d
    >>> spheres = fetch_shapes3d(1000, factors={"shape": 2})  # doctest: +SKIP
    """
    grid = SHAPES3D_GRID
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    path = fetch_file(
        SHAPES3D_FILE,
        data_folder(data_home) / "shapes3d",
        download_if_missing=download_if_missing,
        n_retries=n_retries,
        delay=delay,
        progress=progress,
    )
    with open_h5(path, ("images", "labels")) as file:
        check_images(path, file["images"], (len(grid), 64, 64, 3))
        # Labels are values, not classes: the class is the rank of the value.
        labels = file["labels"][:].round(6)
        columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
        check_grid(path, "labels", np.stack(columns, axis=1), grid)
        if is_whole(chosen, len(grid)):
            images = unpack_h5(file["images"], path.with_name("3dshapes.images.npy"))
        else:
            images = take_rows(file["images"], chosen)
    return finish(images, chosen, grid, SHAPES3D_DESCR, return_X_y)


_MPI3D_URL = "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/"
MPI3D_FILES = {
    version: RemoteFile(f"mpi3d_{version}.npz", f"{_MPI3D_URL}mpi3d_{version}.npz", checksum)
    for version, checksum in {
        "toy": "md5:55889cb7c7dfc655d6e0277beee88868",
        "realistic": "md5:59a6225b88b635365f70c91b3e52f70f",
        "real": "md5:0f33f609918fb5c97996692f91129802",
    }.items()
}
_MPI3D_REST = {
    "object_size": np.array(["small", "large"]),
    "camera_height": np.array(["top", "center", "bottom"]),
    "background_color": np.array(["purple", "sea green", "salmon"]),
    "horizontal_axis": np.arange(40),
    "vertical_axis": np.arange(40),
}
# The usual set of 1,036,800 images, and one of 460,800 with everyday objects.
MPI3D_GRIDS = [
    FactorGrid(
        {
            "object_color": np.array(["white", "green", "red", "blue", "brown", "olive"]),
            "object_shape": np.array(
                ["cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"]
            ),
            **_MPI3D_REST,
        }
    ),
    FactorGrid(
        {
            "object_color": np.array(["yellow", "green", "olive", "red"]),
            "object_shape": np.array(["coffee cup", "tennis ball", "croissant", "beer cup"]),
            **_MPI3D_REST,
        }
    ),
]
MPI3D_DESCR = """\
MPI3D ({version})
-----------------

An object at the tip of a robot arm, RGB, 64 x 64 pixels, uint8, on the full grid of object_color,
object_shape, object_size 2, camera_height 3, background_color 3, horizontal_axis 40 and
vertical_axis 40: {n_images:,} images. Versions: toy (simple rendering), realistic (rendering), real
(photographs).

Source: M. W. Gondal et al. (2019). On the Transfer of Inductive Bias from Simulation to the Real
World: a New Disentanglement Dataset. NeurIPS. Licence: CC BY 4.0.
"""


@validated
def fetch_mpi3d(
    n_samples: PositiveInt | None = None,
    *,
    version: Literal["toy", "realistic", "real"] = "toy",
    indices: Array | None = None,
    factors: Selection | None = None,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    n_retries: NonNegativeInt = 3,
    delay: NonNegativeFloat = 1.0,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load MPI3D from one of its files, which is downloaded if it is missing (up to 12 GB).

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    version : {"toy", "realistic", "real"}, default="toy"
        Simple rendering, realistic rendering, or photographs.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    data_home : str, path-like or None, default=None
        Folder below which files are kept, in ``sklearn_disent/``; None is scikit-learn's data
        folder, see :func:`sklearn.datasets.get_data_home`.

    download_if_missing : bool, default=True
        Whether a missing file is downloaded. If False, it raises an OSError that says where to
        place the file by hand.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    n_retries : int, default=3
        How often a failed download is tried again. It resumes where it broke off.

    delay : float, default=1.0
        Seconds before the first retry, doubled before each further one.

    progress : bool, default=True
        Whether downloads show a progress bar.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, 64, 64, 3), uint8
            The whole set in its order is a read-only memory map, of which nothing is read yet;
            a selection is in memory.

        data : ndarray
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, n_factors), int64
            Classes of the factors.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each image in the whole set.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    Notes
    -----
    An uncompressed file is mapped where it is; the images of a compressed one are first unpacked
    beside it, once, to 12.7 GB. The file has no labels: the grid follows from the number of
    images. A file of 460,800 images is taken to be the set of everyday objects, whose colours and
    shapes are then the values of these factors.

    References
    ----------
    .. [1] M. W. Gondal et al. (2019). On the Transfer of Inductive Bias from Simulation to the
       Real World: a New Disentanglement Dataset. NeurIPS.

    Examples
    --------
    >>> from sklearn_disent.datasets import fetch_mpi3d
    >>> robot = fetch_mpi3d(1000, version="real")  # doctest: +SKIP
    """
    path = fetch_file(
        MPI3D_FILES[version],
        data_folder(data_home) / "mpi3d",
        download_if_missing=download_if_missing,
        n_retries=n_retries,
        delay=delay,
        progress=progress,
    )
    images = open_npz_array(path, "images")
    grid = next((g for g in MPI3D_GRIDS if len(g) == len(images)), MPI3D_GRIDS[0])
    check_images(path, images, (len(grid), 64, 64, 3))
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    if not is_whole(chosen, len(grid)):
        images = take_rows(images, chosen)
    descr = MPI3D_DESCR.format(version=version, n_images=len(grid))
    return finish(images, chosen, grid, descr, return_X_y)
