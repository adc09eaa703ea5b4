"""A sweep in a process that is killed: the next run repeats only unfinished fits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
TIMEOUT = 120

torch.set_num_threads(1)


@pytest.fixture
def sweep_run(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.delenv("SWEEP_LOG", raising=False)
    import sweep_run

    return sweep_run


def start(cache, n_jobs, **environment):
    """Run the sweep in another process, with a process group of its own."""
    code = "import sweep_run; sweep_run.main()"
    environment = {**os.environ, "PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-c", code, str(cache), str(n_jobs)]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def wait_for(condition, process):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, "the sweep ended by itself"
        assert time.monotonic() < end, "the sweep did not get so far"
        time.sleep(0.02)


def entries(folder):
    return list(folder.rglob("output.pkl"))


# That a cached search repeats nothing is tested without a process of its own: test_model_selection.
@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_sweep_repeats_only_unfinished_fits(tmp_path, monkeypatch, sweep_run, n_jobs):
    uninterrupted = sweep_run.sweep().fit(*sweep_run.blocks())
    cache, first, second = (tmp_path / name for name in ("cache", "first.log", "second.log"))
    # Fits after the third begin and never end, so that the kill is always in the middle of one.
    process = start(cache, n_jobs, SWEEP_LOG=str(first), SWEEP_HANG_AFTER="3")
    try:
        wait_for(lambda: len(entries(cache)) == 3, process)
        wait_for(lambda: len(sweep_run.begun(first)) >= 4, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL

    monkeypatch.setenv("SWEEP_LOG", str(second))
    resumed = sweep_run.sweep(str(cache)).fit(*sweep_run.blocks())
    assert len(sweep_run.begun(second)) == sweep_run.N_FITS - 3
    assert sweep_run.scores(resumed) == sweep_run.scores(uninterrupted)
    # A third run repeats nothing.
    sweep_run.sweep(str(cache)).fit(*sweep_run.blocks())
    assert len(sweep_run.begun(second)) == sweep_run.N_FITS - 3
