"""Splits, estimators and importances; properties of all scores that predict."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_info

from sklearn_disent.metrics import (
    dci_completeness_score,
    dci_disentanglement_score,
    dci_informativeness_score,
    dci_scores,
    disentanglement_report,
    downstream_accuracy_score,
    explicitness_score,
    factor_r2_score,
    matched_r2_score,
    nk_score,
    relevance_matrix,
    sap_score,
    tmex_error,
    unfairness_error,
)
from sklearn_disent.metrics.prediction import _predictors
from sklearn_disent.metrics.prediction._predictors import _own_importance, held_out_score

DCI = [dci_disentanglement_score, dci_completeness_score, dci_informativeness_score]

ALL = [*DCI, sap_score, explicitness_score, downstream_accuracy_score]

TREES = DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5)


@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_default_importance_has_the_top_code_of_gradient_boosting(kind_of_case, reference_dir):
    case = kind_of_case
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


@pytest.mark.parametrize("forests", ["whole", "converged", "lightgbm"])
def test_importance_ranks_entangled_codes_as_gradient_boosting(forests, get_case, reference_dir):
    case = get_case("f1_entanglement")
    expected = json.loads((reference_dir / "gbt_importance.json").read_text())[case.name]
    options = {"kind": "importance", "split": (case.train, case.test), "random_state": 0}
    if forests == "converged":
        options["tol"] = 0.01
    elif forests == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        options["estimator"] = lightgbm.LGBMClassifier(
            n_estimators=20, importance_type="gain", verbose=-1, n_jobs=1
        )
    importance = relevance_matrix(case.factors, case.codes, **options)
    np.testing.assert_array_equal(np.argsort(importance), np.argsort(expected))


def test_forests_grow_until_the_scores_have_converged(monkeypatch):
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(400, 2))
    codes = factors @ [[1, 0.5, 0], [0, 1, 0]] + 0.5 * rng.normal(size=(400, 3))
    sizes = []
    grow = _predictors._grow
    monkeypatch.setattr(_predictors, "_grow", lambda *job: sizes.append(job[2]) or grow(*job))
    whole = dci_scores(factors, codes, random_state=0)
    # With a tolerance that is never reached the trees are all those of whole forests.
    same = dci_scores(factors, codes, tol=1e-9, random_state=0)
    np.testing.assert_allclose(same, whole, rtol=0, atol=1e-12)
    assert max(sizes) == 50
    sizes.clear()
    converged = dci_scores(factors, codes, tol=0.02, random_state=0)
    assert max(sizes) < 50
    np.testing.assert_allclose(converged, whole, rtol=0, atol=0.06)
    with pytest.raises(ValueError, match="Leave one of them out"):
        dci_scores(factors, codes, tol=0.02, estimator=TREES[0])
    # By themselves they stop only where there are many rows, for unfairness, too.
    sizes.clear()
    dci_scores(factors, codes, random_state=0)
    assert not sizes
    monkeypatch.setattr(_predictors, "_MANY_ROWS", 399)
    monkeypatch.setattr(_predictors, "_AUTO_TOL", 0.02)
    assert dci_scores(factors, codes, random_state=0) == converged
    n_before = len(sizes)
    report = disentanglement_report(
        factors, codes, metrics=["dci_completeness", "unfairness_error"], random_state=0
    )
    assert report["dci_completeness"]["value"] == converged.completeness
    assert len(sizes) == 2 * n_before  # grown once for both


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


def test_importance_looks_through_pipelines_and_searches(data):
    factors, codes = data
    rows = np.arange(len(codes))
    model = LogisticRegression()
    search = GridSearchCV(model, {"C": [1.0]}, cv=2)
    estimators = [
        make_pipeline(StandardScaler(), model),
        make_pipeline(StandardScaler(), search),
        GridSearchCV(make_pipeline(StandardScaler(), "passthrough", model), {}, cv=2),
    ]
    first, *others = (
        relevance_matrix(factors, codes, kind="importance", estimator=e, split=(rows, rows))
        for e in estimators
    )
    for other in others:
        np.testing.assert_allclose(other, first)


def test_importance_that_is_not_finite_is_an_error(data):
    class Broken(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.coef_ = np.full(X.shape[1], np.nan)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="Broken gave importances that are not finite"):
        dci_scores(*data, estimator=Broken())


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


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [([2.0, 2.0], 1.0), ([2.0, 2.1], 0.0), ([1.0, 1.0], 0.0)],
)
def test_r2_of_a_constant_held_out_factor_is_all_or_nothing(predicted, expected):
    y = np.array([2.0, 2.0])
    assert held_out_score(LinearRegression(), y, np.array(predicted)) == expected


def test_r2_and_accuracy_of_held_out_rows_by_hand():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert held_out_score(LinearRegression(), y, y + np.array([1, -1, 1, -1]) / 2) == 0.8
    assert held_out_score(LinearRegression(), y, 3 - y) == 0.0
    classes = np.array([0, 1, 1, 2])
    assert held_out_score(DecisionTreeClassifier(), classes, np.array([0, 1, 2, 2])) == 0.75


def test_forest_whose_splits_gain_nothing_has_no_importances():
    """scikit-learn divides 0 by 0."""
    X, y = np.array([[0.0], [1.0]] * 4), np.array([0, 0, 1, 1] * 2)
    forest = ExtraTreesClassifier(3, min_samples_leaf=2, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _own_importance(forest, 1).tolist() == [0.0]


@pytest.mark.parametrize(
    ("metric", "estimator", "wanted"),
    [
        (factor_r2_score, LogisticRegression(), "regressor"),
        (matched_r2_score, LogisticRegression(), "regressor"),
        (tmex_error, LogisticRegression(), "regressor"),
        (unfairness_error, LinearRegression(), "classifier"),
        (nk_score, LinearRegression(), "classifier"),
    ],
)
def test_estimators_of_the_wrong_kind_are_refused(metric, estimator, wanted):
    factors = np.arange(40)[:, None] % [2, 3]
    with pytest.raises(ValueError, match=f"estimator must be a {wanted}"):
        metric(factors, factors + 0.5, estimator=estimator, random_state=0)


@pytest.mark.parametrize("metric", [factor_r2_score, matched_r2_score, tmex_error])
def test_forests_of_one_factor_or_code_do_not_warn(metric):
    factors = np.arange(40)[:, None] % 3
    forest = ExtraTreesRegressor(2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(metric(factors, factors + 0.5, estimator=forest, random_state=0))
