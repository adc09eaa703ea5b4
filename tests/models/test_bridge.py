"""Torch models of a user's own: their codes, scores, and estimators made of them."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sklearn_disent.inspection import TraversalDisplay
from sklearn_disent.metrics import (
    elbo_score,
    get_scorer,
    mig_score,
    posterior_mig_score,
)
from sklearn_disent.models import VAE, ScoreCollector, encode_loader, from_modules

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(3, size=(90, 2))
X = np.hstack([np.eye(3)[y] for y in FACTORS.T]).astype(np.float32)
LOADER = DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(FACTORS)), batch_size=32)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.drop = nn.Linear(6, 4), nn.Dropout(0.5)

    def forward(self, x):
        return self.encode(x)

    def encode(self, x):
        mean, log_var = self.net(self.drop(x)).chunk(2, 1)
        return mean, log_var


def test_loader_becomes_arrays_and_the_module_stays_as_it_was():
    model = Model().train()
    codes, factors = encode_loader(model, LOADER)
    assert model.training
    assert codes.shape == (90, 2)
    assert np.array_equal(factors, FACTORS)
    # Without dropout, and by a method as well.
    expected = model.net(torch.from_numpy(X))[:, :2].detach().numpy()
    assert np.allclose(codes, expected, atol=1e-6)
    assert np.array_equal(encode_loader(model.encode, LOADER)[0], codes)
    assert len(encode_loader(model, LOADER, max_samples=40)[0]) == 40


def test_loader_of_tensors_has_no_factors():
    codes, factors = encode_loader(nn.Flatten(), [torch.ones(3, 2, 2)])
    assert codes.shape == (3, 4)
    assert factors is None
    with pytest.raises(ValueError, match="no batches"):
        encode_loader(nn.Identity(), [])


def test_collector_scores_what_it_was_given():
    collector = ScoreCollector(["mig", "sap"], random_state=0)
    for start in range(0, 90, 40):
        batch = slice(start, start + 40)
        collector.update(torch.from_numpy(X[batch, :2]), torch.from_numpy(FACTORS[batch]))
    scores = collector.compute()
    assert list(scores) == ["mig", "sap"]
    assert scores["mig"] == mig_score(FACTORS, X[:, :2])
    collector.reset()
    with pytest.raises(ValueError, match="nothing to score"):
        collector.compute()
    with pytest.raises(ValueError, match="one row per sample, got 3 and 2"):
        collector.update(np.zeros((3, 1)), np.zeros((2, 1)))


def test_collector_keeps_no_more_than_asked():
    collector = ScoreCollector(["mig"], max_samples=50)
    for _ in range(3):
        collector.update(X[:30], FACTORS[:30])
    assert collector.n_samples == 50


@pytest.mark.parametrize(
    ("encoder", "is_point"),
    [(Model(), False), (nn.Linear(6, 4), False), (nn.Linear(6, 2), True)],
    ids=["tuple", "side by side", "codes"],
)
def test_trained_modules_are_a_fitted_estimator(encoder, is_point):
    encoder.eval()
    decoder = nn.Linear(2, 6)
    model = from_modules(encoder, decoder, (6,))
    with torch.no_grad():
        output = encoder(torch.from_numpy(X))
        output = torch.cat(output, 1) if isinstance(output, tuple) else output
        codes = output[:, :2]
        assert np.allclose(model.transform(X), codes, atol=1e-6)
        assert np.allclose(model.reconstruct(X), decoder(codes), atol=1e-6)
    assert (model.posterior(X)[1] < -50).all() == is_point
    assert np.isfinite(elbo_score(model, X))
    assert get_scorer("mig")(model, X, FACTORS) == mig_score(FACTORS, model.transform(X))
    if not is_point:
        assert 0 <= posterior_mig_score(model, X, FACTORS) <= 1


def test_images_are_shown_by_displays():
    pytest.importorskip("matplotlib")
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    decoder = nn.Sequential(nn.Linear(2, 64), nn.Unflatten(1, (1, 8, 8)))
    model = from_modules(encoder, decoder, (1, 8, 8), likelihood="bernoulli")
    images = RNG.uniform(size=(20, 8, 8))
    display = TraversalDisplay.from_estimator(model, images)
    assert display.figure_ is not None
    assert model.sample(2, random_state=0).shape == (2, 1, 8, 8)


def test_encoder_alone_is_a_transformer():
    model = from_modules(nn.Linear(6, 3), None, (6,))
    assert model.transform(X).shape == (90, 3)
    assert get_scorer("sap")(model, X, FACTORS) >= 0


def test_estimator_may_be_trained_further():
    model = from_modules(nn.Linear(6, 4), nn.Linear(2, 6), (6,))
    before = model.transform(X)
    model.set_params(max_epochs=1, random_state=0).partial_fit(X)
    assert isinstance(model, VAE)
    assert not np.allclose(before, model.transform(X))


def test_modules_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="encoder gives 5 values"):
        from_modules(nn.Linear(6, 5), nn.Linear(2, 6), (6,))
    with pytest.raises(ValueError, match="input_shape must be"):
        from_modules(nn.Linear(6, 2), nn.Linear(2, 6))
