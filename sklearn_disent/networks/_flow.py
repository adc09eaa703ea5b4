"""A factorized prior that learns its marginals."""

import math

import torch
from torch import nn

from .._params import PositiveInt, validated

_INVERSION_STEPS = 60  # halvings: from a bracket of any sensible width to float64 precision


class FactorizedFlow(nn.Module):
    """Planar flows from every latent to a standard normal, one latent at a time.

    A layer is ``f(z) = z + (a / w) tanh(w z + b)`` with w > 0 and a > -1, so that its slope
    ``1 + a sech^2(w z + b)`` is positive: every invertible planar flow in one dimension has this
    form. A new flow is the identity, and its density is N(0, I).

    Parameters
    ----------
    n_components : int
        Number of latents.
    n_layers : int, default=4
        Number of planar layers per latent.

    References
    ----------
    .. [1] D. J. Rezende and S. Mohamed (2015). Variational inference with normalizing flows. ICML.

    Examples
    --------
    >>> import torch
    >>> flow = FactorizedFlow(2)
    >>> flow.log_prob(torch.zeros(1, 2))
    tensor([[-0.9189, -0.9189]], grad_fn=<AddBackward0>)
    """

    @validated
    def __init__(self, n_components: PositiveInt, n_layers: PositiveInt = 4) -> None:
        super().__init__()
        shape = (n_layers, n_components)
        # softplus(raw_slope) - 1 = a = 0 at the start; the offsets differ, so that the layers do.
        self.raw_slope = nn.Parameter(torch.full(shape, math.log(math.e - 1)))
        self.log_scale = nn.Parameter(torch.zeros(shape))
        self.offset = nn.Parameter(torch.randn(shape))

    def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Map latents to normal values.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Latents.

        Returns
        -------
        normal, log_slope : Tensor of shape (n, n_components)
            Where they are mapped to, and the log of the slope there.
        """
        log_slope = torch.zeros_like(z)
        slopes = nn.functional.softplus(self.raw_slope) - 1
        for a, w, b in zip(slopes, self.log_scale.exp(), self.offset):
            bent = torch.tanh(w * z + b)
            z = z + a / w * bent
            log_slope = log_slope + torch.log1p(a * (1 - bent**2))
        return z, log_slope

    def log_prob(self, z: torch.Tensor) -> torch.Tensor:
        """Log-density of each latent.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Latents.

        Returns
        -------
        log_density : Tensor of shape (n, n_components)
        """
        normal, log_slope = self(z)
        return -0.5 * (normal**2 + math.log(2 * math.pi)) + log_slope

    @torch.no_grad()
    def inverse(self, normal: torch.Tensor) -> torch.Tensor:
        """Values that the flow maps to normal ones: draws from the prior, for normal draws.

        Parameters
        ----------
        normal : Tensor of shape (n, n_components)
            Normal values.

        Returns
        -------
        z : Tensor of shape (n, n_components)
        """
        reach = ((nn.functional.softplus(self.raw_slope) - 1).abs() / self.log_scale.exp()).sum(0)
        low, high = normal - reach - 1, normal + reach + 1  # tanh moves a value by less than this
        for _ in range(_INVERSION_STEPS):
            middle = (low + high) / 2
            is_low = self(middle)[0] < normal
            low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
        return (low + high) / 2
