"""Small models for the tests of Displays, and no window."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.metrics import multimetric_scorer
from sklearn_disent.models import BetaVAE

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def images():
    """120 binary 8 x 8 images of a 3 x 3 block, and its row and column: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (120, 2))
    X = np.zeros((120, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    return X, y


def make_vae(**params):
    """A VAE that trains in milliseconds."""
    params = {
        "n_components": 3,
        "beta": 0.1,
        "architecture": "mlp",
        "module__hidden_sizes": (16,),
        "max_epochs": 3,
        "batch_size": 32,
        "random_state": 0,
        **params,
    }
    return BetaVAE(**params)


@pytest.fixture(scope="session")
def vae(images):
    return make_vae().fit(images[0])


@pytest.fixture(scope="session")
def search(images):
    """Two betas, two seeds, two folds, two scores."""
    return GridSearchCV(
        make_vae(max_epochs=1),
        {"beta": [0.1, 1.0], "random_state": [0, 1]},
        scoring=multimetric_scorer(["mig", "modularity"]),
        refit="mig",
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(*images)
