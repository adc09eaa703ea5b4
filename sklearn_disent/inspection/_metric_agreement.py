"""Whether metrics rank models alike."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .._params import Names, validated
from ..metrics._validation import warn_degenerate
from ._common import (
    Axes,
    Colormap,
    check_drawing,
    colormap,
    label_cells,
    names_of,
    one_axes,
    score_label,
    write_cells,
)
from ._search import read_search

if TYPE_CHECKING:
    from pandas import DataFrame
else:
    DataFrame = Any  # pandas is optional

Method = Literal["spearman", "kendall"]

_METHODS: dict[Method, str] = {
    "spearman": "Spearman's rank correlation",
    "kendall": "Kendall's rank correlation",
}

# Correlations from which on the ground is dark, and metrics up to which numbers can be read.
_DARK = 0.65
_MAX_METRICS = 16


@dataclass(eq=False, repr=False)
class MetricAgreementDisplay:
    """Rank correlation of metrics over models: 1 where two metrics give the same ranking.

    Parameters
    ----------
    correlation : array-like of shape (n_metrics, n_metrics)
        Rank correlations, from -1 to 1.
    names : list of str or None, default=None
        Names of the metrics; "metric 0", "metric 1", ... if None.
    label : str, default="rank correlation"
        What the entries are.

    Attributes
    ----------
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    SweepDisplay : The scores themselves.

    References
    ----------
    Locatello, Bauer, Lucic, Rätsch, Gelly, Schölkopf and Bachem (2019). Challenging common
    assumptions in the unsupervised learning of disentangled representations. ICML.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_disent.inspection import MetricAgreementDisplay
    >>> scores = {"mig": [0.1, 0.2, 0.3], "sap": [0.0, 0.1, 0.4], "irs": [0.9, 0.5, 0.1]}
    >>> MetricAgreementDisplay.from_scores(scores).correlation
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """

    correlation: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None
    label: str = "rank correlation"

    @classmethod
    @validated
    def from_scores(
        cls,
        scores: Mapping[str, ArrayLike] | DataFrame,
        *,
        method: Method = "spearman",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw how scores that are there already agree.

        Parameters
        ----------
        scores : dict of str to array-like of shape (n_models,), or DataFrame
            By metric, the score of every model. Negate metrics of which lower is better: else
            their agreement shows as disagreement.
        method : {"spearman", "kendall"}, default="spearman"
            Which rank correlation.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : MetricAgreementDisplay
        """
        check_drawing(cls.from_scores, options)
        columns = {str(name): np.asarray(scores[name], dtype=float) for name in scores}
        lengths = {len(column) for column in columns.values()}
        if len(columns) < 2 or len(lengths) != 1 or min(lengths) < 3:
            raise ValueError(
                "scores must hold at least 2 metrics of the same models, at least 3 of them; got "
                f"these numbers of models: { {name: len(c) for name, c in columns.items()} }."
            )
        table = np.column_stack(list(columns.values()))
        kept = np.isfinite(table).all(axis=1)
        if kept.sum() < 3:
            raise ValueError(
                f"At least 3 models need finite scores in every metric, got {kept.sum()}."
            )
        display = cls(
            _rank_correlation(table[kept], list(columns), method),
            names=[score_label(name) for name in columns],
            label=f"{_METHODS[method]}\nover {kept.sum()} models",
        )
        return display.plot(ax, **options)

    @classmethod
    @validated
    def from_search(
        cls,
        search: Any,
        *,
        scores: str | Names | None = None,
        method: Method = "spearman",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw how the scores of a fitted search agree on its models, one per candidate and fold.

        Parameters
        ----------
        search : fitted search
            Anything with ``cv_results_`` and several scores.
        scores : str, list of str or None, default=None
            Which scores to draw; all of them if None.
        method : {"spearman", "kendall"}, default="spearman"
            Which rank correlation.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : MetricAgreementDisplay
        """
        check_drawing(cls.from_search, options)
        results = read_search(search, scores, cls.__name__)
        columns = {name: table.ravel() for name, table in results.scores.items()}
        return cls.from_scores(columns, method=method, ax=ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: str | Colormap = "PuOr",
        include_values: bool | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the correlations as a heat map.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str or Colormap, default="PuOr"
            Colors from -1 to 1.
        include_values : bool or None, default=None
            Whether to write numbers into the cells; if None, where they can be read.
        colorbar : bool, default=True
            Whether to draw a colorbar.

        Returns
        -------
        self : MetricAgreementDisplay
        """
        colors = colormap(cmap)
        correlation = np.asarray(self.correlation, dtype=float)
        n = len(correlation)
        if correlation.shape != (n, n) or not np.isfinite(correlation).all():
            raise ValueError(
                f"correlation must be a square table of finite numbers, got shape "
                f"{correlation.shape}."
            )
        names = names_of(self.names, None, n, "metric ", "names")
        side = min(14.0, 0.55 * n + 2.2)
        self.ax_ = one_axes(ax, (side + 0.9, side), type(self).__name__)
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(correlation, cmap=colors, vmin=-1, vmax=1)
        label_cells(self.ax_, names, names, slanted=True)
        if include_values or (include_values is None and n <= _MAX_METRICS):
            write_cells(self.ax_, correlation, lambda value: abs(value) > _DARK)
        if colorbar:
            self.figure_.colorbar(image, ax=self.ax_, label=self.label, shrink=0.8)
        return self


def _rank_correlation(table: NDArray[np.float64], names: list[str], method: str) -> NDArray:
    n = table.shape[1]
    is_flat = np.ptp(table, axis=0) == 0
    if is_flat.any():
        flat = [name for name, is_one in zip(names, is_flat) if is_one]
        warn_degenerate(
            f"{flat} are the same for all models and give no ranking: their rank correlation with "
            "other metrics is set to 0."
        )
    function = stats.spearmanr if method == "spearman" else stats.kendalltau
    correlation = np.eye(n)
    for i in range(n):
        for j in range(i):
            if not (is_flat[i] or is_flat[j]):
                value = float(function(table[:, i], table[:, j]).statistic)
                correlation[i, j] = correlation[j, i] = value
    return correlation
