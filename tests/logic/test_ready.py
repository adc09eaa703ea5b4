"""Ready properties: equal to their closed forms, on NumPy and torch, in value and gradient."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.datasets import make_logical_codes
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.logic import properties
from sklearn_disent.metrics import informativeness_distance, modularity_distance
from sklearn_disent.models import terms

MODULARITY = {
    "variance": properties.modularity_by_product("variance"),
    "radius": properties.modularity_by_product("radius"),
    "mad": properties.modularity_by_product("mad"),
    "diameter": properties.modularity_by_constancy("diameter"),
    "mean_pairwise": properties.modularity_by_constancy("mean_pairwise"),
}
INFORMATIVENESS = {
    "mse": properties.informativeness_by_inverse("mse"),
    "mae": properties.informativeness_by_inverse("mae"),
    "max_error": properties.informativeness_by_inverse("max_error"),
    "mean_contraction": properties.informativeness_by_injectivity("mean"),
    "max_contraction": properties.informativeness_by_injectivity("max"),
}
PAIRS = {d: properties.modularity_by_pairs(d) for d in ("variance", "mean_pairwise", "diameter")}
OTHERS = [
    *(properties.consistency(a) for a in ("mean", "max")),
    *(properties.restrictiveness(a) for a in ("mean", "max")),
    properties.disentanglement(),
    properties.completeness(),
    properties.completeness("equal_codes"),
    properties.equivariance(),
    properties.one_latent_per_factor(),
    properties.informativeness_by_inverse("mse", "equal_codes"),
]
READY = [*MODULARITY.values(), *INFORMATIVENESS.values(), *PAIRS.values(), *OTHERS]
ids = pytest.mark.parametrize("rule", READY, ids=lambda rule: rule.name)


@st.composite
def tables(draw, max_samples=14):
    """Few samples of two factors and three codes, some of which repeat."""
    n = draw(st.integers(5, max_samples))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    factors = rng.integers(draw(st.integers(2, 4)), size=(n, 2))
    factors[:2] = [[0, 0], [1, 1]]  # none is single-valued
    codes = rng.normal(size=(n, 3)) if draw(st.booleans()) else rng.integers(3, size=(n, 3))
    return factors, codes.astype(float)


@pytest.mark.parametrize("deviation", MODULARITY)
@settings(max_examples=15, deadline=None)
@given(table=tables(), scale=st.sampled_from(["given", "unit"]))
def test_modularity_metric_equals_its_property(deviation, table, scale):
    factors, codes = table
    options = {"groups": [[0, 2], [1]], "code_scale": scale}
    metric = modularity_distance(factors, codes, deviation=deviation, **options)
    formula = MODULARITY[deviation].quantity(factors, codes, method="formula", **options)
    assert formula == pytest.approx(metric, abs=1e-9)
    assert MODULARITY[deviation].quantity(factors, codes, **options) == metric


@pytest.mark.parametrize("quantity", INFORMATIVENESS)
@settings(max_examples=15, deadline=None)
@given(table=tables(), scale=st.sampled_from(["given", "unit"]))
def test_informativeness_metric_equals_its_property(quantity, table, scale):
    factors, codes = table
    metric = informativeness_distance(factors, codes, quantity=quantity, code_scale=scale)
    rule = INFORMATIVENESS[quantity]
    formula = rule.quantity(factors, codes, method="formula", code_scale=scale)
    assert formula == pytest.approx(metric, abs=1e-7)  # the minimax fit proves its optimum to 1e-9
    assert rule.quantity(factors, codes, code_scale=scale) == metric


@pytest.mark.parametrize("name", ["mse", "mae", "max_error"])
@settings(max_examples=10, deadline=None)
@given(table=tables())
def test_inverse_by_equal_codes_equals_its_property(name, table):
    rule = properties.informativeness_by_inverse(name, "equal_codes")
    metric = informativeness_distance(*table, quantity=name, inverse="equal_codes")
    assert rule.quantity(*table, method="formula") == pytest.approx(metric, abs=1e-9)


def test_classes_without_order_are_at_distance_one():
    factors = np.array([["a"], ["b"], ["c"], ["a"]], dtype=object)
    codes = np.array([[0.0], [0.5], [2.0], [0.1]])
    for rule in INFORMATIVENESS.values():
        formula = rule.quantity(factors, codes, method="formula")
        assert formula == pytest.approx(rule.quantity(factors, codes), abs=1e-7)


TERMS = {
    "variance": terms.variance_term,
    "diameter": terms.diameter_term,
    "mean_pairwise": terms.mean_pairwise_term,
}


def value_and_gradient(function, codes):
    codes = torch.tensor(codes, dtype=torch.float64, requires_grad=True)
    value = function(codes)
    (gradient,) = torch.autograd.grad(value, codes)
    return value.item(), gradient.numpy()


@pytest.mark.parametrize("deviation", TERMS)
@settings(max_examples=15, deadline=None)
@given(table=tables())
def test_modularity_term_equals_its_property(deviation, table):
    factors, codes = table
    rng = np.random.default_rng(0)
    codes = codes + rng.normal(size=codes.shape)  # without ties, so that gradients are unique
    groups = [[0, 2], [1]]
    classes = torch.as_tensor(factors)
    term = value_and_gradient(lambda z: TERMS[deviation](classes, z, groups=groups), codes)
    rule = MODULARITY[deviation]
    for method in ("formula", "auto"):
        ours = value_and_gradient(
            lambda z, method=method: rule.quantity(factors, z, groups=groups, method=method), codes
        )
        assert ours[0] == pytest.approx(term[0], abs=1e-10)
        np.testing.assert_allclose(ours[1], term[1], atol=1e-9)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@settings(max_examples=10, deadline=None)
@given(table=tables())
def test_contraction_term_equals_its_property(aggregate, table):
    factors, codes = table
    codes = codes + np.random.default_rng(0).normal(size=codes.shape)
    values = torch.as_tensor(factors, dtype=torch.float64)
    term = value_and_gradient(
        lambda z: terms.contraction_term(values, z, aggregate=aggregate), codes
    )
    rule = properties.informativeness_by_injectivity(aggregate)
    ours = value_and_gradient(lambda z: rule.quantity(factors, z, method="formula"), codes)
    assert ours[0] == pytest.approx(term[0], abs=1e-10)
    np.testing.assert_allclose(ours[1], term[1], atol=1e-9)


CLOSED = {**MODULARITY, **INFORMATIVENESS}


@pytest.mark.parametrize("name", CLOSED)
@settings(max_examples=5, deadline=None, derandomize=True)  # none of these is near an edge
@given(table=tables(), seed=st.integers(0, 2**16))
def test_slope_of_a_formula_is_that_of_its_metric(name, table, seed):
    factors, codes = table
    rng = np.random.default_rng(seed)
    codes = codes + rng.normal(size=codes.shape)
    direction = rng.normal(size=codes.shape)
    rule, options = CLOSED[name], {"groups": [[0, 2], [1]]}
    _, gradient = value_and_gradient(
        lambda z: rule.quantity(factors, z, method="formula", **options), codes
    )
    step = 1e-5
    ends = [rule.quantity(factors, codes + h * direction, **options) for h in (step, -step)]
    slope = (ends[0] - ends[1]) / (2 * step)
    # The minimax fit proves its optimum to 1e-9, which leaves 1e-4 of a slope.
    assert (gradient * direction).sum() == pytest.approx(slope, abs=1e-4 if "max" in name else 1e-6)


@pytest.mark.parametrize("deviation", PAIRS)
@settings(max_examples=10, deadline=None)
@given(table=tables())
def test_pair_term_equals_its_property(deviation, table):
    factors, codes = table
    codes = codes + np.random.default_rng(0).normal(size=codes.shape)
    n = len(codes)
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    same = factors[pairs[:, 0]] == factors[pairs[:, 1]]
    if not same.any(axis=0).all():
        return  # the property has nothing to say, and says so
    groups = [[0, 2], [1]]

    def term(z):
        return terms.same_pair_term(
            torch.as_tensor(same), z[:-1], z[1:], groups=groups, deviation=deviation
        )

    expected = value_and_gradient(term, codes)
    ours = value_and_gradient(
        lambda z: PAIRS[deviation].quantity_of_pairs(pairs, same, z, groups=groups), codes
    )
    assert ours[0] == pytest.approx(expected[0], abs=1e-10)
    np.testing.assert_allclose(ours[1], expected[1], atol=1e-9)


# -- NumPy and torch -----------------------------------------------------------------------------


@ids
@pytest.mark.parametrize("scale", ["given", "unit"])
def test_numpy_and_torch_agree(rule, scale):
    data = make_logical_codes("entanglement", n_levels=4, random_state=0)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(data.codes))[:24]
    factors, codes = data.factors[rows], data.codes[rows] + 0.1 * rng.normal(size=(24, 3))
    options = {"groups": data.blocks, "code_scale": scale}
    expected = rule.quantity(factors, codes, **options)
    for method in ("formula", "auto"):
        for given_factors in (factors, torch.as_tensor(factors)):
            ours = rule.quantity(given_factors, torch.as_tensor(codes), method=method, **options)
            assert ours.dtype is torch.float64
            assert ours.item() == pytest.approx(expected, abs=1e-10)


@ids
def test_gradients_equal_differences(rule):
    rng = np.random.default_rng(1)
    factors = rng.integers(3, size=(10, 2))
    codes = factors @ rng.normal(size=(2, 2)) + 0.3 * rng.normal(size=(10, 2))
    if rule.name == "completeness" and "affine" not in str(rule):
        codes = codes.round()  # equal codes, whose classes a small change must not tear apart
    if "∈ maps" in str(rule):
        pytest.skip("a function that is a table has no slope")
    options = {"groups": [[0], [1]], "method": "formula", "code_scale": "unit"}
    _, gradient = value_and_gradient(lambda z: rule.quantity(factors, z, **options), codes)
    # A wrong entry shows in almost every direction.
    step, directions = 1e-6, rng.normal(size=(4, *codes.shape))
    for direction in directions:
        ends = [rule.quantity(factors, codes + h * direction, **options) for h in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert (gradient * direction).sum() == pytest.approx(slope, abs=1e-6)


@ids
def test_gradients_are_finite_where_codes_coincide(rule):
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2)
    codes = torch.zeros((8, 2), dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        value = rule.quantity(factors, codes, groups=[[0], [1]], method="formula")
    if value.requires_grad:
        value.backward()
        assert torch.isfinite(codes.grad).all()


# -- what each says ------------------------------------------------------------------------------


@ids
def test_perfect_codes_satisfy_every_property(rule):
    data = make_logical_codes("contraction", n_levels=3)
    perfect = 2.0 * data.factors - 1.0
    assert rule.quantity(data.factors, perfect, groups=[[0], [1], [2]]) < 1e-12
    assert rule.guarantee.zero_implies_true
    assert rule.reference


def test_each_property_finds_its_fault():
    data = {k: make_logical_codes(k, n_levels=4, random_state=0) for k in ("rotation", "constant")}
    rotated, constant = data["rotation"], data["constant"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        for rule in (*MODULARITY.values(), *PAIRS.values(), properties.disentanglement()):
            assert rule.quantity(rotated.factors, rotated.codes, groups=rotated.blocks) > 0.01
            assert rule.quantity(constant.factors, constant.codes, groups=constant.blocks) == 0
        for rule in (*INFORMATIVENESS.values(), properties.consistency()):
            assert rule.quantity(constant.factors, constant.codes, groups=constant.blocks) > 0.01
    assert properties.restrictiveness().quantity(rotated.factors, rotated.codes) > 0.01
    assert properties.completeness().quantity(rotated.factors, rotated.codes) > 0.01
    assert properties.equivariance().quantity(rotated.factors, rotated.codes) > 0.01


def test_disentanglement_and_completeness_differ_as_in_dci():
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    twice = np.hstack([factors, factors])  # two codes for every factor, each about one
    assert properties.disentanglement().quantity(factors, twice) == 0.0
    joint = np.column_stack([factors @ [2.0, 1.0], factors[:, 0]])  # a code about both
    assert properties.disentanglement().quantity(factors, joint) > 0.1
    assert properties.completeness("equal_codes").quantity(factors, joint) == 0.0
