"""Minimality and sufficiency of posteriors: of the random codes, without bins."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import (
    Array,
    Average,
    FactorBins,
    Names,
    NanPolicy,
    NonNegativeFloat,
    validated,
)
from .._aggregation import Score, average_of
from .._numeric import gaussian_entropy
from .._validation import warn_degenerate, warn_single_valued
from ..information._mixtures import mixture_information
from ..information._properties import (
    NUISANCE_AS_FACTORS,
    CodeLedger,
    joint_labels,
    names_of,
    warn_of_few_rows,
)
from ._posterior_mig import checked_posteriors

__all__ = ["posterior_ledger", "posterior_minimality_score", "posterior_sufficiency_score"]


@validated
def posterior_minimality_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    code_weights: Literal["equal", "information"] = "equal",
    min_information: NonNegativeFloat = 0.05,
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
) -> Score:
    r"""Minimality of a model's posteriors: is each code made of nothing but one factor?

    As :func:`minimality_score`, for the random code :math:`z_j \sim q(z_j | x)` instead of its
    binned mean: the share of what a code holds about the observation that its best factor
    explains. Between 0 and 1, higher is better.

    .. math::
        m_{ij} = \frac{I(z_j; y_i)}{I(z_j; x)}, \qquad
        I(z_j; x) = H(z_j) - \mathrm{E}_x H(q(z_j | x))

    Parameters
    ----------
    estimator : fitted model
        With ``posterior(X)`` that gives means and log-variances; a Pipeline that ends in one, or a
        search over either.
    X : array-like
        Observations.
    y : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    code_weights : {"equal", "information"}, default="equal"
        Weights of the codes in the mean: the same for all active ones, or :math:`I(z_j; x)`.
    min_information : float, default=0.05
        A code is active if it holds more than this about the observation, in nats; the others are
        left out, with a warning.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"macro"} or None, default="macro"
        The mean over codes, or one value per code.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    minimality : float, or ndarray of shape (n_codes,) if `average` is None
        The score; nan for codes that are left out.

    See Also
    --------
    minimality_score : The same for codes that are points, in bins; needs no posterior.
    posterior_sufficiency_score : Whether one code determines each factor.
    posterior_ledger : What each code holds besides its factor.

    Notes
    -----
    This is the definition of minimality before the authors bin the codes, after which
    :math:`I(z_j; x)` becomes :math:`H(z_j)`. A collapsed latent holds nothing here, whatever its
    scale, and noise of the posterior is not taken for information. Nothing has to be chosen but
    the least information of an active code. Entropies are exact to 1e-3, see
    :func:`posterior_mig_score`.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import posterior_minimality_score
    >>> from sklearn_disent.models import BetaVAE
    >>> y = np.random.default_rng(0).integers(3, size=(300, 2))
    >>> vae = BetaVAE(2, beta=1.0, max_epochs=5, random_state=0).fit(y / 2.0)
    >>> 0.0 <= posterior_minimality_score(vae, y / 2.0, y) <= 1.0
    True
    """
    options = (factor_bins, sample_weight, nan_policy)
    data, mean, std = checked_posteriors("posterior_minimality_score", estimator, X, y, *options)
    info = mixture_information(data.factors, mean, std, data.sample_weight)
    warn_single_valued(info.varied)
    total = _held(info.h_codes, std, data.sample_weight)
    active = total > min_information
    if active.any() and not active.all():
        warn_degenerate(
            f"codes {np.flatnonzero(~active).tolist()} hold at most {min_information:g} nats about "
            "the observations and are left out of the score. Lower min_information to keep them."
        )
    share = np.clip(info.mutual_info.max(axis=0) / np.where(active, total, 1.0), 0.0, 1.0)
    if average is None or code_weights == "equal" or not active.any():
        return average_of(share, active, average, "codes")
    return float(np.average(share[active], weights=total[active]))


@validated
def posterior_sufficiency_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
) -> Score:
    r"""Sufficiency of a model's posteriors: does one code determine each factor?

    As :func:`sufficiency_score`, for the random code :math:`z_j \sim q(z_j | x)` instead of its
    binned mean. Between 0 and 1, higher is better.

    .. math::
        s_{ij} = \frac{I(z_j; y_i)}{H(y_i)}, \qquad \bar s = \frac{1}{K} \sum_i \max_j s_{ij}

    Parameters
    ----------
    estimator : fitted model
        With ``posterior(X)`` that gives means and log-variances; a Pipeline that ends in one, or a
        search over either.
    X : array-like
        Observations.
    y : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
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
    sufficiency : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    sufficiency_score : The same for codes that are points, in bins; needs no posterior.
    posterior_minimality_score : Whether each code is made of one factor.

    Notes
    -----
    A wide posterior blurs values of a factor that lie close together, which bins of its mean do
    not show. A factor with a single value is left out, with a warning (nan if `average` is None).

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import posterior_sufficiency_score
    >>> from sklearn_disent.models import BetaVAE
    >>> y = np.random.default_rng(0).integers(3, size=(300, 2))
    >>> vae = BetaVAE(2, beta=1.0, max_epochs=5, random_state=0).fit(y / 2.0)
    >>> 0.0 <= posterior_sufficiency_score(vae, y / 2.0, y) <= 1.0
    True
    """
    options = (factor_bins, sample_weight, nan_policy)
    data, mean, std = checked_posteriors("posterior_sufficiency_score", estimator, X, y, *options)
    info = mixture_information(data.factors, mean, std, data.sample_weight)
    return average_of(info.per_factor().max(axis=1), info.varied, average)


@validated
def posterior_ledger(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    factor_bins: FactorBins | None = None,
    sample_weight: Array | None = None,
    factor_names: Names | None = None,
    nan_policy: NanPolicy = "raise",
) -> CodeLedger:
    r"""What each random code of a model holds: about its factor, about the others, and besides.

    The information of a code about the observation, split by the chain rule, without bins:

    .. math::
        I(z_j; x) = I(z_j; y_i) + I(z_j; y_{rest} | y_i) + I(z_j; x | y),

    where :math:`y_i` is the factor that the code is most informative about.

    Parameters
    ----------
    estimator : fitted model
        With ``posterior(X)`` that gives means and log-variances; a Pipeline that ends in one, or a
        search over either.
    X : array-like
        Observations.
    y : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    factor_names : sequence of str or None, default=None
        Names of the factors; None takes those of a DataFrame, or numbers.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    ledger : CodeLedger
        Arrays `factor`, `total`, `own`, `others`, `nuisance` and `share`, one entry per code;
        ``print`` shows a table, ``to_frame()`` makes a DataFrame.

    See Also
    --------
    code_ledger : The same for codes that are points, in bins.
    posterior_minimality_score : The mean share over active codes.

    Notes
    -----
    With few observations per combination of factors, the mixture of a combination is made of few
    posteriors, and part of the nuisance is counted as information about the other factors, with a
    warning. Where every combination occurs once there is no nuisance to tell apart, and it is 0.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import posterior_ledger
    >>> from sklearn_disent.models import BetaVAE
    >>> y = np.random.default_rng(0).integers(3, size=(300, 2))
    >>> vae = BetaVAE(2, beta=1.0, max_epochs=5, random_state=0).fit(y / 2.0)
    >>> ledger = posterior_ledger(vae, y / 2.0, y)
    >>> bool(np.allclose(ledger.total, ledger.own + ledger.others + ledger.nuisance))
    True
    """
    options = (factor_bins, sample_weight, nan_policy)
    data, mean, std = checked_posteriors("posterior_ledger", estimator, X, y, *options)
    # The combination of all factors is one more factor.
    every = joint_labels(data.factors)
    warn_of_few_rows(every, "factors", NUISANCE_AS_FACTORS)
    columns = np.column_stack([data.factors, every])
    info = mixture_information(columns, mean, std, data.sample_weight)
    total = np.maximum(_held(info.h_codes, std, data.sample_weight), 0.0)
    *single, joint = info.mutual_info
    own = np.minimum(np.max(single, axis=0), total)
    # Each is exact to 1e-4: the order of the three holds only up to that.
    of_factors = np.clip(joint, own, total)
    factor = np.argmax(single, axis=0)
    names = names_of(y, factor_names)
    return CodeLedger(factor, total, own, of_factors - own, total - of_factors, names)


def _held(
    h_codes: NDArray[np.float64], std: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """I(z_j; x), what each code holds about the observation, in nats."""
    return h_codes - np.average(gaussian_entropy(std), axis=0, weights=weight)
