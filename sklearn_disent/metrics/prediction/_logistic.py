"""Logistic regressions of every class against the rest, all of them at once.

``LogisticRegression().fit(X, y == c)`` for each class c validates, copies and weighs the same rows
again and again. Here one pass over the rows serves all classes: their gradients and their Hessians
are two matrix products. `benchmarks/metrics.py` prints the ratio, and a test compares.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

# The Hessians grow with the square of the number of codes: more of them are left to scikit-learn.
_MANY_CODES = 64
# Numbers in the largest array of a chunk of rows, and in all products of codes that are kept.
_CHUNK, _KEPT = 200_000, 20_000_000
# Numbers up to 2 whose product stays finite.
_FACTORS = 512
_MAX_STEPS = 100
# The decrease that Newton's method foresees, as a share of the number of rows, at which it stops:
# the step that is still taken leaves about its square.
_TOLERANCE = 1e-10


class _Point(NamedTuple):
    loss: Floats
    """(n_classes,)."""
    gradient: Floats
    """(n_classes, n_codes + 1)."""
    hessian: Floats
    """(n_classes, n_codes + 1, n_codes + 1)."""


def one_against_rest(
    X: Floats, y: NDArray[np.int64], classes: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Regressions of ``y == c`` on the codes, with the default penalty of scikit-learn.

    Parameters
    ----------
    X : ndarray of shape (n, n_codes)
        Standardized codes.
    y : ndarray of shape (n,)
        Classes.
    classes : ndarray of shape (n_classes,)
        The classes c, all of which occur in y, in ascending order.

    Returns
    -------
    coef : ndarray of shape (n_codes, n_classes)
    intercept : ndarray of shape (n_classes,)
    """
    if X.shape[1] > _MANY_CODES:
        fits = [LogisticRegression().fit(X, y == value) for value in classes]
        coef = np.column_stack([fit.coef_[0] for fit in fits])
        return coef, np.concatenate([fit.intercept_ for fit in fits])
    design = np.column_stack([X, np.ones(len(X))])
    # The place of each row's class; that of a class which is not asked for is beyond them.
    place = np.searchsorted(classes, y)
    place[~np.isin(y, classes)] = len(classes)
    weights = _minimize(design, place, len(classes))
    return weights[:, :-1].T, weights[:, -1]


def _minimize(design: Floats, place: NDArray[np.int64], n_classes: int) -> Floats:
    """Weights (n_classes, n_codes + 1) by Newton steps, halved wherever a loss went up."""
    weights = np.zeros((n_classes, design.shape[1]))
    share = np.bincount(place, minlength=n_classes)[:n_classes] / len(place)
    weights[:, -1] = np.log(share / (1.0 - share))  # the minimum without codes
    before, best = weights, np.full(n_classes, np.inf)
    chunks = _chunks(design, place, n_classes)
    for _ in range(_MAX_STEPS):
        here = _evaluate(chunks, weights)
        # Rounding alone may lift a loss that is at its minimum.
        worse = here.loss > best * (1 + 1e-12)
        step = np.linalg.solve(here.hessian, here.gradient[:, :, None])[:, :, 0]
        foreseen = (step * here.gradient).sum(axis=1)
        is_done = ~worse & (foreseen <= _TOLERANCE * len(design))
        following = np.where(worse[:, None], (weights + before) / 2, weights - step)
        before = np.where(worse[:, None], before, weights)
        best = np.where(worse, best, here.loss)
        weights = following
        if is_done.all():
            break
    return weights


class _Chunk(NamedTuple):
    design: Floats
    rows: NDArray[np.int64]
    """Rows whose class is asked for, and ..."""
    own: NDArray[np.int64]
    """... which of the classes it is."""
    pairs: Floats | None
    """Products of all pairs of columns, if there is room for those of all rows."""


def _products(Z: Floats) -> Floats:
    one, two = np.triu_indices(Z.shape[1])
    return np.take(Z, one, axis=1) * np.take(Z, two, axis=1)


def _chunks(design: Floats, place: NDArray[np.int64], n_classes: int) -> list[_Chunk]:
    n_pairs = design.shape[1] * (design.shape[1] + 1) // 2
    n_rows = max(_CHUNK // max(n_pairs, n_classes), 1)
    kept = len(design) * n_pairs <= _KEPT
    chunks = []
    for start in range(0, len(design), n_rows):
        Z, own = design[start : start + n_rows], place[start : start + n_rows]
        rows = np.flatnonzero(own < n_classes)
        chunks.append(_Chunk(Z, rows, own[rows], _products(Z) if kept else None))
    return chunks


def _evaluate(chunks: list[_Chunk], weights: Floats) -> _Point:
    n_classes, width = weights.shape
    one, two = np.triu_indices(width)
    loss = np.zeros(n_classes)
    gradient, products = np.zeros((width, n_classes)), np.zeros((len(one), n_classes))
    for Z, rows, own, pairs in chunks:
        margin = Z @ weights.T
        # log(1 + exp(m)) = max(m, 0) + log(1 + exp(-|m|)), and the sigmoid by the same exponential.
        small = np.exp(-np.abs(margin))
        above = 1.0 + small
        # Logarithms of products of numbers from 1 to 2: many times fewer of them.
        logs = np.log(np.multiply.reduceat(above, range(0, len(above), _FACTORS)))
        share = np.where(margin > 0, 1.0, small) / above
        loss += logs.sum(axis=0) + np.maximum(margin, 0.0).sum(axis=0)
        loss -= np.bincount(own, margin[rows, own], minlength=n_classes)
        # Slopes s (1 - s).
        products += (_products(Z) if pairs is None else pairs).T @ (share - share * share)
        share[rows, own] -= 1.0
        gradient += Z.T @ share
    hessian = np.empty((n_classes, width, width))
    hessian[:, one, two] = hessian[:, two, one] = products.T
    # The penalty spares the intercept, as that of scikit-learn does.
    penalty = np.append(np.ones(width - 1), 0.0)
    # A trace of curvature keeps the step finite where all rows are far from the border.
    hessian[:, range(width), range(width)] += np.maximum(penalty, 1e-9)
    loss += 0.5 * (weights**2 @ penalty)
    return _Point(loss, gradient.T + penalty * weights, hessian)
