"""device="auto", and torch's data sets as X."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch.utils.data import DataLoader, TensorDataset

from sklearn_disent.models import VAE
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
