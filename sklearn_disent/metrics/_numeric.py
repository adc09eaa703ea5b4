"""Numerics that several rooms share: standardized columns, distances, Gaussian densities."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Rows that are worked on at once: 64 kB of numbers per column.
CACHED_ROWS = 2**13
LOG_2PI = np.log(2 * np.pi)


def standardize(X: NDArray, weight: Floats | None = None, ddof: int = 0) -> Floats:
    """Columns (or one column) shifted to mean 0 and scaled to variance 1; a constant one to 0.

    `ddof` is that of the standard deviation. Whether a column is constant is judged by its range:
    rounding leaves the variance of equal numbers above zero.
    """
    # Column by column in memory: sums along short rows take many times as long.
    columns = np.array(X.T, dtype=np.float64, order="C")
    low, high = columns.min(axis=-1), columns.max(axis=-1)
    mean = _means(columns, weight)
    columns -= mean[..., None]
    # The largest magnitude goes first: the squares of tiny values would vanish.
    varied = high > low
    with np.errstate(over="ignore"):  # numpy 1 says so of the smallest numbers, where nothing does
        columns /= np.where(varied, np.maximum(high - mean, mean - low), 1.0)[..., None]
    n = columns.shape[-1]
    variance = _mean_squares(columns, weight) * (n / (n - ddof))
    columns /= np.where(varied, np.sqrt(variance), 1.0)[..., None]
    columns[~varied] = 0.0
    return columns.T


def _means(columns: NDArray, weight: Floats | None) -> NDArray:
    # numpy.average refuses arrays without columns.
    return columns.mean(axis=-1) if weight is None else columns @ (weight / weight.sum())


def _mean_squares(columns: NDArray, weight: Floats | None) -> NDArray:
    share = np.ones(columns.shape[-1]) if weight is None else weight
    # Column by column: the squares of all of them would be another large array.
    squares = [column @ (column * share) for column in np.atleast_2d(columns)]
    return np.reshape(squares, columns.shape[:-1]) / share.sum()


def column_range(X: NDArray) -> NDArray:
    """``np.ptp(X, axis=0)``, faster where the rows are short."""
    ends = []
    for rows in row_parts(len(X)):
        columns = np.ascontiguousarray(X[rows].T)
        ends.append((columns.max(axis=-1), columns.min(axis=-1)))
    high, low = zip(*ends)
    return np.max(high, axis=0) - np.min(low, axis=0)


def column_variance(X: Floats, weight: Floats | None = None) -> Floats:
    """Variance of every column, relative to the square of the largest number of all."""
    largest = max(np.abs([X.min(), X.max()]).max(), np.finfo(float).tiny)
    share = np.ones(len(X)) if weight is None else weight
    # The largest magnitude goes first: the squares of tiny values would vanish.
    mean = sum(share[rows] @ (X[rows] / largest) for rows in row_parts(len(X))) / share.sum()
    squares = (share[rows] @ (X[rows] / largest - mean) ** 2 for rows in row_parts(len(X)))
    return sum(squares) / share.sum()


def row_parts(n_rows: int) -> Iterator[slice]:
    """All rows in parts that stay in the cache, so that many cost no more each than few."""
    return (slice(start, start + CACHED_ROWS) for start in range(0, n_rows, CACHED_ROWS))


def gaussian_entropy(std: NDArray) -> NDArray:
    """Differential entropy of Gaussians on the line, in nats."""
    return np.log(std) + 0.5 * (LOG_2PI + 1)


def gaussian_kl(mean: NDArray, log_variance: NDArray) -> NDArray:
    """Kullback-Leibler divergence of Gaussians on the line from N(0, 1), in nats."""
    return 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1)


def standard_normal_log_density(z: NDArray) -> NDArray:
    """Log-density of the standard normal distribution, element by element."""
    return -0.5 * (z**2 + LOG_2PI)


def by_class(classes: NDArray) -> NDArray[np.intp]:
    """``np.argsort(classes, kind="stable")`` of classes 0, 1, ...

    Of short integers NumPy sorts the digits, which takes a time that is linear in the rows, and a
    tenth of that of comparing.
    """
    is_short = classes.size and classes.min() >= 0 and classes.max() < 2**16
    return np.argsort(classes.astype(np.uint16) if is_short else classes, kind="stable")


def compressed(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """``np.unique(labels, return_inverse=True)[1]`` of labels from 0 on, in the same order.

    By counting where there are not many more numbers than rows: a time that is linear in the rows.
    """
    n_labels = int(labels.max(initial=-1)) + 1
    if n_labels > 4 * len(labels):
        return np.unique(labels, return_inverse=True)[1]
    is_there = np.zeros(n_labels, dtype=np.int64)
    is_there[labels] = 1
    return (np.cumsum(is_there) - 1)[labels]


def squared_distances(one: Floats, two: Floats) -> Floats:
    """Squared Euclidean distances by one matrix product, faster than SciPy's `cdist`.

    The error is about 1e-15 of the squared size of the points, so that equal points need not have
    distance zero.
    """
    left, right = distance_factors(one, two)
    return clip_below_zero(left @ right.T)


def clip_below_zero(matrix: Floats) -> Floats:
    """In place, ``np.maximum(matrix, 0.0)``: with a row of zeros, NumPy takes half the time."""
    return np.maximum(matrix, np.zeros(matrix.shape[-1]), out=matrix)


def distance_factors(one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """Two matrices: the product of the first and the transposed second are squared distances."""
    middle = two.mean(axis=0)
    one, two = one - middle, two - middle
    left = np.column_stack([one, (one**2).sum(axis=1), np.ones(len(one))])
    return left, np.column_stack([-2 * two, np.ones(len(two)), (two**2).sum(axis=1)])
