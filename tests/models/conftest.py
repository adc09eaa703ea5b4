"""Small data and small models for the tests of estimators."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sklearn_disent import models
from sklearn_disent.models import BaseVAE, BetaVAE
from sklearn_disent.models._net import BaseNet
from sklearn_disent.networks import Autoencoder, Discriminator
from sklearn_disent.networks._families import FAMILIES, DenseFamily

torch.set_num_threads(1)

TINY = {
    "n_components": 3,
    "architecture": "mlp",
    "module__hidden_sizes": (16,),
    "max_epochs": 2,
    "batch_size": 32,
    "random_state": 0,
}


def common_options():
    """What the common tests set beside TINY: "Class" or "Class-form" (a further form) -> options.

    They stand in the model's own test file as a literal, COMMON_TESTS. None takes an option of
    TINY away.
    """
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, ast.Assign)
                and getattr(node.targets[0], "id", "") == "COMMON_TESTS"
            ):
                found |= ast.literal_eval(node.value)
    return found


OPTIONS = common_options()
# Without TableVAE, which does not take images: test_table.py.
PUBLIC = {
    name: item
    for name, item in ((name, getattr(models, name)) for name in models.__all__)
    if isinstance(item, type)
    and issubclass(item, BaseNet)
    and name not in ("BaseVAE", "NeuralNetTransformer", "TableVAE")
}


def tiny(name, options):
    """A small model by its name, "Class" or "Class-form"."""
    params = {key: value for key, value in {**TINY, **options}.items() if value is not None}
    return PUBLIC[name.split("-")[0]](**params)


MODELS = {
    name: tiny(name, options) for name, options in ({key: {} for key in PUBLIC} | OPTIONS).items()
}
VAES = {name: model for name, model in MODELS.items() if isinstance(model, BaseVAE)}


def every_model():
    """Over every public model, and its other forms; new ones are found by themselves."""
    return pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def every_vae():
    """Over every public model with a posterior."""
    return pytest.mark.parametrize("model", VAES.values(), ids=VAES.keys())


@pytest.fixture(scope="session")
def images():
    """120 binary 8 x 8 images of a 3 x 3 block, and its row and column: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (120, 2))
    X = np.zeros((120, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    return X, y


@pytest.fixture(scope="session")
def fit_once(images):
    """The fit of one of MODELS to the images, which tests share: they must not change it."""
    fitted = {}

    def fit(model):
        if id(model) not in fitted:
            fitted[id(model)] = clone(model).fit(*images)
        return fitted[id(model)]

    return fit


@pytest.fixture
def small_discriminator(monkeypatch):
    """Discriminators of two layers of 8 units, instead of six of 1000."""
    # The function itself: its wrapper, which checks parameters, has no defaults.
    monkeypatch.setattr(inspect.unwrap(Discriminator.__init__), "__defaults__", ((8, 8),))
    assert Discriminator(2).layers[-1].in_features == 8


@pytest.fixture
def small_networks(monkeypatch, small_discriminator):
    """Perceptrons of one layer of 16 units, instead of two of 256, where nothing else is said."""
    monkeypatch.setitem(FAMILIES, "mlp", DenseFamily((16,)))
    init = inspect.unwrap(Autoencoder.__init__)
    monkeypatch.setattr(init, "__defaults__", (*init.__defaults__[:-1], (16,)))
    assert Autoencoder((4,)).encoder(torch.zeros(1, 4)).shape == (1, 10)


@pytest.fixture
def small():
    """A VAE that trains in milliseconds."""

    def make(**params):
        return BetaVAE(**{**TINY, "n_components": 2, "beta": 1.0, **params})

    return make
