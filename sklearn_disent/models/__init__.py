"""Disentangling models: skorch nets that are scikit-learn transformers."""

from sklearn_disent.models._base import BaseVAE
from sklearn_disent.models._elbo import VAE, BetaVAE
from sklearn_disent.models._transformer import NeuralNetTransformer, ReconstructionLoss

__all__ = ["BaseVAE", "BetaVAE", "NeuralNetTransformer", "ReconstructionLoss", "VAE"]
