"""Stacks of dense layers, and what shapes and widths may be."""

import itertools
from collections.abc import Callable, Sequence
from numbers import Integral

from torch import nn

from .._params import Sizes

Shape = tuple[int, ...]
Activation = Callable[[], nn.Module]


def dense(sizes: Sequence[int], activation: Activation = nn.ReLU) -> list[nn.Module]:
    """Linear layers with the activation between them; the last one stays linear."""
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), activation()]
    return layers[:-1]


def check_sizes(name: str, sizes: Sizes, least: int = 0) -> Shape:
    """Widths as a tuple of Python integers, at least so many of them."""
    if not all(isinstance(size, Integral) and size > 0 for size in sizes):
        raise ValueError(f"{name} must hold positive integers, got {sizes!r}.")
    if len(sizes) < least:
        raise ValueError(f"{name} must hold at least {least} integer, got {sizes!r}.")
    return tuple(int(size) for size in sizes)


def check_image_shape(network: str, input_shape: Sizes, least: int = 1) -> Shape:
    """Refuse what is not an image, and an image with a side below `least`."""
    shape = check_sizes("input_shape", input_shape, 1)
    if len(shape) != 3:
        raise ValueError(
            f"{network} takes images (C, H, W), got observations of shape {shape}. Use "
            "architecture='mlp' or 'chen_mlp' for rows; if the rows are flattened images, say so "
            "with input_shape=(C, H, W)."
        )
    if min(shape[1:]) < least:
        raise ValueError(
            f"{network} takes images (C, H, W) of at least {least} x {least} pixels, got {shape}. "
            "Enlarge the images, or use architecture='mlp' or 'chen_mlp'."
        )
    return shape


def n_halvings(shape: Shape, least: int) -> int:
    """How often height and width can be halved, rounding down, while both are `least` or more."""
    return (min(shape[1:]) // least).bit_length() - 1
