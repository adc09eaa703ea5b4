"""Data sets of pictures of objects, from their real files: Cars3D and smallNORB."""

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
from ._base import Selection, finish
from ._download import Downloads, RemoteFile
from ._readers import (
    CARS3D_DESCR,
    CARS3D_GRID,
    NORB_DESCR,
    NORB_VALUES,
    norb_grid,
    norb_splits,
    read_cars3d,
    read_smallnorb,
)

CARS3D_FILE = RemoteFile(
    "nips2015-analogy-data.tar.gz",
    (
        "https://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
        "https://www-personal.umich.edu/~reedscot/files/nips2015-analogy-data.tar.gz",
    ),
    "md5:4e866a7919c1beedf53964e6f7a23686",
    max_size=2_000_000_000,
)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def fetch_cars3d(
    n_samples: PositiveInt | None = None,
    *,
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[64, 128] = 64,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    n_retries: NonNegativeInt = 3,
    delay: NonNegativeFloat = 1.0,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load Cars3D from its archive, which is downloaded if it is missing.

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

    image_size : {64, 128}, default=64
        Side of the images; the files have 128.

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
    load_cars3d : From an archive or a folder that you have.

    Notes
    -----
    Files are fetched over https alone. If the server of Cars3D does not answer it, download the
    archive over http and place it where the message says: its checksum is verified in any case.

    Scaling needs pillow (``pip install sklearn-disent[data]``). The archive is never unpacked; it
    is read, and the stacked images are written beside it, 216 MB at 64 pixels. The models are
    numbered in the order of the list in the archive.

    References
    ----------
    .. [1] S. Reed, Y. Zhang, Y. Zhang and H. Lee (2015). Deep Visual Analogy-Making. NIPS.

    Examples
    --------
    >>> from sklearn_disent.datasets import fetch_cars3d
    >>> cars = fetch_cars3d(factors={"object_type": [0, 1]})  # doctest: +SKIP
    """
    grid = CARS3D_GRID
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    downloads = Downloads("cars3d", data_home, download_if_missing, n_retries, delay, progress)
    images = read_cars3d(downloads.fetch(CARS3D_FILE), grid, image_size, chosen)
    return finish(images, chosen, grid, CARS3D_DESCR, return_X_y)


_NORB_URL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
_NORB_STEMS = {
    "train": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "test": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
# Size and sha256 of each file.
_NORB_CONTENTS = {
    "train": {
        "dat": (131896188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
        "cat": (348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
        "info": (71052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    },
    "test": {
        "dat": (130799817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
        "cat": (347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
        "info": (10428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
    },
}
NORB_FILES = {
    (split, part): RemoteFile(
        f"{_NORB_STEMS[split]}-{part}.mat.gz",
        (f"{_NORB_URL}{_NORB_STEMS[split]}-{part}.mat.gz",),
        f"sha256:{digest}",
        size=size,
    )
    for split, contents in _NORB_CONTENTS.items()
    for part, (size, digest) in contents.items()
}


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def fetch_smallnorb(
    n_samples: PositiveInt | None = None,
    *,
    subset: Literal["train", "test", "all"] = "train",
    indices: Array | None = None,
    factors: Selection | None = None,
    image_size: Literal[64, 96] = 64,
    data_home: str | PathLike[str] | None = None,
    download_if_missing: bool = True,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    n_retries: NonNegativeInt = 3,
    delay: NonNegativeFloat = 1.0,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load smallNORB from its files, which are downloaded if missing (132 MB per subset).

    Parameters
    ----------
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
    load_smallnorb : From files that you have.

    Notes
    -----
    Scaling needs pillow (``pip install sklearn-disent[data]``). The files are named .mat, but have
    a format of their own. Their rows are in random order; here they are sorted by factors.
    Instance is nested in category: instance 4 means unrelated toys in two categories.

    References
    ----------
    .. [1] Y. LeCun, F. J. Huang and L. Bottou (2004). Learning Methods for Generic Object
       Recognition with Invariance to Pose and Lighting. CVPR.

    Examples
    --------
    >>> from sklearn_disent.datasets import fetch_smallnorb
    >>> cars = fetch_smallnorb(factors={"category": 4})  # doctest: +SKIP
    """
    grid = norb_grid(NORB_VALUES, subset)
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    downloads = Downloads("smallnorb", data_home, download_if_missing, n_retries, delay, progress)
    splits = [
        {part: downloads.fetch(NORB_FILES[split, part]) for part in ("dat", "cat", "info")}
        for split in norb_splits(subset)
    ]
    images = read_smallnorb(splits, grid, image_size, chosen)
    return finish(images, chosen, grid, NORB_DESCR, return_X_y)
