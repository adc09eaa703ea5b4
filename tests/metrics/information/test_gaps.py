"""MIG-sup, DCIMIG and modularity on matrices made by hand."""

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    dcimig_score,
    jemmig_score,
    mig_score,
    mig_sup_score,
    minimality_score,
    sufficiency_score,
)
from sklearn_disent.metrics.information._gaps import _dcimig, _mig_sup, _modularity
from sklearn_disent.metrics.information._matrix import (
    _N_PERMUTATIONS,
    Information,
    binned_information,
)

DIAGONAL = 5.0 * np.eye(5)


def information(matrix, h_factors=10.0, h_codes=10.0):
    matrix = np.asarray(matrix, dtype=float)
    n_factors, n_codes = matrix.shape
    return Information(matrix, np.full(n_factors, h_factors), np.full(n_codes, h_codes))


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (DIAGONAL, 1),
        (np.eye(2, 3), 2 / 3),
        (np.hstack([DIAGONAL, DIAGONAL]), 1),
        (np.vstack([DIAGONAL, DIAGONAL]), 1 - 1 / 9),
        (np.ones((3, 2)), 0),
        (np.zeros((3, 2)), 0),
        ([[4.0, 0.0]], 1 / 2),
        ([[2.0], [1.0], [1.0]], 1 - 2 / 8),
    ],
)
def test_modularity_of_matrices_by_hand(matrix, expected):
    assert _modularity(information(matrix), "zero", "macro") == pytest.approx(expected)


def test_modularity_drops_dead_codes_with_warning():
    info = information(np.eye(2, 3))
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[2\] hold no information"):
        assert _modularity(info, "drop", "macro") == 1
    with pytest.warns(DegenerateScoreWarning):
        np.testing.assert_array_equal(_modularity(info, "drop", None), [1, 1, np.nan])
    with pytest.warns(DegenerateScoreWarning, match="None of the codes"):
        assert _modularity(information(np.zeros((2, 2))), "drop", "macro") == 0


def test_modularity_counts_varied_factors_only():
    # Of three factors the last has one value: equal information about the two others is 0.
    info = information([[1.0], [1.0], [0.0]])._replace(h_factors=np.array([2.0, 2.0, 0.0]))
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[2\]"):
        assert _modularity(info, "zero", "macro") == 0


def test_modularity_survives_tiny_information():
    assert _modularity(information(1e-200 * DIAGONAL), "zero", "macro") == 1


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (DIAGONAL, 0.5),
        # The second code offers more for the first factor than the first one does.
        ([[3.0, 9.0], [1.0, 4.0]], 5 / 20),
        ([[3.0, 1.0], [1.0, 4.0]], (2 + 3) / 20),
        ([[4.0, 6.0]], 6 / 10),
        (np.ones((3, 3)), 0),
    ],
)
def test_dcimig_of_matrices_by_hand(matrix, expected):
    assert _dcimig(information(matrix)) == pytest.approx(expected)


def test_dcimig_weighs_factors_by_entropy():
    info = information([[1.0, 0.0], [0.0, 1.0]])._replace(h_factors=np.array([1.0, 3.0]))
    assert _dcimig(info) == pytest.approx(2 / 4)


def test_mig_sup_of_matrices_by_hand():
    info = Information(
        np.array([[2.0, 1.0, 0.5], [1.0, 4.0, 0.5]]), np.array([2.0, 8.0]), np.full(3, 5.0)
    )
    active = np.array([True, True, False])
    np.testing.assert_allclose(
        _mig_sup(info, active, "factor", None), [1 - 1 / 8, 1 / 2 - 1 / 2, np.nan]
    )
    assert _mig_sup(info, active, "factor", "macro") == pytest.approx(7 / 16)
    np.testing.assert_allclose(_mig_sup(info, active, "code", None), [1 / 5, 3 / 5, np.nan])


def test_mig_sup_leaves_out_codes_of_little_variance():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(1000, 2))
    codes = np.column_stack([factors, 0.05 * rng.normal(size=1000)])
    assert mig_sup_score(factors, codes) > 0.95
    np.testing.assert_array_equal(
        np.isnan(mig_sup_score(factors, codes, average=None)), [False, False, True]
    )
    assert mig_sup_score(factors, codes, min_variance=0.0) < 0.7
    # The rule is relative: a common scale changes nothing, however small.
    assert mig_sup_score(factors, 1e-180 * codes) == pytest.approx(mig_sup_score(factors, codes))


def test_mig_sup_weighs_variance():
    factors = np.array([[0], [1], [0], [1]])
    codes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    weight = np.array([1000, 1000, 1000, 1])
    values = mig_sup_score(factors, codes, sample_weight=weight, average=None)
    np.testing.assert_array_equal(np.isnan(values), [False, True])


@pytest.mark.parametrize(
    "metric", [dcimig_score, jemmig_score, mig_score, mig_sup_score, sufficiency_score]
)
@pytest.mark.parametrize("options", [{"strategy": "quantile"}, {"n_bins": None}])
def test_options_of_bins_keep_perfect_codes_perfect(metric, options):
    # Values so uneven that 20 bins of equal width would merge most of them.
    factors = np.stack(np.meshgrid(range(5), range(5)), axis=-1).reshape(-1, 2)
    codes = 10.0**factors
    assert metric(factors, codes) < 0.9
    assert metric(factors, codes, **options) == pytest.approx(1)


@pytest.mark.parametrize("metric", [mig_sup_score, dcimig_score, minimality_score])
def test_permutation_correction_lowers_noise(metric):
    rng = np.random.default_rng(0)
    factors, codes = rng.integers(10, size=(150, 2)), rng.normal(size=(150, 3))
    adjusted = metric(factors, codes, bias_correction="permutation", random_state=0)
    assert adjusted < 0.05 + 0.5 * metric(factors, codes)
    assert metric(factors, factors, bias_correction="permutation", random_state=0) > 0.85


def test_permutation_correction_by_hand():
    """(I - E) / (B - E) B, with the mean information E over the very same shuffles."""
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(40, 1))
    codes = factors + rng.normal(size=(40, 1))
    plain = binned_information(factors, codes, None, 5, "uniform", "none", None)
    shuffles, chance = np.random.RandomState(3), []
    for _ in range(_N_PERMUTATIONS):
        shuffled = codes[shuffles.permutation(40)]
        info = binned_information(factors, shuffled, None, 5, "uniform", "none", None)
        chance.append(info.mutual_info[0, 0])
    bound = min(plain.h_factors[0], plain.h_codes[0])
    expected = (plain.mutual_info[0, 0] - np.mean(chance)) / (bound - np.mean(chance)) * bound
    found = binned_information(factors, codes, None, 5, "uniform", "permutation", 3)
    assert 0.1 < expected < bound - 0.1
    assert found.mutual_info[0, 0] == pytest.approx(expected, abs=1e-12)
