"""Downstream accuracy: of one code and of all, from few rows."""

from typing import ClassVar

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


class Spy(DecisionTreeClassifier):
    """Remembers how many rows it is fitted to and scored on."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append(len(X))
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append(len(X))
        return super().predict(X)


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, [800, 200]),
        ({"test_size": 300}, [700, 300]),
        ({"train_size": 500}, [500, 600]),
        ({"train_size": 500, "test_size": 2000}, [500, 2000]),
        ({"train_size": 500, "test_size": None}, [500, 2500]),
        ({"train_size": 500, "test_size": None, "max_samples": 20}, [500, 2500]),
        ({"test_size": 1, "max_samples": None}, [2999, 1]),
    ],
)
def test_downstream_accuracy_fits_and_scores_on_so_many_rows(options, sizes):
    Spy.seen.clear()
    factors = np.arange(3000)[:, None] % 3
    settings = {"estimator": Spy(), "random_state": 0, **options}
    assert downstream_accuracy_score(factors, 1.0 * factors, **settings) == 1
    assert Spy.seen[:2] == sizes


def test_downstream_accuracy_of_many_held_out_rows_varies_less():
    rng = np.random.default_rng(0)
    factors = rng.integers(2, size=(6000, 1))
    codes = factors + rng.normal(size=(6000, 1))
    few, many = (
        [
            downstream_accuracy_score(
                factors, codes, estimator=DecisionTreeClassifier(max_depth=1), random_state=s, **o
            )
            for s in range(12)
        ]
        for o in ({}, {"train_size": 800, "test_size": None})
    )
    assert np.std(many) < 0.6 * np.std(few)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_size": None}, "needs train_size, got None"),
        ({"train_size": 90, "test_size": 20}, "do not fit into 100 rows"),
        ({"train_size": 100, "test_size": None}, "do not fit into 100 rows"),
        ({"test_size": 100}, "do not fit into 100 rows"),
    ],
)
def test_downstream_accuracy_refuses_sizes_that_do_not_fit(options, message):
    factors = np.arange(100)[:, None] % 3
    with pytest.raises(ValueError, match=message):
        downstream_accuracy_score(factors, 1.0 * factors, **options)
