"""Disentangling models: skorch nets that are scikit-learn transformers."""

from . import terms
from ._base import BaseVAE
from ._elbo import VAE, AnnealedVAE, BetaVAE
from ._gan import InfoGAN
from ._guidance import Guidance
from ._labels import Labels
from ._logical import ProductVAE
from ._memory import freed_memory_kept
from ._module import VAEOutput
from ._moments import DIPVAE, InfoVAE
from ._paired import AdaGVAE, AdaMLVAE
from ._pretrained import list_pretrained, load_pretrained
from ._recipe import training_recipe
from ._regions import Regions
from ._schedules import CosineSchedule, CyclicSchedule, LinearSchedule
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
    "FactorVAE",
    "Guidance",
    "HFSVAE",
    "InfoGAN",
    "InfoVAE",
    "Labels",
    "LinearSchedule",
    "NeuralNetTransformer",
    "ProductVAE",
    "ReconstructionLoss",
    "Regions",
    "TableVAE",
    "VAE",
    "VAEOutput",
    "freed_memory_kept",
    "list_pretrained",
    "load_pretrained",
    "terms",
    "training_recipe",
]
