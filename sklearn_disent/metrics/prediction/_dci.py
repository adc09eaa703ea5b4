"""DCI scores: how the importance of codes for predicting factors is distributed."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    AtLeastTwo,
    Average,
    NanPolicy,
    OpenShare,
    RandomStateLike,
    averaged,
    validated,
)
from .._aggregation import Score, average_of, concentration
from .._groups import Groups, restricted
from .._subsampling import few_rows
from .._validation import BY_DEFINITION, check_data, warn_degenerate, warn_single_valued
from ._predictors import Importance, Predictors, Split, Tolerance, importance_of

__all__ = [
    "DCIScores",
    "dci_completeness_score",
    "dci_disentanglement_score",
    "dci_informativeness_score",
    "dci_scores",
]

WeightedAverage = Literal["weighted", "macro"]


class DCIScores(NamedTuple):
    """The three scores of :func:`dci_scores`."""

    disentanglement: float
    completeness: float
    informativeness: float


@averaged
def dci_disentanglement_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: WeightedAverage | None = "weighted",
    groups: Groups | None = None,
    tol: Tolerance | None = "auto",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""DCI disentanglement: is each code important for one factor alone?

    Every factor is predicted from all codes. A code is disentangled if its importances for the
    factors are concentrated on one of them. Between 0 and 1, higher is better.

    .. math:: D = \sum_j \rho_j \left(1 - H_K(R_{1j}, \ldots, R_{Kj})\right), \qquad
        \rho_j = \frac{\sum_k R_{kj}}{\sum_{kl} R_{kl}}

    where :math:`R_{kj}` is the importance of code j for factor k, and :math:`H_K` the entropy, to
    base K, of the importances divided by their sum.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        Predictor of one factor from all codes: any scikit-learn classifier or regressor, used
        for all factors, or one for classes and one for continuous factors. Importance is its
        `feature_importances_`, its absolute `coef_` (mean over classes), or, where it has
        neither, the drop of the held-out score when a code is shuffled. None means extra trees.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"weighted", "macro"} or None, default="weighted"
        The mean weighted by importance, as published, the plain mean over codes with some
        importance, or one value per code.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    tol : float, "auto" or None, default="auto"
        Standard error of disentanglement and completeness at which the default forests stop
        growing, after 15 trees at the earliest; None grows 50 trees, and "auto" as well up to 5,000
        rows, beyond which it is 0.005. Informativeness tends to be lower with fewer trees.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    disentanglement : float, or ndarray of shape (n_codes,) if `average` is None
        The score.

    See Also
    --------
    dci_scores : Disentanglement, completeness and informativeness from the same fits.
    relevance_matrix : The importances, with ``kind="importance"``.

    Notes
    -----
    The default is ``ExtraTreesClassifier(50, max_features=None, min_samples_leaf=2)`` (or the
    regressor), which is much faster than the gradient boosting of well-known implementations and
    ranks codes in much the same way; its importances are less extreme where codes are entangled.
    Pass ``GradientBoostingClassifier()`` for gradient boosting, or that of LightGBM, which bins the
    codes first, ``LGBMClassifier(importance_type="gain", verbose=-1)``, and
    ``make_pipeline(StandardScaler(), Lasso(0.02))`` for the original lasso: coefficients depend on
    the scale of codes, which are passed on as they are. Equal codes share their importance.

    With more than 5,000 rows, 15 or 20 trees are enough: of 10,000 rows of mixed codes, of codes of
    one factor each and of copies of such codes, 15 trees differed from 50 by 0.0025, 0.0006 and
    0.0002 in disentanglement, and by 0.008, 0.0003 and 0.000 in informativeness.

    A code without importance, such as a constant one, has score and weight 0; if no code has
    any, the score is 0, with a warning. With a single factor, every code with some importance
    scores 1. Factors with a single value are left out, with a warning.

    Of `groups`, the importances of the columns of a unit are added up: nothing is lost.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dci_disentanglement_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> round(dci_disentanglement_score(factors, factors * [2.0, -1.0], random_state=0), 3)
    1.0
    >>> mixed = factors @ [[1.0, 1.0], [1.0, -1.0]]
    >>> dci_disentanglement_score(factors, mixed, random_state=0) < 0.2
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    how = (estimator, test_size, split, n_jobs, random_state, tol)
    fits = _fits(factors, codes, groups, nan_policy, how)
    return _disentanglement(fits, average)


@averaged
def dci_completeness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: WeightedAverage | None = "weighted",
    groups: Groups | None = None,
    tol: Tolerance | None = "auto",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""DCI completeness: is one code alone important for each factor?

    Every factor is predicted from all codes. A factor is completely captured if the importances
    of the codes for it are concentrated on one of them. Between 0 and 1, higher is better.

    .. math:: C = \sum_k \rho_k \left(1 - H_D(R_{k1}, \ldots, R_{kD})\right), \qquad
        \rho_k = \frac{\sum_j R_{kj}}{\sum_{lj} R_{lj}}

    where :math:`R_{kj}` is the importance of code j for factor k, and :math:`H_D` the entropy, to
    base D, of the importances divided by their sum.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        Predictor of one factor from all codes, see :func:`dci_disentanglement_score`.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"weighted", "macro"} or None, default="weighted"
        The mean weighted by importance, the plain mean over factors for which some code has
        importance, or one value per factor. The first two are equal for trees, whose importances
        sum to 1 for each factor.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    tol : float, "auto" or None, default="auto"
        Standard error of disentanglement and completeness at which the default forests stop
        growing, after 15 trees at the earliest; None grows 50 trees, and "auto" as well up to 5,000
        rows, beyond which it is 0.005. Informativeness tends to be lower with fewer trees.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    completeness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dci_scores : Disentanglement, completeness and informativeness from the same fits.
    relevance_matrix : The importances, with ``kind="importance"``.

    Notes
    -----
    D counts all codes, constant ones included, as published. Copies of a code share its importance:
    two equal codes per factor cost log 2 / log D. A factor for which no code has importance scores
    0; a single code with some importance scores 1. Factors with a single value are left out, with a
    warning (nan if `average` is None). See :func:`dci_disentanglement_score` about the estimator.

    Of `groups`, the importances of the columns of a unit are added up: nothing is lost.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dci_completeness_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> round(dci_completeness_score(factors, factors * [2.0, -1.0], random_state=0), 3)
    1.0
    >>> doubled = np.hstack([factors, factors])
    >>> dci_completeness_score(factors, doubled, random_state=0) < 0.6
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    how = (estimator, test_size, split, n_jobs, random_state, tol)
    fits = _fits(factors, codes, groups, nan_policy, how)
    return _completeness(fits, average)


@averaged
def dci_informativeness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    tol: Tolerance | None = "auto",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""DCI informativeness: how well do all codes together predict each factor?

    Accuracy on held-out rows for classes, :math:`r^2` for continuous factors and regressors.
    Between 0 and 1, higher is better; codes independent of the factors get the accuracy of
    guessing, or an :math:`r^2` of 0.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        Predictor of one factor from all codes, see :func:`dci_disentanglement_score`.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    tol : float, "auto" or None, default="auto"
        Standard error of disentanglement and completeness at which the default forests stop
        growing, after 15 trees at the earliest; None grows 50 trees, and "auto" as well up to 5,000
        rows, beyond which it is 0.005. Informativeness tends to be lower with fewer trees.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    informativeness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dci_scores : Disentanglement, completeness and informativeness from the same fits.
    explicitness_score : How well linear predictors do.

    Notes
    -----
    The paper reports the normalised root mean square error of regressors, which is lower for
    better codes; here an :math:`r^2` below 0 counts as 0. A class that is missing from the
    training rows is never predicted. Factors with a single value are left out, with a
    warning (nan if `average` is None).

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dci_informativeness_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(400, 2))
    >>> dci_informativeness_score(factors, factors @ [[1, 1], [1, -1]], random_state=0)
    1.0
    >>> dci_informativeness_score(factors, rng.normal(size=(400, 2)), random_state=0) < 0.4
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    how = (estimator, test_size, split, n_jobs, random_state, tol)
    fits = _fits(factors, codes, None, nan_policy, how)
    return average_of(fits.informativeness, fits.used, average)


@validated
def dci_scores(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictors | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    groups: Groups | None = None,
    tol: Tolerance | None = "auto",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> DCIScores:
    """Disentanglement, completeness and informativeness from one fit per factor.

    All between 0 and 1, higher is better; the same values as the three functions give one by one
    with the same `random_state`, in a third of the time.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : estimator, tuple (classifier, regressor) or None, default=None
        Predictor of one factor from all codes, see :func:`dci_disentanglement_score`.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    tol : float, "auto" or None, default="auto"
        Standard error of disentanglement and completeness at which the default forests stop
        growing, after 15 trees at the earliest; None grows 50 trees, and "auto" as well up to 5,000
        rows, beyond which it is 0.005. Informativeness tends to be lower with fewer trees.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    scores : DCIScores
        Named tuple of floats: disentanglement, completeness, informativeness.

    See Also
    --------
    dci_disentanglement_score : Is each code important for one factor alone?
    dci_completeness_score : Is one code alone important for each factor?
    dci_informativeness_score : How well do all codes together predict each factor?

    Notes
    -----
    Of `groups`, the importances of the columns of a unit are added up: nothing is lost.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dci_scores
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> scores = dci_scores(factors, factors * [2.0, -1.0], random_state=0)
    >>> round(scores.disentanglement, 3), round(scores.completeness, 3), scores.informativeness
    (1.0, 1.0, 1.0)
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    how = (estimator, test_size, split, n_jobs, random_state, tol)
    fits = _fits(factors, codes, groups, nan_policy, how)
    return _dci(fits)


def _fits(
    factors: ArrayLike,
    codes: ArrayLike,
    groups: Groups | None,
    nan_policy: NanPolicy,
    how: tuple[Any, ...],
) -> Importance:
    """Importances of codes, or of groups of them as sums, for every factor."""
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True, per_factor=True)
    data, units = restricted(data, groups)
    fits = importance_of(data, *how)
    if units is not None:
        added = [fits.importance[:, unit].sum(axis=1) for unit in units]
        fits = fits._replace(importance=np.column_stack(added))
    warn_single_valued(fits.used)
    return fits


def _dci(fits: Importance) -> DCIScores:
    return DCIScores(
        float(_disentanglement(fits, "weighted")),
        float(_completeness(fits, "weighted")),
        float(average_of(fits.informativeness, fits.used, "macro")),
    )


def _disentanglement(fits: Importance, average: str | None) -> Score:
    # The base of the entropy is the number of factors that vary. If none does, all is zero.
    importance = fits.importance[fits.used] if fits.used.any() else fits.importance
    per_code = concentration(importance, axis=0)
    return per_code if average is None else _mean(per_code, importance.sum(axis=0), average)


def _completeness(fits: Importance, average: str | None) -> Score:
    per_factor = concentration(fits.importance, axis=1)
    if average is None:
        return np.where(fits.used, per_factor, np.nan)
    return _mean(per_factor, fits.importance.sum(axis=1), average)


def _mean(values: NDArray, importance: NDArray, average: str) -> float:
    if not importance.any():
        warn_degenerate(f"No code is important for any factor: {BY_DEFINITION}.")
        return 0.0
    return float(
        np.average(values, weights=importance if average == "weighted" else importance > 0)
    )
