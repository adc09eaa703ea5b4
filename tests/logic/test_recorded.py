"""What ready properties and operations give, as it was recorded once."""

from functools import partial

import numpy as np
import pytest
import torch
from recording import check, record

from sklearn_disent.logic import (
    AGGREGATORS,
    CONJUNCTIONS,
    DISJUNCTIONS,
    IMPLICATIONS,
    NEGATIONS,
    PREMETRICS,
    Semantics,
    properties,
)

FILE = "logic/recorded.json"
READY = [
    *(properties.modularity_by_product(d) for d in ("variance", "radius", "mad")),
    *(properties.modularity_by_constancy(d) for d in ("diameter", "mean_pairwise")),
    *(properties.modularity_by_pairs(d) for d in ("variance", "mean_pairwise", "diameter")),
    *(properties.informativeness_by_inverse(e) for e in ("mse", "mae", "max_error")),
    properties.informativeness_by_inverse("mse", "equal_codes"),
    *(properties.informativeness_by_injectivity(a) for a in ("mean", "max")),
    *(properties.consistency(a) for a in ("mean", "max")),
    *(properties.restrictiveness(a) for a in ("mean", "max")),
    properties.disentanglement(),
    properties.completeness(),
    properties.completeness("equal_codes"),
    properties.equivariance(),
    properties.one_latent_per_factor(),
]


def data():
    rng = np.random.RandomState(0)
    factors = np.column_stack([rng.randint(n, size=18) for n in (3, 2)])
    codes = factors @ [[1.0, 0.2, 0.0], [0.0, 1.5, -0.3]] + 0.3 * rng.normal(size=(18, 3))
    return factors, codes


def slope(rule, **options):
    """Quantity of tensors, and what it would change with."""
    factors, codes = data()
    codes = torch.tensor(codes, requires_grad=True)
    value = rule.quantity(factors, codes, **options)
    if value.requires_grad:
        value.backward()
    return value.item(), None if codes.grad is None else codes.grad.numpy()


def of_property(rule):
    factors, codes = data()
    found = {}
    for method in ("auto", "formula"):
        found |= {
            f"{method}: quantity": partial(rule.quantity, factors, codes, method=method),
            f"{method}: few pairs": partial(
                rule.quantity, factors, codes, method=method, n_pairs=20
            ),
            f"{method}: slope": partial(slope, rule, method=method),
        }
        for options in (
            {"groups": [[0, 2], [1]]},
            {"assignment": "partition"},
            {"code_scale": "unit"},
            {"factor_scale": "unit"},
        ):
            label = next(iter(options))
            found[f"{method}: {label}"] = partial(
                rule.quantity, factors, codes, method=method, **options
            )
    return found | {
        "one factor": partial(rule.quantity, factors[:, :1], codes),
        "constant": partial(rule.quantity, factors * [1, 0], codes),
        "score": partial(rule.score, factors, codes),
        "evaluate": partial(rule.evaluate, factors, codes, n_pairs=40),
        "text": lambda: f"{rule} {rule.guarantee}",
    }


def of_operations():
    a = np.array([0.0, 0.1, 0.9, 1.0, 1.3, 4.0, np.inf])
    values = np.where(np.isinf(a), 9.0, a)
    found = {}

    def finite(operation, *arguments):
        result = np.asarray(operation(*arguments))
        return np.where(np.isfinite(result), result, 99.0)

    for table in (CONJUNCTIONS, DISJUNCTIONS, IMPLICATIONS):
        for name, operation in table.items():
            found[name] = partial(finite, operation, a[:, None], a)
    for name, operation in CONJUNCTIONS.items():
        found[f"{name}: implication"] = partial(finite, operation.implication, a[:, None], a)
    for name, operation in NEGATIONS.items():
        found[f"not: {name}"] = partial(finite, operation, a)
    for name, operation in AGGREGATORS.items():
        found[f"all: {name}"] = partial(finite, operation, values)
    for name, operation in PREMETRICS.items():
        rows = np.arange(12.0).reshape(4, 3) ** 2 % 7
        found[f"premetric: {name}"] = partial(finite, operation, rows, rows[::-1])
    found["semantics"] = lambda: repr(Semantics())
    return found


GROUPS = {f"{rule.name} {i}": partial(of_property, rule) for i, rule in enumerate(READY)}
GROUPS |= {"operations": of_operations}


@pytest.mark.parametrize("group", GROUPS)
def test_property_gives_what_was_recorded(group):
    check(FILE, group, GROUPS[group]())


if __name__ == "__main__":
    record(FILE, GROUPS)
