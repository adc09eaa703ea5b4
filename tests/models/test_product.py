"""ProductVAE: its terms, its supervision, what is refused, and that it makes codes modular."""

import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.metrics import (
    contraction_informativeness_score,
    get_scorer,
    informativeness_distance,
    modularity_distance,
)
from sklearn_disent.models import BetaVAE, ProductVAE
from sklearn_disent.models._product import factor_values, read_groups
from sklearn_disent.models.terms import contraction_term, pair_contraction

from .conftest import TINY

# What test_common.py sets.
COMMON_TESTS = {"ProductVAE": {"n_labeled": 0.5}, "ProductVAE-pairs": {"supervision": "pairs"}}


@pytest.fixture(scope="module")
def pairs(images):
    """Observations, labels, partners, and whether these have the same row and column."""
    X, y = images
    return X, y, np.roll(X, 1, axis=0), (y == np.roll(y, 1, axis=0)).astype(int)


# -- the terms -------------------------------------------------------------------------------


def test_factor_values_have_the_distances_of_factors():
    labels = torch.tensor([[0, 2], [1, 2], [2, 0]])
    discrete = torch.cdist(*[factor_values(labels, (3, 3), "discrete")] * 2)
    expected = [[0, 1, 2**0.5], [1, 0, 2**0.5], [2**0.5, 2**0.5, 0]]
    assert_allclose(discrete, expected, atol=1e-6)
    spread = torch.cdist(*[factor_values(labels, (3, 3), "range")] * 2)
    assert_allclose(spread[0], [0, 0.5, 2**0.5], atol=1e-6)


def test_contraction_of_pairs_equals_that_of_labels():
    rng = np.random.default_rng(0)
    labels = torch.from_numpy(rng.integers(0, 3, (2, 2)))
    codes = torch.from_numpy(rng.normal(size=(2, 4)) * 0.2)
    by_labels = contraction_term(factor_values(labels, (3, 3), "discrete"), codes, aggregate="max")
    same = (labels[:1] == labels[1:]).long()
    by_pair = pair_contraction(same, codes[:1], codes[1:])
    assert by_pair.item() == pytest.approx(by_labels.item())
    assert by_pair.item() > 0


def test_contraction_of_equal_codes_has_a_gradient_of_zero():
    codes = torch.zeros(1, 2, requires_grad=True)
    value = pair_contraction(torch.tensor([[0, 1]]), codes, torch.zeros(1, 2))
    assert value.item() == 1.0
    value.sum().backward()
    assert_array_equal(codes.grad, np.zeros((1, 2)))


@pytest.mark.parametrize("modularity", ["variance", "mean_pairwise", "diameter"])
@pytest.mark.parametrize("informativeness", ["mean", "max"])
def test_terms_equal_the_metrics_of_the_codes(images, modularity, informativeness):
    X, y = images
    model = ProductVAE(**TINY, modularity=modularity, informativeness=informativeness)
    # Next to no learning: the codes of the epoch are those of the end.
    model.set_params(batch_size=-1, max_epochs=1, lr=1e-12).fit(X, y)
    row, codes = model.history_[0], model.transform(X)[:, :2]
    aggregate = "max" if modularity == "diameter" else "mean"
    expected = modularity_distance(
        y, codes, deviation=modularity, groups=[[0], [1]], aggregate=aggregate
    )
    assert row["train_modularity"] == pytest.approx(expected, rel=1e-4)
    expected = informativeness_distance(
        y.astype(str), codes, quantity=f"{informativeness}_contraction"
    )
    assert row["train_informativeness"] == pytest.approx(expected, rel=1e-4)
    weights = {"reconstruction": 1.0, "kl": 1.0, "modularity": 10.0, "informativeness": 10.0}
    total = sum(weight * row[f"train_{name}"] for name, weight in weights.items())
    assert row["train_loss"] == pytest.approx(total, rel=1e-6)


# -- training --------------------------------------------------------------------------------


@pytest.mark.parametrize("supervision", ["labels", "pairs"])
def test_without_labels_it_is_the_beta_vae_bit_for_bit(images, supervision):
    X, y = images
    model = ProductVAE(**TINY, beta=2.0, supervision=supervision)
    plain = BetaVAE(**TINY, beta=2.0).fit(X)
    for labels in (np.full(y.shape, -1), np.full(y.shape, np.nan)):
        assert_array_equal(clone(model).fit(X, labels).transform(X), plain.transform(X))
    hidden = clone(model).set_params(n_labeled=0).fit(X, y)
    assert_array_equal(hidden.transform(X), plain.transform(X))


def test_pairs_use_no_more_than_same_or_different(images):
    X, y = images
    model = ProductVAE(**TINY, supervision="pairs")
    renamed = np.array([3, 0, 4, 1, 2])[y]
    assert_array_equal(
        clone(model).fit(X, y).transform(X), clone(model).fit(X, renamed).transform(X)
    )


@pytest.mark.parametrize(
    "params",
    [
        {"modularity": "diameter", "informativeness": "max"},
        {"modularity": "mean_pairwise", "factor_distance": "range"},
        {"groups": [[0, 2], [1]]},
        {"supervision": "pairs"},
        {"lambda_m": 0.0},
        {"n_labeled": 20},
    ],
    ids=lambda params: next(iter(params)),
)
def test_every_option_changes_the_codes(images, params):
    X, y = images
    codes = [ProductVAE(**TINY, **p).fit(X, y).transform(X) for p in ({}, params)]
    assert np.isfinite(codes).all()
    assert not np.allclose(*codes, atol=1e-5)


def test_missing_entries_and_small_rests_are_fine(images):
    X, y = images
    labels = np.where(np.random.default_rng(0).random(y.shape) < 0.7, -1, y)
    for supervision in ("labels", "pairs"):
        model = ProductVAE(**TINY, supervision=supervision).fit(X[:33], labels[:33])
        assert np.isfinite(model.transform(X)).all()


def test_given_pairs(pairs):
    X, y, X_pair, same = pairs
    model = ProductVAE(**TINY)
    by_hand = clone(model).fit(X, X_pair=X_pair, same=same)
    assert {"train_modularity", "train_informativeness"} <= set(by_hand.history_[-1])
    codes = by_hand.transform(X)
    assert_array_equal(clone(model).fit(X, y, X_pair=X_pair, same=same).transform(X), codes)
    assert_array_equal(clone(model).fit(X, X_pair=X_pair, same=same == 1).transform(X), codes)
    unknown = np.full(same.shape, -1)
    plain = BetaVAE(**TINY, beta=1.0).fit(X)
    no_terms = clone(model).fit(X, X_pair=X_pair, same=unknown)
    assert_allclose(no_terms.transform(X), plain.transform(X), atol=1e-6)


def test_warm_epochs_add_up(pairs):
    X, y, X_pair, same = pairs
    for fit_params in ({"y": y}, {"X_pair": X_pair, "same": same}):
        four = ProductVAE(**TINY).set_params(max_epochs=4).fit(X, **fit_params)
        half = ProductVAE(**TINY, warm_start=True).fit(X, **fit_params)
        half = pickle.loads(pickle.dumps(half)).fit(X, **fit_params)
        assert_array_equal(half.transform(X), four.transform(X))
        again = ProductVAE(**TINY).partial_fit(X, **fit_params).partial_fit(X, **fit_params)
        assert_array_equal(again.transform(X), four.transform(X))


@pytest.mark.parametrize("routing", [False, True])
def test_search_slices_given_pairs(pairs, routing):
    X, y, X_pair, same = pairs
    with config_context(enable_metadata_routing=routing):
        model = ProductVAE(**TINY)
        if routing:
            model.set_fit_request(X_pair=True, same=True)
        search = GridSearchCV(
            model,
            {"lambda_m": [1.0, 100.0]},
            scoring=get_scorer("product_modularity"),
            cv=KFold(2, shuffle=True, random_state=0),
        ).fit(X, y, X_pair=X_pair, same=same)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores[0] != scores[1]


# -- what is refused -------------------------------------------------------------------------


def test_wrong_supervision_is_refused(pairs):
    X, y, X_pair, same = pairs
    model = ProductVAE(**TINY)
    for fit_params, message in (
        ({}, "requires y to be passed"),
        ({"y": np.zeros_like(y)}, "single value"),
        ({"y": y + 0.5}, "whole numbers"),
        ({"y": np.hstack([y, y])}, "4 factors needs at least as many latents"),
        ({"X_pair": X_pair}, "X_pair and same together"),
        ({"y": y, "same": same}, "X_pair and same together"),
        ({"X_pair": X_pair, "same": same + 1}, "same must be 1, 0, or -1"),
        ({"X_pair": X_pair[1:], "same": same}, "one partner for each"),
        ({"X_pair": X_pair, "same": same[1:]}, "one row per observation"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, **fit_params)
    with pytest.raises(TypeError, match="pairs"):
        model.fit(X, y, pairs=X_pair)


@pytest.mark.parametrize(
    "groups", [[[0]], [[0], []], [[0], [0]], [[0], [3]], [[0, 1], [1, 2]], [[0], [-1]]]
)
def test_groups_that_do_not_fit_are_refused(groups):
    with pytest.raises(ValueError, match="groups must hold"):
        read_groups(groups, 2, 3)
    assert read_groups([[2, 0], [1]], 2, 3) == [[2, 0], [1]]


# -- what it is good for ---------------------------------------------------------------------


@pytest.mark.parametrize("supervision", ["labels", pytest.param("pairs", marks=pytest.mark.slow)])
def test_codes_become_modular(images, supervision):
    X, y = images
    params = {**TINY, "module__hidden_sizes": (32,), "max_epochs": 60, "lr": 3e-3}
    train, test = slice(0, 80), slice(80, None)
    scoring = get_scorer("product_modularity")

    def mean_scores(model):
        fitted = [clone(model).set_params(random_state=s).fit(X[train], y[train]) for s in range(2)]
        modular = [scoring(f, X[test], y[test]) for f in fitted]
        informed = [
            contraction_informativeness_score(y[test].astype(str), f.transform(X[test]))
            for f in fitted
        ]
        return np.mean(modular), np.mean(informed)

    modular, informed = mean_scores(ProductVAE(**params, supervision=supervision, lambda_m=100.0))
    plain, _ = mean_scores(BetaVAE(**params, beta=1.0))
    assert modular > plain + 0.05
    assert informed > 0.5
