"""Equations and connectives as trees, evaluated as logic and as metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ._backend import detached
from ._frame import FormulaError, Frame, Node
from ._quantale import (
    PREMETRICS,
    Array,
    Conjunction,
    Disjunction,
    Negation,
    Semantics,
)
from ._terms import Function, Term, Variable, _as_term, _FunctionSet, _guard


class Guarantee(NamedTuple):
    """What is certain about the quantity of a predicate.

    What is not guaranteed may still hold for the data at hand.

    See Also
    --------
    Predicate.guarantee : The guarantee of a predicate.
    """

    zero_implies_true: bool
    """Whether the predicate is true wherever its quantity is 0."""
    true_implies_zero: bool
    """Whether the quantity is 0 wherever the predicate is true."""


class Predicate(Node, ABC):
    """Predicate over finite tables; compose with ``&``, ``|``, ``>>`` (if ... then) and ``~``.

    These operators bind more tightly than ``==``, so put equations in parentheses.
    """

    def __and__(self, other: Predicate) -> And:
        return And(self, other)

    def __or__(self, other: Predicate) -> Or:
        return Or(self, other)

    def __rshift__(self, other: Predicate) -> Implies:
        return Implies(self, other)

    def __invert__(self) -> Not:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError(
            "A predicate is neither true nor false before it is evaluated. Call .truth(); to "
            "combine predicates use &, |, >> and ~ with each equation in parentheses."
        )

    def truth(self, *, over: Sequence[Variable] = ()) -> bool | Array:
        """Evaluate as logic.

        Parameters
        ----------
        over : Variable or sequence of Variable, default=()
            Free variables of the predicate.

        Returns
        -------
        truth : bool, or ndarray of bool with one axis per variable in `over`
        """
        free = _variables(over)
        value = _fill(self._truth(_frame_of(free)), free)
        return value if free else bool(value)

    def quantity(
        self, semantics: Semantics | None = None, *, over: Sequence[Variable] = ()
    ) -> float | Array:
        """Evaluate as a metric: in [0, inf], lower is better, 0 means true (see `guarantee`).

        Parameters
        ----------
        semantics : Semantics or None, default=None
            What stands for equality, connectives and quantifiers; ``Semantics()`` if None.
        over : Variable or sequence of Variable, default=()
            Free variables of the predicate. Where the quantity over a variable is least, its
            element comes closest to a proof of existence.

        Returns
        -------
        quantity : float, or ndarray with one axis per variable in `over`

        See Also
        --------
        Predicate.guarantee : Which of "0 implies true" and "true implies 0" hold.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_disent.logic import FiniteSet, Forall, Variable
        >>> S, center = FiniteSet([1, 3]), Variable("center", FiniteSet(range(5)))
        >>> errors = Forall(S, lambda x: x == center).quantity(over=[center])
        >>> errors, int(np.argmin(errors))
        (array([3., 2., 1., 2., 3.]), 2)
        """
        if not isinstance(semantics := semantics or Semantics(), Semantics):
            raise TypeError(
                f"semantics must be a Semantics or None, got {semantics!r}. Write Semantics(...)."
            )
        free = _variables(over)
        value = _fill(self._quantity(_frame_of(free), semantics), free)
        return value if free else float(value)

    def guarantee(self, semantics: Semantics | None = None) -> Guarantee:
        """What Theorem 1 of the paper guarantees for this predicate.

        Parameters
        ----------
        semantics : Semantics or None, default=None
            What stands for equality, connectives and quantifiers; ``Semantics()`` if None.

        Returns
        -------
        guarantee : Guarantee
            `zero_implies_true` and `true_implies_zero`, from the form of the predicate alone.

        Notes
        -----
        The theorem says that 0 implies true for every predicate, and that the converse holds
        without implications. The first part needs a condition that the paper does not state:
        whatever is negated, or stands before an arrow, must itself be 0 when it is true. If p, q
        and r have the quantities 1, 2 and 0.5, ``(p >> q) >> r`` is false, but its quantity is 0.
        Both parts hold for every predicate with the discontinuous implication and negation "exact".
        """
        return self._guarantee(semantics or Semantics())

    @abstractmethod
    def _truth(self, frame: Frame) -> Array: ...

    @abstractmethod
    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        """The quantity; `before` where it stands before an arrow, or is negated."""

    @abstractmethod
    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee: ...

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """Terms and predicates that it is made of."""

    def _is_sharp(self, semantics: Semantics, before: bool) -> bool:
        """Whether the quantity is either 0 or infinite."""
        return False

    def _free(self) -> dict[Variable, Any]:
        return {v: at for part in self._parts() for v, at in part._free().items()}

    def _pins(self) -> set[Variable]:
        return set().union(*(part._pins() for part in self._parts()))


def _variables(over: Variable | Sequence[Variable]) -> tuple[Variable, ...]:
    free = (over,) if isinstance(over, Term) else tuple(over)
    if not all(isinstance(variable, Variable) for variable in free):
        raise TypeError(f"over must be a Variable or a sequence of them, got {over!r}.")
    return free


def _frame_of(free: tuple[Variable, ...]) -> Frame:
    frame = Frame()
    for variable in free:
        frame = frame.with_axis({variable: variable.domain._positions(frame)})
    return frame


def _fill(values: Array, over: tuple[Variable, ...]) -> Array:
    return np.broadcast_to(
        values, [len(variable.domain._positions(Frame())) for variable in over]
    ).copy()


def _join(operation: Callable[..., Any], *parts: Any) -> Any:
    """Reduce tables that may vary along different variables."""
    _guard(np.broadcast_shapes(*(tuple(part.shape) for part in parts)))
    return reduce(operation, parts)


def _demand(*predicates: Any) -> None:
    for predicate in predicates:
        if not isinstance(predicate, Predicate):
            raise TypeError(
                f"Expected a predicate, got {predicate!r}. Write equations as (a == b), in "
                "parentheses, with a term on at least one side."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Equal(Predicate):
    """Equality of two terms, also written ``left == right``.

    Parameters
    ----------
    left, right : Term or value
        What is compared; values become constants.
    on : str or None, default=None
        Sort of the values, by which ``Semantics(premetrics=...)`` chooses their premetric.
    """

    left: Any
    right: Any
    on: str | None = None

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            side = getattr(self, name)
            if isinstance(side, Function) or isinstance(
                getattr(side, "domain", None), _FunctionSet
            ):
                raise TypeError(
                    f"{side} is a function. Compare functions at every element: "
                    "Forall(domain, lambda x: f(x) == g(x))."
                )
            object.__setattr__(self, name, _as_term(side))

        sorts = [side._sort() for side in (self.left, self.right)]
        if self.on is None and None not in sorts and sorts[0] != sorts[1]:
            raise FormulaError(
                self,
                f"{self.left} is of the sort {sorts[0]!r} and {self.right} of the sort "
                f"{sorts[1]!r}: they are never the same. Compare values of one sort, or name the "
                "one that is meant by Equal(..., on=).",
            ).within(self)

    def _text(self) -> str:
        return f"{self.left} ={f'_{self.on}' if self.on else ''} {self.right}"

    def _parts(self) -> tuple[Any, ...]:
        return self.left, self.right

    @property
    def _own_sort(self) -> str | None:
        return self.on or self.left._sort() or self.right._sort()

    def _sides(self, frame: Frame, before: bool = False) -> tuple[Any, Any]:
        if frame.data is not None and frame.data.same is not None and self._own_sort == "factors":
            return frame.data.answers(self, frame, unknown_differs=before)
        sides = self.left._evaluate(frame), self.right._evaluate(frame)
        shapes = [tuple(side.shape[frame.ndim :]) for side in sides]
        if sorted(shapes) == [(), (1,)]:  # a number, and a row of one
            sides = (
                sides[0].reshape(*sides[0].shape[: frame.ndim], 1),
                sides[1].reshape(*sides[1].shape[: frame.ndim], 1),
            )
        elif shapes[0] != shapes[1]:
            raise FormulaError(
                self, f"Cannot compare values of shapes {shapes[0]} and {shapes[1]} in {self}."
            )
        lead = np.broadcast_shapes(*(tuple(side.shape[: frame.ndim]) for side in sides))
        _guard(lead)
        return sides

    def _truth(self, frame: Frame) -> Array:
        left, right = map(detached, self._sides(frame))
        same = np.asarray(left == right, dtype=bool)
        return np.asarray(same.all(axis=tuple(range(frame.ndim, same.ndim))))

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        premetric = semantics._premetric_on(self._own_sort, before)
        return premetric(*self._sides(frame, before), ndim=frame.ndim)

    def _is_sharp(self, semantics: Semantics, before: bool) -> bool:
        return semantics._premetric_on(self._own_sort, before) is PREMETRICS["0/inf"]

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        return Guarantee(True, True)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class _Connective(Predicate):
    operands: tuple[Predicate, ...]

    def __init__(self, *operands: Predicate) -> None:
        _demand(*operands)
        object.__setattr__(self, "operands", operands)

    _sign: ClassVar[str]
    _sign_of_none: ClassVar[str]
    _truth_of_none: ClassVar[bool]

    @abstractmethod
    def _joint(self, semantics: Semantics | None) -> Callable[..., Array]:
        """What joins two quantities; two truths without a semantics."""

    def _text(self) -> str:
        return f" {self._sign} ".join(f"({p})" for p in self.operands) or self._sign_of_none

    def _parts(self) -> tuple[Any, ...]:
        return self.operands

    def _truth(self, frame: Frame) -> Array:
        start = np.full((1,) * frame.ndim, self._truth_of_none)
        return _join(self._joint(None), start, *(p._truth(frame) for p in self.operands))

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        if not self.operands:
            return np.full((1,) * frame.ndim, 0.0 if self._truth_of_none else np.inf)
        parts = (p._quantity(frame, semantics, before) for p in self.operands)
        return _join(self._joint(semantics), *parts)

    def _is_sharp(self, semantics: Semantics, before: bool) -> bool:
        is_sharp = all(p._is_sharp(semantics, before) for p in self.operands)
        return is_sharp and cast(Any, self._joint(semantics))._trusted

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        parts = [p._guarantee(semantics, before) for p in self.operands]
        return Guarantee(all(p[0] for p in parts), all(p[1] for p in parts))


class And(_Connective):
    """Conjunction of any number of predicates, also written ``p & q``.

    The conjunction of none is true, with quantity 0.

    Parameters
    ----------
    *operands : Predicate
        What must all be true.
    """

    _sign, _sign_of_none, _truth_of_none = "∧", "⊤", True

    def _joint(self, semantics: Semantics | None) -> Callable[..., Array]:
        return np.logical_and if semantics is None else cast(Conjunction, semantics.conjunction)


class Or(_Connective):
    """Disjunction of any number of predicates, also written ``p | q``.

    The disjunction of none is false, with quantity inf.

    Parameters
    ----------
    *operands : Predicate
        Of which at least one must be true.
    """

    _sign, _sign_of_none, _truth_of_none = "∨", "⊥", False

    def _joint(self, semantics: Semantics | None) -> Callable[..., Array]:
        return np.logical_or if semantics is None else cast(Disjunction, semantics.disjunction)


@dataclass(frozen=True, eq=False, repr=False)
class Implies(Predicate):
    """Implication, also written ``condition >> conclusion``.

    Parameters
    ----------
    condition : Predicate
        If this is true,
    conclusion : Predicate
        then so must this be.
    """

    condition: Predicate
    conclusion: Predicate

    def __post_init__(self) -> None:
        _demand(self.condition, self.conclusion)

    def _text(self) -> str:
        return f"({self.condition}) → ({self.conclusion})"

    def _parts(self) -> tuple[Any, ...]:
        return self.condition, self.conclusion

    def _truth(self, frame: Frame) -> Array:
        parts = self.condition._truth(frame), self.conclusion._truth(frame)
        return _join(lambda a, b: ~a | b, *parts)

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        condition = self.condition._quantity(frame, semantics, not before)
        conclusion = self.conclusion._quantity(frame, semantics, before)
        return _join(semantics.implies, condition, conclusion)

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        a = self.condition._guarantee(semantics, not before)
        b = self.conclusion._guarantee(semantics, before)
        implies = semantics.implies
        # With a condition that is either 0 or infinite, a residual is 0 or the conclusion.
        exact = implies.exact or (
            implies._trusted and self.condition._is_sharp(semantics, not before)
        )
        return Guarantee(
            a.true_implies_zero and b.zero_implies_true,
            exact and a.zero_implies_true and b.true_implies_zero,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Not(Predicate):
    """Negation, also written ``~predicate``.

    Parameters
    ----------
    predicate : Predicate
        What must be false.
    """

    predicate: Predicate

    def __post_init__(self) -> None:
        _demand(self.predicate)

    def _text(self) -> str:
        return f"¬({self.predicate})"

    def _parts(self) -> tuple[Any, ...]:
        return (self.predicate,)

    def _truth(self, frame: Frame) -> Array:
        return ~self.predicate._truth(frame)

    def _quantity(self, frame: Frame, semantics: Semantics, before: bool = False) -> Any:
        negation = cast(Negation, semantics.negation)
        return negation(self.predicate._quantity(frame, semantics, not before))

    def _guarantee(self, semantics: Semantics, before: bool = False) -> Guarantee:
        inner = self.predicate._guarantee(semantics, not before)
        exact = cast(Negation, semantics.negation).exact
        return Guarantee(inner.true_implies_zero, exact and inner.zero_implies_true)
