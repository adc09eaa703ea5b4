"""Factorized support: which combinations of the values of codes never occur."""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from sklearn.utils import check_random_state

from ..._params import AtLeastTwo, NanPolicy, PositiveInt, RandomStateLike, validated
from .. import _numeric
from ._correlation import varying_codes

__all__ = ["factorized_support_distance"]

Ints = NDArray[np.int64]
# From the columns x and y of places, and the places, to their squared distances from rows.
Nearest = Callable[[Ints, Ints, NDArray[np.float64]], NDArray[np.float64]]

# Up to so many points each place is compared with all of them; beyond, a tree finds the nearest.
_FEW = 256
# Distances held at once.
_CHUNK = 2**17


@validated
def factorized_support_distance(
    codes: ArrayLike,
    *,
    standardize: bool = False,
    batch_size: AtLeastTwo | None = 128,
    n_batches: PositiveInt = 5,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""Hausdorff distance of the support of codes from a factorized one, summed over pairs.

    Which combinations of two codes' values are far from every combination that occurs? From 0 to
    infinity, lower is better: 0 when any two codes take all combinations of their values,
    no matter how often. Codes of dependent factors can thus reach 0.

    .. math:: \sum_{i < j} \max_{a, b} \min_c \bigl[(z_{ai} - z_{ci})^2 + (z_{bj} - z_{cj})^2\bigr]

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    standardize : bool, default=False
        Whether codes are divided by their standard deviation first, after which their scales do
        not matter.
    batch_size : int or None, default=128
        Number of distinct rows that are compared at once; None for all of them.
    n_batches : int, default=5
        If there are more distinct rows than `batch_size`, the distance is the mean over that
        many random batches; else it is computed once, from all rows.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The batches.

    Returns
    -------
    distance : float
        The sum of squared distances.

    See Also
    --------
    code_mutual_info_error : Asks that codes are independent, not only that combinations occur.

    Notes
    -----
    The distance of a random batch exceeds that of all rows, by less the larger the batch is:
    compare only distances with the same `batch_size`. Constant codes are left out; if fewer than
    two codes vary, the value is 0.

    Of many rows, the exact maximum is searched for by halving: blocks of combinations are dropped
    that lie too near to a row to hold it. The time is about linear in the number of rows, and
    quadratic at worst.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors
    via Hausdorff factorized support. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import factorized_support_distance
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> factorized_support_distance(codes)
    0.0
    >>> factorized_support_distance(codes[:3])
    1.0
    """
    kept = varying_codes(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    unit = 1.0 if standardize else float(_numeric.column_range(kept).max())
    # The support is a set: rows count once, however frequent.
    rows = np.unique(_numeric.standardize(kept) if standardize else kept / unit, axis=0)
    if batch_size is None or len(rows) <= batch_size:
        distance = _support_distance(rows)
    else:
        rng = check_random_state(random_state)
        batches = (rng.permutation(len(rows))[:batch_size] for _ in range(n_batches))
        distance = float(np.mean([_support_distance(rows[batch]) for batch in batches]))
    return distance * unit**2


def _support_distance(rows: NDArray[np.float64]) -> float:
    pairs = list(combinations(range(rows.shape[1]), 2))
    if len(rows) <= _FEW:
        return float(_largest_distances(rows, pairs, partial(_nearest_row, rows.T.copy())).sum())
    return float(sum(_pair_distance(rows[:, pair]) for pair in pairs))


def _pair_distance(rows: NDArray[np.float64]) -> float:
    points = np.unique(rows, axis=0)
    tree = cKDTree(points)

    def nearest(x: Ints, y: Ints, places: NDArray[np.float64]) -> NDArray[np.float64]:
        offsets = places - points[tree.query(places)[1]]
        return (offsets**2).sum(axis=1)

    return float(_largest_distances(rows, [(0, 1)], nearest)[0])


def _nearest_row(
    columns: NDArray[np.float64], x: Ints, y: Ints, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of each place from the nearest row, in its columns x and y."""
    nearest, n_places = np.empty(len(x)), max(_CHUNK // columns.shape[1], 1)
    for start in range(0, len(x), n_places):
        part = slice(start, start + n_places)
        squares = columns[x[part]]
        squares -= places[part, :1]
        squares *= squares
        along = columns[y[part]]
        along -= places[part, 1:]
        along *= along
        squares += along
        squares.min(axis=1, out=nearest[part])
    return nearest


def _largest_distances(
    rows: NDArray[np.float64],
    pairs: list[tuple[int, int]],
    nearest: Nearest,
) -> NDArray[np.float64]:
    """For each pair, the largest squared distance of a combination (x_a, y_b) from the nearest
    (x_c, y_c), by branch and bound over blocks of the grid of combinations, in all pairs at once.

    The distance from the nearest point changes by no more than the way one goes: the combination in
    the middle of a block, and the farthest corner from there, bound it all over the block.
    """
    distinct = [np.unique(column) for column in rows.T]
    values = np.zeros((len(distinct), max(map(len, distinct))))
    for own, column in zip(values, distinct):
        own[: len(column)] = column
    columns = np.array(pairs)
    ends = np.array([len(column) - 1 for column in distinct])[columns]
    best = _corner_distances(values, columns, ends, nearest)
    # Each block is first and last index of x, then of y.
    blocks, owner = np.zeros((len(pairs), 4), dtype=np.int64), np.arange(len(pairs))
    blocks[:, 1::2] = ends
    while len(blocks):
        x, y = columns[owner].T
        left, right, low, high = blocks.T
        i, j = (left + right) // 2, (low + high) // 2
        middle = np.column_stack([values[x, i], values[y, j]])
        squares = nearest(x, y, middle)
        np.maximum.at(best, owner, squares)
        reach = np.hypot(
            np.maximum(middle[:, 0] - values[x, left], values[x, right] - middle[:, 0]),
            np.maximum(middle[:, 1] - values[y, low], values[y, high] - middle[:, 1]),
        )
        # Not strict: rounding must not drop the block of the maximum.
        is_open = (np.sqrt(squares) + reach >= np.sqrt(best[owner]) * (1 - 1e-12)) & (reach > 0)
        blocks, parents = _quarters(blocks[is_open], i[is_open], j[is_open])
        owner = owner[is_open][parents]
    return best


def _corner_distances(
    values: NDArray[np.float64], columns: Ints, ends: Ints, nearest: Nearest
) -> NDArray[np.float64]:
    """Those of the corners of each grid, which are often the largest: a bound to begin with."""
    x, y = columns.T
    corners = [
        np.column_stack([values[x, i], values[y, j]])
        for i in (ends[:, 0] * 0, ends[:, 0])
        for j in (ends[:, 1] * 0, ends[:, 1])
    ]
    return np.max([nearest(x, y, places) for places in corners], axis=0)


def _quarters(blocks: Ints, i: Ints, j: Ints) -> tuple[Ints, Ints]:
    """The four parts of each block around its middle, and which block they are of.

    Parts without combinations are left out.
    """
    left, right, low, high = blocks.T
    parts = [
        np.column_stack([a, b, c, d])
        for a, b in ((left, i), (i + 1, right))
        for c, d in ((low, j), (j + 1, high))
    ]
    found = np.concatenate(parts)
    kept = np.flatnonzero((found[:, 0] <= found[:, 1]) & (found[:, 2] <= found[:, 3]))
    return found[kept], kept % max(len(blocks), 1)
