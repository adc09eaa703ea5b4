"""Disentanglement metrics: ``metric(factors, codes)`` returns a float. No torch here."""

from ._catalogue import Metric
from ._relevance import relevance_matrix
from ._report import disentanglement_report
from ._scorer import get_scorer, get_scorer_names, multimetric_scorer
from ._validation import check_factors_codes
from .independence._codes import (
    code_mutual_info_error,
    factorised_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    udr_score,
)
from .information._gaps import dcimig_score, mig_score, mig_sup_score, modularity_score
from .information._gaussian import jemmig_score, rmig_score
from .information._infomec import infoc_score, infoe_score, infom_score
from .information._med import med_completeness_score, med_disentanglement_score
from .information._minimality import minimality_score, sufficiency_score
from .intervention._robustness import irs_score, unconfoundedness_score
from .intervention._votes import beta_vae_score, factor_vae_score, r_factor_vae_score
from .logical._informativeness import (
    contraction_informativeness_score,
    informativeness_distance,
    inverse_informativeness_score,
)
from .logical._modularity import (
    constancy_modularity_score,
    modularity_distance,
    product_approximation,
    product_modularity_score,
)
from .logical._same_pairs import classes_from_pairs
from .of_models._counterfactual import (
    CounterfactualGenerativenessScorer,
    counterfactual_generativeness_score,
)
from .of_models._generative import (
    ELBODecomposition,
    elbo_decomposition,
    elbo_score,
    posterior_mig_score,
)
from .prediction._dci import (
    DCIScores,
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
)
from .prediction._predictive import downstream_accuracy_score, explicitness_score, sap_score
from .topology._living_times import relative_living_times
from .topology._score import manifold_topology_score
from .topology._transport import wasserstein_barycenter_1d, wasserstein_distance_1d

__all__ = [
    # all at once
    "Metric",
    "check_factors_codes",
    "disentanglement_report",
    "get_scorer",
    "get_scorer_names",
    "multimetric_scorer",
    "relevance_matrix",
    # information
    "mig_score",
    "mig_sup_score",
    "dcimig_score",
    "modularity_score",
    "rmig_score",
    "jemmig_score",
    "minimality_score",
    "sufficiency_score",
    "infom_score",
    "infoc_score",
    "infoe_score",
    "med_disentanglement_score",
    "med_completeness_score",
    # prediction
    "dci_disentanglement_score",
    "dci_completeness_score",
    "dci_informativeness_score",
    "dci_scores",
    "DCIScores",
    "sap_score",
    "explicitness_score",
    "downstream_accuracy_score",
    # intervention
    "beta_vae_score",
    "factor_vae_score",
    "r_factor_vae_score",
    "irs_score",
    "unconfoundedness_score",
    # logical
    "modularity_distance",
    "product_modularity_score",
    "constancy_modularity_score",
    "product_approximation",
    "classes_from_pairs",
    "informativeness_distance",
    "inverse_informativeness_score",
    "contraction_informativeness_score",
    # independence
    "gaussian_total_correlation_error",
    "gaussian_wasserstein_correlation_error",
    "code_mutual_info_error",
    "factorised_support_distance",
    "udr_score",
    # topology
    "manifold_topology_score",
    "relative_living_times",
    "wasserstein_barycenter_1d",
    "wasserstein_distance_1d",
    # of_models
    "posterior_mig_score",
    "counterfactual_generativeness_score",
    "CounterfactualGenerativenessScorer",
    "elbo_decomposition",
    "ELBODecomposition",
    "elbo_score",
]
