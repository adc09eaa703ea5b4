"""The convolutional pair of Burgess et al. (2018)."""

import itertools
from math import log2

import torch
from torch import nn

Shape = tuple[int, ...]

_WIDTH = 32  # channels of every convolution
_HIDDEN = 256  # units of the two dense layers
_GRID = 4  # side of the feature map between convolutions and dense layers


def _n_convolutions(input_shape: Shape) -> int:
    """How many stride-2 convolutions take a square image down to 4 x 4: 4 at 64 pixels."""
    side = input_shape[-1]
    is_power = side >= 8 and side & (side - 1) == 0
    if len(input_shape) != 3 or input_shape[1] != side or not is_power:
        raise ValueError(
            "architecture='burgess' serves square images (C, H, W) whose side is a power of two "
            f"from 8 up (its paper has 64), got {tuple(input_shape)}. Resize the images, use "
            "architecture='mlp', or pass your own encoder and decoder."
        )
    return int(log2(side // _GRID))


class BurgessEncoder(nn.Module):
    """Convolutions of 32 channels (kernel 4, stride 2), then two dense layers of 256.

    Four convolutions at 64 pixels, three at 32: the map before the dense layers is always 4 x 4.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    References
    ----------
    C. P. Burgess et al., Understanding disentangling in beta-VAE, 2018.

    Examples
    --------
    >>> import torch
    >>> BurgessEncoder((3, 64, 64), 20)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 20])
    """

    channels_last = True

    def __init__(self, input_shape: Shape, n_outputs: int) -> None:
        super().__init__()
        widths = [input_shape[0]] + [_WIDTH] * _n_convolutions(input_shape)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(widths):
            layers += [nn.Conv2d(n_in, n_out, 4, stride=2, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(
            *layers,
            nn.Flatten(),
            nn.Linear(_WIDTH * _GRID * _GRID, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, n_outputs),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class BurgessDecoder(nn.Module):
    """Mirror of :class:`BurgessEncoder`; its output has no final sigmoid (logits or means).

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two.

    References
    ----------
    C. P. Burgess et al., Understanding disentangling in beta-VAE, 2018.

    Examples
    --------
    >>> import torch
    >>> BurgessDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """

    channels_last = True

    def __init__(self, n_components: int, input_shape: Shape) -> None:
        super().__init__()
        widths = [_WIDTH] * _n_convolutions(input_shape) + [input_shape[0]]
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(widths):
            layers += [nn.ConvTranspose2d(n_in, n_out, 4, stride=2, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(
            nn.Linear(n_components, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _WIDTH * _GRID * _GRID),
            nn.ReLU(),
            nn.Unflatten(1, (_WIDTH, _GRID, _GRID)),
            *layers[:-1],
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
