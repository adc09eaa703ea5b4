"""Factors as columns of numbers, to regress on or to regress with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._numeric import standardize
from ._validation import Checked


class Columns(NamedTuple):
    """Factors as numbers: one column for numbers, one per class for categories."""

    values: NDArray[np.float64]
    """(n, M), standardized."""
    factor: NDArray[np.int64]
    """(M,): which factor each column belongs to."""


def as_columns(data: Checked) -> Columns:
    """Ordered and continuous factors by their value, others by an indicator of each class."""
    columns, factor = [], []
    for k, kind in enumerate(data.kinds):
        if kind == "categorical":
            own = np.eye(data.factors[:, k].max() + 1)[data.factors[:, k]]
        else:
            own = data.values[:, [k]]
        columns.append(standardize(own))
        factor += [k] * own.shape[1]
    return Columns(np.hstack(columns), np.array(factor))


def mean_by_factor(values: NDArray, factor: NDArray[np.int64], n_factors: int) -> NDArray:
    """Mean over the columns of each factor (..., n_factors), from values (..., M)."""
    belongs = (factor[:, None] == np.arange(n_factors)).astype(float)
    return values @ (belongs / belongs.sum(axis=0))
