"""The closed set of architecture names, and the one place that builds a pair from a name."""

from typing import Any

from torch import nn

from sklearn_disent.networks._broadcast import SpatialBroadcastDecoder
from sklearn_disent.networks._burgess import BurgessDecoder, BurgessEncoder
from sklearn_disent.networks._chen import ChenDecoder, ChenEncoder
from sklearn_disent.networks._init import he_init_
from sklearn_disent.networks._locatello import LocatelloDecoder, LocatelloEncoder
from sklearn_disent.networks._mlp import MLPDecoder, MLPEncoder
from sklearn_disent.networks._montero import (
    MonteroLargeDecoder,
    MonteroLargeEncoder,
    MonteroSmallDecoder,
    MonteroSmallEncoder,
)

_PAIRS: dict[str, tuple[type[nn.Module], type[nn.Module]]] = {
    "burgess": (BurgessEncoder, BurgessDecoder),
    "chen_mlp": (ChenEncoder, ChenDecoder),
    "locatello": (LocatelloEncoder, LocatelloDecoder),
    "locatello_sbd": (LocatelloEncoder, SpatialBroadcastDecoder),
    "mlp": (MLPEncoder, MLPDecoder),
    "montero_large": (MonteroLargeEncoder, MonteroLargeDecoder),
    "montero_small": (MonteroSmallEncoder, MonteroSmallDecoder),
}


def architecture_names() -> list[str]:
    """Names that ``architecture=`` accepts besides "auto".

    "mlp" and "chen_mlp" (hidden layers of 1200) take observations of any shape. The others
    are convolutional and take square images of any number of channels: "burgess", "locatello",
    "montero_small", "montero_large", each with a mirrored decoder, and "locatello_sbd", which has
    the spatial broadcast decoder. Layers and sizes are those that the classes list.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> architecture_names()
    ['burgess', 'chen_mlp', 'locatello', 'locatello_sbd', 'mlp', 'montero_large', 'montero_small']
    """
    return sorted(_PAIRS)


def make_pair(
    architecture: str,
    input_shape: tuple[int, ...],
    n_components: int,
    *,
    n_outputs: int | None = None,
    init: str = "torch",
    **kwargs: Any,
) -> tuple[nn.Module, nn.Module]:
    """Build an encoder and its decoder.

    Parameters
    ----------
    architecture : str
        One of :func:`architecture_names`, or "auto": "burgess" for images, "mlp" for rows.
    input_shape : tuple of int
        Shape of one observation, ``(n_features,)`` or ``(C, H, W)``.
    n_components : int
        Number of latents.
    n_outputs : int or None, default=None
        Number of outputs of the encoder; None takes two per latent.
    init : {"torch", "he"}, default="torch"
        Initial weights: torch's own, or He's. torch's shrink activations from layer to layer, and
        a VAE may then ignore its codes for many epochs before it starts to learn; He's do not.
    **kwargs : dict
        Passed to both networks, e.g. ``hidden_sizes`` of the MLP.

    Returns
    -------
    encoder, decoder : torch.nn.Module

    Examples
    --------
    >>> encoder, decoder = make_pair("auto", (1, 32, 32), 10)
    >>> type(encoder).__name__
    'BurgessEncoder'
    """
    if architecture == "auto":
        architecture = "burgess" if len(input_shape) == 3 else "mlp"
    if architecture not in _PAIRS:
        raise ValueError(
            f"architecture must be 'auto' or one of {architecture_names()}, got "
            f"{architecture!r}. Pass your own modules as encoder= and decoder=."
        )
    if init not in ("torch", "he"):
        raise ValueError(f"init must be 'torch' or 'he', got {init!r}.")
    make_encoder, make_decoder = _PAIRS[architecture]
    encoder = make_encoder(input_shape, n_outputs or 2 * n_components, **kwargs)
    decoder = make_decoder(n_components, input_shape, **kwargs)
    if init == "he":
        he_init_(encoder)
        he_init_(decoder)
    return encoder, decoder
