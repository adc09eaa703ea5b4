"""Effects of latents on decoded images: judged by classifiers, or by true counterfactuals."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from ..._lazy import LazyRows
from .._validation import (
    Checked,
    check_data,
    check_same_rows,
    live_codes,
    varied_factors,
    warn_degenerate,
)
from ..intervention._robustness import code_sets, robustness_for
from ..intervention._sets import Choice, check_rho, warn_of_empty
from ._judges import Judges, as_intensities, labels_of, true_columns

_CHUNK = 1024  # most rows decoded at a time
_CHUNK_VALUES = 2**22  # most values decoded at a time
_BLOCK_BYTES = 2**25  # of images encoded at a time, where they are a part of the rows
# Decoded uint8 images are within [0, 1], or, through the scalers of a Pipeline, up to 255 again.
_LARGEST_INTENSITY = 2.0


class Selection(NamedTuple):
    """How the latents of a factor are chosen."""

    choice: Choice
    q: float = 0.99
    adjust: str | None = None
    confounders: ArrayLike | None = None


class Effects(NamedTuple):
    """Effects of moving latents on what is decoded."""

    own: list[NDArray[np.float64]]
    """Per factor, of moving its own latents: one value per sample."""
    others: list[NDArray[np.float64]]
    """Per factor, of moving all other latents."""
    used: NDArray[np.bool_]
    """(n_factors,), which of them can be scored."""
    ceiling: NDArray[np.float64]
    """(n_factors,), what the mean of the own effects can be: of real images, or all latents."""
    accuracy: NDArray[np.float64]
    """(n_factors,), of the judges on the real images; nan without judges."""
    chance: NDArray[np.float64]
    """(n_factors,), that of the most frequent value."""
    sets: NDArray[np.bool_]
    """(n_factors, n_codes), the latents of each factor."""


def judged_effects(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    judges: Judges,
    selection: Selection,
    baseline: str,
    *,
    strict: bool,
    rows: NDArray[np.intp] | None = None,
) -> Effects:
    """Change of the probability of the true value as latents move to their baseline.

    With `rows`, only these are scored; images are fetched a part at a time, not copied as a whole.
    """
    check_same_rows(X, y)
    codes = _encode(estimator, X, rows)
    y = y if rows is None else _safe_indexing(y, rows)
    checked = check_data(y, codes)
    _check_choice(selection, checked)
    used = varied_factors(checked.factors)
    if len(judges) != len(used):
        raise ValueError(
            f"classifiers must be one per factor, {len(used)}, got {len(judges)}. Pass a list with "
            "one fitted classifier for each column of y."
        )
    columns = [true_columns(judges, labels_of(y, k), k, strict) for k in range(len(used))]
    used &= [bool((column >= 0).any()) for column in columns]
    which = np.flatnonzero(used).tolist()
    sets = latent_sets(checked, selection)
    target = baseline_of(checked.codes, baseline)
    decode = Decoder(estimator, X)
    verdicts = [_Verdict() for _ in columns]
    for part in _chunks(len(codes), decode.n_features):
        here = checked.codes[part]
        images = decode.observed(part if rows is None else rows[part])
        real = judges.all_probabilities(images, which)
        present = judges.all_probabilities(decode(here), which)
        for k in which:
            seen = np.flatnonzero(columns[k][part] >= 0)
            place = np.arange(len(seen)), columns[k][part][seen]
            verdicts[k].add_real(real[k][seen], place)
            for effect, moved in ((verdicts[k].own, sets[k]), (verdicts[k].others, ~sets[k])):
                if not len(seen) or not moved.any():
                    effect.append(np.zeros(len(seen)))
                    continue
                changed = np.where(moved, target[part], here)[seen]
                after = judges.probabilities(decode(changed), k)[place]
                effect.append(np.abs(present[k][seen][place] - after))
    chance = [_most_frequent(c) if u else np.nan for c, u in zip(columns, used)]
    return _summed_up(verdicts, used, np.array(chance), sets)


class _Verdict:
    """What is said about one factor, a part of the samples at a time."""

    def __init__(self) -> None:
        self.own: list[NDArray] = []
        self.others: list[NDArray] = []
        self.sure: list[NDArray] = []
        self.right: list[NDArray] = []

    def add_real(self, probabilities: NDArray, place: tuple[NDArray, NDArray]) -> None:
        """Of real images: the probability of the true value, and whether it is the largest."""
        self.sure.append(probabilities[place])
        if len(probabilities):
            self.right.append(probabilities.argmax(axis=1) == place[1])


def _summed_up(
    verdicts: list[_Verdict], used: NDArray[np.bool_], chance: NDArray, sets: NDArray[np.bool_]
) -> Effects:
    return Effects(
        [_join(verdict.own) for verdict in verdicts],
        [_join(verdict.others) for verdict in verdicts],
        used,
        np.array([_mean(_join(verdict.sure)) for verdict in verdicts]),
        np.array([_mean(_join(verdict.right)) for verdict in verdicts]),
        chance,
        sets,
    )


def twin_effects(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    X_twin: ArrayLike,
    y_twin: ArrayLike,
    selection: Selection,
) -> Effects:
    """Share of the true change that latents make as they move to those of an image's twin."""
    _check_lengths(np.shape(y)[0], X=X, y_twin=y_twin, X_twin=X_twin)
    codes, codes_twin = (np.asarray(estimator.transform(part)) for part in (X, X_twin))
    checked = check_data(y, codes)
    _check_choice(selection, checked)
    n_factors = checked.factors.shape[1]
    changed = changed_factors(y, y_twin, n_factors)
    sets = latent_sets(checked, selection)
    decode, decode_twin = Decoder(estimator, X), Decoder(estimator, X_twin)
    effects = np.zeros((3, len(codes)))
    visible = np.zeros(len(codes), dtype=bool)
    for part in _chunks(len(codes), decode.n_features):
        true_change = decode_twin.observed(part) - np.asarray(decode.observed(part), dtype=float)
        present = decode(checked.codes[part])
        own = sets[np.maximum(changed[part], 0)]
        visible[part] = (true_change != 0).any(axis=1)
        for effect, moved in zip(effects, (own, ~own, np.ones_like(own))):
            made = decode(np.where(moved, codes_twin[part], checked.codes[part])) - present
            effect[part] = explained_change(true_change, made)
    members = [np.flatnonzero((changed == k) & visible) for k in range(n_factors)]
    has_twins = np.array([len(rows) > 0 for rows in members])
    used = varied_factors(checked.factors) & has_twins
    if not has_twins.all():
        warn_degenerate(
            f"No twin differs visibly in factors {np.flatnonzero(~has_twins).tolist()} alone: they "
            "are left out of the score."
        )
    unknown = np.full(n_factors, np.nan)
    return Effects(
        [effects[0][rows] for rows in members],
        [effects[1][rows] for rows in members],
        used,
        np.array([_mean(effects[2][rows]) for rows in members]),
        unknown,
        unknown,
        sets,
    )


def _check_lengths(n_rows: int, **arrays: ArrayLike) -> None:
    for name, given in arrays.items():
        if np.shape(given)[0] != n_rows:
            raise ValueError(
                f"{name} must have one row per row of y, {n_rows}, got {np.shape(given)[0]}. Pass "
                "the twins of these very samples."
            )


def explained_change(true: NDArray, made: NDArray) -> NDArray[np.float64]:
    """Share of each row's true change that a change made explains: 1 - |true - made|^2 / |true|^2.

    A change that is worse than none counts as 0, and so does every change where there is no true
    one.
    """
    size = np.square(true).sum(axis=1)
    left = np.square(true - made).sum(axis=1)
    return np.clip(1.0 - left / np.where(size > 0, size, np.inf), 0.0, 1.0) * (size > 0)


def changed_factors(y: ArrayLike, y_twin: ArrayLike, n_factors: int) -> NDArray[np.intp]:
    """The one factor in which each row differs from its twin, -1 where there is none."""
    if np.shape(y_twin) != np.shape(y):
        raise ValueError(f"y_twin must have the shape of y, {np.shape(y)}, got {np.shape(y_twin)}.")
    differs = np.column_stack([labels_of(y, k) != labels_of(y_twin, k) for k in range(n_factors)])
    several = np.flatnonzero(differs.sum(axis=1) > 1)
    if len(several):
        raise ValueError(
            f"A twin must differ in one factor, but that of sample {several[0]} differs in factors "
            f"{np.flatnonzero(differs[several[0]]).tolist()}. Intervene on one factor at a time."
        )
    return np.where(differs.any(axis=1), differs.argmax(axis=1), -1)


def latent_sets(checked: Checked, selection: Selection) -> NDArray[np.bool_]:
    """Which latents (n_factors, n_codes) are those of a factor, as in unconfoundedness."""
    if not live_codes(checked.codes, warn=False).any():
        warn_degenerate("All codes are constant: they generate nothing.")
    matrix = robustness_for(checked, selection.q, selection.adjust, selection.confounders)
    sets = code_sets(checked, matrix, selection.choice)
    if selection.choice.sets != "top":
        varied = varied_factors(checked.factors, warn=False)
        warn_of_empty(sets[varied], "they are generated by other latents alone")
    return sets


def baseline_of(codes: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """Where each latent of each sample is moved to."""
    if kind == "zero":
        return np.zeros_like(codes)
    if kind == "mean":
        return np.broadcast_to(codes.mean(axis=0), codes.shape)
    low, high = codes.min(axis=0), codes.max(axis=0)
    return np.where(high - codes >= codes - low, high, low)


class Decoder:
    """Decodes codes to rows in the units of the observations that classifiers were fitted on."""

    def __init__(self, estimator: Any, X: ArrayLike):
        self.estimator = estimator
        self.values = X if isinstance(X, (np.ndarray, LazyRows)) else np.asarray(X)
        self.is_uint8 = getattr(X, "dtype", None) == np.uint8 and np.max(X) > 1
        self.n_features = int(np.prod(np.shape(X)[1:]))

    def __call__(self, codes: NDArray[np.float64]) -> NDArray:
        decoded = np.asarray(self.estimator.inverse_transform(codes))
        rows = decoded.reshape(len(decoded), -1)
        if rows.shape[1] != self.n_features:
            raise ValueError(
                f"{type(self.estimator).__name__} decodes to {rows.shape[1]} values, but the "
                f"observations have {self.n_features}. Pass observations as it decodes them."
            )
        if self.is_uint8 and np.abs(rows).max() > _LARGEST_INTENSITY:
            rows = rows / 255.0
        return rows

    def observed(self, rows: Any) -> NDArray:
        """Observations of these rows, in the same units."""
        values = np.asarray(self.values[rows])
        return as_intensities(values.reshape(len(values), -1), 255 if self.is_uint8 else 1)


def _check_choice(selection: Selection, checked: Checked) -> None:
    if selection.choice.sets != "threshold":
        check_rho(selection.choice.rho, checked)


def _encode(estimator: Any, X: ArrayLike, rows: NDArray[np.intp] | None) -> NDArray:
    """Codes of all rows, or of some, which are copied a block at a time if they are large."""
    if rows is None:
        return np.asarray(estimator.transform(X))
    if not isinstance(X, (np.ndarray, LazyRows)):
        return np.asarray(estimator.transform(_safe_indexing(X, rows)))
    size = max(1, _BLOCK_BYTES // max(1, X[0].nbytes))
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return np.concatenate([np.asarray(estimator.transform(X[block])) for block in blocks])


def _chunks(n_rows: int, n_features: int) -> Iterator[slice]:
    size = max(32, min(_CHUNK, _CHUNK_VALUES // max(1, n_features)))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _most_frequent(columns: NDArray[np.intp]) -> float:
    """Share of the most frequent value among those that a classifier has seen."""
    seen = columns[columns >= 0]
    return float(np.bincount(seen).max() / len(seen)) if len(seen) else np.nan


def _mean(values: NDArray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _join(parts: list[NDArray]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.zeros(0)
