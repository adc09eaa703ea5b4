"""A plain autoencoder, the smallest module a transformer can train."""

from collections.abc import Sequence

import torch
from torch import nn

from sklearn_disent.networks._mlp import MLPDecoder, MLPEncoder


class Autoencoder(nn.Module):
    """Encoder and decoder without noise: ``forward(x)`` returns ``(codes, reconstruction)``.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of one observation.
    n_components : int, default=10
        Number of codes.
    hidden_sizes : sequence of int, default=(256, 256)
        Widths of the hidden layers.

    Examples
    --------
    >>> import torch
    >>> codes, reconstruction = Autoencoder((5,), 2)(torch.zeros(3, 5))
    >>> codes.shape, reconstruction.shape
    (torch.Size([3, 2]), torch.Size([3, 5]))
    """

    channels_last = False

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_components: int = 10,
        hidden_sizes: Sequence[int] = (256, 256),
    ) -> None:
        super().__init__()
        self.encoder = MLPEncoder(input_shape, n_components, hidden_sizes)
        self.decoder = MLPDecoder(n_components, input_shape, hidden_sizes)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        codes = self.encoder(x)
        return codes, self.decoder(codes)
