"""CelebA, from a local copy of its aligned images."""

from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import PositiveInt, RandomStateLike, loads
from ._base import ImageShape, Selection, choose_rows, data_folder, make_bunch
from ._pictures import Scaling, load_pictures

# As the authors' folders are, as one folder, and as archives unpack into a folder of their name.
_IMAGE_FOLDERS = (
    "img_align_celeba",
    "Img/img_align_celeba",
    "img_align_celeba_png",
    "Img/img_align_celeba_png",
)
_PARTS = {"train": 0, "valid": 1, "test": 2}

DESCR = """\
CelebA
------

Photographs of the faces of celebrities, aligned, with 40 attributes that are there or not; the
whole set has 202,599 images of 178 x 218 pixels. This copy lists {n_images} images with {n_factors}
attributes. The attributes are not independent, nor are they all that varies: they are labels, not
factors of a grid. target is 1 where an attribute is there (1 in the file) and 0 where it is not (-1
in the file).

Source: Z. Liu, P. Luo, X. Wang and X. Tang (2015). Deep Learning Face Attributes in the Wild. ICCV.
For research that is not commercial, see its authors' agreement.
"""


def _find(root: Path, name: str, *folders: str) -> Path | None:
    """A file in a folder, or in one of the folders below it in which it may be."""
    for folder in ("", *folders):
        if (root / folder / name).is_file():
            return root / folder / name
    return None


def _find_images(root: Path) -> Path:
    for name in _IMAGE_FOLDERS:
        folder = root / name
        # Some archives unpack to a folder of the same name within.
        inner = folder / folder.name
        if inner.is_dir():
            return inner
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"{root} holds no folder {_IMAGE_FOLDERS[0]}. Unpack img_align_celeba.zip and pass the "
        "folder that holds it."
    )


def _read_attributes(file: Path) -> tuple[list[str], list[str], NDArray[np.int64]]:
    """Names of files, names of attributes, and classes (n, n_attributes)."""
    lines = file.read_text(encoding="utf-8").splitlines()
    names = lines[1].split() if len(lines) > 1 else []
    rows = [line.split(None, 1) for line in lines[2:] if line.strip()]
    if not names or not rows or not lines[0].strip().isdecimal():
        raise ValueError(
            f"{file} must begin with the number of images and a line of attributes, as "
            "list_attr_celeba.txt does. Copy it again."
        )
    if int(lines[0]) != len(rows):
        raise ValueError(
            f"{file} announces {int(lines[0])} images but lists {len(rows)}. Copy it again."
        )
    marks = []
    for number, row in enumerate(rows, start=3):
        # As digits, since 8 million strings would take half a gigabyte.
        digits = row[1].replace("-1", "0").split() if len(row) > 1 and "0" not in row[1] else []
        marks.append("".join(digits))
        if not len(digits) == len(marks[-1]) == len(names) or not set(digits) <= {"0", "1"}:
            raise ValueError(
                f"Line {number} of {file} must have a file name and {len(names)} times 1 or -1, "
                f"got {' '.join(row)[:60]!r}. Copy it again."
            )
    flat = np.frombuffer("".join(marks).encode(), dtype=np.uint8) == ord("1")
    classes = flat.astype(np.int64).reshape(len(rows), len(names))
    return [row[0] for row in rows], names, classes


def _read_partition(file: Path, names: list[str]) -> NDArray[np.int64]:
    """Part of each named image: 0 train, 1 valid, 2 test."""
    parts = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.split()
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise ValueError(
                f"Line {number} of {file} must have a file name and 0, 1 or 2, got {line[:60]!r}. "
                "Copy it again."
            )
        parts[words[0]] = int(words[1])
    missing = [name for name in names if name not in parts]
    if missing:
        raise ValueError(f"{file} does not list {missing[0]}. Copy it again.")
    return np.array([parts[name] for name in names], dtype=np.int64)


def _check_shape(image_shape: ImageShape) -> tuple[int, int]:
    shape = tuple(image_shape)
    if len(shape) != 2 or not all(isinstance(s, Integral) and s > 0 for s in shape):
        raise ValueError(
            f"image_shape must be (height, width), two positive integers, got {image_shape}."
        )
    return int(shape[0]), int(shape[1])


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_celeba(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    subset: Literal["all", "train", "valid", "test"] = "all",
    factors: Selection | None = None,
    image_shape: ImageShape = (64, 64),
    crop: PositiveInt | None = 148,
    grayscale: bool = False,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    data_home: str | PathLike[str] | None = None,
    cache: bool = True,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load CelebA from a folder of its aligned images and its lists.

    202,599 photographs of faces with 40 attributes [1]_. Get them from their authors, who ask for
    an agreement, and unpack them.

    Parameters
    ----------
    path : str or path-like
        Folder with ``img_align_celeba`` (JPEG, or PNG in ``img_align_celeba_png``) and
        ``list_attr_celeba.txt``. The authors' folders ``Img``, ``Anno`` and ``Eval`` may be in
        between.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from those that `subset` and `factors` select;
        None takes them all.

    subset : {"all", "train", "valid", "test"}, default="all"
        Which images of the authors' partition to take; other than all needs
        ``list_eval_partition.txt``.

    factors : dict of str to int or array-like of int, or None, default=None
        Attributes that images must have (1) or lack (0), such as ``{"Smiling": 1, "Male": 0}``.

    image_shape : (height, width), default=(64, 64)
        Size to which the images are scaled.

    crop : int or None, default=148
        Side, in pixels of the files, of the square that is cut out of their middle first; None
        keeps all of the 178 x 218 pixels.

    grayscale : bool, default=False
        Whether the images become grey.

    shuffle : bool, default=False
        Whether the images come in random order, or in the order of the list. Shuffle, or use a
        shuffling splitter, for cross-validation.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    data_home : str, path-like or None, default=None
        Folder for the cache; None is scikit-learn's data folder, see
        :func:`sklearn.datasets.get_data_home`.

    cache : bool, default=True
        Whether scaled images are kept in a file (2.5 GB for all at 64 x 64), once more than half
        of them are asked for. Scaling all takes some five minutes.

    progress : bool, default=True
        Whether reading shows a progress bar.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, height, width, 3), uint8
            Without the last axis if `grayscale`. The whole set in its order is a read-only memory
            map if it is cached.
        data : ndarray of shape (n_samples, n_features)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 40), int64
            1 where an attribute is there, otherwise 0.
        factor_names : list of str
            Names of the attributes, in the order of the list.
        factor_sizes, factor_values
            2 classes each, which stand for -1 and 1.
        filenames : ndarray of shape (n_samples,), str
            Names of the files.
        indices : ndarray of shape (n_samples,), int64
            Number of each image in the list, from 0.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    load_chairs3d : Chairs from many sides.
    make_faces3d_like : Heads with known pose and light, without files.

    Notes
    -----
    Needs pillow (``pip install sklearn-disent[data]``). The attributes are what people saw in
    photographs, not factors from which images were made: metrics that need independent factors say
    little here.

    References
    ----------
    .. [1] Z. Liu, P. Luo, X. Wang and X. Tang (2015). Deep Learning Face Attributes in the Wild.
       ICCV.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_celeba
    >>> faces = load_celeba("celeba", subset="train")  # doctest: +SKIP
    >>> faces.images.shape  # doctest: +SKIP
    (162770, 64, 64, 3)
    """
    scaling = Scaling(_check_shape(image_shape), crop, grayscale)
    root = Path(path)
    folder = _find_images(root)
    attributes = _find(root, "list_attr_celeba.txt", "Anno")
    if attributes is None:
        raise FileNotFoundError(
            f"{root / 'list_attr_celeba.txt'} is missing, and so is the one in {root / 'Anno'}. "
            "Copy it there."
        )
    listed, names, target = _read_attributes(attributes)
    # The folder of PNG files goes with the list of JPEG files.
    suffix = ".png" if folder.name.endswith("_png") else ".jpg"
    files = [folder / Path(name).with_suffix(suffix) for name in listed]
    values = {name: np.array([-1, 1]) for name in names}
    pool = _pool(root, listed, subset)
    chosen = pool[
        choose_rows(
            target[pool],
            values,
            n_samples,
            factors=factors,
            shuffle=shuffle,
            random_state=random_state,
        )
    ]
    cache_folder = data_folder(data_home) / "celeba" if cache else None
    images = load_pictures(files, chosen, scaling, "celeba", folder=cache_folder, progress=progress)
    if return_X_y:
        return images, target[chosen]
    descr = DESCR.format(n_images=len(files), n_factors=len(names))
    filenames = np.array([file.name for file in files])[chosen]
    return make_bunch(images, target[chosen], values, descr, indices=chosen, filenames=filenames)


def _pool(root: Path, listed: list[str], subset: str) -> NDArray[np.int64]:
    """Numbers of the images that belong to the part of the partition."""
    if subset == "all":
        return np.arange(len(listed))
    partition = _find(root, "list_eval_partition.txt", "Eval")
    if partition is None:
        raise FileNotFoundError(
            f"subset={subset!r} needs {root / 'list_eval_partition.txt'}, which is missing, as it "
            f"is in {root / 'Eval'}. Copy it there, or use subset='all'."
        )
    pool = np.flatnonzero(_read_partition(partition, listed) == _PARTS[subset])
    if not len(pool):
        raise ValueError(f"{partition} puts no image into {subset!r}. Use subset='all'.")
    return pool
