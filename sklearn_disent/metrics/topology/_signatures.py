"""Signatures of latents and factors, and the distances between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._transport import Quantiles, quantile_distance, quantile_mean, rebin


class Signature(NamedTuple):
    """Living times of one latent or factor, value by value."""

    number: int
    """Which latent or factor."""
    values: NDArray
    """(n_values,), at which it was held."""
    times: NDArray[np.float64]
    """(n_values, n_repeats, max_holes), relative living times."""

    @property
    def scale(self) -> int:
        """The largest number of holes: distances are in shares of it."""
        return self.times.shape[-1] - 1

    def barycenters(self) -> list[Quantiles]:
        return [quantile_mean(times) for times in self.times]

    def histograms(self) -> NDArray[np.float64]:
        """Barycentres on the bins, (n_values, max_holes)."""
        n_bins = self.times.shape[-1]
        return np.stack([_on_bins(barycenter, n_bins) for barycenter in self.barycenters()])


def signature_distances(
    rows: list[Signature], columns: list[Signature] | None, aggregation: str, p: float
) -> NDArray[np.float64]:
    """M, in shares of the largest number of holes; among the rows if there are no columns."""
    if aggregation == "pairwise":
        column_sizes = None if columns is None else sizes_of(columns)
        return block_means(pairwise_distances(rows, columns, p), sizes_of(rows), column_sizes)
    groups = [_barycenter(signature.times) for signature in rows]
    others = None if columns is None else [_barycenter(signature.times) for signature in columns]
    return barycenter_distances(groups, others, p, rows[0].scale)


def sizes_of(signatures: list[Signature]) -> list[int]:
    """Number of values of each."""
    return [len(signature.times) for signature in signatures]


def pairwise_distances(
    rows: list[Signature], columns: list[Signature] | None, p: float
) -> NDArray[np.float64]:
    """Distances between the barycentres of all values of rows and columns, or of rows alone."""
    groups = [signature.barycenters() for signature in rows]
    others = groups if columns is None else [signature.barycenters() for signature in columns]
    blocks = [[np.zeros((len(a), len(b))) for b in others] for a in groups]
    for i, first in enumerate(groups):
        for j, second in enumerate(others):
            if columns is None and j > i:
                continue
            for k, a in enumerate(first):
                blocks[i][j][k] = [quantile_distance(a, b, p) for b in second]
            if columns is None and j < i:
                blocks[j][i] = blocks[i][j].T
    if not others:
        return np.zeros((sum(map(len, groups)), 0))
    return np.block(blocks) / rows[0].scale


def block_means(
    distances: NDArray[np.float64], rows: list[int], columns: list[int] | None = None
) -> NDArray[np.float64]:
    """Means over blocks of these numbers of rows and columns; symmetric without columns."""
    row_ends = np.cumsum([0, *rows])
    column_ends = row_ends if columns is None else np.cumsum([0, *columns])
    means = np.zeros((len(row_ends) - 1, len(column_ends) - 1))
    for i, j in np.ndindex(*means.shape):
        if columns is None and j > i:
            continue
        block = distances[row_ends[i] : row_ends[i + 1], column_ends[j] : column_ends[j + 1]]
        means[i, j] = np.mean(np.ascontiguousarray(block).ravel())
        if columns is None:
            means[j, i] = means[i, j]
    return means


def barycenter_distances(
    rows: list[Quantiles], columns: list[Quantiles] | None, p: float, scale: float
) -> NDArray[np.float64]:
    """Distances between barycentres over all values; symmetric without columns."""
    others = rows if columns is None else columns
    distances = np.zeros((len(rows), len(others)))
    for i, j in np.ndindex(*distances.shape):
        if columns is not None or j <= i:
            distances[i, j] = quantile_distance(rows[i], others[j], p)
        if columns is None and j < i:
            distances[j, i] = distances[i, j]
    return distances / scale


def value_distances(signatures: list[Signature], p: float = 2) -> NDArray[np.float64]:
    """Distances between the signatures of all values, in shares of the largest number of holes."""
    return pairwise_distances(signatures, None, p)


def _barycenter(times: NDArray[np.float64]) -> Quantiles:
    # The barycentre of equally weighted barycentres is that of all their members.
    return quantile_mean(times.reshape(-1, times.shape[-1]))


def _on_bins(barycenter: Quantiles, n_bins: int) -> NDArray[np.float64]:
    return rebin(barycenter.positions, np.diff(barycenter.upper, prepend=0.0), n_bins)
