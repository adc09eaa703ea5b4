"""Quantitative counterparts of the logical operations, on [0, inf] with 0 for true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Function = Callable[..., ArrayLike]

# Names in the tables below.
PremetricName = Literal["euclidean", "squared_euclidean", "0/1", "0/inf"]
ConjunctionName = Literal[
    "sum", "max", "root_sum_square", "log_sum_exp", "square_sum_root", "product"
]
DisjunctionName = Literal["min", "harmonic", "inverse_root_sum_square", "probabilistic", "tanh"]
ImplicationName = Literal["subtraction", "max_adjoint", "exact", "residual"]
NegationName = Literal["complement", "reciprocal", "exact"]
AggregatorName = Literal["max", "sum", "mean", "mean_square", "root_mean_square"]

# A quantity that underflows would turn false into true: it stays at the least positive float.
_TINY = float(np.finfo(float).smallest_subnormal)
_PROBE = np.array([0.0, 0.5, 1.0, 2.0, np.inf])


def _certify(what: str, rule: str, out: ArrayLike, wrong: Callable, *inputs: Array) -> Array:
    """Return `out` as floats, or name the first input at which an operation breaks its rule."""
    values = np.asarray(out, dtype=float)
    bad = np.broadcast_to(np.isnan(values) | (values < 0) | wrong(values == 0), values.shape)
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        shown = ", ".join(str(x[at].tolist()) for x in inputs)
        raise ValueError(
            f"{what} must be in [0, inf] and {rule}, but it maps ({shown}) to {values[at]}."
        )
    return values


@dataclass(frozen=True, repr=False)
class _Operation:
    name: str
    function: Callable[..., ArrayLike]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # What stands in a table is kept by its name: most are closures, which do not pickle.
        if _TABLES.get(type(self), {}).get(self.name) is self:
            return _named, (type(self), self.name)
        return super().__reduce_ex__(protocol)

    def _pair(self, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array, Array]:
        a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
        with np.errstate(all="ignore"):  # inf - inf and 0 * inf are settled by the operations
            return a, b, np.asarray(self.function(a, b), dtype=float)


@dataclass(frozen=True, repr=False)
class Premetric(_Operation):
    """Strict premetric, which stands for equality: 0 exactly when its arguments are equal.

    Its values are in [0, inf]. Neither symmetry nor the triangle inequality is needed (Definition
    4 of the paper). Strictness is checked on every pair of values that an evaluation meets, and on
    a whole set by :meth:`check`.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        ``function(a, b)`` of two values of a finite set.
    vectorized : bool, default=False
        Whether `function` takes arrays of shape (..., n_components) and reduces the last axis.
    """

    vectorized: bool = False

    def __call__(self, left: ArrayLike, right: ArrayLike, *, ndim: int = 0) -> Array:
        """Distances of values that are laid out along the first `ndim` axes."""
        left, right = np.broadcast_arrays(left, right)
        lead = left.shape[:ndim]
        if self.vectorized:
            rows = (*lead, int(np.prod(left.shape[ndim:])))
            with np.errstate(all="ignore"):
                out = self.function(left.reshape(rows), right.reshape(rows))
        else:
            flat = (self.function(left[at], right[at]) for at in np.ndindex(lead))
            out = np.fromiter(flat, dtype=float, count=int(np.prod(lead))).reshape(lead)
        same = (left == right).astype(bool).all(axis=tuple(range(ndim, left.ndim)))
        rule = "0 exactly at equal values (a strict premetric)"
        return _certify(repr(self), rule, out, lambda zero: zero != same, left, right)

    def check(self, values: ArrayLike) -> None:
        """Raise ValueError unless the premetric is strict on all pairs of a set's elements.

        Parameters
        ----------
        values : array-like of shape (n_elements, ...)
            The elements.
        """
        rows = np.asarray(values)
        self(rows[:, None], rows[None], ndim=2)


def _norm(square: bool) -> Callable[[Array, Array], Array]:
    def distance(a: Array, b: Array) -> Array:
        try:
            a, b = a.astype(float, copy=False), b.astype(float, copy=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"The Euclidean premetrics need numbers, got values such as {a.ravel()[0]!r}. "
                "Choose '0/1' for labels, or a Premetric of your own."
            ) from None
        gap = a - b
        out = np.einsum("...i,...i->...", gap, gap)
        out = np.asarray(out if square else np.sqrt(out))
        # Where squares underflow, the largest component alone bounds the norm.
        lost = out == 0
        size = np.abs(gap[lost]).max(axis=-1, initial=0.0)
        out[lost] = np.where(size > 0, _TINY, 0.0) if square else size
        return out

    return distance


def _step(height: float) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.where((a != b).astype(bool).any(axis=-1), height, 0.0)


def _unital(f: Callable) -> Callable:
    """Settle a conjunction at its unit 0 and at infinity, where formulas give inf - inf."""

    def product(a: Array, b: Array) -> Array:
        out = np.where(np.isinf(a) | np.isinf(b), np.inf, f(a, b))
        return np.where(a == 0, b, np.where(b == 0, a, out))

    return product


def _adjoint(f: Callable) -> Callable:
    """Settle a residual: 0 exactly where a >= b."""
    return lambda a, b: np.where(
        a >= b, 0.0, np.where(np.isinf(b), np.inf, np.maximum(f(a, b), _TINY))
    )


def _absorbing(f: Callable) -> Callable:
    """Settle a disjunction, given as f(smaller, larger), at 0 and at its unit infinity."""

    def product(a: Array, b: Array) -> Array:
        low, high = np.minimum(a, b), np.maximum(a, b)
        out = np.where(np.isinf(high), low, np.clip(f(low, high), _TINY, None))
        return np.where(low == 0, 0.0, out)

    return product


@dataclass(frozen=True, repr=False)
class Conjunction(_Operation):
    """Quantitative "and": 0 exactly when both arguments are 0.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        Vectorized ``function(a, b)`` on [0, inf].
    residual : callable or None, default=None
        Its right adjoint, ``residual(a, b) = min{c : function(c, a) >= b}``; without one an
        implication must be chosen.
    """

    residual: Callable[..., ArrayLike] | None = None

    def __post_init__(self) -> None:
        self(_PROBE[:, None], _PROBE)

    def __call__(self, a: ArrayLike, b: ArrayLike) -> Array:
        a, b, out = self._pair(a, b)
        rule = "0 exactly at (0, 0)"
        return _certify(repr(self), rule, out, lambda z: z != ((a == 0) & (b == 0)), a, b)

    @property
    def implication(self) -> Implication:
        """The implication adjoint to this conjunction."""
        if self.residual is None:
            raise ValueError(f"{self!r} has no residual. Pass one, or choose an implication.")
        return Implication(f"{self.name} residual", self.residual)

    @classmethod
    def from_isomorphism(cls, name: str, forward: Callable, backward: Callable) -> Conjunction:
        """The conjunction ``backward(forward(a) + forward(b))`` and its residual.

        They are addition and its residual, carried over by an isomorphism (Lemmas 12 and 13 of
        the paper).

        Parameters
        ----------
        name : str
            Name to show.
        forward : callable
            An increasing bijection of [0, inf].
        backward : callable
            Its inverse.

        Returns
        -------
        conjunction : Conjunction
        """
        return cls(
            name,
            _unital(lambda a, b: backward(forward(a) + forward(b))),
            _adjoint(lambda a, b: backward(np.maximum(forward(b) - forward(a), 0.0))),
        )


@dataclass(frozen=True, repr=False)
class Disjunction(_Operation):
    """Quantitative "or": 0 exactly when an argument is 0.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        Vectorized ``function(a, b)`` on [0, inf].
    """

    def __post_init__(self) -> None:
        self(_PROBE[:, None], _PROBE)

    def __call__(self, a: ArrayLike, b: ArrayLike) -> Array:
        a, b, out = self._pair(a, b)
        rule = "0 exactly where an argument is 0"
        return _certify(repr(self), rule, out, lambda z: z != ((a == 0) | (b == 0)), a, b)


@dataclass(frozen=True, repr=False)
class Implication(_Operation):
    """Quantitative "if a then b": not 0 where a is 0 and b is not.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        Vectorized ``function(a, b)`` on [0, inf].
    exact : bool, default=False
        Whether it is 0 everywhere else (homomorphic). No continuous choice is.
    """

    exact: bool = False

    def __post_init__(self) -> None:
        self(_PROBE[:, None], _PROBE)

    def __call__(self, a: ArrayLike, b: ArrayLike) -> Array:
        a, b, out = self._pair(a, b)
        broken = (a == 0) & (b > 0)
        rule = f"not 0 where a = 0 < b{', 0 elsewhere' * self.exact}"
        return _certify(
            repr(self), rule, out, lambda z: (z == broken) if self.exact else z & broken, a, b
        )


@dataclass(frozen=True, repr=False)
class Negation(_Operation):
    """Quantitative "not": not 0 at 0.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        Vectorized ``function(a)`` on [0, inf].
    exact : bool, default=False
        Whether it is 0 everywhere else.
    """

    exact: bool = False

    def __post_init__(self) -> None:
        self(_PROBE)

    def __call__(self, a: ArrayLike) -> Array:
        a = np.asarray(a, dtype=float)
        with np.errstate(all="ignore"):
            out = self.function(a)
        rule = f"not 0 at 0{', 0 elsewhere' * self.exact}"
        return _certify(
            repr(self), rule, out, lambda z: (z == (a == 0)) if self.exact else z & (a == 0), a
        )


@dataclass(frozen=True, repr=False)
class Aggregator(_Operation):
    """Quantitative "for all": 0 exactly when all values are 0.

    The aggregate of no values is 0. The median, the mode and the range are not aggregators, and
    are refused.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        ``function(values, axis=-1)`` on [0, inf].
    """

    def __post_init__(self) -> None:
        self(np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [2, 2, 2], [1, 2, np.inf]]))

    def __call__(self, values: ArrayLike) -> Array:
        values = np.asarray(values, dtype=float)
        if values.shape[-1] == 0:
            return np.zeros(values.shape[:-1])
        with np.errstate(all="ignore"):
            out = self.function(values, axis=-1)
        rule = "0 exactly when all values are 0"
        return _certify(repr(self), rule, out, lambda z: z != (values == 0).all(axis=-1), values)


def _mean(power: int, root: bool = False) -> Callable[..., Array]:
    def mean(values: Array, axis: int) -> Array:
        out = np.mean(values**power, axis=axis)
        out = np.sqrt(out) if root else out
        return np.where((values > 0).any(axis=axis), np.maximum(out, _TINY), 0.0)

    return mean


def _log_sum_exp(a: Array, b: Array) -> Array:
    low, high = np.minimum(a, b), np.maximum(a, b)
    return high + np.log1p(-np.exp(low - high) * np.expm1(-low))


def _probabilistic(low: Array, high: Array) -> Array:
    near = -np.log1p(-np.expm1(-low) * np.expm1(-high))
    return np.where(low < 1, near, low - np.log1p(np.exp(low - high) - np.exp(-high)))


def _tanh(low: Array, high: Array) -> Array:
    # artanh(tanh a tanh b) = (log cosh(a + b) - log cosh(a - b)) / 2, for where tanh is 1.
    far = np.log1p(np.exp(-2 * (low + high))) - np.log1p(np.exp(-2 * (high - low)))
    return np.where(low < 1, np.arctanh(np.tanh(low) * np.tanh(high)), low + far / 2)


def _table(*operations: _Operation) -> Mapping[str, Any]:
    return MappingProxyType({operation.name: operation for operation in operations})


PREMETRICS: Mapping[str, Premetric] = _table(
    Premetric("euclidean", _norm(square=False), vectorized=True),
    Premetric("squared_euclidean", _norm(square=True), vectorized=True),
    Premetric("0/1", _step(1.0), vectorized=True),
    Premetric("0/inf", _step(np.inf), vectorized=True),
)
CONJUNCTIONS: Mapping[str, Conjunction] = _table(
    Conjunction("sum", np.add, _adjoint(lambda a, b: b - a)),
    Conjunction("max", np.maximum, _adjoint(lambda a, b: b)),
    Conjunction(
        "root_sum_square", np.hypot, _adjoint(lambda a, b: np.sqrt(b - a) * np.sqrt(b + a))
    ),
    Conjunction(  # log(exp(a) + exp(b) - 1)
        "log_sum_exp",
        _unital(_log_sum_exp),
        _adjoint(lambda a, b: np.logaddexp(0.0, b + np.log(-np.expm1(a - b)))),
    ),
    Conjunction(  # (sqrt(a) + sqrt(b))^2
        "square_sum_root",
        _unital(lambda a, b: a + b + 2 * np.sqrt(a) * np.sqrt(b)),
        _adjoint(lambda a, b: ((b - a) / (np.sqrt(b) + np.sqrt(a))) ** 2),
    ),
    Conjunction(  # (1 + a)(1 + b) - 1
        "product", _unital(lambda a, b: a + b + a * b), _adjoint(lambda a, b: (b - a) / (1 + a))
    ),
)
DISJUNCTIONS: Mapping[str, Disjunction] = _table(
    Disjunction("min", np.minimum),
    Disjunction("harmonic", _absorbing(lambda a, b: a / (1 + a / b))),  # ab / (a + b)
    Disjunction(  # ab / sqrt(a^2 + b^2)
        "inverse_root_sum_square", _absorbing(lambda a, b: a / np.hypot(1.0, a / b))
    ),
    # -log(1 - (1 - exp(-a))(1 - exp(-b)))
    Disjunction("probabilistic", _absorbing(_probabilistic)),
    Disjunction("tanh", _absorbing(_tanh)),
)
IMPLICATIONS: Mapping[str, Implication] = _table(
    Implication("subtraction", CONJUNCTIONS["sum"].implication.function),
    Implication("max_adjoint", CONJUNCTIONS["max"].implication.function),
    Implication("exact", lambda a, b: np.where(a == 0, b, 0.0), exact=True),
)
NEGATIONS: Mapping[str, Negation] = _table(
    Negation("complement", lambda a: np.maximum(1.0 - a, 0.0)),
    Negation("reciprocal", lambda a: 1.0 / a),
    Negation("exact", lambda a: np.where(a == 0, 1.0, 0.0), exact=True),
)
AGGREGATORS: Mapping[str, Aggregator] = _table(
    Aggregator("max", np.max),
    Aggregator("sum", np.sum),
    Aggregator("mean", _mean(1)),
    Aggregator("mean_square", _mean(2)),
    Aggregator("root_mean_square", _mean(2, root=True)),
)


_TABLES: Mapping[type, Mapping[str, Any]] = {
    Premetric: PREMETRICS,
    Conjunction: CONJUNCTIONS,
    Disjunction: DISJUNCTIONS,
    Implication: IMPLICATIONS,
    Negation: NEGATIONS,
    Aggregator: AGGREGATORS,
}


def _named(kind: type, name: str) -> Any:
    return _TABLES[kind][name]


def _choose(kind: type, choice: Any, parameter: str) -> Any:
    if isinstance(choice, kind):
        return choice
    table = _TABLES[kind]
    if isinstance(choice, str) and choice in table:
        return table[choice]
    if callable(choice) and not isinstance(choice, _Operation):
        return kind(getattr(choice, "__name__", "callable"), choice)
    names = sorted(table) + ["residual"] * (kind is Implication)
    raise ValueError(
        f"{parameter} must be one of {names}, a {kind.__name__} or a function, got {choice!r}."
    )


@dataclass(frozen=True)
class Semantics:
    """The choices that turn a predicate into a quantity; the defaults are the paper's Table 1.

    Every choice is a name from the table of its kind, an object of that kind, or a function from
    which one is made, such as ``Semantics(premetric=lambda a, b: abs(a - b) / 2)``.

    Parameters
    ----------
    premetric : {"euclidean", "squared_euclidean", "0/1", "0/inf"}, Premetric or callable, \
            default="euclidean"
        For equality.
    conjunction : {"sum", "max", "root_sum_square", "log_sum_exp", "square_sum_root", "product"}, \
            Conjunction or callable, default="sum"
        For ``&``.
    disjunction : {"min", "harmonic", "inverse_root_sum_square", "probabilistic", "tanh"}, \
            Disjunction or callable, default="min"
        For ``|``.
    implication : {"subtraction", "max_adjoint", "exact", "residual"}, Implication or callable, \
            default="residual"
        For ``>>``. "residual" is the adjoint of `conjunction`: truncated subtraction for "sum".
    negation : {"complement", "reciprocal", "exact"}, Negation or callable, default="complement"
        For ``~``.
    forall : {"max", "sum", "mean", "mean_square", "root_mean_square"}, Aggregator or callable, \
            default="max"
        For `Forall`. `Exists` is always the infimum.
    premetrics : dict, default={}
        Premetrics of single sorts of values: ``{"Y": "0/1"}`` is for ``Equal(a, b, on="Y")``.
    aggregators : dict, default={}
        Aggregators of single variables, by the variable's name.

    See Also
    --------
    Predicate.quantity : The quantity of a predicate under a semantics.

    Examples
    --------
    >>> from sklearn_disent.logic import Semantics
    >>> semantics = Semantics(conjunction="max", forall="mean")
    >>> semantics.conjunction, semantics.forall
    (Conjunction('max'), Aggregator('mean'))
    >>> semantics.implies(1.0, [0.5, 1.0, 3.0])
    array([0., 0., 3.])
    """

    premetric: Premetric | PremetricName | Function = "euclidean"
    conjunction: Conjunction | ConjunctionName | Function = "sum"
    disjunction: Disjunction | DisjunctionName | Function = "min"
    implication: Implication | ImplicationName | Function = "residual"
    negation: Negation | NegationName | Function = "complement"
    forall: Aggregator | AggregatorName | Function = "max"
    premetrics: Mapping[str, Premetric | PremetricName | Function] = field(default_factory=dict)
    aggregators: Mapping[str, Aggregator | AggregatorName | Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = (Premetric, Conjunction, Disjunction, Implication, Negation, Aggregator)
        for item, kind in zip(fields(self), kinds):
            choice = getattr(self, item.name)
            # "residual" is resolved by `implies`: it follows the conjunction through `replace`.
            if kind is not Implication or choice != "residual":
                object.__setattr__(self, item.name, _choose(kind, choice, item.name))
        for name, kind in (("premetrics", Premetric), ("aggregators", Aggregator)):
            given = getattr(self, name).items()
            chosen = {key: _choose(kind, choice, f"{name}[{key!r}]") for key, choice in given}
            object.__setattr__(self, name, chosen)

    @property
    def implies(self) -> Implication:
        """The implication in use, with "residual" resolved."""
        if self.implication == "residual":
            return cast(Conjunction, self.conjunction).implication
        return cast(Implication, self.implication)

    # After __post_init__ all names have become objects, which the annotations do not say.

    def _premetric_on(self, sort: str | None) -> Premetric:
        chosen = self.premetric if sort is None else self.premetrics.get(sort, self.premetric)
        return cast(Premetric, chosen)

    def _aggregator_of(self, variable: str) -> Aggregator:
        return cast(Aggregator, self.aggregators.get(variable, self.forall))
