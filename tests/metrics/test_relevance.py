"""The information and correlation matrices against hand-computed and scikit-learn values."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import mig_score, relevance_matrix
from sklearn_disent.metrics._aggregation import average_of, concentration, top_gap
from sklearn_disent.metrics._validation import check_data
from sklearn_disent.metrics.information._matrix import bin_codes, information_matrix


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(n, size=500) for n in (2, 3, 7)])
    return factors, factors @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(500, 4))


def test_information_of_two_coins_by_hand():
    codes = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    info = information_matrix(check_data([[0], [0], [1], [1]], codes))
    np.testing.assert_allclose(info.mutual_info, [[np.log(2), 0, 0]], atol=1e-15)
    np.testing.assert_allclose(info.h_factors, [np.log(2)])
    np.testing.assert_allclose(info.h_codes, [np.log(2), 0, np.log(2)])


@pytest.mark.parametrize("n_bins", [2, 10, 20])
def test_information_equals_pairwise_sklearn(data, n_bins):
    factors, codes = data
    edges = [np.histogram(z, n_bins)[1][:-1] for z in codes.T]
    binned = [np.digitize(z, e) for z, e in zip(codes.T, edges)]
    expected = [[mutual_info_score(y, z) for z in binned] for y in factors.T]
    matrix = relevance_matrix(factors, codes, kind="mutual_info", n_bins=n_bins)
    np.testing.assert_allclose(matrix, expected, atol=1e-13)


def test_uniform_bins_follow_digitize_of_histogram(get_case):
    # The squares of a grid: several values share a bin, and some lie on edges.
    codes = get_case("f1_nonlinear").codes
    for z, binned in zip(codes.T, bin_codes(codes).T):
        np.testing.assert_array_equal(binned + 1, np.digitize(z, np.histogram(z, 20)[1][:-1]))


def test_discrete_codes_are_not_binned(get_case):
    case = get_case("f1_nonlinear")
    assert mig_score(case.factors, case.codes) == pytest.approx(0.875, abs=1e-3)
    assert mig_score(case.factors, case.codes, n_bins=None) == pytest.approx(1.0)


def test_quantile_bins_hold_equal_counts():
    codes = np.random.default_rng(0).lognormal(size=(1000, 1))
    counts = np.bincount(bin_codes(codes, n_bins=10, strategy="quantile")[:, 0])
    np.testing.assert_array_equal(counts, np.full(10, 100))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("bias_correction", ["none", "miller_madow"])
def test_weighted_information_equals_repetition(data, strategy, bias_correction):
    factors, codes = data
    weight = np.random.default_rng(1).integers(4, size=len(codes))
    options = {"n_bins": 7, "strategy": strategy, "bias_correction": bias_correction}
    weighted = information_matrix(check_data(factors, codes, sample_weight=weight), **options)
    rows = np.repeat(np.arange(len(codes)), weight)
    repeated = information_matrix(check_data(factors[rows], codes[rows]), **options)
    for first, second in zip(weighted, repeated):
        np.testing.assert_allclose(first, second, atol=1e-12)


def test_miller_madow_by_hand():
    # 4 samples, all 4 cells filled: I = 0 + (2 + 2 - 4 - 1) / 8 < 0, hence 0; H gains 1 / 8.
    data = check_data([[0], [0], [1], [1]], [[0], [1], [0], [1]])
    info = information_matrix(data, bias_correction="miller_madow")
    assert info.mutual_info[0, 0] == 0
    assert info.h_factors[0] == pytest.approx(np.log(2) + 1 / 8)


def test_permutation_correction_removes_chance_and_keeps_certainty():
    rng = np.random.default_rng(0)
    factors = rng.integers(8, size=(300, 1))
    codes = np.column_stack([factors[:, 0], rng.normal(size=300)])
    data = check_data(factors, codes)
    plain = information_matrix(data)
    adjusted = information_matrix(data, bias_correction="permutation", random_state=0)
    assert plain.mutual_info[0, 1] > 0.15
    assert adjusted.mutual_info[0, 1] < 0.04
    assert adjusted.mutual_info[0, 0] == pytest.approx(adjusted.h_factors[0])


def test_permutation_correction_is_repeatable_and_refuses_weights(data):
    options = {"bias_correction": "permutation", "random_state": 3}
    assert mig_score(*data, **options) == mig_score(*data, **options)
    with pytest.raises(ValueError, match="Repeat the rows"):
        mig_score(*data, sample_weight=np.ones(500), **options)


def test_more_bins_and_classes_than_samples_stay_finite():
    factors, codes = np.arange(5)[:, None], np.arange(10.0).reshape(5, 2)
    for correction in ("none", "miller_madow", "permutation"):
        score = mig_score(factors, codes, n_bins=100, bias_correction=correction, random_state=0)
        assert score == 0


def test_constant_codes_warn_and_score_zero():
    with pytest.warns(DegenerateScoreWarning, match="All codes are constant"):
        assert mig_score([[0], [1], [0]], np.full((3, 2), 0.3)) == 0


def test_single_valued_factor_is_nan_in_its_place_only():
    factors, codes = np.array([[0, 3], [1, 3], [0, 3], [1, 3]]), np.eye(2)[[0, 1, 0, 1]][:, :1]
    with pytest.warns(DegenerateScoreWarning):
        np.testing.assert_allclose(mig_score(factors, codes, average=None), [1, np.nan])
    with pytest.warns(DegenerateScoreWarning):
        assert mig_score(factors, codes) == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:factors .0. have a single value")
def test_no_factor_to_score_gives_zero_with_warning():
    with pytest.warns(DegenerateScoreWarning, match="None of the factors"):
        assert mig_score([[1], [1], [1]], [[1], [2], [3]]) == 0


def test_correlation_equals_corrcoef_and_weights_repeat(data):
    factors, codes = data
    expected = np.abs(np.corrcoef(factors.T, codes.T)[:3, 3:])
    np.testing.assert_allclose(relevance_matrix(factors, codes, kind="correlation"), expected)
    weight = np.random.default_rng(1).integers(3, size=500)
    np.testing.assert_allclose(
        relevance_matrix(factors, codes, kind="correlation", sample_weight=weight),
        relevance_matrix(
            np.repeat(factors, weight, 0), np.repeat(codes, weight, 0), kind="correlation"
        ),
    )


def test_correlation_of_constant_or_tiny_codes_is_finite():
    codes = np.column_stack([np.full(4, 0.3), np.array([1, 2, 3, 4]) * 1e-200])
    matrix = relevance_matrix([[0], [1], [2], [3]], codes, kind="correlation")
    np.testing.assert_allclose(matrix, [[0, 1]])


def test_relevance_matrix_refuses_unknown_kind():
    with pytest.raises(ValueError, match="kind"):
        relevance_matrix([[0], [1]], [[0], [1]], kind="guess")


def test_top_gap_by_hand():
    matrix = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 5.0]])
    np.testing.assert_array_equal(top_gap(matrix), [1, 5])
    np.testing.assert_array_equal(top_gap(matrix, axis=0), [3, 1, 3])
    np.testing.assert_array_equal(top_gap(matrix[:, :1]), [3, 0])


def test_concentration_by_hand():
    matrix = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(concentration(matrix), [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(
        concentration(matrix, axis=1), [1 - np.log(2) / np.log(3), 1], atol=1e-15
    )


def test_average_of_leaves_out_the_unused():
    values, used = np.array([1.0, 3.0, 8.0]), np.array([True, True, False])
    assert average_of(values, used, "macro") == 2
    np.testing.assert_array_equal(average_of(values, used, None), [1, 3, np.nan])
