"""The evidence lower bound and its terms."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics import (
    ELBODecomposition,
    elbo_decomposition,
    elbo_score,
    posterior_mig_score,
)
from sklearn_disent.models import BetaTCVAE
from sklearn_disent.models.terms import kl_parts


def test_elbo_of_a_tractable_model_is_its_likelihood(data):
    X, _ = data
    model = make_pipeline(StandardScaler(), PCA(2)).fit(X)
    assert elbo_score(model, X) == pytest.approx(model.score(X))


@pytest.mark.parametrize("method", ["exact", "mss"])
def test_decomposition_is_repeatable_and_sums_up(data, method, Posterior):
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


def test_decomposition_knows_other_priors(data, Posterior):
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


@pytest.mark.parametrize("options", [{}, {"bound": "importance_weighted"}, {"return_std": True}])
def test_observations_without_a_finite_bound_are_refused(vae, options):
    model, X, _ = vae
    far = np.vstack([X[:5], X[:2] + 1e37])
    with pytest.raises(ValueError, match=r"no finite .* for 2 of 7 .*units of X"):
        elbo_score(model, far, **options)
    with pytest.raises(ValueError, match=r"no finite .* for 2 of 7"):
        elbo_decomposition(model, far)


def test_bounds_of_other_estimators_are_checked_as_well(Posterior):
    class Far(Posterior):
        def elbo_terms(self, X):
            return np.full(len(X), -np.inf), np.zeros(len(X))

    far = Far().fit(None)
    with pytest.raises(ValueError, match="Far gives no finite bound for 3 of 3 observations"):
        elbo_score(far, np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"no finite bound"):
        elbo_decomposition(far, np.arange(6.0).reshape(3, 2))


def test_an_exact_likelihood_has_no_draws():
    pca = PCA().fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(TypeError, match="score_samples has no option 'n_draws'"):
        elbo_score(pca, np.zeros((3, 2)), n_draws=3)
