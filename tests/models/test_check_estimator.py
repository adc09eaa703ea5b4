"""scikit-learn's own checks over every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent import models

SMALL = {"max_epochs": 2, "batch_size": 32, "random_state": 0}
ESTIMATORS = [
    models.NeuralNetTransformer(**SMALL),
    models.VAE(n_components=2, **SMALL),
    models.BetaVAE(n_components=2, **SMALL),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_passes_scikit_learn_check(estimator, check):
    check(estimator)


def test_checks_cover_every_public_estimator():
    covered = {type(estimator).__name__ for estimator in ESTIMATORS}
    not_estimators = {"BaseVAE", "ReconstructionLoss"}
    assert covered == set(models.__all__) - not_estimators
