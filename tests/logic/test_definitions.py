"""The definitions of Zhang and Sugiyama (2024): truth and hand-computed quantities."""

import itertools

import numpy as np
import pytest

from sklearn_disent.logic import (
    Exists,
    FiniteSet,
    Forall,
    Function,
    Guarantee,
    Semantics,
    Variable,
    functions,
)

from .conftest import (
    B2,
    CANDIDATES,
    ENTANGLED,
    PRODUCT,
    VARIANCE,
    B,
    constant_curried,
    injective,
    left_invertible,
    modular,
    product_function,
)


@pytest.mark.parametrize(
    ("semantics", "expected"),
    [
        (Semantics(), 1 + 2),  # radii of {1, 3}, {5, 7} and of {2, 6}, {4, 8}
        (Semantics(conjunction="max"), 2),
        (Semantics(conjunction="root_sum_square"), np.sqrt(5)),
        (Semantics(forall="mean"), 1 + 2),  # mean deviations from the median
        (Semantics(forall="sum"), 4 * 1 + 4 * 2),
        (VARIANCE, 1 + 4),
        (Semantics(forall="mean_square"), 1 + 4),
        (Semantics("0/1", forall="mean"), 0.5 + 0.5),  # best constants meet one value of two
    ],
)
def test_product_function_quantity_by_hand(semantics, expected):
    entangled = product_function(ENTANGLED)
    assert entangled.truth() is False
    assert entangled.quantity(semantics) == pytest.approx(expected)
    assert product_function(PRODUCT).truth() is True
    assert product_function(PRODUCT).quantity(semantics) == 0.0


@pytest.mark.parametrize("semantics", [Semantics(), VARIANCE])
def test_product_function_witness_is_example_5(semantics):
    best = []
    f, y = Variable("f", CANDIDATES), Variable("y", B2)
    for i in (0, 1):
        errors = Forall(y, ENTANGLED(y)[i] == f(y[i])).quantity(semantics, over=f)
        assert errors.shape == (100,)
        assert (errors == errors.min()).sum() == 1
        best.append(CANDIDATES[int(errors.argmin())])
    approximation = [(best[0](a), best[1](b)) for a, b in B2]
    assert approximation == [(2, 4), (2, 6), (6, 4), (6, 6)]  # equation 18


def test_product_function_joint_existence_equals_separate():
    # Proposition 2: the two infima of equation 13 fall apart.
    small = functions(B, FiniteSet([2, 4, 6], "Z"))
    joint = Exists(
        small,
        lambda f, g: (
            Forall(B2, lambda y: ENTANGLED(y)[0] == f(y[0]))
            & Forall(B2, lambda y: ENTANGLED(y)[1] == g(y[1]))
        ),
    )
    assert joint.quantity() == 3.0
    assert joint.quantity(VARIANCE) == 5.0


@pytest.mark.parametrize(
    ("semantics", "expected"),
    [
        (Semantics(), 2 + 4),  # diameters, equation 25
        (Semantics(forall="mean"), 1 + 2),  # over all four ordered pairs
        (VARIANCE, 2 * 1 + 2 * 4),  # twice the variances: both orders, and the diagonal
        (Semantics(forall="sum"), 2 * 2 * 2 + 2 * 2 * 4),
    ],
)
def test_constant_curried_quantity_by_hand(semantics, expected):
    assert constant_curried(ENTANGLED).truth() is False
    assert constant_curried(ENTANGLED).quantity(semantics) == pytest.approx(expected)
    assert constant_curried(PRODUCT).truth() is True
    assert constant_curried(PRODUCT).quantity(semantics) == 0.0


def test_modular_by_implication_is_diameter_with_sharp_condition():
    sharp = Semantics(premetrics={"Y": "0/inf"})
    assert modular(ENTANGLED, B2, 2).quantity(sharp) == 6.0
    assert modular(PRODUCT, B2, 2).quantity(sharp) == 0.0
    # With distances on Y, moving a factor by 1 excuses a change of 1 only: max(2, 6 - 1) + ...
    assert modular(ENTANGLED, B2, 2).quantity() == (6 - 1) + (6 - 1)


def test_modular_by_implication_true_but_not_zero():
    predicate = modular(PRODUCT, B2, 2)
    assert predicate.truth() is True
    assert predicate.quantity() == 9 - 1  # the second component moves by 1, so it adds 0
    assert predicate.guarantee() == Guarantee(True, False)
    assert predicate.quantity(Semantics(implication="exact")) == 0.0
    assert predicate.guarantee(Semantics(implication="exact")) == Guarantee(True, True)


def test_constant_with_value_is_radius():
    # Definition 25 against Definition 7: radius and diameter of {1, 3, 5}.
    S = FiniteSet([1, 3, 5])
    assert Exists(FiniteSet(range(7)), lambda b: Forall(S, lambda a: a == b)).quantity() == 2.0
    assert Forall(S, lambda a, b: a == b).quantity() == 4.0


def test_injective_function_that_contracts():
    # Section 3.3: injective, but the quantity of the implication is not 0.
    Y = FiniteSet([0.0, 0.5, 1.0], "Y")
    m = Function("m", Y, lambda y: 0.01 * y)
    assert injective(m).truth() is True
    assert injective(m).quantity() == pytest.approx(0.99)
    assert injective(m).quantity(Semantics(forall="mean")) == pytest.approx(0.44)
    assert injective(m).guarantee() == Guarantee(True, False)
    assert left_invertible(m).truth() is True
    assert left_invertible(m).quantity() == 0.0
    assert left_invertible(m).guarantee() == Guarantee(True, True)


@pytest.mark.parametrize(
    ("semantics", "contraction", "inverse"),
    [
        (Semantics(), 2, 1),
        (Semantics(forall="mean"), 8 / 9, 2 / 3),
        (VARIANCE, 12 / 9, 2 / 3),
        (Semantics("0/1", forall="sum"), 6, 2),
    ],
)
def test_constant_function_is_not_informative(semantics, contraction, inverse):
    m = Function("m", FiniteSet([0, 1, 2], "Y"), [7, 7, 7])
    assert injective(m).truth() is left_invertible(m).truth() is False
    assert injective(m).quantity(semantics) == pytest.approx(contraction)
    assert left_invertible(m).quantity(semantics) == pytest.approx(inverse)


@pytest.mark.parametrize(
    ("function", "largest", "mean"),
    [
        (lambda y: 0.01 * y, 0.18, 0.49),
        (lambda y: y**2, 0.65, 0.95),
        (lambda y: 0 * y, 0.18, 0.48),
    ],
    ids=["contraction", "nonlinear", "constant"],
)
def test_injective_quantity_is_contraction_of_table_2(function, largest, mean):
    Y = FiniteSet(list(itertools.product(np.arange(11) / 10, repeat=3)), "Y")
    predicate = injective(Function("m", Y, function))
    assert round(np.exp(-predicate.quantity()), 2) == largest
    assert round(np.exp(-predicate.quantity(Semantics(forall="mean"))), 2) == mean


@pytest.mark.parametrize(
    ("function", "diameter"),
    [(lambda y: y[[1, 2, 0]], 0.05), (lambda y: y**2, 1.00)],
    ids=["misalignment", "nonlinear"],
)
def test_modular_quantity_is_diameter_of_table_2(function, diameter):
    Y = FiniteSet(list(itertools.product([0, 0.5, 1], repeat=3)), "Y")
    predicate = modular(Function("m", Y, function), Y, 3)
    assert predicate.truth() is (diameter == 1.0)
    assert round(np.exp(-predicate.quantity(Semantics(premetrics={"Y": "0/inf"}))), 2) == diameter
