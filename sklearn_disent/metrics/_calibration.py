"""Scores against what the same encoder gets untrained, and what random maps of the factors get."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from .._params import (
    FactorBins,
    NanPolicy,
    NonNegativeInt,
    OpenShare,
    PositiveInt,
    RandomStateLike,
    StrOptions,
    validated,
)
from ._catalogue import REPORTED, SCORERS, Metric, MetricLike, as_metrics, by_question
from ._estimators import encode, unwrap_estimator
from ._numeric import standardize
from ._report import Plan, check_params
from ._score_report import as_frame
from ._sharing import sharing
from ._validation import check_codes, check_factors, collecting_warnings, warn_degenerate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["calibrated_report", "random_map_codes"]

Metrics = Annotated[Literal["all"] | Sequence[MetricLike], StrOptions({"all"}), list, tuple]

_NULLS = ("untrained", "random_map")


@validated
def calibrated_report(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    metrics: Metrics = "all",
    metric_params: Mapping[str, Mapping[str, Any]] | None = None,
    n_untrained: NonNegativeInt = 5,
    n_random_maps: NonNegativeInt = 20,
    untrained: Sequence[Any] | None = None,
    alpha: OpenShare = 0.05,
    output: Literal["text", "dict", "frame"] = "text",
    digits: NonNegativeInt = 3,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> "str | dict[str, dict[str, Any]] | pd.DataFrame":
    """Scores of a model beside those of models that have learned nothing.

    A score says little by itself: an encoder that was never trained, or a random map of the
    factors, may get much the same. Here every metric is also taken of both:

    - untrained: clones of the estimator with their initial weights, one per seed;
    - random map: random two-layer networks of the factors, with as many codes.

    A metric that does not tell the model from them has nothing to say about its training.

    Parameters
    ----------
    estimator : fitted transformer
        A model, a Pipeline that ends in one, or a search over either.
    X : array-like
        Observations.
    y : array-like of shape (n_samples, n_factors)
        The ground-truth factors.
    metrics : "all" or list of (str, callable or Metric), default="all"
        As in :func:`disentanglement_report`. Metrics of the estimator itself, such as
        "posterior_mig", may be among them; random maps, which are not models, have no such score.
    metric_params : dict or None, default=None
        Options by the name of the metric.
    n_untrained : int, default=5
        Number of untrained clones; 0 leaves this null out.
    n_random_maps : int, default=20
        Number of random maps; 0 leaves this null out.
    untrained : sequence of fitted transformers or None, default=None
        Encoders of `X` to compare with, for estimators that cannot be had untrained; they replace
        the clones.
    alpha : float, default=0.05
        A score is above a null if its p-value is below this.
    output : {"text", "dict", "frame"}, default="text"
        A table to print, a dict of dicts by metric, or a pandas DataFrame indexed by metric.
    digits : int, default=3
        Decimals in the text.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned, for the metrics that need classes; they are an error
        if None.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Processes for the nulls. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        Passed to every metric that takes one: an int as it is, else one int drawn from it. It
        also draws the seeds of both nulls.

    Returns
    -------
    report : str, dict or DataFrame
        For every metric `question`, `value`, `greater_is_better` and `verdict`; for each null, with
        ``untrained_`` or ``random_map_`` before the name, `mean`, `std` (over seeds), `difference`
        (how much better the model is) and `p_value`. The verdict is "above both", "above
        untrained", "above random map" or "above neither" ("above" and "not above" where there is
        one null).

    See Also
    --------
    disentanglement_report : Scores with intervals, and the level of shuffled codes.
    random_map_codes : The second null by itself.

    Notes
    -----
    The model is one draw: whether it could be one of the null is asked by the one-sided t-test of
    a new observation, :math:`t = d / (s \\sqrt{1 + 1/m})` with m - 1 degrees of freedom, for the
    difference d to the mean of m seeds of the null, with standard deviation s. At least two seeds
    are needed. Where all seeds have the same score, the p-value is 0 above it and 1 elsewhere.

    Shuffled codes, the `chance` of :func:`disentanglement_report`, are a weaker null: nearly
    everything is above it. Random maps are told the factors and entangle them; they get high
    scores for sufficiency, informativeness and the like, and an encoder below them may still be
    better than one without training.

    A clone is had untrained by ``set_params(max_epochs=0).fit(X, y)``. The steps before the model
    in a Pipeline stay as they are fitted. Weights that are handed over as a module instance are
    not untrained.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import calibrated_report
    >>> from sklearn_disent.models import BetaVAE
    >>> y = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> X = (y / 3.0).astype(np.float32)
    >>> vae = BetaVAE(2, beta=0.1, sigma=0.3, max_epochs=20, lr=5e-3, random_state=0).fit(X)
    >>> report = calibrated_report(
    ...     vae, X, y, metrics=["mig", "sufficiency"], output="dict", random_state=0)
    >>> list(report), "untrained_p_value" in report["mig"]
    (['mig', 'sufficiency'], True)
    """
    chosen = _choose(metrics)
    options = check_params(metric_params, chosen)
    rng = check_random_state(random_state)
    seed = int(random_state if isinstance(random_state, Integral) else rng.randint(2**31 - 1))
    common = {"factor_bins": factor_bins, "nan_policy": nan_policy, "random_state": seed}
    plan = Plan(chosen, options, common)
    model, inner_X = unwrap_estimator(estimator, X)
    codes = check_codes(np.asarray(encode(model, inner_X)), nan_policy="omit")
    values = _scores(plan, y, codes, model, inner_X)
    rows = {name: _row(chosen[name], value) for name, value in values.items()}
    nulls: dict[str, list[Any]] = {"untrained": [], "random_map": []}
    # Seeds are drawn before anything runs, so that n_jobs changes nothing.
    seeds = rng.randint(2**31 - 1, size=n_untrained + n_random_maps).tolist()
    if untrained is not None:
        nulls["untrained"] = [delayed(_of_model)(plan, y, other, X) for other in untrained]
    elif n_untrained:
        _check_trainable(model)
        first = seeds[:n_untrained]
        nulls["untrained"] = [delayed(_of_clone)(plan, y, model, inner_X, s) for s in first]
    n_codes, last = codes.shape[1], seeds[n_untrained:]
    nulls["random_map"] = [delayed(_of_map)(plan, y, n_codes, nan_policy, s) for s in last]
    results = iter(Parallel(n_jobs=n_jobs)([task for tasks in nulls.values() for task in tasks]))
    samples = {name: [next(results) for _ in tasks] for name, tasks in nulls.items()}
    _sum_up([scored for scores in samples.values() for scored in scores])
    for name, found in samples.items():
        _compare(rows, name, [scores for scores, _ in found])
    _judge(rows, alpha)
    if output == "frame":
        return as_frame(rows)
    return rows if output == "dict" else _text(rows, digits)


@validated
def random_map_codes(
    factors: ArrayLike,
    n_codes: PositiveInt,
    *,
    n_hidden: PositiveInt = 32,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    r"""Codes that a random two-layer network makes of the factors.

    Nothing is learned: what metrics give to such codes is a level to compare with.

    .. math::
        z = \tanh(\tilde y W_1 + b_1) W_2

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors; classes count as their numbers, in order, all standardized.
    n_codes : int
        Number of codes.
    n_hidden : int, default=32
        Width of the hidden layer.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row, whose codes are nan then.
    random_state : int, RandomState instance or None, default=None
        Draws the weights, all standard normal.

    Returns
    -------
    codes : ndarray of shape (n_samples, n_codes)

    See Also
    --------
    calibrated_report : Scores of a model beside those of such codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import mig_score, random_map_codes
    >>> factors = np.random.default_rng(0).integers(4, size=(1000, 3))
    >>> codes = random_map_codes(factors, 5, random_state=0)
    >>> codes.shape, mig_score(factors, codes) < 0.3
    ((1000, 5), True)
    """
    data = check_factors(factors, nan_policy=nan_policy, continuous=True)
    rng = check_random_state(random_state)
    y = standardize(data.values)
    weights, bias = rng.standard_normal((y.shape[1], n_hidden)), rng.standard_normal(n_hidden)
    hidden = np.tanh(y @ weights + bias)
    codes = np.full((data.n_given, n_codes), np.nan)
    codes[data.rows] = hidden @ rng.standard_normal((n_hidden, n_codes)) / np.sqrt(n_hidden)
    return codes


def _choose(metrics: Literal["all"] | Sequence[MetricLike]) -> dict[str, Metric]:
    """Metrics by name, in the order of the questions."""
    known = {**{m.name: m for m in SCORERS.values()}, **REPORTED}
    entries = list(REPORTED) if isinstance(metrics, str) else metrics
    chosen = {metric.name: metric for metric in by_question(as_metrics(entries, known))}
    several = [name for name, metric in chosen.items() if metric.needs == "models"]
    if several:
        raise ValueError(
            f"{several} compare several models; this is a report of one. Leave it out."
        )
    return chosen


def _scores(
    plan: Plan, y: ArrayLike, codes: NDArray, model: Any = None, inner_X: Any = None
) -> dict[str, float]:
    """One float per metric; nan for metrics of a model where there is none."""
    needing = {n: m for n, m in plan.metrics.items() if m.needs == "estimator"}
    rest = {n: m for n, m in plan.metrics.items() if n not in needing}
    with sharing(anew=True):
        scores = plan._replace(metrics=rest).scores(y, codes)
        for name, metric in needing.items():
            given = {k: v for k, v in plan.common.items() if k in metric.options}
            given |= plan.options.get(name, {})
            scores[name] = np.nan if model is None else metric.value(model, inner_X, y, **given)
    return {name: scores[name] for name in plan.metrics}


Scored = tuple[dict[str, float], list[str]]


def _of_clone(plan: Plan, y: ArrayLike, model: Any, X: Any, seed: int) -> Scored:
    """Scores of a clone with initial weights."""
    # Checkpoints and callbacks might load weights; options of callbacks need the callbacks.
    settings = {"max_epochs": 0, "random_state": seed, "checkpoint": None, "callbacks": None}
    given = clone(model).get_params(deep=False)
    params = {k: settings.get(k, v) for k, v in given.items() if not k.startswith("callbacks__")}
    fresh = type(model)(**params)
    return _of_model(plan, y, fresh.fit(X, y), X)


def _of_model(plan: Plan, y: ArrayLike, estimator: Any, X: Any) -> Scored:
    model, inner_X = unwrap_estimator(estimator, X)
    codes = check_codes(np.asarray(encode(model, inner_X)), nan_policy="omit")
    with collecting_warnings() as messages:
        return _scores(plan, y, codes, model, inner_X), messages


def _of_map(plan: Plan, y: ArrayLike, n_codes: int, nan_policy: NanPolicy, seed: int) -> Scored:
    codes = random_map_codes(y, n_codes, nan_policy=nan_policy, random_state=seed)
    with collecting_warnings() as messages:
        return _scores(plan, y, codes), messages


def _check_trainable(model: Any) -> None:
    if not hasattr(model, "get_params") or "max_epochs" not in model.get_params():
        raise TypeError(
            f"{type(model).__name__} has no max_epochs, without which it cannot be had untrained. "
            "Pass encoders to compare with as untrained, or set n_untrained=0."
        )


def _sum_up(results: Sequence[Scored]) -> None:
    """What the nulls warned about, in one warning."""
    messages = [message for _, found in results for message in set(found)]
    if messages:
        most = max(set(messages), key=messages.count)
        warn_degenerate(
            f"Nulls were degenerate (kinds of warnings: {len(set(messages))}), the most frequent "
            f"in {messages.count(most)} of {len(results)}: {most}"
        )


def _row(metric: Metric, value: float) -> dict[str, Any]:
    return {
        "question": metric.question,
        "value": value,
        "greater_is_better": metric.greater_is_better,
    }


def _compare(rows: dict[str, dict[str, Any]], null: str, samples: list[dict[str, float]]) -> None:
    """Add what a null gives to every row; nothing where the null was left out."""
    if not samples:
        return
    if len(samples) < 2:
        raise ValueError(
            f"The spread of a null needs at least 2 of it, got 1 for {null}. Ask for more, or for "
            "none."
        )
    for name, row in rows.items():
        values = np.array([scores[name] for scores in samples])
        sign = 1 if row["greater_is_better"] else -1
        difference = sign * (row["value"] - values.mean())
        row[f"{null}_mean"] = float(values.mean())
        row[f"{null}_std"] = float(values.std(ddof=1))
        row[f"{null}_difference"] = float(difference)
        row[f"{null}_p_value"] = p_value_of(float(difference), values)


def p_value_of(difference: float, values: NDArray[np.float64]) -> float:
    """One-sided p-value of a new observation that is better by so much than the mean of others."""
    if np.isnan(difference):
        return float("nan")
    spread = values.std(ddof=1) * np.sqrt(1 + 1 / len(values))
    # Rounding leaves equal values some spread.
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return 0.0 if difference > 1e-12 else 1.0
    return float(student_t.sf(difference / spread, len(values) - 1))


def _judge(rows: dict[str, dict[str, Any]], alpha: float) -> None:
    for row in rows.values():
        p_values = {null: row.get(f"{null}_p_value", np.nan) for null in _NULLS}
        known = [null for null, p in p_values.items() if not np.isnan(p)]
        above = [null for null in known if p_values[null] < alpha]
        if len(known) < 2:
            row["verdict"] = ("above" if above else "not above") if known else "no null"
        elif len(above) == 1:
            row["verdict"] = f"above {above[0].replace('_', ' ')}"
        else:
            row["verdict"] = "above both" if above else "above neither"


def _text(rows: dict[str, dict[str, Any]], digits: int) -> str:
    nulls = [null for null in _NULLS if f"{null}_mean" in next(iter(rows.values()))]
    width = max(map(len, rows)) + 2
    heads = "".join(f"{null.replace('_', ' '):>20}{'p':>8}" for null in nulls)
    lines, question = [f"{'':<{width}}{'value':>10}{heads}  verdict"], None
    for name, row in rows.items():
        if row["question"] != question:
            question = row["question"]
            lines += ["", question]
        cells = f"{row['value']:>10.{digits}f}"
        for null in nulls:
            level = f"{row[f'{null}_mean']:.{digits}f} +- {row[f'{null}_std']:.{digits}f}"
            cells += f"{level:>20}{row[f'{null}_p_value']:>8.3f}"
        lines.append(f"{'  ' + name:<{width}}{cells}  {row['verdict']}")
    return "\n".join(lines)
