"""DCI scores: by hand, against references, with any estimator."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
)
from sklearn_disent.metrics.prediction._dci import _completeness, _disentanglement
from sklearn_disent.metrics.prediction._predictors import Importance

DCI = [dci_disentanglement_score, dci_completeness_score, dci_informativeness_score]

TREES = DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5)


def fits(importance):
    """Fits with this importance of codes (rows) for factors (columns)."""
    importance = np.asarray(importance, dtype=float).T
    n_factors = len(importance)
    return Importance(importance, np.zeros(n_factors), np.ones(n_factors, dtype=bool))


DIAGONAL = 5.0 * np.eye(5)


@pytest.mark.parametrize(
    ("importance", "disentanglement", "completeness"),
    [
        (DIAGONAL, 1, 1),
        (np.hstack([DIAGONAL, DIAGONAL]), 1 - np.log(2) / np.log(10), 1),
        (np.vstack([DIAGONAL, DIAGONAL]), 1, 1 - np.log(2) / np.log(10)),
        # Half of the importance sits on a code that serves both factors equally.
        # The first factor has shares 1/3 and 2/3, whose entropy is log2(3) - 2/3 bits.
        ([[1, 1], [2, 0]], 0.5, 0.75 * (1 - np.log2(3) + 2 / 3) + 0.25),
        # A dead code neither helps nor harms disentanglement.
        ([[1, 0], [0, 1], [0, 0]], 1, 1),
        # One code, one factor.
        ([[3]], 1, 1),
        ([[3, 3]], 0, 1),
        ([[3], [3]], 1, 0),
    ],
)
def test_dci_aggregation_by_hand(importance, disentanglement, completeness):
    result = fits(importance)
    assert _disentanglement(result, "weighted") == pytest.approx(disentanglement, abs=1e-12)
    assert _completeness(result, "weighted") == pytest.approx(completeness, abs=1e-12)


def test_dci_average_by_hand():
    result = fits([[1, 1], [6, 0], [0, 0]])
    np.testing.assert_allclose(_disentanglement(result, None), [0, 1, 0], atol=1e-12)
    assert _disentanglement(result, "weighted") == pytest.approx(0.75)
    assert _disentanglement(result, "macro") == pytest.approx(0.5)


def test_dci_of_zero_importance_is_zero_with_warning():
    with pytest.warns(DegenerateScoreWarning, match="No code is important"):
        assert _disentanglement(fits(np.zeros((3, 2))), "weighted") == 0
    with pytest.warns(DegenerateScoreWarning, match="No code is important"):
        assert _completeness(fits(np.zeros((3, 2))), "macro") == 0


@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
@pytest.mark.parametrize("name", ["f1_contraction", "toy51_a1.00_d1.00"])
def test_dci_with_gradient_boosting_equals_reference(name, get_case):
    case = get_case(name)
    # Few rounds suffice where the importances do not depend on them.
    rounds = 100 if name == "f1_constant" else 10
    estimator = GradientBoostingClassifier(n_estimators=rounds)
    scores = dci_scores(
        case.factors,
        case.codes,
        estimator=estimator,
        split=(case.train, case.test),
        random_state=0,
    )
    for value, key in zip(scores, ["disentanglement", "completeness", "informativeness_test"]):
        assert value == pytest.approx(case.golden[f"dci.{key}"]["dlib[GBT]"]["mean"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_dci_with_gradient_boosting_equals_reference_everywhere(case):
    scores = dci_scores(
        case.factors,
        case.codes,
        estimator=GradientBoostingClassifier(),
        split=(case.train, case.test),
        random_state=0,
    )
    # Codes that are copies of each other share importance by chance: over seeds of the reference
    # estimator the scores then spread by 0.03, else by 0.001.
    copies = (np.abs(np.corrcoef(case.codes.T)) > 1 - 1e-9).sum() > case.codes.shape[1]
    tolerance = 0.05 if copies else 0.006
    for value, key in zip(scores[:2], ["disentanglement", "completeness"]):
        expected = case.golden[f"dci.{key}"]["dlib[GBT]"]["mean"]
        assert value == pytest.approx(expected, abs=tolerance)
    accuracy = case.golden["dci.informativeness_test"]["dlib[GBT]"]["mean"]
    n_judged = len(case.test) * case.factors.shape[1]
    tolerance = 3 * np.sqrt(accuracy * (1 - accuracy) / n_judged)
    assert scores.informativeness == pytest.approx(accuracy, abs=max(tolerance, 1e-9))


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        HistGradientBoostingClassifier(max_iter=10),
        KNeighborsClassifier(),
        make_pipeline(PCA(), LogisticRegression()),
        (KNeighborsClassifier(), KNeighborsRegressor()),
        LinearRegression(),
    ],
    ids=["coefficients", "boosting", "neighbours", "pca", "pair", "regression"],
)
def test_dci_takes_any_estimator(estimator):
    factors = np.random.default_rng(0).integers(2, size=(200, 2))
    codes = factors * [1.0, -2.0] + 0.01 * np.random.default_rng(1).normal(size=(200, 2))
    scores = dci_scores(factors, codes, estimator=estimator, random_state=0)
    # Coefficients of a penalised regression follow what small correlation there is.
    np.testing.assert_allclose(scores, 1, atol=0.2)


def test_dci_scores_equal_the_three_scores(data):
    options = {"random_state": 0, "estimator": TREES}
    assert dci_scores(*data, **options) == tuple(score(*data, **options) for score in DCI)


def test_dci_takes_classes_and_continuous_factors_together(data):
    factors, _ = data
    mixed = np.column_stack([factors[:, 0], factors[:, 2] + 0.5 * np.sin(np.arange(400))])
    own = np.column_stack([mixed, np.zeros(400)])
    scores = dci_scores(mixed, own, random_state=0)
    assert min(scores) > 0.97
    with pytest.raises(ValueError, match=r"factor 1 is continuous.*Pass a regressor"):
        dci_scores(mixed, own, estimator=DecisionTreeClassifier())


def test_informativeness_of_classes_missing_from_train_by_hand():
    factors, rows = np.repeat([0, 1, 2], 20)[:, None], np.arange(60)
    # 20 held-out rows of class 1, which is known, and 20 of class 2, which is not.
    value = dci_informativeness_score(factors, 1.0 * factors, split=(rows[:40], rows[20:]))
    assert value == pytest.approx(0.5)
