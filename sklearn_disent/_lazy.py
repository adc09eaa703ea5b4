"""Rows that stay where they are, on disk, until they are used."""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_BLOCK_BYTES = 2**22  # read at a time, where all rows are looked at


class LazyRows:
    """Rows of a large array that are read when they are used, and not before.

    A fold of a cross-validation is a copy of its rows: of a memory map of 10 GB, some 10 GB of
    memory. Wrapped in `LazyRows`, a selection of rows is a list of their numbers, and models of
    this package read a batch at a time. It is passed as `X`, or as `X_pair`.

    Parameters
    ----------
    array : array-like with `shape`, `dtype` and indexing by a list of rows
        A memory map, such as ``np.load(path, mmap_mode="r")``, or a data set of h5py or zarr.
    rows : array-like of int of shape (n_rows,) or None, default=None
        Which rows these are; None means all.

    Attributes
    ----------
    shape : tuple of int
        As that of an array.
    dtype : dtype
        Type of the values.

    See Also
    --------
    fetch_mpi3d : Returns its images as a memory map.

    Notes
    -----
    Indexing by rows, ``lazy[rows]`` or ``lazy[2:7]``, gives another `LazyRows`, and
    ``np.asarray(lazy)`` reads everything. Hence functions that do not know it work, at the cost of
    the memory: scikit-learn's own estimators are such. Reading rows in random order from a disk
    that is not an SSD is slow; a memory map that the system has cached is as fast as an array.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import LazyRows
    >>> images = LazyRows(np.zeros((100, 8, 8), dtype=np.uint8))
    >>> images[np.arange(0, 100, 2)].shape
    (50, 8, 8)
    >>> np.asarray(images[:3]).shape
    (3, 8, 8)
    """

    def __init__(self, array: Any, rows: Any = None) -> None:
        for name in ("shape", "dtype", "__getitem__"):
            if not hasattr(array, name):
                raise TypeError(
                    f"array must have shape, dtype and indexing, as a memory map has, got "
                    f"{type(array).__name__}. Use np.load(path, mmap_mode='r')."
                )
        if len(array.shape) < 2:
            raise ValueError(f"array must have rows, two dimensions or more, got {array.shape}.")
        self.array = array
        self.rows = None if rows is None else np.asarray(rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and the shape of one."""
        n_rows = self.array.shape[0] if self.rows is None else len(self.rows)
        return (int(n_rows), *self.array.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return np.dtype(self.array.dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"LazyRows(shape={self.shape}, dtype={self.dtype})"

    def __iter__(self) -> Iterator[NDArray]:
        return (self.read(np.array([i]))[0] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        # scikit-learn asks for [rows, ...], torch and others for [rows].
        if isinstance(key, tuple):
            key, *rest = key
            if any(part is not Ellipsis for part in rest):
                return np.asarray(self[key])[(slice(None), *rest)]
        if np.ndim(key) == 0 and not isinstance(key, slice):
            return self.read(np.array([range(len(self))[key]]))[0]
        numbers = np.arange(len(self)) if self.rows is None else self.rows
        return LazyRows(self.array, numbers[key])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("LazyRows are read from where they are: there is nothing to share.")
        return self.read(np.arange(len(self))).astype(dtype or self.dtype, copy=False)

    def read(self, numbers: Any) -> NDArray:
        """These rows as an array.

        Parameters
        ----------
        numbers : slice or array-like of int
            Which of these rows, in this order.

        Returns
        -------
        rows : ndarray
        """
        numbers = np.arange(len(self))[numbers] if isinstance(numbers, slice) else numbers
        places = np.asarray(numbers) if self.rows is None else self.rows[numbers]
        if isinstance(self.array, np.ndarray):
            return np.asarray(self.array[places])
        # h5py takes rows in ascending order, each once.
        unique, inverse = np.unique(places, return_inverse=True)
        return np.asarray(self.array[unique])[inverse]

    def blocks(self) -> Iterator[NDArray]:
        """All rows, a part at a time.

        Yields
        ------
        rows : ndarray
        """
        row_bytes = self.dtype.itemsize * prod(self.shape[1:])
        size = max(1, _BLOCK_BYTES // max(1, row_bytes))
        for start in range(0, len(self), size):
            yield self.read(np.arange(start, min(start + size, len(self))))

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """Smallest value of all; nan if one is nan.

        Parameters
        ----------
        *args, **kwargs
            Not used; NumPy's own functions pass some.

        Returns
        -------
        value : scalar
        """
        return np.min([block.min() for block in self.blocks()])

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """Largest value of all; nan if one is nan.

        Parameters
        ----------
        *args, **kwargs
            Not used; NumPy's own functions pass some.

        Returns
        -------
        value : scalar
        """
        return np.max([block.max() for block in self.blocks()])


class FlatRows(LazyRows):
    """The same as one flat row per observation, read at once when it is indexed."""

    @property
    def shape(self) -> tuple[int, ...]:
        n_rows, *shape = super().shape
        return n_rows, prod(shape)

    def __getitem__(self, key: Any) -> NDArray:
        return self.read(key)

    def read(self, numbers: Any) -> NDArray:
        rows = super().read(numbers)
        return rows.reshape(len(rows), -1)


def same_values(first: Any, second: Any) -> bool:
    """Whether two arrays of flat rows are equal, compared a part at a time."""
    if tuple(first.shape) != tuple(second.shape):
        return False
    size = max(1, _BLOCK_BYTES // max(1, first.shape[1] * first.dtype.itemsize))
    return all(
        np.array_equal(first[start : start + size], second[start : start + size])
        for start in range(0, len(first), size)
    )
