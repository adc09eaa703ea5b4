"""A small sweep whose fits are logged in a file, and that a test can hold or kill in the middle.

Not a test: processes of the tests import it. Environment variables, unlike parameters of an
estimator, do not change the key under which a fit is cached.
"""

import os
import signal
import sys
import time
from pathlib import Path
from uuid import uuid4

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from skorch.callbacks import Callback

from sklearn_disent.metrics import get_scorer
from sklearn_disent.model_selection import SweepMemory
from sklearn_disent.models import BetaVAE

GRID = {"vae__beta": [1.0, 4.0], "vae__random_state": [0, 1]}
N_FITS = 8
CV = KFold(2, shuffle=True, random_state=0)


class FitLog(Callback):
    """Write one line per fit begun; the further ones may hang, or one may kill its process."""

    def on_train_begin(self, net, **kwargs):
        path = os.environ.get("SWEEP_LOG")
        if path is None:
            return
        # Found again by its token: of two fits that begin at once, one is the first.
        line = f"{os.getpid()} {uuid4().hex}"
        with open(path, "a") as log:
            log.write(line + "\n")
        number = Path(path).read_text().split("\n").index(line) + 1
        if number > float(os.environ.get("SWEEP_HANG_AFTER", "inf")):
            time.sleep(600)
        if number >= float(os.environ.get("SWEEP_KILL_AT", "inf")):
            self.kill_once(Path(path).with_suffix(".killed"))

    def kill_once(self, marker):
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def begun(path):
    """Process ids of the fits that have begun."""
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    return [int(line.split()[0]) for line in lines]


def blocks(n_samples=240):
    """Binary 8 x 8 images of a 3 x 3 block, and its row and column."""
    y = np.random.default_rng(0).integers(0, 5, (n_samples, 2))
    X = np.zeros((n_samples, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    return X, y


def sweep(memory=None, n_jobs=None, cv=CV):
    """The search that all tests run."""
    vae = BetaVAE(
        2,
        architecture="mlp",
        module__hidden_sizes=(16,),
        max_epochs=2,
        batch_size=32,
        callbacks=[("fits", FitLog())],
    )
    memory = None if memory is None else SweepMemory(memory)
    pipeline = Pipeline([("vae", vae), ("end", "passthrough")], memory=memory)
    return GridSearchCV(
        pipeline, GRID, scoring=get_scorer("mig"), cv=cv, refit=False, n_jobs=n_jobs
    )


def scores(search):
    """Score of every candidate on every fold."""
    return [list(search.cv_results_[f"split{i}_test_score"]) for i in range(2)]


def main():
    """Run the sweep with the cache and number of jobs of the command line."""
    memory, n_jobs = sys.argv[1:]
    torch.set_num_threads(1)
    sweep(memory, int(n_jobs)).fit(*blocks())
