"""OMES: pairs by brute force, scores of hand-made matrices."""

import itertools

import numpy as np
import pytest

from sklearn_disent.metrics import omes_score
from sklearn_disent.metrics.intervention._omes import _omes, _pair_correlation, _unpruned

GRID = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2)


def by_definition(response, alpha):
    n_factors, n_codes = response.shape
    total = 0.0
    for k in range(n_factors):
        overlap, multiple = [], []
        for j in range(n_codes):
            o = 1 - np.mean([abs((m == k) - response[m, j]) for m in range(n_factors)])
            m = 1 - np.mean([abs((i == j) - response[k, i]) for i in range(n_codes)])
            overlap.append(o * response[k, j])
            multiple.append(m * response[k, j])
        total += alpha * max(overlap) + (1 - alpha) * max(multiple)
    return total / n_factors


def test_score_is_that_of_the_definition():
    response = np.random.default_rng(0).uniform(size=(3, 4))
    for alpha in (0.0, 0.3, 1.0):
        assert _omes(response, alpha).mean() == pytest.approx(by_definition(response, alpha))
    assert _omes(np.eye(3), 0.5).mean() == 1.0


@pytest.mark.parametrize("partners", ["any", "different"])
def test_sums_equal_all_pairs(partners):
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 1, 1, 2, 0], 4), np.repeat(np.arange(4), 5)
    z = rng.normal(size=20) + group + y
    pairs = [
        (i, j)
        for i, j in itertools.product(range(20), repeat=2)
        if group[i] == group[j] and (partners == "any" or y[i] != y[j])
    ]
    one, two = z[np.array(pairs).T]
    expected = abs(np.corrcoef(one, two)[0, 1])
    assert _pair_correlation(z[None], group, y, partners)[0] == pytest.approx(expected)


def test_response_is_the_total_effect():
    codes = GRID @ [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    score, matrix = omes_score(GRID, codes, return_matrix=True)
    variance = GRID.var(axis=0)
    mixed = variance / variance.sum()
    assert np.allclose(matrix, [[1, mixed[0], 0], [0, mixed[1], 1]])
    assert 0.5 < score < 1.0


def test_perfect_binary_codes_need_partners_of_any_value():
    factors = np.stack(np.meshgrid(range(2), range(2)), axis=-1).reshape(-1, 2)
    assert omes_score(factors, factors * 1.0) == pytest.approx(1.0)
    assert omes_score(factors, factors * 1.0, partners="different") == pytest.approx(0.0)


def test_factors_without_pairs_are_left_out():
    factors = np.column_stack([np.arange(6), [0, 0, 1, 1, 2, 2]])
    with pytest.warns(UserWarning, match=r"factors \[1\] have no two rows"):
        values = omes_score(factors, factors * 1.0, average=None)
    assert np.isnan(values[1])
    assert np.isfinite(values[0])


def test_code_of_the_largest_spread_is_never_pruned():
    codes = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5.0, 2.0]
    assert _unpruned(codes, 1.0).tolist() == [False, True, False]
