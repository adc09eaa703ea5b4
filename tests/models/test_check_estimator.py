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


# scikit-learn's checks allow no double-underscore parameter.
@pytest.mark.usefixtures("small_networks")
@parametrize_with_checks(estimators())
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)
