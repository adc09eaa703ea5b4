"""What `max_samples` does to the values of the scores that have it.

``python benchmarks/metrics.py samples`` compares the score of some rows, drawn at random, with that
of all rows, on three kinds of codes; with ``--page`` the table goes into docs/guide/speed.rst.
"""

import warnings

import numpy as np
from peers import Array

from sklearn_disent.metrics import disentanglement_report
from sklearn_disent.metrics._catalogue import REPORTED


def kinds_of_codes(factors: Array, mixed: Array) -> dict[str, Array]:
    """Codes that mix the factors, codes of one factor each beside noise, and copies of such."""
    rng = np.random.default_rng(1)
    scaled, noise = factors / factors.max(axis=0), rng.normal(size=factors.shape)
    one_each = np.tanh(2 * scaled - 1) + 0.01 * noise
    loose = scaled + 0.03 * noise
    return {
        "mixed": mixed,
        "one factor each": np.hstack([one_each, 0.3 * rng.normal(size=factors.shape)]),
        "copies": np.hstack([loose, loose + 0.01 * rng.normal(size=factors.shape)]),
    }


def limited() -> list[str]:
    """Metrics that draw rows, but for downstream accuracy, whose draw is part of its definition."""
    names = [name for name, metric in REPORTED.items() if "max_samples" in metric.options]
    return [name for name in names if name != "downstream_accuracy"]


def scores(factors: Array, codes: Array, max_samples: int | None, seed: int) -> dict[str, float]:
    """All limited metrics; T-MEX takes half as many rows, as it does by default."""
    sizes = dict.fromkeys(limited(), max_samples)
    if max_samples is not None:
        sizes["tmex_error"] = max_samples // 2
    params = {name: {"max_samples": size} for name, size in sizes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = disentanglement_report(
            factors,
            codes,
            metrics=list(params),
            metric_params=params,
            random_state=seed,
            output="dict",
        )
    return {name: row["value"] for name, row in report.items()}


def effect(
    factors: Array, mixed: Array, max_samples: int, n_draws: int
) -> list[tuple[str, str, str, str, str]]:
    """Rows of the table: metric, value of all rows by kind, mean absolute difference, its error."""
    differences: dict[str, list[float]] = {name: [] for name in limited()}
    whole: dict[str, list[float]] = {name: [] for name in limited()}
    for codes in kinds_of_codes(factors, mixed).values():
        everything = scores(factors, codes, None, 0)
        for name, value in everything.items():
            whole[name].append(value)
        for seed in range(n_draws):
            for name, value in scores(factors, codes, max_samples, seed).items():
                differences[name].append(value - everything[name])
    rows = []
    for name, values in differences.items():
        size = np.abs(values)
        error = size.std(ddof=1) / np.sqrt(len(size))
        of_all = ", ".join(f"{value:.3f}" for value in whole[name])
        row = (name, of_all, f"{size.mean():.4f}", f"{error:.4f}", f"{np.mean(values):+.4f}")
        rows.append(row)
        print(" | ".join(row), flush=True)
    return rows
