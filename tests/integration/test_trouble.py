"""Caches that cannot be written to, or that several processes write to at once."""

import os
import resource
import shutil
import signal
import stat
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from .test_resume import entries, start, sweep_run  # noqa: F401

pytestmark = pytest.mark.slow
NOBODY = 65534


@pytest.fixture
def folder():
    """A folder that another user may enter, unlike those of pytest."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    for path in [made, *made.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    shutil.rmtree(made)


@contextmanager
def read_only(folder):
    """Nobody may write below a folder, not even the administrator, who becomes a plain user."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IWUSR)


@contextmanager
def full_disk(n_bytes):
    """No file may grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def log(folder, monkeypatch, sweep_run):  # noqa: F811
    """Where fits are logged, whoever runs them."""
    path = folder / "logs" / "fits.log"
    path.parent.mkdir()
    path.parent.chmod(0o777)
    path.touch()
    path.chmod(0o666)
    monkeypatch.setenv("SWEEP_LOG", str(path))
    return path


def run(sweep_run, cache=None):  # noqa: F811
    return sweep_run.scores(sweep_run.sweep(cache and str(cache)).fit(*sweep_run.blocks()))


def test_read_only_cache_is_read(folder, log, sweep_run):  # noqa: F811
    expected = run(sweep_run, folder / "cache")
    assert len(sweep_run.begun(log)) == sweep_run.N_FITS
    with read_only(folder / "cache"), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert run(sweep_run, folder / "cache") == expected
    assert len(sweep_run.begun(log)) == sweep_run.N_FITS


def test_read_only_cache_that_lacks_entries_is_no_obstacle(folder, log, sweep_run):  # noqa: F811
    cache = folder / "cache"
    expected = run(sweep_run, cache)
    for entry in entries(cache)[:3]:
        shutil.rmtree(entry.parent)
    with read_only(cache), pytest.warns(UserWarning, match="cannot be written to the cache"):
        assert run(sweep_run, cache) == expected
    assert len(sweep_run.begun(log)) == sweep_run.N_FITS + 3
    assert run(sweep_run, cache) == expected
    assert len(sweep_run.begun(log)) == sweep_run.N_FITS + 6


def test_read_only_folder_without_a_cache_is_no_obstacle(folder, log, sweep_run):  # noqa: F811
    expected = run(sweep_run)
    (folder / "home").mkdir()
    with read_only(folder / "home"), pytest.warns(UserWarning, match="cannot be written"):
        assert run(sweep_run, folder / "home" / "cache") == expected


@pytest.mark.parametrize("n_bytes", [0, 100, 3000])
def test_full_disk_costs_no_score_and_leaves_no_damage(
    folder, tmp_path, monkeypatch, sweep_run, n_bytes  # noqa: F811
):  # fmt: skip
    expected, cache = run(sweep_run), folder / "cache"
    with full_disk(n_bytes), pytest.warns(UserWarning, match="cannot be written to the cache"):
        assert run(sweep_run, cache) == expected
    # With room again, what is there is read, and the rest is fitted.
    log = tmp_path / "fits.log"
    monkeypatch.setenv("SWEEP_LOG", str(log))
    kept = len(entries(cache))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # entries that were cut off
        assert run(sweep_run, cache) == expected
    assert len(sweep_run.begun(log)) >= sweep_run.N_FITS - kept
    n_begun = len(sweep_run.begun(log))
    assert run(sweep_run, cache) == expected
    assert len(sweep_run.begun(log)) == n_begun


def test_two_processes_share_a_cache(folder, tmp_path, monkeypatch, sweep_run):  # noqa: F811
    expected, cache, log = run(sweep_run), folder / "cache", tmp_path / "fits.log"
    processes = [start(cache, 1, SWEEP_LOG=str(log)) for _ in range(2)]
    assert [process.wait(300) for process in processes] == [0, 0]
    n_begun = len(sweep_run.begun(log))
    assert sweep_run.N_FITS <= n_begun <= 2 * sweep_run.N_FITS
    # What one of them had finished, nobody repeats.
    monkeypatch.setenv("SWEEP_LOG", str(log))
    assert run(sweep_run, cache) == expected
    assert len(sweep_run.begun(log)) == n_begun
