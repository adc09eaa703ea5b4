"""Data sets from files that a user has: dSprites, 3D Shapes, MPI3D, Cars3D, smallNORB."""

from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import Array, PositiveInt, RandomStateLike, loads
from ._base import Selection, finish
from ._fetch import DSPRITES_FILE, SHAPES3D_FILE
from ._fetch_photos import CARS3D_FILE, NORB_FILES
from ._readers import (
    CARS3D_DESCR,
    CARS3D_GRID,
    DSPRITES_DESCR,
    DSPRITES_GRID,
    MPI3D_DESCR,
    MPI3D_GRIDS,
    NORB_DESCR,
    NORB_VALUES,
    SHAPES3D_DESCR,
    SHAPES3D_GRID,
    find_cars,
    find_file,
    find_norb,
    norb_grid,
    norb_splits,
    open_mpi3d,
    read_cars3d,
    read_dsprites,
    read_shapes3d,
    read_smallnorb,
    take,
)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_dsprites(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load dSprites from a file that you have.

    Parameters
    ----------
    path : str or path-like
        The npz file, under any name, or the folder that holds it under its usual one.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

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
    fetch_dsprites : Downloads the file.
    make_dsprites : The same images, drawn.

    Notes
    -----
    The file is compressed; at the first call its images are unpacked beside it, to 3.02 GB, and
    again when the file changes. What is in it is checked (shape, type, the grid of labels), its
    checksum is not. The pickled metadata in it are never read.

    References
    ----------
    .. [1] L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites: Disentanglement
       testing Sprites dataset.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_dsprites
    >>> hearts = load_dsprites("dsprites.npz", 1000, factors={"shape": 2})  # doctest: +SKIP
    """
    grid = DSPRITES_GRID
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    images = read_dsprites(find_file(path, DSPRITES_FILE.name), grid, chosen)
    return finish(images, chosen, grid, DSPRITES_DESCR, return_X_y)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_shapes3d(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load 3D Shapes from a file that you have.

    Parameters
    ----------
    path : str or path-like
        The HDF5 file, under any name, or the folder that holds it under its usual one.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

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
    fetch_shapes3d : Downloads the file.
    make_shapes3d : A look-alike without a download.

    Notes
    -----
    Needs h5py (``pip install sklearn-disent[data]``). A part of the set is read from the file
    itself; the whole set is first unpacked beside it, to 5.9 GB, and again when the file changes.
    What is in the file is checked (shape, type, the grid of labels), its checksum is not.

    References
    ----------
    .. [1] C. Burgess and H. Kim (2018). 3D Shapes Dataset.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_shapes3d
    >>> spheres = load_shapes3d("3dshapes.h5", 1000, factors={"shape": 2})  # doctest: +SKIP
    """
    grid = SHAPES3D_GRID
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    images = read_shapes3d(find_file(path, SHAPES3D_FILE.name), grid, chosen)
    return finish(images, chosen, grid, SHAPES3D_DESCR, return_X_y)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_mpi3d(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load MPI3D from a file that you have, of any of its versions.

    Parameters
    ----------
    path : str or path-like
        The npz file, under any name.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

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

    See Also
    --------
    fetch_mpi3d : Downloads the file.

    Notes
    -----
    An uncompressed file is mapped where it is; the images of a compressed one are first unpacked
    beside it, once, to 12.7 GB. The file has no labels: the grid follows from the number of
    images, 1,036,800 or 460,800 (everyday objects). Shape and type are checked, its checksum is
    not.

    References
    ----------
    .. [1] M. W. Gondal et al. (2019). On the Transfer of Inductive Bias from Simulation to the
       Real World: a New Disentanglement Dataset. NeurIPS.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_mpi3d
    >>> robot = load_mpi3d("mpi3d_real.npz", 1000)  # doctest: +SKIP
    """
    file = find_file(path, "mpi3d_<version>.npz")
    images, grid = open_mpi3d(file, MPI3D_GRIDS)
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    descr = MPI3D_DESCR.format(version=file.name, n_images=len(grid))
    return finish(take(images, chosen), chosen, grid, descr, return_X_y)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_cars3d(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[64, 128] = 64,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load Cars3D from its archive, or from what was unpacked from it.

    Parameters
    ----------
    path : str or path-like
        The archive, under any name, the folder that holds it under its usual one, or the folder
        in which it was unpacked.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    image_size : {64, 128}, default=64
        Side of the images; the files have 128.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size, 3), uint8
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
    fetch_cars3d : Downloads the archive.

    Notes
    -----
    Scaling needs pillow (``pip install sklearn-disent[data]``). The stacked images are written
    beside the archive or into its folder, once, 216 MB at 64 pixels. The models are numbered in
    the order of the list in the archive. Shape and type are checked, the checksum is not.

    References
    ----------
    .. [1] S. Reed, Y. Zhang, Y. Zhang and H. Lee (2015). Deep Visual Analogy-Making. NIPS.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_cars3d
    >>> cars = load_cars3d("data/cars", factors={"object_type": [0, 1]})  # doctest: +SKIP
    """
    grid = CARS3D_GRID
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    images = read_cars3d(find_cars(path, CARS3D_FILE.name), grid, image_size, chosen)
    return finish(images, chosen, grid, CARS3D_DESCR, return_X_y)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_smallnorb(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    subset: Literal["train", "test", "all"] = "train",
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[64, 96] = 64,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load smallNORB from a folder of its files.

    Parameters
    ----------
    path : str or path-like
        The folder of the files, under their usual names, compressed or not.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from the whole set or from the part that
        `factors` selects. None takes them all.

    subset : {"train", "test", "all"}, default="train"
        Training set, test set, or both. They show different instances of the same categories.

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    image_size : {64, 96}, default=64
        Side of the images; the files have 96.

    shuffle : bool, default=False
        Whether the images come in random or in row-major order. Shuffle, or use a shuffling
        splitter, for cross-validation. `indices` always keep their order.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size), uint8
            From the left camera.

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
    fetch_smallnorb : Downloads the files.

    Notes
    -----
    Scaling needs pillow (``pip install sklearn-disent[data]``). The rows of the files are in
    random order; here they are sorted by factors. Instance is nested in category: instance 4 means
    unrelated toys in two categories. Shape, type and labels are checked, checksums are not.

    References
    ----------
    .. [1] Y. LeCun, F. J. Huang and L. Bottou (2004). Learning Methods for Generic Object
       Recognition with Invariance to Pose and Lighting. CVPR.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_smallnorb
    >>> cars = load_smallnorb("norb", factors={"category": 4})  # doctest: +SKIP
    """
    grid = norb_grid(NORB_VALUES, subset)
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    splits = [
        find_norb(path, {part: NORB_FILES[split, part].name for part in ("dat", "cat", "info")})
        for split in norb_splits(subset)
    ]
    images = read_smallnorb(splits, grid, image_size, chosen)
    return finish(images, chosen, grid, NORB_DESCR, return_X_y)
