"""An autoencoder whose latents take a few values each."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor, nn

from .._params import AtLeastTwo, NonNegativeFloat, PositiveInt, Weight
from ._base import BaseVAE
from ._module import Terms, VAEOutput
from ._point_codes import PointCodes, PointModule


class QuantizedModule(PointModule):
    """Every latent takes the nearest of its own values."""

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, n_components: int, n_values: int
    ) -> None:
        super().__init__(encoder, decoder)
        values = torch.linspace(-0.5, 0.5, n_values)
        self.codebook = nn.Parameter(values.repeat(n_components, 1))

    def nearest(self, continuous: Tensor) -> Tensor:
        distance = (continuous.detach()[:, :, None] - self.codebook).abs()
        index = distance.argmin(2, keepdim=True)
        return self.codebook.expand(index.shape[0], -1, -1).gather(2, index).squeeze(2)

    def codes(self, x: Tensor) -> Tensor:
        # The values themselves: by way of the continuous code they would be rounded.
        return self.nearest(self.encoder(x))

    def train_codes(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        continuous = self.encoder(x)
        values = self.nearest(continuous)
        # The value forward, the gradient of the continuous code backward.
        codes = continuous + (values - continuous).detach()
        return codes, {"continuous": continuous, "values": values}


class QuantizedAE(PointCodes, BaseVAE):
    """Autoencoder whose latents take a few values each, with strong weight decay.

    Each latent has a codebook of its own, and takes the nearest value; the gradient passes straight
    through. With few values per latent, and weights that are kept small, the decoder does best when
    each value always means the same: the latents disentangle. The loss is ``-log p(x|z) + P / D
    (quantization ||sg[c] - z||^2 + commitment ||c - sg[z]||^2)`` per observation of P numbers,
    where c is the output of the encoder, z the nearest values of the D latents, and sg stops the
    gradient.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    n_values : int, default=10
        Number of values of each latent.
    quantization : float or schedule, default=0.01
        Weight of the loss that moves values towards the encoder's outputs.
    commitment : float or schedule, default=0.01
        Weight of the loss that moves the encoder's outputs towards values.
    weight_decay : float, default=0.1
        Weight decay of encoder and decoder; neither biases nor the values are decayed.
    optimizer : class, default=torch.optim.AdamW
        Any torch optimiser; it must take `weight_decay`.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; an `encoder` of your own has n_components
        outputs.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    sklearn_disent.metrics.infom_score : The paper's measure.

    Notes
    -----
    Posteriors are points: their log-variances are -60. The prior is uniform over all values, so
    that ``score``, the ELBO, is the log-likelihood less n_components log n_values. ``transform``
    gives the values, not their numbers: neighbours are near each other.

    The two weights are those of the paper, which takes means over pixels and over latents: its loss
    is this one divided by P. Values have no gradient but that of their own term, so that with Adam
    its weight hardly matters. The authors also clip gradients, and decode by a network in which the
    latents set the statistics of every layer.

    References
    ----------
    Hsu, Dorrell, Whittington, Wu and Finn (2023). Disentanglement via latent quantization.
    NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import QuantizedAE
    >>> X = load_digits().images / 16.0
    >>> model = QuantizedAE(n_components=4, n_values=5, max_epochs=1, random_state=0).fit(X)
    >>> len(set(model.transform(X)[:, 0])) <= 5
    True
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        n_values: AtLeastTwo = 10,
        quantization: Weight = 0.01,
        commitment: Weight = 0.01,
        weight_decay: NonNegativeFloat = 0.1,
        optimizer: Callable[..., Any] = torch.optim.AdamW,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, optimizer=optimizer, **kwargs)
        self.n_values = n_values
        self.quantization = quantization
        self.commitment = commitment
        self.weight_decay = weight_decay

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        size = self.n_components
        return QuantizedModule(*self._make_parts(kwargs, size, size), size, self.n_values)

    def get_params_for_optimizer(self, prefix: str, named_parameters: Any) -> tuple:
        """Arguments of an optimiser; part of skorch's protocol."""
        args, kwargs = super().get_params_for_optimizer(prefix, named_parameters)
        if prefix == "optimizer":
            kwargs.setdefault("weight_decay", self.weight_decay)
            args = ([part for group in args[0] for part in self._by_decay(group)], *args[1:])
        return args, kwargs

    def _by_decay(self, group: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A group of parameters in two: weights, and what is not decayed."""
        decayed: list[Tensor] = []
        rest: list[Tensor] = []
        for parameter in group["params"]:
            is_weight = parameter.ndim > 1 and parameter is not self.module_.codebook
            (decayed if is_weight else rest).append(parameter)
        if decayed:
            yield {**group, "params": decayed}
        if rest:
            yield {**group, "params": rest, "weight_decay": 0.0}

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        continuous, values = extras["continuous"], extras["values"]
        # Means over latents weigh as much as those over the numbers of x, as in the paper.
        moves = x[0].numel() * (continuous.detach() - values).square().mean()
        stays = x[0].numel() * (continuous - values.detach()).square().mean()
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "quantization": (self.quantization, moves),
            "commitment": (self.commitment, stays),
        }

    # -- the prior, uniform over the values ----------------------------------------------------

    def log_prior(self, z: Tensor) -> Tensor:
        """Log-probability of each value under the uniform prior.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Codes.

        Returns
        -------
        log_probability : Tensor of shape (n, n_components)
        """
        return torch.full_like(z, -math.log(self.module_.codebook.shape[1]))

    def kl_from_prior(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """KL divergence of a point from the uniform prior: n_components log n_values.

        Parameters
        ----------
        mean, log_var : Tensor of shape (n, n_components)
            Codes, and what is not used.

        Returns
        -------
        kl : Tensor of shape (n,)
            In nats.
        """
        return -self.log_prior(mean).sum(1)

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        values = np.sort(self.module_.codebook.detach().cpu().numpy(), axis=1)
        index = np.minimum(ndtr(normal) * values.shape[1], values.shape[1] - 1).astype(int)
        return np.take_along_axis(values, index.T, axis=1).T
