"""A cache of fits for sweeps that are killed and run again."""

import functools
import sys
import warnings
from collections.abc import Callable
from numbers import Integral
from os import PathLike, fspath
from typing import Annotated, Any, NamedTuple

import joblib
from joblib.disk import memstr_to_bytes
from joblib.func_inspect import filter_args

from .._fingerprint import fingerprint
from .._manifest import half_trained, stale
from .._params import Interval, PositiveInt, Verbose, validated


class SweepMemory(joblib.Memory):
    """Cache of fitted models on disk which is bounded in size and notices damaged files.

    As `memory` of a :class:`~sklearn.pipeline.Pipeline` in which a "passthrough" follows the
    model, it makes a search resumable: killed and run again, the search repeats only the fits
    that were not finished, and its scores are the same to the last bit.

    Parameters
    ----------
    location : str or path-like
        Folder of the cache. Several processes and machines may share it.
    bytes_limit : int, str or None, default=None
        Size to which the folder is cut back after every fit: a number of bytes, or a string such as
        "500K", "200M" or "10G". The models that were not used for the longest time are removed
        first; a sweep that needs them fits them again. There is no limit if None.
    compress : int, default=1
        Level of zlib from 0 to 9. From 1 on every entry has a checksum, so that any damage is
        noticed; with 0 only truncation is.
    verbose : int, default=0
        How much joblib prints.

    See Also
    --------
    udr_ranking : Ranks the models of a finished search, without another fit if they are cached.

    Notes
    -----
    An entry that cannot be read is computed again, with a warning (plain :class:`joblib.Memory`
    only logs it). A folder that cannot be written to, or a full disk, costs no fit that is done:
    the search goes on with a warning, and what is in the folder is read.

    The key of an entry consists of the parameters of the model, modules among them with their
    weights, the rows of X and y that it is trained on, the code of every class and function among
    the parameters and of what they call, and the versions of Python, of this package, of
    scikit-learn, skorch, torch, NumPy and SciPy. Changed code and other versions are fitted anew.
    A model whose ``manifest_`` says that it is half-trained, or that other code trained it, is
    neither stored nor read, with a warning.
    With a `random_state` of None every run reads the same cached fit; use integers.

    Entries are pickles: whoever can write to the folder can run code in your processes.

    A class that is defined in the script itself cannot be stored by worker processes: such fits
    are computed every time, with a warning. Move the class to a module which workers can import.

    An entry holds the model, the state of its optimizer, and the codes of its training rows, about
    ``12 * n_parameters + 4 * n_rows * n_components`` bytes before compression. While several
    workers write at once, the folder may exceed the limit by one entry of each.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> from sklearn_disent.metrics import get_scorer
    >>> from sklearn_disent.model_selection import SweepMemory
    >>> X, y = make_dependent_factors(200, random_state=0, return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     memory = SweepMemory(folder, bytes_limit="10M")
    ...     model = Pipeline([("pca", PCA()), ("end", "passthrough")], memory=memory)
    ...     grid = {"pca__whiten": [False, True]}
    ...     search = GridSearchCV(model, grid, scoring=get_scorer("mig"), cv=2).fit(X, y)
    ...     again = search.fit(X, y)  # reads every fit from the folder
    """

    @validated
    def __init__(
        self,
        location: str | PathLike[str],
        *,
        bytes_limit: PositiveInt | str | None = None,
        compress: Annotated[int, Interval(Integral, 0, 9, closed="both")] = 1,
        verbose: Verbose = 0,
    ) -> None:
        # joblib uses two different folders for a string and for a path.
        options = {"compress": int(compress), "verbose": int(verbose)}
        try:
            super().__init__(fspath(location), **options)
        except OSError as error:
            # A sweep that has hours ahead of it does not end here; nothing is cached.
            super().__init__(None, **options)
            warnings.warn(
                f"The cache {fspath(location)} cannot be written to ({error}): fits will not be "
                "found again. Check its permissions and the room on its disk.",
                UserWarning,
                stacklevel=3,
            )
        self.bytes_limit = bytes_limit
        self._n_bytes = _n_bytes(bytes_limit)

    def cache(self, func: Callable | None = None, **options: Any) -> Callable:
        """Return a function that reads its result from the cache if it is there.

        Parameters
        ----------
        func : callable or None, default=None
            The function; in a Pipeline the one that fits a step. If None, a decorator is returned.
        **options
            Those of :meth:`joblib.Memory.cache`.

        Returns
        -------
        cached : callable
        """
        if func is None:
            return functools.partial(self.cache, **options)
        ignored = frozenset(options.pop("ignore", None) or ())
        stored = super().cache(_call, ignore=["func", "args", "kwargs"], **options)
        return _BoundedFunc(func, stored, self, ignored)


def _n_bytes(limit: int | str | None) -> int | None:
    try:
        size = memstr_to_bytes(limit) if isinstance(limit, str) else limit
    except (ValueError, LookupError):
        size = 0
    if size is not None and size < 1:
        raise ValueError(
            f"bytes_limit must be a positive number, or a text of one with the unit K, M or G, "
            f"such as '10G', got {limit!r}."
        )
    return size


def _call(key: str, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What joblib stores: the result of a function, under a key of our own."""
    result = func(*args, **kwargs)
    for part in result if isinstance(result, tuple) else (result,):
        problem = half_trained(part)
        if problem is not None:
            raise _HalfTrainedError(problem, result)
    return result


class _BoundedFunc:
    """A cached function; after each call the cache is cut back to its limit."""

    def __init__(
        self, func: Callable, stored: Any, memory: SweepMemory, ignored: frozenset[str]
    ) -> None:
        functools.update_wrapper(self, func)
        self.func = func
        self.stored = stored
        self.memory = memory
        self.ignored = ignored

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named = filter_args(self.func, list(self.ignored), args, kwargs)
        key, own_classes = fingerprint((self.func, named))
        lost = sorted({cls.__qualname__ for cls in own_classes if _is_lost(cls)})
        if lost:
            warnings.warn(
                f"A fit is not cached, since {', '.join(lost)} is defined in the script itself, "
                "where worker processes cannot find it: move it to a module and import it.",
                UserWarning,
                stacklevel=2,
            )
            return self.func(*args, **kwargs)
        call = (key, self.func, args, kwargs)
        cached = self._read(call)
        if cached is not None:
            return cached.value
        try:
            result = self.stored(*call)
        except _HalfTrainedError as error:
            _warn(f"A fit is not cached: {error}.", stacklevel=3)
            return error.result
        if self.memory.location is not None and not self.stored.check_call_in_cache(*call):
            _warn(
                f"A fit cannot be written to the cache {self.memory.location}, and will not be "
                "found again. Check its permissions and the room on its disk.",
                stacklevel=3,
            )
        self.memory.reduce_size(bytes_limit=self.memory._n_bytes)
        return result

    def _read(self, call: tuple) -> "_Cached | None":
        """The entry of a call, unless it is damaged, half-trained or stale: then it is removed."""
        # We ask first, since joblib itself only logs that an entry is damaged.
        if not self.stored.check_call_in_cache(*call):
            return None
        entry = self.stored.call_and_shelve(*call)
        try:
            found = _Cached(entry.get())
        except Exception as error:  # whatever a damaged pickle may raise
            _warn(
                f"A cached fit cannot be read ({type(error).__name__}: {error}) and is "
                f"computed again. If this recurs, check the disk of {self.memory.location}."
            )
            entry.clear()
            return None
        problem = _problem_of(found.value)
        if problem is None:
            return found
        _warn(f"A cached fit is computed again: {problem}.")
        entry.clear()
        return None


class _Cached(NamedTuple):
    """What a function returned, None included."""

    value: Any


class _HalfTrainedError(Exception):
    """A result that must not be stored."""

    def __init__(self, problem: str, result: Any) -> None:
        super().__init__(problem)
        self.result = result


def _problem_of(result: Any) -> str | None:
    """Why a result, or a model in it, must not be used again; by its manifest, if it has one."""
    parts = result if isinstance(result, tuple) else (result,)
    problems = (check(part) for part in parts for check in (half_trained, stale))
    return next((problem for problem in problems if problem), None)


def _warn(message: str, stacklevel: int = 4) -> None:
    # Most often called by a method of the cached function, which the user's code has called.
    warnings.warn(message, UserWarning, stacklevel=stacklevel)


def _is_lost(cls: type) -> bool:
    """Whether pickle would not find a class of the script: so it is in a worker process."""
    if cls.__module__ != "__main__":
        return False
    found: Any = sys.modules["__main__"]
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is not cls
