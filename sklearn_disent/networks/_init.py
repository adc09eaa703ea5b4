"""Initial weights."""

import math

from torch import nn

_LAYERS = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)


def he_init_(network: nn.Module) -> None:
    """Draw He's weights in place; the last layer, which no ReLU follows, gets half the variance.

    In a transposed convolution only one in stride^2 of the kernel's weights reaches an output, for
    which its fan-in must account.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, _LAYERS)]
    for layer in layers:
        if isinstance(layer, nn.ConvTranspose2d):
            n_taps = math.prod(layer.kernel_size) / math.prod(layer.stride)
            fan_in = layer.in_channels * n_taps
        else:
            fan_in = layer.weight[0].numel()
        gain = 1.0 if layer is layers[-1] else 2.0
        bound = math.sqrt(3.0 * gain / fan_in)
        nn.init.uniform_(layer.weight, -bound, bound)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
