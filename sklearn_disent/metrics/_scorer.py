"""Metrics as scikit-learn scorers: for cross_val_score, GridSearchCV and the like."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer
from sklearn.utils._param_validation import StrOptions, validate_params

from ._estimators import encode, unwrap_estimator
from ._sharing import sharing
from .independence import (
    code_mutual_info_error,
    factorized_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
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
    constancy_modularity_score,
    contraction_informativeness_score,
    informativeness_distance,
    inverse_informativeness_score,
    modularity_distance,
    product_modularity_score,
)
from .of_models import (
    counterfactual_generativeness_score,
    elbo_score,
    posterior_mig_score,
)
from .prediction import (
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    downstream_accuracy_score,
    explicitness_score,
    sap_score,
)
from .topology import (
    manifold_topology_score,
)

__all__ = ["get_scorer", "get_scorer_names", "multimetric_scorer"]

# One line per metric, grouped by module; the names of the scorers follow from the functions'.
# f(factors, codes): needs labels.
_SUPERVISED: tuple[Callable[..., Any], ...] = (
    # _information
    mig_score,
    mig_sup_score,
    dcimig_score,
    modularity_score,
    # _posterior
    rmig_score,
    jemmig_score,
    # _minimality
    minimality_score,
    sufficiency_score,
    # _infomec
    infom_score,
    infoc_score,
    infoe_score,
    # _med
    med_disentanglement_score,
    med_completeness_score,
    # _dci
    dci_disentanglement_score,
    dci_completeness_score,
    dci_informativeness_score,
    # _predictive
    sap_score,
    explicitness_score,
    downstream_accuracy_score,
    # _interventional
    beta_vae_score,
    factor_vae_score,
    r_factor_vae_score,
    # _robustness
    irs_score,
    unconfoundedness_score,
    # _logical_modularity
    modularity_distance,
    product_modularity_score,
    constancy_modularity_score,
    # _logical_informativeness
    informativeness_distance,
    inverse_informativeness_score,
    contraction_informativeness_score,
)

# f(codes): needs no labels.
_UNSUPERVISED: tuple[Callable[..., Any], ...] = (
    # _unsupervised; udr_score compares several models and scores no single one
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    code_mutual_info_error,
    factorized_support_distance,
)

# f(estimator, X, y=None): needs the fitted estimator itself, its decoder or its posterior.
_ESTIMATOR: tuple[Callable[..., Any], ...] = (
    # _topological
    manifold_topology_score,
    # _generative
    posterior_mig_score,
    elbo_score,
    # _counterfactual
    counterfactual_generativeness_score,
)


def _is_loss(func: Callable[..., Any]) -> bool:
    return func.__name__.endswith(("_error", "_distance"))


def _name(func: Callable[..., Any]) -> str:
    # As scikit-learn has it: "mig" for mig_score, "neg_..._error" where lower is better.
    return f"neg_{func.__name__}" if _is_loss(func) else func.__name__.removesuffix("_score")


_FUNCTIONS = {_name(func): func for func in (*_SUPERVISED, *_UNSUPERVISED, *_ESTIMATOR)}


def get_scorer_names() -> list[str]:
    """Names of all scorers that `get_scorer` knows.

    Returns
    -------
    names : list of str
        Sorted names.

    See Also
    --------
    get_scorer : The scorer of a name.

    Examples
    --------
    >>> from sklearn_disent.metrics import get_scorer_names
    >>> "mig" in get_scorer_names()
    True
    """
    return sorted(_FUNCTIONS)


@validate_params({"name": [StrOptions(set(_FUNCTIONS))]}, prefer_skip_nested_validation=True)
def get_scorer(name: str, **options: Any) -> Callable[..., float]:
    """Scorer of a metric, to be passed as `scoring` to scikit-learn's model selection.

    Higher is always better: metrics that are errors or distances are negated, and their names
    begin with ``neg_``.

    Parameters
    ----------
    name : str
        One of :func:`get_scorer_names`.
    **options
        Parameters of the metric, for instance ``n_bins=10``.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y)``, where `y` holds the factors, (n_samples,
        n_factors); `y` may be left out where the metric needs no factors. The estimator is any
        fitted transformer, a Pipeline that ends in one, or a search over either.

    See Also
    --------
    get_scorer_names : All names.
    multimetric_scorer : Several metrics of the same codes.

    Notes
    -----
    scikit-learn has no registry of foreign names: ``scoring="mig"`` is not possible, pass
    ``scoring=get_scorer("mig")``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.metrics import get_scorer
    >>> factors = np.random.default_rng(0).integers(4, size=(500, 2))
    >>> X = factors * [5.0, 1.0]
    >>> get_scorer("mig")(PCA().fit(X), X, factors) > 0.9
    True
    """
    func = _FUNCTIONS[name]
    if func in _SUPERVISED:
        return make_scorer(
            func,
            # A tuple is taken where the bare string is refused.
            response_method=("transform",),
            greater_is_better=not _is_loss(func),
            **options,
        )
    return _LabelFreeScorer(name, options)


@validate_params({"metrics": [list, tuple, dict]}, prefer_skip_nested_validation=True)
def multimetric_scorer(
    metrics: Iterable[str] | Mapping[str, Mapping[str, Any]],
) -> "_MultimetricScorer":
    """Scorer of several metrics, which encodes the samples once.

    What the metrics have in common, a matrix or the fits of a predictor, is computed once, too.

    Parameters
    ----------
    metrics : list of str, or dict
        Names from :func:`get_scorer_names`; as a dict, the options of each metric by its name,
        ``{"mig": {"n_bins": 10}}``.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y)``; gives a dict from name to float. Pass it as
        ``GridSearchCV(..., scoring=scorer, refit="mig")``.

    See Also
    --------
    get_scorer : A single metric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.metrics import multimetric_scorer
    >>> factors = np.random.default_rng(0).integers(4, size=(500, 2))
    >>> X = factors * [5.0, 1.0]
    >>> scorer = multimetric_scorer(["mig"])
    >>> scorer
    multimetric_scorer(['mig'])
    >>> sorted(scorer(PCA().fit(X), X, factors))
    ['mig']
    """
    options = dict(metrics) if isinstance(metrics, Mapping) else {name: {} for name in metrics}
    unknown = [name for name in options if name not in _FUNCTIONS]
    if unknown or not options:
        raise ValueError(
            f"metrics must be one or more of {get_scorer_names()}, got {unknown or list(metrics)}."
        )
    return _MultimetricScorer({name: dict(options[name]) for name in options})


class _LabelFreeScorer:
    """Scorer (estimator, X, y=None) of a metric of codes alone or of the estimator itself."""

    def __init__(self, name: str, options: dict[str, Any]):
        self.name = name
        self.options = options

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike | None = None) -> float:
        func = _FUNCTIONS[self.name]
        if func in _ESTIMATOR:
            score = func(*unwrap_estimator(estimator, X), y, **self.options)
        else:
            score = func(encode(estimator, X), **self.options)
        return -score if _is_loss(func) else score

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"get_scorer({self.name!r}{options})"

    def __sklearn_clone__(self) -> "_LabelFreeScorer":
        return type(self)(self.name, dict(self.options))


class _MultimetricScorer:
    """Scorer (estimator, X, y=None) that gives a dict; codes and matrices are computed once."""

    def __init__(self, options: dict[str, dict[str, Any]]):
        self.options = options

    def __call__(
        self, estimator: Any, X: ArrayLike, y: ArrayLike | None = None
    ) -> dict[str, float]:
        functions = {name: _FUNCTIONS[name] for name in self.options}
        if y is None and any(func in _SUPERVISED for func in functions.values()):
            needed = [name for name, func in functions.items() if func in _SUPERVISED]
            raise ValueError(f"{', '.join(needed)}: these metrics need the factors, got y=None.")
        codes = None
        if any(func not in _ESTIMATOR for func in functions.values()):
            codes = encode(estimator, X)
        scores = {}
        with sharing():
            for name, func in functions.items():
                if func in _SUPERVISED:
                    score = func(y, codes, **self.options[name])
                elif func in _UNSUPERVISED:
                    score = func(codes, **self.options[name])
                else:
                    score = func(*unwrap_estimator(estimator, X), y, **self.options[name])
                scores[name] = -score if _is_loss(func) else score
        return scores

    def __repr__(self) -> str:
        plain = not any(self.options.values())
        return f"multimetric_scorer({list(self.options) if plain else self.options!r})"

    def __sklearn_clone__(self) -> "_MultimetricScorer":
        return type(self)({name: dict(options) for name, options in self.options.items()})
