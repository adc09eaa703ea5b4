"""Many picture files as one array: scaled, and kept so that it happens once."""

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._base import import_extra
from ._files import take_rows, write_npy

FORMATS = ("PNG", "JPEG")
BLOCK = 64
MAX_PIXELS = 1 << 26  # of one picture; a small file may claim any number


class Scaling(NamedTuple):
    """How pictures become arrays."""

    image_shape: tuple[int, int]
    crop: int | None = None  # side of the square that is cut from the middle first
    grayscale: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one array."""
        return self.image_shape if self.grayscale else (*self.image_shape, 3)


def open_picture(file: Path, formats: Sequence[str], mode: str) -> Any:
    """A picture of a file from elsewhere, in one of some formats; ValueError if it is none.

    Pillow would try every format it knows, of which some hand the file over to other programs, and
    would unpack what takes all memory, with a warning.
    """
    image_module = import_extra("PIL.Image", "pillow", "to read images")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", image_module.DecompressionBombWarning)  # MAX_PIXELS is less
        try:
            with image_module.open(file, formats=formats) as opened:
                if opened.width * opened.height > MAX_PIXELS:
                    raise ValueError(f"it claims {opened.width} x {opened.height} pixels")
                return opened.convert(mode)
        except (OSError, SyntaxError, image_module.DecompressionBombError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ValueError(str(error)) from error


def read_picture(file: Path, scaling: Scaling) -> NDArray[np.uint8]:
    """Read a PNG or JPEG file, cut out its middle, and scale it."""
    image_module = import_extra("PIL.Image", "pillow", "to read images")
    try:
        image = open_picture(file, FORMATS, "L" if scaling.grayscale else "RGB")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{file} is missing. Copy it there, or pass the folder that holds all files."
        ) from error
    except ValueError as error:
        raise ValueError(
            f"{file} cannot be read as a PNG or JPEG image ({error}). Copy it again."
        ) from error
    if scaling.crop is not None:
        if scaling.crop > min(image.size):
            raise ValueError(
                f"crop={scaling.crop} does not fit in {file}, which has {image.width} x "
                f"{image.height} pixels. Pass a smaller crop, or None."
            )
        left, top = (image.width - scaling.crop) // 2, (image.height - scaling.crop) // 2
        image = image.crop((left, top, left + scaling.crop, top + scaling.crop))
    size = scaling.image_shape[::-1]
    if image.size != size:
        image = image.resize(size, image_module.Resampling.LANCZOS)
    return np.asarray(image)


def _read_blocks(
    files: Sequence[Path], scaling: Scaling, name: str, progress: bool
) -> Iterator[NDArray[np.uint8]]:
    """Arrays of the files, some at a time, with a progress bar."""
    from tqdm.auto import tqdm

    with tqdm(total=len(files), desc=name, unit="image", disable=not progress) as bar:
        for start in range(0, len(files), BLOCK):
            part = files[start : start + BLOCK]
            yield np.stack([read_picture(file, scaling) for file in part])
            bar.update(len(part))


def _fingerprint(files: Sequence[Path], scaling: Scaling) -> str:
    """What the array depends on: the files, as far as their sizes and times tell, and scaling."""
    digest = hashlib.sha1(repr(scaling).encode())
    for file in files:
        try:
            status = file.stat()
            stamp = f"{status.st_size} {status.st_mtime_ns}"
        except OSError:
            stamp = "missing"
        digest.update(f"{file.absolute()} {stamp}\n".encode())
    return digest.hexdigest()[:16]


def load_pictures(
    files: Sequence[Path],
    rows: NDArray[np.int64],
    scaling: Scaling,
    name: str,
    *,
    folder: Path | None,
    progress: bool,
) -> NDArray[Any]:
    """Arrays (n, *shape) of the chosen files.

    If most of them are wanted, all are scaled once into a file in `folder`. Whatever that file
    holds is then read from it, and the whole set is a memory map. Otherwise only the chosen files
    are read.

    Parameters
    ----------
    files : sequence of Path
        All files of the data set.
    rows : ndarray of int
        Which of them to load, in this order.
    scaling : Scaling
        How they become arrays.
    name : str
        Name of the data set.
    folder : Path or None
        Where scaled images are kept; None keeps none.
    progress : bool
        Whether to show a progress bar.
    """
    if folder is not None:
        height, width = scaling.image_shape
        kept = folder / f"{name}_{height}x{width}_{_fingerprint(files, scaling)}.npy"
        if not kept.exists() and 2 * len(rows) > len(files):
            folder.mkdir(parents=True, exist_ok=True)
            shape = (len(files), *scaling.shape)
            blocks = _read_blocks(files, scaling, name, progress)
            write_npy(kept, shape, np.dtype(np.uint8), blocks)
        if kept.exists():
            images = np.load(kept, mmap_mode="r", allow_pickle=False)
            whole = np.array_equal(rows, np.arange(len(files)))
            return images if whole else take_rows(images, rows)
    chosen = [files[row] for row in rows]
    loaded = np.empty((len(rows), *scaling.shape), dtype=np.uint8)
    start = 0
    for block in _read_blocks(chosen, scaling, name, progress):
        loaded[start : start + len(block)] = block
        start += len(block)
    return loaded
