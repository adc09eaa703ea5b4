"""Properties of Almudévar and Ortega (2025) as conditional information, theorems, the ledger."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    code_ledger,
    minimality_score,
    property_information,
    sufficiency_score,
)
from sklearn_disent.metrics.information._properties import conditional_information, joint_labels

LOG_2 = np.log(2)

# Small populations have few rows per combination, and no sampling error.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")


def bits(n):
    """All combinations of n bits, equally often: a population without sampling error."""
    return np.indices((2,) * n).reshape(n, -1).T


@st.composite
def populations(draw):
    """Rows (y1, y2, n) with any frequencies, and two codes that are functions of the row."""
    counts = draw(
        st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(lambda c: sum(c) > 1)
    )
    cells = np.indices((2, 3, 2)).reshape(3, -1).T
    rows = np.repeat(np.arange(12), counts)
    maps = draw(st.lists(st.integers(0, 2), min_size=24, max_size=24))
    return cells[rows], np.reshape(maps, (2, 12)).T[rows]


def information_of(population, codes):
    y, n = population[:, :2], population[:, 2:]
    return property_information(y, codes, nuisances=n, n_bins=None)


@settings(deadline=None, max_examples=60)
@given(populations())
def test_theorem_1_as_far_as_it_is_true(case):
    """Minimal: no more about other factors given the own, nor about nuisance given all of them."""
    population, codes = case
    found = information_of(population, codes)
    y, n = population[:, :2], population[:, 2]
    for j, code in enumerate(codes.T):
        nuisance = conditional_information(code, n, joint_labels(y))
        for i in range(2):
            others = found.factors_invariance[i, j]
            assert others + nuisance == pytest.approx(found.minimality[i, j], abs=1e-9)
            # What the paper proves: minimal codes are invariant to both.
            assert found.minimality[i, j] >= others - 1e-9
            assert found.minimality[i, j] >= found.nuisances_invariance[i, j] - 1e-9


def test_theorem_1_is_wrong_the_other_way_round():
    """Exclusive or: independent of the other factor, of the nuisance, and not of the pair."""
    population = bits(3)
    code = population[:, [1]] ^ population[:, [2]]
    found = information_of(population, code)
    assert found.factors_invariance[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert found.nuisances_invariance[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert found.minimality[0, 0] == pytest.approx(LOG_2)


@settings(deadline=None, max_examples=60)
@given(populations())
def test_theorem_2(case):
    """Sufficient: the other codes add nothing, and all codes tell what the observation tells."""
    population, codes = case
    found = information_of(population, codes)
    total = found.representations_invariance + found.explicitness[:, None]
    assert_allclose(found.sufficiency, total, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(populations())
def test_properties_are_what_scores_lack(case):
    population, codes = case
    y = population[:, :2]
    found = information_of(population, codes)
    h_codes = np.array([-(p * np.log(p)).sum() for p in map(frequencies, codes.T)])
    h_factors = np.array([-(p * np.log(p)).sum() for p in map(frequencies, y.T)])
    options = {"n_bins": None, "return_matrix": True}
    _, m = minimality_score(y, codes, **options)
    _, s = sufficiency_score(y, codes, **options)
    assert_allclose(found.minimality, (1 - m) * h_codes, atol=1e-9)
    assert_allclose(found.sufficiency, (1 - s) * h_factors[:, None], atol=1e-9)


def frequencies(column):
    counts = np.bincount(column)
    return counts[counts > 0] / len(column)


def test_properties_by_hand():
    population = bits(3)
    y, n = population[:, :2], population[:, 2:]
    codes = np.column_stack([y[:, 0], y @ [2, 1], 2 * y[:, 1] + n[:, 0]])
    found = property_information(y, codes, nuisances=n, n_bins=None)
    expected = [[0, 1, 1], [1, 1, 0]]
    assert_allclose(found.factors_invariance, LOG_2 * np.array(expected), atol=1e-12)
    assert_allclose(found.nuisances_invariance, [[0, 0, LOG_2]] * 2, atol=1e-12)
    # Of the first factor the other codes hold what the third lacks, and so on.
    expected = [[0, 0, 1], [1, 0, 0]]
    assert_allclose(found.representations_invariance, LOG_2 * np.array(expected), atol=1e-12)
    assert_allclose(found.explicitness, 0.0, atol=1e-12)
    alone = property_information(y, codes[:, :1], n_bins=None)
    assert_allclose(alone.explicitness, [0.0, LOG_2], atol=1e-12)
    assert alone.nuisances_invariance is None
    assert_allclose(alone.representations_invariance, 0.0)


def test_permutation_takes_chance_away_and_leaves_what_is_there():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(600, 2))
    codes = np.column_stack([y[:, 0], rng.integers(8, size=600), 3 * y[:, 0] + y[:, 1]])
    many = rng.integers(40, size=(600, 1))
    options = {"nuisances": many, "n_bins": None, "random_state": 0}
    plain = property_information(y, codes, **options)
    fair = property_information(y, codes, bias_correction="permutation", **options)
    assert plain.nuisances_invariance[0, 1] > 0.5
    assert fair.nuisances_invariance[0, 1] < 0.1
    assert fair.factors_invariance[0, 2] == pytest.approx(np.log(3), abs=0.03)
    assert fair.factors_invariance[0, 1] < 0.02
    again = property_information(y, codes, bias_correction="permutation", **options)
    assert_allclose(again.factors_invariance, fair.factors_invariance, rtol=0)


def test_few_rows_per_combination_are_warned_of():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(200, 2))
    with pytest.warns(DegenerateScoreWarning, match="combinations of codes.*explicitness too low"):
        property_information(y, rng.normal(size=(200, 6)))
    many = rng.integers(9, size=(200, 3))
    with pytest.warns(DegenerateScoreWarning, match="combinations of factors.*nuisance is counted"):
        code_ledger(many, rng.normal(size=(200, 2)))
    with pytest.warns(DegenerateScoreWarning, match="combinations of factors.*factors_invariance"):
        property_information(many, y[:, :1], n_bins=None)
    with pytest.warns(DegenerateScoreWarning, match="of nuisances and a factor"):
        property_information(y, y, nuisances=many, n_bins=None)
    with pytest.raises(ValueError, match="a row per sample, 200, got 100"):
        property_information(y, rng.normal(size=(200, 1)), nuisances=y[:100])


@pytest.mark.filterwarnings("error::sklearn_disent.exceptions.DegenerateScoreWarning")
@pytest.mark.parametrize("copies", [1, 2, 60])
def test_nuisance_on_a_grid_is_not_booked_on_other_factors_in_silence(copies):
    """In each cell of a grid once, a code cannot be told from a function of the cell."""
    y = np.repeat(np.indices((6, 7, 5)).reshape(3, -1).T, copies, axis=0)
    codes = y + np.random.default_rng(0).uniform(-0.5, 0.5, size=y.shape)
    if copies < 5:
        with pytest.warns(DegenerateScoreWarning, match=f"{210 * copies} samples have 210 comb"):
            code_ledger(y, codes)
    else:
        assert code_ledger(y, codes).others.max() < 0.05


@pytest.mark.filterwarnings("error::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_codes_that_are_seen_to_be_functions_of_the_factors_are_no_reason_to_warn():
    grid = np.indices((6, 7, 5)).reshape(3, -1).T
    twice = np.repeat(grid, 2, axis=0)
    codes = np.column_stack([twice[:, 0] + 6 * twice[:, 1], twice[:, 1]])
    ledger = code_ledger(twice, codes, n_bins=None)
    assert ledger.nuisance == pytest.approx([0.0, 0.0])
    with pytest.warns(DegenerateScoreWarning, match="210 samples have 210 combinations"):
        code_ledger(grid, codes[::2], n_bins=None)
    codes[0] += 50
    with pytest.warns(DegenerateScoreWarning, match="420 samples have 210 combinations"):
        code_ledger(twice, codes, n_bins=None)


@pytest.mark.parametrize("n_copies", [1, 10])
def test_what_cannot_be_told_from_chance_is_nan_with_a_warning(n_copies):
    """Redundant copies of a code: the others are informative about the factor, given each."""
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=(2000, 2))
    noisy = y[:, :1] + 0.5 * rng.normal(size=(2000, n_copies + 1))
    options = {"bias_correction": "permutation", "random_state": 0}
    if n_copies == 1:
        found = property_information(y, noisy, **options).representations_invariance
        assert found[0].min() > 0.2
        assert found[1].max() < 0.05
        return
    with pytest.warns(DegenerateScoreWarning, match="values cannot be told from chance"):
        found = property_information(y, noisy, **options)
    # Nothing that is there is said to be absent.
    assert np.isnan(found.representations_invariance).all()
    assert found.factors_invariance[0].max() < 0.05


def test_permutation_says_nothing_of_a_grid():
    grid = np.indices((6, 7, 5)).reshape(3, -1).T
    code = grid[:, [0]] * 7 + grid[:, [1]]
    options = {"n_bins": None, "random_state": 0}
    with pytest.warns(DegenerateScoreWarning, match="cannot be told from chance"):
        ledger = code_ledger(grid, code, bias_correction="permutation", **options)
    assert np.isnan([ledger.others, ledger.nuisance]).all()
    plain = code_ledger(grid, code, **options)
    assert plain.others + plain.own == pytest.approx(np.log(42))


@pytest.mark.parametrize("n_codes", [2, 3, 5])
def test_permutation_finds_next_to_nothing_in_independent_codes(n_codes):
    rng = np.random.default_rng(n_codes)
    y = rng.integers(5, size=(2000, 2))
    codes = rng.integers(6, size=(2000, n_codes))
    found = property_information(
        y, codes, n_bins=None, bias_correction="permutation", random_state=0
    )
    of_rest = found.representations_invariance
    assert np.isnan(of_rest).all() or np.nanmax(of_rest) < 0.06
    assert found.factors_invariance.max() < 0.02


def test_missing_nuisances_drop_rows_or_are_named():
    rng = np.random.default_rng(0)
    y, codes = rng.integers(3, size=(300, 2)), rng.normal(size=(300, 2))
    # Codes are largest where a nuisance is missing: bins are those of the rows that are left.
    n = np.column_stack([np.where(codes[:, 0] > 1.5, np.nan, rng.integers(2, size=300)), y[:, 0]])
    missing = y.astype(float)
    missing[:20, 1] = np.nan
    kept = ~np.isnan(np.column_stack([n, missing])).any(axis=1)
    assert 100 < kept.sum() < 280
    expected = property_information(y[kept], codes[kept], nuisances=n[kept], n_bins=5)
    omitted = {"nan_policy": "omit", "n_bins": 5}
    for nuisances in (n, pd.DataFrame(n), np.where(np.isnan(n), -1, n).astype(int)):
        found = property_information(missing, codes, nuisances=nuisances, **omitted)
        for ours, theirs in zip(found, expected):
            assert_allclose(ours, theirs, atol=1e-12)
    with pytest.raises(ValueError, match=r"nuisances are read as factors are.*nan_policy='omit'"):
        property_information(y, codes, nuisances=n)
    with pytest.raises(ValueError, match="nuisances must have a row per sample, 300, got 100"):
        property_information(missing, codes, nuisances=n[:100], **omitted)


def test_ledger_adds_up_and_has_the_share_of_minimality():
    rng = np.random.default_rng(0)
    y = pd.DataFrame(rng.integers(4, size=(3000, 2)), columns=["size", "hue"])
    codes = np.column_stack(
        [y["hue"], y["size"] + 0.3 * y["hue"], y["size"] + rng.uniform(-0.5, 0.5, 3000)]
    )
    ledger = code_ledger(y, codes)
    assert_allclose(ledger.total, ledger.own + ledger.others + ledger.nuisance)
    expected = minimality_score(y, codes, average=None)
    assert_allclose(ledger.share, expected, atol=1e-12)
    assert ledger.factor.tolist() == [1, 0, 0]
    assert ledger.nuisance[:2] == pytest.approx(0.0, abs=1e-9)
    assert ledger.others[1] > 0.5
    assert ledger.others[2] < 0.05 < ledger.nuisance[2]
    frame = ledger.to_frame()
    assert list(frame.columns) == ["factor", "total", "own", "others", "nuisance", "share"]
    assert frame.loc["z0", "factor"] == "hue"
    assert str(ledger).splitlines()[1].split()[:2] == ["z0", "hue"]
    fair = code_ledger(y, codes, bias_correction="permutation", random_state=0)
    assert fair.others[2] < ledger.others[2]
    with pytest.raises(ValueError, match="factor_names must hold 2 names, got 1"):
        code_ledger(y, codes, factor_names=["size"])


def test_ledger_of_constant_codes_is_zero():
    y = bits(3)[:, :2]
    ledger = code_ledger(y, np.full((8, 1), 0.3))
    assert ledger.total[0] == ledger.own[0] == ledger.share[0] == 0.0
