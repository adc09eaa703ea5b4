"""The loss and its terms over the epochs."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._params import Names, PositiveInt, Scale, validated
from ..metrics._estimators import path_to_model
from ._common import COLORS, Axes, check_drawing, panel_grid, score_label

# Whose rows of the history are drawn, and how.
_SETS: dict[str, dict[str, Any]] = {
    "train": {"color": COLORS[0], "linestyle": "-"},
    "valid": {"color": COLORS[1], "linestyle": "--"},
}
_OTHER: dict[str, Any] = {"color": COLORS[2], "linestyle": "-"}

# Entries of the history that are not quantities.
_NOT_DRAWN = ("_best", "_batch_count", "dur", "epoch", "batches", "event_lr")


@dataclass(eq=False, repr=False)
class HistoryDisplay:
    """The loss and each of its terms over the epochs, one axes per term.

    Parameters
    ----------
    terms : dict of str to dict of str to array-like of shape (n_epochs,)
        By term, then by set ("train", "valid"): its values, nan where there is none.
    unit : str or None, default=None
        What the terms are measured in.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One per term.
    figure_ : Figure
        The figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.inspection import HistoryDisplay
    >>> from sklearn_disent.models import VAE
    >>> X = load_digits().images / 16
    >>> vae = VAE(n_components=3, max_epochs=2, random_state=0).fit(X)
    >>> display = HistoryDisplay.from_estimator(vae, terms=["loss", "kl"])
    >>> list(display.terms)
    ['loss', 'kl']
    """

    terms: Mapping[str, Mapping[str, ArrayLike]]
    _: KW_ONLY
    unit: str | None = None

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        *,
        terms: str | Names | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the history of a fitted net, a Pipeline that ends in one, or a search.

        Parameters
        ----------
        estimator : estimator
            Anything with ``history_``.
        terms : str, list of str or None, default=None
            Which terms to draw, named without ``train_``; all of them if None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : HistoryDisplay
        """
        check_drawing(cls.from_estimator, options)
        _, net = path_to_model(estimator)
        history = getattr(net, "history_", None)
        if not history:
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with history_, and "
                f"{type(net).__name__} has none. Pass a fitted model of sklearn_disent.models, a "
                "Pipeline that ends in one, or a search over either."
            )
        known = _terms_of(history)
        terms = [terms] if isinstance(terms, str) else terms
        wanted = list(known) if terms is None else list(terms)
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            raise ValueError(f"terms must be among {list(known)}, got {terms!r}.")
        # Losses of the VAEs are log-densities; those of other nets may be anything.
        unit = "nats" if hasattr(net, "log_prior") else None
        display = cls({name: known[name] for name in wanted}, unit=unit)
        return display.plot(ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        n_columns: PositiveInt | None = None,
        yscale: Scale = "linear",
    ) -> Self:
        """Draw one panel per term.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        n_columns : int or None, default=None
            Number of panels side by side; up to four, in rows of similar length, if None.
        yscale : {"linear", "log", "symlog", "asinh", "logit"}, default="linear"
            Scale of the curves.

        Returns
        -------
        self : HistoryDisplay
        """
        n = len(self.terms)
        if n_columns is None:
            # Axes that are given are filled as if in one row; new ones are up to four in a row.
            n_columns = -(-n // -(-n // 4)) if ax is None or hasattr(ax, "plot") else n
        axes = panel_grid(
            ax, n, n_columns, type(self).__name__, panel=(2.6, 2.2), margin=(0.3, 0.4)
        )
        for panel, (term, sets) in zip(axes.flat, self.terms.items()):
            for name, values in sets.items():
                self._draw(panel, name, np.asarray(values, dtype=float))
            unit = f" ({self.unit})" if self.unit and _is_term(sets) else ""
            panel.set_title(score_label(term) + unit, fontsize=10)
            panel.set_xlabel("epoch", fontsize=9)
            panel.set_yscale(yscale)
            panel.tick_params(labelsize=8)
        if any("valid" in sets for sets in self.terms.values()):
            axes.flat[0].legend(frameon=False, fontsize=8)
        self.axes_ = axes.ravel()[:n]
        self.figure_ = self.axes_[0].figure
        return self

    def _draw(self, panel: Axes, name: str, values: np.ndarray) -> None:
        from matplotlib.ticker import MaxNLocator

        epochs = np.arange(1, len(values) + 1)
        drawn = np.isfinite(values)
        marker = "o" if drawn.sum() <= 20 else None
        style = _SETS.get(name, _OTHER)
        panel.plot(epochs[drawn], values[drawn], marker=marker, markersize=3, label=name, **style)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _is_term(sets: Mapping[str, Any]) -> bool:
    return any(name in _SETS for name in sets)


def _terms_of(history: Any) -> dict[str, dict[str, np.ndarray]]:
    """Values by term, then by set; the set of what has none, a count of latents say, is ""."""
    keys = list(dict.fromkeys(key for row in history for key in row))
    terms: dict[str, dict[str, np.ndarray]] = {}
    for key in keys:
        values = [row.get(key, np.nan) for row in history]
        if key.endswith(_NOT_DRAWN) or not all(isinstance(v, (int, float)) for v in values):
            continue
        prefix, _, rest = key.partition("_")
        name, term = (prefix, rest) if prefix in _SETS else ("", key)
        terms.setdefault(term, {})[name] = np.array(values, dtype=float)
    return dict(sorted(terms.items(), key=lambda item: item[0] != "loss"))
