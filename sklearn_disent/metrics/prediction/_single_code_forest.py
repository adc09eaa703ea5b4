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
    drawn = np.sort(_ranks(order)[_bootstraps(len(code), n_trees, random_state)], axis=1)
    forest = _grow(code[order][drawn], y[order][drawn], len(classes), max_depth)
    return classes[_mean_share(forest, new_code.astype(np.float32), n_trees).argmax(axis=1)]


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


def _grow(x: NDArray[np.float32], y: Ints, n_classes: int, max_depth: int) -> Forest:
    """The forest of sorted rows x and their classes y, both (n_trees, n)."""
    n_trees, n = x.shape
    # Class after class, each in the order of the codes: in it, rows of a node and a class are
    # neighbours at every depth.
    tree_and_class = (np.arange(n_trees)[:, None] * n_classes + y).ravel()
    by_class = np.argsort(tree_and_class, kind="stable")
    x, y = x.ravel(), y.ravel()
    # Where a node may be cut, before this row: codes that are not too close to the one before.
    apart = np.concatenate([[False], x[1:] > x[:-1] + _CLOSE])
    starts, growing = np.arange(n_trees) * n, np.ones(n_trees, dtype=bool)
    for _ in range(max_depth):
        cuts = _best_cuts(starts, growing, apart, tree_and_class[by_class], by_class)
        if len(cuts) == 0:
            break
        # Only the two parts of a node that was cut may be cut again.
        grown = np.concatenate([starts, cuts])
        new = np.zeros(len(x), dtype=bool)
        new[cuts] = True
        starts = np.sort(grown)
        is_cut = new[starts]
        growing = is_cut | np.append(is_cut[1:], False)
    return _leaves(starts, x, y, n, n_classes)


def _best_cuts(
    starts: Ints, growing: NDArray[np.bool_], apart: NDArray[np.bool_], group: Ints, by_class: Ints
) -> Ints:
    """First row of the right part, for every node that is cut."""
    n_rows = len(apart)
    sizes = np.diff(np.append(starts, n_rows))
    node = np.repeat(np.arange(len(starts)), sizes)
    before, after = _same_class(node, group, by_class)
    # Sums of squared class counts, of all rows to the left of each row and from it on.
    left = _excluding(2 * before + 1)
    right = _excluding(2 * after + 1)
    ends = starts + sizes
    growing = growing & (left[ends] - left[starts] < sizes**2)  # not of a single class
    apart = apart & np.repeat(growing, sizes)
    apart[starts] = False
    inside = np.flatnonzero(apart)
    if len(inside) == 0:
        return inside
    owner = node[inside]
    first, last = starts[owner], ends[owner]
    n_left, n_right = (inside - first).astype(np.float64), (last - inside).astype(np.float64)
    sq_left, sq_right = left[inside] - left[first], right[last] - right[inside]
    # In the operations of scikit-learn, in their order: what ties there must tie here.
    gain = -n_right * (1.0 - sq_right / (n_right * n_right)) - n_left * (
        1.0 - sq_left / (n_left * n_left)
    )
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    best = np.repeat(np.maximum.reduceat(gain, begins), np.diff(np.append(begins, len(owner))))
    reached = np.flatnonzero(gain == best)
    return inside[reached[np.diff(owner[reached], prepend=-1) > 0]]


def _same_class(node: Ints, group: Ints, by_class: Ints) -> tuple[Ints, Ints]:
    """For every row, how many rows of its node and class come before it and after it."""
    key = group * np.int64(len(node)) + node[by_class]
    change = np.flatnonzero(np.diff(key))
    begin = np.concatenate([[0], change + 1])
    length = np.diff(np.append(begin, len(key)))
    place = np.arange(len(key)) - np.repeat(begin, length)
    before, after = np.empty_like(place), np.empty_like(place)
    before[by_class] = place
    after[by_class] = np.repeat(length, length) - 1 - place
    return before, after


def _excluding(values: Ints) -> Ints:
    """Sums of all values before each place, and of all: (n + 1,)."""
    return np.concatenate([[0], np.cumsum(values)])


def _leaves(starts: Ints, x: NDArray[np.float32], y: Ints, n: int, n_classes: int) -> Forest:
    sizes = np.diff(np.append(starts, len(x)))
    leaf = np.repeat(np.arange(len(starts)), sizes)
    counts = np.bincount(leaf * n_classes + y, minlength=len(starts) * n_classes)
    share = counts.reshape(-1, n_classes) / sizes[:, None].astype(np.float64)
    tree = starts // n
    threshold = np.full(len(starts), np.inf)
    (inner,) = np.nonzero(np.diff(tree) == 0)
    low, high = (x[starts[inner + 1] + shift].astype(np.float64) for shift in (-1, 0))
    middle = low / 2.0 + high / 2.0
    threshold[inner] = np.where(middle == high, low, middle)
    return Forest(tree, threshold, share)


def _mean_share(forest: Forest, code: NDArray[np.float32], n_trees: int) -> NDArray[np.float64]:
    """Shares of classes (n_new, n_classes), the mean over trees."""
    total = np.zeros((len(code), forest.share.shape[1]))
    begins = np.searchsorted(forest.tree, np.arange(n_trees + 1))
    for begin, end in itertools.pairwise(begins):
        leaf = np.searchsorted(forest.threshold[begin:end], code, side="left")
        total += forest.share[begin + leaf]
    return total / n_trees
