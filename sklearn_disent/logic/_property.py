"""A property of codes: written once, read as truth, metric, scorer and training objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._params import NanPolicy, PositiveInt, RandomStateLike, validated
from ._backend import detached, is_tensor, namespace
from ._data import Data, bind, bind_pairs
from ._frame import FormulaError, Frame, Node
from ._predicates import Guarantee, Predicate
from ._quantale import Semantics
from ._sets import _index_kind
from ._symbols import Symbol, _Part

if TYPE_CHECKING:
    from ..metrics import Metric
    from ..models import Logic

Groups = Annotated[Sequence[ArrayLike], "array-like"]
Assignment = Literal["one_to_one", "partition", "in_order"]
CodeScale = Literal["given", "unit"]
FactorScale = Literal["given", "unit"]
Link = Literal["exp", "reciprocal"] | Callable[[float], float]

# Pairs of samples in one quantifier; more are drawn. 2,048 samples have as many.
N_PAIRS = 2**22
# Parts into which drawn pairs are divided to tell their error.
_N_PARTS = 10


class Evaluation(NamedTuple):
    """A quantity, and by how much it may be off."""

    quantity: float
    """Between 0 and infinity, lower is better."""
    error: float
    """Standard error where pairs of samples were drawn; 0 where all were looked at."""


@dataclass(frozen=True)
class ClosedForm:
    """What gives the same number as the formula, faster: of arrays, and of tensors.

    Parameters
    ----------
    arrays : callable or None, default=None
        Called with factors, codes and those of the options groups, assignment, code_scale,
        factor_scale, nan_policy that it takes.
    tensors : callable or None, default=None
        Called with the data of a batch.
    """

    arrays: Callable[..., float] | None = None
    tensors: Callable[[Data], Any] | None = None


class Property:
    r"""A property of codes: a formula about factors y and codes z that holds no data.

    Written once, it is evaluated on any factors and codes: as a quantity in [0, inf], where 0 is
    best, as a score, as a scikit-learn scorer, and as a training objective.

    Parameters
    ----------
    formula : callable
        A function of two symbols, ``y`` for the factors and ``z`` for the codes (see `Symbol`),
        which returns a `Predicate`. It is called once, when the property is made.
    semantics : Semantics or None, default=None
        What stands for equality, connectives and quantifiers; ``Semantics()`` if None.
    name : str or None, default=None
        Name to show; that of the function if None. Reports and ``history_`` use it.
    link : {"exp", "reciprocal"} or callable, default="exp"
        How a quantity q becomes a score: exp(-q), 1 / (1 + q), or a decreasing function of your
        own.
    question : str or None, default=None
        Under which question a report lists it; "Other" if None.
    reference : str, default=""
        Where the definition is from.
    closed_form : ClosedForm or None, default=None
        What gives the same number faster; see `sklearn_disent.logic.properties`.

    Attributes
    ----------
    formula : Predicate
        The formula, which ``print`` shows.
    guarantee : Guarantee
        Whether quantity 0 implies that the formula is true, and the other way around.

    See Also
    --------
    sklearn_disent.logic.properties : Ready properties: those of the papers.
    sklearn_disent.metrics.get_scorer : Takes a property.
    sklearn_disent.metrics.disentanglement_report : Takes properties among its metrics.

    Notes
    -----
    A factor that has a single value is left out, with a warning, as in all metrics. Factors that
    are numbers count by their value; strings, booleans and unordered categories are at distance 1.

    ``Exists`` over ``y.space``, ``z.space``, `maps` or ``z.assignments`` is solved: by the mean
    (means of squares), the geometric median (means of distances), the centre of the smallest ball
    (largest distance), a linear fit that is least squares, least absolute or minimax, or an optimal
    assignment. Infima over other sets are minima over their elements.

    Tuples of samples beyond `n_pairs` are drawn; :meth:`evaluate` tells the error. The largest
    value over drawn pairs is a lower bound.

    Under "mean", an implication whose condition is rarely met is small, since it counts as met
    elsewhere: ``Forall(y.pairs, lambda s, t: (y(s)[k] == y(t)[k]) >> P)`` is the mean of P over
    pairs of the same factor, times the share of these pairs. ``y.pairs.where(...)`` has no such
    factor. A mean over the K factors is 1 / K of the conjunction that lists them.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS.

    Examples
    --------
    >>> from sklearn_disent.logic import Forall, Property
    >>> modular = Property(lambda y, z: Forall(y.columns, lambda k: Forall(
    ...     y.samples, lambda s, t: (y(s)[k] == y(t)[k]) >> (z(s)[k] == z(t)[k]))))
    >>> print(modular)
    ∀ k ∈ factors. ∀ s, t ∈ samples. (y(s)[k] = y(t)[k]) → (z(s)[k] = z(t)[k])
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> modular.quantity(factors, [[5, 1], [5, 2], [7, 1], [7, 2]])
    0.0
    >>> modular.quantity(factors, [[1, 2], [3, 4], [5, 6], [7, 8]], groups=[[0], [1]])
    4.0
    >>> modular.guarantee
    Guarantee(zero_implies_true=True, true_implies_zero=True)
    """

    @validated
    def __init__(
        self,
        formula: Callable[..., Any],
        *,
        semantics: Semantics | None = None,
        name: str | None = None,
        link: Link = "exp",
        question: str | None = None,
        reference: str = "",
        closed_form: ClosedForm | None = None,
    ) -> None:
        self.formula = formula(Symbol("factors"), Symbol("codes"))
        if not isinstance(self.formula, Predicate):
            raise TypeError(f"formula must return a predicate, got {self.formula!r}.")
        for variable in self.formula._free():
            raise FormulaError(
                variable, f"variable {variable.name} is not bound. Bind it by Forall or Exists."
            ).within(self.formula)
        own = getattr(formula, "__name__", "<lambda>")
        self.name = name or ("property" if own == "<lambda>" else own)
        self.semantics = semantics or Semantics()
        self.link = link
        self.question = question
        self.reference = reference
        self.closed_form = closed_form
        self._uses_blocks = _uses_blocks(self.formula)

    def __repr__(self) -> str:
        return repr(self.formula)

    @property
    def guarantee(self) -> Guarantee:
        """Whether quantity 0 implies truth, and truth implies quantity 0; see the user guide."""
        return self.formula.guarantee(self.semantics)

    @validated
    def quantity(
        self,
        factors: Any,
        codes: Any,
        *,
        semantics: Semantics | None = None,
        groups: Groups | None = None,
        assignment: Assignment = "one_to_one",
        code_scale: CodeScale = "given",
        factor_scale: FactorScale = "given",
        method: Literal["auto", "formula"] = "auto",
        n_pairs: PositiveInt | None = N_PAIRS,
        random_state: RandomStateLike = 0,
        nan_policy: NanPolicy = "raise",
    ) -> Any:
        """Evaluate as a metric: in [0, inf], lower is better, 0 means true (see `guarantee`).

        Parameters
        ----------
        factors : array-like or Tensor of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like or Tensor of shape (n_samples, n_codes)
            The representation. The quantity of a tensor is a tensor, with a gradient.
        semantics : Semantics or None, default=None
            What stands for equality, connectives and quantifiers; that of the property if None.
        groups : sequence of array-like of int or None, default=None
            For every factor the columns of `codes` that are meant for it, ``z(s)[k]``. If None,
            `assignment` finds them.
        assignment : {"one_to_one", "partition", "in_order"}, default="one_to_one"
            Without `groups`: one code per factor, such that the factors explain as much as possible
            of the variance of their codes; every code for the factor that explains most of it; or
            code k for factor k.
        code_scale : {"given", "unit"}, default="given"
            Take codes as they are, as published; or scale the codes of each factor, and each single
            code, to a total variance of 1, and all codes together to that of the factors.
        factor_scale : {"given", "unit"}, default="given"
            Take numbers as they are, or scale each factor to [0, 1].
        method : {"auto", "formula"}, default="auto"
            The closed form where there is one, or the formula itself.
        n_pairs : int or None, default=4194304
            Pairs of samples in one quantifier; where there are more, as many are drawn. None
            looks at all.
        random_state : int, RandomState instance or None, default=0
            Draws the pairs.
        nan_policy : {"raise", "omit"}, default="raise"
            Whether a missing value is an error or drops its row.

        Returns
        -------
        quantity : float, or Tensor of shape () if `codes` is one
        """
        options: dict[str, Any] = {
            **{"groups": groups, "assignment": assignment, "code_scale": code_scale},
            **{"factor_scale": factor_scale, "nan_policy": nan_policy},
        }
        if method == "auto" and semantics is None and self.closed_form is not None:
            fast = self._closed(factors, codes, options)
            if fast is not None:
                return fast
        data = bind(factors, codes, uses_blocks=self._uses_blocks, **options)
        return self._of(data, semantics, n_pairs, random_state)

    def _closed(self, factors: Any, codes: Any, options: dict[str, Any]) -> Any:
        closed = self.closed_form
        if is_tensor(codes):
            if closed.tensors is None:  # type: ignore[union-attr]
                return None
            return closed.tensors(bind(factors, codes, uses_blocks=self._uses_blocks, **options))  # type: ignore[union-attr]
        if closed.arrays is None or options["assignment"] == "in_order":  # type: ignore[union-attr]
            return None
        if is_tensor(factors):
            factors = detached(factors)
        return closed.arrays(factors, codes, **options)  # type: ignore[union-attr]

    def _of(
        self, data: Data, semantics: Semantics | None, n_pairs: int | None, random_state: Any
    ) -> Any:
        if len(data.kept) == 0:
            return namespace(data.codes).floats(inf, data.codes) if is_tensor(data.codes) else inf
        rng = check_random_state(random_state)
        frame = Frame(data=data, n_pairs=n_pairs, rng=rng)
        try:
            value = self.formula._quantity(frame, semantics or self.semantics)
        except FormulaError as error:
            raise error.within(self.formula) from None
        if is_tensor(data.codes):
            return namespace(data.codes).floats(value, data.codes).reshape(())
        return float(value)

    def _of_tensors(self, data: Data) -> Any:
        """The quantity of a batch, which is looked at as a whole."""
        closed = self.closed_form
        if closed is not None and closed.tensors is not None and data.pairs is None:
            return closed.tensors(data)
        return self._of(data, None, None, 0)

    def truth(self, factors: Any, codes: Any, **options: Any) -> bool:
        """Evaluate as logic: whether the formula is true of these numbers, to the last digit.

        Parameters
        ----------
        factors : array-like or Tensor of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like or Tensor of shape (n_samples, n_codes)
            The representation.
        **options
            `groups`, `assignment`, `factor_scale`, `nan_policy`, as in :meth:`quantity`.

        Returns
        -------
        truth : bool
        """
        data = bind(factors, codes, uses_blocks=self._uses_blocks, **options).numpy()
        try:
            return bool(self.formula._truth(Frame(data=data)))
        except FormulaError as error:
            raise error.within(self.formula) from None

    def evaluate(self, factors: ArrayLike, codes: ArrayLike, **options: Any) -> Evaluation:
        """The quantity with its error, where pairs of samples are drawn.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        **options
            As in :meth:`quantity`.

        Returns
        -------
        evaluation : Evaluation
            `quantity` and `error`, the standard error over ten parts of the pairs. Under "max" the
            quantity of drawn pairs is a lower bound, and the error says little.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_disent.logic import properties
        >>> rng = np.random.default_rng(0)
        >>> factors = rng.integers(5, size=(1000, 2))
        >>> codes = factors + 0.1 * rng.normal(size=(1000, 2))
        >>> found = properties.consistency().evaluate(factors, codes, n_pairs=50_000)
        >>> abs(found.quantity - 0.044) < 0.001, 0 < found.error < 0.001
        (True, True)
        """
        defaults = {"n_pairs": N_PAIRS, "random_state": 0, "semantics": None, "method": "auto"}
        given: dict[str, Any] = {**defaults, **options}
        n_pairs, semantics = given.pop("n_pairs"), given.pop("semantics")
        rng = check_random_state(given.pop("random_state"))
        method = given.pop("method")
        if method == "auto" and semantics is None and self.closed_form is not None:
            return Evaluation(float(self.quantity(factors, codes, **given)), 0.0)
        data = bind(factors, codes, uses_blocks=self._uses_blocks, **given)
        value = float(self._of(data, semantics, n_pairs, rng))
        if not data.sampled:
            return Evaluation(value, 0.0)
        part = max(1, n_pairs // _N_PARTS)
        parts = [float(self._of(data, semantics, part, rng)) for _ in range(_N_PARTS)]
        return Evaluation(value, float(np.std(parts, ddof=1) / np.sqrt(_N_PARTS)))

    def score(self, factors: Any, codes: Any, **options: Any) -> float:
        """exp(-quantity), or what the link makes of the quantity: higher is better.

        Parameters
        ----------
        factors : array-like of shape (n_samples, n_factors)
            The ground-truth factors.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        **options
            As in :meth:`quantity`.

        Returns
        -------
        score : float
        """
        return self._linked(float(self.quantity(factors, codes, **options)))

    def _linked(self, quantity: float) -> float:
        if callable(self.link):
            return float(self.link(quantity))
        return float(np.exp(-quantity)) if self.link == "exp" else 1 / (1 + quantity)

    @validated
    def quantity_of_pairs(
        self,
        pairs: ArrayLike,
        same: ArrayLike,
        codes: Any,
        *,
        semantics: Semantics | None = None,
        groups: Groups | None = None,
        code_scale: CodeScale = "given",
    ) -> Any:
        """Evaluate where nothing is known but which pairs of samples have the same factors.

        Quantifiers over two samples run over the given pairs. The formula may compare factors of
        the two, ``y(s)[k] == y(t)[k]`` or ``y(s) == y(t)``, and nothing else of the factors;
        different ones are at distance 1. Wrong answers count by their share, since no answer is
        concluded from others.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), int
            Row numbers of the two samples of each pair.
        same : array-like of shape (n_pairs, n_factors)
            For each pair and factor whether both samples have the same value: true, false, or nan
            if unknown.
        codes : array-like or Tensor of shape (n_samples, n_codes)
            The representation.
        semantics : Semantics or None, default=None
            What stands for equality, connectives and quantifiers; that of the property if None.
        groups : sequence of array-like of int or None, default=None
            For every factor the columns of `codes` that are meant for it; None takes code k for
            factor k.
        code_scale : {"given", "unit"}, default="given"
            Take codes as they are; or scale them to a total variance of 1.

        Returns
        -------
        quantity : float, or Tensor of shape () if `codes` is one

        Examples
        --------
        >>> from sklearn_disent.logic import properties
        >>> modular = properties.modularity_by_pairs()
        >>> modular.quantity_of_pairs([[0, 1], [1, 2]], [[True], [False]], [[0.0], [2.0], [9.0]])
        1.0
        """
        from ..metrics.logical._same_pairs import check_pairs

        links, known = check_pairs(pairs, same)
        if links.max() >= len(codes):
            raise ValueError(
                f"pairs must hold row numbers below {len(codes)}, the number of codes, got "
                f"{links.max()}."
            )
        data = bind_pairs(
            links,
            known,
            codes,
            uses_blocks=self._uses_blocks,
            groups=groups,
            code_scale=code_scale,
        )
        return self._of(data, semantics, None, 0)

    def score_of_pairs(
        self, pairs: ArrayLike, same: ArrayLike, codes: ArrayLike, **options: Any
    ) -> float:
        """What the link makes of :meth:`quantity_of_pairs`: higher is better.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), int
            Row numbers of the two samples of each pair.
        same : array-like of shape (n_pairs, n_factors)
            For each pair and factor whether both samples have the same value.
        codes : array-like of shape (n_samples, n_codes)
            The representation.
        **options
            As in :meth:`quantity_of_pairs`.

        Returns
        -------
        score : float
        """
        return self._linked(float(self.quantity_of_pairs(pairs, same, codes, **options)))

    def as_metric(self) -> Metric:
        """The score as a row that scorers and reports read; they ask for it by themselves.

        Returns
        -------
        metric : Metric

        Notes
        -----
        Here codes have the scale "unit" by default: else a search would choose codes that have
        collapsed, since what does not move is modular.
        """
        from ..metrics import Metric

        options: dict[str, Any] = {} if self.question is None else {"question": self.question}
        bounds = (-inf, inf) if callable(self.link) else (0.0, 1.0)
        return Metric(
            _Score(self),
            needs="factors",
            name=self.name,
            bounds=bounds,
            greater_is_better=True,
            **options,
        )

    def guidance(self, **params: Any) -> Logic:
        """The quantity as guidance of a VAE: ``BetaVAE(guidance=modular.guidance(weight=10.0))``.

        Parameters
        ----------
        **params
            Parameters of :class:`sklearn_disent.models.Logic`: `weight`, `n_labeled`, `groups`, ...

        Returns
        -------
        guidance : Logic
        """
        from ..models import Logic

        return Logic(self, **params)

    def with_semantics(self, semantics: Semantics) -> Property:
        """The same formula under another semantics, without its closed form.

        Parameters
        ----------
        semantics : Semantics
            What stands for equality, connectives and quantifiers.

        Returns
        -------
        property : Property
        """
        formula = self.formula
        return Property(
            lambda y, z: formula,
            semantics=semantics,
            name=self.name,
            link=self.link,
            question=self.question,
            reference=self.reference,
        )


@dataclass(frozen=True)
class _Score:
    """The score of a property as a function of factors and codes, for scorers and reports."""

    of: Property

    @property
    def __name__(self) -> str:
        return self.of.name

    def __call__(
        self,
        factors: ArrayLike,
        codes: ArrayLike,
        *,
        semantics: Semantics | None = None,
        groups: Any = None,
        assignment: Assignment = "one_to_one",
        code_scale: CodeScale = "unit",
        factor_scale: FactorScale = "unit",
        n_pairs: int | None = N_PAIRS,
        random_state: Any = 0,
        nan_policy: NanPolicy = "raise",
    ) -> float:
        return self.of.score(
            factors,
            codes,
            semantics=semantics,
            groups=groups,
            assignment=assignment,
            code_scale=code_scale,
            factor_scale=factor_scale,
            n_pairs=n_pairs,
            random_state=random_state,
            nan_policy=nan_policy,
        )


def _uses_blocks(node: Any) -> bool:
    """Whether the formula asks which codes belong to a factor."""
    if isinstance(node, _Part):
        return node.row.symbol._kind == "codes" and _index_kind(node.index) == "factors"
    inner = [getattr(node, name) for name in vars(node) if not name.startswith("__")]
    parts: list[Any] = []
    for value in inner:
        parts += value if isinstance(value, tuple) else [value]
    return any(isinstance(part, Node) and _uses_blocks(part) for part in parts)
