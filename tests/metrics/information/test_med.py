"""MED: the aggregation of DCI on information matrices made by hand."""

import numpy as np
import pytest

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import med_completeness_score, med_disentanglement_score
from sklearn_disent.metrics.information._matrix import Information
from sklearn_disent.metrics.information._med import (
    _med_completeness,
    _med_disentanglement,
    _top_codes,
)

DIAGONAL = 5.0 * np.eye(5)
ALL = np.ones(10, dtype=bool)


def information(matrix):
    matrix = np.asarray(matrix, dtype=float)
    return Information(matrix, np.full(len(matrix), 10.0), np.full(matrix.shape[1], 10.0))


@pytest.mark.parametrize(
    ("matrix", "disentanglement", "completeness"),
    [
        (DIAGONAL, 1, 1),
        (np.hstack([DIAGONAL, DIAGONAL]), 1, 1 - np.log(2) / np.log(10)),
        (np.vstack([DIAGONAL, DIAGONAL]), 1 - np.log(2) / np.log(10), 1),
        (np.ones((3, 4)), 0, 0),
        # Normalised per factor: the second code's shares are 1/4 and 1.
        (
            [[3.0, 1.0], [0.0, 9.0]],
            (0.75 + 1.25 * (1 + (0.2 * np.log(0.2) + 0.8 * np.log(0.8)) / np.log(2))) / 2,
            (2 + (0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / np.log(2)) / 2,
        ),
    ],
)
def test_med_of_matrices_by_hand(matrix, disentanglement, completeness):
    info = information(matrix)
    kept = ALL[: info.mutual_info.shape[1]]
    assert _med_disentanglement(info, kept, "macro") == pytest.approx(disentanglement)
    assert _med_completeness(info, kept, "macro") == pytest.approx(completeness)


def test_med_without_information_is_zero():
    info = information(np.zeros((2, 3)))
    assert _med_disentanglement(info, ALL[:3], "macro") == 0
    assert _med_completeness(info, ALL[:3], "macro") == 0


def test_unknown_factor_lowers_completeness():
    info = information([[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(_med_completeness(info, ALL[:2], None), [1, 0])
    assert _med_completeness(info, ALL[:2], "macro") == 0.5
    assert _med_disentanglement(info, ALL[:2], "macro") == 1


def test_top_codes_by_hand():
    matrix = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(_top_codes(matrix, 1), [True, False, False, False])
    np.testing.assert_array_equal(_top_codes(matrix, 2), [True, True, True, False])
    assert _top_codes(matrix, 4).all()
    assert _top_codes(matrix, None).all()


def test_top_codes_undo_redundancy():
    factors = np.stack(np.meshgrid(range(4), range(4)), axis=-1).reshape(-1, 2)
    codes = factors[:, [0, 1, 0, 1, 0]]
    assert med_completeness_score(factors, codes) < 0.6
    assert med_completeness_score(factors, codes, top_k=1) == pytest.approx(1)
    values = med_disentanglement_score(factors, codes, top_k=1, average=None)
    np.testing.assert_allclose(values, [1, 1, np.nan, np.nan, np.nan])


def test_constant_code_is_left_out_of_the_base_with_warning():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(500, 2))
    codes = factors @ [[1.0, 0.4], [0.2, 1.0]]
    dead = np.column_stack([codes, np.full(500, 0.3)])
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[2\] are constant"):
        score = med_completeness_score(factors, dead)
    assert score == pytest.approx(med_completeness_score(factors, codes))


@pytest.mark.parametrize("metric", [med_disentanglement_score, med_completeness_score])
@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_nothing_to_score_is_zero(metric):
    assert metric([[0], [1], [0]], np.full((3, 2), 0.3)) == 0
    assert metric([[1], [1], [1]], [[0.0], [1.0], [2.0]]) == 0
