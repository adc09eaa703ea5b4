"""NumPy and torch behind the few functions that quantities are made of.

An operation asks `namespace` for the functions that belong to its arguments, so that a formula is
evaluated by one walk over its tree, whatever the arrays. torch is not imported here: it is there
already if an argument is a tensor. The array API standard's compatibility package would do the
same; it is not a dependency, and of its many functions two dozen are needed.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


class _NumpyFunctions:
    """The functions of NumPy under the names used here."""

    where, maximum, minimum = np.where, np.maximum, np.minimum
    sqrt, exp, log, log1p, expm1 = np.sqrt, np.exp, np.log, np.log1p, np.expm1
    tanh, arctanh, hypot, logaddexp = np.tanh, np.arctanh, np.hypot, np.logaddexp
    abs, isinf, isnan = np.abs, np.isinf, np.isnan
    any, all, sum, max, min = np.any, np.all, np.sum, np.max, np.min
    broadcast_to, concatenate = np.broadcast_to, np.concatenate

    @staticmethod
    def floats(values: Any, like: Any = None) -> Any:
        return np.asarray(values, dtype=float)

    @staticmethod
    def tiny(values: Any) -> float:
        """The least positive number of the type: what must not vanish stays at it."""
        return _TINY


class _TorchFunctions:
    """The same functions of torch, where a number may stand for a tensor, too."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        for name in ("sqrt", "exp", "log", "log1p", "expm1", "tanh", "arctanh"):
            setattr(self, name, getattr(torch, name))
        for name in ("abs", "isinf", "isnan", "broadcast_to"):
            setattr(self, name, getattr(torch, name))
        for name in ("maximum", "minimum", "hypot", "logaddexp"):
            setattr(self, name, self._of_pair(getattr(torch, name)))

    def _of_pair(self, function: Any) -> Any:
        def of_pair(a: Any, b: Any) -> Any:
            like = a if self.torch.is_tensor(a) else b
            return function(self.floats(a, like), self.floats(b, like))

        return of_pair

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        like = next((x for x in (a, b) if self.torch.is_tensor(x)), None)
        return self.torch.where(condition, self.floats(a, like), self.floats(b, like))

    def any(self, values: Any, axis: Any) -> Any:
        return self.torch.any(values, dim=axis)

    def all(self, values: Any, axis: Any) -> Any:
        return self.torch.all(values, dim=axis)

    def sum(self, values: Any, axis: Any) -> Any:
        return self.torch.sum(values, dim=axis)

    def max(self, values: Any, axis: Any) -> Any:
        return self.torch.amax(values, dim=axis)

    def min(self, values: Any, axis: Any) -> Any:
        return self.torch.amin(values, dim=axis)

    def concatenate(self, parts: Any, axis: int) -> Any:
        return self.torch.cat(list(parts), dim=axis)

    def floats(self, values: Any, like: Any = None) -> Any:
        if self.torch.is_tensor(values):
            return values if values.is_floating_point() else values.to(_dtype(self.torch, like))
        kind = {"dtype": _dtype(self.torch, like)}
        if like is not None:
            kind["device"] = like.device
        return self.torch.as_tensor(values, **kind)

    def tiny(self, values: Any) -> float:
        return float(self.torch.finfo(values.dtype).tiny)


_TINY = float(np.finfo(float).smallest_subnormal)
_NUMPY = _NumpyFunctions


def _dtype(torch: Any, like: Any) -> Any:
    is_float = like is not None and like.is_floating_point()
    return like.dtype if is_float else torch.get_default_dtype()


def is_tensor(array: Any) -> bool:
    """Whether it is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_tensor(array)


_cached: list[_TorchFunctions] = []


def namespace(*arrays: Any) -> Any:
    """The functions for these arrays: those of torch if one of them is a tensor."""
    if not any(map(is_tensor, arrays)):
        return _NUMPY
    if not _cached:
        _cached.append(_TorchFunctions(sys.modules["torch"]))
    return _cached[0]


def detached(array: Any) -> np.ndarray:
    """The values as a NumPy array, without their history."""
    return array.detach().cpu().numpy() if is_tensor(array) else np.asarray(array)


def like(values: Any, array: Any) -> Any:
    """The values as an array of the kind of another."""
    if is_tensor(values):
        return values
    return namespace(array).floats(values, array) if is_tensor(array) else np.asarray(values)


def take(array: Any, positions: np.ndarray) -> Any:
    """The rows at these positions."""
    if is_tensor(array):
        positions = sys.modules["torch"].as_tensor(positions, device=array.device)
    return array[positions]


def root(values: Any) -> Any:
    """The square root, with slope 0 at 0, where it has none."""
    xp = namespace(values)
    if xp is _NUMPY:
        return np.sqrt(values)
    above = values > 0
    return xp.where(above, xp.sqrt(xp.where(above, values, 1.0)), 0.0)
