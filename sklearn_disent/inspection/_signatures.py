"""Topological signatures of latents and factors, in pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._params import (
    AtLeastTwo,
    FactorBins,
    NanPolicy,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Verbose,
    validated,
)
from ..metrics.topology._living_times import Backend, Settings
from ..metrics.topology._score import (
    Plan,
    Signature,
    factor_signatures,
    latent_signatures,
    value_distances,
)
from ..metrics.topology._submanifolds import Embedding, Prior
from ._common import axes_grid, names_of, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SignatureDisplay:
    """Topological signatures: one panel for each latent or factor, one curve for each value.

    A signature says for what share of the scales a cloud of observations has 0, 1, 2, ... holes,
    when one latent or factor is held at one value. Curves of one panel that lie on each other
    mean that the value does not matter; panels that look alike cannot be told apart.

    Parameters
    ----------
    signatures : sequence of array-like of shape (n_values, max_holes)
        Histograms over the number of holes, one array for each latent or factor; the numbers of
        values may differ.
    names : sequence of str, default=None
        Names of the latents or factors; their positions if None.
    similarity : array-like of shape (n_all_values, n_all_values), default=None
        Similarity of all signatures, in the same order, between 0 and 1.

    Attributes
    ----------
    figure_ : Figure
        The figure.
    axes_ : ndarray of Axes
        The axes.

    See Also
    --------
    sklearn_disent.metrics.manifold_topology_score : The score of these signatures.
    sklearn_disent.metrics.relative_living_times : What they are made of.

    References
    ----------
    Zhou, Zelikman, Lu, Ng, Carlsson and Ermon (2021). Evaluating the disentanglement of deep
    generative models through manifold topology. ICLR. Figures 10 and 11.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from sklearn_disent.inspection import SignatureDisplay
    >>> angle, radius = np.random.default_rng(0).integers(12, size=(2, 600))
    >>> ring = (1 + radius)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> display = SignatureDisplay.from_factors(
    ...     ring, np.column_stack([angle, radius]) // 6, factor_names=["angle", "radius"],
    ...     n_repeats=5, random_state=0)
    >>> [signatures.shape for signatures in display.signatures]
    [(2, 100), (2, 100)]
    """

    def __init__(
        self,
        signatures: Sequence[ArrayLike],
        *,
        names: Sequence[str] | None = None,
        similarity: ArrayLike | None = None,
    ) -> None:
        self.signatures = signatures
        self.names = names
        self.similarity = similarity

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        code_names: Sequence[str] | None = None,
        prior: Prior = "normal",
        embedding: Embedding | None = None,
        n_samples: PositiveInt = 1000,
        n_values: PositiveInt = 10,
        n_landmarks: PositiveInt = 32,
        gamma: PositiveShare = 1 / 8,
        n_repeats: PositiveInt = 100,
        max_holes: AtLeastTwo = 100,
        backend: Backend = "numpy",
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: Verbose = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Signatures of the latents of a generative model.

        Parameters
        ----------
        estimator : estimator with `inverse_transform`
            Fitted.
        X : array-like, default=None
            Observations, for ``prior="encoded"`` only.
        code_names : sequence of str, default=None
            Names of the latents.
        prior, embedding, n_samples, n_values, n_landmarks, gamma, n_repeats, max_holes
            As in :func:`sklearn_disent.metrics.manifold_topology_score`.
        backend, random_state, n_jobs, verbose
            Likewise; the same `random_state` gives the signatures of the score.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : SignatureDisplay
        """
        settings = Settings(n_landmarks, gamma, n_repeats, max_holes, "clip", backend)
        plan = Plan(n_samples, n_values, embedding, settings, n_jobs, verbose)
        rng = check_random_state(random_state)
        found = latent_signatures(estimator, X, prior, plan, rng)
        names = names_of(code_names, None, len(found), "z", "code_names")
        return cls._from_signatures(found, names).plot(ax, **options)

    @classmethod
    @validated
    def from_factors(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        factor_names: Sequence[str] | None = None,
        embedding: Embedding | None = None,
        n_samples: PositiveInt = 1000,
        n_values: PositiveInt = 10,
        n_landmarks: PositiveInt = 32,
        gamma: PositiveShare = 1 / 8,
        n_repeats: PositiveInt = 100,
        max_holes: AtLeastTwo = 100,
        factor_bins: FactorBins | None = None,
        nan_policy: NanPolicy = "raise",
        backend: Backend = "numpy",
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: Verbose = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Signatures of the factors of real observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        factor_names : sequence of str, default=None
            Names of all factors of `y`, whether they turn out to be usable or not.
        embedding, n_samples, n_values, n_landmarks, gamma, n_repeats, max_holes
            As in :func:`sklearn_disent.metrics.manifold_topology_score`.
        factor_bins, nan_policy, backend, random_state, n_jobs, verbose
            Likewise.
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : SignatureDisplay
        """
        settings = Settings(n_landmarks, gamma, n_repeats, max_holes, "clip", backend)
        plan = Plan(n_samples, n_values, embedding, settings, n_jobs, verbose)
        rng = check_random_state(random_state)
        found = factor_signatures(X, y, factor_bins, nan_policy, plan, rng)
        if not found:
            raise ValueError(
                "None of the factors has two values, one of them with at least "
                f"n_landmarks={n_landmarks} rows: there is no signature to show."
            )
        names = names_of(factor_names, y, np.shape(y)[1], "factor ", "factor_names")
        return cls._from_signatures(found, names).plot(ax, **options)

    @classmethod
    def _from_signatures(cls, found: list[Signature], names: list[str]) -> Self:
        return cls(
            [signature.histograms() for signature in found],
            names=[names[signature.number] for signature in found],
            similarity=1.0 - value_distances(found),
        )

    def plot(
        self,
        ax: "Axes | ArrayLike | None" = None,
        *,
        n_columns: int = 5,
        n_shown: int | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the signatures.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        n_columns : int, default=5
            Panels side by side, at most.
        n_shown : int or None, default=None
            Largest number of holes on the axis; the largest that occurs if None.
        **line_kw
            Passed to ``Axes.plot``.

        Returns
        -------
        self : SignatureDisplay
        """
        signatures, names = self._checked()
        n_columns = min(len(signatures), n_columns)
        n_rows = -(-len(signatures) // n_columns)
        size = (2.4 * n_columns + 0.4, 2.0 * n_rows + 0.4)
        axes = axes_grid(
            ax, (n_rows, n_columns), size, "SignatureDisplay.plot", sharex=True, sharey=True
        )
        last = _last_hole(signatures) if n_shown is None else n_shown
        for panel, histograms, name in zip(axes.flat, signatures, names):
            _draw_curves(panel, histograms, last, line_kw)
            panel.set_title(name, fontsize="medium")
        for panel in axes.flat[len(signatures) :]:
            panel.set_axis_off()
        for panel in axes[:, 0]:
            panel.set_ylabel("share of scales")
        for column in range(n_columns):
            lowest = (len(signatures) - 1 - column) // n_columns
            axes[lowest, column].set_xlabel("holes")
            axes[lowest, column].tick_params(labelbottom=True)
        self.axes_ = axes
        self.figure_ = axes[0, 0].figure
        return self

    def plot_similarity(
        self, ax: "Axes | None" = None, *, colorbar: bool = True, **image_kw: Any
    ) -> Self:
        """Draw the similarity between all values of all latents or factors.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        colorbar : bool, default=True
            Whether to draw a bar of the colors.
        **image_kw
            Passed to ``Axes.imshow``.

        Returns
        -------
        self : SignatureDisplay
        """
        signatures, names = self._checked()
        sizes = np.array([len(histograms) for histograms in signatures])
        if self.similarity is None or np.shape(self.similarity) != (sizes.sum(),) * 2:
            raise ValueError(
                f"similarity must have shape ({sizes.sum()}, {sizes.sum()}), each signature a "
                f"row, got {None if self.similarity is None else np.shape(self.similarity)}."
            )
        ax = one_axes(ax, (5.2, 4.4), "SignatureDisplay.plot_similarity")
        image = ax.imshow(np.asarray(self.similarity), **{"interpolation": "nearest", **image_kw})
        ends = np.cumsum(sizes)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="white", linewidth=0.8)
            ax.axvline(end - 0.5, color="white", linewidth=0.8)
        middles = ends - (sizes + 1) / 2
        ax.set_xticks(middles, names, rotation=45, ha="right")
        ax.set_yticks(middles, names)
        if colorbar:
            ax.figure.colorbar(image, ax=ax, label="similarity of signatures")
        self.axes_ = np.array([[ax]])
        self.figure_ = ax.figure
        return self

    def _checked(self) -> tuple[list[NDArray[np.float64]], list[str]]:
        signatures = [np.asarray(histograms, dtype=np.float64) for histograms in self.signatures]
        if not signatures or any(h.ndim != 2 or h.size == 0 for h in signatures):
            shapes = [h.shape for h in signatures]
            raise ValueError(
                f"signatures must be arrays of shape (n_values, max_holes), got shapes {shapes}."
            )
        return signatures, names_of(self.names, None, len(signatures), "", "names")


def _draw_curves(
    panel: Any, histograms: NDArray[np.float64], last: int, line_kw: dict[str, Any]
) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    # Neighbouring values in neighbouring colors: an ordered factor shows as a drift.
    colors = colormaps["viridis"](np.linspace(0.0, 0.9, len(histograms)))
    for histogram, color in zip(histograms, colors):
        style = {"color": color, "linewidth": 1.2, "alpha": 0.8, **line_kw}
        panel.plot(np.arange(len(histogram)), histogram, **style)
    panel.set_xlim(0, last)
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _last_hole(signatures: list[NDArray[np.float64]]) -> int:
    occurs = [np.flatnonzero((histograms > 1e-3).any(axis=0)) for histograms in signatures]
    return max(2, *(int(holes.max(initial=0)) + 1 for holes in occurs))
