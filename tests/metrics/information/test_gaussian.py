"""RMIG and JEMMIG, and the information of codes that are Gaussian posteriors."""

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import jemmig_score, mig_score, rmig_score
from sklearn_disent.metrics._validation import check_data
from sklearn_disent.metrics.information._gaussian import (
    _bin_mass,
    _jemmig,
    check_gaussians,
    spread_information,
)
from sklearn_disent.metrics.information._matrix import Information, information_matrix


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(400, 2))
    return factors, factors @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(400, 3))


def test_bin_mass_is_that_of_the_normal_distribution():
    mass = _bin_mass(np.array([0.3, -2.0]), np.array([0.5, 2.0]), np.array([-1.0, 0.0, 1.0]))
    below = norm.cdf([[-1, 0, 1], [-1, 0, 1]], [[0.3], [-2]], [[0.5], [2]])
    np.testing.assert_allclose(
        mass, np.diff(np.hstack([[[0], [0]], below, [[1], [1]]]), axis=1), atol=1e-15
    )
    np.testing.assert_allclose(mass.sum(axis=1), 1)


def test_bin_mass_of_points_is_all_in_one_bin():
    # On the edge 0 the bin above has it.
    mass = _bin_mass(np.array([-0.5, 0.0, 3.0]), np.zeros(3), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(mass, np.eye(3))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("weight", [None, np.arange(400) % 3])
def test_information_of_certain_codes_is_that_of_points(data, strategy, weight):
    options = {"strategy": strategy, "sample_weight": weight}
    info = spread_information(
        *check_gaussians(*data, 0.0, None, "raise", weight), None, 20, strategy
    )
    points = information_matrix(check_data(*data, sample_weight=weight), 20, strategy)
    for first, second in zip(info, points):
        np.testing.assert_allclose(first, second, atol=1e-12)
    assert rmig_score(*data, **options) == mig_score(*data, **options)


def test_information_of_posteriors_equals_that_of_many_draws(data):
    factors, codes = data
    std = np.array([0.05, 0.5, 2.0])
    limits = (-8.0, 8.0)
    exact = spread_information(*check_gaussians(*data, std, None, "raise", None), limits, 10)
    draws = np.random.default_rng(1).normal(codes, std, size=(400, *codes.shape))
    # The same bins: draws beyond the limits belong to the outermost ones.
    clipped = np.clip(draws.reshape(-1, 3), *limits)
    ends = np.tile(np.array(limits)[:, None], 3)
    many = np.tile(factors, (400, 1))
    drawn = check_data(np.vstack([many, many[:2]]), np.vstack([clipped, ends]))
    sampled = information_matrix(drawn, n_bins=10)
    np.testing.assert_allclose(exact.mutual_info, sampled.mutual_info, atol=2e-3)
    np.testing.assert_allclose(exact.h_codes, sampled.h_codes, atol=5e-3)


def test_rmig_falls_with_uncertainty(data):
    values = [rmig_score(*data, codes_std=std) for std in (0.0, 0.5, 2.0, 50.0)]
    assert (np.diff(values) < 0).all()
    assert values[-1] < 0.01


def test_codes_std_takes_a_number_a_row_or_a_table(data):
    codes = data[1]
    one = rmig_score(*data, codes_std=0.5)
    assert one == rmig_score(*data, codes_std=[0.5] * 3)
    assert one == rmig_score(*data, codes_std=np.full(codes.shape, 0.5))
    assert one == rmig_score(data[0], codes, codes_std=np.full(codes.shape, 0.5, np.float32))


def test_codes_std_rows_are_dropped_with_those_of_codes(data):
    factors, codes = data
    std = np.random.default_rng(0).uniform(0.1, 1, size=codes.shape)
    missing = codes.copy()
    missing[7, 1] = np.nan
    keep = np.arange(400) != 7
    expected = jemmig_score(factors[keep], codes[keep], codes_std=std[keep])
    assert jemmig_score(factors, missing, codes_std=std, nan_policy="omit") == expected
    assert jemmig_score(
        factors, codes, codes_std=std, sample_weight=keep.astype(int)
    ) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"codes_std": -1.0}, "codes_std must be finite and >= 0, got -1.0"),
        ({"codes_std": [1.0, 1.0]}, r"shape \(400, 3\) or \(3,\)"),
        ({"codes_std": 1.0, "n_bins": None}, "n_bins=None"),
        ({"codes_std": 1.0, "bias_correction": "permutation"}, "leave bias_correction"),
        ({"code_range": (1.0, -1.0)}, "low < high"),
        ({"code_range": (1.0,)}, "two finite numbers"),
        ({"code_range": (-1.0, 1.0), "strategy": "quantile"}, "Leave one out"),
        ({"codes_std": np.nan}, "NaN"),
    ],
)
@pytest.mark.parametrize("metric", [rmig_score, jemmig_score])
def test_posterior_options_are_checked(data, metric, options, match):
    with pytest.raises(ValueError, match=match):
        metric(*data, **options)


def test_constant_means_warn_and_score_zero(data):
    with pytest.warns(DegenerateScoreWarning, match="All codes are constant"):
        assert rmig_score(data[0], np.full((400, 2), 0.3), codes_std=0.1) == 0


def test_jemmig_by_hand():
    info = Information(np.array([[2.0, 0.5]]), np.array([2.0]), np.array([3.0, 1.0]))
    # H(z, y) = 2 + 3 - 2 = 3, less the gap 1.5.
    expected = 1 - 1.5 / (2 + np.log(20))
    assert _jemmig(info, np.array([20, 20]), "macro") == pytest.approx(expected)


def test_jemmig_takes_the_simpler_of_equally_informed_codes():
    info = Information(np.array([[2.0, 2.0]]), np.array([2.0]), np.array([3.0, 2.0]))
    expected = 1 - 2 / (2 + np.log(20))
    for order in ([0, 1], [1, 0]):
        swapped = Information(info.mutual_info[:, order], info.h_factors, info.h_codes[order])
        assert _jemmig(swapped, np.array([20, 20]), "macro") == pytest.approx(expected)


def test_jemmig_asks_for_codes_without_surplus():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(2000, 2))
    noisy = factors + rng.uniform(-0.4, 0.4, size=(2000, 2))
    assert mig_score(factors, noisy) > 0.95
    assert jemmig_score(factors, noisy) < jemmig_score(factors, factors) - 0.2


def test_jemmig_of_discrete_codes_counts_their_values():
    factors = np.arange(8)[:, None] // 4
    codes = np.arange(8.0)[:, None] // 2
    # H(y) = log 2, H(z) = log 4 = H(z, y), gap log 2.
    expected = 1 - (np.log(4) - np.log(2)) / (np.log(2) + np.log(4))
    assert jemmig_score(factors, codes, n_bins=None) == pytest.approx(expected)
