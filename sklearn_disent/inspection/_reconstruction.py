"""Observations and their reconstructions."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._params import ImageShape, PositiveInt, Scale, validated
from ._common import (
    COLORS,
    Axes,
    Colormap,
    check_drawing,
    coder_of,
    colormap,
    label_edges,
    one_axes,
    panel_grid,
)
from ._images import as_images, centers, intensities, show_mosaic


@dataclass(eq=False, repr=False)
class ReconstructionDisplay:
    """Observations above, their reconstructions below.

    Images of one or three channels are drawn as images, other rows as curves over their features,
    with the reconstruction dashed.

    Parameters
    ----------
    originals : array-like of shape (n_samples, ...)
        Images (n, height, width), (n, channels, height, width) or (n, height, width, channels),
        or rows (n, features).
    reconstructions : array-like of the same shape
        What the model decodes from their codes.
    image_shape : tuple of int or None, default=None
        Shape of one image if rows are images: (height, width) or (channels, height, width).

    Attributes
    ----------
    ax_ : Axes or None
        The axes of images, None for rows.
    axes_ : ndarray of Axes
        All axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    TraversalDisplay : What each latent encodes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.inspection import ReconstructionDisplay
    >>> X = load_digits().data
    >>> pca = PCA(8).fit(X)
    >>> display = ReconstructionDisplay.from_estimator(pca, X, image_shape=(8, 8))
    >>> display.ax_.get_title()
    'reconstructions'
    """

    originals: ArrayLike
    reconstructions: ArrayLike
    _: KW_ONLY
    image_shape: ImageShape | None = None
    ax_: Axes | None = field(init=False)

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_samples: PositiveInt = 10,
        image_shape: ImageShape | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Encode and decode the first observations, and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer with ``inverse_transform``, a Pipeline that ends in one, or a
            search over either. If every step of a Pipeline can be inverted, what is drawn is on
            the scale of X, else on that of the last step.
        X : array-like
            Observations.
        n_samples : int, default=10
            How many observations to draw.
        image_shape : tuple of int or None, default=None
            Shape of one image if rows are images; that of the estimator's images if None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Rows need as many axes as there are observations,
            or one to be divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : ReconstructionDisplay
        """
        check_drawing(cls.from_estimator, options)
        coder = coder_of(estimator, X[:n_samples], cls.__name__)
        shape = coder.image_shape if image_shape is None else image_shape
        display = cls(coder.X, coder.decode(coder.codes), image_shape=shape)
        return display.plot(ax, **options)

    @classmethod
    @validated
    def from_predictions(
        cls,
        originals: ArrayLike,
        reconstructions: ArrayLike,
        *,
        image_shape: ImageShape | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw observations and reconstructions that are there already.

        Parameters
        ----------
        originals, reconstructions : array-like of the same shape
            Images or rows.
        image_shape : tuple of int or None, default=None
            Shape of one image if rows are images: (height, width) or (channels, height, width).
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Rows need as many axes as there are observations,
            or one to be divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : ReconstructionDisplay
        """
        check_drawing(cls.from_predictions, options)
        return cls(originals, reconstructions, image_shape=image_shape).plot(ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        cmap: str | Colormap = "gray",
        difference: bool = False,
        yscale: Scale = "linear",
    ) -> Self:
        """Draw the images in two rows, or one panel per row of features.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Rows need as many axes as there are observations,
            or one to be divided.
        cmap : str or Colormap, default="gray"
            Colors of images of one channel; "gray_r" draws them as ink on paper.
        difference : bool, default=False
            Whether a third row shows the absolute difference of images.
        yscale : {"linear", "log", "symlog", "asinh", "logit"}, default="linear"
            Scale of the curves; "symlog" suits features of very different size.

        Returns
        -------
        self : ReconstructionDisplay
        """
        colors = colormap(cmap)
        first, second = np.asarray(self.originals), np.asarray(self.reconstructions)
        if first.shape != second.shape or not len(first):
            raise ValueError(
                "originals and reconstructions must have the same shape and at least one sample, "
                f"got {first.shape} and {second.shape}."
            )
        images, others = (as_images(part, self.image_shape) for part in (first, second))
        if images is None or others is None:
            self._plot_rows(ax, first, second, yscale)
        else:
            self._plot_images(ax, np.stack(intensities(images, others)), colors, difference)
        self.figure_ = self.axes_.flat[0].figure
        return self

    def _plot_images(self, ax: Any, images: np.ndarray, cmap: Colormap, difference: bool) -> None:
        labels = ["original", "reconstruction"]
        if difference:
            images = np.concatenate([images, np.abs(images[:1] - images[1:])])
            labels.append("abs. difference")
        size = 0.8 * images.shape[1] + 1.2, 0.8 * len(images) + 0.5
        self.ax_ = one_axes(ax, size, type(self).__name__)
        show_mosaic(self.ax_, images, cmap)
        self.ax_.set_xticks([])
        self.ax_.set_yticks(centers(images)[0], labels, fontsize=9)
        self.ax_.set_title("reconstructions", fontsize=10)
        self.axes_ = np.array([self.ax_])

    def _plot_rows(self, ax: Any, first: np.ndarray, second: np.ndarray, yscale: Scale) -> None:
        axes = panel_grid(
            ax, len(first), min(5, len(first)), type(self).__name__,
            panel=(2.2, 1.7), margin=(0.5, 0.8), sharex=True, sharey=True,
        )  # fmt: skip
        marker = "o" if first.shape[1] <= 30 else None
        for panel, one, other, i in zip(axes.flat, first, second, range(len(first))):
            panel.plot(one, color=COLORS[0], marker=marker, markersize=3, label="original")
            panel.plot(
                other, color=COLORS[1], linestyle="--", marker=marker, markersize=3,
                label="reconstruction",
            )  # fmt: skip
            panel.set_yscale(yscale)
            panel.set_title(f"sample {i}", fontsize=9)
        label_edges(axes, "feature", "value")
        axes.flat[0].legend(frameon=False, fontsize=8)
        self.ax_, self.axes_ = None, axes
