"""Explained variance: matched and unmatched parts, classes, and values by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics import factor_r2_score, matched_r2_score, unmatched_r2_error
from sklearn_disent.metrics.prediction._r2 import _Fits, _matched, _unmatched

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(500, 2))
HALVES = np.arange(250), np.arange(250, 500)


def test_linear_part_is_that_of_sklearn():
    codes = FACTORS @ [[1.0, 0.5], [0.2, 1.0]] + 0.3 * RNG.normal(size=(500, 2))
    model = LinearRegression().fit(codes[:250], FACTORS[:250])
    expected = r2_score(FACTORS[250:], model.predict(codes[250:]))
    assert factor_r2_score(FACTORS, codes, split=HALVES) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [factor_r2_score, matched_r2_score, unmatched_r2_error])
def test_default_is_the_pipeline_of_sklearn(metric):
    codes = np.column_stack([FACTORS @ [1.0, 0.5], FACTORS[:, 0], FACTORS[:, 0], np.full(500, 0.3)])
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    expected = metric(FACTORS, codes, estimator=pipeline, random_state=0)
    assert metric(FACTORS, codes, random_state=0) == pytest.approx(expected, abs=1e-12)


def test_matched_and_unmatched_by_hand():
    fits = _Fits(np.array([[0.9, 0.8, 0.1], [0.7, 0.1, 0.2]]), np.array([True, True]))
    assert _matched(fits).tolist() == [0.8, 0.7]
    assert _unmatched(fits).tolist() == [0.9, 0.2]


def test_rotation_is_identified_up_to_a_linear_map_only():
    rotated = FACTORS @ [[0.6, 0.8], [-0.8, 0.6]]
    assert factor_r2_score(FACTORS, rotated, random_state=0) == pytest.approx(1.0)
    assert matched_r2_score(FACTORS, rotated, random_state=0) < 0.75
    assert unmatched_r2_error(FACTORS, rotated, random_state=0) > 0.25


@pytest.mark.parametrize("estimator", ["kernel", KNeighborsRegressor(5)])
def test_flexible_regressions_find_bent_factors(estimator):
    bent = np.column_stack([np.sin(FACTORS), np.cos(FACTORS)])
    linear = factor_r2_score(FACTORS, bent, random_state=0)
    assert factor_r2_score(FACTORS, bent, estimator=estimator, random_state=0) > linear + 0.03


def test_categories_are_indicators():
    names = np.array(["b", "a", "c"])[RNG.integers(3, size=500)]
    codes = np.column_stack([names == name for name in "abc"]).astype(float)
    assert factor_r2_score(names[:, None], codes, random_state=0) == pytest.approx(1.0)
