"""Memory of data larger than memory: what fits, folds, partners and judges add to a memory map.

Each line is a process of its own, which opens a file of images as a memory map and reports its
peak of anonymous memory (RssAnon, which excludes the pages of the file: the system drops these when
it needs room) beyond what it had before. Linux only.

Run ``python benchmarks/memory.py`` for a file of 1 GB, or ``--megabytes 200``.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

SHAPE = (64, 64, 3)
CASES = {
    "fit, memory map": "fit",
    "cross-validation, memory map": "folds",
    "cross-validation, LazyRows": "lazy folds",
    "X and X_pair, memory maps": "pairs",
    "counterfactual generativeness, memory map": "judge",
    "counterfactual generativeness, array in memory": "judge in memory",
}


def anonymous() -> float:
    """Anonymous memory of this process now, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise SystemExit("This system does not report RssAnon.")


class Peak(threading.Thread):
    """Largest anonymous memory while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self.stopped = 0.0, False

    def run(self) -> None:
        while not self.stopped:
            self.largest = max(self.largest, anonymous())
            time.sleep(0.005)


def measure(case: str, file: str) -> float:
    """Peak in MB beyond what the process had, after everything was imported and warmed up."""
    from sklearn.model_selection import KFold, cross_val_score

    from sklearn_disent.datasets import LazyRows
    from sklearn_disent.metrics import counterfactual_generativeness_score, get_scorer
    from sklearn_disent.models import AdaGVAE, BetaVAE, FactorClassifier

    options = {"max_epochs": 1, "random_state": 0, "n_components": 4, "batch_size": 128}
    options |= {"architecture": "mlp", "module__hidden_sizes": (16,)}
    X = np.load(file, mmap_mode="r")
    y = np.random.default_rng(0).integers(0, 3, (len(X), 2))
    few = np.array(X[:256])
    model = BetaVAE(**options).fit(few, y[:256])
    judge = FactorClassifier(max_epochs=1, random_state=0)
    counterfactual_generativeness_score(model, few, y[:256], classifiers=judge, random_state=0)
    folds = {"scoring": get_scorer("sap"), "cv": KFold(2, shuffle=True, random_state=0)}
    work = {
        "fit": lambda: model.fit(X),
        "folds": lambda: cross_val_score(model, X, y, **folds),
        "lazy folds": lambda: cross_val_score(model, LazyRows(X), y, **folds),
        "pairs": lambda: AdaGVAE(**options).fit(X, X_pair=np.load(file, mmap_mode="r")[::-1]),
        "judge": lambda: counterfactual_generativeness_score(
            model, X, y, classifiers=judge, random_state=0
        ),
        "judge in memory": lambda: counterfactual_generativeness_score(
            model, X, y, classifiers=judge, random_state=0
        ),
    }[case]
    # The allocator keeps some of what encoding has freed, whatever the data: not counted.
    model.transform(np.array(X[:2048]))
    before = anonymous()
    if case == "judge in memory":
        X = np.array(X)
    peak = Peak()
    peak.start()
    work()
    peak.stopped = True
    peak.join()
    return peak.largest - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the file")
    parser.add_argument("--case", help="for the processes that are measured")
    parser.add_argument("--file", help="for the processes that are measured")
    options = parser.parse_args()
    if options.case:
        print(measure(options.case, options.file))
        return
    n_images = options.megabytes * 10**6 // int(np.prod(SHAPE))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.npy"
        array = np.lib.format.open_memmap(file, "w+", np.uint8, (n_images, *SHAPE))
        rng = np.random.default_rng(0)
        for start in range(0, n_images, 1000):
            n_rows = len(array[start : start + 1000])
            array[start : start + 1000] = rng.integers(0, 256, (n_rows, *SHAPE), dtype=np.uint8)
        array.flush()
        size = array.nbytes / 2**20
        print(f"{n_images:,} images of {SHAPE}, {size:,.0f} MB on disk\n")
        for name, case in CASES.items():
            command = [sys.executable, "-W", "ignore", __file__, "--case", case, "--file", file]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            print(f"{name:<48}{float(output):>8,.0f} MB {float(output) / size:>7.2f} x the file")


if __name__ == "__main__":
    main()
