"""Downstream accuracy: of one code and of all, from few rows."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.metrics import (
    downstream_accuracy_score,
)


def test_downstream_accuracy_of_one_code_and_of_all():
    factors = np.random.default_rng(0).integers(3, size=(500, 2))
    codes = factors @ [[1.0, 1.0], [1.0, -1.0]]
    one, every = (
        downstream_accuracy_score(factors, codes, code_selection=selection, random_state=0)
        for selection in ("best", "all")
    )
    # The sum of two of three values: 3 of 9 cells tell the factor for sure, 4 of 9 by a guess
    # between two (or 3 of 9 between three, within these).
    assert one == pytest.approx(5 / 9, abs=0.1)
    assert every == 1


def test_downstream_accuracy_uses_at_most_max_samples():
    rows_seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y):
            rows_seen.append(len(X))
            return super().fit(X, y)

    factors = np.arange(3000)[:, None] % 3
    options = {"estimator": Spy(), "random_state": 0}
    assert downstream_accuracy_score(factors, 1.0 * factors, **options) == 1
    downstream_accuracy_score(factors, 1.0 * factors, max_samples=None, **options)
    assert rows_seen == [800, 2400]
