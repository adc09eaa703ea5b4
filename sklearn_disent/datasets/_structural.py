"""Factors that cause one another: structural equations, interventions, and their pictures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from ._base import FactorGrid, make_bunch
from ._noise import noise_key, noise_normal, noise_uniform

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]

ZERO = np.uint64(0)


@dataclass(frozen=True)
class Effect:
    """A factor with causes: who they are, and the equation that makes it of them."""

    parents: tuple[str, ...]
    equation: Callable[[Values], Floats]


@dataclass(frozen=True)
class StructuralModel:
    """Factors as functions of their causes and of exogenous variables on a grid.

    Parameters
    ----------
    exogenous : FactorGrid
        What nothing causes. Its rows are the rows of the data set.
    factors : dict of str to Effect or None
        In an order in which causes come first; None is an exogenous variable of that name. An
        exogenous variable that is not among the factors is hidden: equations may use it.
    """

    exogenous: FactorGrid
    factors: Mapping[str, Effect | None]

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of each factor, over the whole grid and without noise."""
        values, _ = self.simulate(np.arange(len(self.exogenous)))
        return {
            name: (float(column.min()), float(column.max()))
            for name, column in zip(self.factors, values.T)
        }

    def graph(self, do: Mapping[str, Any] | None = None) -> NDArray[np.int64]:
        """Adjacency: 1 in row i and column j if factor i causes factor j.

        What is set by an intervention has no causes any more.
        """
        names = list(self.factors)
        adjacency = np.zeros((len(names), len(names)), dtype=np.int64)
        for j, (name, effect) in enumerate(self.factors.items()):
            if effect is not None and name not in (do or {}):
                adjacency[[names.index(parent) for parent in effect.parents], j] = 1
        return adjacency

    def simulate(
        self,
        indices: NDArray[np.int64],
        do: Mapping[str, Floats] | None = None,
        noise: float = 0.0,
        key: np.uint64 = ZERO,
    ) -> tuple[Floats, Floats]:
        """Values of the factors (n, n_factors) and of the exogenous variables, by row.

        Noise and interventions are functions of key and index: the same row without `do` is the
        factual twin of an intervened one.
        """
        classes = self.exogenous.to_classes(indices)
        values: dict[str, Floats] = {
            name: np.asarray(v, dtype=np.float64)[column]
            for (name, v), column in zip(self.exogenous.values.items(), classes.T)
        }
        exogenous = np.stack(list(values.values()), axis=1)
        for place, (name, effect) in enumerate(self.factors.items()):
            if do is not None and name in do:
                chance = noise_uniform(key, indices, 1, 2 * place)[:, 0]
                values[name] = do[name][(chance * len(do[name])).astype(np.int64)]
            elif effect is not None:
                values[name] = effect.equation(values)
                if noise:
                    shift = noise_normal(key, indices, 1, 2 * place + 1)[:, 0]
                    values[name] = np.clip(values[name] + noise * shift, *self.ranges[name])
        return np.stack([values[name] for name in self.factors], axis=1), exogenous

    def factor_values(self, n_bins: int) -> dict[str, Floats]:
        """Value of every class: of the grid, or the middles of equal bins of what is continuous."""
        values = {}
        for name, effect in self.factors.items():
            if effect is None:
                values[name] = np.asarray(self.exogenous.values[name], dtype=np.float64)
            else:
                edges = np.linspace(*self.ranges[name], n_bins + 1)
                values[name] = (edges[1:] + edges[:-1]) / 2
        return values

    def classes(self, values: Floats, n_bins: int) -> NDArray[np.int64]:
        """Class of every value: the one whose own value is the nearest."""
        columns = []
        for column, centres in zip(values.T, self.factor_values(n_bins).values()):
            middles = (centres[1:] + centres[:-1]) / 2
            columns.append(np.searchsorted(middles, column, side="right"))
        return np.stack(columns, axis=1).astype(np.int64)

    def check_do(self, do: Mapping[str, float | ArrayLike] | None) -> dict[str, Floats] | None:
        """Values to which each factor is set, by name."""
        if not do:
            return None
        checked = {}
        for name, given in do.items():
            if name not in self.factors:
                raise ValueError(
                    f"do sets {name!r}, which is not a factor. "
                    f"The factors are {', '.join(self.factors)}."
                )
            low, high = self.ranges[name]
            numbers = np.atleast_1d(np.asarray(given))
            if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
                raise ValueError(
                    f"do[{name!r}] must be a number or a non-empty list of numbers to draw from, "
                    f"got {given!r}."
                )
            # The ends are told to six digits, so that is how exactly they are asked for.
            inside = (numbers >= low - 1e-4) & (numbers <= high + 1e-4)
            if not inside.all():
                raise ValueError(
                    f"do[{name!r}] must lie in [{low:.6g}, {high:.6g}], the range of this factor, "
                    f"got {numbers[~inside][0]}."
                )
            checked[name] = np.clip(numbers.astype(np.float64), low, high)
        return checked

    def draw(
        self,
        render: Callable[[Floats], NDArray[np.uint8]],
        descr: str,
        selection: tuple[Any, ...],
        do: Mapping[str, float | ArrayLike] | None,
        noise: float,
        n_bins: int,
        return_X_y: bool,
    ) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """What a generator of causal data returns, of the selected exogenous values.

        `selection` holds what ``FactorGrid.select`` takes: the number of rows, indices, factors,
        whether to shuffle, and the random state.
        """
        setting = self.check_do(do)
        *which, shuffle, random_state = selection
        indices = self.exogenous.select(*which, shuffle=shuffle, random_state=random_state)
        values, exogenous = self.simulate(indices, setting, noise, noise_key(random_state))
        images, target = render(values), self.classes(values, n_bins)
        if return_X_y:
            return images, target
        for name, numbers in (setting or {}).items():
            drawn = f"drawn from {len(numbers)} values" if len(numbers) > 1 else f"{numbers[0]:.6g}"
            descr += f"\nIntervention: do({name} = {drawn}).\n"
        if noise:
            descr += f"\nEffects have Gaussian noise of standard deviation {noise:.6g}.\n"
        return make_bunch(
            images,
            target,
            self.factor_values(n_bins),
            descr,
            factors=values,
            graph=self.graph(setting),
            exogenous=exogenous,
            indices=indices,
        )


def coverage(distance: Floats, pixel: float) -> NDArray[np.float32]:
    """Share of a pixel inside a shape, from the signed distance of its middle (inside < 0)."""
    return np.clip(0.5 - distance / pixel, 0, 1).astype(np.float32)


def interval(low: ArrayLike, high: ArrayLike, edges: Floats) -> NDArray[np.float32]:
    """Share of each pixel (between neighbouring edges) that [low, high] covers, (..., n_pixels)."""
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    inside = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
    return (np.maximum(inside, 0) / np.diff(edges)).astype(np.float32)
