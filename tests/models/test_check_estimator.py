"""scikit-learn's own checks over every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent import models
from sklearn_disent.models._net import BaseNet
from sklearn_disent.networks import Discriminator

SMALL = {"max_epochs": 2, "batch_size": 32, "random_state": 0}
ESTIMATORS = [
    models.NeuralNetTransformer(**SMALL),
    models.VAE(n_components=2, **SMALL),
    models.BetaVAE(n_components=2, **SMALL),
    models.AnnealedVAE(n_components=2, **SMALL),
    models.BetaTCVAE(n_components=2, **SMALL),
    models.FactorVAE(n_components=2, **SMALL),
    models.DIPVAE(n_components=2, **SMALL),
    models.InfoVAE(n_components=2, **SMALL),
    models.HFSVAE(n_components=2, **SMALL),
    models.AdaGVAE(n_components=2, **SMALL),
    models.AdaMLVAE(n_components=2, **SMALL),
    models.ProductVAE(n_components=2, **SMALL),
    models.InfoGAN(n_components=2, n_noise=1, **SMALL),
    models.BetaVAE(n_components=2, guidance=models.Labels("l2"), **SMALL),
]


@pytest.fixture(autouse=True)
def _small_discriminator(monkeypatch):
    """Two layers of 8 units: scikit-learn's checks allow no double-underscore parameter."""
    monkeypatch.setattr(Discriminator.__init__, "__defaults__", ((8, 8),))


@parametrize_with_checks(ESTIMATORS)
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)


def test_checks_cover_every_public_estimator():
    covered = {type(estimator) for estimator in ESTIMATORS}
    public = {getattr(models, name) for name in models.__all__}
    public = {item for item in public if isinstance(item, type) and issubclass(item, BaseNet)}
    assert covered == public - {models.BaseVAE}
