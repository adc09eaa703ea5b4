"""Forests of fully grown trees on a single code, in closed form.

A tree that is grown to the end on one feature predicts the nearest of the rows that it has drawn.
Of n rows drawn with replacement out of n, none is among the s nearest with probability
F(s) = ((n - s) / n)^n: the nearest one drawn is the k-th nearest of all with probability
F(k - 1) - F(k). The mean over all possible trees is that weighted mean, without a single tree. A
test compares with ``RandomForestClassifier(max_depth=None)``, whose trees are a sample of them.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["bagged_mean"]

# The probability that none of so many nearest values is drawn is below exp(-28) = 7e-13.
_N_NEAREST = 28
# Numbers in the largest array.
_CHUNK = 4_000_000


def bagged_mean(code: NDArray, targets: NDArray, new_code: NDArray) -> NDArray[np.float64]:
    """Expected prediction of a fully grown tree on bootstrapped rows.

    Parameters
    ----------
    code : ndarray of shape (n,)
        The feature.
    targets : ndarray of shape (n, n_targets)
        Numbers, or indicators of classes.
    new_code : ndarray of shape (n_new,)
        The feature of the rows to predict.

    Returns
    -------
    mean : ndarray of shape (n_new, n_targets)
        Means of the targets, or shares of the classes.
    """
    values, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    means = np.zeros((len(values), targets.shape[1]))
    np.add.at(means, place, targets)
    means /= counts[:, None]
    width = 2 * _N_NEAREST
    n_rows = max(_CHUNK // (width * max(targets.shape[1], 1)), 1)
    parts = [
        _of_nearest(values, counts, means, new_code[start : start + n_rows])
        for start in range(0, len(new_code), n_rows)
    ]
    return np.concatenate(parts)


def _of_nearest(
    values: NDArray, counts: NDArray[np.int64], means: NDArray[np.float64], new_code: NDArray
) -> NDArray[np.float64]:
    n = counts.sum()
    first = np.searchsorted(values, new_code) - _N_NEAREST
    near = first[:, None] + np.arange(2 * _N_NEAREST)
    is_there = (near >= 0) & (near < len(values))
    near = np.clip(near, 0, len(values) - 1)
    distance = np.where(is_there, np.abs(values[near] - new_code[:, None]), np.inf)
    # Stable: of two values equally far, trees choose the smaller, which comes first.
    order = np.argsort(distance, axis=1, kind="stable")
    near = np.take_along_axis(near, order, axis=1)
    drawn = np.where(np.take_along_axis(is_there, order, axis=1), counts[near], 0)
    nearer = np.cumsum(drawn, axis=1)
    missed = ((n - nearer) / n) ** n
    weight = -np.diff(missed, axis=1, prepend=1.0)
    # Rounding and the values beyond: weights sum to 1.
    weight /= weight.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijk->ik", weight, means[near])
