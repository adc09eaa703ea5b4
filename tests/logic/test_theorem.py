"""Theorem 1: when quantity 0 and truth are the same."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.logic import (
    AGGREGATORS,
    CONJUNCTIONS,
    DISJUNCTIONS,
    IMPLICATIONS,
    NEGATIONS,
    PREMETRICS,
    And,
    Equal,
    Exists,
    FiniteSet,
    Forall,
    Function,
    Guarantee,
    Implies,
    Not,
    Or,
    Semantics,
    Variable,
    interval,
)

from .conftest import B2, PRODUCT, constant_curried, injective, modular, product_function, value

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


@settings(max_examples=60, deadline=None)
@given(predicate=predicates(POSITIVE), semantics=SEMANTICS)
def test_theorem_1_without_implication_zero_exactly_when_true(predicate, semantics):
    assert (predicate.quantity(semantics) == 0) == predicate.truth()
    assert predicate.guarantee(semantics) == Guarantee(True, True)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=80, deadline=None)
@given(predicate=predicates((*POSITIVE, Implies, Not)), semantics=SEMANTICS)
def test_guarantee_holds_for_every_predicate(predicate, semantics):
    truth, quantity = predicate.truth(), predicate.quantity(semantics)
    guarantee = predicate.guarantee(semantics)
    assert quantity >= 0
    if guarantee.zero_implies_true and quantity == 0:
        assert truth
    if guarantee.true_implies_zero and truth:
        assert quantity == 0


@settings(max_examples=60, deadline=None)
@given(predicate=predicates((*POSITIVE, Implies, Not)), semantics=SEMANTICS)
def test_exact_operations_make_zero_and_true_the_same(predicate, semantics):
    exact = replace(semantics, implication="exact", negation="exact")
    assert (predicate.quantity(exact) == 0) == predicate.truth()
    assert predicate.guarantee(exact) == Guarantee(True, True)


@pytest.mark.slow
def test_theorem_1_in_every_semantics():
    swapped = Function("m", B2, [(0, 0), (1, 0), (0, 1), (1, 1)])
    both = [constant_curried(m) | product_function(m) for m in (PRODUCT, swapped)]
    implied = [modular(m, B2, 2) for m in (PRODUCT, swapped)] + [injective(swapped)]
    exact = [p.truth() for p in both]
    assert exact == [True, False]
    for premetric, forall in itertools.product(PREMETRICS, AGGREGATORS):
        options = {"premetric": premetric, "forall": forall}
        without_implication = [{"conjunction": name} for name in CONJUNCTIONS]
        without_implication += [{"disjunction": name} for name in DISJUNCTIONS]
        for own in without_implication:
            semantics = Semantics(**options, **own)
            assert [p.quantity(semantics) == 0 for p in both] == exact
        for implication in IMPLICATIONS:
            semantics = Semantics(**options, implication=implication)
            assert all(p.quantity(semantics) > 0 or p.truth() for p in implied)


def test_squares_that_overflow_are_infinite():
    far = Forall(FiniteSet([1e200, 0.0]), lambda u: u == 0)
    assert far.quantity(Semantics(forall="mean_square")) == np.inf
    assert far.quantity(Semantics(forall="root_mean_square")) == np.inf


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


def test_theorem_1_only_if_fails():
    # An implication, and yet 0 wherever it is true.
    x = Variable("x", FiniteSet([0.0, 1.0, 5.0]))
    same = Forall(x, (x == 1) >> (x == 1))
    assert same.truth() is True
    assert same.quantity() == 0.0


def test_theorem_1_needs_infima_that_are_attained():
    for closed, truth in (("right", False), ("both", True)):
        zero = Exists(interval(0, 1, closed=closed), lambda u: u == 0)
        assert zero.quantity() == 0.0
        assert zero.truth() is truth
        assert zero.guarantee().zero_implies_true is truth
    assert Exists(interval(0, 1), lambda u: u == 3).quantity() == 2.0


def test_sharp_conditions_are_exact():
    sharp = Equal(0.0, 1.0, on="factors")
    predicate = sharp >> value(3)  # false implies false
    assert predicate.quantity() == 0.0
    assert predicate.guarantee() == Guarantee(True, True)
    both = And(sharp, sharp) >> value(3)
    assert both.guarantee() == Guarantee(True, True)
