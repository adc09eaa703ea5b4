"""Scorers in scikit-learn's model selection."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics import (
    _scorer,
    get_scorer,
    get_scorer_names,
    mig_score,
    multimetric_scorer,
)
from sklearn_disent.metrics._scorer import unwrap_estimator


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(300, 2))
    return factors @ np.array([[5.0, 1.0, 0.0], [-1.0, 3.0, 0.5]]), factors


class Counter(TransformerMixin, BaseEstimator):
    """Passes the data on and counts its calls."""

    def fit(self, X, y=None):
        self.calls_ = 0
        return self

    def transform(self, X):
        self.calls_ += 1
        return X


@pytest.mark.parametrize(
    "estimator",
    [
        PCA(2),
        make_pipeline(StandardScaler(), PCA(2)),
        make_pipeline(StandardScaler(), PCA(2), "passthrough"),
        make_pipeline(StandardScaler(), PCA(2)).set_output(transform="pandas"),
        GridSearchCV(PCA(), {"n_components": [2]}, scoring=get_scorer("mig"), cv=2),
    ],
    ids=["transformer", "pipeline", "passthrough", "pandas", "search"],
)
def test_scorer_equals_metric_of_transform(data, estimator):
    X, factors = data
    estimator = clone(estimator).fit(X, factors)
    assert get_scorer("mig")(estimator, X, factors) == mig_score(factors, estimator.transform(X))


def test_scorer_takes_options_of_the_metric(data):
    X, factors = data
    pca = PCA(2).fit(X)
    expected = mig_score(factors, pca.transform(X), n_bins=3)
    assert get_scorer("mig", n_bins=3)(pca, X, factors) == expected


def test_scorer_runs_in_cross_validation_at_any_n_jobs(data):
    X, factors = data
    cv = KFold(3, shuffle=True, random_state=0)
    one, two = (
        cross_val_score(PCA(2), X, factors, scoring=get_scorer("mig"), cv=cv, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, two)


def test_multimetric_scorer_drives_grid_search(data):
    X, factors = data
    search = GridSearchCV(
        PCA(),
        {"n_components": [1, 2]},
        scoring=multimetric_scorer(["mig"]),
        refit="mig",
        cv=KFold(3, shuffle=True, random_state=0),
    ).fit(X, factors)
    assert np.isfinite(search.cv_results_["mean_test_mig"]).all()
    assert clone(search).scoring(search, X, factors) == {"mig": search.score(X, factors)}


def test_multimetric_scorer_encodes_once(data, monkeypatch):
    X, factors = data

    def mean_code_distance(codes):
        return float(np.mean(codes))

    def calls_score(estimator, X, y=None):
        return float(estimator.calls_)

    monkeypatch.setattr(_scorer, "_UNSUPERVISED", (mean_code_distance,))
    monkeypatch.setattr(_scorer, "_ESTIMATOR", (calls_score,))
    for func in (mean_code_distance, calls_score):
        monkeypatch.setitem(_scorer._FUNCTIONS, _scorer._name(func), func)
    names = ["mig", "neg_mean_code_distance", "calls"]
    scores = multimetric_scorer(names)(Counter().fit(X), X, factors)
    assert scores["calls"] == 1
    assert scores["neg_mean_code_distance"] == pytest.approx(-X.mean())
    assert scores["mig"] == mig_score(factors, X)
    with pytest.raises(ValueError, match="mig: these metrics need the factors"):
        multimetric_scorer(names)(Counter().fit(X), X)
    single = _scorer._LabelFreeScorer("neg_mean_code_distance", {})
    assert single(Counter().fit(X), X) == scores["neg_mean_code_distance"]
    assert repr(clone(single)) == "get_scorer('neg_mean_code_distance')"


def test_multimetric_scorer_survives_pickle_and_clone():
    scorer = multimetric_scorer({"mig": {"n_bins": 5}})
    assert repr(scorer) == "multimetric_scorer({'mig': {'n_bins': 5}})"
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert copy.options == scorer.options


def test_multimetric_scorer_names_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"\['nonsense'\]"):
        multimetric_scorer(["mig", "nonsense"])
    with pytest.raises(ValueError, match="one or more of"):
        multimetric_scorer([])


def test_scorer_names_lead_to_scorers():
    for name in get_scorer_names():
        assert callable(get_scorer(name))
    with pytest.raises(ValueError, match="name"):
        get_scorer("nonsense")


def test_estimator_without_codes_is_named(data):
    with pytest.raises(TypeError, match="KFold has no transform"):
        multimetric_scorer(["mig"])(KFold(), *data)


def test_unwrap_reaches_the_innermost_estimator(data):
    X = data[0]
    inner = make_pipeline(StandardScaler(), make_pipeline(PCA(2), "passthrough"))
    search = GridSearchCV(inner, {"pipeline__pca__whiten": [True]}, scoring=get_scorer("mig"), cv=2)
    search.fit(*data)
    estimator, reached = unwrap_estimator(search, X)
    assert isinstance(estimator, PCA)
    np.testing.assert_allclose(reached, StandardScaler().fit_transform(X))
    np.testing.assert_allclose(estimator.transform(reached), search.transform(X))
