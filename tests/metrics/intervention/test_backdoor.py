"""Robustness under interventions: weights by hand, complete grids, missing cells, CANDLE."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.datasets import load_candle_design
from sklearn_disent.datasets._candle_like import draw_classes
from sklearn_disent.metrics import irs_score, relevance_matrix, unconfoundedness_score
from sklearn_disent.metrics.intervention._backdoor import weighted_quantile

PROPERTY = settings(derandomize=True, max_examples=40, deadline=None, database=None)
# Two binary factors that agree three times out of four; all four cells occur.
CONFOUNDED = np.array([[0, 0]] * 3 + [[0, 1]] + [[1, 0]] + [[1, 1]] * 3)


def robustness(factors, codes, **options):
    return relevance_matrix(factors, codes, kind="robustness", **options)


@PROPERTY
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), q=st.floats(0.01, 1.0))
def test_quantile_of_equal_weights_is_that_of_numpy(seed, n, q):
    values = np.random.default_rng(seed).normal(size=(n, 3))
    found = weighted_quantile(values, np.full(n, 0.3), q)
    np.testing.assert_allclose(found, np.quantile(values, q, axis=0), atol=1e-12)


def test_quantile_of_weights_by_hand():
    values = np.array([[3.0], [1.0]])
    assert weighted_quantile(values, np.array([1.0, 0.0]), 0.5) == 3.0
    assert weighted_quantile(values, np.array([1.0, 3.0]), 1.0) == pytest.approx(1 + 2 * 0.4)
    # Three fourths at 1, a fourth at 3, m = 1.6 rows: 0.4 of the last interval is that of 3.


@PROPERTY
@given(seed=st.integers(0, 10**6))
def test_complete_grid_needs_no_adjustment(seed):
    rng = np.random.default_rng(seed)
    factors = np.stack(np.meshgrid(range(2), range(3), range(2), indexing="ij"), -1).reshape(-1, 3)
    factors = np.repeat(factors, 3, axis=0)
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(len(factors), 4))
    observed = robustness(factors, codes)
    for adjust in ("raise", "lower", "upper", "overlap"):
        found = robustness(factors, codes, adjust=adjust)
        np.testing.assert_allclose(found, observed, atol=1e-9)


def test_dependent_codes_are_not_robust_under_interventions():
    codes = CONFOUNDED.astype(float)
    observed = robustness(CONFOUNDED, codes, q=0.5)
    # While factor 0 is held, code 1 deviates by .25 thrice and .75 once; a quantile of .5 sees .25.
    np.testing.assert_allclose(observed, [[1.0, 0.5], [0.5, 1.0]])
    # Had it been set, code 1 would be 0 and 1 equally often.
    found = robustness(CONFOUNDED, codes, q=0.5, adjust="raise")
    np.testing.assert_allclose(found, np.eye(2), atol=1e-12)
    assert irs_score(CONFOUNDED, codes, adjust="raise") == pytest.approx(1.0)


def test_missing_cells_are_named_or_bounded():
    factors = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    codes = factors.astype(float)
    with pytest.raises(ValueError, match=r"Value 1 of factor 0 never occurs together with 1 of"):
        irs_score(factors, codes, adjust="raise")
    low, high = (robustness(factors, codes, adjust=adjust) for adjust in ("lower", "upper"))
    assert (low <= high).all()
    # Code 0 is constant while factor 0 is held, but what is missing might change that.
    assert low[0, 0] < high[0, 0] == 1.0
    overlap = robustness(factors, codes, adjust="overlap")
    assert overlap[0, 0] == 1.0


@PROPERTY
@given(seed=st.integers(0, 10**6))
def test_bounds_hold_what_the_missing_rows_would_give(seed):
    rng = np.random.default_rng(seed)
    factors = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 5, axis=0)
    codes = factors @ rng.normal(size=(2, 2)) + 0.3 * rng.normal(size=(20, 2))
    kept = np.arange(20) < 15  # the cell (1, 1) is lost
    # p(other) is that of the rows kept: the truth has these weights, hence as many rows.
    full = np.concatenate([codes[kept], codes[~kept]])
    options = {"q": 0.9}
    low, high = (
        robustness(factors[kept], codes[kept], adjust=a, **options) for a in ("lower", "upper")
    )
    for k in range(2):
        spread = []
        share = np.bincount(factors[kept, 1 - k]) / kept.sum()
        for v in range(2):
            rows = factors[:, k] == v
            weight = share[factors[rows, 1 - k]] / 5
            mean = np.average(full[rows], axis=0, weights=weight)
            spread.append(weighted_quantile(np.abs(full[rows] - mean), weight, 0.9))
        centered = codes[kept] - codes[kept].mean(axis=0)
        truth = 1 - np.mean(spread, axis=0) / np.abs(centered).max(axis=0)
        # The range of the codes is that of the rows kept, beyond which a lost row may lie.
        inside = (full.min(0) >= codes[kept].min(0)) & (full.max(0) <= codes[kept].max(0))
        slack = 0.2  # an interpolated quantile lies between order statistics
        assert (truth >= low[k] - slack)[inside].all()
        assert (np.clip(truth, 0, 1) <= high[k] + slack)[inside].all()


def test_perfect_codes_of_candle_seem_robust_to_other_factors():
    design = load_candle_design().target
    observed = robustness(design, design.astype(float))
    objects, sizes = 0, 2
    assert observed[objects, sizes] == pytest.approx(0.52, abs=0.01)
    with pytest.raises(ValueError, match="never occurs together"):
        robustness(design, design.astype(float), adjust="raise")
    low, high = (
        robustness(design, design.astype(float), adjust=adjust)[objects, sizes]
        for adjust in ("lower", "upper")
    )
    assert low == 0.0
    assert 0.0 < high < 1.0


def test_observed_confounders_need_fewer_cells():
    target, confounders = draw_classes(4000, 1.0, None, np.random.RandomState(0))
    codes = target.astype(float)
    observed = robustness(target, codes, q=0.5)
    found = robustness(target, codes, q=0.5, adjust="overlap", confounders=confounders)
    off = ~np.eye(6, dtype=bool)
    assert found[off].max() < observed[off].max() - 0.1
    np.testing.assert_allclose(np.diag(found), 1.0)
    with pytest.raises(ValueError, match="confounders must have one row per sample, 4000, got 3"):
        irs_score(target, codes, adjust="overlap", confounders=confounders[:3])


def test_sets_of_unconfoundedness_follow_the_adjustment():
    codes = CONFOUNDED[:, ::-1].astype(float)
    details = unconfoundedness_score(CONFOUNDED, codes, adjust="raise", return_details=True)
    np.testing.assert_array_equal(details.sets, [[False, True], [True, False]])
