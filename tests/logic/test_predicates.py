"""Trees of terms and predicates: how they are built, evaluated, shown and refused."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sklearn_disent
from sklearn_disent.logic import (
    AGGREGATORS,
    PREMETRICS,
    And,
    Equal,
    Exists,
    FiniteSet,
    Forall,
    Function,
    Or,
    Semantics,
    Variable,
    _frame,
    functions,
)

from .conftest import B2, CANDIDATES, VARIANCE, B, value


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
    with pytest.raises(ValueError, match="every element of B, got none at"):
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


def test_quantifiers_beyond_a_chunk_are_evaluated_in_pieces(monkeypatch):
    many = FiniteSet(range(40))
    pairs = Forall(many, lambda x, y: x == y)
    whole = {name: pairs.quantity(Semantics(forall=name)) for name in AGGREGATORS}
    monkeypatch.setattr(_frame, "CHUNK", 100)
    for name, expected in whole.items():
        assert pairs.quantity(Semantics(forall=name)) == pytest.approx(expected, rel=1e-12)
    own = Semantics(forall=lambda values, axis: np.sum(values, axis=axis))
    assert pairs.quantity(own) == whole["sum"]
    assert Exists(many, lambda x, y: (x == 39) & (y == 0)).truth() is True
    assert Exists(many, lambda x, y: (x == 39.5) & (y == 0)).quantity() == 0.5


def test_sets_of_functions_beyond_memory_are_refused():
    with pytest.raises(ValueError, match="over the limit"):
        functions(FiniteSet(range(20)), FiniteSet(range(20)))


def test_component_may_be_numbered_by_a_variable():
    m = Function("m", B2, [(1, 2), (3, 4), (5, 6), (7, 8)])
    k = FiniteSet([0, 1], "K")
    every = Forall(B2, lambda y: Forall(k, lambda k: m(y)[k] == 1))
    listed = Forall(B2, lambda y: (m(y)[0] == 1) & (m(y)[1] == 1))
    # Under "max" the quantifier and its list agree if "and" is the maximum, too.
    assert every.quantity() == listed.quantity(Semantics(conjunction="max")) == 7.0
    # A mean over the two is half of their sum.
    mean = Semantics(forall="mean")
    assert every.quantity(mean) == listed.quantity(mean) / 2 == 3.5
    with pytest.raises(ValueError, match="must be the number of a component"):
        Forall(B2, lambda y: Forall(FiniteSet([0.5]), lambda k: m(y)[k] == 1)).quantity()
