"""Hold on to freed memory between the steps of a loop: a setting of glibc's allocator."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Names and defaults of malloc.h and mallopt(3).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4
_MMAP_MAX = 65_536
# Where glibc's own adjustment of the thresholds ends.
_HIGHEST_MMAP_THRESHOLD = 32 * 2**20
# Set to 0 to switch the setting off, also in worker processes.
SWITCH = "SKLEARN_DISENT_KEEP_FREED_MEMORY"

_lock = threading.Lock()
_n_inside = 0
_is_off: ContextVar[bool] = ContextVar("freed_memory_is_not_kept", default=False)


@contextmanager
def freed_memory_kept(enabled: bool = True) -> Iterator[None]:
    """Keep freed memory for the next step of a loop, instead of giving it back to the system.

    ``fit`` of every model does so by itself, and so does every metric that fits predictors, and the
    report. Each step of a loop allocates and frees the same large arrays; glibc gives such memory
    back to the system at once, and the system zeroes every page of it anew in the next step: with
    images of 64 x 64 pixels that is a third to a half of the time of training, and half of the time
    of a forest on 800 rows. Within this context glibc keeps what was freed. At the end all of it
    goes back to the system, even after an error.

    Parameters
    ----------
    enabled : bool, default=True
        Whether to keep freed memory. False leaves the allocator alone, and so does every ``fit``
        within this context and thread.

    See Also
    --------
    sklearn_disent.models.BaseVAE : Its ``fit`` runs within this context.

    Notes
    -----
    The setting is that of the whole process for as long as the context lasts. Contexts in several
    threads may overlap: the last one to leave gives the memory back. Elsewhere than on Linux with
    glibc nothing is done, nor where the user has set glibc's allocator (an environment variable
    ``MALLOC_..._``, or ``GLIBC_TUNABLES`` with ``glibc.malloc``).

    The environment variable ``SKLEARN_DISENT_KEEP_FREED_MEMORY=0`` switches it off altogether.
    Worker processes inherit the variable; they do not inherit the context.

    glibc cannot be asked for its present thresholds. At the end they are set to 32 and 64 MB, where
    glibc's own adjustment arrives in a process that frees large arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import VAE, freed_memory_kept
    >>> X = load_digits().data[:200]
    >>> with freed_memory_kept(enabled=False):  # fit leaves the allocator alone
    ...     vae = VAE(n_components=2, max_epochs=1, random_state=0).fit(X)
    """
    if not enabled:
        token = _is_off.set(True)
        try:
            yield
        finally:
            _is_off.reset(token)
        return
    library = None if _is_off.get() or os.environ.get(SWITCH) == "0" else _glibc()
    if library is None:
        yield
        return
    _enter(library)
    try:
        yield
    finally:
        _leave(library)


def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc and the user has not tuned its allocator already."""
    if os.name != "posix":
        return None
    tuned = any(name.startswith("MALLOC_") and name.endswith("_") for name in os.environ)
    if tuned or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None


def _enter(library: ctypes.CDLL) -> None:
    global _n_inside
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
            library.mallopt(_M_MMAP_MAX, 0)


def _leave(library: ctypes.CDLL) -> None:
    global _n_inside
    with _lock:
        _n_inside -= 1
        if _n_inside == 0:
            # The thresholds before cannot be read, and setting one ends their adjustment.
            library.mallopt(_M_MMAP_MAX, _MMAP_MAX)
            library.mallopt(_M_MMAP_THRESHOLD, _HIGHEST_MMAP_THRESHOLD)
            library.mallopt(_M_TRIM_THRESHOLD, 2 * _HIGHEST_MMAP_THRESHOLD)
            library.malloc_trim(0)


def _after_fork() -> None:
    """No other thread is left in a forked process, and nobody to release a lock that was held."""
    global _lock, _n_inside
    _lock = threading.Lock()
    library = _glibc() if _n_inside else None
    if library is not None:
        _n_inside = 1
        _leave(library)
    _n_inside = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
