"""Sweeps on a dask cluster that loses a worker."""

import re
import textwrap
from pathlib import Path

import pytest
from joblib import parallel_config

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "guide" / "sweeps.rst"


def documented_code():
    """What the guide says: the block that connects to the workers."""
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", GUIDE.read_text())
    (block,) = [text for text in blocks if "tcp://node1:8786" in text]
    return textwrap.dedent(block)


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
    names = {"X": X, "y": y, "cv": sweep_run.CV, "search": search}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
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
