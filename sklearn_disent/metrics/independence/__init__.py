"""Scores of the codes alone, and of several models beside each other."""

from ._centrality import model_centrality_score
from ._correlation import (
    code_mutual_info_error,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
)
from ._support import factorized_support_distance
from ._udr import udr_score

__all__ = [
    "gaussian_total_correlation_error",
    "gaussian_wasserstein_correlation_error",
    "code_mutual_info_error",
    "factorized_support_distance",
    "udr_score",
    "model_centrality_score",
]
