"""Scores of the codes alone: how far from independent of each other they are."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    AtLeastTwo,
    BiasCorrection,
    NanPolicy,
    RandomStateLike,
    Strategy,
    validated,
)
from .._numeric import column_range, standardize
from .._validation import complete_codes, live_codes, warn_degenerate, warn_if_constant
from ..information._matrix import bin_codes, binned_information

__all__ = [
    "gaussian_total_correlation_error",
    "gaussian_wasserstein_correlation_error",
    "code_mutual_info_error",
]

_NOTHING = "nothing depends on anything, the value is 0"


@validated
def gaussian_total_correlation_error(codes: ArrayLike, *, nan_policy: NanPolicy = "raise") -> float:
    r"""Total correlation of codes, as if they were Gaussian: how far from uncorrelated are they?

    The divergence of the Gaussian with the codes' covariance from the one with their variances
    alone, in nats. From 0 to infinity, lower is better: 0 when no two codes are correlated.

    .. math:: \mathrm{TC} = \tfrac{1}{2} \Bigl(\sum_j \log \Sigma_{jj} - \log \det \Sigma\Bigr)

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    total_correlation : float
        The divergence, infinite with a warning if the codes are linearly dependent.

    See Also
    --------
    gaussian_wasserstein_correlation_error : Finite even if codes are linearly dependent.
    code_mutual_info_error : Captures dependence beyond correlation.

    Notes
    -----
    It does not depend on the scale of any code. Constant codes are left out; if fewer than two
    codes vary, the value is 0. Whether codes are linearly dependent is judged by the rank of
    their correlation matrix; other implementations return what rounding leaves, such as 18.3.

    References
    ----------
    Watanabe (1960). Information theoretical analysis of multivariate correlation. IBM Journal of
    Research and Development 4(1).

    Locatello, Bauer, Lucic, Raetsch, Gelly, Schoelkopf and Bachem (2019). Challenging common
    assumptions in the unsupervised learning of disentangled representations. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import gaussian_total_correlation_error
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> gaussian_total_correlation_error(codes)
    0.0
    >>> mixed = codes @ np.array([[1.0, 0.5], [0.0, 1.0]])
    >>> round(gaussian_total_correlation_error(mixed), 3)
    0.112
    """
    kept = varying_codes(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    # The determinant of the correlation matrix is that of the covariance, variances divided out.
    spectrum = np.linalg.eigvalsh(_covariance(standardize(kept, ddof=1)))
    if spectrum[0] <= max(kept.shape) * np.finfo(float).eps * spectrum[-1]:
        warn_degenerate(
            "The codes are linearly dependent: their Gaussian total correlation is infinite. "
            "gaussian_wasserstein_correlation_error stays finite."
        )
        return float("inf")
    return max(0.0, float(-0.5 * np.log(spectrum).sum()))


@validated
def gaussian_wasserstein_correlation_error(
    codes: ArrayLike, *, normalize: bool = False, nan_policy: NanPolicy = "raise"
) -> float:
    r"""Wasserstein correlation of codes, as if they were Gaussian: how far from uncorrelated?

    The squared 2-Wasserstein distance of the Gaussian with the codes' covariance from the one
    with their variances alone. From 0 to infinity, lower is better: 0 when no two codes are
    correlated. Normalized by the total variance it stays below 2 and has no unit.

    .. math:: W = 2 \operatorname{tr} \Sigma - 2 \operatorname{tr}
        \bigl(D^{1/2} \Sigma D^{1/2}\bigr)^{1/2}, \qquad D = \operatorname{diag} \Sigma

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    normalize : bool, default=False
        Whether to divide by the total variance, after which a common scale does not matter.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    wasserstein_correlation : float
        The squared distance.

    See Also
    --------
    gaussian_total_correlation_error : The divergence in place of the distance.

    Notes
    -----
    Constant codes are left out, which changes nothing; if fewer than two codes vary, the value is
    0. The square root of the matrix is computed from its eigenvalues, so that linearly dependent
    codes do not give complex values.

    References
    ----------
    Olkin and Pukelsheim (1982). The distance between two random vectors with given dispersion
    matrices. Linear Algebra and its Applications 48.

    Locatello, Bauer, Lucic, Raetsch, Gelly, Schoelkopf and Bachem (2019). Challenging common
    assumptions in the unsupervised learning of disentangled representations. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import gaussian_wasserstein_correlation_error
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> gaussian_wasserstein_correlation_error(codes)
    0.0
    >>> same = codes[:, [0, 0]]
    >>> round(gaussian_wasserstein_correlation_error(same, normalize=True), 3)
    0.586
    """
    kept = varying_codes(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    # In units of the widest code: the squares of tiny or huge values would leave float64.
    unit = column_range(kept).max()
    covariance = _covariance(kept / unit)
    variance = np.diag(covariance)
    root = np.sqrt(variance)
    spectrum = np.linalg.eigvalsh(root[:, None] * covariance * root)
    # What should be zero is rounding, and its square root would be far from zero.
    spectrum[spectrum < max(kept.shape) * np.finfo(float).eps * spectrum[-1]] = 0.0
    distance = max(0.0, 2 * float(variance.sum() - np.sqrt(spectrum).sum()))
    return distance / float(variance.sum()) if normalize else distance * float(unit) ** 2


@validated
def code_mutual_info_error(
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    bias_correction: BiasCorrection = "none",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float:
    r"""Mean mutual information between codes: how much do they repeat each other?

    From 0 to the logarithm of the number of bins, in nats, lower is better: 0 when any two binned
    codes are independent.

    .. math:: \frac{1}{D (D - 1)} \sum_{i \neq j} I(z_i; z_j)

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, as published, or of equal count.
    bias_correction : {"none", "miller_madow", "permutation"}, default="none"
        "none" is the plug-in estimate, as published. "miller_madow" corrects entropies for the
        number of cells. "permutation" adjusts for chance, so that independent codes get 0.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    mutual_info : float
        The mean over pairs of codes.

    See Also
    --------
    gaussian_total_correlation_error : Captures correlation only, and needs no bins.

    Notes
    -----
    A constant code shares no information but still counts as a code. A single code gives 0.

    References
    ----------
    Locatello, Bauer, Lucic, Raetsch, Gelly, Schoelkopf and Bachem (2019). Challenging common
    assumptions in the unsupervised learning of disentangled representations. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import code_mutual_info_error
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> code_mutual_info_error(codes)
    0.0
    >>> round(code_mutual_info_error(codes[:, [0, 0]]), 3)
    0.693
    """
    kept = complete_codes(codes, nan_policy)
    warn_if_constant(kept, _NOTHING)
    binned = bin_codes(kept, n_bins, strategy)
    info = binned_information(binned, kept, None, n_bins, strategy, bias_correction, random_state)
    return _mean_off_diagonal(info.mutual_info)


def _mean_off_diagonal(matrix: NDArray[np.float64]) -> float:
    others = ~np.eye(len(matrix), dtype=bool)
    return float(matrix[others].mean()) if others.any() else 0.0


def varying_codes(codes: ArrayLike, nan_policy: str) -> NDArray[np.float64]:
    """Validated codes that vary, with a warning if none does."""
    array = complete_codes(codes, nan_policy)
    live = live_codes(array, warn=False)
    if live.all():
        return array
    warn_if_constant(array, _NOTHING)
    return array[:, live]


def _covariance(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.atleast_2d(np.cov(codes, rowvar=False))
