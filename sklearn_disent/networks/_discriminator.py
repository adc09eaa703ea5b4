"""The network that tells codes from codes with permuted latents."""

import itertools
from collections.abc import Sequence

import torch
from torch import nn


class Discriminator(nn.Module):
    """Dense layers with leaky ReLU (slope 0.2) and two logits, as Kim & Mnih describe it.

    Parameters
    ----------
    n_components : int
        Number of latents.
    hidden_sizes : sequence of int, default=(1000, 1000, 1000, 1000, 1000, 1000)
        Widths of the hidden layers.

    References
    ----------
    H. Kim and A. Mnih, Disentangling by factorising, ICML 2018.

    Examples
    --------
    >>> import torch
    >>> Discriminator(10)(torch.zeros(3, 10)).shape
    torch.Size([3, 2])
    """

    channels_last = False

    def __init__(self, n_components: int, hidden_sizes: Sequence[int] = (1000,) * 6) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise([n_components, *hidden_sizes]):
            layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.Linear([n_components, *hidden_sizes][-1], 2))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
