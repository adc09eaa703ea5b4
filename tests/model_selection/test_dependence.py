"""Weights, draws and named settings of dependent factors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.model_selection import (
    dependence_weights,
    get_dependence_setting_names,
    load_dependence_setting,
    sample_dependent,
)


def grid(*sizes):
    return np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)


def correlation(factors, weights, i=0, j=1):
    centred = factors - weights @ factors
    covariance = (weights * centred.T) @ centred
    return covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j])


# Published correlations of posX and posY on dSprites.
POSITIONS = [(0.04, 0.991), (0.1, 0.942), (0.2, 0.782), (0.4, 0.416), (0.7, 0.167)]


@pytest.mark.parametrize(("sigma", "r"), POSITIONS)
def test_weights_induce_the_published_correlation(sigma, r):
    positions = grid(32, 32)
    weights = dependence_weights(positions, [(0, 1)], sigma=sigma)
    assert correlation(positions, weights) == pytest.approx(r, abs=0.001)
    inverse = dependence_weights(positions, [(0, 1)], sigma=sigma, kind="inverse")
    assert correlation(positions, inverse) == pytest.approx(-r, abs=0.001)


@pytest.mark.parametrize(("sigma", "r"), POSITIONS)
def test_draws_from_dsprites_have_the_published_correlation(sigma, r):
    part = {"shape": [0, 1], "scale": [0, 5], "orientation": 0}
    target = make_dsprites(factors=part, random_state=0).target
    rows = sample_dependent(target, [(3, 4)], 40_000, sigma=sigma, random_state=0)
    assert np.corrcoef(target[rows].T[3:])[0, 1] == pytest.approx(r, abs=0.01)


def test_gaussian_weights_by_hand():
    factors = np.array([[0, 0], [0, 2], [1, 0], [1, 1]])
    # Scaled by their greatest classes 1 and 2: differences 0, -1, 1, .5.
    raw = np.exp(-np.array([0, 1, 1, 0.25]) / (2 * 0.5**2))
    weights = dependence_weights(factors, [(0, 1)], sigma=0.5)
    np.testing.assert_allclose(weights, raw / raw.sum())
    # With sizes (3, 3) the classes become 0, 0, .5, .5 and 0, 1, 0, .5.
    raw = np.exp(-np.array([0, 1, 0.25, 0]) / (2 * 0.5**2))
    weights = dependence_weights(factors, [(0, 1)], sigma=0.5, factor_sizes=[3, 3])
    np.testing.assert_allclose(weights, raw / raw.sum())


def test_weights_of_several_pairs_multiply():
    factors = grid(3, 4, 5)
    one = dependence_weights(factors, [(0, 1)], sigma=0.2)
    two = dependence_weights(factors, [(1, 2)], sigma=0.4)
    both = dependence_weights(factors, [(0, 1), (1, 2)], sigma=[0.2, 0.4])
    np.testing.assert_allclose(both, one * two / (one * two).sum())


def test_star_joins_one_factor_with_all_that_vary():
    factors = np.insert(grid(3, 4, 5), 1, 7, axis=1)
    star = dependence_weights(factors, [(0, "*")], sigma=0.2)
    spelt = dependence_weights(factors, [(0, 2), (0, 3)], sigma=0.2)
    np.testing.assert_allclose(star, spelt)


@pytest.mark.parametrize("kind", ["A", "B", "C", "D"])
def test_joints_have_their_stated_properties(kind):
    factors = grid(21, 21)
    weights = dependence_weights(factors, [(0, 1)], kind=kind)
    joint = weights.reshape(21, 21)
    independent = np.allclose(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    assert independent == (kind in "AB")
    assert weights.max() / weights.min() == pytest.approx(1 if kind == "A" else 4)
    r = correlation(factors, weights)
    assert r > 0.1 if kind == "D" else abs(r) < 1e-12


@pytest.mark.parametrize("kind", ["B", "C", "D"])
def test_joints_by_hand(kind):
    corners = dependence_weights(grid(2, 2), [(0, 1)], kind=kind)
    wanted = {"B": [1, 2, 2, 4], "C": [1, 1, 1, 1], "D": [4, 1, 1, 4]}[kind]
    np.testing.assert_allclose(corners, np.array(wanted) / np.sum(wanted))


@given(st.integers(2, 5), st.integers(2, 5), st.floats(1e-3, 10), st.sampled_from("ABCD"))
def test_weights_are_probabilities_in_any_row_order(n, m, sigma, kind):
    factors = grid(n, m)
    order = np.random.RandomState(0).permutation(len(factors))
    for arguments in ({"sigma": sigma}, {"kind": kind}):
        weights = dependence_weights(factors, [(0, 1)], **arguments)
        assert np.isfinite(weights).all()
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1)
        shuffled = dependence_weights(factors[order], [(0, 1)], **arguments)
        np.testing.assert_allclose(shuffled, weights[order])


def test_weights_survive_underflow_everywhere():
    factors = np.array([[0, 2, 0], [1, 0, 2], [2, 1, 1]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    weights = dependence_weights(factors, pairs, sigma=0.001)
    assert weights.sum() == pytest.approx(1)


def test_names_come_from_a_frame_or_the_argument():
    factors = grid(3, 4, 5)
    by_number = dependence_weights(factors, [(2, 0)])
    frame = pd.DataFrame(factors, columns=["a", "b", "c"])
    np.testing.assert_allclose(dependence_weights(frame, [("c", "a")]), by_number)
    named = dependence_weights(factors, [("c", "a")], factor_names=["a", "b", "c"])
    np.testing.assert_allclose(named, by_number)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": []}, "at least one pair"),
        ({"pairs": [(0, 3)]}, "by 0 to 2, got 3"),
        ({"pairs": [(0, 0)]}, "two different factors"),
        ({"pairs": [(0, 1), (1, 0)]}, r"\(0, 1\) and \(1, 0\) overlap"),
        ({"pairs": [(0, 1), (0, "*")]}, "overlap"),
        ({"pairs": [(0, 1, 2)]}, "two factors, got"),
        ({"pairs": ["ab"]}, "two factors, got 'ab'"),
        ({"pairs": [("a", "b")]}, "factors has no names"),
        ({"pairs": [("a", "z")], "factor_names": ["a", "b", "c"]}, "among 'a', 'b', 'c', got 'z'"),
        ({"pairs": [(0, 1)], "factor_names": ["a"]}, "one name for each of the 3 columns"),
        ({"pairs": [(0, 1)], "sigma": [0.1, 0.2]}, "each of the 1 pairs"),
        ({"pairs": [(0, 1)], "sigma": [-0.1]}, "positive"),
        ({"pairs": [(0, 1)], "factor_sizes": [2, 2, 2]}, r"classes in \[0, 1\] by its factor_si"),
        ({"pairs": [(0, 1)], "factor_sizes": [9]}, "one integer for each of the 3 factors"),
    ],
)
def test_weights_refuse_bad_pairs(arguments, message):
    with pytest.raises(ValueError, match=message):
        dependence_weights(grid(3, 4, 5), **arguments)


def test_weights_refuse_a_factor_with_one_value():
    fixed = np.insert(grid(3, 4), 1, 0, axis=1)
    with pytest.raises(ValueError, match=r"Factor 1 of the pair .* has a single value"):
        dependence_weights(fixed, [(0, 1)])
    with pytest.raises(ValueError, match="no other factor varies"):
        dependence_weights(fixed[:, :2], [(0, "*")])


def test_weights_refuse_bad_parameters():
    with pytest.raises(InvalidParameterError):
        dependence_weights(grid(3, 3), [(0, 1)], sigma=0)
    with pytest.raises(InvalidParameterError):
        dependence_weights(grid(3, 3), [(0, 1)], kind="E")
    with pytest.raises(ValueError, match="NaN"):
        dependence_weights([[0.0, np.nan], [1.0, 0.0]], [(0, 1)])


def test_draws_repeat_and_follow_the_weights():
    factors = grid(4, 4)
    rows = sample_dependent(factors, [(0, 1)], 50_000, sigma=0.3, random_state=0)
    again = sample_dependent(factors, [(0, 1)], 50_000, sigma=0.3, random_state=0)
    np.testing.assert_array_equal(rows, again)
    assert rows.dtype == np.int64
    weights = dependence_weights(factors, [(0, 1)], sigma=0.3)
    np.testing.assert_allclose(np.bincount(rows, minlength=16) / 50_000, weights, atol=0.01)
    assert len(sample_dependent(factors, [(0, 1)], random_state=0)) == 16


def test_settings_are_the_published_ones():
    names = get_dependence_setting_names()
    assert len(names) == len(set(names)) == 48
    assert load_dependence_setting("dsprites_double_2_004") == {
        "pairs": [("shape", "scale"), ("posX", "posY")],
        "sigma": 0.04,
        "kind": "gaussian",
        "factor_names": ["shape", "scale", "orientation", "posX", "posY"],
    }
    assert load_dependence_setting("mpi3d_conf_2_02")["pairs"] == [("horizontal_axis", "*")]
    assert len(load_dependence_setting("shapes3d_triple_1_01")["pairs"]) == 3


@pytest.mark.parametrize("name", get_dependence_setting_names())
def test_settings_can_be_handed_on(name):
    setting = load_dependence_setting(name)
    factors = grid(*[3] * len(setting["factor_names"]))
    weights = dependence_weights(factors, **setting)
    joined = [setting["factor_names"].index(f) for f in setting["pairs"][0] if f != "*"]
    i, j = joined if len(joined) == 2 else (joined[0], 0 if joined[0] else 1)
    assert correlation(factors, weights, i, j) > 0.1


def test_settings_refuse_unknown_names():
    with pytest.raises(ValueError, match=r"'dsprites_double_9_01'. The settings are dsprites_si"):
        load_dependence_setting("dsprites_double_9_01")
