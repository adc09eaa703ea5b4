"""A plain autoencoder, the smallest module that a transformer can train."""

import torch
from torch import nn

from .._params import PositiveInt, Sizes, validated
from ._mlp import MLPDecoder, MLPEncoder


class Autoencoder(nn.Module):
    """Encoder and decoder without noise: ``forward(x)`` returns ``(codes, reconstruction)``.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one observation.
    n_components : int, default=10
        Number of codes.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the encoder's hidden layers; the decoder has them in reverse order.

    Examples
    --------
    >>> import torch
    >>> codes, reconstruction = Autoencoder((5,), 2)(torch.zeros(3, 5))
    >>> codes.shape, reconstruction.shape
    (torch.Size([3, 2]), torch.Size([3, 5]))
    """

    channels_last = False

    @validated
    def __init__(
        self,
        input_shape: Sizes,
        n_components: PositiveInt = 10,
        hidden_sizes: Sizes = (256, 256),
    ) -> None:
        super().__init__()
        self.encoder = MLPEncoder(input_shape, n_components, hidden_sizes)
        self.decoder = MLPDecoder(n_components, input_shape, hidden_sizes)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes = self.encoder(x)
        return codes, self.decoder(codes)
