"""Plain torch modules: encoder and decoder pairs that the estimators train."""

from sklearn_disent.networks._autoencoder import Autoencoder
from sklearn_disent.networks._broadcast import SpatialBroadcastDecoder
from sklearn_disent.networks._burgess import BurgessDecoder, BurgessEncoder
from sklearn_disent.networks._chen import ChenDecoder, ChenEncoder
from sklearn_disent.networks._discriminator import Discriminator
from sklearn_disent.networks._flow import FactorizedFlow
from sklearn_disent.networks._locatello import LocatelloDecoder, LocatelloEncoder
from sklearn_disent.networks._mlp import MLPDecoder, MLPEncoder
from sklearn_disent.networks._montero import (
    MonteroLargeDecoder,
    MonteroLargeEncoder,
    MonteroSmallDecoder,
    MonteroSmallEncoder,
)
from sklearn_disent.networks._pairs import architecture_names, make_pair

__all__ = [
    "Autoencoder",
    "BurgessDecoder",
    "BurgessEncoder",
    "ChenDecoder",
    "ChenEncoder",
    "Discriminator",
    "FactorizedFlow",
    "LocatelloDecoder",
    "LocatelloEncoder",
    "MLPDecoder",
    "MLPEncoder",
    "MonteroLargeDecoder",
    "MonteroLargeEncoder",
    "MonteroSmallDecoder",
    "MonteroSmallEncoder",
    "SpatialBroadcastDecoder",
    "architecture_names",
    "make_pair",
]
