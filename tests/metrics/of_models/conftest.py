"""Models for the tests of scores that need one."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sklearn_disent.models import BetaVAE


class _Posterior(TransformerMixin, BaseEstimator):
    """Codes are the columns of X, with one standard deviation for all."""

    def __init__(self, std=0.1):
        self.std = std

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)

    def posterior(self, X):
        mean = self.transform(X)
        return mean, np.broadcast_to(2 * np.log(self.std), mean.shape)

    def elbo_terms(self, X):
        mean, log_var = self.posterior(X)
        kl = 0.5 * (mean**2 + np.exp(log_var) - log_var - 1).sum(axis=1)
        return np.full(len(mean), -3.0), kl

    def score_samples(self, X):
        return np.subtract(*self.elbo_terms(X))


@pytest.fixture
def Posterior():
    return _Posterior


@pytest.fixture
def data():
    """Two factors; each has a code, a third code is noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(400, 2))
    return np.column_stack([y, rng.normal(size=400)]).astype(float), y


@pytest.fixture(scope="session")
def vae():
    """A fitted model with its X and y, which no test changes."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(300, 2))
    X = y @ rng.normal(size=(2, 5)) / 4
    return BetaVAE(3, beta=1.0, max_epochs=15, lr=5e-3, random_state=0).fit(X), X, y
