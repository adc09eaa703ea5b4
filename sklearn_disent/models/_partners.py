"""Pairs of observations that share some factors: given by the user, or drawn from labels."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from .._arrays import as_array, is_missing
from .._lazy import FlatRows, same_values
from ._data import as_rows, check_lazy

_TRIES = 3  # choices of factors for a row before one factor more may change


def read_partners(X_pair: Any, rows: NDArray) -> NDArray:
    """Rows of the partner observations, which must be like those of X in every respect."""
    partners, _ = as_rows(X_pair)
    validate = partial(check_array, dtype="numeric", input_name="X_pair")
    if isinstance(partners, FlatRows):
        partners = check_lazy(partners, validate, "X_pair")
    else:
        partners = validate(partners)
    if partners.dtype == bool:
        partners = partners.view(np.uint8)
    if len(partners) != len(rows):
        raise ValueError(
            f"X_pair must hold one partner for each of the {len(rows)} observations in X, got "
            f"{len(partners)}."
        )
    if partners.shape[1] != rows.shape[1]:
        raise ValueError(
            f"X_pair must have observations of {rows.shape[1]} values, as X has, got "
            f"{partners.shape[1]}."
        )
    if (partners.dtype == np.uint8) != (rows.dtype == np.uint8):
        raise ValueError(
            f"X and X_pair must be of the same type, since uint8 is scaled: got {rows.dtype} and "
            f"{partners.dtype}."
        )
    if same_values(partners, rows):
        raise ValueError(
            "X_pair equals X: an observation is not a partner of itself. Pass observations that "
            "share some factors with those in X, not all."
        )
    return partners


class DrawnPartners:
    """Partners from among the rows themselves, found by labels; indexed as their array would be.

    A partner differs in the factors chosen for it, or in some of them, and in no other. Rows of
    which some label is unknown (NaN, or -1 among integers), and rows that no other row matches,
    are partners of themselves.
    """

    def __init__(self, rows: NDArray, y: ArrayLike, n_changed: int | None) -> None:
        self.rows = rows
        self.classes, self.known = _read_classes(y, len(rows))
        n_factors = self.classes.shape[1]
        if n_changed is not None and n_changed > max(0, n_factors - 1):
            raise ValueError(
                f"n_changed must leave a factor that a pair shares: at most {n_factors - 1} of "
                f"{n_factors} factors, got {n_changed}."
            )
        self.n_changed = n_changed
        self.full = _combine(self.classes)
        self.draw(np.random.default_rng(0))
        if self.n_unpaired == len(rows):
            raise ValueError(
                "No pairs can be drawn from y: no two rows with known labels share the value of a "
                "factor and differ in another. Bin continuous factors, or pass X_pair."
            )

    @property
    def n_unpaired(self) -> int:
        """Number of rows without a partner."""
        return int((self.partners == np.arange(len(self.rows))).sum())

    def __getitem__(self, indices: Any) -> NDArray:
        return self.rows[self.partners[indices]]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw new partners."""
        n_rows, n_factors = self.classes.shape
        self.partners = np.arange(n_rows)
        most = max(0, n_factors - 1)
        if self.n_changed is not None:
            n_changed = np.full(n_rows, self.n_changed)
        elif most:
            n_changed = rng.integers(1, most, endpoint=True, size=n_rows)
        else:
            n_changed = np.zeros(n_rows, dtype=int)
        alone = np.flatnonzero(self.known)
        for attempt in range(_TRIES * n_factors):
            ranks = rng.random((n_rows, n_factors)).argsort(1).argsort(1)
            changed = ranks < np.minimum(n_changed + attempt // _TRIES, most)[:, None]
            patterns, which = np.unique(changed[alone], axis=0, return_inverse=True)
            for index, pattern in enumerate(patterns):
                self._pair(alone[which.ravel() == index], pattern, rng)
            alone = alone[self.partners[alone] == alone]
            if not len(alone):
                break

    def _pair(self, wanting: NDArray, changed: NDArray, rng: np.random.Generator) -> None:
        """Give these rows partners that differ from them in some of the changed factors."""
        members = np.flatnonzero(self.known)
        kept = _combine(self.classes[members][:, ~changed])
        full = self.full[members]
        order = np.lexsort((full, kept))
        # Within its group of equal kept factors, a row may choose all but those equal to it in
        # every factor, which lie side by side; where nothing is to change, all but itself.
        start, size = _runs(kept[order])
        own_start, own_size = (
            _runs(full[order]) if changed.any() else (np.arange(len(order)), np.ones_like(size))
        )
        place = np.empty(len(self.rows), dtype=np.int64)
        place[members[order]] = np.arange(len(order))
        at = place[wanting]
        n_choices = size[at] - own_size[at]
        wanting, at, n_choices = (part[n_choices > 0] for part in (wanting, at, n_choices))
        offset = own_start[at] + own_size[at] - start[at] + rng.integers(0, n_choices)
        self.partners[wanting] = members[order[start[at] + offset % size[at]]]


def _read_classes(y: ArrayLike, n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Class indices (n, n_factors), and which rows have all labels."""
    labels = as_array(y, "y")
    labels = labels[:, None] if labels.ndim == 1 else labels
    if labels.ndim != 2 or labels.shape[1] == 0:
        raise ValueError(f"y must be 2D (n_samples, n_factors), got shape {labels.shape}.")
    if len(labels) != n_rows:
        raise ValueError(f"y must have one row per observation, {n_rows}, got {len(labels)}.")
    known = np.ones(n_rows, dtype=bool)
    if labels.dtype.kind == "f":
        known = ~np.isnan(labels).any(1)
    elif labels.dtype.kind == "i":
        known = (labels != -1).all(1)
    elif labels.dtype.kind == "O":
        missing = [any(map(is_missing, row)) for row in labels.tolist()]
        known = ~np.array(missing, dtype=bool)
        labels = np.where(known[:, None], labels, "").astype(str)
    columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    return np.column_stack(columns), known


def _combine(classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number per row, equal where all columns are."""
    combined = np.zeros(len(classes), dtype=np.int64)
    for column in classes.T:
        combined = combined * (column.max(initial=0) + 1) + column
        if combined.max(initial=0) > 2**31:  # before the next column makes it overflow
            combined = np.unique(combined, return_inverse=True)[1]
    return combined


def _runs(values: NDArray) -> tuple[NDArray, NDArray]:
    """Start and length of the run of equal values that each entry lies in."""
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    lengths = np.diff(starts, append=len(values))
    return np.repeat(starts, lengths), np.repeat(lengths, lengths)
