"""What a model decodes while one latent moves and the others rest."""

from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from ..metrics import relevance_matrix
from ._common import Coder, assignment, axes_grid, coder_of, names_of, one_axes, pyplot
from ._images import as_images, centers, intensities, show_mosaic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ORDERS = {"auto", "kl", "std", "factor", "index"}


class TraversalDisplay:
    """What each latent does: one row per latent, which moves while all others rest.

    Images of one or three channels are drawn as such; rows as curves over their features,
    coloured by the value of the latent, and rows of two features as paths in the plane.

    Parameters
    ----------
    decoded : array-like of shape (n_latents, n_steps, ...)
        Decoded observations; an observation has shape (height, width), (channels, height, width),
        (height, width, channels) or (features,).
    steps : array-like of shape (n_steps,)
        Where the latents go, in standard deviations.
    labels : list of str or None, default=None
        One per latent; "z0", "z1", ... if None.
    rest : str, default=""
        Where the other latents are, for the label of the axis.
    title : str or None, default=None
        A title.
    image_shape : tuple or None, default=None
        Shape of one image, if rows are images: (height, width) or (channels, height, width).

    Attributes
    ----------
    latents_ : ndarray of shape (n_latents,)
        Which latents are drawn, in order; set by :meth:`from_estimator`.
    ax_ : Axes or None
        The axes of images, None for rows.
    axes_ : ndarray of Axes
        All axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    LatentFactorDisplay : The other way: what latents make of the factors.
    ReconstructionDisplay : Whether what is decoded resembles the data.

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

    def __init__(
        self,
        decoded: ArrayLike,
        *,
        steps: ArrayLike,
        labels: Sequence[str] | None = None,
        rest: str = "",
        title: str | None = None,
        image_shape: Sequence[int] | None = None,
    ) -> None:
        self.decoded = decoded
        self.steps = steps
        self.labels = labels
        self.rest = rest
        self.title = title
        self.image_shape = image_shape

    @classmethod
    @validate_params(
        {
            "base": [StrOptions({"prior"}), Interval(Integral, 0, None, closed="left")],
            "order": [StrOptions(_ORDERS), "array-like"],
            "n_latents": [Interval(Integral, 1, None, closed="left"), None],
            "n_steps": [Interval(Integral, 2, None, closed="left")],
            "max_std": [Interval(Real, 0, None, closed="neither")],
            "factor_names": ["array-like", None],
            "relevance": [str],
            "relevance_params": [dict, None],
            "image_shape": ["array-like", None],
        },
        prefer_skip_nested_validation=True,
    )
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        base: str | int = "prior",
        order: str | Sequence[int] = "auto",
        n_latents: int | None = None,
        n_steps: int = 11,
        max_std: float = 2.0,
        factor_names: Sequence[str] | None = None,
        relevance: str = "mutual_info",
        relevance_params: dict[str, Any] | None = None,
        image_shape: Sequence[int] | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Decode traversals of a fitted model, and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer that can be inverted, a Pipeline that ends in one, or a search.
        X : array-like
            Observations: they order the latents and, for a model without a prior, say how far
            codes go.
        y : array-like of shape (n_samples, n_factors) or None, default=None
            Factors of X, to order the latents by.
        base : "prior" or int, default="prior"
            Where the other latents rest: at the mean of the prior, or at the code of this
            observation of X (a posterior traversal).
        order : {"auto", "kl", "std", "factor", "index"} or list of int, default="auto"
            - "kl": by the mean KL divergence of the posterior from N(0, 1), largest first;
            - "std": by the standard deviation of the codes, largest first;
            - "factor": the latents that are matched one to one with the factors, in the order
              of the factors, then the others;
            - "index": as they are;
            - a list: these latents.
            - "auto": "factor" if there is `y`, else "kl" if the model has a posterior, else "std".
        n_latents : int or None, default=None
            How many to draw; all if None.
        n_steps : int, default=11
            Number of values of each latent.
        max_std : float, default=2.0
            Range: latents go from ``-max_std`` to ``max_std`` standard deviations of the prior,
            or around the mean of their codes in a model without one.
        factor_names : list of str or None, default=None
            Names for the labels.
        relevance : str, default="mutual_info"
            Kind of :func:`~sklearn_disent.metrics.relevance_matrix` that matches latents with
            factors.
        relevance_params : dict or None, default=None
            Its options, such as ``{"factor_bins": 10}`` for continuous factors.
        image_shape : tuple or None, default=None
            Shape of one image, if rows are images; that of the estimator's images if None.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : TraversalDisplay
        """
        coder = coder_of(estimator, X, cls.__name__)
        order = _resolve(order, coder, y)
        names = _matched_names(order, coder, y, factor_names, relevance, relevance_params)
        latents, labels = _ordered(order, coder, names)
        latents, labels = latents[:n_latents], labels[:n_latents]
        steps = np.linspace(-max_std, max_std, n_steps)
        display = cls(
            _decode(coder, latents, steps, base),
            steps=steps,
            labels=labels,
            rest="all others at their mean"
            if base == "prior"
            else f"all others at the code of sample {base}",
            title=_title(coder, base),
            image_shape=coder.image_shape if image_shape is None else image_shape,
        )
        display.latents_ = latents
        return display.plot(ax, **options)

    def plot(
        self, ax: "Axes | None" = None, *, cmap: str | None = None, yscale: str = "linear"
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str or None, default=None
            Colours of images of one channel, "gray" if None ("gray_r" draws them as ink on
            paper); of the curves, "viridis" if None.
        yscale : str, default="linear"
            Scale of the curves; "symlog" serves features of very different size.

        Returns
        -------
        self : TraversalDisplay
        """
        decoded, labels = self._checked()
        images = self._images(decoded)
        if images is None:
            self._plot_rows(ax, decoded, labels, cmap or "viridis", yscale)
        else:
            self._plot_images(ax, images, labels, cmap or "gray")
        self.figure_ = self.axes_.flat[0].figure
        return self

    def to_gif(self, path: str | Path, *, duration: float = 0.1, cmap: str = "gray") -> Path:
        """Write an animation in which all latents move at once, each in its own picture.

        Parameters
        ----------
        path : str or Path
            The file, usually ``*.gif``.
        duration : float, default=0.1
            Seconds per step.
        cmap : str, default="gray"
            Colours of images of one channel.

        Returns
        -------
        path : Path
            The file.
        """
        caller = f"{type(self).__name__}.to_gif"
        pyplot(caller)
        from matplotlib.animation import FuncAnimation, PillowWriter
        from matplotlib.figure import Figure

        decoded, labels = self._checked()
        images = self._images(decoded)
        if images is None:
            raise ValueError(
                f"{caller} needs images, got rows of {decoded.shape[2]} features. Give "
                "image_shape if they are images."
            )
        n_columns = min(5, len(images))
        n_rows = -(-len(images) // n_columns)
        figure = Figure(figsize=(1.5 * n_columns, 1.7 * n_rows + 0.4), layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False).flat
        shown = []
        for panel, image, label in zip(axes, images[:, 0], labels):
            shown.append(panel.imshow(image, cmap=cmap, vmin=0, vmax=1))
            panel.set_title(label, fontsize=9)
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
        FuncAnimation(figure, draw, frames=order).save(path, PillowWriter(fps=1 / duration))
        return path

    def _checked(self) -> tuple[NDArray, list[str]]:
        decoded = np.asarray(self.decoded)
        if decoded.ndim < 3 or decoded.shape[1] != len(self.steps):
            raise ValueError(
                "decoded must be (n_latents, n_steps, ...) with one step per entry of steps, got "
                f"shape {decoded.shape} and {len(self.steps)} steps."
            )
        return decoded, names_of(self.labels, None, len(decoded), "z", "labels")

    def _images(self, decoded: NDArray) -> NDArray | None:
        flat = decoded.reshape(-1, *decoded.shape[2:])
        images = as_images(flat, self.image_shape)
        if images is None:
            return None
        return intensities(images)[0].reshape(*decoded.shape[:2], *images.shape[1:])

    def _plot_images(
        self, ax: "Axes | None", images: NDArray, labels: list[str], cmap: str
    ) -> None:
        n_latents, n_steps = images.shape[:2]
        size = 0.62 * n_steps + 1.4, 0.62 * n_latents + 0.9
        self.ax_ = one_axes(ax, size, type(self).__name__)
        show_mosaic(self.ax_, images, cmap=cmap)
        rows, columns = centers(images)
        self.ax_.set_yticks(rows, labels, fontsize=9)
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
        self,
        ax: "Axes | ArrayLike | None",
        decoded: NDArray,
        labels: list[str],
        cmap: str,
        yscale: str,
    ) -> None:
        import matplotlib

        n_columns = min(4, len(decoded))
        n_rows = -(-len(decoded) // n_columns)
        size = 2.4 * n_columns + 1.0, 2.0 * n_rows + 0.8
        shape = n_rows, n_columns
        axes = axes_grid(ax, shape, size, type(self).__name__, sharex=True, sharey=True)
        steps = np.asarray(self.steps)
        norm = matplotlib.colors.Normalize(steps.min(), steps.max())
        colors = matplotlib.colormaps[cmap](norm(steps))
        in_plane = decoded.shape[2] == 2
        for panel, rows, label in zip(axes.flat, decoded, labels):
            if in_plane:
                panel.plot(*rows.T, color="0.7", linewidth=1, zorder=1)
                panel.scatter(*rows.T, color=colors, s=18, zorder=2)
            else:
                for row, color in zip(rows, colors):
                    panel.plot(row, color=color, linewidth=1)
            panel.set_yscale(yscale)
            panel.set_title(label, fontsize=9)
        for panel in axes.flat[len(decoded) :]:
            panel.set_axis_off()
        for panel in axes[-1]:
            panel.set_xlabel("feature 0" if in_plane else "feature")
        for panel in axes[:, 0]:
            panel.set_ylabel("feature 1" if in_plane else "decoded value")
        mappable = matplotlib.cm.ScalarMappable(norm, cmap)
        label = self._axis_label().replace(", ", ",\n")
        axes.flat[0].figure.colorbar(mappable, ax=axes, label=label)
        self.ax_, self.axes_ = None, axes


def _title(coder: Coder, base: str | int) -> str:
    if not hasattr(coder.estimator, "posterior"):
        return "latent traversals"
    return "prior traversals" if base == "prior" else "posterior traversals"


def _resolve(order: Any, coder: Coder, y: Any) -> Any:
    """What "auto" means here; an error where an order cannot be had."""
    has_posterior = hasattr(coder.estimator, "posterior")
    if isinstance(order, str) and order == "auto":
        return "factor" if y is not None else "kl" if has_posterior else "std"
    if isinstance(order, str) and order == "factor" and y is None:
        raise ValueError("order='factor' needs the factors of X, got y=None.")
    if isinstance(order, str) and order == "kl" and not has_posterior:
        raise ValueError(
            f"order='kl' needs a posterior, and {type(coder.estimator).__name__} has none. Use "
            "order='std'."
        )
    return order


def _matched_names(
    order: Any,
    coder: Coder,
    y: Any,
    factor_names: Sequence[str] | None,
    kind: str,
    params: dict[str, Any] | None,
) -> dict[int, str]:
    """Latent -> name of the factor that is matched with it, in the order of the factors."""
    if y is None:
        return {}
    relevance = relevance_matrix(y, coder.codes, kind=kind, **(params or {}))
    names = names_of(factor_names, y, len(relevance), "factor ", "factor_names")
    return {j: names[k] for k, j in assignment(relevance).items()}


def _ordered(order: Any, coder: Coder, names: dict[int, str]) -> tuple[NDArray, list[str]]:
    """Latents in order, and what to write beside them."""
    n_latents = coder.codes.shape[1]
    texts = [f"z{j}" for j in range(n_latents)]
    if hasattr(coder.estimator, "posterior"):
        amount = _kl(*coder.estimator.posterior(coder.inner_X))
        texts = [f"{text}, KL {kl:.1f}" for text, kl in zip(texts, amount)]
    else:
        amount = coder.codes.std(axis=0)
        texts = [f"{text}, std {std:.2g}" for text, std in zip(texts, amount)]
    if isinstance(order, str) and order == "std":
        amount = coder.codes.std(axis=0)
    if isinstance(order, str):
        latents = np.arange(n_latents) if order == "index" else np.argsort(-amount, kind="stable")
        if order == "factor":
            latents = np.array([*names, *(j for j in latents if j not in names)])
    else:
        latents = _check_latents(order, n_latents)
    return latents, [f"{names[j]}: {texts[j]}" if j in names else texts[j] for j in latents]


def _kl(mean: NDArray, log_var: NDArray) -> NDArray:
    """Mean KL divergence of N(mean, exp(log_var)) from N(0, 1), per latent, in nats."""
    return 0.5 * (mean**2 + np.exp(log_var) - log_var - 1).mean(axis=0)


def _check_latents(order: Any, n_latents: int) -> NDArray:
    latents = np.asarray(order)
    is_index = latents.ndim == 1 and latents.size and latents.dtype.kind in "iu"
    if not is_index or latents.min() < 0 or latents.max() >= n_latents:
        raise ValueError(
            f"order must be one of {sorted(_ORDERS)} or a list of latents between 0 and "
            f"{n_latents - 1}, got {order!r}."
        )
    return latents


def _decode(coder: Coder, latents: NDArray, steps: NDArray, base: str | int) -> NDArray:
    n_codes = coder.codes.shape[1]
    normal = np.repeat(steps[:, None], n_codes, axis=1)
    if hasattr(coder.estimator, "posterior"):
        # A learnt prior maps N(0, 1) to each latent: its steps are those of equal quantiles.
        from_normal = getattr(coder.estimator, "_from_normal", lambda normal: normal)
        values, center = from_normal(normal), from_normal(np.zeros((1, n_codes)))[0]
    else:
        center = coder.codes.mean(axis=0)
        values = center + normal * coder.codes.std(axis=0)
    if base != "prior":
        if base >= len(coder.codes):
            raise ValueError(
                f"base={base} is no observation of X, which has {len(coder.codes)} of them."
            )
        center = coder.codes[base]
    codes = np.tile(center, (len(latents), len(steps), 1))
    for row, latent in zip(codes, latents):
        row[:, latent] = values[:, latent]
    decoded = coder.decode(codes.reshape(-1, n_codes).astype(coder.codes.dtype))
    return decoded.reshape(*codes.shape[:2], *decoded.shape[1:])
