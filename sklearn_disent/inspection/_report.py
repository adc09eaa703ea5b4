"""A model on one page: scores and pictures as HTML."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from .. import _manifest
from .._params import (
    FactorBins,
    ImageShape,
    Names,
    NonNegativeInt,
    OpenShare,
    PositiveFloat,
    RandomStateLike,
    validated,
)
from ..metrics import ScoreReport, disentanglement_report, manifold_topology_score
from ..metrics._catalogue import SCORERS
from ..metrics._estimators import path_to_model
from ..metrics._report import Metrics, _choose, _row, check_params
from ..metrics._sharing import sharing
from ..metrics._validation import check_codes, check_factors
from ._common import DEAD, coder_of, codes_of, dead_latents, look_inside, pyplot, scored_codes
from ._history import HistoryDisplay
from ._latent_factor import LatentFactorDisplay
from ._page import STYLE, factor_table, marked, picture, score_table, without_directions
from ._reconstruction import ReconstructionDisplay
from ._relevance import RelevanceDisplay
from ._sliders import SLIDER_STYLE
from ._traversal import TraversalDisplay

# Two or three metrics per question which take milliseconds: each is computed again for every
# resample.
_METRICS = (
    "modularity",
    "mig_sup",
    "minimality",
    "infom",
    "mig",
    "sufficiency",
    "sap",
    "infoc",
    "infoe",
    "jemmig",
    "gaussian_total_correlation_error",
)

# With more factors than these, metrics that fit something for each are left out, there are fewer
# resamples, and some of the factors are drawn: else the time would grow from seconds to hours.
_MANY_FACTORS = 50
_FITTED = ("infom", "infoc", "infoe")
_N_DRAWN = 12

_TOPOLOGY = SCORERS["manifold_topology"]


@dataclass(eq=False, repr=False)
class DisentanglementReport:
    """Scores with confidence intervals and pictures of a model, as one HTML page.

    A notebook shows the report as a page; :meth:`to_html` writes it to one file, with styles and
    pictures inside.

    Parameters
    ----------
    scores : dict
        From :func:`~sklearn_disent.metrics.disentanglement_report` with ``output="dict"``.
    displays : dict of str to Display
        Displays that have been drawn, by title.
    title : str, default="Disentanglement report"
        The headline.
    summary : list of str or None, default=None
        Lines below the headline; none if None.
    estimator_text : str, default=""
        The estimator with its parameters.
    factor_values : dict or None, default=None
        By the name of the metric, one value per factor; none if None.
    factor_names : list of str or None, default=None
        Names; "factor 0" and so on if None.

    See Also
    --------
    sklearn_disent.metrics.disentanglement_report : The scores alone, as text or as a table.
    TraversalDisplay.to_html : The sliders alone.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.inspection import DisentanglementReport
    >>> factors = np.random.default_rng(0).integers(4, size=(200, 2))
    >>> X = factors @ [[3.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> report = DisentanglementReport.from_estimator(
    ...     PCA(2).fit(X), X, factors, metrics=["mig"], n_resamples=0)
    >>> list(report.displays)
    ['Relevance', 'Latents against factors', 'Traversals', 'Reconstructions']
    >>> report = DisentanglementReport.from_predictions(factors, X[:, :2], metrics=["mig"])
    >>> report.verdicts
    {'mig': 'above chance'}
    """

    scores: Mapping[str, Mapping[str, Any]]
    displays: Mapping[str, Any]
    _: KW_ONLY
    title: str = "Disentanglement report"
    summary: Sequence[str] | None = None
    estimator_text: str = ""
    factor_values: Mapping[str, Sequence[float]] | None = None
    factor_names: Sequence[str] | None = None

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        metrics: Metrics | None = None,
        metric_params: Mapping[str, Mapping[str, Any]] | None = None,
        n_resamples: NonNegativeInt | None = None,
        confidence_level: OpenShare = 0.95,
        n_permutations: NonNegativeInt = 20,
        topology: Mapping[str, Any] | None = None,
        factor_names: Names | None = None,
        factor_bins: FactorBins | None = None,
        image_shape: ImageShape | None = None,
        max_std: PositiveFloat = 2.0,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> Self:
        """Score and draw a fitted model.

        What an estimator cannot do is left out: traversals and reconstructions need
        ``inverse_transform``, the history needs ``history_``.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer, a Pipeline that ends in one, or a search over either.
        X : array-like
            Observations, preferably held out from training.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        metrics : "all", list of (str, callable or Metric) or None, default=None
            Names of metrics, functions of your own, or both, as in
            :func:`~sklearn_disent.metrics.disentanglement_report`; two or three fast metrics per
            question if None, and with more than 50 factors those of them that are fast even then.
        metric_params : dict or None, default=None
            Options by the name of the metric, such as ``{"mig": {"n_bins": 10}}``.
        n_resamples : int or None, default=None
            Number of half-samples for confidence intervals; 0 for none. None takes 100, and fewer
            with more than 50 factors, at least 10.
        confidence_level : float, default=0.95
            Level of the intervals.
        n_permutations : int, default=20
            Number of shuffles; 0 for none. They give chance levels, p-values and verdicts.
        topology : dict or None, default=None
            Options of :func:`~sklearn_disent.metrics.manifold_topology_score`, such as
            ``{"n_repeats": 20}``, to add its row: an interval over draws of landmarks, and the
            null of `n_permutations` permuted signatures. None leaves it out, since it takes
            longer than all others.
        factor_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        factor_bins : int, "unique" or None, default=None
            How continuous factors are binned; they are an error if None.
        image_shape : tuple of int or None, default=None
            Shape of one image if rows are images; that of the estimator's images if None.
        max_std : float, default=2.0
            Range of the traversals, in standard deviations.
        n_jobs : int or None, default=None
            Processes for the resamples and shuffles, threads for the fits. It does not change the
            result.
        random_state : int, RandomState instance or None, default=None
            Passed to every metric that takes one. It also draws the resamples and shuffles.

        Returns
        -------
        report : DisentanglementReport
        """
        pyplot(cls.__name__)
        n_factors = _n_columns(y)
        is_many = n_factors > _MANY_FACTORS
        if metrics is None:
            metrics = [name for name in _METRICS if not (is_many and name in _FITTED)]
        if n_resamples is None:
            n_resamples = max(10, 100 * _MANY_FACTORS // n_factors) if is_many else 100
        check_params(metric_params, _choose(metrics))
        if topology is not None:
            _TOPOLOGY.check(topology)
        binned: dict[str, Any] = {} if factor_bins is None else {"factor_bins": factor_bins}
        with sharing():
            codes = _finite_codes(estimator, X)
            chance = (n_resamples, confidence_level, n_permutations)
            report = _scored(
                y, codes, metrics, metric_params, chance, factor_bins, n_jobs, random_state
            )
            scores = report.to_dict()
            if topology is not None:
                given = {"random_state": random_state, "n_jobs": n_jobs, **topology}
                level = confidence_level if n_resamples else None
                scores[_TOPOLOGY.name] = _topology_row(
                    estimator, X, y, {"n_permutations": n_permutations, **given}, level
                )
            displays = _displays(estimator, X, y, codes, factor_names, binned, image_shape, max_std)
            lines = [*_dead(estimator, X), *_elbo(estimator, X)]
        return cls(
            scores,
            displays,
            title=f"Disentanglement report: {type(path_to_model(estimator)[1]).__name__}",
            summary=[
                *lines,
                report.sizes + _held(confidence_level, n_resamples),
                *_drawn(n_factors),
                *_manifest.summary(path_to_model(estimator)[1]),
            ],
            estimator_text=repr(estimator),
            factor_values=report.factor_values,
            factor_names=factor_names if factor_names is not None else report.factor_names,
        )

    @classmethod
    @validated
    def from_predictions(
        cls,
        factors: ArrayLike,
        codes: ArrayLike,
        *,
        metrics: Metrics | None = None,
        metric_params: Mapping[str, Mapping[str, Any]] | None = None,
        n_resamples: NonNegativeInt = 100,
        confidence_level: OpenShare = 0.95,
        n_permutations: NonNegativeInt = 20,
        factor_names: Names | None = None,
        factor_bins: FactorBins | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> Self:
        """Score and draw codes, of whatever model they are.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        metrics : "all", list of (str, callable or Metric) or None, default=None
            As in :meth:`from_estimator`.
        metric_params : dict or None, default=None
            Options by the name of the metric, such as ``{"mig": {"n_bins": 10}}``.
        n_resamples : int, default=100
            Number of half-samples for confidence intervals; 0 for none.
        confidence_level : float, default=0.95
            Level of the intervals.
        n_permutations : int, default=20
            Number of shuffles; 0 for none. They give chance levels, p-values and verdicts.
        factor_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        factor_bins : int, "unique" or None, default=None
            How continuous factors are binned; they are an error if None.
        n_jobs : int or None, default=None
            Processes for the resamples and shuffles, threads for the fits. It does not change the
            result.
        random_state : int, RandomState instance or None, default=None
            Passed to every metric that takes one. It also draws the resamples and shuffles.

        Returns
        -------
        report : DisentanglementReport
        """
        pyplot(cls.__name__)
        binned: dict[str, Any] = {} if factor_bins is None else {"factor_bins": factor_bins}
        with sharing():
            codes = check_codes(codes, nan_policy="omit")
            chance = (n_resamples, confidence_level, n_permutations)
            metrics = list(_METRICS) if metrics is None else metrics
            report = _scored(
                factors, codes, metrics, metric_params, chance, factor_bins, n_jobs, random_state
            )
            displays = _displays_of_codes(factors, codes, factor_names, binned)
        return cls(
            report.to_dict(),
            displays,
            summary=[report.sizes + _held(confidence_level, n_resamples)],
            factor_values=report.factor_values,
            factor_names=factor_names if factor_names is not None else report.factor_names,
        )

    @property
    def verdicts(self) -> dict[str, str]:
        """By metric, what its level of chance says in words; empty without shuffles."""
        return self._scores().verdicts

    def to_text(self) -> str:
        """The scores as a table to print, after the sentences that sum them up.

        Returns
        -------
        text : str
        """
        return "\n".join([self.title, *(self.summary or ()), "", self._scores().to_text()])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The scores as a dict of dicts, by the name of the metric.

        Returns
        -------
        rows : dict
        """
        return self._scores().to_dict()

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame, indexed by metric, with a column per factor.

        Returns
        -------
        frame : DataFrame
        """
        return self._scores().to_frame()

    def to_latex(self) -> str:
        """The scores as a table for a paper, for the package booktabs.

        Returns
        -------
        latex : str
        """
        return self._scores().to_latex()

    def _scores(self) -> ScoreReport:
        return ScoreReport(
            self.scores, factor_values=self.factor_values, factor_names=self.factor_names
        )

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as a page that needs no other file: styles and pictures are inside.

        Parameters
        ----------
        path : str, Path or None, default=None
            File to write the page to; it is only returned if None.

        Returns
        -------
        page : str
            The page.
        """
        page = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(without_directions(self.title))}</title>\n</head>\n<body>\n"
            f"{self._repr_html_()}\n"
            "</body>\n</html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        scores = self._scores()
        words = "".join(f'<p class="verdict">{marked(w)}</p>\n' for w in scores.summary)
        lines = "".join(f"<p>{marked(line)}</p>\n" for line in self.summary or ())
        parts = [
            f'<div class="sklearn-disent-report">\n<style>{STYLE}{SLIDER_STYLE}</style>',
            f"<h1>{marked(self.title)}</h1>\n{words}{lines}",
            f"<h2>Scores</h2>\n{score_table(self.scores)}",
        ]
        if self.factor_values:
            parts.append(f"<h2>Scores by factor</h2>\n{factor_table(scores)}")
        parts += [picture(title, display) for title, display in self.displays.items()]
        if self.estimator_text:
            text = marked(self.estimator_text)
            parts.append(f"<h2>Estimator</h2>\n<pre>{text}</pre>")
        return "\n".join([*parts, "</div>"])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={row['value']:.3f}" for name, row in self.scores.items())
        return f"<{self.title}: {values}>"


def _scored(
    factors: ArrayLike,
    codes: np.ndarray,
    metrics: Metrics,
    metric_params: Any,
    chance: tuple[int, float, int],
    factor_bins: Any,
    n_jobs: int | None,
    random_state: Any,
) -> Any:
    n_resamples, confidence_level, n_permutations = chance
    return disentanglement_report(
        factors,
        codes,
        metrics=metrics,
        metric_params=metric_params,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        n_permutations=n_permutations,
        per_factor=True,
        factor_bins=factor_bins,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def _held(confidence_level: float, n_resamples: int) -> str:
    return f" Intervals hold {confidence_level:.0%}." if n_resamples else ""


def _drawn(n_factors: int) -> list[str]:
    if n_factors <= _N_DRAWN:
        return []
    return [f"Latents are drawn against {_N_DRAWN} factors, those that explain most of a latent."]


def _n_columns(y: Any) -> int:
    return check_factors(y, "unique", "omit").factors.shape[1]


def _finite_codes(estimator: Any, X: Any) -> np.ndarray:
    codes = scored_codes(estimator, X)
    n_missing = int(np.isnan(codes).any(axis=1).sum())
    if n_missing:
        raise ValueError(
            f"{type(path_to_model(estimator)[1]).__name__} gives codes with NaN for {n_missing} of "
            f"{len(codes)} observations. Leave these out of X and y, or train it again."
        )
    return codes


def _topology_row(
    estimator: Any, X: Any, y: ArrayLike, options: Mapping[str, Any], level: float | None
) -> dict[str, Any]:
    """The row of the topological score; all columns that the other rows have."""
    details: Any = manifold_topology_score(estimator, X, y, **{**options, "return_details": True})
    row = _row(_TOPOLOGY, details.score)
    if level is not None:
        # A single draw of landmarks has no error: its interval is all that is possible.
        error = ndtri((1 + level) / 2) * np.nan_to_num(details.standard_error, nan=np.inf)
        row["ci_low"] = max(row["lowest"], details.score - error)
        row["ci_high"] = min(row["highest"], details.score + error)
    if details.p_value is not None:
        row |= {"chance": details.chance, "p_value": details.p_value}
    return row


def _displays(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    codes: np.ndarray,
    factor_names: Sequence[str] | None,
    relevance_params: dict[str, Any],
    image_shape: Sequence[int] | None,
    max_std: float,
) -> dict[str, Any]:
    """All pictures that the estimator allows, drawn in figures that do not show."""
    plt = pyplot("DisentanglementReport")
    named: dict[str, Any] = {"factor_names": factor_names}
    _, inner = path_to_model(estimator)
    displays = _displays_of_codes(y, codes, factor_names, relevance_params)
    if hasattr(inner, "inverse_transform"):
        displays["Traversals"] = TraversalDisplay.from_estimator(
            estimator,
            X,
            y,
            max_std=max_std,
            n_latents=10,
            relevance_params=relevance_params,
            image_shape=image_shape,
            **named,
        )
        coder = coder_of(estimator, X, "DisentanglementReport")
        displays["Reconstructions"] = ReconstructionDisplay.from_predictions(
            coder.X[:10],
            coder.decode(coder.codes[:10]),
            image_shape=coder.image_shape if image_shape is None else image_shape,
        )
    if getattr(inner, "history_", None):
        displays["History"] = HistoryDisplay.from_estimator(estimator)
    for display in displays.values():
        plt.close(display.figure_)
    return displays


def _displays_of_codes(
    factors: ArrayLike,
    codes: np.ndarray,
    factor_names: Sequence[str] | None,
    relevance_params: dict[str, Any],
) -> dict[str, Any]:
    """The pictures that need codes and factors only."""
    plt = pyplot("DisentanglementReport")
    named: dict[str, Any] = {"factor_names": factor_names}
    displays: dict[str, Any] = {
        "Relevance": RelevanceDisplay.from_predictions(
            factors, codes, relevance_params=relevance_params, **named
        ),
        "Latents against factors": LatentFactorDisplay.from_predictions(
            factors, codes, n_latents=10, n_factors=_N_DRAWN, **named
        ),
    }
    for display in displays.values():
        plt.close(display.figure_)
    return displays


def _dead(estimator: Any, X: Any) -> list[str]:
    """What there is to say about latents that do not depend on X, of models with a posterior."""
    inner, _ = look_inside(estimator, X)
    dead = dead_latents(inner, codes_of(estimator, X))
    if dead.all():
        return [
            f"All {len(dead)} latents are dead: their codes hardly vary over the data (variance "
            f"below {DEAD}), and decoding ignores them. No score below means anything. Train "
            "longer, or with a smaller weight of the KL divergence."
        ]
    named = ", ".join(f"z{j}" for j in np.flatnonzero(dead))
    return [f"{dead.sum()} of {len(dead)} latents are dead: {named}."] if dead.any() else []


def _elbo(estimator: Any, X: Any) -> list[str]:
    """A line about the likelihood, for models that have one."""
    inner, inner_X = look_inside(estimator, X)
    if not hasattr(inner, "elbo_terms"):
        return []
    log_likelihood, kl = (np.asarray(term, dtype=float) for term in inner.elbo_terms(inner_X))
    elbo = log_likelihood - kl
    error = elbo.std(ddof=1) / np.sqrt(len(elbo)) if len(elbo) > 1 else 0.0
    return [
        f"ELBO {elbo.mean():.2f} ± {error:.2f} nats per observation (mean ± standard error): "
        f"log-likelihood {log_likelihood.mean():.2f}, KL divergence {kl.mean():.2f}."
    ]
