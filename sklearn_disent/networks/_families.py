"""The table of families: encoder and decoder by the name of an architecture."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from .._params import Architecture, PositiveInt, Sizes, validated
from ._broadcast import SpatialBroadcastDecoder
from ._conv import ConvDecoder, ConvEncoder
from ._init import he_init_
from ._layers import Activation, Shape, check_image_shape, check_sizes, n_halvings
from ._mlp import MLPDecoder, MLPEncoder


@dataclass(frozen=True)
class ConvFamily:
    """A convolutional pair as published for 64 x 64 pixels, and what follows for other sizes."""

    channels: Shape  # of the encoder's convolutions at 64 pixels, the first of which sees the image
    hidden_sizes: Shape  # of the encoder's dense layers; the decoder mirrors both
    least_map: int  # shorter side of the map between convolutions and dense layers, in pixels
    broadcast: Shape | None = None  # channels of a spatial broadcast decoder, where it has one
    channels_last: bool = True  # the memory format that is faster on a CPU

    def channels_at(self, architecture: str, input_shape: Sizes) -> Shape:
        """Channels for images of this size.

        The image is halved as long as the shorter side stays at `least_map` or above. A smaller
        image than the published one leaves out the first convolutions, a larger one repeats the
        first: what is close to the dense layers stays the same.
        """
        shape = check_image_shape(f"architecture={architecture!r}", input_shape, 2 * self.least_map)
        n_layers = n_halvings(shape, self.least_map)
        n_more = max(n_layers - len(self.channels), 0)
        return (*self.channels[:1] * n_more, *self.channels[-n_layers:])

    def build(
        self,
        architecture: str,
        input_shape: Sizes,
        n_components: int,
        n_outputs: int,
        channels: Sizes | None,
        hidden_sizes: Sizes | None,
    ) -> tuple[nn.Module, nn.Module]:
        widths = self.channels_at(architecture, input_shape) if channels is None else channels
        hidden = self.hidden_sizes if hidden_sizes is None else hidden_sizes
        encoder = ConvEncoder(input_shape, n_outputs, widths, hidden)
        encoder.channels_last = self.channels_last
        if self.broadcast is not None:
            widths = self.broadcast if channels is None else tuple(channels)[::-1]
            return encoder, SpatialBroadcastDecoder(n_components, input_shape, widths)
        decoder = ConvDecoder(n_components, input_shape, widths, hidden)
        decoder.channels_last = self.channels_last
        return encoder, decoder


@dataclass(frozen=True)
class DenseFamily:
    """A fully connected pair."""

    hidden_sizes: Shape  # of the encoder; the decoder mirrors them
    decoder_activation: Activation = nn.ReLU
    n_more: int = 0  # layers before the mirrored ones in the decoder, of the last width

    def build(
        self,
        architecture: str,
        input_shape: Sizes,
        n_components: int,
        n_outputs: int,
        channels: Sizes | None,
        hidden_sizes: Sizes | None,
    ) -> tuple[nn.Module, nn.Module]:
        if channels is not None:
            raise ValueError(
                f"architecture={architecture!r} has no convolutions, so channels must be None, "
                f"got {channels!r}. Set hidden_sizes, or use a convolutional architecture."
            )
        hidden = self.hidden_sizes if hidden_sizes is None else hidden_sizes
        hidden = check_sizes("hidden_sizes", hidden)
        encoder = MLPEncoder(input_shape, n_outputs, hidden)
        mirrored = (*hidden, *hidden[-1:] * self.n_more)
        return encoder, MLPDecoder(n_components, input_shape, mirrored, self.decoder_activation)


FAMILIES: dict[str, ConvFamily | DenseFamily] = {
    "burgess": ConvFamily((32, 32, 32, 32), (256, 256), least_map=4),
    "chen_mlp": DenseFamily((1200, 1200), decoder_activation=nn.Tanh, n_more=1),
    "locatello": ConvFamily((32, 32, 64, 64), (256,), least_map=4),
    "locatello_sbd": ConvFamily((32, 32, 64, 64), (256,), least_map=4, broadcast=(64, 64, 64, 64)),
    "mlp": DenseFamily((256, 256)),
    # Maps as wide as those of montero_large are slower with the channels last.
    "montero_large": ConvFamily((64, 64, 128, 128, 256), (256,), least_map=2, channels_last=False),
    "montero_small": ConvFamily((32, 32, 64, 64, 128), (256,), least_map=2),
}


def architecture_names() -> list[str]:
    """Names that ``architecture=`` accepts besides "auto".

    The convolutional families are "burgess", "locatello", "montero_small" and "montero_large",
    each with a mirrored decoder, and "locatello_sbd", which has the spatial broadcast decoder.
    They take images of 8 x 8 pixels or more, of any number of channels, square or not. "mlp" and
    "chen_mlp" are fully connected and take observations of any shape. Layers and numbers of
    parameters are listed in :mod:`sklearn_disent.networks`.

    Returns
    -------
    names : list of str

    See Also
    --------
    make_pair : Build encoder and decoder by name.

    Examples
    --------
    >>> architecture_names()
    ['burgess', 'chen_mlp', 'locatello', 'locatello_sbd', 'mlp', 'montero_large', 'montero_small']
    """
    return sorted(FAMILIES)


def _choose(input_shape: Sizes) -> str:
    """What "auto" stands for: convolutions for images that they can halve, else dense layers."""
    is_image = len(input_shape) == 3 and min(input_shape[1:]) >= 8  # the least that burgess takes
    return "burgess" if is_image else "mlp"


@validated
def make_pair(
    architecture: Architecture,
    input_shape: Sizes,
    n_components: PositiveInt,
    *,
    n_outputs: PositiveInt | None = None,
    channels: Sizes | None = None,
    hidden_sizes: Sizes | None = None,
    init: Literal["auto", "he", "torch"] = "auto",
) -> tuple[nn.Module, nn.Module]:
    """Build the encoder and the decoder of a family.

    Estimators call it with their ``module__`` parameters, so that widths can be set and searched:
    ``BetaVAE(architecture="burgess", module__channels=(16, 32), module__hidden_sizes=(64,))``.

    Parameters
    ----------
    architecture : {"auto", "burgess", "chen_mlp", "locatello", "locatello_sbd", "mlp", \
            "montero_large", "montero_small"}
        One of :func:`architecture_names`, or "auto": "burgess" for images of 8 x 8 pixels or
        more, "mlp" for rows and smaller images.
    input_shape : tuple of int
        Shape of one observation, ``(n_features,)`` or ``(C, H, W)``.
    n_components : int
        Number of latents.
    n_outputs : int or None, default=None
        Number of outputs of the encoder; None takes two per latent.
    channels : sequence of int or None, default=None
        Channels of the encoder's convolutions, the first of which sees the image: one convolution
        per entry, and each halves the image. The decoder has them in reverse order. None takes
        those of the family at this image size (see Notes). The fully connected families have none.
    hidden_sizes : sequence of int or None, default=None
        Widths of the encoder's hidden dense layers. The decoder has them in reverse order;
        "chen_mlp" puts one more layer of the last width first, and the decoder of "locatello_sbd"
        has no dense layers. None takes those of the family.
    init : {"auto", "he", "torch"}, default="auto"
        Initial weights: He's, or torch's own. torch's shrink activations from layer to layer, and
        a VAE may then ignore its codes for many epochs before it starts to learn; He's do not, but
        a loss may diverge where the input is large. "auto" takes He's for images, torch's for rows,
        whose scale is not known.

    Returns
    -------
    encoder, decoder : torch.nn.Module
        Their attribute ``channels_last`` tells the memory format that is faster on a CPU.

    See Also
    --------
    architecture_names : The families.

    Notes
    -----
    The published tables are for 64 x 64 pixels. For another size, convolutions halve the image
    (an odd side is rounded down) as long as the shorter side stays at 4 pixels or more, in the
    families of Montero et al. at 2. Smaller images leave out the first convolutions, larger
    ones repeat the first: at 32 pixels "locatello" has 32, 64 and 64 channels, at 128 pixels
    32, 32, 32, 64 and 64.

    Examples
    --------
    >>> import torch
    >>> encoder, decoder = make_pair("auto", (3, 240, 320), 10)
    >>> encoder(torch.zeros(2, 3, 240, 320)).shape, decoder(torch.zeros(2, 10)).shape
    (torch.Size([2, 20]), torch.Size([2, 3, 240, 320]))
    >>> encoder, _ = make_pair("burgess", (1, 28, 28), 10, channels=(8, 16), hidden_sizes=(64,))
    >>> [tuple(layer.weight.shape[:2]) for layer in encoder.layers if hasattr(layer, "weight")]
    [(8, 1), (16, 8), (64, 784), (20, 64)]
    """
    name = _choose(input_shape) if architecture == "auto" else architecture
    n_outputs = 2 * n_components if n_outputs is None else n_outputs
    encoder, decoder = FAMILIES[name].build(
        name, input_shape, n_components, n_outputs, channels, hidden_sizes
    )
    if init == "he" or (init == "auto" and len(input_shape) == 3):
        he_init_(encoder)
        he_init_(decoder)
    return encoder, decoder
