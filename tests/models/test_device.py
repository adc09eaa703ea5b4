"""device="auto", and torch's data sets as X."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch.utils.data import DataLoader, TensorDataset

from sklearn_disent.models import VAE, BetaVAE
from sklearn_disent.models import _device as module

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)


def test_auto_is_kept_as_a_parameter_and_read_as_a_device():
    vae = VAE(2, device="auto", max_epochs=1, random_state=0)
    assert vae.get_params()["device"] == "auto"
    assert "device='auto'" in repr(vae)
    assert clone(vae).get_params()["device"] == "auto"
    assert vae.device in ("cpu", "cuda", "mps")
    codes = vae.fit_transform(X)
    np.testing.assert_array_equal(codes, VAE(2, max_epochs=1, random_state=0).fit_transform(X))


@pytest.mark.parametrize(("cuda", "mps", "device"), [(1, 1, "cuda"), (0, 1, "mps"), (0, 0, "cpu")])
def test_fastest_device_comes_first(cuda, mps, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cuda))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: bool(mps))
    assert module.fastest_device() == device


def test_torch_data_sets_are_refused_with_the_way_out():
    dataset = TensorDataset(torch.from_numpy(X))
    for given in (dataset, DataLoader(dataset)):
        with pytest.raises(TypeError, match=r"Gather it once.*load_image_folder"):
            VAE(2).fit(given)
    gathered = torch.stack([item[0] for item in dataset])
    assert VAE(2, max_epochs=1).fit_transform(gathered).shape == (20, 2)


def has(device):
    backend = torch.cuda if device == "cuda" else torch.backends.mps
    return backend.is_available()


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_models_train_on_a_device_as_on_the_cpu(device):
    if not has(device):
        pytest.skip(f"needs {device}")
    images = np.random.default_rng(0).integers(256, size=(40, 1, 16, 16), dtype=np.uint8)
    there, here = (BetaVAE(3, device=d, max_epochs=2, random_state=0) for d in (device, "cpu"))
    there.fit(images)
    here.fit(images)
    assert next(there.module_.parameters()).device.type == device
    # Noise is drawn by other generators: the losses agree roughly, the codes need not.
    assert there.history_[-1, "train_loss"] == pytest.approx(here.history_[-1, "train_loss"], 0.05)
    here.module_.load_state_dict(there.module_.state_dict())
    np.testing.assert_allclose(there.transform(images), here.transform(images), atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
def test_rows_arrive_as_float32_on_every_device(dtype):
    rows = torch.arange(24).reshape(2, 3, 4).to(dtype).transpose(1, 2)
    for device in ("cpu", *(d for d in ("cuda", "mps") if has(d))):
        sent = module.send(rows, device)
        assert sent.dtype == torch.float32
        assert sent.device.type == device
        assert torch.equal(sent.cpu(), rows.to(torch.float32))


@pytest.mark.slow
def test_compiled_models_learn_the_same():
    """Skipped where torch finds no compiler."""
    try:
        compiled = VAE(2, compile=True, max_epochs=1, random_state=0).fit(X)
    except Exception as error:
        if "ompiler" not in str(error) and "inductor" not in type(error).__module__:
            raise
        pytest.skip(f"torch.compile does not run here: {error}")
    plain = VAE(2, max_epochs=1, random_state=0).fit(X)
    np.testing.assert_allclose(compiled.transform(X), plain.transform(X), atol=1e-4)


def test_gpu_that_is_not_there_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(ValueError, match=r"device='cuda\S* is not available.*device='auto'"):
            VAE(2, device=device, max_epochs=1).fit(np.zeros((8, 3), np.float32))
