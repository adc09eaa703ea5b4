"""Data sets of pictures of objects, from their real files: Cars3D and smallNORB."""

import io
from collections.abc import Mapping
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from sklearn.utils import Bunch

from .._params import (
    Array,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    RandomStateLike,
    validated,
)
from ._base import FactorGrid, Selection, data_folder, import_extra
from ._download import RemoteFile, fetch_file
from ._fetch import check_images, finish, is_whole
from ._files import read_norb, read_tar_members, take_rows, write_npy


def resize_images(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Scale images (n, height, width) or (n, height, width, 3) to squares."""
    if images.shape[1:3] == (size, size):
        return np.ascontiguousarray(images)
    image_module = import_extra("PIL.Image", "pillow", "to scale images")
    scaled = np.empty((len(images), size, size, *images.shape[3:]), dtype=np.uint8)
    for i, image in enumerate(images):
        picture = image_module.fromarray(np.ascontiguousarray(image))
        scaled[i] = np.asarray(picture.resize((size, size), image_module.Resampling.LANCZOS))
    return scaled


CARS3D_FILE = RemoteFile(
    "nips2015-analogy-data.tar.gz",
    "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
    "md5:4e866a7919c1beedf53964e6f7a23686",
)
CARS3D_GRID = FactorGrid(
    {"elevation": np.arange(4), "azimuth": np.arange(24), "object_type": np.arange(183)}
)
CARS3D_DESCR = """\
Cars3D
------

183 car models, seen from 24 azimuths and 4 elevations, RGB, uint8: 17,568 images of 128 x 128
pixels, by default scaled to 64 x 64. object_type numbers the models in the order of the archive's
own list.

Source: S. Reed, Y. Zhang, Y. Zhang and H. Lee (2015). Deep Visual Analogy-Making. NIPS. The models
are from S. Fidler, S. Dickinson and R. Urtasun (2012). 3D Object Detection and Viewpoint Estimation
with a Deformable 3D Cuboid Model. NIPS.
"""
_CARS_FOLDER = PurePosixPath("data/cars")


def _read_car(path: Path, name: str, content: bytes, image_size: int) -> NDArray[np.uint8]:
    """One model (elevation, azimuth, size, size, 3) from its MATLAB file."""
    try:
        images = loadmat(io.BytesIO(content), variable_names=["im"])["im"]
    except Exception as error:  # scipy raises whatever a damaged file leads it to
        raise ValueError(
            f"{name} in {path} is not a MATLAB file with 'im' ({error}). Fetch the archive again."
        ) from error
    shape = (128, 128, 3, CARS3D_GRID.sizes[1], CARS3D_GRID.sizes[0])
    if images.shape != shape or images.dtype != np.uint8:
        raise ValueError(
            f"'im' of {name} in {path} must be uint8 of shape {shape}, got {images.dtype} of "
            f"shape {images.shape}. Fetch the archive again."
        )
    pictures = images.transpose(4, 3, 0, 1, 2).reshape(-1, 128, 128, 3)
    scaled = resize_images(pictures, image_size)
    return scaled.reshape(*CARS3D_GRID.sizes[:2], image_size, image_size, 3)


def _read_cars(path: Path, image_size: int) -> NDArray[np.uint8]:
    """All images in row-major order, (n, size, size, 3)."""
    models: dict[str, NDArray[np.uint8]] = {}
    names = None
    for name, content in read_tar_members(
        path, lambda member: PurePosixPath(member).parent == _CARS_FOLDER
    ):
        file = PurePosixPath(name)
        if file.name == "list.txt":
            names = [line.removesuffix(".mat") for line in content.decode().split()]
        elif file.suffix == ".mat":
            models[file.stem] = _read_car(path, name, content, image_size)
    # The order is that of the list; a folder's own order would depend on who unpacked it.
    if names is None or len(names) != CARS3D_GRID.sizes[2]:
        got = "none" if names is None else f"{len(names)} names"
        raise ValueError(
            f"{path} must hold {_CARS_FOLDER}/list.txt with {CARS3D_GRID.sizes[2]} names, got "
            f"{got}. Fetch it again."
        )
    missing = [name for name in names if name not in models]
    if missing:
        raise ValueError(
            f"{path} lists the model {missing[0]!r} but holds no {_CARS_FOLDER}/{missing[0]}.mat. "
            "Fetch it again."
        )
    stacked = np.stack([models[name] for name in names], axis=2)
    return stacked.reshape(-1, image_size, image_size, 3)


@validated
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

    Notes
    -----
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
    path = fetch_file(
        CARS3D_FILE,
        data_folder(data_home) / "cars3d",
        download_if_missing=download_if_missing,
        n_retries=n_retries,
        delay=delay,
        progress=progress,
    )
    stacked = path.with_name(f"cars3d_{image_size}.npy")
    if not stacked.exists():
        cars = _read_cars(path, image_size)
        write_npy(stacked, cars.shape, cars.dtype, [cars])
    images = np.load(stacked, mmap_mode="r", allow_pickle=False)
    check_images(stacked, images, (len(grid), image_size, image_size, 3))
    if not is_whole(chosen, len(grid)):
        images = take_rows(images, chosen)
    return finish(images, chosen, grid, CARS3D_DESCR, return_X_y)


_NORB_URL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
_NORB_STEMS = {
    "train": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "test": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
_NORB_SHA256 = {
    "train": {
        "dat": "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        "cat": "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        "info": "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
    },
    "test": {
        "dat": "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        "cat": "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        "info": "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
    },
}
NORB_FILES = {
    (split, part): RemoteFile(
        f"{_NORB_STEMS[split]}-{part}.mat.gz",
        f"{_NORB_URL}{_NORB_STEMS[split]}-{part}.mat.gz",
        f"sha256:{digest}",
    )
    for split, digests in _NORB_SHA256.items()
    for part, digest in digests.items()
}
NORB_VALUES = {
    "category": np.array(["animal", "human", "airplane", "truck", "car"]),
    "instance": np.arange(10),
    "elevation": np.arange(30, 75, 5),
    "azimuth": np.arange(0, 360, 20),
    "lighting": np.arange(6),
}
NORB_INSTANCES = {"train": [4, 6, 7, 8, 9], "test": [0, 1, 2, 3, 5], "all": list(range(10))}
NORB_SIDE = 96
NORB_DESCR = """\
smallNORB
---------

50 toys, photographed in grey; the images are those of the left of two cameras. The factors are
category 5 (animal, human, airplane, truck, car), instance 5 in the training set and 5 others in the
test set, elevation 9 (30 to 70 degrees), azimuth 18 (0 to 340 degrees) and lighting 6: 24,300
images in each set, of 96 x 96 pixels, by default scaled to 64 x 64, in row-major order of the
factors.

Source: Y. LeCun, F. J. Huang and L. Bottou (2004). Learning Methods for Generic Object Recognition
with Invariance to Pose and Lighting. CVPR.
"""


def _read_norb_split(paths: Mapping[str, Path]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, side, side) of one split and their raw factors, as they stand in the files."""
    images, category, info = (read_norb(paths[part]) for part in ("dat", "cat", "info"))
    n_images = len(images)
    if images.dtype != np.uint8 or images.shape[1:] != (2, NORB_SIDE, NORB_SIDE):
        raise ValueError(
            f"{paths['dat']} must hold uint8 pairs of {NORB_SIDE} x {NORB_SIDE} pixels, got "
            f"{images.dtype} of shape {images.shape}. Fetch it again."
        )
    if category.shape != (n_images,) or info.shape != (n_images, 4):
        raise ValueError(
            f"{paths['cat']} and {paths['info']} must hold one row for each of the {n_images} "
            f"images, got shapes {category.shape} and {info.shape}. Fetch them again."
        )
    # Azimuth counts in steps of 10 degrees, of which every second was taken.
    columns = [category, info[:, 0], info[:, 1], info[:, 2] // 2, info[:, 3]]
    return images[:, 0], np.stack(columns, axis=1).astype(np.int64)


def _sort_norb(
    images: NDArray[np.uint8], raw: NDArray[np.int64], grid: FactorGrid, folder: Path
) -> NDArray[np.uint8]:
    """Bring images into the row-major order of the grid."""
    classes = raw.copy()
    classes[:, 1] = np.searchsorted(grid.values["instance"], raw[:, 1])
    order = np.lexsort(classes.T[::-1])
    expected = grid.to_classes(np.arange(len(grid)))
    if classes.shape != expected.shape or (classes[order] != expected).any():
        raise ValueError(
            f"The files in {folder} do not hold every combination of {', '.join(grid.names)} "
            "once. Fetch them again."
        )
    return images[order]


@validated
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
    grid = FactorGrid({**NORB_VALUES, "instance": np.array(NORB_INSTANCES[subset])})
    chosen = grid.select(n_samples, indices, factors, shuffle=shuffle, random_state=random_state)
    folder = data_folder(data_home) / "smallnorb"
    settings: dict[str, Any] = {
        "download_if_missing": download_if_missing,
        "n_retries": n_retries,
        "delay": delay,
        "progress": progress,
    }
    halves = [
        _read_norb_split(
            {part: fetch_file(NORB_FILES[split, part], folder, **settings) for part in parts}
        )
        for split, parts in _NORB_SHA256.items()
        if subset in (split, "all")
    ]
    images, raw = (np.concatenate(column) for column in zip(*halves))
    images = _sort_norb(images, raw, grid, folder)[chosen]
    return finish(resize_images(images, image_size), chosen, grid, NORB_DESCR, return_X_y)
