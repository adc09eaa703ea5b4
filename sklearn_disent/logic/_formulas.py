"""The formulas behind the operations: distances, products, residuals, aggregates.

All take NumPy arrays or tensors, and keep two promises that plain formulas break: none underflows
to 0, which would turn false into true, and slopes are finite where the formula has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ._backend import is_tensor, namespace, root

Array = NDArray[Any]


@dataclass(frozen=True)
class Distance:
    """Distances of rows, times a factor; of all pairs of rows where two axes meet."""

    kind: str
    factor: float = 1.0

    def __call__(self, a: Any, b: Any) -> Any:
        a, b = _numbers(a, b)
        out = _pairwise(a, b, self.kind)
        if out is None:
            out = _LENGTHS[self.kind](a - b)
        out = out if self.factor == 1 else self.factor * out
        return out if is_tensor(out) else self._kept_positive(np.asarray(out), a, b)

    def _kept_positive(self, out: Array, a: Array, b: Array) -> Array:
        """Where squares underflow, the largest component alone bounds the norm."""
        lost = out == 0
        if lost.any():
            a, b = (np.broadcast_to(x, (*out.shape, x.shape[-1])) for x in (a, b))
            size = np.abs(a[lost] - b[lost]).max(axis=-1, initial=0.0)
            tiny = namespace(out).tiny(out)
            is_square = self.kind == "squared_euclidean"
            least = tiny if is_square else np.maximum(self.factor * size, tiny)
            out[lost] = np.where(size > 0, least, 0.0)
        return out


def _numbers(a: Any, b: Any) -> tuple[Any, Any]:
    xp = namespace(a, b)
    try:
        like = a if is_tensor(a) else b
        return (xp.floats(a, like), xp.floats(b, like))
    except (TypeError, ValueError):
        shown = next(x.ravel()[0] for x in (a, b) if x.dtype.kind not in "biuf")
        raise ValueError(
            f"The Euclidean premetrics need numbers, got values such as {shown!r}. "
            "Choose '0/1' for labels, or a Premetric of your own."
        ) from None


def _squares(gap: Any) -> Any:
    return (gap * gap).sum(-1) if is_tensor(gap) else np.einsum("...i,...i->...", gap, gap)


_LENGTHS: dict[str, Callable[[Any], Any]] = {
    "euclidean": lambda gap: abs(gap[..., 0]) if gap.shape[-1] == 1 else root(_squares(gap)),
    "squared_euclidean": _squares,
    "manhattan": lambda gap: abs(gap).sum(-1),
}
_CDIST = {"euclidean": "euclidean", "squared_euclidean": "sqeuclidean", "manhattan": "cityblock"}


def _pairwise(a: Any, b: Any, kind: str) -> Any:
    """Distances of all rows along one axis to all rows along another; None if it is not so."""
    of_a = [i for i, size in enumerate(a.shape[:-1]) if size > 1]
    of_b = [i for i, size in enumerate(b.shape[:-1]) if size > 1]
    if len(of_a) != 1 or len(of_b) != 1 or of_a == of_b or a.shape[-1] < 2:
        return None
    # The same numbers without a table that has an axis for the components.
    rows = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
    if not is_tensor(a):
        table = cdist(*rows, metric=_CDIST[kind])
    elif kind == "euclidean":
        from torch import cdist as torch_cdist  # is there: these are tensors

        table = torch_cdist(*rows, compute_mode="donot_use_mm_for_euclid_dist")
    else:
        return None
    shape = [1] * (a.ndim - 1)
    shape[of_a[0]], shape[of_b[0]] = len(rows[0]), len(rows[1])
    return (table if of_a < of_b else table.T).reshape(shape)


def step(height: float) -> Callable[[Any, Any], Any]:
    def step(a: Any, b: Any) -> Any:
        xp = namespace(a, b)
        differ = a != b
        if is_tensor(differ):
            return xp.where(xp.any(differ, axis=-1), xp.floats(height, a), xp.floats(0.0, a))
        return np.where(differ.astype(bool).any(axis=-1), height, 0.0)

    return step


# In what follows, formulas see valid numbers only; where they do not apply, others take their
# place afterwards. Otherwise nan would creep into the slopes of the results.


def _settled(f: Callable, valid: Any, a: Any, b: Any, low: float, high: float) -> Any:
    xp = namespace(a, b)
    return f(xp.where(valid, a, low), xp.where(valid, b, high))


def unital(f: Callable) -> Callable:
    """Settle a conjunction at its unit 0 and at infinity, where formulas give inf - inf."""

    def product(a: Any, b: Any) -> Any:
        xp = namespace(a, b)
        infinite = xp.isinf(a) | xp.isinf(b)
        valid = ~infinite & (a > 0) & (b > 0)
        out = xp.where(infinite, np.inf, _settled(f, valid, a, b, 1.0, 1.0))
        return xp.where(a == 0, b, xp.where(b == 0, a, out))

    return product


def adjoint(f: Callable) -> Callable:
    """Settle a residual: 0 exactly where a >= b."""

    def residual(a: Any, b: Any) -> Any:
        xp = namespace(a, b)
        valid = (a < b) & ~xp.isinf(b)
        out = xp.maximum(_settled(f, valid, a, b, 0.0, 1.0), xp.tiny(b))
        return xp.where(a >= b, 0.0, xp.where(xp.isinf(b), np.inf, out))

    return residual


def absorbing(f: Callable) -> Callable:
    """Settle a disjunction, given as f(smaller, larger), at 0 and at its unit infinity."""

    def product(a: Any, b: Any) -> Any:
        xp = namespace(a, b)
        low, high = xp.minimum(a, b), xp.maximum(a, b)
        valid = (low > 0) & ~xp.isinf(high)
        out = xp.maximum(_settled(f, valid, low, high, 1.0, 1.0), xp.tiny(a))
        return xp.where(low == 0, 0.0, xp.where(xp.isinf(high), low, out))

    return product


@dataclass(frozen=True)
class Moment:
    """The maximum (power 0), or a sum or mean of powers, of values as they come."""

    power: int
    average: bool = True
    root: bool = False

    def __call__(self, values: Any, axis: int) -> Any:
        return self.over([values])

    def over(self, parts: Iterable[Any]) -> Any:
        total, count, positive = None, 0, None
        for values in parts:
            xp = namespace(values)
            if values.shape[-1] == 0:
                continue
            if self.power == 0:
                new = xp.max(values, axis=-1)
                total = new if total is None else xp.maximum(total, new)
                continue
            with np.errstate(over="ignore"):  # what is too large to be squared is infinitely false
                new = xp.sum(values if self.power == 1 else values**self.power, axis=-1)
            some = xp.any(values > 0, axis=-1)
            total = new if total is None else total + new
            positive = some if positive is None else positive | some
            count += values.shape[-1]
        if total is None:
            return values.sum(-1)
        if self.power == 0 or not self.average:
            return total
        out = total / count
        out = root(out) if self.root else out
        return xp.where(positive, xp.maximum(out, xp.tiny(out)), 0.0)


def not_negative(values: Any) -> Any:
    return namespace(values).maximum(values, 0.0)


def log_sum_exp_of(a: Any, b: Any) -> Any:
    xp = namespace(a, b)
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    return high + xp.log1p(-xp.exp(low - high) * xp.expm1(-low))


def log_sum_exp_residual(a: Any, b: Any) -> Any:
    xp = namespace(a, b)
    return xp.logaddexp(0.0, b + xp.log(-xp.expm1(a - b)))


def root_difference(a: Any, b: Any) -> Any:
    xp = namespace(a, b)
    return xp.sqrt(b - a) * xp.sqrt(b + a)


def square_of_roots(a: Any, b: Any) -> Any:
    xp = namespace(a, b)
    return a + b + 2 * xp.sqrt(a) * xp.sqrt(b)


def square_of_roots_residual(a: Any, b: Any) -> Any:
    return ((b - a) / (root(b) + root(a))) ** 2


def probabilistic(low: Any, high: Any) -> Any:
    xp = namespace(low)
    near = -xp.log1p(-xp.expm1(-low) * xp.expm1(-high))
    return xp.where(low < 1, near, low - xp.log1p(xp.exp(low - high) - xp.exp(-high)))


def tanh_product(low: Any, high: Any) -> Any:
    # artanh(tanh a tanh b) = (log cosh(a + b) - log cosh(a - b)) / 2, for where tanh is 1.
    xp = namespace(low)
    far = xp.log1p(xp.exp(-2 * (low + high))) - xp.log1p(xp.exp(-2 * (high - low)))
    near = low < 1
    product = xp.tanh(xp.where(near, low, 0.5)) * xp.tanh(xp.where(near, high, 0.5))
    return xp.where(near, xp.arctanh(product), low + far / 2)


def is_zero(a: Any) -> Any:
    xp = namespace(a)
    return xp.where(a == 0, xp.floats(1.0, a), xp.floats(0.0, a))


def larger(a: Any, b: Any) -> Any:
    return namespace(a, b).maximum(a, b)


def smaller(a: Any, b: Any) -> Any:
    return namespace(a, b).minimum(a, b)


def hypotenuse(a: Any, b: Any) -> Any:
    return namespace(a, b).hypot(a, b)
