"""Differentiable twins of the logical metrics."""

import numpy as np
import pytest
import torch

from sklearn_disent.datasets import make_logical_codes
from sklearn_disent.metrics import informativeness_distance, modularity_distance
from sklearn_disent.models.terms import (
    contraction_term,
    diameter_term,
    mean_pairwise_term,
    same_pair_term,
    variance_term,
)

MODULARITY = {
    "variance": variance_term,
    "diameter": diameter_term,
    "mean_pairwise": mean_pairwise_term,
}
KINDS = ("entanglement", "duplicate", "redundancy", "constant", "random")


def sample(n_samples=12, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.integers(3, size=(n_samples, 2))
    return factors, rng.normal(size=(n_samples, 3))


def tensors(factors, codes):
    return torch.as_tensor(factors), torch.tensor(codes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("deviation", MODULARITY)
@pytest.mark.parametrize("kind", KINDS)
def test_modularity_terms_equal_the_metric(deviation, kind):
    data = make_logical_codes(kind, n_levels=6, random_state=0)
    for aggregate in ("mean", "max", "sum"):
        options = {"groups": data.blocks, "aggregate": aggregate}
        ours = MODULARITY[deviation](*tensors(data.target, data.codes), **options)
        metric = modularity_distance(data.target, data.codes, deviation=deviation, **options)
        assert ours.item() == pytest.approx(metric, abs=1e-6)


@pytest.mark.parametrize("deviation", MODULARITY)
def test_modularity_terms_aggregate_as_the_metric_by_default(deviation):
    factors, codes = sample(40)
    ours = MODULARITY[deviation](*tensors(factors, codes[:, :2]))
    metric = modularity_distance(factors, codes[:, :2], deviation=deviation, groups=[[0], [1]])
    assert ours.item() == pytest.approx(metric, abs=1e-12)


@pytest.mark.parametrize("aggregate", ["max", "mean"])
@pytest.mark.parametrize("kind", [*KINDS, "contraction"])
def test_contraction_term_equals_the_metric(aggregate, kind):
    data = make_logical_codes(kind, n_levels=6, random_state=0)
    values = torch.as_tensor(data.factors)
    ours = contraction_term(values, torch.as_tensor(data.codes), aggregate=aggregate)
    metric = informativeness_distance(data.factors, data.codes, quantity=f"{aggregate}_contraction")
    assert ours.item() == pytest.approx(metric, abs=1e-6)


@pytest.mark.parametrize("deviation", MODULARITY)
@pytest.mark.parametrize("aggregate", ["mean", "max", "sum"])
def test_modularity_terms_pass_gradcheck(deviation, aggregate):
    factors, codes = tensors(*sample())

    def term(z):
        return MODULARITY[deviation](factors, z, groups=[[0, 2], [1]], aggregate=aggregate)

    assert torch.autograd.gradcheck(term, (codes,))


@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_contraction_term_passes_gradcheck(aggregate):
    factors, codes = tensors(*sample())
    values = factors.double()
    assert torch.autograd.gradcheck(
        lambda z: contraction_term(values, z, aggregate=aggregate), (codes,)
    )


@pytest.mark.parametrize("deviation", MODULARITY)
def test_pair_term_passes_gradcheck_and_equals_classes_of_two(deviation):
    factors, codes = sample(20)
    same = factors[:10] == factors[10:]
    first, second = (torch.tensor(z, requires_grad=True) for z in np.split(codes, 2))
    options = {"groups": [[0, 2], [1]], "deviation": deviation}
    assert torch.autograd.gradcheck(
        lambda a, b: same_pair_term(torch.as_tensor(same), a, b, **options), (first, second)
    )
    # Pairs of the same value share a class, all other samples are alone.
    classes = np.arange(20)[:, None].repeat(2, axis=1)
    classes[10:][same] = classes[:10][same]
    expected = modularity_distance(classes, codes, min_class_size=2, **options)
    ours = same_pair_term(torch.as_tensor(same), first, second, **options)
    assert ours.item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("term", [*MODULARITY.values(), contraction_term])
def test_gradients_are_finite_where_codes_coincide(term):
    factors, codes = tensors(sample()[0], np.zeros((12, 2)))
    term(factors, codes).backward()
    assert torch.isfinite(codes.grad).all()


@pytest.mark.parametrize("deviation", MODULARITY)
def test_pair_gradients_are_finite_where_codes_coincide(deviation):
    codes = torch.zeros((4, 2), requires_grad=True)
    same = torch.ones((4, 2), dtype=torch.bool)
    same_pair_term(same, codes, torch.zeros((4, 2)), deviation=deviation).backward()
    assert torch.isfinite(codes.grad).all()


@pytest.mark.parametrize("deviation", MODULARITY)
def test_unknown_labels_are_left_out(deviation):
    factors, codes = sample(30)
    hidden = factors.copy()
    hidden[:10] = -1
    ours = MODULARITY[deviation](*tensors(hidden, codes[:, :2]))
    known = MODULARITY[deviation](*tensors(factors[10:], codes[10:, :2]))
    assert ours.item() == pytest.approx(known.item(), abs=1e-12)
    none = MODULARITY[deviation](*tensors(np.full_like(factors, -1), codes[:, :2]))
    none.backward()
    assert none.item() == 0.0


@pytest.mark.parametrize("deviation", MODULARITY)
def test_small_classes_are_left_out(deviation):
    factors = np.array([[0], [0], [1]])
    codes = np.array([[0.0], [2.0], [5.0]])
    options = {"min_class_size": 2, "aggregate": "mean"}
    expected = {"variance": 1.0, "diameter": 2.0, "mean_pairwise": 0.5}[deviation]
    assert MODULARITY[deviation](*tensors(factors, codes), **options).item() == expected


@pytest.mark.parametrize("deviation", MODULARITY)
def test_descent_makes_codes_modular(deviation):
    data = make_logical_codes("rotation", n_levels=4, random_state=0)
    factors, codes = tensors(data.target, data.codes)
    start = MODULARITY[deviation](factors, codes).item()
    optimizer = torch.optim.Adam([codes], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        MODULARITY[deviation](factors, codes).backward()
        optimizer.step()
    assert MODULARITY[deviation](factors, codes).item() < start / 3


def test_wrong_options_are_refused():
    factors, codes = tensors(*sample())
    with pytest.raises(ValueError, match="1 groups for 2 factors"):
        variance_term(factors, codes, groups=[[0, 1, 2]])
    with pytest.raises(ValueError, match="'median'"):
        diameter_term(factors, codes, aggregate="median")
