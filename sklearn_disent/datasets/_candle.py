"""CANDLE: its factors, and the loader of its files."""

import json
import reprlib
import struct
from collections.abc import Mapping, Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, ImageShape, Selection, choose_rows, import_extra, make_bunch

VALUES = {
    "object": np.array(["cube", "sphere", "cylinder", "cone", "torus"]),
    "color": np.array(["red", "blue", "yellow", "purple", "orange"]),
    "size": np.array([1.5, 2.0, 2.5]),
    "rotation": np.array([0, 15, 30, 45, 60, 90]),
    "scene": np.array(
        [
            "indoor",
            "outdoor",
            "playground",
            "bridge",
            "city square",
            "hall",
            "grassland",
            "garage",
            "street",
            "beach",
            "station",
            "tunnel",
            "moonlit grass",
            "dusk city",
            "skywalk",
            "garden",
        ]
    ),
    "light": np.array(["left", "middle", "right"]),
}

MAX_PIXELS = 1 << 24  # an image that claims more is not one of CANDLE, whatever its size on disk
MAX_LABEL_BYTES = 1 << 20
_PNG = b"\x89PNG\r\n\x1a\n"

# The order in which ids count; not the order of the target.
_ID_GRID = FactorGrid(
    {name: VALUES[name] for name in ("scene", "light", "object", "color", "size", "rotation")}
)

DESCR = """\
CANDLE
------

One object, rendered into a photographed scene: 12,546 of the 21,600 combinations of object 5,
color 5, size 3, rotation 6, scene 16 and light 3. An observed context, which acts on scene, object,
size and color, decides which combinations are left out. These factors are therefore dependent:
Cramér's V is .362 for object and size, .193 for size and scene, .169 for color and scene, and .119
for object and scene.

boxes holds (top, left, bottom, right) of the object, in pixels of the images returned.

Source: A. G. Reddy, B. Godfrey L and V. N. Balasubramanian (2022). On Causally Disentangled
Representations. AAAI. Licence: CC BY 4.0.
"""


def _is_released(value: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Which combinations of values are in the released data set."""
    object_, color, size, scene = (value[n] for n in ("object", "color", "size", "scene"))
    missing = (size == 2.5) & (object_ != "torus")
    missing |= (size == 1.5) & np.isin(scene, ["garden", "garage"])
    missing |= (size == 2.5) & (scene == "hall")
    missing |= (color == "yellow") & np.isin(scene, ["bridge", "city square"])
    dim = np.isin(scene, ["station", "dusk city", "playground"])
    missing |= np.isin(color, ["orange", "yellow"]) & dim
    missing |= (object_ == "cone") & np.isin(scene, ["hall", "tunnel", "skywalk"])
    missing |= (object_ == "sphere") & (scene == "skywalk")
    return ~missing


def load_candle_design() -> Bunch:
    """Factors of every image of CANDLE, without the images.

    12,546 of the 21,600 combinations of six factors are in the data set; the others were left out
    as implausible, which makes factors dependent.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        ids : ndarray of shape (12546,), int64
            Numbers of the images, in ascending order.
        target : ndarray of shape (12546, 6), int64
            Classes of object, color, size, rotation, scene and light.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.

        DESCR : str

    See Also
    --------
    load_candle : The images.
    make_candle_like : Drawn images with the same kind of confounding.

    References
    ----------
    .. [1] A. G. Reddy, B. Godfrey L and V. N. Balasubramanian (2022). On Causally Disentangled
       Representations. AAAI.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_candle_design
    >>> load_candle_design().target.shape
    (12546, 6)
    """
    classes = _ID_GRID.to_classes(np.arange(len(_ID_GRID)))
    columns = dict(zip(_ID_GRID.names, classes.T))
    released = _is_released({name: VALUES[name][column] for name, column in columns.items()})
    target = np.stack([columns[name] for name in VALUES], axis=1)
    return Bunch(
        ids=np.flatnonzero(released),
        target=target[released],
        factor_names=list(VALUES),
        factor_sizes=tuple(len(v) for v in VALUES.values()),
        factor_values=dict(VALUES),
        DESCR=DESCR,
    )


def _find_pairs(path: Path) -> dict[int, Path]:
    """Path of each pair without its suffix, by id in ascending order."""
    if not path.is_dir():
        raise FileNotFoundError(
            f"path must be a folder of <id>.png and <id>.json files, got {path}, which is not a "
            "folder. Unpack CANDLE and pass the folder that holds its files."
        )
    found: dict[str, set[Path]] = {}
    for suffix in (".png", ".json"):
        files = [*path.glob(f"*{suffix}"), *path.glob(f"*/*{suffix}")]
        # Some copies keep each pair in a folder named by its id.
        found[suffix] = {
            file.with_suffix("")
            for file in files
            if file.stem.isdecimal() and file.parent in (path, path / file.stem)
        }
    for stem in sorted(found[".png"] ^ found[".json"]):
        missing = ".json" if stem in found[".png"] else ".png"
        raise FileNotFoundError(
            f"{stem}{missing} is missing, but its other half is there. Copy it too, or remove both."
        )
    if not found[".png"]:
        raise FileNotFoundError(
            f"{path} holds no <id>.png and <id>.json files. Unpack CANDLE and pass the folder that "
            "holds its files."
        )
    pairs: dict[int, Path] = {}
    for stem in sorted(found[".png"], key=lambda s: int(s.name)):
        if int(stem.name) in pairs:
            raise ValueError(
                f"Image {int(stem.name)} is in {path} twice: as {pairs[int(stem.name)]}.png and as "
                f"{stem}.png. Remove one of the two, and its .json file."
            )
        pairs[int(stem.name)] = stem
    return pairs


def _class_of(name: str, value: Any, file: Path) -> int:
    """Class of a factor's value as it stands in a file."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    allowed = VALUES[name]
    if allowed.dtype.kind == "U":
        matches = allowed == str(value).strip().lower().replace("_", " ")
    else:
        try:
            matches = np.isclose(allowed, float(value))
        except (TypeError, ValueError, OverflowError):
            matches = np.zeros(len(allowed), dtype=bool)
    if not matches.any():
        raise ValueError(
            f"{file} has {name} {reprlib.repr(value)}, which is not one of "
            f"{', '.join(map(str, allowed))}. Copy it again, or remove it and its .png file."
        )
    return int(np.argmax(matches))


def _read_labels(file: Path) -> tuple[list[int], NDArray[np.float64]]:
    """Classes of the factors, and bounds (x1, y1, x2, y2) from the bottom left."""
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_LABEL_BYTES + 1)
        if len(text) > MAX_LABEL_BYTES:
            raise ValueError(f"more than {MAX_LABEL_BYTES} bytes")
        content = json.loads(text.decode())
        thing = next(iter(content["objects"].values()))
        raw = {
            "object": thing["object_type"],
            "color": thing["color"],
            "size": thing["size"],
            "rotation": thing["rotation"],
            "scene": content["scene"],
            "light": content["lights"],
        }
        bounds = np.asarray(thing["bounds"], dtype=np.float64).reshape(4)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        StopIteration,
        OverflowError,
        RecursionError,
    ) as error:
        raise ValueError(
            f"{file} is not a label file of CANDLE ({type(error).__name__}: {error}). Copy it "
            "again."
        ) from error
    return [_class_of(name, raw[name], file) for name in VALUES], _check_bounds(bounds, file)


def _check_bounds(bounds: NDArray[np.float64], file: Path) -> NDArray[np.float64]:
    x1, y1, x2, y2 = bounds.tolist()
    if not np.isfinite(bounds).all():
        raise ValueError(
            f"{file} has bounds that are not finite, got {[[x1, y1], [x2, y2]]}. Copy it again, or "
            "remove it and its .png file."
        )
    if x1 > x2 or y1 > y2:
        raise ValueError(
            f"{file} has inverted bounds: the first corner must be the bottom left one, got "
            f"{[[x1, y1], [x2, y2]]}. Copy it again, or remove it and its .png file."
        )
    return bounds


def _png_size(stream: IO[bytes], file: Path) -> tuple[int, int]:
    """(width, height) that a PNG file claims, within reason."""
    head = stream.read(24)
    if len(head) < 24 or not head.startswith(_PNG) or head[12:16] != b"IHDR":
        raise ValueError(
            f"{file} is not a PNG file. Copy it again, or remove it and its .json file."
        )
    width, height = struct.unpack(">II", head[16:])
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"{file} claims {width} x {height} pixels; images of CANDLE have 320 x 240, and more "
            f"than {MAX_PIXELS:,} in all are not unpacked. Copy it again, or remove it and its "
            ".json file."
        )
    return width, height


def _read_image(
    file: Path, image_shape: tuple[int, int] | None
) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """Pixels, resized if asked for, and (height, width) as in the file."""
    image_module = import_extra("PIL.Image", "pillow", "to read images")
    with file.open("rb") as stream:
        size = _png_size(stream, file)
        stream.seek(0)
        try:
            # Of the formats that pillow reads, some hand the file over to other programs.
            with image_module.open(stream, formats=["PNG"]) as opened:
                if opened.size != size:
                    raise ValueError("it claims two sizes")
                image = opened.convert("RGB")
        except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
            raise ValueError(
                f"{file} cannot be read as an image ({error}). Copy it again."
            ) from error
    height, width = image.height, image.width
    if image_shape is not None and image_shape != (height, width):
        image = image.resize(image_shape[::-1], image_module.Resampling.LANCZOS)
    return np.asarray(image), (height, width)


def _box(
    bounds: NDArray[np.float64], full: tuple[int, int], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """(top, left, bottom, right) in an image of `shape`, from bounds in a file of size `full`.

    All nan if nothing of the object is within the image.
    """
    x1, y1, x2, y2 = bounds
    height, width = full
    # Bounds count rows from below, and may leave the image.
    edges = np.clip([height - y2, x1, height - y1, x2], 0, [height, width, height, width])
    if (edges[2:] <= edges[:2]).any():
        return np.full(4, np.nan)
    edges *= np.array([*shape, *shape]) / np.array([*full, *full])
    return np.concatenate([np.floor(edges[:2]), np.ceil(edges[2:])])


def _read_images(
    files: Sequence[Path],
    bounds: Sequence[NDArray[np.float64]],
    image_shape: tuple[int, int] | None,
) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Images of one shape, and their boxes (n, 1, 4); of integers, if none is missing."""
    first, _ = _read_image(files[0], image_shape)
    images = np.empty((len(files), *first.shape), dtype=np.uint8)
    boxes = np.empty((len(files), 1, 4))
    for place, file in enumerate(files):
        image, full = _read_image(file, image_shape)
        if image.shape != first.shape:
            raise ValueError(
                f"{file} has shape {image.shape}, but the images before it have {first.shape}. "
                "Pass image_shape to scale them to one size."
            )
        images[place] = image
        boxes[place, 0] = _box(bounds[place], full, image.shape[:2])
    return images, boxes if np.isnan(boxes).any() else boxes.astype(np.int64)


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_candle(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    factors: Selection | None = None,
    image_shape: ImageShape | None = None,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load CANDLE from a folder of its image and label files.

    CANDLE [1]_ shows one object in a photographed scene; a context makes its factors dependent.
    It has no stable address from which it could be fetched: get it from its authors and unpack it.

    Parameters
    ----------
    path : str or path-like
        Folder of ``<id>.png`` and ``<id>.json`` files; each pair may also be in a folder of its
        own, which is named by its id.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from those that `factors` selects; None takes
        them all.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"scene": [0, 1]}``. Factors that are not named
        keep all of their classes. Only the selected images are read.

    image_shape : (height, width) or None, default=None
        Size to which the images are scaled, and the boxes with them; None keeps 240 x 320.

    shuffle : bool, default=False
        Whether the images come in random order or by ascending id. Shuffle, or use a shuffling
        splitter, for cross-validation.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, height, width, 3), uint8

        data : ndarray of shape (n_samples, height * width * 3)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 6), int64
            Classes of object, color, size, rotation, scene and light.
        boxes : ndarray of shape (n_samples, 1, 4), int64 or float64
            (top, left, bottom, right) of the object, cut at the edges of the image, so that it is
            the part ``image[top:bottom, left:right]``. A box that lies outside the image is
            missing: it is NaN, as the models expect it, and the array is then of float64.

        ids : ndarray of shape (n_samples,), int64
            Numbers of the images.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    load_candle_design : The factors alone, without files.
    make_candle_like : Drawn images with the same kind of confounding.

    Notes
    -----
    Needs pillow (``pip install sklearn-disent[data]``). Of several objects in an image, the first
    one in its label file counts. Transparency is dropped.

    References
    ----------
    .. [1] A. G. Reddy, B. Godfrey L and V. N. Balasubramanian (2022). On Causally Disentangled
       Representations. AAAI.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_candle
    >>> candle = load_candle("candle", image_shape=(64, 64))  # doctest: +SKIP
    >>> candle.images.shape  # doctest: +SKIP
    (12546, 64, 64, 3)
    """
    shape = None if image_shape is None else tuple(image_shape)
    if shape is not None and (
        len(shape) != 2 or not all(isinstance(s, Integral) and s > 0 for s in shape)
    ):
        raise ValueError(
            f"image_shape must be (height, width), two positive integers, got {image_shape}. Use "
            "None to keep the size of the files."
        )
    pairs = _find_pairs(Path(path))
    labels = [_read_labels(stem.with_suffix(".json")) for stem in pairs.values()]
    target = np.array([classes for classes, _ in labels], dtype=np.int64)
    chosen = choose_rows(
        target, VALUES, n_samples, factors=factors, shuffle=shuffle, random_state=random_state
    )
    stems = list(pairs.values())
    files = [stems[row].with_suffix(".png") for row in chosen]
    images, boxes = _read_images(files, [labels[row][1] for row in chosen], shape)
    ids = np.array(list(pairs), dtype=np.int64)[chosen]
    if return_X_y:
        return images, target[chosen]
    return make_bunch(images, target[chosen], VALUES, DESCR, boxes=boxes, ids=ids)
