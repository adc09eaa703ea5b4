"""What a fitted model says of its own origin, and who heeds it."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from skorch.callbacks import Callback, EarlyStopping

from sklearn_disent import _manifest
from sklearn_disent.exceptions import TrainingDivergedError
from sklearn_disent.inspection import DisentanglementReport
from sklearn_disent.model_selection import SweepMemory
from sklearn_disent.models import VAE

X = np.random.default_rng(0).integers(256, size=(20, 3, 5), dtype=np.uint8)


class Stop(Callback):
    """Ends training in an epoch, in one way or another."""

    def __init__(self, error, epoch=2):
        self.error = error
        self.epoch = epoch

    def on_epoch_end(self, net, **kwargs):
        if len(net.history_) == self.epoch:
            raise self.error


class Cut(VAE):
    """A model whose fit ends halfway without an error, as no model should."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.manifest_["status"] = "interrupted"
        return self


def make(cls=VAE, **params):
    params = {"architecture": "mlp", "max_epochs": 3, "batch_size": 8, "random_state": 0, **params}
    return cls(2, **params)


def test_manifest_says_all_that_training_depends_on():
    manifest = make().fit(X).manifest_
    assert manifest["model"] == "sklearn_disent.models._elbo.VAE"
    assert {"python", "sklearn-disent", "torch", "numpy"} <= manifest["versions"].keys()
    assert len(manifest["package"]) == 64
    assert manifest["source"] is None
    assert manifest["data"] == {
        "n_rows": 20,
        "n_values": 15,
        "dtype": "uint8",
        "hash": _manifest.data_hash(X.reshape(20, 15)),
    }
    assert (manifest["epochs_planned"], manifest["epochs_done"]) == (3, 3)
    assert (manifest["steps_planned"], manifest["steps_done"]) == (9, 9)
    assert manifest["status"] == "finished"
    assert manifest["input"] == {
        "shape": [1, 3, 5],
        "layout": "hw",
        "units": "uint8",
        "uint8_scale": 1 / 255,
    }
    assert manifest["seed"] == make().fit(X).manifest_["seed"]
    assert manifest["seed"] != make(random_state=1).fit(X).manifest_["seed"]


def test_counts_go_on_where_training_does():
    vae = make(warm_start=True).fit(X).fit(X).partial_fit(X)
    assert vae.manifest_["epochs_planned"] == vae.manifest_["epochs_done"] == 9
    assert vae.manifest_["steps_done"] == vae.manifest_["steps_planned"] == 27


@pytest.mark.parametrize(
    ("error", "raised", "status"),
    [
        (KeyboardInterrupt, None, "stopped"),
        (OSError("disk full"), OSError, "interrupted"),
        (TrainingDivergedError("nan"), TrainingDivergedError, "diverged"),
    ],
)
def test_status_tells_how_training_ended(error, raised, status):
    vae = make(callbacks=[Stop(error)])
    if raised is None:
        vae.fit(X)
    else:
        with pytest.raises(raised):
            vae.fit(X)
    assert vae.manifest_["status"] == status
    assert (vae.manifest_["epochs_planned"], vae.manifest_["epochs_done"]) == (3, 2)
    assert (vae.manifest_["steps_planned"], vae.manifest_["steps_done"]) == (9, 6)
    assert _manifest.is_complete(vae.manifest_) == (status == "stopped")


def test_early_stopping_is_not_half_trained():
    stop = EarlyStopping(monitor="train_loss", patience=1, threshold=1e9, threshold_mode="abs")
    vae = make(max_epochs=9, callbacks=[stop]).fit(X)
    assert vae.manifest_["epochs_done"] < 9
    assert _manifest.half_trained(vae) is None


# -- hashes ----------------------------------------------------------------------------------


def test_data_hash_is_that_of_shape_type_and_values():
    rows = np.arange(12.0).reshape(3, 4)
    known = _manifest.data_hash(rows)
    assert _manifest.data_hash(np.asfortranarray(rows)) == known
    others = [rows.astype(np.float32), rows.reshape(4, 3), rows[::-1], rows + 1e-12, rows[:2]]
    hashes = {known, *map(_manifest.data_hash, others)}
    assert len(hashes) == 6


def test_data_hash_of_many_rows_reads_some_of_them(monkeypatch):
    monkeypatch.setattr(_manifest, "_MOST_BYTES", 800)
    rows = np.arange(10_000.0).reshape(1000, 10)
    known = _manifest.data_hash(rows)
    for changed in (rows[::-1], np.roll(rows, 1, axis=0), rows[:-1], rows + 1):
        assert _manifest.data_hash(changed) != known
    for row in (0, -1):
        changed = rows.copy()
        changed[row, 3] = 7.5
        assert _manifest.data_hash(changed) != known
    one = rows.copy()
    one[1] = 0.0  # not among the ten that are read
    assert _manifest.data_hash(one) == known


def test_source_hash_is_that_of_own_code_only():
    assert _manifest.source_hash(make()) is None
    own = _manifest.source_hash(make(Cut))
    assert own is not None
    assert own == _manifest.source_hash(make(Cut, max_epochs=7))
    assert own != _manifest.source_hash(make(Cut, callbacks=[Stop(OSError)], lr=lambda step: 0.1))


# -- readers ---------------------------------------------------------------------------------


@pytest.fixture
def broken():
    vae = make(callbacks=[Stop(OSError("disk full"))])
    with pytest.raises(OSError, match="disk full"):
        vae.fit(X)
    return vae.set_params(callbacks=None)


def test_saved_files_name_half_trained_models(broken, tmp_path):
    broken.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match=r"half-trained: 2 of 3 epochs .*Train it again"):
        loaded = VAE.from_pretrained(tmp_path)
    assert loaded.manifest_ == broken.manifest_
    assert "VAE is half-trained: 2 of 3 epochs are done" in (tmp_path / "README.md").read_text()
    broken.save_params(f_params=tmp_path / "weights.pt")
    with pytest.warns(UserWarning, match="half-trained: 2 of 3 epochs"):
        make().load_params(f_params=tmp_path / "weights.pt")


def test_saved_files_of_finished_models_load_without_a_word(tmp_path):
    vae = make().fit(X)
    vae.save_pretrained(tmp_path)
    vae.save_params(f_params=tmp_path / "weights.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = [VAE.from_pretrained(tmp_path), make(), pickle.loads(pickle.dumps(vae))]
        loaded[1].load_params(f_params=tmp_path / "weights.pt")
    for model in loaded:
        assert model.manifest_ == vae.manifest_
        assert_array_equal(model.transform(X), vae.transform(X))
    assert "Trained for 3 of 3 epochs (9 steps) on 20" in (tmp_path / "README.md").read_text()


def test_weights_of_another_model_and_of_changed_code_are_named(tmp_path, monkeypatch):
    make().fit(X).save_params(f_params=tmp_path / "weights.pt")
    with pytest.warns(UserWarning, match="weights are those of a VAE, not of a Cut"):
        make(Cut).load_params(f_params=tmp_path / "weights.pt")
    make(Cut).fit(X).save_pretrained(tmp_path)
    monkeypatch.setattr(Cut, "transform", lambda self, X: X)
    with pytest.warns(UserWarning, match="code of Cut, .* has changed since it was trained"):
        Cut.from_pretrained(tmp_path)


def sweep(folder, model):
    steps = [("model", model), ("end", "passthrough")]
    return Pipeline(steps, memory=SweepMemory(folder)).fit(X).named_steps["model"]


def test_cache_does_not_keep_half_trained_models(tmp_path):
    for _ in range(2):
        with pytest.warns(UserWarning, match="A fit is not cached: Cut is half-trained"):
            sweep(tmp_path, make(Cut))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"status": "training", "epochs_done": 1}, "half-trained: 1 of 3 epochs"),
        ({"versions": {"torch": "1.0"}}, "other versions"),
        ({"package": "0"}, "other versions"),
        ({"model": "other.Model"}, "was trained as a other.Model"),
        ({"source": "0"}, "has changed since"),
    ],
)
def test_cache_does_not_return_what_is_half_trained_stale_or_foreign(
    tmp_path, monkeypatch, changes, match
):
    first = sweep(tmp_path, make())
    real = VAE.__setstate__

    def tampered(self, state):
        real(self, {**state, "manifest_": {**state["manifest_"], **changes}})

    monkeypatch.setattr(VAE, "__setstate__", tampered)
    with pytest.warns(UserWarning, match=f"A cached fit is computed again: .*{match}"):
        again = sweep(tmp_path, make())
    assert_array_equal(again.transform(X), first.transform(X))


def test_models_without_a_manifest_are_cached_as_ever(tmp_path):
    flat = X.reshape(20, 15)
    steps = [("pca", PCA(2)), ("end", "passthrough")]
    pipeline = Pipeline(steps, memory=SweepMemory(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, again = (pipeline.fit(flat).transform(flat) for _ in range(2))
    assert_array_equal(first, again)
    assert _manifest.summary(PCA()) == []


def test_report_tells_the_origin(broken):
    pytest.importorskip("matplotlib")
    y = np.arange(40).reshape(20, 2) % 3
    options = {"metrics": ["mig"], "n_resamples": 0}
    page = DisentanglementReport.from_estimator(broken, X, y, **options).to_html()
    assert "Trained for 2 of 3 epochs (6 steps) on 20 observations" in page
    assert "VAE is half-trained: 2 of 3 epochs are done" in page
