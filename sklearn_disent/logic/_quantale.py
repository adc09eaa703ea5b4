"""Quantitative counterparts of the logical operations, on [0, inf] with 0 for true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._backend import detached, is_tensor, namespace
from ._formulas import (
    Distance,
    Moment,
    absorbing,
    adjoint,
    hypotenuse,
    is_zero,
    larger,
    log_sum_exp_of,
    log_sum_exp_residual,
    not_negative,
    probabilistic,
    root_difference,
    smaller,
    square_of_roots,
    square_of_roots_residual,
    step,
    tanh_product,
    unital,
)

Array = NDArray[Any]
Function = Callable[..., ArrayLike]

# Names in the tables below.
PremetricName = Literal[
    "euclidean",
    "squared_euclidean",
    "manhattan",
    "0/1",
    "0/inf",
]
ConjunctionName = Literal[
    "sum", "max", "root_sum_square", "log_sum_exp", "square_sum_root", "product"
]
DisjunctionName = Literal["min", "harmonic", "inverse_root_sum_square", "probabilistic", "tanh"]
ImplicationName = Literal["subtraction", "max_adjoint", "exact", "residual"]
NegationName = Literal["complement", "reciprocal", "exact"]
AggregatorName = Literal["max", "sum", "mean", "mean_square", "root_mean_square"]

_PROBE = np.array([0.0, 0.5, 1.0, 2.0, np.inf])


def _certify(what: str, rule: str, out: Any, wrong: Callable, *inputs: Any) -> Any:
    """Return `out`, or name the first input at which an operation breaks its rule."""
    values = detached(out)
    bad = np.broadcast_to(np.isnan(values) | (values < 0) | wrong(values == 0), values.shape)
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        shown = ", ".join(str(detached(x)[at].tolist()) for x in inputs)
        raise ValueError(
            f"{what} must be in [0, inf] and {rule}, but it maps ({shown}) to {values[at]}."
        )
    return out


@dataclass(frozen=True, repr=False)
class _Operation:
    name: str
    function: Callable[..., Any]

    # Those in the tables keep their rules by construction; others are checked at every value.
    _trusted: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # What stands in a table is kept by its name: most are closures, which do not pickle.
        if _TABLES.get(type(self), {}).get(self.name) is self:
            return _named, (type(self), self.name)
        return super().__reduce_ex__(protocol)


@dataclass(frozen=True, repr=False)
class _Binary(_Operation):
    def __post_init__(self) -> None:
        self(_PROBE[:, None], _PROBE)

    def __call__(self, a: Any, b: Any) -> Any:
        xp = namespace(a, b)
        a, b = xp.floats(a, b if is_tensor(b) else None), xp.floats(b, a if is_tensor(a) else None)
        if not is_tensor(a):
            a, b = np.broadcast_arrays(a, b)
        with np.errstate(all="ignore"):  # inf - inf and 0 * inf are settled by the operations
            out = xp.floats(self.function(a, b), a)
        if self._trusted:
            return out
        rule, wrong = self._rule(detached(a), detached(b))
        return _certify(repr(self), rule, out, wrong, a, b)

    def _rule(self, a: Array, b: Array) -> tuple[str, Callable[[Array], Array]]:
        """What the operation must keep, and which of its zeros break it."""
        raise NotImplementedError


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

    def __post_init__(self) -> None:
        if isinstance(self.function, Distance):
            object.__setattr__(self, "_trusted", True)

    @classmethod
    def scaled(
        cls, kind: Literal["euclidean", "squared_euclidean", "manhattan"], factor: float
    ) -> Premetric:
        """A distance times a positive number, which is a strict premetric, too.

        Half the mean squared distance over all ordered pairs is the variance.

        Parameters
        ----------
        kind : {"euclidean", "squared_euclidean", "manhattan"}
            The distance.
        factor : float
            The number.

        Returns
        -------
        premetric : Premetric

        Examples
        --------
        >>> from sklearn_disent.logic import FiniteSet, Forall, Premetric, Semantics
        >>> half = Premetric.scaled("squared_euclidean", 0.5)
        >>> constant = Forall(FiniteSet([1, 3]), lambda x, y: x == y)
        >>> constant.quantity(Semantics(half, forall="mean"))
        1.0
        """
        if kind not in ("euclidean", "squared_euclidean", "manhattan") or not factor > 0:
            raise ValueError(
                "A distance is 'euclidean', 'squared_euclidean' or 'manhattan', times a number "
                f"above 0, got {kind!r} and {factor!r}."
            )
        return cls(f"{factor:g} {kind}", Distance(kind, factor), vectorized=True)

    def __call__(self, left: Any, right: Any, *, ndim: int = 0, certify: bool = False) -> Any:
        """Distances of values that are laid out along the first `ndim` axes."""
        left, right = (x if is_tensor(x) else np.asarray(x) for x in (left, right))
        if self._trusted and not certify:
            rows = ((*x.shape[:ndim], int(np.prod(x.shape[ndim:]))) for x in (left, right))
            with np.errstate(all="ignore"):
                return self.function(*(x.reshape(row) for x, row in zip((left, right), rows)))
        shape = np.broadcast_shapes(left.shape, right.shape)
        left, right = (namespace(x).broadcast_to(x, shape) for x in (left, right))
        lead = tuple(left.shape[:ndim])
        if self.vectorized:
            size = (*lead, int(np.prod(left.shape[ndim:])))
            with np.errstate(all="ignore"):
                out = self.function(left.reshape(size), right.reshape(size))
        else:
            left, right = detached(left), detached(right)
            flat = (self.function(left[at], right[at]) for at in np.ndindex(lead))
            out = np.fromiter(flat, dtype=float, count=int(np.prod(lead))).reshape(lead)
        same = detached(left) == detached(right)
        same = same.astype(bool).all(axis=tuple(range(ndim, left.ndim)))
        rule = "0 exactly at equal values (a strict premetric)"
        out = namespace(out).floats(out)
        return _certify(repr(self), rule, out, lambda zero: zero != same, left, right)

    def check(self, values: ArrayLike) -> None:
        """Raise ValueError unless the premetric is strict on all pairs of a set's elements.

        Parameters
        ----------
        values : array-like of shape (n_elements, ...)
            The elements.
        """
        rows = np.asarray(values)
        self(rows[:, None], rows[None], ndim=2, certify=True)


@dataclass(frozen=True, repr=False)
class Conjunction(_Binary):
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

    def _rule(self, a: Array, b: Array) -> tuple[str, Callable[[Array], Array]]:
        return "0 exactly at (0, 0)", lambda zero: zero != ((a == 0) & (b == 0))

    @property
    def implication(self) -> Implication:
        """The implication adjoint to this conjunction."""
        if self.residual is None:
            raise ValueError(f"{self!r} has no residual. Pass one, or choose an implication.")
        return _residual_of(self.name, self.residual, self._trusted)

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
            unital(lambda a, b: backward(forward(a) + forward(b))),
            adjoint(lambda a, b: backward(not_negative(forward(b) - forward(a)))),
        )


@dataclass(frozen=True, repr=False)
class Disjunction(_Binary):
    """Quantitative "or": 0 exactly when an argument is 0.

    Parameters
    ----------
    name : str
        Name to show.
    function : callable
        Vectorized ``function(a, b)`` on [0, inf].
    """

    def _rule(self, a: Array, b: Array) -> tuple[str, Callable[[Array], Array]]:
        return "0 exactly where an argument is 0", lambda zero: zero != ((a == 0) | (b == 0))


@dataclass(frozen=True, repr=False)
class Implication(_Binary):
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

    def _rule(self, a: Array, b: Array) -> tuple[str, Callable[[Array], Array]]:
        broken = (a == 0) & (b > 0)
        rule = f"not 0 where a = 0 < b{', 0 elsewhere' * self.exact}"
        return rule, lambda zero: (zero == broken) if self.exact else zero & broken


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

    def __call__(self, a: Any) -> Any:
        xp = namespace(a)
        a = xp.floats(a)
        with np.errstate(all="ignore"):
            out = xp.floats(self.function(a), a)
        if self._trusted:
            return out
        zero, rule = detached(a) == 0, f"not 0 at 0{', 0 elsewhere' * self.exact}"
        return _certify(repr(self), rule, out, lambda z: (z == zero) if self.exact else z & zero, a)


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

    def __call__(self, values: Any) -> Any:
        values = namespace(values).floats(values)
        if values.shape[-1] == 0:
            return values.sum(-1)
        with np.errstate(all="ignore"):
            out = self.function(values, axis=-1)
        if self._trusted:
            return out
        zero, rule = (detached(values) == 0).all(axis=-1), "0 exactly when all values are 0"
        return _certify(repr(self), rule, out, lambda z: z != zero, values)

    def _over(self, parts: Iterable[Any]) -> Any:
        """The aggregate of values that come in parts, all along the last axis."""
        if not isinstance(self.function, Moment):
            held = list(parts)
            lead = np.broadcast_shapes(*(tuple(part.shape[:-1]) for part in held))
            xp = namespace(*held)
            held = [xp.broadcast_to(part, (*lead, part.shape[-1])) for part in held]
            return self(xp.concatenate(held, -1))
        return self.function.over(parts)


@lru_cache
def _residual_of(name: str, residual: Callable[..., Any], trusted: bool) -> Implication:
    implication = Implication(f"{name} residual", residual)
    object.__setattr__(implication, "_trusted", trusted)
    return implication


def _table(*operations: _Operation) -> Mapping[str, Any]:
    for operation in operations:
        object.__setattr__(operation, "_trusted", True)
    return MappingProxyType({operation.name: operation for operation in operations})


PREMETRICS: Mapping[str, Premetric] = _table(
    Premetric("euclidean", Distance("euclidean"), vectorized=True),
    Premetric("squared_euclidean", Distance("squared_euclidean"), vectorized=True),
    Premetric("manhattan", Distance("manhattan"), vectorized=True),
    Premetric("0/1", step(1.0), vectorized=True),
    Premetric("0/inf", step(np.inf), vectorized=True),
)
CONJUNCTIONS: Mapping[str, Conjunction] = _table(
    Conjunction("sum", lambda a, b: a + b, adjoint(lambda a, b: b - a)),
    Conjunction("max", larger, adjoint(lambda a, b: b)),
    Conjunction("root_sum_square", unital(hypotenuse), adjoint(root_difference)),
    # log(exp(a) + exp(b) - 1)
    Conjunction("log_sum_exp", unital(log_sum_exp_of), adjoint(log_sum_exp_residual)),
    # (sqrt(a) + sqrt(b))^2
    Conjunction("square_sum_root", unital(square_of_roots), adjoint(square_of_roots_residual)),
    Conjunction(  # (1 + a)(1 + b) - 1
        "product", unital(lambda a, b: a + b + a * b), adjoint(lambda a, b: (b - a) / (1 + a))
    ),
)
DISJUNCTIONS: Mapping[str, Disjunction] = _table(
    Disjunction("min", smaller),
    Disjunction("harmonic", absorbing(lambda a, b: a / (1 + a / b))),  # ab / (a + b)
    Disjunction(  # ab / sqrt(a^2 + b^2)
        "inverse_root_sum_square", absorbing(lambda a, b: a / hypotenuse(1.0, a / b))
    ),
    # -log(1 - (1 - exp(-a))(1 - exp(-b)))
    Disjunction("probabilistic", absorbing(probabilistic)),
    Disjunction("tanh", absorbing(tanh_product)),
)
IMPLICATIONS: Mapping[str, Implication] = _table(
    Implication("subtraction", CONJUNCTIONS["sum"].implication.function),
    Implication("max_adjoint", CONJUNCTIONS["max"].implication.function),
    Implication("exact", lambda a, b: namespace(a, b).where(a == 0, b, 0.0), exact=True),
)
NEGATIONS: Mapping[str, Negation] = _table(
    Negation("complement", lambda a: not_negative(1.0 - a)),
    Negation("reciprocal", lambda a: 1.0 / a),
    Negation("exact", is_zero, exact=True),
)
AGGREGATORS: Mapping[str, Aggregator] = _table(
    Aggregator("max", Moment(0)),
    Aggregator("sum", Moment(1, average=False)),
    Aggregator("mean", Moment(1)),
    Aggregator("mean_square", Moment(2)),
    Aggregator("root_mean_square", Moment(2, root=True)),
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
    premetric : {"euclidean", "squared_euclidean", "manhattan", "0/1", "0/inf"}, Premetric or \
            callable, default="euclidean"
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
        Premetrics of single sorts of values: ``{"Y": "0/1"}`` is for ``Equal(a, b, on="Y")``. In a
        `Property`, the factors have the sort "factors" and the codes "codes".
    conditions : dict, default={"factors": "0/inf"}
        The same for equations that stand before an arrow, or are negated. Factors are the same or
        not: a code that depends on its factor alone then has the quantity 0, however steep it is.
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
    conditions: Mapping[str, Premetric | PremetricName | Function] = field(
        default_factory=lambda: {"factors": "0/inf"}
    )
    aggregators: Mapping[str, Aggregator | AggregatorName | Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = (Premetric, Conjunction, Disjunction, Implication, Negation, Aggregator)
        for item, kind in zip(fields(self), kinds):
            choice = getattr(self, item.name)
            # "residual" is resolved by `implies`: it follows the conjunction through `replace`.
            if kind is not Implication or choice != "residual":
                object.__setattr__(self, item.name, _choose(kind, choice, item.name))
        tables = ("premetrics", Premetric), ("conditions", Premetric), ("aggregators", Aggregator)
        for name, kind in tables:
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

    def _premetric_on(self, sort: str | None, before: bool = False) -> Premetric:
        """The premetric of a sort, `before` an arrow or elsewhere."""
        if before and sort is not None and sort in self.conditions:
            return cast(Premetric, self.conditions[sort])
        chosen = self.premetric if sort is None else self.premetrics.get(sort, self.premetric)
        return cast(Premetric, chosen)

    def _aggregator_of(self, variable: str) -> Aggregator:
        return cast(Aggregator, self.aggregators.get(variable, self.forall))
