"""Relative living times: for how long a cloud of points has 0, 1, 2, ... holes."""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Verbose,
    validated,
)
from .._validation import warn_degenerate
from ._witness import holes_of

__all__ = ["relative_living_times"]

# Repeats that one task of joblib computes; fixed, so that n_jobs cannot change the result.
_BATCH = 10
# From this many features on, distances by matrix products are faster than pair by pair.
_MANY_FEATURES = 32

Backend = Literal["numpy", "gudhi"]
# Of holes: pieces, loops, voids.
Dimension = Literal[0, 1, 2]


class Settings(NamedTuple):
    """What the living times of a cloud depend on, besides the cloud and the landmarks."""

    n_landmarks: int = 32
    gamma: float = 1 / 8
    n_repeats: int = 100
    max_holes: int = 100
    overflow: str = "clip"
    backend: str = "numpy"
    dimension: int = 1


@validated
def relative_living_times(
    X: ArrayLike,
    *,
    n_landmarks: PositiveInt = 32,
    gamma: PositiveShare = 1 / 8,
    n_repeats: PositiveInt = 100,
    max_holes: AtLeastTwo = 100,
    overflow: Literal["clip", "drop"] = "clip",
    dimension: Dimension = 1,
    backend: Backend = "numpy",
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    verbose: Verbose = 0,
) -> NDArray[np.float64]:
    r"""For what share of the scales does a cloud of points have 0, 1, 2, ... holes?

    A circle has one hole at nearly all scales, two circles have two, a disk has none. Each row
    is a histogram over numbers of holes that sums to 1, for one random choice of landmarks.

    .. math::
        \mathrm{RLT}(i) = \frac{|\{\alpha \in [0, \alpha_{\max}] : \beta_1(\alpha) = i\}|}
        {\alpha_{\max}}, \qquad \alpha_{\max} = \gamma \max_{w, l} \lVert x_w - x_l \rVert,

    where :math:`\beta_1(\alpha)` counts the holes of `dimension` 1, over GF(2), of the weak
    witness complex of the landmarks at relaxation :math:`\alpha`, with all points as witnesses.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...)
        The points; more axes than two, as of images, are flattened.
    n_landmarks : int, default=32
        Landmarks per repeat, drawn from the points with replacement.
    gamma : float, default=1/8
        Largest relaxation, relative to the largest distance from a point to a landmark.
    n_repeats : int, default=100
        How often landmarks are drawn anew.
    max_holes : int, default=100
        Number of bins: holes are counted from 0 to max_holes - 1.
    overflow : {"clip", "drop"}, default="clip"
        Whether a larger number of holes counts as max_holes - 1, or not at all: then rows sum to
        less than 1.
    dimension : {0, 1, 2}, default=1
        What counts as a hole: the pieces that the cloud falls into (0; there is always one), loops
        that cannot be drawn together (1), or voids such as the inside of a sphere (2). Voids cost
        much more, since they need tetrahedra: keep `n_landmarks` and `gamma` small.
    backend : {"numpy", "gudhi"}, default="numpy"
        Which code computes the holes. Both give the same; gudhi is an optional dependency.
    random_state : int, RandomState instance or None, default=None
        Determines the landmarks. The result does not depend on `n_jobs`.
    n_jobs : int or None, default=None
        Number of parallel workers over the repeats, as in joblib.
    verbose : int, default=0
        How much joblib reports of its progress.

    Returns
    -------
    living_times : ndarray of shape (n_repeats, max_holes)
        One histogram per choice of landmarks.

    See Also
    --------
    wasserstein_barycenter_1d : One signature from all rows.
    manifold_topology_score : Disentanglement of a generative model by these signatures.

    Notes
    -----
    Scale, rotation and shift of the points change nothing. A constant cloud has no hole at any
    scale: (1, 0, 0, ...), with a warning.

    The paper has gamma = 1/128 and 64 landmarks. The default here finds the first Betti number of
    most simple shapes, where 1/128 stops at scales at which the sample is still full of gaps: it
    sees 17 holes in a disk of 1000 points. Published code drops numbers of holes from max_holes
    on, which at gamma = 1/128 loses nearly all of a Gaussian in ten dimensions.

    References
    ----------
    Khrulkov and Oseledets (2018). Geometry score: a method for comparing generative adversarial
    networks. ICML.

    de Silva and Carlsson (2004). Topological estimation using witness complexes. Symposium on
    Point-Based Graphics.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import relative_living_times
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=500)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> times = relative_living_times(circle, n_repeats=10, max_holes=4, random_state=0)
    >>> times.shape
    (10, 4)
    >>> int(times.mean(axis=0).argmax())
    1
    """
    settings = Settings(n_landmarks, gamma, n_repeats, max_holes, overflow, backend, dimension)
    check_backend(backend)
    cloud = as_cloud(X, "X")
    if len(cloud) < n_landmarks:
        raise ValueError(
            f"X must have at least n_landmarks={n_landmarks} points to draw landmarks from, got "
            f"{len(cloud)}. Lower n_landmarks or pass more points."
        )
    if np.ptp(cloud, axis=0).max(initial=0.0) == 0:
        warn_degenerate("X is a single point, repeated: it has no holes, by definition.")
    landmarks = draw_landmarks(check_random_state(random_state), len(cloud), settings)
    parallel = Parallel(n_jobs=n_jobs, verbose=verbose)
    return living_times([cloud], [landmarks], settings, parallel)[0]


def draw_landmarks(rng: RandomState, n_points: int, settings: Settings) -> NDArray[np.intp]:
    """Landmarks of all repeats, (n_repeats, n_landmarks)."""
    return rng.randint(n_points, size=(settings.n_repeats, settings.n_landmarks))


def living_times(
    clouds: Iterable[NDArray[np.float64]],
    landmarks: Iterable[NDArray[np.intp]],
    settings: Settings,
    parallel: Parallel,
) -> list[NDArray[np.float64]]:
    """Living times (n_repeats, max_holes) of each of several clouds, over clouds and repeats."""
    tasks, ends = [], []
    for cloud, chosen in zip(clouds, landmarks):
        batches = [chosen[start : start + _BATCH] for start in range(0, len(chosen), _BATCH)]
        tasks += [delayed(_batch_of_living_times)(cloud, batch, settings) for batch in batches]
        ends.append(len(tasks))
    results = parallel(tasks)
    return [np.concatenate(results[start:end]) for start, end in zip([0, *ends], ends)]


def as_cloud(X: Any, name: str) -> NDArray[np.float64]:
    """Points (n, n_features), centred and scaled into floating-point comfort."""
    if issparse(X):
        raise TypeError(f"{name} must be dense, got a sparse matrix. Use {name}.toarray().")
    array = np.asarray(X)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim < 2 or array.size == 0:
        hint = f" Use {name}[:, None] for one feature." if array.ndim == 1 and array.size else ""
        raise ValueError(
            f"{name} must have shape (n_samples, n_features) and not be empty, got shape "
            f"{array.shape}.{hint}"
        )
    points = array.reshape(len(array), -1).astype(np.float64)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name} must be finite, got NaN or infinite values in {(~finite).sum()} of "
            f"{len(points)} rows."
        )
    # A power of two: the scale changes no digit, and squares of the distances stay in range.
    points = np.ldexp(points, -int(np.frexp(np.abs(points).max())[1]))
    points -= points.mean(axis=0)
    return np.ldexp(points, -int(np.frexp(np.abs(points).max())[1]))


def check_backend(backend: str) -> None:
    if backend == "gudhi" and find_spec("gudhi") is None:
        raise ImportError(
            "backend='gudhi' needs gudhi, which is not installed: pip install "
            "'sklearn-disent[topology]'. backend='numpy' gives the same without it."
        )


def _batch_of_living_times(
    cloud: NDArray[np.float64], landmarks: NDArray[np.intp], settings: Settings
) -> NDArray[np.float64]:
    if np.ptp(cloud, axis=0).max() == 0:
        histograms = np.zeros((len(landmarks), settings.max_holes))
        histograms[:, 1 if settings.dimension == 0 else 0] = 1.0  # one piece, without holes
        return histograms
    # Repeats share landmarks: distances to each are computed once.
    used, column = np.unique(landmarks, return_inverse=True)
    pairwise = cdist if cloud.shape[1] < _MANY_FEATURES else euclidean_distances
    distances = pairwise(cloud, cloud[used])
    find_holes = holes_of if settings.backend == "numpy" else _holes_by_gudhi
    rows = []
    for columns in column.reshape(landmarks.shape):
        chosen = distances[:, columns]
        alpha_max = settings.gamma * chosen.max()
        births, deaths = find_holes(chosen, alpha_max, settings.dimension)
        rows.append(
            lifetime_histogram(births, deaths, alpha_max, settings.max_holes, settings.overflow)
        )
    return np.stack(rows)


def lifetime_histogram(
    births: NDArray[np.float64],
    deaths: NDArray[np.float64],
    alpha_max: float,
    max_holes: int,
    overflow: str = "clip",
) -> NDArray[np.float64]:
    """Share of [0, alpha_max] at which there are 0, 1, 2, ... holes."""
    times = np.concatenate([births, deaths])
    change = np.repeat([1, -1], [len(births), len(deaths)])
    order = np.argsort(times, kind="stable")
    ends = np.append(times[order], alpha_max) / alpha_max
    holes = np.append(0, np.cumsum(change[order]))
    share = np.diff(ends, prepend=0.0)
    if overflow == "drop":
        share = np.where(holes < max_holes, share, 0.0)
    # Between simultaneous events the number may be negative, for no time at all.
    return np.bincount(np.clip(holes, 0, max_holes - 1), share, max_holes).astype(np.float64)


def _holes_by_gudhi(
    distances: NDArray[np.float64], alpha_max: float, dimension: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The contract of `holes_of`, by gudhi's witness complex."""
    import gudhi

    order = np.argsort(distances, axis=1)
    nearest = np.take_along_axis(distances, order, axis=1)
    # gudhi reads no further than alpha_max beyond the nearest landmark that a simplex can lack,
    # and the conversion to lists is the slow part.
    lacking = nearest[:, min(dimension + 1, nearest.shape[1] - 1), None]
    reach = (nearest - lacking <= alpha_max).sum(axis=1).tolist()
    table = [
        list(zip(labels[:n], values[:n]))
        for labels, values, n in zip(order.tolist(), nearest.tolist(), reach)
    ]
    complex_ = gudhi.WitnessComplex(table)
    tree = complex_.create_simplex_tree(max_alpha_square=alpha_max, limit_dimension=dimension + 1)
    # Without the flag gudhi leaves out the holes of the complex's own dimension: all of them where
    # no simplex of one dimension more has entered.
    tree.compute_persistence(homology_coeff_field=2, persistence_dim_max=True)
    intervals = np.reshape(tree.persistence_intervals_in_dimension(dimension), (-1, 2))
    births, deaths = intervals.T
    return births, deaths[np.isfinite(deaths)]
