"""Plain torch modules: encoder and decoder pairs that the estimators train."""

from ._autoencoder import Autoencoder
from ._broadcast import SpatialBroadcastDecoder
from ._conv import ConvDecoder, ConvEncoder
from ._discriminator import Discriminator
from ._families import architecture_names, make_pair
from ._flow import FactorizedFlow
from ._gan import GANDiscriminator, GANGenerator
from ._mlp import MLPDecoder, MLPEncoder

__all__ = [
    "Autoencoder",
    "ConvDecoder",
    "ConvEncoder",
    "Discriminator",
    "FactorizedFlow",
    "GANDiscriminator",
    "GANGenerator",
    "MLPDecoder",
    "MLPEncoder",
    "SpatialBroadcastDecoder",
    "architecture_names",
    "make_pair",
]
