"""Scores from the information that codes have about factors."""

from ._gaps import dcimig_score, mig_score, mig_sup_score, modularity_score
from ._gaussian import jemmig_score, rmig_score
from ._infomec import infoc_score, infoe_score, infom_score
from ._med import med_completeness_score, med_disentanglement_score
from ._minimality import minimality_score, sufficiency_score
from ._properties import CodeLedger, PropertyInformation, code_ledger, property_information

__all__ = [
    "mig_score",
    "mig_sup_score",
    "dcimig_score",
    "modularity_score",
    "rmig_score",
    "jemmig_score",
    "infom_score",
    "infoc_score",
    "infoe_score",
    "med_disentanglement_score",
    "med_completeness_score",
    "minimality_score",
    "sufficiency_score",
    "property_information",
    "PropertyInformation",
    "code_ledger",
    "CodeLedger",
]
