"""scikit-learn's own checks over every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent import models
from sklearn_disent.models import BaseVAE, BetaVAE

from .conftest import OPTIONS, PUBLIC

SMALL = {"max_epochs": 1, "batch_size": 32, "random_state": 0}


def estimators():
    """Every public estimator, small."""
    found = []
    for name in [*PUBLIC, "TableVAE"]:
        options = {k: v for k, v in OPTIONS.get(name, {}).items() if "__" not in k}
        found.append(getattr(models, name)(**{"n_components": 3, **options, **SMALL}))
    guided = models.BetaVAE(n_components=2, guidance=models.Labels("l2"), **SMALL)
    return [models.NeuralNetTransformer(**SMALL), *found, guided]


def is_like_beta_vae(estimator):
    """Whether a model is nothing but its parameters and terms, so that BetaVAE stands for it."""
    cls = type(estimator)
    own = {name for name, value in vars(cls).items() if callable(value)}
    return cls.__bases__ == (BaseVAE,) and cls is not BetaVAE and own == {"__init__", "terms"}


def test_models_that_are_their_terms_alone_are_told_apart():
    names = {type(e).__name__ for e in estimators() if is_like_beta_vae(e)}
    assert {"VAE", "DIPVAE", "AnnealedVAE"} <= names
    assert not names & {"BetaVAE", "FactorVAE", "TableVAE"}


# scikit-learn's checks allow no double-underscore parameter.
@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks([e for e in estimators() if not is_like_beta_vae(e)])
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks([e for e in estimators() if is_like_beta_vae(e)])
def test_estimator_like_another_passes_scikit_learn_check(estimator, check):
    check(estimator)
