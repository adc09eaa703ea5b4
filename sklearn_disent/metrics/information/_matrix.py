"""The information matrix (n_factors, n_codes), from contingency tables of binned codes."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.utils import check_random_state

from ..._params import (
    Array,
    AtLeastTwo,
    BiasCorrection,
    FactorBins,
    NanPolicy,
    RandomStateLike,
    Strategy,
    validated,
)
from .._numeric import CACHED_ROWS
from .._sharing import shared
from .._validation import Checked, check_data, warn_if_constant, warn_single_valued

# Shuffles behind the "permutation" correction: the error of their mean is a quarter of one
# shuffle's spread.
_N_PERMUTATIONS = 16


class Information(NamedTuple):
    """Mutual information and entropies, in nats; H(y_k, z_j) = H(y_k) + H(z_j) - I(y_k; z_j)."""

    mutual_info: NDArray[np.float64]
    """(n_factors, n_codes)."""
    h_factors: NDArray[np.float64]
    """(n_factors,)."""
    h_codes: NDArray[np.float64]
    """(n_codes,), of the binned codes."""

    @property
    def varied(self) -> NDArray[np.bool_]:
        """Which factors take several values."""
        return self.h_factors > 0

    def per_factor(self) -> NDArray[np.float64]:
        """I / H(factor); zeros for a factor of a single value, with a warning."""
        warn_single_valued(self.varied)
        return self.mutual_info / np.where(self.varied, self.h_factors, 1.0)[:, None]

    def per_code(self) -> NDArray[np.float64]:
        """I / H(code); zeros for a constant code."""
        # At most 1, unless factors have rows of their own, in which a code may vary more.
        return np.minimum(self.mutual_info / np.where(self.h_codes > 0, self.h_codes, 1.0), 1.0)


@validated
def mutual_info_matrix(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 20,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: BiasCorrection = "none",
    sample_weight: Array | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    """Mutual information (n_factors, n_codes) of every factor and binned code, in nats."""
    data = check_data(factors, codes, factor_bins, nan_policy, sample_weight, per_factor=True)
    return information_matrix(data, n_bins, strategy, bias_correction, random_state).mutual_info


def information_matrix(
    data: Checked,
    n_bins: int | None = 20,
    strategy: str = "uniform",
    bias_correction: str = "none",
    random_state: int | RandomState | None = None,
) -> Information:
    """Information between every factor and every binned code; a warning if no code varies."""
    warn_if_constant(data.codes, "they hold no information about any factor")
    # Nothing else draws: whatever the seed, the other matrices are the same, and shared.
    seed = random_state if bias_correction == "permutation" else None
    infos = [
        binned_information(*part[:3], n_bins, strategy, bias_correction, seed)
        for part in data.parts or (data,)
    ]
    if not data.parts:
        return infos[0]
    binned = bin_codes(data.codes, n_bins, strategy, data.sample_weight)
    return Information(
        np.vstack([info.mutual_info for info in infos]),
        np.concatenate([info.h_factors for info in infos]),
        _entropies(binned, data.sample_weight, bias_correction == "miller_madow"),
    )


@shared
def binned_information(
    factors: NDArray[np.int64],
    codes: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_bins: int | None,
    strategy: str,
    bias_correction: str,
    random_state: int | RandomState | None,
) -> Information:
    """Information between every class and every bin, from contingency tables.

    - "none": the plug-in estimate, as published.
    - "miller_madow": every entropy gains (number of non-empty cells - 1) / (2 n).
    - "permutation": I becomes (I - E) / (B - E) B, where E is the mean of I over shuffles of the
      codes and B = min(H(y), H(z)) its upper bound: independent codes get 0, a code that
      determines its factor keeps B.
    """
    binned = bin_codes(codes, n_bins, strategy, weight)
    if bias_correction != "permutation":
        return _information(factors, binned, weight, bias_correction == "miller_madow")
    if weight is not None:
        raise ValueError(
            "bias_correction='permutation' shuffles samples and cannot take sample_weight. "
            "Repeat the rows instead, or use bias_correction='miller_madow'."
        )
    info = _information(factors, binned, None, False)
    rng = check_random_state(random_state)
    chance = np.zeros_like(info.mutual_info)
    for _ in range(_N_PERMUTATIONS):
        shuffled = binned[rng.permutation(len(binned))]
        chance += _information(factors, shuffled, None, False).mutual_info
    chance /= _N_PERMUTATIONS
    bound = np.minimum.outer(info.h_factors, info.h_codes)
    # With as many classes as samples every code seems to determine everything: no room above
    # chance.
    room = bound - chance
    adjusted = np.divide(
        (info.mutual_info - chance) * bound, room, out=np.zeros_like(room), where=room > 1e-12
    )
    return info._replace(mutual_info=np.clip(adjusted, 0.0, bound))


def bin_codes(
    codes: NDArray[np.float64],
    n_bins: int | None = 20,
    strategy: str = "uniform",
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Bin each code into 0..n_bins-1; `n_bins=None` takes every distinct value as a bin.

    Equal-width edges are those of ``np.histogram``, and a value on an edge belongs to the bin
    above. Quantile edges are weighted order statistics; equal edges merge.
    """
    binned = np.empty(codes.shape, dtype=np.int64, order="F")
    for j, code in enumerate(map(np.ascontiguousarray, codes.T)):
        if n_bins is None:
            binned[:, j] = np.unique(code, return_inverse=True)[1]
        else:
            edges = inner_edges(code, n_bins, strategy, weight)
            # A constant code has all edges on itself and lands in one bin, alone.
            side: Literal["left", "right"] = "right" if strategy == "uniform" else "left"
            binned[:, j] = np.searchsorted(edges, code, side=side)
    return binned


def inner_edges(
    code: NDArray[np.float64], n_bins: int, strategy: str, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Edges between the bins of a code, without its ends."""
    if strategy == "uniform":
        return np.linspace(code.min(), code.max(), n_bins + 1)[1:-1]
    return _quantiles(code, n_bins, weight)


def _quantiles(
    code: NDArray[np.float64], n_bins: int, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    if weight is None:
        return sorted_quantiles(np.sort(code), n_bins)
    order = np.argsort(code, kind="stable")
    cumulative = np.cumsum(weight[order])
    targets = np.arange(1, n_bins) * cumulative[-1] / n_bins
    return np.unique(code[order][np.searchsorted(cumulative, targets)])


def sorted_quantiles(code: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Edges between bins of equal count of a code that is sorted; equal edges merge."""
    targets = np.arange(1, n_bins) * float(len(code)) / n_bins
    return np.unique(code[np.ceil(targets).astype(np.int64) - 1])


def _information(
    factors: NDArray[np.int64],
    binned: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    miller_madow: bool,
) -> Information:
    n_classes, n_codes = factors.max(axis=0) + 1, binned.shape[1]
    n_cells = binned.max(axis=0) + 1
    # Contiguous columns halve the time of the counting below.
    factors, binned = np.asfortranarray(factors), np.asfortranarray(binned)
    h_factors, h_codes = (_entropies(part, weight, miller_madow) for part in (factors, binned))
    mutual_info = np.empty((len(n_classes), n_codes))
    for k, y in enumerate(factors.T):
        for j, z in enumerate(binned.T):
            cells = _joint_counts(y, z, (n_classes[k], n_cells[j]), weight)
            mutual_info[k, j] = h_factors[k] + h_codes[j] - entropy_of(cells, miller_madow)
    # Rounding, and the correction's own error, may leave the range that information has.
    np.clip(mutual_info, 0.0, np.minimum.outer(h_factors, h_codes), out=mutual_info)
    return Information(mutual_info, h_factors, h_codes)


def _joint_counts(
    y: NDArray[np.int64],
    z: NDArray[np.int64],
    shape: tuple[int, int],
    weight: NDArray[np.float64] | None,
) -> NDArray:
    """How often each pair of classes occurs, as a vector.

    Part by part, in the cache: per row, a million rows cost no more than ten thousand.
    """
    size = int(shape[0] * shape[1])
    n_rows = max(CACHED_ROWS, size)
    counts = np.zeros(size, dtype=np.int64 if weight is None else np.float64)
    for start in range(0, len(y), n_rows):
        part = slice(start, start + n_rows)
        own = None if weight is None else weight[part]
        counts += np.bincount(y[part] * shape[1] + z[part], own, minlength=size)
    return counts


def _entropies(
    classes: NDArray[np.int64], weight: NDArray[np.float64] | None, miller_madow: bool
) -> NDArray[np.float64]:
    """Entropy of every column."""
    return np.array([entropy_of(np.bincount(column, weight), miller_madow) for column in classes.T])


def entropy_of(counts: NDArray, miller_madow: bool = False) -> float:
    """Entropy of a table of counts, in nats."""
    counts = counts[counts > 0]
    # One cell has entropy 0 exactly; log n - log n would do, a weighted sum might not.
    if len(counts) == 1:
        return 0.0
    n = counts.sum()
    entropy = np.log(n) - xlogy(counts, counts).sum() / n
    return entropy + (len(counts) - 1) / (2 * n) if miller_madow else entropy
