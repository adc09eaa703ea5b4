"""Estimators as folders: what is saved comes back bit for bit, and what is refused, and how."""

import json
import shutil
import sys
import types

import numpy as np
import pytest
import safetensors.torch
import torch
import yaml
from sklearn.exceptions import NotFittedError
from skorch.callbacks import Checkpoint, EarlyStopping, LRScheduler
from skorch.dataset import ValidSplit
from torch import nn

from sklearn_disent import models
from sklearn_disent.models import (
    BaseVAE,
    BetaTCVAE,
    BetaVAE,
    CosineSchedule,
    CyclicSchedule,
    FactorVAE,
    Guidance,
    Labels,
    LinearSchedule,
    NeuralNetTransformer,
    Regions,
    _pretrained,
    list_pretrained,
    load_pretrained,
    terms,
)
from sklearn_disent.models._codec import Decoder, Encoder, find, harmless
from sklearn_disent.models._net import BaseNet
from sklearn_disent.networks._families import FAMILIES, ConvFamily

from .conftest import TINY

SMALL = {"n_components": 2, "max_epochs": 1, "random_state": 0, "batch_size": 32}
ESTIMATORS = [
    cls
    for name in models.__all__
    if isinstance(cls := getattr(models, name), type)
    and issubclass(cls, BaseNet)
    and cls not in (BaseVAE, models.TableVAE)  # takes tables: test_table.py
]


class SparseVAE(BaseVAE):
    """A model of a user's: a parameter, and fitted attributes of its own."""

    def __init__(self, n_components=10, *, sparsity=1.0, **kwargs):
        super().__init__(n_components, **kwargs)
        self.sparsity = sparsity

    def terms(self, x, output, extras):
        self.seen_ = np.arange(3, dtype=np.int32)
        self.direction_ = torch.ones(2)
        self.names_ = ("a", {"b": None})
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (1.0, terms.gaussian_kl(output.mean, output.log_var).sum(1).mean()),
            "sparsity": (self.sparsity, output.mean.abs().sum(1).mean()),
        }


class SmallCodes(Guidance):
    """A guidance of a user's."""

    def __init__(self, weight=1.0):
        self.weight = weight

    def terms(self, x, output, extras, net):
        return {"l1": (self.weight, output.mean.abs().sum(1).mean())}


class OwnEncoder(nn.Module):
    """A network of a user's."""

    def __init__(self, input_shape, n_outputs, width=4):
        super().__init__()
        size = int(np.prod(input_shape))
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(size, width), nn.ReLU(), nn.Linear(width, n_outputs)
        )

    def forward(self, x):
        return self.layers(x)


def falling(step):
    return 1.0 / (1 + step)


@pytest.fixture(scope="module")
def saved_once(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    BetaVAE(**{**TINY, "n_components": 2}, beta=1.0).fit(images[0]).save_pretrained(folder)
    return folder


@pytest.fixture
def saved(saved_once, tmp_path):
    """A folder with a saved model, to be changed."""
    return shutil.copytree(saved_once, tmp_path / "model")


def edit(folder, change):
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


def same(first, second, X):
    return np.array_equal(first.transform(X), second.transform(X))


# -- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_estimator_comes_back_and_trains_on(cls, images, tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILIES, "burgess", ConvFamily((8,) * 4, (16,), least_map=4))
    X, y = images
    params = {n: v for n, v in SMALL.items() if n in {*cls._get_param_names()}}
    if cls is FactorVAE:
        params["discriminator__hidden_sizes"] = (8,)
    model = cls(**params).fit(X, y)
    model.save_pretrained(tmp_path, optimizer=True)
    loaded = cls.from_pretrained(tmp_path)
    assert type(loaded) is cls
    assert repr(loaded) == repr(model)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert same(model, loaded, X)
    assert loaded.n_steps_ == model.n_steps_
    assert [row["train_loss"] for row in loaded.history_] == model.history_[:, "train_loss"]
    if hasattr(model, "inverse_transform"):
        codes = model.transform(X[:3])
        assert np.array_equal(model.inverse_transform(codes), loaded.inverse_transform(codes))
    # With the state of the optimisers, training goes on as if it had not stopped.
    assert same(model.partial_fit(X, y), loaded.partial_fit(X, y), X)


@pytest.mark.parametrize(
    "params",
    [
        {"beta": LinearSchedule(1.0, 4.0, 5), "lr": CosineSchedule(1e-2, 1e-4, 20)},
        {"beta": CyclicSchedule(0.0, 4.0, 5, rise=0.25), "optimizer": torch.optim.AdamW},
        {"guidance": Labels("embed", weight=LinearSchedule(0.0, 9.0, 3), n_labeled=0.5)},
        {"guidance": [("first", Labels("l2", columns=[0])), Labels("xent", columns=[1])]},
        {"callbacks": [("stop", EarlyStopping("train_loss")), LRScheduler("StepLR", step_size=2)]},
        {"train_split": ValidSplit(4), "optimizer__betas": (0.8, 0.9)},
        {"random_state": np.random.RandomState(3), "beta": np.float32(0.5)},
        {"likelihood": "gaussian", "sigma": 0.5, "input_shape": [8, 8]},
        {"architecture": "locatello", "module__hidden_sizes": None, "optimizer": torch.optim.SGD},
    ],
    ids=lambda params: "-".join(params),
)
def test_parameters_of_all_kinds_come_back(params, images, small, tmp_path):
    X, y = images
    model = small(**params)
    if params.get("architecture") == "locatello":
        del model.module__hidden_sizes
    model.fit(X, y).save_pretrained(tmp_path)
    loaded = BetaVAE.from_pretrained(tmp_path)
    assert same(model, loaded, X)
    if "random_state" in params:
        drawn = [net.random_state.randint(1000) for net in (model, loaded)]
        assert drawn[0] == drawn[1]
        return
    assert repr(loaded) == repr(model) or {"callbacks", "train_split"} & {*params}
    assert type(loaded.get_params()["optimizer"]) is type(model.get_params()["optimizer"])
    # A fit from the start has the same parameters, hence the same result.
    assert same(model.fit(X, y), loaded.fit(X, y), X)


def test_regions_and_boxes_come_back(images, small, tmp_path):
    X, _ = images
    boxes = np.tile([1, 1, 5, 5], (len(X), 1))
    model = small(guidance=Regions(weight=3.0)).fit(X, boxes=boxes)
    model.save_pretrained(tmp_path)
    assert BetaVAE.from_pretrained(tmp_path).guidance.weight == 3.0


def test_layout_scale_and_feature_names_come_back(images, small, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(images[0].reshape(120, 64), columns=[f"pixel{k}" for k in range(64)])
    model = small(likelihood="gaussian").fit(frame)
    model.save_pretrained(tmp_path)
    loaded = BetaVAE.from_pretrained(tmp_path)
    assert loaded.feature_names_in_.tolist() == [*frame.columns]
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"pixel0": "other"}))
    assert loaded._units.uint8_scale == 1.0  # {0, 1} stays as it is
    color = np.random.default_rng(0).integers(256, size=(40, 8, 8, 3), dtype=np.uint8)
    model = small().fit(color)
    model.save_pretrained(tmp_path)
    loaded = BetaVAE.from_pretrained(tmp_path)
    assert loaded._units.uint8_scale == 1 / 255
    assert loaded.reconstruct(color[:2]).shape == (2, 8, 8, 3)
    assert not hasattr(loaded, "feature_names_in_")


def test_classes_of_users_are_built_if_trusted(images, tmp_path):
    X, _ = images
    model = SparseVAE(
        2,
        sparsity=0.5,
        guidance=SmallCodes(0.1),
        encoder=OwnEncoder,
        encoder__width=5,
        lr=falling,
        max_epochs=1,
    )
    model.fit(X).save_pretrained(tmp_path)
    own = [SmallCodes, OwnEncoder, falling]
    loaded = SparseVAE.from_pretrained(tmp_path, trusted=own)
    assert same(model, loaded, X)
    assert BaseVAE.from_pretrained(tmp_path, trusted=[*own, SparseVAE]).sparsity == 0.5
    assert loaded.seen_.dtype == np.int32
    assert loaded.seen_.tolist() == [0, 1, 2]
    assert loaded.direction_.tolist() == [1.0, 1.0]
    assert loaded.names_ == ("a", {"b": None})
    for missing in own:
        trusted = [item for item in own if item is not missing]
        with pytest.raises(ValueError, match=rf"trusted=\[{missing.__name__}\]"):
            SparseVAE.from_pretrained(tmp_path, trusted=trusted)
    with pytest.raises(ValueError, match="SparseVAE"):
        BaseVAE.from_pretrained(tmp_path, trusted=own)


def test_trusted_class_may_have_moved_to_another_module(images, tmp_path):
    SparseVAE(2, max_epochs=1).fit(images[0]).save_pretrained(tmp_path)
    edit(tmp_path, lambda config: config.update({"class": "__main__.SparseVAE"}))
    assert isinstance(SparseVAE.from_pretrained(tmp_path), SparseVAE)


def test_device_and_folders_are_not_taken_from_a_file(saved):
    edit(saved, lambda config: config["params"].update(device="cuda:7", checkpoint="/tmp/theirs"))
    loaded = BetaVAE.from_pretrained(saved)
    assert loaded.device == "cpu"
    assert loaded.get_params().get("checkpoint") is None


def test_parameters_may_be_replaced_while_loading(saved):
    assert BetaVAE.from_pretrained(saved, batch_size=7, verbose=1).batch_size == 7
    with pytest.raises(ValueError, match="unexpected keyword argument 'betta'"):
        BetaVAE.from_pretrained(saved, betta=3)


def test_half_precision_is_half_the_size_and_loads_as_float32(images, tmp_path):
    X, _ = images
    model = BetaTCVAE(2, max_epochs=2, random_state=0).fit(X)
    for dtype in ("float32", "float16"):
        model.save_pretrained(tmp_path / dtype, dtype=dtype)
    sizes = [
        (tmp_path / name / "model.safetensors").stat().st_size for name in ("float32", "float16")
    ]
    assert sizes[1] < 0.55 * sizes[0]
    loaded = BetaTCVAE.from_pretrained(tmp_path / "float16")
    assert {p.dtype for p in loaded.module_.parameters()} == {torch.float32}
    assert loaded.transform(X).dtype == np.float32
    assert np.allclose(loaded.transform(X), model.transform(X), atol=2e-3)
    assert not same(loaded, model, X)
    with torch.no_grad():
        next(model.module_.parameters()).fill_(1e6)
    with pytest.raises(ValueError, match="beyond the range of float16"):
        model.save_pretrained(tmp_path / "float16", dtype="float16")
    assert same(BetaTCVAE.from_pretrained(tmp_path / "float16"), loaded, X)


def test_saving_replaces_an_earlier_model_and_leaves_other_files(images, small, saved):
    X, y = images
    (saved / "notes.txt").write_text("mine")
    model = small(beta=3.0).fit(X)
    model.save_pretrained(saved, X, y, optimizer=True, report={"metrics": ["mig"]})
    assert BetaVAE.from_pretrained(saved).beta == 3.0
    model.save_pretrained(saved)
    assert {path.name for path in saved.iterdir()} == {
        "config.json",
        "model.safetensors",
        "README.md",
        "notes.txt",
    }


def test_loading_builds_optimizers_only_when_training_goes_on(images, saved, capsys):
    X, _ = images
    first, second = (BetaVAE.from_pretrained(saved, verbose=verbose) for verbose in (0, 1))
    assert not first._optimizers
    first.set_params(lr=0.5)
    first.partial_fit(X)
    assert first.optimizer_.param_groups[0]["lr"] == 0.5
    assert not capsys.readouterr().out
    second.transform(X)
    second.save_pretrained(saved, optimizer=True)
    third = BetaVAE.from_pretrained(saved)
    assert third.optimizer_.param_groups[0]["lr"] == 1e-3
    assert same(third.partial_fit(X), second.partial_fit(X), X)
    assert "Re-init" not in capsys.readouterr().out


# -- what cannot be saved --------------------------------------------------------------------


def test_what_cannot_be_saved_is_named_and_may_be_left_out(images, small, tmp_path):
    X, _ = images
    model = small(beta=lambda step: 1.0).fit(X)
    with pytest.raises(TypeError, match=r"beta of BetaVAE .* without=\['beta'\]"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.save_pretrained(tmp_path / "model", without=["beta"])
    assert BetaVAE.from_pretrained(tmp_path / "model").beta == BetaVAE().beta
    assert BetaVAE.from_pretrained(tmp_path / "model", beta=7.0).beta == 7.0
    model = small(encoder=OwnEncoder((1, 8, 8), 4)).fit(X)
    with pytest.raises(TypeError, match="encoder=OwnEncoder"):
        model.save_pretrained(tmp_path / "model")
    model.save_pretrained(tmp_path / "model", without=["encoder"])
    loaded = BetaVAE.from_pretrained(tmp_path / "model", encoder=OwnEncoder((1, 8, 8), 4))
    assert same(model, loaded, X)
    with pytest.raises(ValueError, match="damaged"):  # without it, another network is built
        BetaVAE.from_pretrained(tmp_path / "model")


def test_attribute_that_cannot_be_saved_is_named(images, small, tmp_path):
    model = small().fit(images[0])
    model.cache_ = object()
    with pytest.raises(TypeError, match=r"fitted attribute cache_ .* without=\['cache_'\]"):
        model.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path, without=["cache_"])
    assert not hasattr(BetaVAE.from_pretrained(tmp_path), "cache_")


def test_unfitted_and_broken_models_are_not_saved(images, small, tmp_path):
    with pytest.raises(NotFittedError):
        small().save_pretrained(tmp_path / "model")
    model = small().fit(images[0])
    with torch.no_grad():
        next(model.module_.parameters()).fill_(np.nan)
    with pytest.raises(ValueError, match="must be finite"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# -- what is refused -------------------------------------------------------------------------


def set_class(name):
    return lambda config: config.update({"class": name})


def set_param(name, value):
    return lambda config: config["params"].update({name: value})


def set_fitted(name, value):
    return lambda config: config["fitted"].update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_class("os.system"), r"trusted=\[system\]"),
        (set_class("sklearn_disent.models.Labels"), "holds a sklearn_disent.models.Labels"),
        (set_param("optimizer", {"$class": "torch.hub.load"}), "safe to build"),
        (set_param("encoder", {"$class": "torch.load"}), "safe to build"),
        (set_param("encoder", {"$class": "sklearn_disent.datasets.fetch_dsprites"}), "safe"),
        (set_param("beta", {"$object": {"class": "builtins.eval", "params": {}}}), "safe to build"),
        (set_param("beta", {"$object": {"class": "torch.optim.Adam"}}), "cannot be"),
        (
            set_param(
                "callbacks",
                [{"$object": {"class": "skorch.callbacks.Checkpoint", "params": {}}}],
            ),
            r"trusted=\[Checkpoint\]",
        ),
        (set_param("beta", {"$pickle": "gASVDA=="}), "does not know"),
        (set_param("beta", -1.0), "'beta' parameter"),
        (set_param("n_components", 3), "of shape"),
        (set_param("unknown", 1), "unexpected keyword argument"),
        (set_fitted("transform", 1), "not a fitted attribute"),
        (set_fitted("__class__", 1), "not a fitted attribute"),
        (set_fitted("generator", 1), "not a fitted attribute"),
        (set_fitted("_encode", 1), "not a fitted attribute"),
        (lambda config: config.update(format=2), r"format 2.*up to 1\. Upgrade"),
        (lambda config: config.update(format="1"), "damaged"),
        (lambda config: config.pop("history"), "'history' is not a list"),
        (lambda config: config.update(history=[1]), "history"),
        (lambda config: config.pop("library"), "damaged"),
        (lambda config: config["input"].update(shape=[0, 8, 8]), "layout of the input"),
        (lambda config: config["input"].update(layout="whc"), "layout of the input"),
        (lambda config: config["input"].pop("layout"), "'layout' is missing"),
        (lambda config: config["input"].update(uint8_scale="1"), "uint8_scale"),
        (lambda config: config["input"].update(units="inches"), "'inches'"),
        (lambda config: config["input"].update(feature_names=["a"]), "64 strings"),
        (lambda config: config["guidance"].update(labels={}), "guidance"),
        (lambda config: config.update(weights_sha256="0" * 64), "not the weights"),
    ],
)
def test_tampered_config_is_refused(change, message, saved):
    edit(saved, change)
    with pytest.raises((TypeError, ValueError), match=message):
        BetaVAE.from_pretrained(saved)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"library": NaN}', "[" * 100_000])
def test_damaged_config_is_refused(content, saved):
    (saved / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json is damaged"):
        BetaVAE.from_pretrained(saved)


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_truncated_weights_are_refused(kept, saved):
    path = saved / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        BetaVAE.from_pretrained(saved)


def change_weights(folder, change):
    """Weights of someone else's, who has put their hash into the config."""
    import hashlib

    path = folder / "model.safetensors"
    tensors = safetensors.torch.load(path.read_bytes())
    change(tensors)
    path.write_bytes(safetensors.torch.save(tensors))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(folder, lambda config: config.update(weights_sha256=digest))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: torch.full_like(value, np.nan), "not finite"),
        (lambda value: torch.full_like(value, np.inf), "not finite"),
        (lambda value: value[:1].clone(), "of shape"),
        (lambda value: value.to(torch.int64), "int64"),
        (lambda value: None, "lacks"),
    ],
)
def test_wrong_weights_are_refused(change, message, saved):
    def apply(tensors):
        name = next(name for name, value in tensors.items() if value.ndim == 2)
        tensors[name] = change(tensors[name])
        if tensors[name] is None:
            del tensors[name]

    change_weights(saved, apply)
    with pytest.raises(ValueError, match=message):
        BetaVAE.from_pretrained(saved)


def test_weights_in_excess_are_refused(saved):
    change_weights(saved, lambda tensors: tensors.update({"module.more": torch.ones(1)}))
    with pytest.raises(ValueError, match=r"in excess 'module\.more'"):
        BetaVAE.from_pretrained(saved)


def test_wrong_state_of_the_optimizer_is_refused(images, small, tmp_path):
    small().fit(images[0]).save_pretrained(tmp_path, optimizer=True)
    path = tmp_path / "optimizer.safetensors"
    moments = safetensors.torch.load(path.read_bytes())
    name = next(name for name, value in moments.items() if value.ndim == 2)
    path.write_bytes(safetensors.torch.save({**moments, name: torch.ones(1, 1)}))
    with pytest.raises(ValueError, match="does not fit"):
        BetaVAE.from_pretrained(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"no optimizer\.safetensors"):
        BetaVAE.from_pretrained(tmp_path)


def test_other_folders_and_other_classes_are_refused(saved, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no config\.json.*snapshot_download"):
        BetaVAE.from_pretrained(tmp_path / "nothing")
    with pytest.raises(TypeError, match=r"BetaVAE\.from_pretrained"):
        FactorVAE.from_pretrained(saved)
    (saved / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no model\.safetensors"):
        BetaVAE.from_pretrained(saved)


def test_loading_imports_unpickles_and_evaluates_nothing(saved, monkeypatch):
    import builtins
    import importlib
    import pickle

    def refuse(*args, **kwargs):
        raise AssertionError("called while loading")

    BetaVAE.from_pretrained(saved)  # modules that are imported on first use
    for module, name in [(pickle, "load"), (pickle, "loads"), (pickle, "Unpickler")]:
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(importlib, "import_module", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(builtins, "eval", refuse)
    monkeypatch.setattr(builtins, "exec", refuse)
    assert BetaVAE.from_pretrained(saved).n_components_ == 2


def test_harmless_names_are_classes_that_build_and_no_readers_of_files():
    names = harmless()
    assert {"torch.optim.Adam", "torch.nn.ReLU", "sklearn_disent.models.BetaVAE"} <= names.keys()
    assert all(isinstance(v, type) for n, v in names.items() if not n.endswith("batch_loader"))
    assert Checkpoint not in names.values()
    assert find("sklearn_disent.networks.ConvEncoder").__name__ == "ConvEncoder"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "text",
        [1, (2.0, "x"), {"a": [None]}],
        {1: "one", "$tuple": 2},
        np.arange(6).reshape(2, 3),
        np.array(["a", "b"], dtype=object),
        torch.device("cpu"),
        torch.float64,
        LinearSchedule(0.0, 1.0, 10),
        torch.optim.SGD,
    ],
    ids=str,
)
def test_values_come_back_from_json(value):
    back = Decoder()(json.loads(json.dumps(Encoder()(value, "value"), allow_nan=False)))
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype
        assert np.array_equal(back, value)
    else:
        assert back == value


# -- cards, the Hub, the package, other runtimes ---------------------------------------------


def test_card_has_a_header_and_the_scores(images, small, tmp_path):
    X, y = images
    model = small(beta=2.5).fit(X)
    report = {"metrics": ["mig", "sap"], "n_resamples": 3, "n_permutations": 2}
    model.save_pretrained(
        tmp_path / "blocks", X, y, description="Blocks.", license="bsd-3-clause", report=report
    )
    card = (tmp_path / "blocks" / "README.md").read_text()
    _, header, body = card.split("---\n", 2)
    header = yaml.safe_load(header)
    scores = json.loads((tmp_path / "blocks" / "scores.json").read_text())
    assert header["library_name"] == "sklearn-disent"
    assert header["license"] == "bsd-3-clause"
    (entry,) = header["model-index"]
    values = {row["type"]: row["value"] for row in entry["results"][0]["metrics"]}
    assert entry["name"] == "blocks"
    assert values == {name: row["value"] for name, row in scores["metrics"].items()}
    assert values["mig"] == models_mig(model, X, y)
    assert {"ci_low", "ci_high", "chance"} <= scores["metrics"]["mig"].keys()
    assert "beta=2.5" in body
    assert f"| mig | {values['mig']:.3f} |" in body
    assert "Blocks." in body


def models_mig(model, X, y):
    from sklearn_disent.metrics import mig_score

    return mig_score(y, model.transform(X))


def test_card_without_data_has_no_scores(saved):
    card = (saved / "README.md").read_text()
    assert "## Scores" not in card
    assert not (saved / "scores.json").exists()
    with pytest.raises(ValueError, match="X and y"):
        BetaVAE.from_pretrained(saved).save_pretrained(saved, y=[[0]])


def test_push_to_hub_uploads_what_save_pretrained_writes(images, small, monkeypatch):
    calls = []

    class HfApi:
        def __init__(self, token=None):
            calls.append(token)

        def create_repo(self, repo_id, private=None, exist_ok=False):
            calls.append((repo_id, private, exist_ok))

        def upload_folder(self, repo_id, folder_path, commit_message):
            loaded = BetaVAE.from_pretrained(folder_path)
            calls.append((repo_id, same(loaded, model, X), commit_message))
            return "https://hub/commit/1"

    module = types.ModuleType("huggingface_hub")
    module.HfApi = HfApi
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    X, _ = images
    model = small().fit(X)
    url = model.push_to_hub("me/blocks", token="t", private=True, dtype="float32")
    assert url == "https://hub/commit/1"
    upload = ("me/blocks", True, "Upload a model of sklearn-disent")
    assert calls == ["t", ("me/blocks", True, True), upload]
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"sklearn-disent\[hub\]"):
        model.push_to_hub("me/blocks")


def test_models_of_the_package_are_listed_and_loaded(images, small, tmp_path, monkeypatch):
    monkeypatch.setattr(_pretrained, "_FOLDER", tmp_path)
    assert list_pretrained() == []
    model = small().fit(images[0])
    for name in ("blocks-1", "blocks-0"):
        model.save_pretrained(tmp_path / name)
    (tmp_path / "README.md").write_text("not a model")
    assert list_pretrained() == ["blocks-0", "blocks-1"]
    loaded = load_pretrained("blocks-1", batch_size=11)
    assert same(loaded, model, images[0])
    assert loaded.batch_size == 11
    for name in ("blocks-2", "../blocks-0", ""):
        with pytest.raises(ValueError, match="Choose one of"):
            load_pretrained(name)


def test_shipped_models_load_and_keep_their_scores():
    from sklearn_disent.datasets import make_dsprites, make_shapes3d
    from sklearn_disent.metrics import mig_score

    files = [path for path in _pretrained._FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 15_000_000
    probes = {}
    for name in list_pretrained():
        folder = _pretrained._FOLDER / name
        scores = json.loads((folder / "scores.json").read_text())
        model = load_pretrained(name)
        make = make_dsprites if name.startswith("dsprites") else make_shapes3d
        size = model.input_shape_[-1]
        if (make, size) not in probes:
            probes[make, size] = make(10_000, image_size=size, random_state=12345)
        probe = probes[make, size]
        mig = mig_score(probe.target, model.transform(probe.images))
        assert mig == pytest.approx(scores["metrics"]["mig"]["value"], abs=1e-3)


@pytest.mark.parametrize(
    "cls",
    [
        # One model stands for the others in the default run.
        pytest.param(cls, id=cls.__name__, marks=[] if cls is BetaVAE else pytest.mark.slow)
        for cls in ESTIMATORS
    ],
)
def test_exported_programs_do_what_the_estimator_does(cls, images, tmp_path):
    X, y = images
    params = {n: v for n, v in SMALL.items() if n in {*cls._get_param_names()}}
    if cls is FactorVAE:
        params["discriminator__hidden_sizes"] = (8,)
    model = cls(**params).fit(X, y)
    model.export(tmp_path)
    signature = json.loads((tmp_path / "signature.json").read_text())
    assert signature["input"]["shape"] == ["n", 1, 8, 8]
    encoder = torch.export.load(tmp_path / "encoder.pt2").module()
    batch = torch.from_numpy(X[:, None].astype(np.float32)) * signature["input"]["uint8_scale"]
    for n_rows in (1, 7, 120):
        codes = encoder(batch[:n_rows]).detach().numpy()
        assert np.allclose(codes, model.transform(X[:n_rows]), atol=1e-6)
    if cls is NeuralNetTransformer:
        assert signature["programs"] == ["encoder.pt2"]
        return
    decoder = torch.export.load(tmp_path / "decoder.pt2").module()
    decoded = decoder(torch.from_numpy(model.transform(X[:5]))).detach().numpy()
    assert np.allclose(decoded[:, 0], model.inverse_transform(model.transform(X[:5])), atol=1e-6)


@pytest.mark.slow  # the exporter takes ten seconds
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_export_to_onnx_gives_the_same_codes(images, small, tmp_path):
    pytest.importorskip("onnxscript", reason="the exporter's own dependency is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="nothing to run the program with")
    X = images[0]
    model = small().fit(X)
    model.export(tmp_path, format="onnx")

    def run(name, rows):
        session = onnxruntime.InferenceSession(tmp_path / f"{name}.onnx")
        return session.run(None, {session.get_inputs()[0].name: rows})[0]

    scale = json.loads((tmp_path / "signature.json").read_text())["input"]["uint8_scale"]
    for n_rows in (1, 7):
        codes = run("encoder", X[:n_rows, None].astype(np.float32) * np.float32(scale))
        assert np.allclose(codes, model.transform(X[:n_rows]), atol=1e-5)
    codes = model.transform(X[:5])
    assert np.allclose(run("decoder", codes)[:, 0], model.inverse_transform(codes), atol=1e-5)


def test_export_to_onnx_names_the_missing_extra(images, small, tmp_path, monkeypatch):
    model = small().fit(images[0])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"sklearn-disent\[onnx\]"):
        model.export(tmp_path, format="onnx")


def test_saved_folder_may_be_moved(saved, images, tmp_path):
    before = BetaVAE.from_pretrained(saved)
    shutil.move(saved, tmp_path / "elsewhere")
    assert same(before, BetaVAE.from_pretrained(tmp_path / "elsewhere"), images[0])


# -- the learning rate as a schedule ---------------------------------------------------------


def test_learning_rate_follows_its_schedule(images, small):
    X, _ = images
    schedule = CosineSchedule(1e-2, 1e-4, n_steps=8)
    rates = []

    def remember(net):
        rates.append(net.optimizer_.param_groups[0]["lr"])
        return rates[-1]

    model = small(lr=schedule, max_epochs=2, callbacks=[on_batches(remember)]).fit(X)
    assert model.n_steps_ == 8
    assert rates == [schedule(step) for step in range(8)]
    model.set_params(lr=LinearSchedule(1.0, 0.0, n_steps=16))
    assert model.optimizer_.param_groups[0]["lr"] == 0.5


def on_batches(function):
    from skorch.callbacks import Callback

    class Each(Callback):
        def on_batch_end(self, net, training=False, **kwargs):
            if training:
                function(net)

    return Each()


def test_constant_schedule_is_the_number_to_the_last_bit(images, small):
    X, _ = images
    first, second = small(lr=1e-3).fit(X), small(lr=LinearSchedule(1e-3, 1e-3, 5)).fit(X)
    assert same(first, second, X)


@pytest.mark.parametrize("cls", [BetaVAE, FactorVAE])
def test_epochs_with_a_schedule_add_up(cls, images):
    X, _ = images
    params = {**SMALL, "lr": CosineSchedule(1e-2, 1e-4, n_steps=20)}
    if cls is FactorVAE:
        params |= {"discriminator__hidden_sizes": (8,)}
        params |= {"discriminator_lr": LinearSchedule(1e-2, 1e-3, n_steps=20)}
    at_once = cls(**{**params, "max_epochs": 5}).fit(X)
    in_parts = cls(**{**params, "max_epochs": 2}).fit(X).set_params(max_epochs=3).partial_fit(X)
    assert same(at_once, in_parts, X)
    if cls is FactorVAE:
        rate = in_parts.discriminator_optimizer_.param_groups[0]["lr"]
        assert rate == params["discriminator_lr"](19)


def test_schedule_and_rates_of_groups_do_not_mix(images, small):
    groups = [("encoder*", {"lr": 0.1})]
    model = small(lr=LinearSchedule(1e-3, 1e-4, 5), optimizer__param_groups=groups)
    with pytest.raises(ValueError, match="optimizer__param_groups"):
        model.fit(images[0])
    model = small(lr=LinearSchedule(1.0, 1.0, 5), optimizer__lr=1e-3).fit(images[0])
    assert model.optimizer_.param_groups[0]["lr"] == 1e-3
