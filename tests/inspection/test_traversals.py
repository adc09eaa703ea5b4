"""Which factor a latent of a traversal is named after."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sklearn_disent.inspection import DisentanglementReport, TraversalDisplay

NAMES = ["size", "angle", "x"]
# Columns of the observations beside one for each factor: two of noise, and a constant.
NOISE, OTHER, CONSTANT = 3, 4, 5


@pytest.fixture(scope="module")
def data():
    """Observations whose first three columns are the factors: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, (400, 3))
    return np.column_stack([y - 1.5, rng.normal(size=(400, 2)), np.zeros(400)]), y


class Columns(TransformerMixin, BaseEstimator):
    """Codes are columns of X: what each is informative about is known."""

    def __init__(self, columns, scales=None):
        self.columns = columns
        self.scales = scales

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def _scales(self):
        return np.ones(len(self.columns)) if self.scales is None else np.asarray(self.scales)

    def transform(self, X):
        return np.asarray(X)[:, self.columns] * self._scales()

    def inverse_transform(self, X):
        decoded = np.zeros((len(X), 6))
        decoded[:, self.columns] = X / self._scales()
        return decoded


class Posterior(Columns):
    """The same with a posterior, so that codes of small scale are dead."""

    def posterior(self, X):
        codes = self.transform(X)
        return codes, np.zeros_like(codes)


# -- dead latents --------------------------------------------------------------------------------


def test_a_dead_latent_has_the_name_of_no_factor(data):
    # Codes without noise: however small, they are informative about their factor.
    model = Posterior([0, 1, 2], scales=[1, 0.05, 1])
    display = TraversalDisplay.from_estimator(model, *data, factor_names=NAMES, n_steps=3)
    assert [label.split(",")[0] for label in display.labels] == ["size: z0", "x: z2", "z1"]
    assert display.assignment_ == {0: 0, 2: 2}
    display = TraversalDisplay.from_estimator(model, *data, order="index", n_steps=3)
    assert [label.split(",")[0] for label in display.labels][1] == "z1"


def test_a_dead_latent_leaves_its_factor_to_a_live_one(data):
    X, y = data
    X = X.copy()
    X[:, NOISE] = X[:, 1] + X[:, NOISE]
    model = Posterior([1, NOISE], scales=[0.01, 1])
    display = TraversalDisplay.from_estimator(model, X, y[:, 1:2], n_steps=3)
    assert display.assignment_ == {0: 1}


@pytest.mark.parametrize(("variance", "matched"), [(0.009, False), (0.011, True)])
def test_a_latent_is_dead_up_to_a_variance_of_a_hundredth(data, variance, matched):
    X, y = data
    model = Posterior([0, 1], scales=[1, np.sqrt(variance / X[:, 1].var())])
    display = TraversalDisplay.from_estimator(model, X, y, n_steps=3)
    assert (1 in display.assignment_) == matched
    report = DisentanglementReport.from_estimator(
        model, X, y, metrics=["mig"], n_resamples=0, n_permutations=0
    )
    assert any("dead: z1" in line for line in report.summary) != matched


def test_codes_of_any_scale_are_matched_without_a_posterior(data):
    display = TraversalDisplay.from_estimator(Columns([0, 1], scales=[1e-3, 1]), *data, n_steps=3)
    assert display.assignment_ == {0: 0, 1: 1}
