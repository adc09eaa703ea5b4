"""Entropies of mixtures of Gaussians: on a line by smoothing, in space by chunks."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import logsumexp, xlogy

from .._numeric import LOG_2PI, gaussian_entropy, standard_normal_log_density
from .._validation import warn_degenerate
from ._matrix import Information, entropy_of

# Grids and products of floats resolve no posterior that is narrower, relative to its code.
_NARROWEST = 1e-5

# With these an entropy is 1e-4 nats off at most, usually 1e-5 (see _octave_spectrum).
_PER_STD = 3.0  # grid points per standard deviation
_LEVELS = 16  # standard deviations per octave
_TAILS = 8.0  # the grid ends this many standard deviations beyond the means
_LEAST_VARIANCE = _PER_STD**2 - 0.25

# Components and points at a time: their densities fit into the processor's cache.
_COMPONENTS, _POINTS = 2048, 128


def mixture_entropy(
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> float:
    """Differential entropy of a mixture of Gaussians on the line, in nats.

    The density is a smoothed histogram of the means, on a grid finer than the least standard
    deviation; standard deviations of one octave share a grid that is fine enough for them, and
    the octaves are added up by their spectra. The cost is one pass over the components plus
    Fourier transforms of the grid.
    """
    if len(mean) == 1 or (np.ptp(mean) == 0 and np.ptp(std) == 0):
        return float(gaussian_entropy(std[0]))
    share = np.full(len(mean), 1 / len(mean)) if weight is None else weight / weight.sum()
    low = (mean - _TAILS * std).min()
    high = (mean + _TAILS * std).max()
    least = std.min()
    octave = np.log2(std / least).astype(np.int64)
    coarsest = 2 ** octave.max()
    step = least / _PER_STD
    # Two points more, for the neighbour that takes its part of the last mass.
    n_points = next_fast_len(int((high - low) / (step * coarsest)) + 3, real=True) * coarsest
    spectrum = np.zeros(n_points // 2 + 1, dtype=np.complex128)
    for k in np.unique(octave):
        rows = slice(None) if coarsest == 1 else octave == k
        size = step * 2.0**k
        part = _octave_spectrum(
            (mean[rows] - low) / size, (std[rows] / size) ** 2, share[rows], n_points >> k
        )
        # Beyond its own highest frequency a smooth part has nothing.
        spectrum[: len(part)] += part
    mass = np.maximum(irfft(spectrum, n_points), 0.0)
    return float(np.log(step) - xlogy(mass, mass).sum())


def _octave_spectrum(
    position: NDArray[np.float64],
    variance: NDArray[np.float64],
    share: NDArray[np.float64],
    n_points: int,
) -> NDArray[np.complex128]:
    """Fourier transform of a mixture whose variances (in grid steps) are of one octave.

    A component is split over the two grid points around its mean, and what variance this leaves
    over the two nearest levels: mean and variance are kept exactly. Only the fourth moment
    changes, the more the coarser grid and levels are.
    """
    left = position.astype(np.int64)
    right_share = position - left
    variance = variance - right_share * (1 - right_share)
    level = (np.log2(variance / _LEAST_VARIANCE) * (_LEVELS / 2)).astype(np.int64)
    first, last = level.min(), level.max() + 1
    variances = _LEAST_VARIANCE * 2.0 ** (np.arange(first, last + 1) * 2 / _LEVELS)
    level -= first
    upper_share = share * (variance - variances[level]) / np.diff(variances)[level]
    cell = level * n_points + left
    histogram = np.zeros(len(variances) * n_points)
    for shift, part in ((0, share - upper_share), (n_points, upper_share)):
        to_right = part * right_share
        for index, mass in ((cell + shift, part - to_right), (cell + shift + 1, to_right)):
            histogram += np.bincount(index, mass, len(histogram))
    frequency = np.arange(n_points // 2 + 1) * (2 * np.pi / n_points)
    kernels = np.exp(-0.5 * variances[:, None] * frequency**2)
    return (rfft(histogram.reshape(len(variances), n_points)) * kernels).sum(axis=0)


def mixture_information(
    factors: NDArray[np.int64],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> Information:
    """I(z_j; y_k) = H(z_j) - sum_v p(v) H(z_j | y_k = v), all of them mixtures on the line."""
    n_factors, n_codes = factors.shape[1], mean.shape[1]
    counts = np.ones(len(factors)) if weight is None else weight
    groups = []
    for y in factors.T:
        order = np.argsort(y, kind="stable")
        groups.append((order, np.bincount(y), np.bincount(y, counts)))
    h_factors = np.array([entropy_of(mass) for _, _, mass in groups])
    h_codes = np.empty(n_codes)
    mutual_info = np.empty((n_factors, n_codes))
    for j in range(n_codes):
        columns = [np.ascontiguousarray(mean[:, j]), np.ascontiguousarray(std[:, j]), counts]
        h_codes[j] = mixture_entropy(*columns)
        for k, (order, sizes, mass) in enumerate(groups):
            ends = np.cumsum(sizes)
            mu, sigma, count = (column[order] for column in columns)
            parts = [slice(end - size, end) for size, end in zip(sizes, ends)]
            inner = np.array([mixture_entropy(mu[p], sigma[p], count[p]) for p in parts])
            mutual_info[k, j] = h_codes[j] - inner @ mass / mass.sum()
    # Rounding and smoothing may step over the limits by 1e-4.
    return Information(np.clip(mutual_info, 0.0, h_factors[:, None]), h_factors, h_codes)


def log_mixture(
    z: NDArray[np.float64], mean: NDArray[np.float64], std: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log of 1/N sum_n N(z; mean_n, diag std_n^2) for each row of z, in bounded memory."""
    centre = mean.mean(axis=0)  # smaller numbers cancel less
    z = z - centre
    points = np.hstack([z**2, z])
    largest = np.full(len(z), -np.inf)
    total = np.zeros(len(z))
    for start in range(0, len(mean), _COMPONENTS):
        mu, sigma = mean[start : start + _COMPONENTS] - centre, std[start : start + _COMPONENTS]
        precision = sigma**-2
        # -(z - mu)^2 / 2 sigma^2 as a product of (z^2, z) with a matrix, plus a constant.
        linear = np.hstack([-0.5 * precision, mu * precision]).T
        constant = -0.5 * (mu**2 * precision + LOG_2PI).sum(axis=1) - np.log(sigma).sum(axis=1)
        for begin in range(0, len(z), _POINTS):
            rows = slice(begin, begin + _POINTS)
            logs = points[rows] @ linear
            logs += constant
            new = np.maximum(largest[rows], logs.max(axis=1))
            logs -= new[:, None]
            total[rows] *= np.exp(largest[rows] - new)
            total[rows] += np.exp(logs, out=logs).sum(axis=1)
            largest[rows] = new
    return largest + np.log(total) - np.log(len(mean))


def kl_terms_exact(
    mean: NDArray[np.float64], std: NDArray[np.float64], n_samples: int, rng: RandomState
) -> tuple[float, float, float]:
    """Index-code MI, total correlation and dimension-wise KL against the whole mixture.

    Only log q(z) is averaged over draws; the entropies of the single latents are not, nor is the
    sum of the three, the KL.
    """
    n, n_codes = mean.shape
    # Every row equally often, as far as n_samples allows.
    rows = np.resize(rng.permutation(n), n_samples)
    noise = rng.standard_normal((n_samples, n_codes))
    log_density = log_mixture(mean[rows] + std[rows] * noise, mean, std)
    log_own = standard_normal_log_density(noise).sum(axis=1) - np.log(std[rows]).sum(axis=1)
    mutual_info = float((log_own - log_density).mean())
    columns = (map(np.ascontiguousarray, pair) for pair in zip(mean.T, std.T))
    entropies = np.array([mixture_entropy(*column) for column in columns])
    # H(z) = MI + H(z|n); the divergence from the prior does not enter, however large it is.
    total_correlation = float((entropies - gaussian_entropy(std).mean(axis=0)).sum()) - mutual_info
    second = (mean**2 + std**2).mean(axis=0)
    return mutual_info, total_correlation, float((0.5 * (second + LOG_2PI) - entropies).sum())


def kl_terms_mss(
    mean: NDArray[np.float64], std: NDArray[np.float64], batch_size: int, rng: RandomState
) -> tuple[float, float, float]:
    """The same three by minibatch stratified sampling, one draw per row."""
    n = len(mean)
    totals = np.zeros(3)
    # Batches of nearly equal size: none has a single row.
    for rows in np.array_split(rng.permutation(n), max(n // batch_size, 1)):
        mu, sigma = mean[rows], std[rows]
        noise = rng.standard_normal(mu.shape)
        z = mu + sigma * noise
        logs = standard_normal_log_density((z[:, None] - mu) / sigma) - np.log(sigma)
        log_weight = np.log(mss_weights(len(rows), n))
        joint = logsumexp(logs.sum(axis=2) + log_weight, axis=1)
        product = logsumexp(logs + log_weight[:, :, None], axis=1).sum(axis=1)
        own = np.einsum("iid->i", logs)
        prior = standard_normal_log_density(z).sum(axis=1)
        totals += [(own - joint).sum(), (joint - product).sum(), (product - prior).sum()]
    mutual_info, total_correlation, dimension_wise = (totals / n).tolist()
    return mutual_info, total_correlation, dimension_wise


def mss_weights(batch_size: int, n_samples: int) -> NDArray[np.float64]:
    """Weights (i, j) of component j in the density of draw i; every row sums to one.

    With M = B - 1: the component that the draw came from stands for itself alone, 1 / N; the
    others stand for the rest of the data, 1 / M each, save one for what is then left.
    """
    others = batch_size - 1
    weights = np.full((batch_size, batch_size), 1 / others)
    index = np.arange(batch_size)
    weights[index, (index + 1) % batch_size] = (n_samples - others) / (n_samples * others)
    weights[index, index] = 1 / n_samples
    return weights


def resolved_std(
    mean: NDArray[np.float64], log_variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Standard deviations of posteriors; the narrowest are widened to what can be resolved."""
    with np.errstate(over="ignore"):
        std = np.exp(0.5 * log_variance)
        overflows = ~np.isfinite(std**2).all(axis=0)
    if overflows.any():
        raise ValueError(
            f"Posterior variances must be finite, got log-variances up to {log_variance.max():g} "
            f"in codes {np.flatnonzero(overflows).tolist()}."
        )
    least = _NARROWEST * (np.ptp(mean, axis=0) + 16 * std.max(axis=0))
    narrow = (std < least).any(axis=0)
    if narrow.any():
        warn_degenerate(
            f"codes {np.flatnonzero(narrow).tolist()} have posteriors narrower than "
            f"{_NARROWEST:g} of their range, which are widened to that."
        )
    return np.maximum(std, np.maximum(least, np.finfo(np.float64).tiny ** 0.5))
