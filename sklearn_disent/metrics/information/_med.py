"""MED: the aggregation of DCI on mutual information, without a predictor."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    Array,
    AtLeastTwo,
    Average,
    BiasCorrection,
    FactorBins,
    NanPolicy,
    PositiveInt,
    RandomStateLike,
    Strategy,
    averaged,
)
from .._aggregation import Score, average_of, concentration
from .._validation import Checked, check_data, live_codes, warn_single_valued
from ._matrix import Information, information_matrix

__all__ = ["med_disentanglement_score", "med_completeness_score"]


@averaged
def med_disentanglement_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    top_k: PositiveInt | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""MED disentanglement: is the information of each code concentrated on one factor?

    As DCI disentanglement, with the information of a code about a factor as its importance: one
    minus the entropy of a code's importance over factors, averaged over codes by their share of
    all importance. Between 0 and 1, higher is better: 1 when no code is informative about two
    factors.

    .. math::
        \sum_j \rho_j \big( 1 - H_K(p_{\cdot j}) \big), \qquad
        R_{kj} = \frac{I(z_j; y_k)}{\sum_l I(z_l; y_k)}, \quad
        p_{kj} = \frac{R_{kj}}{\sum_l R_{lj}}, \quad
        \rho_j = \frac{\sum_k R_{kj}}{\sum_{kl} R_{kl}}

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
    top_k : int or None, default=None
        Score only the codes that are among the `top_k` most informative about any factor; None
        takes all. For representations of many more codes than factors.
    average : {"macro"} or None, default="macro"
        The mean over codes, weighted by their share, or one value per code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    disentanglement : float, or ndarray of shape (n_codes,) if `average` is None
        The score; nan at codes that are left out.

    See Also
    --------
    med_completeness_score : The same from the side of the factors.
    dci_disentanglement_score : With the importance of a fitted predictor.

    Notes
    -----
    Constant codes are left out, with a warning; so are factors with a single value. Published
    values may be lower by about 1e-9, from a small number added to avoid zeros. With `top_k`,
    importance is still relative to all codes, and ties are broken in favor of the first code.

    References
    ----------
    Cao, Nai, Yang, Huang and Gao (2022). An empirical study on disentanglement of negative-free
    contrastive learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import med_disentanglement_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(med_disentanglement_score(factors, factors[:, [0, 1, 1]]), 2)
    0.99
    >>> round(med_disentanglement_score(factors, factors @ [[1, 1], [1, -1]]), 2)
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return _med_disentanglement(info, _kept_codes(data, info, top_k), average)


@averaged
def med_completeness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    top_k: PositiveInt | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""MED completeness: is the information about each factor concentrated in one code?

    As DCI completeness, with the information of a code about a factor as its importance: one
    minus the entropy of the importance for a factor over codes. Between 0 and 1, higher is
    better: 1 when no two codes are informative about the same factor.

    .. math::
        \frac{1}{K} \sum_k \big( 1 - H_D(R_{k \cdot}) \big), \qquad
        R_{kj} = \frac{I(z_j; y_k)}{\sum_l I(z_l; y_k)}

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
    top_k : int or None, default=None
        Score only the codes that are among the `top_k` most informative about any factor; None
        takes all. For representations of many more codes than factors.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row: a label for its factor alone, a code
        for all factors. A label of -1 is missing.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    completeness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    med_disentanglement_score : The same from the side of the codes.
    dci_completeness_score : With the importance of a fitted predictor.

    Notes
    -----
    Constant codes are left out, with a warning; so are factors with a single value. Published
    values may be lower by about 1e-9, from a small number added to avoid zeros. With `top_k`,
    importance is still relative to all codes, ties are broken in favor of the first code, and
    factors are weighted by the share of their information that the kept codes have. A factor
    about which no code is informative scores 0.

    References
    ----------
    Cao, Nai, Yang, Huang and Gao (2022). An empirical study on disentanglement of negative-free
    contrastive learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import med_completeness_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> codes = factors[:, [0, 1, 1]]
    >>> round(med_completeness_score(factors, codes), 2)
    0.68
    >>> round(med_completeness_score(factors, codes, top_k=1), 2)
    0.99
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    info = information_matrix(data, n_bins, strategy, bias_correction, random_state)
    return _med_completeness(info, _kept_codes(data, info, top_k), average)


def _kept_codes(data: Checked, info: Information, top_k: int | None) -> NDArray[np.bool_]:
    """Which codes vary and are among the top_k of any factor."""
    # All codes constant: that has been said already.
    live = live_codes(data.codes, warn=bool((info.h_codes > 0).any()))
    return live & _top_codes(info.mutual_info, top_k)


def _top_codes(mutual_info: NDArray[np.float64], top_k: int | None) -> NDArray[np.bool_]:
    """Which codes are among the top_k of any factor."""
    n_codes = mutual_info.shape[1]
    kept = np.full(n_codes, top_k is None or top_k >= n_codes)
    if not kept.all():
        # Stable, so that of equal codes the first is taken.
        best = np.argsort(-mutual_info, axis=1, kind="stable")[:, :top_k]
        kept[best[mutual_info.max(axis=1) > 0]] = True
    return kept


def _importance(info: Information, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Information as shares of each factor's sum over all codes; then those of the kept codes."""
    total = info.mutual_info.sum(axis=1, keepdims=True)
    share = np.divide(info.mutual_info, total, out=np.zeros_like(info.mutual_info), where=total > 0)
    return share[:, kept]


def _med_disentanglement(info: Information, kept: NDArray[np.bool_], average: str | None) -> Score:
    varied = info.varied
    warn_single_valued(varied)
    if not varied.any():
        return average_of(np.zeros(len(kept)), np.zeros_like(kept), average, "codes")
    importance = _importance(info, kept)[varied]
    values = np.zeros(len(kept))
    values[kept] = concentration(importance, axis=0)
    if average is None or importance.sum() == 0:
        return average_of(values, kept, average, "codes")
    return float(values[kept] @ importance.sum(axis=0) / importance.sum())


def _med_completeness(info: Information, kept: NDArray[np.bool_], average: str | None) -> Score:
    varied = info.varied
    warn_single_valued(varied)
    if not (kept.any() and varied.any()):
        return average_of(np.zeros(len(varied)), varied, average)
    importance = _importance(info, kept)
    values, share = concentration(importance, axis=1), importance.sum(axis=1)
    if average is None:
        return average_of(values, varied, average)
    # A factor about which no code is informative counts in full, and scores 0.
    weight = np.where(share > 0, share, 1.0)[varied]
    return float(values[varied] @ weight / weight.sum())
