"""Modularity and informativeness as in the paper, each with its closed form."""

from __future__ import annotations

from typing import Any, Literal

from ..._params import Predictor, validated
from .._property import ClosedForm, Property
from .._quantale import Premetric, Semantics
from .._quantifiers import Exists, Forall
from .._unknowns import maps
from ._shared import EXPLICITNESS, MODULARITY, PAPER, SUM_OF_FACTORS, Aggregate, gathered, maps_of

PointDeviation = Literal["variance", "radius", "mad"]
PairwiseDeviation = Literal["mean_pairwise", "diameter"]

_SEMANTICS = {
    "variance": Semantics("squared_euclidean", forall="mean", aggregators=SUM_OF_FACTORS),
    "radius": Semantics("euclidean", forall="max", aggregators=SUM_OF_FACTORS),
    "mad": Semantics("euclidean", forall="mean", aggregators=SUM_OF_FACTORS),
    "diameter": Semantics("euclidean", forall="max", aggregators=SUM_OF_FACTORS),
    # Half the mean over ordered pairs, as published.
    "mean_pairwise": Semantics(
        Premetric.scaled("euclidean", 0.5), forall="mean", aggregators=SUM_OF_FACTORS
    ),
}
# Of a pair, as a class of two: the variance, half the mean distance, the diameter.
_OF_PAIRS = {
    "variance": Semantics(
        Premetric.scaled("squared_euclidean", 0.25), forall="mean", aggregators=SUM_OF_FACTORS
    ),
    "mean_pairwise": Semantics(
        Premetric.scaled("euclidean", 0.25), forall="mean", aggregators=SUM_OF_FACTORS
    ),
    "diameter": Semantics("euclidean", forall="max", aggregators=SUM_OF_FACTORS),
}


# Closed forms are functions of modules, not closures: a property must survive pickling.


class _Modularity:
    def __init__(self, deviation: str) -> None:
        self.deviation = deviation

    def __call__(self, factors: Any, codes: Any, *, factor_scale: str, **options: Any) -> float:
        from ...metrics import modularity_distance

        distance = modularity_distance(
            factors, codes, deviation=self.deviation, factor_bins="unique", **options
        )
        return float(distance)

    def of_tensors(self, data: Any) -> Any:
        from ...models import terms

        term = getattr(terms, f"{self.deviation}_term")
        classes, codes, groups = data.blocks()
        return term(classes, codes, groups=groups)


class _Informativeness:
    def __init__(self, quantity: str, inverse: Any = "linear") -> None:
        self.quantity, self.inverse = quantity, inverse

    def __call__(
        self,
        factors: Any,
        codes: Any,
        *,
        groups: Any,
        assignment: str,
        code_scale: str,
        **rest: Any,
    ) -> float:
        from ...metrics import informativeness_distance

        distance = informativeness_distance(
            factors,
            codes,
            quantity=self.quantity,
            inverse=self.inverse,
            code_scale=code_scale,
            **rest,
        )
        return float(distance)

    def of_tensors(self, data: Any) -> Any:
        from ...models import terms

        aggregate: Aggregate = "max" if self.quantity == "max_contraction" else "mean"
        values, codes = data.whole(None, "factors"), data.whole(None, "codes")
        return terms.contraction_term(values, codes, aggregate=aggregate)


@validated
def modularity_by_product(deviation: PointDeviation = "variance") -> Property:
    """Modularity by the nearest product of functions: the codes of a factor depend on it alone.

    For every factor and each of its values there is a point at which all codes of that value are.

    Parameters
    ----------
    deviation : {"variance", "radius", "mad"}, default="variance"
        Mean square, largest or mean distance to the point.

    Returns
    -------
    property : Property

    See Also
    --------
    sklearn_disent.metrics.modularity_distance : The closed form.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definitions 3 and 5.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> modular = properties.modularity_by_product()
    >>> print(modular)
    ∀ k ∈ factors. ∀ v ∈ values(y[k]). ∃ c ∈ Z. ∀ s ∈ {s ∈ samples | y(s)[k] = v}. z(s)[k] = c
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> modular.quantity(factors, [[1, 2], [3, 4], [5, 6], [7, 8]], groups=[[0], [1]])
    5.0
    """
    closed = _Modularity(deviation)
    return Property(
        lambda y, z: Forall(y.columns, lambda k: gathered(y, z, k, k)),
        semantics=_SEMANTICS[deviation],
        name=f"modularity_by_product_{deviation}",
        question=MODULARITY,
        reference=PAPER,
        closed_form=ClosedForm(closed, closed.of_tensors if deviation == "variance" else None),
    )


@validated
def modularity_by_constancy(deviation: PairwiseDeviation = "mean_pairwise") -> Property:
    """Modularity by constancy: codes of a factor are the same wherever the factor is.

    Parameters
    ----------
    deviation : {"mean_pairwise", "diameter"}, default="mean_pairwise"
        Half the mean, or the largest, distance of two codes of the same value.

    Returns
    -------
    property : Property

    See Also
    --------
    sklearn_disent.metrics.modularity_distance : The closed form.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definitions 6 and 7.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> constant = properties.modularity_by_constancy("diameter")
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> constant.quantity(factors, [[1, 2], [3, 4], [5, 6], [7, 8]], groups=[[0], [1]])
    6.0
    """
    closed = _Modularity(deviation)
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(
                y.values(k),
                lambda v: Forall(
                    y.samples.where(lambda s: y(s)[k] == v), lambda s, t: z(s)[k] == z(t)[k]
                ),
            ),
        ),
        semantics=_SEMANTICS[deviation],
        name=f"modularity_by_constancy_{deviation}",
        question=MODULARITY,
        reference=PAPER,
        closed_form=ClosedForm(closed, closed.of_tensors),
    )


@validated
def modularity_by_pairs(
    deviation: Literal["variance", "mean_pairwise", "diameter"] = "variance",
) -> Property:
    """Modularity of pairs: two samples with the same factor have the same codes of it.

    It asks nothing but "the same or not?", so that pairs suffice (`Property.quantity_of_pairs`),
    and a wrong answer about one pair does not touch others.

    Parameters
    ----------
    deviation : {"variance", "mean_pairwise", "diameter"}, default="variance"
        Of a pair of the same factor, taken as a class of two: a quarter of the squared distance, or
        of the distance, in the mean; or the largest distance.

    Returns
    -------
    property : Property

    See Also
    --------
    sklearn_disent.metrics.classes_from_pairs : Classes from pairs, robust ones included.
    sklearn_disent.models.terms.same_pair_term : The same of tensors.

    Notes
    -----
    Of all pairs of a sample, values of a factor weigh by the square of their frequency, where
    `modularity_by_product` gives each the same weight.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Appendix F.2.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> print(properties.modularity_by_pairs())
    ∀ k ∈ factors. ∀ s, t ∈ {s, t ∈ pairs | y(s)[k] = y(t)[k]}. z(s)[k] = z(t)[k]
    """
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(
                y.pairs.where(lambda s, t: y(s)[k] == y(t)[k]), lambda s, t: z(s)[k] == z(t)[k]
            ),
        ),
        semantics=_OF_PAIRS[deviation],
        name=f"modularity_by_pairs_{deviation}",
        question=MODULARITY,
        reference=PAPER,
    )


@validated
def informativeness_by_inverse(
    error: Literal["mse", "mae", "max_error"] = "mse",
    inverse: Literal["linear", "equal_codes"] | Predictor = "linear",
) -> Property:
    """Informativeness by a left inverse: some function reads the factors off the codes.

    Parameters
    ----------
    error : {"mse", "mae", "max_error"}, default="mse"
        Mean squared or mean absolute error over samples and factors, or the largest Euclidean error
        of a sample.
    inverse : {"linear", "equal_codes"} or regressor, default="linear"
        Affine functions; all functions; or those of a scikit-learn regressor.

    Returns
    -------
    property : Property

    See Also
    --------
    sklearn_disent.metrics.informativeness_distance : The closed form.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definitions 2 and 8.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.logic import properties
    >>> y = np.linspace(0, 1, 11)[:, None]
    >>> round(properties.informativeness_by_inverse("max_error").quantity(y, y**2), 6)
    0.125
    """
    kind = maps_of(inverse)
    closed = ClosedForm(_Informativeness(error, inverse))
    options: dict[str, Any] = {"question": EXPLICITNESS, "reference": PAPER, "closed_form": closed}
    name = f"informativeness_by_inverse_{error}"
    if error == "max_error":
        return Property(
            lambda y, z: Exists(maps(kind), lambda h: Forall(y.samples, lambda s: h(z(s)) == y(s))),
            semantics=Semantics("euclidean", forall="max"),
            name=name,
            **options,
        )
    premetric: Any = "squared_euclidean" if error == "mse" else "manhattan"
    return Property(
        lambda y, z: Exists(
            maps(kind),
            lambda h: Forall(
                y.samples, lambda s: Forall(y.columns, lambda k: h(z(s))[k] == y(s)[k])
            ),
        ),
        semantics=Semantics(premetric, forall="mean"),
        name=name,
        **options,
    )


@validated
def informativeness_by_injectivity(aggregate: Aggregate = "mean") -> Property:
    """Informativeness by injectivity: where codes are the same, so are the factors.

    Parameters
    ----------
    aggregate : {"mean", "max"}, default="mean"
        Over all ordered pairs of samples.

    Returns
    -------
    property : Property

    See Also
    --------
    sklearn_disent.metrics.informativeness_distance : The closed form.

    Notes
    -----
    Equations of codes are never sharp: the quantity is by how much two codes are nearer to each
    other than their factors. Codes that are injective but contract have a quantity above 0.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definitions 1 and 9.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.logic import properties
    >>> y = np.linspace(0, 1, 11)[:, None]
    >>> round(properties.informativeness_by_injectivity("max").quantity(y, 0.1 * y), 6)
    0.9
    """
    closed = _Informativeness(f"{aggregate}_contraction")
    return Property(
        lambda y, z: Forall(y.samples, lambda s, t: (z(s) == z(t)) >> (y(s) == y(t))),
        semantics=Semantics("euclidean", forall=aggregate),
        name=f"informativeness_by_injectivity_{aggregate}",
        question=EXPLICITNESS,
        reference=PAPER,
        closed_form=ClosedForm(closed, closed.of_tensors),
    )
