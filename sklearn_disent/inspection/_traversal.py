"""What a model decodes while one latent moves and the others rest."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import (
    AtLeastTwo,
    ImageShape,
    Names,
    PositiveFloat,
    PositiveInt,
    Scale,
    validated,
)
from ..metrics import relevance_matrix
from ..metrics._relevance import Kind
from ._common import (
    Axes,
    Coder,
    Colormap,
    assignment,
    check_drawing,
    check_relevance,
    coder_of,
    colormap,
    dead_latents,
    label_edges,
    names_of,
    one_axes,
    panel_grid,
    plain,
    pyplot,
    scored_codes,
)
from ._images import as_images, centers, in_rows, intensities, show_mosaic
from ._sliders import SLIDER_STYLE, traversal_sliders
from ._traversal_path import Base, Order, decode, ends_of, ordered, own_steps, resolve

Latents = Annotated[Sequence[int], "array-like"]
Span = Annotated[Sequence[float], "array-like"]
Spans = Annotated[Mapping[int, Sequence[float]], dict]


@dataclass(eq=False, repr=False)
class TraversalDisplay:
    """What each latent encodes: one row per latent, which moves while all others rest.

    Images of one or three channels are drawn as images; rows are drawn as curves over their
    features, colored by the value of the latent, and rows of two features as paths in the plane.

    Parameters
    ----------
    decoded : array-like of shape (n_latents, n_steps, ...)
        Decoded observations; an observation has shape (height, width), (channels, height, width),
        (height, width, channels) or (features,).
    steps : array-like of shape (n_steps,)
        Values that each latent takes, in standard deviations.
    labels : list of str or None, default=None
        Names of the latents; "z0", "z1", ... if None.
    rest : str, default=""
        Where the other latents rest, for the label of the axis.
    title : str or None, default=None
        Title of the picture; none if None.
    image_shape : tuple of int or None, default=None
        Shape of one image if rows are images: (height, width) or (channels, height, width).
    blanks : dict of int to str or None, default=None
        Rows of the picture that no latent takes, by number, and what to write beside them. They
        keep the rows of several models level, see :meth:`from_estimators`.

    Attributes
    ----------
    latents_ : ndarray of shape (n_latents,)
        Which latents are drawn, in order; only after :meth:`from_estimator`.
    assignment_ : dict of int to int
        The latent that is matched with each factor; empty without `y`. Only after
        :meth:`from_estimator`.
    ax_ : Axes or None
        The axes of images, None for rows.
    axes_ : ndarray of Axes
        All axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    LatentFactorDisplay : The reverse, how latents change with factors.
    ReconstructionDisplay : Whether decoded observations resemble the data.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.inspection import TraversalDisplay
    >>> from sklearn_disent.models import VAE
    >>> X = load_digits().images / 16
    >>> vae = VAE(n_components=3, max_epochs=1, random_state=0).fit(X)
    >>> display = TraversalDisplay.from_estimator(vae, X, n_steps=5)
    >>> display.decoded.shape
    (3, 5, 8, 8)
    """

    decoded: ArrayLike
    _: KW_ONLY
    steps: ArrayLike
    labels: Sequence[str] | None = None
    rest: str = ""
    title: str | None = None
    image_shape: ImageShape | None = None
    blanks: Mapping[int, str] | None = None
    latents_: NDArray[np.int64] = field(init=False)
    assignment_: dict[int, int] = field(init=False)
    ax_: Axes | None = field(init=False)

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        base: Base = "prior",
        order: Order | Latents = "auto",
        n_latents: PositiveInt | None = None,
        n_steps: AtLeastTwo = 11,
        max_std: PositiveFloat | Span = 2.0,
        spans: Spans | None = None,
        factor_names: Names | None = None,
        relevance: Kind = "mutual_info",
        relevance_params: Mapping[str, Any] | None = None,
        image_shape: ImageShape | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Decode traversals of a fitted model, and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer with ``inverse_transform``, a Pipeline that ends in one, or a
            search over either.
        X : array-like
            Observations. They give the order of the latents and, for a model without a prior, the
            range of the codes.
        y : array-like of shape (n_samples, n_factors) or None, default=None
            Their factors; with them latents can be ordered by factor. Labels name the factor
            that a latent is matched with, one to one. Dead latents are matched with none: those
            of a model with a posterior whose codes have a variance of at most 0.01 over the data.
        base : "prior" or int, default="prior"
            Where the other latents rest: at the mean of the prior, or at the code of the
            observation of X with this number (a posterior traversal).
        order : {"auto", "kl", "std", "factor", "index"} or list of int, default="auto"
            Which latents to draw, and in which order:

            - "kl": by the mean KL divergence of the posterior from N(0, 1), largest first;
            - "std": by the standard deviation of the codes, largest first;
            - "factor": first the latents that are matched with a factor, in the order of the
              factors, then the others as by "kl" or "std";
            - "index": by number;
            - a list: these latents;
            - "auto": "factor" if there is `y`, else "kl" if the model has a posterior, else "std".
        n_latents : int or None, default=None
            How many latents to draw; all of them if None.
        n_steps : int, default=11
            Number of values that each latent takes.
        max_std : float or tuple (low, high), default=2.0
            Range of the latents: from ``-max_std`` to ``max_std``, or from low to high, in standard
            deviations of the prior, or of the codes around their mean in a model without a prior.
            Some attributes show in one direction only, which (0, 6) follows. A prior other than
            N(0, 1), such as that of InfoGAN or a learned one, is traversed between the same
            quantiles, and never left.
        spans : dict of int to (low, high) or None, default=None
            Ranges of single latents that differ from `max_std`; the label says which.
        factor_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None.
        relevance : {"mutual_info", "correlation", "spearman", "importance", \
                "predictability", "robustness"}, default="mutual_info"
            Kind of :func:`~sklearn_disent.metrics.relevance_matrix` by which latents are matched
            with factors.
        relevance_params : dict or None, default=None
            Options of the matrix, such as ``{"factor_bins": 10}`` for continuous factors.
        image_shape : tuple of int or None, default=None
            Shape of one image if rows are images; that of the estimator's images if None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Rows need as many axes as there are latents, or
            one to be divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : TraversalDisplay
        """
        check_drawing(cls.from_estimator, options)
        check_relevance(relevance, relevance_params)
        coder = coder_of(estimator, X, cls.__name__)
        order = resolve(order, coder, y)
        matched, names = {}, {}
        if y is not None:
            matrix = relevance_matrix(
                y, scored_codes(estimator, X), kind=relevance, **(relevance_params or {})
            )
            given = names_of(factor_names, y, len(matrix), "factor ", "factor_names")
            # However informative a dead latent is about a factor, the decoder does not show it.
            matched = assignment(np.where(dead_latents(coder.estimator, coder.codes), 0.0, matrix))
            names = {j: given[k] for k, j in matched.items()}
        latents, labels = ordered(order, coder, names)
        latents, labels = latents[:n_latents], labels[:n_latents]
        low, high = ends_of(max_std, "max_std")
        steps = np.linspace(low, high, n_steps)
        own = own_steps(spans, coder.codes.shape[1], n_steps)
        labels = [f"{t} {_interval(own[j])}" if j in own else t for t, j in zip(labels, latents)]
        display = cls(
            decode(coder, latents, [own.get(j, steps) for j in latents.tolist()], base),
            steps=steps,
            labels=labels,
            rest="all others at their mean"
            if base == "prior"
            else f"all others at the code of sample {base}",
            title=_title(coder, base),
            image_shape=coder.image_shape if image_shape is None else image_shape,
        )
        display.latents_, display.assignment_ = latents, matched
        return display.plot(ax, **options)

    @classmethod
    @validated
    def from_estimators(
        cls,
        estimators: Any,
        X: Any,
        y: Any = None,
        *,
        order: Order | Latents | Mapping[str, Latents] = "auto",
        n_latents: PositiveInt | None = None,
        **options: Any,
    ) -> "dict[str, TraversalDisplay]":
        """Traversals of several models, side by side in one figure.

        With latents ordered by factor, as they are with `y` unless `order` says otherwise, the same
        row shows the latents that are matched with the same factor. Where one model has none for a
        factor of another one, its row is blank. The latents without a factor follow.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted models by the names that stand above them.
        X : array-like
            Observations, as in :meth:`from_estimator`.
        y : array-like of shape (n_samples, n_factors) or None, default=None
            Their factors, as in :meth:`from_estimator`.
        order : {"auto", "kl", "std", "factor", "index"}, list of int or dict, default="auto"
            As in :meth:`from_estimator`; a dict gives every model a list of its own, such as the
            latents that show the same property.
        n_latents : int or None, default=None
            How many latents to draw, counting blank rows: at most this number of rows. By default
            there is one for each factor that any model has a latent for, then as many as the model
            with the fewest other latents has. Without an order by factor, all are such others.
        **options
            Passed to :meth:`from_estimator`; `ax` is not among them.

        Returns
        -------
        displays : dict of str to TraversalDisplay
            The displays by name, all in one figure.
        """
        check_drawing(cls.from_estimators, options, through=cls.from_estimator)
        if not isinstance(estimators, Mapping) or not estimators:
            raise ValueError(
                f"estimators must be a dict with at least one model by name, got {estimators!r}."
            )
        of_each = order if isinstance(order, Mapping) else dict.fromkeys(estimators, order)
        if set(of_each) != set(estimators):
            raise ValueError(
                f"order must have the names of the models, {list(estimators)}, got {list(of_each)}."
            )
        displays = {}
        plt = pyplot(f"{cls.__name__}.from_estimators")
        for name, estimator in estimators.items():
            figure, ax = plt.subplots()
            displays[name] = cls.from_estimator(
                estimator, X, y, order=of_each[name], n_latents=n_latents, ax=ax, **options
            )
            plt.close(figure)
        names: list[str] = []
        if isinstance(order, str) and order in ("auto", "factor") and y is not None:
            given = options.get("factor_names")
            names = names_of(given, y, np.shape(y)[1], "factor ", "factor_names")
        n_rows = _align(list(displays.values()), names, n_latents)
        n_steps = np.size(next(iter(displays.values())).steps)
        size = (len(displays) * (0.62 * n_steps + 1.4), 0.62 * n_rows + 1.2)
        _, axes = plt.subplots(1, len(displays), figsize=size, layout="constrained", squeeze=False)
        drawing = {key: value for key, value in options.items() if key in ("cmap", "yscale")}
        for panel, (name, display) in zip(axes.flat, displays.items()):
            display.title = name
            display.plot(panel, **drawing)
        return displays

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        cmap: str | Colormap | None = None,
        yscale: Scale = "linear",
    ) -> Self:
        """Draw the images in one row per latent, or one panel per latent.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Rows need as many axes as there are latents, or
            one to be divided.
        cmap : str, Colormap or None, default=None
            Colors of images of one channel, "gray" if None ("gray_r" draws them as ink on
            paper); of curves, "viridis" if None.
        yscale : {"linear", "log", "symlog", "asinh", "logit"}, default="linear"
            Scale of the curves; "symlog" suits features of very different size.

        Returns
        -------
        self : TraversalDisplay
        """
        colors = None if cmap is None else colormap(cmap)
        decoded, labels = self._checked()
        images = self._images(decoded)
        if images is None:
            self._plot_rows(ax, decoded, labels, colors or colormap("viridis"), yscale)
        else:
            self._plot_images(ax, images, labels, colors or colormap("gray"))
        self.figure_ = self.axes_.flat[0].figure
        return self

    @validated
    def to_gif(
        self, path: str | Path, *, duration: PositiveFloat = 0.1, cmap: str | Colormap = "gray"
    ) -> Path:
        """Write an animation in which all latents move at once, each in its own panel.

        Parameters
        ----------
        path : str or Path
            The file to write, usually ``*.gif``.
        duration : float, default=0.1
            Seconds per step.
        cmap : str or Colormap, default="gray"
            Colors of images of one channel; "gray_r" draws them as ink on paper.

        Returns
        -------
        path : Path
            The file.
        """
        caller = f"{type(self).__name__}.to_gif"
        pyplot(caller)
        from matplotlib.animation import FuncAnimation, PillowWriter
        from matplotlib.figure import Figure

        colors = colormap(cmap)
        decoded, labels = self._checked()
        images = self._images(decoded)
        if images is None:
            raise ValueError(
                f"{caller} needs images, got rows of {decoded.shape[2]} features. Give "
                "image_shape if they are images."
            )
        if not len(images):
            raise ValueError(f"{caller} needs a latent that moves, got blank rows only.")
        n_columns = min(5, len(images))
        n_rows = -(-len(images) // n_columns)
        figure = Figure(figsize=(1.5 * n_columns, 1.7 * n_rows + 0.4), layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False).flat
        shown = []
        for panel, image, label in zip(axes, images[:, 0], labels):
            shown.append(panel.imshow(image, cmap=colors, vmin=0, vmax=1))
            panel.set_title(plain(label), fontsize=9)
        for panel in axes[:]:
            panel.set_axis_off()
        steps = np.asarray(self.steps)
        text = figure.suptitle(f"{steps[0]:+.2f} standard deviations", fontsize=10)

        def draw(step: int) -> None:
            for artist, image in zip(shown, images[:, step]):
                artist.set_data(image)
            text.set_text(f"{steps[step]:+.2f} standard deviations")

        # There and back, so that the loop has no jump.
        order = [*range(len(steps)), *range(len(steps) - 2, 0, -1)]
        path = Path(path)
        writer = PillowWriter(fps=1 / duration)  # type: ignore[arg-type]  # need not be whole
        FuncAnimation(figure, draw, frames=order).save(path, writer)
        return path

    def to_html(self, path: str | Path | None = None) -> str:
        """A page with one slider per latent over frames that are decoded already.

        It needs neither a server nor other files; a notebook shows it with
        ``IPython.display.HTML(display.to_html())``.

        Parameters
        ----------
        path : str, Path or None, default=None
            File to write the page to; it is only returned if None.

        Returns
        -------
        page : str
            The page.
        """
        pyplot(f"{type(self).__name__}.to_html")
        sliders = traversal_sliders(self)
        if not sliders:
            raise ValueError(
                f"{type(self).__name__}.to_html needs images, got rows of features. Give "
                "image_shape if they are images."
            )
        page = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(self.title or 'traversals')}</title>\n"
            f"<style>{SLIDER_STYLE}</style>\n</head>\n<body>\n{sliders}</body>\n</html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _checked(self) -> tuple[NDArray, list[str]]:
        decoded, n_steps = np.asarray(self.decoded), np.size(self.steps)
        if decoded.ndim < 3 or decoded.shape[1] != n_steps:
            raise ValueError(
                "decoded must be (n_latents, n_steps, ...) with one step per entry of steps, got "
                f"shape {decoded.shape} and {n_steps} steps."
            )
        return decoded, names_of(self.labels, None, len(decoded), "z", "labels")

    def _images(self, decoded: NDArray) -> NDArray | None:
        flat = decoded.reshape(-1, *decoded.shape[2:])
        images = as_images(flat, self.image_shape)
        if images is None:
            return None
        if images.size:  # else there is neither a smallest nor a largest intensity
            images = intensities(images)[0]
        return images.reshape(*decoded.shape[:2], *images.shape[1:])

    def _with_blanks(self, labels: list[str]) -> tuple[list[int], list[str]]:
        """The rows that the latents take, and what to write beside all rows."""
        blanks = self.blanks or {}
        n_rows = len(labels) + len(blanks)
        if any(row not in range(n_rows) for row in blanks):
            raise ValueError(
                f"blanks must be among the rows of {len(labels)} latents and {len(blanks)} blanks, "
                f"0 to {n_rows - 1}, got {list(blanks)}."
            )
        rows = [row for row in range(n_rows) if row not in blanks]
        texts = {**blanks, **dict(zip(rows, labels))}
        return rows, [texts[row] for row in range(n_rows)]

    def _plot_images(self, ax: Any, images: NDArray, labels: list[str], cmap: Colormap) -> None:
        rows, labels = self._with_blanks(labels)
        images = in_rows(images, rows, len(labels))
        n_rows, n_steps = images.shape[:2]
        size = 0.62 * n_steps + 1.4, 0.62 * n_rows + 0.9
        self.ax_ = one_axes(ax, size, type(self).__name__)
        show_mosaic(self.ax_, images, cmap)
        heights, columns = centers(images)
        self.ax_.set_yticks(heights, [plain(label) for label in labels], fontsize=9)
        middle = [] if n_steps % 2 == 0 else [n_steps // 2]
        ticks = [0, *middle, n_steps - 1]
        steps = np.asarray(self.steps)
        self.ax_.set_xticks(columns[ticks], [f"{steps[i]:g}" for i in ticks], fontsize=9)
        self.ax_.set_xlabel(self._axis_label(), fontsize=9)
        self.ax_.set_title(self.title or "", fontsize=10)
        self.axes_ = np.array([self.ax_])

    def _axis_label(self) -> str:
        return "standard deviations of the latent" + (f", {self.rest}" if self.rest else "")

    def _plot_rows(
        self, ax: Any, decoded: NDArray, labels: list[str], cmap: Colormap, yscale: Scale
    ) -> None:
        import matplotlib

        taken, labels = self._with_blanks(labels)
        axes = panel_grid(
            ax, len(labels), min(4, len(labels)), type(self).__name__,
            panel=(2.4, 2.0), margin=(1.0, 0.8), sharex=True, sharey=True,
        )  # fmt: skip
        steps = np.asarray(self.steps)
        norm = matplotlib.colors.Normalize(steps.min(), steps.max())
        colors = cmap(norm(steps))
        in_plane = decoded.shape[2] == 2
        for panel, label in zip(axes.flat, labels):
            panel.set_title(plain(label), fontsize=9)
            panel.set_yscale(yscale)
        for panel, rows in zip(axes.flat[taken], decoded):
            if in_plane:
                panel.plot(*rows.T, color="0.7", linewidth=1, zorder=1)
                panel.scatter(*rows.T, color=colors, s=18, zorder=2)
            else:
                for row, color in zip(rows, colors):
                    panel.plot(row, color=color, linewidth=1)
        label_edges(
            axes, *(("feature 0", "feature 1") if in_plane else ("feature", "decoded value"))
        )
        mappable = matplotlib.cm.ScalarMappable(norm, cmap)
        label = self._axis_label().replace(", ", ",\n")
        axes.flat[0].figure.colorbar(mappable, ax=axes, label=label)
        self.ax_, self.axes_ = None, axes


def _align(displays: list[TraversalDisplay], names: list[str], n_latents: int | None) -> int:
    """Cut displays to a common number of rows, which is returned, and level those of factors.

    With names of factors, latents are in the order of their factors, with the others after them:
    all that is missing is a blank for every factor which only other displays have a latent for.
    """
    factors = sorted({k for display in displays for k in display.assignment_}) if names else []
    n_rows = len(factors) + min(
        max(0, len(display.latents_) - len(display.assignment_ if names else ()))
        for display in displays
    )
    n_rows = min(n_rows, n_latents or n_rows)
    for display in displays:
        display.blanks = {
            row: f"{names[k]}: no latent"
            for row, k in enumerate(factors[:n_rows])
            if k not in display.assignment_
        }
        n_kept = n_rows - len(display.blanks)
        display.decoded = np.asarray(display.decoded)[:n_kept]
        display.labels = list(display.labels or [])[:n_kept]
        display.latents_ = display.latents_[:n_kept]
    return n_rows


def _interval(steps: NDArray) -> str:
    return f"({steps[0]:g}, {steps[-1]:g})"


def _title(coder: Coder, base: Base) -> str:
    if base == "prior" and any(hasattr(coder.estimator, n) for n in ("sample_prior", "posterior")):
        return "prior traversals"
    if base != "prior" and hasattr(coder.estimator, "posterior"):
        return "posterior traversals"
    return "latent traversals"
