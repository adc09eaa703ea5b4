"""A logical property as guidance."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_disent.logic import Forall, Property, Semantics, properties
from sklearn_disent.models import VAE, BetaVAE, LinearSchedule, Logic, ProductVAE

RNG = np.random.default_rng(0)
Y = RNG.integers(4, size=(120, 2))
X = np.eye(8)[Y[:, 0]] + np.eye(8)[Y[:, 1] + 4] + 0.1 * RNG.normal(size=(120, 8))
COMMON = {"n_components": 2, "max_epochs": 2, "batch_size": 40, "random_state": 0}
TERM = "train_logic_modularity_by_product_variance"


def modular(**params):
    return properties.modularity_by_product().guidance(**params)


def test_two_properties_are_the_product_vae():
    guidance = [
        modular(weight=10.0),
        properties.informativeness_by_injectivity().guidance(
            weight=10.0, factor_distance="discrete"
        ),
    ]
    guided = VAE(guidance=guidance, **COMMON).fit(X, Y)
    product = ProductVAE(**COMMON).fit(X, Y)
    np.testing.assert_allclose(guided.transform(X), product.transform(X), atol=1e-5)
    logged = guided.history_[:, "train_logic_1_modularity_by_product_variance"]
    np.testing.assert_allclose(logged, product.history_[:, "train_modularity"], rtol=1e-5)


def test_closed_form_and_formula_train_alike():
    rule = properties.modularity_by_product()
    slow = rule.with_semantics(rule.semantics)  # the same formula, without its closed form
    codes = [BetaVAE(guidance=Logic(r), **COMMON).fit(X, Y).transform(X) for r in (rule, slow)]
    np.testing.assert_allclose(*codes, atol=1e-5)


@pytest.mark.slow
def test_guidance_lowers_the_quantity():
    rule = properties.one_latent_per_factor()
    options = {**COMMON, "max_epochs": 15, "lr": 1e-2}
    plain = BetaVAE(**options).fit(X)
    guided = BetaVAE(guidance=rule.guidance(weight=100.0, code_scale="unit"), **options).fit(X, Y)
    quantity = [rule.as_metric().value(Y, model.transform(X)) for model in (plain, guided)]
    assert quantity[1] > quantity[0] + 0.1  # scores


def test_without_labels_the_loss_is_that_of_the_unguided_model():
    unknown = np.where(np.arange(120)[:, None] < 1, Y, -1)  # one row says nothing about others
    guided = BetaVAE(guidance=modular(), **COMMON).fit(X, unknown)
    plain = BetaVAE(**COMMON).fit(X)
    assert np.array_equal(guided.transform(X), plain.transform(X))
    assert TERM not in guided.history_[-1]


def test_number_of_labels_and_their_seed_matter():
    few = [
        BetaVAE(guidance=modular(n_labeled=n), **COMMON).fit(X, Y).transform(X)
        for n in (0.5, 60, 0.9)
    ]
    assert np.array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])


def test_pairs_use_nothing_but_sameness():
    rule = properties.modularity_by_pairs()
    other = np.array([3, 1, 0, 2])[Y]  # other numbers for the same classes
    codes = [
        BetaVAE(guidance=rule.guidance(supervision="pairs"), **COMMON).fit(X, y).transform(X)
        for y in (Y, other)
    ]
    assert np.array_equal(*codes)
    with pytest.raises(ValueError, match="needs labels, but only pairs"):
        BetaVAE(guidance=modular(supervision="pairs"), **COMMON).fit(X, Y)


def test_memory_holds_the_latest_labelled_rows():
    vae = BetaVAE(guidance=modular(memory=50, n_labeled=0.2), **COMMON).fit(X, Y)
    guide = vae.guidance_["logic"]
    assert len(guide._old_rows) == len(set(guide._old_rows)) == 24
    assert np.array_equal(guide._old_labels, Y[guide._old_rows])
    plain = BetaVAE(guidance=modular(n_labeled=0.2), **COMMON).fit(X, Y)
    assert not np.array_equal(plain.transform(X), vae.transform(X))
    again = BetaVAE(guidance=modular(memory=50, n_labeled=0.2), **COMMON).fit(X, Y)
    assert np.array_equal(again.transform(X), vae.transform(X))


def test_memory_lets_single_labelled_rows_count():
    # In batches of two rows, hardly two of the twelve that have labels meet.
    options = {**COMMON, "batch_size": 2, "max_epochs": 1}
    logged = []
    for memory in (0, 12):
        vae = BetaVAE(guidance=modular(memory=memory, n_labeled=12), **options).fit(X, Y)
        logged.append(vae.history_[-1].get(TERM, 0.0))
    assert logged[1] > logged[0]


def test_batch_that_says_nothing_is_true():
    apart = np.arange(120)[:, None].repeat(2, axis=1)  # no two rows have the same factor
    guidance = properties.modularity_by_pairs().guidance(supervision="pairs")
    vae = BetaVAE(guidance=guidance, **COMMON).fit(X, apart)
    assert vae.history_[-1, "train_logic_modularity_by_pairs_variance"] == 0.0


def test_groups_and_weights_of_schedules():
    schedule = LinearSchedule(0.0, 10.0, 4)
    guidance = modular(groups=[[0, 2], [1]], weight=schedule)
    vae = BetaVAE(guidance=guidance, **{**COMMON, "n_components": 4}).fit(X, Y)
    assert vae.history_[-1, TERM] > 0
    with pytest.raises(ValueError, match="groups must hold different latents"):
        vae.set_params(guidance__groups=[[0], [0]]).fit(X, Y)


def test_parameters_are_checked_and_cloned():
    vae = BetaVAE(guidance=modular(weight=3.0), **COMMON)
    copied = clone(vae).set_params(guidance__weight=5.0)
    assert vae.guidance.weight == 3.0
    assert str(copied.guidance.rule) == str(vae.guidance.rule)
    with pytest.raises(ValueError, match="'weight' parameter of Logic"):
        BetaVAE(guidance=modular(weight=-1.0), **COMMON).fit(X, Y)
    with pytest.raises(ValueError, match="'rule' parameter of Logic"):
        BetaVAE(guidance=Logic("modular"), **COMMON).fit(X, Y)


def test_missing_labels_are_refused():
    with pytest.raises(ValueError, match="requires y"):
        BetaVAE(guidance=modular(), **COMMON).fit(X)
    with pytest.raises(ValueError, match=r"no row has a label of factors \[1\]"):
        BetaVAE(guidance=modular(), **COMMON).fit(X, np.column_stack([Y[:, 0], np.full(120, -1)]))
    with pytest.raises(ValueError, match="2 factors need as many codes"):
        BetaVAE(guidance=modular(), **{**COMMON, "n_components": 1}).fit(X, Y)


def test_partial_fit_keeps_the_number_of_factors():
    vae = BetaVAE(guidance=modular(), **COMMON).fit(X, Y)
    vae.partial_fit(X, Y)
    assert len(vae.history_) == 4
    with pytest.raises(ValueError, match="keeps its 2 factors, got 1"):
        vae.partial_fit(X, Y[:, :1])


def test_own_formula_with_continuous_labels():
    rule = Property(
        lambda y, z: Forall(y.samples, lambda s, t: (y(s)[0] == y(t)[0]) >> (z(s) == z(t))),
        semantics=Semantics(forall="mean", conditions={}),
        name="smooth",
    )
    labels = RNG.normal(size=120)
    vae = BetaVAE(guidance=rule.guidance(factor_distance="given"), **COMMON).fit(X, labels)
    assert "train_logic_smooth" in vae.history_[-1]


def test_diameter_with_maximum_warns():
    with pytest.warns(UserWarning, match="codes tend to collapse"):
        ProductVAE(modularity="diameter", informativeness="max", **COMMON).fit(X, Y)


def test_model_is_saved_without_the_rule(tmp_path):
    vae = BetaVAE(guidance=modular(), **COMMON).fit(X, Y)
    with pytest.raises(TypeError, match=r"without=\['guidance'\]"):
        vae.save_pretrained(tmp_path / "refused")
    vae.save_pretrained(tmp_path / "model", without=["guidance"])
    loaded = BetaVAE.from_pretrained(tmp_path / "model", guidance=modular())
    np.testing.assert_allclose(loaded.transform(X), vae.transform(X), atol=1e-6)
