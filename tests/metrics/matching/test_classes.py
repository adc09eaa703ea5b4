"""Scores of single classes, by hand and against sklearn's information."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from sklearn_disent.metrics import lms_score, msas_score, msgs_score
from sklearn_disent.metrics.matching._classes import _explained

TYPES = np.random.default_rng(0).integers(4, size=(500, 1))
ONE_HOT = np.eye(4)[TYPES[:, 0]]


def test_explained_share_is_that_of_sklearn():
    codes = np.random.default_rng(1).integers(5, size=500) + TYPES[:, 0]
    table = np.zeros((4, 8))
    np.add.at(table, (TYPES[:, 0], codes), 1)
    for c, share in enumerate(_explained(table)):
        own = TYPES[:, 0] == c
        assert share == pytest.approx(mutual_info_score(own, codes) / mutual_info_score(own, own))


def test_a_code_per_class_is_perfect():
    for metric in (lms_score, msas_score):
        assert metric(TYPES, ONE_HOT) == pytest.approx(1.0)
    assert lms_score(TYPES, ONE_HOT[:, :3]) == pytest.approx(0.75, abs=0.1)


def test_one_code_for_all_classes():
    assert lms_score(TYPES, TYPES) == pytest.approx(1 / 4)
    assert msas_score(TYPES, TYPES) == pytest.approx(1.0)
    assert msgs_score(TYPES, TYPES) == pytest.approx(1.0)


def test_copies_close_the_gap():
    assert msgs_score(TYPES, np.hstack([ONE_HOT, ONE_HOT])) == 0.0


def test_binary_factor_is_one_question():
    binary = TYPES % 2
    assert lms_score(binary, binary * 1.0) == pytest.approx(1.0)
    values = lms_score(np.hstack([binary, TYPES]), binary * 1.0, average=None)
    assert values[0] == pytest.approx(1.0)
    assert values[1] < 0.5
