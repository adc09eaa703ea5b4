"""Disentangling models: skorch nets that are scikit-learn transformers."""

from .._memory import freed_memory_kept
from . import terms
from ._base import BaseVAE
from ._bridge import ScoreCollector, encode_loader, from_modules
from ._classifier import FactorClassifier
from ._elbo import VAE, AnnealedVAE, BetaVAE
from ._gan import InfoGAN
from ._guidance import Guidance
from ._identifiable import IdentifiableVAE
from ._joint import JointVAE
from ._labels import Labels
from ._logic import Logic
from ._module import VAEOutput
from ._moments import DIPVAE, InfoVAE
from ._paired import AdaGVAE, AdaMLVAE
from ._pretrained import list_pretrained, load_pretrained
from ._product import ProductVAE
from ._quantized import QuantizedAE
from ._recipe import training_recipe
from ._regions import Regions
from ._schedules import CosineSchedule, CyclicSchedule, LinearSchedule
from ._slow import SlowVAE
from ._sparse import TopKSparseAutoencoder
from ._support import HFSVAE
from ._table import TableVAE
from ._total_correlation import BetaTCVAE, FactorVAE
from ._transformer import NeuralNetTransformer, ReconstructionLoss

__all__ = [
    "AdaGVAE",
    "AdaMLVAE",
    "AnnealedVAE",
    "BaseVAE",
    "BetaTCVAE",
    "BetaVAE",
    "CosineSchedule",
    "CyclicSchedule",
    "DIPVAE",
    "FactorClassifier",
    "FactorVAE",
    "Guidance",
    "HFSVAE",
    "InfoGAN",
    "TopKSparseAutoencoder",
    "SlowVAE",
    "QuantizedAE",
    "JointVAE",
    "IdentifiableVAE",
    "InfoVAE",
    "Labels",
    "LinearSchedule",
    "Logic",
    "NeuralNetTransformer",
    "ProductVAE",
    "ReconstructionLoss",
    "Regions",
    "ScoreCollector",
    "TableVAE",
    "VAE",
    "VAEOutput",
    "encode_loader",
    "freed_memory_kept",
    "from_modules",
    "list_pretrained",
    "load_pretrained",
    "terms",
    "training_recipe",
]
