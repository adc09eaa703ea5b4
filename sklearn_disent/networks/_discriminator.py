"""The network that tells codes from codes with permuted latents."""

import itertools

import torch
from torch import nn

from .._params import PositiveInt, Sizes, validated
from ._layers import check_sizes


class Discriminator(nn.Module):
    """Dense layers with leaky ReLU (slope 0.2), then two logits, as in Kim and Mnih (2018).

    Parameters
    ----------
    n_components : int
        Number of latents.
    hidden_sizes : sequence of int, default=(1000, 1000, 1000, 1000, 1000, 1000)
        Widths of the hidden layers.

    References
    ----------
    .. [1] H. Kim and A. Mnih (2018). Disentangling by factorising. ICML.

    Examples
    --------
    >>> import torch
    >>> Discriminator(10)(torch.zeros(3, 10)).shape
    torch.Size([3, 2])
    """

    channels_last = False

    @validated
    def __init__(self, n_components: PositiveInt, hidden_sizes: Sizes = (1000,) * 6) -> None:
        super().__init__()
        sizes = [n_components, *check_sizes("hidden_sizes", hidden_sizes)]
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], 2))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
