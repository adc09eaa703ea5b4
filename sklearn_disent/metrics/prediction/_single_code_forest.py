"""Random forests on a single code, all trees of a forest at once.

scikit-learn grows the trees one by one, with the checks and the copies of a general estimator, and
downstream accuracy needs a forest for every pair of a factor and a code. On one feature a node is
an interval of the sorted rows, so that one level of all trees is a few sums over an array (n_trees,
n_rows). The forests are the same to the last bit as those of ``RandomForestClassifier(n_trees,
max_depth=...)``: bootstraps, splits, ties, probabilities. `benchmarks/metrics.py` prints how much
faster they are.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .._numeric import by_class

Ints = NDArray[np.int64]

# Values this close together are not split, as in scikit-learn.
_CLOSE = np.float32(1e-7)


class Forest(NamedTuple):
    """Leaves of all trees, one tree after the other, from small codes to large ones."""

    tree: Ints
    """(n_leaves,): the tree of each leaf."""
    threshold: NDArray[np.float64]
    """(n_leaves,): the code up to which it reaches; infinity for the last of a tree."""
    share: NDArray[np.float64]
    """(n_leaves, n_classes): classes of its rows."""


def predict_classes(
    code: NDArray,
    y: Ints,
    new_code: NDArray,
    *,
    n_trees: int,
    max_depth: int,
    random_state: int,
) -> Ints:
    """Classes of new rows by a forest that was grown on a single code.

    Parameters
    ----------
    code : ndarray of shape (n,)
        The feature.
    y : ndarray of shape (n,)
        Classes.
    new_code : ndarray of shape (n_new,)
        The feature of the rows to predict.
    n_trees, max_depth, random_state : int
        As in ``RandomForestClassifier``.

    Returns
    -------
    classes : ndarray of shape (n_new,)
        Those with the highest mean share; the first of equal ones.
    """
    classes, y = np.unique(y, return_inverse=True)
    code = code.astype(np.float32)
    order = np.argsort(code, kind="stable")
    drawn = _ranks(order)[_bootstraps(len(code), n_trees, random_state)]
    forest = _grow(_sample(drawn, code[order], y[order]), len(classes), max_depth)
    return classes[_mean_share(forest, new_code.astype(np.float32), n_trees).argmax(axis=1)]


class _Sample(NamedTuple):
    """Rows that the trees have drawn, tree after tree, from small codes to large ones.

    A row that is drawn several times stands there once, with a weight: a third fewer entries.
    """

    tree: NDArray[np.int32]
    x: NDArray[np.float32]
    y: Ints
    weight: Ints


def _sample(drawn: Ints, x: NDArray[np.float32], y: Ints) -> _Sample:
    """The sample of rows `drawn` (n_trees, n) of sorted codes x and their classes y."""
    n_trees, n = drawn.shape
    counts = np.bincount((drawn + n * np.arange(n_trees)[:, None]).ravel(), minlength=n_trees * n)
    present = np.flatnonzero(counts)
    tree, row = np.divmod(present, n)
    return _Sample(tree.astype(np.int32), x[row], y[row], counts[present])


@lru_cache(maxsize=1)
def _bootstraps(n: int, n_trees: int, random_state: int) -> Ints:
    """Rows that each tree sees (n_trees, n), as scikit-learn draws them."""
    rng = RandomState(random_state)
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]
    drawn = np.empty((n_trees, n), dtype=np.int64)
    for row, seed in zip(drawn, seeds):
        rng.seed(seed)  # a quarter of the time of a new one
        row[:] = rng.randint(0, n, n)
    drawn.setflags(write=False)
    return drawn


def _ranks(order: Ints) -> Ints:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def _grow(sample: _Sample, n_classes: int, max_depth: int) -> Forest:
    """The forest of a sample."""
    rows = _rows(sample)
    starts = np.flatnonzero(np.diff(sample.tree, prepend=-1))
    growing = np.ones(len(starts), dtype=bool)
    for _ in range(max_depth):
        cuts = _best_cuts(starts, growing, rows, n_classes)
        if len(cuts) == 0:
            break
        # Only the two parts of a node that was cut may be cut again.
        new = np.zeros(len(sample.x), dtype=bool)
        new[cuts] = True
        starts = np.sort(np.concatenate([starts, cuts]))
        is_cut = new[starts]
        growing = is_cut | np.append(is_cut[1:], False)
    return _leaves(starts, sample, n_classes)


class _Rows(NamedTuple):
    """What stays the same of all rows while trees grow."""

    y: Ints
    weight: Ints
    middle: Ints
    """Twice the rows of earlier classes, or of the own class before this one, and its weight."""
    before: Ints
    """Rows before this one, in all trees."""
    floats: NDArray[np.float64]
    """The weights once more, as NumPy counts with them."""
    apart: NDArray[np.bool_]
    """Whether a node may be cut before this row: its code is not too close to the one before."""


def _rows(sample: _Sample) -> _Rows:
    _, x, y, weight = sample
    order = by_class(y)
    middle = np.empty_like(weight)
    middle[order] = 2 * np.cumsum(weight[order]) - weight[order]
    apart = np.concatenate([[False], x[1:] > x[:-1] + _CLOSE])
    before = np.cumsum(weight) - weight
    return _Rows(y, weight, middle, before, weight.astype(np.float64), apart)


def _best_cuts(starts: Ints, growing: NDArray[np.bool_], rows: _Rows, n_classes: int) -> Ints:
    """First row of the right part, for every node that is cut."""
    lengths = np.diff(np.append(starts, len(rows.y)))
    # Indices and sums of 64-bit integers: NumPy takes many times as long for others.
    cell = rows.y * len(starts)
    cell += np.repeat(np.arange(len(starts)), lengths)
    counts = np.bincount(cell, rows.floats, minlength=n_classes * len(starts)).astype(np.int64)
    last = np.cumsum(counts)
    in_node = counts.reshape(n_classes, -1)
    sizes, squares = in_node.sum(axis=0), (in_node * in_node).sum(axis=0)
    # A row adds w (2 c + w) to the sum of squared class counts on its left, where c rows of its
    # node and class come before it, and takes w (2 C - 2 c - w) off that on its right.
    grows, falls = (
        rows.weight * (rows.middle - np.take(2 * count, cell)) for count in (last - counts, last)
    )
    before = rows.before[starts]
    n_left = rows.before - np.repeat(before, lengths)
    n_right = np.repeat(before + sizes, lengths) - rows.before
    sq_left = _sums_before(grows, starts, np.zeros_like(squares), squares)
    sq_right = _sums_before(falls, starts, squares, np.zeros_like(squares))
    # In the operations of scikit-learn, in their order: what ties there must tie here.
    with np.errstate(invalid="ignore"):  # before the first row of a node, where it is not cut
        impurity = _weighted(n_right, sq_right) + _weighted(n_left, sq_left)
    apart = rows.apart & np.repeat(growing & (squares < sizes * sizes), lengths)
    apart[starts] = False
    impurity = np.where(apart, impurity, np.inf)
    best = np.repeat(np.minimum.reduceat(impurity, starts), lengths)
    reached = np.flatnonzero(apart & (impurity == best))
    # The first of equally good ones.
    return reached[np.diff(np.searchsorted(starts, reached, side="right"), prepend=0) > 0]


def _sums_before(values: Ints, starts: Ints, begin: Ints, end: Ints) -> Ints:
    """Sums of the values before each row of a node, on top of `begin`, which arrive at `end`."""
    sums = np.empty_like(values)
    sums[0] = 0
    sums[1:] = values[:-1]
    sums[starts] += begin
    sums[starts[1:]] -= end[:-1]
    return np.cumsum(sums, out=sums)


def _weighted(size: Ints, squares: Ints) -> NDArray[np.float64]:
    """Gini impurity times the number of rows."""
    n = size.astype(np.float64)
    share = n * n
    np.divide(squares, share, out=share)
    np.subtract(1.0, share, out=share)
    share *= n
    return share


def _leaves(starts: Ints, sample: _Sample, n_classes: int) -> Forest:
    lengths = np.diff(np.append(starts, len(sample.x)))
    leaf = np.repeat(np.arange(len(starts)), lengths)
    cell = leaf * n_classes + sample.y
    counts = np.bincount(cell, sample.weight, minlength=len(starts) * n_classes)
    counts = counts.reshape(-1, n_classes)
    share = counts / counts.sum(axis=1, keepdims=True)
    tree = sample.tree[starts]
    threshold = np.full(len(starts), np.inf)
    (inner,) = np.nonzero(np.diff(tree) == 0)
    low, high = (sample.x[starts[inner + 1] + shift].astype(np.float64) for shift in (-1, 0))
    middle = low / 2.0 + high / 2.0
    threshold[inner] = np.where(middle == high, low, middle)
    return Forest(tree.astype(np.int64), threshold, share)


def _mean_share(forest: Forest, code: NDArray[np.float32], n_trees: int) -> NDArray[np.float64]:
    """Shares of classes (n_new, n_classes), the mean over trees."""
    order = np.argsort(code)
    # In sorted rows, a leaf holds those up to its threshold, behind those of the leaf before.
    reached = np.searchsorted(code[order], forest.threshold, side="right")
    ends = forest.tree * len(code) + reached
    leaf = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)).reshape(n_trees, len(code))
    total = np.zeros((len(code), forest.share.shape[1]))
    for row in leaf:
        total += forest.share.take(row, axis=0)
    mean = np.empty_like(total)
    mean[order] = total / n_trees
    return mean
