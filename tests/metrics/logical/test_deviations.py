"""Deviations of classes that are counted instead of sorted, and distances by products."""

import numpy as np
import pytest

from sklearn_disent.metrics import contraction_informativeness_score
from sklearn_disent.metrics.logical import _informativeness
from sklearn_disent.metrics.logical._deviations import class_centers, class_deviations

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, size=20_000)])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_variance_of_every_class_is_that_of_its_rows(n_columns, weight):
    classes = RNG.integers(4, size=20_000)
    points = RNG.normal(size=(20_000, n_columns)) + classes[:, None]
    variances = class_deviations(points, classes, weight, "variance")
    centers = class_centers(points, classes, weight, "variance")
    for k in range(4):
        rows = classes == k
        own = None if weight is None else weight[rows]
        mean = np.average(points[rows], axis=0, weights=own)
        squares = ((points[rows] - mean) ** 2).sum(axis=1)
        np.testing.assert_allclose(centers[k], mean, atol=1e-12)
        assert variances[k] == pytest.approx(np.average(squares, weights=own), abs=1e-12)


def test_equal_numbers_have_no_variance_at_all():
    points, classes = np.full((99, 1), 0.3), np.arange(99) % 3
    assert class_deviations(points, classes, None, "variance").tolist() == [0, 0, 0]


def test_quick_distances_give_the_mean_contraction_of_exact_ones(monkeypatch):
    factors = RNG.integers(3, size=(500, 2))
    codes = factors @ RNG.normal(size=(2, 3)) + RNG.integers(2, size=(500, 3))
    exact = contraction_informativeness_score(factors, codes)
    monkeypatch.setattr(_informativeness, "_MANY_ROWS", 0)
    assert contraction_informativeness_score(factors, codes) == pytest.approx(exact, abs=1e-9)
