"""Holes of a cloud of points, by the weak witness complex on a few landmarks.

A simplex s of landmarks enters at the least relaxation at which one witness w, a point of the
cloud, is closer to all of s than to any other landmark:

    f(s) = max( min_w max(0, max_{p in s} D[w, p] - min_{q not in s} D[w, q]), max f(facets of s) )

Up to dimension 2 this is all that holes need: they are born with edges and die with triangles.
Everything here is cut at `alpha_max`, which keeps the number of simplices small.
"""

from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Complex(NamedTuple):
    """Edges and triangles that enter up to alpha_max, each sorted by their value."""

    edge_ends: NDArray[np.intp]
    """(2, n_edges), landmarks."""
    edge_values: NDArray[np.float64]
    triangle_sides: NDArray[np.intp]
    """(3, n_triangles), positions among the edges."""
    triangle_values: NDArray[np.float64]


def holes_of(
    distances: NDArray[np.float64], alpha_max: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When holes are born and when they die, up to alpha_max.

    Parameters
    ----------
    distances : ndarray of shape (n_points, n_landmarks)
        From every point to every landmark; the landmarks are points of the cloud.
    alpha_max : float
        The largest relaxation.

    Returns
    -------
    births, deaths : ndarray
        Unordered. Holes that are there at alpha_max have no death: there are fewer deaths.
    """
    if distances.shape[1] < 3:
        return np.zeros(0), np.zeros(0)
    return _pair(witness_complex(distances, alpha_max), distances.shape[1])


def witness_complex(distances: NDArray[np.float64], alpha_max: float) -> Complex:
    """The complex of dimension 2. All landmarks are in it from 0 on, as witnesses of themselves."""
    n_landmarks = distances.shape[1]
    order = np.argsort(distances, axis=1)
    nearest = np.take_along_axis(distances, order, axis=1)
    # Landmarks fit in 32 bits, which halves the memory that the candidates move.
    ranks = order.astype(np.int32)
    # Relaxation of a simplex that lacks the r-th nearest landmark, by its farthest vertex.
    gaps = [nearest - nearest[:, r, None] for r in range(3)]
    numbers, ends = _edge_numbers(n_landmarks)
    values = _least_relaxation(ranks, gaps, alpha_max, 1)
    edges = np.flatnonzero(values <= alpha_max)
    edges = edges[np.argsort(values[edges], kind="stable")]
    triangles = _least_relaxation(ranks, gaps, alpha_max, 2)
    found = np.flatnonzero(triangles <= alpha_max)
    a, b, c = _vertices(found, n_landmarks)
    sides = np.stack([numbers[a, b], numbers[a, c], numbers[b, c]])
    entry = np.maximum(triangles[found], values[sides].max(axis=0, initial=0.0))
    kept = np.flatnonzero(entry <= alpha_max)
    kept = kept[np.argsort(entry[kept], kind="stable")]
    position = np.empty(len(values), dtype=np.intp)
    position[edges] = np.arange(len(edges))
    return Complex(ends[:, edges], values[edges], position[sides[:, kept]], entry[kept])


def _least_relaxation(
    order: NDArray[np.int32], gaps: list[NDArray[np.float64]], alpha_max: float, dimension: int
) -> NDArray[np.float64]:
    """Relaxation over the best witness for each simplex of a dimension, infinite above alpha_max.

    Seen from one witness, a simplex holds its r nearest landmarks, lacks the next, and holds
    dimension + 1 - r farther ones, of which the farthest has rank k: its relaxation is the gap
    between the ranks k and r. Where nothing is lacking before rank k, k = r and the gap is 0.
    Few ranks are within reach of alpha_max, hence simplices are listed from the witnesses' side.
    """
    least = np.full(comb(order.shape[1], dimension + 1), np.inf)
    for r, gap in enumerate(gaps[: dimension + 1]):
        first = r + 1 if r < dimension else r
        reach = (gap <= alpha_max).sum(axis=1)
        # Far-reaching witnesses first, ranks as rows: those that reach rank k are a slice, and
        # choices of ranks are copies of contiguous rows.
        by_reach = np.argsort(-reach, kind="stable")
        ranked = np.ascontiguousarray(order[by_reach, : reach.max()].T)
        counts = (reach[:, None] > np.arange(reach.max())).sum(axis=0)
        for k in range(first + dimension - r, reach.max()):
            within = ranked[:, : counts[k]]
            between = _choices(first, k, dimension - r)
            vertices = [*within[:r, None], *(within[ranks] for ranks in between), within[k]]
            numbers = _simplex_number(vertices, order.shape[1])
            relaxation = np.broadcast_to(gap[by_reach[: counts[k]], k], numbers.shape)
            np.minimum.at(least, numbers.ravel(), relaxation.ravel())
    return least


@cache
def _choices(first: int, stop: int, size: int) -> tuple[NDArray[np.intp], ...]:
    """All ascending choices of `size` ranks from first to stop - 1, one array per place."""
    return tuple(np.array(list(combinations(range(first, stop), size)), dtype=np.intp).T)


def _simplex_number(vertices: list[NDArray[np.int32]], n_landmarks: int) -> NDArray[np.intp]:
    """Position of a simplex among all of its dimension: C(a, 3) + C(b, 2) + c for a > b > c."""
    if len(vertices) == 2:
        return _edge_numbers(n_landmarks)[0][tuple(vertices)]
    a, b, c = vertices
    high = np.maximum(np.maximum(a, b), c)
    low = np.minimum(np.minimum(a, b), c)
    middle = a + b + c - high - low
    twos, threes = _binomials(n_landmarks)
    return threes[high] + twos[middle] + low


@cache
def _binomials(n_landmarks: int) -> NDArray[np.intp]:
    """C(n, 2) and C(n, 3) for all landmarks n."""
    return np.array([[comb(n, size) for n in range(n_landmarks)] for size in (2, 3)], dtype=np.intp)


@cache
def _edge_numbers(n_landmarks: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Table from two landmarks to the number of their edge, and the ends by number."""
    ends = np.array(np.tril_indices(n_landmarks, -1))
    numbers = np.zeros((n_landmarks, n_landmarks), dtype=np.intp)
    numbers[ends[0], ends[1]] = numbers[ends[1], ends[0]] = np.arange(ends.shape[1])
    return numbers, ends


def _vertices(triangles: NDArray[np.intp], n_landmarks: int) -> tuple[NDArray[np.intp], ...]:
    """Inverse of `_simplex_number` for triangles."""
    twos, threes = _binomials(n_landmarks)
    high = np.searchsorted(threes, triangles, side="right") - 1
    rest = triangles - threes[high]
    middle = np.searchsorted(twos, rest, side="right") - 1
    return high, middle, rest - twos[middle]


def _pair(simplices: Complex, n_landmarks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Births and deaths of holes over GF(2), by persistent cohomology.

    The columns are the edges that close a cycle, from the last to the first; an edge that joins
    two components cannot open a hole and is cleared beforehand. A column holds the triangles on
    the edge as the bits of one integer, the earliest triangle highest, so that the pivot is the
    bit length. There are far fewer edges than triangles, and most pivots are free at once.
    """
    cycles = _closing_edges(simplices.edge_ends, n_landmarks)
    births = simplices.edge_values[cycles]
    n_triangles = simplices.triangle_sides.shape[1]
    if n_triangles == 0 or len(cycles) == 0:
        return births, np.zeros(0)
    columns = _coboundaries(simplices, cycles)
    reduced: dict[int, int] = {}
    for column in reversed(columns):
        while column:
            pivot = column.bit_length()
            other = reduced.get(pivot)
            if other is None:
                reduced[pivot] = column
                break
            column ^= other
    killers = n_triangles - np.fromiter(reduced, dtype=np.intp, count=len(reduced))
    return births, simplices.triangle_values[killers]


def _coboundaries(simplices: Complex, edges: NDArray[np.intp]) -> list[int]:
    """The triangles on each of some edges, as integers with the first triangle highest."""
    n_triangles = simplices.triangle_sides.shape[1]
    row = np.full(len(simplices.edge_values), -1, dtype=np.intp)
    row[edges] = np.arange(len(edges))
    rows = row[simplices.triangle_sides]
    bit = np.broadcast_to(n_triangles - 1 - np.arange(n_triangles), rows.shape)
    used = rows >= 0
    bits = np.zeros((len(edges), n_triangles), dtype=bool)
    bits[rows[used], bit[used]] = True
    packed = np.packbits(bits, axis=1, bitorder="little")
    return [int.from_bytes(line.tobytes(), "little") for line in packed]


def _closing_edges(ends: NDArray[np.intp], n_landmarks: int) -> NDArray[np.intp]:
    """Edges both ends of which are connected by earlier edges."""
    parent = list(range(n_landmarks))
    closing = []
    for edge, (a, b) in enumerate(ends.T.tolist()):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a == b:
            closing.append(edge)
        else:
            parent[a] = b
    return np.array(closing, dtype=np.intp)
