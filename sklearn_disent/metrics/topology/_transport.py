"""Optimal transport on a line: distances and barycentres in closed form, by quantile functions."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._params import Array, AtLeastOne, validated
from .._validation import refuse_negative

__all__ = ["wasserstein_barycenter_1d", "wasserstein_distance_1d"]

# Cumulative sums of the same masses in another order differ by this much.
_ROUNDING = 1e-14


class Quantiles(NamedTuple):
    """A distribution of finitely many atoms, as the steps of its quantile function."""

    positions: NDArray[np.float64]
    """(n_atoms,), ascending."""
    upper: NDArray[np.float64]
    """(n_atoms,), cumulative mass up to and with each atom; the last is 1."""


@validated
def wasserstein_distance_1d(
    a: Array,
    b: Array,
    *,
    support_a: Array | None = None,
    support_b: Array | None = None,
    p: AtLeastOne = 2,
) -> float:
    r"""Wasserstein distance between two histograms on the line.

    The least cost at which the mass of one histogram can be carried to the other. At least 0,
    lower is more alike: 0 for equal distributions, the distance between the bins for two
    histograms of one bin each.

    .. math::
        W_p(a, b) = \Big( \int_0^1 |F_a^{-1}(t) - F_b^{-1}(t)|^p \, dt \Big)^{1/p}

    Parameters
    ----------
    a, b : array-like of shape (n_bins,)
        Masses, not negative; each is scaled to sum to 1. They may differ in length.
    support_a, support_b : array-like of shape (n_bins,), default=None
        Where the bins of `a` and of `b` lie, in any order; 0, 1, 2, ... if None.
    p : float, default=2
        Order of the distance, at least 1.

    Returns
    -------
    distance : float
        The distance, in units of the support.

    See Also
    --------
    wasserstein_barycenter_1d : The histogram in the middle of several.
    scipy.stats.wasserstein_distance : Order 1, of samples.

    Notes
    -----
    Exact, and without iterations: on a line the optimal plan keeps the order of the mass.

    References
    ----------
    Peyré and Cuturi (2019). Computational optimal transport. Foundations and Trends in Machine
    Learning 11. Section 2.6.

    Examples
    --------
    >>> from sklearn_disent.metrics import wasserstein_distance_1d
    >>> wasserstein_distance_1d([1, 0, 0, 0], [0, 0, 0, 1])
    3.0
    >>> wasserstein_distance_1d([1, 1, 0], [0, 1, 1], p=1)
    1.0
    """
    return quantile_distance(
        _quantiles(_as_masses(a, "a"), _as_support(support_a, a, "support_a")),
        _quantiles(_as_masses(b, "b"), _as_support(support_b, b, "support_b")),
        p,
    )


@validated
def wasserstein_barycenter_1d(
    histograms: Array,
    *,
    weights: Array | None = None,
    support: Literal["bins", "nearest", "free"] = "bins",
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Barycentre of histograms on the line, under the Wasserstein distance of order 2.

    The distribution of least mean squared distance to the histograms. It keeps their shape where
    the plain mean blurs it: the barycentre of one peak at 0 and one peak at 2 is one peak at 1.
    Its quantile function is the mean of theirs:

    .. math::
        F^{-1}(t) = \sum_i \lambda_i F_i^{-1}(t)

    Parameters
    ----------
    histograms : array-like of shape (n_histograms, n_bins)
        Masses, not negative; each row is scaled to sum to 1. Bin i lies at i.
    weights : array-like of shape (n_histograms,), default=None
        How much each histogram counts, not negative, scaled to sum to 1; equal if None.
    support : {"bins", "nearest", "free"}, default="bins"
        The barycentre itself lies between bins in general. "free" returns it as it is. "bins"
        shares each atom between its two bins so that the mean is kept. "nearest" moves
        it to the closer bin, the lower one of two: no histogram on the bins has a smaller mean
        squared distance to the given ones.

    Returns
    -------
    barycenter : ndarray of shape (n_bins,)
        Masses that sum to 1, unless `support` is "free".
    positions, masses : ndarrays of shape (n_atoms,)
        Instead, if `support` is "free".

    See Also
    --------
    wasserstein_distance_1d : The distance that it minimises.

    Notes
    -----
    Exact, and without iterations. Published code regularises by entropy (Sinkhorn), which at its
    customary strength spreads every peak over several bins.

    References
    ----------
    Agueh and Carlier (2011). Barycenters in the Wasserstein space. SIAM Journal on Mathematical
    Analysis 43.

    Examples
    --------
    >>> from sklearn_disent.metrics import wasserstein_barycenter_1d
    >>> wasserstein_barycenter_1d([[1, 0, 0], [0, 0, 1]])
    array([0., 1., 0.])
    >>> wasserstein_barycenter_1d([[1, 0], [0, 1]], support="free")
    (array([0.5]), array([1.]))
    """
    masses = _as_masses(histograms, "histograms", ndim=2)
    share = _as_weights(weights, len(masses))
    positions, upper = quantile_mean(masses, share)
    mass = np.diff(upper, prepend=0.0)
    if support == "free":
        return positions, mass
    return rebin(positions, mass, masses.shape[1], nearest=support == "nearest")


def quantile_mean(
    masses: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Quantiles:
    """Mean of the quantile functions of the rows, in units of bins.

    Each row's function jumps, at its cumulative mass up to one occupied bin, to the next occupied
    bin. The mean has all these jumps: sort them once.
    """
    if weights is None:
        weights = np.full(len(masses), 1.0 / len(masses))
    row, bins = np.nonzero(masses)
    upper = np.cumsum(masses, axis=1)
    upper = (upper / upper[:, -1:])[row, bins]
    last = np.append(row[1:] != row[:-1], True)
    first = np.append(True, last[:-1])
    start = weights[row[first]] @ bins[first]
    # The jump at the upper end of every atom but the last of its row.
    jump = np.where(last, 0.0, np.append(np.diff(bins), 0)) * weights[row]
    order = np.argsort(upper, kind="stable")
    positions = start + np.append(0.0, np.cumsum(jump[order])[:-1])
    return _merged(positions, upper[order])


def quantile_distance(a: Quantiles, b: Quantiles, p: float) -> float:
    """Wasserstein distance of order p, in the units of the positions."""
    ends = np.concatenate([a.upper, b.upper])
    # Stable sorting merges the two sorted runs in linear time.
    order = np.argsort(ends, kind="stable")
    from_a = order < len(a.upper)
    # How many steps of each function end before this piece: its step on the piece.
    step_a = np.minimum(np.cumsum(from_a) - from_a, len(a.upper) - 1)
    step_b = np.minimum(np.cumsum(~from_a) - ~from_a, len(b.upper) - 1)
    length = np.diff(ends[order], prepend=0.0)
    gap = np.abs(a.positions[step_a] - b.positions[step_b])
    # A root of order p would raise a rounding error of 1e-16 to 1e-8.
    gap = gap[length > _ROUNDING]
    length = length[length > _ROUNDING]
    largest = gap.max(initial=0.0)
    if largest == 0:
        return 0.0
    return float(largest * (length @ (gap / largest) ** p) ** (1.0 / p))


def rebin(
    positions: NDArray[np.float64], mass: NDArray[np.float64], n_bins: int, nearest: bool = False
) -> NDArray[np.float64]:
    """Histogram of atoms between 0 and n_bins - 1."""
    if n_bins == 1:
        return np.ones(1)
    if nearest:
        # The tolerance keeps halves, which are ties, on the lower side whatever their rounding.
        bins = np.ceil(positions - 0.5 - 1e-9).astype(np.intp)
        return np.bincount(np.clip(bins, 0, n_bins - 1), mass, n_bins).astype(np.float64)
    low = np.clip(np.floor(positions).astype(np.intp), 0, n_bins - 2)
    upper_share = np.clip(positions - low, 0.0, 1.0)
    # A mean of whole numbers misses a whole number by rounding: no mass leaks to its neighbour.
    upper_share = np.where(
        np.abs(upper_share - np.rint(upper_share)) < 1e-12, np.rint(upper_share), upper_share
    )
    histogram = np.bincount(low, mass * (1.0 - upper_share), n_bins).astype(np.float64)
    return histogram + np.bincount(low + 1, mass * upper_share, n_bins)


def _quantiles(masses: NDArray[np.float64], support: NDArray[np.float64]) -> Quantiles:
    order = np.argsort(support, kind="stable")
    order = order[masses[order] > 0]
    upper = np.cumsum(masses[order])
    return Quantiles(support[order], upper / upper[-1])


def _merged(positions: NDArray[np.float64], upper: NDArray[np.float64]) -> Quantiles:
    """Without the atoms whose mass is nothing but rounding."""
    length = np.diff(upper, prepend=0.0)
    kept = length > _ROUNDING
    upper = upper[kept]
    upper[-1] = 1.0
    return Quantiles(positions[kept], upper)


def _as_masses(masses: ArrayLike, name: str, ndim: int = 1) -> NDArray[np.float64]:
    array = np.asarray(masses, dtype=np.float64)
    if array.ndim != ndim or array.size == 0:
        shape = "(n_bins,)" if ndim == 1 else "(n_histograms, n_bins)"
        raise ValueError(f"{name} must have shape {shape} and not be empty, got {array.shape}.")
    refuse_negative(array, name, "Histograms hold masses, not their logarithms.")
    total = array.sum(axis=-1, keepdims=True)
    if not (total > 0).all():
        rows = np.flatnonzero(total.ravel() == 0).tolist()
        which = f"rows {rows} have" if ndim == 2 else "all bins have"
        raise ValueError(f"{name} must have some mass, but {which} none. Drop empty histograms.")
    return array / total


def _as_support(support: ArrayLike | None, masses: ArrayLike, name: str) -> NDArray[np.float64]:
    n_bins = len(np.asarray(masses))
    if support is None:
        return np.arange(n_bins, dtype=np.float64)
    array = np.asarray(support, dtype=np.float64)
    if array.shape != (n_bins,) or not np.isfinite(array).all():
        raise ValueError(
            f"{name} must hold one finite position per bin, shape ({n_bins},), got shape "
            f"{array.shape}{'' if np.isfinite(array).all() else ' with non-finite values'}."
        )
    return array


def _as_weights(weights: ArrayLike | None, n_histograms: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_histograms,):
        raise ValueError(
            f"weights must have shape ({n_histograms},), one per histogram, got {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any() or array.sum() == 0:
        raise ValueError(f"weights must be finite, >= 0 and not all 0, got {array.tolist()}.")
    return array / array.sum()
