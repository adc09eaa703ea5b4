"""Observations beside what a model makes of them."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, validate_params

from ._common import COLORS, axes_grid, coder_of, one_axes
from ._images import as_images, centers, intensities, show_mosaic

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReconstructionDisplay:
    """Observations above, their reconstructions below.

    Images of one or three channels are drawn as such; other rows as curves over their features,
    the reconstruction dashed.

    Parameters
    ----------
    originals : array-like of shape (n_samples, ...)
        Images (n, height, width), (n, channels, height, width) or (n, height, width, channels),
        or rows (n, features).
    reconstructions : array-like of the same shape
        What the model makes of them.
    image_shape : tuple or None, default=None
        Shape of one image, if rows are images: (height, width) or (channels, height, width).

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
    TraversalDisplay : What each latent does.

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

    def __init__(
        self,
        originals: ArrayLike,
        reconstructions: ArrayLike,
        *,
        image_shape: Sequence[int] | None = None,
    ) -> None:
        self.originals = originals
        self.reconstructions = reconstructions
        self.image_shape = image_shape

    @classmethod
    @validate_params(
        {
            "n_samples": [Interval(Integral, 1, None, closed="left")],
            "image_shape": ["array-like", None],
        },
        prefer_skip_nested_validation=True,
    )
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_samples: int = 10,
        image_shape: Sequence[int] | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Encode and decode the first observations, and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer that can be inverted, a Pipeline that ends in one, or a search.
            Where all steps of a Pipeline can be undone, what is drawn is on the scale of X, else
            on that of the last step.
        X : array-like
            Observations.
        n_samples : int, default=10
            How many to draw.
        image_shape : tuple or None, default=None
            Shape of one image, if rows are images; that of the estimator's images if None.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : ReconstructionDisplay
        """
        coder = coder_of(estimator, X[:n_samples], cls.__name__)
        shape = coder.image_shape if image_shape is None else image_shape
        display = cls(coder.X, coder.decode(coder.codes), image_shape=shape)
        return display.plot(ax, **options)

    @classmethod
    def from_predictions(
        cls,
        originals: ArrayLike,
        reconstructions: ArrayLike,
        *,
        image_shape: Sequence[int] | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw observations and reconstructions at hand.

        Parameters
        ----------
        originals, reconstructions : array-like of the same shape
            Images or rows.
        image_shape : tuple or None, default=None
            Shape of one image, if rows are images.
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : ReconstructionDisplay
        """
        return cls(originals, reconstructions, image_shape=image_shape).plot(ax, **options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cmap: str = "gray",
        difference: bool = False,
        yscale: str = "linear",
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        cmap : str, default="gray"
            Colours of images of one channel; "gray_r" draws them as ink on paper.
        difference : bool, default=False
            Whether a third row shows the absolute difference of images.
        yscale : str, default="linear"
            Scale of the curves; "symlog" serves features of very different size.

        Returns
        -------
        self : ReconstructionDisplay
        """
        first, second = np.asarray(self.originals), np.asarray(self.reconstructions)
        if first.shape != second.shape or not len(first):
            raise ValueError(
                "originals and reconstructions must have the same shape and at least one sample, "
                f"got {first.shape} and {second.shape}."
            )
        images = as_images(first, self.image_shape)
        if images is None:
            self._plot_rows(ax, first, second, yscale)
        else:
            images = intensities(images, as_images(second, self.image_shape))
            self._plot_images(ax, np.stack(images), cmap, difference)
        self.figure_ = self.axes_.flat[0].figure
        return self

    def _plot_images(
        self, ax: "Axes | None", images: np.ndarray, cmap: str, difference: bool
    ) -> None:
        labels = ["original", "reconstruction"]
        if difference:
            images = np.concatenate([images, np.abs(images[:1] - images[1:])])
            labels.append("abs. difference")
        size = 0.8 * images.shape[1] + 1.2, 0.8 * len(images) + 0.5
        self.ax_ = one_axes(ax, size, type(self).__name__)
        show_mosaic(self.ax_, images, cmap=cmap)
        self.ax_.set_xticks([])
        self.ax_.set_yticks(centers(images)[0], labels, fontsize=9)
        self.ax_.set_title("reconstructions", fontsize=10)
        self.axes_ = np.array([self.ax_])

    def _plot_rows(
        self, ax: "Axes | None", first: np.ndarray, second: np.ndarray, yscale: str
    ) -> None:
        n_columns = min(5, len(first))
        n_rows = -(-len(first) // n_columns)
        size = 2.2 * n_columns + 0.5, 1.7 * n_rows + 0.8
        shape = n_rows, n_columns
        axes = axes_grid(ax, shape, size, type(self).__name__, sharex=True, sharey=True)
        marker = "o" if first.shape[1] <= 30 else None
        for panel, one, other, i in zip(axes.flat, first, second, range(len(first))):
            panel.plot(one, color=COLORS[0], marker=marker, markersize=3, label="original")
            panel.plot(
                other, color=COLORS[1], linestyle="--", marker=marker, markersize=3,
                label="reconstruction",
            )  # fmt: skip
            panel.set_yscale(yscale)
            panel.set_title(f"sample {i}", fontsize=9)
        for panel in axes.flat[len(first) :]:
            panel.set_axis_off()
        for panel in axes[-1]:
            panel.set_xlabel("feature")
        for panel in axes[:, 0]:
            panel.set_ylabel("value")
        axes.flat[0].legend(frameon=False, fontsize=8)
        self.ax_, self.axes_ = None, axes
