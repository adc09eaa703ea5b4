"""A folder of the user's own pictures as one memory map."""

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import PositiveInt, Sizes, validated
from ._base import data_folder, import_extra
from ._locks import exclusive
from ._pictures import open_picture

_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
_BLOCK = 64  # pictures between two notes of how far the reading has come
_MAX_NAMED = 10

DESCR = """\
Pictures of the folder {folder}
-------------------------------

{n_images} pictures of {height} x {width} pixels, in the order of their names.{broken}
"""


class _Form(NamedTuple):
    """How every picture becomes an array."""

    height: int
    width: int
    grayscale: bool
    crop: bool
    background: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height, self.width) if self.grayscale else (self.height, self.width, 3)


@validated
def load_image_folder(
    path: str | PathLike[str],
    *,
    size: PositiveInt | Sizes = 64,
    grayscale: bool = False,
    crop: bool = False,
    background: Literal["white", "black"] = "white",
    broken: Literal["raise", "skip"] = "raise",
    data_home: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Bunch:
    """Read all pictures of a folder into one array on disk.

    Pictures may have several sizes and kinds: each is scaled, and turned to RGB or gray. They are
    written to a file once, which is then mapped: a set that does not fit into memory can be fitted
    all the same. Reading that was interrupted goes on where it stopped.

    Parameters
    ----------
    path : str or path
        The folder. Pictures in folders below it belong to it, too; if all are in folders, the names
        of these are the target.
    size : int or (height, width), default=64
        Pixels of all images; one number for squares.
    grayscale : bool, default=False
        Whether images have one channel of gray; else they have three.
    crop : bool, default=False
        Whether a part of the proportions of `size` is cut from the middle of each picture first;
        else pictures of other proportions are stretched.
    background : {"white", "black"}, default="white"
        What stands behind transparent pixels.
    broken : {"raise", "skip"}, default="raise"
        Whether files that cannot be read are an error, which names them, or are left out.
    data_home : str, path or None, default=None
        Folder for the file; None takes scikit-learn's.
    progress : bool, default=True
        Whether reading shows a progress bar.

    Returns
    -------
    images : Bunch
        - images : memory map of shape (n, height, width, 3) or (n, height, width), uint8
        - filenames : list of str, relative to the folder
        - target : ndarray of shape (n, 1) with the number of the folder, or None
        - target_names : list of str, the folders, or None
        - broken : list of str, files that were left out
        - DESCR : str

    See Also
    --------
    load_celeba : The same for the files of CelebA.

    Notes
    -----
    The file is found again by names, sizes and times of the pictures: where one has changed, all
    are read anew. Old files are yours to delete.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> from sklearn_disent.datasets import load_image_folder
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name, size in {"a.png": (30, 30), "b.png": (50, 40)}.items():
    ...     Image.new("RGB", size, "red").save(f"{folder.name}/{name}")
    >>> mine = load_image_folder(folder.name, size=32, data_home=folder.name, progress=False)
    >>> mine.images.shape, mine.filenames
    ((2, 32, 32, 3), ['a.png', 'b.png'])
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder. Pass the one that holds the pictures.")
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in _SUFFIXES and f.is_file())
    if not files:
        raise FileNotFoundError(
            f"{folder} holds no pictures: none of its files ends in {', '.join(_SUFFIXES)}."
        )
    form = _Form(*_as_size(size), grayscale, crop, 255 if background == "white" else 0)
    images, bad = _written(files, folder, form, data_folder(data_home), progress)
    names = [file.relative_to(folder).as_posix() for file in files]
    wrong = [names[i] for i in bad]
    if wrong and broken == "raise":
        more = f" and {len(wrong) - _MAX_NAMED} more" if len(wrong) > _MAX_NAMED else ""
        raise ValueError(
            f"{len(wrong)} of {len(files)} files in {folder} cannot be read as pictures: "
            f"{', '.join(wrong[:_MAX_NAMED])}{more}. Repair or remove them, or use broken='skip'."
        )
    if not len(images):
        raise ValueError(f"None of the {len(files)} files in {folder} can be read as a picture.")
    kept = [name for name in names if name not in set(wrong)]
    target, target_names = _labels(kept)
    left_out = f" {len(wrong)} files were left out." if wrong else ""
    return Bunch(
        images=images,
        filenames=kept,
        target=target,
        target_names=target_names,
        broken=wrong,
        DESCR=DESCR.format(
            folder=folder.name,
            n_images=len(images),
            height=form.height,
            width=form.width,
            broken=left_out,
        ),
    )


def _as_size(size: Any) -> tuple[int, int]:
    sizes = (size, size) if np.ndim(size) == 0 else tuple(size)
    if len(sizes) != 2 or not all(int(s) == s and s > 0 for s in sizes):
        raise ValueError(f"size must be one number or (height, width), both above 0, got {size!r}.")
    return int(sizes[0]), int(sizes[1])


def _labels(names: list[str]) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    """Number and names of the folders, if every picture is in one."""
    folders = [name.rpartition("/")[0] for name in names]
    if not all(folders):
        return None, None
    found, numbers = np.unique(folders, return_inverse=True)
    return numbers[:, None].astype(np.int64), found.tolist()


def _written(
    files: list[Path], folder: Path, form: _Form, home: Path, progress: bool
) -> tuple[NDArray[np.uint8], list[int]]:
    """The pictures, from the file that holds them, and the numbers of those that are broken.

    While the file is being written, a note beside it says how many pictures have been looked at,
    how many written, and which are broken: the next call goes on from there.
    """
    kept = home / f"{folder.name}_{form.height}x{form.width}_{_fingerprint(files, form)}.npy"
    note = kept.with_suffix(".json")
    home.mkdir(parents=True, exist_ok=True)
    state = _state(kept, note)
    if state["seen"] < len(files):
        # One process reads, others that want the same pictures wait for it.
        with exclusive(kept.with_suffix(".lock")):
            state = _state(kept, note)
            shape = (len(files), *form.shape)
            is_new = not state["seen"]
            array = np.lib.format.open_memmap(kept, "w+" if is_new else "r+", np.uint8, shape)
            _go_on(array, files, form, state, note, progress)
            del array
    images = np.load(kept, mmap_mode="r", allow_pickle=False)
    return images[: state["written"]], state["broken"]


def _state(kept: Path, note: Path) -> dict[str, Any]:
    """How many pictures have been looked at and written, and which are broken."""
    if note.exists() and kept.exists():
        return json.loads(note.read_text())
    return {"seen": 0, "written": 0, "broken": []}


def _go_on(
    array: Any,
    files: list[Path],
    form: _Form,
    state: dict[str, Any],
    note: Path,
    progress: bool,
) -> None:
    from tqdm.auto import tqdm

    rest = range(state["seen"], len(files))
    bar = tqdm(rest, initial=state["seen"], total=len(files), desc="images", disable=not progress)
    for i in bar:
        picture = _read(files[i], form)
        if picture is None:
            state["broken"].append(i)
        else:
            array[state["written"]] = picture
            state["written"] += 1
        state["seen"] = i + 1
        if state["seen"] % _BLOCK == 0 or state["seen"] == len(files):
            # First the pictures, then the note: it never promises what is not there.
            array.flush()
            partial = note.with_suffix(".part")
            partial.write_text(json.dumps(state))
            partial.replace(note)


def _read(file: Path, form: _Form) -> NDArray[np.uint8] | None:
    """One picture; None if it is broken."""
    image_module = import_extra("PIL.Image", "pillow", "to read images")
    try:
        image = open_picture(file, _FORMATS, "RGBA")
    except (ValueError, OSError):
        return None
    ground = image_module.new("RGBA", image.size, (form.background,) * 3 + (255,))
    image = image_module.alpha_composite(ground, image).convert("L" if form.grayscale else "RGB")
    if form.crop:
        scale = min(image.width / form.width, image.height / form.height)
        width, height = round(form.width * scale), round(form.height * scale)
        left, top = (image.width - width) // 2, (image.height - height) // 2
        image = image.crop((left, top, left + width, top + height))
    if image.size != (form.width, form.height):
        image = image.resize((form.width, form.height), image_module.Resampling.LANCZOS)
    return np.asarray(image)


def _fingerprint(files: list[Path], form: _Form) -> str:
    digest = hashlib.sha1(repr(form).encode())
    for file in files:
        status = file.stat()
        digest.update(f"{file.absolute()} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
