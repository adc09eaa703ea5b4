"""Information of codes that are Gaussian posteriors, not points: RMIG and JEMMIG."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr

from ..._params import (
    Array,
    AtLeastTwo,
    Average,
    BiasCorrection,
    FactorBins,
    NanPolicy,
    RandomStateLike,
    Strategy,
    averaged,
)
from .._aggregation import Score, average_of, top_gap
from .._sharing import shared
from .._validation import (
    Checked,
    check_codes,
    check_data,
    refuse_negative,
    warn_if_constant,
    warn_single_valued,
)
from ._gaps import mig_of
from ._matrix import Information, entropy_of, information_matrix, inner_edges

__all__ = ["jemmig_score", "rmig_score"]

Limits = tuple[float, float] | list[float]

# Rows at a time: the mass of every bin of a code is held for these alone.
_BLOCK = 65_536


@averaged
def rmig_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    codes_std: Array | float | None = None,
    n_bins: AtLeastTwo | None = 20,
    code_range: Limits | None = None,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Robust mutual information gap: MIG of codes that are Gaussian posteriors.

    As MIG, but each sample spreads over the bins with the mass of its posterior
    :math:`q(z_j | x) = N(\mu_j(x), \sigma_j(x)^2)`, so that codes of large uncertainty hold
    little information even if their means hold much. Between 0 and 1, higher is better.

    .. math::
        \frac{1}{K} \sum_k \frac{I(z_{(1)}; y_k) - I(z_{(2)}; y_k)}{H(y_k)}, \qquad
        q(z_j \in b | y_k) = \mathrm{E}_{x | y_k}\, q(z_j \in b | x)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation: the posterior means.
    codes_std : array-like of shape (n_samples, n_codes) or (n_codes,), float or None, default=None
        The posterior standard deviations. None takes the codes as certain: the score is that of
        :func:`mig_score`.
    n_bins : int or None, default=20
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    code_range : (low, high) or None, default=None
        Limits of the bins, common to all codes, for instance ``(-4, 4)`` with ``n_bins=100`` as
        published. None takes the range of the means of each code. Mass beyond the limits belongs
        to the outermost bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        As in :func:`mig_score`; only "none" is defined for codes with `codes_std`.
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
    rmig : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    mig_score : The same for codes that are points.
    jemmig_score : With a penalty for codes that hold more than their factor.

    Notes
    -----
    The mass of a bin is exact, by the normal distribution function. Implementations that take
    the density at the middle of each bin differ by about 0.01 if bins are as wide as
    `codes_std`. Some implementations call plain MIG by this name.

    References
    ----------
    Do and Tran (2020). Theory and evaluation metrics for learning disentangled representations.
    ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import rmig_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(rmig_score(factors, factors, codes_std=0.01), 2)
    1.0
    >>> round(rmig_score(factors, factors, codes_std=[1.0, 1.0]), 2)
    0.28
    """
    data, std = check_gaussians(factors, codes, codes_std, factor_bins, nan_policy, sample_weight)
    info = spread_information(
        data, std, code_range, n_bins, strategy, bias_correction, random_state
    )
    return mig_of(info, average)


@averaged
def jemmig_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    codes_std: Array | float | None = None,
    n_bins: AtLeastTwo | None = 20,
    code_range: Limits | None = None,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Joint entropy minus mutual information gap, turned so that higher is better.

    For every factor, the joint entropy with its best code, reduced by the gap to the second
    best, relative to the largest value this can take. Unlike MIG it also asks that the code
    holds nothing but the factor. Between 0 and 1, higher is better: 1 when every factor and its
    code determine each other and all other codes are independent of the factor.

    .. math::
        \frac{1}{K} \sum_k \Big( 1 - \frac{H(z_{(1)}, y_k) - I(z_{(1)}; y_k) + I(z_{(2)}; y_k)}
        {H(y_k) + \log B} \Big)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    codes_std : array-like of shape (n_samples, n_codes) or (n_codes,), float or None, default=None
        Standard deviations if codes are means of Gaussian posteriors; None if they are points.
    n_bins : int or None, default=20
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    code_range : (low, high) or None, default=None
        Limits of the bins, common to all codes. None takes the range of each code.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        As in :func:`mig_score`; only "none" is defined for codes with `codes_std`.
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
    jemmig : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    mig_score : The gap alone.
    minimality_score : Whether codes hold nothing but one factor.

    Notes
    -----
    The paper's quantity is the fraction alone, which is lower for better codes. The score of
    useless codes is not 0: it rewards a small joint entropy, and constant codes, whose entropy
    is 0, get :math:`\log B / (H(y_k) + \log B)`. With ``n_bins=None``, B is the number of
    distinct values of the code. Of codes that are equally informative about a factor, the one of
    least entropy counts.

    References
    ----------
    Do and Tran (2020). Theory and evaluation metrics for learning disentangled representations.
    ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import jemmig_score
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> round(jemmig_score(factors, factors), 2)
    1.0
    >>> round(jemmig_score(factors, factors @ [[4, 1], [1, 4]]), 2)
    0.37
    """
    data, std = check_gaussians(factors, codes, codes_std, factor_bins, nan_policy, sample_weight)
    info = spread_information(
        data, std, code_range, n_bins, strategy, bias_correction, random_state
    )
    return _jemmig(info, _n_cells(data.codes, n_bins), average)


def _jemmig(info: Information, n_cells: NDArray[np.int64], average: str | None) -> Score:
    used = info.varied
    warn_single_valued(used)
    most = info.mutual_info.max(axis=1)
    # Of equally informative codes, up to rounding, the one of least entropy: the order of codes
    # must not matter.
    h_codes = np.where(info.mutual_info >= most[:, None] - 1e-12, info.h_codes, np.inf)
    best = h_codes.argmin(axis=1)
    joint = info.h_factors + info.h_codes[best] - most
    largest = info.h_factors + np.log(n_cells[best])
    share = np.divide(
        joint - top_gap(info.mutual_info), largest, out=np.zeros(len(used)), where=used
    )
    return average_of(np.clip(1.0 - share, 0.0, 1.0), used, average)


@shared
def check_gaussians(
    factors: ArrayLike,
    codes: ArrayLike,
    codes_std: ArrayLike | float | None,
    factor_bins: int | str | None,
    nan_policy: str,
    sample_weight: ArrayLike | None,
) -> tuple[Checked, NDArray[np.float64] | None]:
    """Validate factors, codes and the standard deviations of the codes, if there are any."""
    if codes_std is None:
        return check_data(factors, codes, factor_bins, nan_policy, sample_weight), None
    means = check_codes(codes, nan_policy="omit")
    # Side by side, so that missing values and zero weights drop rows of both.
    both = np.hstack([means, _as_std(codes_std, means.shape)])
    data = check_data(factors, both, factor_bins, nan_policy, sample_weight)
    means, std = np.hsplit(data.codes, 2)
    return data._replace(codes=means), std


def spread_information(
    data: Checked,
    std: NDArray[np.float64] | None,
    code_range: Limits | None = None,
    n_bins: int | None = 20,
    strategy: str = "uniform",
    bias_correction: str = "none",
    random_state: int | RandomState | None = None,
) -> Information:
    """The information matrix of codes that are points, or Gaussians that spread over the bins."""
    if std is None and code_range is None:
        return information_matrix(data, n_bins, strategy, bias_correction, random_state)
    if n_bins is None or bias_correction != "none":
        raise ValueError(
            "codes_std and code_range need bins and the plug-in estimate, got "
            f"n_bins={n_bins} and bias_correction={bias_correction!r}. Give n_bins as a number "
            "and leave bias_correction='none'."
        )
    warn_if_constant(data.codes, "they hold no information about any factor")
    return _mass_information(data, std, code_range, n_bins, strategy)


def _n_cells(codes: NDArray[np.float64], n_bins: int | None) -> NDArray[np.int64]:
    """Number of bins of each code."""
    if n_bins is not None:
        return np.full(codes.shape[1], n_bins)
    return np.array([len(np.unique(code)) for code in codes.T])


def _as_std(codes_std: ArrayLike | float, shape: tuple[int, ...]) -> NDArray[np.float64]:
    std = np.asarray(codes_std, dtype=np.float64)
    if std.shape not in {(), shape[1:], shape}:
        raise ValueError(
            f"codes_std must be a number or have shape {shape} or ({shape[1]},) as the codes "
            f"have, got shape {std.shape}."
        )
    # Missing values are for nan_policy to judge.
    refuse_negative(std[~np.isnan(std)], "codes_std", "Use 0 for a code that is certain.")
    return np.broadcast_to(std, shape)


def _edges(
    codes: NDArray[np.float64],
    n_bins: int,
    strategy: str,
    code_range: Limits | None,
    weight: NDArray[np.float64] | None,
) -> list[NDArray[np.float64]]:
    """Inner edges of the bins of each code."""
    if code_range is None:
        edges = [inner_edges(code, n_bins, strategy, weight) for code in codes.T]
        # A point on a quantile belongs to the bin below, see bin_codes.
        return [np.nextafter(e, np.inf) if strategy == "quantile" else e for e in edges]
    limits = np.asarray(code_range, dtype=np.float64)
    if limits.shape != (2,) or not np.isfinite(limits).all() or limits[0] >= limits[1]:
        raise ValueError(
            f"code_range must be two finite numbers (low, high) with low < high, got {code_range}."
        )
    if strategy != "uniform":
        raise ValueError(
            f"code_range fixes bins of equal width, got strategy={strategy!r}. Leave one out."
        )
    return [np.linspace(limits[0], limits[1], n_bins + 1)[1:-1]] * codes.shape[1]


@shared
def _mass_information(
    data: Checked,
    std: NDArray[np.float64] | None,
    code_range: Limits | None,
    n_bins: int,
    strategy: str,
) -> Information:
    """Information between classes and bins, over which every Gaussian spreads its mass."""
    factors, codes, weight = data[:3]
    edges = _edges(codes, n_bins, strategy, code_range, weight)
    std = np.zeros_like(codes) if std is None else std
    n, n_factors = factors.shape
    ends = np.cumsum(factors.max(axis=0) + 1)
    columns = factors + np.append(0, ends[:-1])
    counts = np.ones(n) if weight is None else weight
    # One product per code sums the mass of every bin over every class of every factor.
    one_hot = csr_array(
        (np.repeat(counts, n_factors), columns.ravel(), np.arange(n + 1) * n_factors),
        shape=(n, ends[-1]),
    )
    h_factors = np.array([entropy_of(np.bincount(y, weight)) for y in factors.T])
    h_codes = np.empty(codes.shape[1])
    mutual_info = np.empty((n_factors, codes.shape[1]))
    for j, inner in enumerate(edges):
        table = np.zeros((ends[-1], len(inner) + 1))
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            table += one_hot[rows].T @ _bin_mass(codes[rows, j], std[rows, j], inner)
        tables = np.split(table, ends[:-1])
        h_codes[j] = entropy_of(tables[0].sum(axis=0))
        joint = np.array([entropy_of(cells.ravel()) for cells in tables])
        mutual_info[:, j] = h_factors + h_codes[j] - joint
    np.clip(mutual_info, 0.0, np.minimum.outer(h_factors, h_codes), out=mutual_info)
    return Information(mutual_info, h_factors, h_codes)


def _bin_mass(
    mean: NDArray[np.float64], std: NDArray[np.float64], inner: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of each Gaussian (row) in each bin (column); the outermost bins are open."""
    distance = inner - mean[:, None]
    # A point on an edge belongs to the bin above: no mass below, hence -inf.
    steps = np.where(distance > 0, np.inf, -np.inf)
    np.divide(distance, std[:, None], out=steps, where=std[:, None] > 0)
    below = np.zeros((len(mean), len(inner) + 2))
    below[:, 1:-1] = ndtr(steps)
    below[:, -1] = 1.0
    return np.diff(below, axis=1)
