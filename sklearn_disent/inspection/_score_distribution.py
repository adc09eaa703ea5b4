"""How a score spreads over seeds and folds."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._params import validated
from ._common import COLORS, Axes, check_drawing, one_axes, score_label
from ._search import choose_param, default_labels, key_of, read_search, texts_of

# Letters up to which the name of a model stays upright.
_MAX_SHORT = 9


@dataclass(eq=False, repr=False)
class ScoreDistributionDisplay:
    """Box plots of a score, one box per model: quartiles, median and every single value.

    Parameters
    ----------
    scores : dict of str to array-like of shape (n_repeats,)
        By model, the score of every seed or fold.
    label : str, default="score"
        Name of the score.
    param : str or None, default=None
        Name of the parameter whose values tell the models apart.

    Attributes
    ----------
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    SweepDisplay : Means and standard deviations against a parameter.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS. Figure 3.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_disent.inspection import ScoreDistributionDisplay
    >>> scores = {"VAE": [0.1, 0.12, 0.2], "BetaVAE": [0.2, 0.3, 0.25]}
    >>> display = ScoreDistributionDisplay(scores, label="MIG").plot()
    >>> display.ax_.get_ylabel()
    'MIG'
    """

    scores: Mapping[str, ArrayLike]
    _: KW_ONLY
    label: str = "score"
    param: str | None = None

    @classmethod
    @validated
    def from_search(
        cls,
        search: Any,
        *,
        param: str | None = None,
        score: str | None = None,
        label: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the held-out scores of a fitted search, one box per value of a parameter.

        A box holds the scores of all folds and of all candidates with that value, such as seeds.

        Parameters
        ----------
        search : fitted search
            Anything with ``cv_results_``.
        param : str or None, default=None
            Which parameter; may be None if the search had only one, not counting seeds.
        score : str or None, default=None
            Which score; may be None if the search had only one.
        label : str or None, default=None
            How to write the name of the score; made from the name if None.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : ScoreDistributionDisplay
        """
        check_drawing(cls.from_search, options)
        results = read_search(search, score, cls.__name__)
        if len(results.scores) > 1:
            raise ValueError(
                f"The search has several scores, {list(results.scores)}. Choose one with score=."
            )
        ((name, table),) = results.scores.items()
        param = choose_param(results, param)
        values = results.column(param)
        keys = [key_of(value) for value in values]
        pools = {
            text: table[[i for i, other in enumerate(keys) if other == key]].ravel()
            for key, text in texts_of(values).items()
        }
        finite = {text: pool[np.isfinite(pool)] for text, pool in pools.items()}
        display = cls(
            {text: pool for text, pool in finite.items() if pool.size},
            label=label or score_label(name, default_labels(search)),
            param=param,
        )
        return display.plot(ax, **options)

    @validated
    def plot(self, ax: Axes | None = None, *, points: bool = True) -> Self:
        """Draw one box per model.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        points : bool, default=True
            Whether to draw every single value beside the boxes.

        Returns
        -------
        self : ScoreDistributionDisplay
        """
        pools = {str(name): np.asarray(pool, dtype=float) for name, pool in self.scores.items()}
        bad = [n for n, pool in pools.items() if not pool.size or not np.isfinite(pool).all()]
        if bad or not pools:
            raise ValueError(
                f"scores must be one or more finite numbers for each model, got others for {bad}."
            )
        self.ax_ = one_axes(ax, (max(3.5, 0.9 * len(pools) + 1.2), 3.6), type(self).__name__)
        self.figure_ = self.ax_.figure
        self._draw(pools, points)
        self.ax_.set_xticks(range(len(pools)), list(pools))
        if max(map(len, pools)) > _MAX_SHORT:
            for tick in self.ax_.get_xticklabels():
                tick.set(rotation=30, ha="right", rotation_mode="anchor")
        self.ax_.set(xlabel=self.param or "", ylabel=self.label)
        return self

    def _draw(self, pools: dict[str, np.ndarray], points: bool) -> None:
        self.ax_.boxplot(
            list(pools.values()),
            positions=range(len(pools)),
            widths=0.55,
            showfliers=not points,
            patch_artist=True,
            boxprops={"facecolor": "#cfe3f1", "edgecolor": COLORS[0]},
            medianprops={"color": COLORS[1], "linewidth": 2},
            whiskerprops={"color": COLORS[0]},
            capprops={"color": COLORS[0]},
        )
        for i, pool in enumerate(pools.values() if points else ()):
            # Side by side instead of at random, so that the same scores give the same picture.
            offsets = np.linspace(-0.15, 0.15, len(pool)) if len(pool) > 1 else np.zeros(1)
            self.ax_.plot(i + offsets, pool, "o", color="0.2", markersize=3, alpha=0.7)
