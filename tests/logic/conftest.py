"""Predicates of the paper that several tests look at."""

from sklearn_disent.logic import (
    And,
    Equal,
    Exists,
    FiniteSet,
    Forall,
    Function,
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
