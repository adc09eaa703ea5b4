"""InfoMEC: modularity, compactness and explicitness by normalised information."""

import warnings
from typing import Annotated, Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from ..._memory import freed_memory_kept
from ..._params import (
    Array,
    AtLeastTwo,
    Average,
    BiasCorrection,
    FactorBins,
    HasMethods,
    NanPolicy,
    PositiveInt,
    RandomStateLike,
    ShareBelowOne,
    Strategy,
    averaged,
    with_matrix,
)
from .._aggregation import Score, average_of
from .._groups import Groups, projected
from .._numeric import by_class, column_range, standardize
from .._sharing import shared
from .._softmax import SoftmaxRegression
from .._subsampling import few_rows
from .._threads import one_thread
from .._validation import (
    Checked,
    check_data,
    live_codes,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
)
from ._matrix import entropy_of, information_matrix

__all__ = ["infom_score", "infoc_score", "infoe_score"]

Method = Literal["knn", "binned"]

# Relative to the standard deviation of a code: separates equal values and changes nothing else.
_TIE_NOISE = 1e-10
# Beyond these, the quicker solver.
_MANY_ROWS = 5000


@with_matrix
def infom_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: Method = "knn",
    n_neighbors: PositiveInt = 10,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    min_range: ShareBelowOne = 0.05,
    average: Average | None = "macro",
    groups: Groups | None = None,
    max_samples: AtLeastTwo | None = 100_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""InfoModularity: how much of the information of each code is about one factor?

    The share of the best factor in a code's normalised information about all factors, scaled so
    that equal shares give 0. Between 0 and 1, higher is better: 1 when no active code is
    informative about two factors.

    .. math::
        \frac{1}{|A|} \sum_{j \in A} \frac{\max_k N_{kj} / \sum_k N_{kj} - 1/K}{1 - 1/K},
        \qquad N_{kj} = \frac{I(z_j; y_k)}{H(y_k)}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    method : {"knn", "binned"}, default="knn"
        How information is estimated: by nearest neighbours, for continuous codes, or by bins.
    n_neighbors : int, default=10
        Number of neighbours of "knn".
    n_bins : int or None, default=20
        Number of bins per code of "binned"; None takes every distinct value as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        Correction of "binned", as in :func:`mig_score`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts; for "binned" only.
    min_range : float, default=0.05
        A code is active if its range exceeds this share of the largest range; the others are
        left out. At 0, only constant codes are.
    average : {"macro"} or None, default="macro"
        The mean over codes, or one value per code.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    max_samples : int or None, default=100_000
        Rows drawn at random if there are more; None takes all of them. For "knn" only.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Noise that separates equal values for "knn", and shuffles of "permutation".
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    infom : float, or ndarray of shape (n_codes,) if `average` is None
        The score; nan at codes that are not active.
    matrix : ndarray of shape (n_factors, n_codes)
        The normalised information :math:`N_{kj}`, in [0, 1]; zeros where factor or code are
        constant. Only returned if `return_matrix` is True.

    See Also
    --------
    infoc_score : Whether the information about each factor is in one code.
    modularity_score : Ratio of squared information instead of shares.

    Notes
    -----
    Equal values of a code are separated by noise of 1e-10 before neighbours are counted; for codes
    with few distinct values use ``method="binned"``. Estimates above the entropy are clipped.
    An active code without information about any factor scores 0. For independent codes the
    estimate by neighbours is 0 or slightly above, and shares of such remainders mean nothing:
    codes of pure noise may get any score.

    Of `groups`, each unit is reduced to its first principal component, see
    :class:`GroupProjection`; what is orthogonal to it is lost.

    References
    ----------
    Hsu, Dorrell, Whittington, Wu and Finn (2023). Disentanglement via latent quantization.
    NeurIPS.

    Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import infom_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(500, 2))
    >>> codes = factors + 0.1 * rng.normal(size=(500, 2))
    >>> infom_score(factors, codes, random_state=0) > 0.9
    True
    >>> infom_score(factors, codes @ [[1, 1], [1, -1]], random_state=0) < 0.1
    True
    """
    given = (factors, codes, sample_weight)
    n_rows = max_samples if method == "knn" else None
    data = _units(given, n_rows, factor_bins, nan_policy, groups, random_state)
    matrix = _shares(data, method, n_neighbors, n_bins, strategy, bias_correction, random_state)
    active, varied = _active(data, min_range), varied_factors(data)
    score = average_of(_excess_share(matrix[varied], axis=0), active, average, "codes")
    return (score, matrix) if return_matrix else score


@with_matrix
def infoc_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    method: Method = "knn",
    n_neighbors: PositiveInt = 10,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    min_range: ShareBelowOne = 0.05,
    average: Average | None = "macro",
    groups: Groups | None = None,
    max_samples: AtLeastTwo | None = 100_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""InfoCompactness: how much of the information about each factor is in one code?

    The share of the best code in the normalised information of all active codes about a factor,
    scaled so that equal shares give 0. Between 0 and 1, higher is better: 1 when no two active
    codes are informative about the same factor.

    .. math::
        \frac{1}{K} \sum_k \frac{\max_{j \in A} N_{kj} / \sum_{j \in A} N_{kj} - 1/|A|}
        {1 - 1/|A|}, \qquad N_{kj} = \frac{I(z_j; y_k)}{H(y_k)}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    method : {"knn", "binned"}, default="knn"
        How information is estimated: by nearest neighbours, for continuous codes, or by bins.
    n_neighbors : int, default=10
        Number of neighbours of "knn".
    n_bins : int or None, default=20
        Number of bins per code of "binned"; None takes every distinct value as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        Correction of "binned", as in :func:`mig_score`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts; for "binned" only.
    min_range : float, default=0.05
        A code is active if its range exceeds this share of the largest range; the others are
        left out. At 0, only constant codes are.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    max_samples : int or None, default=100_000
        Rows drawn at random if there are more; None takes all of them. For "knn" only.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Noise that separates equal values for "knn", and shuffles of "permutation".
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    infoc : float, or ndarray of shape (n_factors,) if `average` is None
        The score.
    matrix : ndarray of shape (n_factors, n_codes)
        The normalised information :math:`N_{kj}`, in [0, 1]; zeros where factor or code are
        constant. Only returned if `return_matrix` is True.

    See Also
    --------
    infom_score : Whether each code is informative about one factor.
    mig_score : The gap between the two best codes of each factor.

    Notes
    -----
    Equal values of a code are separated by noise of 1e-10 before neighbours are counted; for codes
    with few distinct values use ``method="binned"``. Estimates above the entropy are clipped.
    A factor about which no active code is informative scores 0; with a single active code every
    factor about which it is informative scores 1.

    Of `groups`, each unit is reduced to its first principal component, see
    :class:`GroupProjection`; what is orthogonal to it is lost.

    References
    ----------
    Hsu, Dorrell, Whittington, Wu and Finn (2023). Disentanglement via latent quantization.
    NeurIPS.

    Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import infoc_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(500, 2))
    >>> codes = factors + 0.1 * rng.normal(size=(500, 2))
    >>> infoc_score(factors, codes, random_state=0) > 0.9
    True
    >>> infoc_score(factors, codes[:, [0, 0, 1, 1]], random_state=0) < 0.7
    True
    """
    given = (factors, codes, sample_weight)
    n_rows = max_samples if method == "knn" else None
    data = _units(given, n_rows, factor_bins, nan_policy, groups, random_state)
    matrix = _shares(data, method, n_neighbors, n_bins, strategy, bias_correction, random_state)
    active, varied = _active(data, min_range), varied_factors(data)
    score = average_of(_excess_share(matrix[:, active], axis=1), varied, average)
    return (score, matrix) if return_matrix else score


@averaged
def infoe_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    predictor: Annotated[Any, HasMethods(["fit", "predict_proba"])] | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""InfoExplicitness: how much of each factor can a linear model read off all codes?

    The predictive information of a logistic regression, as a share of what is to be predicted.
    Between 0 and 1, higher is better: 1 when every factor is linearly decodable from the codes.

    .. math:: \frac{1}{K} \sum_k \Big( 1 - \frac{\mathrm{E}[-\log p(y_k | z)]}{\log C_k} \Big)

    where :math:`C_k` is the number of classes of factor k, and :math:`\log C_k` the loss of the
    same model without codes.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    predictor : classifier with predict_proba or None, default=None
        Fitted for each factor that is a class; it must take ``sample_weight`` in ``fit``. None
        is logistic regression without penalty, at most 100 iterations.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        The rows that are drawn.

    Returns
    -------
    infoe : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    infom_score : Whether each code is informative about one factor.
    infoc_score : Whether the information about each factor is in one code.

    Notes
    -----
    As published, classes are weighted to be balanced in the fit, codes are standardised, and the
    loss is that of the samples the model was fitted to: with few samples and many codes it is
    optimistic. The loss of the model without codes is the logarithm of the number of classes.
    Where codes separate the classes the regression does not converge: the score falls short of 1
    by about 1e-4, an amount that depends on the solver. More than 5,000 rows are left to a solver
    of the same regression that is several times faster, and closer to its minimum: the score
    differs by about 1e-5 from that of scikit-learn's. A predictor that does worse than
    chance scores 0. For continuous factors the score is the share of variance that linear
    regression explains.

    References
    ----------
    Hsu, Dorrell, Whittington, Wu and Finn (2023). Disentanglement via latent quantization.
    NeurIPS.

    Ross (2014). Mutual information between discrete and continuous data sets. PLoS ONE.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import infoe_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(3, size=(300, 2))
    >>> round(infoe_score(factors, factors @ [[1, 1], [1, -1]]), 2)
    1.0
    >>> round(infoe_score(factors, rng.normal(size=(300, 2))), 1)
    0.0
    """
    factors, codes, sample_weight = few_rows(
        (factors, codes, sample_weight), max_samples, random_state
    )
    data = check_data(
        factors, codes, None, nan_policy, sample_weight, continuous=True, per_factor=True
    )
    used = varied_factors(data)
    return average_of(_explained_shares(data, used, predictor), used, average)


def _units(
    given: tuple[ArrayLike, ArrayLike, ArrayLike | None],
    n_rows: int | None,
    factor_bins: int | str | None,
    nan_policy: str,
    groups: Any,
    random_state: int | RandomState | None,
) -> Checked:
    """Factors, codes and weights of at most so many rows; each group of codes is one column."""
    factors, codes, sample_weight = few_rows(given, n_rows, random_state)
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    return projected(data, groups)


def _excess_share(matrix: NDArray, axis: int) -> NDArray[np.float64]:
    """Largest share along an axis, scaled from [1 / length, 1] to [0, 1]; 0 if all is zero."""
    total, length = matrix.sum(axis=axis), matrix.shape[axis]
    if length <= 1:
        return (total > 0).astype(np.float64)
    share = np.divide(matrix.max(axis=axis), total, out=np.zeros(total.shape), where=total > 0)
    return np.clip((share - 1 / length) / (1 - 1 / length), 0.0, 1.0)


def _active(data: Checked, min_range: float) -> NDArray[np.bool_]:
    spread = column_range(data.codes)
    return (spread > 0) & (spread > min_range * spread.max())


@shared
def _shares(
    data: Checked,
    method: str,
    n_neighbors: int,
    n_bins: int | None,
    strategy: str,
    bias_correction: str,
    random_state: int | RandomState | None,
) -> NDArray[np.float64]:
    """Matrix I / H(factor) in [0, 1], zero where a factor has a single value."""
    if data.parts:
        options = (method, n_neighbors, n_bins, strategy, bias_correction, random_state)
        return np.vstack([_shares(part, *options) for part in data.parts])
    if method == "binned":
        info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
        matrix, h_factors = info.mutual_info, info.h_factors
    elif data.sample_weight is not None or bias_correction != "none":
        raise ValueError(
            "method='knn' takes neither sample_weight nor bias_correction, which need counts. "
            "Use method='binned' with them."
        )
    else:
        warn_if_constant(data.codes, "they hold no information about any factor")
        matrix = _knn_information(data, n_neighbors, random_state)
        h_factors = np.array([entropy_of(np.bincount(y)) for y in data.factors.T])
    # The neighbours' estimate has no bound: it may exceed the entropy by its own error.
    return np.clip(matrix / np.where(h_factors > 0, h_factors, 1.0)[:, None], 0.0, 1.0)


def _knn_information(
    data: Checked, n_neighbors: int, random_state: int | RandomState | None
) -> NDArray[np.float64]:
    """Ross's estimate of the information between classes and each continuous code."""
    live = live_codes(data.codes, warn=False)
    matrix = np.zeros((data.factors.shape[1], len(live)))
    noise = _TIE_NOISE * check_random_state(random_state).standard_normal(data.codes.shape)
    for j in np.flatnonzero(live):
        code = standardize(data.codes[:, j]) + noise[:, j]
        order = np.argsort(code)
        for k, y in enumerate(data.factors.T):
            matrix[k, j] = _ross(code[order], y[order], n_neighbors)
    return matrix


def _ross(code: NDArray[np.float64], y: NDArray[np.int64], n_neighbors: int) -> float:
    """I = psi(n) + <psi(k)> - <psi(n_class)> - <psi(m)>, in nats, for a sorted code.

    m counts the samples closer than the k-th neighbour within the own class, self included.
    Classes of one sample have no neighbours and are left out.
    """
    counts = np.bincount(y)
    # A stable sort keeps the code sorted within each class.
    parts = np.split(code[by_class(y)], np.cumsum(counts)[:-1])
    parts = [values for values in parts if len(values) > 1]
    if not parts:
        return 0.0
    k = [min(n_neighbors, len(values) - 1) for values in parts]
    distance = np.concatenate([_neighbor_distance(v, k_) for v, k_ in zip(parts, k)])
    sizes = np.array([len(values) for values in parts])
    points = np.concatenate(parts)
    within = _count_within(points, distance, np.sort(points))
    n = len(points)
    terms = sizes @ (digamma(k) - digamma(sizes)) - digamma(within).sum()
    return max(0.0, digamma(n) + terms / n)


def _neighbor_distance(values: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Distance of each sorted value to its k-th neighbour: the least over k + 1 windows."""
    n = len(values)
    distance = np.full(n, np.inf)
    for shift in range(k + 1):
        # Windows of k + 1 values in which the own one has place `shift`.
        own = values[shift : shift + n - k]
        reach = np.maximum(own - values[: n - k], values[k:] - own)
        np.minimum(distance[shift : shift + n - k], reach, out=distance[shift : shift + n - k])
    return distance


def _count_within(
    points: NDArray[np.float64], distance: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.int64]:
    """How many of the sorted values lie closer to each point than its distance."""
    low = np.searchsorted(values, points - distance, side="right")
    high = np.searchsorted(values, points + distance, side="left")
    # The rounding of point ± distance may take in or leave out the neighbour itself; the
    # difference of two values, as the distance was computed, decides.
    padded = np.concatenate([[-np.inf], values, [np.inf]])
    low += points - padded[low + 1] >= distance
    low -= points - padded[low] < distance
    high -= padded[high] - points >= distance
    high += padded[high + 1] - points < distance
    # Values equal up to rounding leave a distance of 0, within which lies the point alone.
    return np.maximum(high - low, 1)


def _explained_shares(
    data: Checked, used: NDArray[np.bool_], predictor: Any
) -> NDArray[np.float64]:
    """Share of each used factor that a linear model of all codes explains."""
    if data.parts:
        return np.concatenate([_explained_shares(p, p.varied, predictor) for p in data.parts])
    values, weight = np.zeros(len(used)), data.sample_weight
    live = live_codes(data.codes, warn=False)
    if not live.any():
        warn_degenerate("All codes are constant: nothing can be predicted from them.")
        return values
    Z = standardize(data.codes[:, live], weight)
    with freed_memory_kept(), one_thread(), warnings.catch_warnings():
        # Separable classes send the coefficients to infinity, which is not a failure here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in np.flatnonzero(used):
            if data.kinds[k] == "continuous":
                values[k] = _explained_variance(Z, data.values[:, k], weight)
            else:
                values[k] = _predictive_information(Z, data.factors[:, k], weight, predictor)
    return values


def _predictive_information(
    Z: NDArray[np.float64],
    y: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    predictor: Any,
) -> float:
    if predictor is None:
        is_long = len(y) > _MANY_ROWS
        predictor = SoftmaxRegression(penalty=0.0) if is_long else LogisticRegression(C=np.inf)
    counts = np.bincount(y, weight)
    # Balanced classes: each has the same weight in all.
    balance = counts.sum() / (len(counts) * counts)[y]
    model = clone(predictor)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"Classes are weighted, but the fit of {type(model).__name__} takes no sample_weight. "
            "Pass a predictor that does, such as LogisticRegression()."
        )
    model.fit(Z, y, sample_weight=balance if weight is None else balance * weight)
    own = model.predict_proba(Z)[np.arange(len(y)), y]
    loss = -np.average(np.log(np.maximum(own, np.finfo(np.float64).eps)), weights=weight)
    return float(np.clip(1.0 - loss / np.log(len(counts)), 0.0, 1.0))


def _explained_variance(
    Z: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> float:
    model = LinearRegression().fit(Z, y, sample_weight=weight)
    return float(np.clip(model.score(Z, y, sample_weight=weight), 0.0, 1.0))
