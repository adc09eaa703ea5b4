"""Labels of a tenth of the images help every model on the look-alike of CANDLE."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from sklearn_disent.datasets import make_candle_like
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.metrics import dci_disentanglement_score, mig_score
from sklearn_disent.models import DIPVAE, BetaTCVAE, BetaVAE, FactorVAE, Labels

pytestmark = pytest.mark.slow

NET = {
    "n_components": 10,
    "architecture": "mlp",
    "module__hidden_sizes": (128,),
    "batch_size": 64,
    "lr": 1e-3,
    "max_epochs": 25,
}
MODELS = [
    BetaVAE(beta=2.0, **NET),
    BetaTCVAE(beta=2.0, **NET),
    DIPVAE(lambda_od=10.0, lambda_d=100.0, **NET),
    FactorVAE(gamma=4.0, discriminator__hidden_sizes=(64, 64), discriminator_lr=1e-3, **NET),
]
FORESTS = RandomForestClassifier(20, random_state=0), RandomForestRegressor(20, random_state=0)


@pytest.fixture(scope="module")
def scenes():
    return make_candle_like(1500, image_shape=(16, 16), jitter=0.3, random_state=0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_labels_of_some_images_help(scenes, model):
    # Settings were chosen with seed 0.
    X, y = scenes.images, scenes.target
    scores = {}
    for guidance in (None, Labels("xent", n_labeled=0.1, weight=100.0)):
        found = []
        for seed in (1, 2, 3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)
                fitted = clone(model).set_params(guidance=guidance, random_state=seed).fit(X, y)
            codes = fitted.transform(X)
            dci = dci_disentanglement_score(y, codes, estimator=FORESTS, random_state=0)
            found.append((dci, mig_score(y, codes)))
        scores[guidance is not None] = np.mean(found, axis=0)
    assert (scores[True] > scores[False]).all(), scores
