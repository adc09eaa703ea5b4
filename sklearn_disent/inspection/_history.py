"""The loss and its terms over the epochs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import validate_params

from ._common import COLORS, axes_grid, innermost, score_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Whose rows of the history are drawn, and how.
_SETS = {
    "train": {"color": COLORS[0], "linestyle": "-"},
    "valid": {"color": COLORS[1], "linestyle": "--"},
}
_OTHER = {"color": COLORS[2], "linestyle": "-"}

# Entries of the history that are no quantities.
_NOT_DRAWN = ("_best", "_batch_count", "dur", "epoch", "batches", "event_lr")


class HistoryDisplay:
    """The loss and each of its terms over the epochs, one axes per term.

    Parameters
    ----------
    terms : dict of str to dict of str to array-like of shape (n_epochs,)
        By term, by set ("train", "valid"): its values, nan where there was none.
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

    def __init__(
        self, terms: Mapping[str, Mapping[str, ArrayLike]], *, unit: str | None = None
    ) -> None:
        self.terms = terms
        self.unit = unit

    @classmethod
    @validate_params({"terms": [str, "array-like", None]}, prefer_skip_nested_validation=True)
    def from_estimator(
        cls,
        estimator: Any,
        *,
        terms: str | Sequence[str] | None = None,
        ax: "Axes | ArrayLike | None" = None,
        **options: Any,
    ) -> Self:
        """Draw the history of a fitted net, a Pipeline that ends in one, or a search.

        Parameters
        ----------
        estimator : estimator
            Anything with ``history_``.
        terms : str, list of str or None, default=None
            Which terms, without ``train_``; all if None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : HistoryDisplay
        """
        net = innermost(estimator)
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
            raise ValueError(f"terms must be out of {list(known)}, got {terms!r}.")
        # Losses of the VAEs are log-densities; those of other nets may be anything.
        unit = "nats" if hasattr(net, "posterior") else None
        display = cls({name: known[name] for name in wanted}, unit=unit)
        return display.plot(ax, **options)

    def plot(
        self,
        ax: "Axes | ArrayLike | None" = None,
        *,
        n_columns: int | None = None,
        yscale: str = "linear",
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            One axes to be divided, or one per term; a new figure if None.
        n_columns : int or None, default=None
            Axes side by side; up to four, in rows of like length, if None.
        yscale : str, default="linear"
            Scale of the terms, such as "log".

        Returns
        -------
        self : HistoryDisplay
        """
        n = len(self.terms)
        if n_columns is None:
            n_columns = n if np.ndim(ax) else -(-n // -(-n // 4))
        n_rows = -(-n // n_columns)
        size = 2.6 * n_columns + 0.3, 2.2 * n_rows + 0.4
        axes = axes_grid(ax, (n_rows, n_columns), size, type(self).__name__)
        for panel, (term, sets) in zip(axes.flat, self.terms.items()):
            for name, values in sets.items():
                self._draw(panel, name, np.asarray(values, dtype=float))
            unit = f" ({self.unit})" if self.unit and _is_term(sets) else ""
            panel.set_title(score_label(term) + unit, fontsize=10)
            panel.set_xlabel("epoch", fontsize=9)
            panel.set_yscale(yscale)
            panel.tick_params(labelsize=8)
        for panel in axes.flat[n:]:
            panel.set_axis_off()
        if any("valid" in sets for sets in self.terms.values()):
            axes.flat[0].legend(frameon=False, fontsize=8)
        self.axes_ = axes.ravel()[:n]
        self.figure_ = self.axes_[0].figure
        return self

    def _draw(self, panel: "Axes", name: str, values: np.ndarray) -> None:
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
    """By term, by set; what belongs to no set, such as a count of latents, is its own."""
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
