"""Counterfactuals of a model: what it draws as latents move, and what a judge says about it."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import (
    AtLeastTwo,
    ImageShape,
    Names,
    NonNegativeInt,
    PositiveInt,
    PositiveShare,
    Share,
    validated,
)
from ..metrics._validation import check_data
from ..metrics.intervention._sets import Choice, SetRule
from ..metrics.of_models._counterfactual import Baseline
from ..metrics.of_models._effects import Decoder, Selection, baseline_of, latent_sets
from ..metrics.of_models._judges import Judges, is_fitted, labels_of
from ._common import (
    COLORS,
    Axes,
    Colormap,
    axes_grid,
    check_drawing,
    coder_of,
    colormap,
    names_of,
)
from ._images import as_images, centers, intensities, show_mosaic

_VERSIONS = ("decoded", "own latents moved", "others moved")


@dataclass(eq=False, repr=False)
class CounterfactualDisplay:
    """One image and its counterfactuals, factor by factor, with what a judge says about them.

    Each row is a factor: the observation, the decoded image, the image with the factor's own
    latents moved to a baseline, that with all others moved, and the probabilities that a judge
    gives to the values of the factor. If the latents of a factor generate it, the true value (in
    bold) loses its probability in the first case and keeps it in the second: see
    :func:`~sklearn_disent.metrics.counterfactual_generativeness_score`.

    Parameters
    ----------
    images : array-like of shape (n_factors, 4, ...)
        Observation, decoded image, own latents moved, others moved.
    probabilities : sequence of n_factors array-like of shape (3, n_classes)
        What the judge gives to the values of each factor in the last three images.
    truths : sequence of n_factors int
        Which value is the true one.
    class_names : sequence of n_factors sequences of str or None, default=None
        Names of the values.
    factor_names : sequence of str or None, default=None
        Names of the factors.
    latents : sequence of n_factors sequences of int or None, default=None
        Which latents are those of each factor.
    image_shape : tuple of int or None, default=None
        Shape of one image if rows are images: (height, width) or (channels, height, width).

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (n_factors, 2)
        Axes of the images and of the bars.
    figure_ : Figure
        The figure.

    See Also
    --------
    TraversalDisplay : What each latent encodes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_disent.inspection import CounterfactualDisplay
    >>> y = np.random.default_rng(0).integers(2, size=(200, 2))
    >>> X = np.zeros((200, 16))
    >>> X[:, :8], X[:, 8:] = y[:, :1], 0.5 * y[:, 1:]
    >>> judges = [DecisionTreeClassifier().fit(X, column) for column in y.T]
    >>> display = CounterfactualDisplay.from_estimator(
    ...     PCA(2).fit(X), X, y, judge=judges, image_shape=(4, 4))
    >>> display.axes_.shape
    (2, 2)
    """

    images: ArrayLike
    probabilities: Sequence[ArrayLike]
    truths: Sequence[int]
    _: KW_ONLY
    class_names: Sequence[Sequence[str]] | None = None
    factor_names: Names | None = None
    latents: Sequence[Sequence[int]] | None = None
    image_shape: ImageShape | None = None
    axes_: NDArray[Any] = field(init=False)

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        judge: Any,
        sample: NonNegativeInt = 0,
        rho: PositiveInt = 1,
        sets: SetRule = "top",
        threshold: Share = 0.5,
        baseline: Baseline = "farthest",
        q: PositiveShare = 0.99,
        factor_names: Names | None = None,
        image_shape: ImageShape | None = None,
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Move the latents of one observation, and draw what comes out.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform`` and ``inverse_transform``.
        X : array-like
            Observations, by which the latents of each factor are chosen.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        judge : scorer, list of fitted classifiers, or a fitted classifier of all factors
            What judges the images; a
            :class:`~sklearn_disent.metrics.CounterfactualGenerativenessScorer` has such.
        sample : int, default=0
            Which observation to draw.
        rho : int, default=1
            Number of latents per factor.
        sets : {"top", "threshold", "matching"}, default="top"
            How latents are chosen, see
            :func:`~sklearn_disent.metrics.unconfoundedness_score`.
        threshold : float, default=0.5
            Least robustness of the latents of a factor, if `sets` is "threshold".
        baseline : {"farthest", "zero", "mean"}, default="farthest"
            Where latents are moved to, see
            :func:`~sklearn_disent.metrics.counterfactual_generativeness_score`.
        q : float, default=0.99
            Quantile of the deviations by which latents are chosen.
        factor_names : sequence of str or None, default=None
            Names of the factors; those of the columns of a frame if None.
        image_shape : tuple of int or None, default=None
            Shape of one image if rows are images; that of the estimator's images if None.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Axes are divided; an array needs two per factor.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : CounterfactualDisplay
        """
        check_drawing(cls.from_estimator, options)
        given = getattr(judge, "classifiers", judge)
        if not is_fitted(given):
            raise TypeError(
                "judge must be a CounterfactualGenerativenessScorer, a list of fitted classifiers "
                f"or a fitted classifier of all factors, got {type(judge).__name__}."
            )
        judges = Judges(given)
        coder = coder_of(estimator, X, cls.__name__)
        checked = check_data(y, coder.codes)
        member = latent_sets(checked, Selection(Choice(sets, rho, threshold), q))
        target = baseline_of(checked.codes, baseline)[sample]
        here = checked.codes[sample]
        # All versions at once: decoded, then own and others for each factor.
        moved = [np.zeros_like(here, dtype=bool)]
        moved += [mask for own in member for mask in (own, ~own)]
        codes = np.where(moved, target, here)
        drawn, rows = coder.decode(codes), Decoder(estimator, X)(codes)
        images, probabilities, truths, classes = [], [], [], []
        for k in range(len(member)):
            which = [0, 1 + 2 * k, 2 + 2 * k]
            observed = intensities(coder.X[[sample]])[0]
            images.append(np.concatenate([observed, intensities(drawn[which])[0]]))
            probabilities.append(judges.probabilities(rows[which], k))
            classes.append([str(value) for value in judges.classes(k)])
            truths.append(judges.classes(k).index(labels_of(y, k)[sample].item()))
        shape = coder.image_shape if image_shape is None else image_shape
        return cls(
            np.array(images),
            probabilities,
            truths,
            class_names=classes,
            factor_names=names_of(factor_names, y, len(member), "factor ", "factor_names"),
            latents=[np.flatnonzero(own).tolist() for own in member],
            image_shape=shape,
        ).plot(ax, **options)

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        cmap: str | Colormap = "gray",
        n_classes: AtLeastTwo = 6,
    ) -> Self:
        """Draw a row per factor: images on the left, bars on the right.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. Axes are divided; an array needs two per factor.
        cmap : str or Colormap, default="gray"
            Colors of images of one channel.
        n_classes : int, default=6
            Most values of a factor that get bars: the true one, and those of the highest
            probability in any of the images.

        Returns
        -------
        self : CounterfactualDisplay
        """
        colors = colormap(cmap)
        images = np.asarray(self.images)
        if images.ndim < 3 or images.shape[1] != 4 or len(images) != len(self.probabilities):
            raise ValueError(
                "images must be four per factor, (n_factors, 4, ...), for as many factors as there "
                f"are probabilities, {len(self.probabilities)}, got shape {images.shape}."
            )
        names = names_of(self.factor_names, None, len(images), "factor ", "factor_names")
        figsize = 11.0, 1.5 * len(images) + 0.7
        self.axes_ = axes_grid(ax, (len(images), 2), figsize, type(self).__name__)
        for k, (left, right) in enumerate(self.axes_):
            self._plot_images(left, images[k], colors, names[k], k)
            self._plot_bars(right, k, n_classes)
        titles = ["observation", *(version.replace(" ", "\n", 1) for version in _VERSIONS)]
        pictures = as_images(images[0], self.image_shape)
        columns = centers(np.asarray(pictures)[None])[1]
        self.axes_[0, 0].set_xticks(columns, titles, fontsize=9)
        self.axes_[0, 0].xaxis.tick_top()
        self.axes_[0, 1].legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize=8
        )
        self.figure_ = self.axes_.flat[0].figure
        return self

    def _plot_images(self, ax: Axes, images: NDArray, cmap: Colormap, name: str, k: int) -> None:
        pictures = as_images(images, self.image_shape)
        if pictures is None:
            raise ValueError(
                "CounterfactualDisplay draws images, got rows. Give image_shape=(height, width) or "
                "(channels, height, width)."
            )
        show_mosaic(ax, np.stack(intensities(*pictures))[None], cmap)
        ax.set_xticks([])
        ax.set_yticks([])
        if self.latents is not None:
            listed = ", ".join(f"z{j}" for j in self.latents[k]) or "no latent"
            name = f"{name}\n({listed})"
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)

    def _plot_bars(self, ax: Axes, k: int, n_classes: int) -> None:
        table = np.asarray(self.probabilities[k])
        truth = int(self.truths[k])
        weight = table.max(axis=0)
        weight[truth] = np.inf
        chosen = np.sort(np.argsort(-weight, kind="stable")[:n_classes])
        names = [str(i) for i in range(table.shape[1])]
        if self.class_names is not None:
            names = list(self.class_names[k])
        places = np.arange(len(chosen))
        for i, (row, version) in enumerate(zip(table, _VERSIONS)):
            ax.bar(places + 0.27 * (i - 1), row[chosen], 0.25, color=COLORS[i], label=version)
        ax.set_xticks(places, [names[j] for j in chosen], fontsize=8)
        for tick, j in zip(ax.get_xticklabels(), chosen):
            tick.set_fontweight("bold" if j == truth else "normal")
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 1])
        ax.tick_params(length=0)
        ax.spines[["top", "right"]].set_visible(False)
