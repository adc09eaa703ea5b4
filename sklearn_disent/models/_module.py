"""The torch module of a VAE, what it returns, and what a loss is made of."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .._params import Weight

# Name -> (weight, value). The loss is the weighted sum; a weight of None only logs the value.
Terms = dict[str, tuple[Weight | None, Tensor]]


class VAEOutput(NamedTuple):
    """What one forward pass of a VAE gives for a batch of n rows.

    Parameters
    ----------
    mean : Tensor of shape (n, n_components)
        Means of the posteriors q(z|x): the codes.
    log_var : Tensor of shape (n, n_components)
        Log-variances of the posteriors.
    z : Tensor of shape (n, n_components)
        A draw from each posterior.
    decoded : Tensor of shape (n, ...)
        What the decoder makes of the draws: logits (Bernoulli) or means (Gaussian).
    """

    mean: Tensor
    log_var: Tensor
    z: Tensor
    decoded: Tensor

    def first(self, n_rows: int) -> "VAEOutput":
        """The output of the first rows alone.

        Parameters
        ----------
        n_rows : int
            How many rows.

        Returns
        -------
        output : VAEOutput
            This very object, if it has no others.
        """
        if len(self.mean) == n_rows:
            return self
        return VAEOutput(*(part[:n_rows] for part in self))


class VAEModule(nn.Module):
    """Encoder and decoder with the reparameterised draw between them."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.channels_last = all(
            getattr(part, "channels_last", False) for part in (encoder, decoder)
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        return mean, log_var

    def forward(self, x: Tensor, noise: Tensor) -> VAEOutput:
        mean, log_var = self.encode(x)
        z = mean + (0.5 * log_var).exp() * noise
        return VAEOutput(mean, log_var, z, self.decoder(z))


def check_shapes(
    encoder: nn.Module,
    decoder: nn.Module,
    input_shape: tuple[int, ...],
    n_codes: int,
    n_outputs: int,
) -> None:
    """Find a wrong network by a dry run, before training does."""
    training = [(part, part.training) for part in (encoder, decoder)]
    for part, _ in training:
        part.eval()
    with torch.no_grad():
        encoded = tuple(encoder(torch.zeros(2, *input_shape)).shape)
        decoded = tuple(decoder(torch.zeros(2, n_codes)).shape)
    for part, mode in training:
        part.train(mode)
    if encoded != (2, n_outputs):
        wanted = f"(n, {n_outputs}) values"
        if n_outputs == 2 * n_codes:
            wanted = f"(n, 2 * n_components) = {wanted}, means then log-variances"
        raise ValueError(f"encoder must return {wanted}, got shape {encoded} for 2 observations.")
    if decoded != (2, *input_shape):
        raise ValueError(
            f"decoder must return observations of shape (n, {', '.join(map(str, input_shape))}), "
            f"got shape {decoded} for 2 codes."
        )
