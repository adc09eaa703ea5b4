"""Errors of the codes alone: correlation, mutual information, and what all of them share."""

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    code_mutual_info_error,
    factorized_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
)

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])

ERRORS = [
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    code_mutual_info_error,
    factorized_support_distance,
]

all_errors = pytest.mark.parametrize("error", ERRORS, ids=lambda f: f.__name__)


def correlated(r):
    """Two codes of variance 4/3 (four rows) whose correlation is r."""
    signs = 2 * CORNERS - 1
    return signs @ np.array([[1.0, r], [0.0, np.sqrt(1 - r**2)]])


@pytest.mark.parametrize("r", [0.0, 0.3, -0.9])
def test_total_correlation_of_two_codes(r):
    value = gaussian_total_correlation_error(correlated(r))
    assert value == pytest.approx(-0.5 * np.log(1 - r**2), abs=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.3, -0.9])
def test_wasserstein_correlation_of_two_codes(r):
    # Eigenvalues of variance^2 [[1, r], [r, 1]] are variance^2 (1 +- r).
    normed = 2 - np.sqrt(1 + r) - np.sqrt(1 - r)
    codes = correlated(r)
    value = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(normed, abs=1e-12)
    value = gaussian_wasserstein_correlation_error(codes * 3)
    assert value == pytest.approx(normed * 9 * 8 / 3, abs=1e-12)


@pytest.mark.parametrize("name", ["f1_complement", "f1_redundancy", "toy51_a0.25_d0.50"])
def test_total_correlation_of_dependent_codes_is_infinite(name, get_case):
    with pytest.warns(DegenerateScoreWarning, match="linearly dependent"):
        assert gaussian_total_correlation_error(get_case(name).codes) == np.inf


def test_total_correlation_of_more_codes_than_samples_is_infinite():
    codes = np.random.default_rng(0).normal(size=(5, 8))
    with pytest.warns(DegenerateScoreWarning, match="linearly dependent"):
        assert gaussian_total_correlation_error(codes) == np.inf


def test_wasserstein_correlation_of_equal_codes_is_exact():
    codes = np.repeat(np.random.default_rng(0).normal(size=(100, 1)), 4, axis=1)
    # W = 2 D v - 2 sqrt(D) v over D v, for D = 4.
    value = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_extreme_scales_neither_vanish_nor_overflow(scale):
    codes = correlated(0.5)
    value = gaussian_total_correlation_error(codes * scale)
    assert value == pytest.approx(gaussian_total_correlation_error(codes))
    value = gaussian_wasserstein_correlation_error(codes * scale, normalize=True)
    expected = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(expected)
    value = factorized_support_distance(codes * scale, standardize=True)
    assert value == pytest.approx(factorized_support_distance(codes, standardize=True))


def test_code_mutual_info_averages_over_pairs():
    # Codes 0 and 2 are the same bit, 1 is another: two of six ordered pairs share log 2.
    codes = CORNERS[:, [0, 1, 0]]
    assert code_mutual_info_error(codes) == pytest.approx(np.log(2) / 3)


def test_code_mutual_info_permutation_correction_removes_chance():
    codes = np.random.default_rng(0).normal(size=(200, 3))
    plain = code_mutual_info_error(codes)
    corrected = code_mutual_info_error(codes, bias_correction="permutation", random_state=0)
    assert plain > 0.3
    assert corrected < 0.05


@all_errors
def test_lone_code_depends_on_nothing(error):
    assert error(np.arange(9.0)[:, None]) == 0.0


@all_errors
def test_constant_code_is_as_good_as_none(error):
    codes = np.random.default_rng(0).normal(size=(100, 2))
    dead = np.full((100, 1), 0.3)
    if error is code_mutual_info_error:
        # It still counts as a code: two of six ordered pairs.
        assert error(np.hstack([codes, dead])) == pytest.approx(error(codes) / 3)
    else:
        assert error(np.hstack([codes, dead])) == pytest.approx(error(codes))


@all_errors
def test_all_missing_rows_leave_too_few(error):
    with pytest.raises(ValueError, match="At least 2 samples"):
        error(np.array([[1.0, 2.0], [np.nan, 1.0]]), nan_policy="omit")
