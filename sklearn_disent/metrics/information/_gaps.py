"""Scores that aggregate the information matrix by gaps and ratios."""

from typing import Literal

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
    averaged,
    validated,
)
from .._aggregation import Score, average_of, top_gap
from .._groups import Groups, projected
from .._validation import active_codes, check_data, warn_degenerate, warn_single_valued
from ._matrix import Information, information_matrix

__all__ = ["mig_score", "mig_sup_score", "dcimig_score", "modularity_score"]


@averaged
def mig_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    groups: Groups | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Mutual information gap: is one code alone informative about each factor?

    For every factor, the information that the best code has about it, minus that of the second
    best, as a share of the factor's entropy. Between 0 and 1, higher is better: 1 when one code
    determines each factor and all others are independent of it.

    .. math:: \mathrm{MIG} = \frac{1}{K} \sum_k \frac{I(z_{(1)}; y_k) - I(z_{(2)}; y_k)}{H(y_k)}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        "none" is the plug-in estimate, as published. "miller_madow" corrects entropies for the
        number of cells. "permutation" adjusts for chance, so that independent codes score 0.
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

    Returns
    -------
    mig : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    relevance_matrix : The mutual information itself.

    Notes
    -----
    The denominator is the entropy of the factor, as in the paper; some implementations divide by
    the entropy of the code, which gives other values. A factor with a single value is left out,
    with a warning (nan if `average` is None). A constant code has information 0, and a
    single code is compared with 0. A value on an edge between bins belongs to the bin above, so
    that codes on a coarse uneven grid may change their score when their sign is flipped.

    Of `groups`, each unit is reduced to its first principal component, see
    :class:`GroupProjection`; what is orthogonal to it is lost.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import mig_score
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(2000, 3))
    >>> round(mig_score(factors, factors @ np.diag([3.0, -1.0, 0.1])), 2)
    1.0
    >>> round(mig_score(factors, rng.normal(size=(2000, 3))), 2)
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    data = projected(data, groups)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return mig_of(info, average)


def mig_of(info: Information, average: str | None) -> Score:
    """Gap between the two most informative codes of each factor, relative to its entropy."""
    return average_of(top_gap(info.per_factor()), info.varied, average)


@averaged
def mig_sup_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    normalize: Literal["factor", "code"] = "factor",
    min_variance: ShareBelowOne = 0.01,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""MIG from the side of the codes: is each code informative about one factor alone?

    For every active code, its information about its best factor as a share of that factor's
    entropy, minus the same for the second best factor. Between 0 and 1, higher is better: 1 when
    every code determines one factor and is independent of the others.

    .. math::
        \text{MIG-sup} = \frac{1}{|A|} \sum_{j \in A}
        \Big( \frac{I(z_j; y_{(1)})}{H(y_{(1)})} - \frac{I(z_j; y_{(2)})}{H(y_{(2)})} \Big)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
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
    normalize : {"factor", "code"}, default="factor"
        Whether information is divided by the entropy of the factor, as published, or by that of
        the binned code.
    min_variance : float, default=0.01
        A code is active if its variance exceeds this share of the largest variance; the others
        are left out. At 0, only constant codes are.
    average : {"macro"} or None, default="macro"
        The mean over codes, or one value per code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    mig_sup : float, or ndarray of shape (n_codes,) if `average` is None
        The score; nan at codes that are not active.

    See Also
    --------
    mig_score : The same gap from the side of the factors.
    modularity_score : The same question, by squared information.

    Notes
    -----
    The activity of a code is measured relative to the largest variance, where the paper compares
    with a fixed number: codes that are all scaled by 0.01 keep their score. Some implementations
    divide by the entropy of the code. With a single factor the second share is 0.

    References
    ----------
    Li, Murkute, Gyawali and Wang (2020). Progressive learning and disentanglement of
    hierarchical representations. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import mig_sup_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(mig_sup_score(factors, factors), 2)
    1.0
    >>> round(mig_sup_score(factors, factors @ [[1, 1], [1, -1]]), 2)
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return _mig_sup(info, active_codes(data, min_variance), normalize, average)


def _mig_sup(
    info: Information, active: NDArray[np.bool_], normalize: str, average: str | None
) -> Score:
    if normalize == "code":
        warn_single_valued(info.varied)
    share = info.per_factor() if normalize == "factor" else info.per_code()
    return average_of(top_gap(share, axis=0), active, average, "codes")


@validated
def dcimig_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""DCIMIG: how much of the factors is in codes that are about one factor alone?

    Every code is assigned to the factor about which it is most informative, with the gap between
    this information and that about any other factor. A factor counts the largest gap among its
    codes. Between 0 and 1, higher is better: only modular, compact and informative codes reach 1.

    .. math::
        \mathrm{DCIMIG} = \frac{\sum_k \max_{j : k(j) = k} g_j}{\sum_k H(y_k)}, \qquad
        k(j) = \arg\max_k I(z_j; y_k), \quad
        g_j = I(z_j; y_{k(j)}) - \max_{k \ne k(j)} I(z_j; y_k)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
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
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    dcimig : float
        The score.

    See Also
    --------
    mig_score : The gap between codes for each factor.
    mig_sup_score : The gap between factors for each code.

    Notes
    -----
    Factors are weighted by their entropies, so there is no `average`. A factor to which no code
    is assigned adds nothing to the numerator.

    References
    ----------
    Sepliarskaia, Kiseleva and de Rijke (2019). How to not measure disentanglement.
    arXiv:1910.05587.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dcimig_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(dcimig_score(factors, factors), 2)
    1.0
    >>> round(dcimig_score(factors, factors[:, [0, 0]]), 2)
    0.5
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return _dcimig(info)


def _dcimig(info: Information) -> float:
    warn_single_valued(info.varied)
    total = info.h_factors.sum()
    if total == 0:
        return float(average_of(info.h_factors, info.varied, "macro"))
    best = np.zeros_like(info.h_factors)
    np.maximum.at(best, info.mutual_info.argmax(axis=0), top_gap(info.mutual_info, axis=0))
    return float(best.sum() / total)


@averaged
def modularity_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    dead: Literal["zero", "drop"] = "zero",
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Modularity: is each code informative about at most one factor?

    For every code, one minus its squared information about the factors other than its best one,
    relative to the case of equal information about all. Between 0 and 1, higher is better: 1
    when no code is informative about two factors.

    .. math::
        \frac{1}{D} \sum_j \Big( 1 - \frac{\sum_{k \ne k(j)} I(z_j; y_k)^2}
        {(K - 1) \max_k I(z_j; y_k)^2} \Big)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
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
    dead : {"zero", "drop"}, default="zero"
        Whether a code without information about any factor scores 0 or is left out.
    average : {"macro"} or None, default="macro"
        The mean over codes, or one value per code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    modularity : float, or ndarray of shape (n_codes,) if `average` is None
        The score.

    See Also
    --------
    mig_sup_score : The same question, by the gap between two factors.

    Notes
    -----
    Modularity does not ask how informative a code is: codes of pure noise score far above 0,
    since chance information differs between factors; "permutation" does not change that, as one
    factor always comes first. Some implementations take the maximum over codes instead of
    factors, which measures something else. Factors with a single value are left out, with a
    warning; with a single factor every informative code is modular.

    References
    ----------
    Ridgeway and Mozer (2018). Learning deep disentangled embeddings with the F-statistic loss.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import modularity_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(modularity_score(factors, factors[:, [0, 1, 1]]), 2)
    1.0
    >>> round(modularity_score(factors, factors.sum(axis=1, keepdims=True)), 2)
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return _modularity(info, dead, average)


def _modularity(info: Information, dead: str, average: str | None) -> Score:
    warn_single_valued(info.varied)
    best = info.mutual_info.max(axis=0)
    informed = best > 0
    # Relative to the best: the squares of tiny information would vanish.
    relative = info.mutual_info / np.where(informed, best, 1.0)
    others = (relative**2).sum(axis=0) - 1.0
    values = np.where(informed, 1.0 - others / max(info.varied.sum() - 1, 1), 0.0)
    if dead == "zero":
        return average_of(values, np.ones_like(informed), average, "codes")
    if informed.any() and not informed.all():
        warn_degenerate(
            f"codes {np.flatnonzero(~informed).tolist()} hold no information about any factor and "
            "are left out of the score. Use dead='zero' to score them 0."
        )
    return average_of(values, informed, average, "codes")
