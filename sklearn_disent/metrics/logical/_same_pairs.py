"""Classes of factors from weaker labels: pairs of samples that agree or differ."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..._params import Array, validated

__all__ = ["classes_from_pairs"]


@validated
def classes_from_pairs(
    pairs: Array, same: Array, *, contradictions: Literal["raise", "ignore"] = "raise"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes of samples from pairs that are known to have the same value of a factor or not.

    Samples linked by pairs of the same value, directly or through others, form a class. The
    classes may be passed as factors to every metric that uses them as such, for instance to
    :func:`modularity_distance`, which needs only to know which samples agree.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2), int
        Row numbers of the two samples of each pair.
    same : array-like of shape (n_pairs, n_factors)
        For each pair and factor whether both samples have the same value: true, false, or nan if
        unknown.
    contradictions : {"raise", "ignore"}, default="raise"
        Whether a pair that is said to differ although other pairs link it is an error, or counts
        as linked.

    Returns
    -------
    rows : ndarray of shape (n_rows,), int64
        The samples that occur in a pair, ascending.
    factors : ndarray of shape (n_rows, n_factors), int64
        Their classes, numbered from 0 for each factor by first occurrence.

    See Also
    --------
    modularity_distance : Its `min_class_size` leaves out classes that no pair has enlarged.

    Notes
    -----
    A sample that no pair links is a class of its own, and such a class never deviates: modularity
    is overestimated, by more the fewer pairs there are.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Appendix F.2.

    Examples
    --------
    >>> from sklearn_disent.metrics import classes_from_pairs
    >>> rows, factors = classes_from_pairs([[7, 2], [2, 4], [4, 9]], [[1, 0], [1, 0], [0, 1]])
    >>> rows
    array([2, 4, 7, 9])
    >>> factors.T
    array([[0, 0, 0, 1],
           [0, 1, 2, 1]])
    """
    links, same = check_pairs(pairs, same)
    rows, ends = np.unique(links, return_inverse=True)
    ends = ends.reshape(links.shape)
    factors = np.empty((len(rows), same.shape[1]), dtype=np.int64)
    for k in range(same.shape[1]):
        linked = ends[same[:, k] == 1]
        graph = coo_array((np.ones(len(linked)), linked.T), shape=(len(rows), len(rows)))
        factors[:, k] = connected_components(graph, directed=False)[1]
        apart = ends[same[:, k] == 0]
        wrong = np.flatnonzero(factors[apart[:, 0], k] == factors[apart[:, 1], k])
        if len(wrong) and contradictions == "raise":
            first = rows[apart[wrong[0]]].tolist()
            raise ValueError(
                f"pairs contradict each other: factor {k} is said to differ between samples "
                f"{first}, which other pairs link ({len(wrong)} such pairs). Use "
                "contradictions='ignore' to let the links prevail."
            )
    return rows, factors


def check_pairs(pairs: ArrayLike, same: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pairs of row numbers, and what is known of them: 1, 0 or nan."""
    links, known = np.asarray(pairs), np.asarray(same, dtype=np.float64)
    if links.ndim != 2 or links.shape[1] != 2 or links.dtype.kind not in "iu" or not len(links):
        raise ValueError(
            "pairs must hold two row numbers each, shape (n_pairs, 2), got dtype "
            f"{links.dtype} and shape {links.shape}."
        )
    if links.min() < 0:
        raise ValueError(f"pairs must hold row numbers >= 0, got {links.min()}.")
    if known.ndim != 2 or len(known) != len(links) or known.shape[1] == 0:
        hint = " Use same[:, None] for one factor." if known.ndim == 1 else ""
        raise ValueError(
            f"same must have shape ({len(links)}, n_factors), got shape {known.shape}.{hint}"
        )
    if not (np.isnan(known) | (known == 0) | (known == 1)).all():
        raise ValueError("same must hold true, false, or nan where unknown, got other numbers.")
    return links.astype(np.int64), known
