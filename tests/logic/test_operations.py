"""Premetrics, connectives and aggregators: values by hand, formulas of the paper, laws."""

import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_disent.logic import (
    AGGREGATORS,
    CONJUNCTIONS,
    DISJUNCTIONS,
    IMPLICATIONS,
    NEGATIONS,
    PREMETRICS,
    Aggregator,
    Conjunction,
    Disjunction,
    FiniteSet,
    Forall,
    Implication,
    Negation,
    Premetric,
    Semantics,
    _quantale,
)

from .conftest import value

FINITE = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 3.0]) | st.floats(0, 5, allow_subnormal=False)
QUANTITY = FINITE | st.just(np.inf)
every = pytest.mark.parametrize


def close(x, y):
    assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def check_ordered_monoid(op, unit, a, b, c):
    close(op(op(a, b), c), op(a, op(b, c)))
    assert op(a, b) == op(b, a)
    assert op(unit, a) == op(a, unit) == a
    low, high = min(b, c), max(b, c)
    assert op(a, low) <= op(a, high) * (1 + 1e-9)


@every("name", CONJUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(a=QUANTITY, b=QUANTITY, c=QUANTITY)
def test_conjunction_laws(name, a, b, c):
    op = CONJUNCTIONS[name]
    check_ordered_monoid(op, 0, a, b, c)
    assert op(a, b) >= max(a, b)
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
    check_ordered_monoid(op, np.inf, a, b, c)
    assert op(0, a) == 0
    assert op(a, b) <= min(a, b) * (1 + 1e-12)


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


@every(
    ("literal", "table"),
    [
        (_quantale.PremetricName, PREMETRICS),
        (_quantale.ConjunctionName, CONJUNCTIONS),
        (_quantale.DisjunctionName, DISJUNCTIONS),
        (_quantale.ImplicationName, {**IMPLICATIONS, "residual": None}),
        (_quantale.NegationName, NEGATIONS),
        (_quantale.AggregatorName, AGGREGATORS),
    ],
)
def test_names_in_annotations_are_those_of_the_tables(literal, table):
    assert get_args(literal) == tuple(table)


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
    assert got == {
        **{"euclidean": 5, "squared_euclidean": 25, "manhattan": 7, "0/1": 1, "0/inf": np.inf},
    }


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


@every("name", CONJUNCTIONS)
@every("value", [0.0, 5e-324, 1e-9, 0.3, 1.0, 1e300, np.inf])
def test_zero_is_the_unit_of_a_conjunction_to_the_last_bit(name, value):
    op = CONJUNCTIONS[name]
    assert op(0.0, value) == op(value, 0.0) == value
    both = op(np.array([0.0, value, 0.0]), np.array([value, 0.0, 0.0]))
    assert both.tolist() == [value, value, 0.0]
