"""T-MEX: graphs compared by hand, and found by the tests."""

import numpy as np
import pytest
from numpy.random import RandomState
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer

from sklearn_disent.metrics import tmex_error
from sklearn_disent.metrics.matching._tmex import _differences, _kernel_ridge

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(600, 3))
CHEAP = {"n_splits": 3, "random_state": 0}


def test_differences_by_hand():
    identity = np.eye(3)
    assert _differences(identity[:, [2, 0, 1]], identity) == 0.0
    assert _differences(np.zeros((3, 3)), identity) == 3.0
    assert _differences(np.ones((3, 3)), identity) == 6.0
    # A code beyond the factors should depend on nothing; a missing one costs its entry.
    assert _differences(np.eye(3)[:, [0, 1, 2, 2]], identity) == 1.0
    assert _differences(np.eye(3)[:, :2], identity) == 1.0


def test_permuted_codes_with_noise_have_no_error():
    codes = np.tanh(FACTORS[:, [1, 2, 0]]) + 0.1 * RNG.normal(size=(600, 3))
    error, found = tmex_error(FACTORS, codes, **CHEAP, return_matrix=True)
    assert error == 0.0
    assert np.array_equal(found, np.eye(3)[:, [1, 2, 0]])


def test_mixed_codes_are_found():
    mixed = FACTORS @ [[1, 1, 0], [1, -1, 0], [0, 0, 1]]
    assert tmex_error(FACTORS, mixed, **CHEAP) == 2.0
    graph = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert tmex_error(FACTORS, mixed[:, ::-1], graph=graph, **CHEAP) == 0.0


def test_dependence_through_another_factor_is_not_found():
    """Code 0 follows factor 0, with which factor 1 correlates: given factor 0 it says no more."""
    factors = FACTORS[:, :2] @ [[1, 0.8], [0, 0.6]]
    codes = factors + 0.3 * RNG.normal(size=(600, 2))
    assert tmex_error(factors, codes, **CHEAP) == 0.0


def test_level_is_kept():
    """Of 120 pairs without dependence, about six may be found at a level of 0.05."""
    noise = np.random.default_rng(1).normal(size=(200, 40))
    found = tmex_error(FACTORS[:200], noise, **CHEAP, return_matrix=True)[1]
    assert found.mean() < 0.08


def test_graph_is_checked():
    with pytest.raises(ValueError, match="zeros and ones with 3 rows"):
        tmex_error(FACTORS, FACTORS, graph=np.eye(2))


def test_matrix_of_one_code_has_one_column():
    rng = np.random.default_rng(0)
    factors = rng.integers(5, size=(60, 2))
    codes = factors[:, :1] + 0.1 * rng.normal(size=(60, 1))
    assert tmex_error(factors, codes, random_state=0, return_matrix=True)[1].shape == (2, 1)


@pytest.mark.parametrize("n_values", [3, None])
def test_regression_is_that_of_scikit_learn(n_values):
    rng = RandomState(0)
    X = rng.normal(size=(300, 2)) + 5 if n_values is None else rng.randint(n_values, size=(300, 2))
    Y = np.column_stack([np.sin(X).sum(axis=1), X[:, 0]]) + 0.1 * rng.normal(size=(300, 2))
    kernel = Nystroem(n_components=75, gamma=0.5, random_state=1)
    slow = make_pipeline(make_union(FunctionTransformer(), kernel), Ridge(1e-3)).fit(X, Y)
    quick = _kernel_ridge(X * 1.0, Y, seed=1)
    new = rng.normal(size=(50, 2)) + 5
    # Kernels of near landmarks are singular but for rounding.
    np.testing.assert_allclose(quick.own, slow.predict(X), atol=1e-4)
    np.testing.assert_allclose(quick.predict(new), slow.predict(new), atol=1e-4)
