"""scikit-learn's own checks over every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent import models
from sklearn_disent.models._net import BaseNet
from sklearn_disent.networks import Discriminator

SMALL = {"max_epochs": 2, "batch_size": 32, "random_state": 0}
# What a model needs beside SMALL to be quick.
OPTIONS = {
    "NeuralNetTransformer": {},
    "InfoGAN": {"n_components": 2, "n_noise": 1},
    "TopKSparseAutoencoder": {"n_components": 4, "k": 2},
}


def estimators():
    """Every public estimator, small."""
    public = {name: getattr(models, name) for name in models.__all__}
    small = [
        item(**OPTIONS.get(name, {"n_components": 2}), **SMALL)
        for name, item in public.items()
        if isinstance(item, type) and issubclass(item, BaseNet) and item is not models.BaseVAE
    ]
    return [*small, models.BetaVAE(n_components=2, guidance=models.Labels("l2"), **SMALL)]


@pytest.fixture(autouse=True)
def _small_discriminator(monkeypatch):
    """Two layers of 8 units: scikit-learn's checks allow no double-underscore parameter."""
    monkeypatch.setattr(Discriminator.__init__, "__defaults__", ((8, 8),))


@parametrize_with_checks(estimators())
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)
