"""Ranking of the settings of a search without labels."""

import warnings

import numpy as np
import pytest
import torch
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import Pipeline

from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingDivergedError
from sklearn_disent.metrics import get_scorer, udr_score
from sklearn_disent.model_selection import SweepMemory, udr_ranking
from sklearn_disent.models import BetaVAE

torch.set_num_threads(1)
CV = KFold(2, shuffle=True, random_state=0)
SEEDS = [0, 1, 2]
FITS = []


class Mix(TransformerMixin, BaseEstimator):
    """Permutes the columns of X by its seed, or rotates them, or says that training diverged."""

    def __init__(self, rotate=False, random_state=None, diverges=()):
        self.rotate = rotate
        self.random_state = random_state
        self.diverges = diverges

    def fit(self, X, y=None):
        FITS.append(len(X))
        if self.random_state in self.diverges:
            raise TrainingDivergedError
        rng = np.random.default_rng(self.random_state)
        size = X.shape[1]
        self.matrix_ = np.eye(size)[rng.permutation(size)] * rng.choice([-1, 1], size)
        if self.rotate:
            self.matrix_ = np.linalg.qr(rng.normal(size=(size, size)))[0]
        return self

    def transform(self, X):
        return X @ self.matrix_


@pytest.fixture
def data():
    y = np.random.default_rng(0).integers(0, 5, (300, 4))
    return y.astype(float), y


def search_of(estimator, grid, data, **params):
    params = {"scoring": get_scorer("mig"), "cv": CV, "refit": False, **params}
    search = GridSearchCV(estimator, grid, **params).fit(*data)
    FITS.clear()
    return search


def test_ranking_prefers_models_that_agree(data):
    search = search_of(Mix(), {"rotate": [True, False], "random_state": SEEDS}, data)
    ranking = udr_ranking(search, *data)
    assert ranking.settings["params"] == [{"rotate": True}, {"rotate": False}]
    assert_array_equal(ranking.settings["rank_udr"], [2, 1])
    assert_array_equal(ranking.settings["n_models"], [3, 3])
    # Equal codes score 1 - alpha under the lasso, but for the correlations of a sample.
    assert_allclose(ranking.settings["mean_udr"][1], 0.9, atol=0.02)
    assert ranking.settings["mean_udr"][0] < 0.6
    rotated = [params["rotate"] for params in search.cv_results_["params"]]
    assert_array_equal(ranking.setting, np.where(rotated, 0, 1))
    assert ranking.best_params == search.cv_results_["params"][ranking.best_index]
    assert ranking.best_params["rotate"] is False


def test_ranking_is_the_mean_of_udr_scores_of_held_out_codes(data):
    X, y = data
    search = search_of(Mix(), {"random_state": SEEDS, "rotate": [True, False]}, data)
    ranking = udr_ranking(search, X, y, kind="spearman")
    expected = []
    for train, test in CV.split(X):
        codes = [Mix(True, seed).fit(X[train]).transform(X[test]) for seed in SEEDS]
        expected.append(udr_score(codes, kind="spearman"))
    rotated = [i for i, p in enumerate(search.cv_results_["params"]) if p["rotate"]]
    assert_allclose(ranking.udr[rotated], np.mean(expected, axis=0), rtol=1e-12)
    settings = ranking.settings
    row = ranking.setting[rotated[0]]
    assert_allclose(settings["mean_udr"][row], np.mean(expected))
    assert_allclose(settings["std_udr"][row], np.mean(expected, axis=0).std())


def test_ranking_takes_other_splits_and_no_labels(data):
    X, _ = data
    search = search_of(Mix(), {"random_state": SEEDS}, data)
    rows = np.arange(len(X))
    ranking = udr_ranking(search, X, cv=[(rows, rows)])
    assert FITS == [300, 300, 300]
    codes = [Mix(random_state=seed).fit_transform(X) for seed in SEEDS]
    assert_array_equal(ranking.udr, udr_score(codes))


def test_ranking_names_what_is_wrong_with_seeds(data):
    X, y = data
    without = search_of(Mix(), {"rotate": [True, False]}, data)
    with pytest.raises(ValueError, match=r"must be the seed.*got none among \['rotate'\]"):
        udr_ranking(without, X, y)
    with pytest.raises(ValueError, match="seed_param must be a parameter that the search varies"):
        udr_ranking(without, X, y, seed_param="seed")
    one = search_of(Mix(), {"rotate": [True, False], "random_state": [0]}, data)
    with pytest.raises(ValueError, match=r"two or more different values.*got \[0\] for"):
        udr_ranking(one, X, y)
    twice = search_of(Mix(), {"random_state": [0, 0]}, data)
    with pytest.raises(ValueError, match=r"each once, got \[0, 0\]"):
        udr_ranking(twice, X, y)


def test_ranking_takes_any_parameter_as_seed_and_any_search(data):
    grid = {"rotate": [False], "random_state": SEEDS}
    params = {"scoring": get_scorer("mig"), "cv": CV, "refit": False}
    search = RandomizedSearchCV(Mix(), grid, n_iter=3, random_state=0, **params).fit(*data)
    ranking = udr_ranking(search, *data, seed_param="random_state")
    assert ranking.udr.shape == (3,)
    assert ranking.settings["params"] == [{"rotate": False}]


def test_diverged_model_scores_zero_with_a_warning(data):
    search = search_of(Mix(), {"random_state": [0, 1, 2]}, data)
    search.estimator = Mix(diverges=(1,))
    with pytest.warns(DegenerateScoreWarning, match="diverged"):
        ranking = udr_ranking(search, *data)
    assert ranking.udr[1] == 0
    assert (ranking.udr[[0, 2]] > 0.8).all()
    search.estimator = Mix(diverges=(1, 2))
    with pytest.warns(DegenerateScoreWarning) as record:
        assert_array_equal(udr_ranking(search, *data).udr, [0, 0, 0])
    assert any("All siblings" in str(warning.message) for warning in record)


@pytest.fixture(scope="module")
def cached_search(tmp_path_factory):
    """A finished search over cached VAEs: (search, X, y, folder)."""
    y = np.random.default_rng(0).integers(0, 5, (240, 2))
    X = np.zeros((240, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    folder = tmp_path_factory.mktemp("cache")
    vae = BetaVAE(3, architecture="mlp", module__hidden_sizes=(32,), max_epochs=15, lr=0.01)
    model = Pipeline([("vae", vae), ("end", "passthrough")], memory=SweepMemory(folder))
    grid = {"vae__beta": [1.0, 50.0], "vae__random_state": [0, 1]}
    return search_of(model, grid, (X, y)), X, y, folder


@pytest.mark.slow
def test_ranking_of_a_cached_search_fits_nothing(cached_search):
    search, X, y, folder = cached_search
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("output.pkl")}
    assert len(times) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        one = udr_ranking(search, X, y)
        with parallel_config("threading"):
            two = udr_ranking(search, X, y, n_jobs=2)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("output.pkl")} == times
    assert_array_equal(one.udr, two.udr)
    assert one.best_params["vae__beta"] == 1.0


def test_codes_that_tell_nothing_are_left_out(cached_search):
    search, X, y, _ = cached_search
    # At beta = 50 the posterior is the prior: no code is informative.
    with pytest.warns(DegenerateScoreWarning, match="no informative code"):
        filtered = udr_ranking(search, X, y)
    assert_array_equal(filtered.udr[2:], [0, 0])
    unfiltered = udr_ranking(search, X, y, kl_threshold=None)
    assert (unfiltered.udr[2:] > 0).all()
