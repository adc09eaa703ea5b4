"""Topological signatures of latents and factors, in pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._params import (
    AtLeastTwo,
    FactorBins,
    Names,
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
from ._common import (
    Axes,
    check_drawing,
    image_options,
    line_options,
    names_of,
    one_axes,
    panel_grid,
)


@dataclass(eq=False, repr=False)
class SignatureDisplay:
    """Topological signatures: one panel for each latent or factor, one curve for each value.

    A signature tells for what share of the scales a cloud of observations has 0, 1, 2, ... holes
    while one latent or factor is held at one value. Where the curves of a panel coincide, the
    value does not matter; latents whose panels look alike cannot be told apart by topology.

    Parameters
    ----------
    signatures : sequence of array-like of shape (n_values, max_holes)
        Histograms over the number of holes, one array for each latent or factor; the numbers of
        values may differ.
    names : list of str or None, default=None
        Names of the latents or factors; their positions if None.
    similarity : array-like of shape (n_all_values, n_all_values) or None, default=None
        Similarity of all signatures, in the same order, between 0 and 1; only
        :meth:`plot_similarity` needs it.

    Attributes
    ----------
    axes_ : ndarray of Axes
        The axes.
    figure_ : Figure
        The figure.

    See Also
    --------
    sklearn_disent.metrics.manifold_topology_score : The score of these signatures.
    sklearn_disent.metrics.relative_living_times : What signatures are made of.

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

    signatures: Sequence[ArrayLike]
    _: KW_ONLY
    names: Sequence[str] | None = None
    similarity: ArrayLike | None = None

    @classmethod
    @validated
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        code_names: Names | None = None,
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
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the signatures of the latents of a generative model.

        They are those of :func:`~sklearn_disent.metrics.manifold_topology_score` with the same
        options and the same `random_state`.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``inverse_transform``: a VAE, a GAN, ``PCA(whiten=True)``, a Pipeline that
            ends in one, or a search over either.
        X : array-like or None, default=None
            Observations; only ``prior="encoded"`` needs them.
        code_names : list of str or None, default=None
            Names; "z0", "z1", ... if None.
        prior : {"normal", "uniform", "encoded"} or callable, default="normal"
            Where codes come from: independent standard normals; uniform ones in [-1, 1], as of
            InfoGAN; the codes of `X`, each latent drawn on its own; or ``prior(n, rng)``, which
            returns codes (n, n_latents).
        embedding : transformer, callable or None, default=None
            What turns observations into points: a fitted transformer, which gets them flattened,
            such as a PCA of images; a function, which gets them as they are; None only flattens.
        n_samples : int, default=1000
            Points of a submanifold.
        n_values : int, default=10
            Values at which each latent is held.
        n_landmarks : int, default=32
            Landmarks per repeat, drawn from the points with replacement.
        gamma : float, default=1/8
            Largest relaxation, relative to the largest distance from a point to a landmark.
        n_repeats : int, default=100
            How often landmarks are drawn anew.
        max_holes : int, default=100
            Number of bins: holes are counted from 0 to max_holes - 1.
        backend : {"numpy", "gudhi"}, default="numpy"
            Which code computes the holes. Both give the same; gudhi is an optional dependency.
        random_state : int, RandomState instance or None, default=None
            Draws codes, values and landmarks. The result does not depend on `n_jobs`.
        n_jobs : int or None, default=None
            Number of parallel workers over values and repeats, as in joblib.
        verbose : int, default=0
            If positive, a bar counts the latents done (joblib's messages without tqdm).
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : SignatureDisplay
        """
        check_drawing(cls.from_estimator, options)
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
        factor_names: Names | None = None,
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
        ax: Axes | ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the signatures of the factors of real observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Observations.
        y : array-like of shape (n_samples, n_factors)
            Their factors.
        factor_names : list of str or None, default=None
            Names; those of the columns of a DataFrame if None. All factors of `y` need one, even
            those that turn out not to be usable.
        embedding : transformer, callable or None, default=None
            What turns observations into points: a fitted transformer, which gets them flattened,
            such as a PCA of images; a function, which gets them as they are; None only flattens.
        n_samples : int, default=1000
            Points of a submanifold, at most.
        n_values : int, default=10
            Values at which each factor is held, at most as many as it has.
        n_landmarks : int, default=32
            Landmarks per repeat, drawn from the points with replacement.
        gamma : float, default=1/8
            Largest relaxation, relative to the largest distance from a point to a landmark.
        n_repeats : int, default=100
            How often landmarks are drawn anew.
        max_holes : int, default=100
            Number of bins: holes are counted from 0 to max_holes - 1.
        factor_bins : int, "unique" or None, default=None
            How continuous factors are binned; they are an error if None.
        nan_policy : {"raise", "omit"}, default="raise"
            Whether a missing value is an error or drops its row.
        backend : {"numpy", "gudhi"}, default="numpy"
            Which code computes the holes. Both give the same; gudhi is an optional dependency.
        random_state : int, RandomState instance or None, default=None
            Draws points and landmarks. The result does not depend on `n_jobs`.
        n_jobs : int or None, default=None
            Number of parallel workers over values and repeats, as in joblib.
        verbose : int, default=0
            If positive, a bar counts the factors done (joblib's messages without tqdm).
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        **options
            Passed to :meth:`plot`.

        Returns
        -------
        display : SignatureDisplay
        """
        check_drawing(cls.from_factors, options)
        settings = Settings(n_landmarks, gamma, n_repeats, max_holes, "clip", backend)
        plan = Plan(n_samples, n_values, embedding, settings, n_jobs, verbose)
        rng = check_random_state(random_state)
        found = factor_signatures(X, y, factor_bins, nan_policy, plan, rng)
        if not found:
            raise ValueError(
                "At least one factor must have two values, one of them with n_landmarks="
                f"{n_landmarks} or more rows, got none: there is no signature to show. Use more "
                "rows or fewer landmarks."
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

    @validated
    def plot(
        self,
        ax: Axes | ArrayLike | None = None,
        *,
        n_columns: PositiveInt = 5,
        n_shown: PositiveInt | None = None,
        line_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw one panel of signatures per latent or factor.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw; a new figure if None. One axes is divided.
        n_columns : int, default=5
            Number of panels side by side, at most.
        n_shown : int or None, default=None
            Largest number of holes on the axis; the largest that occurs if None.
        line_kw : dict or None, default=None
            Options of ``Axes.plot`` for the curves, such as ``{"color": "black"}``.

        Returns
        -------
        self : SignatureDisplay
        """
        style = line_options(line_kw)
        signatures, names = self._checked()
        n_columns = min(len(signatures), n_columns)
        axes = panel_grid(
            ax, len(signatures), n_columns, "SignatureDisplay.plot",
            panel=(2.4, 2.0), margin=(0.4, 0.4), sharex=True, sharey=True,
        )  # fmt: skip
        last = _last_hole(signatures) if n_shown is None else n_shown
        for panel, histograms, name in zip(axes.flat, signatures, names):
            _draw_curves(panel, histograms, last, style)
            panel.set_title(name, fontsize="medium")
        for panel in axes[:, 0]:
            panel.set_ylabel("share of scales")
        for column in range(n_columns):
            lowest = (len(signatures) - 1 - column) // n_columns
            axes[lowest, column].set_xlabel("holes")
            axes[lowest, column].tick_params(labelbottom=True)
        self.axes_ = axes
        self.figure_ = axes[0, 0].figure
        return self

    @validated
    def plot_similarity(
        self,
        ax: Axes | None = None,
        *,
        colorbar: bool = True,
        image_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the similarity between all values of all latents or factors as a heat map.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; a new figure if None.
        colorbar : bool, default=True
            Whether to draw a colorbar.
        image_kw : dict or None, default=None
            Options of ``Axes.imshow``, such as ``{"cmap": "gray"}``.

        Returns
        -------
        self : SignatureDisplay
        """
        style = {"interpolation": "nearest", **image_options(image_kw)}
        signatures, names = self._checked()
        sizes = np.array([len(histograms) for histograms in signatures])
        if self.similarity is None or np.shape(self.similarity) != (sizes.sum(),) * 2:
            raise ValueError(
                f"similarity must have shape ({sizes.sum()}, {sizes.sum()}), one row for each "
                f"signature, got {None if self.similarity is None else np.shape(self.similarity)}."
            )
        ax = one_axes(ax, (5.2, 4.4), "SignatureDisplay.plot_similarity")
        image = ax.imshow(np.asarray(self.similarity), **style)
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
    panel: Axes, histograms: NDArray[np.float64], last: int, options: Mapping[str, Any]
) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    # Neighboring values have neighboring colors: an ordered factor shows as a drift.
    colors = colormaps["viridis"](np.linspace(0.0, 0.9, len(histograms)))
    for histogram, color in zip(histograms, colors):
        style = {"color": color, "linewidth": 1.2, "alpha": 0.8, **options}
        panel.plot(np.arange(len(histogram)), histogram, **style)
    panel.set_xlim(0, last)
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _last_hole(signatures: list[NDArray[np.float64]]) -> int:
    occurs = [np.flatnonzero((histograms > 1e-3).any(axis=0)) for histograms in signatures]
    return max(2, *(int(holes.max(initial=0)) + 1 for holes in occurs))
