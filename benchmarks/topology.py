"""Speed of the topological metrics, as ratios against gudhi and POT in the same run.

Run ``python benchmarks/topology.py`` for all sections, or name some of them:

    python benchmarks/topology.py backends transport
    python benchmarks/topology.py --quick       # fewer repeats
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

from sklearn_disent.metrics import (
    manifold_topology_score,
    wasserstein_barycenter_1d,
    wasserstein_distance_1d,
)
from sklearn_disent.metrics.topology._living_times import _holes_by_gudhi
from sklearn_disent.metrics.topology._witness import holes_of

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "topology" / "clouds.npz"
SETTINGS = {"32 landmarks, gamma 1/8": (32, 1 / 8), "64 landmarks, gamma 1/128": (64, 1 / 128)}


def best_time(func: Callable[[], object], n_runs: int = 3) -> float:
    """Shortest of several runs, after one to warm up: the least disturbed by the machine.

    Processor time: what other processes take of a busy machine does not count.
    """
    func()
    times = []
    for _ in range(n_runs):
        start = time.process_time()
        func()
        times.append(time.process_time() - start)
    return min(times)


def report(name: str, value: str, wanted: str | None = None, ok: bool = True) -> None:
    verdict = "" if wanted is None else f"   ({wanted}: {'ok' if ok else 'MISSED'})"
    print(f"{name:<44}{value:>38}{verdict}", flush=True)


def section_backends(quick: bool) -> None:
    """Holes of the golden clouds from given distances, by numpy and by gudhi."""
    with np.load(REFERENCE) as data:
        clouds = {name: data[name] for name in data if "_times" not in name}
    for label, (n_landmarks, gamma) in SETTINGS.items():
        ratios = []
        for name, X in clouds.items():
            rng = np.random.RandomState(0)
            times = np.zeros(2)
            n_repeats = 3 if quick else 10
            for _ in range(n_repeats):
                distances = cdist(X, X[rng.randint(len(X), size=n_landmarks)])
                alpha_max = gamma * distances.max()
                # One after the other on the same landmarks: the machine's moods hit both.
                for i, find in enumerate((holes_of, _holes_by_gudhi)):
                    times[i] += best_time(lambda f=find: f(distances, alpha_max), 2)  # noqa: B023
            ours, theirs = times / n_repeats * 1e3
            ratios.append(theirs / ours)
            value = f"{ours:.2f} ms / {theirs:.2f} ms = {ratios[-1]:.1f}x"
            report(f"{name}, {label}", value, "at least 2", ratios[-1] >= 2)
        report(f"least ratio, {label}", f"{min(ratios):.1f}x", "at least 2", min(ratios) >= 2)


def section_transport(quick: bool) -> None:
    """Distances against POT's exact solver on the line; barycentres have no exact peer there."""
    import ot

    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.full(100, 0.2), size=2)
    bins = np.arange(100.0)
    runs = 20 if quick else 200
    ours = best_time(lambda: [wasserstein_distance_1d(a, b) for _ in range(runs)])
    theirs = best_time(lambda: [ot.emd2_1d(bins, bins, a, b) for _ in range(runs)])
    report(
        "distance of 100 bins",
        f"{ours / runs * 1e6:.0f} us / {theirs / runs * 1e6:.0f} us = {theirs / ours:.1f}x",
    )
    histograms = rng.dirichlet(np.full(100, 0.05), size=100)
    cost = np.subtract.outer(bins, bins) ** 2 / 99**2
    ours = best_time(lambda: wasserstein_barycenter_1d(histograms))
    theirs = best_time(lambda: ot.bregman.barycenter(histograms.T + 1e-12, cost, 1e-2), 1)
    report(
        "barycentre of 100 histograms (POT: entropic)",
        f"{ours * 1e3:.1f} ms / {theirs * 1e3:.1f} ms = {theirs / ours:.1f}x",
    )


def section_score(quick: bool) -> None:
    """The whole score, D = V = 10 and 100 repeats of 1000 points: numpy against gudhi."""
    rng = np.random.default_rng(0)
    pca = PCA(10, whiten=True).fit(rng.normal(size=(2000, 20)) * np.linspace(3, 0.5, 20))
    # In slices, by turns: the machine's moods hit both. What is timed is this process alone.
    n_repeats, n_slices = (10, 2) if quick else (100, 10)
    options = {"n_repeats": n_repeats // n_slices, "n_values": 4 if quick else 10}
    times = dict.fromkeys(("numpy", "gudhi"), 0.0)
    equal = True
    for seed in range(n_slices):
        scores = []
        for backend in times:
            start = _cpu_time()
            scores.append(
                manifold_topology_score(pca, backend=backend, random_state=seed, **options)
            )
            times[backend] += _cpu_time() - start
        equal &= bool(np.isclose(*scores, atol=1e-9))
    ours, theirs = times.values()
    ratio = theirs / ours
    value = f"{ours:.1f} s / {theirs:.1f} s = {ratio:.1f}x"
    report(f"score, {n_repeats} repeats, numpy / gudhi", value, "at least 2", ratio >= 2)
    report("same scores", str(equal), "equal to 1e-9", equal)


def section_parallel(quick: bool) -> None:
    """The whole score, on one core and on two."""
    rng = np.random.default_rng(0)
    pca = PCA(10, whiten=True).fit(rng.normal(size=(2000, 20)) * np.linspace(3, 0.5, 20))
    options = {"n_repeats": 10 if quick else 100, "n_values": 4 if quick else 10}
    scores, times = [], []
    # Starting the workers and their imports is not what is measured.
    manifold_topology_score(pca, n_repeats=20, n_values=2, n_jobs=2)
    for n_jobs in (1, 2):
        start, cpu = time.perf_counter(), _cpu_time()
        scores.append(
            manifold_topology_score(pca, random_state=0, n_jobs=n_jobs, verbose=1, **options)
        )
        times.append(time.perf_counter() - start)
        report(
            f"score, n_jobs={n_jobs}",
            f"{times[-1]:.1f} s, {_cpu_time() - cpu:.1f} s of this process",
        )
    report("two cores against one", f"{times[0] / times[1]:.2f}x")
    report("same score", f"{scores[0]:.6f}", "equal to the last bit", scores[0] == scores[1])


def _cpu_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


SECTIONS = {
    "backends": section_backends,
    "transport": section_transport,
    "score": section_score,
    "parallel": section_parallel,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.sections or SECTIONS:
        print(f"\n{name}: {SECTIONS[name].__doc__.splitlines()[0]}")
        SECTIONS[name](arguments.quick)


if __name__ == "__main__":
    main()
