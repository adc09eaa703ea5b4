"""Metrics as scikit-learn scorers: for cross_val_score, GridSearchCV and the like."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRequest

from ._catalogue import SCORERS, Metric, MetricLike, as_metrics, function_name
from ._estimators import encode, unwrap_estimator
from ._sharing import sharing

__all__ = ["get_scorer", "get_scorer_names", "multimetric_scorer"]

# Options that hold a value per sample: a search may slice them with its folds and hand them over.
PER_SAMPLE = ("sample_weight", "codes_std")


def get_scorer_names() -> list[str]:
    """Names of all scorers that `get_scorer` has.

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
    return sorted(SCORERS)


def get_scorer(metric: str | Callable[..., Any] | Metric, /, **options: Any) -> "MetricScorer":
    """Scorer of a metric, to be passed as `scoring` to scikit-learn's model selection.

    Higher is always better: metrics that are errors or distances are negated, and their names
    begin with ``neg_``.

    Parameters
    ----------
    metric : str, callable or Metric
        One of :func:`get_scorer_names`, a function of your own, such as
        ``my_score(factors, codes)``, or a :class:`Metric`.
    **options
        Parameters of the metric, for instance ``n_bins=10``. A misspelt one is an error here, not
        in the midst of a search.

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
    Metric : What a function of your own does not tell by itself.

    Notes
    -----
    scikit-learn keeps no registry for names of other packages: ``scoring="mig"`` is not possible,
    pass ``scoring=get_scorer("mig")``.

    With scikit-learn's metadata routing enabled, ``scorer.set_score_request(sample_weight=True)``
    asks a search for the weights of its test rows.

    To search in several processes, a function of your own must be importable: joblib pickles the
    scorer.

    For several metrics, :func:`multimetric_scorer` encodes the samples once; a dict of scorers
    encodes them for each. scikit-learn's `ScoringMonitor` takes either, but not a single scorer
    of another package: pass ``{"mig": get_scorer("mig")}``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.metrics import get_scorer
    >>> factors = np.random.default_rng(0).integers(4, size=(500, 2))
    >>> X = factors * [5.0, 1.0]
    >>> get_scorer("mig")(PCA().fit(X), X, factors) > 0.9
    True
    >>> def first_code_score(factors, codes, *, power=1):
    ...     return float(abs(np.corrcoef(factors[:, 0], codes[:, 0])[0, 1]) ** power)
    >>> round(get_scorer(first_code_score, power=2)(PCA().fit(X), X, factors), 3)
    1.0
    """
    return MetricScorer(as_metrics([metric], SCORERS)[0], options)


def multimetric_scorer(
    metrics: Iterable["MetricLike | MetricScorer"]
    | Mapping[str, "MetricLike | MetricScorer | Mapping[str, Any]"],
) -> "MultimetricScorer":
    """Scorer of several metrics, which encodes the samples once.

    What the metrics have in common, a matrix or the fits of a predictor, is computed once, too.

    Parameters
    ----------
    metrics : list or dict
        Entries of a list are names from :func:`get_scorer_names`, functions of your own,
        :class:`Metric` objects, or what :func:`get_scorer` returns. Keys of a dict are the names
        of the results; its values are such entries, ``{"mine": my_score}``, or the options of
        the metric of that name, ``{"mig": {"n_bins": 10}}``.

    Returns
    -------
    scorer : callable
        Called as ``scorer(estimator, X, y)``; gives a dict from name to float, where higher is
        always better. Pass it as ``GridSearchCV(..., scoring=scorer, refit="mig")``.

    See Also
    --------
    get_scorer : A single metric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.metrics import get_scorer, multimetric_scorer
    >>> factors = np.random.default_rng(0).integers(4, size=(500, 2))
    >>> X = factors * [5.0, 1.0]
    >>> scorer = multimetric_scorer(["mig", "sap"])
    >>> scorer
    multimetric_scorer(['mig', 'sap'])
    >>> sorted(scorer(PCA().fit(X), X, factors))
    ['mig', 'sap']
    >>> multimetric_scorer({"mig": {}, "coarse": get_scorer("mig", n_bins=4)})
    multimetric_scorer({'mig': get_scorer('mig'), 'coarse': get_scorer('mig', n_bins=4)})
    """
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise TypeError(f"metrics must be a list or a dict of metrics, got {metrics!r}.")
    if isinstance(metrics, Mapping):
        return MultimetricScorer({name: _as_scorer(metrics[name], name) for name in metrics})
    scorers = [_as_scorer(entry) for entry in metrics]
    names = [scorer.name for scorer in scorers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"metrics must have names of their own, got {twice} more than once. Pass a dict, whose "
            "keys are the names."
        )
    return MultimetricScorer(dict(zip(names, scorers)))


class _Requests:
    """What a scorer asks of scikit-learn's metadata routing: nothing, until it is told to."""

    _requests: Mapping[str, bool | str | None]

    def _metadata(self) -> list[str]:
        """Options that hold a value per sample."""
        raise NotImplementedError

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Ask a search for metadata of its test rows, such as ``sample_weight=True``.

        Parameters
        ----------
        **requests
            True to ask for it, False to go without, None to make passing it an error, or the name
            under which it is passed to the search.

        Returns
        -------
        self : object
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "Requests are for scikit-learn's metadata routing, which is not enabled. Enable it "
                "with "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        unknown = [name for name in requests if name not in self._metadata()]
        if unknown:
            raise TypeError(
                f"{self!r} cannot take {unknown} per sample. Request only what it can take: "
                f"{self._metadata()}."
            )
        self._requests = requests
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The requests, for scikit-learn.

        Returns
        -------
        routing : MetadataRequest
        """
        request = MetadataRequest(owner=repr(self))
        for name in self._metadata():
            request.score.add_request(param=name, alias=self._requests.get(name))
        return request

    def _accept_sample_weight(self) -> bool:
        # Asked by scikit-learn where routing is not enabled.
        return "sample_weight" in self._metadata()


class MetricScorer(_Requests):
    """Scorer ``(estimator, X, y=None)`` of one metric, made by `get_scorer`."""

    def __init__(self, metric: Metric, options: Mapping[str, Any] | None = None):
        if metric.needs == "models":
            raise ValueError(
                f"{metric.name} compares several models; a scorer has a single one. Call its "
                "function with the codes of all models."
            )
        self.metric = metric
        self.options = dict(options or {})
        self._requests = {}
        metric.check(self.options)

    @property
    def name(self) -> str:
        """The metric's name, after ``neg_`` where lower is better."""
        return self.metric.scorer_name

    @property
    def _sign(self) -> int:
        return 1 if self.metric.greater_is_better else -1

    def _metadata(self) -> list[str]:
        return [name for name in self.metric.options if name in PER_SAMPLE]

    def __call__(
        self, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **metadata: Any
    ) -> float:
        return _scores({self.name: self}, estimator, X, y, metadata)[self.name]

    def __repr__(self) -> str:
        known = SCORERS.get(self.name) == self.metric
        metric = repr(self.name) if known else function_name(self.metric.function)
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"get_scorer({metric}{options})"

    def __sklearn_clone__(self) -> Self:
        clone = type(self)(self.metric, self.options)
        clone._requests = dict(self._requests)
        return clone


class MultimetricScorer(_Requests):
    """Scorer ``(estimator, X, y=None)`` that gives a dict, made by `multimetric_scorer`."""

    def __init__(self, scorers: Mapping[str, MetricScorer]):
        if not scorers:
            raise ValueError(f"metrics must be one or more of {get_scorer_names()}, got none.")
        self.scorers = dict(scorers)
        self._requests = {}

    def _metadata(self) -> list[str]:
        having = {name for scorer in self.scorers.values() for name in scorer._metadata()}
        return [name for name in PER_SAMPLE if name in having]

    def __call__(
        self, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **metadata: Any
    ) -> dict[str, float]:
        return _scores(self.scorers, estimator, X, y, metadata)

    def __repr__(self) -> str:
        names = list(self.scorers)
        plain = [f"get_scorer({name!r})" for name in names] == [*map(repr, self.scorers.values())]
        return f"multimetric_scorer({names if plain else self.scorers!r})"

    def __sklearn_clone__(self) -> Self:
        clone = type(self)({n: s.__sklearn_clone__() for n, s in self.scorers.items()})
        clone._requests = dict(self._requests)
        return clone


def _as_scorer(entry: Any, name: str = "") -> MetricScorer:
    """A scorer as it is, that of a metric, or that of a name with these options."""
    if isinstance(entry, MetricScorer):
        return entry
    if name and isinstance(entry, Mapping):
        return MetricScorer(as_metrics([name], SCORERS)[0], entry)
    return MetricScorer(as_metrics([entry], SCORERS)[0])


def _scores(
    scorers: Mapping[str, MetricScorer],
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    metadata: Mapping[str, Any],
) -> dict[str, float]:
    """Scores by name; codes, and what the metrics have in common, are computed once."""
    needed = [name for name, scorer in scorers.items() if scorer.metric.needs == "factors"]
    if y is None and needed:
        raise ValueError(
            f"{', '.join(needed)}: these metrics need the factors, got y=None. Pass them as y."
        )
    for key in metadata:
        if not any(key in scorer.metric.options for scorer in scorers.values()):
            raise TypeError(
                f"{', '.join(scorers)}: none of these metrics has an option {key!r}. Leave it out."
            )
    codes, scores = None, {}
    with sharing():
        for name, scorer in scorers.items():
            metric = scorer.metric
            own = {key: metadata[key] for key in metadata if key in metric.options}
            if metric.needs == "estimator":
                data: tuple[Any, ...] = (*unwrap_estimator(estimator, X), y)
            else:
                codes = _array(encode(estimator, X)) if codes is None else codes
                data = (y, codes) if metric.needs == "factors" else (codes,)
            scores[name] = scorer._sign * metric.value(*data, **{**scorer.options, **own})
    return scores


def _array(codes: Any) -> Any:
    # Functions of users need not take frames; sparse codes are left for the metric to refuse.
    return np.asarray(codes) if hasattr(codes, "__array__") else codes
