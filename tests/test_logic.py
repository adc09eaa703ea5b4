"""Predicates as truth and as quantity: hand-computed values, algebraic laws, and Theorem 1."""

import copy
import itertools
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sklearn_disent
from sklearn_disent.logic import (
    AGGREGATORS,
    CONJUNCTIONS,
    DISJUNCTIONS,
    IMPLICATIONS,
    NEGATIONS,
    PREMETRICS,
    Aggregator,
    And,
    Conjunction,
    Disjunction,
    Equal,
    Exists,
    FiniteSet,
    Forall,
    Function,
    Guarantee,
    Implication,
    Implies,
    Negation,
    Not,
    Or,
    Premetric,
    Semantics,
    Variable,
    functions,
)

VARIANCE = Semantics("squared_euclidean", forall="mean")
B = FiniteSet([0, 1], "B")
B2 = B * B
# The function of equation 6 of Zhang and Sugiyama (2024), and a product function as in equation 7.
ENTANGLED = Function("m", B2, [(1, 2), (3, 4), (5, 6), (7, 8)])
PRODUCT = Function("m", B2, [(0, 3), (0, 4), (9, 3), (9, 4)])
CANDIDATES = functions(B, FiniteSet(range(10), "Z"), name="F")


def value(x):
    """A predicate with quantity x: the equation of 0 and x."""
    return Equal(0.0, x)


def product_function(m):
    f, y = Variable("f", CANDIDATES), Variable("y", B2)
    return And(*(Exists(f, Forall(y, m(y)[i] == f(y[i]))) for i in (0, 1)))


def constant_curried(m):
    return Forall(B, lambda a: Forall(B, lambda b, c: m(a, b)[0] == m(a, c)[0])) & Forall(
        B, lambda b: Forall(B, lambda a, c: m(a, b)[1] == m(c, b)[1])
    )


def modular(m, domain, n_factors):
    y, v = Variable("y", domain), Variable("v", domain)
    parts = (Equal(y[i], v[i], on="Y") >> (m(y)[i] == m(v)[i]) for i in range(n_factors))
    return And(*(Forall((y, v), part) for part in parts))


def injective(m):
    return Forall(m.domain, lambda y, v: (m(y) == m(v)) >> (y == v))


def left_invertible(m):
    inverses = functions(m.image(), m.domain)
    return Exists(inverses, lambda h: Forall(m.domain, lambda y: h(m(y)) == y))


# ---------------------------------------------------------------- the paper's definitions


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


# ---------------------------------------------------------------- operations

FINITE = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 3.0]) | st.floats(0, 5, allow_subnormal=False)
QUANTITY = FINITE | st.just(np.inf)
every = pytest.mark.parametrize


def close(x, y):
    assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@every("name", CONJUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(a=QUANTITY, b=QUANTITY, c=QUANTITY)
def test_conjunction_laws(name, a, b, c):
    op = CONJUNCTIONS[name]
    close(op(op(a, b), c), op(a, op(b, c)))
    assert op(a, b) == op(b, a)
    assert op(0, a) == op(a, 0) == a
    assert op(a, b) >= max(a, b)
    low, high = min(b, c), max(b, c)
    assert op(a, low) <= op(a, high) * (1 + 1e-12)
    # "and" spreads over "or" when "or" is the minimum (equation 99).
    close(op(a, min(b, c)), min(op(a, b), op(a, c)))


@every("name", CONJUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(a=QUANTITY, b=QUANTITY, c=QUANTITY)
def test_implication_is_adjoint_to_conjunction(name, a, b, c):
    op = CONJUNCTIONS[name]
    implied = float(op.implication(a, b))
    assert (implied == 0) == (a >= b)
    if c >= implied:
        assert op(c, a) >= b * (1 - 1e-9)
    if c < implied - 1e-3:
        assert op(c, a) < b


@every("name", DISJUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(a=QUANTITY, b=QUANTITY, c=QUANTITY)
def test_disjunction_laws(name, a, b, c):
    op = DISJUNCTIONS[name]
    close(op(op(a, b), c), op(a, op(b, c)))
    assert op(a, b) == op(b, a)
    assert op(np.inf, a) == a
    assert op(0, a) == 0
    assert op(a, b) <= min(a, b) * (1 + 1e-12)
    low, high = min(b, c), max(b, c)
    assert op(a, low) <= op(a, high) * (1 + 1e-9)


FORMULAS = {
    "sum": lambda a, b: a + b,
    "max": max,
    "root_sum_square": lambda a, b: np.sqrt(a**2 + b**2),
    "log_sum_exp": lambda a, b: np.log(np.exp(a) + np.exp(b) - 1),
    "square_sum_root": lambda a, b: a + b + 2 * np.sqrt(a * b),
    "product": lambda a, b: a + b + a * b,
    "min": min,
    "harmonic": lambda a, b: a * b / (a + b),
    "inverse_root_sum_square": lambda a, b: a * b / np.sqrt(a**2 + b**2),
    "probabilistic": lambda a, b: -np.log(np.exp(-a) + np.exp(-b) - np.exp(-(a + b))),
    "tanh": lambda a, b: np.arctanh(np.tanh(a) * np.tanh(b)),
}


@every("name", FORMULAS)
def test_operation_is_the_paper_formula(name):
    op = (CONJUNCTIONS | DISJUNCTIONS)[name]
    for a, b in itertools.product([0.1, 0.9, 1.1, 2.0, 4.0], repeat=2):
        assert_allclose(op(a, b), FORMULAS[name](a, b), rtol=1e-9)


def test_operation_formulas_cover_all_tables():
    assert set(FORMULAS) == set(CONJUNCTIONS) | set(DISJUNCTIONS)


@every("name", sorted(set(CONJUNCTIONS) | set(DISJUNCTIONS)))
def test_operation_is_stable_at_extremes(name):
    op = (CONJUNCTIONS | DISJUNCTIONS)[name]
    extremes = [5e-324, 1e-200, 1e-20, 800.0, 1e200, np.inf]
    values = op(np.array(extremes)[:, None], extremes)
    assert (values > 0).all()
    if name in CONJUNCTIONS:
        assert (values >= np.maximum.outer(extremes, extremes)).all()
    else:
        assert (values <= np.minimum.outer(extremes, extremes)).all()


@every("name", CONJUNCTIONS)
def test_implication_is_positive_at_the_least_excess(name):
    a = np.array([0.0, 1e-300, 1e-20, 1.0, 1e3, 1e200])
    b = np.nextafter(a, np.inf)
    assert (CONJUNCTIONS[name].implication(a, b) > 0).all()
    assert (CONJUNCTIONS[name].implication(b, a) == 0).all()


def test_log_sum_exp_small_and_large_values():
    op = CONJUNCTIONS["log_sum_exp"]
    assert_allclose(op(1e-20, 1e-20), 2e-20)
    assert_allclose(op(1000.0, 1000.0), 1000 + np.log(2))
    assert_allclose(op.implication(1000.0, 1001.0), 1001 + np.log1p(-np.exp(-1)))
    assert_allclose(op.implication(1e-20, 3e-20), 2e-20)


def test_implication_values_by_hand():
    a, b = np.array([0, 1, 2, 2, np.inf, 1]), np.array([3, 3, 2, 1, np.inf, np.inf])
    assert_array_equal(IMPLICATIONS["subtraction"](a, b), [3, 2, 0, 0, 0, np.inf])
    assert_array_equal(IMPLICATIONS["max_adjoint"](a, b), [3, 3, 0, 0, 0, np.inf])
    assert_array_equal(IMPLICATIONS["exact"](a, b), [3, 0, 0, 0, 0, 0])


def test_negation_values_by_hand():
    a = [0, 0.25, 1, 4, np.inf]
    assert_array_equal(NEGATIONS["complement"](a), [1, 0.75, 0, 0, 0])
    assert_array_equal(NEGATIONS["reciprocal"](a), [np.inf, 4, 1, 0.25, 0])
    assert_array_equal(NEGATIONS["exact"](a), [1, 0, 0, 0, 0])


def test_aggregator_values_by_hand():
    got = {name: float(aggregator([1, 2, 2, 0])) for name, aggregator in AGGREGATORS.items()}
    expected = {"max": 2, "sum": 5, "mean": 1.25, "mean_square": 2.25, "root_mean_square": 1.5}
    assert got == expected


@every(
    ("name", "forward", "backward"),
    [
        ("sum", lambda x: x, lambda x: x),
        ("root_sum_square", np.square, np.sqrt),
        ("log_sum_exp", np.expm1, np.log1p),
        ("square_sum_root", np.sqrt, np.square),
        ("product", np.log1p, np.expm1),
    ],
)
def test_conjunction_from_isomorphism_recovers_the_tables(name, forward, backward):
    made, kept = Conjunction.from_isomorphism(name, forward, backward), CONJUNCTIONS[name]
    x = np.array([0.0, 0.5, 1.0, 3.0, np.inf])
    assert_allclose(made(x[:, None], x), kept(x[:, None], x))
    assert_allclose(made.implication(x[:, None], x), kept.implication(x[:, None], x), atol=1e-12)


@every(
    ("kind", "function"),
    [
        (Aggregator, np.median),
        (Aggregator, np.ptp),
        (Aggregator, np.min),
        (Conjunction, np.minimum),
        (Conjunction, np.multiply),
        (Disjunction, np.maximum),
        (Implication, lambda a, b: np.maximum(a, 0) * 0),
        (Negation, lambda a: a),
    ],
)
def test_operation_that_breaks_its_rule_is_refused(kind, function):
    with pytest.raises(ValueError, match=r"must be in \[0, inf\] and .*, but it maps"):
        kind("wrong", function)


def test_exact_flag_is_checked():
    with pytest.raises(ValueError, match="0 elsewhere"):
        Implication("wrong", IMPLICATIONS["subtraction"].function, exact=True)
    with pytest.raises(ValueError, match="0 elsewhere"):
        Negation("wrong", NEGATIONS["complement"].function, exact=True)


def test_conjunction_without_residual_asks_for_an_implication():
    lonely = Conjunction("lonely", lambda a, b: 2 * (a + b))
    assert (value(1) & value(2)).quantity(Semantics(conjunction=lonely)) == 6.0
    with pytest.raises(ValueError, match="has no residual"):
        (value(1) >> value(2)).quantity(Semantics(conjunction=lonely))


# ---------------------------------------------------------------- premetrics


def test_premetric_values_by_hand():
    got = {name: float(d([0, 0], [3, 4])) for name, d in PREMETRICS.items()}
    assert got == {"euclidean": 5, "squared_euclidean": 25, "0/1": 1, "0/inf": np.inf}


@every("name", PREMETRICS)
def test_premetric_is_strict_even_where_squares_underflow(name):
    PREMETRICS[name].check([[0, 0], [0, 1e-300], [1e300, 0], [1e-170, 2]])


def test_premetric_of_user_need_not_be_symmetric():
    late = Premetric("late", lambda a, b: max(b - a, 0) + 3 * max(a - b, 0))
    S = FiniteSet([0, 1, 3])
    late.check(S)
    assert Forall(S, lambda x: x == 1).quantity(Semantics(late, forall="sum")) == 1 + 6


def test_semantics_takes_plain_functions():
    S = FiniteSet([0, 1, 3])
    half = Semantics(lambda a, b: abs(a - b) / 2, forall=np.sum)
    assert Forall(S, lambda x: x == 1).quantity(half) == 1.5
    with pytest.raises(ValueError, match=r"median.*0 exactly when all values are 0"):
        Semantics(forall=np.median)
    with pytest.raises(ValueError, match="forall must be one of"):
        Semantics(forall=CONJUNCTIONS["max"])


def test_premetric_that_is_not_strict_is_refused():
    parity = Premetric("parity", lambda a, b: (a - b) % 2)
    parity.check([0, 1])
    with pytest.raises(ValueError, match=r"strict premetric\), but it maps \(0, 2\) to 0.0"):
        parity.check([0, 1, 2])
    with pytest.raises(ValueError, match="strict premetric"):
        Forall(FiniteSet([0, 2]), lambda x, y: x == y).quantity(Semantics(parity))


def test_premetric_euclidean_refuses_labels():
    colors = Forall(FiniteSet(["red", "blue"]), lambda x: x == "red")
    assert colors.quantity(Semantics("0/1", forall="sum")) == 1.0
    with pytest.raises(ValueError, match=r"need numbers.*'0/1'"):
        colors.quantity()


# ---------------------------------------------------------------- Theorem 1

SEMANTICS = st.builds(
    Semantics,
    premetric=st.sampled_from(sorted(PREMETRICS)),
    conjunction=st.sampled_from(sorted(CONJUNCTIONS)),
    disjunction=st.sampled_from(sorted(DISJUNCTIONS)),
    implication=st.sampled_from([*IMPLICATIONS, "residual"]),
    negation=st.sampled_from(sorted(NEGATIONS)),
    forall=st.sampled_from(sorted(AGGREGATORS)),
)
NUMBERS = st.sampled_from([0, 1, 2, 0.5, 1e-200, 1e200])


@st.composite
def predicates(draw, kinds, scope=(), depth=3):
    """A closed predicate; `kinds` are the nodes allowed above equations."""
    kind = draw(st.sampled_from([*kinds, "equal"])) if depth else "equal"
    if kind == "equal":
        sides = []
        for _ in range(2):
            variable = draw(st.sampled_from([None, *scope]))
            if variable is None:
                sides.append(draw(NUMBERS))
            else:
                n = len(variable.domain)
                table = draw(st.lists(NUMBERS, min_size=n, max_size=n))
                sides.append(Function("f", variable.domain, table)(variable))
        return Equal(*sides)
    if kind in (Forall, Exists):
        variable = Variable(f"x{len(scope)}", FiniteSet(range(draw(st.integers(0, 3)))))
        return kind(variable, draw(predicates(kinds, (*scope, variable), depth - 1)))
    parts = [draw(predicates(kinds, scope, depth - 1)) for _ in range(1 if kind is Not else 2)]
    return kind(*parts)


POSITIVE = (And, Or, Forall, Exists)


@settings(max_examples=150, deadline=None)
@given(predicate=predicates(POSITIVE), semantics=SEMANTICS)
def test_theorem_1_without_implication_zero_exactly_when_true(predicate, semantics):
    assert (predicate.quantity(semantics) == 0) == predicate.truth()
    assert predicate.guarantee(semantics) == Guarantee(True, True)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), semantics=SEMANTICS)
def test_theorem_1_zero_implies_true_with_equational_conditions(data, semantics):
    # Any connectives above, with implications and negations of what has neither.
    condition, negated = data.draw(predicates(POSITIVE)), data.draw(predicates(POSITIVE))
    conclusion = data.draw(predicates(POSITIVE))
    join = data.draw(st.sampled_from([And, Or]))
    predicate = join(condition >> (conclusion | ~negated), ~negated, condition >> conclusion)
    assert predicate.guarantee(semantics).zero_implies_true
    if predicate.quantity(semantics) == 0:
        assert predicate.truth()


@settings(max_examples=200, deadline=None)
@given(predicate=predicates((*POSITIVE, Implies, Not)), semantics=SEMANTICS)
def test_guarantee_holds_for_every_predicate(predicate, semantics):
    truth, quantity = predicate.truth(), predicate.quantity(semantics)
    guarantee = predicate.guarantee(semantics)
    assert quantity >= 0
    if guarantee.zero_implies_true and quantity == 0:
        assert truth
    if guarantee.true_implies_zero and truth:
        assert quantity == 0


@settings(max_examples=150, deadline=None)
@given(predicate=predicates((*POSITIVE, Implies, Not)), semantics=SEMANTICS)
def test_exact_operations_make_zero_and_true_the_same(predicate, semantics):
    exact = replace(semantics, implication="exact", negation="exact")
    assert (predicate.quantity(exact) == 0) == predicate.truth()
    assert predicate.guarantee(exact) == Guarantee(True, True)


def test_theorem_1_in_every_semantics():
    tables = PREMETRICS, CONJUNCTIONS, DISJUNCTIONS, IMPLICATIONS, AGGREGATORS
    swapped = Function("m", B2, [(0, 0), (1, 0), (0, 1), (1, 1)])
    both = [constant_curried(m) | product_function(m) for m in (PRODUCT, swapped)]
    implied = [modular(m, B2, 2) for m in (PRODUCT, swapped)] + [injective(swapped)]
    exact = [p.truth() for p in both]
    assert exact == [True, False]
    for premetric, conjunction, disjunction, implication, forall in itertools.product(*tables):
        semantics = Semantics(premetric, conjunction, disjunction, implication, forall=forall)
        if implication == "exact":  # implications do not occur in these
            assert [p.quantity(semantics) == 0 for p in both] == exact
        if disjunction == "min":  # nor disjunctions in these
            for p in implied:
                assert p.quantity(semantics) > 0 or p.truth()


def test_theorem_1_converse_fails_for_implication():
    predicate = value(1) >> value(3)  # false implies false
    assert predicate.truth() is True
    assert predicate.quantity() == 2.0
    assert not predicate.guarantee().true_implies_zero


def test_theorem_1_needs_conditions_without_implication():
    predicate = (value(1) >> value(2)) >> value(0.5)  # true implies false, yet 0.5 - (2 - 1) < 0
    assert predicate.truth() is False
    assert predicate.quantity() == 0.0
    assert not predicate.guarantee().zero_implies_true
    negated = ~(~value(0.5) & ~value(0.5))  # not (true and true), yet 1 - (0.5 + 0.5) = 0
    assert negated.truth() is False
    assert negated.quantity() == 0.0
    assert not negated.guarantee().zero_implies_true


# ---------------------------------------------------------------- trees


def test_connectives_values_by_hand():
    p, q = value(1), value(3)
    assert (p & q).quantity() == 4.0
    assert (p | q).quantity() == 1.0
    assert (p >> q).quantity() == 2.0
    assert (q >> p).quantity() == 0.0
    assert (~p).quantity() == 0.0
    assert (~value(0.25)).quantity() == 0.75
    assert (p >> q).quantity(Semantics(conjunction="max")) == 3.0
    assert And(p, q, q).quantity() == 7.0


def test_residual_follows_the_conjunction_through_replace():
    semantics = replace(Semantics(), conjunction="root_sum_square")
    assert (value(3) >> value(5)).quantity(semantics) == pytest.approx(4.0)


def test_empty_cases():
    empty = FiniteSet([], "∅")
    for semantics in (Semantics(), VARIANCE, Semantics(forall="sum")):
        everything = Forall(empty, lambda x: x[3] == x)  # senseless, but of nothing
        assert (everything.truth(), everything.quantity(semantics)) == (True, 0.0)
        nothing = Exists(empty, lambda x: x == x)
        assert (nothing.truth(), nothing.quantity(semantics)) == (False, np.inf)
    assert (And().truth(), And().quantity()) == (True, 0.0)
    assert (Or().truth(), Or().quantity()) == (False, np.inf)
    assert len(functions(empty, B)) == 1
    assert len(functions(B, empty)) == 0
    nested = Forall(B, lambda x: Exists(empty, lambda y: x == y))
    assert (nested.truth(), nested.quantity()) == (False, np.inf)


def test_quantifier_counts_elements_the_body_ignores():
    assert Forall(FiniteSet(range(5)), lambda x: value(2)).quantity(Semantics(forall="sum")) == 10.0


def test_named_variables_equal_lambdas():
    S = FiniteSet([0, 1, 4], "S")
    x, y = Variable("x", S), Variable("y", S)
    named, made = Forall((x, y), x == y), Forall(S, lambda x, y: x == y)
    nested = Forall(x, Forall(y, x == y))
    assert repr(named) == repr(made) == "∀ x, y ∈ S. x = y"
    for forall in ("max", "sum", "mean"):
        values = [p.quantity(Semantics(forall=forall)) for p in (named, made, nested)]
        assert values == pytest.approx([values[0]] * 3)


def test_joint_and_nested_mean_square_differ():
    S = FiniteSet([0, 2])
    joint = Forall(S, lambda x, y: x == y)
    nested = Forall(S, lambda x: Forall(S, lambda y: x == y))
    semantics = Semantics(forall="mean_square")
    assert joint.quantity(semantics) == 2.0
    assert nested.quantity(semantics) == 4.0
    assert nested.quantity(Semantics(forall="root_mean_square")) == pytest.approx(np.sqrt(2))


def test_aggregators_by_variable():
    S = FiniteSet([0, 1, 3])
    nested = Forall(S, lambda x: Forall(S, lambda y: x == y))
    # Greatest distances from 0, 1, 3 are 3, 2, 3; sums of distances 4, 3, 5.
    assert nested.quantity(Semantics(forall="sum", aggregators={"y": "max"})) == 8.0
    assert nested.quantity(Semantics(forall="sum", aggregators={"x": "max"})) == 5.0
    with pytest.raises(ValueError, match="aggregated jointly"):
        Forall(S, lambda x, y: x == y).quantity(Semantics(aggregators={"x": "sum"}))


def test_over_gives_a_table_of_free_variables():
    x, y = Variable("x", FiniteSet([0, 1])), Variable("y", FiniteSet([0, 1, 5]))
    assert_array_equal((x == y).quantity(over=(x, y)), [[0, 1, 5], [1, 0, 4]])
    assert_array_equal((x == y).truth(over=(y, x)), [[1, 0], [0, 1], [0, 0]])
    assert_array_equal(Exists(y, x == y).truth(over=x), [True, True])
    assert_array_equal((y == 1).quantity(over=(x, y)), [[1, 0, 4], [1, 0, 4]])


def test_inner_binding_shadows():
    x = Variable("x", FiniteSet([0, 1, 2]))
    assert Forall(x, Exists(x, x == 2)).truth() is True


def test_function_forms_agree():
    Y = FiniteSet([(0, "a"), (1, "b")], "Y")
    y = Variable("y", Y)
    forms = [
        Function("f", Y, [3, 4]),
        Function("f", Y, {(0, "a"): 3, (1, "b"): 4}),
        Function("f", Y, lambda y: y[0] + 3),
    ]
    for f in forms:
        assert f(1, "b") == f((1, "b")) == 4
        assert Forall(y, f(y) == f(y[0], y[1])).truth() is True


def test_mixed_elements_keep_their_types():
    Y = FiniteSet(["red", "blue"]) * FiniteSet([1, 2])
    y, size = Variable("y", Y), Variable("size", FiniteSet([1, 2]))
    assert_array_equal((y == ("blue", 1)).truth(over=y), [False, False, True, False])
    assert_array_equal((y[1] == 2).quantity(over=y), [1, 0, 1, 0])
    m = Function("m", Y, range(4))
    assert_array_equal((m("red", size) == 1).truth(over=size), [False, True])


def test_semantics_survives_pickle_and_copy():
    semantics = Semantics("0/1", "log_sum_exp", premetrics={"Y": "0/inf"}, forall="mean")
    assert pickle.loads(pickle.dumps(semantics)) == copy.deepcopy(semantics) == semantics


def test_function_of_sample_numbers_allows_repeats():
    samples = FiniteSet(range(4), "samples")
    factors = Function("y", samples, [0, 0, 1, 1])
    codes = Function("z", samples, [1.0, 3.0, 5.0, 5.0])
    predicate = Forall(
        samples, lambda i, j: Equal(factors(i), factors(j), on="Y") >> (codes(i) == codes(j))
    )
    assert predicate.quantity(Semantics(premetrics={"Y": "0/inf"})) == 2.0


def test_repr_reads_as_a_formula():
    x, y = Variable("x", B), Variable("y", B2)
    f = Variable("f", CANDIDATES)
    p = Equal(f(x), y[0], on="Z")
    assert repr(Exists(f, Forall((x, y), ~p >> ((x == 1) | And())))) == (
        "∃ f ∈ F. ∀ x ∈ B, y ∈ B×B. (¬(f(x) =_Z y[0])) → ((x = 1) ∨ (⊤))"
    )
    assert repr(x != 1) == "¬(x = 1)"
    assert repr(PREMETRICS["0/1"]) == "Premetric('0/1')"


def test_nodes_are_frozen():
    predicate = Forall(B, lambda x: x == 1)
    with pytest.raises(FrozenInstanceError):
        predicate.body = predicate
    with pytest.raises(FrozenInstanceError):
        (predicate & predicate).operands = ()


def test_equal_works_from_the_array_side():
    y = Variable("y", B2)
    assert isinstance(np.array([0, 1]) == y, Equal)
    assert_array_equal((np.array([0, 1]) == y).truth(over=y), [False, True, False, False])


def test_logic_is_a_room_of_the_package():
    assert sklearn_disent.logic.Forall is Forall
    assert "logic" in dir(sklearn_disent)


# ---------------------------------------------------------------- errors


def test_unbound_variable_raises():
    x = Variable("x", B)
    with pytest.raises(ValueError, match="variable x is not bound"):
        (x == 1).truth()
    with pytest.raises(ValueError, match="another variable of this name is bound"):
        Forall(Variable("x", B), x == 1).quantity()


def test_finite_set_refuses_repeats_and_nan():
    with pytest.raises(ValueError, match=r"distinct elements.*FiniteSet\(range\(n\)\)"):
        FiniteSet([1, 2, 1.0])
    with pytest.raises(ValueError, match="must be finite"):
        FiniteSet([0.0, np.nan])
    with pytest.raises(ValueError, match="one shape"):
        FiniteSet([(0, 1), (2,)])


def test_function_errors():
    with pytest.raises(ValueError, match="each of the 2 elements of B, got 3"):
        Function("f", B, [1, 2, 3])
    with pytest.raises(ValueError, match="no value at"):
        Function("f", B, {0: 1})
    with pytest.raises(ValueError, match=r"applied to \(5,\), which is not an element"):
        Forall(FiniteSet([0, 5]), lambda x: Function("f", B, [1, 2])(x) == 1).truth()
    with pytest.raises(TypeError, match="not a set of functions"):
        Variable("x", B)(1)
    with pytest.raises(TypeError, match="Compare functions at every element"):
        Exists(CANDIDATES, lambda f: f == CANDIDATES[0])


def test_misused_operators_raise():
    x = Variable("x", B)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool((x == 0) and (x == 1))
    with pytest.raises(TypeError, match="Expected a predicate"):
        (x == 0) & True
    with pytest.raises(TypeError, match="takes variables and a predicate"):
        Forall(B, x == 0)
    with pytest.raises(ValueError, match="do not match the parameters"):
        Forall((B, B), lambda x: x == 0)
    with pytest.raises(TypeError, match="not iterable"):
        list(x)
    with pytest.raises(TypeError, match="over must be"):
        (x == 0).truth(over="x")


def test_shape_errors_name_the_formula():
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(\) in y = 1"):
        Forall(B2, lambda y: y == 1).truth()
    with pytest.raises(ValueError, match=r"y\[2\] does not exist"):
        Forall(B2, lambda y: y[2] == 1).truth()


def test_semantics_errors_list_the_choices():
    with pytest.raises(ValueError, match=r"conjunction must be one of \['log"):
        Semantics(conjunction="plus")
    with pytest.raises(ValueError, match="residual"):
        Semantics(implication="minus")
    with pytest.raises(ValueError, match=r"premetrics\['Y'\] must be"):
        Semantics(premetrics={"Y": "cosine"})
    with pytest.raises(TypeError, match="must be a Semantics"):
        value(1).quantity("sum")


def test_tables_beyond_memory_are_refused():
    many = FiniteSet(range(10_000))
    with pytest.raises(ValueError, match="1e\\+08 cells, over the limit"):
        Forall(many, lambda x, y: x == y).truth()
    with pytest.raises(ValueError, match="over the limit"):
        Forall(many, lambda x, y: (x == 0) & (y == 0)).quantity()
    with pytest.raises(ValueError, match="over the limit"):
        functions(FiniteSet(range(20)), FiniteSet(range(20)))
