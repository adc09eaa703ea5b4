"""Factors and codes that are not given yet: what the formula of a property is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._params import Predictor, validated
from ._frame import CHUNK, FormulaError, Frame, Node, Positions
from ._predicates import Equal, Forall, Guarantee, Predicate, refuse_empty
from ._quantale import Semantics
from ._terms import Domain, Term, Variable

Kind = Literal["factors", "codes"]


# -- sets ------------------------------------------------------------------------------------


class _Restrictable(Domain):
    def where(self, condition: Callable[..., Predicate]) -> Domain:
        """The elements of which a condition is true.

        Parameters
        ----------
        condition : callable
            A function of a variable, or of two for pairs, that returns a predicate. It may mention
            variables of quantifiers around it.

        Returns
        -------
        subset : set
        """
        names = list(inspect.signature(condition).parameters)
        own = tuple(Variable(name, self) for name in names)
        return _Where(self, own, condition(*own))


@dataclass(frozen=True, eq=False, repr=False)
class _Samples(_Restrictable):
    name: str = "samples"
    _of_samples = True

    def _positions(self, frame: Frame) -> Positions:
        return np.arange(_data(self, frame).n_samples)


@dataclass(frozen=True, eq=False, repr=False)
class _Pairs(_Restrictable):
    """Pairs of samples: all of them, or those that are given in place of labels."""

    name: str = "pairs"
    _of_samples = True
    _pairs_of = True

    def _positions(self, frame: Frame) -> Positions:
        return np.arange(_data(self, frame).n_samples)

    def _frames(self, frame: Frame, variables: tuple[Variable, ...]) -> Iterator[Frame]:
        for first, second in self._rows(frame):
            yield frame.with_axis(dict(zip(variables, (first, second))))

    def _rows(self, frame: Frame) -> Iterator[tuple[Positions, Positions]]:
        data = _data(self, frame)
        n, limit = data.n_samples, frame.n_pairs
        if limit is not None and n * n > limit and frame.rng is not None:
            data.sampled = True
            for start in range(0, limit, CHUNK):
                size = min(CHUNK, limit - start)
                yield frame.rng.randint(n, size=size), frame.rng.randint(n, size=size)
            return
        step = max(1, CHUNK // n)
        for start in range(0, n, step):
            rows = np.arange(start, min(n, start + step))
            yield np.repeat(rows, n), np.tile(np.arange(n), len(rows))


@dataclass(frozen=True, eq=False, repr=False)
class _Where(_Restrictable):
    base: Domain
    own: tuple[Variable, ...]
    condition: Predicate

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_samples", self.base._of_samples)
        if hasattr(self.base, "_pairs_of"):
            object.__setattr__(self, "_pairs_of", True)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._text()

    def _text(self) -> str:
        names = ", ".join(v.name for v in self.own)
        return f"{{{names} ∈ {self.base} | {self.condition}}}"

    def _free(self) -> dict[Variable, Any]:
        inside = {v: at for v, at in self.condition._free().items() if v not in set(self.own)}
        return {**self.base._free(), **inside}

    def _pins(self) -> set[Variable]:
        return set(self._free())

    def _sort(self) -> str | None:
        return self.base._sort()

    def _positions(self, frame: Frame) -> Positions:
        positions = self.base._positions(frame)
        if hasattr(self, "_pairs_of"):
            return positions
        free = self._free()
        if any(variable.domain._solved for variable in free):
            return positions[self._holds(frame, {self.own[0]: positions})]
        # The same subset is asked for by every formula within, and by what solves it.
        known, key = _data(self, frame)._views, (self, *(frame.single(v) for v in free))
        if key not in known:
            known[key] = positions[self._holds(frame, {self.own[0]: positions})]
        return known[key]

    def _values_at(self, frame: Frame, positions: Positions) -> Any:
        return self.base._values_at(frame, positions)

    def _holds(self, frame: Frame, rows: dict[Variable, Positions]) -> Any:
        inner = frame.exact().with_axis(rows)
        size = len(next(iter(rows.values())))
        return np.broadcast_to(self.condition._truth(inner).reshape(-1), size)

    def _frames(self, frame: Frame, variables: tuple[Variable, ...]) -> Iterator[Frame]:
        found = False
        for first, second in self.base._rows(frame):  # type: ignore[attr-defined]
            kept = self._holds(frame, dict(zip(self.own, (first, second))))
            if kept.any():
                found = True
                yield frame.with_axis(dict(zip(variables, (first[kept], second[kept]))))
        if not found:
            _refuse_empty(self, frame)

    def _chosen_pairs(self, frame: Frame, every: Positions) -> Positions:
        parts = []
        for inner in frame.exact().along_pairs(self.own, every):
            at = inner.pair[1]  # type: ignore[index]
            parts.append(at[np.broadcast_to(self.condition._truth(inner).reshape(-1), len(at))])
        chosen = np.concatenate(parts)
        if len(chosen) == 0:
            _refuse_empty(self, frame)
        return chosen


def _refuse_empty(domain: Domain, frame: Frame) -> None:
    if not _data(domain, frame).is_batch:
        refuse_empty(domain)


@dataclass(frozen=True, eq=False, repr=False)
class _Columns(_Restrictable):
    name: Kind

    def _positions(self, frame: Frame) -> Positions:
        data = _data(self, frame)
        return data.kept if self.name == "factors" else np.arange(data.n_codes)

    def _values_at(self, frame: Frame, positions: Positions) -> Any:
        return positions

    def _sort(self) -> str:
        return "index"


@dataclass(frozen=True, eq=False, repr=False)
class _Values(Domain):
    """Distinct values of one factor."""

    index: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._text()

    def _text(self) -> str:
        return f"values(y[{self.index}])"

    def _free(self) -> dict[Variable, Any]:
        return self.index._free() if isinstance(self.index, Term) else {}

    def _sort(self) -> str:
        return "factors"

    def _rows(self, frame: Frame) -> Any:
        return _data(self, frame).values_of(_number(self.index, frame))

    def _positions(self, frame: Frame) -> Positions:
        return np.arange(len(self._rows(frame)))

    def _values_at(self, frame: Frame, positions: Positions) -> Any:
        return self._rows(frame)[positions]


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


# -- terms -----------------------------------------------------------------------------------


def _data(part: Node, frame: Frame) -> Any:
    if frame.data is None:
        raise FormulaError(
            part, f"{part!r} has no data. Make a Property of the formula, and call its quantity."
        )
    return frame.data


def _index_kind(index: Any) -> str | None:
    """What an index numbers: "factors", "codes", or None if it is not one."""
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        return "factors"
    if isinstance(index, _Assigned):
        return "codes"
    domain = getattr(index, "domain", None)
    while isinstance(domain, _Where):
        domain = domain.base
    return domain.name if isinstance(domain, _Columns) else None


def _number(index: Any, frame: Frame) -> int:
    if isinstance(index, _Assigned):
        return index.number(frame)
    return frame.single(index) if isinstance(index, Variable) else int(index)


def _index_variables(index: Any) -> set[Variable]:
    return set(index._free()) if isinstance(index, Term) else set()


@dataclass(frozen=True, eq=False, repr=False)
class _Assigned(Term):
    """The code that an assignment gives to a factor."""

    assignment: Variable
    factor: Any

    def _text(self) -> str:
        return f"{self.assignment}({self.factor})"

    def _free(self) -> dict[Variable, Any]:
        own = self.factor._free() if isinstance(self.factor, Term) else {}
        return {self.assignment: self.assignment, **own}

    def _sort(self) -> str:
        return "index"

    def number(self, frame: Frame) -> int:
        return frame.found[self.assignment][_number(self.factor, frame)]

    def _pins(self) -> set[Variable]:
        return set(self._free())

    def _evaluate(self, frame: Frame) -> Any:
        return np.full((1,) * frame.ndim, self.number(frame))


@dataclass(frozen=True, eq=False, repr=False)
class _Row(Term):
    """All factors, or all codes, of a sample."""

    symbol: Symbol
    sample: Variable

    def _text(self) -> str:
        return f"{self.symbol}({self.sample})"

    def _free(self) -> dict[Variable, Any]:
        return {self.sample: self.sample}

    def _sort(self) -> str:
        return self.symbol._kind

    def __getitem__(self, index: Any) -> Term:
        kind, own = _index_kind(index), self.symbol._kind
        if kind is None or (kind == "codes" and own == "factors") or (kind is None):
            raise FormulaError(
                self,
                f"{self}[{index}] does not fit: {own} are numbered by integers, or by variables "
                f"over {'y.columns' if own == 'factors' else 'y.columns or z.columns'}.",
            )
        return _Part(self, index)

    def _evaluate(self, frame: Frame) -> Any:
        return self._spread(frame, _data(self, frame).whole(self, self.symbol._kind))

    def _spread(self, frame: Frame, table: Any) -> Any:
        from ._arrays import take

        frame.axis_of(self.sample)
        return frame.spread(self.sample, take(table, frame.rows[self.sample]))


@dataclass(frozen=True, eq=False, repr=False)
class _Part(Term):
    """One factor of a sample, its codes, or a single code."""

    row: _Row
    index: Any

    def _text(self) -> str:
        return f"{self.row}[{self.index}]"

    def _free(self) -> dict[Variable, Any]:
        own = self.index._free() if isinstance(self.index, Term) else {}
        return {**self.row._free(), **own}

    def _pins(self) -> set[Variable]:
        return _index_variables(self.index)

    def _sort(self) -> str:
        return self.row._sort()

    def _evaluate(self, frame: Frame) -> Any:
        number = _number(self.index, frame)
        by = _index_kind(self.index)
        table = _data(self, frame).part(self, self.row.symbol._kind, by, number)
        return self.row._spread(frame, table)


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


# -- symbols ---------------------------------------------------------------------------------


class Symbol(Node):
    """Factors ``y`` or codes ``z`` in the formula of a `Property`, without data.

    ``y(s)`` are the factors of sample s, ``y(s)[k]`` is factor k; ``z(s)`` are the codes,
    ``z(s)[k]`` those that belong to factor k, ``z(s)[d]`` a single one.

    Parameters
    ----------
    kind : {"factors", "codes"}
        What it stands for. A `Property` makes both itself.

    Attributes
    ----------
    samples : set
        All samples; ``y.samples.where(lambda s: y(s)[k] == v)`` are some of them.
    pairs : set
        All ordered pairs of samples, for two variables, or the pairs that are given in place of
        labels.
    columns : set
        Numbers of the factors, of ``y``, or of the codes, of ``z``.
    space : set
        All points of the space of factors or codes, for `Exists`.
    assignments : set
        All ways to give every factor a code of its own, for `Exists`: ``z(s)[p(k)]``.
    """

    _SAMPLES, _PAIRS, _ASSIGNMENTS = _Samples(), _Pairs(), _Assignments()

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.samples, self.pairs = self._SAMPLES, self._PAIRS
        self.assignments = self._ASSIGNMENTS
        self.columns = _Columns(kind)
        self.space = _Space(kind)

    def _text(self) -> str:
        return "y" if self._kind == "factors" else "z"

    def values(self, index: Any) -> Domain:
        """The set of values that a factor takes.

        Parameters
        ----------
        index : int or Variable
            Number of the factor.

        Returns
        -------
        values : set
        """
        if self._kind != "factors" or _index_kind(index) != "factors":
            raise FormulaError(
                self, f"{self}.values({index}) does not fit: write y.values(k) with k a factor."
            )
        return _Values(index)

    def __call__(self, sample: Any) -> Term:
        if not isinstance(sample, Variable) or not sample.domain._of_samples:
            raise FormulaError(
                self,
                f"{self}({sample}) does not fit: {sample} must be a variable over y.samples or "
                "y.pairs.",
            )
        return _Row(self, sample)
