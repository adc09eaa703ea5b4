"""Scores of fitted models: through Pipelines and searches, and of models without torch."""

import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from skorch.callbacks import EpochScoring

from sklearn_disent.metrics import (
    elbo_decomposition,
    elbo_score,
    get_scorer,
    mig_score,
    multimetric_scorer,
    posterior_mig_score,
)
from sklearn_disent.models import BetaVAE

CV = KFold(2, shuffle=True, random_state=0)


def test_errors_name_what_is_missing(data, Posterior):
    X, y = data
    pca = PCA(2).fit(X)
    with pytest.raises(TypeError, match="PCA has no posterior"):
        posterior_mig_score(pca, X, y)
    with pytest.raises(TypeError, match="PCA has no posterior"):
        elbo_decomposition(make_pipeline(StandardScaler(), PCA(2)).fit(X), X)
    with pytest.raises(TypeError, match="StandardScaler has no score_samples"):
        elbo_score(StandardScaler().fit(X), X)
    with pytest.raises(ValueError, match="needs the factors, got y=None"):
        get_scorer("posterior_mig")(Posterior(), X)
    with pytest.raises(ValueError, match="at least 2 observations"):
        elbo_decomposition(Posterior(), X[:1], method="mss")
    with pytest.raises(ValueError, match="'method' parameter"):
        elbo_decomposition(Posterior(), X, method="mws")


def wrapped(estimator):
    """An estimator of X / 2 in every wrapping that a user may choose."""
    halve = FunctionTransformer(lambda X: X / 2)
    inner = make_pipeline(halve, estimator)
    return [
        inner,
        make_pipeline(halve, estimator, "passthrough"),
        Pipeline([("a", "passthrough"), ("b", inner), ("c", "passthrough"), ("d", None)]),
        GridSearchCV(inner, {"functiontransformer__validate": [False]}, scoring=elbo_score, cv=CV),
    ]


@pytest.mark.parametrize("index", range(4), ids=["pipeline", "passthrough", "nested", "search"])
def test_scores_look_through_wrappings(data, index, Posterior):
    X, y = data
    model, bare = wrapped(Posterior(0.2))[index].fit(X, y), Posterior(0.2)
    scorer = multimetric_scorer(["elbo", "posterior_mig", "mig"])
    expected = {
        "elbo": elbo_score(bare, X / 2),
        "posterior_mig": posterior_mig_score(bare, X / 2, y),
        "mig": mig_score(y, X / 2),
    }
    assert scorer(model, X, y) == expected
    for name in ("elbo", "posterior_mig"):
        assert get_scorer(name)(model, X, y) == expected[name]
    assert posterior_mig_score(model, X, y) == expected["posterior_mig"]
    assert elbo_score(model, X) == expected["elbo"]
    terms = [elbo_decomposition(m, x, random_state=0) for m, x in ((model, X), (bare, X / 2))]
    assert terms[0] == terms[1]


def test_scorers_choose_models_in_a_search(data, Posterior):
    X, y = data
    for name, best in (("posterior_mig", 0.1), ("elbo", 1.0)):
        search = GridSearchCV(Posterior(), {"std": [0.1, 1.0]}, scoring=get_scorer(name), cv=CV)
        assert search.fit(X, y).best_params_ == {"std": best}


def test_scorers_follow_training(vae):
    _, X, y = vae
    names = ("elbo", "posterior_mig")
    callbacks = [
        EpochScoring(get_scorer(name), lower_is_better=False, on_train=True, name=name)
        for name in names
    ]
    model = BetaVAE(2, max_epochs=2, callbacks=callbacks, random_state=0).fit(X, y)
    for name in names:
        values = model.history_[:, name]
        assert len(set(values)) == 2
        assert values[-1] == get_scorer(name)(model, X, y)
