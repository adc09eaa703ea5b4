"""Parallel efficiency of a sweep on two workers, and how many copies of X they hold.

The same search runs with one and with two workers in turn, one thread each; the best times of both
are compared. Efficiency is the throughput of two workers over twice that of one: 1 is perfect,
0.85 is the aim on an idle machine with two cores. Starting the workers, mostly the import of
torch, happens once per session; it is printed on its own.

    python benchmarks/sweep.py                # efficiency and memory
    python benchmarks/sweep.py --fits 4 --rows 1000 --repeats 1   # a short run
    python benchmarks/sweep.py --fits 12 --scoring dci_disentanglement    # forests in scoring

The processor time of the same fits, too, is compared: on a busy machine it tells whether workers
get in each other's way, as they do where forests start threads of their own, when the clock on the
wall tells nothing.
"""

import argparse
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.metrics import get_scorer
from sklearn_disent.metrics._catalogue import REPORTED
from sklearn_disent.models import BetaVAE


class Run(NamedTuple):
    elapsed: float
    """Seconds on the wall."""
    work: float
    """Seconds of processor time, of this process and its workers."""
    scores: np.ndarray


def work_of(pids: set[int]) -> float:
    """Processor time of some processes so far (Linux only)."""
    ticks = 0
    for pid in pids:
        # The name, in parentheses, may hold anything: user and system time follow behind it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def one_sweep(
    n_jobs: int, n_fits: int, X: np.ndarray, y: np.ndarray, scoring: str, pids: set[int]
) -> Run:
    """Times and scores of one sweep."""
    vae = BetaVAE(n_components=6, max_epochs=2)
    grid = {"beta": [1.0, 4.0], "random_state": range(n_fits // 2)}
    cv = ShuffleSplit(1, test_size=0.25, random_state=0)
    # Else forests would give other scores every time.
    options = {"random_state": 0} if "random_state" in REPORTED[scoring].options else {}
    scorer = get_scorer(scoring, **options)
    search = GridSearchCV(vae, grid, scoring=scorer, cv=cv, refit=False)
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1 if n_jobs > 1 else None):
        start, before = time.perf_counter(), work_of(pids)
        search.fit(X, y)
        elapsed, work = time.perf_counter() - start, work_of(pids) - before
    return Run(elapsed, work, search.cv_results_["mean_test_score"])


def warm_up(X: np.ndarray, y: np.ndarray) -> int:
    """One small fit in a worker: imports, first use of the kernels."""
    torch.set_num_threads(1)
    BetaVAE(n_components=6, max_epochs=1).fit(X[:64], y[:64])
    time.sleep(1)  # so that the other worker gets the other fit
    return os.getpid()


def efficiency(n_fits: int, n_rows: int, n_repeats: int, scoring: str) -> None:
    X, y = make_dsprites(n_rows, random_state=0, return_X_y=True)
    start = time.perf_counter()
    with parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        workers = set(Parallel()(delayed(warm_up)(X[:64], y[:64]) for _ in range(2)))
    print(f"{len(workers)} workers ready after {time.perf_counter() - start:.1f} s")
    warm_up(X, y)
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for _ in range(n_repeats):
        for n_jobs in (1, 2):
            pids = workers | {os.getpid()}
            runs[n_jobs].append(one_sweep(n_jobs, n_fits, X, y, scoring, pids))
    one, two = (min(run.elapsed for run in runs[n_jobs]) for n_jobs in (1, 2))
    less, more = (min(run.work for run in runs[n_jobs]) for n_jobs in (1, 2))
    is_equal = np.array_equal(runs[1][0].scores, runs[2][0].scores)
    print(
        f"{n_fits} fits on {n_rows} images, scored by {scoring}: {one:.1f} s with 1 worker, "
        f"{two:.1f} s with 2; efficiency {one / (2 * two):.2f} (aim: 0.85 on an idle machine); "
        f"processor time {less:.1f} and {more:.1f} s, ratio {less / more:.2f}; "
        f"equal scores: {is_equal}"
    )


def mapped_memory(estimator, X, y=None) -> dict[str, float]:
    """Scorer: what this worker maps of the arrays that joblib shares, in bytes (Linux only)."""
    found = {"pid": os.getpid(), "inode": 0, "size": 0, "rss": 0, "pss": 0, "private": 0}
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        header = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) *(.*)", line)
        if header:
            inside = "joblib_memmapping_folder" in header[2]
            found["inode"] = int(header[1]) if inside else found["inode"]
            continue
        name, value = line.split(":")
        key = {"Private_Clean": "private", "Private_Dirty": "private"}.get(name, name.lower())
        if inside and key in found:
            found[key] += int(value.split()[0]) * 1024
    return found


def memory(n_rows: int) -> None:
    X = np.random.default_rng(0).integers(0, 2, (n_rows, 64, 64), dtype=np.uint8)
    vae = BetaVAE(n_components=2, max_epochs=0)
    cv = ShuffleSplit(1, test_size=0.5, random_state=0)  # train and test together touch all of X
    search = GridSearchCV(
        vae, {"random_state": range(8)}, scoring=mapped_memory, cv=cv, refit=False
    )
    with parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        search.fit(X)
    keys = ("pid", "inode", "size", "rss", "pss", "private")
    rows = np.column_stack([search.cv_results_[f"mean_test_{key}"] for key in keys])
    print(f"X is {X.nbytes / 2**20:.0f} MB")
    proportional = 0.0
    for pid in np.unique(rows[:, 0]):
        # The last fit of the worker: the other one has read X by then.
        size, rss, pss, private = rows[rows[:, 0] == pid][-1, 2:] / 2**20
        proportional += pss
        print(
            f"worker {pid:.0f} maps {size:.0f} MB of it: {rss:.0f} MB in memory, of which its own "
            f"{private:.0f} MB; its share {pss:.0f} MB"
        )
    n_files = len(np.unique(rows[:, 1]))
    print(f"{n_files} file, {proportional:.0f} MB in all workers together")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=8, help="fits of a sweep, an even number")
    parser.add_argument("--rows", type=int, default=4000, help="images of the sweep")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scoring", default="mig", help="name of a scorer")
    parser.add_argument("--no-memory", action="store_true", help="efficiency alone")
    options = parser.parse_args()
    load, n_cores = os.getloadavg()[0], os.cpu_count()
    note = " (loaded: the efficiency will be too low or too high)" if load > 0.3 else ""
    print(f"load before the run {load:.1f} on {n_cores} cores{note}")
    efficiency(options.fits, options.rows, options.repeats, options.scoring)
    if not options.no_memory:
        memory(25_000)
