"""Array files: opened lazily where they can be, unpacked once where they cannot.

``np.load`` reads a member of an npz file into memory as a whole and ignores ``mmap_mode`` there;
here a member is mapped, or first unpacked in blocks, so that a set of 12 GB needs little memory.
Nothing is ever unpickled, no archive is extracted to disk, and a file appears only when whole.
"""

import gzip
import math
import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ._base import import_extra
from ._locks import exclusive

# Raises ValueError if shape and type of an array are not what is expected.
Check = Callable[[tuple[int, ...], np.dtype], None]

BLOCK_BYTES = 1 << 24
# A member of an archive that claims more than this is not one of ours.
MAX_MEMBER_BYTES = 1 << 30


def _read_npy_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{where} is not a NumPy array ({error}). Get the file again.") from error
    if dtype.hasobject:
        raise ValueError(
            f"{where} holds pickled Python objects, which are never loaded. Get the file again."
        )
    return shape, fortran, dtype


def open_npz_array(path: Path, name: str, check: Check) -> NDArray[Any]:
    """One array of an npz file, as a memory map and without ever unpickling.

    An uncompressed array is mapped where it is; a compressed one is first unpacked, once, to
    ``<stem>.<name>.npy`` beside the file. Its shape and type are checked before.
    """
    where = f"{name!r} in {path}"
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(f"{name}.npy")
            with archive.open(info) as stream:
                shape, fortran, dtype = _read_npy_header(stream, where)
            check(shape, dtype)
            if fortran:
                raise ValueError(
                    f"{where} must be in C order, got Fortran order. Get the file again."
                )
            if info.compress_type == zipfile.ZIP_STORED:
                return _map_stored(path, info, where)

            def write(unpacked: Path) -> None:
                with archive.open(info) as stream:
                    _read_npy_header(stream, where)
                    write_npy(unpacked, shape, dtype, _blocks(stream, shape, dtype, where))

            return unpack_once(path.with_name(f"{path.stem}.{name}.npy"), path, write, check)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{path} is a damaged npz file ({error}). Get it again.") from error
    except KeyError as error:
        raise ValueError(f"{path} holds no array {name!r}. Get it again.") from error


def read_npz_array(path: Path, name: str) -> NDArray[Any]:
    """One small array of an npz file, into memory and without ever unpickling."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(f"{name}.npy").file_size
        if size > MAX_MEMBER_BYTES:
            raise ValueError(
                f"{name!r} in {path} has {size} bytes, more than {MAX_MEMBER_BYTES}. Get it again."
            )
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[name]
    except KeyError as error:
        raise ValueError(f"{path} holds no array {name!r}. Get it again.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"{path} is a damaged npz file ({error}). Get it again.") from error


def _map_stored(path: Path, info: zipfile.ZipInfo, where: str) -> NDArray[Any]:
    try:
        with path.open("rb") as stream:
            # The local header repeats name and extra field, the latter of its own length.
            stream.seek(info.header_offset + 26)
            name_length, extra_length = struct.unpack("<HH", stream.read(4))
            stream.seek(name_length + extra_length, 1)
            shape, _, dtype = _read_npy_header(stream, where)
            start = stream.tell()
        return np.memmap(path, dtype, "r", start, shape)
    except (struct.error, OSError, ValueError) as error:
        raise ValueError(f"{where} is cut off or damaged ({error}). Get it again.") from error


def _is_current(unpacked: Path, source: Path) -> bool:
    """Whether a file was unpacked from the source as it is now: it bears the same time."""
    try:
        return unpacked.stat().st_mtime_ns == source.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def unpack_once(
    unpacked: Path, source: Path, write: Callable[[Path], None], check: Check
) -> NDArray[Any]:
    """A memory map of an array that is written beside its source, unless it is there.

    Other processes wait meanwhile. When the source changes, it is written anew.
    """
    if not _is_current(unpacked, source):
        try:
            with exclusive(unpacked.with_name(unpacked.name + ".lock")):
                if not _is_current(unpacked, source):
                    write(unpacked)
                    status = source.stat()
                    os.utime(unpacked, ns=(status.st_atime_ns, status.st_mtime_ns))
        except PermissionError as error:
            raise PermissionError(
                f"{source} has to be unpacked to {unpacked.name} beside it, but that folder cannot "
                f"be written to ({error}). Copy it to a folder of your own."
            ) from error
    try:
        array = np.load(unpacked, mmap_mode="r", allow_pickle=False)
        check(array.shape, array.dtype)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{unpacked}, which was unpacked from {source.name}, is damaged ({error}). Delete it."
        ) from error
    return array


def _blocks(
    stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype, where: str
) -> Iterator[NDArray[Any]]:
    """Read rows of a C-order array from a stream, some at a time."""
    row_bytes = math.prod(shape[1:]) * dtype.itemsize
    rows = max(1, BLOCK_BYTES // max(row_bytes, 1))
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        content = stream.read(count * row_bytes)
        if len(content) < count * row_bytes:
            raise ValueError(f"{where} ends after {start} of {shape[0]} rows. Get it again.")
        yield np.frombuffer(content, dtype).reshape(count, *shape[1:])


def write_npy(
    path: Path, shape: tuple[int, ...], dtype: np.dtype, blocks: Iterable[NDArray[Any]]
) -> None:
    """Write an array to a file block by block; the file appears only when it is whole."""
    needed = math.prod(shape) * np.dtype(dtype).itemsize
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise OSError(
            f"Unpacking {path.name} takes {needed / 1e9:.1f} GB, but {path.parent} has "
            f"{free / 1e9:.1f} GB left. Free some, or pass another data_home."
        )
    # A name of this process's own: another one may be unpacking the same file.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    header = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype))
    header["shape"] = tuple(shape)
    try:
        # Not through a memory map, whose written pages would count as memory in use.
        with part.open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            for block in blocks:
                stream.write(np.ascontiguousarray(block, dtype).data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def take_rows(array: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of a memory map or an HDF5 dataset, in any order, reading no more than their span.

    Rows are read in ascending order, in blocks of neighbours.
    """
    taken = np.empty((len(rows), *array.shape[1:]), dtype=array.dtype)
    row_bytes = max(1, math.prod(array.shape[1:]) * array.dtype.itemsize)
    span = max(1, BLOCK_BYTES // row_bytes)
    order = np.argsort(rows, kind="stable")
    block_of = rows[order] // span
    for places in np.split(order, np.flatnonzero(np.diff(block_of)) + 1):
        if len(places):
            first, last = rows[places[0]], rows[places[-1]]
            taken[places] = array[first : last + 1][rows[places] - first]
    return taken


def open_h5(path: Path, names: tuple[str, ...]) -> Any:
    """An HDF5 file, opened for reading, that holds the named datasets."""
    h5py = import_extra("h5py", "h5py", "to read HDF5 files")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} is a damaged HDF5 file ({error}). Get it again.") from error
    for name in names:
        if name not in file:
            file.close()
            raise ValueError(f"{path} holds no dataset {name!r}. Get it again.")
    return file


def unpack_h5(dataset: Any, path: Path, unpacked: Path) -> NDArray[Any]:
    """A memory map of a dataset of an HDF5 file, which is unpacked once."""

    def write(target: Path) -> None:
        row_bytes = max(1, math.prod(dataset.shape[1:]) * dataset.dtype.itemsize)
        rows = max(1, BLOCK_BYTES // row_bytes)
        blocks = (dataset[start : start + rows] for start in range(0, len(dataset), rows))
        write_npy(target, dataset.shape, dataset.dtype, blocks)

    def check(shape: tuple[int, ...], dtype: np.dtype) -> None:
        if shape != dataset.shape or dtype != dataset.dtype:
            raise ValueError(f"it holds {dtype} of shape {shape}")

    return unpack_once(unpacked, path, write, check)


_NORB_TYPES = {
    0x1E3D4C55: "<u1",
    0x1E3D4C54: "<i4",
    0x1E3D4C56: "<i2",
    0x1E3D4C51: "<f4",
    0x1E3D4C53: "<f8",
}


def read_bounded(path: Path) -> bytes:
    """A whole file, unless it is larger than any of ours."""
    with path.open("rb") as stream:
        return _read_all(stream, path)


def _read_all(stream: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    content = stream.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise ValueError(f"{path} holds more than {MAX_MEMBER_BYTES} bytes. Get it again.")
    return content


def read_norb(path: Path) -> NDArray[Any]:
    """An array in the binary format of NORB, gzipped or not."""
    try:
        if path.suffix != ".gz":
            content = read_bounded(path)
        else:
            with gzip.open(path) as stream:
                content = _read_all(stream, path)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged gzip file ({error}). Get it again.") from error
    if len(content) < 20:
        raise ValueError(f"{path} ends within its header. Get it again.")
    magic, n_axes = struct.unpack_from("<Ii", content)
    if magic not in _NORB_TYPES or not 1 <= n_axes <= 8:
        raise ValueError(
            f"{path} is not a NORB file: it begins with {magic:#010x} and {n_axes} axes. "
            "Get it again."
        )
    # The header has room for three sizes even when there are fewer axes.
    sizes = struct.unpack_from(f"<{max(3, n_axes)}i", content, 8)
    dtype, start = np.dtype(_NORB_TYPES[magic]), 8 + 4 * max(3, n_axes)
    shape = sizes[:n_axes]
    if min(shape) < 0 or len(content) - start != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{path} announces an array of shape {shape} but holds {len(content) - start} bytes. "
            "Get it again."
        )
    return np.frombuffer(content, dtype, offset=start).reshape(shape)


def read_tar_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the wanted files of a tar archive, without unpacking it.

    An archive with a member that would land outside a folder, or that is a link or a device, is
    refused as a whole.
    """
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or "\\" in member.name:
                    raise ValueError(
                        f"{path} is refused: its member {member.name!r} leads outside. Get it "
                        "again."
                    )
                if not (member.isfile() or member.isdir()):
                    raise ValueError(
                        f"{path} is refused: its member {member.name!r} is a link or a device. "
                        "Get it again."
                    )
                if member.isfile() and wanted(str(name)):
                    if member.size > MAX_MEMBER_BYTES:
                        raise ValueError(
                            f"{path} is refused: its member {member.name!r} has {member.size} "
                            f"bytes, more than {MAX_MEMBER_BYTES}. Get it again."
                        )
                    content = archive.extractfile(member)
                    assert content is not None  # a regular file always has one
                    yield str(name), content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged archive ({error}). Get it again.") from error
