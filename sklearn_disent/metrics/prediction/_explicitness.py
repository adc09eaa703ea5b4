"""Explicitness: whether the classes of factors are read off all codes linearly."""

from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    Average,
    FactorBins,
    NanPolicy,
    OpenShare,
    RandomStateLike,
    averaged,
)
from .._aggregation import Score, average_of
from .._subsampling import few_rows
from .._validation import Checked, check_data, varied_factors, warn_degenerate, warn_if_constant
from ._logistic import one_against_rest
from ._predictors import Split, run, split_rows, unit_range

__all__ = ["explicitness_score"]


@averaged
def explicitness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    multi_class: Literal["ovr", "multinomial"] = "ovr",
    adjusted: bool = True,
    factor_bins: FactorBins | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""Explicitness: can the classes of each factor be read off all codes linearly?

    The area under the ROC curve of logistic regressions on held-out rows, one class against the
    rest, averaged over classes and factors, as :math:`2\,\mathrm{AUC} - 1`. Between 0 and 1,
    higher is better; 0 is guessing.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    multi_class : {"ovr", "multinomial"}, default="ovr"
        One regression per class, as published, or one for all classes of a factor.
    adjusted : bool, default=True
        Whether to scale guessing to 0 (an AUC below one half counts as 0); else the mean AUC.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors fitted at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split.

    Returns
    -------
    explicitness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dci_informativeness_score : How well predictors of any kind do.

    Notes
    -----
    The two values of `multi_class` differ widely. A code equal to a factor of 11 ordered classes
    scores 6 / 11 with "ovr", since a linear function of it does not single out a class in the
    middle, and nearly 1 with "multinomial", where the classes' probabilities share one
    denominator. Widely used implementations take the latter, without adjusting.

    Codes are standardized by the training rows; the regressions have the default penalty of
    scikit-learn. With "ovr" those of all classes are solved at once by Newton's method, to the
    minimum, from which the solver of ``LogisticRegression`` stays away by its tolerance.

    Classes missing from the training or the held-out rows cannot be scored and are left out, with a
    warning; a factor without any other class gets the score of guessing. Factors with a single
    value are left out, with a warning (nan if `average` is None).

    References
    ----------
    Ridgeway and Mozer (2018). Learning deep disentangled embeddings with the F-statistic loss.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import explicitness_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(2, size=(400, 2))
    >>> explicitness_score(factors, factors @ [[1, 1], [1, -1]], random_state=0)
    1.0
    >>> explicitness_score(factors, rng.normal(size=(400, 2)), random_state=0) < 0.2
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    data = check_data(factors, codes, factor_bins, nan_policy, per_factor=True)
    used = varied_factors(data)
    aucs = _mean_aucs(data, used, multi_class, test_size, split, n_jobs, random_state)
    return average_of(np.maximum(2 * aucs - 1, 0.0) if adjusted else aucs, used, average)


def _mean_aucs(
    data: Checked,
    used: NDArray[np.bool_],
    multi_class: str,
    test_size: float,
    split: Split | None,
    n_jobs: int | None,
    random_state: int | RandomState | None,
) -> NDArray[np.float64]:
    """Area under the ROC curve of each factor (n_factors,), the mean over its classes."""
    if data.parts:
        rest = (multi_class, test_size, split, n_jobs, random_state)
        return np.concatenate([_mean_aucs(part, part.varied, *rest) for part in data.parts])
    train, test = split_rows(data, split, test_size, check_random_state(random_state))
    warn_if_constant(data.codes, "they predict no factor")
    # Whether a code varies is asked of the training rows, which set its scale.
    X = unit_range(data.codes)
    spread = np.where(np.ptp(X[train], axis=0) > 0, X[train].std(axis=0), 1.0)
    X = (X - X[train].mean(axis=0)) / spread
    fitted = np.flatnonzero(used)
    jobs = [(_class_aucs, X, data.factors[:, k], train, test, multi_class) for k in fitted]
    aucs = np.full(len(used), 0.5)
    missing = {}
    for k, (values, n_missing) in zip(fitted, run(jobs, n_jobs)):
        aucs[k] = values.mean() if len(values) else 0.5
        if n_missing:
            missing[int(k)] = n_missing
    if missing:
        warn_degenerate(
            "Some classes are missing from the training or the held-out rows and are left out of "
            f"the score, {missing} by factor. Pass more rows, another split or a larger test_size."
        )
    return aucs


def _class_aucs(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    multi_class: str,
) -> tuple[NDArray[np.float64], int]:
    """AUC of every class against the rest, and how many classes have none."""
    known, held_out = np.unique(y[train]), np.unique(y[test])
    classes = np.intersect1d(known, held_out)
    if len(known) < 2 or len(held_out) < 2:
        classes = classes[:0]
    n_missing = len(np.unique(y)) - len(classes)
    if len(classes) == 0:
        return np.zeros(0), n_missing
    if multi_class == "ovr":
        coef, intercept = one_against_rest(X[train], y[train], classes)
        scores = X[test] @ coef + intercept
    else:
        fit = LogisticRegression().fit(X[train], y[train])
        scores = fit.predict_proba(X[test])[:, np.searchsorted(known, classes)]
    positive = y[test][:, None] == classes
    n_positive = positive.sum(axis=0)
    # The AUC counts the pairs in which the positive ranks higher, ties by half (Mann-Whitney).
    wins = (rankdata(scores, axis=0) * positive).sum(axis=0) - n_positive * (n_positive + 1) / 2
    return wins / (n_positive * (len(test) - n_positive)), n_missing
