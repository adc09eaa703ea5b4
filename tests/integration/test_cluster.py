"""Sweeps on a dask cluster that loses a worker."""

import re
import textwrap
from pathlib import Path

import pytest
from joblib import parallel_config

HERE = Path(__file__).parent
N_WORKERS = 2
GUIDE = HERE.parents[1] / "docs" / "guide" / "sweeps.rst"


def documented_code():
    """What the guide says: the block that connects to the workers."""
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", GUIDE.read_text())
    (block,) = [text for text in blocks if "tcp://node1:8786" in text]
    return textwrap.dedent(block)


class Watched:
    """A search that looks where the arrays are before it begins.

    An array that is on one worker only may be lost with it, which then depends on who has fetched
    it in time: where it is does not.
    """

    def __init__(self, search):
        self.search = search

    def set_params(self, **params):
        self.search.set_params(**params)

    def fit(self, X, y):
        import distributed

        holders = distributed.Client.current().who_has()
        assert len(holders) == 4, "X, y and the two halves of the rows"
        assert all(len(set(workers)) == N_WORKERS for workers in holders.values())
        self.search.fit(X, y)


@pytest.mark.slow
def test_sweep_outlives_a_worker(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    import sweep_run

    X, y = sweep_run.blocks()
    monkeypatch.delenv("SWEEP_LOG", raising=False)
    expected = sweep_run.scores(sweep_run.sweep().fit(X, y))
    log = tmp_path / "fits.log"
    monkeypatch.setenv("SWEEP_LOG", str(log))
    monkeypatch.setenv("SWEEP_KILL_AT", "3")
    search = sweep_run.sweep(str(tmp_path / "cache"))
    names = {"X": X, "y": y, "cv": sweep_run.CV, "search": Watched(search)}
    with distributed.LocalCluster(
        n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        exec(
            documented_code().replace("tcp://node1:8786", cluster.scheduler_address),
            {**names, "parallel_config": parallel_config},
        )
    assert log.with_suffix(".killed").exists()
    begun = sweep_run.begun(log)
    assert len(set(begun)) >= 2
    assert len(begun) > sweep_run.N_FITS  # the fit that died with its worker is begun again
    assert sweep_run.scores(search) == expected
