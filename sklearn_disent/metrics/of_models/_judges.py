"""Judges of images: classifiers of the factors, what they are worth, and what they have seen."""

import hashlib
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from ..._arrays import as_numbers
from ..._lazy import LazyRows
from .._validation import check_factors, check_same_rows, warn_degenerate

# Of the way from chance to certainty, what a judge must have come to be worth listening to.
_LEAST_SKILL = 0.25
# Share of rows that are equal to one a judge was fitted on, from which on it is told.
_LARGEST_OVERLAP = 0.01


class Judges:
    """One classifier per factor, or one classifier of all factors, behind one face.

    Parameters
    ----------
    classifiers : list of fitted classifiers, or one fitted classifier of several outputs
        A list has None where a factor cannot be judged.
    """

    def __init__(self, classifiers: Any) -> None:
        self.given = classifiers
        self.is_list = isinstance(classifiers, (list, tuple))
        for k, judge in enumerate(classifiers if self.is_list else ()):
            if judge is not None and not hasattr(judge, "classes_"):
                raise ValueError(
                    f"A list of classifiers holds one fitted classifier per factor, but that of "
                    f"factor {k} has no classes_: {judge!r}. Fit it, or pass a single classifier, "
                    "of which a copy is fitted for each factor."
                )

    def __len__(self) -> int:
        return len(self.given if self.is_list else self.given.classes_)

    def classes(self, k: int) -> list[Any]:
        """Values of a factor, in the order of their probabilities."""
        if not self.is_list:
            return self.given.classes_[k].tolist()
        return [] if self.given[k] is None else self.given[k].classes_.tolist()

    def probabilities(self, rows: NDArray, k: int) -> NDArray[np.float64]:
        """(n, n_classes) of one factor."""
        if self.is_list:
            found = self.given[k].predict_proba(rows)
        elif hasattr(self.given, "factor_proba"):
            found = self.given.factor_proba(rows, k)
        else:
            found = self.given.predict_proba(rows)[k]
        return np.asarray(found, dtype=np.float64)

    def all_probabilities(self, rows: NDArray, which: list[int]) -> dict[int, NDArray]:
        """(n, n_classes) of these factors; a classifier of all factors is asked once."""
        if self.is_list:
            return {k: self.probabilities(rows, k) for k in which}
        found = self.given.predict_proba(rows)
        return {k: np.asarray(found[k], dtype=np.float64) for k in which}

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Accuracy of each factor on rows held out from fitting; nan where nobody measured it."""
        return self._measured("accuracy_")

    @property
    def chance(self) -> NDArray[np.float64]:
        """Accuracy, on the same rows, of the most frequent value; nan where nobody measured it."""
        return self._measured("chance_")

    def _measured(self, name: str) -> NDArray[np.float64]:
        unknown = np.full(len(self), np.nan)
        return unknown if self.is_list else np.asarray(getattr(self.given, name, unknown))


def is_fitted(classifiers: Any) -> bool:
    """Whether these are judges already: a list, or a classifier of several outputs, fitted."""
    if isinstance(classifiers, (list, tuple)):
        return True
    return isinstance(getattr(classifiers, "classes_", None), list)


def fit_judges(
    X: ArrayLike,
    y: ArrayLike,
    classifier: BaseEstimator | None,
    image_shape: tuple[int, ...] | None,
    random_state: int | RandomState | None,
    rows: NDArray[np.intp] | None = None,
) -> Judges:
    """Fit judges on some rows of X, or on all.

    One network for all factors by default; else a copy of the classifier for each factor, None
    where the factor has a single value.
    """
    check_same_rows(X, y)
    n_factors = check_factors(y).factors.shape[1]
    columns = [labels_of(y, k) for k in range(n_factors)]
    if classifier is None:
        # Not at the top: metrics load without torch.
        from ...models import FactorClassifier

        classifier = FactorClassifier(image_shape=image_shape, random_state=random_state)
    if hasattr(classifier, "fit_factors"):
        judge = clone(classifier)
        if not isinstance(X, LazyRows):
            X = _observations(X)
        if judge.image_shape is None:
            judge.set_params(image_shape=image_shape)
        return Judges(judge.fit_factors(X, columns, rows))
    values = _observations(X)
    values = as_intensities(values if rows is None else values[rows])
    judges = []
    for column in columns:
        labels = column if rows is None else column[rows]
        several = len(set(labels.tolist())) > 1
        judges.append(clone(classifier).fit(values, labels) if several else None)
    return Judges(judges)


def _observations(X: ArrayLike) -> NDArray:
    """Observations as rows of numbers."""
    values = as_numbers(X, "X")
    if values.ndim < 2:
        raise ValueError(f"X must have shape (n_samples, ...), got shape {values.shape}.")
    return values.reshape(len(values), -1)


def as_intensities(values: NDArray, largest: float | None = None) -> NDArray:
    """uint8 images as numbers in [0, 1], unless they are 0 and 1 only."""
    if values.dtype != np.uint8:
        return values
    largest = values.max() if largest is None else largest
    return values.astype(np.float32) / 255.0 if largest > 1 else values


def true_columns(judges: Judges, labels: NDArray, k: int, strict: bool) -> NDArray[np.intp]:
    """Column of the probabilities that holds the true value, -1 where there is none."""
    known = {value: i for i, value in enumerate(judges.classes(k))}
    columns = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    unseen = sorted({str(label) for label in labels[columns < 0].tolist()})
    if unseen and strict:
        raise ValueError(
            f"The classifier of factor {k} must know all its values, but its classes_ lack "
            f"{', '.join(unseen)}. Fit it on data that have them."
        )
    if unseen:
        warn_degenerate(
            f"The classifier of factor {k} has not seen the values {', '.join(unseen)}: "
            f"{int((columns < 0).sum())} samples are left out for this factor. Fit it on more data."
        )
    return columns


def labels_of(y: ArrayLike, k: int) -> NDArray:
    """Values of one factor as they were given."""
    return np.asarray(y.iloc[:, k] if hasattr(y, "iloc") else np.asarray(y)[:, k])


def warn_near_chance(accuracy: NDArray[np.float64], chance: NDArray[np.float64]) -> None:
    """Warn of judges that are hardly better than the most frequent value; nan is not judged."""
    with np.errstate(invalid="ignore", divide="ignore"):
        poor = (accuracy - chance) / (1 - chance) < _LEAST_SKILL
    if poor.any():
        listed = ", ".join(
            f"factor {k} {accuracy[k]:.2f} (chance {chance[k]:.2f})" for k in np.flatnonzero(poor)
        )
        warn_degenerate(
            f"The classifiers of some factors are hardly better than chance: accuracy of {listed}. "
            "What they say about generated images means little. Fit them on more data, or pass "
            "better ones."
        )


def row_hashes(X: ArrayLike) -> NDArray[np.uint64]:
    """A number for every row, equal for rows that are equal."""
    values: Any = X if isinstance(X, LazyRows) else np.asarray(X)
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in values)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def hashes_seen_once(X: ArrayLike) -> NDArray[np.uint64]:
    """Hashes of the rows that no other row equals: to meet such a one again is no accident."""
    hashes, counts = np.unique(row_hashes(X), return_counts=True)
    return hashes[counts == 1]


def warn_if_seen(X: ArrayLike, seen: NDArray[np.uint64]) -> None:
    """Warn if rows of X are among those that judges were fitted on."""
    if not len(seen):
        return
    hashes = row_hashes(X)
    n_seen = int(np.isin(hashes, seen).sum())
    if n_seen > _LARGEST_OVERLAP * len(hashes):
        warn_degenerate(
            f"The classifiers were fitted on {n_seen} of the {len(hashes)} samples that are "
            "to be scored: they are surer of these than of others, and the score is too high. Fit "
            "them on other data."
        )
