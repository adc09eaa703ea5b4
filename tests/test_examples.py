"""Every example runs from the command line and leaves no warning of ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted([*ROOT.glob("plot_*.py"), *ROOT.glob("studies/study_*.py")])
# Of long studies a part, or the first minutes.
OPTIONS = {
    "study_logic": [
        *("--minutes", "10", "--weights", "100", "--tuning_seeds", "100", "--seeds", "0"),
    ],
    "study_dependent_factors": ["--minutes", "3", "--datasets", "dsprites", "--jobs", "1"],
}
# Studies whose tables are kept: the summary is computed from these, and nothing is measured.
SUMMARIZED = (
    *("dependent_factors", "dependent_toys", "identifiability", "logic", "logical_metrics"),
    *("metric_audit", "topology", "total_correlation", "total_correlation_full"),
)
# Studies of more than an hour, which write summary and figures of the results that are there.
STORED = {"study_causal": ROOT.parent / "docs" / "studies" / "results" / "causal"}


@pytest.mark.parametrize("path", sorted(ROOT.glob("plot_*.py")), ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text().splitlines()) < 240, "longer ones are studies"


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    if path.stem == "plot_optuna":
        pytest.importorskip("optuna")
    stored, folder = STORED.get(path.stem), tmp_path / "results"
    if stored is not None:
        shutil.copytree(stored, folder / stored.name)
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    environment.pop("OMP_NUM_THREADS", None)  # as a user would run it
    done = subprocess.run(
        [sys.executable, str(path), *OPTIONS.get(path.stem, [])],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Warning" not in done.stderr, done.stderr[-2000:]
    if stored is not None:
        summaries = [(f / stored.name / "summary.txt").read_text() for f in (stored.parent, folder)]
        assert summaries[0] == summaries[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMMARIZED)
def test_summary_is_that_of_its_tables(name, tmp_path):
    stored = ROOT.parent / "docs" / "studies" / "results" / name
    script = name.removesuffix("_full")
    options = ["--minutes", "0", *(["--full"] if name != script else [])]
    folder = tmp_path / "results" / stored.name
    shutil.copytree(stored, folder)
    (folder / "summary.txt").unlink()
    done = subprocess.run(
        [sys.executable, str(ROOT / "studies" / f"study_{script}.py"), *options],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Warning" not in done.stderr, done.stderr[-2000:]
    assert (folder / "summary.txt").read_text() == (stored / "summary.txt").read_text()
