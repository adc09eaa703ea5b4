"""Two networks, two optimisers: FactorVAE and InfoGAN."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from skorch.callbacks import Callback, GradientNormClipping
from skorch.dataset import ValidSplit
from torch import nn
from torch.nn import functional as F

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.metrics import posterior_mig_score, relevance_matrix
from sklearn_disent.models import VAE, FactorVAE, InfoGAN
from sklearn_disent.models.terms import density_ratio_tc, permute_dims

from . import conftest

# What test_common.py sets.
COMMON_TESTS = {"FactorVAE": {"discriminator__hidden_sizes": (8, 8)}, "InfoGAN": {"n_noise": 2}}

TINY = {**conftest.TINY, "discriminator__hidden_sizes": (16, 16)}


def discriminator_loss(joint, product):
    """Cross-entropy of two-class logits: draws of q(z) are class 0, permuted draws class 1."""
    zeros, ones = torch.zeros(len(joint)).long(), torch.ones(len(product)).long()
    return 0.5 * (F.cross_entropy(joint, zeros) + F.cross_entropy(product, ones))


def parameters(module):
    return [p.detach().clone() for p in module.parameters()]


def equal(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second))


class Spy(FactorVAE):
    """Keeps gradients and weights from before the discriminator's own part."""

    def _discriminator_step(self, batch, step):
        self.seen = {
            "gradients": [p.grad.clone() for p in self.module_.parameters()],
            "weights": parameters(self.module_),
        }
        return super()._discriminator_step(batch, step)


def test_discriminator_step_leaves_no_gradient_in_the_encoder(images):
    vae = Spy(**{**TINY, "max_epochs": 1}).fit(images[0])
    assert equal(vae.seen["gradients"], [p.grad for p in vae.module_.parameters()])
    assert equal(vae.seen["weights"], parameters(vae.module_))


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_shared_backward_pass_gives_the_gradients_of_both_losses(images, scale):
    vae = FactorVAE(**TINY).fit(images[0])
    g = torch.Generator().manual_seed(0)
    z = (scale * torch.randn(20, 3, generator=g)).requires_grad_()
    second = scale * torch.randn(30, 3, generator=g)
    with torch.no_grad():
        vae.discriminator_.layers[-1].weight.mul_(scale)
    weights = list(vae.discriminator_.parameters())
    logits = vae.discriminator_(z)
    tc = density_ratio_tc(logits)
    (slope,) = torch.autograd.grad(tc, z, retain_graph=True)
    permuted = permute_dims(second, torch.Generator().manual_seed(1))
    loss = discriminator_loss(logits, vae.discriminator_(permuted))
    wanted = torch.autograd.grad(loss, weights)

    vae.discriminator_optimizer_.zero_grad()
    vae._second_codes, vae._generator = second, torch.Generator().manual_seed(1)
    shared = vae._density_ratio(z)
    torch.testing.assert_close(shared, tc)
    shared.backward()
    torch.testing.assert_close(z.grad, slope, rtol=1e-4, atol=1e-6)
    for weight, gradient in zip(weights, wanted):
        torch.testing.assert_close(weight.grad, gradient, rtol=1e-4, atol=1e-6)


def test_discriminator_step_goes_along_the_gradient_of_its_loss(images):
    seen = {}

    class Watch(FactorVAE):
        def _density_ratio(self, z):
            seen["before"] = parameters(self.discriminator_)
            self._second_codes = seen["second"] = self._further_codes()
            seen["state"] = self._generator.get_state()
            seen["joint"] = z.detach()
            return super()._density_ratio(z)

    sgd = {"discriminator_optimizer": torch.optim.SGD, "discriminator_lr": 1.0}
    vae = Watch(**{**TINY, "max_epochs": 1, "batch_size": -1}, **sgd).fit(images[0])
    after = parameters(vae.discriminator_)
    for weight, before in zip(vae.discriminator_.parameters(), seen["before"]):
        weight.data.copy_(before)
    product = permute_dims(seen["second"], torch.Generator().set_state(seen["state"]))
    loss = discriminator_loss(vae.discriminator_(seen["joint"]), vae.discriminator_(product))
    gradients = torch.autograd.grad(loss, list(vae.discriminator_.parameters()))
    for before, gradient, moved in zip(seen["before"], gradients, after):
        torch.testing.assert_close(before - gradient, moved, rtol=1e-4, atol=1e-6)
    assert vae.history_[0, "train_discriminator_loss"] == pytest.approx(loss.item(), rel=1e-5)


def test_one_batch_is_one_step_of_each_optimiser(images):
    vae = FactorVAE(**TINY).fit(images[0])
    for optimizer in (vae.optimizer_, vae.discriminator_optimizer_):
        steps = {int(state["step"]) for state in optimizer.state.values()}
        assert steps == {8}  # 2 epochs of 4 batches, nothing doubled
    assert vae.n_steps_ == 8
    assert vae.history_[-1, "train_batch_count"] == 4


def test_optimisers_share_no_parameters_and_have_their_own_settings(images):
    vae = FactorVAE(**{**TINY, "max_epochs": 0}).fit(images[0])
    groups = [o.param_groups[0] for o in (vae.optimizer_, vae.discriminator_optimizer_)]
    ids = [{id(p) for p in group["params"]} for group in groups]
    assert not ids[0] & ids[1]
    assert len(ids[0]) + len(ids[1]) == len(
        [*vae.module_.parameters(), *vae.discriminator_.parameters()]
    )
    assert (groups[0]["lr"], groups[0]["betas"]) == (1e-3, (0.9, 0.999))
    assert (groups[1]["lr"], groups[1]["betas"]) == (1e-4, (0.5, 0.9))
    vae.set_params(discriminator_lr=0.25, lr=0.125)
    assert [group["lr"] for group in groups] == [0.125, 0.25]


def test_discriminator_optimiser_may_be_another(images):
    vae = FactorVAE(
        **TINY, discriminator_optimizer=torch.optim.SGD, discriminator_optimizer__momentum=0.5
    ).fit(images[0])
    assert type(vae.discriminator_optimizer_) is torch.optim.SGD
    assert vae.discriminator_optimizer_.param_groups[0]["momentum"] == 0.5


def test_without_weight_the_encoder_is_that_of_the_vae(images):
    # The discriminator trains beside it, and only the noise it draws differs: one full batch.
    X, _ = images
    params = {**TINY, "max_epochs": 1, "batch_size": -1}
    factor = FactorVAE(**params, gamma=0.0).fit(X)
    params.pop("discriminator__hidden_sizes")
    assert_array_equal(factor.transform(X), VAE(**params).fit(X).transform(X))


def test_permuted_codes_come_from_another_full_batch(images):
    seen = []

    class Watch(FactorVAE):
        def _density_ratio(self, z):
            value = super()._density_ratio(z)
            seen.append((z.detach().clone(), self._second_codes.clone()))
            return value

    Watch(**{**TINY, "max_epochs": 2}).fit(images[0][:65])  # batches of 32, 32 and 1
    assert [len(second) for _, second in seen] == [32] * 6
    for k in (1, 2, 4, 5):
        assert torch.equal(seen[k][1], seen[k - 1][0])
    for k in (0, 3):  # the first of an epoch: rows at random
        assert not torch.equal(seen[k][1], seen[k][0])


def test_validation_rows_and_callbacks_work_with_two_optimisers(images):
    class Names(Callback):
        def on_grad_computed(self, net, named_parameters, **kwargs):
            self.count = len(list(named_parameters))

    names = Names()
    callbacks = [("names", names), ("clip", GradientNormClipping(1.0))]
    vae = FactorVAE(**TINY, train_split=ValidSplit(3), callbacks=callbacks)
    row = vae.fit(*images).history_[-1]
    assert np.isfinite(row["valid_density_ratio_tc"])
    assert vae.callbacks_  # clones: look at the fitted one
    fitted = dict(vae.callbacks_)["names"]
    assert fitted.count == len(list(vae.module_.parameters()))


@pytest.mark.slow
def test_discriminator_learns_to_tell_dependent_codes(images):
    # gamma = 0: nothing lowers the total correlation, and the discriminator finds it.
    params = {**TINY, "max_epochs": 120, "discriminator__hidden_sizes": (64, 64)}
    vae = FactorVAE(**params, gamma=0.0, lr=3e-3, discriminator_lr=3e-3).fit(images[0])
    assert vae.history_[0, "train_discriminator_loss"] == pytest.approx(np.log(2), abs=0.05)
    last = vae.history_[-10:]
    assert np.mean([row["train_discriminator_accuracy"] for row in last]) > 0.57
    assert np.mean([row["train_density_ratio_tc"] for row in last]) > 0.05


def test_collapsed_discriminator_is_reported(images):
    class Flat(FactorVAE):
        def _make_discriminator(self, kwargs):
            module = super()._make_discriminator(kwargs)
            for parameter in module.parameters():
                torch.nn.init.zeros_(parameter)
            return module

    params = {**TINY, "max_epochs": 30}
    with pytest.warns(TrainingWarning, match="gives the same answer for every input"):
        Flat(**params).fit(images[0])


def test_discriminator_that_has_won_is_reported(images):
    class Told(FactorVAE):
        """Its second batches lie far away: easy to tell."""

        def _density_ratio(self, z):
            self._second_codes = self._further_codes() + 100
            return super()._density_ratio(z)

    params = {**TINY, "max_epochs": 30, "gamma": 0.0, "discriminator_lr": 1e-2}
    with pytest.warns(TrainingWarning, match="it has won"):
        Told(**params).fit(images[0])


# -- InfoGAN ---------------------------------------------------------------------------------

TINY_GAN = {**conftest.TINY, "n_components": 2, "n_noise": 1, "module__hidden_sizes": (32,)}


def test_infogan_parts_match_torch_distributions(images):
    gan = InfoGAN(**TINY_GAN, instance_noise=0.0).fit(images[0])
    gan._set_training(False)
    gan._generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        step = gan._step((torch.zeros(6, 64), None))
        fake, codes = step["y_pred"]
        output = gan.discriminator_(fake)
        q = torch.distributions.Normal(output[:, 1:3], (0.5 * output[:, 3:]).exp())
        nll = -q.log_prob(codes).sum(1).mean()
        adversarial = -torch.sigmoid(output[:, 0]).log().mean()
    torch.testing.assert_close(step["terms"]["code_nll"], nll)
    torch.testing.assert_close(step["terms"]["adversarial"], adversarial)
    torch.testing.assert_close(step["loss"], adversarial + 0.05 * nll)
    assert ((codes >= -1) & (codes <= 1)).all()


def test_infogan_transform_is_the_mean_of_q_and_inverse_transform_is_g(images):
    X, _ = images
    gan = InfoGAN(**TINY_GAN).fit(X)
    with torch.no_grad():
        output = gan.discriminator_(torch.from_numpy(X[:, None]).float())
        made = torch.sigmoid(gan.module_(torch.tensor([[0.5, -0.5, 0.0]])))
    np.testing.assert_allclose(gan.transform(X), output[:, 1:3], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gan.inverse_transform([[0.5, -0.5]])[0], made[0, 0], rtol=1e-5)
    assert list(gan.get_feature_names_out()) == ["infogan0", "infogan1"]
    with pytest.raises(ValueError, match="Codes must have n_components=2 columns, got 3"):
        gan.inverse_transform(np.zeros((1, 3)))


def test_infogan_samples_do_not_depend_on_the_batch_size(images):
    gan = InfoGAN(**TINY_GAN).fit(images[0])
    whole = gan.set_params(batch_size=-1).sample(70, random_state=0)
    np.testing.assert_allclose(
        gan.set_params(batch_size=32).sample(70, random_state=0), whole, atol=1e-6
    )


def test_infogan_announces_its_prior_and_draws_its_noise(images):
    gan = InfoGAN(**TINY_GAN).fit(images[0])
    codes = gan.sample_prior(1000, random_state=0)
    assert codes.shape == (1000, 2)
    assert np.abs(codes).max() <= 1
    assert codes.std() == pytest.approx(1 / np.sqrt(3), rel=0.05)
    rng = np.random.RandomState(0)
    made = gan.generate(gan.sample_prior(7, rng), rng)
    np.testing.assert_array_equal(made, gan.sample(7, random_state=0))
    same = np.zeros((2, 2))
    first, second = gan.generate(same, random_state=0)
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(*gan.inverse_transform(same))
    with pytest.raises(ValueError, match="n_samples must be a positive integer, got 0"):
        gan.sample_prior(0)


def test_infogan_steps_leave_no_gradient_in_each_other(images):
    seen = {}

    class SpyGAN(InfoGAN):
        def _discriminator_step(self, batch, step):
            seen["generator"] = [p.grad.clone() for p in self.module_.parameters()]
            seen["discriminator"] = [p.grad for p in self.discriminator_.parameters()]
            return super()._discriminator_step(batch, step)

    gan = SpyGAN(**{**TINY_GAN, "max_epochs": 1}).fit(images[0])
    assert equal(seen["generator"], [p.grad for p in gan.module_.parameters()])
    assert all(gradient is None for gradient in seen["discriminator"])


@pytest.mark.slow
def test_infogan_codes_of_its_own_samples_are_read_back(images):
    params = {**TINY_GAN, "max_epochs": 150, "lr": 3e-3, "discriminator_lr": 1e-3}
    gan = InfoGAN(**params, coefficient=1.0).fit(images[0])
    codes = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    read = gan.transform(gan.inverse_transform(codes))
    assert all(np.corrcoef(read[:, k], codes[:, k])[0, 1] > 0.8 for k in range(2))


def test_infogan_refuses_images_out_of_range_and_takes_rows(images):
    X, _ = images
    with pytest.raises(ValueError, match=r"values in \[0, 1\], X has values from 0 to 2"):
        InfoGAN(**TINY_GAN).fit(2.0 * X)
    rows = InfoGAN(**TINY_GAN).fit(10.0 * X.reshape(len(X), -1))
    assert rows.sample(4).shape == (4, 64)


def test_infogan_convolutional_and_uint8(images):
    X = 255 * images[0]
    gan = InfoGAN(2, max_epochs=1, batch_size=32, random_state=0).fit(X)
    assert type(gan.discriminator_).__name__ == "GANDiscriminator"
    assert gan.transform(X).shape == (120, 2)
    assert gan.reconstruct(X).shape == X.shape
    assert not hasattr(gan, "score")


def test_infogan_posterior_is_q(images):
    X, _ = images
    gan = InfoGAN(**TINY_GAN).fit(X)
    mean, log_variance = gan.posterior(X)
    np.testing.assert_array_equal(mean, gan.transform(X))
    with torch.no_grad():
        output = gan.discriminator_(torch.from_numpy(X[:, None]).float())
    np.testing.assert_allclose(log_variance, output[:, 3:], rtol=1e-4, atol=1e-5)
    y = (np.arange(len(X)) % 3)[:, None]
    assert 0 <= posterior_mig_score(gan, X, y) <= 1


def test_infogan_normalizes_batches_of_any_size(images):
    X = images[0][:33]  # the last batch is one row
    gan = InfoGAN(2, max_epochs=2, batch_size=32, random_state=0).fit(X)
    norms = [m for m in gan.discriminator_.modules() if isinstance(m, nn.BatchNorm1d)]
    assert norms
    assert all((m.running_var != 1).any() for m in norms)
    # Fitted, every image is judged by itself.
    np.testing.assert_allclose(gan.transform(X[:5]), gan.transform(X)[:5], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_infogan_learns_images_and_reads_its_codes(seed):
    """Settings were chosen with seed 100 alone."""
    sprites = make_dsprites(
        factors={"shape": [1], "scale": [5], "orientation": [0]}, image_size=32, random_state=0
    )
    X = sprites.images.reshape(-1, 16, 2, 16, 2).mean((2, 4)).astype(np.float32)
    gan = InfoGAN(
        2,
        n_noise=4,
        coefficient=0.3,
        discriminator_lr=1e-3,
        module__channels=(16, 32),
        module__hidden_sizes=(128, 64),
        batch_size=32,
        max_epochs=20,
        random_state=seed,
    ).fit(X)
    last = gan.history_[-1]
    assert 2 * np.log(2) - last["train_code_nll"] > 1.0  # nats, a lower bound
    assert 0.5 < last["train_discriminator_accuracy"] < 0.95
    # Codes of real images fill the range of the codes that were drawn, and tell positions apart.
    assert (gan.transform(X).std(axis=0) > 0.3).all()
    information = relevance_matrix(sprites.target[:, 3:], gan.transform(X))
    assert (information.max(axis=1) > 0.3).all()
