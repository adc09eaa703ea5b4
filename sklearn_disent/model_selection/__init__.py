"""Choosing rows and models: dependent factors, splitters, resumable sweeps, comparison, ranking."""

from ._compare import ModelComparison, compare_models
from ._dependence import (
    dependence_weights,
    get_dependence_setting_names,
    load_dependence_setting,
    sample_dependent,
)
from ._split import DependentShuffleSplit
from ._sweep import SweepMemory
from ._udr import udr_ranking

__all__ = [
    "dependence_weights",
    "sample_dependent",
    "load_dependence_setting",
    "get_dependence_setting_names",
    "DependentShuffleSplit",
    "SweepMemory",
    "compare_models",
    "ModelComparison",
    "udr_ranking",
]
