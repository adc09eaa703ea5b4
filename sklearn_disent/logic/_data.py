"""Factors and codes as the formula of a property sees them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..metrics._validation import check_codes, check_data, varied_factors, warn_if_constant
from ..metrics.logical._assignment import (
    assign_codes,
    check_groups,
    embed_factors,
    scale_codes,
    total_spread,
)
from ._backend import detached, is_tensor, like, namespace, root, take
from ._frame import FormulaError, Frame


@dataclass
class Data:
    """Factors as points, one block of columns each, beside the codes."""

    factors: list[Any] | None
    codes: Any
    kept: NDArray[np.intp]
    """Numbers of the factors that vary."""
    columns: list[NDArray] | None = None
    """Codes of every factor; None where the formula does not ask."""
    code_scale: str = "given"
    classes: Any = None
    """(n, K): the factors as numbers of their values."""
    pairs: NDArray[np.intp] | None = None
    same: NDArray[np.float64] | None = None
    is_batch: bool = False
    """Whether it is a part of the data, of which nothing may be said: then that is true."""
    sampled: bool = False
    """Whether pairs of samples were drawn in an evaluation."""
    _views: dict[Any, Any] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        return len(self.codes)

    @property
    def n_codes(self) -> int:
        return self.codes.shape[1]

    def numpy(self) -> Data:
        """The same as NumPy arrays, to decide what is true."""
        if not is_tensor(self.codes):
            return self
        if "numpy" not in self._views:
            factors = None if self.factors is None else [detached(x) for x in self.factors]
            own = replace(self, factors=factors, codes=detached(self.codes), _views={})
            self._views["numpy"] = own
        return self._views["numpy"]

    def whole(self, term: Any, kind: str) -> Any:
        """All factors, or all codes."""
        if kind == "factors":
            self._need_labels(term)
            parts = [self.factors[k] for k in self.kept]  # type: ignore[index]
            return namespace(*parts).concatenate(parts, -1)
        return self._view("whole", self.codes)

    def part(self, term: Any, kind: str, by: str | None, number: int) -> Any:
        """One factor, the codes that belong to a factor, or a single code."""
        if kind == "factors":
            self._need_labels(term)
            return self._element(term, self.factors, number, "factors")
        if by == "codes":
            if not 0 <= number < self.n_codes:
                self._refuse(term, number, self.n_codes, "codes")
            return self._view(("code", number), self.codes[:, [number]])
        columns = self._element(term, self.columns, number, "factors")
        return self._view(("block", number), self.codes[:, columns])

    def blocks(self) -> tuple[Any, Any, list[list[int]]]:
        """Classes of the factors that vary, their codes side by side, and columns of each."""
        parts = [self.part(None, "codes", "factors", int(k)) for k in self.kept]
        stops = np.cumsum([0, *(part.shape[1] for part in parts)])
        groups = [list(range(a, b)) for a, b in pairwise(stops.tolist())]
        codes = namespace(*parts).concatenate(parts, -1)
        return self.classes[:, self.kept.tolist()], codes, groups

    def values_of(self, number: int) -> Any:
        """Distinct values of a factor, in ascending order."""
        key = ("values", number)
        if key not in self._views:
            self._need_labels(None)
            points = detached(self.factors[number])  # type: ignore[index]
            self._views[key] = np.unique(points, axis=0)
        return like(self._views[key], self.factors[number])  # type: ignore[index]

    def answers(self, equal: Any, frame: Frame, unknown_differs: bool) -> tuple[Any, Any]:
        """What is known of two factors of a pair, as points: 0 if they are the same, else 1."""
        left, right = equal.left, equal.right
        rows = [getattr(side, "row", side) for side in (left, right)]
        index = getattr(left, "index", None)
        fits = frame.pair is not None and all(hasattr(row, "sample") for row in rows)
        other = getattr(right, "index", None)
        fits = fits and (index is other or (isinstance(index, int) and [index] == [other]))
        if not fits:
            raise FormulaError(
                equal,
                f"{equal} cannot be answered: of pairs it is known whether both have the same "
                "factor. Quantify over y.pairs, and compare y(s)[k] with y(t)[k].",
            )
        from ._sets import _number

        axis, at = frame.pair  # type: ignore[misc]
        chosen = self.kept if index is None else [_number(index, frame)]
        apart = 1.0 - self.same[at][:, chosen]  # type: ignore[index]
        apart = np.where(np.isnan(apart), float(unknown_differs), apart)
        shape = [1] * frame.ndim + [apart.shape[1]]
        shape[axis] = len(apart)
        points = like(apart.reshape(shape), self.codes)
        return points, 0.0 * points

    def _view(self, key: Any, codes: Any) -> Any:
        if key not in self._views:
            spread = self._factor_spread() if key == "whole" else 1.0
            self._views[key] = _scaled(codes, self.code_scale, spread)
        return self._views[key]

    def _factor_spread(self) -> float:
        if self.code_scale == "given" or self.factors is None:
            return 1.0
        return total_spread(np.hstack([detached(self.factors[k]) for k in self.kept]))

    def _need_labels(self, term: Any) -> None:
        if self.factors is None:
            raise FormulaError(
                term,
                f"{term} needs labels, but only pairs are given, of which it is known whether they "
                "have the same. Compare the factors of two samples of a pair.",
            )

    def _element(self, term: Any, blocks: Any, number: int, what: str) -> Any:
        if not 0 <= number < len(blocks):
            self._refuse(term, number, len(blocks), what)
        return blocks[number]

    def _refuse(self, term: Any, number: int, size: int, what: str) -> None:
        raise FormulaError(term, f"{term} does not exist: there are {size} {what}, got {number}.")


def _scaled(codes: Any, code_scale: str, spread: float) -> Any:
    """As `scale_codes`, with the gradient of tensors."""
    if not is_tensor(codes):
        return scale_codes(codes, code_scale, spread=spread)
    if code_scale == "given" or not np.ptp(detached(codes), axis=0).any():
        return codes
    centred = codes - codes.mean(0)
    return centred * (spread / root((centred * centred).mean(0).sum()))


def bind(
    factors: Any,
    codes: Any,
    *,
    uses_blocks: bool,
    groups: Any = None,
    assignment: str = "one_to_one",
    code_scale: str = "given",
    factor_scale: str = "given",
    nan_policy: str = "raise",
) -> Data:
    """Check factors and codes as metrics do; codes that are tensors stay tensors."""
    labels = detached(factors) if is_tensor(factors) else factors
    data = check_data(labels, detached(codes), None, nan_policy, continuous=True)
    points = embed_factors(data, factor_scale)
    varied = varied_factors(data.factors)
    columns = None
    if uses_blocks:
        columns = _columns(data, varied, groups, assignment)
        warn_if_constant(data.codes, "a constant is a function of any factor, hence modular")
    kept = np.flatnonzero(varied)
    if not is_tensor(codes):
        return Data(points, data.codes, kept, columns, code_scale)
    if len(data.codes) < len(codes):
        codes = take(codes, data.rows)
    # Whole numbers stay whole: these are classes.
    classes = like(data.factors, codes).round().long()
    points = [like(x, codes) for x in points]
    return Data(points, codes, kept, columns, code_scale, classes)


def bind_pairs(
    pairs: NDArray[np.intp],
    same: NDArray[np.float64],
    codes: Any,
    *,
    uses_blocks: bool,
    groups: Any,
    code_scale: str,
) -> Data:
    """Codes with pairs of rows in place of labels."""
    n_factors = same.shape[1]
    if not is_tensor(codes):
        codes = check_codes(codes)
    columns = None
    if uses_blocks:
        columns = in_order(groups, n_factors, codes.shape[1])
    kept = np.arange(n_factors)
    return Data(None, codes, kept, columns, code_scale, pairs=pairs, same=same)


def in_order(groups: Any, n_factors: int, n_codes: int) -> list[NDArray]:
    """Columns of every factor: as told, or one each in order."""
    if groups is not None:
        return check_groups(groups, n_factors, n_codes)
    if n_codes < n_factors:
        raise ValueError(
            f"{n_factors} factors need as many codes, one each in order, got {n_codes}. Pass "
            "groups."
        )
    return [np.array([k]) for k in range(n_factors)]


def _columns(
    data: Any, varied: NDArray[np.bool_], groups: ArrayLike | None, assignment: str
) -> list[NDArray]:
    n_factors, n_codes = data.factors.shape[1], data.codes.shape[1]
    if groups is not None or assignment == "in_order":
        return in_order(groups, n_factors, n_codes)
    columns = [np.zeros(0, dtype=np.int64)] * n_factors
    found = assign_codes(data.factors[:, varied], data.codes, None, assignment)
    for k, own in zip(np.flatnonzero(varied), found):
        columns[k] = own
    return columns
