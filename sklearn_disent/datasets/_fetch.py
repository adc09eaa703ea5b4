"""Data sets on a full grid, from their real files: dSprites, 3D Shapes, MPI3D."""

import hashlib
import re
from dataclasses import replace
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import (
    Array,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    RandomStateLike,
    loads,
)
from ._base import Selection, check_factor_selection, finish
from ._download import Downloads, RemoteFile
from ._readers import (
    DSPRITES_DESCR,
    DSPRITES_GRID,
    MPI3D_DESCR,
    MPI3D_GRIDS,
    SHAPES3D_DESCR,
    SHAPES3D_GRID,
    open_mpi3d,
    read_dsprites,
    read_shapes3d,
    take,
)

_DSPRITES_NAME = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
DSPRITES_FILE = RemoteFile(
    _DSPRITES_NAME,
    (
        f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{_DSPRITES_NAME}",
        "https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/master/"
        f"{_DSPRITES_NAME}",
    ),
    "md5:7da33b31b13a06f4b04a70402ce90c2e",
    max_size=40_000_000,
)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
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
    load_dsprites : From a file that you have.
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
    downloads = Downloads("dsprites", data_home, download_if_missing, n_retries, delay, progress)
    images = read_dsprites(downloads.fetch(DSPRITES_FILE), DSPRITES_GRID, chosen)
    return finish(images, chosen, DSPRITES_GRID, DSPRITES_DESCR, return_X_y)


SHAPES3D_FILE = RemoteFile(
    "3dshapes.h5",
    (
        "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
        "https://storage.googleapis.com/storage/v1/b/3d-shapes/o/3dshapes.h5?alt=media",
    ),
    "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    size=267_573_662,
)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
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
    load_shapes3d : From a file that you have.
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
    downloads = Downloads("shapes3d", data_home, download_if_missing, n_retries, delay, progress)
    images = read_shapes3d(downloads.fetch(SHAPES3D_FILE), grid, chosen)
    return finish(images, chosen, grid, SHAPES3D_DESCR, return_X_y)


# Where the authors' page leads to, and where it led in 2024. The checksums are those of the files
# in a bucket that was closed in 2023; whether the files are the same could not be verified.
_MPI3D_HOME = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/"
_MPI3D_BUCKET = "https://storage.googleapis.com/mpi3d_disentanglement_dataset/data/"


def _mpi3d(name: str, checksum: str, old_name: str) -> RemoteFile:
    urls = (_MPI3D_HOME + name, _MPI3D_BUCKET + old_name)
    return RemoteFile(name, urls, checksum, max_size=14_000_000_000, sure=False)


MPI3D_FILES = {
    "toy": _mpi3d("mpi3d_toy.npz", "md5:55889cb7c7dfc655d6e0277beee88868", "mpi3d_toy.npz"),
    "realistic": _mpi3d(
        "mpi3d_realistic.npz", "md5:59a6225b88b635365f70c91b3e52f70f", "mpi3d_realistic.npz"
    ),
    "real": _mpi3d("mpi3d_real.npz", "md5:0f33f609918fb5c97996692f91129802", "real.npz"),
    "real_complex": RemoteFile(
        "mpi3d_real_complex.npz",
        (
            "https://drive.usercontent.google.com/download?export=download&confirm=t"
            "&id=1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm",
            "https://huggingface.co/datasets/randall-lab/mpi3d-complex/resolve/main/"
            "real3d_complicated_shapes_ordered.npz",
        ),
        None,
        max_size=6_500_000_000,
        sure=False,
    ),
}


def _with_checksum(remote: RemoteFile, checksum: str | None) -> RemoteFile:
    """The file with the checksum that the caller asks for."""
    if checksum is None:
        return replace(remote, checksum=None)
    if checksum == "published":
        if remote.checksum is None:
            raise ValueError(
                f"No checksum of {remote.name} was ever published, so that nothing can be "
                "verified. Pass checksum=None to accept what arrives, or the checksum of a copy "
                "that you trust, such as checksum='sha256:...'."
            )
        return remote
    algorithm, _, digest = checksum.partition(":")
    known = algorithm in ("md5", "sha1", "sha256", "sha512")
    if (
        not known
        or not re.fullmatch(r"[0-9a-f]+", digest)
        or (len(digest) != 2 * hashlib.new(algorithm).digest_size)
    ):
        raise ValueError(
            "checksum must be 'published', None, or an algorithm (md5, sha1, sha256 or sha512) and "
            f"a hexadecimal digest in small letters, such as 'sha256:...', got {checksum!r}."
        )
    return replace(remote, checksum=checksum, sure=True)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def fetch_mpi3d(
    n_samples: PositiveInt | None = None,
    *,
    version: Literal["toy", "realistic", "real", "real_complex"] = "toy",
    indices: Array | None = None,
    factors: Selection | None = None,
    checksum: str | None = "published",
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

    version : {"toy", "realistic", "real", "real_complex"}, default="toy"
        Simple rendering, realistic rendering, photographs, or photographs of everyday objects
        (460,800 images instead of 1,036,800).

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of the images, in this order, repeats allowed. Excludes `n_samples` and
        `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name. Factors that are not named keep all of their classes.

    checksum : str or None, default="published"
        What the file must be. "published" is the checksum of the file at its first address, which
        no longer exists; of "real_complex" there is none. A string such as ``"sha256:..."`` is one
        of your own. None accepts any file of the right shape: pass it for a source that you trust.

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

    See Also
    --------
    load_mpi3d : From a file that you have.

    Notes
    -----
    The files moved twice. That those at their present addresses are the same as the first ones
    could not be verified; a file whose checksum differs is kept, but not used unless `checksum`
    says so.

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
    # What is wrong with any grid is said before 12 GB are fetched.
    check_factor_selection(factors, MPI3D_GRIDS[0].names, MPI3D_GRIDS[0].sizes)
    downloads = Downloads("mpi3d", data_home, download_if_missing, n_retries, delay, progress)
    remote = _with_checksum(MPI3D_FILES[version], checksum)
    images, grid = open_mpi3d(downloads.fetch(remote), MPI3D_GRIDS)
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    descr = MPI3D_DESCR.format(version=version, n_images=len(grid))
    return finish(take(images, chosen), chosen, grid, descr, return_X_y)
