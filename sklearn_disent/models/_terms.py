"""Objective terms as pure functions: each takes tensors and returns a scalar in nats."""

import math

import torch
from torch.nn import functional as F


def bernoulli_nll(x: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Negative log-likelihood per observation: ``-sum x log p + (1 - x) log(1 - p)``."""
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)


def gaussian_nll(x: torch.Tensor, mean: torch.Tensor, sigma: float) -> torch.Tensor:
    """Negative log-density per observation under ``N(mean, sigma^2 I)``, constants included."""
    n_values = x[0].numel()
    squares = (x - mean).flatten(1).pow(2).sum(1)
    return squares / (2 * sigma**2) + n_values * (math.log(sigma) + 0.5 * math.log(2 * math.pi))


def gaussian_kl(mean: torch.Tensor, log_var: torch.Tensor) -> torch.Tensor:
    """KL divergence of ``N(mean, exp(log_var))`` from ``N(0, 1)``, per observation and latent."""
    return 0.5 * (mean.pow(2) + log_var.exp() - log_var - 1)
