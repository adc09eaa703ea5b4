"""Time of MIG from posteriors and of the ELBO's terms: python benchmarks/posteriors.py [--quick].

MIG by smoothing (ours) against the Monte Carlo estimate of its paper, which evaluates all N
components at 10,000 draws for every value of every factor; here at fewer draws, scaled up.
"""

import argparse
import resource
import time

import numpy as np

from sklearn_disent.metrics.information._mixtures import (
    kl_terms_exact,
    kl_terms_mss,
    mixture_information,
)

SIZES = (3, 6, 40, 32, 32)  # values of the factors of dSprites


def make_posteriors(n: int, n_codes: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five codes that follow the factors, with widths as of a trained model, and dead ones."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(size, size=n) for size in SIZES])
    mean = 0.03 * rng.standard_normal((n, n_codes))
    std = np.exp(0.02 * rng.standard_normal((n, n_codes)))
    n_live = len(SIZES)
    mean[:, :n_live] = 3.4 * (factors / (np.array(SIZES) - 1) - 0.5)
    mean[:, :n_live] += 0.15 * rng.standard_normal((n, n_live))
    std[:, :n_live] = np.exp(np.log(0.08) + 0.4 * rng.standard_normal((n, n_live)))
    return factors, mean, std


def monte_carlo_entropy(
    mean: np.ndarray, std: np.ndarray, n_draws: int, rng: np.random.Generator
) -> float:
    """Entropy of one mixture from draws."""
    rows = rng.integers(len(mean), size=n_draws)
    z = rng.normal(mean[rows], std[rows])
    logs = [
        np.log((np.exp(-0.5 * ((z[i : i + 64, None] - mean) / std) ** 2) / std).mean(axis=1))
        for i in range(0, n_draws, 64)
    ]
    return float(0.5 * np.log(2 * np.pi) - np.concatenate(logs).mean())


def monte_carlo_information(
    factors: np.ndarray, mean: np.ndarray, std: np.ndarray, n_draws: int
) -> np.ndarray:
    """The information matrix from draws."""
    rng = np.random.default_rng(1)
    info = np.empty((factors.shape[1], mean.shape[1]))
    for j in range(mean.shape[1]):
        entropy = monte_carlo_entropy(mean[:, j], std[:, j], n_draws, rng)
        for k, y in enumerate(factors.T):
            inner = [
                (y == v).mean() * monte_carlo_entropy(mean[y == v, j], std[y == v, j], n_draws, rng)
                for v in range(y.max() + 1)
            ]
            info[k, j] = entropy - sum(inner)
    return info


def timed(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 posteriors at most")
    quick = parser.parse_args().quick
    for n in (5_000, 50_000) if quick else (5_000, 50_000, 737_280):
        factors, mean, std = make_posteriors(n)
        ours, info = timed(mixture_information, factors, mean, std)
        print(f"posterior MIG      N = {n:7,d}: {ours:8.2f} s")
        if n == 5_000:
            n_draws = 64
            theirs, values = timed(monte_carlo_information, factors, mean, std, n_draws)
            off = np.abs(values - info.mutual_info).max()
            theirs *= 10_000 / n_draws
            print(
                f"  by 10,000 draws  N = {n:7,d}: {theirs:8.0f} s, {theirs / ours:.0f} times ours"
            )
            print(f"  largest difference of {n_draws} draws: {off:.3f} nats")
        rng = np.random.RandomState(0)
        exact, _ = timed(kl_terms_exact, mean, std, 10_000, rng)
        batches, _ = timed(kl_terms_mss, mean, std, 64, rng)
        print(f"ELBO terms, exact  N = {n:7,d}: {exact:8.2f} s")
        print(f"ELBO terms, MSS    N = {n:7,d}: {batches:8.2f} s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
