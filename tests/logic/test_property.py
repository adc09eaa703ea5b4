"""Properties: formulas without data, and their lives as metric, scorer and objective."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.datasets import make_logical_codes
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.logic import (
    Equal,
    Exists,
    FiniteSet,
    Forall,
    FormulaError,
    Function,
    Guarantee,
    Property,
    Semantics,
    _frame,
    maps,
    properties,
)
from sklearn_disent.metrics import (
    disentanglement_report,
    get_scorer,
    modularity_distance,
    multimetric_scorer,
)
from sklearn_disent.models import BetaVAE

KINDS = [
    *("entanglement", "rotation", "duplicate", "complement", "misalignment"),
    *("redundancy", "contraction", "nonlinear", "constant", "random"),
]
GRID = [[0, 0], [0, 1], [1, 0], [1, 1]]
ENTANGLED = [[1, 2], [3, 4], [5, 6], [7, 8]]
IN_ORDER = {"groups": [[0], [1]]}


def modular(y, z):
    return Forall(
        y.columns,
        lambda k: Forall(y.samples, lambda s, t: (y(s)[k] == y(t)[k]) >> (z(s)[k] == z(t)[k])),
    )


def sample(n_samples=40, seed=0, n_codes=3):
    rng = np.random.default_rng(seed)
    factors = rng.integers(4, size=(n_samples, 2))
    return factors, factors @ rng.normal(size=(2, n_codes)) + rng.normal(size=(n_samples, n_codes))


# -- one property, three lives -----------------------------------------------------------------


def test_property_has_its_lives():
    rule = Property(modular)
    factors, codes = sample(60, n_codes=2)
    quantity = rule.quantity(factors, codes)
    assert type(quantity) is float
    assert rule.score(factors, codes) == np.exp(-quantity)
    assert rule.name == "modular"
    assert str(rule) == (
        "∀ k ∈ factors. ∀ s, t ∈ samples. (y(s)[k] = y(t)[k]) → (z(s)[k] = z(t)[k])"
    )
    assert rule.guarantee == Guarantee(True, True)
    report = disentanglement_report(
        factors,
        codes,
        metrics=["mig", rule],
        n_resamples=4,
        n_permutations=4,
        output="dict",
        random_state=0,
    )
    row = report["modular"]
    assert row["value"] == rule.score(factors, codes, code_scale="unit", factor_scale="unit")
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert 0 <= row["chance"] <= 1
    assert 0 < row["p_value"] <= 1
    model = PCA(2).fit(codes)
    scorer = multimetric_scorer(["mig", rule])
    assert scorer(model, codes, factors)["modular"] == get_scorer(rule)(model, codes, factors)
    guidance = rule.guidance(weight=10.0, n_labeled=0.5)
    vae = BetaVAE(n_components=2, guidance=guidance, max_epochs=2, random_state=0)
    assert "train_logic_modular" in vae.fit(codes, factors).history_[-1]


def test_weight_of_a_property_is_searched():
    factors, codes = sample(60, n_codes=4)
    rule = properties.one_latent_per_factor()
    vae = BetaVAE(n_components=2, guidance=rule.guidance(), max_epochs=1, random_state=0)
    search = GridSearchCV(
        vae,
        {"guidance__weight": [1.0, 1000.0]},
        scoring=get_scorer(rule),
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(codes, factors)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 2
    assert ((scores > 0) & (scores < 1)).all()


def test_scorer_takes_options_and_refuses_misspelt_ones():
    rule = properties.modularity_by_product()
    factors, codes = sample(50, n_codes=2)
    model = PCA(2).fit(codes)
    given = get_scorer(rule, code_scale="given")(model, codes, factors)
    assert given == rule.score(factors, model.transform(codes))
    with pytest.raises(TypeError, match="no option 'code_sale'"):
        get_scorer(rule, code_sale="given")


def test_scorers_do_not_choose_collapsed_codes():
    data = make_logical_codes("rotation", n_levels=6, random_state=0)
    rule = properties.modularity_by_product()
    small = 0.001 * data.codes
    assert rule.score(data.target, small, groups=data.blocks) > 0.999  # as published
    free = [
        rule.as_metric().value(data.target, codes, groups=data.blocks)
        for codes in (small, data.codes, 1000 * data.codes + 5)
    ]
    assert free == pytest.approx([free[0]] * 3)
    assert free[0] < 0.2


def test_property_survives_pickle_and_copy():
    factors, codes = sample()
    for rule in (Property(modular), properties.one_latent_per_factor()):
        for other in (pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
            assert str(other) == str(rule)
            assert other.quantity(factors, codes) == rule.quantity(factors, codes)


def test_link_turns_quantities_into_scores():
    factors = np.array(GRID)
    assert Property(modular, link="reciprocal").score(factors, ENTANGLED, **IN_ORDER) == 1 / 5
    own = Property(modular, link=lambda q: -q)
    assert own.score(factors, ENTANGLED, **IN_ORDER) == -4.0
    assert own.as_metric().bounds == (-np.inf, np.inf)


# -- values by hand ----------------------------------------------------------------------------


def test_perfect_codes_have_quantity_zero_by_default():
    # However steep the codes: the condition is sharp for factors.
    codes = np.array([[0, 0], [0, 1], [900, 0], [900, 1]])
    assert Property(modular).quantity(GRID, codes) == 0.0
    assert Property(modular).truth(GRID, codes) is True
    graded = Semantics(conditions={})
    assert Property(modular).quantity(GRID, codes, semantics=graded) == 899.0
    assert Property(modular, semantics=graded).guarantee == Guarantee(True, False)
    for rule in (properties.informativeness_by_injectivity(), properties.consistency()):
        assert rule.quantity(GRID, GRID, method="formula") == 0.0


def by_hand(factors, classes, codes):
    """Least sum over assignments of within-variance and squared error of a line."""
    costs = np.empty((factors.shape[1], codes.shape[1]))
    for k, d in np.ndindex(costs.shape):
        z, y = codes[:, d], factors[:, k]
        within = np.mean([z[classes[:, k] == v].var() for v in np.unique(classes[:, k])])
        line = LinearRegression().fit(z[:, None], y).predict(z[:, None])
        costs[k, d] = within + np.mean((line - y) ** 2)
    rows = range(len(costs))
    return min(costs[rows, p].sum() for p in itertools.permutations(range(costs.shape[1]), 3))


@pytest.mark.parametrize("kind", KINDS)
def test_end_to_end_property_equals_hand_computed_on_the_maps(kind):
    data = make_logical_codes(kind, n_levels=5, random_state=0)
    rule = properties.one_latent_per_factor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        ours = rule.quantity(data.factors, data.codes)
    assert ours == pytest.approx(by_hand(data.factors, data.target, data.codes), abs=1e-12)
    if kind in ("misalignment", "contraction", "redundancy"):  # permutations cost nothing
        assert ours < 1e-12


@pytest.mark.parametrize("forall", ["sum", "mean", "max"])
def test_assignment_is_the_best_of_all(forall):
    factors, codes = sample(30, n_codes=4)
    rule = Property(
        lambda y, z: Exists(
            z.assignments,
            lambda p: Forall(
                y.columns,
                lambda k: Forall(
                    y.pairs.where(lambda s, t: y(s)[k] == y(t)[k]),
                    lambda s, t: z(s)[p(k)] == z(t)[p(k)],
                ),
            ),
        ),
        semantics=Semantics(forall="mean", aggregators={"k": forall}),
    )
    costs = np.array(
        [
            [np.mean(np.concatenate([_gaps(z[y == v]) for v in np.unique(y)])) for z in codes.T]
            for y in factors.T
        ]
    )
    join = {"sum": np.sum, "mean": np.mean, "max": np.max}[forall]
    best = min(join(costs[[0, 1], p]) for p in map(list, itertools.permutations(range(4), 2)))
    assert rule.quantity(factors, codes) == pytest.approx(best)
    assert rule.quantity(factors, codes[:, :1]) == np.inf  # no code for one of the factors


def _gaps(z):
    return np.abs(z[:, None] - z).ravel()


def test_property_of_columns_and_their_list():
    listed = Property(
        lambda y, z: (
            Forall(y.samples, lambda s, t: (y(s)[0] == y(t)[0]) >> (z(s)[0] == z(t)[0]))
            & Forall(y.samples, lambda s, t: (y(s)[1] == y(t)[1]) >> (z(s)[1] == z(t)[1]))
        )
    )
    quantity = listed.quantity(GRID, ENTANGLED, **IN_ORDER)
    assert quantity == 6.0
    every = Property(modular, semantics=Semantics(aggregators={"k": "sum"}))
    assert every.quantity(GRID, ENTANGLED, **IN_ORDER) == quantity


def test_implication_under_mean_is_diluted_by_the_share_of_pairs():
    factors, codes = sample()
    mean = Semantics(forall="mean", aggregators={"k": "sum"})
    one, codes = factors[:, :1], codes[:, :1]
    implied = Property(modular, semantics=mean).quantity(one, codes)
    among = Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(
                y.pairs.where(lambda s, t: y(s)[k] == y(t)[k]), lambda s, t: z(s)[k] == z(t)[k]
            ),
        ),
        semantics=mean,
    ).quantity(one, codes)
    assert implied == pytest.approx(among * np.mean(one == one.T))


# -- the paper's own formulas, solved on its own grid --------------------------------------------


@pytest.mark.parametrize(
    ("semantics", "deviation"),
    [
        (Semantics(), "radius"),
        (Semantics(forall="mean"), "mad"),
        (Semantics("squared_euclidean", forall="mean"), "variance"),
        (Semantics(forall="mean_square"), "variance"),
    ],
)
def test_product_function_is_solved_on_the_grid_of_the_paper(semantics, deviation):
    data = make_logical_codes("entanglement")
    Y = FiniteSet(data.factors, "Y")
    m = Function("m", Y, data.codes)
    product = [
        Exists(maps(), lambda f, i=i: Forall(Y, lambda y: m(y)[i] == f(y[i]))) for i in range(3)
    ]
    assert str(product[0]) == "∃ f ∈ maps. ∀ y ∈ Y. m(y)[0] = f(y[0])"
    quantity = sum(p.quantity(semantics) for p in product)
    expected = modularity_distance(data.target, data.codes, groups=data.blocks, deviation=deviation)
    assert len(Y) == 11**3
    assert quantity == pytest.approx(expected, rel=1e-9)


def test_left_inverse_is_solved_on_the_grid_of_the_paper():
    data = make_logical_codes("nonlinear")
    Y = FiniteSet(data.factors, "Y")
    m = Function("m", Y, data.codes)
    linear = Exists(maps("affine"), lambda h: Forall(Y, lambda y: h(m(y)) == y))
    assert np.exp(-linear.quantity()) == pytest.approx(0.805, abs=0.001)  # the exact optimum
    exact = Exists(maps(), lambda h: Forall(Y, lambda y: h(m(y)) == y))
    assert exact.quantity() == 0.0
    assert exact.truth() is True


def test_regressor_may_be_the_inverse():
    from sklearn.neighbors import KNeighborsRegressor

    factors, codes = sample(50)
    rule = properties.informativeness_by_inverse("mse", KNeighborsRegressor(3))
    assert rule.quantity(factors, codes, method="formula") == pytest.approx(
        rule.quantity(factors, codes)
    )
    assert rule.guarantee == Guarantee(True, False)
    tensor = torch.tensor(codes, requires_grad=True)
    with pytest.raises(FormulaError, match="have no derivative"):
        rule.quantity(factors, tensor)


# -- bounded memory ----------------------------------------------------------------------------


def test_pieces_and_tables_agree(monkeypatch):
    factors, codes = sample(50)
    rules = [properties.consistency(), properties.restrictiveness("max"), Property(modular)]
    whole = [rule.quantity(factors, codes) for rule in rules]
    monkeypatch.setattr(_frame, "CHUNK", 200)
    assert [rule.quantity(factors, codes) for rule in rules] == pytest.approx(whole, rel=1e-12)


def test_drawn_pairs_have_a_stated_error():
    factors, codes = sample(400)
    rule = properties.consistency()
    exact = rule.evaluate(factors, codes, n_pairs=None)
    assert exact == (rule.quantity(factors, codes), 0.0)
    drawn = [rule.evaluate(factors, codes, n_pairs=5000, random_state=i) for i in range(20)]
    errors = np.array([d.error for d in drawn])
    off = np.array([d.quantity for d in drawn]) - exact.quantity
    assert (errors > 0).all()
    assert np.abs(off / errors).mean() == pytest.approx(0.8, abs=0.5)  # of a normal variable
    again = rule.evaluate(factors, codes, n_pairs=5000, random_state=3)
    assert again == drawn[3]


@pytest.mark.slow
def test_hundred_thousand_rows_work():
    rng = np.random.default_rng(0)
    factors = rng.integers(5, size=(100_000, 2))
    codes = factors + 0.1 * rng.normal(size=factors.shape)
    found = properties.consistency().evaluate(factors, codes, n_pairs=2**20)
    assert 0 < found.error < 1e-3 < found.quantity


# -- errors show the place -----------------------------------------------------------------------


def place(formula, factors=GRID, codes=ENTANGLED):
    with pytest.raises(FormulaError) as caught:
        Property(formula).quantity(factors, codes, assignment="in_order")
    return str(caught.value)


def test_unbound_variable_is_refused_when_written():
    kept = []

    def formula(y, z):
        Forall(y.samples, lambda s: kept.append(s) or (z(s) == z(s)))
        return Forall(y.samples, lambda t: z(t)[0] == z(kept[0])[0])

    with pytest.raises(FormulaError, match="variable s is not bound") as caught:
        Property(formula)
    assert "∀ t ∈ samples. z(t)[0] = z(▸s◂)[0]" in str(caught.value)


def test_sorts_that_do_not_fit_are_refused_when_written():
    with pytest.raises(FormulaError, match="never the same") as caught:
        Property(lambda y, z: Forall(y.samples, lambda s: y(s) == z(s)))
    assert "▸y(s) = z(s)◂" in str(caught.value)
    Property(lambda y, z: Forall(y.samples, lambda s: Equal(y(s), z(s), on="codes")))
    with pytest.raises(FormulaError, match="numbered by integers, or by variables"):
        Property(
            lambda y, z: Forall(z.columns, lambda d: Forall(y.samples, lambda s: y(s)[d] == 1))
        )
    with pytest.raises(FormulaError, match="must be a variable over"):
        Property(lambda y, z: Forall(y.columns, lambda k: z(k) == 0))
    with pytest.raises(FormulaError, match=r"write y.values\(k\)"):
        Property(lambda y, z: Forall(z.values(0), lambda v: v == 0))


def test_empty_sets_are_refused_with_their_place():
    text = place(
        lambda y, z: Forall(y.samples.where(lambda s: y(s)[0] == 7), lambda s: z(s)[0] == 0)
    )
    assert "is empty for these data" in text
    assert "∀ s ∈ ▸{s ∈ samples | y(s)[0] = 7}◂" in text


def test_missing_parts_are_refused_with_their_place():
    text = place(lambda y, z: Forall(y.samples, lambda s: z(s)[5] == 0))
    assert "z(s)[5] does not exist: there are 2 factors, got 5" in text.replace("▸", "")
    assert "∀ s ∈ samples. ▸z(s)[5]◂ = 0" in text
    text = place(lambda y, z: Forall(y.samples, lambda s: z(s) == 0))
    assert "Cannot compare values of shapes (2,) and ()" in text


def test_missing_labels_are_refused():
    with pytest.raises(ValueError, match="factors must not"):
        Property(modular).quantity([[0, np.nan], [1, 0]], [[0.0, 1], [1, 1]])
    with pytest.raises(FormulaError, match="needs labels, but only pairs are given") as caught:
        properties.equivariance().quantity_of_pairs([[0, 1]], [[1]], [[0.0], [1.0]])
    assert "▸y(s)[k]◂" in str(caught.value)


def test_unknowns_that_cannot_be_solved_for_are_refused():
    text = place(lambda y, z: Exists(z.space, lambda c: Forall(y.samples, lambda s: ~(z(s) == c))))
    assert "cannot be solved for within" in text
    assert "▸¬(z(s) = c)◂" in text
    rule = properties.modularity_by_product()
    with pytest.raises(FormulaError, match="cannot be solved for with the premetric"):
        rule.quantity(
            GRID, ENTANGLED, semantics=Semantics(forall="mean", aggregators={"s": _cubes})
        )
    with pytest.raises(FormulaError, match="two unknowns"):
        Property(
            lambda y, z: Exists(
                maps(), lambda f, g: Forall(y.samples, lambda s: f(y(s)[0]) == g(y(s)[1]))
            )
        ).quantity(GRID, ENTANGLED)


def _cubes(values, axis):
    return np.mean(values**3, axis=axis)


def test_formula_must_be_a_predicate():
    with pytest.raises(TypeError, match="must return a predicate"):
        Property(lambda y, z: True)
    with pytest.raises(TypeError, match="not a set of functions"):
        Property(lambda y, z: Forall(y.samples, lambda s: s(0) == 1))
    with pytest.raises(FormulaError, match="has no data"):
        Property(modular).formula.quantity()


def test_single_valued_factor_is_left_out_as_in_metrics():
    factors, codes = sample(30)
    factors[:, 1] = 2
    rule = properties.modularity_by_product()
    with pytest.warns(DegenerateScoreWarning, match="single"):
        formula = rule.quantity(factors, codes, method="formula")
    with pytest.warns(DegenerateScoreWarning, match="single"):
        assert_allclose(formula, rule.quantity(factors, codes))
