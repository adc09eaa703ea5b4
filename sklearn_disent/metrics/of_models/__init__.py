"""Scores that need the fitted model itself: its decoder or its posterior."""

from ._counterfactual import CounterfactualGenerativenessScorer, counterfactual_generativeness_score
from ._elbo import ELBODecomposition, elbo_decomposition, elbo_score
from ._posterior_mig import posterior_mig_score
from ._posterior_minimality import (
    posterior_ledger,
    posterior_minimality_score,
    posterior_sufficiency_score,
)
from ._separability import wsepin_score

__all__ = [
    "CounterfactualGenerativenessScorer",
    "counterfactual_generativeness_score",
    "ELBODecomposition",
    "elbo_decomposition",
    "elbo_score",
    "posterior_ledger",
    "posterior_mig_score",
    "posterior_minimality_score",
    "posterior_sufficiency_score",
    "wsepin_score",
]
