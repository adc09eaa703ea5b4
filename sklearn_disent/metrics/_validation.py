"""What every metric asks of its input, in one place.

Names shared by the whole room:

- ``factors`` (n_samples, n_factors) are classes; ``codes`` (n_samples, n_codes) are numbers.
- ``n_bins`` and ``strategy`` bin the codes; ``factor_bins`` bins the continuous factors, which
  are refused when it is None.
- ``nan_policy`` is "raise" or "omit", as in scipy.stats. Metrics that treat each factor by itself
  leave an unlabelled factor out for that factor alone; the others drop its row.
- NaN and None are unlabelled, and so is -1 in a column of whole numbers that are otherwise >= 0:
  the same meaning as in ``fit``.
- ``sample_weight`` are frequencies: weight 2 counts the row twice.
- ``average`` is "macro" (one float) or None (one value per factor or per code; nan where a
  factor or code was left out, always with a warning).
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

from .._arrays import as_array, as_numbers, is_missing
from .._params import FactorBins, NanPolicy, validated
from ..exceptions import DegenerateScoreWarning
from ._numeric import column_range, column_variance
from ._sharing import shared

__all__ = ["check_factors_codes"]

# Where warnings go that one caller wants to sum up, such as those of many resamples.
_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)

# Squares and ranges of larger codes and factors overflow float64.
_LARGEST = 1e150
# Weights are frequencies: products of smaller or larger ones leave float64.
_WEIGHTS = (1e-50, 1e50)

# What the warning says where there is nothing to score. `calibrated_report` looks for it.
BY_DEFINITION = "the score is 0 by definition"

_DROP_ROWS = "Use nan_policy='omit' to drop these rows."

# One factor: values, which of them are missing, and the kind that the data type declares.
Column = tuple[NDArray, NDArray[np.bool_], str | None]


class Checked(NamedTuple):
    """Validated input of a metric."""

    factors: NDArray[np.int64]
    """(n, K), each column 0..n_classes-1 in the order of its sorted values."""
    codes: NDArray[np.float64]
    """(n, D)."""
    sample_weight: NDArray[np.float64] | None
    """(n,), all positive: rows of weight zero are gone."""
    values: NDArray[np.float64]
    """(n, K): the factors as numbers; the class index where they are not numbers."""
    kinds: tuple[str, ...]
    """Per factor "categorical" (strings, bools, categories), "ordinal" (integers, ordered
    categories) or "continuous"."""
    rows: NDArray[np.intp]
    """(n,): which rows of the input these are, in ascending order."""
    n_given: int
    """Number of rows of the input."""
    parts: tuple["Checked", ...] = ()
    """Each factor with the rows that have it, if these differ between factors; else empty. Where
    there are parts, rows above are those with any factor, and factors that they lack are -1."""

    @property
    def varied(self) -> NDArray[np.bool_]:
        """Which factors take more than one value."""
        parts = self.parts or (self,)
        return np.concatenate([column_range(part.factors) > 0 for part in parts])


@validated
def check_factors_codes(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Validate factors and codes and give them the form all metrics work on.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        Classes: integers, integer-valued floats, booleans, strings or categories, one column per
        factor. Other floats are continuous, and refused unless `factor_bins` is given.
        NumPy arrays, lists, pandas and polars frames and tensors are accepted.
    codes : array-like of shape (n_samples, n_codes)
        The representation, finite numbers.
    factor_bins : int, "unique" or None, default=None
        How continuous factors become classes: that many bins of equal width, or every distinct
        value a class of its own. Factors that are classes already are left as they are.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row. A label of -1 is missing: in a column
        of whole numbers without other negative ones it means unlabelled, as it does in ``fit``.
        Infinite values are always errors.

    Returns
    -------
    factors : ndarray of shape (n_samples, n_factors), int64
        Each column holds 0..n_classes-1, in the order of the sorted values.
    codes : ndarray of shape (n_samples, n_codes), float64
        The codes of the same rows.

    See Also
    --------
    relevance_matrix : How strongly each code depends on each factor.

    Examples
    --------
    >>> from sklearn_disent.metrics import check_factors_codes
    >>> factors, codes = check_factors_codes([["a", 3], ["b", 5], ["a", 5]], [[1], [2], [4]])
    >>> factors
    array([[0, 0],
           [1, 1],
           [0, 1]])
    >>> codes.dtype
    dtype('float64')
    """
    checked = check_data(factors, codes, factor_bins, nan_policy)
    return checked.factors, checked.codes


def check_data(
    factors: ArrayLike,
    codes: ArrayLike,
    factor_bins: int | str | None = None,
    nan_policy: str = "raise",
    sample_weight: ArrayLike | None = None,
    continuous: bool = False,
    per_factor: bool = False,
) -> Checked:
    """Validate as `check_factors_codes` does, and keep weights, values, kinds and row numbers.

    With `continuous=True` continuous factors pass: `kinds` says which they are. With
    `per_factor=True` and ``nan_policy="omit"``, a row that lacks one factor serves the others: the
    caller looks at `parts`.
    """
    # Where nothing may be missing the flag changes nothing, and the result is shared all the same.
    by_factor = per_factor and nan_policy == "omit"
    return _check_data(
        factors, codes, factor_bins, nan_policy, sample_weight, continuous, by_factor
    )


@shared
def _check_data(
    factors: ArrayLike,
    codes: ArrayLike,
    factor_bins: int | str | None,
    nan_policy: str,
    sample_weight: ArrayLike | None,
    continuous: bool,
    per_factor: bool,
) -> Checked:
    columns = _as_columns(factors)
    Z = check_codes(codes, nan_policy="omit")
    _check_rows(len(columns[0][0]), len(columns), Z)
    weight = _as_weight(sample_weight, len(Z))
    missing = _missing(columns, Z, nan_policy)
    rest = (factor_bins, continuous)
    known: NDArray[np.bool_] = np.logical_not(missing.any(axis=1))
    if not per_factor or (known != missing.all(axis=1)).all():
        return _complete(columns, Z, weight, known, *rest)
    return _by_factor(columns, Z, weight, missing, *rest)


def _check_rows(n_rows: int, n_factors: int, Z: NDArray[np.float64]) -> None:
    """One row per sample, in both arrays. Elsewhere samples are columns, which is noticed."""
    n_codes = Z.shape[1]
    turned = n_factors == n_codes > 2 * max(n_rows, len(Z))
    way_out = (
        f" Both have {n_codes} columns: if these are the samples, as in disentanglement_lib, pass "
        "factors.T and codes.T."
        if turned
        else ""
    )
    if n_rows != len(Z):
        raise ValueError(
            "factors and codes must have one row per sample, got "
            f"{n_rows} rows of factors and {len(Z)} rows of codes.{way_out}"
        )
    if turned:
        warn_degenerate(f"factors and codes have {n_rows} rows, one per sample.{way_out}")


def check_factors(
    factors: ArrayLike,
    factor_bins: int | str | None = None,
    nan_policy: str = "raise",
    continuous: bool = False,
) -> Checked:
    """Validate factors alone, as `check_data` does; the codes of the result have no columns."""
    columns = _as_columns(factors)
    no_codes = np.empty((len(columns[0][0]), 0))
    missing = _missing(columns, no_codes, nan_policy)
    known: NDArray[np.bool_] = np.logical_not(missing.any(axis=1))
    return _complete(columns, no_codes, None, known, factor_bins, continuous)


def _missing(columns: list[Column], Z: NDArray[np.float64], nan_policy: str) -> NDArray[np.bool_]:
    """Which entries (n, K) of the factors are of no use, since they or the codes are missing."""
    missing: NDArray[np.bool_] = np.column_stack([missing for _, missing, _ in columns])
    if nan_policy == "raise":
        _refuse_unlabelled(columns, missing)
        _refuse_missing(np.isnan(Z), "codes", _DROP_ROWS)
        return missing
    return np.logical_or(missing, np.isnan(Z).any(axis=1, keepdims=True))


def _complete(
    columns: list[Column],
    Z: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    keep: NDArray[np.bool_],
    factor_bins: int | str | None,
    continuous: bool,
    factor: int | None = None,
) -> Checked:
    """The rows to keep, in which nothing is missing; `factor` is the number of a lone column."""
    if weight is not None:
        keep = keep & (weight > 0)
    rows, n_given = np.flatnonzero(keep), len(Z)
    if len(rows) < n_given:
        Z, weight = Z[rows], None if weight is None else weight[rows]
        columns = [(values[rows], missing[rows], kind) for values, missing, kind in columns]
    _refuse_too_few(len(Z), factor)
    classes, numbers, kinds = [], [], []
    for k, (values, _, declared) in enumerate(columns, start=factor or 0):
        column, number, kind = _encode_factor(values, declared, k)
        if kind == "continuous" and not continuous:
            if factor_bins is None:
                _refuse_continuous(column, Z, k)
            column = _bin_factor(number, column, factor_bins)
        classes.append(column)
        numbers.append(number)
        kinds.append(kind)
    # Each factor is read by itself: its values are neighbours in memory.
    factors, values = np.stack(classes).T, np.stack(numbers).T
    return Checked(factors, Z, weight, values, tuple(kinds), rows, n_given)


def _by_factor(
    columns: list[Column],
    Z: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    missing: NDArray[np.bool_],
    factor_bins: int | str | None,
    continuous: bool,
) -> Checked:
    """Every factor with the rows that have it."""
    parts = tuple(
        _complete([column], Z, weight, ~missing[:, k], factor_bins, continuous, factor=k)
        for k, column in enumerate(columns)
    )
    rows = np.unique(np.concatenate([part.rows for part in parts]))
    factors = np.full((len(rows), len(parts)), -1, dtype=np.int64)
    values = np.full(factors.shape, np.nan)
    for k, part in enumerate(parts):
        own = np.searchsorted(rows, part.rows)
        factors[own, k], values[own, k] = part.factors[:, 0], part.values[:, 0]
    kinds = tuple(part.kinds[0] for part in parts)
    weight = None if weight is None else weight[rows]
    return Checked(factors, Z[rows], weight, values, kinds, rows, len(Z), parts)


def check_codes(codes: ArrayLike, *, nan_policy: str = "raise") -> NDArray[np.float64]:
    """Validate codes alone; "omit" leaves missing values in place for the caller to drop."""
    if issparse(codes):
        raise TypeError("codes must be dense, got a sparse matrix. Use codes.toarray().")
    array = as_numbers(codes, "codes")
    if array.ndim != 2:
        hint = " Use codes[:, None] for one code." if array.ndim == 1 else ""
        raise ValueError(f"codes must be 2D (n_samples, n_codes), got shape {array.shape}.{hint}")
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"codes must be real numbers, got dtype {array.dtype}. Convert them, for instance "
            "with np.asarray(codes, dtype=float)."
        )
    if array.size == 0:
        raise ValueError(f"codes are empty, got shape {array.shape}.")
    with np.errstate(over="ignore"):  # of longer floats: infinite ones are refused below
        array = np.ascontiguousarray(array, dtype=np.float64)
    # Extreme values tell at once that all is well: nan, too, is passed on by them.
    largest = max(-array.min(), array.max())
    if np.isnan(largest):
        missing = np.isnan(array)
        if nan_policy == "raise":
            _refuse_missing(missing, "codes", _DROP_ROWS)
        largest = 0.0 if missing.all() else np.nanmax(np.abs(array))
    if np.isinf(largest):
        column = int(np.flatnonzero(np.isinf(array).any(axis=0))[0])
        raise ValueError(
            f"codes must be finite, got an infinite value in code {column}. Drop or replace it."
        )
    _refuse_huge(largest, "codes")
    return array


def _refuse_huge(largest: float, name: str) -> None:
    if largest > _LARGEST:
        raise ValueError(
            f"{name} must stay within {_LARGEST:g}, got {largest:g}, whose square overflows. "
            "Rescale them."
        )


@shared
def complete_codes(codes: ArrayLike, nan_policy: str) -> NDArray[np.float64]:
    """Validate codes alone, and drop their rows with missing values or refuse them."""
    array = check_codes(codes, nan_policy=nan_policy)
    missing = np.isnan(array)
    if missing.any():
        array = array[~missing.any(axis=1)]
    _refuse_too_few(len(array))
    return array


def check_same_rows(X: ArrayLike, y: ArrayLike) -> None:
    """Refuse observations and factors of different length."""
    n_rows, n_factor_rows = (_num_samples(array) for array in (X, y))
    if n_rows != n_factor_rows:
        raise ValueError(
            f"X and y must have the same number of rows, got {n_rows} and {n_factor_rows}. Pass "
            "the factors of these very observations."
        )


def refuse_negative(array: NDArray[np.float64], name: str, hint: str) -> None:
    """Refuse an array whose entries are not all finite and >= 0."""
    wrong = array[~(np.isfinite(array) & (array >= 0))]
    if len(wrong):
        raise ValueError(f"{name} must be finite and >= 0, got {wrong[0]}. {hint}")


def varied_factors(factors: NDArray | Checked, *, warn: bool = True) -> NDArray[np.bool_]:
    """Which factors take more than one value; by default with one warning about the others."""
    varied = factors.varied if isinstance(factors, Checked) else column_range(factors) > 0
    if warn:
        warn_single_valued(varied)
    return varied


def warn_single_valued(varied: NDArray[np.bool_]) -> None:
    """Warn once about the factors that do not vary, if there are any."""
    if not varied.all():
        warn_degenerate(
            f"factors {np.flatnonzero(~varied).tolist()} have a single value and are left out of "
            "the score. If this is a fold of a cross-validation, shuffle it: KFold(shuffle=True)."
        )


def live_codes(codes: NDArray, *, warn: bool = True) -> NDArray[np.bool_]:
    """Which codes vary at all; by default with one warning about the others.

    Judged by the range: the variance of a constant 0.3 is 1e-33 by rounding, not zero.
    """
    live = _varying(codes)
    if warn and not live.all():
        warn_degenerate(
            f"codes {np.flatnonzero(~live).tolist()} are constant and are left out of the score."
        )
    return live


@shared
def _varying(codes: NDArray) -> NDArray[np.bool_]:
    return column_range(codes) > 0


def active_codes(data: Checked, min_variance: float) -> NDArray[np.bool_]:
    """Which codes vary by more than a share of the largest variance."""
    variance = column_variance(data.codes, data.sample_weight)
    # The range shows which codes are constant: their variance is zero only up to rounding.
    return _varying(data.codes) & (variance > min_variance * variance.max())


def warn_if_constant(codes: NDArray, consequence: str) -> None:
    """Warn if no code varies at all, and say what follows for the score."""
    if not live_codes(codes, warn=False).any():
        warn_degenerate(f"All codes are constant: {consequence}.")


@contextmanager
def collecting_warnings() -> Iterator[list[str]]:
    """Until the end of the block, messages of `warn_degenerate` are listed instead of shown."""
    messages: list[str] = []
    token = _COLLECTED.set(messages)
    try:
        yield messages
    finally:
        _COLLECTED.reset(token)


def warn_degenerate(message: str) -> None:
    """Warn with DegenerateScoreWarning, on the line of the user's code that called the package."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(message)
        return
    skipped = (__name__.partition(".")[0], "sklearn")
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in skipped:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DegenerateScoreWarning, stacklevel=level)


def _as_columns(factors: Any) -> list[Column]:
    if issparse(factors):
        raise TypeError("factors must be dense, got a sparse matrix. Use factors.toarray().")
    if hasattr(factors, "iloc") and hasattr(factors, "columns"):
        columns = [factors.iloc[:, k] for k in range(factors.shape[1])]
        shape = factors.shape
    elif hasattr(factors, "get_columns"):
        columns, shape = list(factors.get_columns()), factors.shape
    else:
        array = as_array(factors, "factors")
        if isinstance(factors, (list, tuple)) and array.dtype.kind not in "biuf":
            # [["a", 0.5]] would otherwise turn the number into a string, hence into a class.
            array = np.asarray(factors, dtype=object)
        columns, shape = list(array.T) if array.ndim == 2 else [], array.shape
    if len(shape) != 2:
        hint = " Use factors[:, None] for one factor." if len(shape) == 1 else ""
        raise ValueError(f"factors must be 2D (n_samples, n_factors), got shape {shape}.{hint}")
    if 0 in shape:
        raise ValueError(f"factors are empty, got shape {shape}.")
    read = [_as_column(column, k) for k, column in enumerate(columns)]
    return [(v, missing | _is_unlabelled(v, missing), kind) for v, missing, kind in read]


def _is_unlabelled(values: NDArray, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which entries are -1 in the sense of `fit`: the only negative one among whole numbers."""
    nowhere = np.zeros(len(values), dtype=bool)
    known = values[~missing]
    if values.dtype.kind not in "if" or not known.size or known.min() != -1:
        return nowhere
    if (known != np.rint(known)).any():
        return nowhere
    return (values == -1) & ~missing


def _as_column(column: Any, k: int) -> Column:
    if getattr(getattr(column, "dtype", None), "name", "") == "category":
        codes = np.asarray(column.cat.codes)
        return codes, codes < 0, "ordinal" if column.cat.ordered else "categorical"
    values = as_array(column, f"factor {k}")
    if values.dtype.kind == "f":
        return values, np.isnan(values), None
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        present = [value for value in values if not is_missing(value)]
        plain = np.array(present) if present else np.zeros(0)
        mixed = plain.dtype.kind == "U" and not all(isinstance(v, str) for v in present)
        if mixed or plain.dtype.kind not in "biufU" or plain.ndim != 1:
            types = sorted({type(value).__name__ for value in present})
            raise TypeError(
                f"factor {k} must hold numbers only or strings only, got values of type "
                f"{', '.join(types)}. Convert it to one type."
            )
        filled = np.zeros(len(values), dtype=plain.dtype)
        filled[~missing] = plain
        return filled, missing, None
    if values.dtype.kind not in "biuSUT":
        raise TypeError(
            f"factor {k} must hold integers, floats, booleans, strings or categories, got dtype "
            f"{values.dtype}."
        )
    return values, np.zeros(len(values), dtype=bool), None


def _refuse_unlabelled(columns: list[Column], missing: NDArray[np.bool_]) -> None:
    for k, (values, _, declared) in enumerate(columns):
        # The -1 of a category is a missing value of pandas.
        is_number = declared is None and values.dtype.kind in "if"
        n_rows = int((missing[:, k] & (values == -1)).sum()) if is_number else 0
        if n_rows:
            raise ValueError(
                f"factor {k} is -1 in {n_rows} of {len(values)} rows, and -1 means unlabelled, to "
                "metrics as to models. Use nan_policy='omit' to leave these labels out. If -1 is a "
                "class, number the classes from 0: factors + 1."
            )
    _refuse_missing(missing, "factors", "Use nan_policy='omit' to leave them out.")


def _refuse_missing(missing: NDArray[np.bool_], name: str, hint: str) -> None:
    if missing.any():
        rows = int(missing.any(axis=1).sum())
        first = int(np.flatnonzero(missing.any(axis=0))[0])
        raise ValueError(
            f"{name} must not contain NaN or missing values, got some in {rows} of "
            f"{len(missing)} rows (first in column {first}). {hint}"
        )


def _refuse_too_few(n_samples: int, factor: int | None = None) -> None:
    if n_samples < 2:
        of = "" if factor is None else f" of factor {factor}"
        raise ValueError(
            f"At least 2 samples without missing values{of} are needed, got {n_samples}. Pass "
            "more rows."
        )


def _as_weight(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weight = as_numbers(sample_weight, "sample_weight")
    if weight.dtype.kind not in "biuf":
        raise TypeError(
            f"sample_weight must be real numbers, got dtype {weight.dtype}. Convert them, for "
            "instance with np.asarray(sample_weight, dtype=float)."
        )
    weight = weight.astype(np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per sample, got shape "
            f"{weight.shape}."
        )
    refuse_negative(weight, "sample_weight", "Use weight 0 to leave a sample out.")
    outside = weight[(weight > 0) & ((weight < _WEIGHTS[0]) | (weight > _WEIGHTS[1]))]
    if len(outside):
        raise ValueError(
            f"sample_weight counts how often a sample occurs: 0, or from {_WEIGHTS[0]:g} to "
            f"{_WEIGHTS[1]:g}, got {outside[0]:g}. Rescale the weights, and use 0 to leave a "
            "sample out."
        )
    return weight


def _encode_factor(
    values: NDArray, declared: str | None, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], str]:
    """Class indices, numbers and kind of one factor."""
    if values.dtype.kind in "SUT":
        classes = np.unique(values, return_inverse=True)[1]
        return classes, classes.astype(np.float64), "categorical"
    number = values.astype(np.float64)
    if values.dtype.kind == "f":
        if np.isinf(number).any():
            raise ValueError(
                f"factors must be finite, got an infinite value in factor {k}. Drop or replace it."
            )
        _refuse_huge(np.abs(number).max(), "factors")
        if (number != np.rint(number)).any():
            return np.unique(number, return_inverse=True)[1], number, "continuous"
    kind = declared or ("categorical" if values.dtype.kind == "b" else "ordinal")
    # Beyond 2**53 floats no longer distinguish integers: sort the values as they came.
    if np.abs(number).max() >= 2**53 or np.ptp(number) > 4 * len(number) + 1000:
        return np.unique(values, return_inverse=True)[1], number, kind
    # Class indices by counting: an order of magnitude faster than sorting.
    offset = (number - number.min()).astype(np.int64)
    index = np.cumsum(np.bincount(offset) > 0) - 1
    return index[offset], number, kind


def _refuse_continuous(unique: NDArray[np.int64], Z: NDArray[np.float64], k: int) -> NoReturn:
    swapped = Z.size and (np.rint(Z) == Z).all()
    hint = (
        " The codes are all whole numbers: if these are the factors, pass them first, as in "
        "mig_score(factors, codes)."
        if swapped
        else ""
    )
    raise ValueError(
        f"factor {k} is continuous ({unique.max() + 1} distinct values in {len(unique)} samples), "
        "but this metric needs classes. Bin it with factor_bins=10, for instance (n_bins is for "
        f"the codes only), or take every distinct value as a class with factor_bins='unique'.{hint}"
    )


def _bin_factor(
    number: NDArray[np.float64], unique: NDArray[np.int64], factor_bins: int | str
) -> NDArray[np.int64]:
    if isinstance(factor_bins, str):
        return unique
    binned = np.digitize(number, np.linspace(number.min(), number.max(), factor_bins + 1)[1:-1])
    return np.unique(binned, return_inverse=True)[1]
