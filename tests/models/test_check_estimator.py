"""scikit-learn's own checks over every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent import models

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


# What scikit-learn's checks reach: models that share all of these are the same to them, so that the
# first one stands for the others, whose checks are slow tests.
REACHED = ("__sklearn_tags__", "fit", "partial_fit", "transform", "inverse_transform", "score")
REACHED += ("_fit", "_read_X", "_read_extras", "_encode", "_n_features_out", "_validate_params")
REACHED += ("_make_module", "run_single_epoch", "get_params", "set_params", "__setattr__")


def by_novelty():
    """Estimators that are wired like none before them, and the others."""
    seen, new, others = set(), [], []
    for estimator in estimators():
        wiring = tuple(getattr(type(estimator), name, None) for name in REACHED)
        key = wiring, getattr(estimator, "guidance", None) is not None
        (others if key in seen else new).append(estimator)
        seen.add(key)
    return new, others


NEW, OTHERS = by_novelty()


def test_models_that_are_wired_alike_are_told_apart():
    kinds, others = ({type(estimator) for estimator in part} for part in (NEW, OTHERS))
    assert {models.NeuralNetTransformer, models.FactorVAE, models.TableVAE} <= kinds
    assert {models.VAE, models.DIPVAE} <= kinds | others
    assert len(kinds) > 6
    assert len(others) > 2


# scikit-learn's checks allow no double-underscore parameter.
@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks(NEW)
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks(OTHERS)
def test_estimator_like_another_passes_scikit_learn_check(estimator, check):
    check(estimator)
