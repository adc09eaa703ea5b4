"""Fully connected encoder and decoder, for rows of features or small images."""

from collections.abc import Sequence
from math import prod

import torch
from torch import nn

from sklearn_disent.networks._layers import Shape, dense


class MLPEncoder(nn.Module):
    """Flatten, hidden layers with ReLU, then ``n_outputs`` linear units.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one observation, ``(n_features,)`` or ``(C, H, W)``.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the hidden layers.

    Examples
    --------
    >>> import torch
    >>> MLPEncoder((5,), 4)(torch.zeros(2, 5)).shape
    torch.Size([2, 4])
    """

    channels_last = False

    def __init__(
        self, input_shape: Shape, n_outputs: int, hidden_sizes: Sequence[int] = (256, 256)
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), *dense([prod(input_shape), *hidden_sizes, n_outputs])
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class MLPDecoder(nn.Module):
    """Mirror of :class:`MLPEncoder`: codes to observations (logits or means).

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple of int
        Shape of one observation, ``(n_features,)`` or ``(C, H, W)``.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the hidden layers, as in the encoder; used in reverse order.

    Examples
    --------
    >>> import torch
    >>> MLPDecoder(2, (1, 8, 8))(torch.zeros(3, 2)).shape
    torch.Size([3, 1, 8, 8])
    """

    channels_last = False

    def __init__(
        self, n_components: int, input_shape: Shape, hidden_sizes: Sequence[int] = (256, 256)
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *dense([n_components, *reversed(hidden_sizes), prod(input_shape)]),
            nn.Unflatten(1, tuple(input_shape)),
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
