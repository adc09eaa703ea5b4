"""How each latent moves with each factor."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import AtLeastTwo, Names, PositiveInt, validated
from ..metrics._validation import Checked, check_data
from ._common import (
    COLORS,
    Axes,
    Colormap,
    assignment,
    axes_grid,
    check_drawing,
    colormap,
    names_of,
    plain,
    scored_codes,
)

Pair = tuple[str, str]
Pairs = Annotated[Sequence[Pair], list, tuple]
Surface = tuple[NDArray, NDArray, NDArray[np.float64]]


class Curve(NamedTuple):
    """Codes along one factor."""

    ticks: list[str] | None
    """Names of the values of a categorical factor."""
    values: NDArray[np.float64]
    """(n_values,)."""
    mean: NDArray[np.float64]
    """(n_values, n_codes)."""
    std: NDArray[np.float64]
    """(n_values, n_codes), over the samples that share the value."""


@dataclass(eq=False, repr=False)
class LatentFactorDisplay:
    """Each latent against each factor: one row per latent, one column per factor.

    Lines are the mean code over all samples with a value of the factor; bands are the standard
    deviation over these samples, which the other factors cause. In a disentangled representation
    every row has one column with a steep line and a narrow band, and flat lines elsewhere. Two
    factors that belong together, such as two coordinates, can share a column as a heat map of the
    mean code, as in Chen et al. (2018).

    Parameters
    ----------
    curves : dict of str to Curve
        By factor: ticks (names of values, or None), values (n_values,), mean and std of the
        codes (n_values, n_codes).
    surfaces : dict of (str, str) to tuple or None, default=None
        By pair of factors: values of the first (A,), values of the second (B,), mean codes
        (A, B, n_codes), nan where there is no sample.
    code_names : list of str or None, default=None
        Names; "z0", "z1", ... if None.
    latents : list of int or None, default=None
        Which codes to draw, in order; all of them if None.

    Attributes
    ----------
    axes_ : ndarray of Axes, of shape (n_latents, n_columns)
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    RelevanceDisplay : One number per latent and factor.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn_disent.inspection import LatentFactorDisplay
    >>> factors = np.random.default_rng(0).integers(4, size=(200, 2))
    >>> display = LatentFactorDisplay.from_predictions(factors, factors * 2.0)
    >>> display.curves["factor 0"].mean[:, 0]
    array([0., 2., 4., 6.])
    """

    curves: Mapping[str, Curve]
    _: KW_ONLY
    surfaces: Mapping[Pair, Surface] | None = None
    code_names: Sequence[str] | None = None
    latents: Sequence[int] | None = None

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        factor_names: Names | None = None,
        code_names: Names | None = None,
        pairs: Pairs = (),
        n_latents: PositiveInt | None = None,
        n_factors: PositiveInt | None = None,
        n_bins: AtLeastTwo = 20,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Encode observations, and draw their codes.

        Latents are ordered as in :meth:`from_predictions`.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer, a Pipeline that ends in one, or a search over either.
        X : array-like
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        factor_names, code_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        pairs : list of (str, str), default=()
            Pairs of factors, by name, that share a heat map.
        n_latents : int or None, default=None
            How many latents to draw; all of them if None.
        n_factors : int or None, default=None
            How many factors to draw, those that explain most of a latent's variance; all of them
            if None.
        n_bins : int, default=20
            Number of bins of a continuous factor.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : LatentFactorDisplay
        """
        check_drawing(cls.from_estimator, options)
        return cls.from_predictions(
            y,
            scored_codes(estimator, X),
            factor_names=factor_names,
            code_names=code_names,
            pairs=pairs,
            n_latents=n_latents,
            n_factors=n_factors,
            n_bins=n_bins,
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
        factor_names: Names | None = None,
        code_names: Names | None = None,
        pairs: Pairs = (),
        n_latents: PositiveInt | None = None,
        n_factors: PositiveInt | None = None,
        n_bins: AtLeastTwo = 20,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw codes that are there already.

        Latents that are matched one to one with a factor come first, in the order of the factors;
        the match maximizes the share of variance that factors explain. The others follow by their
        variance, largest first.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        factor_names, code_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        pairs : list of (str, str), default=()
            Pairs of factors, by name, that share a heat map.
        n_latents : int or None, default=None
            How many latents to draw; all of them if None.
        n_factors : int or None, default=None
            How many factors to draw, those that explain most of a latent's variance; all of them
            if None.
        n_bins : int, default=20
            Number of bins of a continuous factor.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : LatentFactorDisplay
        """
        check_drawing(cls.from_predictions, options)
        checked = check_data(factors, codes, factor_bins=n_bins)
        n_given, n_codes = checked.factors.shape[1], checked.codes.shape[1]
        names = names_of(factor_names, factors, n_given, "factor ", "factor_names")
        curves = {name: _curve(checked, factors, k) for k, name in enumerate(names)}
        explained = _all_explained(checked, list(curves.values()))
        order = _order(checked, explained)
        # Of equal factors the first are drawn.
        best = np.argsort(-explained.max(axis=1), kind="stable")[:n_factors]
        display = cls(
            {names[k]: curves[names[k]] for k in np.sort(best)},
            surfaces={_as_pair(pair, names): _surface(checked, names, pair) for pair in pairs},
            code_names=names_of(code_names, codes, n_codes, "z", "code_names"),
            latents=order[:n_latents],
        )
        return display.plot(ax, **options)

    @validated
    def plot(self, ax: Axes | ArrayLike | None = None, *, cmap: str | Colormap = "PuOr_r") -> Self:
        """Draw one row of panels per latent.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        cmap : str or Colormap, default="PuOr_r"
            Colors of heat maps, from the lowest to the highest value of the latent.

        Returns
        -------
        self : LatentFactorDisplay
        """
        colors = colormap(cmap)
        surfaces = self.surfaces or {}
        n_codes = next(iter(self.curves.values())).mean.shape[1]
        codes = names_of(self.code_names, None, n_codes, "z", "code_names")
        latents = list(range(n_codes)) if self.latents is None else list(self.latents)
        shape = len(latents), len(self.curves) + len(surfaces)
        size = 1.9 * shape[1] + 0.8, 1.25 * shape[0] + 0.8
        self.axes_ = axes_grid(ax, shape, size, type(self).__name__)
        self.figure_ = self.axes_[0, 0].figure
        for panels, latent in zip(self.axes_, latents):
            limits = self._limits(latent)
            for panel, curve in zip(panels, self.curves.values()):
                _draw_curve(panel, curve, latent, limits)
            for panel, surface in zip(panels[len(self.curves) :], surfaces.values()):
                _draw_surface(panel, surface, latent, limits, colors)
            panels[0].set_ylabel(plain(codes[latent]), rotation=0, ha="right", va="center")
            for panel in panels[1 : len(self.curves)]:
                panel.tick_params(labelleft=False)
        for panels in self.axes_[:-1]:
            for panel in panels:
                panel.tick_params(labelbottom=False)
        labels = [*self.curves, *(f"{first} →, {second} ↓" for first, second in surfaces)]
        for panel, label in zip(self.axes_[-1], labels):
            panel.set_xlabel(plain(label))
        self.axes_[0, 0].set_title("mean code ± std", fontsize=9, loc="left")
        if surfaces:
            self.axes_[0, len(self.curves)].set_title("mean code", fontsize=9, loc="left")
        return self

    def _limits(self, latent: int) -> tuple[float, float]:
        """Range of a latent over all factors, so that flat lines are flat."""
        low = min((c.mean - c.std)[:, latent].min() for c in self.curves.values())
        high = max((c.mean + c.std)[:, latent].max() for c in self.curves.values())
        margin = 0.05 * (high - low) or 0.5
        return low - margin, high + margin


def _curve(checked: Checked, factors: Any, k: int) -> Curve:
    classes = checked.factors[:, k]
    counts = np.bincount(classes).astype(float)[:, None]
    mean = _sums(classes, checked.codes) / counts
    spread = _sums(classes, (checked.codes - mean[classes]) ** 2) / counts
    values = _sums(classes, checked.values[:, k : k + 1])[:, 0] / counts[:, 0]
    ticks = None
    if checked.kinds[k] == "categorical":
        column = factors.iloc[:, k] if hasattr(factors, "iloc") else np.asarray(factors)[:, k]
        column = np.asarray(column).astype(str)
        ticks = [column[np.flatnonzero(classes == c)[0]] for c in range(len(counts))]
        values = np.arange(len(counts), dtype=float)
    return Curve(ticks, values, mean, np.sqrt(spread))


def _sums(classes: NDArray[np.int64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of columns by class, (n_classes, n_columns)."""
    return np.column_stack([np.bincount(classes, column) for column in columns.T])


def _as_pair(pair: Sequence[str], names: list[str]) -> Pair:
    if len(pair) != 2 or any(name not in names for name in pair):
        raise ValueError(f"Each of pairs must be two factors among {names}, got {pair!r}.")
    return pair[0], pair[1]


def _surface(checked: Checked, names: list[str], pair: Pair) -> Surface:
    a, b = (checked.factors[:, names.index(name)] for name in pair)
    size = a.max() + 1, b.max() + 1
    cells = np.ravel_multi_index((a, b), size)
    # Cells without a sample have the mean nan, and are drawn as holes.
    counts = np.bincount(cells, minlength=size[0] * size[1])[:, None]
    columns = [np.bincount(cells, code, minlength=len(counts)) for code in checked.codes.T]
    sums = np.column_stack(columns)
    mean = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return np.arange(size[0]), np.arange(size[1]), mean.reshape(*size, -1)


def _all_explained(checked: Checked, curves: list[Curve]) -> NDArray[np.float64]:
    """(n_factors, n_codes): share of each code's variance between the values of each factor."""
    variance = checked.codes.var(axis=0)
    return np.array(
        [_explained(checked.factors[:, k], curve, variance) for k, curve in enumerate(curves)]
    )


def _order(checked: Checked, explained: NDArray[np.float64]) -> list[int]:
    variance = checked.codes.var(axis=0)
    matched = list(assignment(explained).values())
    return [*matched, *(int(j) for j in np.argsort(-variance) if j not in matched)]


def _explained(
    classes: NDArray[np.int64], curve: Curve, variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of each code's variance that lies between the values of a factor."""
    between = curve.mean[classes].var(axis=0)
    return np.divide(between, variance, out=np.zeros_like(variance), where=variance > 0)


def _draw_curve(panel: Axes, curve: Curve, latent: int, limits: tuple[float, float]) -> None:
    mean, std = curve.mean[:, latent], curve.std[:, latent]
    if curve.ticks is None:
        panel.fill_between(
            curve.values, mean - std, mean + std, color=COLORS[0], alpha=0.25, linewidth=0
        )
        panel.plot(curve.values, mean, color=COLORS[0], linewidth=1.5)
        is_whole = bool((curve.values == np.round(curve.values)).all())
        panel.locator_params(axis="x", nbins=4, integer=is_whole)
    else:
        panel.errorbar(
            curve.values, mean, std, color=COLORS[0], marker="o", linestyle="", markersize=4,
            elinewidth=1.5,
        )  # fmt: skip
        panel.set_xticks(curve.values, [plain(tick) for tick in curve.ticks])
        panel.margins(x=0.2)
    panel.set_ylim(limits)
    panel.tick_params(labelsize=8)


def _draw_surface(
    panel: Axes, surface: Surface, latent: int, limits: tuple[float, float], cmap: Colormap
) -> None:
    mean = surface[2][:, :, latent]
    # Columns are the first factor; rows the second, growing downwards as in images.
    panel.imshow(mean.T, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto")
    panel.set(xticks=[], yticks=[])
