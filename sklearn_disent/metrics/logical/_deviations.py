"""How far a set of points spreads, and around which point: exact geometry, class by class.

Five deviations of the points of a class: around a central point "radius" (of the smallest
enclosing ball), "mad" (mean distance to the geometric median) and "variance" (mean squared
distance to the mean); between pairs "diameter" (largest distance) and "mean_pairwise" (half the
mean distance over all ordered pairs, a point with itself included).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .._numeric import by_class, row_parts
from ._linear_fits import minimax_fit

Floats = NDArray[np.float64]

# Distances held at once: 2**22 float64 are 32 MiB, little enough to stay near the cache.
CHUNK = 2**22
# Beyond, a basis of d + 2 points is no longer small and the convex program is faster.
_LARGEST_WELZL = 6
# Points this close to a sphere, relative to its radius, lie on it.
_ON_SPHERE = 1e-13


def class_deviations(
    points: Floats, classes: NDArray[np.int64], weight: Floats | None, deviation: str
) -> Floats:
    """Deviation of the points (n, d) of every class; the classes are 0..C-1, none empty."""
    return np.array([value for value, _ in _per_class(points, classes, weight, deviation)])


def class_centers(
    points: Floats, classes: NDArray[np.int64], weight: Floats | None, deviation: str
) -> Floats:
    """Central point (C, d) of every class: of the ball, the geometric median or the mean."""
    return np.array([centre for _, centre in _per_class(points, classes, weight, deviation)])


def _per_class(
    points: Floats, classes: NDArray[np.int64], weight: Floats | None, deviation: str
) -> list[tuple[float, Floats]]:
    if deviation == "variance":
        return _variances(points, classes, weight)
    order, stops = by_class(classes), np.cumsum(np.bincount(classes))[:-1]
    rows, shares = points[order], np.ones(len(order)) if weight is None else weight[order]
    parts = zip(np.split(rows, stops), np.split(shares, stops))
    if points.shape[1] > 1:
        return [_IN_SPACE[deviation](part, share) for part, share in parts]
    return [_ON_LINE[deviation](*_sorted(part[:, 0], share, weight)) for part, share in parts]


def _sorted(x: Floats, share: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Numbers from small to large, and their weights; without them, many times faster."""
    if weight is None:
        return np.sort(x), share
    order = np.argsort(x, kind="stable")
    return x[order], share[order]


def _variances(
    points: Floats, classes: NDArray[np.int64], weight: Floats | None
) -> list[tuple[float, Floats]]:
    """Variances and means, by counting: linear in the rows, without a sort."""
    total = np.bincount(classes, weight)
    values, centers = np.zeros(len(total)), np.empty((len(total), points.shape[1]))
    for j, x in enumerate(map(np.ascontiguousarray, points.T)):
        # The mean of equal numbers is off by rounding: measure from a point of the set.
        first = np.empty(len(total))
        first[classes] = x
        sums, squares = np.zeros(len(total)), np.zeros(len(total))
        for rows in row_parts(len(x)):
            own, share = classes[rows], 1.0 if weight is None else weight[rows]
            sums += np.bincount(own, share * (x[rows] - first[own]), len(total))
        centers[:, j] = first + sums / total
        for rows in row_parts(len(x)):
            own, share = classes[rows], 1.0 if weight is None else weight[rows]
            offset = x[rows] - centers[own, j]
            squares += np.bincount(own, share * offset * offset, len(total))
        values += squares / total
    return list(zip(values.tolist(), centers))


# On a line: x is sorted.


def _line_range(x: Floats, weight: Floats) -> tuple[float, Floats]:
    return x[-1] - x[0], np.array([(x[0] + x[-1]) / 2])


def _line_radius(x: Floats, weight: Floats) -> tuple[float, Floats]:
    width, centre = _line_range(x, weight)
    return width / 2, centre


def _line_mad(x: Floats, weight: Floats) -> tuple[float, Floats]:
    below = np.cumsum(weight)
    low, high = (
        np.searchsorted(below, below[-1] / 2, "left"),
        np.searchsorted(below, below[-1] / 2, "right"),
    )
    # Every point between the two is a median: the middle one, as numpy.median has it.
    median = (x[low] + x[min(high, len(x) - 1)]) / 2
    return np.abs(x - median) @ weight / below[-1], np.array([median])


def _line_mean_pairwise(x: Floats, weight: Floats) -> tuple[float, Floats]:
    # Every gap between neighbours is crossed by (weight below) * (weight above) pairs.
    below = np.cumsum(weight)
    return np.diff(x) @ (below[:-1] * (below[-1] - below[:-1])) / below[-1] ** 2, x[:1]


# In space.


def _radius(points: Floats, weight: Floats) -> tuple[float, Floats]:
    return smallest_ball(points)


def _mad(points: Floats, weight: Floats) -> tuple[float, Floats]:
    median = geometric_median(points, weight)
    return weight @ np.linalg.norm(points - median, axis=1) / weight.sum(), median


def _diameter(points: Floats, weight: Floats) -> tuple[float, Floats]:
    return diameter(points), points[0]


def _mean_pairwise(points: Floats, weight: Floats) -> tuple[float, Floats]:
    total = sum(
        weight[rows] @ (block @ share) for rows, share, block in _pair_blocks(points, weight)
    )
    return total / (2 * weight.sum() ** 2), points[0]


_Measure = Callable[[Floats, Floats], tuple[float, Floats]]
_ON_LINE: dict[str, _Measure] = {
    "radius": _line_radius,
    "mad": _line_mad,
    "diameter": _line_range,
    "mean_pairwise": _line_mean_pairwise,
}
_IN_SPACE: dict[str, _Measure] = {
    "radius": _radius,
    "mad": _mad,
    "diameter": _diameter,
    "mean_pairwise": _mean_pairwise,
}


def row_chunks(n_rows: int, chunk: int = CHUNK) -> Iterator[slice]:
    """Rows whose distances to all following rows fit into one chunk."""
    start = 0
    while start < n_rows:
        stop = min(n_rows, start + max(1, chunk // (n_rows - start)))
        yield slice(start, stop)
        start = stop


def _pair_blocks(points: Floats, weight: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """Distances of some rows to themselves and all later rows, which count for both orders."""
    for rows in row_chunks(len(points)):
        yield rows, both_orders(weight, rows), cdist(points[rows], points[rows.start :])


def both_orders(weight: Floats, rows: slice) -> Floats:
    """Weights of the rows from `rows` on: those beyond it stand for the transposed pairs too."""
    share = 2 * weight[rows.start :]
    share[: rows.stop - rows.start] /= 2
    return share


def diameter(points: Floats) -> float:
    """Largest distance between two of the points."""
    reach = np.linalg.norm(points - points.mean(axis=0), axis=1)
    # The points farthest from the middle and from each other give a bound from below ...
    first = points[reach.argmax()]
    second = points[np.linalg.norm(points - first, axis=1).argmax()]
    bound = float(np.linalg.norm(points - second, axis=1).max())
    # ... and by the triangle inequality a point nearer to the middle than this cannot beat it.
    points = points[reach + reach.max() > bound * (1 + 1e-14)]
    largest = [cdist(points[rows], points[rows.start :]).max() for rows in row_chunks(len(points))]
    return max([bound, *largest])


def smallest_ball(points: Floats) -> tuple[float, Floats]:
    """Radius and centre of the smallest ball that holds all points.

    The ball of a few points on its sphere, to which the farthest point outside is added until
    there is none. Every exchange enlarges the ball and there are finitely many bases, so that it
    ends at the optimum (Welzl 1991; Gärtner 1999). In high dimension by a convex program.
    """
    if points.shape[1] > _LARGEST_WELZL:
        fit = minimax_fit(np.ones((len(points), 1)), points)
        return fit.error, fit.coef[0]
    basis = [int(np.linalg.norm(points - points.mean(axis=0), axis=1).argmax())]
    centre, squared = points[basis[0]], 0.0
    while True:
        distances = np.square(points - centre).sum(axis=1)
        farthest = int(distances.argmax())
        grown = _welzl(points, [farthest, *basis], [])
        if distances[farthest] <= squared * (1 + _ON_SPHERE) or grown[1] <= squared:
            # The largest distance, not the radius of the basis: a ball that truly holds them all.
            return float(np.sqrt(distances[farthest])), centre
        centre, squared, basis = grown


def _welzl(points: Floats, free: list[int], fixed: list[int]) -> tuple[Floats, float, list[int]]:
    """Smallest ball around the free points with the fixed ones on its sphere, and its basis."""
    ball = (*_circumball(points[fixed]), fixed)
    if len(fixed) == points.shape[1] + 1:
        return ball
    for i, row in enumerate(free):
        if np.square(points[row] - ball[0]).sum() > ball[1] * (1 + _ON_SPHERE):
            ball = _welzl(points, free[:i], [*fixed, row])
    return ball


def _circumball(points: Floats) -> tuple[Floats, float]:
    """Centre and squared radius of the smallest ball with all the points on its sphere."""
    if len(points) == 0:
        return np.zeros(points.shape[1]), -1.0
    edges = points[1:] - points[0]
    # The centre is equally far from all points: 2 edge . (centre - first) = |edge|^2.
    offset = np.linalg.lstsq(edges, np.square(edges).sum(axis=1) / 2, rcond=None)[0]
    return points[0] + offset, float(offset @ offset)


def geometric_median(points: Floats, weight: Floats, max_iter: int = 1000) -> Floats:
    """Point of least mean distance to the points.

    Weiszfeld's iteration with the safeguard of Vardi and Zhang (2000) where it meets a point of
    the set, sped up by Newton steps. It stops on a certificate: the slope times the largest
    distance bounds by how much the sum of distances can still fall.
    """
    weight = weight / weight.sum()
    median = weight @ points
    largest = 2 * np.linalg.norm(points - median, axis=1).max()
    value = weight @ np.linalg.norm(points - median, axis=1)
    for _ in range(max_iter):
        slope, step, newton = _median_steps(points, weight, median, largest)
        if np.linalg.norm(slope) * largest <= 1e-13 * value:
            break
        options = [median + newton, median + step]
        values = [weight @ np.linalg.norm(points - option, axis=1) for option in options]
        best = int(np.argmin(values))
        if values[best] >= value:
            break
        median, value = options[best], values[best]
    return median


def _median_steps(
    points: Floats, weight: Floats, median: Floats, largest: float
) -> tuple[Floats, Floats, Floats]:
    """Slope of the mean distance, Weiszfeld's step and Newton's step, at a candidate."""
    away = points - median
    distance = np.linalg.norm(away, axis=1)
    apart = distance > 1e-14 * largest
    if not apart.any():
        return np.zeros_like(median), np.zeros_like(median), np.zeros_like(median)
    unit = away[apart] / distance[apart, None]
    pull, here = weight[apart] @ unit, weight[~apart].sum()
    strength = np.linalg.norm(pull)
    # At a point of the set its own weight holds the median back: it stays if it holds it fully.
    pull = pull * max(0.0, 1 - here / strength) if strength > 0 else pull
    inverse = weight[apart] / distance[apart]
    hessian = inverse.sum() * np.eye(len(median)) - (unit * inverse[:, None]).T @ unit
    newton = np.linalg.lstsq(hessian, pull, rcond=1e-12)[0]
    return -pull, pull / inverse.sum(), newton
