"""Scorers in scikit-learn's model selection."""

import functools
import pickle

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics import (
    Metric,
    get_scorer,
    get_scorer_names,
    mig_score,
    modularity_distance,
    multimetric_scorer,
)
from sklearn_disent.metrics._estimators import unwrap_estimator

CV = KFold(3, shuffle=True, random_state=0)


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


def correlation_score(factors, codes, *, power=1, sample_weight=None):
    """A metric of a user: importable, as joblib needs it."""
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight)
    both = np.cov(factors[:, 0], codes[:, 0], aweights=weight)
    return (both[0, 1] ** 2 / both[0, 0] / both[1, 1]) ** (power / 2)


def mean_code_distance(codes):
    return float(np.mean(codes))


def calls_score(estimator, X, y=None):
    return float(estimator.calls_)


# -- one metric ------------------------------------------------------------------------------


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


def test_scorer_negates_what_is_better_when_lower(data):
    X, factors = data
    pca = PCA(2).fit(X)
    scorer = get_scorer("neg_modularity_distance")
    # Scorers compare models, and take codes in units of their own spread.
    distance = modularity_distance(factors, pca.transform(X), code_scale="unit")
    assert scorer(pca, X, factors) == -distance
    assert (scorer._sign, get_scorer("mig")._sign) == (-1, 1)


def test_scorer_names_lead_to_scorers():
    for name in get_scorer_names():
        assert get_scorer(name).name == name
    with pytest.raises(ValueError, match=r"one or more of .*'mig'.* got \['nonsense'\]"):
        get_scorer("nonsense")
    with pytest.raises(ValueError, match=r"got \[3\]"):
        get_scorer(3)


def test_scorer_survives_pickle_and_clone(data):
    X, factors = data
    pca = PCA(2).fit(X)
    for scorer in (
        get_scorer("mig", n_bins=5),
        get_scorer(correlation_score, power=2),
        get_scorer(functools.partial(correlation_score, power=3)),
        multimetric_scorer({"mig": {"n_bins": 5}, "mine": correlation_score}),
    ):
        for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
            assert copy is not scorer
            assert repr(copy) == repr(scorer)
            assert copy(pca, X, factors) == scorer(pca, X, factors)


def test_scorer_shows_how_it_was_made():
    assert repr(get_scorer("mig", n_bins=5)) == "get_scorer('mig', n_bins=5)"
    assert repr(get_scorer(mig_score)) == "get_scorer('mig')"
    assert repr(get_scorer(correlation_score, power=2)) == "get_scorer(correlation_score, power=2)"
    assert repr(multimetric_scorer(["mig", "sap"])) == "multimetric_scorer(['mig', 'sap'])"
    assert "n_bins=5" in repr(multimetric_scorer({"mig": {"n_bins": 5}}))


def test_scorer_refuses_options_when_it_is_made():
    with pytest.raises(TypeError, match=r"no option 'n_bin'\. Its options are n_bins, strategy"):
        get_scorer("mig", n_bin=10)
    with pytest.raises(ValueError, match="'n_bins' parameter of mig_score"):
        get_scorer("mig", n_bins=1)
    with pytest.raises(TypeError, match=r"no option 'powr'\. Its options are power, sample_weight"):
        get_scorer(correlation_score, powr=2)
    # Data are not options.
    with pytest.raises(TypeError, match="no option 'codes'"):
        get_scorer(correlation_score, codes=[[0]])


# -- several metrics -------------------------------------------------------------------------


def test_multimetric_scorer_drives_grid_search(data):
    X, factors = data
    search = GridSearchCV(
        PCA(),
        {"n_components": [1, 2]},
        scoring=multimetric_scorer(["mig", correlation_score]),
        refit="mig",
        cv=CV,
    ).fit(X, factors)
    assert np.isfinite(search.cv_results_["mean_test_mig"]).all()
    assert np.isfinite(search.cv_results_["mean_test_correlation"]).all()
    assert clone(search).scoring(search, X, factors)["mig"] == search.score(X, factors)


def test_multimetric_scorer_encodes_once(data):
    X, factors = data
    metrics = ["mig", mean_code_distance, calls_score]
    scores = multimetric_scorer(metrics)(Counter().fit(X), X, factors)
    assert scores["calls"] == 1
    assert scores["neg_mean_code_distance"] == pytest.approx(-X.mean())
    assert scores["mig"] == mig_score(factors, X)
    with pytest.raises(ValueError, match="mig: these metrics need the factors"):
        multimetric_scorer(metrics)(Counter().fit(X), X)
    single = get_scorer(mean_code_distance)
    assert single(Counter().fit(X), X) == scores["neg_mean_code_distance"]


def test_multimetric_scorer_takes_names_functions_rows_and_scorers(data):
    X, factors = data
    pca = PCA(2).fit(X)
    codes = pca.transform(X)
    entries = {
        "mig": {"n_bins": 5},
        "fine": get_scorer("mig", n_bins=40),
        "mine": correlation_score,
        "spread": Metric(np.std, needs="codes", greater_is_better=False),
        "plain": "mig",
    }
    assert multimetric_scorer(entries)(pca, X, factors) == {
        "mig": mig_score(factors, codes, n_bins=5),
        "fine": mig_score(factors, codes, n_bins=40),
        "mine": correlation_score(factors, codes),
        "spread": -np.std(codes),
        "plain": mig_score(factors, codes),
    }
    listed = multimetric_scorer([get_scorer("sap", method="r2"), mig_score, correlation_score])
    assert list(listed(pca, X, factors)) == ["sap", "mig", "correlation"]


@pytest.mark.parametrize(
    ("metrics", "error", "match"),
    [
        (["mig", "nonsense"], ValueError, r"got \['nonsense'\]"),
        ([], ValueError, "one or more of"),
        ({}, ValueError, "one or more of"),
        ("mig", TypeError, "a list or a dict"),
        (["mig", mig_score], ValueError, r"\['mig'\] more than once"),
        ({"mine": {"n_bins": 3}}, ValueError, r"got \['mine'\]"),
        ({"mig": {"n_bin": 3}}, TypeError, "no option 'n_bin'"),
        ({"mig": 3}, ValueError, r"got \[3\]"),
    ],
)
def test_multimetric_scorer_names_what_is_wrong(metrics, error, match):
    with pytest.raises(error, match=match):
        multimetric_scorer(metrics)


# -- metrics of users ------------------------------------------------------------------------


def test_metric_reads_off_its_function_what_it_can():
    rows = [Metric(f) for f in (correlation_score, mean_code_distance, calls_score)]
    assert [row.needs for row in rows] == ["factors", "codes", "estimator"]
    assert [row.scorer_name for row in rows] == ["correlation", "neg_mean_code_distance", "calls"]
    assert rows[0].options == ["power", "sample_weight"]
    named = Metric(functools.partial(correlation_score, power=2), name="squared", label="r²")
    assert (named.scorer_name, named.label, named.greater_is_better) == ("squared", "r²", True)
    assert Metric(correlation_score, greater_is_better=False).scorer_name == "neg_correlation"


def test_metric_refuses_what_it_cannot_be():
    with pytest.raises(TypeError, match="function must be"):
        Metric("mig")
    with pytest.raises(ValueError, match="needs must be one of"):
        Metric(mig_score, needs="nothing")
    with pytest.raises(ValueError, match="compares several models"):
        get_scorer(Metric(np.median, needs="models"))


def test_metric_must_be_one_number(data):
    X, factors = data
    with pytest.raises(ValueError, match=r"mig must be one number, got ndarray .* average"):
        get_scorer("mig", average=None)(PCA(2).fit(X), X, factors)
    # Any real number will do.
    whole = Metric(lambda codes: np.float32(0.5), name="half")
    assert type(get_scorer(whole)(PCA(2).fit(X), X)) is float


# -- in scikit-learn -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_scorer_runs_in_cross_validation_at_any_n_jobs(data, backend):
    X, factors = data
    # Functions of a test module cannot be imported by other processes.
    entries = {"mig": {"n_bins": 5}, "spread": Metric(np.std, needs="codes")}
    with parallel_config(backend=backend):
        one, two = (
            cross_validate(
                PCA(2), X, factors, scoring=multimetric_scorer(entries), cv=CV, n_jobs=n_jobs
            )
            for n_jobs in (1, 2)
        )
        single = cross_val_score(
            PCA(2), X, factors, scoring=get_scorer("mig", n_bins=5), cv=CV, n_jobs=2
        )
    for name in ("test_mig", "test_spread"):
        assert np.isfinite(one[name]).all()
        np.testing.assert_array_equal(one[name], two[name])
    np.testing.assert_array_equal(single, one["test_mig"])


def test_scorer_passes_scikit_learns_check(data):
    scorer = get_scorer("mig")
    assert check_scoring(PCA(2), scorer) is scorer
    scores = cross_validate(
        PCA(2), *data, scoring={"a": scorer, "b": get_scorer(correlation_score)}, cv=CV
    )
    assert {"test_a", "test_b"} <= set(scores)


def test_scorer_takes_weights(data):
    X, factors = data
    pca = PCA(2).fit(X)
    weight = np.arange(len(X)) % 3
    expected = mig_score(factors, pca.transform(X), sample_weight=weight)
    assert get_scorer("mig")(pca, X, factors, sample_weight=weight) == expected
    scores = multimetric_scorer(["mig", "sap"])(pca, X, factors, sample_weight=weight)
    assert scores == {"mig": expected, "sap": get_scorer("sap")(pca, X, factors)}
    with pytest.raises(TypeError, match="sap: none of these metrics has an option 'sample_weight'"):
        get_scorer("sap")(pca, X, factors, sample_weight=weight)


def test_scorer_routes_metadata(data):
    X, factors = data
    weight = np.arange(len(X)) % 3
    with config_context(enable_metadata_routing=True):
        expected = [
            get_scorer("mig")(
                PCA(2).fit(X[train]), X[test], factors[test], sample_weight=weight[test]
            )
            for train, test in CV.split(X)
        ]
        for scorer in (get_scorer("mig"), multimetric_scorer({"score": "mig"})):
            # Nothing is asked for: scikit-learn wants to be told.
            assert np.isfinite(
                cross_validate(PCA(2), X, factors, scoring=scorer, cv=CV)["test_score"]
            ).all()
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                cross_validate(
                    PCA(2), X, factors, scoring=scorer, cv=CV, params={"sample_weight": weight}
                )
            scorer = clone(scorer.set_score_request(sample_weight="importance"))
            scores = cross_validate(
                PCA(2), X, factors, scoring=scorer, cv=CV, params={"importance": weight}
            )
            np.testing.assert_array_equal(scores["test_score"], expected)
            search = GridSearchCV(
                PCA(), {"n_components": [2]}, scoring=scorer, cv=CV, refit=False
            ).fit(X, factors, importance=weight)
            assert search.cv_results_["mean_test_score"] == pytest.approx(np.mean(expected))
        with pytest.raises(TypeError, match=r"cannot take \['n_bins'\] per sample"):
            get_scorer("mig").set_score_request(n_bins=True)
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        get_scorer("mig").set_score_request(sample_weight=True)


def test_scorer_gives_users_functions_arrays(data):
    X, factors = data
    pca = PCA(2).set_output(transform="pandas").fit(X)
    expected = correlation_score(factors, pca.transform(X).to_numpy())
    assert get_scorer(correlation_score)(pca, X, factors) == expected


def test_estimator_without_codes_is_named(data):
    for scorer in (get_scorer("mig"), multimetric_scorer(["mig"])):
        with pytest.raises(TypeError, match="KFold has no transform"):
            scorer(KFold(), *data)


def test_unwrap_reaches_the_innermost_estimator(data):
    X = data[0]
    inner = make_pipeline(StandardScaler(), make_pipeline(PCA(2), "passthrough"))
    search = GridSearchCV(inner, {"pipeline__pca__whiten": [True]}, scoring=get_scorer("mig"), cv=2)
    search.fit(*data)
    estimator, reached = unwrap_estimator(search, X)
    assert isinstance(estimator, PCA)
    np.testing.assert_allclose(reached, StandardScaler().fit_transform(X))
    np.testing.assert_allclose(estimator.transform(reached), search.transform(X))
