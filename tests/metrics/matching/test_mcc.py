"""Mean correlation coefficient: permutations, rotations, noise, and values by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sklearn_disent.metrics import dictionary_similarity, mcc_score, relevance_matrix
from sklearn_disent.metrics._aggregation import match_one_to_one, matched_values

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(400, 3))
ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("n_folds", [None, 4])
def test_permuted_and_flipped_codes_score_one(kind, n_folds, seed):
    rng = np.random.default_rng(seed)
    codes = FACTORS[:, rng.permutation(3)] * rng.choice([-1.0, 1.0], 3) * rng.uniform(0.1, 9, 3)
    score = mcc_score(FACTORS, codes, kind=kind, n_folds=n_folds, random_state=0)
    assert score == pytest.approx(1.0)


def test_weak_form_of_a_rotation_is_one_where_the_strong_is_not():
    codes = FACTORS @ ROTATION
    assert mcc_score(FACTORS, codes) < 0.95
    assert mcc_score(FACTORS, codes, up_to="linear", random_state=0) == pytest.approx(1.0)


def test_monotone_codes_need_ranks():
    codes = np.exp(2 * FACTORS)
    assert mcc_score(FACTORS, codes) < 0.8
    assert mcc_score(FACTORS, codes, kind="spearman") == pytest.approx(1.0)


@pytest.mark.parametrize(("n_samples", "n_codes"), [(40, 10), (40, 80), (200, 400)])
@pytest.mark.parametrize("up_to", ["permutation", "linear"])
def test_cross_fitted_noise_is_near_zero_at_any_ratio(n_samples, n_codes, up_to):
    scores, seen = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        factors, codes = rng.normal(size=(n_samples, 5)), rng.normal(size=(n_samples, n_codes))
        options = {"n_folds": 4, "up_to": up_to, "random_state": 0}
        scores.append(mcc_score(factors, codes, **options))
        seen.append(mcc_score(factors, codes))
    assert np.mean(scores) < 0.12
    assert np.mean(seen) > np.mean(scores) + 0.05


def test_fewer_codes_than_factors_count_by_the_divisor():
    codes = FACTORS[:, :1]
    assert mcc_score(FACTORS, codes) == pytest.approx(1.0)
    assert mcc_score(FACTORS, codes, divisor="factors") == pytest.approx(1 / 3)
    values = mcc_score(FACTORS, codes, average=None)
    assert np.allclose(values, [1, 0, 0])


def test_value_by_hand():
    factors = np.array([[1.0, 2], [2, 0], [3, 0], [4, 2]])
    codes = np.array([[0.0, 5], [0, 0], [1, 0], [1, 5]])
    # corr(y_0, z_0) = 2 / sqrt(5), corr(y_1, z_1) = 1, and the others are 0.
    assert mcc_score(factors, codes) == pytest.approx((2 / np.sqrt(5) + 1) / 2)


def test_matching_does_not_give_a_code_twice():
    relevance = np.array([[0.9, 0.8, 0.0], [0.9, 0.1, 0.0]])
    code = match_one_to_one(relevance)
    assert code.tolist() == [1, 0]
    assert matched_values(relevance, code).tolist() == [0.8, 0.9]
    assert match_one_to_one(relevance.T).tolist() == [1, 0, -1]


def test_spearman_matrix_is_that_of_scipy():
    codes = np.round(FACTORS @ ROTATION, 1)
    matrix = relevance_matrix(FACTORS, codes, kind="spearman")
    for k in range(3):
        for j in range(3):
            expected = abs(spearmanr(FACTORS[:, k], codes[:, j]).statistic)
            assert matrix[k, j] == pytest.approx(expected)


def test_weighted_ranks_equal_repetition():
    weight = RNG.integers(4, size=400)
    repeated = [np.repeat(array, weight, axis=0) for array in (FACTORS, FACTORS @ ROTATION)]
    one = relevance_matrix(FACTORS, FACTORS @ ROTATION, kind="spearman", sample_weight=weight)
    assert np.allclose(one, relevance_matrix(*repeated, kind="spearman"))


def test_dictionary_similarity_matches_atoms():
    atoms = np.vstack([-3 * ROTATION[1], ROTATION[0], np.zeros(3), ROTATION[2]])
    assert dictionary_similarity(ROTATION, atoms) == pytest.approx(1.0)
    assert dictionary_similarity(ROTATION, atoms[:2]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="same number of features, got 3 and 2"):
        dictionary_similarity(np.eye(3), np.eye(2))


def test_rounding_does_not_lift_a_correlation_above_one():
    values = np.random.default_rng(0).normal(size=(50, 60))
    assert mcc_score(values, values, average=None).max() <= 1
    assert relevance_matrix(values, values, kind="correlation").max() <= 1
    assert dictionary_similarity(values, values) <= 1
