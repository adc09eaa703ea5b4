"""Factors and codes that are not given yet: what the formula of a property is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._backend import take
from ._frame import FormulaError, Frame, Node
from ._sets import (
    Kind,
    _Columns,
    _data,
    _index_kind,
    _index_variables,
    _number,
    _Pairs,
    _Samples,
    _Values,
)
from ._terms import Domain, Term, Variable
from ._unknowns import _Assignments, _Space


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
        if kind is None or (kind == "codes" and own == "factors"):
            raise FormulaError(
                self,
                f"{self}[{index}] does not fit: {own} are numbered by integers, or by variables "
                f"over {'y.columns' if own == 'factors' else 'y.columns or z.columns'}.",
            )
        return _Part(self, index)

    def _evaluate(self, frame: Frame) -> Any:
        return self._spread(frame, _data(self, frame).whole(self, self.symbol._kind))

    def _spread(self, frame: Frame, table: Any) -> Any:
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
