"""Disentangling models: skorch nets that are scikit-learn transformers."""

from sklearn_disent.models._base import BaseVAE
from sklearn_disent.models._elbo import VAE, AnnealedVAE, BetaVAE
from sklearn_disent.models._gan import InfoGAN
from sklearn_disent.models._logical import ProductVAE
from sklearn_disent.models._moments import DIPVAE, InfoVAE
from sklearn_disent.models._recipe import training_recipe
from sklearn_disent.models._schedules import CosineSchedule, CyclicSchedule, LinearSchedule
from sklearn_disent.models._support import HFSVAE
from sklearn_disent.models._total_correlation import BetaTCVAE, FactorVAE
from sklearn_disent.models._transformer import NeuralNetTransformer, ReconstructionLoss
from sklearn_disent.models._weak import AdaGVAE, AdaMLVAE

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
    "HFSVAE",
    "InfoGAN",
    "InfoVAE",
    "LinearSchedule",
    "NeuralNetTransformer",
    "ProductVAE",
    "ReconstructionLoss",
    "VAE",
    "training_recipe",
]
