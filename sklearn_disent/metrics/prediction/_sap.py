"""Separated attribute predictability: the gap between the two best single codes."""

from numpy.typing import ArrayLike

from ..._params import Average, NanPolicy, OpenShare, Predictor, RandomStateLike, averaged
from .._aggregation import Score, average_of, top_gap
from .._groups import Groups, restricted
from .._validation import check_data, warn_single_valued
from ._predictors import Method, Predictability, Split, predictability_of

__all__ = ["sap_score"]


@averaged
def sap_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: Method = "auto",
    classifier: Predictor | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""Separated attribute predictability: is each factor predicted by one code alone?

    For every factor, how well the best single code predicts it, minus how well the second best
    does. Between 0 and 1, higher is better.

    .. math:: \mathrm{SAP} = \frac{1}{K} \sum_k S_{k(1)} - S_{k(2)}

    where :math:`S_{kj}` is the :math:`r^2` of the linear regression of factor k on code j, or the
    held-out accuracy of a linear classifier of factor k from code j.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    method : {"auto", "r2", "svc"}, default="auto"
        "r2" takes all factors as numbers, "svc" as classes. "auto" chooses for each factor:
        classes for strings, booleans and unordered categories, else numbers.
    classifier : classifier or None, default=None
        Replaces the default ``LinearSVC(C=0.01, class_weight="balanced", dual=False)``.
    test_size : float, default=0.25
        Share of the rows held out at random, for classifiers only.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) for classifiers to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    n_jobs : int or None, default=None
        Factors classified at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the classifier where its own `random_state` is None.

    Returns
    -------
    sap : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    relevance_matrix : The matrix S, with ``kind="predictability"``.
    mig_score : The same gap, of mutual information.

    Notes
    -----
    The :math:`r^2` is computed from all rows, without a split. It captures linear dependence only,
    and depends on the numbers that integer factors carry; pass them as strings or categories if
    they have no order.

    A linear classifier on one code separates only a few of many ordered classes: codes equal to
    factors of five classes score from 0 to 0.4, depending on the scale of the codes, which are
    not standardized in the published settings. Pass
    ``classifier=make_pipeline(StandardScaler(), LinearSVC())``, or one that is not linear, to
    avoid that. A constant code predicts classes no better than guessing, and has an
    :math:`r^2` of 0. A single code is compared with 0. Factors with a single value are left out,
    with a warning (nan if `average` is None).

    Of `groups`, a factor is predicted from all columns of a unit at once; the :math:`r^2`, which is
    of the same rows, grows with their number by chance.

    References
    ----------
    Kumar, Sattigeri and Balakrishnan (2018). Variational inference of disentangled latent
    concepts from unlabeled observations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import sap_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(2000, 2))
    >>> round(sap_score(factors, factors * [2.0, -1.0]), 2)
    1.0
    >>> round(sap_score(factors, rng.normal(size=(2000, 2))), 2)
    0.0
    """
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True, per_factor=True)
    data, units = restricted(data, groups)
    options = (method, classifier, test_size, split, n_jobs, random_state)
    fits = predictability_of(data, *options, units)
    return _sap(fits, average)


def _sap(fits: Predictability, average: str | None) -> Score:
    warn_single_valued(fits.used)
    return average_of(top_gap(fits.relevance), fits.used, average)
