"""Distance from a factorized support."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.metrics import (
    factorized_support_distance,
)
from sklearn_disent.metrics.independence import _support

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def test_support_distance_by_hand():
    assert factorized_support_distance(CORNERS) == 0.0
    assert factorized_support_distance(CORNERS[:3]) == 1.0
    # On the diagonal the corner (0, 3) is nearest to (2, 2): 4 + 1.
    assert factorized_support_distance(np.array([[0.0, 0], [2, 2], [3, 3]])) == 5.0
    assert factorized_support_distance(CORNERS[:3] * 2) == 4.0


@settings(derandomize=True, max_examples=25, deadline=None, database=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(2, 4))
def test_support_distance_equals_definition(seed, n, d):
    rng = np.random.default_rng(seed)
    z = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), rng.integers(2, size=(n, d)))
    z[0], z[1] = 0.0, 1.0
    expected = sum(
        max(
            min((z[a, i] - z[c, i]) ** 2 + (z[b, j] - z[c, j]) ** 2 for c in range(n))
            for a in range(n)
            for b in range(n)
        )
        for i in range(d)
        for j in range(i + 1, d)
    )
    assert factorized_support_distance(z) == pytest.approx(expected, abs=1e-12)


def test_support_distance_of_batches_repeats_and_is_larger():
    codes = np.random.default_rng(0).uniform(size=(300, 2))
    whole = factorized_support_distance(codes, batch_size=None)
    batches = [
        factorized_support_distance(codes, batch_size=50, random_state=seed) for seed in (0, 0, 1)
    ]
    assert batches[0] == batches[1] != batches[2]
    assert min(batches) > whole
    assert factorized_support_distance(codes, batch_size=300) == whole


def test_support_distance_ignores_frequency():
    often = np.repeat(CORNERS, [1, 50, 1, 700], axis=0)
    assert factorized_support_distance(often) == 0.0


def compared(codes):
    """All combinations of the values of two codes with all rows."""
    total = 0.0
    for i, j in combinations(range(codes.shape[1]), 2):
        across, along = (codes[:, [k]] - np.unique(codes[:, k]) for k in (i, j))
        squares = (across**2)[:, :, None] + (along**2)[:, None, :]
        total += squares.min(axis=0).max()
    return total


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("kind", ["normal", "correlated", "grid", "line", "factorized"])
def test_search_finds_the_maximum_of_all_combinations(monkeypatch, kind, few):
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(120, 3))
    if kind == "correlated":
        codes = codes @ rng.normal(size=(3, 3))
    elif kind == "grid":
        codes = codes.round(1)
    elif kind == "line":
        codes[:, 1] = codes[:, 0] ** 3
    elif kind == "factorized":
        codes = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    monkeypatch.setattr(_support, "_FEW", few)
    unit = np.ptp(codes, axis=0).max()
    expected = compared(codes / unit) * unit**2
    assert factorized_support_distance(codes, batch_size=None) == pytest.approx(expected, rel=1e-13)


def test_many_rows_are_compared_at_once():
    """Cubic time would take an hour."""
    codes = np.random.default_rng(0).uniform(size=(20_000, 2))
    assert 0 < factorized_support_distance(codes, batch_size=None) < 0.01
