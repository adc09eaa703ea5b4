"""Scores of fitted models: through Pipelines and searches, and of models without torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from skorch.callbacks import EpochScoring

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    ELBODecomposition,
    elbo_decomposition,
    elbo_score,
    get_scorer,
    mig_score,
    multimetric_scorer,
    posterior_mig_score,
)
from sklearn_disent.models import BetaTCVAE, BetaVAE
from sklearn_disent.models.terms import kl_parts

CV = KFold(2, shuffle=True, random_state=0)


class Posterior(TransformerMixin, BaseEstimator):
    """Codes are the columns of X, with one standard deviation for all."""

    def __init__(self, std=0.1):
        self.std = std

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)

    def posterior(self, X):
        mean = self.transform(X)
        return mean, np.broadcast_to(2 * np.log(self.std), mean.shape)

    def elbo_terms(self, X):
        mean, log_var = self.posterior(X)
        kl = 0.5 * (mean**2 + np.exp(log_var) - log_var - 1).sum(axis=1)
        return np.full(len(mean), -3.0), kl

    def score_samples(self, X):
        return np.subtract(*self.elbo_terms(X))


@pytest.fixture
def data():
    """Two factors; each has a code, a third code is noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(400, 2))
    return np.column_stack([y, rng.normal(size=400)]).astype(float), y


@pytest.fixture(scope="module")
def vae():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=(300, 2))
    X = y @ rng.normal(size=(2, 5)) / 4
    return BetaVAE(3, beta=1.0, max_epochs=15, lr=5e-3, random_state=0).fit(X), X, y


def test_posterior_mig_of_sharp_and_of_blurred_codes(data):
    X, y = data
    assert posterior_mig_score(Posterior(0.01), X[:, :2], y) == pytest.approx(1.0, abs=0.02)
    # Noise that tells 400 samples apart knows their factors, too; a blur hides it.
    assert posterior_mig_score(Posterior(0.001), X, y) < 0.2
    values = [posterior_mig_score(Posterior(std), X, y) for std in (0.1, 0.5, 1.0, 5.0, 100.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.9
    assert values[-1] < 1e-3


def test_posterior_mig_by_hand():
    """Two values at distance 2d: the information is that of a binary input with normal noise."""
    y = np.repeat([[0], [1]], 50, axis=0)
    z = np.linspace(-12.0, 12.0, 20_001)
    p = np.exp(-0.5 * (z - 1) ** 2) / np.sqrt(2 * np.pi)
    expected = np.log(2) - (p * np.log1p(np.exp(-2 * z))).sum() * (z[1] - z[0])
    value = posterior_mig_score(Posterior(1.0), 2.0 * y - 1, y)
    assert value == pytest.approx(expected / np.log(2), abs=1e-4)


def test_posterior_mig_invariances(data):
    X, y = data
    value = posterior_mig_score(Posterior(0.4), X, y)
    order = np.random.default_rng(1).permutation(len(X))
    names = np.array(["a", "d", "c", "b"])
    same = [
        posterior_mig_score(Posterior(0.4), X[order], y[order]),
        posterior_mig_score(Posterior(0.4), X[:, ::-1], y[:, ::-1]),
        posterior_mig_score(Posterior(4.0), 3.0 - 10 * X, y),
        posterior_mig_score(Posterior(0.4), X, names[y]),
        posterior_mig_score(Posterior(0.4), np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0)),
    ]
    assert_allclose(same, value, atol=1e-4)
    assert type(value) is float
    per_factor = posterior_mig_score(Posterior(0.4), X, y, average=None)
    assert per_factor.mean() == pytest.approx(value)


def test_posterior_mig_weights_equal_repetition(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    expected = posterior_mig_score(Posterior(0.4), X[repeated], y[repeated])
    value = posterior_mig_score(Posterior(0.4), X, y, sample_weight=weight)
    assert value == pytest.approx(expected, abs=1e-9)


def test_posterior_mig_of_continuous_and_missing_factors(data):
    X, y = data
    with pytest.raises(ValueError, match="factor_bins=10"):
        posterior_mig_score(Posterior(), X, y + 0.5)
    assert posterior_mig_score(Posterior(), X, y + 0.5, factor_bins="unique") > 0.9
    missing = y.astype(float)
    missing[:100, 0] = np.nan
    with pytest.raises(ValueError, match="nan_policy"):
        posterior_mig_score(Posterior(), X, missing)
    expected = posterior_mig_score(Posterior(), X[100:], y[100:])
    assert posterior_mig_score(Posterior(), X, missing, nan_policy="omit") == expected


def test_degenerate_cases_are_defined_and_warned_of(data):
    X, y = data
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[1\] have a single value"):
        value = posterior_mig_score(Posterior(), X, np.column_stack([y[:, 0], 0 * y[:, 0]]))
    assert value == pytest.approx(posterior_mig_score(Posterior(), X, y[:, :1]))
    with pytest.warns(DegenerateScoreWarning, match="All posteriors are the same"):
        assert posterior_mig_score(Posterior(), np.zeros((400, 2)), y) == 0.0
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[0, 1, 2\] have posteriors narrower"):
        assert posterior_mig_score(Posterior(1e-9), X, y) > 0.0
    with pytest.warns(DegenerateScoreWarning, match="narrower than 1e-05"):
        terms = elbo_decomposition(Posterior(1e-9), X[:50], n_samples=100)
    assert np.isfinite(terms).all()
    with pytest.raises(ValueError, match="variances must be finite, got log-variances up to"):
        posterior_mig_score(Posterior(1e200), X, y)


def test_errors_name_what_is_missing(data):
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
def test_scores_look_through_wrappings(data, index):
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


def test_scorers_choose_models_in_a_search(data):
    X, y = data
    for name, best in (("posterior_mig", 0.1), ("elbo", 1.0)):
        search = GridSearchCV(Posterior(), {"std": [0.1, 1.0]}, scoring=get_scorer(name), cv=CV)
        assert search.fit(X, y).best_params_ == {"std": best}


def test_elbo_of_a_tractable_model_is_its_likelihood(data):
    X, _ = data
    model = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    assert elbo_score(model, X) == pytest.approx(model.score(X))


@pytest.mark.parametrize("method", ["exact", "mss"])
def test_decomposition_is_repeatable_and_sums_up(data, method):
    X, _ = data
    first, second = (
        elbo_decomposition(Posterior(), X, method=method, random_state=3) for _ in "ab"
    )
    assert first == second
    assert isinstance(first, ELBODecomposition)
    assert all(type(term) is float for term in first)
    assert first.reconstruction == 3.0
    assert first.kl == pytest.approx(sum(first[1:]))
    expected = Posterior().elbo_terms(X)[1].mean()
    assert first.kl == pytest.approx(expected, abs=1e-9 if method == "exact" else 0.3)
    assert first.elbo == -3.0 - first.kl


def test_decomposition_knows_other_priors(data):
    """A prior of another mean and scale changes the dimension-wise KL by the same amount."""

    class OtherPrior(Posterior):
        def elbo_terms(self, X):
            log_likelihood, kl = super().elbo_terms(X)
            return log_likelihood, kl + 2.0

    X, _ = data
    plain, other = (elbo_decomposition(m, X, random_state=0) for m in (Posterior(), OtherPrior()))
    assert_allclose(np.subtract(other, plain), [0.0, 0.0, 0.0, 2.0], atol=1e-12)


def test_decomposition_by_batches_is_what_training_logs(vae):
    """The same estimate as the one in the history of a model, which is torch's."""
    model, X, _ = vae
    mean, log_var = (part.astype(float) for part in model.posterior(X))
    rng = np.random.RandomState(0)
    order = rng.permutation(len(X))
    mean, log_var = (torch.from_numpy(part[order]) for part in (mean, log_var))
    z = mean + (log_var / 2).exp() * torch.from_numpy(rng.standard_normal(mean.shape))
    expected = [part.item() for part in kl_parts(z, mean, log_var, len(X))]
    found = elbo_decomposition(model, X, method="mss", batch_size=len(X), random_state=0)
    assert_allclose(found[1:], expected, atol=1e-5)


def test_decomposition_of_a_flow_prior_is_its_bound(vae):
    _, X, _ = vae
    model = BetaTCVAE(2, prior="factorized_flow", max_epochs=3, random_state=0).fit(X)
    terms = elbo_decomposition(model, X, random_state=0)
    assert terms.elbo == pytest.approx(model.score(X), rel=1e-5)


def test_decomposition_of_a_vae_is_its_bound(vae):
    model, X, y = vae
    terms = elbo_decomposition(model, X, random_state=0)
    assert terms.elbo == pytest.approx(model.score(X), rel=1e-5)
    assert terms.elbo == pytest.approx(elbo_score(model, X), rel=1e-5)
    log_likelihood, kl = model.elbo_terms(X)
    assert_array_equal(log_likelihood - kl, model.score_samples(X))
    assert terms.kl == pytest.approx(kl.mean(), rel=1e-5)
    assert 0 < terms.index_code_mi <= np.log(len(X)) + 1e-3
    # Only 16 different observations: their index cannot be known better.
    assert terms.index_code_mi < np.log(16) + 0.1
    assert 0 < posterior_mig_score(model, X, y) < 1


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


def test_generative_metrics_need_no_torch():
    code = (
        "import sys, numpy as np\n"
        "from sklearn_disent.metrics import elbo_decomposition, posterior_mig_score\n"
        "class Model:\n"
        "    def posterior(self, X): return X, X * 0\n"
        "    def elbo_terms(self, X): return X[:, 0], X[:, 0] ** 2\n"
        "X = np.random.default_rng(0).normal(size=(20, 2))\n"
        "elbo_decomposition(Model(), X); posterior_mig_score(Model(), X, X > 0)\n"
        "print([m for m in ('torch', 'skorch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
