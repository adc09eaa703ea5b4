"""Holes of a cloud of points, by the weak witness complex on a few landmarks.

A simplex s of landmarks enters at the least relaxation at which one witness w, a point of the
cloud, is closer to all of s than to any other landmark:

    f(s) = max( min_w max(0, max_{p in s} D[w, p] - min_{q not in s} D[w, q]), max f(facets of s) )

Holes of dimension 1 are born with edges and die with triangles, those of dimension 2 are born with
triangles and die with tetrahedra; pieces, dimension 0, are all there at first and die with edges.
Everything here is cut at `alpha_max`, which keeps the number of simplices small.
"""

from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Bits of coboundaries that are unpacked at a time.
_BLOCK = 2**25

Events = tuple[NDArray[np.float64], NDArray[np.float64]]


class Complex(NamedTuple):
    """Simplices that enter up to alpha_max, each kind sorted by its value."""

    edge_ends: NDArray[np.intp]
    """(2, n_edges), landmarks."""
    edge_values: NDArray[np.float64]
    triangle_sides: NDArray[np.intp]
    """(3, n_triangles), positions among the edges."""
    triangle_values: NDArray[np.float64]
    tetrahedron_sides: NDArray[np.intp]
    """(4, n_tetrahedra), positions among the triangles; none unless asked for."""
    tetrahedron_values: NDArray[np.float64]


def holes_of(distances: NDArray[np.float64], alpha_max: float, dimension: int = 1) -> Events:
    """When holes are born and when they die, up to alpha_max.

    Parameters
    ----------
    distances : ndarray of shape (n_points, n_landmarks)
        From every point to every landmark; the landmarks are points of the cloud.
    alpha_max : float
        The largest relaxation.
    dimension : int, default=1
        Of the holes: 0 for pieces, 1 for loops, 2 for voids.

    Returns
    -------
    births, deaths : ndarray
        Unordered. Holes that are there at alpha_max have no death: there are fewer deaths.
    """
    n_landmarks = distances.shape[1]
    nothing = np.zeros(0)
    if n_landmarks < dimension + 2:
        # A piece for a single landmark; a hole needs a cycle around it.
        return (np.zeros(n_landmarks) if dimension == 0 else nothing), nothing
    simplices = witness_complex(distances, alpha_max, dimension + 1)
    joining, closing = _split_edges(simplices.edge_ends, n_landmarks)
    if dimension == 0:
        return np.zeros(n_landmarks), simplices.edge_values[joining]
    killers = _killers(simplices.triangle_sides, len(simplices.edge_values), closing)
    if dimension == 1:
        return simplices.edge_values[closing], simplices.triangle_values[killers]
    # A triangle either kills a loop or closes a surface.
    n_triangles = len(simplices.triangle_values)
    surfaces = np.setdiff1d(np.arange(n_triangles), killers, assume_unique=True)
    killers = _killers(simplices.tetrahedron_sides, n_triangles, surfaces)
    return simplices.triangle_values[surfaces], simplices.tetrahedron_values[killers]


def witness_complex(distances: NDArray[np.float64], alpha_max: float, top: int = 2) -> Complex:
    """The complex of dimension `top`, 1 to 3.

    All landmarks are in it from 0 on, as witnesses of themselves.
    """
    n_landmarks = distances.shape[1]
    order = np.argsort(distances, axis=1)
    nearest = np.take_along_axis(distances, order, axis=1)
    # What no witness reaches is dropped: at small scales that is nearly all.
    reach = np.flatnonzero((nearest - nearest[:, top, None] <= alpha_max).any(axis=0))[-1] + 1
    order, nearest = order[:, :reach], np.ascontiguousarray(nearest[:, :reach])
    # Landmarks fit in 32 bits, which halves the memory that the candidates move.
    ranks = order.astype(np.int32)
    # Relaxation of a simplex that lacks the r-th nearest landmark, by its farthest vertex.
    gaps = [nearest - nearest[:, r, None] for r in range(top + 1)]
    values = _least_relaxation(ranks, gaps, alpha_max, 1, n_landmarks)
    edges = np.flatnonzero(values <= alpha_max)
    edges = edges[np.argsort(values[edges], kind="stable")]
    ends = _edge_numbers(n_landmarks)[1][:, edges]
    layers = [(edges, ends, values[edges])]
    for dimension in range(2, top + 1):
        least = _least_relaxation(ranks, gaps, alpha_max, dimension, n_landmarks)
        layers.append(_next_layer(least, layers[-1], alpha_max, dimension, n_landmarks))
    for dimension in range(top + 1, 4):
        nothing = np.zeros((dimension + 1, 0), dtype=np.intp)
        layers.append((nothing[0], nothing, np.zeros(0)))
    (_, *edge_parts), (_, *triangle_parts), (_, *tetrahedron_parts) = layers
    return Complex(*edge_parts, *triangle_parts, *tetrahedron_parts)  # type: ignore[arg-type]


Layer = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]


def _next_layer(
    least: NDArray[np.float64], facets: Layer, alpha_max: float, dimension: int, n_landmarks: int
) -> Layer:
    """Numbers, facets and values of the simplices of one more dimension, sorted by value."""
    found = np.flatnonzero(least <= alpha_max)
    vertices = _vertices(found, n_landmarks, dimension + 1)
    sides = np.stack(
        [_number_of(list(side), n_landmarks) for side in combinations(vertices, dimension)]
    )
    facet_numbers, _, facet_values = facets
    entry_of = np.full(comb(n_landmarks, dimension), np.inf)
    entry_of[facet_numbers] = facet_values
    entry = np.maximum(least[found], entry_of[sides].max(axis=0, initial=0.0))
    kept = np.flatnonzero(entry <= alpha_max)
    kept = kept[np.argsort(entry[kept], kind="stable")]
    position = np.empty(len(entry_of), dtype=np.intp)
    position[facet_numbers] = np.arange(len(facet_numbers))
    return found[kept], position[sides[:, kept]], entry[kept]


def _least_relaxation(
    order: NDArray[np.int32],
    gaps: list[NDArray[np.float64]],
    alpha_max: float,
    dimension: int,
    n_landmarks: int,
) -> NDArray[np.float64]:
    """Relaxation over the best witness for each simplex of a dimension, infinite above alpha_max.

    Seen from one witness, a simplex holds its r nearest landmarks, lacks the next, and holds
    dimension + 1 - r farther ones, of which the farthest has rank k: its relaxation is the gap
    between the ranks k and r. Where nothing is lacking before rank k, k = r and the gap is 0.
    Few ranks are within reach of alpha_max, hence simplices are listed from the witnesses' side.
    """
    least = np.full(comb(n_landmarks, dimension + 1), np.inf)
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
            numbers = _simplex_number(vertices, n_landmarks)
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
    if len(vertices) == 3:
        a, b, c = vertices
        high = np.maximum(np.maximum(a, b), c)
        low = np.minimum(np.minimum(a, b), c)
        middle = a + b + c - high - low
        return _number_of([high, middle, low], n_landmarks)
    return _number_of([*np.sort(np.broadcast_arrays(*vertices), axis=0)[::-1]], n_landmarks)


def _number_of(descending: list[NDArray], n_landmarks: int) -> NDArray[np.intp]:
    """`_simplex_number` of vertices that are sorted, the highest first."""
    size = len(descending)
    *above, number = descending
    for place, vertex in enumerate(above):
        number = number + _binomials(n_landmarks, size - place)[vertex]
    return number


@cache
def _binomials(n_landmarks: int, size: int) -> NDArray[np.intp]:
    """C(n, size) for all landmarks n."""
    return np.array([comb(n, size) for n in range(n_landmarks)], dtype=np.intp)


@cache
def _edge_numbers(n_landmarks: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Table from two landmarks to the number of their edge, and the ends by number."""
    ends = np.array(np.tril_indices(n_landmarks, -1))
    numbers = np.zeros((n_landmarks, n_landmarks), dtype=np.intp)
    numbers[ends[0], ends[1]] = numbers[ends[1], ends[0]] = np.arange(ends.shape[1])
    return numbers, ends


def _vertices(
    numbers: NDArray[np.intp], n_landmarks: int, size: int
) -> tuple[NDArray[np.intp], ...]:
    """Inverse of `_simplex_number`: the vertices, the highest first."""
    vertices = []
    for place in range(size, 1, -1):
        table = _binomials(n_landmarks, place)
        vertices.append(np.searchsorted(table, numbers, side="right") - 1)
        numbers = numbers - table[vertices[-1]]
    return (*vertices, numbers)


def _killers(sides: NDArray[np.intp], n_faces: int, creators: NDArray[np.intp]) -> NDArray[np.intp]:
    """Simplices, by their sides, that kill a hole which a face created; persistent cohomology.

    The columns are the faces that create a hole, from the last to the first; all other faces kill
    one themselves and are cleared beforehand. A column holds the simplices on the face as the bits
    of one integer, the earliest highest, so that the pivot is the bit length. There are far fewer
    faces than simplices, and most pivots are free at once.
    """
    n_simplices = sides.shape[1]
    if n_simplices == 0 or len(creators) == 0:
        return np.zeros(0, dtype=np.intp)
    reduced: dict[int, int] = {}
    for column in reversed(_coboundaries(sides, n_faces, creators)):
        while column:
            pivot = column.bit_length()
            other = reduced.get(pivot)
            if other is None:
                reduced[pivot] = column
                break
            column ^= other
    return n_simplices - np.fromiter(reduced, dtype=np.intp, count=len(reduced))


def _coboundaries(sides: NDArray[np.intp], n_faces: int, faces: NDArray[np.intp]) -> list[int]:
    """The simplices on each of some faces, as integers with the first simplex highest."""
    n_simplices = sides.shape[1]
    row = np.full(n_faces, -1, dtype=np.intp)
    row[faces] = np.arange(len(faces))
    rows = row[sides]
    bit = np.broadcast_to(n_simplices - 1 - np.arange(n_simplices), rows.shape)
    columns: list[int] = []
    step = max(1, _BLOCK // n_simplices)
    for start in range(0, len(faces), step):
        used = (rows >= start) & (rows < start + step)
        bits = np.zeros((min(step, len(faces) - start), n_simplices), dtype=bool)
        bits[rows[used] - start, bit[used]] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        columns += [int.from_bytes(line.tobytes(), "little") for line in packed]
    return columns


def _split_edges(
    ends: NDArray[np.intp], n_landmarks: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Edges that join two pieces, and edges whose ends are connected by earlier edges."""
    parent = list(range(n_landmarks))
    joins = np.zeros(ends.shape[1], dtype=bool)
    for edge, (a, b) in enumerate(ends.T.tolist()):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a != b:
            joins[edge] = True
            parent[a] = b
    return np.flatnonzero(joins), np.flatnonzero(~joins)
