"""Hold on to freed memory while a net trains.

Each step of training allocates and frees the same large arrays. glibc gives such memory back to
the system at once, and the system zeroes every page of it anew in the next step: with images of
64 x 64 pixels that is a third to a half of the time. Within :func:`freed_memory_kept` glibc keeps
what was freed for the next step; the peak is that of one step in any case. At the end all of it
goes back to the system.
"""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Names and defaults of malloc.h and mallopt(3).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4
_MMAP_MAX = 65_536
# Where glibc's own adjustment of the thresholds ends.
_HIGHEST_MMAP_THRESHOLD = 32 * 2**20

_lock = threading.Lock()
_n_inside = 0


def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc and the user has not tuned its allocator already."""
    if os.name != "posix":
        return None
    tuned = any(name.startswith("MALLOC_") and name.endswith("_") for name in os.environ)
    if tuned or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Nothing freed within goes back to the system before the end; other allocators are left alone.

    Fits in several threads may overlap: the last one to leave gives the memory back.
    """
    global _n_inside
    library = _glibc()
    if library is None:
        yield
        return
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
            library.mallopt(_M_MMAP_MAX, 0)
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                # The thresholds before cannot be read, and setting one ends their adjustment.
                library.mallopt(_M_MMAP_MAX, _MMAP_MAX)
                library.mallopt(_M_MMAP_THRESHOLD, _HIGHEST_MMAP_THRESHOLD)
                library.mallopt(_M_TRIM_THRESHOLD, 2 * _HIGHEST_MMAP_THRESHOLD)
                library.malloc_trim(0)
