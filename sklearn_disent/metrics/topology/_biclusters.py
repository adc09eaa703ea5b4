"""Groups of latents whose signatures are alike, and how far they are from all others."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralCoclustering
from sklearn.exceptions import ConvergenceWarning

from .._validation import BY_DEFINITION, warn_degenerate


class Biclusters(NamedTuple):
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    scores: NDArray[np.float64]
    """(n_clusters,), mean distance to the outside minus mean distance within."""
    variances: NDArray[np.float64]
    empty: int
    """How many biclusters lack a row, a column, or an outside."""


def score_biclusters(
    distances: NDArray[np.float64], rows: NDArray[np.intp], columns: NDArray[np.intp], n: int
) -> Biclusters:
    """Score and variance of each of n biclusters, given as labels of rows and columns."""
    scores, variances = np.zeros(n), np.zeros(n)
    empty = 0
    for k in range(n):
        within = distances[np.ix_(rows == k, columns == k)]
        outside = distances[np.ix_(rows == k, columns != k)]
        if within.size == 0 or outside.size == 0:
            empty += 1
            continue
        scores[k] = outside.mean() - within.mean()
        variances[k] = (within.std() / within.size) ** 2 + (outside.std() / outside.size) ** 2
    return Biclusters(rows, columns, scores, variances, empty)


def bicluster(distances: NDArray[np.float64], n_clusters: int, seed: int) -> Biclusters:
    """Spectral co-clustering of 1 - M into n_clusters."""
    # A row of zeros cannot be normalised.
    similarity = np.clip(1.0 - distances, 1e-9, None)
    # scikit-learn asks for as many rows as clusters, of which there are at most as many as
    # factors; the problem is the same either way round.
    upright = len(similarity) >= n_clusters
    model = SpectralCoclustering(n_clusters, random_state=seed)
    with warnings.catch_warnings():
        # Equal rows make fewer distinct points than clusters. The empty ones score 0.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(similarity if upright else similarity.T)
    labels = model.row_labels_, model.column_labels_
    return score_biclusters(distances, *(labels if upright else labels[::-1]), n_clusters)


def choose_biclusters(
    distances: NDArray[np.float64], n_clusters: int | None, supervised: bool, seed: int
) -> tuple[Biclusters, dict[int, Biclusters]]:
    """The clustering to be scored, and all that were tried by their number of clusters."""
    n_rows, n_columns = distances.shape
    if n_rows < 2 or n_columns < 2:
        what = "factor" if n_rows >= 2 else "latent"
        count = min(n_rows, n_columns)
        warn_degenerate(
            f"At least 2 {what}s are needed to compare topologies, got {count}: {BY_DEFINITION}."
        )
        labels = np.zeros(n_rows, dtype=np.intp), np.zeros(n_columns, dtype=np.intp)
        lone = score_biclusters(distances, *labels, 1)
        return lone, {1: lone}
    if n_clusters is not None:
        if n_clusters > max(n_rows, n_columns):
            raise ValueError(
                f"n_clusters must be at most the number of latents or of factors, got "
                f"{n_clusters} for {n_rows} by {n_columns} signatures."
            )
        candidates = [n_clusters]
    else:
        candidates = [n_columns] if supervised else list(range(2, n_columns + 1))
    tried = {n: bicluster(distances, n, seed) for n in candidates}
    # Of equals, as with variance 0 everywhere, the clearest.
    return min(tried.values(), key=_preference), tried


def _preference(found: Biclusters) -> tuple[bool, float, float]:
    return found.empty > 0, found.variances.mean(), -found.scores.mean()
