"""How relevant each code is to each factor, as a heat map."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._params import Names, validated
from ..metrics import relevance_matrix
from ..metrics._relevance import Kind
from ._common import (
    Axes,
    Colormap,
    assignment,
    check_drawing,
    check_number_format,
    check_relevance,
    colormap,
    label_cells,
    names_of,
    one_axes,
    scored_codes,
    write_cells,
)

# Kind of matrix -> what its entries are, with the unit.
_LABELS: dict[Kind, str] = {
    "mutual_info": "mutual information (nats)",
    "correlation": "absolute correlation",
    "spearman": "absolute rank correlation",
    "importance": "importance",
    "predictability": "predictability (r² or accuracy)",
    "robustness": "robustness",
}

# Cells up to which numbers in them can be read, and letters up to which a name stays upright.
_MAX_NUMBERS = 150
_MAX_SHORT = 4


@dataclass(eq=False, repr=False)
class RelevanceDisplay:
    """A relevance matrix as a heat map: factors down, codes across.

    Frames mark the assignment: each factor and its own code, one to one, such that the sum of
    relevances is largest. In a disentangled representation only the framed cells stand out.

    Parameters
    ----------
    relevance : array-like of shape (n_factors, n_codes)
        The matrix, of any kind.
    factor_names : list of str or None, default=None
        Names; "factor 0", "factor 1", ... if None.
    code_names : list of str or None, default=None
        Names; "z0", "z1", ... if None.
    label : str, default="relevance"
        What the entries are, with their unit.

    Attributes
    ----------
    assignment_ : dict of int to int
        The code that is assigned to each factor, by index.
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    sklearn_disent.metrics.relevance_matrix : The matrix itself.
    LatentFactorDisplay : How codes change with factors.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn_disent.inspection import RelevanceDisplay
    >>> factors = np.random.default_rng(0).integers(4, size=(200, 2))
    >>> display = RelevanceDisplay.from_predictions(factors, factors[:, ::-1])
    >>> display.assignment_
    {0: 1, 1: 0}
    """

    relevance: ArrayLike
    _: KW_ONLY
    factor_names: Sequence[str] | None = None
    code_names: Sequence[str] | None = None
    label: str = "relevance"

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: Kind = "mutual_info",
        factor_names: Names | None = None,
        code_names: Names | None = None,
        relevance_params: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Encode observations, and draw the relevance of their codes.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer, a Pipeline that ends in one, or a search over either.
        X : array-like
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        kind : {"mutual_info", "correlation", "spearman", "importance", \
                "predictability", "robustness"}, default="mutual_info"
            Kind of :func:`~sklearn_disent.metrics.relevance_matrix`.
        factor_names, code_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        relevance_params : dict or None, default=None
            Options of the matrix, such as ``{"factor_bins": 10}`` for continuous factors.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : RelevanceDisplay
        """
        check_drawing(cls.from_estimator, options)
        check_relevance(kind, relevance_params)
        return cls.from_predictions(
            y,
            scored_codes(estimator, X),
            kind=kind,
            factor_names=factor_names,
            code_names=code_names,
            relevance_params=relevance_params,
            ax=ax,
            **options,
        )

    @classmethod
    @validated
    def from_predictions(
        cls,
        factors: ArrayLike,
        codes: ArrayLike,
        *,
        kind: Kind = "mutual_info",
        factor_names: Names | None = None,
        code_names: Names | None = None,
        relevance_params: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the relevance of codes that are there already.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        kind : {"mutual_info", "correlation", "spearman", "importance", \
                "predictability", "robustness"}, default="mutual_info"
            Kind of :func:`~sklearn_disent.metrics.relevance_matrix`.
        factor_names, code_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        relevance_params : dict or None, default=None
            Options of the matrix, such as ``{"factor_bins": 10}`` for continuous factors.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : RelevanceDisplay
        """
        check_drawing(cls.from_predictions, options)
        check_relevance(kind, relevance_params)
        relevance = relevance_matrix(factors, codes, kind=kind, **(relevance_params or {}))
        n_factors, n_codes = relevance.shape
        display = cls(
            relevance,
            factor_names=names_of(factor_names, factors, n_factors, "factor ", "factor_names"),
            code_names=names_of(code_names, codes, n_codes, "z", "code_names"),
            label=_LABELS[kind],
        )
        return display.plot(ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: str | Colormap = "cividis",
        include_values: bool | None = None,
        values_format: str = ".2f",
        mark: bool = True,
        colorbar: bool = True,
    ) -> Self:
        """Draw the matrix as a heat map.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str or Colormap, default="cividis"
            Colors from 0 to the largest entry.
        include_values : bool or None, default=None
            Whether to write numbers into the cells; if None, where they can be read.
        values_format : str, default=".2f"
            Format of these numbers.
        mark : bool, default=True
            Whether to frame the assignment.
        colorbar : bool, default=True
            Whether to draw a colorbar.

        Returns
        -------
        self : RelevanceDisplay
        """
        check_number_format(values_format)
        colors = colormap(cmap)
        relevance = np.asarray(self.relevance, dtype=np.float64)
        if relevance.ndim != 2 or not np.isfinite(relevance).all():
            raise ValueError(
                "relevance must be a table (n_factors, n_codes) of finite numbers, got shape "
                f"{relevance.shape}."
            )
        n_factors, n_codes = relevance.shape
        rows = names_of(self.factor_names, None, n_factors, "factor ", "factor_names")
        columns = names_of(self.code_names, None, n_codes, "z", "code_names")
        size = min(16.0, 0.55 * n_codes + 2.6), min(12.0, 0.42 * n_factors + 1.2)
        self.ax_ = one_axes(ax, size, type(self).__name__)
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(relevance, cmap=colors, vmin=0, aspect="auto")
        label_cells(self.ax_, rows, columns, slanted=max(map(len, columns)) > _MAX_SHORT)
        self.ax_.set(xlabel="code", ylabel="factor")
        if include_values or (include_values is None and relevance.size <= _MAX_NUMBERS):
            write_cells(self.ax_, relevance, lambda value: _is_dark(image, value), values_format)
        self.assignment_ = assignment(relevance)
        if mark:
            self._frame()
        if colorbar:
            self.figure_.colorbar(image, ax=self.ax_, label=self.label)
        return self

    def _frame(self) -> None:
        from matplotlib.patches import Rectangle

        for k, j in self.assignment_.items():
            # White within black stands out on any ground.
            for color, width in (("black", 4.0), ("white", 2.0)):
                self.ax_.add_patch(
                    Rectangle(
                        (j - 0.46, k - 0.44),
                        0.92,
                        0.88,
                        fill=False,
                        edgecolor=color,
                        linewidth=width,
                    )
                )


def _is_dark(image: Any, value: float) -> bool:
    """Whether the color of a value calls for light letters, by its luminance."""
    red, green, blue, _ = image.cmap(image.norm(value))
    return 0.299 * red + 0.587 * green + 0.114 * blue <= 0.5
