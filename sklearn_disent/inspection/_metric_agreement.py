"""Whether metrics rank models alike."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils._param_validation import StrOptions, validate_params

from ..exceptions import DegenerateScoreWarning
from ._common import names_of, one_axes, score_label
from ._search import read_search

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = {"spearman": "Spearman's rank correlation", "kendall": "Kendall's rank correlation"}


class MetricAgreementDisplay:
    """Rank correlation of metrics over models: 1 where two metrics rank the models alike.

    Parameters
    ----------
    correlation : array-like of shape (n_metrics, n_metrics)
        From -1 to 1.
    names : list of str or None, default=None
        Names of the metrics; "metric 0", ... if None.
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
    F. Locatello et al., Challenging common assumptions in the unsupervised learning of
    disentangled representations, ICML 2019.

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

    def __init__(
        self,
        correlation: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        label: str = "rank correlation",
    ) -> None:
        self.correlation = correlation
        self.names = names
        self.label = label

    @classmethod
    @validate_params(
        {"method": [StrOptions(set(_METHODS))]},
        prefer_skip_nested_validation=True,
    )
    def from_scores(
        cls,
        scores: Mapping[str, ArrayLike],
        *,
        method: str = "spearman",
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw the agreement of scores at hand.

        Parameters
        ----------
        scores : dict of str to array-like of shape (n_models,), or DataFrame
            By metric, the score of every model. Where a metric is lower for better models, pass
            its negative to see agreement as agreement.
        method : {"spearman", "kendall"}, default="spearman"
            The rank correlation.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : MetricAgreementDisplay
        """
        columns = {str(name): np.asarray(scores[name], dtype=float) for name in scores}
        lengths = {len(column) for column in columns.values()}
        if len(columns) < 2 or len(lengths) != 1 or min(lengths) < 3:
            raise ValueError(
                "scores must hold at least 2 metrics, each of the same models, at least 3 of "
                f"them; got { {name: len(column) for name, column in columns.items()} }."
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
    @validate_params({"scores": [str, "array-like", None]}, prefer_skip_nested_validation=True)
    def from_search(
        cls,
        search: Any,
        *,
        scores: str | Sequence[str] | None = None,
        method: str = "spearman",
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw how the scores of a fitted search agree on its models, one per candidate and fold.

        Parameters
        ----------
        search : fitted search
            Anything with ``cv_results_`` and several scores.
        scores : str, list of str or None, default=None
            Which scores; all if None.
        method : {"spearman", "kendall"}, default="spearman"
            The rank correlation.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : MetricAgreementDisplay
        """
        results = read_search(search, scores, cls.__name__)
        columns = {name: table.ravel() for name, table in results.scores.items()}
        return cls.from_scores(columns, method=method, ax=ax, **options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cmap: str = "PuOr",
        include_values: bool | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str, default="PuOr"
            Colours from -1 to 1.
        include_values : bool or None, default=None
            Whether numbers stand in the cells; None where they can be read.
        colorbar : bool, default=True
            Whether there is a bar of colours.

        Returns
        -------
        self : MetricAgreementDisplay
        """
        correlation = np.asarray(self.correlation, dtype=float)
        n = len(correlation)
        if correlation.shape != (n, n) or not np.isfinite(correlation).all():
            raise ValueError(
                f"correlation must be square and finite, got shape {correlation.shape}."
            )
        names = names_of(self.names, None, n, "metric ", "names")
        side = min(14.0, 0.55 * n + 2.2)
        self.ax_ = one_axes(ax, (side + 0.9, side), type(self).__name__)
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(correlation, cmap=cmap, vmin=-1, vmax=1)
        self.ax_.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
        self.ax_.set_yticks(range(n), names)
        self.ax_.tick_params(length=0)
        if include_values or (include_values is None and n <= 16):
            for (i, j), value in np.ndenumerate(correlation):
                color = "white" if abs(value) > 0.65 else "black"
                self.ax_.text(
                    j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color=color
                )
        if colorbar:
            self.figure_.colorbar(image, ax=self.ax_, label=self.label, shrink=0.8)
        return self


def _rank_correlation(table: NDArray[np.float64], names: list[str], method: str) -> NDArray:
    n = table.shape[1]
    is_flat = np.ptp(table, axis=0) == 0
    if is_flat.any():
        flat = [name for name, is_one in zip(names, is_flat) if is_one]
        warnings.warn(
            f"{flat} are the same for all models: they rank none, and their rank correlation with "
            "other metrics is set to 0.",
            DegenerateScoreWarning,
            stacklevel=4,
        )
    function = stats.spearmanr if method == "spearman" else stats.kendalltau
    correlation = np.eye(n)
    for i in range(n):
        for j in range(i):
            if not (is_flat[i] or is_flat[j]):
                value = float(function(table[:, i], table[:, j]).statistic)
                correlation[i, j] = correlation[j, i] = value
    return correlation
