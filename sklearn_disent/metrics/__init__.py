"""Disentanglement metrics: ``metric(factors, codes)`` returns a float. No torch here."""

# ruff: noqa: F403
# Each room says what it has to offer: a new metric needs no line here.
from . import (
    independence,
    information,
    intervention,
    logical,
    matching,
    of_models,
    prediction,
    topology,
)
from ._calibration import calibrated_report, random_map_codes
from ._catalogue import Metric
from ._groups import GroupProjection
from ._relevance import relevance_matrix
from ._report import disentanglement_report
from ._score_report import ScoreReport
from ._scorer import get_scorer, get_scorer_names, multimetric_scorer
from ._validation import check_factors_codes
from .independence import *
from .information import *
from .intervention import *
from .logical import *
from .matching import *
from .of_models import *
from .prediction import *
from .topology import *

__all__ = [
    "GroupProjection",
    "Metric",
    "ScoreReport",
    "calibrated_report",
    "check_factors_codes",
    "disentanglement_report",
    "get_scorer",
    "get_scorer_names",
    "multimetric_scorer",
    "random_map_codes",
    "relevance_matrix",
]
__all__ += information.__all__
__all__ += prediction.__all__
__all__ += intervention.__all__
__all__ += matching.__all__
__all__ += logical.__all__
__all__ += independence.__all__
__all__ += topology.__all__
__all__ += of_models.__all__
