"""Generators of all kinds, ours or not, and where their codes come from."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.inspection import SignatureDisplay
from sklearn_disent.metrics import manifold_topology_score
from sklearn_disent.metrics._generators import applied, as_array, generator_of

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

SMALL = {"n_samples": 60, "n_values": 2, "n_repeats": 3, "max_holes": 20, "random_state": 0}


def rng(seed=0):
    return np.random.RandomState(seed)


def seeded(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def mlp(dtype=torch.float32):
    def make():
        hidden = [nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.5)]
        return nn.Sequential(nn.Linear(3, 16), *hidden, nn.Linear(16, 5)).to(dtype)

    return seeded(make)


class ForeignVAE(nn.Module):
    latent_dim = 3

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(5, 6), nn.Linear(3, 5)

    def decode(self, z):
        return torch.sigmoid(self.decoder(z))


def test_module_function_and_inverse_transform_agree():
    module = mlp()
    module.train()

    def function(z):
        return module(torch.as_tensor(z, dtype=torch.float32))

    class Wrapped:
        n_components = 3

        def inverse_transform(self, X):
            return function(X).detach().numpy()

    score = manifold_topology_score(module, **SMALL)
    assert module.training
    assert module[1].training
    assert all(weight.grad is None for weight in module.parameters())
    module.eval()
    prior = {"prior": "normal", "n_latents": 3}
    codes = generator_of(module, None, "auto", None, rng()).draw(7, rng(1))
    np.testing.assert_array_equal(codes, rng(1).standard_normal((7, 3)))
    ours = generator_of(module, None, "auto", None, rng()).decode(codes)
    for other in (function, Wrapped(), lambda z: function(z).detach().tolist()):
        theirs = generator_of(other, None, "normal", 3, rng()).decode(codes)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert np.isfinite(manifold_topology_score(other, **prior, **SMALL))
    assert score == manifold_topology_score(module, **SMALL)


def test_module_is_restored_after_an_error():
    module = nn.Sequential(nn.Linear(3, 2), nn.Dropout()).train()
    with pytest.raises(RuntimeError):
        manifold_topology_score(module, n_latents=4, **SMALL)
    assert module.training
    assert module[1].training


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_module_gets_its_own_kind_of_float(dtype):
    made = generator_of(mlp(dtype), None, "auto", None, rng()).decode(np.zeros((4, 3)))
    assert made.shape == (4, 5)
    assert made.dtype.kind == "f"


def test_long_clouds_come_in_batches():
    sizes = []

    class Counting(nn.Linear):
        def forward(self, z):
            sizes.append(len(z))
            assert not torch.is_grad_enabled()
            return super().forward(z)

    module = seeded(lambda: Counting(3, 2))
    codes = rng().standard_normal((600, 3))
    made = applied(module, codes, "x")
    assert sizes == [256, 256, 88]
    weights = module.weight.detach().numpy(), module.bias.detach().numpy()
    np.testing.assert_allclose(made, codes @ weights[0].T + weights[1], atol=1e-5)


def test_method_of_a_module_is_torch_too():
    vae = seeded(ForeignVAE)
    by_method = manifold_topology_score(vae.decode, **SMALL)
    decoder = nn.Sequential(vae.decoder, nn.Sigmoid())
    assert manifold_topology_score(decoder, **SMALL) == by_method


def test_dcgan_gets_a_channel_per_code():
    layers = [nn.ConvTranspose2d(6, 8, 4), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 1, 1)]
    gan = seeded(lambda: nn.Sequential(*layers))
    made = generator_of(gan, None, "auto", None, rng())
    codes = made.draw(5, rng())
    assert codes.shape == (5, 6)
    assert made.decode(codes).shape == (5, 1, 4, 4)
    assert np.isfinite(manifold_topology_score(gan, embedding=lambda x: x[:, 0, 0], **SMALL))


def test_noise_within_a_module_repeats_and_leaves_the_global_state():
    class Noisy(nn.Linear):
        def forward(self, z):
            return super().forward(z) + torch.randn(len(z), 2)

    module = seeded(lambda: Noisy(2, 2))
    before = torch.get_rng_state()
    one = manifold_topology_score(module, **SMALL)
    assert torch.equal(before, torch.get_rng_state())
    assert one == manifold_topology_score(module, **SMALL)


def test_embedding_may_be_a_module():
    module, features = mlp(), seeded(lambda: nn.Linear(5, 2))
    ours = manifold_topology_score(module, embedding=features, **SMALL)
    with torch.no_grad():
        by_hand = manifold_topology_score(
            module, embedding=lambda x: features(torch.from_numpy(x)), **SMALL
        )
    assert ours == pytest.approx(by_hand, abs=1e-9)


def test_outputs_that_are_not_arrays_are_refused():
    with pytest.raises(TypeError, match=r"got dict\. Wrap it in a function"):
        as_array({"sample": 1}, "The output")
    with pytest.raises(TypeError, match="got NoneType"):
        manifold_topology_score(lambda z: None, n_latents=2, **SMALL)
    gradient = torch.ones(2, requires_grad=True, dtype=torch.float16) * 2
    np.testing.assert_array_equal(as_array(gradient, "x"), [2, 2])


def test_width_is_stated_or_asked_for():
    with pytest.raises(TypeError, match=r"Embedding does not state .* Pass n_latents="):
        manifold_topology_score(nn.Embedding(3, 2), **SMALL)
    # The first layer reads observations, not codes.
    with pytest.raises(TypeError, match="does not state"):
        manifold_topology_score(nn.Sequential(nn.Conv2d(1, 2, 1), nn.Linear(3, 4)), **SMALL)
    tensors = manifold_topology_score(
        mlp(), prior=lambda n, rng: torch.as_tensor(rng.uniform(-1, 1, (n, 3))), **SMALL
    )
    assert tensors == manifold_topology_score(mlp(), prior="uniform", **SMALL)


def test_model_that_announces_its_prior_is_asked():
    class Uniform(PCA):
        def sample_prior(self, n_samples=1, random_state=None):
            return random_state.uniform(2, 3, (n_samples, self.n_components_))

    X = rng().normal(size=(100, 3))
    for model in (Uniform(whiten=True), make_pipeline(StandardScaler(), Uniform(whiten=True))):
        model.fit(X)
        codes = generator_of(model, None, "auto", None, rng()).draw(20, rng())
        assert codes.min() >= 2
        assert codes.max() <= 3
        assert generator_of(model, None, "normal", None, rng()).draw(20, rng()).min() < 0


@pytest.fixture(scope="module")
def gan():
    from sklearn_disent.models import InfoGAN

    X = rng().normal(size=(60, 4)).astype(np.float32)
    return InfoGAN(3, n_noise=4, max_epochs=1, random_state=0).fit(X)


def test_infogan_is_judged_within_its_support_and_with_noise(gan):
    made = generator_of(gan, None, "auto", None, rng())
    codes = made.draw(500, rng(1))
    assert np.abs(codes).max() <= 1
    np.testing.assert_array_equal(codes, gan.sample_prior(500, rng(1)))
    observed = made.decode(codes)
    # The same noise for every cloud, and not zero.
    np.testing.assert_array_equal(observed, made.decode(codes))
    assert np.abs(observed - gan.inverse_transform(codes)).max() > 1e-3
    score = manifold_topology_score(gan, **SMALL)
    assert score != manifold_topology_score(gan, prior="normal", **SMALL)
    details = manifold_topology_score(gan, return_details=True, **SMALL)
    assert np.abs(details.latent_values).max() <= 1


def test_infogan_within_a_pipeline_generates_through_its_steps(gan):
    scaler = StandardScaler().fit(rng().normal(size=(60, 4)) * 9 + 5)
    pipeline = make_pipeline(scaler, gan)
    codes = gan.sample_prior(5, 0)
    whole = generator_of(pipeline, None, "auto", None, rng()).decode(codes)
    alone = generator_of(gan, None, "auto", None, rng()).decode(codes)
    np.testing.assert_allclose(whole, scaler.inverse_transform(alone), rtol=1e-6)


def test_learnt_prior_is_asked_for():
    from sklearn_disent.models import BetaTCVAE

    X = rng().normal(size=(60, 4)).astype(np.float32)
    vae = BetaTCVAE(2, prior="factorized_flow", max_epochs=2, lr=0.05, random_state=0).fit(X)
    codes = generator_of(vae, None, "auto", None, rng()).draw(50, rng(1))
    np.testing.assert_allclose(codes, vae._from_normal(rng(1).standard_normal((50, 2))))
    assert np.abs(codes - rng(1).standard_normal((50, 2))).max() > 1e-3


def test_display_takes_foreign_generators():
    import matplotlib.pyplot as plt

    display = SignatureDisplay.from_estimator(mlp(), dimension=0, **SMALL)
    assert len(display.signatures) == 3
    plt.close("all")
