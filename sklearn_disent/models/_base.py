"""BaseVAE: what all variational autoencoders share."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy import stats
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import nn

from sklearn_disent.models._data import Layout
from sklearn_disent.models._net import BaseNet
from sklearn_disent.models._schedules import Weight, resolve
from sklearn_disent.models._terms import (
    KLParts,
    bernoulli_nll,
    gaussian_kl,
    gaussian_nll,
    kl_parts,
    standard_log_prior,
)
from sklearn_disent.networks import make_pair

_N_ELBO_DRAWS = 8  # points of the quasi-Monte Carlo rule behind score_samples
_ACTIVE = 0.01  # variance of a code over the data, from which a latent counts as active
_MIN_STEPS = 100  # optimiser steps before which a latent is not dead, but not yet in use

Terms = dict[str, tuple[Weight | None, torch.Tensor]]


class VAEOutput(NamedTuple):
    """What one forward pass gives."""

    mean: torch.Tensor  # (n, D), of q(z|x)
    log_var: torch.Tensor  # (n, D), of q(z|x)
    z: torch.Tensor  # (n, D), a draw from q(z|x)
    decoded: torch.Tensor  # (n, *input_shape), logits (Bernoulli) or means (Gaussian)


class VAEModule(nn.Module):
    """Encoder and decoder with the reparameterised draw between them."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.channels_last = all(
            getattr(part, "channels_last", False) for part in (encoder, decoder)
        )

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        return mean, log_var

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> VAEOutput:
        mean, log_var = self.encode(x)
        z = mean + (0.5 * log_var).exp() * noise
        return VAEOutput(mean, log_var, z, self.decoder(z))


class BaseVAE(BaseNet):
    """What all variational autoencoders share; a model adds its ``__init__`` and ``_terms``.

    Parameters are explained in :class:`VAE`.
    """

    _parameter_constraints: dict = {
        **BaseNet._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "architecture": [str],
        "encoder": [callable, nn.Module, None],
        "decoder": [callable, nn.Module, None],
        "likelihood": [StrOptions({"auto", "bernoulli", "gaussian"})],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "log_decomposition": ["boolean"],
    }
    _prefixes = ("encoder", "decoder", *BaseNet._prefixes)

    def __init__(
        self,
        n_components: int = 10,
        *,
        architecture: str = "auto",
        encoder: Callable | nn.Module | None = None,
        decoder: Callable | nn.Module | None = None,
        likelihood: str = "auto",
        sigma: float = 0.1,
        log_decomposition: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.n_components = n_components
        self.architecture = architecture
        self.encoder = encoder
        self.decoder = decoder
        self.likelihood = likelihood
        self.sigma = sigma
        self.log_decomposition = log_decomposition

    # -- building ----------------------------------------------------------------------------

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        shape, size = self.input_shape_, self.n_components
        if self.encoder is None or self.decoder is None:
            encoder, decoder = make_pair(self.architecture, shape, size, **kwargs)
        if self.encoder is not None:
            encoder = self._own_part("encoder", shape, 2 * size)
        if self.decoder is not None:
            decoder = self._own_part("decoder", size, shape)
        _check_shapes(encoder, decoder, shape, size)
        return VAEModule(encoder, decoder)

    def _own_part(self, name: str, *args: Any) -> nn.Module:
        part = getattr(self, name)
        if isinstance(part, nn.Module):
            return copy.deepcopy(part)
        return part(*args, **self.get_params_for(name))

    def initialize_module(self) -> Self:
        """Build ``module_``; part of skorch's protocol."""
        super().initialize_module()
        self.n_components_ = self.n_components
        self.likelihood_ = self._choose_likelihood(self.input_shape_)
        return self

    def _choose_likelihood(self, input_shape: tuple[int, ...]) -> str:
        if self.likelihood != "auto":
            return self.likelihood
        return "bernoulli" if len(input_shape) == 3 else "gaussian"

    def _check_range(self, rows: np.ndarray, layout: Layout, *, reset: bool) -> None:
        super()._check_range(rows, layout, reset=reset)
        likelihood = self._choose_likelihood(layout.input_shape) if reset else self.likelihood_
        if likelihood != "bernoulli" or (rows.dtype == np.uint8 and reset) or not rows.size:
            return
        scale = self._uint8_scale if rows.dtype == np.uint8 else 1.0
        low, high = rows.min() * scale, rows.max() * scale
        if low < -1e-6 or high > 1 + 1e-6:
            raise ValueError(
                "The Bernoulli likelihood needs values in [0, 1], X has values from "
                f"{low:.6g} to {high:.6g}. Scale X (uint8 images are scaled by themselves; "
                "MinMaxScaler(clip=True) serves rows), or set likelihood='gaussian'."
            )

    # -- training ----------------------------------------------------------------------------

    @abstractmethod
    def _terms(self, x: torch.Tensor, output: VAEOutput, extras: Any) -> Terms:
        """The objective: name -> (weight, value).

        The loss is the weighted sum. A weight is a number or a schedule; None logs the value
        without adding it to the loss.
        """

    def _step(self, batch: Any) -> dict[str, Any]:
        x, output = self._forward(self._to_tensor(batch[0], self._layout), batch[1])
        terms = self._objective(x, output, batch[1])
        loss = sum(
            self._at(weight) * value for weight, value in terms.values() if weight is not None
        )
        logged = {name: value for name, (_, value) in terms.items()}
        with torch.no_grad():
            if self.module_.training:
                mean = output.mean[: len(batch[0])]
                self._moments += torch.stack([mean.sum(0), mean.pow(2).sum(0)])
            if self.log_decomposition and "index_code_mi" not in logged:
                logged.update(self._decomposition(output)._asdict())
        return {"loss": loss, "y_pred": output, "terms": logged}

    def _forward(self, x: torch.Tensor, extras: Any) -> tuple[torch.Tensor, VAEOutput]:
        """What is to be reconstructed, first the batch itself, and the output for it."""
        return x, self.module_(x, self._noise(len(x)))

    def _objective(self, x: torch.Tensor, output: VAEOutput, extras: Any) -> Terms:
        """The model's own terms, and those that any model may have beside them."""
        return self._terms(x, output, extras)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin to add up moments of the codes; part of skorch's protocol."""
        super().on_epoch_begin(net, **kwargs)
        self._moments = torch.zeros(2, self.n_components_, device=self.device)

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Record how many latents tell something about x; part of skorch's protocol."""
        first, second = self._moments.double() / len(dataset_train)
        variances = second - first**2
        self.history_.record("active_latents", int((variances > _ACTIVE).sum()))
        super().on_epoch_end(net, dataset_train=dataset_train, **kwargs)

    def _training_troubles(self) -> list[str]:
        if self.n_steps_ < _MIN_STEPS or self.history_[-1, "active_latents"] > 0:
            return []
        return [
            f"All {self.n_components_} latents of {type(self).__name__} are dead: their codes vary "
            f"by less than {_ACTIVE} over the data, and decoding ignores them. Usual remedies: a "
            "smaller weight of the KL divergence, or one that grows "
            "(beta=LinearSchedule(0, 4, n_steps=1000)), a smaller sigma, more epochs."
        ]

    def _at(self, weight: Weight) -> float:
        """Value of a weight at the present optimiser step."""
        return resolve(weight, self.n_steps_)

    def _decomposition(self, output: VAEOutput, estimator: str = "mss") -> KLParts:
        """Index-code mutual information, total correlation, dimension-wise KL of one batch."""
        mean, log_var, z, _ = output
        return kl_parts(z, mean, log_var, len(self._dataset), estimator, self._log_prior)

    def _log_prior(self, z: torch.Tensor) -> torch.Tensor:
        """Log-density of the factorised prior, per latent."""
        return standard_log_prior(z)

    def _noise(self, n_rows: int) -> torch.Tensor:
        return torch.randn(
            n_rows, self.n_components_, generator=self._generator, device=self.device
        )

    def _reconstruction(self, x: torch.Tensor, decoded: torch.Tensor) -> torch.Tensor:
        """Negative log-likelihood in nats per observation."""
        if self.likelihood_ == "bernoulli":
            return bernoulli_nll(x, decoded)
        return gaussian_nll(x, decoded, self.sigma)

    # -- using the fitted model --------------------------------------------------------------

    def _encode(self, batch: torch.Tensor) -> torch.Tensor:
        return self.module_.encode(batch)[0]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of the approximate posterior q(z|x), a diagonal Gaussian.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        mean, log_variance : ndarray of shape (n, n_components)
        """
        mean, log_var = self._map_batches(X, lambda batch: self.module_.encode(batch))
        return mean, log_var

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Decode codes to observations, in the layout that ``fit`` was given.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes.

        Returns
        -------
        decoded : ndarray
            Mean of p(x|z): for images, intensities in [0, 1] under the Bernoulli likelihood,
            for uint8 images too.
        """
        check_is_fitted(self)
        return self._decode(X, lambda z: self._observed_mean(self.module_.decoder(z)))

    def _observed_mean(self, decoded: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(decoded) if self.likelihood_ == "bernoulli" else decoded

    def reconstruct(self, X: Any) -> np.ndarray:
        """Encode to the posterior mean and decode it.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        reconstructions : ndarray
            As from :meth:`inverse_transform`.
        """
        return self.inverse_transform(self.posterior(X)[0])

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Decode draws from the prior, N(0, I) unless the model has learnt another.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.

        Returns
        -------
        samples : ndarray
            As from :meth:`inverse_transform`.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")
        rng = check_random_state(random_state)
        normal = rng.standard_normal((n_samples, self.n_components_))
        return self.inverse_transform(self._from_normal(normal))

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        """Turn draws from N(0, I) into draws from the prior."""
        return normal

    def score_samples(self, X: Any) -> np.ndarray:
        """Evidence lower bound of each observation in nats; higher is better.

        ``E_q log p(x|z) - KL(q(z|x), p(z))``. The KL is exact; the expectation uses the same
        8 quasi-random points for every observation, so that the value is deterministic and does
        not depend on the other rows.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        elbo : ndarray of shape (n,)
        """
        log_likelihood, kl = self.elbo_terms(X)
        return log_likelihood - kl

    def elbo_terms(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The two parts of the evidence lower bound of each observation, in nats.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        log_likelihood : ndarray of shape (n,)
            ``E_q log p(x|z)``.
        kl : ndarray of shape (n,)
            ``KL(q(z|x), p(z))``.
        """
        check_is_fitted(self)
        sobol = stats.qmc.Sobol(self.n_components_, rng=np.random.default_rng(0))
        points = stats.norm.ppf(sobol.random(_N_ELBO_DRAWS)).astype(np.float32)
        noises = torch.from_numpy(points).to(self.device)

        def terms(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mean, log_var = self.module_.encode(x)
            draws = mean + (0.5 * log_var).exp() * noises[:, None]
            nll = sum(self._reconstruction(x, self.module_.decoder(z)) for z in draws)
            return -nll / len(noises), self._kl(mean, log_var, draws)

        log_likelihood, kl = self._map_batches(X, terms)
        return log_likelihood, kl

    def _kl(self, mean: torch.Tensor, log_var: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """KL divergence of q(z|x) from the prior, per observation.

        ``draws`` of shape (n_draws, n, D) serve priors for which it has no closed form.
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


def _check_shapes(
    encoder: nn.Module, decoder: nn.Module, input_shape: tuple[int, ...], n_components: int
) -> None:
    """A dry run tells the user of a wrong network before training does."""
    training = [(part, part.training) for part in (encoder, decoder)]
    for part, _ in training:
        part.eval()
    with torch.no_grad():
        encoded = tuple(encoder(torch.zeros(2, *input_shape)).shape)
        decoded = tuple(decoder(torch.zeros(2, n_components)).shape)
    for part, mode in training:
        part.train(mode)
    if encoded != (2, 2 * n_components):
        raise ValueError(
            f"encoder must return (n, 2 * n_components) = (n, {2 * n_components}) values, means "
            f"then log-variances, got shape {encoded} for 2 observations."
        )
    if decoded != (2, *input_shape):
        raise ValueError(
            f"decoder must return observations of shape (n, {', '.join(map(str, input_shape))}), "
            f"got shape {decoded} for 2 codes."
        )
