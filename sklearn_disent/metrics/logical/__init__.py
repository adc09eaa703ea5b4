"""Closed forms of the quantities that logical definitions give."""

from ._informativeness import (
    contraction_informativeness_score,
    informativeness_distance,
    inverse_informativeness_score,
)
from ._modularity import (
    constancy_modularity_score,
    modularity_distance,
    product_approximation,
    product_modularity_score,
)
from ._same_pairs import classes_from_pairs

__all__ = [
    "informativeness_distance",
    "inverse_informativeness_score",
    "contraction_informativeness_score",
    "modularity_distance",
    "product_modularity_score",
    "constancy_modularity_score",
    "product_approximation",
    "classes_from_pairs",
]
