"""The spatial broadcast decoder of Watters et al. (2019)."""

import itertools

import torch
from torch import nn

from .._params import PositiveInt, Sizes, validated
from ._layers import check_image_shape, check_sizes


class SpatialBroadcastDecoder(nn.Module):
    """Codes repeated at every pixel beside its coordinates, then convolutions of kernel 5.

    One convolution with ReLU per entry of `channels`, and a last one to the channels of the image.
    Maps keep the size of the image, so that images of any size are served.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image.
    channels : sequence of int, default=(64, 64, 64, 64)
        Channels of the hidden convolutions, the first of which sees the codes.

    See Also
    --------
    make_pair : Encoder and decoder of a published family, such as "locatello_sbd".

    Notes
    -----
    Coordinates run from -1 to 1 along height and width. The published sigmoid at the end is left
    to the likelihood: the output is logits for the Bernoulli, means for the Gaussian. All
    convolutions work at full size: on a CPU, a step at 64 pixels takes some 70 times as long as
    one with strided convolutions.

    References
    ----------
    .. [1] N. Watters et al. (2019). Spatial broadcast decoder: a simple architecture for learning
       disentangled representations in VAEs. arXiv:1901.07017.

    Examples
    --------
    >>> import torch
    >>> SpatialBroadcastDecoder(10, (3, 20, 24))(torch.zeros(2, 10)).shape
    torch.Size([2, 3, 20, 24])
    """

    channels_last = False
    coordinates: torch.Tensor

    @validated
    def __init__(
        self,
        n_components: PositiveInt,
        input_shape: Sizes,
        channels: Sizes = (64, 64, 64, 64),
    ) -> None:
        super().__init__()
        widths = check_sizes("channels", channels)
        n_channels, *sides = check_image_shape("SpatialBroadcastDecoder", input_shape)
        axes = torch.meshgrid(*(torch.linspace(-1.0, 1.0, side) for side in sides), indexing="ij")
        # Not part of the saved weights: the coordinates follow from the shape.
        self.register_buffer("coordinates", torch.stack(axes)[None], persistent=False)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise([n_components + 2, *widths, n_channels]):
            layers += [nn.Conv2d(n_in, n_out, 5, padding=2), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        height, width = self.coordinates.shape[2:]
        tiles = z[:, :, None, None].expand(-1, -1, height, width)
        coordinates = self.coordinates.expand(len(z), -1, -1, -1)
        return self.layers(torch.cat([tiles, coordinates], dim=1))
