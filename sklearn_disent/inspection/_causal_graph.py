"""Drawings of causal graphs."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import Names, validated
from ._common import COLORS, Axes, check_drawing, names_of, one_axes


@dataclass(eq=False, repr=False)
class CausalGraphDisplay:
    """A causal graph: causes above their effects, what is not observed dashed.

    Parameters
    ----------
    graph : array-like of shape (n_variables, n_variables)
        Not 0 in row i and column j if variable i causes variable j, as `graph` of
        :func:`~sklearn_disent.datasets.make_candle_like`,
        :func:`~sklearn_disent.datasets.make_pendulum` and
        :func:`~sklearn_disent.datasets.make_flow`. It must not have cycles.
    names : sequence of str or None, default=None
        Names of the variables.
    hidden : sequence of str, default=()
        Names of those that are not observed.

    Attributes
    ----------
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    RelevanceDisplay : How strongly each code depends on each factor.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_disent.inspection import CausalGraphDisplay
    >>> graph = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    >>> display = CausalGraphDisplay.from_graph(
    ...     graph, names=["context", "object", "size"], hidden=["context"])
    >>> [text.get_text() for text in display.ax_.texts if text.get_text()]
    ['context', 'object', 'size']
    """

    graph: ArrayLike
    _: KW_ONLY
    names: Names | None = None
    hidden: Names = ()
    ax_: Axes = field(init=False)

    @classmethod
    @validated
    def from_graph(
        cls,
        graph: ArrayLike,
        *,
        names: Names | None = None,
        hidden: Names = (),
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a graph.

        Parameters
        ----------
        graph : array-like of shape (n_variables, n_variables)
            Not 0 in row i and column j if variable i causes variable j.
        names : sequence of str or None, default=None
            Names of the variables.
        hidden : sequence of str, default=()
            Names of those that are not observed.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : CausalGraphDisplay
        """
        check_drawing(cls.from_graph, options)
        return cls(graph, names=names, hidden=hidden).plot(ax, **options)

    @validated
    def plot(self, ax: Axes | None = None, *, direction: Literal["down", "right"] = "down") -> Self:
        """Draw variables as boxes and causes as arrows.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        direction : {"down", "right"}, default="down"
            Where effects stand, as seen from their causes.

        Returns
        -------
        self : CausalGraphDisplay
        """
        graph = np.asarray(self.graph) != 0
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or not len(graph):
            raise ValueError(f"graph must be square, (n, n), got shape {graph.shape}.")
        names = names_of(self.names, None, len(graph), "variable ", "names")
        unknown = sorted(set(self.hidden) - set(names))
        if unknown:
            raise ValueError(f"hidden must be among {names}, got {unknown}.")
        places = place(graph)
        wide = np.ptp(places[:, 0]) + 1, np.ptp(places[:, 1]) + 1
        if direction == "right":
            places, wide = places[:, ::-1] * [-1, -1], wide[::-1]
        # Arrows need room between boxes, which are as wide as their names.
        width = 0.1 * max(map(len, names)) + (1.1 if direction == "right" else 0.6)
        figsize = width * wide[0] + 0.4, 0.9 * wide[1] + 0.4
        self.ax_ = one_axes(ax, figsize, type(self).__name__)
        boxes = [self._plot_node(names[i], places[i]) for i in range(len(graph))]
        for i, j in np.argwhere(graph):
            self.ax_.annotate(
                "",
                xy=places[j],
                xytext=places[i],
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": "0.35",
                    "patchA": boxes[i].get_bbox_patch(),
                    "patchB": boxes[j].get_bbox_patch(),
                    "shrinkA": 2,
                    "shrinkB": 2,
                },
            )
        low, high = places.min(axis=0) - 0.6, places.max(axis=0) + 0.6
        self.ax_.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        self.ax_.set_axis_off()
        self.figure_ = self.ax_.figure
        return self

    def _plot_node(self, name: str, where: NDArray) -> Any:
        is_hidden = name in self.hidden
        style = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "white" if is_hidden else "#DCEBF5",
            "edgecolor": "0.35" if is_hidden else COLORS[0],
            "linestyle": "--" if is_hidden else "-",
        }
        return self.ax_.text(
            where[0], where[1], name, ha="center", va="center", fontsize=10, bbox=style
        )


def place(graph: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Places (n, 2) of the variables: below all causes, near the middle of them."""
    layer = layers(graph)
    places = np.zeros((len(graph), 2))
    for level in range(layer.max() + 1):
        members = np.flatnonzero(layer == level)
        middle = [
            places[np.flatnonzero(graph[:, j]), 0].mean() if graph[:, j].any() else 0.0
            for j in members
        ]
        order = members[np.argsort(middle, kind="stable")]
        places[order, 0] = np.arange(len(order)) - (len(order) - 1) / 2
        places[order, 1] = -1.0 * level
    return places


def layers(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Length of the longest chain of causes that ends in each variable."""
    layer = np.zeros(len(graph), dtype=np.int64)
    for _ in range(len(graph)):
        below = np.where(graph, layer[:, None] + 1, 0).max(axis=0)
        if (below == layer).all():
            return layer
        layer = below
    raise ValueError("graph has a cycle: no variable may be a cause of itself, even indirectly.")
