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
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import peers
import samples
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import mutual_info_score

from sklearn_disent.metrics import (
    beta_vae_score,
    code_mutual_info_error,
    dci_scores,
    disentanglement_report,
    factor_vae_score,
    factorized_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    infom_score,
    informativeness_distance,
    irs_score,
    modularity_distance,
    r_factor_vae_score,
    relevance_matrix,
    udr_score,
    unconfoundedness_score,
)
from sklearn_disent.metrics._catalogue import REPORTED

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


def boost(factors: np.ndarray, codes: np.ndarray, rounds: int) -> None:
    """Gradient boosting on every factor, importances and accuracy, as usual for DCI."""
    train, test = slice(0, 3 * len(codes) // 4), slice(3 * len(codes) // 4, None)
    for y in factors.T:
        model = GradientBoostingClassifier(n_estimators=rounds, random_state=0)
        model.fit(codes[train], y[train])
        np.abs(model.feature_importances_), model.score(codes[test], y[test])


def processor_time(func: Callable[[], object]) -> float:
    """Seconds of one core, which do not count what else the machine does meanwhile."""
    start = time.process_time()
    func()
    return time.process_time() - start


def section_dci(quick: bool) -> None:
    """DCI scores by extra trees, on one core, against gradient boosting on every factor."""
    factors, codes = make_data(10_000)
    ours = processor_time(lambda: dci_scores(factors, codes, random_state=0))
    report("DCI, 10,000 x 10 codes x 5 factors", f"{ours:.2f} s", "under 7 s", ours < 7)
    # All rounds take the same time: a part of the 100 is measured and multiplied.
    rounds = 2 if quick else 20
    theirs = processor_time(lambda: boost(factors, codes, rounds)) * 100 / rounds
    report_ratio(
        f"  against gradient boosting ({100 // rounds} x {rounds} rounds)",
        ours,
        theirs,
        at_least=20,
    )


def looped_votes(factors: np.ndarray, codes: np.ndarray, n_votes: int) -> np.ndarray:
    """FactorVAE votes as they are usually cast: one batch after the other."""
    rng = np.random.default_rng(0)
    rows = [[np.flatnonzero(y == value) for value in np.unique(y)] for y in factors.T]
    spread = codes.var(axis=0, ddof=1)
    votes = np.zeros((codes.shape[1], factors.shape[1]), dtype=int)
    for _ in range(n_votes):
        k = rng.integers(factors.shape[1])
        batch = codes[rng.choice(rows[k][rng.integers(len(rows[k]))], 64)]
        votes[np.argmin(batch.var(axis=0, ddof=1) / spread), k] += 1
    return votes


def looped_differences(factors: np.ndarray, codes: np.ndarray, n_groups: int) -> None:
    """Beta-VAE groups as they are usually drawn, one after the other, and the regression."""
    rng = np.random.default_rng(0)
    order = np.argsort(factors, axis=0)
    counts = [np.bincount(y) for y in factors.T]
    X, y = np.empty((n_groups, codes.shape[1])), rng.integers(factors.shape[1], size=n_groups)
    for i, k in enumerate(y):
        values = rng.integers(len(counts[k]), size=64)
        start, count = (np.cumsum(counts[k]) - counts[k])[values], counts[k][values]
        one, two = (codes[order[start + rng.integers(count), k]] for _ in range(2))
        X[i] = np.abs(one - two).mean(axis=0)
    LogisticRegression(max_iter=1000).fit(X, y).score(X, y)


def section_interventional(quick: bool) -> None:
    """Scores by vectorised draws against loops over the draws."""
    factors, codes = make_data(10_000)
    part = 20 if quick else 5
    for name, score, loop, seconds in (
        ("FactorVAE", factor_vae_score, looped_votes, 0.1),
        ("beta-VAE", beta_vae_score, looped_differences, 0.7),
    ):
        ours = best_time(lambda score=score: score(factors, codes, random_state=0), 3)
        report(f"{name}, 15,000 draws", f"{ours:.3f} s", f"under {seconds} s", ours < seconds)
        start = time.perf_counter()
        loop(factors, codes, 15_000 // part)
        report_ratio("  against a loop", ours, (time.perf_counter() - start) * part)
    for score in (r_factor_vae_score, irs_score, unconfoundedness_score):
        ours = best_time(lambda score=score: score(factors, codes), 3)
        report(score.__name__, f"{ours:.3f} s")


def section_unsupervised(quick: bool) -> None:
    """Scores of the codes alone."""
    codes = make_data(10_000)[1]
    for score in (
        gaussian_total_correlation_error,
        gaussian_wasserstein_correlation_error,
        code_mutual_info_error,
        factorized_support_distance,
    ):
        report(score.__name__, f"{best_time(lambda score=score: score(codes), 3):.4f} s")
    models = [codes, -codes, codes[:, ::-1]]
    for kind in ("lasso", "spearman"):
        seconds = best_time(lambda kind=kind: udr_score(models, kind=kind), 1)
        report(f"udr_score of three models, {kind}", f"{seconds:.3f} s")


def section_logical(quick: bool) -> None:
    """Modularity and informativeness from logical definitions, on one core."""
    factors, codes = make_data(10_000)
    groups = np.arange(10).reshape(5, 2)
    for deviation in ("variance", "diameter", "mean_pairwise", "radius", "mad"):
        wanted = 0.05 if deviation in {"variance", "diameter", "mean_pairwise"} else None
        for name, options in {"one code each": {}, "two codes each": {"groups": groups}}.items():
            seconds = best_time(
                lambda d=deviation, o=options: modularity_distance(
                    factors, codes, deviation=d, **o
                ),
                3,
            )
            # All pairs in a plane cannot be sorted: the bound is for single codes.
            bound = wanted if deviation != "mean_pairwise" or not options else None
            report(
                f"modularity, {deviation}, {name}",
                f"{seconds * 1000:.1f} ms",
                None if bound is None else f"under {bound * 1000:.0f} ms",
                bound is None or seconds < bound,
            )
    for quantity in ("mse", "mae", "max_error", "mean_contraction", "max_contraction"):
        start = time.perf_counter()
        tracemalloc.start()
        informativeness_distance(factors, codes, quantity=quantity)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        seconds = time.perf_counter() - start
        contraction = quantity.endswith("contraction")
        report(
            f"informativeness, {quantity}",
            f"{seconds:.2f} s, {peak:.0f} MB",
            "under 200 MB, all distances: 800 MB" if contraction else None,
            not contraction or peak < 200,
        )


def regress(factors: np.ndarray, codes: np.ndarray) -> None:
    """A lasso on every factor, the cheapest DCI there is."""
    scaled = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    for y in factors.T:
        Lasso(0.02).fit(scaled, y)


def section_report(quick: bool) -> None:
    """All metrics on one core, each matrix once, against DCI alone as others compute it."""
    factors, codes = make_data(10_000)

    def seconds(metrics: list[str]) -> float:
        return processor_time(
            lambda: disentanglement_report(factors, codes, metrics=metrics, random_state=0)
        )

    start = time.process_time()
    names = list(disentanglement_report(factors, codes, random_state=0, output="dict"))
    whole = time.process_time() - start
    report(f"report, {len(names)} metrics, 10,000 x 10 codes x 5 factors", f"{whole:.2f} s")
    predicted = [name for name in names if name.startswith(("dci_", "downstream", "expl", "infoe"))]
    for name in predicted:
        if not name.startswith("dci_") or name == "dci_informativeness":
            report(f"  of which {name.replace('informativeness', '*')}", f"{seconds([name]):.2f} s")
    rest = seconds([name for name in names if name not in predicted])
    report("  of which all that fit no predictor", f"{rest:.2f} s")
    rounds = 2 if quick else 10
    boosting = processor_time(lambda: boost(factors, codes, rounds)) * 100 / rounds
    report_ratio("  against DCI by gradient boosting", whole, boosting, at_least=1)
    # No forest is as cheap as five linear fits: said here, not aimed at.
    lasso = processor_time(lambda: regress(factors, codes))
    report_ratio("  against DCI by lasso", whole, lasso)


def section_peers(quick: bool, page: bool = False) -> None:
    """Each metric beside every peer that can be imported; within 10 % or 5 ms of the fastest?"""
    rows = peers.compare(*make_data(1000 if quick else 10_000), n_rounds=1 if quick else 3)
    if page:
        header = ("metric", "peer", "ours (ms)", "theirs (ms)", "theirs / ours", "fast enough")
        peers.write_table("peers", header, rows)


def section_growth(quick: bool, page: bool = False) -> None:
    """Seconds of every metric of the report up to a million rows, and the fitted exponent."""
    sizes = (1000, 10_000, 100_000) if quick else (1000, 10_000, 100_000, 1_000_000)
    rows = peers.growth(make_data, sizes, Path(".growth.json"))
    if page:
        header = ("metric", *(f"{n:,} rows (s)" for n in sizes), "exponent")
        peers.write_table("growth", header, rows)


def section_whole(quick: bool, page: bool = False) -> None:
    """The whole report at the rows of dSprites, in a process of its own: time and memory."""
    rows = []
    for n_samples in (10_000,) if quick else (10_000, 737_280):
        command = [sys.executable, __file__, "--report-rows", str(n_samples)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, peak = map(float, output.split())
        bounds = (6, 3) if n_samples == 10_000 else (60, 3)
        ok = seconds <= bounds[0] and peak <= bounds[1]
        wanted = f"at most {bounds[0]} s and {bounds[1]} GB"
        name = f"report, all metrics, {n_samples:,} rows"
        report(name, f"{seconds:.1f} s, peak {peak:.2f} GB", wanted, ok)
        rows.append((name, f"{seconds:.1f}", f"{peak:.2f}", wanted, "yes" if ok else "NO"))
    seconds = resampling()
    wanted = "at most 50 s (30 s on two cores)"
    report(
        "200 resamples of the cheap metrics, 10,000 rows", f"{seconds:.0f} s", wanted, seconds <= 50
    )
    verdict = "yes" if seconds <= 50 else "NO"
    rows.append(
        ("200 resamples of the cheap metrics, 10,000 rows", f"{seconds:.1f}", "", wanted, verdict)
    )
    if page:
        peers.write_table("whole", ("what", "seconds", "peak GB", "wanted", "reached"), rows)


def resampling(n_measured: int = 10) -> float:
    """Processor seconds of 200 resamples of all metrics that fit no predictors, from a few."""
    factors, codes = make_data(10_000)
    dear = {name for name, metric in REPORTED.items() if "max_samples" in metric.options}
    cheap = [name for name in REPORTED if name not in dear | {"beta_vae"}]

    def seconds(n_resamples: int) -> float:
        options = {"metrics": cheap, "n_resamples": n_resamples, "random_state": 0}
        return processor_time(lambda: disentanglement_report(factors, codes, **options))

    seconds(0)
    return (seconds(n_measured) - seconds(0)) / n_measured * 200


def section_samples(quick: bool, page: bool = False) -> None:
    """The effect of max_samples on values: half of the rows against all of them."""
    n_samples = 4000 if quick else 20_000
    rows = samples.effect(*make_data(n_samples), n_samples // 2, n_draws=2)
    if page:
        values = "of all rows (mixed, one factor each, copies)"
        header = ("metric", values, "mean absolute difference", "standard error", "mean difference")
        peers.write_table("samples", header, rows)


def measure_report(n_samples: int) -> None:
    """Processor seconds of one report, and peak memory in GB."""
    factors, codes = make_data(n_samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Imports happen once per session.
        disentanglement_report(factors[:500], codes[:500], random_state=0)
        seconds = processor_time(lambda: disentanglement_report(factors, codes, random_state=0))
    unit = 1e9 if sys.platform == "darwin" else 1e6
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


SECTIONS: dict[str, Callable[..., None]] = {
    "information": section_information,
    "scaling": section_scaling,
    "dci": section_dci,
    "interventional": section_interventional,
    "unsupervised": section_unsupervised,
    "logical": section_logical,
    "report": section_report,
    "whole": section_whole,
    "peers": section_peers,
    "growth": section_growth,
    "samples": section_samples,
}
# Sections whose tables stand in docs/guide/speed.rst.
ON_PAGE = ("whole", "peers", "growth", "samples")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    parser.add_argument("--page", action="store_true", help="write tables into the guide")
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--report-rows", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rows is not None:
        measure_rows(arguments.rows)
        return
    if arguments.report_rows is not None:
        measure_report(arguments.report_rows)
        return
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown sections {sorted(unknown)}, choose from {list(SECTIONS)}")
    for name in arguments.sections or SECTIONS:
        print(f"# {name}: {SECTIONS[name].__doc__}")
        options = {"page": arguments.page} if name in ON_PAGE else {}
        SECTIONS[name](arguments.quick, **options)


if __name__ == "__main__":
    main()
