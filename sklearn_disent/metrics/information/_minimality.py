"""Minimality and sufficiency: disentanglement that does not ask for independent factors."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    Array,
    AtLeastTwo,
    Average,
    BiasCorrection,
    FactorBins,
    NanPolicy,
    RandomStateLike,
    ShareBelowOne,
    Strategy,
    with_matrix,
)
from .._aggregation import Score, average_of
from .._groups import Groups, projected
from .._validation import active_codes, check_data, warn_degenerate, warn_single_valued
from ._matrix import Information, information_matrix

__all__ = ["minimality_score", "sufficiency_score"]


@with_matrix
def minimality_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 15,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    min_variance: ShareBelowOne = 0.01,
    average: Average | None = "macro",
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""Minimality: is each code made of nothing but one factor?

    The share of a code's entropy that its best factor explains. Between 0 and 1, higher is
    better: 1 when every code is a function of one factor and holds no trace of the other factors
    or of nuisance. It stays 1 for such codes when the factors depend on each other.

    .. math::
        m_{ij} = \frac{I(z_j; y_i)}{H(z_j)}, \qquad \bar m = \frac{1}{D} \sum_j \max_i m_{ij}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=15
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        "none" is the plug-in estimate, as published. "miller_madow" corrects entropies for the
        number of cells. "permutation" adjusts for chance, so that independent codes get 0.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    min_variance : float, default=0.01
        A code is active if its variance exceeds this share of the largest variance; the others
        are left out. At 0, only constant codes are.
    average : {"macro"} or None, default="macro"
        The mean over codes, or one value per code.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    minimality : float, or ndarray of shape (n_codes,) if `average` is None
        The score.
    matrix : ndarray of shape (n_factors, n_codes)
        The minimality :math:`m_{ij}` of code j for factor i; zeros where either is constant.
        Only returned if `return_matrix` is True.

    See Also
    --------
    sufficiency_score : Whether one code determines each factor.

    Notes
    -----
    A constant code has no entropy to explain. A collapsed latent, of which every VAE with more
    latents than factors has some, hardly varies: bins as wide as its tiny range turn what is left
    of it, noise, into entropy that no factor explains. Neither is active; both are left out, with a
    warning (nan if `average` is None). The paper counts collapsed codes (``min_variance=0``). Codes
    on very different scales, such as physical units, need ``min_variance=0`` or standardizing.

    Fine bins count noise within a code as entropy: the score falls as `n_bins` grows.

    Of `groups`, each unit is reduced to its first principal component, see
    :class:`GroupProjection`; what is orthogonal to it is lost.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> from sklearn_disent.metrics import minimality_score
    >>> clean = make_dependent_factors(delta=0.5, random_state=0)
    >>> round(minimality_score(clean.target, clean.codes), 2)
    1.0
    >>> noisy = make_dependent_factors(delta=0.5, beta=0.6, random_state=0)
    >>> round(minimality_score(noisy.target, noisy.codes), 2)
    0.54
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    data = projected(data, groups)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    score, matrix = _minimality(info, active_codes(data, min_variance), average)
    return (score, matrix) if return_matrix else score


@with_matrix
def sufficiency_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 15,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
    return_matrix: bool = False,
) -> Score | tuple[Score, NDArray[np.float64]]:
    r"""Sufficiency: does one code determine each factor?

    The share of a factor's entropy that its best code explains. Between 0 and 1, higher is
    better: 1 when every factor is a function of one code, no matter what else that code holds.

    .. math::
        s_{ij} = \frac{I(z_j; y_i)}{H(y_i)}, \qquad \bar s = \frac{1}{K} \sum_i \max_j s_{ij}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=15
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        "none" is the plug-in estimate, as published. "miller_madow" corrects entropies for the
        number of cells. "permutation" adjusts for chance, so that independent codes get 0.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    groups : int, list of lists of int or None, default=None
        Columns that are one unit: their number, or those of each unit. None takes each column as a
        unit.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.
    return_matrix : bool, default=False
        Whether to return the matrix behind the score as well.

    Returns
    -------
    sufficiency : float, or ndarray of shape (n_factors,) if `average` is None
        The score.
    matrix : ndarray of shape (n_factors, n_codes)
        The sufficiency :math:`s_{ij}` of code j for factor i; zeros where either is constant.
        Only returned if `return_matrix` is True.

    See Also
    --------
    minimality_score : Whether each code is made of one factor.

    Notes
    -----
    A factor with a single value is left out, with a warning (nan if `average` is None). A
    constant code is not sufficient for any factor and does not change the score.

    Of `groups`, each unit is reduced to its first principal component, see
    :class:`GroupProjection`; what is orthogonal to it is lost.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> from sklearn_disent.metrics import sufficiency_score
    >>> data = make_dependent_factors(delta=0.5, random_state=0)
    >>> round(sufficiency_score(data.target, data.codes), 2)
    1.0
    >>> score, matrix = sufficiency_score(data.target, data.codes[:, :2], return_matrix=True)
    >>> matrix.round(1)
    array([[1. , 0.2],
           [0.2, 1. ],
           [0.2, 0.2],
           [0.2, 0.2]])
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    data = projected(data, groups)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    score, matrix = _sufficiency(info, average)
    return (score, matrix) if return_matrix else score


def _minimality(
    info: Information, active: NDArray[np.bool_], average: str | None
) -> tuple[Score, NDArray[np.float64]]:
    warn_single_valued(info.varied)
    live = active & (info.h_codes > 0)
    if live.any() and not live.all():
        warn_degenerate(
            f"codes {np.flatnonzero(~live).tolist()} hardly vary and are left out of the score. "
            "Use min_variance=0 to leave out constant codes only."
        )
    matrix = info.per_code()
    return average_of(matrix.max(axis=0), live, average, "codes"), matrix


def _sufficiency(info: Information, average: str | None) -> tuple[Score, NDArray[np.float64]]:
    matrix = info.per_factor()
    return average_of(matrix.max(axis=1), info.varied, average), matrix
