"""Disentanglement metrics: ``metric(factors, codes)`` returns a float. No torch here."""

from ._relevance import relevance_matrix
from ._report import disentanglement_report
from ._scorer import get_scorer, get_scorer_names, multimetric_scorer
from ._validation import check_factors_codes
from .independence import (
    code_mutual_info_error,
    factorized_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    udr_score,
)
from .information import (
    dcimig_score,
    infoc_score,
    infoe_score,
    infom_score,
    jemmig_score,
    med_completeness_score,
    med_disentanglement_score,
    mig_score,
    mig_sup_score,
    minimality_score,
    modularity_score,
    rmig_score,
    sufficiency_score,
)
from .intervention import (
    beta_vae_score,
    factor_vae_score,
    irs_score,
    r_factor_vae_score,
    unconfoundedness_score,
)
from .logical import (
    classes_from_pairs,
    constancy_modularity_score,
    contraction_informativeness_score,
    informativeness_distance,
    inverse_informativeness_score,
    modularity_distance,
    product_approximation,
    product_modularity_score,
)
from .of_models import (
    CounterfactualGenerativenessScorer,
    ELBODecomposition,
    counterfactual_generativeness_score,
    elbo_decomposition,
    elbo_score,
    posterior_mig_score,
)
from .prediction import (
    DCIScores,
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
    downstream_accuracy_score,
    explicitness_score,
    sap_score,
)
from .topology import (
    manifold_topology_score,
    relative_living_times,
    wasserstein_barycenter_1d,
    wasserstein_distance_1d,
)

__all__ = [
    # _validation, _relevance
    "check_factors_codes",
    "relevance_matrix",
    # _information
    "mig_score",
    "mig_sup_score",
    "dcimig_score",
    "modularity_score",
    # _posterior
    "rmig_score",
    "jemmig_score",
    # _minimality
    "minimality_score",
    "sufficiency_score",
    # _infomec
    "infom_score",
    "infoc_score",
    "infoe_score",
    # _med
    "med_disentanglement_score",
    "med_completeness_score",
    # _dci
    "dci_disentanglement_score",
    "dci_completeness_score",
    "dci_informativeness_score",
    "dci_scores",
    "DCIScores",
    # _predictive
    "sap_score",
    "explicitness_score",
    "downstream_accuracy_score",
    # _interventional
    "beta_vae_score",
    "factor_vae_score",
    "r_factor_vae_score",
    # _robustness
    "irs_score",
    "unconfoundedness_score",
    # _counterfactual
    "counterfactual_generativeness_score",
    "CounterfactualGenerativenessScorer",
    # _logical_modularity, _pairs
    "modularity_distance",
    "product_modularity_score",
    "constancy_modularity_score",
    "product_approximation",
    "classes_from_pairs",
    # _logical_informativeness
    "informativeness_distance",
    "inverse_informativeness_score",
    "contraction_informativeness_score",
    # _unsupervised
    "gaussian_total_correlation_error",
    "gaussian_wasserstein_correlation_error",
    "code_mutual_info_error",
    "factorized_support_distance",
    "udr_score",
    # _topological, _living_times, _transport
    "manifold_topology_score",
    "relative_living_times",
    "wasserstein_barycenter_1d",
    "wasserstein_distance_1d",
    # _generative
    "posterior_mig_score",
    "elbo_decomposition",
    "ELBODecomposition",
    "elbo_score",
    # _report
    "disentanglement_report",
    # _scorer
    "get_scorer",
    "get_scorer_names",
    "multimetric_scorer",
]
