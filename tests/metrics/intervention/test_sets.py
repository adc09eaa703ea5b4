"""Sets of codes: three ways to choose them, how far they can be apart, the level of chance."""

from itertools import combinations, product

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import unconfoundedness_score
from sklearn_disent.metrics.intervention._sets import (
    Choice,
    choose_codes,
    overlap_ceiling,
    overlap_score,
)

GRID = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
MATRIX = np.array([[0.9, 0.8, 0.1], [0.7, 0.1, 0.2]])


def test_three_ways_to_choose_by_hand():
    np.testing.assert_array_equal(choose_codes(MATRIX, Choice("top")), [[1, 0, 0], [1, 0, 0]])
    # 0.8 + 0.7 is more than 0.9 + 0.2.
    np.testing.assert_array_equal(choose_codes(MATRIX, Choice("matching")), [[0, 1, 0], [1, 0, 0]])
    chosen = choose_codes(MATRIX, Choice("threshold", threshold=0.2))
    np.testing.assert_array_equal(chosen, [[1, 1, 0], [1, 0, 1]])


def test_factor_without_codes_counts_as_confused():
    assert overlap_score(np.array([[True, False], [False, False]])) == 0.0
    assert overlap_score(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)) == pytest.approx(
        1 / 3
    )
    with pytest.warns(DegenerateScoreWarning, match=r"No code was chosen for factors \[1\]"):
        score = unconfoundedness_score(GRID, GRID[:, :1] * 1.0, sets="threshold", threshold=0.9)
    assert score == 0.0


def test_matched_codes_do_not_overlap():
    codes = GRID @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert unconfoundedness_score(GRID, codes) == 0.0
    assert unconfoundedness_score(GRID, codes, sets="matching") == 1.0


@pytest.mark.parametrize(
    ("n_factors", "n_codes", "rho"), [(2, 3, 2), (3, 2, 1), (4, 3, 1), (3, 4, 2)]
)
def test_ceiling_is_not_exceeded(n_factors, n_codes, rho):
    best = 0.0
    sets = list(combinations(range(n_codes), rho))
    for chosen in product(sets, repeat=n_factors):
        member = np.array([[code in one for code in range(n_codes)] for one in chosen])
        best = max(best, overlap_score(member))
    ceiling = overlap_ceiling(n_factors, n_codes, rho)
    assert best <= ceiling + 1e-12
    if rho == 1:
        assert best == pytest.approx(ceiling)


def test_ceiling_is_warned_about_and_returned():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, (50, 3))
    with pytest.warns(DegenerateScoreWarning, match=r"must share the 2 codes .* exceed 0\.667"):
        details = unconfoundedness_score(factors, factors[:, :2] * 1.0, return_details=True)
    assert details.ceiling == pytest.approx(2 / 3)
    assert details.score <= details.ceiling


def test_null_tells_chance_from_disentanglement():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (300, 3))
    options = {"n_permutations": 30, "random_state": 0, "return_details": True}
    perfect = unconfoundedness_score(factors, factors * 1.0, **options)
    assert perfect.score == 1.0
    assert perfect.sets.shape == perfect.matrix.shape == (3, 3)
    # Three factors of which each takes one of three codes by chance: 1 - 1/3.
    assert perfect.chance == pytest.approx(2 / 3, abs=0.2)
    assert len(perfect.null) == 30
    noise = unconfoundedness_score(factors, rng.normal(size=(300, 3)), **options)
    assert noise.p_value > 0.05
    again = unconfoundedness_score(factors, factors * 1.0, **options)
    np.testing.assert_array_equal(again.null, perfect.null)


def test_details_of_degenerate_input():
    with pytest.warns(DegenerateScoreWarning, match="All codes are constant"):
        details = unconfoundedness_score(GRID, np.full((4, 2), 0.3), return_details=True)
    assert details.score == 0.0
    assert not details.sets.any()
    assert np.isnan(details.p_value)
