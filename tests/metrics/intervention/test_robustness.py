"""IRS and unconfoundedness."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import irs_score, relevance_matrix, unconfoundedness_score
from sklearn_disent.metrics.intervention._robustness import (
    _deviation_quantile,
    _irs,
)
from sklearn_disent.metrics.intervention._sets import overlap_score, top_codes

# All combinations of two binary factors.
GRID = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
ROTATION = np.array([[1.0, 1.0], [1.0, -1.0]])


def unconfoundedness_of(matrix, rho):
    return overlap_score(top_codes(matrix, rho))


def test_toy_of_perfect_codes():
    score, matrix = irs_score(GRID, GRID * 1.0, return_matrix=True)
    assert score == 1.0
    np.testing.assert_array_equal(matrix, np.eye(2))
    assert unconfoundedness_score(GRID, GRID) == 1.0


def test_toy_of_rotated_codes():
    score, matrix = irs_score(GRID, GRID @ ROTATION, return_matrix=True)
    assert score == 0.5
    np.testing.assert_array_equal(matrix, np.full((2, 2), 0.5))
    # Equal robustness: both factors get the first code.
    assert unconfoundedness_score(GRID, GRID @ ROTATION) == 0.0


def test_toy_of_a_duplicated_code():
    codes = GRID[:, [0, 1, 0]]
    assert irs_score(GRID, codes) == 1.0
    assert unconfoundedness_score(GRID, codes, rho=1) == 1.0
    assert unconfoundedness_score(GRID, codes, rho=2) == pytest.approx(2 / 3)
    assert unconfoundedness_score(GRID, codes, rho=3) == 0.0


def test_irs_equals_published_reference():
    path = Path(__file__).parents[2] / "reference" / "causal" / "irs_seed0.npz"
    with np.load(path) as data:
        factors, codes, expected = data["factors"], data["latents"], data["irs_matrix"].T
    score, matrix = irs_score(factors, codes, return_matrix=True)
    assert score == pytest.approx(0.47051461785589765, abs=1e-12)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    np.testing.assert_array_equal(relevance_matrix(factors, codes, kind="robustness"), matrix)
    assert unconfoundedness_score(factors, codes) == 1.0
    assert unconfoundedness_score(factors, codes, rho=2) == pytest.approx(8 / 9)


def test_irs_aggregation_weighs_codes_by_deviation():
    matrix = np.array([[0.9, 0.1, 0.5], [0.2, 0.4, 0.7]])
    assert _irs(matrix, np.array([1.0, 2.0, 1.0]), "macro") == pytest.approx(2.4 / 4)
    assert _irs(matrix, np.array([1.0, 0.0, 1.0]), "macro") == pytest.approx(1.6 / 2)
    np.testing.assert_array_equal(_irs(matrix, np.array([1.0, 0.0, 1.0]), None), [0.9, np.nan, 0.7])


def test_unconfoundedness_of_hand_made_matrices():
    assert unconfoundedness_of(np.eye(3), 1) == 1.0
    assert unconfoundedness_of(np.ones((3, 3)), 1) == 0.0
    # Sets {0, 1}, {1, 2}, {0, 1}: overlaps 1/3, 1, 1/3.
    matrix = np.array([[0.9, 0.8, 0.1], [0.1, 0.8, 0.9], [0.9, 0.8, 0.0]])
    assert unconfoundedness_of(matrix, 2) == pytest.approx(1 - 5 / 9)


def test_unconfoundedness_breaks_ties_of_rounding_by_order():
    matrix = np.array([[0.5, 0.5 + 1e-15], [0.5, 0.5]])
    assert unconfoundedness_of(matrix, 1) == 0.0


@settings(derandomize=True, max_examples=40, deadline=None, database=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), q=st.floats(0.01, 1.0))
def test_deviation_quantile_equals_numpy(seed, n, q):
    values = np.random.default_rng(seed).normal(size=n)
    expected = np.quantile(np.abs(values - values.mean()), q)
    assert _deviation_quantile(values, q) == pytest.approx(expected, abs=1e-14)


def test_values_of_a_factor_weigh_the_same():
    # Value 0 holds four rows that do not move, value 1 two that do.
    factors = np.array([0, 0, 0, 0, 1, 1])[:, None]
    codes = np.array([0.0, 0.0, 0.0, 0.0, -1.0, 1.0])[:, None]
    assert irs_score(factors, codes, q=1.0) == 0.5


def test_matrix_is_zero_where_nothing_varies():
    factors = np.column_stack([GRID, np.zeros(4, dtype=int)])
    codes = np.column_stack([GRID, np.full(4, 0.3)])
    matrix = relevance_matrix(factors, codes, kind="robustness")
    np.testing.assert_array_equal(matrix, np.diag([1.0, 1.0, 0.0]))
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[2\] have a single value"):
        assert irs_score(factors, codes) == 1.0


def test_per_code_values_are_nan_for_constant_codes():
    codes = np.column_stack([GRID[:, 0], np.full(4, 0.3)])
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[1\] are constant"):
        np.testing.assert_array_equal(irs_score(GRID, codes, average=None), [1.0, np.nan])


def test_nothing_that_varies_scores_zero():
    constant = np.full((4, 2), 0.3)
    with pytest.warns(DegenerateScoreWarning):
        assert irs_score(GRID, constant) == 0.0
    with pytest.warns(DegenerateScoreWarning):
        assert irs_score(np.zeros((4, 1), dtype=int), GRID) == 0.0
    with pytest.warns(DegenerateScoreWarning, match="All codes are constant"):
        assert unconfoundedness_score(GRID, constant) == 0.0
    with pytest.warns(DegenerateScoreWarning):
        assert unconfoundedness_score(np.zeros((4, 2), dtype=int), GRID) == 0.0


def test_unconfoundedness_of_a_lone_factor_warns():
    with pytest.warns(DegenerateScoreWarning, match="Only one factor"):
        assert unconfoundedness_score(GRID[:, :1], GRID) == 1.0


def test_unconfoundedness_never_chooses_a_constant_code():
    codes = np.column_stack([np.full(4, 0.3), GRID])
    assert unconfoundedness_score(GRID, codes, rho=1) == 1.0
    # Three codes asked for, two to be had: both factors get both.
    assert unconfoundedness_score(GRID, codes, rho=3) == 0.0


def test_unconfoundedness_names_a_rho_beyond_the_codes():
    with pytest.raises(ValueError, match="rho must not exceed the number of codes, 2, got 3"):
        unconfoundedness_score(GRID, GRID, rho=3)


@pytest.mark.parametrize("q", [0.0, 1.1])
def test_quantile_must_lie_in_range(q):
    with pytest.raises(ValueError, match="'q' parameter"):
        irs_score(GRID, GRID, q=q)
    with pytest.raises(ValueError, match="'q' parameter of robustness_matrix"):
        relevance_matrix(GRID, GRID, kind="robustness", q=q)
