"""The catalogue: one row per metric, read by everything that goes through the metrics.

Scorers, the report, the labels of figures, the table in the documentation and the common tests all
read `CATALOGUE`. To add a metric to the package, add a row. A metric of your own does not need
one: scorers and reports take a function, or a `Metric` that says more about it.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache, partial
from math import inf
from numbers import Real
from typing import Any, Literal, get_args

from .._params import check_options
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

__all__ = ["Metric"]

Needs = Literal["auto", "factors", "codes", "estimator", "models"]

MODULARITY = "Modularity: is each code about one factor?"
COMPACTNESS = "Compactness: is each factor in one code?"
EXPLICITNESS = "Explicitness: can the factors be read off the codes?"
IDENTIFICATION = "Identification: is each factor one code, up to order, sign and scale?"
SEVERAL = "Several of these at once"
INDEPENDENCE = "Independence: do the codes vary independently? (no factors needed)"
FAIRNESS = "Fairness: are predictions of one factor independent of the others?"
GENERATION = "Generation: do the codes of a factor change it, and nothing else, when decoded?"
SELECTION = "Selection: which of many models is best? (no factors needed)"
OTHER = "Other"

# How many arguments a metric is given before its options: (factors, codes), (codes),
# (estimator, X, y), (codes of each model).
_N_DATA: dict[str, int] = {"factors": 2, "codes": 1, "estimator": 3, "models": 1}


@dataclass(frozen=True)
class Metric:
    """A metric, and what scorers, reports and figures have to know about it.

    :func:`get_scorer`, :func:`multimetric_scorer` and :func:`disentanglement_report` take plain
    functions as well. A `Metric` is for what the function does not tell by itself.

    Parameters
    ----------
    function : callable
        Returns one number. It is called with the data as positional arguments, see `needs`, and
        with options by keyword.
    needs : {"auto", "factors", "codes", "estimator", "models"}, default="auto"
        - "factors": called as ``function(factors, codes)``.
        - "codes": called as ``function(codes)``.
        - "estimator": called as ``function(estimator, X, y)``, where `y` may be None. For
          scorers only.
        - "models": called as ``function([codes_of_one_model, codes_of_another, ...])``. For
          neither scorers nor reports.
        - "auto": "estimator" if the first parameter has that name, "codes" if the function
          takes one positional argument, else "factors".
    question : str, default="Other"
        What the metric asks; the report groups metrics by it.
    label : str, default=""
        The metric's name in figures; by default made of the name.
    name : str, default=""
        The metric's name in reports; by default that of the function without "_score".
    greater_is_better : bool or None, default=None
        Which end of the range is the good one; None means higher, unless the function's name
        ends in "_error" or "_distance". Where lower is better, the scorer is negated and its name
        begins with ``neg_``.
    bounds : tuple of (float, float), default=(-inf, inf)
        The lowest and the highest possible value. The report clips intervals to them.
    defaults : mapping of str to object, default={}
        Options that scorers and reports have by default, where those of the function do not suit a
        search: a distance in units of the codes would make it choose codes that have collapsed.

    See Also
    --------
    get_scorer : The scorer of a metric.
    disentanglement_report : Many metrics of the same codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import Metric, disentanglement_report
    >>> def spread(codes):
    ...     return float(np.std(codes))
    >>> metric = Metric(spread, greater_is_better=False, bounds=(0, np.inf))
    >>> metric.needs, metric.scorer_name
    ('codes', 'neg_spread')
    >>> factors = np.random.default_rng(0).integers(3, size=(200, 2))
    >>> report = disentanglement_report(
    ...     factors, factors, metrics=["mig", metric], output="dict")
    >>> list(report)
    ['mig', 'spread']
    """

    function: Callable[..., Any]
    _: KW_ONLY
    needs: Needs = "auto"
    question: str = OTHER
    label: str = ""
    name: str = ""
    greater_is_better: bool | None = None
    bounds: tuple[float, float] = (-inf, inf)
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(
                f"function must be a function that returns one number, got {self.function!r}."
            )
        if self.needs not in get_args(Needs):
            raise ValueError(f"needs must be one of {list(get_args(Needs))}, got {self.needs!r}.")
        own = function_name(self.function)
        if self.needs == "auto":
            self._fill(needs=_needs_of(self.function))
        if self.greater_is_better is None:
            self._fill(greater_is_better=not own.endswith(("_error", "_distance")))
        self._fill(name=self.name or own.removesuffix("_score"))
        self._fill(label=self.label or self.name.replace("_", " "))

    def _fill(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def scorer_name(self) -> str:
        """The name of the scorer: ``neg_`` and the metric's name where lower is better."""
        return self.name if self.greater_is_better else f"neg_{self.name}"

    @property
    def options(self) -> list[str]:
        """Names of the parameters that are options, not data."""
        return list(_parameters(self.function)[_N_DATA[self.needs] :])

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the function does not have, or values that it does not take.

        Parameters
        ----------
        options : mapping
            Values by name.
        """
        data = set(_parameters(self.function)) - set(self.options)
        check_options(self.function, options, without=data)

    def value(self, *data: Any, **options: Any) -> float:
        """The metric of the data, which must be one number."""
        value = self.function(*data, **{**self.defaults, **options})
        if not isinstance(value, Real):
            raise ValueError(
                f"{self.name} must be one number, got {type(value).__name__} with the options "
                f"{options}. Leave average and return_matrix as they are, or call "
                f"{function_name(self.function)} itself."
            )
        return float(value)


def function_name(function: Callable[..., Any]) -> str:
    if isinstance(function, partial):
        return function_name(function.func)
    return getattr(function, "__name__", type(function).__name__)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of all parameters: a report asks for those of each metric in every resample."""
    if getattr(function, "__hash__", None) is None:
        return tuple(inspect.signature(function).parameters)
    return _hashed_parameters(function)


@lru_cache(maxsize=256)
def _hashed_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _needs_of(function: Callable[..., Any]) -> Needs:
    parameters = inspect.signature(function).parameters
    if next(iter(parameters), None) == "estimator":
        return "estimator"
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    data = [p for p in parameters.values() if p.kind in kinds and p.default is p.empty]
    return "codes" if len(data) == 1 else "factors"


def _asking(question: str, *metrics: Metric) -> tuple[Metric, ...]:
    return tuple(replace(metric, question=question) for metric in metrics)


_UNIT = (0.0, 1.0)
_LOSS = (0.0, inf)
# Distances in units of the codes would make a search choose codes that have collapsed.
_SCALE_FREE = {"code_scale": "unit"}

# Reports list the questions, and the metrics of each, in this order.
CATALOGUE: tuple[Metric, ...] = (
    *_asking(
        MODULARITY,
        Metric(information.modularity_score, bounds=_UNIT),
        Metric(information.mig_sup_score, label="MIG-sup", bounds=_UNIT),
        Metric(information.minimality_score, bounds=_UNIT),
        Metric(information.infom_score, label="InfoM", bounds=_UNIT),
        Metric(information.med_disentanglement_score, label="MED disentanglement", bounds=_UNIT),
        Metric(prediction.dci_disentanglement_score, label="DCI disentanglement", bounds=_UNIT),
        Metric(intervention.irs_score, label="IRS", bounds=_UNIT),
        Metric(intervention.unconfoundedness_score, bounds=_UNIT),
        Metric(logical.product_modularity_score, bounds=_UNIT, defaults=_SCALE_FREE),
        Metric(logical.constancy_modularity_score, bounds=_UNIT, defaults=_SCALE_FREE),
        Metric(logical.modularity_distance, bounds=_LOSS, defaults=_SCALE_FREE),
        Metric(of_models.posterior_minimality_score, needs="estimator", bounds=_UNIT),
    ),
    *_asking(
        COMPACTNESS,
        Metric(information.mig_score, label="MIG", bounds=_UNIT),
        Metric(information.rmig_score, label="RMIG", bounds=_UNIT),
        Metric(information.sufficiency_score, bounds=_UNIT),
        Metric(information.infoc_score, label="InfoC", bounds=_UNIT),
        Metric(information.med_completeness_score, label="MED completeness", bounds=_UNIT),
        Metric(prediction.dci_completeness_score, label="DCI completeness", bounds=_UNIT),
        Metric(prediction.sap_score, label="SAP", bounds=_UNIT),
        Metric(prediction.tad_score, label="TAD", bounds=_LOSS),
        Metric(prediction.dcies_size_score, label="DCI-ES size", bounds=_UNIT),
        Metric(matching.nk_score, label="NK", bounds=(-1.0, 1.0)),
        Metric(matching.msgs_score, label="MSGS", bounds=_UNIT),
        Metric(
            of_models.posterior_mig_score, needs="estimator", label="posterior MIG", bounds=_UNIT
        ),
        Metric(of_models.posterior_sufficiency_score, needs="estimator", bounds=_UNIT),
    ),
    *_asking(
        EXPLICITNESS,
        Metric(information.infoe_score, label="InfoE", bounds=_UNIT),
        Metric(prediction.explicitness_score, bounds=_UNIT),
        Metric(prediction.dci_informativeness_score, label="DCI informativeness", bounds=_UNIT),
        Metric(prediction.downstream_accuracy_score, bounds=_UNIT),
        Metric(prediction.factor_r2_score, label="R2 of all codes", bounds=_UNIT),
        Metric(
            prediction.dcies_explicitness_score, label="DCI-ES explicitness", bounds=(-1.0, 1.0)
        ),
        Metric(matching.msas_score, label="MSAS", bounds=_UNIT),
        Metric(logical.inverse_informativeness_score, bounds=_UNIT),
        Metric(logical.contraction_informativeness_score, bounds=_UNIT, defaults=_SCALE_FREE),
        Metric(logical.informativeness_distance, bounds=_LOSS, defaults=_SCALE_FREE),
    ),
    *_asking(
        IDENTIFICATION,
        Metric(matching.mcc_score, label="MCC", bounds=_UNIT),
        Metric(prediction.matched_r2_score, label="R2 of matched codes", bounds=_UNIT),
        Metric(prediction.unmatched_r2_error, label="R2 of unmatched codes", bounds=_UNIT),
        Metric(matching.snc_score, label="SNC", bounds=_UNIT),
        Metric(matching.lms_score, label="LMS", bounds=_UNIT),
        Metric(matching.tmex_error, label="T-MEX", bounds=_LOSS),
        Metric(intervention.omes_score, label="OMES", bounds=_UNIT),
    ),
    *_asking(
        SEVERAL,
        Metric(information.jemmig_score, label="JEMMIG", bounds=_UNIT),
        Metric(information.dcimig_score, label="DCIMIG", bounds=_UNIT),
        Metric(intervention.beta_vae_score, label="BetaVAE score", bounds=_UNIT),
        Metric(intervention.factor_vae_score, label="FactorVAE score", bounds=_UNIT),
        Metric(intervention.r_factor_vae_score, label="r-FactorVAE score", bounds=_UNIT),
    ),
    *_asking(
        INDEPENDENCE,
        Metric(
            independence.gaussian_total_correlation_error,
            needs="codes",
            label="Gaussian total correlation",
            bounds=_LOSS,
        ),
        Metric(
            independence.gaussian_wasserstein_correlation_error,
            needs="codes",
            label="Gaussian Wasserstein correlation",
            bounds=_LOSS,
        ),
        Metric(
            independence.code_mutual_info_error,
            needs="codes",
            label="mutual information of codes",
            bounds=_LOSS,
        ),
        Metric(independence.factorized_support_distance, needs="codes", bounds=_LOSS),
        Metric(of_models.wsepin_score, needs="estimator", label="WSEPIN (nats)", bounds=_LOSS),
    ),
    *_asking(FAIRNESS, Metric(prediction.unfairness_error, bounds=_UNIT)),
    *_asking(
        GENERATION,
        Metric(of_models.counterfactual_generativeness_score, needs="estimator", bounds=_UNIT),
    ),
    *_asking(
        SELECTION,
        Metric(independence.udr_score, needs="models", label="UDR", bounds=_UNIT),
        Metric(
            independence.model_centrality_score,
            needs="models",
            label="ModelCentrality",
            bounds=_UNIT,
        ),
        Metric(topology.manifold_topology_score, needs="estimator", bounds=(-1.0, 1.0)),
        Metric(of_models.elbo_score, needs="estimator", label="ELBO (nats)"),
    ),
)

SCORERS = {metric.scorer_name: metric for metric in CATALOGUE if metric.needs != "models"}
REPORTED = {metric.name: metric for metric in CATALOGUE if metric.needs in ("factors", "codes")}

# How figures write the names of scorers and of rows in a report.
LABELS: dict[str, str] = {
    **{metric.scorer_name: f"negative {metric.label}" for metric in CATALOGUE},
    **{metric.name: metric.label for metric in CATALOGUE},
}

MetricLike = str | Callable[..., Any] | Metric


def as_metrics(entries: Iterable[MetricLike], known: Mapping[str, Metric]) -> list[Metric]:
    """Rows of names, of functions, of logical properties and of rows; at least one."""
    # A property says itself what its row is: logic builds on metrics, not the other way around.
    entries = [e.as_metric() if hasattr(e, "as_metric") else e for e in entries]
    unknown = [e for e in entries if not callable(e) and not isinstance(e, Metric)]
    unknown = [e for e in unknown if not isinstance(e, str) or e not in known]
    if unknown or not entries:
        raise ValueError(
            f"metrics must be one or more of {sorted(known)}, functions, or instances of Metric, "
            f"got {unknown or entries}.{_near(unknown, known)}"
        )
    return [_as_metric(entry, known) for entry in entries]


def _near(unknown: Iterable[Any], known: Iterable[str]) -> str:
    """The name that was meant, perhaps: that of the function, or one with other letters."""
    names = [str(entry).removesuffix("_score").lower() for entry in unknown]
    near = dict.fromkeys(n for name in names for n in get_close_matches(name, known, n=1))
    return f" Did you mean {', '.join(map(repr, near))}?" if near else ""


def _as_metric(entry: MetricLike, known: Mapping[str, Metric]) -> Metric:
    if isinstance(entry, Metric):
        return entry
    if isinstance(entry, str):
        return known[entry]
    own = (metric for metric in CATALOGUE if metric.function is entry)
    return next(own, None) or Metric(entry)


def by_question(metrics: Iterable[Metric]) -> list[Metric]:
    """Metrics in the order of the catalogue, each question followed by what is not in there."""
    metrics = list(metrics)
    questions = list(dict.fromkeys(metric.question for metric in (*CATALOGUE, *metrics)))

    def place(metric: Metric) -> tuple[bool, int, int]:
        row = CATALOGUE.index(metric) if metric in CATALOGUE else len(CATALOGUE)
        return metric.question == OTHER, questions.index(metric.question), row

    return sorted(metrics, key=place)
