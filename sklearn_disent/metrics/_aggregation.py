"""Pure functions from a relevance matrix (n_factors, n_codes) to scores, shared by metrics."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ._validation import BY_DEFINITION, warn_degenerate

Score = float | NDArray[np.float64]
"""One number, or one per factor or code where `average` is None."""


def top_gap(relevance: NDArray, axis: int = 1) -> NDArray:
    """Largest minus second largest along an axis; a lone entry stands against zero."""
    if relevance.shape[axis] == 1:
        return relevance.max(axis=axis)
    ordered = np.partition(relevance, (-2, -1), axis=axis)
    return ordered.take(-1, axis=axis) - ordered.take(-2, axis=axis)


def concentration(weights: NDArray, axis: int = 0) -> NDArray:
    """One minus the entropy of the normalized weights along an axis, in [0, 1].

    The logarithm's base is the length of the axis, so that equal weights give 0 and a single
    non-zero weight gives 1. A slice of zeros has no preference and gives 0; along an axis of
    length 1 the one weight is all there is, which gives 1 unless it is zero.
    """
    total = weights.sum(axis=axis, keepdims=True)
    share = np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    entropy = -(share * logs).sum(axis=axis)
    scaled = 1.0 - entropy / np.log(max(weights.shape[axis], 2))
    return np.where(total.squeeze(axis=axis) > 0, np.clip(scaled, 0.0, 1.0), 0.0)


def average_of(
    values: NDArray, used: NDArray[np.bool_], average: str | None, what: str = "factors"
) -> Score:
    """Mean of the used values as a float; with average=None all of them, nan where unused.

    That factors are left out has been said already, whoever leaves them out.
    """
    if average is None:
        if what == "codes" and not used.all():
            warn_degenerate(
                f"codes {np.flatnonzero(~used).tolist()} are left out of the score: their values "
                "are nan."
            )
        return np.where(used, values, np.nan)
    if not used.any():
        warn_degenerate(f"None of the {what} can be scored: {BY_DEFINITION}.")
        return 0.0
    return float(values[used].mean())


def match_one_to_one(relevance: NDArray) -> NDArray[np.int64]:
    """Code of each factor (n_factors,) such that the total relevance is largest, -1 for none.

    No code is given away twice: with fewer codes than factors some factors go without.
    """
    # Rounded: among matchings of equal weight, rounding must not decide.
    factors, codes = linear_sum_assignment(-np.round(relevance, 12))
    code = np.full(len(relevance), -1)
    code[factors] = codes
    return code


def matched_values(relevance: NDArray, code: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entry of each factor at its code, 0 for a factor without one."""
    return np.where(code < 0, 0.0, np.take_along_axis(relevance, code[:, None], axis=1)[:, 0])
