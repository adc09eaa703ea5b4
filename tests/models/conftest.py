"""Small data and small models for the tests of estimators."""

import numpy as np
import pytest
import torch

from sklearn_disent.models import BetaVAE

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def images():
    """120 binary 8 x 8 images of a 3 x 3 block, and its row and column: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (120, 2))
    X = np.zeros((120, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    return X, y


@pytest.fixture
def small():
    """A VAE that trains in milliseconds."""

    def make(**params):
        params = {
            "n_components": 2,
            "beta": 1.0,
            "architecture": "mlp",
            "module__hidden_sizes": (16,),
            "max_epochs": 2,
            "batch_size": 32,
            "random_state": 0,
            **params,
        }
        return BetaVAE(**params)

    return make
