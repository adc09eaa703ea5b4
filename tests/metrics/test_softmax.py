"""Logistic regression of several classes equals that of scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_disent.metrics import _softmax
from sklearn_disent.metrics._softmax import SoftmaxRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) @ RNG.normal(size=(3, 3)) + 5.0


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_equal_those_of_scikit_learn(n_classes, penalty, weighted, monkeypatch):
    noisy = X[:, 0] + RNG.normal(size=len(X))
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes)) * 2 + 1
    weight = RNG.uniform(0.1, 3, len(X)) if weighted else None
    C = np.inf if penalty == 0 else 1 / penalty
    theirs = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y, sample_weight=weight)
    ours = SoftmaxRegression(penalty=penalty, tol=1e-6, max_iter=1000)
    monkeypatch.setattr(_softmax, "_PART", 500)
    ours.fit(X, y, sample_weight=weight)
    expected = theirs.predict_proba(X)
    np.testing.assert_allclose(ours.predict_proba(X), expected, atol=2e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99


def test_columns_that_are_sums_of_others_change_nothing():
    y = (X[:, 0] + RNG.normal(size=len(X)) > 5).astype(int)
    more = np.column_stack([X, X @ [1.0, 2.0, -1.0], X[:, 0]])
    one, two = (SoftmaxRegression(penalty=0.0, tol=1e-6).fit(Z, y) for Z in (X, more))
    # Both stop near the optimum, where depends on rounding: 1.4e-4 was seen.
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(more), atol=5e-4)


def test_separable_classes_are_separated():
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    model = SoftmaxRegression(penalty=0.0).fit(X[:, :1], y)
    assert model.score(X[:, :1], y) > 0.99
    assert np.isfinite(model.predict_proba(X[:, :1])).all()
