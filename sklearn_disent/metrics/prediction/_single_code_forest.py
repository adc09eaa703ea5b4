"""Random forests on a single code, all trees of a forest at once.

scikit-learn grows the trees one by one, with the checks and the copies of a general estimator, and
downstream accuracy needs a forest for every pair of a factor and a code. On one feature a node is
an interval of the sorted rows, so that one level of all trees is a few sums over an array (n_trees,
n_rows). The forests are the same to the last bit as those of ``RandomForestClassifier(n_trees,
max_depth=...)``: bootstraps, splits, ties, probabilities. `benchmarks/metrics.py` prints how much
faster they are.
"""

import itertools
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
    y: NDArray[np.int32]
    weight: NDArray[np.int32]


def _sample(drawn: Ints, x: NDArray[np.float32], y: Ints) -> _Sample:
    """The sample of rows `drawn` (n_trees, n) of sorted codes x and their classes y."""
    n_trees, n = drawn.shape
    counts = np.bincount((drawn + n * np.arange(n_trees)[:, None]).ravel(), minlength=n_trees * n)
    present = np.flatnonzero(counts)
    tree, row = np.divmod(present, n)
    weight = counts[present].astype(np.int32)
    return _Sample(tree.astype(np.int32), x[row], y[row].astype(np.int32), weight)


def _bootstraps(n: int, n_trees: int, random_state: int) -> Ints:
    """Rows that each tree sees (n_trees, n), as scikit-learn draws them."""
    rng = RandomState(random_state)
    seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]
    drawn = np.empty((n_trees, n), dtype=np.int64)
    for row, seed in zip(drawn, seeds):
        rng.seed(seed)  # a quarter of the time of a new one
        row[:] = rng.randint(0, n, n)
    return drawn


def _ranks(order: Ints) -> Ints:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def _grow(sample: _Sample, n_classes: int, max_depth: int) -> Forest:
    """The forest of a sample."""
    tree, x, y, weight = sample
    # Class after class, each in the order of the codes: in it, rows of a node and a class are
    # neighbours at every depth.
    group = tree * np.int32(n_classes) + y
    order = by_class(group)
    classes = _Classes(order, np.diff(group[order]) != 0, weight[order])
    # Where a node may be cut, before this row: codes that are not too close to the one before.
    apart = np.concatenate([[False], x[1:] > x[:-1] + _CLOSE])
    starts = np.flatnonzero(np.diff(tree, prepend=-1))
    growing = np.ones(len(starts), dtype=bool)
    for _ in range(max_depth):
        cuts = _best_cuts(starts, growing, apart, weight, classes)
        if len(cuts) == 0:
            break
        # Only the two parts of a node that was cut may be cut again.
        grown = np.concatenate([starts, cuts])
        new = np.zeros(len(x), dtype=bool)
        new[cuts] = True
        starts = np.sort(grown)
        is_cut = new[starts]
        growing = is_cut | np.append(is_cut[1:], False)
    return _leaves(starts, sample, n_classes)


class _Classes(NamedTuple):
    """All rows, class after class of each tree."""

    order: Ints
    is_next: NDArray[np.bool_]
    """Between which of them the next class, or the next tree, begins: (n - 1,)."""
    weight: NDArray[np.int32]


def _best_cuts(
    starts: Ints,
    growing: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    weight: NDArray[np.int32],
    classes: _Classes,
) -> Ints:
    """First row of the right part, for every node that is cut."""
    lengths = np.diff(np.append(starts, len(apart)))
    node = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    before, after = _same_class(node, classes)
    # Sums of squared class counts, of all rows to the left of each row and from it on.
    left = _excluding(weight * (2 * before + weight))
    right = _excluding(weight * (2 * after + weight))
    drawn = _excluding(weight)
    ends = starts + lengths
    sizes = drawn[ends] - drawn[starts]
    growing = growing & (left[ends] - left[starts] < sizes**2)  # not of a single class
    apart = apart & np.repeat(growing, lengths)
    apart[starts] = False
    n_left = (drawn[:-1] - np.repeat(drawn[starts], lengths)).astype(np.float64)
    n_right = np.repeat(sizes, lengths) - n_left
    sq_left = left[:-1] - np.repeat(left[starts], lengths)
    sq_right = np.repeat(right[ends], lengths) - right[:-1]
    # In the operations of scikit-learn, in their order: what ties there must tie here.
    with np.errstate(invalid="ignore"):  # before the first row of a node, where it is not cut
        gain = -n_right * (1.0 - sq_right / (n_right * n_right)) - n_left * (
            1.0 - sq_left / (n_left * n_left)
        )
    gain[~apart] = -np.inf
    best = np.repeat(np.maximum.reduceat(gain, starts), lengths)
    reached = np.flatnonzero(apart & (gain == best))
    return reached[np.diff(node[reached], prepend=-1) > 0]


def _same_class(node: NDArray[np.int32], classes: _Classes) -> tuple[Ints, Ints]:
    """For every row, how many rows of its node and class come before it and after it."""
    own = node[classes.order]
    change = np.flatnonzero(classes.is_next | (own[1:] != own[:-1]))
    begin = np.concatenate([[0], change + 1])
    length = np.diff(np.append(begin, len(own)))
    so_far = _excluding(classes.weight)
    first, last = so_far[begin], so_far[begin + length]
    before, after = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=np.int64)
    before[classes.order] = so_far[:-1] - np.repeat(first, length)
    after[classes.order] = np.repeat(last, length) - so_far[1:]
    return before, after


def _excluding(values: NDArray) -> Ints:
    """Sums of all values before each place, and of all: (n + 1,)."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


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
    total = np.zeros((len(code), forest.share.shape[1]))
    begins = np.searchsorted(forest.tree, np.arange(n_trees + 1))
    for begin, end in itertools.pairwise(begins):
        leaf = np.searchsorted(forest.threshold[begin:end], code, side="left")
        total += forest.share[begin + leaf]
    return total / n_trees
