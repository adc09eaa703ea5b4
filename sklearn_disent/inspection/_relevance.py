"""Which code has to do with which factor, as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import validate_params

from ..metrics import relevance_matrix
from ..metrics._scorer import encode
from ._common import assignment, names_of, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kind of matrix -> what its entries are, with the unit.
_LABELS = {
    "mutual_info": "mutual information (nats)",
    "correlation": "absolute correlation",
    "importance": "importance",
    "predictability": "predictability (r² or accuracy)",
    "robustness": "robustness",
}

# Cells up to which numbers in them can be read.
_MAX_NUMBERS = 150


class RelevanceDisplay:
    """A relevance matrix as a heat map: factors down, codes across.

    Frames mark the assignment: each factor and its own code, one to one, of the largest sum of
    relevances. In a disentangled representation nothing but the framed cells stands out.

    Parameters
    ----------
    relevance : array-like of shape (n_factors, n_codes)
        The matrix, of any kind.
    factor_names : list of str or None, default=None
        Names of rows; "factor 0", ... if None.
    code_names : list of str or None, default=None
        Names of columns; "z0", ... if None.
    label : str, default="relevance"
        What the entries are, with their unit.

    Attributes
    ----------
    assignment_ : dict
        Factor -> code, by index, as framed.
    ax_ : Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    sklearn_disent.metrics.relevance_matrix : The matrices.
    LatentFactorDisplay : How codes depend on factors.

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

    def __init__(
        self,
        relevance: ArrayLike,
        *,
        factor_names: Sequence[str] | None = None,
        code_names: Sequence[str] | None = None,
        label: str = "relevance",
    ) -> None:
        self.relevance = relevance
        self.factor_names = factor_names
        self.code_names = code_names
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: str = "mutual_info",
        factor_names: Sequence[str] | None = None,
        code_names: Sequence[str] | None = None,
        relevance_params: dict[str, Any] | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw the relevance of the codes of a fitted transformer, a Pipeline or a search.

        Parameters
        ----------
        estimator : estimator
            What encodes X.
        X : array-like
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        kind : str, default="mutual_info"
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
        return cls.from_predictions(
            y,
            np.asarray(encode(estimator, X)),
            kind=kind,
            factor_names=factor_names,
            code_names=code_names,
            relevance_params=relevance_params,
            ax=ax,
            **options,
        )

    @classmethod
    @validate_params({"relevance_params": [dict, None]}, prefer_skip_nested_validation=False)
    def from_predictions(
        cls,
        factors: ArrayLike,
        codes: ArrayLike,
        *,
        kind: str = "mutual_info",
        factor_names: Sequence[str] | None = None,
        code_names: Sequence[str] | None = None,
        relevance_params: dict[str, Any] | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw the relevance of codes at hand.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        kind : str, default="mutual_info"
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
        relevance = relevance_matrix(factors, codes, kind=kind, **(relevance_params or {}))
        n_factors, n_codes = relevance.shape
        display = cls(
            relevance,
            factor_names=names_of(factor_names, factors, n_factors, "factor ", "factor_names"),
            code_names=names_of(code_names, codes, n_codes, "z", "code_names"),
            label=_LABELS.get(kind, kind),
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cmap: str = "cividis",
        include_values: bool | None = None,
        values_format: str = ".2f",
        mark: bool = True,
        colorbar: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str, default="cividis"
            Colours, from little to much.
        include_values : bool or None, default=None
            Whether numbers stand in the cells; None where they can be read.
        values_format : str, default=".2f"
            Their format.
        mark : bool, default=True
            Whether the assignment is framed.
        colorbar : bool, default=True
            Whether there is a bar of colours.

        Returns
        -------
        self : RelevanceDisplay
        """
        relevance = np.asarray(self.relevance, dtype=np.float64)
        if relevance.ndim != 2 or not np.isfinite(relevance).all():
            raise ValueError(
                "relevance must be (n_factors, n_codes) of finite numbers, got shape "
                f"{relevance.shape}."
            )
        n_factors, n_codes = relevance.shape
        rows = names_of(self.factor_names, None, n_factors, "factor ", "factor_names")
        columns = names_of(self.code_names, None, n_codes, "z", "code_names")
        size = min(16.0, 0.55 * n_codes + 2.6), min(12.0, 0.42 * n_factors + 1.2)
        self.ax_ = one_axes(ax, size, type(self).__name__)
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(relevance, cmap=cmap, vmin=0, aspect="auto")
        long = max(map(len, columns)) > 4
        self.ax_.set_xticks(range(n_codes), columns, rotation=45 if long else 0)
        if long:
            for tick in self.ax_.get_xticklabels():
                tick.set(ha="right", rotation_mode="anchor")
        self.ax_.set_yticks(range(n_factors), rows)
        self.ax_.set(xlabel="code", ylabel="factor")
        self.ax_.tick_params(length=0)
        if include_values or (include_values is None and relevance.size <= _MAX_NUMBERS):
            self._write(image, relevance, values_format)
        self.assignment_ = assignment(relevance)
        if mark:
            self._frame()
        if colorbar:
            self.figure_.colorbar(image, ax=self.ax_, label=self.label)
        return self

    def _write(self, image: Any, relevance: np.ndarray, values_format: str) -> None:
        for (k, j), value in np.ndenumerate(relevance):
            red, green, blue, _ = image.cmap(image.norm(value))
            # Dark letters on light ground and the reverse, by the luminance of the ground.
            is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
            self.ax_.text(
                j, k, format(value, values_format), ha="center", va="center", fontsize=8,
                color="black" if is_light else "white",
            )  # fmt: skip

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
