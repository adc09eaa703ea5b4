"""Scores against what the same encoder gets untrained, and what random maps of the factors get."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from .._memory import freed_memory_kept
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
from ._validation import (
    BY_DEFINITION,
    check_codes,
    check_factors,
    collecting_warnings,
    warn_degenerate,
)

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
        A score is above a null if its p-value is below this. It is the level of every single
        comparison, see Notes.
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
        one null); "undefined" if the score is; "untrained undefined", "random map undefined" or
        "both undefined" where a null is, after the verdict about the other null if there is one.

    See Also
    --------
    disentanglement_report : Scores with intervals, and the level of shuffled codes.
    random_map_codes : The second null by itself.

    Notes
    -----
    The model is one draw: whether it could be one of the null is asked by the one-sided t-test of
    a new observation, :math:`t = d / (s \\sqrt{1 + 1/m})` with m - 1 degrees of freedom, for the
    difference d to the mean of m seeds of the null, with standard deviation s. At least two seeds
    are needed. Where all seeds have the same score, their spread is not known: with a warning, the
    p-value is that of ranks, 1 / (1 + m) above that score and 1 elsewhere. Encoders that give the
    same codes are one encoder then, m = 1.

    A score is undefined if it is not finite, or if its metric had nothing to score and says with a
    warning that it is 0 by definition, as :func:`posterior_minimality_score` does where no code is
    active. Such a 0 is not a level that was measured: undefined scores of a null are left out, with
    a warning, and where fewer than two are left, the p-value is nan.

    Nothing is corrected for the number of comparisons, metrics times nulls. For a model that is
    like its nulls, `alpha` times that number are "above" by chance: about five, at 0.05, of the
    hundred comparisons of some fifty metrics (``metrics="all"``) with two nulls. Choose the metrics
    beforehand, divide `alpha` by the number of comparisons (Bonferroni), or correct the p-values
    by Holm's method. Small p-values need more seeds than the default: t has heavy tails with few.

    Shuffled codes, the `chance` of :func:`disentanglement_report`, are a weaker null: nearly
    everything is above it. Random maps are told the factors and entangle them; they get high
    scores for sufficiency, informativeness and the like, and an encoder below them may still be
    better than one without training.

    A clone is had untrained by ``set_params(max_epochs=0).fit(X, y)``. The steps before the model
    in a Pipeline stay as they are fitted. Weights that are handed over as a module instance are
    the same in every clone, whatever the seed, and are one draw, with a warning.

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
    own = _scores(plan, y, codes, model, inner_X)
    for message in dict.fromkeys(own.messages):
        warn_degenerate(message)
    rows = {name: _row(chosen[name], value) for name, value in own.values.items()}
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
    _sum_up([scored.messages for found in samples.values() for scored in found])
    for name, found in samples.items():
        _compare(rows, name, found)
    _warn_of_nulls(rows, samples)
    _judge(rows, own.undefined, samples, alpha)
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


class Scored(NamedTuple):
    """What one encoder gets."""

    values: dict[str, float]
    """By metric; without those of a model where there is none."""
    undefined: set[str]
    """Metrics that had nothing to score, or whose value is not finite."""
    messages: list[str]
    """What the metrics warned about."""
    encoder: str
    """Equal for encoders that give the same codes."""


def _scores(
    plan: Plan, y: ArrayLike, codes: NDArray, model: Any = None, inner_X: Any = None
) -> Scored:
    """One float per metric, with warnings told apart by metric."""
    scored = Scored({}, set(), [], joblib.hash(codes))
    with freed_memory_kept(), sharing(anew=True):
        for name, metric in plan.metrics.items():
            if metric.needs == "estimator" and model is None:
                continue
            with collecting_warnings() as messages:
                value = _value(plan._replace(metrics={name: metric}), y, codes, model, inner_X)
            scored.values[name] = value
            scored.messages.extend(messages)
            if not np.isfinite(value) or any(BY_DEFINITION in message for message in messages):
                scored.undefined.add(name)
    return scored


def _value(plan: Plan, y: ArrayLike, codes: NDArray, model: Any, inner_X: Any) -> float:
    """The only metric of a plan."""
    ((name, metric),) = plan.metrics.items()
    if metric.needs != "estimator":
        return plan.scores(y, codes)[name]
    given = {k: v for k, v in plan.common.items() if k in metric.options}
    return metric.value(model, inner_X, y, **{**given, **plan.options.get(name, {})})


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
    return _scores(plan, y, codes, model, inner_X)


def _of_map(plan: Plan, y: ArrayLike, n_codes: int, nan_policy: NanPolicy, seed: int) -> Scored:
    return _scores(plan, y, random_map_codes(y, n_codes, nan_policy=nan_policy, random_state=seed))


def _check_trainable(model: Any) -> None:
    if not hasattr(model, "get_params") or "max_epochs" not in model.get_params():
        raise TypeError(
            f"{type(model).__name__} has no max_epochs, without which it cannot be had untrained. "
            "Pass encoders to compare with as untrained, or set n_untrained=0."
        )


def _sum_up(results: Sequence[list[str]]) -> None:
    """What the nulls warned about, in one warning."""
    messages = [message for found in results for message in set(found)]
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


def _compare(rows: dict[str, dict[str, Any]], null: str, found: list[Scored]) -> None:
    """Add what a null gives to every row; nothing where the null was left out."""
    if not found:
        return
    if len(found) < 2:
        raise ValueError(
            f"The spread of a null needs at least 2 of it, got 1 for {null}. Ask for more, or for "
            "none."
        )
    n_encoders = _n_encoders(found)
    for name, row in rows.items():
        values = _defined(name, found)
        mean = values.mean() if len(values) else np.nan
        # An infinite score has an infinite difference, and an undefined p-value.
        difference = (1 if row["greater_is_better"] else -1) * (row["value"] - mean)
        row[f"{null}_mean"] = float(mean)
        row[f"{null}_std"] = float(values.std(ddof=1)) if len(values) > 1 else np.nan
        row[f"{null}_difference"] = float(difference)
        row[f"{null}_p_value"] = p_value_of(float(difference), values, n_encoders)


def _n_encoders(found: Sequence[Scored]) -> int:
    """How many encoders differ in their codes."""
    return len({scored.encoder for scored in found})


def _defined(name: str, found: Sequence[Scored]) -> NDArray[np.float64]:
    """Scores of one metric, those of a null that are defined."""
    return np.array([s.values[name] for s in found if name in s.values.keys() - s.undefined])


def p_value_of(
    difference: float, values: NDArray[np.float64], n_encoders: int | None = None
) -> float:
    """One-sided p-value of a new observation that is better by so much than the mean of others.

    Of equal values, whose spread is not known, there are the ranks alone, of as many encoders as
    differ.
    """
    if not np.isfinite(difference) or len(values) < 2:
        return float("nan")
    if _is_constant(values):
        n_draws = len(values) if n_encoders is None else min(n_encoders, len(values))
        return 1 / (1 + n_draws) if difference > 1e-12 else 1.0
    spread = values.std(ddof=1) * np.sqrt(1 + 1 / len(values))
    return float(student_t.sf(difference / spread, len(values) - 1))


def _is_constant(values: NDArray[np.float64]) -> bool:
    # Rounding leaves equal values some spread.
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def _warn_of_nulls(
    rows: dict[str, dict[str, Any]], samples: Mapping[str, Sequence[Scored]]
) -> None:
    """Say where a null is not what it seems: undefined, or without a spread."""
    undefined, constant = [], []
    for null, found in samples.items():
        kind = null.replace("_", " ")
        is_one = _n_encoders(found) == 1
        if is_one:
            warn_degenerate(
                f"All {len(found)} {kind} encoders give the same codes: they count as one, and the "
                "spread of their scores is not known. Weights that are handed over as a module "
                "instance are the same in every clone: pass the class, or other encoders as "
                "untrained."
            )
        for name, row in rows.items():
            n_undefined = sum(name in scored.undefined for scored in found)
            if n_undefined:
                undefined.append(f"{name} ({n_undefined} of {len(found)} {kind})")
            values = _defined(name, found)
            # That a score is not better than all of them needs no spread.
            if not is_one and 0 < row.get(f"{null}_p_value", 1) < 1 and _is_constant(values):
                constant.append(f"{name} ({len(values)} {kind})")
    if undefined:
        warn_degenerate(
            f"Scores of nulls are undefined and left out: {', '.join(undefined)}. Where fewer "
            "than two are left there is nothing to compare with."
        )
    if constant:
        warn_degenerate(
            "All seeds of a null have the same score, so that its spread is not known: "
            f"{', '.join(constant)}. The p-value is 1 / (1 + seeds): ask for more of them."
        )


def _judge(
    rows: dict[str, dict[str, Any]],
    undefined: set[str],
    samples: Mapping[str, Sequence[Scored]],
    alpha: float,
) -> None:
    for name, row in rows.items():
        # Random maps, which are not models, have no scores of one.
        nulls = [null for null, found in samples.items() if found and name in found[0].values]
        if name in undefined:
            row.update({f"{null}_p_value": np.nan for null in nulls})
            row["verdict"] = "undefined"
        else:
            row["verdict"] = _verdict({null: row[f"{null}_p_value"] for null in nulls}, alpha)


def _verdict(p_values: Mapping[str, float], alpha: float) -> str:
    """In words, which nulls a score is above."""
    named = {null.replace("_", " "): p for null, p in p_values.items()}
    unknown = [null for null, p in named.items() if np.isnan(p)]
    known = [null for null in named if null not in unknown]
    above = [null for null in known if named[null] < alpha]
    if not known:
        return f"{'both' if len(unknown) == 2 else unknown[0]} undefined" if unknown else "no null"
    if unknown:
        return f"{'above' if above else 'not above'} {known[0]}, {unknown[0]} undefined"
    if len(known) == 1:
        return "above" if above else "not above"
    return f"above {'both' if len(above) == 2 else above[0]}" if above else "above neither"


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
