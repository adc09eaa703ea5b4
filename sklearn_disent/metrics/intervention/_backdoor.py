"""Robustness under interventions on a factor, from observed rows: back-door adjustment.

Rows with y_k = v are those of an intervention on y_k only if nothing that acts on the codes depends
on y_k. Where other factors do, each row gets the weight ``p(a) / p(a | y_k = v)``, where a are the
values of what is adjusted for: the other factors, or observed confounders. The values of a that
never occur together with v have no row to carry their weight; the largest and the smallest spread
that they allow are bounds.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import Checked, check_factors, live_codes, varied_factors

# What to do where a value of a factor never occurs together with some values of the others.
Adjustment = Literal["raise", "lower", "upper", "overlap"]

_N_MEANS = 33  # places at which the unknown mean is tried for a bound


def strata_of(data: Checked, confounders: ArrayLike | None) -> NDArray[np.int64] | None:
    """Classes (n, C) of the confounders for the rows that are kept; None for the other factors."""
    if confounders is None:
        return None
    given = np.asarray(confounders)
    given = given[:, None] if given.ndim == 1 else given
    if len(given) != data.n_given:
        raise ValueError(
            f"confounders must have one row per sample, {data.n_given}, got {len(given)}. Pass "
            "those of these very samples."
        )
    return check_factors(given).factors[data.rows]


def adjusted_robustness(
    data: Checked, q: float, adjust: str, strata: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Interventional robustness (n_factors, n_codes), zero where either is constant."""
    centered = data.codes - data.codes.mean(axis=0)
    varied, live = varied_factors(data.factors, warn=False), live_codes(centered, warn=False)
    largest = np.where(live, np.abs(centered).max(axis=0), 1.0)
    matrix = np.zeros((len(varied), len(live)))
    for k in np.flatnonzero(varied):
        others = np.delete(data.factors, k, axis=1) if strata is None else strata
        cell = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
        share = np.bincount(cell) / len(cell)
        spread = [
            _spread(centered, data.factors[:, k] == v, cell, share, q, adjust, (int(k), v))
            for v in range(data.factors[:, k].max() + 1)
        ]
        matrix[k] = np.where(live, 1.0 - np.mean(spread, axis=0) / largest, 0.0)
    return matrix


def _spread(
    codes: NDArray[np.float64],
    held: NDArray[np.bool_],
    cell: NDArray[np.int64],
    share: NDArray[np.float64],
    q: float,
    adjust: str,
    where: tuple[int, int],
) -> NDArray[np.float64]:
    """q-quantile of the deviations of each code, had a factor been set to the value it is held at.

    `share` (n_cells,) is how frequent each cell of the other variables is at large.
    """
    count = np.bincount(cell[held], minlength=len(share))
    missing = float(share[count == 0].sum())
    weight = share[cell[held]] / count[cell[held]]
    rows = codes[held]
    if missing > 0 and adjust == "raise":
        raise ValueError(
            f"Value {where[1]} of factor {where[0]} never occurs together with "
            f"{int((count == 0).sum())} of the {len(share)} combinations of what is adjusted for, "
            f"which {missing:.0%} of the samples have: what an intervention would do there is not "
            "in the data. Use adjust='lower' and adjust='upper' for bounds, adjust='overlap' for "
            "the combinations that do occur, or confounders= to adjust for fewer variables."
        )
    if missing == 0 or adjust == "overlap":
        mean = np.average(rows, axis=0, weights=weight)
        return weighted_quantile(np.abs(rows - mean), weight, q)
    return _bound(rows, weight, missing, codes, q, largest=adjust == "lower")


def weighted_quantile(values: NDArray, weight: NDArray, q: float) -> NDArray[np.float64]:
    """q-quantile per column, linear between order statistics; NumPy's if all weights are equal.

    An order statistic counts by how much of the interval ``[h / m, (h + 1) / m]`` of shares, with
    ``h = q (m - 1)``, falls to its weight; m is the effective number of rows.
    """
    weight = weight / weight.sum()
    size = 1.0 / np.square(weight).sum()
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weight[order], axis=0)
    upper = np.clip(size * reached - q * (size - 1), 0.0, 1.0)
    part = np.diff(upper, axis=0, prepend=0.0)
    ordered = np.take_along_axis(values, order, axis=0)
    return (part * ordered).sum(axis=0) / part.sum(axis=0)


def _bound(
    rows: NDArray, weight: NDArray, missing: float, codes: NDArray, q: float, *, largest: bool
) -> NDArray[np.float64]:
    """Largest or smallest quantile of deviations that the rows which are not there allow.

    They may lie anywhere in the range of a code, and move its mean. Every mean that is possible is
    tried, on a grid; a deviation changes by half a step of it at most, which is added.
    """
    low, high = codes.min(axis=0), codes.max(axis=0)
    seen = np.average(rows, axis=0, weights=weight) * (1 - missing)
    means = np.linspace(seen + missing * low, seen + missing * high, _N_MEANS)
    slack = (means[1] - means[0]) / 2
    found = []
    for mean in means:
        deviation = np.abs(rows - mean)
        if largest:
            # Missing rows are farthest from the mean: they are the last ones to be counted.
            level = q / (1 - missing)
            farthest = np.maximum(mean - low, high - mean)
            inside = level <= 1
            found.append(_inverse(deviation, weight, level) if inside else farthest)
        else:
            # Missing rows do not deviate: they are the first ones to be counted.
            found.append(_inverse(deviation, weight, max(0.0, (q - missing) / (1 - missing))))
    if largest:
        return np.max(found, axis=0) + slack
    return np.maximum(np.min(found, axis=0) - slack, 0.0)


def _inverse(values: NDArray, weight: NDArray, level: float) -> NDArray[np.float64]:
    """Smallest value per column up to which at least this share of the weight lies."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum((weight / weight.sum())[order], axis=0)
    place = (reached < level - 1e-12).sum(axis=0).clip(max=len(values) - 1)
    ordered = np.take_along_axis(values, order, axis=0)
    return np.take_along_axis(ordered, place[None], axis=0)[0]
