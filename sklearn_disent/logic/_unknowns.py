"""Sets without end, within which "exists" is solved: points, maps, numbers, assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._params import Predictor, validated
from ._frame import FormulaError, Frame
from ._predicates import Equal, Guarantee
from ._quantale import Semantics
from ._quantifiers import Forall
from ._sets import Kind, _Assigned, _index_kind, _index_variables, _number
from ._terms import Domain, Term, Variable


class _Solved(Domain):
    """A set without end, within which "exists" is solved."""

    _solved = True

    def _solve(self, exists: Any, frame: Frame, semantics: Semantics, before: bool) -> Any:
        from ._solvers import solve

        found = {v: solve(v, exists, frame, semantics, before) for v in exists.variables}
        value = exists.body._quantity(frame.with_found(found), semantics, before)
        slope = next(iter(found.values())).slope
        if slope is None or len(found) > 1 or not _is_chain(exists.body):
            return value
        # The value of the body, with a slope that does not depend on which edge rounding is on.
        return value.detach() + (slope - slope.detach()).reshape((1,) * frame.ndim)

    def _decide(self, exists: Any, frame: Frame) -> Any:
        from ._solvers import first_of

        found = {v: first_of(v, exists, frame) for v in exists.variables}
        return exists.body._truth(frame.with_found(found))

    def _attained(self, inner: Guarantee) -> Guarantee:
        return inner


def _is_chain(node: Any) -> bool:
    """Whether it is one equation under quantifiers."""
    return isinstance(node, Equal) or (isinstance(node, Forall) and _is_chain(node.body))


@dataclass(frozen=True, eq=False, repr=False)
class _Space(_Solved):
    """All points of the space of codes, or of factors."""

    kind: Kind

    @property
    def name(self) -> str:  # type: ignore[override]
        return "Z" if self.kind == "codes" else "Y"

    def _sort(self) -> str:
        return self.kind


@dataclass(frozen=True, eq=False, repr=False)
class _Maps(_Solved):
    kind: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        if isinstance(self.kind, str):
            return {"any": "maps", "affine": "affine maps"}[self.kind]
        return f"maps by {type(self.kind).__name__}"

    def _applied(self, variable: Variable, *arguments: Any) -> Term:
        if len(arguments) != 1 or not isinstance(arguments[0], Term):
            raise TypeError(f"{variable} takes one term, such as z(s), got {arguments!r}.")
        return _MapApply(variable, arguments[0])

    def _attained(self, inner: Guarantee) -> Guarantee:
        # A regressor may miss what is there; where its error is 0, it has found it.
        return inner if isinstance(self.kind, str) else Guarantee(inner.zero_implies_true, False)


@validated
def maps(kind: Literal["any", "affine"] | Predictor = "any") -> Domain:
    """Set of functions from terms to terms, of which `Exists` finds the best one.

    Parameters
    ----------
    kind : {"any", "affine"} or regressor, default="any"
        All functions, which confuse equal arguments only; affine ones; or those of a scikit-learn
        regressor, such as a small network (``MLPRegressor``).

    Returns
    -------
    maps : set
        A variable over it is called with a term: ``h(z(s))``.

    See Also
    --------
    functions : All functions between two finite sets, enumerated.

    Notes
    -----
    What is best depends on the aggregators and on the premetric: see `Property`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.logic import Exists, Forall, Property, Semantics, maps
    >>> decodable = Property(lambda y, z: Exists(
    ...     maps("affine"), lambda h: Forall(y.samples, lambda s: h(z(s)) == y(s))))
    >>> factors = np.array([[0.0], [1.0], [2.0]])
    >>> round(decodable.quantity(factors, factors**2), 6)  # the largest error of the best line
    0.25
    """
    if isinstance(kind, type):
        raise TypeError(f"kind must be an instance of a regressor, got the class {kind.__name__}.")
    return _Maps(kind)


@dataclass(frozen=True, eq=False, repr=False)
class _Interval(_Solved):
    low: float
    high: float
    closed: str

    @property
    def name(self) -> str:  # type: ignore[override]
        left = "[" if self.closed in ("both", "left") else "("
        right = "]" if self.closed in ("both", "right") else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"

    def _solve(self, exists: Any, frame: Frame, semantics: Semantics, before: bool) -> Any:
        from ._solvers import Point, only_target

        target = only_target(exists, frame)
        found = {exists.variables[0]: Point(np.clip(target, self.low, self.high))}
        return exists.body._quantity(frame.with_found(found), semantics, before)

    def _decide(self, exists: Any, frame: Frame) -> Any:
        from ._solvers import only_target

        target = only_target(exists, frame)
        above = target >= self.low if self.closed in ("both", "left") else target > self.low
        below = target <= self.high if self.closed in ("both", "right") else target < self.high
        return np.full((1,) * frame.ndim, bool(above and below))

    def _attained(self, inner: Guarantee) -> Guarantee:
        # The infimum over an open set is that over its closure, where the formula may be false.
        return inner if self.closed == "both" else Guarantee(False, inner.true_implies_zero)


@validated
def interval(
    low: float, high: float, *, closed: Literal["both", "left", "right", "neither"] = "both"
) -> Domain:
    """Set of all numbers between two, for `Exists` with one equation.

    It shows why an infimum over an infinite set needs care: over an open interval it is 0 for a
    number at its end, which is not an element.

    Parameters
    ----------
    low, high : float
        The ends.
    closed : {"both", "left", "right", "neither"}, default="both"
        Which ends belong to it.

    Returns
    -------
    interval : set

    Examples
    --------
    >>> from sklearn_disent.logic import Exists, interval
    >>> zero = Exists(interval(0, 1, closed="right"), lambda u: u == 0)
    >>> zero
    ∃ u ∈ (0, 1]. u = 0
    >>> zero.quantity(), zero.truth(), zero.guarantee().zero_implies_true
    (0.0, False, False)
    """
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}.")
    return _Interval(low, high, closed)


@dataclass(frozen=True, eq=False, repr=False)
class _Assignments(_Solved):
    """All ways to give every factor a code of its own."""

    name: str = "assignments"

    def _applied(self, variable: Variable, *arguments: Any) -> Term:
        if len(arguments) != 1 or _index_kind(arguments[0]) != "factors":
            raise TypeError(f"{variable} takes the number of a factor, got {arguments!r}.")
        return _Assigned(variable, arguments[0])

    def _solve(self, exists: Any, frame: Frame, semantics: Semantics, before: bool) -> Any:
        from ._solvers import assign

        return assign(exists, frame, semantics, before)

    def _decide(self, exists: Any, frame: Frame) -> Any:
        from ._solvers import can_assign

        return can_assign(exists, frame)


@dataclass(frozen=True, eq=False, repr=False)
class _MapApply(Term):
    """What an unknown function makes of a term."""

    function: Variable
    argument: Term
    component: Any = None

    def _text(self) -> str:
        part = "" if self.component is None else f"[{self.component}]"
        return f"{self.function}({self.argument}){part}"

    def __getitem__(self, index: Any) -> Term:
        if self.component is not None or _index_kind(index) is None:
            raise FormulaError(self, f"{self}[{index}] does not fit: number it by y.columns.")
        return _MapApply(self.function, self.argument, index)

    def _free(self) -> dict[Variable, Any]:
        own = self.component._free() if isinstance(self.component, Term) else {}
        return {self.function: self.function, **self.argument._free(), **own}

    def _pins(self) -> set[Variable]:
        return self.argument._pins() | _index_variables(self.component)

    def key(self, frame: Frame) -> int | None:
        return None if self.component is None else _number(self.component, frame)

    def _evaluate(self, frame: Frame) -> Any:
        argument = self.argument._evaluate(frame)
        return frame.found[self.function].apply(self.key(frame), argument, frame.ndim)
