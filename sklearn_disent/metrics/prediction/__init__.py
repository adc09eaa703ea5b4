"""Scores from predicting factors from codes."""

from ._dci import (
    DCIScores,
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
)
from ._downstream import downstream_accuracy_score
from ._explicitness import explicitness_score
from ._sap import sap_score

__all__ = [
    "DCIScores",
    "dci_disentanglement_score",
    "dci_completeness_score",
    "dci_informativeness_score",
    "dci_scores",
    "downstream_accuracy_score",
    "explicitness_score",
    "sap_score",
]
