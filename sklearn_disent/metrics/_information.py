"""Scores that aggregate the information matrix."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import validate_params

from ._aggregation import average_of, top_gap
from ._relevance import INFORMATION, Information, information_of
from ._validation import warn_single_valued

__all__ = ["mig_score"]


@validate_params(INFORMATION, prefer_skip_nested_validation=True)
def mig_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: int | None = 20,
    strategy: str = "uniform",
    factor_bins: int | str | None = None,
    bias_correction: str = "none",
    sample_weight: ArrayLike | None = None,
    average: str | None = "macro",
    nan_policy: str = "raise",
    random_state: int | RandomState | None = None,
) -> float | NDArray[np.float64]:
    r"""Mutual information gap: is each factor known to one code alone?

    For every factor, the information that the best code has about it, minus that of the second
    best, as a share of the factor's entropy. Between 0 and 1, higher is better: 1 when every
    factor is determined by one code and unknown to all others.

    .. math:: \mathrm{MIG} = \frac{1}{K} \sum_k \frac{I(z_{(1)}; y_k) - I(z_{(2)}; y_k)}{H(y_k)}

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
        Number of bins per code; None if codes are discrete already, every distinct value a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; they are an error if None.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        "none" is the plug-in estimate, as published. "miller_madow" corrects entropies for the
        number of cells. "permutation" adjusts for chance, so that independent codes score 0.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
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
    with a warning (nan if `average` is None). A constant code has information 0, and a lone code
    stands against 0. A value that lies on an edge between bins belongs to the bin above, so that
    codes on a coarse uneven grid may change their score when their sign is flipped.

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
    info = information_of(
        factors,
        codes,
        n_bins=n_bins,
        strategy=strategy,
        factor_bins=factor_bins,
        bias_correction=bias_correction,
        sample_weight=sample_weight,
        nan_policy=nan_policy,
        random_state=random_state,
    )
    return _mig(info, average)


def _mig(info: Information, average: str | None) -> float | NDArray[np.float64]:
    normalised, used = per_factor_entropy(info)
    return average_of(top_gap(normalised), used, average)


def per_factor_entropy(info: Information) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """I / H(factor), zero for a factor of a single value, and which factors have several."""
    used = info.h_factors > 0
    warn_single_valued(used)
    return info.mutual_info / np.where(used, info.h_factors, 1.0)[:, None], used
