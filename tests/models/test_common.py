"""What holds for every model; new ones are found by themselves."""

import inspect
import pickle
from numbers import Integral, Real

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from sklearn_disent.models import BaseVAE

from .conftest import PUBLIC, every_model, every_vae


@every_model()
def test_warm_epochs_add_up_for_every_model(images, model, fit_once):
    X, y = images  # 120 rows: a last batch of 24
    four = clone(model).set_params(max_epochs=4).fit(X, y)
    half = pickle.loads(pickle.dumps(fit_once(model))).set_params(warm_start=True).fit(X, y)
    assert_array_equal(half.transform(X), four.transform(X))
    assert_array_equal(
        [row["train_loss"] for row in half.history_], [row["train_loss"] for row in four.history_]
    )


@every_model()
def test_last_batch_of_one_row_is_fine_for_every_model(images, model):
    X, y = images[0][:33], images[1][:33]
    fitted = clone(model).fit(X, y)
    assert np.isfinite(fitted.transform(X)).all()
    assert np.isfinite([row["train_loss"] for row in fitted.history_]).all()


@every_model()
def test_every_model_decodes_samples_and_reconstructs(images, model, fit_once):
    X, fitted = images[0], fit_once(model)
    codes = fitted.transform(X)
    assert codes.shape == (120, 3)
    assert codes.dtype == np.float32
    assert fitted.inverse_transform(codes).shape == X.shape
    assert_array_equal(fitted.reconstruct(X), fitted.inverse_transform(codes))
    samples = fitted.sample(5, random_state=0)
    assert samples.shape == (5, 8, 8)
    assert ((samples >= 0) & (samples <= 1)).all()
    assert_array_equal(samples, fitted.sample(5, random_state=0))
    prior = fitted.sample_prior(5, random_state=0)
    assert prior.shape == (5, 3)
    if not hasattr(fitted, "generate"):
        assert_array_equal(samples, fitted.inverse_transform(prior))
    assert not np.allclose(samples, fitted.sample(5, random_state=1))


def own_numbers(model):
    """Names and other values of the numbers among the parameters that a model adds."""
    params = model.get_params(deep=False)
    for name in inspect.signature(type(model)).parameters.keys() - BASE:
        value = params[name]
        if isinstance(value, Integral) and not isinstance(value, bool):
            yield name, value + 1
        elif isinstance(value, Real) and not isinstance(value, bool):
            yield name, value / 2 or 0.5


BASE = inspect.signature(BaseVAE).parameters.keys()


@every_model()
def test_grid_search_finds_a_models_own_parameters(images, model):
    grid = [{}, *({name: [value]} for name, value in sorted(own_numbers(model)))]
    if len(grid) == 1:
        pytest.skip(f"{model} has no number of its own")
    X, y = images[0][:70], images[1][:70]
    search = GridSearchCV(
        clone(model).set_params(max_epochs=1),
        grid,
        scoring=lambda fitted, X, y: float(np.abs(fitted.transform(X)).mean()),
        cv=ShuffleSplit(1, random_state=0),
        refit=False,
    )
    one = search.fit(X, y).cv_results_["mean_test_score"]
    with parallel_config("threading", n_jobs=2):
        two = clone(search).fit(X, y).cv_results_["mean_test_score"]
    assert len(set(one)) > 1, "no parameter of the model changes its codes"
    assert_array_equal(one, two)


@every_vae()
def test_weighted_terms_in_history_sum_to_the_loss(images, model, monkeypatch):
    """Every model logs all that its loss is made of."""
    seen = []
    terms = type(model).terms

    def spy(self, *args):
        found = terms(self, *args)
        seen.append({k: self.at_step(weight) for k, (weight, _) in found.items() if weight})
        return found

    monkeypatch.setattr(type(model), "terms", spy)
    fitted = clone(model).fit(*images)
    weights = seen[0]
    assert all(step == weights for step in seen)
    for row in fitted.history_:
        total = sum(weight * row[f"train_{term}"] for term, weight in weights.items())
        assert row["train_loss"] == pytest.approx(total, rel=1e-5)


def test_models_stand_directly_upon_the_base():
    """What stands between BaseVAE and a model is a piece that models share, and not deep."""

    def own(cls):
        found = {c for c in cls.__mro__ if c.__module__.startswith("sklearn_disent")}
        return found - set(BaseVAE.__mro__) - {cls}

    for name, cls in PUBLIC.items():
        if issubclass(cls, BaseVAE):
            assert len(own(cls)) <= 2, name
            for piece in own(cls):
                users = [other for other in PUBLIC.values() if issubclass(other, piece)]
                assert len(users) >= 2, f"{piece.__name__} serves {name} alone"
