"""Sets that the data of a property give: samples, pairs of them, columns, values of a factor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._frame import CHUNK, FormulaError, Frame, Node, Positions
from ._predicates import Predicate
from ._quantifiers import refuse_empty
from ._terms import Domain, Term, Variable

Kind = Literal["factors", "codes"]


def _data(part: Node, frame: Frame) -> Any:
    if frame.data is None:
        raise FormulaError(
            part, f"{part!r} has no data. Make a Property of the formula, and call its quantity."
        )
    return frame.data


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
    _of_pairs = True

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
        object.__setattr__(self, "_of_pairs", self.base._of_pairs)

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
        if self._of_pairs:
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


# -- numbers of columns --------------------------------------------------------------------------


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
