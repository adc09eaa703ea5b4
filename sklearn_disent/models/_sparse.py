"""A sparse autoencoder: many latents, of which few are active at a time."""

from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._params import PositiveInt, Weight
from ._base import BaseVAE
from ._module import Terms, VAEOutput
from ._point_codes import PointCodes, PointModule


class Dictionary(nn.Module):
    """Codes to observations: a sum of atoms of length 1, and a bias."""

    def __init__(self, n_components: int, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.input_shape = input_shape
        self.weight = nn.Parameter(torch.randn(n_components, prod(input_shape)))
        self.bias = nn.Parameter(torch.zeros(prod(input_shape)))

    @property
    def atoms(self) -> Tensor:
        return F.normalize(self.weight, dim=1)

    def forward(self, z: Tensor) -> Tensor:
        return (z @ self.atoms + self.bias).view(-1, *self.input_shape)


class TopKModule(PointModule):
    """The k largest outputs of a linear encoder are the codes, all others are zero."""

    idle: Tensor

    def __init__(self, n_components: int, k: int, input_shape: tuple[int, ...]) -> None:
        decoder = Dictionary(n_components, input_shape)
        encoder = nn.Linear(prod(input_shape), n_components)
        with torch.no_grad():
            encoder.weight.copy_(decoder.atoms)
            encoder.bias.zero_()
        super().__init__(encoder, decoder)
        self.k = k
        # Training steps since each latent was active last.
        self.register_buffer("idle", torch.zeros(n_components))

    def activations(self, x: Tensor) -> Tensor:
        bias: Any = self.decoder.bias
        return F.relu(self.encoder(x.flatten(1) - bias))

    def train_codes(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        activations = self.activations(x)
        return largest(activations, self.k), {"activations": activations}


def largest(activations: Tensor, k: int) -> Tensor:
    """The k largest entries of each row, zeros elsewhere."""
    values, index = activations.topk(min(k, activations.shape[1]), dim=1)
    return torch.zeros_like(activations).scatter(1, index, values)


class TopKSparseAutoencoder(PointCodes, BaseVAE):
    """Sparse autoencoder: a dictionary of many directions, of which k make up an observation.

    For features of any kind, such as the activations of a network: the encoder is linear, its k
    largest outputs (above zero) are the codes, and the decoder adds up as many atoms of length 1.
    The loss is ``-log p(x|z)`` plus `alpha` times what latents long unused leave of the error, per
    observation.

    Parameters
    ----------
    n_components : int, default=64
        Number of latents, usually more than features.
    k : int, default=8
        Number of latents that may be active at a time.
    alpha : float or schedule, default=0.03125
        Weight of the term that brings latents back into use.
    n_idle_steps : int, default=200
        After so many optimiser steps without activity a latent is out of use.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; the networks are linear, whatever
        `architecture` says.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms, of length 1.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    sklearn_disent.metrics.dictionary_similarity : Atoms compared with true directions.
    sklearn_disent.datasets.make_superposition : Data with more directions than dimensions.

    Notes
    -----
    ``history_`` holds ``train_idle``, the share of latents out of use. Posteriors are points, with
    log-variances of -60; there is not a prior, so that ``score`` is the log-likelihood alone.
    ``sample`` draws the k largest of n_components normal numbers.

    References
    ----------
    Gao, la Tour, Tillman, Goh, Troll, Radford, Sutskever, Leike and Wu (2025). Scaling and
    evaluating sparse autoencoders. ICLR.

    Makhzani and Frey (2014). k-sparse autoencoders. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import TopKSparseAutoencoder
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> model = TopKSparseAutoencoder(16, k=2, max_epochs=1, random_state=0).fit(X)
    >>> int((model.transform(X) != 0).sum(axis=1).max())
    2
    >>> model.components_.shape
    (16, 5)
    """

    def __init__(
        self,
        n_components: PositiveInt = 64,
        *,
        k: PositiveInt = 8,
        alpha: Weight = 1 / 32,
        n_idle_steps: PositiveInt = 200,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.k = k
        self.alpha = alpha
        self.n_idle_steps = n_idle_steps

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        if kwargs or self.encoder is not None or self.decoder is not None:
            raise ValueError(
                "TopKSparseAutoencoder has a linear encoder and decoder, got "
                f"{['module__' + name for name in kwargs] or 'networks of your own'}. Leave them "
                "out, or derive a model from BaseVAE."
            )
        return TopKModule(self.n_components, self.k, self.input_shape_)

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        module = self.module_
        if module.training:
            active = (output.z.detach() > 0).any(0)
            module.idle.copy_(torch.where(active, 0.0, module.idle + 1))
        idle = module.idle > self.n_idle_steps
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "revival": (self.alpha, self._revival(x, output, extras["activations"], idle)),
            "idle": (None, idle.float().mean()),
        }

    def _revival(self, x: Tensor, output: VAEOutput, activations: Tensor, idle: Tensor) -> Tensor:
        """Squared error of what idle latents make of the error, on the scale of the likelihood."""
        error = (x - self.decoded_mean(output.decoded)).detach().flatten(1)
        codes = largest(activations * idle, 2 * self.k)
        rest = (error - codes @ self.module_.decoder.atoms).square().sum(1).mean()
        return rest * idle.any() / (2 * self.sigma**2)

    def kl_from_prior(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """Zeros: there is not a prior.

        Parameters
        ----------
        mean, log_var : Tensor of shape (n, n_components)
            Codes, and what is not used.

        Returns
        -------
        kl : Tensor of shape (n,)
        """
        return mean.new_zeros(len(mean))

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        return largest(torch.from_numpy(np.maximum(normal, 0.0)), self.k).numpy()

    @property
    def components_(self) -> np.ndarray:
        """The atoms (n_components, n_features), of length 1."""
        return self.module_.decoder.atoms.detach().cpu().numpy()
