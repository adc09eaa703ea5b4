"""Quantifiers: "for all" is an aggregator, "exists" an infimum."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np

from ._backend import like, namespace
from ._frame import FormulaError, Frame
from ._predicates import Guarantee, Predicate, _demand
from ._quantale import Aggregator, Array, Semantics
from ._terms import Domain, Variable


def refuse_empty(domain: Domain) -> None:
    """A set that is empty for the data at hand is a mistake, not a truth."""
    raise FormulaError(
        domain,
        f"The set {domain} is empty for these data, so that nothing is said. Check what it is "
        "restricted to.",
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Quantifier(Predicate):
    variables: Any
    body: Any

    _sign: ClassVar[str]

    def __post_init__(self) -> None:
        variables, body = self.variables, self.body
        given = tuple(variables) if isinstance(variables, (tuple, list)) else (variables,)
        pairs = getattr(given[0], "_of_pairs", False) if len(given) == 1 else None
        if given and all(isinstance(s, Domain) for s in given) and callable(body):
            parameters = inspect.signature(body).parameters.values()
            names = [p.name for p in parameters if p.default is p.empty]
            given = given * len(names) if len(given) == 1 else given
            if len(given) != len(names) or (pairs and len(names) != 2):
                raise ValueError(
                    f"The {len(given)} sets do not match the parameters {names} of the function. "
                    "Give one set for all, or one for each; a set of pairs has two parameters."
                )
            given = tuple(map(Variable, names, given))
            body = body(*given)
        if not given or not all(isinstance(v, Variable) for v in given):
            raise TypeError(
                f"{type(self).__name__} takes variables and a predicate, or sets and a function "
                f"of as many variables, got {variables!r}."
            )
        _demand(body)
        object.__setattr__(self, "variables", given)
        object.__setattr__(self, "body", body)

    def _text(self) -> str:
        groups = itertools.groupby(self.variables, key=lambda v: v.domain)
        bound = ", ".join(f"{', '.join(v.name for v in vs)} ∈ {s}" for s, vs in groups)
        return f"{self._sign} {bound}. {self.body}"

    def _parts(self) -> tuple[Any, ...]:
        return self.body, *dict.fromkeys(v.domain for v in self.variables)

    def _free(self) -> dict[Variable, Any]:
        inside = {v: at for v, at in self.body._free().items() if v not in set(self.variables)}
        return {**inside, **{v: at for d in self._domains for v, at in d._free().items()}}

    @property
    def _domains(self) -> list[Domain]:
        return list(dict.fromkeys(v.domain for v in self.variables))

    def _pins(self) -> set[Variable]:
        own = {v for domain in self._domains for v in domain._free()}
        return own | self.body._pins()

    @cached_property
    def _pinned(self) -> set[Variable]:
        """Bound variables that take their values one by one: others depend on each of them."""
        return self.body._pins() & set(self.variables)

    def _frames(self, frame: Frame) -> Iterator[Frame]:
        """Frames that together run over all values of the bound variables."""
        positions: dict[Domain, Any] = {}
        for domain in self._domains:
            if not domain._solved:
                positions[domain] = domain._positions(frame)
                if len(positions[domain]) == 0 and frame.data is not None:
                    if not frame.data.is_batch:
                        refuse_empty(domain)
                    return
        if frame.data is not None and frame.data.pairs is not None and self._runs_over_pairs():
            yield from frame.along_pairs(self.variables, self._pair_positions(frame))
            return
        if self._domains[0]._of_pairs:
            yield from self._domains[0]._frames(frame, self.variables)
            return
        own = {v: positions[v.domain] for v in self.variables}
        pinned = [v for v in own if v in self._pinned]
        rest = {v: own[v] for v in own if v not in self._pinned}
        for at in itertools.product(*(own[v] for v in pinned)):
            inner = frame
            for variable, position in zip(pinned, at):
                inner = inner.with_axis({variable: np.array([position])})
            yield from inner.over(rest)

    def _runs_over_pairs(self) -> bool:
        return len(self.variables) == 2 and all(v.domain._of_samples for v in self.variables)

    def _pair_positions(self, frame: Frame) -> Any:
        domain = self._domains[0]
        choose = getattr(domain, "_chosen_pairs", None)
        every = np.arange(len(frame.given_pairs()))
        return every if choose is None else choose(frame, every)

    def _tables(self, frame: Frame, evaluate: Callable[[Frame], Any]) -> Iterator[Any]:
        """Values of the body, with those of the bound variables on the last axis."""
        found = False
        for inner in self._frames(frame):
            found = True
            values = self._alike(evaluate(inner), frame)
            sizes = tuple(len(inner.rows[axis[0]]) for axis in inner.axes[frame.ndim :])
            lead = tuple(values.shape[: frame.ndim]) if values.ndim else (1,) * frame.ndim
            values = namespace(values).broadcast_to(values, lead + sizes)
            yield values.reshape(*lead, -1)
        if not found:
            yield self._alike(np.empty((1,) * frame.ndim + (0,)), frame)

    def _alike(self, values: Any, frame: Frame) -> Any:
        """Tables of one quantifier are of one kind: what does not depend on tensors becomes one."""
        return values if frame.data is None else like(values, frame.data.codes)

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        return self.body._guarantee(semantics, before)


class Forall(_Quantifier):
    """Universal quantifier: the body is true for all values of the variables.

    Over an empty set it is true, with quantity 0.

    Parameters
    ----------
    variables : Variable, FiniteSet, or sequence of these
        What to quantify over. Several variables are aggregated jointly.
    body : Predicate or callable
        The predicate. If sets are given in place of variables, a function whose parameters are
        the variables; a single set serves all of them.

    See Also
    --------
    Exists : The existential quantifier.

    Notes
    -----
    Joint and nested quantifiers differ for "mean_square" and "root_mean_square": nested, the
    former squares twice.

    Examples
    --------
    >>> from sklearn_disent.logic import FiniteSet, Forall, Semantics, Variable
    >>> S = FiniteSet([0, 1, 3], "S")
    >>> constant = Forall(S, lambda x, y: x == y)
    >>> constant, constant.quantity()
    (∀ x, y ∈ S. x = y, 3.0)
    >>> x = Variable("x", S)
    >>> Forall(x, x == 1).quantity(Semantics(forall="sum"))
    3.0
    """

    _sign = "∀"

    def _truth(self, frame: Frame) -> Array:
        tables = self._tables(frame, self.body._truth)
        return reduce(np.logical_and, (np.all(table, axis=-1) for table in tables))

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        def evaluate(inner: Frame) -> Any:
            return self.body._quantity(inner, semantics, before)

        return self._aggregator(semantics)._over(self._tables(frame, evaluate))

    def _is_sharp(self, semantics: Semantics, before: bool) -> bool:
        return self._aggregator(semantics)._trusted and self.body._is_sharp(semantics, before)

    def _aggregator(self, semantics: Semantics) -> Aggregator:
        own = {semantics._aggregator_of(variable.name) for variable in self.variables}
        if len(own) > 1:
            raise FormulaError(
                self,
                f"The variables of {self} are aggregated jointly, but have different aggregators: "
                f"{sorted(map(repr, own))}. Nest the quantifiers.",
            )
        return own.pop()


class Exists(_Quantifier):
    """Existential quantifier: the body is true for at least one value of the variables.

    Over an empty set it is false, with quantity inf.

    Parameters
    ----------
    variables : Variable, FiniteSet, or sequence of these
        What to quantify over.
    body : Predicate or callable
        The predicate. If sets are given in place of variables, a function whose parameters are
        the variables; a single set serves all of them.

    See Also
    --------
    Forall : The universal quantifier.

    Examples
    --------
    >>> from sklearn_disent.logic import Exists, FiniteSet
    >>> near_two = Exists(FiniteSet([0, 1, 3.5], "S"), lambda x: x == 2)
    >>> near_two.truth(), near_two.quantity()
    (False, 1.0)
    """

    _sign = "∃"

    def __post_init__(self) -> None:
        super().__post_init__()
        solved = [v.domain._solved for v in self.variables]
        if any(solved) and not all(solved):
            raise FormulaError(
                self, "Variables that are solved for and others need quantifiers of their own."
            ).within(self)

    @property
    def _solved(self) -> bool:
        return self.variables[0].domain._solved

    def _pins(self) -> set[Variable]:
        # A problem is solved once for every value of what it depends on.
        return super()._pins() | (set(self._free()) if self._solved else set())

    def _truth(self, frame: Frame) -> Array:
        if self._solved:
            return self._domains[0]._decide(self, frame)
        tables = self._tables(frame, self.body._truth)
        return reduce(np.logical_or, (np.any(table, axis=-1) for table in tables))

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        if self._solved:
            return self._domains[0]._solve(self, frame, semantics, before)
        least = None
        for table in self._tables(frame, lambda f: self.body._quantity(f, semantics, before)):
            xp = namespace(table)
            if table.shape[-1] == 0:
                return np.full(table.shape[:-1], np.inf)
            new = xp.min(table, axis=-1)
            least = new if least is None else xp.minimum(least, new)
        return least

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        inner = self.body._guarantee(semantics, before)
        return self._domains[0]._attained(inner) if self._solved else inner
