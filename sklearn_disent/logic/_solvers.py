"""The best point, map or assignment: what "exists" finds where nothing is enumerated.

A solver finds where the infimum is attained; the quantity is then that of the body at this place,
by the walk that evaluates everything else. So is its slope: the derivative of an infimum is that of
the body at the minimum (Danskin 1967), with the multipliers of the rows that meet at an edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, nnls
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from sklearn.base import clone

from ..metrics.logical._deviations import class_centers
from ..metrics.logical._linear_fits import (
    affine_design,
    least_absolute,
    least_squares,
    minimax_fit,
)
from ._backend import detached, is_tensor, like, namespace
from ._frame import FormulaError, Frame
from ._predicates import And, Equal
from ._quantale import Semantics
from ._quantifiers import Forall
from ._sets import _Columns
from ._terms import Variable
from ._unknowns import _MapApply, _Maps

Floats = NDArray[np.float64]
_MEANS = {"mean", "sum"}
_SQUARES = {"squared_euclidean"}
_LENGTHS = {"euclidean"}


class _Record(NamedTuple):
    """Equations of the unknown with something known, a row each."""

    component: int | None
    argument: Floats | None
    target: Floats
    weight: Floats
    premetric: str
    factor: float
    aggregators: tuple[str, ...]
    live: tuple[Any, Any] | None
    """Argument and target as tensors, if they are."""


# -- what is found ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """A point that solves an existential quantifier."""

    values: Any
    slope: Any = None

    def __call__(self, argument: Any) -> Any:
        return self.values

    def value(self, ndim: int) -> Any:
        return self.values.reshape((1,) * ndim + tuple(self.values.shape))


@dataclass(frozen=True)
class Table:
    """A function by its values at all arguments that occur."""

    arguments: NDArray
    values: Floats

    def __call__(self, argument: Any) -> Any:
        rows = detached(argument).reshape(-1, argument.shape[-1])
        at = np.searchsorted(self.arguments, _as_bytes(rows))
        return like(self.values[at].reshape(*argument.shape[:-1], -1), argument)


@dataclass(frozen=True)
class Affine:
    """An affine function."""

    center: Floats
    coef: Floats
    offset: Floats

    def __call__(self, argument: Any) -> Any:
        center, coef, offset = (like(x, argument) for x in (self.center, self.coef, self.offset))
        return (argument - center) @ coef + offset


@dataclass(frozen=True)
class Fitted:
    """A fitted regressor as a function."""

    regressor: Any
    unknown: Variable

    def __call__(self, argument: Any) -> Any:
        if is_tensor(argument) and argument.requires_grad:
            raise FormulaError(
                self.unknown,
                f"{self.unknown} ranges over maps by {type(self.regressor).__name__}, which have "
                "no derivative: a property with them is a metric, not an objective. Use "
                "maps('affine') to learn from it.",
            )
        rows = detached(argument).reshape(-1, argument.shape[-1])
        predicted = np.asarray(self.regressor.predict(rows), dtype=float)
        return like(predicted.reshape(*argument.shape[:-1], -1), argument)


@dataclass(frozen=True)
class Map:
    """A function whose components were found one by one, or all together (None)."""

    parts: Mapping[int | None, Any]
    slope: Any = None
    """What has the slope of the infimum, where that of the body at the minimum is not unique."""

    def apply(self, component: int | None, argument: Any, ndim: int) -> Any:
        return self.parts[component](_as_rows(argument, ndim))


def _as_rows(values: Any, ndim: int) -> Any:
    return values.reshape(*values.shape[:ndim], int(np.prod(values.shape[ndim:])))


def _in_rows(values: Any, frame: Frame) -> Any:
    """Values as rows, one for every cell of the frame."""
    values = _as_rows(values, frame.ndim)
    sizes = [len(frame.rows[axis[0]]) for axis in frame.axes]
    full = namespace(values).broadcast_to(values, (*sizes, values.shape[-1]))
    return full.reshape(-1, values.shape[-1])


def _as_bytes(rows: NDArray) -> NDArray:
    """Rows as single values that can be sorted; -0.0 becomes 0.0."""
    rows = np.ascontiguousarray(rows + 0.0)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * max(1, rows.shape[1])))).ravel()


# -- points and maps -------------------------------------------------------------------------


def solve(unknown: Variable, exists: Any, frame: Frame, semantics: Semantics, before: bool) -> Any:
    """What makes the body least: a point, or a map."""
    records = _collect(exists.body, unknown, frame, semantics, before)
    by_component = defaultdict(list)
    for record in records:
        by_component[record.component].append(record)
    kind = getattr(unknown.domain, "kind", None) if isinstance(unknown.domain, _Maps) else "point"
    parts, slopes = {}, []
    for component, own in by_component.items():
        loss = _loss_of(own[0], unknown)
        target = np.concatenate([record.target for record in own])
        shares = np.concatenate([record.weight for record in own])
        weight = None if np.ptp(shares) <= 1e-12 * shares.max() else shares
        argument = None
        if kind == "point":
            center = _centers(target, np.zeros(len(target), dtype=np.int64), weight, loss)[0]
            parts[component] = Point(
                center if frame.data is None else like(center, frame.data.codes)
            )
        else:
            argument = np.concatenate([record.argument for record in own])
            parts[component] = _fit(kind, argument, target, weight, loss, unknown)
        slopes.append(_slope(parts[component], own, argument, target, shares, loss))
    if not parts:
        raise FormulaError(unknown, f"{unknown} does not occur in what must exist. Leave it out.")
    slope = None if any(part is None for part in slopes) else sum(slopes)
    return replace(parts[None], slope=slope) if kind == "point" else Map(parts, slope)


def _slope(
    part: Any,
    records: list[_Record],
    argument: Floats | None,
    target: Floats,
    weight: Floats,
    loss: str,
) -> Any:
    """A sum with the slope of the infimum, for losses that have an edge at the minimum."""
    live = [record.live for record in records]
    if loss not in {"radius", "mad", "manhattan"} or None in live or isinstance(part, Fitted):
        return None
    xp = namespace(live[0][1])  # type: ignore[index]
    targets = xp.concatenate([pair[1] for pair in live], 0)  # type: ignore[index]
    arguments = None
    if argument is not None:
        arguments = xp.concatenate([pair[0] for pair in live], 0)  # type: ignore[index]
    gap = targets - part(arguments)
    if argument is None:
        design = np.ones((len(target), 1))
    elif isinstance(part, Affine):
        design = affine_design(argument)
    else:
        classes = np.unique(_as_bytes(argument), return_inverse=True)[1].ravel()
        design = np.eye(classes.max() + 1)[classes]
    pull = multipliers(detached(gap), design, weight, loss) * records[0].factor
    return (like(pull, gap) * gap).sum()


def first_of(unknown: Variable, exists: Any, frame: Frame) -> Any:
    """A point or map that makes the body true, if any does."""
    if isinstance(unknown.domain, _Maps) and unknown.domain.kind != "any":
        raise FormulaError(
            unknown,
            f"Whether {unknown} exists among {unknown.domain} cannot be told from rounded numbers. "
            "Ask for the quantity, and judge whether it is small.",
        )
    exact = Semantics("0/1", premetrics={}, conditions={}, forall="sum")
    return solve(unknown, exists, frame.exact(), exact, False)


def only_target(exists: Any, frame: Frame) -> float:
    """The number that the unknown of a single equation must equal."""
    records = _collect(exists.body, exists.variables[0], frame, Semantics(), False)
    if len(exists.variables) > 1 or len(records) != 1 or records[0].target.size != 1:
        raise FormulaError(exists, "An interval is searched for the solution of one equation.")
    return float(records[0].target.item())


def _collect(
    node: Any, unknown: Variable, frame: Frame, semantics: Semantics, before: bool
) -> list[_Record]:
    """All equations of an unknown, with the weight that each has in the quantity."""
    if unknown not in node._free():
        return []
    if isinstance(node, And):
        parts = (_collect(p, unknown, frame, semantics, before) for p in node.operands)
        return [record for part in parts for record in part]
    if isinstance(node, Equal):
        return [_record(node, unknown, frame, semantics, before)]
    if not isinstance(node, Forall):
        raise FormulaError(
            node,
            f"{unknown} cannot be solved for within {node}: it may stand in equations under "
            "Forall and And. Let it range over a FiniteSet of candidates instead.",
        )
    aggregator, records, count = node._aggregator(semantics), [], 0
    for inner in node._frames(frame):
        count += int(np.prod([len(inner.rows[a[0]]) for a in inner.axes[frame.ndim :]]))
        records += _collect(node.body, unknown, inner, semantics, before)
    share = 1 / count if aggregator.name == "mean" else 1.0
    chooses = any(v in _component_variables(node.body, unknown) for v in node.variables)
    # Every component is best by itself, whatever joins them.
    own = () if chooses else (aggregator.name,)
    if chooses and aggregator.name not in _MEANS:
        records = [r._replace(live=None) for r in records]  # slopes do not add up
    return [
        r._replace(weight=r.weight * share, aggregators=(*own, *r.aggregators)) for r in records
    ]


def _component_variables(node: Any, unknown: Variable) -> set[Variable]:
    if isinstance(node, _MapApply):
        chosen = node.component if node.function is unknown else None
        return {chosen} if isinstance(chosen, Variable) else set()
    parts = node._parts() if hasattr(node, "_parts") else ()
    return set().union(*(_component_variables(part, unknown) for part in parts))


def _record(
    node: Equal, unknown: Variable, frame: Frame, semantics: Semantics, before: bool
) -> _Record:
    inside = [unknown in side._free() for side in (node.left, node.right)]
    own, other = (node.left, node.right) if inside[0] else (node.right, node.left)
    is_map = isinstance(own, _MapApply) and own.function is unknown
    if all(inside) or not (own is unknown or is_map):
        raise FormulaError(
            node, f"{unknown} cannot be solved for in {node}: it must stand alone on one side."
        )
    for found in other._free():
        if found.domain._solved and found not in frame.found:
            raise FormulaError(
                node, f"{node} has two unknowns, {unknown} and {found}. Write an equation of each."
            )
    given = _in_rows(own.argument._evaluate(frame), frame) if is_map else None
    wanted = _in_rows(other._evaluate(frame), frame)
    live = (given, wanted) if is_tensor(given) or is_tensor(wanted) else None
    argument = None if given is None else detached(given).astype(float)
    target = detached(wanted).astype(float)
    chosen = semantics._premetric_on(node._own_sort, before)
    # A positive factor does not change what is best.
    premetric = getattr(chosen.function, "kind", chosen.name)
    factor = getattr(chosen.function, "factor", 1.0)
    key = own.key(frame) if is_map else None
    return _Record(key, argument, target, np.ones(len(target)), premetric, factor, (), live)


def _loss_of(record: _Record, unknown: Variable) -> str:
    """Which mean is the best approximation."""
    names, premetric = set(record.aggregators), record.premetric
    if premetric in {"0/1", "0/inf"}:
        return "mode"
    if names <= _MEANS and premetric in _SQUARES:
        return "variance"
    if record.aggregators in (("mean_square",), ("root_mean_square",)) and premetric in _LENGTHS:
        return "variance"
    if names <= _MEANS and premetric in _LENGTHS:
        return "mad"
    if names <= _MEANS and premetric == "manhattan":
        return "manhattan"
    if names <= {"max"} and premetric in _LENGTHS | _SQUARES:
        return "radius"
    raise FormulaError(
        unknown,
        f"{unknown} cannot be solved for with the premetric {premetric!r} under the aggregators "
        f"{list(record.aggregators)}. Solved are 'max', and means or sums, of distances, and means "
        "or sums of squares. Choose one of these, or a FiniteSet of candidates.",
    )


def _centers(
    target: Floats, classes: NDArray[np.int64], weight: Floats | None, loss: str
) -> Floats:
    """The best point of every class."""
    if loss == "mode":
        return _modes(target, classes, weight)
    if loss == "manhattan":
        columns = [class_centers(x[:, None], classes, weight, "mad") for x in target.T]
        return np.hstack(columns)
    if target.shape[1] == 0:
        return np.zeros((classes.max() + 1, 0))
    return class_centers(target, classes, weight, loss)


def _modes(target: Floats, classes: NDArray[np.int64], weight: Floats | None) -> Floats:
    """The most frequent row of every class."""
    rows, which = np.unique(target, axis=0, return_inverse=True)
    shape = (classes.max() + 1, len(rows))
    weight = np.ones(len(target)) if weight is None else weight
    counts = csr_array((weight, (classes, which.ravel())), shape=shape)
    return rows[np.asarray(counts.argmax(axis=1)).ravel()]


def multipliers(gap: Floats, design: Floats, weight: Floats, loss: str) -> Floats:
    """What every row pulls at the fit, in balance: design' pulls = 0.

    Rows at an edge of the loss, with error 0 or with the largest error, pull as much as it takes.
    """
    size = np.abs(gap) if loss == "manhattan" else np.linalg.norm(gap, axis=1, keepdims=True)
    largest = size.max(initial=0.0)
    if largest == 0:
        return np.zeros_like(gap)
    unit = gap / np.where(size > 0, size, 1.0)
    if loss == "radius":
        active = np.flatnonzero(size[:, 0] >= largest * (1 - 1e-6))
        balance = (unit[active][:, :, None] * design[active][:, None, :]).reshape(len(active), -1)
        share = nnls(np.vstack([balance.T, np.ones(len(active))]), np.eye(balance.shape[1] + 1)[-1])
        pull = np.zeros_like(gap)
        pull[active] = share[0][:, None] * unit[active]
        return pull
    edge = np.broadcast_to(size <= 1e-9 * largest, gap.shape)
    pull = np.where(edge, 0.0, weight[:, None] * unit)
    for column in range(gap.shape[1]):
        at = edge[:, column]
        if at.any():
            rest = -design.T @ pull[:, column]
            pull[at, column] = np.linalg.lstsq(design[at].T, rest, rcond=None)[0]
    return pull


def _fit(
    kind: Any, argument: Floats, target: Floats, weight: Floats | None, loss: str, unknown: Variable
) -> Any:
    if kind == "any":
        keys, classes = np.unique(_as_bytes(argument), return_inverse=True)
        return Table(keys, _centers(target, classes.ravel().astype(np.int64), weight, loss))
    if kind != "affine":
        params = {} if weight is None else {"sample_weight": weight}
        goal = target.ravel() if target.shape[1] == 1 else target
        return Fitted(clone(kind).fit(argument, goal, **params), unknown)
    design = affine_design(argument)
    if loss == "variance":
        coef = least_squares(design, target, weight)
    elif loss == "manhattan" or (loss == "mad" and target.shape[1] == 1):
        coef = least_absolute(design, target, weight)
    elif loss == "radius":
        coef = minimax_fit(design, target).coef
    else:
        raise FormulaError(
            unknown,
            f"{unknown} cannot be solved for among affine maps: sums of distances of points have "
            "a solver for single factors only. Use the premetric 'manhattan', or number the "
            "factors: Forall(y.columns, lambda k: h(z(s))[k] == y(s)[k]).",
        )
    center = argument.mean(axis=0)
    lift = least_squares(argument - center, design[:, 1:]) if design.shape[1] > 1 else None
    slope = np.zeros((argument.shape[1], target.shape[1])) if lift is None else lift @ coef[1:]
    return Affine(center, slope, coef[0])


# -- assignments -----------------------------------------------------------------------------


def _costs(exists: Any, frame: Frame) -> tuple[Any, list[int], list[list[Frame]]]:
    """The quantifier over factors, its values, and a frame for every factor with every code."""
    body = exists.body
    own = body.variables[0].domain if isinstance(body, Forall) else None
    if len(exists.variables) > 1 or not isinstance(own, _Columns) or own.name != "factors":
        raise FormulaError(
            exists,
            "An assignment is solved for where all that must hold is under one quantifier over "
            "factors: Exists(z.assignments, lambda p: Forall(y.columns, lambda k: ...)).",
        )
    if len(body.variables) > 1:
        raise FormulaError(body, "Nest the quantifiers: the one over factors has one variable.")
    assignment, factor = exists.variables[0], body.variables[0]
    numbers = [int(k) for k in own._positions(frame)]
    n_codes = frame.data.n_codes  # type: ignore[union-attr]
    frames = [
        [
            frame.with_axis({factor: np.array([k])}).with_found({assignment: {k: code}})
            for code in range(n_codes)
        ]
        for k in numbers
    ]
    return body, numbers, frames


def assign(exists: Any, frame: Frame, semantics: Semantics, before: bool) -> Any:
    """Quantity of the best assignment of codes to factors."""
    body, numbers, frames = _costs(exists, frame)
    aggregator = body._aggregator(semantics)
    if frame.data.n_codes < len(numbers):  # type: ignore[union-attr]
        return np.full((1,) * frame.ndim, np.inf)
    table = [[body.body._quantity(f, semantics, before).reshape(-1) for f in row] for row in frames]
    costs = np.array([[float(detached(cell)[0]) for cell in row] for row in table])
    if aggregator.name in _MEANS:
        best = _least_sum(costs)
    elif aggregator.name in {"mean_square", "root_mean_square"}:
        best = _least_sum(costs**2)
    elif aggregator.name == "max":
        best = _least_largest(costs)
    else:
        raise FormulaError(body, f"An assignment is not solved for under {aggregator!r}.")
    chosen = [row[at] for row, at in zip(table, best)]
    joined = aggregator(namespace(*chosen).concatenate(chosen, 0))
    return joined.reshape((1,) * frame.ndim)


def can_assign(exists: Any, frame: Frame) -> Any:
    """Whether an assignment makes the body true."""
    body, _, frames = _costs(exists, frame)
    truth = np.array([[bool(body.body._truth(f).reshape(-1)[0]) for f in row] for row in frames])
    matched = maximum_bipartite_matching(csr_array(truth), perm_type="column")
    return np.full((1,) * frame.ndim, bool((matched >= 0).all()))


def _least_sum(costs: Floats) -> NDArray:
    # Infinite costs are finite, but more than any assignment of finite ones.
    finite = costs[np.isfinite(costs)]
    most = len(costs) * (finite.max(initial=0.0) + 1)
    return linear_sum_assignment(np.where(np.isfinite(costs), costs, most))[1]


def _least_largest(costs: Floats) -> NDArray:
    """The assignment whose largest cost is least, by bisection over the costs."""
    levels = np.unique(costs)
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        allowed = csr_array((costs <= levels[middle]).astype(int))
        if (maximum_bipartite_matching(allowed, perm_type="column") >= 0).all():
            high = middle
        else:
            low = middle + 1
    allowed = csr_array((costs <= levels[low]).astype(int))
    return maximum_bipartite_matching(allowed, perm_type="column")
