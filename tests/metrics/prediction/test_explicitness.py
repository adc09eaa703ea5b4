"""Explicitness: by hand, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    explicitness_score,
)


def test_explicitness_leaves_out_missing_classes_with_warning():
    factors, rows = np.repeat([0, 1, 2], 20)[:, None], np.arange(60)
    with pytest.warns(DegenerateScoreWarning, match=r"\{0: 1\} by factor"):
        value = explicitness_score(factors, 1.0 * factors, split=(rows[:40], rows))
    # Classes 0 and 1 are told apart in train; held out, class 2 outranks class 1.
    assert value == pytest.approx(2 * (1 + 0.5) / 2 - 1)
    with pytest.warns(DegenerateScoreWarning, match=r"\{0: 3\} by factor"):
        assert explicitness_score(factors, 1.0 * factors, split=(rows[:20], rows)) == 0


def test_explicitness_of_eleven_ordered_classes_by_hand(get_case):
    case = get_case("f1_misalignment")
    rows = np.arange(len(case.codes))
    value = explicitness_score(case.factors, case.codes, split=(rows, rows))
    assert value == pytest.approx(6 / 11, abs=1e-12)


def test_explicitness_equals_roc_auc_score(data):
    factors, codes = data
    train, test = np.arange(300), np.arange(300, 400)
    values = explicitness_score(
        factors, codes, split=(train, test), adjusted=False, average=None, multi_class="ovr"
    )
    X = StandardScaler().fit(codes[train]).transform(codes)
    expected = []
    for c in range(5):
        model = LogisticRegression(tol=1e-10).fit(X[train], factors[train, 2] == c)
        expected.append(roc_auc_score(factors[test, 2] == c, model.decision_function(X[test])))
    assert values[2] == pytest.approx(np.mean(expected))
