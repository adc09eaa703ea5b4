"""Regressions of all classes at once equal those of scikit-learn, one by one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_disent.metrics.prediction import _logistic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))


@pytest.mark.parametrize("kind", ["noisy", "separable", "rare"])
def test_weights_equal_those_of_scikit_learn(kind, monkeypatch):
    y = np.digitize(X[:, 0] + (kind == "noisy") * RNG.normal(size=300), [-0.5, 0.5])
    if kind == "rare":
        y[:298], y[298:] = 0, 1
    classes = np.unique(y)[-2:]
    coef, intercept = _logistic.one_against_rest(X, y, classes)
    for column, value in enumerate(classes):
        model = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y == value)
        assert coef[:, column] == pytest.approx(model.coef_[0], abs=1e-5)
        assert intercept[column] == pytest.approx(model.intercept_[0], abs=1e-5)
    # Rows in chunks, and products that are not kept.
    monkeypatch.setattr(_logistic, "_CHUNK", 500)
    monkeypatch.setattr(_logistic, "_KEPT", 0)
    again = _logistic.one_against_rest(X, y, classes)
    assert again[0] == pytest.approx(coef, abs=1e-9)


def test_many_codes_are_left_to_scikit_learn():
    many = RNG.normal(size=(100, 65))
    y = (many[:, 0] > 0).astype(int)
    coef, _ = _logistic.one_against_rest(many, y, np.array([0, 1]))
    assert np.array_equal(coef[:, 1], LogisticRegression().fit(many, y == 1).coef_[0])
