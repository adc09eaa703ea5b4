"""A model with classes among its latents."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor, nn
from torch.nn import functional as F

from .._params import NonNegativeFloat, PositiveFloat, PositiveInt, Sizes, Weight
from ._base import BaseVAE
from ._bounds import mean_and_error
from ._module import Terms, VAEOutput
from ._row_noise import row_noise
from ._schedules import LinearSchedule
from .terms import categorical_kl, gaussian_kl

# Added to the variance of a class number, which is zero where a class is certain.
_LEAST_VARIANCE = 1e-6


class CodeDecoder(nn.Module):
    """Decoder of codes whose last columns are numbers of classes."""

    def __init__(self, inner: nn.Module, sizes: Sequence[int]) -> None:
        super().__init__()
        self.inner = inner
        self.sizes = tuple(sizes)

    def forward(self, z: Tensor) -> Tensor:
        n_gaussian = z.shape[1] - len(self.sizes)
        columns = [z[:, :n_gaussian]]
        for column, size in zip(z[:, n_gaussian:].T, self.sizes):
            index = column.round().clamp(0, size - 1).long()
            columns.append(F.one_hot(index, size).to(z))
        return self.inner(torch.cat(columns, 1))


class JointModule(nn.Module):
    """Encoder to Gaussians and classes; decoder of both."""

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, n_gaussian: int, sizes: Sequence[int]
    ) -> None:
        super().__init__()
        self.channels_last = all(
            getattr(part, "channels_last", False) for part in (encoder, decoder)
        )
        self.encoder = encoder
        self.decoder = CodeDecoder(decoder, sizes)
        self.n_gaussian, self.sizes = n_gaussian, tuple(sizes)

    def parameters_of(self, x: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Means and log-variances of the Gaussians, and logits of each discrete latent."""
        mean, log_var, logits = self.encoder(x).split(
            [self.n_gaussian, self.n_gaussian, sum(self.sizes)], dim=1
        )
        return mean, log_var, list(logits.split(self.sizes, dim=1))

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.codes(*self.parameters_of(x))

    def codes(self, mean: Tensor, log_var: Tensor, logits: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Means then likeliest classes; log-variances of both, those of the numbers of classes."""
        numbers, spreads = [], []
        for part in logits:
            p = part.softmax(1)
            number = torch.arange(p.shape[1], device=p.device, dtype=p.dtype)
            first, second = p @ number, p @ number.square()
            numbers.append(part.argmax(1).to(mean))
            spreads.append((second - first.square()).clamp(min=0.0).add(_LEAST_VARIANCE).log())
        return (
            torch.cat([mean, torch.stack(numbers, 1)], 1),
            torch.cat([log_var, torch.stack(spreads, 1)], 1),
        )


class JointVAE(BaseVAE):
    """VAE with classes among its latents, beside the Gaussian ones.

    A factor such as the shape of a sprite has no order: a class can hold it, a number cannot. The
    last latents are discrete; in training they are relaxed by the Gumbel-softmax distribution. Both
    kinds have a capacity that grows: the loss is ``-E_q log p(x|z) + gamma |KL_z - C_z| + gamma
    |KL_c - C_c|``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents, the discrete ones included.
    n_categories : int or tuple of int, default=3
        Number of classes of the discrete latent, or of each of several.
    gamma : float or schedule, default=30.0
        Weight of the distances from the capacities.
    capacity : float or schedule, default=25.0
        C_z, the last capacity of the Gaussian latents, in nats.
    discrete_capacity : float or None, default=None
        C_c, the last capacity of the discrete latents; None and larger values mean the most that
        they can hold, the sum of ``log n_categories``.
    n_annealing_steps : int, default=10000
        Number of optimiser steps (batches, not epochs) in which the capacities grow.
    temperature : float, default=0.67
        Of the Gumbel-softmax distribution: nearer to 0, draws are nearer to classes, and gradients
        vary more.
    **kwargs : dict
        All other parameters are those of :class:`VAE`. An `encoder` of your own gives the means,
        the log-variances and the logits of all classes; a `decoder` takes the Gaussian latents and
        indicators of all classes.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    AnnealedVAE : Gaussian latents alone.

    Notes
    -----
    A discrete latent is one code, the number of its likeliest class: metrics of classes take it as
    it is, those that correlate do not. ``inverse_transform`` rounds it. ``posterior`` gives the
    variance of that number beside it, which metrics of posteriors take for a Gaussian's.
    ``history_`` holds ``train_kl`` and ``train_discrete_kl``.

    References
    ----------
    Dupont (2018). Learning disentangled joint continuous and discrete representations. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import JointVAE
    >>> X = load_digits().images / 16.0
    >>> vae = JointVAE(4, n_categories=10, n_annealing_steps=20, max_epochs=1, random_state=0)
    >>> codes = vae.fit_transform(X)
    >>> codes.shape, bool((codes[:, 3] == codes[:, 3].round()).all())
    ((1797, 4), True)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        n_categories: PositiveInt | Sizes = 3,
        gamma: Weight = 30.0,
        capacity: Weight = 25.0,
        discrete_capacity: NonNegativeFloat | None = None,
        n_annealing_steps: PositiveInt = 10_000,
        temperature: PositiveFloat = 0.67,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.n_categories = n_categories
        self.gamma = gamma
        self.capacity = capacity
        self.discrete_capacity = discrete_capacity
        self.n_annealing_steps = n_annealing_steps
        self.temperature = temperature

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        sizes = [int(size) for size in np.atleast_1d(self.n_categories)]
        n_gaussian = self.n_components - len(sizes)
        if n_gaussian < 0 or min(sizes) < 2:
            raise ValueError(
                "n_categories must be one number for at most n_components latents, two or more "
                f"each, got {self.n_categories!r} for n_components={self.n_components}."
            )
        n_classes = sum(sizes)
        parts = self._make_parts(kwargs, n_gaussian + n_classes, 2 * n_gaussian + n_classes)
        return JointModule(*parts, n_gaussian, sizes)

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        module = self.module_
        mean, log_var, logits = module.parameters_of(x)
        noise = self.noise(len(x))[:, : module.n_gaussian]
        z = mean + (0.5 * log_var).exp() * noise
        relaxed = [self._relaxed(part) for part in logits]
        decoded = module.decoder.inner(torch.cat([z, *relaxed], 1))
        extras["logits"] = torch.cat(logits, 1)
        codes, spread = module.codes(mean, log_var, logits)
        draw = torch.cat([z, codes[:, module.n_gaussian :]], 1)
        return x, VAEOutput(codes, spread, draw, decoded)

    def _relaxed(self, logits: Tensor) -> Tensor:
        uniform = torch.rand(logits.shape, generator=self.generator, device=self.device)
        gumbel = -(-uniform.clamp(1e-20, 1 - 1e-7).log()).log()
        return ((logits + gumbel) / self.temperature).softmax(1)

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        n_gaussian, sizes = self.module_.n_gaussian, self.module_.sizes
        gaussian = output.mean[:, :n_gaussian], output.log_var[:, :n_gaussian]
        kl = gaussian_kl(*gaussian).sum(1).mean()
        logits = extras["logits"].split(sizes, dim=1)
        discrete_kl = torch.stack([categorical_kl(part) for part in logits]).sum(0).mean()
        most = sum(map(math.log, sizes))
        discrete = most if self.discrete_capacity is None else min(self.discrete_capacity, most)
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "capacity_gap": (self.gamma, (kl - self._grown(self.capacity)).abs()),
            "discrete_gap": (self.gamma, (discrete_kl - self._grown(discrete)).abs()),
            "kl": (None, kl),
            "discrete_kl": (None, discrete_kl),
        }

    def _grown(self, capacity: Weight) -> float:
        if not callable(capacity):
            capacity = LinearSchedule(0.0, capacity, self.n_annealing_steps)
        return self.at_step(capacity)

    # -- using the fitted model --------------------------------------------------------------

    def _batch_elbo(self, x: Tensor, n_draws: int) -> tuple[Tensor, Tensor, Tensor]:
        """``E_q log p(x|z)``, its standard error, and the KL divergence of both kinds."""
        module = self.module_
        mean, log_var, logits = module.parameters_of(x)
        noise = row_noise(x, n_draws, self.n_components_)
        values = []
        for draw in noise:
            gaussian, discrete = draw.tensor_split([module.n_gaussian], dim=1)
            codes = [mean + (0.5 * log_var).exp() * gaussian]
            # A uniform number falls into one of the intervals that probabilities cut.
            uniform = torch.special.ndtr(discrete)
            for part, point in zip(logits, uniform.T):
                number = (point[:, None] > part.softmax(1).cumsum(1)[:, :-1]).sum(1)
                codes.append(number[:, None].to(mean))
            decoded = module.decoder(torch.cat(codes, 1))
            # Sums in single precision would differ with the size of the batch.
            values.append(-self.reconstruction(x.double(), decoded.double()))
        kl = gaussian_kl(mean, log_var).sum(1) + sum(categorical_kl(part) for part in logits)
        return *mean_and_error(torch.stack(values)), kl

    def importance_weighted_bound(self, X: Any, *, n_draws: int = 64) -> np.ndarray:
        """Not offered for latents of two kinds; use :meth:`score_samples`.

        Parameters
        ----------
        X : array-like
            Observations.
        n_draws : int, default=64
            Number of draws.
        """
        raise NotImplementedError(
            "JointVAE has no importance-weighted bound: its posteriors are not Gaussian. Use "
            "score_samples."
        )

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        n_gaussian, sizes = self.module_.n_gaussian, np.array(self.module_.sizes)
        uniform = ndtr(normal[:, n_gaussian:])
        classes = np.minimum(np.floor(uniform * sizes), sizes - 1)
        return np.hstack([normal[:, :n_gaussian], classes])
