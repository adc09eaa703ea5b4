"""What is saved is the whole model: the loaded one gives the same codes for the same numbers."""

import contextlib
import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from skorch.callbacks import Checkpoint, LoadInitState

from sklearn_disent import models
from sklearn_disent.models import (
    VAE,
    BaseVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    Labels,
    LinearSchedule,
    NeuralNetTransformer,
    TopKSparseAutoencoder,
)
from sklearn_disent.models._net import BaseNet
from sklearn_disent.models._saved_state import decode, encode

pytestmark = pytest.mark.usefixtures("small_discriminator")

ESTIMATORS = [
    getattr(models, name)
    for name in models.__all__
    if isinstance(getattr(models, name), type)
    and issubclass(getattr(models, name), BaseNet)
    and getattr(models, name) not in (BaseVAE, models.TableVAE)  # takes tables: test_table.py
]

# The same pictures in the types in which data sets come.
KINDS = {
    "bits": lambda X: X,
    "uint8": lambda X: (X * 200 + 40).astype(np.uint8),
    "float": lambda X: (X * 0.7 + 0.1).astype(np.float32),
}


def make(cls, **params):
    if cls is NeuralNetTransformer:
        params = {"module__n_components": 2, **params}
    else:
        params = {"n_components": 2, "architecture": "mlp", **params}
        if cls is not TopKSparseAutoencoder:  # which is linear
            params = {"module__hidden_sizes": (16,), **params}
    return cls(**{"max_epochs": 1, "batch_size": 32, "random_state": 0, **params})


def through_torch(model, folder):
    model.save_params(f_params=folder / "weights.pt", f_optimizer=folder / "optimizer.pt")
    new = clone(model).set_params(random_state=7)
    new.load_params(f_params=folder / "weights.pt", f_optimizer=folder / "optimizer.pt")
    return new


def through_safetensors(model, folder):
    model.save_params(f_params=folder / "weights.safetensors", use_safetensors=True)
    new = clone(model).set_params(random_state=7)
    new.load_params(f_params=folder / "weights.safetensors", use_safetensors=True)
    return new


def through_open_files(model, folder):
    file = io.BytesIO()
    model.save_params(f_params=file, use_safetensors=True)
    file.seek(0)
    new = clone(model)
    new.load_params(f_params=file, use_safetensors=True)
    return new


def through_checkpoint(model, folder):
    checkpoint = Checkpoint(monitor=None, dirname=str(folder), event_name=None)
    checkpoint.initialize().save_model(model)
    new = clone(model).set_params(random_state=7)
    new.load_params(checkpoint=checkpoint)
    assert new.history_ == model.history_
    return new


def through_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


WAYS = [through_torch, through_safetensors, through_open_files, through_checkpoint, through_pickle]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_saved_model_is_the_same_function(images, cls, kind, tmp_path):
    X, y = images
    X = KINDS[kind](X)
    model = make(cls).fit(X, y)
    # All pairs of a class, a type and a way; all three together for one class.
    turn = ESTIMATORS.index(cls) + list(KINDS).index(kind)
    for number, way in enumerate(WAYS):
        if cls is not models.BetaVAE and (number + turn) % len(KINDS):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        new = way(model, folder)
        assert_array_equal(new.transform(X), model.transform(X))
        assert new.n_steps_ == model.n_steps_ == 4
        assert new.n_features_in_ == 64
        if hasattr(model, "inverse_transform"):
            codes = model.transform(X[:3])
            assert_array_equal(new.inverse_transform(codes), model.inverse_transform(codes))
            assert new.inverse_transform(codes).shape == (3, 8, 8)
        if hasattr(model, "score"):
            assert new.score(X) == model.score(X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_loaded_model_goes_on_training_as_the_saved_one(images, cls, tmp_path):
    X, y = images
    model = make(cls, max_epochs=2).fit(X, y)
    loaded = through_checkpoint(model, tmp_path)
    expected = model.partial_fit(X, y).transform(X)
    assert_array_equal(loaded.partial_fit(X, y).transform(X), expected)


def test_steps_of_a_schedule_go_on(images, tmp_path):
    X, _ = images
    model = make(BetaVAE, beta=LinearSchedule(0.0, 8.0, n_steps=16), max_epochs=2).fit(X)
    loaded = through_checkpoint(model, tmp_path)
    assert loaded.at_step(loaded.beta) == 4.0
    assert_array_equal(loaded.partial_fit(X).transform(X), model.partial_fit(X).transform(X))


def test_training_goes_on_through_load_init_state(images, small, tmp_path):
    X, _ = images
    keep = Checkpoint(monitor=None, dirname=str(tmp_path))
    small(callbacks=[keep]).fit(X)
    again = small(callbacks=[keep, LoadInitState(keep)], random_state=5).fit(X)
    assert_array_equal(again.transform(X), small(max_epochs=4).fit(X).transform(X))


def test_what_guidance_has_read_is_saved(images, small, tmp_path):
    X, y = images
    model = small(guidance=Labels("embed")).fit(X, y)
    loaded = through_checkpoint(model, tmp_path)
    assert loaded.guidance_["labels"].factor_sizes_ == (5, 5)
    assert_array_equal(loaded.partial_fit(X, y).transform(X), model.partial_fit(X, y).transform(X))


def test_names_of_columns_are_saved(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    model = VAE(2, max_epochs=1, random_state=0).fit(X)
    loaded = through_safetensors(model, tmp_path)
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(X[["c", "b", "a"]])


def test_layout_of_color_images_is_saved(tmp_path):
    X = np.random.default_rng(0).integers(0, 256, (20, 8, 9, 3), dtype=np.uint8)
    model = make(VAE).fit(X)
    loaded = through_safetensors(model, tmp_path)
    assert loaded.reconstruct(X).shape == X.shape
    assert_array_equal(loaded.reconstruct(X), model.reconstruct(X))


def test_other_readers_find_the_weights(images, small, tmp_path):
    model = small().fit(images[0])
    model.save_params(tmp_path / "w.safetensors", use_safetensors=True)
    model.save_params(tmp_path / "w.pt")
    for state in (load_file(tmp_path / "w.safetensors"), torch.load(tmp_path / "w.pt")):
        model.module_.load_state_dict(state, strict=True)


def test_fitted_attributes_of_a_user_s_model_are_saved(images, tmp_path):
    class Own(VAE):
        def initialize_module(self):
            super().initialize_module()
            self.table_ = {"a": (1, 2.5), "b": np.arange(3)}
            return self

    model = make(Own).fit(images[0])
    model.table_["b"] = np.array([7, 8])
    loaded = through_safetensors(model, tmp_path)
    assert loaded.table_["a"] == (1, 2.5)
    assert_array_equal(loaded.table_["b"], [7, 8])
    model.table_ = object()
    model.other_ = object()
    with pytest.warns(UserWarning, match="does not hold other_, which only pickle can save"):
        through_safetensors(model, tmp_path)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, "a", [1, [2]], (1, (2,)), {"a": (1,)}, np.float32(0.1), np.arange(4.0)],
)
def test_codec_gives_back_what_it_was_given(value):
    back = decode(json.loads(json.dumps(encode(value))))
    if isinstance(value, np.ndarray):
        assert_array_equal(back, value)
    else:
        assert back == value


# -- refusals --------------------------------------------------------------------------------


def state_of(model):
    weights = [value.clone() for value in model._state_tensors().values()]
    moments = [v.clone() for s in model.optimizer_.state.values() for v in s.values()]
    return weights + moments, {**vars(model)}


def assert_untouched(model, before):
    tensors, attributes = state_of(model)
    assert all(torch.equal(a, b) for a, b in zip(tensors, before[0], strict=True))
    assert attributes.keys() == before[1].keys()
    assert all(attributes[name] is before[1][name] for name in attributes)


def spoiled(tensors, how):
    name = next(iter(tensors))
    if how == "nan":
        tensors[name][0] = torch.nan
    elif how == "shape":
        tensors[list(tensors)[-1]] = torch.zeros(3, 3)
    else:
        del tensors[name]
    return tensors


@pytest.mark.parametrize("how", ["nan", "shape", "missing"])
@pytest.mark.parametrize("cls", [BetaVAE, FactorVAE])
def test_refused_weights_leave_the_net_untouched(images, cls, how, tmp_path):
    model = make(cls).fit(images[0])
    model.save_params(tmp_path / "w", use_safetensors=True)
    other = make(cls, random_state=3).fit(images[0] * 255)
    before = state_of(other)
    tensors = spoiled(load_file(tmp_path / "w"), how)
    with safe_open(tmp_path / "w", "pt") as file:
        metadata = file.metadata()
    save_file(tensors, tmp_path / "w", metadata=metadata)
    with pytest.raises((ValueError, RuntimeError)):
        other.load_params(tmp_path / "w", use_safetensors=True)
    assert_untouched(other, before)


def test_refused_optimizer_leaves_the_net_untouched(images, tmp_path):
    model = make(FactorVAE).fit(images[0])
    model.save_params(tmp_path / "w", f_optimizer=tmp_path / "o")
    states = torch.load(tmp_path / "o", weights_only=True)
    del states["discriminator_optimizer"]
    torch.save(states, tmp_path / "o")
    other = make(FactorVAE, random_state=3).fit(images[0])
    before = state_of(other)
    with pytest.raises(ValueError, match="does not hold the state of discriminator_optimizer_"):
        other.load_params(tmp_path / "w", f_optimizer=tmp_path / "o")
    assert_untouched(other, before)


def test_weights_for_another_shape_or_likelihood_are_refused(images, small, tmp_path):
    small(likelihood="gaussian").fit(images[0]).save_params(tmp_path / "w")
    other = small().fit(np.zeros((20, 4, 4), np.uint8))
    with pytest.raises(ValueError, match=r"of shape \(1, 8, 8\), this one is for \(1, 4, 4\)"):
        other.load_params(tmp_path / "w")
    with pytest.raises(ValueError, match="Set likelihood='gaussian'"):
        small(likelihood="bernoulli").load_params(tmp_path / "w")
    loaded = small()
    loaded.load_params(tmp_path / "w")
    assert loaded.likelihood_ == "gaussian"


def test_weights_of_another_program_are_named(images, small, tmp_path):
    model = small().fit(images[0])
    torch.save(model.module_.state_dict(), tmp_path / "w")
    other = small(input_shape=(8, 8))
    with pytest.warns(UserWarning, match="holds weights alone"):
        other.load_params(tmp_path / "w")
    X = images[0] / 1.0
    assert_array_equal(other.transform(X), model.transform(X))


# -- the same numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [VAE, InfoGAN, NeuralNetTransformer])
@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("trained", ["bits", "uint8", "float", "wide"])
@pytest.mark.parametrize("given", ["bits", "uint8"])
def test_same_numbers_as_uint8_and_float_give_the_same_codes_or_an_error(
    images, cls, likelihood, trained, given
):
    if cls is not VAE and likelihood == "gaussian":
        pytest.skip("has no likelihood")
    X, y = images
    X = X.reshape(len(X), -1) if cls is NeuralNetTransformer else X
    data = {**KINDS, "wide": lambda X: 9.0 * X - 4.0}[trained](X)
    if trained == "wide" and (cls is InfoGAN or (cls is VAE and likelihood == "bernoulli")):
        pytest.skip("refused by fit")
    model = make(cls, **({"likelihood": likelihood} if cls is VAE else {})).fit(data, y)
    numbers = KINDS[given](X)
    codes = []
    for values in (numbers, numbers.astype(np.float64)):
        with contextlib.suppress(ValueError):
            codes.append(model.transform(values))
    assert codes or (trained, given) == ("bits", "uint8")  # else one of them is taken
    if len(codes) == 2:
        assert_array_equal(*codes)


def test_dark_pictures_are_fine(images, small):
    X = KINDS["uint8"](images[0])
    X[0] = 0
    assert np.isfinite(small().fit(X).transform(X[:1])).all()
