"""Predicates as trees, evaluated as logic and as metrics."""

from __future__ import annotations

import inspect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ._quantale import Array, Conjunction, Disjunction, Negation, Semantics
from ._terms import (
    FiniteSet,
    Function,
    Term,
    Variable,
    _as_term,
    _FunctionSet,
    _guard,
)


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


class Predicate(ABC):
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
        value = _fill(self._truth(free), free)
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
        value = _fill(self._quantity(free, semantics), free)
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
    def _truth(self, axes: tuple[Variable, ...]) -> Array: ...

    @abstractmethod
    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array: ...

    @abstractmethod
    def _guarantee(self, semantics: Semantics) -> Guarantee: ...


def _variables(over: Variable | Sequence[Variable]) -> tuple[Variable, ...]:
    free = (over,) if isinstance(over, Term) else tuple(over)
    if not all(isinstance(variable, Variable) for variable in free):
        raise TypeError(f"over must be a Variable or a sequence of them, got {over!r}.")
    return free


def _fill(values: Array, over: tuple[Variable, ...]) -> Array:
    return np.broadcast_to(values, [len(variable.domain) for variable in over]).copy()


def _join(operation: Callable[..., Array], *parts: Array) -> Array:
    """Reduce tables that may vary along different variables."""
    _guard(np.broadcast_shapes(*(part.shape for part in parts)))
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

    def __repr__(self) -> str:
        return f"{self.left} ={f'_{self.on}' if self.on else ''} {self.right}"

    def _sides(self, axes: tuple[Variable, ...]) -> tuple[Array, Array]:
        left, right = self.left._evaluate(axes), self.right._evaluate(axes)
        shapes = left.shape[len(axes) :], right.shape[len(axes) :]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"Cannot compare values of shapes {shapes[0]} and {shapes[1]} in {self}."
            )
        _guard(np.broadcast_shapes(left.shape, right.shape))
        return left, right

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        left, right = self._sides(axes)
        same = np.asarray(left == right, dtype=bool)
        return np.asarray(same.all(axis=tuple(range(len(axes), same.ndim))))

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        return semantics._premetric_on(self.on)(*self._sides(axes), ndim=len(axes))

    def _guarantee(self, semantics: Semantics) -> Guarantee:
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

    def __repr__(self) -> str:
        return f" {self._sign} ".join(f"({p})" for p in self.operands) or self._sign_of_none

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        parts = (p._truth(axes) for p in self.operands)
        return _join(self._joint(None), np.asarray(self._truth_of_none), *parts)

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        if not self.operands:
            return np.full((1,) * len(axes), 0.0 if self._truth_of_none else np.inf)
        return _join(self._joint(semantics), *(p._quantity(axes, semantics) for p in self.operands))

    def _guarantee(self, semantics: Semantics) -> Guarantee:
        parts = [p._guarantee(semantics) for p in self.operands]
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

    def __repr__(self) -> str:
        return f"({self.condition}) → ({self.conclusion})"

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        return _join(lambda a, b: ~a | b, self.condition._truth(axes), self.conclusion._truth(axes))

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        condition = self.condition._quantity(axes, semantics)
        return _join(semantics.implies, condition, self.conclusion._quantity(axes, semantics))

    def _guarantee(self, semantics: Semantics) -> Guarantee:
        a, b = self.condition._guarantee(semantics), self.conclusion._guarantee(semantics)
        exact = semantics.implies.exact
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

    def __repr__(self) -> str:
        return f"¬({self.predicate})"

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        return ~self.predicate._truth(axes)

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        negation = cast(Negation, semantics.negation)
        return negation(self.predicate._quantity(axes, semantics))

    def _guarantee(self, semantics: Semantics) -> Guarantee:
        inner = self.predicate._guarantee(semantics)
        exact = cast(Negation, semantics.negation).exact
        return Guarantee(inner.true_implies_zero, exact and inner.zero_implies_true)


@dataclass(frozen=True, eq=False, repr=False)
class _Quantifier(Predicate):
    variables: Any
    body: Any

    def __post_init__(self) -> None:
        variables, body = self.variables, self.body
        given = tuple(variables) if isinstance(variables, (tuple, list)) else (variables,)
        if given and all(isinstance(s, FiniteSet) for s in given) and callable(body):
            parameters = inspect.signature(body).parameters.values()
            names = [p.name for p in parameters if p.default is p.empty]
            given = given * len(names) if len(given) == 1 else given
            if len(given) != len(names):
                raise ValueError(
                    f"The {len(given)} sets do not match the parameters {names} of the function. "
                    "Give one set for all, or one for each."
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

    def __repr__(self) -> str:
        sign = "∀" if isinstance(self, Forall) else "∃"
        groups = itertools.groupby(self.variables, key=lambda v: v.domain)
        bound = ", ".join(f"{', '.join(v.name for v in vs)} ∈ {s}" for s, vs in groups)
        return f"{sign} {bound}. {self.body}"

    def _rows(self, axes: tuple[Variable, ...], evaluate: Callable[..., Array]) -> Array:
        """Values of the body, with those of the bound variables on the last axis."""
        sizes = tuple(len(v.domain) for v in self.variables)
        if 0 in sizes:  # the body need not even make sense
            return np.empty((1,) * len(axes) + (0,))
        values = evaluate((*axes, *self.variables))
        shape = values.shape[: len(axes)] + sizes if values.ndim else (1,) * len(axes) + sizes
        _guard(shape)
        return np.broadcast_to(values, shape).reshape(*shape[: len(axes)], -1)

    def _guarantee(self, semantics: Semantics) -> Guarantee:
        return self.body._guarantee(semantics)


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

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        return np.asarray(self._rows(axes, self.body._truth).all(axis=-1))

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        own = {semantics._aggregator_of(variable.name) for variable in self.variables}
        if len(own) > 1:
            raise ValueError(
                f"The variables of {self} are aggregated jointly, but have different aggregators: "
                f"{sorted(map(repr, own))}. Nest the quantifiers."
            )
        return own.pop()(self._rows(axes, lambda inner: self.body._quantity(inner, semantics)))


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

    def _truth(self, axes: tuple[Variable, ...]) -> Array:
        return np.asarray(self._rows(axes, self.body._truth).any(axis=-1))

    def _quantity(self, axes: tuple[Variable, ...], semantics: Semantics) -> Array:
        rows = self._rows(axes, lambda inner: self.body._quantity(inner, semantics))
        return rows.min(axis=-1, initial=np.inf)
