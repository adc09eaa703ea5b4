"""Stacks of layers, and the convolutional encoder and decoder that most families are."""

import itertools
from collections.abc import Sequence
from math import log2
from typing import ClassVar

import torch
from torch import nn

Shape = tuple[int, ...]


def dense(sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> list[nn.Module]:
    """Linear layers with the activation between them; the last one stays linear."""
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), activation()]
    return layers[:-1]


def check_image_shape(family: str, input_shape: Shape) -> None:
    """Refuse what is no image."""
    if len(input_shape) != 3:
        raise ValueError(
            f"Networks of the family {family!r} serve images (C, H, W), got observations of "
            f"shape {tuple(input_shape)}. Use architecture='mlp' or 'chen_mlp', or say with "
            "input_shape=(C, H, W) that the rows are images."
        )


class Family:
    """What encoder and decoder of a convolutional family have in common.

    Convolutions of kernel 4, stride 2 and padding 1 halve the side until it is `grid`; then come
    dense layers. The sizes are those of the 64-pixel table. A smaller image needs fewer
    convolutions and leaves out the outermost ones, a larger one repeats the outermost; the map
    between convolutions and dense layers stays the same.
    """

    family: ClassVar[str]
    widths: ClassVar[tuple[int, ...]]  # channels of the encoder's convolutions at 64 pixels
    hidden_sizes: ClassVar[tuple[int, ...]]  # the encoder's hidden dense layers
    grid: ClassVar[int]  # side of the map between convolutions and dense layers

    @classmethod
    def channels(cls, input_shape: Shape) -> list[int]:
        """Channels of every map of the encoder, from the image on."""
        check_image_shape(cls.family, input_shape)
        n_channels, height, side = input_shape
        if height != side or side < 2 * cls.grid or side & (side - 1):
            raise ValueError(
                f"Networks of the family {cls.family!r} serve square images (C, H, W) whose "
                f"side is a power of two from {2 * cls.grid} up (64 in their paper), got "
                f"{tuple(input_shape)}. Resize the images, use architecture='mlp' or 'chen_mlp', "
                "or pass your own encoder and decoder."
            )
        n_layers = int(log2(side // cls.grid))
        n_more = max(n_layers - len(cls.widths), 0)
        return [n_channels, *cls.widths[:1] * n_more, *cls.widths[-n_layers:]]


class ConvEncoder(Family, nn.Module):
    """Convolutions, then dense layers, ReLU after all but the last."""

    channels_last = True

    def __init__(self, input_shape: Shape, n_outputs: int) -> None:
        super().__init__()
        channels = self.channels(input_shape)
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(channels):
            layers += [nn.Conv2d(n_in, n_out, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(
            *layers,
            nn.Flatten(),
            *dense([channels[-1] * self.grid**2, *self.hidden_sizes, n_outputs]),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class ConvDecoder(Family, nn.Module):
    """Mirror of :class:`ConvEncoder`; no sigmoid at the end."""

    channels_last = True

    def __init__(self, n_components: int, input_shape: Shape) -> None:
        super().__init__()
        channels = self.channels(input_shape)[::-1]
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(channels):
            layers += [
                nn.ConvTranspose2d(n_in, n_out, 4, stride=2, padding=1),
                nn.ReLU(inplace=True),
            ]
        self.layers = nn.Sequential(
            *dense([n_components, *self.hidden_sizes[::-1], channels[0] * self.grid**2]),
            nn.ReLU(),
            nn.Unflatten(1, (channels[0], self.grid, self.grid)),
            *layers[:-1],
        )

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z)
