"""Convolutional encoder and decoder, for images of any size."""

import itertools

import torch
from torch import nn

from .._params import PositiveInt, Sizes, validated
from ._layers import Shape, check_image_shape, check_sizes, dense, n_halvings

_LEAST_MAP = 4  # pixels of the smallest map that the default leaves, as in Burgess et al.
_DEFAULT_CHANNELS = 32


def _check_channels(network: str, input_shape: Sizes, channels: Sizes | None) -> Shape:
    """Channels of every map of the encoder, from the image on."""
    if channels is None:
        shape = check_image_shape(network, input_shape, 2 * _LEAST_MAP)
        return (shape[0], *[_DEFAULT_CHANNELS] * n_halvings(shape, _LEAST_MAP))
    shape = check_image_shape(network, input_shape)
    widths = check_sizes("channels", channels, 1)
    most = n_halvings(shape, 1)
    if len(widths) > most:
        raise ValueError(
            f"channels={channels!r} makes {len(widths)} convolutions, each of which halves the "
            f"image, but one of shape {shape} can be halved {most} times only. Leave out "
            f"{len(widths) - most} of the channels, or enlarge the images."
        )
    return (shape[0], *widths)


class ConvEncoder(nn.Module):
    """Convolutions that halve the image, then dense layers; ReLU after all but the last.

    Convolutions have kernel 4, stride 2 and padding 1. They round an odd side down and still see
    its last pixel, so that images of any size are served without padding or cropping.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.
    channels : sequence of int or None, default=None
        Output channels of the convolutions, the first of which sees the image. None takes
        convolutions of 32 channels until the shorter side would fall below 4 pixels, which needs
        images of 8 x 8 pixels or more.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the hidden dense layers.

    See Also
    --------
    make_pair : Encoder and decoder of a published family.

    Notes
    -----
    With its defaults, this is the encoder of Burgess et al. at 64 x 64 pixels.

    References
    ----------
    .. [1] C. P. Burgess et al. (2018). Understanding disentangling in beta-VAE. arXiv:1804.03599.

    Examples
    --------
    >>> import torch
    >>> encoder = ConvEncoder((3, 48, 60), 20, channels=(8, 16), hidden_sizes=(32,))
    >>> encoder(torch.zeros(2, 3, 48, 60)).shape
    torch.Size([2, 20])
    """

    channels_last = True

    @validated
    def __init__(
        self,
        input_shape: Sizes,
        n_outputs: PositiveInt,
        channels: Sizes | None = None,
        hidden_sizes: Sizes = (256, 256),
    ) -> None:
        super().__init__()
        hidden_sizes = check_sizes("hidden_sizes", hidden_sizes)
        maps = _check_channels("ConvEncoder", input_shape, channels)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(maps):
            layers += [nn.Conv2d(n_in, n_out, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
        _, height, width = input_shape
        n_halved = len(maps) - 1
        n_values = maps[-1] * (height >> n_halved) * (width >> n_halved)
        self.layers = nn.Sequential(
            *layers, nn.Flatten(), *dense([n_values, *hidden_sizes, n_outputs])
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class ConvDecoder(nn.Module):
    """Mirror of :class:`ConvEncoder`: dense layers, then convolutions that double the map.

    Where the encoder has rounded an odd side down, the transposed convolution gives one more row
    or column (``output_padding``).

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image.
    channels : sequence of int or None, default=None
        As in the encoder; used in reverse order.
    hidden_sizes : sequence of int, default=(256, 256)
        As in the encoder; used in reverse order.

    See Also
    --------
    make_pair : Encoder and decoder of a published family.

    Notes
    -----
    The published networks end in a sigmoid, which is left to the likelihood here: the output is
    logits for the Bernoulli, means for the Gaussian.

    References
    ----------
    .. [1] C. P. Burgess et al. (2018). Understanding disentangling in beta-VAE. arXiv:1804.03599.

    Examples
    --------
    >>> import torch
    >>> ConvDecoder(10, (1, 28, 28))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 28, 28])
    """

    channels_last = True

    @validated
    def __init__(
        self,
        n_components: PositiveInt,
        input_shape: Sizes,
        channels: Sizes | None = None,
        hidden_sizes: Sizes = (256, 256),
    ) -> None:
        super().__init__()
        hidden_sizes = check_sizes("hidden_sizes", hidden_sizes)
        maps = _check_channels("ConvDecoder", input_shape, channels)[::-1]
        _, height, width = input_shape
        sides = [(height >> i, width >> i) for i in range(len(maps))][::-1]
        layers: list[nn.Module] = []
        for n_in, n_out, (rows, columns) in zip(maps, maps[1:], sides[1:]):
            more = (rows % 2, columns % 2)
            layers += [
                nn.ConvTranspose2d(n_in, n_out, 4, stride=2, padding=1, output_padding=more),
                nn.ReLU(inplace=True),
            ]
        first = (maps[0], *sides[0])
        self.layers = nn.Sequential(
            *dense([n_components, *hidden_sizes[::-1], first[0] * first[1] * first[2]]),
            nn.ReLU(),
            nn.Unflatten(1, first),
            *layers[:-1],
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
