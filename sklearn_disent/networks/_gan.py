"""Discriminator and generator with batch normalization, as InfoGAN has them."""

import itertools
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from .._params import PositiveInt, Sizes, validated
from ._init import he_init_
from ._layers import Shape, check_image_shape, check_sizes, n_halvings

_LEAST_MAP = 4  # pixels of the smallest map, as in the published networks
_CHANNELS = (64, 128, 256)  # of the first convolutions; further ones repeat the last
_SLOPE = 0.1  # of the leaky ReLU


class _RowNorm(nn.BatchNorm1d):
    """Batch normalization that takes the running moments for a batch of one row.

    One row has no variance: torch refuses it, and the last batch of an epoch may be one.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if self.training and len(input) == 1:
            moments = self.running_mean, self.running_var
            return F.batch_norm(input, *moments, self.weight, self.bias, eps=self.eps)
        return super().forward(input)


def _widths(network: str, input_shape: Sizes, channels: Sizes | None) -> Shape:
    """Channels of the convolutions for images of this size."""
    if channels is not None:
        check_image_shape(network, input_shape, 2 ** len(channels))
        return check_sizes("channels", channels, 1)
    shape = check_image_shape(network, input_shape, 2 * _LEAST_MAP)
    n_layers = n_halvings(shape, _LEAST_MAP)
    return (*_CHANNELS[:n_layers], *_CHANNELS[-1:] * (n_layers - len(_CHANNELS)))


class GANDiscriminator(nn.Module):
    """Discriminator with batch normalization and leaky ReLU, and a reader of the codes.

    Convolutions with kernel 4, stride 2 and padding 1, then a dense layer, which the
    discriminator and the reader share. The discriminator adds a linear unit, the reader a dense
    layer of its own and means and log-variances.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image.
    n_codes : int
        Number of codes to read.
    channels : sequence of int or None, default=None
        Output channels of the convolutions. None takes 64, 128 and then 256 until the shorter side
        would fall below 4 pixels, which needs images of 8 x 8 pixels or more.
    hidden_sizes : sequence of int, default=(1024, 128)
        Widths of the shared dense layers, then that of the reader's own.

    See Also
    --------
    GANGenerator : What it judges.

    Notes
    -----
    Normalization comes before the activation, as in the code of the authors. After it, as in the
    paper's table, the mean of the logits would be the same for every batch, real or generated, and
    the discriminator could not tell them apart.

    References
    ----------
    Chen, Duan, Houthooft, Schulman, Sutskever and Abbeel (2016). InfoGAN: Interpretable
    representation learning by information maximizing generative adversarial nets. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> GANDiscriminator((1, 16, 16), n_codes=2)(torch.zeros(3, 1, 16, 16)).shape
    torch.Size([3, 5])
    """

    channels_last = True

    @validated
    def __init__(
        self,
        input_shape: Sizes,
        n_codes: PositiveInt,
        channels: Sizes | None = None,
        hidden_sizes: Sizes = (1024, 128),
    ) -> None:
        super().__init__()
        *shared, own = check_sizes("hidden_sizes", hidden_sizes, 1)
        widths = _widths("GANDiscriminator", input_shape, channels)
        n_channels, height, width = input_shape
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise((n_channels, *widths)):
            layers.append(nn.Conv2d(n_in, n_out, 4, stride=2, padding=1))
            # The published networks normalize every layer but the first.
            layers += [nn.BatchNorm2d(n_out)] if len(layers) > 1 else []
            layers.append(nn.LeakyReLU(_SLOPE))
        n_values = widths[-1] * (height >> len(widths)) * (width >> len(widths))
        layers.append(nn.Flatten())
        for n_in, n_out in itertools.pairwise((n_values, *shared)):
            layers += [nn.Linear(n_in, n_out), _RowNorm(n_out), nn.LeakyReLU(_SLOPE)]
        self.shared = nn.Sequential(*layers)
        n_values = (n_values, *shared)[-1]
        self.judge = nn.Linear(n_values, 1)
        self.reader = nn.Sequential(
            nn.Linear(n_values, own),
            _RowNorm(own),
            nn.LeakyReLU(_SLOPE),
            nn.Linear(own, 2 * n_codes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.shared(x)
        return torch.cat([self.judge(features), self.reader(features)], dim=1)


class GANGenerator(nn.Module):
    """Generator with batch normalization: dense layers, then convolutions that double the map.

    Parameters
    ----------
    n_inputs : int
        Number of inputs, codes and noise.
    input_shape : tuple (C, H, W)
        Shape of one image.
    channels : sequence of int or None, default=None
        As in :class:`GANDiscriminator`; used in reverse order.
    hidden_sizes : sequence of int, default=(1024, 128)
        As in :class:`GANDiscriminator`; all but the last are used, in reverse order.

    See Also
    --------
    GANDiscriminator : What judges it.

    Notes
    -----
    The output is logits: the sigmoid is the model's.

    References
    ----------
    Chen, Duan, Houthooft, Schulman, Sutskever and Abbeel (2016). InfoGAN: Interpretable
    representation learning by information maximizing generative adversarial nets. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> GANGenerator(4, (1, 16, 16))(torch.zeros(3, 4)).shape
    torch.Size([3, 1, 16, 16])
    """

    channels_last = True

    @validated
    def __init__(
        self,
        n_inputs: PositiveInt,
        input_shape: Sizes,
        channels: Sizes | None = None,
        hidden_sizes: Sizes = (1024, 128),
    ) -> None:
        super().__init__()
        hidden = check_sizes("hidden_sizes", hidden_sizes, 1)[-2::-1]
        widths = _widths("GANGenerator", input_shape, channels)
        n_channels, height, width = input_shape
        sides = [(height >> i, width >> i) for i in range(len(widths), -1, -1)]
        first = (widths[-1], *sides[0])
        layers: list[nn.Module] = []
        sizes = (n_inputs, *hidden, first[0] * first[1] * first[2])
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), _RowNorm(n_out), nn.ReLU()]
        layers.append(nn.Unflatten(1, first))
        maps = (*widths[::-1], n_channels)
        for n_in, n_out, (rows, columns) in zip(maps, maps[1:], sides[1:]):
            more = (rows % 2, columns % 2)
            layers += [
                nn.ConvTranspose2d(n_in, n_out, 4, stride=2, padding=1, output_padding=more),
                nn.BatchNorm2d(n_out),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers[:-2])

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)


def make_gan_pair(
    input_shape: Sizes,
    n_codes: int,
    n_noise: int,
    *,
    channels: Sizes | None = None,
    hidden_sizes: Sizes | None = None,
    init: Literal["he", "torch"],  # "auto" is for the caller to settle
) -> tuple[nn.Module, nn.Module]:
    """Discriminator and generator, with the options of :func:`make_pair`."""
    hidden = (1024, 128) if hidden_sizes is None else hidden_sizes
    discriminator = GANDiscriminator(input_shape, n_codes, channels, hidden)
    generator = GANGenerator(n_codes + n_noise, input_shape, channels, hidden)
    if init == "he":
        he_init_(discriminator)
        he_init_(generator)
    return discriminator, generator
