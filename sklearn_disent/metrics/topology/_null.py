"""What the score would be by chance, and how far landmarks move it."""

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from numpy.typing import NDArray

from ._biclusters import Biclusters, choose_biclusters, score_biclusters
from ._signatures import (
    Signature,
    _barycenter,
    barycenter_distances,
    block_means,
    pairwise_distances,
    signature_distances,
    sizes_of,
)

# Groups of repeats that are left out in turn.
_GROUPS = 10
# Permutations that one task of joblib computes; fixed, so that n_jobs cannot change the result.
_BATCH = 10


def permutation_null(
    rows: list[Signature],
    columns: list[Signature] | None,
    aggregation: str,
    p: float,
    n_clusters: int | None,
    seed: int,
    n_permutations: int,
    rng: RandomState,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Scores after the signatures of all values have changed places between the latents.

    Signatures, and where possible their distances, are those that are there already.
    """
    n_signatures = sum(len(signature.times) for signature in rows)
    orders = [rng.permutation(n_signatures) for _ in range(n_permutations)]
    given = pairwise_distances(rows, columns, p) if aggregation == "pairwise" else None
    batches = [orders[start : start + _BATCH] for start in range(0, n_permutations, _BATCH)]
    scores = Parallel(n_jobs=n_jobs)(
        delayed(_scores_of)(batch, given, rows, columns, p, n_clusters, seed) for batch in batches
    )
    return np.concatenate(scores)


def _scores_of(
    orders: list[NDArray[np.intp]],
    given: NDArray[np.float64] | None,
    rows: list[Signature],
    columns: list[Signature] | None,
    p: float,
    n_clusters: int | None,
    seed: int,
) -> NDArray[np.float64]:
    column_sizes = None if columns is None else sizes_of(columns)
    scores = []
    for order in orders:
        if given is None:
            distances = _regrouped(order, rows, columns, p)
        else:
            moved = given[np.ix_(order, order)] if columns is None else given[order]
            distances = block_means(moved, sizes_of(rows), column_sizes)
        chosen, _ = choose_biclusters(distances, n_clusters, columns is not None, seed)
        scores.append(chosen.scores.mean())
    return np.array(scores)


def _regrouped(
    order: NDArray[np.intp], rows: list[Signature], columns: list[Signature] | None, p: float
) -> NDArray[np.float64]:
    times = np.concatenate([signature.times for signature in rows])[order]
    parts = np.split(times, np.cumsum(sizes_of(rows))[:-1])
    others = None if columns is None else [_barycenter(signature.times) for signature in columns]
    return barycenter_distances([_barycenter(part) for part in parts], others, p, rows[0].scale)


def landmark_error(
    rows: list[Signature],
    columns: list[Signature] | None,
    aggregation: str,
    p: float,
    chosen: Biclusters,
) -> float:
    """Standard error of the score over draws of landmarks, by a jackknife over the repeats.

    The biclusters are those found: within them the score depends smoothly on the distances.
    Clouds have landmarks of their own, so that the same repeats may be left out of all.
    """
    n_repeats = rows[0].times.shape[1]
    n_groups = min(_GROUPS, n_repeats)
    if n_groups < 2:
        return float("nan")
    scores = []
    for group in range(n_groups):
        kept = np.arange(n_repeats) % n_groups != group
        fewer = _with_repeats(rows, kept) or []
        distances = signature_distances(fewer, _with_repeats(columns, kept), aggregation, p)
        found = score_biclusters(distances, chosen.rows, chosen.columns, len(chosen.scores))
        scores.append(found.scores.mean())
    return float(np.sqrt((n_groups - 1) * np.var(scores)))


def _with_repeats(
    signatures: list[Signature] | None, kept: NDArray[np.bool_]
) -> list[Signature] | None:
    if signatures is None:
        return None
    return [signature._replace(times=signature.times[:, kept]) for signature in signatures]
