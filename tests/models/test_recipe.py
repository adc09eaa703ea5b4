"""The published training parameters reach optimiser and schedule."""

import pytest
import torch
from sklearn.base import clone

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.models import BetaVAE, FactorVAE, training_recipe

SMALL = {"n_components": 2, "architecture": "mlp", "module__hidden_sizes": (8,), "random_state": 0}


def test_recipe_has_the_published_values():
    recipe = training_recipe()
    assert (recipe["batch_size"], recipe["max_epochs"]) == (256, 50)
    assert recipe["optimizer"] is torch.optim.Adam
    assert recipe["lr"] == pytest.approx(4e-4)
    assert recipe["optimizer__weight_decay"] == 4e-5
    assert recipe["module__init"] == "he"
    assert training_recipe(64)["lr"] == pytest.approx(1e-4)
    with pytest.raises(ValueError, match="'batch_size' parameter of training_recipe"):
        training_recipe(0)


@pytest.mark.parametrize("cls", [BetaVAE, FactorVAE])
def test_recipe_reaches_the_optimiser_and_its_schedule(images, cls):
    extra = {"discriminator__hidden_sizes": (8,)} if cls is FactorVAE else {}
    vae = clone(cls(**SMALL, **extra, **training_recipe()))
    vae.fit(images[0])
    group = vae.optimizer_.param_groups[0]
    assert group["weight_decay"] == 4e-5
    assert group["initial_lr"] == pytest.approx(4e-4)
    rates = [row["event_lr"] for row in vae.history_]
    assert rates == pytest.approx([4e-4] * 20 + [4e-5] * 20 + [4e-6] * 10)
    if cls is FactorVAE:
        assert vae.discriminator_optimizer_.param_groups[0]["lr"] == 1e-4


def test_recipe_schedule_is_a_parameter_like_any_other(images):
    vae = BetaVAE(**SMALL, **training_recipe())
    vae.set_params(max_epochs=2, callbacks__lr_scheduler__step_size=1).fit(images[0])
    assert vae.optimizer_.param_groups[0]["lr"] == pytest.approx(4e-6)


@pytest.mark.slow
def test_recipe_has_active_latents_after_few_steps():
    """The published code's initial weights make the difference: without them there are none."""
    X = make_dsprites(6400, image_size=32, random_state=0).images
    active = {}
    for init in ("he", "torch"):
        vae = BetaVAE(beta=1.0, random_state=0, **{**training_recipe(), "module__init": init})
        history = vae.set_params(max_epochs=10).fit(X).history_
        active[init] = history[-1, "active_latents"]
    assert active["he"] >= 5
    assert active["torch"] <= 1
