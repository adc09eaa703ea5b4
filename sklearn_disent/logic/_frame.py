"""Where the variables of a formula stand while it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._data import Data
    from ._terms import Variable

Positions = NDArray[np.intp]

# Cells of a table that are held at once: 2**20 float64 are 8 MiB, and a formula holds several.
CHUNK = 2**20

_marked: ContextVar[Any] = ContextVar("marked", default=None)


class Node:
    """Part of a formula, which shows where an error is when the formula is printed."""

    def __repr__(self) -> str:
        text = self._text()
        return f"▸{text}◂" if _marked.get() is self else text

    def _text(self) -> str:
        raise NotImplementedError

    def _free(self) -> dict[Variable, Any]:
        """Variables that are not bound within; dicts keep their order."""
        return {}

    def _pins(self) -> set[Variable]:
        """Variables that must have a single value each where this is evaluated."""
        return set()


class FormulaError(ValueError):
    """A formula that cannot be evaluated, and the part of it that is to blame.

    Attributes
    ----------
    part : object
        The part.
    """

    def __init__(self, part: Any, message: str) -> None:
        super().__init__(message)
        self.part = part

    def within(self, formula: Any) -> FormulaError:
        """The same error, with the place in the whole formula.

        Parameters
        ----------
        formula : Predicate
            The whole.

        Returns
        -------
        error : FormulaError
        """
        token = _marked.set(self.part)
        try:
            text = repr(formula)
        finally:
            _marked.reset(token)
        place = f" The place is marked: {text}" if "▸" in text else f" The formula is {text}"
        return FormulaError(self.part, f"{self}{place}")


@dataclass(frozen=True)
class Frame:
    """Axes of the arrays in an evaluation, and the variables that vary along each of them."""

    axes: tuple[tuple[Variable, ...], ...] = ()
    """Several variables share an axis where tuples of values were drawn, or pairs are given."""
    rows: Mapping[Variable, Positions] = field(default_factory=dict)
    """Which elements of a variable's set stand on its axis."""
    data: Data | None = None
    found: Mapping[Variable, Any] = field(default_factory=dict)
    """What solves an existential quantifier."""
    n_pairs: int | None = None
    """Tuples of samples beyond this number are drawn instead of enumerated."""
    rng: np.random.RandomState | None = None
    pair: tuple[int, Positions] | None = None
    """Axis along which given pairs run, and which ones."""

    @property
    def ndim(self) -> int:
        return len(self.axes)

    def axis_of(self, variable: Variable) -> int:
        """Its axis; the innermost binding counts."""
        for at in reversed(range(len(self.axes))):
            if any(other is variable for other in self.axes[at]):
                return at
        named = any(other.name == variable.name for axis in self.axes for other in axis)
        hint = " (another variable of this name is bound)" * named
        raise FormulaError(
            variable,
            f"variable {variable.name} is not bound{hint}. Bind it by Forall or Exists, or list it "
            "in over= to get a value for each of its elements.",
        )

    def spread(self, variable: Variable, values: Any) -> Any:
        """Values of its elements, laid out along its axis."""
        shape = [1] * self.ndim
        shape[self.axis_of(variable)] = len(values)
        return values.reshape(*shape, *values.shape[1:])

    def single(self, variable: Variable) -> int:
        """The one position of a variable that has a single value here."""
        self.axis_of(variable)
        rows = self.rows[variable]
        if len(rows) != 1:
            raise FormulaError(
                variable,
                f"variable {variable.name} must be bound by Forall or Exists here: it chooses a "
                "part of the data.",
            )
        return int(rows[0])

    def with_axis(self, rows: Mapping[Variable, Positions]) -> Frame:
        """One more axis, along which these variables vary together."""
        return replace(self, axes=(*self.axes, tuple(rows)), rows={**self.rows, **rows})

    def with_found(self, found: Mapping[Variable, Any]) -> Frame:
        return replace(self, found={**self.found, **found})

    def exact(self) -> Frame:
        """The same with the data as NumPy arrays, to decide what is true."""
        data = None if self.data is None else self.data.numpy()
        return replace(self, data=data)

    def cells(self) -> int:
        return int(np.prod([len(self.rows[axis[0]]) for axis in self.axes], dtype=float))

    def over(self, positions: Mapping[Variable, Positions]) -> Iterator[Frame]:
        """Frames with these variables on axes of their own, in pieces of bounded size."""
        drawn = self._drawn(positions)
        axes: list[dict[Variable, Positions]] = [{v: positions[v]} for v in positions]
        if drawn:
            axes = [drawn, *({v: p} for v, p in positions.items() if v not in drawn)]
        sizes = [len(next(iter(axis.values()))) for axis in axes]
        if 0 in sizes or not axes:
            if not axes:
                yield self
            return
        # The longest axis is cut.
        longest = int(np.argmax(sizes))
        others = self.cells() * np.prod([*sizes, 1.0]) / sizes[longest]
        step = max(1, int(CHUNK // others))
        for start in range(0, sizes[longest], step):
            frame = self
            for at, axis in enumerate(axes):
                cut = slice(start, start + step) if at == longest else slice(None)
                frame = frame.with_axis({v: p[cut] for v, p in axis.items()})
            yield frame

    def _drawn(self, positions: Mapping[Variable, Positions]) -> dict[Variable, Positions]:
        """Random tuples of samples where there are too many of them; none where there are not."""
        samples = [v for v in positions if v.domain._of_samples]
        sizes = [len(positions[v]) for v in samples]
        if self.n_pairs is None or len(samples) < 2 or np.prod(sizes, dtype=float) <= self.n_pairs:
            return {}
        if 0 in sizes or self.rng is None:
            return {}
        self.data.sampled = True  # type: ignore[union-attr]
        return {
            v: positions[v][self.rng.randint(len(positions[v]), size=self.n_pairs)] for v in samples
        }

    def given_pairs(self) -> Positions:
        """Rows of the pairs that are given in place of labels."""
        assert self.data is not None
        assert self.data.pairs is not None
        return self.data.pairs

    def along_pairs(self, variables: Sequence[Variable], at: Positions) -> Iterator[Frame]:
        """Frames with two variables on one axis: the first and the second of given pairs."""
        first, second = variables
        pairs = self.given_pairs()
        step = max(1, CHUNK // self.cells())
        for start in range(0, len(at), step):
            part = at[start : start + step]
            rows = {first: pairs[part, 0], second: pairs[part, 1]}
            yield replace(self.with_axis(rows), pair=(self.ndim, part))
