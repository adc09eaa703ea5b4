"""Plain torch modules: encoder and decoder pairs that the estimators train."""

from sklearn_disent.networks._autoencoder import Autoencoder
from sklearn_disent.networks._burgess import BurgessDecoder, BurgessEncoder
from sklearn_disent.networks._mlp import MLPDecoder, MLPEncoder
from sklearn_disent.networks._pairs import architecture_names, make_pair

__all__ = [
    "Autoencoder",
    "BurgessDecoder",
    "BurgessEncoder",
    "MLPDecoder",
    "MLPEncoder",
    "architecture_names",
    "make_pair",
]
