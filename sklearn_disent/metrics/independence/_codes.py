"""Scores of the codes alone: how independent they are, and how far several models agree."""

from collections.abc import Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.linear_model import Lasso
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from .._validation import (
    FACTORS_CODES,
    Checked,
    check_codes,
    live_codes,
    warn_degenerate,
    warn_if_constant,
)
from ..information._matrix import INFORMATION, bin_codes, information_matrix

__all__ = [
    "gaussian_total_correlation_error",
    "gaussian_wasserstein_correlation_error",
    "code_mutual_info_error",
    "factorised_support_distance",
    "udr_score",
]

_NOTHING = "nothing depends on anything, the value is 0"
_NAN_POLICY: dict[str, list] = {"nan_policy": FACTORS_CODES["nan_policy"]}


@validate_params(_NAN_POLICY, prefer_skip_nested_validation=True)
def gaussian_total_correlation_error(codes: ArrayLike, *, nan_policy: str = "raise") -> float:
    r"""Total correlation of codes, were they Gaussian: how far from uncorrelated they are.

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
    code_mutual_info_error : Sees dependence beyond correlation.

    Notes
    -----
    It does not depend on the scale of any code. Constant codes are left out; if fewer than two
    codes vary, the value is 0. Whether codes are linearly dependent is judged by the rank of
    their correlation matrix: other implementations give whatever rounding leaves, such as 18.3.

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
    kept = _live(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    # The determinant of the correlation matrix is that of the covariance, variances divided out.
    spectrum = np.linalg.eigvalsh(_covariance(kept / _spread(kept)))
    if spectrum[0] <= max(kept.shape) * np.finfo(float).eps * spectrum[-1]:
        warn_degenerate(
            "The codes are linearly dependent: their Gaussian total correlation is infinite. "
            "gaussian_wasserstein_correlation_error stays finite."
        )
        return float("inf")
    return max(0.0, float(-0.5 * np.log(spectrum).sum()))


@validate_params({**_NAN_POLICY, "normalize": ["boolean"]}, prefer_skip_nested_validation=True)
def gaussian_wasserstein_correlation_error(
    codes: ArrayLike, *, normalize: bool = False, nan_policy: str = "raise"
) -> float:
    r"""Wasserstein correlation of codes, were they Gaussian: how far from uncorrelated they are.

    The squared 2-Wasserstein distance of the Gaussian with the codes' covariance from the one
    with their variances alone. From 0 to infinity, lower is better: 0 when no two codes are
    correlated. Normalised by the total variance it stays below 2 and has no unit.

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
    0. The square root of the matrix is taken by its eigenvalues, so that linearly dependent codes
    give no complex values.

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
    kept = _live(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    # In units of the widest code: the squares of tiny or huge values would leave float64.
    unit = np.ptp(kept, axis=0).max()
    covariance = _covariance(kept / unit)
    variance = np.diag(covariance)
    root = np.sqrt(variance)
    spectrum = np.linalg.eigvalsh(root[:, None] * covariance * root)
    # What should be zero is rounding, and its square root would be far from zero.
    spectrum[spectrum < max(kept.shape) * np.finfo(float).eps * spectrum[-1]] = 0.0
    distance = max(0.0, 2 * float(variance.sum() - np.sqrt(spectrum).sum()))
    return distance / float(variance.sum()) if normalize else distance * float(unit) ** 2


@validate_params(
    {
        **_NAN_POLICY,
        **{name: INFORMATION[name] for name in ("n_bins", "strategy", "bias_correction")},
        "random_state": FACTORS_CODES["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def code_mutual_info_error(
    codes: ArrayLike,
    *,
    n_bins: int | None = 20,
    strategy: str = "uniform",
    bias_correction: str = "none",
    nan_policy: str = "raise",
    random_state: int | RandomState | None = None,
) -> float:
    r"""Mean mutual information between codes: how much they repeat each other.

    From 0 to the logarithm of the number of bins, in nats, lower is better: 0 when any two binned
    codes are independent.

    .. math:: \frac{1}{D (D - 1)} \sum_{i \neq j} I(z_i; z_j)

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=20
        Number of bins per code; None if codes are discrete already, every distinct value a bin.
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
    gaussian_total_correlation_error : Sees correlation only, and needs no bins.

    Notes
    -----
    A constant code shares no information and still counts as a code. A lone code gives 0.

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
    checked = _checked(codes, nan_policy)
    warn_if_constant(checked, _NOTHING)
    if checked.shape[1] < 2:
        return 0.0
    binned = bin_codes(checked, n_bins=n_bins, strategy=strategy)
    info = information_matrix(
        Checked(binned, checked, None, checked, ()),
        n_bins=n_bins,
        strategy=strategy,
        bias_correction=bias_correction,
        random_state=random_state,
    )
    return float(info.mutual_info[~np.eye(len(info.h_codes), dtype=bool)].mean())


@validate_params(
    {
        **_NAN_POLICY,
        "standardize": ["boolean"],
        "batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "n_batches": [Interval(Integral, 1, None, closed="left")],
        "random_state": FACTORS_CODES["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def factorised_support_distance(
    codes: ArrayLike,
    *,
    standardize: bool = False,
    batch_size: int | None = 128,
    n_batches: int = 5,
    nan_policy: str = "raise",
    random_state: int | RandomState | None = None,
) -> float:
    r"""Hausdorff distance of the codes' support from a factorised one, summed over pairs of codes.

    Which combinations of two codes' values are far from every combination that occurs? From 0 to
    infinity, lower is better: 0 when any two codes take all combinations of their values,
    whatever the frequencies. Dependent factors may thus be disentangled at no cost.

    .. math:: \sum_{i < j} \max_{a, b} \min_c \bigl[(z_{ai} - z_{ci})^2 + (z_{bj} - z_{cj})^2\bigr]

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    standardize : bool, default=False
        Whether codes are divided by their standard deviation first, after which their scales do
        not matter.
    batch_size : int or None, default=128
        Number of distinct rows that are compared at once; None for all of them, in time cubic in
        their number.
    n_batches : int, default=5
        If there are more distinct rows than `batch_size`, the distance is the mean over that
        many random batches; else it is computed once, from all rows.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The batches.

    Returns
    -------
    distance : float
        The sum of squared distances.

    See Also
    --------
    code_mutual_info_error : Independence of codes, where here combinations need only occur.

    Notes
    -----
    The distance of a random batch exceeds that of all rows, and the less so the larger it is:
    compare distances of equal `batch_size` only. Constant codes are left out; if fewer than two
    codes vary, the value is 0.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors
    via Hausdorff factorized support. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import factorised_support_distance
    >>> codes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> factorised_support_distance(codes)
    0.0
    >>> factorised_support_distance(codes[:3])
    1.0
    """
    kept = _live(codes, nan_policy)
    if kept.shape[1] < 2:
        return 0.0
    unit = _spread(kept, ddof=0) if standardize else np.ptp(kept, axis=0).max()
    # The support is a set: rows count once, however frequent.
    rows = np.unique(kept / unit, axis=0)
    if batch_size is None or len(rows) <= batch_size:
        distance = _support_distance(rows)
    else:
        rng = check_random_state(random_state)
        batches = (rng.permutation(len(rows))[:batch_size] for _ in range(n_batches))
        distance = float(np.mean([_support_distance(rows[batch]) for batch in batches]))
    return distance if standardize else distance * float(unit) ** 2


def _support_distance(rows: NDArray[np.float64]) -> float:
    return float(
        sum(_pair_distance(*rows[:, pair].T) for pair in combinations(range(rows.shape[1]), 2))
    )


def _pair_distance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Largest squared distance of a combination (x_a, y_b) from the nearest (x_c, y_c)."""
    points = np.unique(np.column_stack([x, y]), axis=0)
    across = (points[:, :1] - np.unique(x)) ** 2
    along = (points[:, 1:] - np.unique(y)) ** 2
    nearest = np.full((across.shape[1], along.shape[1]), np.inf)
    distance = np.empty_like(nearest)
    # Point by point, in place: several times faster than one array of all triples.
    for a, b in zip(across, along):
        np.add(a[:, None], b, out=distance)
        np.minimum(nearest, distance, out=nearest)
    return float(nearest.max())


@validate_params(
    {
        "codes": [list, tuple, np.ndarray],
        "kind": [StrOptions({"lasso", "spearman"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "kl": [list, tuple, np.ndarray, None],
        "kl_threshold": [Interval(Real, 0, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def udr_score(
    codes: Sequence[ArrayLike],
    *,
    kind: str = "lasso",
    alpha: float = 0.1,
    kl: Sequence[ArrayLike] | None = None,
    kl_threshold: float = 0.01,
) -> NDArray[np.float64]:
    r"""Unsupervised disentanglement ranking: how far does each model agree with the others?

    Several models, of the same samples, are compared pair by pair: R holds the strength of every
    code of the one in every code of the other, and two models agree when each code has one strong
    partner. The score of a model is its median agreement with the others. Between 0 and 1, higher
    is better: models that disentangle agree up to order and sign of their codes, others in
    nothing.

    .. math:: \mathrm{UDR}_{xy} = \frac{1}{2} \Bigl(
        \frac{1}{D_y} \sum_j \frac{\max_i R_{ij}^2}{\sum_i R_{ij}} +
        \frac{1}{D_x} \sum_i \frac{\max_j R_{ij}^2}{\sum_j R_{ij}}\Bigr)

    Parameters
    ----------
    codes : list of array-like of shape (n_samples, n_codes)
        One representation of the same samples per model, two or more; the number of codes may
        differ.
    kind : {"lasso", "spearman"}, default="lasso"
        Absolute weights of a lasso from the standardised codes of the one model to those of the
        other, or absolute rank correlations.
    alpha : float, default=0.1
        Penalty of the lasso.
    kl : list of array-like of shape (n_codes,), default=None
        Mean Kullback-Leibler divergence of every code from its prior, per model. With it only the
        informative codes count, those above `kl_threshold`; without it all codes that vary.
    kl_threshold : float, default=0.01
        What an informative code exceeds, in nats.

    Returns
    -------
    scores : ndarray of shape (n_models,)
        One score per model, to rank models by. A model without informative codes scores 0, with
        a warning.

    See Also
    --------
    code_mutual_info_error : A score of one model alone.

    Notes
    -----
    A lasso shrinks its weights by `alpha`: two models with equal codes agree by 1 - alpha = 0.9,
    not 1. It is not symmetric; as published, a model is scored as the target of the others. It
    has no meaning for one model: choose the other models to be of the same kind with other
    `random_state`. Constant codes are left out, also where other implementations get nan from
    their rank correlations.

    References
    ----------
    Duan, Matthey, Saraiva, Watters, Burgess, Lerchner and Higgins (2020). Unsupervised model
    selection for variational disentangled representation learning. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import udr_score
    >>> codes = np.random.default_rng(0).normal(size=(1000, 2))
    >>> rotated = codes @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> udr_score([codes, -codes[:, ::-1], codes * 3, rotated]).round(1)
    array([0.9, 0.9, 0.9, 0.4])
    """
    models = _check_models(codes, kl, kl_threshold)
    agreement = np.zeros((len(models), len(models)))
    for i, source in enumerate(models):
        for j, target in enumerate(models):
            if i != j:
                strength = _STRENGTHS[kind](source.codes, target.codes, alpha)
                agreement[i, j] = _agreement(strength[source.informative][:, target.informative])
    others = ~np.eye(len(models), dtype=bool)
    return np.array([np.median(agreement[others[:, j], j]) for j in range(len(models))])


class _Model(NamedTuple):
    codes: NDArray[np.float64]
    """Codes that vary, standardised."""
    informative: NDArray[np.bool_]


def _check_models(
    codes: Sequence[ArrayLike], kl: Sequence[ArrayLike] | None, kl_threshold: float
) -> list[_Model]:
    if len(codes) < 2 or any(np.ndim(model) != 2 for model in codes):
        raise ValueError(
            "codes must be a list of two or more 2D arrays, one per model, got "
            f"{len(codes)} of {sorted({np.ndim(model) for model in codes})} dimensions."
        )
    arrays = [_checked(model, "raise") for model in codes]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(
            "All models must encode the same samples in the same order, got "
            f"{[len(array) for array in arrays]} rows."
        )
    if kl is not None and [np.shape(k) for k in kl] != [array.shape[1:] for array in arrays]:
        raise ValueError(
            "kl must hold one value per code of every model, shapes "
            f"{[array.shape[1:] for array in arrays]}, got {[np.shape(k) for k in kl]}."
        )
    models = []
    for m, array in enumerate(arrays):
        live = live_codes(array, warn=False)
        informative = np.ones(live.sum(), dtype=bool)
        if kl is not None:
            informative = np.asarray(kl[m], dtype=float)[live] > kl_threshold
        if not informative.any():
            warn_degenerate(f"Model {m} has no informative code: it agrees with no other.")
        centred = array[:, live] - array[:, live].mean(axis=0)
        models.append(_Model(centred / _spread(centred, ddof=0), informative))
    return models


def _lasso_strength(source: NDArray, target: NDArray, alpha: float) -> NDArray[np.float64]:
    if 0 in (source.shape[1], target.shape[1]):
        return np.zeros((source.shape[1], target.shape[1]))
    coef = Lasso(alpha=alpha).fit(source, target).coef_
    return np.abs(np.reshape(coef, (target.shape[1], source.shape[1]))).T


def _spearman_strength(source: NDArray, target: NDArray, alpha: float) -> NDArray[np.float64]:
    ranked = [rankdata(codes, axis=0) for codes in (source, target)]
    one, two = ((ranks - ranks.mean(axis=0)) / _spread(ranks, ddof=0) for ranks in ranked)
    return np.abs(one.T @ two) / len(one)


_STRENGTHS = {"lasso": _lasso_strength, "spearman": _spearman_strength}


def _agreement(strength: NDArray[np.float64]) -> float:
    """From the strengths (D_x, D_y) of two models' informative codes, 0 if there are none."""
    if strength.size == 0:
        return 0.0
    best = []
    for axis in (0, 1):
        total, largest = strength.sum(axis=axis), strength.max(axis=axis)
        share = np.divide(largest, total, out=np.zeros_like(total), where=total > 0)
        best.append(float(np.mean(share * largest)))
    return sum(best) / 2


def _checked(codes: ArrayLike, nan_policy: str) -> NDArray[np.float64]:
    array = check_codes(codes, nan_policy=nan_policy)
    array = array[~np.isnan(array).any(axis=1)]
    if len(array) < 2:
        raise ValueError(f"At least 2 samples are needed to score codes, got {len(array)}.")
    return array


def _live(codes: ArrayLike, nan_policy: str) -> NDArray[np.float64]:
    """Validated codes that vary, with a warning if none does."""
    array = _checked(codes, nan_policy)
    warn_if_constant(array, _NOTHING)
    return array[:, live_codes(array, warn=False)]


def _spread(codes: NDArray[np.float64], ddof: int = 1) -> NDArray[np.float64]:
    """Standard deviation of every code, none of them constant."""
    # The range goes first: the squares of tiny values would vanish.
    unit = np.ptp(codes, axis=0)
    return (codes / unit).std(axis=0, ddof=ddof) * unit


def _covariance(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.atleast_2d(np.cov(codes, rowvar=False))
