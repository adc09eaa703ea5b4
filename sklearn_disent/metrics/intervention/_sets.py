"""Which codes are those of a factor: chosen from a matrix of robustness, and how they overlap."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from .._validation import Checked, warn_degenerate

SetRule = Literal["top", "threshold", "matching"]


class Choice(NamedTuple):
    """How codes are chosen."""

    sets: str = "top"
    rho: int = 1
    threshold: float = 0.5


def check_rho(rho: int, data: Checked) -> None:
    """Refuse to choose more codes than there are."""
    n_codes = data.codes.shape[1]
    if rho > n_codes:
        raise ValueError(
            f"rho must not exceed the number of codes, {n_codes}, got {rho}. Lower rho."
        )


def choose_codes(matrix: NDArray, choice: Choice) -> NDArray[np.bool_]:
    """Which codes (n_factors, n_codes) are those of a factor, from the robustness of live codes."""
    if choice.sets == "top":
        return top_codes(matrix, choice.rho)
    if choice.sets == "matching":
        return matched_codes(matrix, choice.rho)
    # Rounded as in the ties of `top_codes`: 1 - 0.5 is not below a threshold of 0.5.
    return matrix.round(10) >= choice.threshold


def top_codes(matrix: NDArray, rho: int) -> NDArray[np.bool_]:
    """Which codes are among the `rho` most robust to a factor, or all if there are fewer."""
    # Rounded, so that equal entries are ties, which the order of the codes decides.
    chosen = np.argsort(-matrix.round(10), axis=1, kind="stable")[:, :rho]
    member = np.zeros(matrix.shape, dtype=bool)
    np.put_along_axis(member, chosen, True, axis=1)
    return member


def matched_codes(matrix: NDArray, rho: int) -> NDArray[np.bool_]:
    """`rho` codes for each factor, none for two, such that their total robustness is largest."""
    member = np.zeros(matrix.shape, dtype=bool)
    wanting = np.repeat(np.arange(len(matrix)), rho)
    rows, codes = linear_sum_assignment(-matrix[wanting].round(10))
    member[wanting[rows], codes] = True
    return member


def warn_of_empty(member: NDArray[np.bool_], consequence: str) -> None:
    """Warn of factors to which no code is robust enough."""
    empty = np.flatnonzero(~member.any(axis=1))
    if len(empty):
        warn_degenerate(f"No code was chosen for factors {empty.tolist()}: {consequence}.")


def overlap_score(member: NDArray[np.bool_]) -> float:
    """One minus the mean overlap (Jaccard) of the sets of two or more factors.

    A factor without codes is not told apart from any other: its pairs count as overlapping.
    """
    counts = member.astype(np.int64)
    size = counts.sum(axis=1)
    first, second = np.triu_indices(len(member), k=1)
    shared = (counts @ counts.T)[first, second]
    union = size[first] + size[second] - shared
    empty = (size[first] == 0) | (size[second] == 0)
    return float(1.0 - np.mean(np.where(empty, 1.0, shared / np.maximum(union, 1))))


def overlap_ceiling(n_factors: int, n_codes: int, rho: int) -> float:
    """What `overlap_score` of `rho` codes for each of two or more factors cannot exceed.

    Codes that several factors must share are shared most evenly; for rho = 1 this is the largest
    value there is, else it may be a little above.
    """
    rho = min(rho, n_codes)
    each, left = divmod(n_factors * rho, n_codes)
    n_pairs = n_factors * (n_factors - 1) // 2
    in_common = left * (each + 1) * each // 2 + (n_codes - left) * each * (each - 1) // 2
    low, n_high = divmod(in_common, n_pairs)

    def overlap(shared: int) -> float:
        return shared / (2 * rho - shared)

    # The overlap is convex in the number of shared codes, hence least if these are even, too.
    total = (n_pairs - n_high) * overlap(low) + (n_high * overlap(low + 1) if n_high else 0.0)
    return 1.0 - total / n_pairs
