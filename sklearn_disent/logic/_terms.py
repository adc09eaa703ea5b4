"""Finite sets, functions on them, and terms: what equations are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._params import validated
from ._backend import is_tensor
from ._frame import FormulaError, Frame, Node, Positions
from ._quantale import Array

if TYPE_CHECKING:
    from ._predicates import Equal, Not

_MAX_CELLS = 2**26  # 512 MB of float64


def _as_array(values: Any) -> Array:
    """Return an array in which numbers among strings stay numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and array.ndim and array is not values:
        mixed = np.array(values, dtype=object)
        array = array if all(isinstance(x, str) for x in mixed.flat) else mixed
    return array


def _as_values(values: Any, what: str) -> Array:
    """Return an array whose first axis runs over elements."""
    values = values if isinstance(values, np.ndarray) else list(values)
    try:
        array = _as_array(values)
    except ValueError:
        raise ValueError(f"{what} must have elements of one shape, got {values!r}.") from None
    if array.ndim == 0:
        raise ValueError(f"{what} must be a sequence of elements, got {values!r}.")
    finite = (
        all(x == x for x in array.flat)
        if array.dtype == object
        else array.dtype.kind not in "fc" or np.isfinite(array).all()
    )
    if not finite:
        raise ValueError(f"{what} must be finite, got nan or inf in {array!r}.")
    return array


def _key(value: Any) -> tuple:
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.array(value, dtype=object)  # ("a", 1) would become two strings
    return tuple(value.ravel().tolist())


def _guard(shape: tuple[int, ...]) -> None:
    if (cells := np.prod(shape, dtype=float)) > _MAX_CELLS:
        raise ValueError(
            f"This predicate needs a table of {cells:.3g} cells, over the limit of {_MAX_CELLS}. "
            "Use smaller sets, or move what does not depend on a variable out of its quantifier."
        )


class Domain(Node):
    """What a variable ranges over."""

    name: str
    _of_samples = False
    """Whether its elements are samples, of which tuples are drawn where there are too many."""
    _of_pairs = False
    """Whether its elements are pairs of samples, which take two variables."""
    _solved = False
    """Whether "exists" is solved instead of enumerated."""

    def _text(self) -> str:
        return self.name

    def _positions(self, frame: Frame) -> Positions:
        """Numbers of the elements."""
        raise NotImplementedError

    def _values_at(self, frame: Frame, positions: Positions) -> Any:
        """The elements with these numbers, along the first axis."""
        raise NotImplementedError

    def _sort(self) -> str | None:
        """The sort of the elements: "factors", "codes", "index", or None."""
        return None

    def _frames(self, frame: Frame, variables: tuple[Variable, ...]) -> Iterator[Frame]:
        """Frames of two variables that run over pairs together."""
        raise NotImplementedError

    def _solve(self, exists: Any, frame: Frame, semantics: Any, before: bool) -> Any:
        """The quantity of "exists", solved."""
        raise NotImplementedError

    def _decide(self, exists: Any, frame: Frame) -> Any:
        """The truth of "exists", solved."""
        raise NotImplementedError

    def _attained(self, inner: Any) -> Any:
        """What is guaranteed of a solved "exists", given its body's guarantee."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class FiniteSet(Domain):
    """Finite set of distinct elements: numbers, strings, or rows of one length.

    ``A * B`` is the set of pairs. Number samples that may repeat: take ``FiniteSet(range(n))``,
    and make factors and codes functions of the sample's number.

    Parameters
    ----------
    values : array-like of shape (n_elements, ...)
        The elements. There may be none: then "for all" is true with quantity 0, and "exists" is
        false with quantity inf.
    name : str, default="S"
        Name to show.

    Examples
    --------
    >>> from sklearn_disent.logic import FiniteSet
    >>> colors, sizes = FiniteSet(["red", "blue"], "colors"), FiniteSet([1, 2, 3], "sizes")
    >>> len(colors * sizes), (colors * sizes)[1]
    (6, array(['red', 2], dtype=object))
    """

    values: Any
    name: str = "S"
    _position: dict[tuple, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _as_values(self.values, f"set {self.name}"))
        for at, value in enumerate(self.values):
            if self._position.setdefault(_key(value), at) != at:
                raise ValueError(
                    f"set {self.name} must have distinct elements, got {value!r} twice. Number "
                    "repeated samples by FiniteSet(range(n)), and use a Function of the number."
                )

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, at: int) -> Any:
        return self.values[at]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype)

    def _positions(self, frame: Frame) -> Positions:
        return np.arange(len(self))

    def _values_at(self, frame: Frame, positions: Positions) -> Any:
        return self.values[positions]

    def __mul__(self, other: FiniteSet) -> FiniteSet:
        pairs = [_key(a) + _key(b) for a in self for b in other]
        return FiniteSet(pairs, f"{self.name}×{other.name}")

    def position(self, values: Array, ndim: int) -> Array:
        """Positions in the set of values that are laid out along the first `ndim` axes.

        Parameters
        ----------
        values : ndarray
            Elements of the set.
        ndim : int
            Number of axes along which they are laid out; further axes belong to an element.

        Returns
        -------
        positions : ndarray of int, with the first `ndim` axes of `values`
        """
        lead = values.shape[:ndim]
        try:
            flat = [self._position[_key(values[at])] for at in np.ndindex(lead)]
        except KeyError as error:
            raise ValueError(
                f"A function on set {self.name} was applied to {error.args[0]}, which is not an "
                "element of it. Enlarge the set, or restrict the variable."
            ) from None
        return np.array(flat, dtype=np.intp).reshape(lead)


class Term(Node, ABC):
    """Something with a value: a variable, a component, a value of a function or a constant."""

    __array_ufunc__ = None  # so that `array == term` asks the term
    __iter__ = None

    def __getitem__(self, index: Any) -> Term:
        return _Component(self, index)

    def __eq__(self, other: Any) -> Equal:  # type: ignore[override]
        from ._predicates import Equal  # predicates are made of terms

        return Equal(self, other)

    def __ne__(self, other: Any) -> Not:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__

    def _sort(self) -> str | None:
        """What kind of value it is: "factors", "codes", "index", or None where that is open."""
        return None

    @abstractmethod
    def _evaluate(self, frame: Frame) -> Any:
        """Values on an axis per variable (of length 1 where they do not vary), then their own."""


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """Function on a finite set, stored as its table.

    Parameters
    ----------
    name : str
        Name to show.
    domain : FiniteSet
        Where the function is defined.
    values : callable, mapping or array-like of shape (n_elements, ...)
        A function of one element, a mapping from elements, or the values in the set's order.

    Examples
    --------
    >>> from sklearn_disent.logic import FiniteSet, Function
    >>> square = Function("square", FiniteSet([1, 2, 3]), lambda x: x**2)
    >>> int(square(3)), square.image("squares")
    (9, squares)
    """

    name: str
    domain: FiniteSet
    values: Any

    def __post_init__(self) -> None:
        values = self.values
        if isinstance(values, Mapping):
            table = {_key(element): value for element, value in values.items()}
            if missing := [x for x in self.domain if _key(x) not in table]:
                raise ValueError(
                    f"function {self.name} must have a value for every element of "
                    f"{self.domain.name}, got none at {missing[0]!r}."
                )
            values = [table[_key(x)] for x in self.domain]
        elif callable(values):
            values = [values(x) for x in self.domain]
        values = _as_values(values, f"function {self.name}")
        if len(values) != len(self.domain):
            raise ValueError(
                f"function {self.name} must have a value for each of the {len(self.domain)} "
                f"elements of {self.domain.name}, got {len(values)}."
            )
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *arguments: Any) -> Any:
        """Apply to terms, giving a term, or to an element, giving its value."""
        if any(isinstance(argument, Term) for argument in arguments):
            return _Apply(self, _tuple(arguments))
        value = np.asarray(arguments[0] if len(arguments) == 1 else arguments, dtype=object)
        return self.values[self.domain.position(value, 0)]

    def image(self, name: str | None = None) -> FiniteSet:
        """The set of values that the function takes.

        Parameters
        ----------
        name : str or None, default=None
            Name to show; made from those of function and domain if None.

        Returns
        -------
        image : FiniteSet
        """
        distinct = {_key(value): value for value in self.values}
        return FiniteSet(list(distinct.values()), name or f"{self.name}({self.domain.name})")

    def _gather(self, frame: Frame, places: Array) -> Array:
        return self.values[places]


@dataclass(frozen=True, eq=False, repr=False)
class _FunctionSet(FiniteSet):
    """All functions between two finite sets; an element's value is its table."""

    source: FiniteSet = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Tables are distinct by construction, and too many for an index."""

    def __getitem__(self, at: int) -> Function:  # type: ignore[override]
        return Function(f"{self.name}[{at}]", self.source, self.values[at])


@validated
def functions(source: FiniteSet, target: FiniteSet, *, name: str | None = None) -> FiniteSet:
    """Set of all functions from one finite set to another, to quantify over.

    Parameters
    ----------
    source, target : FiniteSet
        Domain and codomain of the functions.
    name : str or None, default=None
        Name to show; "[source, target]" if None.

    Returns
    -------
    functions : FiniteSet
        ``len(target) ** len(source)`` functions; ``functions[i]`` is a `Function`. A variable
        over the set can be called with a term.

    Examples
    --------
    >>> from sklearn_disent.logic import FiniteSet, functions
    >>> F = functions(FiniteSet([0, 1]), FiniteSet(["a", "b", "c"]))
    >>> len(F), str(F[5](0)), str(F[5](1))
    (9, 'b', 'c')
    """
    _guard((len(target),) * len(source) + (len(source),))
    base, places = len(target), np.arange(len(source))[::-1]
    digits = np.arange(base ** len(source))[:, None] // base**places % base if base else places[:0]
    tables = target.values[digits.reshape(base ** len(source), len(source))]
    return _FunctionSet(tables, name or f"[{source.name}, {target.name}]", source=source)


@dataclass(frozen=True, eq=False, repr=False)
class Variable(Term):
    """Named variable over a finite set, to be bound by `Forall` or `Exists`.

    Variables are told apart by identity: two with the same name are two variables.

    Parameters
    ----------
    name : str
        Name to show.
    domain : FiniteSet
        The values that the variable takes.
    """

    name: str
    domain: Domain

    def _text(self) -> str:
        return self.name

    def __call__(self, *arguments: Any) -> Term:
        if not isinstance(self.domain, _FunctionSet) and not hasattr(self.domain, "_applied"):
            raise TypeError(
                f"variable {self.name} ranges over {self.domain.name}, which is not a set of "
                "functions, so it cannot be called. Make one with functions(source, target)."
            )
        if hasattr(self.domain, "_applied"):
            return self.domain._applied(self, *arguments)
        return _Apply(self, _tuple(arguments))

    def _free(self) -> dict[Variable, Any]:
        return {self: self}

    def _sort(self) -> str | None:
        return self.domain._sort()

    def _evaluate(self, frame: Frame) -> Any:
        if self.domain._solved:
            return frame.found[self].value(frame.ndim)
        frame.axis_of(self)
        return frame.spread(self, self.domain._values_at(frame, frame.rows[self]))

    def _gather(self, frame: Frame, places: Array) -> Array:
        frame.axis_of(self)
        tables = cast(_FunctionSet, self.domain).values
        return tables[frame.spread(self, frame.rows[self]), places]


@dataclass(frozen=True, eq=False, repr=False)
class _Constant(Term):
    value: Array

    def _text(self) -> str:
        return str(self.value.tolist())

    def _evaluate(self, frame: Frame) -> Any:
        return self.value.reshape((1,) * frame.ndim + self.value.shape)


@dataclass(frozen=True, eq=False, repr=False)
class _Component(Term):
    term: Term
    index: Any

    def _text(self) -> str:
        return f"{self.term}[{self.index}]"

    def _free(self) -> dict[Variable, Any]:
        own = self.index._free() if isinstance(self.index, Term) else {}
        return {**self.term._free(), **own}

    def _pins(self) -> set[Variable]:
        return self.term._pins()

    def _sort(self) -> str | None:
        return self.term._sort()

    def _evaluate(self, frame: Frame) -> Any:
        values = self.term._evaluate(frame)
        try:
            if isinstance(self.index, Term):
                return self._chosen(values, self.index._evaluate(frame), frame.ndim)
            return values[(slice(None),) * frame.ndim + (self.index,)]
        except IndexError:
            raise FormulaError(
                self,
                f"{self} does not exist: values of {self.term} have shape "
                f"{tuple(values.shape[frame.ndim :])}.",
            ) from None

    def _chosen(self, values: Any, index: Array, ndim: int) -> Any:
        """Components whose number is itself a value: of a variable, of a function."""
        if index.dtype.kind not in "iu" or index.ndim != ndim or values.ndim == ndim:
            raise FormulaError(
                self, f"{self.index} must be the number of a component of {self.term}."
            )
        lead = np.broadcast_shapes(values.shape[:ndim], index.shape)
        _guard(lead)
        at = tuple(np.ogrid[tuple(map(slice, lead))]) if lead else ()
        spread = np.broadcast_to(index, lead)
        if is_tensor(values):
            return values.expand(*lead, *values.shape[ndim:])[(*at, spread)]
        return np.broadcast_to(values, lead + values.shape[ndim:])[(*at, spread)]


@dataclass(frozen=True, eq=False, repr=False)
class _Tuple(Term):
    terms: tuple[Term, ...]

    def _text(self) -> str:
        return ", ".join(map(repr, self.terms))

    def _free(self) -> dict[Variable, Any]:
        return {v: at for term in self.terms for v, at in term._free().items()}

    def _pins(self) -> set[Variable]:
        return set().union(*(term._pins() for term in self.terms))

    def _evaluate(self, frame: Frame) -> Any:
        k = frame.ndim
        parts = [term._evaluate(frame) for term in self.terms]
        parts = [part if part.ndim > k else part[..., None] for part in parts]
        if len({part.dtype.kind in "US" for part in parts}) == 2:
            parts = [part.astype(object) for part in parts]
        lead = np.broadcast_shapes(*(part.shape[:k] for part in parts))
        _guard(lead)
        return np.concatenate([np.broadcast_to(p, lead + p.shape[k:]) for p in parts], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class _Apply(Term):
    function: Function | Variable
    argument: Term

    def _text(self) -> str:
        return f"{self.function}({self.argument})"

    def _free(self) -> dict[Variable, Any]:
        own = {self.function: self.function} if isinstance(self.function, Variable) else {}
        return {**own, **self.argument._free()}

    def _pins(self) -> set[Variable]:
        return self.argument._pins()

    def _evaluate(self, frame: Frame) -> Any:
        function, argument = self.function, self.argument
        if isinstance(function, Variable):
            source = cast(_FunctionSet, function.domain).source
        else:
            source = function.domain
        if isinstance(argument, Variable) and argument.domain is source:
            frame.axis_of(argument)
            places = frame.spread(argument, frame.rows[argument])
        else:
            places = source.position(argument._evaluate(frame), frame.ndim)
        return function._gather(frame, places)


def _as_term(value: Any) -> Term:
    return value if isinstance(value, Term) else _Constant(_as_array(value))


def _tuple(arguments: tuple) -> Term:
    return (
        _as_term(arguments[0]) if len(arguments) == 1 else _Tuple(tuple(map(_as_term, arguments)))
    )
