"""Models compared over seeds: intervals, paired tests, effect sizes, a sentence for the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._params import OpenShare, validated
from ..metrics import ScoreReport
from ..metrics._catalogue import CATALOGUE, LABELS
from ..metrics._score_report import latex_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ModelComparison", "compare_models"]

Test = Literal["t", "permutation"]
Correction = Literal["holm", "fdr", "none"]

# Score -> model -> one value per seed.
Table = dict[str, dict[str, NDArray[np.float64]]]

# All sign flips of so many seeds are counted; of more, that many are drawn.
_N_FLIPS = 9999

_LEVEL = 0.05

_TEST_NAMES = {
    (True, "t"): "paired t-test",
    (False, "t"): "Welch's t-test",
    (True, "permutation"): "paired permutation test",
    (False, "permutation"): "permutation test",
}
_CORRECTION_NAMES = {"holm": "Holm's correction", "fdr": "Benjamini and Hochberg's correction"}


@dataclass(eq=False)
class ModelComparison:
    """Means over seeds with intervals, and every difference between two models.

    :func:`compare_models` makes it. ``print`` shows both tables and the sentence.

    Parameters
    ----------
    models : list of dict
        One row per score and model: `score`, `model`, `n_seeds`, `mean`, `std`, `ci_low`,
        `ci_high`.
    differences : list of dict
        One row per score and pair of models: `score`, `model`, `other`, `difference`, `ci_low`,
        `ci_high`, `effect_size`, `wins`, `p_value`, `p_corrected`.
    values : dict
        Score -> model -> one value per seed.
    paired : bool
        Whether the same seeds stand side by side in all models.
    test : {"t", "permutation"}
        The test behind `p_value`.
    correction : {"holm", "fdr", "none"}
        The correction behind `p_corrected`.
    confidence_level : float
        Level of the intervals.
    greater_is_better : dict
        Whether a greater value is better, by score.

    See Also
    --------
    compare_models : Computes one.
    """

    models: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    _: KW_ONLY
    values: Mapping[str, Mapping[str, NDArray[np.float64]]]
    paired: bool
    test: Test
    correction: Correction
    confidence_level: float
    greater_is_better: Mapping[str, bool]

    def to_frame(self, table: Literal["models", "differences"] = "models") -> "pd.DataFrame":
        """One of the two tables as a pandas DataFrame.

        Parameters
        ----------
        table : {"models", "differences"}, default="models"
            Which one.

        Returns
        -------
        frame : DataFrame
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'sklearn-disent[report]', or use the "
                "attributes models and differences."
            ) from error
        return pd.DataFrame(self.models if table == "models" else self.differences)

    def to_latex(self, digits: int = 3) -> str:
        """Models by scores for a paper, for the package booktabs; the best mean is bold.

        Parameters
        ----------
        digits : int, default=3
            Decimals.

        Returns
        -------
        latex : str
            A cell is the mean and half of the interval's width.
        """
        scores = list(self.values)
        names = list(next(iter(self.values.values())))
        lines = [f"\\begin{{tabular}}{{l{'r' * len(scores)}}}", "\\toprule"]
        lines += [
            " & ".join(["model", *(latex_text(LABELS.get(score, score)) for score in scores)])
            + r" \\",
            "\\midrule",
        ]
        for name in names:
            cells = [latex_text(name)]
            for score in scores:
                row = self._row(score, name)
                half = (row["ci_high"] - row["ci_low"]) / 2
                mean = f"{row['mean']:.{digits}f}"
                mean = f"\\mathbf{{{mean}}}" if name == self.best(score) else mean
                cells.append(f"${mean} \\pm {half:.{digits}f}$")
            lines.append(" & ".join(cells) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])

    def best(self, score: str | None = None) -> str:
        """Name of the model with the best mean.

        Parameters
        ----------
        score : str or None, default=None
            Which score; the first if None.

        Returns
        -------
        name : str
        """
        score = next(iter(self.values)) if score is None else score
        sign = 1 if self.greater_is_better[score] else -1
        means = {name: sign * values.mean() for name, values in self.values[score].items()}
        return max(means, key=lambda name: means[name])

    def sentence(self, score: str | None = None) -> str:
        """What can be said about the best model, ready for a paper.

        Parameters
        ----------
        score : str or None, default=None
            Which score; the first if None.

        Returns
        -------
        sentence : str
            Differences that the test does not settle are said to be not decided.
        """
        score = next(iter(self.values)) if score is None else score
        best = self.best(score)
        row, level = self._row(score, best), f"{self.confidence_level:.0%}"
        end = "highest" if self.greater_is_better[score] else "lowest"
        start = (
            f"Over {row['n_seeds']} seeds, {best} has the {end} mean {LABELS.get(score, score)}, "
            f"{row['mean']:.3f} ({level} interval {row['ci_low']:.3f} to {row['ci_high']:.3f})"
        )
        own = [d for d in self.differences if d["score"] == score and best in _pair(d)]
        settled, undecided = [], []
        for row in own:
            other = next(name for name in _pair(row) if name != best)
            p = f"p = {row['p_corrected']:.2g}"
            if row["p_corrected"] <= _LEVEL:
                effect = f"g = {abs(row['effect_size']):.1f}"
                settled.append(f"{other} by {abs(row['difference']):.3f} ({p}, {effect})")
            else:
                undecided.append(f"{other} ({p})")
        parts = [start]
        if settled:
            parts.append(f"better than {' and '.join(settled)}")
        if undecided:
            parts.append(f"the difference from {' and '.join(undecided)} is not decided")
        how = _TEST_NAMES[self.paired, self.test]
        if self.correction != "none":
            n_tests = len(self.differences)
            over = "1 test" if n_tests == 1 else f"{n_tests} tests"
            how += f" with {_CORRECTION_NAMES[self.correction]} over {over}"
        return "; ".join(parts) + f" ({how})."

    def plot(self, score: str | None = None, *, ax: Any = None) -> Any:
        """Draw every seed, and the mean of each model with its interval.

        Parameters
        ----------
        score : str or None, default=None
            Which score; the first if None.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ax : Axes
        """
        from ..inspection._common import COLORS, one_axes

        score = next(iter(self.values)) if score is None else score
        names = list(self.values[score])
        ax = one_axes(ax, (5.5, 0.5 * len(names) + 1.2), type(self).__name__)
        for place, name in enumerate(reversed(names)):
            row, values = self._row(score, name), self.values[score][name]
            color = COLORS[1] if name == self.best(score) else COLORS[0]
            ax.plot(values, np.full(len(values), place), "o", color="0.7", markersize=4)
            ax.plot([row["ci_low"], row["ci_high"]], [place, place], color=color, linewidth=2)
            ax.plot(row["mean"], place, "D", color=color, markersize=6)
        ax.set_yticks(range(len(names)), names[::-1])
        ax.set_ylim(-0.6, len(names) - 0.4)
        level = f"{self.confidence_level:.0%}"
        ax.set_xlabel(f"{LABELS.get(score, score)}: seeds, mean, {level} interval")
        return ax

    def _row(self, score: str, model: str) -> dict[str, Any]:
        return next(r for r in self.models if (r["score"], r["model"]) == (score, model))

    def __str__(self) -> str:
        lines = []
        for score in self.values:
            heads = "".join(f"{head:>8}" for head in ("mean", "ci_low", "ci_high"))
            lines += [LABELS.get(score, score), f"{'':<24}{heads}{'seeds':>7}"]
            for row in self.models:
                if row["score"] == score:
                    numbers = "".join(f"{row[key]:>8.3f}" for key in ("mean", "ci_low", "ci_high"))
                    lines.append(f"  {row['model']:<22}{numbers}{row['n_seeds']:>7}")
            lines += [self.sentence(score), ""]
        return "\n".join(lines).rstrip()


@validated
def compare_models(
    results: Any,
    *,
    scores: str | list | tuple | None = None,
    paired: bool | Literal["auto"] = "auto",
    test: Test = "t",
    correction: Correction = "holm",
    confidence_level: OpenShare = 0.95,
) -> ModelComparison:
    r"""Compare models by their scores over seeds.

    A model that is trained again with another seed gives another score, and how much it differs is
    what a comparison has to beat: intervals are over seeds, never over rows of the data.

    Parameters
    ----------
    results : dict, or a fitted search
        By the name of the model, one of:

        - an array of shape (n_seeds,): the score of every seed;
        - a dict of such arrays by score;
        - a list with one report per seed, from
          :func:`~sklearn_disent.metrics.disentanglement_report`;
        - a fitted search whose grid is nothing but seeds.

        Or one fitted search, such as GridSearchCV with ``random_state`` in its grid: every setting
        of the other parameters is a model. Scores of its folds are averaged, seed by seed.
    scores : str, list of str or None, default=None
        Which scores; all if None.
    paired : bool or "auto", default="auto"
        Whether the same seeds stand side by side in all models. "auto" assumes that they do if all
        models have the same number of seeds.
    test : {"t", "permutation"}, default="t"
        The paired t-test (Welch's if not paired), or a permutation test, which assumes less but
        cannot reach p < 0.05 with fewer than six paired seeds.
    correction : {"holm", "fdr", "none"}, default="holm"
        Correction of the p-values for the number of comparisons, over all pairs and scores.
    confidence_level : float, default=0.95
        Level of the intervals, which are those of Student's t.

    Returns
    -------
    comparison : ModelComparison
        Tables `models` and `differences`, and ``sentence()``, ``to_frame()``, ``to_latex()`` and
        ``plot()``.

    See Also
    --------
    sklearn_disent.metrics.disentanglement_report : Intervals over rows, for the codes of one model.
    sklearn_disent.inspection.ScoreDistributionDisplay : Box plots of the same scores.

    Notes
    -----
    The effect size is Hedges' g: the difference of means over the pooled standard deviation, times
    :math:`1 - 3 / (4 (n_1 + n_2) - 9)`. `wins` is the share of pairs of seeds in which the first
    model is better; a tie counts half. Where all differences are the same, the t-test is taken to
    give p = 1 if they are zero, else p = 0.

    References
    ----------
    Locatello, Bauer, Lucic, Rätsch, Gelly, Schölkopf and Bachem (2019). Challenging common
    assumptions in the unsupervised learning of disentangled representations. ICML.

    Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics.

    Examples
    --------
    >>> from sklearn_disent.model_selection import compare_models
    >>> scores = {"VAE": [0.10, 0.12, 0.09, 0.11], "BetaTCVAE": [0.20, 0.25, 0.21, 0.24]}
    >>> comparison = compare_models({name: {"mig": values} for name, values in scores.items()})
    >>> comparison.best()
    'BetaTCVAE'
    >>> print(comparison.sentence())
    Over 4 seeds, BetaTCVAE has the highest mean MIG, 0.225 (95% interval 0.187 to 0.263); better
    than VAE by 0.120 (p = 0.00045, g = 5.4) (paired t-test with Holm's correction over 1 test).
    """
    table, signs = _read(results)
    wanted = [scores] if isinstance(scores, str) else list(scores or table)
    unknown = [name for name in wanted if name not in table]
    if unknown or not wanted:
        raise ValueError(f"scores must be among {list(table)}, got {unknown or wanted}.")
    table = {name: table[name] for name in wanted}
    is_paired = _check_seeds(table, paired)
    models: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for score, by_model in table.items():
        for name, values in by_model.items():
            models.append(_mean_row(score, name, values, confidence_level))
        for (name, first), (other, second) in combinations(by_model.items(), 2):
            row = _difference_row(first, second, is_paired, test, confidence_level, signs[score])
            differences.append({"score": score, "model": name, "other": other, **row})
    corrected = _corrected(np.array([row["p_value"] for row in differences]), correction)
    for difference, p in zip(differences, corrected):
        difference["p_corrected"] = float(p)
    return ModelComparison(
        models,
        differences,
        values=table,
        paired=is_paired,
        test=test,
        correction=correction,
        confidence_level=confidence_level,
        greater_is_better=signs,
    )


def _pair(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["model"], row["other"]


# -- reading -------------------------------------------------------------------------------------


def _read(results: Any) -> tuple[Table, dict[str, bool]]:
    """Score -> model -> seeds, and which scores are better if greater."""
    lower = {metric.name for metric in CATALOGUE if not metric.greater_is_better}
    if hasattr(results, "cv_results_"):
        by_model = _read_search(results)
    elif isinstance(results, Mapping) and results:
        by_model = {str(name): _read_model(name, entry) for name, entry in results.items()}
    else:
        raise TypeError(
            "results must be a fitted search, or a dict from the name of a model to its scores "
            f"over seeds, got {type(results).__name__}."
        )
    if len(by_model) < 2:
        raise ValueError(
            f"A comparison needs at least 2 models, got {list(by_model)}. Put another parameter "
            "beside random_state into the grid, or pass a dict of several models."
        )
    names = [set(scores) for scores in by_model.values()]
    common = [name for name in next(iter(by_model.values())) if all(name in n for n in names)]
    if not common:
        raise ValueError(f"The models have no score in common, got {list(map(sorted, names))}.")
    table = {name: {m: scores[name] for m, scores in by_model.items()} for name in common}
    return table, {name: name not in lower for name in common}


def _read_model(name: Any, entry: Any) -> dict[str, NDArray[np.float64]]:
    if hasattr(entry, "cv_results_"):
        settings = _read_search(entry)
        if len(settings) > 1:
            raise ValueError(
                f"The search of {name!r} has several settings beside seeds, {list(settings)}. Pass "
                "it alone, or search one setting."
            )
        return next(iter(settings.values()))
    if isinstance(entry, Mapping):
        return {str(score): _as_seeds(name, values) for score, values in entry.items()}
    reports = list(entry) if isinstance(entry, Sequence) else []
    if reports and all(isinstance(r, ScoreReport | Mapping) for r in reports):
        common = [score for score in reports[0] if all(score in list(r) for r in reports)]
        return {s: _as_seeds(name, [r[s]["value"] for r in reports]) for s in common}
    return {"score": _as_seeds(name, entry)}


def _as_seeds(name: Any, values: Any) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(
            f"The scores of {name!r} must be finite and 1D (n_seeds,), got shape {array.shape}. "
            "Average over folds first; leave out seeds that failed."
        )
    return array


def _read_search(search: Any) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Setting -> score -> seeds, folds averaged."""
    from ..inspection._search import read_search

    results = read_search(search, None, "compare_models")
    own_name = getattr(getattr(search, "scorer_", None), "name", None)
    groups: dict[str, list[tuple[Any, int]]] = {}
    for i, params in enumerate(results.params):
        seeds = {k: v for k, v in params.items() if k.rsplit("__", 1)[-1] == "random_state"}
        setting = ", ".join(f"{k}={_text(v)}" for k, v in params.items() if k not in seeds)
        groups.setdefault(setting or _estimator_name(search), []).append((tuple(seeds.values()), i))
    by_model: dict[str, dict[str, NDArray[np.float64]]] = {}
    for setting, members in groups.items():
        rows = [i for _, i in sorted(members, key=lambda member: repr(member[0]))]
        by_model[setting] = {
            (own_name or name) if name == "score" else name: _as_seeds(
                setting, np.nanmean(values[rows], axis=1)
            )
            for name, values in results.scores.items()
        }
    return by_model


def _estimator_name(search: Any) -> str:
    return type(search.estimator).__name__


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _check_seeds(table: Table, paired: bool | str) -> bool:
    """Whether seeds are paired; an error where there are too few."""
    for by_model in table.values():
        sizes = {name: len(values) for name, values in by_model.items()}
        few = [name for name, size in sizes.items() if size < 2]
        if few:
            raise ValueError(
                f"An interval over seeds needs at least 2 of them, got 1 or none for {few}. Put "
                "{'random_state': range(5)} into the grid."
            )
        if len(set(sizes.values())) > 1:
            if paired is True:
                raise ValueError(f"paired=True needs the same seeds in all models, got {sizes}.")
            return False
    return bool(paired)


# -- statistics ----------------------------------------------------------------------------------


def _mean_row(score: str, name: str, values: NDArray, level: float) -> dict[str, Any]:
    mean, std, n_seeds = float(values.mean()), float(values.std(ddof=1)), len(values)
    half = float(stats.t.ppf((1 + level) / 2, n_seeds - 1)) * std / np.sqrt(n_seeds)
    return {
        "score": score,
        "model": name,
        "n_seeds": n_seeds,
        "mean": mean,
        "std": std,
        "ci_low": mean - half,
        "ci_high": mean + half,
    }


def _difference_row(
    first: NDArray, second: NDArray, paired: bool, test: str, level: float, greater: bool
) -> dict[str, float]:
    low, high = _interval(first, second, paired, level)
    wins = first[:, None] - second if not paired else first - second
    wins = wins if greater else -wins
    return {
        "difference": float(first.mean() - second.mean()),
        "ci_low": low,
        "ci_high": high,
        "effect_size": _hedges_g(first, second),
        "wins": float(((wins > 0) + 0.5 * (wins == 0)).mean()),
        "p_value": _p_value(first, second, paired, test),
    }


def _spread(first: NDArray, second: NDArray, paired: bool) -> tuple[float, float]:
    """Standard error of the difference of means, and its degrees of freedom (Welch's)."""
    if paired:
        return float(stats.sem(first - second)), len(first) - 1
    a, b = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    if a + b == 0:
        return 0.0, len(first) + len(second) - 2
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    return float(np.sqrt(a + b)), float(freedom)


def _interval(first: NDArray, second: NDArray, paired: bool, level: float) -> tuple[float, float]:
    error, freedom = _spread(first, second, paired)
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    difference = float(first.mean() - second.mean())
    return difference - half, difference + half


def _hedges_g(first: NDArray, second: NDArray) -> float:
    n, m = len(first), len(second)
    pooled = ((n - 1) * first.var(ddof=1) + (m - 1) * second.var(ddof=1)) / (n + m - 2)
    difference = float(first.mean() - second.mean())
    if pooled == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return difference / float(np.sqrt(pooled)) * (1 - 3 / (4 * (n + m) - 9))


def _p_value(first: NDArray, second: NDArray, paired: bool, test: str) -> float:
    if _spread(first, second, paired)[0] <= 1e-15 * max(np.abs(first).max(), 1e-300):
        return float(np.isclose(first.mean(), second.mean(), rtol=1e-12, atol=0))
    if test == "t":
        if paired:
            return float(stats.ttest_rel(first, second).pvalue)
        return float(stats.ttest_ind(first, second, equal_var=False).pvalue)

    def difference(a: NDArray, b: NDArray, axis: int = -1) -> Any:
        return a.mean(axis=axis) - b.mean(axis=axis)

    result = stats.permutation_test(
        (first, second),
        difference,
        permutation_type="samples" if paired else "independent",
        n_resamples=_N_FLIPS,
        vectorized=True,
        random_state=0,
    )
    return float(result.pvalue)


def _corrected(p_values: NDArray[np.float64], correction: str) -> NDArray[np.float64]:
    if correction == "none":
        return p_values
    if correction == "fdr":
        return stats.false_discovery_control(p_values)
    # Holm: the smallest counts n times, the next n - 1 times, and none less than one before it.
    order = np.argsort(p_values)
    n_tests = len(p_values)
    stepped = np.maximum.accumulate(p_values[order] * (n_tests - np.arange(n_tests)))
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
