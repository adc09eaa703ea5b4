"""Bounds of the log-likelihood of a fitted VAE: the ELBO and the importance-weighted one."""

import functools
import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

from ._data import check_outputs
from ._row_noise import row_noise
from .terms import gaussian_kl

# Points of the quadrature behind a KL divergence without closed form: each latent by itself is an
# integral over a line, which this many points give to about 1e-4 nats for flows that were trained.
# A density with steps that are narrower than the points are apart may be off by tenths.
_N_POINTS = 64


class LikelihoodBounds:
    """The part of a VAE that scores observations; needs its modules, likelihood and prior."""

    _map_batches: Callable[..., Any]  # of BaseNet

    def score_samples(self, X: Any, *, n_draws: int = 8, return_std: bool = False) -> Any:
        """Evidence lower bound of each observation in nats; higher is better.

        ``E_q log p(x|z) - KL(q(z|x), p(z))``. The KL divergence has a closed form for Gaussian
        priors; for a flow it is computed by quadrature, see :class:`BetaTCVAE`. The expectation is
        a mean over draws from q(z|x): unbiased, and with noise that is a function of the
        observation, so that the value is deterministic and does not depend on the other rows.

        Parameters
        ----------
        X : array-like
            Observations.
        n_draws : int, default=8
            Number of draws, in pairs of opposite sign. The error falls with its square root.
        return_std : bool, default=False
            Whether to return the standard error of each value, too; needs four draws or more.

        Returns
        -------
        elbo : ndarray of shape (n,)
            The bound.
        std : ndarray of shape (n,)
            Its standard error over draws, if ``return_std``. That of a mean over rows is
            ``np.sqrt((std**2).sum()) / n``.
        """
        log_likelihood, error, kl = self._elbo_parts(X, n_draws)
        if not return_std:
            return log_likelihood - kl
        if n_draws < 4:
            raise ValueError(
                f"return_std=True needs n_draws of at least 4, two pairs, got {n_draws}."
            )
        return log_likelihood - kl, error

    def elbo_terms(self, X: Any, *, n_draws: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """The two parts of the evidence lower bound of each observation, in nats.

        Parameters
        ----------
        X : array-like
            Observations.
        n_draws : int, default=8
            Number of draws, as in :meth:`score_samples`.

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            ``E_q log p(x|z)``.
        kl : ndarray of shape (n,)
            ``KL(q(z|x), p(z))``.
        """
        log_likelihood, _, kl = self._elbo_parts(X, n_draws)
        return log_likelihood, kl

    def _elbo_parts(self, X: Any, n_draws: int) -> Any:
        _check_draws(n_draws)
        parts = self._map_batches(X, lambda x: self._batch_elbo(x, n_draws))
        check_outputs(self, parts[0], parts[2])  # the error of few draws is nan
        return parts

    def _batch_elbo(self, x: Tensor, n_draws: int) -> tuple[Tensor, Tensor, Tensor]:
        return elbo_parts(self, x, n_draws)

    def importance_weighted_bound(self, X: Any, *, n_draws: int = 64) -> np.ndarray:
        """A tighter bound of the log-likelihood of each observation, in nats.

        ``log 1/K sum_k p(x|z_k) p(z_k) / q(z_k|x)`` with K draws from q(z|x): in expectation at
        least the ELBO, at most ``log p(x)``, and the nearer to it the larger K is.

        Parameters
        ----------
        X : array-like
            Observations.
        n_draws : int, default=64
            K. The cost is that of as many decoded images per row.

        Returns
        -------
        bound : ndarray of shape (n,)

        References
        ----------
        Burda, Grosse and Salakhutdinov (2016). Importance weighted autoencoders. ICLR.
        """
        _check_draws(n_draws)
        (bound,) = self._map_batches(X, lambda x: (importance_weighted(self, x, n_draws),))
        check_outputs(self, bound)
        return bound

    def kl_from_prior(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """KL divergence of q(z|x) from the prior, of each observation.

        Parameters
        ----------
        mean, log_var : Tensor of shape (n, n_components)
            Parameters of q(z|x).

        Returns
        -------
        kl : Tensor of shape (n,)
            In nats.
        """
        return gaussian_kl(mean, log_var).sum(1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`: the ELBO in nats per observation.

        Parameters
        ----------
        X : array-like
            Observations.
        y : None
            Not used.

        Returns
        -------
        elbo : float
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))


def log_likelihood_draws(net: Any, x: Tensor, n_draws: int) -> tuple[Tensor, Tensor, Tensor]:
    """``log p(x|z)`` (n_draws, n), the draws z themselves, and the noise they were made from."""
    mean, log_var = net.module_.encode(x)
    noise = row_noise(x, n_draws, net.n_components_)
    draws = mean + (0.5 * log_var).exp() * noise
    values = torch.stack([-net.reconstruction(x, net.module_.decoder(z)) for z in draws])
    return values, draws, noise


def elbo_parts(net: Any, x: Tensor, n_draws: int) -> tuple[Tensor, Tensor, Tensor]:
    """``E_q log p(x|z)``, its standard error, and the KL divergence, of each row of a batch."""
    values = log_likelihood_draws(net, x, n_draws)[0].double()
    mean, log_var = net.module_.encode(x)
    return *mean_and_error(values), net.kl_from_prior(mean, log_var)


def mean_and_error(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean over draws (n_draws, n), and its standard error."""
    return values.mean(0), _standard_error(values)


def _standard_error(values: Tensor) -> Tensor:
    """Of the mean over draws that come in opposite pairs; nan where fewer than two pairs do."""
    n_pairs = len(values) // 2
    n_free = len(values) - n_pairs
    if n_pairs < 2:
        return torch.full_like(values[0], math.nan)
    pairs = 0.5 * (values[:n_pairs] + values[n_free:])
    return pairs.std(0) / math.sqrt(n_pairs)


def importance_weighted(net: Any, x: Tensor, n_draws: int) -> Tensor:
    """``log 1/K sum_k p(x|z_k) p(z_k) / q(z_k|x)`` of each row of a batch."""
    values, draws, noise = log_likelihood_draws(net, x, n_draws)
    log_var = net.module_.encode(x)[1]
    log_prior = torch.stack([net.log_prior(z).sum(1) for z in draws])
    log_posterior = -0.5 * (noise**2 + log_var + math.log(2 * math.pi)).sum(2)
    log_weights = (values + log_prior - log_posterior).double()
    return torch.logsumexp(log_weights, 0) - math.log(n_draws)


def expected_log_prior(net: Any, mean: Tensor, log_var: Tensor) -> Tensor:
    """``E_q log p(z_d)`` (n, D) of a factorized prior, by Gauss-Hermite quadrature per latent."""
    points, weights = (torch.as_tensor(part).to(mean) for part in _quadrature())
    # All points at once: this is also logged in every step of training.
    z = mean + points[:, None, None] * (0.5 * log_var).exp()
    log_prior = net.log_prior(z.flatten(0, 1)).view_as(z)
    return torch.einsum("k,knd->nd", weights, log_prior)


@functools.cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of an expectation under N(0, 1)."""
    points, weights = hermegauss(_N_POINTS)
    return points, weights / weights.sum()


def _check_draws(n_draws: Any) -> None:
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a positive integer, got {n_draws!r}.")
