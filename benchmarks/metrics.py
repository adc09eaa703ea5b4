"""Speed and memory of the metrics, as ratios against loops over scikit-learn's functions.

Run ``python benchmarks/metrics.py`` for all sections, or name some of them:

    python benchmarks/metrics.py information scaling
    python benchmarks/metrics.py --quick        # a tenth of the rows where a section is long

A section is a function ``section_<name>(quick)`` that prints lines by `report`; the table
SECTIONS at the end lists them.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score

from sklearn_disent.metrics import infom_score, relevance_matrix

# The sizes of the factors of dSprites without colour.
FACTOR_SIZES = (3, 6, 40, 32, 32)


def make_data(n_samples: int, n_codes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the sizes of dSprites, and codes that mix them with noise."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(size, size=n_samples) for size in FACTOR_SIZES])
    mixing = rng.normal(size=(len(FACTOR_SIZES), n_codes)) / np.array(FACTOR_SIZES)[:, None]
    return factors, factors @ mixing + 0.3 * rng.normal(size=(n_samples, n_codes))


def best_time(func: Callable[[], object], n_repeats: int) -> float:
    """Shortest of several runs, after one to warm up: the least disturbed by the machine."""
    func()
    times = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        func()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name: str, value: str, wanted: str | None = None, ok: bool = True) -> None:
    verdict = "" if wanted is None else f"   ({wanted}: {'ok' if ok else 'MISSED'})"
    print(f"{name:<58}{value:>24}{verdict}")


def report_ratio(name: str, ours: float, theirs: float, at_least: float | None = None) -> None:
    wanted = None if at_least is None else f"at least {at_least:g} times"
    ok = at_least is None or theirs / ours >= at_least
    value = f"{ours:.4f} s / {theirs:.4f} s = {theirs / ours:.1f}x"
    report(name, value, wanted, ok)


def pairwise_information(factors: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The information matrix as it is usually computed: bin each code, score each pair."""
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    return np.array([[mutual_info_score(y, z) for z in binned] for y in factors.T])


def section_information(quick: bool) -> None:
    """One matrix against a loop over pairs."""
    factors, codes = make_data(10_000)
    ours = relevance_matrix(factors, codes, kind="mutual_info")
    difference = np.abs(ours - pairwise_information(factors, codes)).max()
    report(
        "information matrix: largest difference", f"{difference:.1e}", "1e-12", difference < 1e-12
    )
    n_repeats = 3 if quick else 10
    report_ratio(
        "information matrix, 10,000 x 10 codes x 5 factors",
        best_time(lambda: relevance_matrix(factors, codes, kind="mutual_info"), n_repeats),
        best_time(lambda: pairwise_information(factors, codes), n_repeats),
        at_least=5,
    )
    report_ratio(
        "information by neighbours, 10,000 x 10 codes x 5 factors",
        best_time(lambda: infom_score(factors, codes, random_state=0), 1),
        best_time(lambda: [mutual_info_classif(codes, y, n_neighbors=10) for y in factors.T], 1),
    )


def section_scaling(quick: bool) -> None:
    """Time and memory up to all rows of dSprites, each size in a process of its own."""
    sizes = (10_000, 73_728) if quick else (10_000, 92_160, 368_640, 737_280)
    per_row = []
    for n_samples in sizes:
        command = [sys.executable, __file__, "--rows", str(n_samples)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, base, peak = map(float, output.split())
        per_row.append(seconds / n_samples)
        report(
            f"information matrix, {n_samples:,} rows",
            f"{seconds:.3f} s, peak {peak:.2f} GB",
            "under 10 s and 4 GB",
            seconds < 10 and peak < 4,
        )
        report("  of which imports and data", f"{base:.2f} GB")
    growth = per_row[-1] / per_row[0]
    report("time per row, largest against smallest", f"{growth:.2f}x", "at most 2x", growth <= 2)


def measure_rows(n_samples: int) -> None:
    """Seconds of one information matrix, and peak memory before and after, in GB."""
    factors, codes = make_data(n_samples)
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    seconds = best_time(lambda: relevance_matrix(factors, codes, kind="mutual_info"), 3)
    print(seconds, base, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


SECTIONS: dict[str, Callable[[bool], None]] = {
    "information": section_information,
    "scaling": section_scaling,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rows is not None:
        measure_rows(arguments.rows)
        return
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown sections {sorted(unknown)}, choose from {list(SECTIONS)}")
    for name in arguments.sections or SECTIONS:
        print(f"# {name}: {SECTIONS[name].__doc__}")
        SECTIONS[name](arguments.quick)


if __name__ == "__main__":
    main()
