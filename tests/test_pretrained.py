"""The scripts that train the models of the package and write the table of their results."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_disent.models import BetaVAE, LinearSchedule, _pretrained, load_pretrained

STUDIES = Path(__file__).parents[1] / "examples" / "studies"
REPORT = {"metrics": ["mig", "sap"], "n_resamples": 4, "n_permutations": 2}

pytestmark = pytest.mark.skipif(not STUDIES.is_dir(), reason="the examples are not here")


def load(name, monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    spec = importlib.util.spec_from_file_location(name, STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def script(monkeypatch):
    """The script with a table that trains in seconds."""
    module = load("train_pretrained", monkeypatch)
    data = module.Data("200 images", 200, lambda n=200, random_state=0: module.dsprites(
        n or 200, random_state=random_state))  # fmt: skip
    monkeypatch.setattr(module, "N_PROBE", 150)
    monkeypatch.setitem(module.DATA, "toy", data)
    params = {"beta": LinearSchedule(4.0, 1.0, 4), "n_components": 3, "architecture": "mlp"}
    params |= {"module__hidden_sizes": (16,)}
    rows = {f"toy-beta-{seed}": module.Row("BetaVAE", "toy", 3, params, seed) for seed in (0, 1)}
    monkeypatch.setattr(module, "TABLE", rows)
    return module


def test_table_names_data_model_and_seed(monkeypatch):
    module = load("train_pretrained", monkeypatch)
    for name, row in module.TABLE.items():
        data, _, seed = name.split("-")
        assert (data, int(seed)) == (row.data, row.seed)
        model = row.make()
        model._validate_params()
        assert model.max_epochs == 1
        assert model.lr(row.n_steps) == pytest.approx(1e-5)


def test_training_that_was_killed_goes_on_bit_for_bit(script, tmp_path, monkeypatch):
    whole = script.train("toy-beta-0", tmp_path / "whole", say=lambda line: None)
    lines = []

    def say(line):
        lines.append(json.loads(line))
        if len(lines) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        script.train("toy-beta-0", tmp_path / "parts", say=say)
    (tmp_path / "parts" / "toy-beta-0" / "partial").mkdir()  # of a save that was cut short
    parts = script.train("toy-beta-0", tmp_path / "parts", say=say)
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    X = script.dsprites(50, random_state=5).images
    assert np.array_equal(whole.transform(X), parts.transform(X))
    kept = [path.name for path in (tmp_path / "parts" / "toy-beta-0").iterdir()]
    assert kept == ["epoch-003"]
    unread = script.Data("200 images", 200, lambda **kwargs: pytest.fail("read again"))
    monkeypatch.setitem(script.DATA, "toy", unread)
    again = script.train("toy-beta-0", tmp_path / "parts", say=say)
    assert np.array_equal(again.transform(X), whole.transform(X))


def test_finished_models_load_and_fill_the_table(script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    out = tmp_path / "pretrained"
    for name in script.TABLE:
        model = script.train(name, tmp_path / "work", say=lambda line: None)
        folder = script.finish(name, model, out, tmp_path / "work", REPORT)
        names = {path.name for path in folder.iterdir()}
        assert names == {
            *("config.json", "model.safetensors", "README.md", "scores.json", "traversals.png")
        }
    monkeypatch.setattr(_pretrained, "_FOLDER", out)
    loaded = load_pretrained("toy-beta-1")
    assert isinstance(loaded, BetaVAE)
    assert len(loaded.history_) == 3
    card = (out / "toy-beta-1" / "README.md").read_text()
    assert "200 images" in card
    assert "seed 1" in card
    results = load("results_table", monkeypatch)
    monkeypatch.setattr(results, "N_PROBE", 150)
    monkeypatch.setattr(results, "METRICS", {"mig": "MIG", "sap": "SAP"})
    options = ["--out", str(tmp_path / "page"), "--resamples", "4", "--permutations", "2"]
    results.main(options)
    texts = [(tmp_path / "page" / name).read_text() for name in ("models.csv", "table.inc")]
    head, mig, sap = texts[0].splitlines()
    assert head.startswith("data,model,metric,mean,from,to,chance")
    assert mig.startswith("toy,beta,mig,")
    assert sap.startswith("toy,beta,sap,")
    scores = [
        json.loads((out / name / "scores.json").read_text())["metrics"]["mig"]["value"]
        for name in script.TABLE
    ]
    assert float(mig.split(",")[3]) == pytest.approx(np.mean(scores), abs=1e-4)
    assert f"- {np.mean(scores):.3f} (" in texts[1]
    assert "     - chance" in texts[1]
    results.main(options)  # to the last digit
    assert texts == [(tmp_path / "page" / name).read_text() for name in ("models.csv", "table.inc")]


def test_selection_compares_unsupervised_models_of_one_data_set(monkeypatch):
    selection = load("selection_table", monkeypatch)
    names = ["dsprites-vae-0", "dsprites-labels-0", "dsprites64-btcvae-0", "dsprites-btcvae-0"]
    monkeypatch.setattr(selection, "list_pretrained", lambda: names)
    assert selection.candidates() == ["dsprites-btcvae-0", "dsprites-vae-0"]


def test_selection_table_has_rank_correlations(monkeypatch):
    selection = load("selection_table", monkeypatch)
    rank = np.arange(8.0)
    table = pd.DataFrame(dict.fromkeys(selection.TRUTHS, rank**3))
    for rule in selection.RULES:
        table[rule] = -rank if rule == "elbo" else np.exp(rank)
    found = selection.correlations(table, n_draws=20)
    assert len(found) == len(selection.RULES) * len(selection.TRUTHS)
    against = found["rule"] == "elbo"
    assert np.allclose(found.loc[against, "correlation"], -1)
    assert (found.loc[against, "outcome"] == "FAILS").all()
    assert np.allclose(found.loc[~against, "correlation"], 1)
    assert (found.loc[~against, "outcome"] == "HOLDS").all()
    lines = selection.as_rst(found, 8).splitlines()
    assert "over 8 models" in lines[2]
    assert lines.count("     - -1.00 (-1.00 to -1.00)") == len(selection.TRUTHS)


def test_selection_measures_divergence_from_the_prior(monkeypatch):
    selection = load("selection_table", monkeypatch)

    class Model:
        def posterior(self, images):
            return np.array([[0.0, 2.0], [0.0, 0.0]]), np.zeros((2, 2))

    assert np.allclose(selection.divergences(Model(), None), [0.0, 1.0])


def test_dead_latents_begin_with_shipped_and_with_fresh_weights(monkeypatch, tmp_path):
    dead = load("dead_latents", monkeypatch)
    monkeypatch.setattr(dead, "N_STEPS", 2)
    monkeypatch.setattr(dead, "N_PROBE", 500)
    dead.main(["--out", str(tmp_path), "--seeds", "7"])
    table = pd.read_csv(tmp_path / "dead_latents.csv")
    assert list(table.weights) == ["shipped", "shipped", "fresh"]
    assert list(table.steps) == [0, 2, 2]
    # The weight is 0.1 and the rate high: schedules begin anew.
    assert abs(table.reconstruction[1] - table.reconstruction[0]) > 0.1
    assert table.active[0] == 3
    assert table.mig[0] > 0.3
    # Two steps from random weights are nothing.
    assert table.mig[2] < 0.1
    assert table.reconstruction[2] > table.reconstruction[1] + 50
