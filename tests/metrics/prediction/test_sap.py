"""SAP: by hand, and by the kinds of factors."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.metrics import (
    relevance_matrix,
    sap_score,
)
from sklearn_disent.metrics.prediction._predictors import Predictability
from sklearn_disent.metrics.prediction._sap import _sap


def test_sap_aggregation_by_hand():
    relevance = np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.2]])
    result = Predictability(relevance, np.ones(2, dtype=bool))
    assert _sap(result, "macro") == pytest.approx(0.2)
    np.testing.assert_allclose(_sap(result, None), [0.4, 0.0], atol=1e-15)


def test_sap_chooses_by_kind_of_factor(data):
    factors, codes = data
    options = {"random_state": 0, "average": None}
    as_numbers = sap_score(factors, codes, method="r2", **options)
    as_classes = sap_score(factors, codes, method="svc", **options)
    np.testing.assert_array_equal(sap_score(factors, codes, **options), as_numbers)
    np.testing.assert_array_equal(sap_score(factors.astype(str), codes, **options), as_classes)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(factors).astype({1: "category"})
    mixed = [as_numbers[0], as_classes[1], as_numbers[2]]
    np.testing.assert_array_equal(sap_score(frame, codes, **options), mixed)


def test_sap_r2_equals_linear_regression(data):
    factors, codes = data
    matrix = relevance_matrix(factors, codes, kind="predictability")
    z, y = codes[:, [1]], factors[:, 2]
    assert matrix[2, 1] == pytest.approx(LinearRegression().fit(z, y).score(z, y))
    assert matrix.shape == (3, 4)


def test_sap_takes_another_classifier_and_refuses_continuous_classes():
    factors = np.random.default_rng(0).integers(5, size=(500, 2))
    codes = factors * 0.01
    tree = sap_score(factors, codes, method="svc", classifier=DecisionTreeClassifier())
    assert tree > 0.7
    assert sap_score(factors, codes, method="svc", random_state=0) < 0.1
    scaled = make_pipeline(StandardScaler(), LinearSVC(C=0.01, class_weight="balanced"))
    assert sap_score(factors, codes, method="svc", classifier=scaled, random_state=0) > 0.1
    with pytest.raises(ValueError, match="Use method='auto' or 'r2'"):
        sap_score(factors + 0.5 * np.sin(factors), codes, method="svc")
    with pytest.raises(ValueError, match="classifier must be a classifier"):
        sap_score(factors, codes, method="svc", classifier=Lasso())


@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e-160, 1e-120])
def test_tiny_codes_do_not_keep_the_solver_forever(scale):
    factors = np.random.default_rng(0).integers(3, size=(60, 1))
    codes = np.column_stack([factors * scale, factors[:, 0] + 0.1])
    score = sap_score(factors, codes, method="svc", random_state=0)
    # To this classifier the limit of small codes is a constant one.
    codes[:, 0] = 0.0
    assert score == sap_score(factors, codes, method="svc", random_state=0)
    scaled = make_pipeline(StandardScaler(), LinearSVC())
    tiny = sap_score(factors, factors * scale, method="svc", classifier=scaled, random_state=0)
    assert tiny == sap_score(factors, factors, method="svc", classifier=scaled, random_state=0)
