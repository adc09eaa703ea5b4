"""From logic to metric: a property, written as a predicate, has a truth and a distance from truth.

Zhang and Sugiyama (2024) turn a first-order predicate over equations into a number in [0, inf],
of which 0 is best: equality becomes a strict premetric, the connectives become operations of a
quantale, "for all" becomes an aggregator and "exists" an infimum. A `Property` is such a predicate
about factors and codes that are not given yet: written once, it is a metric, a scorer and an
objective of training; `properties` holds those of the field. A `Predicate` is a tree over finite
tables, which is evaluated both ways, by `truth` and by `quantity`::

    logic                      metric (`Semantics`)     choices
    equality ``a == b``        strict premetric         `PREMETRICS`, any callable
    conjunction ``p & q``      monoid with unit 0       `CONJUNCTIONS`
    disjunction ``p | q``      minimum and the like     `DISJUNCTIONS`
    implication ``p >> q``     adjoint of conjunction   `IMPLICATIONS`
    negation ``~p``            complement               `NEGATIONS`
    `Forall`                   aggregator               `AGGREGATORS`
    `Exists`                   infimum

Examples
--------
A code ``m`` of two binary factors, and two ways of saying that it is modular. First, codes agree
where their factor agrees ("0/inf" on the factors makes the condition of the implication sharp):

>>> from sklearn_disent.logic import (
...     And, Equal, Exists, FiniteSet, Forall, Function, Semantics, Variable, functions)
>>> B = FiniteSet([0, 1], "B")
>>> Y = B * B
>>> y, v = Variable("y", Y), Variable("v", Y)
>>> m = Function("m", Y, [(1, 2), (3, 4), (5, 6), (7, 8)])
>>> modular = And(*(
...     Forall((y, v), Equal(y[i], v[i], on="Y") >> (m(y)[i] == m(v)[i])) for i in range(2)))
>>> modular.truth()
False
>>> modular.quantity(Semantics(premetrics={"Y": "0/inf"}))  # the diameters, 2 + 4
6.0

Second, ``m`` is a product of functions of one factor each. Its quantity is the distance to the
best product function, here over a finite set of candidates:

>>> f = Variable("f", functions(B, FiniteSet(range(1, 9)), name="F"))
>>> product = And(*(Exists(f, Forall(y, m(y)[i] == f(y[i]))) for i in range(2)))
>>> product
(∃ f ∈ F. ∀ y ∈ B×B. m(y)[0] = f(y[0])) ∧ (∃ f ∈ F. ∀ y ∈ B×B. m(y)[1] = f(y[1]))
>>> product.truth(), product.quantity()  # the radii, 1 + 2
(False, 3.0)
>>> product.quantity(Semantics("squared_euclidean", forall="mean"))  # the variances, 1 + 4
5.0

A code is informative if it is injective, or if it has a left inverse: one property, two quantities.
Variables may also be the parameters of a function, here ``y`` and ``v``:

>>> Y = FiniteSet([0.0, 0.5, 1.0], "Y")
>>> m = Function("m", Y, lambda y: 0.01 * y)
>>> injective = Forall(Y, lambda y, v: (m(y) == m(v)) >> (y == v))
>>> injective
∀ y, v ∈ Y. (m(y) = m(v)) → (y = v)
>>> injective.truth(), round(injective.quantity(), 6)  # true, but it contracts 1 to 0.01
(True, 0.99)
>>> invertible = Exists(functions(m.image(), Y), lambda h: Forall(Y, lambda y: h(m(y)) == y))
>>> invertible.truth(), invertible.quantity()
(True, 0.0)

Notes
-----
Departures from the paper, and gaps in it:

- Quantity 0 implies truth only if whatever is negated, or stands before an arrow, is itself 0 when
  it is true, and if infima are attained; Theorem 1 is stated without these conditions.
  `Predicate.guarantee` checks them.
- The mean square distance over all ordered pairs is twice the variance (Example 8 has it once).
- A "mean_square" inside a "mean_square" squares twice. For the variances of equation 17 use
  "mean" with "squared_euclidean", or one `Forall` over several variables.
- The infimum is over a finite set of candidates, or solved (`maps`, `interval`).
- No operation of the tables underflows to 0: floating point keeps false apart from true.

References
----------
Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
metrics. NeurIPS.
"""

from . import properties
from ._frame import FormulaError
from ._predicates import (
    And,
    Equal,
    Guarantee,
    Implies,
    Not,
    Or,
    Predicate,
)
from ._property import ClosedForm, Evaluation, Property
from ._quantale import (
    AGGREGATORS,
    CONJUNCTIONS,
    DISJUNCTIONS,
    IMPLICATIONS,
    NEGATIONS,
    PREMETRICS,
    Aggregator,
    Conjunction,
    Disjunction,
    Implication,
    Negation,
    Premetric,
    Semantics,
)
from ._quantifiers import Exists, Forall
from ._symbols import Symbol
from ._terms import FiniteSet, Function, Term, Variable, functions
from ._unknowns import interval, maps

__all__ = [
    "Property",
    "Evaluation",
    "ClosedForm",
    "Symbol",
    "maps",
    "interval",
    "FormulaError",
    "properties",
    "FiniteSet",
    "Function",
    "functions",
    "Term",
    "Variable",
    "Predicate",
    "Equal",
    "And",
    "Or",
    "Implies",
    "Not",
    "Forall",
    "Exists",
    "Guarantee",
    "Semantics",
    "Premetric",
    "Conjunction",
    "Disjunction",
    "Implication",
    "Negation",
    "Aggregator",
    "PREMETRICS",
    "CONJUNCTIONS",
    "DISJUNCTIONS",
    "IMPLICATIONS",
    "NEGATIONS",
    "AGGREGATORS",
]
