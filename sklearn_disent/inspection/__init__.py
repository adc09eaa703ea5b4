"""Pictures of representations, models and sweeps, in the manner of scikit-learn's Displays."""

from ._causal_graph import CausalGraphDisplay
from ._counterfactual import CounterfactualDisplay
from ._history import HistoryDisplay
from ._latent_factor import LatentFactorDisplay
from ._metric_agreement import MetricAgreementDisplay
from ._reconstruction import ReconstructionDisplay
from ._relevance import RelevanceDisplay
from ._report import DisentanglementReport
from ._score_distribution import ScoreDistributionDisplay
from ._signatures import SignatureDisplay
from ._sweep import SweepDisplay
from ._traversal import TraversalDisplay

__all__ = [
    # all of it on one page
    "DisentanglementReport",
    # of a model
    "TraversalDisplay",
    "ReconstructionDisplay",
    "HistoryDisplay",
    "CounterfactualDisplay",
    # of codes and factors
    "RelevanceDisplay",
    "LatentFactorDisplay",
    # of the topology of latents and factors
    "SignatureDisplay",
    # of causes
    "CausalGraphDisplay",
    # of many models
    "SweepDisplay",
    "ScoreDistributionDisplay",
    "MetricAgreementDisplay",
]
