"""What the studies share: tables that grow, and are not measured twice."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "studies" / "_study.py"
CELLS = [{"beta": beta, "seed": seed} for beta in (1.0, 4.0) for seed in (0, 1)]


def load_module():
    spec = importlib.util.spec_from_file_location("_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_study(monkeypatch, tmp_path):
    module = load_module()

    def make(*options, settings=None):
        monkeypatch.setattr(sys, "argv", ["study.py", "--out", str(tmp_path), *options])
        return module.Study("toy", "A toy.", small=settings or {"n": 3}, full={"n": 1000})

    return make


def test_study_measures_only_what_is_missing(make_study):
    measured = []

    def measure(beta, seed):
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append((beta, seed))
        return [{"metric": name, "value": beta + seed} for name in ("mig", "sap")]

    with pytest.raises(KeyboardInterrupt):
        make_study().rows("scores", CELLS, measure)
    measured.pop(0)  # makes room for one more
    frame = make_study().rows("scores", CELLS, measure)
    assert measured == [(1.0, 1), (4.0, 0), (4.0, 1)]
    assert len(frame) == 8
    assert frame.groupby(["beta", "seed"]).size().eq(2).all()
    again = make_study().rows("scores", CELLS, lambda **cell: pytest.fail("measured again"))
    pd.testing.assert_frame_equal(frame, again)


def test_study_ends_in_time_and_goes_on(make_study):
    def measure(beta, seed):
        return [{"value": beta + seed}]

    with pytest.raises(SystemExit, match=r"0 minutes are over.*Run the study again"):
        make_study("--minutes", "0").rows("scores", CELLS, measure)
    frame = make_study("--minutes", "5").rows("scores", CELLS, measure)
    assert len(frame) == 4
    assert len(make_study("--minutes", "0").rows("scores", CELLS, measure)) == 4


def test_study_refuses_results_of_other_settings(make_study):
    make_study()
    with pytest.raises(SystemExit, match="other settings"):
        make_study(settings={"n": 4})


def test_study_keeps_full_runs_apart(make_study):
    small, full = make_study(), make_study("--full")
    assert (small["n"], full["n"]) == (3, 1000)
    assert small.folder != full.folder


def test_shrink_takes_means_of_blocks():
    images = np.arange(2 * 4 * 6 * 3, dtype=float).reshape(2, 4, 6, 3)
    small = load_module().shrink(images, 2)
    assert small.shape == (2, 2, 3, 3)
    assert np.array_equal(small[1, 0, 2], images[1, :2, 4:].mean((0, 1)))
    assert load_module().shrink(images[..., 0], 2).shape == (2, 2, 3)


def test_study_writes_its_summary(make_study, capsys):
    study = make_study()
    study.text(["MIG rises.", "It holds."])
    assert (study.folder / "summary.txt").read_text() == "MIG rises.\nIt holds.\n"
    assert capsys.readouterr().out == "MIG rises.\nIt holds.\n"


def test_study_begins_nothing_after_its_time(make_study):
    study = make_study("--minutes", "0")
    assert len(study.parallel_rows("scores", CELLS, lambda **cell: pytest.fail("measured"))) == 0


def test_study_measures_in_parallel_what_is_missing(make_study):
    study = make_study("--jobs", "1")
    study.rows("scores", CELLS[:2], lambda beta, seed: [{"value": beta + seed}])
    frame = study.parallel_rows("scores", CELLS, lambda beta, seed: [{"value": 10 * (beta + seed)}])
    assert sorted(frame["value"]) == [1.0, 2.0, 40.0, 50.0]
    pd.testing.assert_frame_equal(frame, pd.read_csv(study.folder / "scores.csv"))


def test_claims_have_three_outcomes():
    module = load_module()
    rng = np.random.default_rng(0)
    low, high = rng.normal(0.0, 0.1, 20), rng.normal(1.0, 0.1, 20)

    def gap(first, second):
        return second.mean() - first.mean()

    assert module.bootstrap(gap, low, high).outcome() == "HOLDS"
    assert module.bootstrap(gap, high, low).outcome() == "FAILS"
    assert module.bootstrap(gap, low, low).outcome() == "NOT DECIDED"
    assert module.bootstrap(gap, low[:2], high).outcome() == "NOT DECIDED"
    assert module.bootstrap(gap, low, low).within(0.2) == "HOLDS"
    assert module.bootstrap(gap, low, high).within(0.2) == "FAILS"
    assert module.bootstrap(gap, low, low).within(0.01) == "NOT DECIDED"


def test_intervals_of_claims_cover():
    module = load_module()
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        first, second = rng.normal(0, 1, 15), rng.normal(0.5, 1, 15)
        found = module.bootstrap(lambda a, b: b.mean() - a.mean(), first, second, n_draws=200)
        covered += found.low < 0.5 < found.high
    assert 45 <= covered <= 60


@pytest.mark.slow
def test_audit_tells_misses_from_false_alarms(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    audit = importlib.import_module("study_metric_audit")
    values = {"identity": 0.9, "random": 0.1, "redundant": 0.9, "nonlinear": 0.3, "rotation": 0.2}
    rows = [
        {"structure": "binary", "seed": 0, "encoder": encoder, "metric": name, "value": value}
        | {"question": "Compactness", "lowest": 0.0, "highest": 1.0, "greater_is_better": better}
        for name, better in (("seeing", True), ("blind", False))
        for encoder, value in values.items()
    ]
    verdicts = audit.judged(pd.DataFrame(rows)).set_index(["metric", "encoder"])
    seeing = verdicts.loc["seeing"]
    # Redundant codes are not compact, nonlinear ones are.
    assert seeing.index[seeing.miss].tolist() == ["redundant"]
    assert seeing.index[seeing.alarm].tolist() == ["nonlinear"]
    assert seeing.scaled["nonlinear"] == pytest.approx(0.25)
    # Where lower is better, perfect codes that score above noise say that nothing is seen.
    assert not verdicts.loc["blind"].asked.any()
