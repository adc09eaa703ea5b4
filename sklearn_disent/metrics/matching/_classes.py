"""Codes matched to single classes: one indicator of every class in place of a factor."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ..._params import (
    Array,
    AtLeastTwo,
    Average,
    FactorBins,
    NanPolicy,
    Strategy,
    validated,
)
from .._aggregation import Score, average_of, match_one_to_one, matched_values, top_gap
from .._sharing import shared
from .._validation import Checked, check_data, varied_factors, warn_if_constant
from ..information._matrix import bin_codes

__all__ = ["lms_score", "msas_score", "msgs_score"]


@validated
def lms_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
) -> Score:
    r"""Latent matching score: does every class have a code of its own?

    Classes of a factor are matched with codes, one to one, by the share of the entropy of "is it
    this class?" that a code explains. Between 0 and 1, higher is better: 1 when every class has a
    code that tells it from all others, as for cell types, and programs that are on or off.

    .. math:: \mathrm{LMS} = \frac1C \max_\pi \sum_c T_{c \pi(c)}, \qquad
        T_{cj} = \frac{I(z_j; 1[y = c])}{H(1[y = c])}

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
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    lms : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    msas_score : The best code of each class, which may be that of several classes.
    msgs_score : How far the best code of each class is ahead of the second.
    mcc_score : One code per factor instead of one per class.

    Notes
    -----
    A single code that holds a whole factor of C classes scores 1 / C: this score is for codes that
    are about one class each. The two classes of a binary factor are one question and count once.
    Every factor is scored by itself, then averaged. Factors with a single value are left out, with
    a warning (nan if `average` is None).

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import lms_score
    >>> types = np.random.default_rng(0).integers(3, size=(300, 1))
    >>> round(lms_score(types, np.eye(3)[types[:, 0]]), 3)
    1.0
    >>> round(lms_score(types, types * 1.0), 3)
    0.333
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    used = varied_factors(data.factors)
    values = [_lms(share) for share in _shares(data, n_bins, strategy).by_factor]
    return average_of(np.array(values), used, average)


@validated
def msas_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
) -> Score:
    r"""Most similar averaging score: does some code tell each class from all others?

    The share of the entropy of "is it this class?" that the best code explains, averaged over
    classes. Between 0 and 1, higher is better.

    .. math:: \mathrm{MSAS} = \frac1C \sum_c \max_j T_{cj}, \qquad
        T_{cj} = \frac{I(z_j; 1[y = c])}{H(1[y = c])}

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
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    msas : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    lms_score : Every class with a code of its own.
    sufficiency_score : The best code of each factor.

    Notes
    -----
    See :func:`lms_score` about binary factors, several factors and factors with a single value.

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import msas_score
    >>> types = np.random.default_rng(0).integers(3, size=(300, 1))
    >>> round(msas_score(types, types * 1.0), 3)
    1.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    used = varied_factors(data.factors)
    values = [share.max(axis=1).mean() for share in _shares(data, n_bins, strategy).by_factor]
    return average_of(np.array(values), used, average)


@validated
def msgs_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
) -> Score:
    r"""Most similar gap score: is one code alone about each class?

    The share of the entropy of "is it this class?" that the best code explains, minus that of the
    second best, averaged over classes. Between 0 and 1, higher is better.

    .. math:: \mathrm{MSGS} = \frac1C \sum_c T_{c(1)} - T_{c(2)}, \qquad
        T_{cj} = \frac{I(z_j; 1[y = c])}{H(1[y = c])}

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
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    msgs : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    lms_score : Every class with a code of its own.
    mig_score : The same gap, of whole factors.

    Notes
    -----
    See :func:`lms_score` about binary factors, several factors and factors with a single value.
    A single code is compared with 0.

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import msgs_score
    >>> types = np.random.default_rng(0).integers(3, size=(300, 1))
    >>> round(msgs_score(types, types * 1.0), 3)
    1.0
    >>> round(msgs_score(types, np.hstack([types, -types])), 3)
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight)
    used = varied_factors(data.factors)
    values = [top_gap(share).mean() for share in _shares(data, n_bins, strategy).by_factor]
    return average_of(np.array(values), used, average)


def _lms(share: NDArray[np.float64]) -> float:
    return float(matched_values(share, match_one_to_one(share)).mean())


class _ClassShares(NamedTuple):
    by_factor: tuple[NDArray[np.float64], ...]
    """For each factor (n_classes, n_codes): explained share of the entropy of each indicator."""


@shared
def _shares(data: Checked, n_bins: int | None, strategy: str) -> _ClassShares:
    warn_if_constant(data.codes, "they hold no information about any class")
    weight = data.sample_weight
    binned = bin_codes(data.codes, n_bins, strategy, weight)
    return _ClassShares(tuple(_class_shares(y, binned, weight) for y in data.factors.T))


def _class_shares(
    y: NDArray[np.int64], binned: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    n_classes = int(y.max()) + 1
    shares = np.zeros((n_classes, binned.shape[1]))
    for j, z in enumerate(binned.T):
        n_cells = int(z.max()) + 1
        cells = np.bincount(y * n_cells + z, weight, minlength=n_classes * n_cells)
        shares[:, j] = _explained(cells.reshape(n_classes, n_cells))
    # Either class of a binary factor is the other one's complement.
    return shares[:1] if n_classes == 2 else shares


def _explained(table: NDArray) -> NDArray[np.float64]:
    """I(z; 1[y = c]) / H(1[y = c]) of every row c of a table (n_classes, n_bins) of counts."""
    total, per_bin = table.sum(), table.sum(axis=0)
    inside = table.sum(axis=1)
    h_class = (
        np.log(total) - (xlogy(inside, inside) + xlogy(total - inside, total - inside)) / total
    )
    within = xlogy(table, table) + xlogy(per_bin - table, per_bin - table) - xlogy(per_bin, per_bin)
    conditional = -within.sum(axis=1) / total
    share = 1.0 - np.divide(conditional, h_class, out=np.ones_like(h_class), where=h_class > 1e-12)
    return np.clip(share, 0.0, 1.0)
