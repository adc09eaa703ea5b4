"""Rows drawn at random for scores whose cost grows too fast to take a million of them."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from .._arrays import plain_tensor
from ._sharing import shared


def few_rows(
    arrays: tuple[Any, ...],
    max_samples: int | None,
    random_state: int | RandomState | None,
    split: Any = None,
) -> tuple[Any, ...]:
    """The same random rows of every array that is not None, in their order; all if they are few.

    A given `split` holds row numbers, and says itself which rows there are.
    """
    lengths = {_num_samples(array) for array in arrays if array is not None}
    # Different lengths are for the validation to refuse.
    if max_samples is None or split is not None or len(lengths) > 1 or max(lengths) <= max_samples:
        return arrays
    rows = _drawn(lengths.pop(), max_samples, random_state)
    return tuple(None if array is None else rows_of(array, rows) for array in arrays)


@shared
def _drawn(
    n_samples: int, max_samples: int, random_state: int | RandomState | None
) -> NDArray[np.int64]:
    rng = check_random_state(random_state)
    return np.sort(rng.choice(n_samples, max_samples, replace=False))


@shared
def rows_of(array: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of anything that metrics take."""
    # Frames and lists keep their types of columns; anything else is an array at heart.
    if isinstance(array, list | tuple | np.ma.MaskedArray) or hasattr(array, "columns"):
        return _safe_indexing(array, rows)
    plain = np.asarray(plain_tensor(array))
    return plain[rows] if plain.ndim else array  # what is not an array is refused later
