"""One thread for BLAS and OpenMP while many small fits run, whichever threads ask for it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = threading.Lock()
_n_inside = 0
_cap: "_Cap | None" = None


@contextmanager
def one_thread(
    user_api: Literal["blas", "openmp"] | None = None,
    controller: ThreadpoolController | None = None,
) -> Iterator[None]:
    """Cap one library, or both if None, at one thread.

    BLAS has one setting per process. threadpool_limits remembers what it finds: of two threads that
    overlap, the second finds the cap of the first and leaves it behind for good. So the first to
    enter sets the cap, and the last to leave lifts it. OpenMP has one setting per thread, for which
    threadpool_limits is right as it is. To find the libraries takes milliseconds: many small fits
    pass a `controller` that has found them.
    """
    if user_api != "openmp":
        _enter()
    try:
        if user_api == "blas":
            yield
        else:
            found = ThreadpoolController() if controller is None else controller
            with found.limit(limits=1, user_api="openmp"):
                yield
    finally:
        if user_api != "openmp":
            _leave()


class _Cap(threading.Thread):
    """A thread that holds the cap: threadpoolctl (>= 3.7) heeds the thread that came first only,
    and the last to leave is seldom the first that entered."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.is_set, self.may_end = threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            with threadpool_limits(1, user_api="blas"):
                self.is_set.set()
                self.may_end.wait()
        finally:
            self.is_set.set()  # an error must not leave anyone waiting


def _enter() -> None:
    global _n_inside, _cap
    with _lock:
        if _n_inside == 0:
            _cap = _Cap()
            _cap.start()
            _cap.is_set.wait()
        _n_inside += 1


def _leave() -> None:
    global _n_inside, _cap
    with _lock:
        _n_inside -= 1
        if _n_inside == 0 and _cap is not None:
            _cap.may_end.set()
            _cap.join()
            _cap = None


def _after_fork() -> None:
    """A forked process has neither the thread nor, if it was held, the key to the lock."""
    global _lock, _n_inside, _cap
    _lock, _n_inside, _cap = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
