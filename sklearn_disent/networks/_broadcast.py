"""The spatial broadcast decoder of Watters et al. (2019)."""

import itertools

import torch
from torch import nn

from sklearn_disent.networks._layers import Shape, check_image_shape

_WIDTHS = (64, 64, 64, 64)  # channels of the hidden convolutions


class SpatialBroadcastDecoder(nn.Module):
    """Codes repeated at every pixel beside its coordinates, then five convolutions of kernel 5.

    Four convolutions have 64 channels and ReLU, the last one the channels of the image. The side
    never changes, so that images of any size are served.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image.

    Notes
    -----
    Coordinates run from -1 to 1 along height and width. The published sigmoid at the end is left
    to the likelihood: the output is logits for the Bernoulli, means for the Gaussian. All
    convolutions work at full size: a step at 64 pixels costs some 70 times that of strided
    convolutions (on a CPU).

    References
    ----------
    N. Watters et al., Spatial broadcast decoder: A simple architecture for learning disentangled
    representations in VAEs, 2019.

    Examples
    --------
    >>> import torch
    >>> SpatialBroadcastDecoder(10, (3, 20, 24))(torch.zeros(2, 10)).shape
    torch.Size([2, 3, 20, 24])
    """

    channels_last = False

    def __init__(self, n_components: int, input_shape: Shape) -> None:
        super().__init__()
        check_image_shape("spatial broadcast", input_shape)
        n_channels, *sides = input_shape
        axes = torch.meshgrid(*(torch.linspace(-1.0, 1.0, side) for side in sides), indexing="ij")
        # Not part of the saved weights: the coordinates follow from the shape.
        self.register_buffer("coordinates", torch.stack(axes)[None], persistent=False)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise([n_components + 2, *_WIDTHS, n_channels]):
            layers += [nn.Conv2d(n_in, n_out, 5, padding=2), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        height, width = self.coordinates.shape[2:]
        tiles = z[:, :, None, None].expand(-1, -1, height, width)
        coordinates = self.coordinates.expand(len(z), -1, -1, -1)
        return self.layers(torch.cat([tiles, coordinates], dim=1))
