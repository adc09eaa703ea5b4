"""Locks between processes, and text files that are written whole and never through a link."""

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt


def open_unlinked(path: Path) -> int:
    """File descriptor of a file that is created if it is missing, and refused if it is a link.

    Who can place a link in a shared folder could otherwise have another file overwritten.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) or path.is_symlink():
            raise OSError(f"{path} is a link, which is not written to. Remove it.") from error
        raise
    if os.fstat(descriptor).st_nlink > 1 or path.is_symlink():
        os.close(descriptor)
        raise OSError(f"{path} is a link, which is not written to. Remove it.")
    return descriptor


def write_text(path: Path, text: str) -> None:
    """Write a small file at once; a link in its place is replaced, not followed."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _lock(descriptor: int) -> None:
    """Wait until this process, and in it this descriptor, has the lock on an open file."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while True:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            time.sleep(0.1)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one that has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Do something while no other process or thread does it under the same lock file.

    The lock ends with the process that holds it, however it ends. The file is removed by the last
    one. Yields whether there is a lock: some network folders have none.
    """
    descriptor, held = _acquire(path)
    try:
        yield held
    finally:
        # While the lock is held, so that nobody can be about to rely on the file.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _acquire(path: Path) -> tuple[int, bool]:
    """Descriptor of the lock file, and whether it could be locked."""
    while True:
        descriptor = open_unlinked(path)
        try:
            _lock(descriptor)
        except OSError:
            return descriptor, False
        except BaseException:
            os.close(descriptor)
            raise
        # The one that had the lock before may have removed the file meanwhile.
        if _is_at(descriptor, path):
            return descriptor, True
        os.close(descriptor)
