"""Fully connected encoder and decoder, for rows of features or small images."""

from math import prod

import torch
from torch import nn

from .._params import PositiveInt, Sizes, validated
from ._layers import Activation, check_sizes, dense


class MLPEncoder(nn.Module):
    """Flatten, hidden layers with an activation, then ``n_outputs`` linear units.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one observation, ``(n_features,)`` or ``(C, H, W)``.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the hidden layers.
    activation : callable, default=torch.nn.ReLU
        Called without arguments for the module that follows each hidden layer.

    Examples
    --------
    >>> import torch
    >>> MLPEncoder((5,), 4)(torch.zeros(2, 5)).shape
    torch.Size([2, 4])
    """

    channels_last = False

    @validated
    def __init__(
        self,
        input_shape: Sizes,
        n_outputs: PositiveInt,
        hidden_sizes: Sizes = (256, 256),
        activation: Activation = nn.ReLU,
    ) -> None:
        super().__init__()
        shape = check_sizes("input_shape", input_shape, 1)
        sizes = [prod(shape), *check_sizes("hidden_sizes", hidden_sizes), n_outputs]
        self.layers = nn.Sequential(nn.Flatten(), *dense(sizes, activation))

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
        As in the encoder; used in reverse order.
    activation : callable, default=torch.nn.ReLU
        Called without arguments for the module that follows each hidden layer.

    Examples
    --------
    >>> import torch
    >>> MLPDecoder(2, (1, 8, 8))(torch.zeros(3, 2)).shape
    torch.Size([3, 1, 8, 8])
    """

    channels_last = False

    @validated
    def __init__(
        self,
        n_components: PositiveInt,
        input_shape: Sizes,
        hidden_sizes: Sizes = (256, 256),
        activation: Activation = nn.ReLU,
    ) -> None:
        super().__init__()
        shape = check_sizes("input_shape", input_shape, 1)
        widths = check_sizes("hidden_sizes", hidden_sizes)
        sizes = [n_components, *reversed(widths), prod(shape)]
        self.layers = nn.Sequential(*dense(sizes, activation), nn.Unflatten(1, shape))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
