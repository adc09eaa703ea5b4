"""Sweeps on a dask cluster that loses a worker."""

from itertools import chain
from pathlib import Path

import pytest
from joblib import parallel_config

HERE = Path(__file__).parent


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
    # A worker that dies takes the arrays with it that no other has: all of them go to every worker,
    # the numbers of the rows of each fold included.
    folds = list(sweep_run.CV.split(X))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        parallel_config("dask", scatter=[X, y, *chain(*folds)]),
    ):
        search = sweep_run.sweep(str(tmp_path / "cache"), cv=folds).fit(X, y)
    assert log.with_suffix(".killed").exists()
    begun = sweep_run.begun(log)
    assert len(set(begun)) >= 2
    assert len(begun) > sweep_run.N_FITS  # the fit that died with its worker is begun again
    assert sweep_run.scores(search) == expected
