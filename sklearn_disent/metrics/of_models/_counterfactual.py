"""Counterfactual generativeness: do the latents of a factor, and only they, generate it?"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from ..._arrays import as_numbers, plain_tensor
from ..._params import (
    Average,
    HasMethods,
    OpenShare,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Share,
    averaged,
    validated,
)
from .._aggregation import Score, average_of
from .._estimators import unwrap_estimator
from .._validation import check_same_rows
from ..intervention._backdoor import Adjustment
from ..intervention._sets import Choice, SetRule
from ._effects import Effects, Selection, judged_effects, twin_effects
from ._judges import (
    Judges,
    fit_judges,
    hashes_seen_once,
    is_fitted,
    warn_if_seen,
    warn_near_chance,
)

__all__ = ["CounterfactualGenerativenessScorer", "counterfactual_generativeness_score"]

# Fitted classifiers, one per factor, or one of all factors; or one to be fitted.
JudgesLike = Annotated[Any, HasMethods(["fit", "predict_proba"]), list, tuple]
Baseline = Literal["farthest", "zero", "mean"]
Reading = Literal["individual", "average", "signed"]


@averaged
def counterfactual_generativeness_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    classifiers: JudgesLike | None = None,
    X_twin: ArrayLike | None = None,
    y_twin: ArrayLike | None = None,
    rho: PositiveInt = 1,
    sets: SetRule = "top",
    threshold: Share = 0.5,
    baseline: Baseline = "farthest",
    reading: Reading = "individual",
    relative: bool = False,
    q: PositiveShare = 0.99,
    adjust: Adjustment | None = None,
    holdout: OpenShare = 0.5,
    average: Average | None = "macro",
    random_state: RandomStateLike = None,
    return_details: bool = False,
) -> Score | Bunch:
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
        classifiers, one per factor; a fitted one of all factors; or one that is not fitted, of
        which each factor gets a copy. None takes a
        :class:`~sklearn_disent.models.FactorClassifier`, one network for all factors.
    X_twin : array-like of shape (n_samples, ...) or None, default=None
        True counterfactuals, which make classifiers unnecessary: for each observation the same one
        with one factor changed, as `twins` of :func:`~sklearn_disent.datasets.make_candle_like`.
    y_twin : array-like of shape (n_samples, n_factors) or None, default=None
        Factors of `X_twin`, each row of which differs from that of `y` in one factor.
    rho : int, default=1
        Number of latents per factor, at most the number of latents. Not used by "threshold".
    sets : {"top", "threshold", "matching"}, default="top"
        How the latents of a factor are chosen, as in :func:`unconfoundedness_score`.
    threshold : float, default=0.5
        Least robustness of the latents of a factor, if `sets` is "threshold".
    baseline : {"farthest", "zero", "mean"}, default="farthest"
        Where a latent is moved to: the smallest or largest value it has for any sample, whichever
        is farther; 0; or its mean.
    reading : {"individual", "average", "signed"}, default="individual"
        Of the two effects, the mean of the absolute differences, the paper's equation 3; the
        absolute value of the mean difference, equation 2; or the mean difference itself, 0 if it
        is negative.
    relative : bool, default=False
        Whether the value of each factor is divided by what it can be: by the mean probability that
        the classifier gives to the true value on real images, or, with twins, by the effect of
        moving all latents. At most 1.
    q : float, default=0.99
        Quantile of the deviations behind the robustness, see :func:`irs_score`.
    adjust : {"raise", "lower", "upper", "overlap"} or None, default=None
        Whether the robustness by which latents are chosen is the observed one (None) or that under
        interventions, and what to do where combinations are missing, see :func:`irs_score`.
    holdout : float, default=0.5
        Share of the samples on which classifiers are fitted; the others are scored. Not used if
        `classifiers` are fitted, or with twins.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    random_state : int, RandomState instance or None, default=None
        Determines the split of the samples and the default classifiers.
    return_details : bool, default=False
        Whether to return a Bunch instead of the score alone.

    Returns
    -------
    generativeness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.
    details : :class:`~sklearn.utils.Bunch`
        Instead, if `return_details`; nan stands for factors that were left out:

        score : float, or ndarray of shape (n_factors,) if `average` is None
            The score.
        generativeness, relative : ndarray of shape (n_factors,)
            The value of each factor, as it is and divided by its ceiling.
        ceiling : ndarray of shape (n_factors,)
            What it is divided by, see `relative`.
        accuracy, chance : ndarray of shape (n_factors,)
            Accuracy of the classifiers on the real images that are scored, and that of the most
            frequent value; nan with twins.
        own, others : list of n_factors ndarray
            Effects (ICE) of moving the factor's own latents and all others, one per sample.
        sets : ndarray of shape (n_factors, n_codes), bool
            Which latents are those of a factor.

    See Also
    --------
    CounterfactualGenerativenessScorer : The same as a scorer, with classifiers fitted once.
    unconfoundedness_score : Do different factors rest on different latents?

    Notes
    -----
    The first two readings ignore the sign of the difference: a factor that only the *other*
    latents generate scores 1 as well. "signed" distinguishes the two. If a factor has all latents,
    there are no others to move, and moving them has no effect.

    The score is no better than the classifiers: a perfect model cannot exceed the probability that
    they give to the true value. Hence they are asked about the real images, too. A warning names
    factors whose classifier is hardly better than the most frequent value; `relative` divides by
    the probability on real images, which is the ceiling.

    With twins no classifier is needed. Latents move to those of the twin, and the effect is the
    share of the true change d of the image that the change c of the decoded one explains,
    :math:`1 - |d - c|^2 / |d|^2`, 0 if it is negative: 1 if moving the factor's own latents does
    what the intervention does, and nothing else. Twins that do not differ in any pixel are left
    out.

    Images reach classifiers as rows; those of a uint8 X as intensities in [0, 1], while X itself
    stays as it is in memory. Samples with a value of a factor that the classifier has never seen
    are left out for that factor, with a warning, if it was fitted here; a classifier that was
    passed fitted must know all values. Factors with a single value are left out with a warning. If
    all codes are constant they generate nothing and the score is 0, with a warning.

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
    X = as_numbers(X, "X") if isinstance(X, list | tuple) else plain_tensor(X)
    y = plain_tensor(y)
    check_same_rows(X, y)
    estimator, X = _reach(estimator, X, twins=X_twin is not None)
    selection = Selection(Choice(sets, rho, threshold), q, adjust)
    if X_twin is not None or y_twin is not None:
        pair = _check_twins(X_twin, y_twin, classifiers)
        effects = twin_effects(estimator, X, y, *pair, selection)
        return _aggregate(effects, reading, average, relative, return_details)
    rows, strict = None, is_fitted(classifiers)
    if strict:
        judges = Judges(classifiers)
    else:
        to_fit, rows = _split(np.shape(X)[0], holdout, random_state)
        shape = _image_shape(X, estimator)
        judges = fit_judges(X, y, classifiers, shape, random_state, to_fit)
    effects = judged_effects(estimator, X, y, judges, selection, baseline, strict=strict, rows=rows)
    warn_near_chance(effects.accuracy, effects.chance)
    return _aggregate(effects, reading, average, relative, return_details)


def _split(n_rows: int, holdout: float, random_state: Any) -> tuple[NDArray, NDArray]:
    """Rows to fit classifiers on, and rows to score."""
    if not 1 <= int(holdout * n_rows) < n_rows:
        raise ValueError(
            f"holdout must leave at least 1 sample for the classifiers and 1 for the score, got "
            f"{holdout=} of {n_rows} samples. Pass more rows, or fitted classifiers."
        )
    return train_test_split(np.arange(n_rows), train_size=holdout, random_state=random_state)


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
        Of which each factor gets a copy; None takes a
        :class:`~sklearn_disent.models.FactorClassifier`, one network for all factors. Fitted ones,
        such as `classifiers` of another scorer, are used as they are.
    rho : int, default=1
        Number of latents of each factor. Not used by "threshold".
    sets : {"top", "threshold", "matching"}, default="top"
        How the latents of a factor are chosen, as in :func:`unconfoundedness_score`.
    threshold : float, default=0.5
        Least robustness of the latents of a factor, if `sets` is "threshold".
    baseline : {"farthest", "zero", "mean"}, default="farthest"
        The value that latents are set to, as in :func:`counterfactual_generativeness_score`.
    reading : {"individual", "average", "signed"}, default="individual"
        Where the absolute value stands, as in :func:`counterfactual_generativeness_score`.
    relative : bool, default=False
        Whether to divide by what the classifiers give to real images, as in
        :func:`counterfactual_generativeness_score`.
    q : float, default=0.99
        Quantile of the deviations by which latents are chosen, as in :func:`irs_score`.
    adjust : {"raise", "lower", "upper", "overlap"} or None, default=None
        Whether latents are chosen by what interventions would do, as in :func:`irs_score`.
    random_state : int, RandomState instance or None, default=None
        Determines the default classifiers.

    Attributes
    ----------
    classifiers : list of fitted classifiers, or a fitted classifier of all factors
        The judges.
    accuracy, chance : ndarray of shape (n_factors,)
        Accuracy of the default judge on the part of the data that it held out, and that of the
        most frequent value; nan for other classifiers.

    See Also
    --------
    counterfactual_generativeness_score : Without further data: splits the samples at hand.

    Notes
    -----
    Called as ``scorer(estimator, X, y)``, where X must not be among the data above: samples that
    are recognized are warned about. A Pipeline must be able to decode to the units of X: all its
    steps need `inverse_transform`. A warning names factors whose default classifier is hardly
    better than chance.

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
        classifier: JudgesLike | None = None,
        *,
        rho: PositiveInt = 1,
        sets: SetRule = "top",
        threshold: Share = 0.5,
        baseline: Baseline = "farthest",
        reading: Reading = "individual",
        relative: bool = False,
        q: PositiveShare = 0.99,
        adjust: Adjustment | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.options: dict[str, Any] = {
            "rho": rho,
            "sets": sets,
            "threshold": threshold,
            "baseline": baseline,
            "reading": reading,
            "relative": relative,
            "q": q,
            "adjust": adjust,
        }
        X, y = plain_tensor(X), plain_tensor(y)
        if is_fitted(classifier):
            check_same_rows(X, y)
            self._judges = Judges(classifier)
        else:
            self._judges = fit_judges(X, y, classifier, _image_shape(X, None), random_state)
            warn_near_chance(self._judges.accuracy, self._judges.chance)
        self.classifiers = self._judges.given
        self.accuracy, self.chance = self._judges.accuracy, self._judges.chance
        self._seen = hashes_seen_once(X)

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
        effects, options = self._effects(estimator, X, y), self.options
        return float(_aggregate(effects, options["reading"], "macro", options["relative"], False))

    def details(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> Bunch:
        """The score with all that it rests on.

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
        details : :class:`~sklearn.utils.Bunch`
            As returned by :func:`counterfactual_generativeness_score`.
        """
        effects, options = self._effects(estimator, X, y), self.options
        return _aggregate(effects, options["reading"], "macro", options["relative"], True)

    def _effects(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> Effects:
        if not _decodes(estimator):
            raise TypeError(_cannot_decode(estimator))
        X, y = plain_tensor(X), plain_tensor(y)
        check_same_rows(X, y)
        warn_if_seen(X, self._seen)
        options = self.options
        choice = Choice(options["sets"], options["rho"], options["threshold"])
        selection = Selection(choice, options["q"], options["adjust"])
        return judged_effects(
            estimator, X, y, self._judges, selection, options["baseline"], strict=False
        )

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"CounterfactualGenerativenessScorer({listed})"

    def __sklearn_clone__(self) -> "CounterfactualGenerativenessScorer":
        return self  # nothing in it changes, and classifiers are fitted once


def _aggregate(
    effects: Effects, reading: str, average: str | None, relative: bool, return_details: bool
) -> Any:
    values = np.array(
        [
            _generativeness(own, others, reading) if used else 0.0
            for own, others, used in zip(effects.own, effects.others, effects.used)
        ]
    )
    shares = _relative(values, effects)
    score = average_of(shares if relative else values, effects.used, average)
    if not return_details:
        return score
    return Bunch(
        score=score,
        generativeness=np.where(effects.used, values, np.nan),
        relative=np.where(effects.used, shares, np.nan),
        **{name: getattr(effects, name) for name in Effects._fields if name != "used"},
    )


def _relative(values: NDArray[np.float64], effects: Effects) -> NDArray[np.float64]:
    """Values as shares of their ceilings; 0 where the ceiling is."""
    possible = effects.used & (effects.ceiling > 0)
    ceiling = np.where(possible, effects.ceiling, 1.0)
    return np.where(possible, np.minimum(values / ceiling, 1.0), 0.0)


def _generativeness(own: NDArray, others: NDArray, reading: str) -> float:
    """From the effects (n_samples,) on one factor."""
    difference = own - others
    if reading == "individual":
        return float(np.abs(difference).mean())
    mean = float(difference.mean())
    return abs(mean) if reading == "average" else max(0.0, mean)


def _check_twins(X_twin: Any, y_twin: Any, classifiers: Any) -> tuple[Any, Any]:
    if X_twin is None or y_twin is None:
        missing = "X_twin" if X_twin is None else "y_twin"
        raise ValueError(f"Twins need X_twin and y_twin, {missing} is missing. Pass both.")
    if classifiers is not None:
        raise ValueError(
            "Twins and classifiers are two ways to judge what is generated. Pass X_twin and "
            "y_twin, or classifiers."
        )
    return X_twin, y_twin


def _reach(estimator: Any, X: ArrayLike, *, twins: bool) -> tuple[Any, ArrayLike]:
    """The estimator, or what is inside of it, that encodes and decodes; and its data."""
    if not _decodes(estimator) and not twins:
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
