"""Scores from predicting factors from codes."""

from ._dci import (
    DCIScores,
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
)
from ._dcies import dcies_explicitness_score, dcies_size_score
from ._downstream import downstream_accuracy_score
from ._explicitness import explicitness_score
from ._r2 import factor_r2_score, matched_r2_score, unmatched_r2_error
from ._sap import sap_score
from ._tad import tad_score
from ._unfairness import unfairness_error

__all__ = [
    "DCIScores",
    "dci_disentanglement_score",
    "dci_completeness_score",
    "dci_informativeness_score",
    "dci_scores",
    "dcies_explicitness_score",
    "dcies_size_score",
    "downstream_accuracy_score",
    "explicitness_score",
    "factor_r2_score",
    "matched_r2_score",
    "unmatched_r2_error",
    "sap_score",
    "tad_score",
    "unfairness_error",
]
