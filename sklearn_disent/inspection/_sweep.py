"""Scores against a parameter, from a search."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import Names, Scale, validated
from ._common import COLORS, Axes, axes_grid, check_drawing, score_label
from ._search import (
    choose_param,
    default_labels,
    is_number,
    key_of,
    read_search,
    texts_of,
)

_MARKERS = "os^Dv*X"
_STYLES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))

# Ratio of the largest to the smallest value from which on a parameter is drawn on a log scale.
_LOG_RATIO = 8

# Values of a parameter up to which each has its own tick.
_MAX_TICKS = 8

# Entries of a legend up to which it fits into the axes.
_MAX_INSIDE = 3


@dataclass(eq=False, repr=False)
class SweepDisplay:
    """Scores of a search against one of its parameters, or one score against another.

    Points are means; bars are standard deviations over folds and over whatever else was repeated
    with the same value of the parameter, such as seeds.

    Parameters
    ----------
    values : list of length n_candidates
        Value of the parameter of each candidate.
    scores : dict of str to array-like of shape (n_candidates, n_repeats)
        Scores by name.
    param : str, default="parameter"
        Name of the parameter.
    groups : list of length n_candidates or None, default=None
        Group of each candidate; candidates of the same group share a line.
    group_param : str or None, default=None
        Name of the parameter whose values are the groups.
    baselines : dict or None, default=None
        Scores of models without the parameter, by name: dicts from score to array-like, such as
        the results of ``cross_validate``.
    labels : dict of str to str or None, default=None
        How to write the names of scores, such as ``{"mig": "MIG"}``; made from the names if None.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One per score, or one for a trade-off.
    ax_ : Axes
        The first of them.
    figure_ : Figure
        The figure.

    See Also
    --------
    ScoreDistributionDisplay : Box plots instead of bars.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS. Figure 2.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_disent.inspection import SweepDisplay
    >>> search = GridSearchCV(PCA(), {"n_components": [2, 4, 8]}, cv=2).fit(load_digits().data)
    >>> display = SweepDisplay.from_search(search)
    >>> display.ax_.get_xlabel()
    'n_components'
    """

    values: Sequence[Any]
    scores: Mapping[str, ArrayLike]
    _: KW_ONLY
    param: str = "parameter"
    groups: Sequence[Any] | None = None
    group_param: str | None = None
    baselines: Mapping[str, Mapping[str, ArrayLike]] | None = None
    labels: Mapping[str, str] | None = None

    @classmethod
    @validated
    def from_search(
        cls,
        search: Any,
        *,
        param: str | None = None,
        param_by: str | None = None,
        scores: str | Names | None = None,
        baselines: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        labels: Mapping[str, str] | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the held-out scores of a fitted GridSearchCV or RandomizedSearchCV.

        Parameters
        ----------
        search : fitted search
            Anything with ``cv_results_``.
        param : str or None, default=None
            Which parameter; may be None if the search had only one, not counting seeds.
        param_by : str or None, default=None
            Another parameter, each value of which gets its own line.
        scores : str, list of str or None, default=None
            Which scores to draw; all of them if None.
        baselines : dict or None, default=None
            Scores of models without the parameter, by name: dicts from score to array-like, such
            as the results of ``cross_validate``.
        labels : dict of str to str or None, default=None
            How to write the names of scores, such as ``{"mig": "MIG"}``; made from the names if
            None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : SweepDisplay
        """
        check_drawing(cls.from_search, options)
        results = read_search(search, scores, cls.__name__)
        param = choose_param(results, param)
        display = cls(
            results.column(param),
            results.scores,
            param=param,
            groups=None if param_by is None else results.column(choose_param(results, param_by)),
            group_param=param_by,
            baselines=baselines,
            labels={**default_labels(search), **(labels or {})},
        )
        return display.plot(ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        kind: Literal["curves", "tradeoff"] = "curves",
        xscale: Scale | Literal["auto"] = "auto",
        name: str | None = None,
    ) -> Self:
        """Draw one panel per score, or a single one of two scores.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        kind : {"curves", "tradeoff"}, default="curves"
            "curves" draws every score against the parameter; "tradeoff" draws the second score
            against the first, and writes the parameter beside the points.
        xscale : {"linear", "log", "symlog", "asinh", "logit", "auto"}, default="auto"
            Scale of the parameter; "auto" takes "log" for positive numbers of which the largest is
            at least 8 times the smallest, else "linear".
        name : str or None, default=None
            Name of the model in the legend if there are no groups; none if None.

        Returns
        -------
        self : SweepDisplay
        """
        self._check()
        if kind == "tradeoff" and len(self.scores) != 2:
            raise ValueError(
                f"kind='tradeoff' needs two scores, got {list(self.scores)}. Choose with "
                "scores=[first, second]."
            )
        if kind == "tradeoff":
            self.axes_ = axes_grid(ax, (1, 1), (5, 4), type(self).__name__).ravel()
            self._plot_tradeoff(self.axes_[0], name)
        else:
            n = len(self.scores)
            size = 5, 2.6 * n + 0.4
            grid = axes_grid(ax, (n, 1), size, type(self).__name__, sharex=True)
            self.axes_ = grid.ravel()
            for panel, score in zip(self.axes_, self.scores):
                self._plot_curves(panel, score, xscale, name)
            self.axes_[-1].set_xlabel(self.param)
            _add_legend(self.axes_[0])
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self

    def _check(self) -> None:
        if not self.scores:
            raise ValueError("scores must have at least one score, got none.")
        for name, score in self.scores.items():
            if np.ndim(score) != 2 or np.shape(score)[0] != len(self.values):
                raise ValueError(
                    "scores must be tables (n_candidates, n_repeats), one candidate per value; "
                    f"{name!r} has shape {np.shape(score)} for {len(self.values)} values."
                )

    def _lines(self, score: str) -> dict[Any, dict[Any, NDArray[np.float64]]]:
        """By group, by value of the parameter: all repeats, in the order of the axis."""
        table = np.asarray(self.scores[score], dtype=np.float64)
        groups = [""] * len(table) if self.groups is None else self.groups
        pools: dict[Any, dict[Any, list[float]]] = {}
        for value, group, row in zip(self.values, groups, table):
            line = pools.setdefault(key_of(group), {})
            line.setdefault(key_of(value), []).extend(row[np.isfinite(row)])
        order = texts_of(self.values)
        return {
            group: {key: np.array(line[key]) for key in order if line.get(key)}
            for group, line in pools.items()
        }

    def _styles(self, name: str | None) -> dict[Any, dict[str, Any]]:
        """How to draw each group."""
        texts = {key_of(""): name} if self.groups is None else texts_of(self.groups)
        if self.group_param and all(is_number(group) for group in self.groups or ()):
            texts = {key: f"{self.group_param} = {text}" for key, text in texts.items()}
        return {
            group: {
                "color": COLORS[i % len(COLORS)],
                "marker": _MARKERS[i % len(_MARKERS)],
                "label": text,
            }
            for i, (group, text) in enumerate(texts.items())
        }

    def _baseline(self, results: Mapping[str, ArrayLike], score: str) -> float | None:
        values = results.get(f"test_{score}", results.get(score))
        return None if values is None else float(np.mean(np.asarray(values)))

    def _plot_curves(self, panel: Axes, score: str, xscale: str, name: str | None) -> None:
        texts = texts_of(self.values)
        numeric = all(is_number(value) for value in self.values)
        places = {key: key if numeric else i for i, key in enumerate(texts)}
        styles = self._styles(name)
        for group, line in self._lines(score).items():
            spread = [pool.std() for pool in line.values()]
            panel.errorbar(
                [places[key] for key in line],
                [pool.mean() for pool in line.values()],
                spread if any(spread) else None,
                capsize=3,
                **styles[group],
            )
        if numeric:
            _set_numbers(panel, np.array(list(texts)), xscale)
        else:
            panel.set_xticks(list(places.values()), list(texts.values()))
            panel.margins(x=0.1)
        for (model, results), style in zip((self.baselines or {}).items(), _STYLES * 4):
            level = self._baseline(results, score)
            if level is not None:
                panel.axhline(level, color="0.3", linestyle=style, label=model)
        panel.set_ylabel(score_label(score, self.labels))

    def _plot_tradeoff(self, panel: Axes, name: str | None) -> None:
        first, second = self.scores
        across, up = self._lines(first), self._lines(second)
        texts, styles = texts_of(self.values), self._styles(name)
        for group, line in across.items():
            keys = [key for key in line if key in up[group]]
            x, y = ([pools[group][key] for key in keys] for pools in (across, up))
            x_mean, y_mean = [pool.mean() for pool in x], [pool.mean() for pool in y]
            panel.errorbar(
                x_mean, y_mean, [pool.std() for pool in y], [pool.std() for pool in x],
                capsize=2, elinewidth=0.8, linewidth=0.8, **styles[group],
            )  # fmt: skip
            for key, place in zip(keys, zip(x_mean, y_mean)):
                panel.annotate(texts[key], place, (5, 5), textcoords="offset points", fontsize=9)
        for (model, results), marker in zip((self.baselines or {}).items(), "x+1234" * 4):
            right, high = self._baseline(results, first), self._baseline(results, second)
            if right is not None and high is not None:
                panel.plot(right, high, marker, color="0.3", markersize=9, label=model)
        panel.set(xlabel=score_label(first, self.labels), ylabel=score_label(second, self.labels))
        panel.set_title(f"at the points: {self.param}", fontsize=9, loc="left")
        panel.margins(0.1)
        _add_legend(panel)


def _set_numbers(panel: Axes, numbers: NDArray[np.float64], xscale: str) -> None:
    is_wide = numbers[0] > 0 and numbers[-1] >= _LOG_RATIO * numbers[0]
    panel.set_xscale(("log" if is_wide else "linear") if xscale == "auto" else xscale)
    if len(numbers) <= _MAX_TICKS:
        panel.set_xticks(numbers, [f"{number:g}" for number in numbers])
        panel.set_xticks([], minor=True)


def _add_legend(panel: Axes) -> None:
    n_entries = len(panel.get_legend_handles_labels()[1])
    if n_entries > _MAX_INSIDE:
        # Above the axes, where it covers no line.
        place: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "ncols": 2,
            "borderaxespad": 0.2,
        }
        panel.legend(frameon=False, fontsize=9, **place)
    elif n_entries:
        panel.legend(frameon=False, fontsize=9)
