"""Codes that are points: what autoencoders without noise change about the VAE."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ._module import VAEOutput

# Log-variance of a posterior that is a point, to the precision of float32.
LOG_VAR = -60.0


class PointCodes:
    """Mixin of a VAE whose encoder gives codes without noise: posteriors are points."""

    module_: Any
    score_samples: Any
    reconstruction: Any
    kl_from_prior: Any

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        codes, more = self.module_.train_codes(x)
        extras.update(more)
        log_var = torch.full_like(codes, LOG_VAR)
        return x, VAEOutput(codes, log_var, codes, self.module_.decoder(codes))

    def _batch_elbo(self, x: Tensor, n_draws: int) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.module_.encode(x)
        decoder = self.module_.decoder
        # All draws are the same, so that rounding does not average out: decoded in float64, a row
        # has the same value among whichever others it stands.
        weights = {name: part.double() for name, part in decoder.state_dict().items()}
        decoded = functional_call(decoder, weights, mean.double())
        values = -self.reconstruction(x.double(), decoded)
        return values, torch.zeros_like(values), self.kl_from_prior(mean, log_var)

    def importance_weighted_bound(self, X: Any, *, n_draws: int = 64) -> np.ndarray:
        """The same as :meth:`score_samples`: all draws from a point are the same.

        Parameters
        ----------
        X : array-like
            Observations.
        n_draws : int, default=64
            Not used.

        Returns
        -------
        bound : ndarray of shape (n,)
        """
        return self.score_samples(X, n_draws=1)


class PointModule(nn.Module):
    """Encoder and decoder of codes without noise."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.channels_last = all(
            getattr(part, "channels_last", False) for part in (encoder, decoder)
        )

    def train_codes(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Codes that gradients pass through, and what else the terms need, by name."""
        raise NotImplementedError

    def codes(self, x: Tensor) -> Tensor:
        """Codes of a trained model."""
        return self.train_codes(x)[0]

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        codes = self.codes(x)
        return codes, torch.full_like(codes, LOG_VAR)
