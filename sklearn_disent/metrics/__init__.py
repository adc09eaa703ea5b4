"""Disentanglement metrics: ``metric(factors, codes)`` returns a float. No torch here."""

from ._information import mig_score
from ._relevance import relevance_matrix
from ._scorer import get_scorer, get_scorer_names, multimetric_scorer
from ._validation import check_factors_codes

__all__ = [
    # _validation, _relevance
    "check_factors_codes",
    "relevance_matrix",
    # _information
    "mig_score",
    # _predictive
    # _interventional
    # _logical
    # _unsupervised
    # _report
    # _scorer
    "get_scorer",
    "get_scorer_names",
    "multimetric_scorer",
]
