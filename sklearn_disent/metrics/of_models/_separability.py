"""Separability of latents: what each says about the sample that the others do not."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._params import AtLeastTwo, RandomStateLike, validated
from .._estimators import posterior_of
from .._numeric import gaussian_entropy, standard_normal_log_density
from .._validation import warn_degenerate
from ..information._mixtures import log_mixture, mixture_entropy, resolved_std

__all__ = ["wsepin_score"]


@validated
def wsepin_score(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    max_samples: AtLeastTwo | None = 2000,
    random_state: RandomStateLike = None,
) -> float:
    r"""WSEPIN: how much does each latent say about the sample that the others do not say?

    The information of a latent about the sample, given all others, averaged with the latents'
    information as weights. In nats, from 0 to the logarithm of the number of samples; higher is
    better. Factors are not needed.

    .. math:: \sum_j \rho_j\, I(x; z_j \mid z_{-j}), \qquad
        \rho_j = \frac{I(x; z_j)}{\sum_i I(x; z_i)}

    Parameters
    ----------
    estimator : fitted VAE, Pipeline or search
        Has ``posterior(X)``, means and log-variances of Gaussians.
    X : array-like of shape (n_samples, ...)
        Observations.
    y : array-like or None, default=None
        Not used; scorers pass it.
    max_samples : int or None, default=2000
        Rows drawn at random, all if None. The information is at most the logarithm of their
        number: compare models at equal numbers.
    random_state : int, RandomState instance or None, default=None
        The rows, and one draw from the posterior of each.

    Returns
    -------
    wsepin : float
        The score.

    See Also
    --------
    elbo_decomposition : The index-code information of all latents.

    Notes
    -----
    Latents are independent given the sample, hence :math:`I(x; z_j \mid z_{-j}) = I(x; z_j) -
    I(z_j; z_{-j})`: WINDIN, of the same authors, is the same number.

    The published code samples for minutes. Posteriors are known Gaussians, so their mixture is
    known: only the mean of its logarithm over draws is estimated, with one draw per row. A model
    whose posteriors are all the same scores 0, with a warning.

    References
    ----------
    Do and Tran (2020). Theory and evaluation metrics for learning disentangled representations.
    ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import wsepin_score
    >>> from sklearn_disent.models import BetaVAE
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> vae = BetaVAE(2, max_epochs=2, random_state=0).fit(X)
    >>> wsepin_score(vae, X, random_state=0) >= 0
    True
    """
    mean, log_variance = posterior_of(estimator, X)
    rng = check_random_state(random_state)
    rows = rng.permutation(len(mean))[:max_samples]
    mean, std = mean[rows], resolved_std(mean[rows], log_variance[rows])
    if not (np.ptp(mean, axis=0).any() or np.ptp(std, axis=0).any()):
        warn_degenerate("All posteriors are the same: they say nothing about the samples.")
        return 0.0
    single = _single_information(mean, std)
    own = _conditional_information(mean, std, rng)
    return float(max(single @ own / single.sum(), 0.0)) if single.any() else 0.0


def _single_information(mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float64]:
    """I(x; z_j) of every latent by itself."""
    columns = (map(np.ascontiguousarray, pair) for pair in zip(mean.T, std.T))
    entropies = np.array([mixture_entropy(*column) for column in columns])
    return np.maximum(entropies - gaussian_entropy(std).mean(axis=0), 0.0)


def _conditional_information(
    mean: NDArray[np.float64], std: NDArray[np.float64], rng: RandomState
) -> NDArray[np.float64]:
    """I(x; z_j | z_-j) = E log q(z_j | x) + log q(z_-j) - log q(z), one draw per sample."""
    noise = rng.standard_normal(mean.shape)
    z = mean + std * noise
    log_own = standard_normal_log_density(noise) - np.log(std)
    log_all = log_mixture(z, mean, std)
    information = np.empty(mean.shape[1])
    for j in range(mean.shape[1]):
        others = np.arange(mean.shape[1]) != j
        # Of a single latent the others are nothing, and certain.
        log_rest = (
            log_mixture(z[:, others], mean[:, others], std[:, others]) if others.any() else 0.0
        )
        information[j] = (log_own[:, j] + log_rest - log_all).mean()
    return information
