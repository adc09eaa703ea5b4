"""What every data set shares: the factor grid, the choice of rows, the Bunch."""

import importlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.random import sample_without_replacement

# Classes to keep, by factor name.
Selection = Mapping[str, int | ArrayLike]
# (height, width), also as a list.
ImageShape = Annotated[tuple[int, int], tuple, list]


@dataclass(frozen=True)
class FactorGrid:
    """A full grid of factors of variation in row-major order (the last factor varies fastest).

    Parameters
    ----------
    values : dict of str to array of shape (size,)
        For each factor, in order, the value that each of its classes stands for.
    """

    values: Mapping[str, NDArray[Any]]

    @property
    def names(self) -> list[str]:
        return list(self.values)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values.values())

    def __len__(self) -> int:
        return math.prod(self.sizes)

    def to_classes(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Classes (n, n_factors) of row-major indices."""
        return np.stack(np.unravel_index(indices, self.sizes), axis=1).astype(np.int64, copy=False)

    def to_indices(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row-major indices of classes (n, n_factors)."""
        columns = tuple(np.asarray(classes).T)
        return np.ravel_multi_index(columns, self.sizes).astype(np.int64, copy=False)

    def subgrid(self, factors: Selection | None) -> NDArray[np.int64]:
        """Sorted row-major indices of the part of the grid that `factors` selects.

        Parameters
        ----------
        factors : dict of str to int or array-like of int, or None
            Classes to keep, by factor name; a factor that is not named keeps all of its classes.
        """
        kept = check_factor_selection(factors, self.names, self.sizes)
        indices = np.zeros(1, dtype=np.int64)
        for size, classes in zip(self.sizes, kept):
            indices = np.add.outer(indices * size, classes).ravel()
        return indices

    def select(
        self,
        n_samples: int | None = None,
        indices: ArrayLike | None = None,
        factors: Selection | None = None,
        *,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> NDArray[np.int64]:
        """Row-major indices of the rows a caller asked for, in the order they are returned.

        Parameters
        ----------
        n_samples : int or None
            Rows to draw without replacement from the grid, or from the part `factors` keeps.
        indices : array-like of int or None
            Rows to take, in this order; excludes `n_samples` and `factors`.
        factors : dict or None
            See `subgrid`.
        shuffle : bool
            Whether drawn rows come in random or in row-major order. `indices` keep theirs.
        random_state : int, RandomState instance or None
            Source of the draw and of the order.
        """
        if indices is not None:
            if n_samples is not None or factors is not None:
                other = "n_samples" if n_samples is not None else "factors"
                raise ValueError(
                    f"indices already says which rows to take, so {other} must be None. "
                    "Pass one or the other."
                )
            return check_indices(indices, len(self))
        pool = self.subgrid(factors)
        return _draw_from(pool, n_samples, factors is not None, shuffle, random_state)


def _draw_from(
    pool: NDArray[np.int64], n_samples: int | None, is_part: bool, shuffle: bool, random_state: Any
) -> NDArray[np.int64]:
    """Draw from sorted row numbers without replacement, or take them all."""
    rng = check_random_state(random_state)
    if n_samples is None:
        return rng.permutation(pool) if shuffle else pool
    if n_samples > len(pool):
        where = "the part that factors selects" if is_part else "the data set"
        raise ValueError(
            f"n_samples={n_samples} rows cannot be drawn without replacement from {where}, "
            f"which has {len(pool)}. Ask for at most {len(pool)}, or for None to get them all."
        )
    drawn = sample_without_replacement(len(pool), n_samples, random_state=rng)
    # The reservoir that sample_without_replacement may use is not in random order.
    return pool[rng.permutation(drawn) if shuffle else np.sort(drawn)]


def choose_rows(
    target: NDArray[np.int64],
    values: Mapping[str, NDArray[Any]],
    n_samples: int | None = None,
    *,
    factors: Selection | None = None,
    shuffle: bool = False,
    random_state: Any = None,
) -> NDArray[np.int64]:
    """Rows of a set that is not a full grid, by their classes; as `FactorGrid.select`."""
    sizes = [len(v) for v in values.values()]
    keep = np.ones(len(target), dtype=bool)
    for column, classes in zip(target.T, check_factor_selection(factors, list(values), sizes)):
        keep &= np.isin(column, classes)
    if not keep.any():
        raise ValueError(
            f"factors={factors!r} selects no row: the data set does not hold this combination. "
            "Name fewer factors, or keep more classes of them."
        )
    pool = np.flatnonzero(keep)
    return _draw_from(pool, n_samples, factors is not None, shuffle, random_state)


def import_extra(module: str, package: str, why: str) -> ModuleType:
    """Import a module of the optional dependencies, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{package} is needed {why}. Install it with `pip install sklearn-disent[data]`."
        ) from error


def data_folder(data_home: str | PathLike[str] | None) -> Path:
    """Folder of this package's files below scikit-learn's data folder; it may not exist yet."""
    if data_home is None:
        data_home = os.environ.get("SCIKIT_LEARN_DATA", Path.home() / "scikit_learn_data")
    return Path(data_home).expanduser() / "sklearn_disent"


def check_indices(indices: ArrayLike, n_total: int) -> NDArray[np.int64]:
    """Validate a one-dimensional list of row numbers in [0, n_total)."""
    array = np.asarray(indices)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"indices must be a non-empty 1D list of row numbers, got shape {array.shape}. "
            "Use None for all rows, np.ravel(indices) for an array of more dimensions."
        )
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"indices must be integers, got dtype {array.dtype}. "
            "Use np.flatnonzero(mask) to turn a mask into indices."
        )
    outside = (array < 0) | (array >= n_total)
    if outside.any():
        raise ValueError(
            f"indices must lie in [0, {n_total - 1}], got {array[outside][0]} "
            f"at position {int(np.argmax(outside))}. The data set has {n_total} rows."
        )
    return array.astype(np.int64)


def check_factor_selection(
    factors: Selection | None, names: Sequence[str], sizes: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Sorted classes to keep for each factor, from a selection by factor name."""
    factors = {} if factors is None else factors
    unknown = [name for name in factors if name not in names]
    if unknown:
        raise ValueError(f"Unknown factor {unknown[0]!r}. The factors are {', '.join(names)}.")
    kept = []
    for name, size in zip(names, sizes):
        classes = np.atleast_1d(np.asarray(factors.get(name, np.arange(size))))
        if classes.ndim != 1 or classes.size == 0 or classes.dtype.kind not in "iu":
            raise ValueError(
                f"factors[{name!r}] must be an integer class or a non-empty list of them, "
                f"got {factors[name]!r}. Leave the factor out to keep all of its classes."
            )
        if classes.min() < 0 or classes.max() >= size:
            bad = classes[(classes < 0) | (classes >= size)][0]
            raise ValueError(
                f"factors[{name!r}] must hold classes in [0, {size - 1}], got {bad}. Classes are "
                "counted from 0; factor_values tells what they stand for."
            )
        unique = np.unique(classes).astype(np.int64)
        if len(unique) < len(classes):
            raise ValueError(
                f"factors[{name!r}] must name each class once, got {factors[name]!r}. "
                "Use indices to repeat rows."
            )
        kept.append(unique)
    return kept


def make_bunch(
    images: NDArray[Any],
    target: NDArray[Any],
    values: Mapping[str, NDArray[Any]],
    descr: str,
    **fields: Any,
) -> Bunch:
    """Build the Bunch that every image data set of this package returns."""
    return Bunch(
        images=images,
        data=images.reshape(len(images), -1),
        target=target,
        factor_names=list(values),
        factor_sizes=tuple(len(v) for v in values.values()),
        factor_values=dict(values),
        DESCR=descr,
        **fields,
    )


def finish(
    images: NDArray[Any],
    chosen: NDArray[np.int64],
    grid: FactorGrid,
    descr: str,
    return_X_y: bool,
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """What images on a grid are returned as."""
    target = grid.to_classes(chosen)
    if return_X_y:
        return images, target
    return make_bunch(images, target, grid.values, descr, indices=chosen)
