"""Objective terms as pure functions: tensors in, values in nats or a penalty out.

What the models' ``terms()`` are made of, for objectives of your own. Notation: B rows in the batch,
N in the data set, D latents; q(z|x_j) is the diagonal Gaussian ``N(mean_j, exp(log_var_j))``.
Nothing here holds state or draws from torch's global generator.
"""

from ._codes import (
    covariance,
    density_ratio_tc,
    dip_penalties,
    hausdorff_support,
    mmd_squared,
    permute_dims,
)
from ._elbo import (
    KLParts,
    bernoulli_nll,
    categorical_kl,
    gaussian_entropy,
    gaussian_kl,
    gaussian_log_density,
    gaussian_nll,
    kl_parts,
    laplace_transition_kl,
    mss_log_weights,
    standard_log_prior,
)
from ._labels import cov_penalty, embed_losses, l2_losses, mean_over_known, xent_losses
from ._logical import (
    contraction_term,
    diameter_term,
    mean_pairwise_term,
    pair_contraction,
    same_pair_term,
    variance_term,
)
from ._regions import box_mask, region_error

__all__ = [
    # the evidence lower bound and the parts of its KL divergence
    "bernoulli_nll",
    "gaussian_nll",
    "gaussian_kl",
    "categorical_kl",
    "laplace_transition_kl",
    "gaussian_log_density",
    "gaussian_entropy",
    "standard_log_prior",
    "kl_parts",
    "KLParts",
    "mss_log_weights",
    # the codes of a batch
    "density_ratio_tc",
    "permute_dims",
    "dip_penalties",
    "covariance",
    "mmd_squared",
    "hausdorff_support",
    # labels and regions
    "xent_losses",
    "l2_losses",
    "embed_losses",
    "cov_penalty",
    "mean_over_known",
    "region_error",
    "box_mask",
    # modularity and informativeness by logical definition
    "variance_term",
    "diameter_term",
    "mean_pairwise_term",
    "same_pair_term",
    "contraction_term",
    "pair_contraction",
]
