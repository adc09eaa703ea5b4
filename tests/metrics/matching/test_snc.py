"""Single-code classification and knockout, by hand."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.metrics import nk_score, snc_score

RNG = np.random.default_rng(0)
FACTORS = RNG.integers([2, 3], size=(600, 2))
HALVES = np.arange(300), np.arange(300, 600)
TREE = DecisionTreeClassifier(max_depth=6)


def test_bins_stand_for_classes_in_any_order():
    codes = np.array([2.0, 0.0, 1.0])[FACTORS[:, 1]] + 0.1 * RNG.uniform(size=600)
    other = FACTORS[:, 0] + 0.1 * RNG.uniform(size=600)
    values = snc_score(FACTORS, np.column_stack([codes, other]), split=HALVES, average=None)
    # Bins of equal count cut through classes of unequal size, by their difference in the sample.
    assert (values > 0.9).all()


def test_discrete_codes_of_unequal_frequency_are_perfect():
    factors = (RNG.uniform(size=(500, 1)) < 0.1).astype(int)
    assert snc_score(factors, factors * -3.0, random_state=0) == 1.0


def test_value_by_hand():
    factors = np.array([[0, 0, 0, 1, 1, 1, 0, 1]]).T
    codes = np.array([[0.0, 1, 2, 3, 4, 5, 2.5, -1]]).T
    # The edge is 2, of which the bin below holds class 0: rows 6 and 7 of values 2.5 and -1 fail.
    split = np.arange(6), np.arange(6, 8)
    assert snc_score(factors, codes, split=split) == 0.0
    assert snc_score(factors, codes, split=(np.arange(6), np.arange(6))) == 1.0


def test_adjusted_noise_is_near_zero():
    noise = RNG.normal(size=(600, 2))
    assert snc_score(FACTORS, noise, random_state=0) > 0.3
    assert snc_score(FACTORS, noise, adjusted=True, random_state=0) < 0.1


def test_knockout_of_a_copy_loses_nothing():
    single, copies = FACTORS * 1.0, FACTORS[:, [0, 1, 0, 1]] * 1.0
    assert nk_score(FACTORS, single, estimator=TREE, random_state=0) > 0.5
    assert nk_score(FACTORS, copies, estimator=TREE, random_state=0) == 0.0


def test_knockout_of_the_only_code_leaves_guessing():
    y = FACTORS[:, :1]
    guessing = np.mean(y[300:] == np.bincount(y[:300, 0]).argmax())
    score = nk_score(y, y * 1.0, estimator=TREE, split=HALVES)
    assert score == pytest.approx(1 - guessing)


def test_networks_do_what_trees_do():
    score = nk_score(FACTORS, FACTORS + 0.1 * RNG.normal(size=(600, 2)), random_state=0)
    assert score > 0.4
