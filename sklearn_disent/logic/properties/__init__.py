"""Ready properties: definitions of the field, each with its formula, reference and closed form.

Every function returns a `Property`. ``print`` shows the formula, ``.guarantee`` tells whether
quantity 0 implies truth, ``.reference`` where the definition is from.
"""

from ._field import (
    completeness,
    consistency,
    disentanglement,
    equivariance,
    one_latent_per_factor,
    restrictiveness,
)
from ._paper import (
    informativeness_by_injectivity,
    informativeness_by_inverse,
    modularity_by_constancy,
    modularity_by_pairs,
    modularity_by_product,
)

__all__ = [
    "modularity_by_product",
    "modularity_by_constancy",
    "modularity_by_pairs",
    "informativeness_by_inverse",
    "informativeness_by_injectivity",
    "consistency",
    "restrictiveness",
    "disentanglement",
    "completeness",
    "equivariance",
    "one_latent_per_factor",
]
