"""Scores of how codes respond when factors are held fixed or vary alone."""

from ._omes import omes_score
from ._robustness import irs_score, unconfoundedness_score
from ._votes import beta_vae_score, factor_vae_score, r_factor_vae_score

__all__ = [
    "irs_score",
    "unconfoundedness_score",
    "beta_vae_score",
    "factor_vae_score",
    "r_factor_vae_score",
    "omes_score",
]
