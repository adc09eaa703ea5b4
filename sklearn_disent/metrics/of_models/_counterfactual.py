"""Counterfactual generativeness: do the latents of a factor, and only they, generate it?"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from ..._params import (
    Average,
    HasMethods,
    OpenShare,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    averaged,
    validated,
)
from .._aggregation import Score, average_of
from .._estimators import unwrap_estimator
from .._validation import (
    Checked,
    check_data,
    check_factors,
    check_same_rows,
    live_codes,
    varied_factors,
    warn_degenerate,
)
from ..intervention._robustness import check_rho, robustness_of, top_codes

__all__ = ["CounterfactualGenerativenessScorer", "counterfactual_generativeness_score"]

_CHUNK = 1024  # rows decoded at a time
# Decoded uint8 images are within [0, 1], or, through the scalers of a Pipeline, up to 255 again.
_LARGEST_INTENSITY = 2.0

# Fitted classifiers, one per factor; or one to be fitted, of which each factor gets a copy.
Judges = Annotated[Any, HasMethods(["fit", "predict_proba"]), list, tuple]
Baseline = Literal["farthest", "zero", "mean"]
Reading = Literal["individual", "average", "signed"]


@averaged
def counterfactual_generativeness_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    classifiers: Judges | None = None,
    rho: PositiveInt = 1,
    baseline: Baseline = "farthest",
    reading: Reading = "individual",
    q: PositiveShare = 0.99,
    holdout: OpenShare = 0.5,
    average: Average | None = "macro",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Counterfactual generativeness: do the latents of a factor, and only they, generate it?

    Every factor i has a set :math:`I` of `rho` latents, those most robust to it. An image is
    decoded as it is, with these latents moved to a baseline, and with all others moved. A
    classifier gives the probability of the true value of the factor, which should vanish in the
    first case and stay in the second. Between 0 and 1, higher is better.

    .. math:: \mathrm{CG} = \frac1K \sum_i \frac1n \sum_x \Bigl|
        \bigl|p_x - p_x^{I}\bigr| - \bigl|p_x - p_x^{\setminus I}\bigr| \Bigr|

    Parameters
    ----------
    estimator : estimator with `transform` and `inverse_transform`
        Fitted: a VAE, PCA, a Pipeline or a search over such.
    X : array-like of shape (n_samples, ...)
        Observations.
    y : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    classifiers : classifier, list of fitted classifiers or None, default=None
        What judges decoded images, by `predict_proba` of flattened rows: a list of fitted
        classifiers, one per factor, or one that is not fitted, of which each factor gets a copy.
        None takes a small convolutional network.
    rho : int, default=1
        Number of latents per factor, at most the number of latents.
    baseline : {"farthest", "zero", "mean"}, default="farthest"
        Where a latent is moved to: the smallest or largest value it has for any sample, whichever
        is farther; 0; or its mean.
    reading : {"individual", "average", "signed"}, default="individual"
        Of the two effects, the mean of the absolute differences, the paper's equation 3; the
        absolute value of the mean difference, equation 2; or the mean difference itself, 0 if it
        is negative.
    q : float, default=0.99
        Quantile of the deviations behind the robustness, see :func:`irs_score`.
    holdout : float, default=0.5
        Share of the samples on which classifiers are fitted; the others are scored. Not used if
        `classifiers` are fitted.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    random_state : int, RandomState instance or None, default=None
        Determines the split of the samples and the default classifiers.

    Returns
    -------
    generativeness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    CounterfactualGenerativenessScorer : The same as a scorer, with classifiers fitted once.
    unconfoundedness_score : Do different factors rest on different latents?

    Notes
    -----
    The first two readings ignore the sign of the difference: a factor that only the *other*
    latents generate scores 1 as well. "signed" distinguishes the two. If a factor has all latents,
    there are no others to move, and moving them has no effect.

    Images reach classifiers as rows; those of a uint8 X as intensities in [0, 1]. Samples with a
    value of a factor that the classifier has never seen are left out for that factor, with a
    warning, if it was fitted here; a classifier that was passed fitted must know all values.
    Factors with a single value are left out with a warning. If all codes are constant they generate
    nothing and the score is 0, with a warning.

    The published code selects other latents than the `rho` most robust ones for `rho` above 1.

    References
    ----------
    Reddy, Godfrey L and Balasubramanian (2022). On causally disentangled representations. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_disent.metrics import counterfactual_generativeness_score
    >>> y = np.random.default_rng(0).integers(2, size=(200, 2))
    >>> X = y * [3.0, 1.0]
    >>> counterfactual_generativeness_score(
    ...     PCA().fit(X), X, y, classifiers=DecisionTreeClassifier(), random_state=0
    ... )
    1.0
    """
    if y is None:
        raise ValueError(
            "counterfactual_generativeness_score needs the factors, got y=None. Pass y."
        )
    check_same_rows(X, y)
    estimator, X = _reach(estimator, X)
    if isinstance(classifiers, (list, tuple)):
        judges = list(classifiers)
    else:
        to_fit, to_score = train_test_split(
            np.arange(np.shape(X)[0]), train_size=holdout, random_state=random_state
        )
        apart = _safe_indexing(X, to_fit), _safe_indexing(y, to_fit)
        shape = _image_shape(X, estimator)
        judges = _fit_judges(*apart, classifiers, shape, random_state)
        X, y = _safe_indexing(X, to_score), _safe_indexing(y, to_score)
    strict = isinstance(classifiers, (list, tuple))
    effects = _effects(estimator, X, y, judges, rho, baseline, q, strict=strict)
    return _aggregate(effects, reading, average)


class CounterfactualGenerativenessScorer:
    """Scorer of counterfactual generativeness, whose classifiers are fitted once, on other data.

    Classifiers are fitted when it is made, on data that a search must not contain; they judge
    what every model of the search generates. Pass it as `scoring` to scikit-learn's model
    selection.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...)
        Observations to fit classifiers on.
    y : array-like of shape (n_samples, n_factors)
        Their factors, as classes.
    classifier : classifier, list of fitted classifiers or None, default=None
        Of which each factor gets a copy; None takes a small convolutional network. A list, such
        as `classifiers` of another scorer, is used as it is.
    rho : int, default=1
        Number of latents of each factor.
    baseline : {"farthest", "zero", "mean"}, default="farthest"
        The value that latents are set to, as in :func:`counterfactual_generativeness_score`.
    reading : {"individual", "average", "signed"}, default="individual"
        Where the absolute value stands, as in :func:`counterfactual_generativeness_score`.
    q : float, default=0.99
        Quantile of the deviations by which latents are chosen, as in :func:`irs_score`.
    random_state : int, RandomState instance or None, default=None
        Determines the default classifiers.

    Attributes
    ----------
    classifiers : list of fitted classifiers
        One per factor.

    See Also
    --------
    counterfactual_generativeness_score : Without further data: splits the samples at hand.

    Notes
    -----
    Called as ``scorer(estimator, X, y)``, where X must not be among the data above. A Pipeline must
    be able to decode to the units of X: all its steps need `inverse_transform`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_disent.metrics import CounterfactualGenerativenessScorer
    >>> y = np.random.default_rng(0).integers(2, size=(300, 2))
    >>> X = y * [3.0, 1.0]
    >>> scorer = CounterfactualGenerativenessScorer(X[200:], y[200:], DecisionTreeClassifier())
    >>> search = GridSearchCV(PCA(), {"n_components": [1, 2]}, scoring=scorer, cv=2)
    >>> search.fit(X[:200], y[:200]).best_params_
    {'n_components': 2}
    """

    @validated
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classifier: Judges | None = None,
        *,
        rho: PositiveInt = 1,
        baseline: Baseline = "farthest",
        reading: Reading = "individual",
        q: PositiveShare = 0.99,
        random_state: RandomStateLike = None,
    ) -> None:
        self.options: dict[str, Any] = {"rho": rho, "baseline": baseline, "q": q}
        self.reading = reading
        if isinstance(classifier, (list, tuple)):
            self.classifiers = list(classifier)
        else:
            shape = _image_shape(X, None)
            self.classifiers = _fit_judges(X, y, classifier, shape, random_state)

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : estimator with `transform` and `inverse_transform`
            Fitted.
        X : array-like of shape (n_samples, ...)
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.

        Returns
        -------
        score : float
        """
        if not _decodes(estimator):
            raise TypeError(_cannot_decode(estimator))
        effects = _effects(estimator, X, y, self.classifiers, **self.options, strict=False)
        return float(_aggregate(effects, self.reading, "macro"))

    def __repr__(self) -> str:
        options = {**self.options, "reading": self.reading}
        listed = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"CounterfactualGenerativenessScorer({listed})"

    def __sklearn_clone__(self) -> "CounterfactualGenerativenessScorer":
        return self  # nothing in it changes, and classifiers are fitted once


class Effects(NamedTuple):
    """Effects of moving latents on the probability of the true value."""

    own: list[NDArray[np.float64]]
    """Per factor, of moving its own latents: one value per sample."""
    others: list[NDArray[np.float64]]
    """Per factor, of moving all other latents."""
    used: NDArray[np.bool_]
    """(n_factors,), which of them can be scored."""


def _aggregate(effects: Effects, reading: str, average: str | None) -> Score:
    values = [
        _generativeness(own, others, reading) if used else 0.0
        for own, others, used in zip(*effects)
    ]
    return average_of(np.array(values), effects.used, average)


def _generativeness(own: NDArray, others: NDArray, reading: str) -> float:
    """From the effects (n_samples,) on one factor."""
    difference = own - others
    if reading == "individual":
        return float(np.abs(difference).mean())
    mean = float(difference.mean())
    return abs(mean) if reading == "average" else max(0.0, mean)


def _effects(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    judges: list[Any],
    rho: int,
    baseline: str,
    q: float,
    *,
    strict: bool,
) -> Effects:
    check_same_rows(X, y)
    codes = np.asarray(estimator.transform(X))
    checked = check_data(y, codes)
    n_factors = checked.factors.shape[1]
    check_rho(rho, checked)
    if len(judges) != n_factors:
        raise ValueError(
            f"classifiers must be one per factor, {n_factors}, got {len(judges)}. Pass a list with "
            "one fitted classifier for each column of y."
        )
    used = varied_factors(checked.factors)
    columns = [_true_columns(judge, labels_of(y, k), k, strict) for k, judge in enumerate(judges)]
    used &= [bool((column >= 0).any()) for column in columns]
    sets = _latent_sets(checked, rho, q)
    target = _baseline(checked.codes, baseline)
    decode = _Decoder(estimator, X)
    own: list[list[NDArray]] = [[] for _ in judges]
    others: list[list[NDArray]] = [[] for _ in judges]
    for rows in _chunks(len(codes)):
        present = decode(checked.codes[rows])
        for k in np.flatnonzero(used):
            seen = columns[k][rows] >= 0
            answer = _Answer(judges[k], columns[k][rows][seen])
            before = answer(present[seen])
            for effect, moved in ((own, sets[k]), (others, ~sets[k])):
                if not seen.any() or not moved.any():
                    effect[k].append(np.zeros(int(seen.sum())))
                    continue
                changed = np.where(moved, target[rows], checked.codes[rows])[seen]
                effect[k].append(np.abs(before - answer(decode(changed))))
    return Effects([_join(parts) for parts in own], [_join(parts) for parts in others], used)


def _latent_sets(checked: Checked, rho: int, q: float) -> NDArray[np.bool_]:
    """Which latents (n_factors, n_codes) are those of a factor: the most robust, as in UC."""
    live = live_codes(checked.codes, warn=False)
    if not live.any():
        warn_degenerate("All codes are constant: they generate nothing.")
    sets = np.zeros((checked.factors.shape[1], len(live)), dtype=bool)
    sets[:, live] = top_codes(robustness_of(checked, q)[:, live], rho)
    return sets


def _baseline(codes: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """Where each latent of each sample is moved to."""
    if kind == "zero":
        return np.zeros_like(codes)
    if kind == "mean":
        return np.broadcast_to(codes.mean(axis=0), codes.shape)
    low, high = codes.min(axis=0), codes.max(axis=0)
    return np.where(high - codes >= codes - low, high, low)


class _Decoder:
    """Decodes codes to rows in the units of the observations that classifiers were fitted on."""

    def __init__(self, estimator: Any, X: ArrayLike):
        self.estimator = estimator
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


class _Answer:
    """Probability that a classifier gives to the true value."""

    def __init__(self, judge: Any, columns: NDArray[np.intp]):
        self.judge, self.columns = judge, columns

    def __call__(self, rows: NDArray) -> NDArray[np.float64]:
        if not len(rows):
            return np.zeros(0)
        probabilities = np.asarray(self.judge.predict_proba(rows), dtype=np.float64)
        return probabilities[np.arange(len(rows)), self.columns]


def _fit_judges(
    X: ArrayLike,
    y: ArrayLike,
    classifier: BaseEstimator | None,
    image_shape: tuple[int, ...] | None,
    random_state: int | RandomState | None,
) -> list[Any]:
    """One classifier per factor; None where the factor has a single value."""
    check_same_rows(X, y)
    rows = np.asarray(X)
    rows = rows.reshape(len(rows), -1)
    n_factors = check_factors(y).factors.shape[1]
    if rows.dtype == np.uint8 and rows.max() > 1:
        rows = rows.astype(np.float32) / 255.0
    if classifier is None:
        # Not at the top: metrics load without torch.
        from ...models._classifier import ImageClassifier

        classifier = ImageClassifier(image_shape=image_shape, random_state=random_state)
    judges = []
    for k in range(n_factors):
        labels = labels_of(y, k)
        several = len(set(labels.tolist())) > 1
        judges.append(clone(classifier).fit(rows, labels) if several else None)
    return judges


def _true_columns(judge: Any, labels: NDArray, k: int, strict: bool) -> NDArray[np.intp]:
    """Column of `predict_proba` that holds the true value, -1 where there is none."""
    known = {} if judge is None else {v: i for i, v in enumerate(judge.classes_.tolist())}
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


def _reach(estimator: Any, X: ArrayLike) -> tuple[Any, ArrayLike]:
    """The estimator, or what is inside of it, that encodes and decodes; and its data."""
    if not _decodes(estimator):
        estimator, X = unwrap_estimator(estimator, X)
    if not _decodes(estimator):
        raise TypeError(_cannot_decode(estimator))
    return estimator, X


def _decodes(estimator: Any) -> bool:
    return hasattr(estimator, "transform") and hasattr(estimator, "inverse_transform")


def _cannot_decode(estimator: Any) -> str:
    return (
        f"{type(estimator).__name__} must have transform and inverse_transform, since images are "
        "encoded, changed and decoded. Pass a fitted VAE, or a Pipeline of which all steps have "
        "both."
    )


def _image_shape(X: ArrayLike, estimator: Any) -> tuple[int, ...] | None:
    """Shape of one image for the default classifier; None for rows."""
    shape = np.shape(X)[1:]
    if len(shape) == 1 and estimator is not None:
        shape = getattr(estimator, "input_shape_", shape)
    is_image = len(shape) == 2 or (len(shape) == 3 and (shape[0] <= 4) != (shape[2] <= 4))
    return tuple(shape) if is_image and np.prod(shape) == np.prod(np.shape(X)[1:]) else None


def _chunks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _CHUNK):
        yield slice(start, start + _CHUNK)


def _join(parts: list[NDArray]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.zeros(0)
