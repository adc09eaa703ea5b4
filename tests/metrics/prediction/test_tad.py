"""Total attribute disentanglement against sklearn's AUROC, and its choice of attributes."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, roc_auc_score

from sklearn_disent.metrics import tad_score
from sklearn_disent.metrics.prediction._tad import _attributes, _auroc, _dependence, _tad

RNG = np.random.default_rng(0)
ATTRIBUTES = RNG.permutation(np.tile(np.indices((2, 2, 2)).reshape(3, -1).T, (100, 1)))


def test_auroc_is_that_of_sklearn():
    codes = np.round(ATTRIBUTES @ RNG.normal(size=(3, 4)) + RNG.normal(size=(800, 4)), 1)
    area = _auroc(_attributes(ATTRIBUTES), codes)
    for a in range(3):
        for j in range(4):
            one = roc_auc_score(ATTRIBUTES[:, a], codes[:, j])
            assert area[a, j] == pytest.approx(max(one, 1 - one))


def test_auroc_of_many_classes_is_that_of_sklearn():
    factors = np.column_stack([RNG.integers(4, size=300), np.zeros(300, int), ATTRIBUTES[:300, 0]])
    codes = RNG.normal(size=(300, 2)) + factors[:, :1]
    attributes = _attributes(factors)
    assert attributes.factor.tolist() == [0, 0, 0, 0, 2]
    area = _auroc(attributes, codes)
    classes = [*(factors[:, 0] == c for c in range(4)), factors[:, 2] == 1]
    for own, is_on in zip(area, classes):
        one = np.array([roc_auc_score(is_on, code) for code in codes.T])
        np.testing.assert_allclose(own, np.maximum(one, 1 - one), rtol=1e-12)


def test_sum_of_gaps_by_hand():
    area = np.array([[0.9, 0.6], [0.7, 0.5], [0.8, 1.0], [0.9, 0.5]])
    score, count = _tad(area, np.array([True, True, True, False]), 0.75)
    assert score == pytest.approx(0.3 + 0.2)
    assert count == 2


def test_dependence_is_that_of_sklearn():
    other = np.where(RNG.uniform(size=800) < 0.9, ATTRIBUTES[:, 0], 1 - ATTRIBUTES[:, 0])
    both = np.column_stack([ATTRIBUTES[:, 0], other])
    expected = mutual_info_score(*both.T) / mutual_info_score(both[:, 0], both[:, 0])
    share = _dependence(_attributes(both))
    assert share[0] == pytest.approx(expected)
    assert tad_score(both, both * 1.0, return_count=True) == (0.0, 0)


def test_collapsed_codes_do_not_count():
    codes = np.column_stack([ATTRIBUTES, 1e-3 * ATTRIBUTES])
    score, count = tad_score(ATTRIBUTES, codes, return_count=True)
    assert count == 3
    assert score == pytest.approx(1.5)
    assert tad_score(ATTRIBUTES, codes, min_range=0.0) == 0.0


def test_a_lone_code_stands_against_guessing():
    assert tad_score(ATTRIBUTES[:, :1], ATTRIBUTES[:, :1]) == pytest.approx(0.5)


def test_dependence_of_many_classes_is_that_of_indicators():
    rng = np.random.default_rng(1)
    first = rng.integers(12, size=300)
    factors = np.column_stack([first, first // 4, rng.integers(9, size=300), first % 2])
    attributes = _attributes(factors)
    on = (attributes.place[:, attributes.factor] == attributes.column).T
    own = [mutual_info_score(row, row) for row in on]
    expected = [
        max(
            mutual_info_score(row, other) / entropy
            for other, factor in zip(on, attributes.factor)
            if factor != attributes.factor[a]
        )
        for a, (row, entropy) in enumerate(zip(on, own))
    ]
    np.testing.assert_allclose(_dependence(attributes), expected, atol=1e-10)
