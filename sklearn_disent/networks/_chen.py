"""The fully connected pair of Chen et al. (2018)."""

from math import prod

import torch
from torch import nn

from sklearn_disent.networks._layers import Shape, dense

_WIDTH = 1200  # units of every hidden layer


class ChenEncoder(nn.Module):
    """Flatten, two dense layers of 1200 with ReLU, then ``n_outputs`` linear units.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one observation, of any size: ``(n_features,)`` or ``(C, H, W)``.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    References
    ----------
    R. T. Q. Chen et al., Isolating sources of disentanglement in variational autoencoders,
    NeurIPS 2018.

    Examples
    --------
    >>> import torch
    >>> ChenEncoder((1, 32, 32), 20)(torch.zeros(2, 1, 32, 32)).shape
    torch.Size([2, 20])
    """

    channels_last = False

    def __init__(self, input_shape: Shape, n_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), *dense([prod(input_shape), _WIDTH, _WIDTH, n_outputs])
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class ChenDecoder(nn.Module):
    """Three dense layers of 1200 with tanh, then one unit per value of the observation.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple of int
        Shape of one observation, of any size: ``(n_features,)`` or ``(C, H, W)``.

    Notes
    -----
    The published sigmoid at the end is left to the likelihood: the output is logits for the
    Bernoulli, means for the Gaussian.

    References
    ----------
    R. T. Q. Chen et al., Isolating sources of disentanglement in variational autoencoders,
    NeurIPS 2018.

    Examples
    --------
    >>> import torch
    >>> ChenDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """

    channels_last = False

    def __init__(self, n_components: int, input_shape: Shape) -> None:
        super().__init__()
        sizes = [n_components, _WIDTH, _WIDTH, _WIDTH, prod(input_shape)]
        self.layers = nn.Sequential(*dense(sizes, nn.Tanh), nn.Unflatten(1, tuple(input_shape)))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
