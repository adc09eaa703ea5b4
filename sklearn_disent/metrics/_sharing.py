"""Computations that several metrics have in common: within `sharing()`, each is done once.

A metric that is called by itself computes its own matrix. Among others, on the same data and with
the same settings, it gets the matrix that is there already. Hence nothing needs to know which
metrics rest on which matrix: it is enough that the function which computes it is `shared`.
"""

import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Number
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

# A context variable belongs to its thread and task: metrics elsewhere are not affected.
_STORE: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("store", default=None)


@contextmanager
def sharing(*, anew: bool = False) -> Iterator[None]:
    """Until the end of the block, every shared function is computed once for equal arguments.

    Data count as equal if they are the same object, settings if they are equal. The data must not
    change meanwhile, nor may anyone write into a result.

    A block within another one joins it. `anew` keeps them apart: what is computed in the inner
    block is forgotten at its end, as it should be for one of many resamples.
    """
    outer = _STORE.get()
    token = _STORE.set({} if outer is None or anew else outer)
    try:
        yield
    finally:
        _STORE.reset(token)


def shared(
    function: Callable[P, R], key_of: Callable[..., Hashable] | None = None
) -> Callable[P, R]:
    """Mark a function whose results metrics may share.

    `key_of` makes a key of the same arguments, where equal ones are not the same objects.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        store = _STORE.get()
        if store is None:
            return function(*args, **kwargs)
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        # A generator moves on with every draw: the next result would be a different one.
        if isinstance(arguments.arguments.get("random_state"), np.random.RandomState):
            return function(*args, **kwargs)
        own = _token(arguments.arguments) if key_of is None else key_of(*args, **kwargs)
        key = (function, own)
        if key not in store:
            # The arguments are kept, too: an id is unique only among the living.
            store[key] = function(*args, **kwargs), arguments
        return store[key][0]

    return wrapper


def _token(value: Any) -> Hashable:
    """Equal for equal settings and for the same object, with the type, since 1 == True."""
    if isinstance(value, dict):
        return tuple((name, _token(value[name])) for name in sorted(value))
    if type(value) is tuple:
        return tuple(_token(entry) for entry in value)
    if value is None or isinstance(value, (str, Number)):
        return type(value), value
    return id(value)
