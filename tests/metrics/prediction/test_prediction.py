"""DCI, SAP, explicitness and downstream accuracy: by hand, against references, at the edges."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
    downstream_accuracy_score,
    explicitness_score,
    relevance_matrix,
    sap_score,
)
from sklearn_disent.metrics.prediction._dci import _completeness, _disentanglement
from sklearn_disent.metrics.prediction._predictive import _sap
from sklearn_disent.metrics.prediction._predictors import Importance, Predictability

DCI = [dci_disentanglement_score, dci_completeness_score, dci_informativeness_score]
ALL = [*DCI, sap_score, explicitness_score, downstream_accuracy_score]
TREES = DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(n, size=400) for n in (2, 3, 5)])
    return factors, factors @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(400, 4))


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


def test_sap_aggregation_by_hand():
    relevance = np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.2]])
    result = Predictability(relevance, np.ones(2, dtype=bool))
    assert _sap(result, "macro") == pytest.approx(0.2)
    np.testing.assert_allclose(_sap(result, None), [0.4, 0.0], atol=1e-15)


@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
@pytest.mark.parametrize("name", ["f1_contraction", "f1_constant", "toy51_a1.00_d1.00"])
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


@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_default_importance_has_the_top_code_of_gradient_boosting(case, reference_dir):
    expected = np.array(json.loads((reference_dir / "gbt_importance.json").read_text())[case.name])
    importance = relevance_matrix(
        case.factors,
        case.codes,
        kind="importance",
        split=(case.train, case.test),
        random_state=0,
    )
    if case.name == "f1_constant":
        np.testing.assert_array_equal(importance, expected)
        return
    # Codes that are copies of each other count as one.
    equal = np.abs(np.corrcoef(case.codes.T)) > 1 - 1e-9
    top = (expected @ equal).argmax(axis=1)
    chosen = (importance @ equal)[np.arange(len(top)), top]
    np.testing.assert_allclose(chosen, (importance @ equal).max(axis=1), atol=1e-9)


def test_default_importance_ranks_entangled_codes_as_gradient_boosting(get_case, reference_dir):
    case = get_case("f1_entanglement")
    expected = json.loads((reference_dir / "gbt_importance.json").read_text())[case.name]
    options = {"kind": "importance", "split": (case.train, case.test), "random_state": 0}
    importance = relevance_matrix(case.factors, case.codes, **options)
    np.testing.assert_array_equal(np.argsort(importance), np.argsort(expected))


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


def test_importance_behind_pca_is_that_of_codes():
    factors, rng = np.arange(300)[:, None] % 2, np.random.default_rng(0)
    # The first principal component is the last code, which knows nothing.
    codes = np.column_stack([factors[:, 0], rng.normal(scale=100, size=300)])
    importance = relevance_matrix(
        factors,
        codes,
        kind="importance",
        estimator=make_pipeline(PCA(whiten=True), LogisticRegression()),
        random_state=0,
    )
    assert importance[0].argmax() == 0


def test_importance_of_coefficients_is_their_mean_magnitude_over_classes(data):
    factors, codes = data
    rows = np.arange(len(codes))
    importance = relevance_matrix(
        factors, codes, kind="importance", estimator=LogisticRegression(), split=(rows, rows)
    )
    expected = np.abs(LogisticRegression().fit(codes, factors[:, 2]).coef_).mean(axis=0)
    np.testing.assert_allclose(importance[2], expected)


def test_importance_that_is_not_finite_is_an_error(data):
    class Broken(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.coef_ = np.full(X.shape[1], np.nan)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="Broken gave importances that are not finite"):
        dci_scores(*data, estimator=Broken())


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


@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
def test_score_is_the_same_for_any_n_jobs(score, data):
    factors, codes = data
    values = [
        score(factors[:, 1:].astype(str), codes[:, :2], random_state=1, n_jobs=n_jobs, average=None)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*values)


def test_random_state_of_the_estimator_is_kept(data):
    seeded, free = ExtraTreesClassifier(5, random_state=7), ExtraTreesClassifier(5)
    rows = np.arange(400)
    options = {"kind": "importance", "split": (rows[:300], rows[300:])}
    first, second = (
        relevance_matrix(*data, estimator=seeded, random_state=seed, **options) for seed in (0, 1)
    )
    np.testing.assert_array_equal(first, second)
    first, second = (
        relevance_matrix(*data, estimator=free, random_state=seed, **options) for seed in (0, 1)
    )
    assert np.abs(first - second).max() > 1e-3


def test_fits_run_on_one_thread_and_limits_are_restored(data):
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.extend(library["num_threads"] for library in threadpool_info())
            self.coef_ = np.ones(X.shape[1])
            return self

        def predict(self, X):
            return np.zeros(len(X))

    before = threadpool_info()
    dci_scores(*data, estimator=Spy(), n_jobs=2)
    assert set(seen) == {1}
    assert threadpool_info() == before


@pytest.mark.parametrize("score", [*DCI, explicitness_score, downstream_accuracy_score])
@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_class_missing_from_train_or_test_is_no_error(score):
    factors = np.repeat([[0, 0], [1, 0], [2, 1]], 20, axis=0)
    codes = factors + 0.1 * np.random.default_rng(0).normal(size=(60, 2))
    rows = np.arange(60)
    # Class 2 of the first factor is missing from train, class 0 from test; the second factor
    # has one value in train.
    values = score(factors, codes, split=(rows[:40], rows[20:]), average=None, random_state=0)
    assert np.isfinite(values).all()
    values = score(factors, codes, split=(rows, rows[:20]), average=None, random_state=0)
    assert np.isfinite(values).all()


def test_informativeness_of_classes_missing_from_train_by_hand():
    factors, rows = np.repeat([0, 1, 2], 20)[:, None], np.arange(60)
    # 20 held-out rows of class 1, which is known, and 20 of class 2, which is not.
    value = dci_informativeness_score(factors, 1.0 * factors, split=(rows[:40], rows[20:]))
    assert value == pytest.approx(0.5)


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
        model = LogisticRegression().fit(X[train], factors[train, 2] == c)
        expected.append(roc_auc_score(factors[test, 2] == c, model.decision_function(X[test])))
    assert values[2] == pytest.approx(np.mean(expected))


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


def test_downstream_accuracy_of_one_code_and_of_all():
    factors = np.random.default_rng(0).integers(3, size=(500, 2))
    codes = factors @ [[1.0, 1.0], [1.0, -1.0]]
    one, every = (
        downstream_accuracy_score(factors, codes, code_selection=selection, random_state=0)
        for selection in ("best", "all")
    )
    # The sum of two of three values: 3 of 9 cells tell the factor for sure, 4 of 9 by a guess
    # between two (or 3 of 9 between three, within these).
    assert one == pytest.approx(5 / 9, abs=0.1)
    assert every == 1


def test_downstream_accuracy_uses_at_most_max_samples():
    rows_seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y):
            rows_seen.append(len(X))
            return super().fit(X, y)

    factors = np.arange(3000)[:, None] % 3
    options = {"estimator": Spy(), "random_state": 0}
    assert downstream_accuracy_score(factors, 1.0 * factors, **options) == 1
    downstream_accuracy_score(factors, 1.0 * factors, max_samples=None, **options)
    assert rows_seen == [800, 2400]


@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_two_samples_and_huge_codes_are_finite(score):
    assert np.isfinite(score([[0], [1]], [[1e140], [-1e140]], random_state=0))


@pytest.mark.parametrize("scale", [1e149, 1e-300])
def test_extreme_scales_of_codes_are_finite(scale):
    factors = np.random.default_rng(0).integers(3, size=(60, 2))
    assert 0 <= sap_score(factors.astype(str), factors * scale, random_state=0) <= 1
    assert explicitness_score(factors, factors * scale, random_state=0) > 0.5
    assert dci_disentanglement_score(factors, factors * scale, random_state=0) > 0.9


@pytest.mark.parametrize(
    ("split", "match"),
    [
        (([0, 1],), "pair"),
        (([0, 1], []), "test part of split must be a non-empty"),
        (([0.5], [1]), "train part of split must be a non-empty"),
        (([0, 400], [1]), "train part of split must hold row indices from 0 to 399, got 0 to 400"),
        (([0, 1], [-1]), "test part of split must hold row indices"),
    ],
)
def test_bad_split_gets_a_clear_error(split, match, data):
    with pytest.raises(ValueError, match=match):
        dci_scores(*data, split=split)


def test_split_takes_masks_and_refuses_omitted_rows(data):
    factors, codes = data
    mask = np.arange(400) < 300
    options = {"estimator": TREES, "random_state": 0}
    rows = np.flatnonzero(mask), np.flatnonzero(~mask)
    masked = dci_scores(factors, codes, split=(mask, ~mask), **options)
    assert masked == dci_scores(factors, codes, split=rows, **options)
    codes = codes.copy()
    codes[0, 0] = np.nan
    with pytest.raises(ValueError, match="dropped 1 rows"):
        dci_scores(factors, codes, split=rows, nan_policy="omit")


def test_bad_estimator_gets_a_clear_error(data):
    with pytest.raises(ValueError, match="pair"):
        dci_scores(*data, estimator=(Lasso(), Lasso()))
    with pytest.raises(ValueError, match="estimator"):
        dci_scores(*data, estimator="lasso")
    with pytest.raises(ValueError, match="a classifier or a regressor"):
        dci_scores(*data, estimator=KMeans())


def test_importance_finds_the_informative_columns():
    X, y = make_classification(
        500, 8, n_informative=3, n_redundant=0, shuffle=False, random_state=0
    )
    importance = relevance_matrix(y[:, None], X, kind="importance", random_state=0)
    assert importance.sum() == pytest.approx(1)
    assert set(np.argsort(importance[0])[-3:]) == {0, 1, 2}
