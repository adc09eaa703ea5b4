"""Minimality and sufficiency: by hand, and what the paper asks of them on its toys."""

import numpy as np
import pytest

from sklearn_disent.datasets import make_dependent_factors
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import minimality_score, sufficiency_score
from sklearn_disent.metrics._validation import check_data
from sklearn_disent.metrics.information._matrix import Information, information_matrix
from sklearn_disent.metrics.information._minimality import _minimality, _sufficiency

INFO = Information(
    np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 0.0]]), np.array([4.0, 2.0]), np.array([2.0, 8.0, 0.0])
)


def scores(**options):
    data = make_dependent_factors(random_state=0, **options)
    return (
        minimality_score(data.target, data.codes),
        sufficiency_score(data.target, data.codes),
    )


def test_minimality_by_hand():
    active = np.ones(3, dtype=bool)
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[2\] hardly vary"):
        score, matrix = _minimality(INFO, active, "macro")
    np.testing.assert_array_equal(matrix, [[1 / 2, 1 / 4, 0], [1 / 4, 1 / 8, 0]])
    assert score == (1 / 2 + 1 / 4) / 2
    with pytest.warns(DegenerateScoreWarning):
        np.testing.assert_array_equal(_minimality(INFO, active, None)[0], [1 / 2, 1 / 4, np.nan])


def test_sufficiency_by_hand():
    score, matrix = _sufficiency(INFO, "macro")
    np.testing.assert_array_equal(matrix, [[1 / 4, 1 / 2, 0], [1 / 4, 1 / 2, 0]])
    assert score == 1 / 2


@pytest.mark.parametrize("delta", [0.25, 0.4, 0.5, 0.75, 1.0])
def test_disentangled_codes_score_one_however_dependent_the_factors(delta):
    np.testing.assert_allclose(scores(alpha=1.0, delta=delta), 1.0, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.25, 0.4, 0.6, 0.7])
def test_scores_grow_as_factors_become_dependent(alpha):
    grid = np.array([scores(alpha=alpha, delta=delta) for delta in (1.0, 0.7, 0.5, 0.35, 0.25)])
    assert (np.diff(grid, axis=0) > 0).all()
    np.testing.assert_allclose(grid[-1], 1.0, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.8, 0.9])
def test_scores_of_nearly_disentangled_codes_grow_as_factors_become_dependent(alpha):
    # Sufficiency is near 1, hence m = H(y) / H(z): the classes of mixed factors are less even,
    # and from delta 1 to 0.7 the entropy of the factors falls faster than that of the codes.
    grid = np.array([scores(alpha=alpha, delta=delta) for delta in (1.0, 0.7, 0.5, 0.35, 0.25)])
    assert (np.diff(grid[:, 1]) > -1e-9).all()
    assert (np.diff(grid[1:, 0]) > 0).all()
    np.testing.assert_allclose(grid[-1], 1.0, atol=1e-9)


def test_scores_grow_with_disentanglement():
    grid = np.array([scores(alpha=alpha, n_samples=5000) for alpha in (0.25, 0.4, 0.7, 1.0)])
    assert (np.diff(grid, axis=0) > 0).all()


def test_nuisance_lowers_minimality_alone():
    grid = np.array([scores(beta=beta, n_samples=5000) for beta in (0.0, 0.2, 0.4, 0.6, 0.8)])
    assert (np.diff(grid[:, 0]) < 0).all()
    assert grid[-1, 0] < 0.7
    assert (grid[:, 1] > 0.98).all()


@pytest.mark.parametrize("metric", [minimality_score, sufficiency_score])
def test_matrix_is_that_behind_the_score(metric):
    data = make_dependent_factors(alpha=0.5, random_state=0)
    score, matrix = metric(data.target, data.codes, return_matrix=True)
    info = information_matrix(check_data(data.target, data.codes), n_bins=15)
    if metric is minimality_score:
        expected, axis = info.mutual_info / info.h_codes, 0
    else:
        expected, axis = info.mutual_info / info.h_factors[:, None], 1
    np.testing.assert_array_equal(matrix, expected)
    assert score == matrix.max(axis=axis).mean() == metric(data.target, data.codes)
    values, same = metric(data.target, data.codes, return_matrix=True, average=None)
    np.testing.assert_array_equal(values, matrix.max(axis=axis))
    np.testing.assert_array_equal(same, matrix)


def test_collapsed_codes_do_not_ruin_minimality():
    """Three perfect codes, and seven that hardly vary, as those of spare latents do."""
    rng = np.random.default_rng(0)
    factors = rng.integers(5, size=(3000, 3))
    collapsed = 1e-4 * rng.standard_normal((3000, 7))
    codes = np.column_stack([factors, collapsed])
    assert minimality_score(factors, codes[:, :3]) == pytest.approx(1.0)
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[3, 4, 5, 6, 7, 8, 9\] hardly vary"):
        assert minimality_score(factors, codes) == pytest.approx(1.0)
    with pytest.warns(DegenerateScoreWarning, match="hardly vary"):
        assert minimality_score(factors, codes * ([1.0] * 3 + [0.0] * 7)) == pytest.approx(1.0)
    assert minimality_score(factors, codes, min_variance=0) == pytest.approx(0.3, abs=0.02)
    with pytest.warns(DegenerateScoreWarning):
        values = minimality_score(factors, codes, average=None)
    np.testing.assert_array_equal(np.isnan(values), [False] * 3 + [True] * 7)
