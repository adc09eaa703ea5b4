"""Ready properties: definitions of the field, each with its formula, reference and closed form.

Every function returns a `Property`. ``print`` shows the formula, ``.guarantee`` tells whether
quantity 0 implies truth, ``.reference`` where the definition is from.
"""

from __future__ import annotations

from typing import Any, Literal

from .._params import Predictor, validated
from ._predicates import Exists, Forall
from ._property import ClosedForm, Property
from ._quantale import Premetric, Semantics
from ._symbols import maps

__all__ = [
    "modularity_by_product",
    "modularity_by_constancy",
    "modularity_by_pairs",
    "informativeness_by_inverse",
    "informativeness_by_injectivity",
    "consistency",
    "restrictiveness",
    "disentanglement",
    "completeness",
    "equivariance",
    "one_latent_per_factor",
]

PAPER = (
    "Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to "
    "quantitative metrics. NeurIPS."
)
SHU = (
    "Shu, Chen, Kumar, Ermon and Poole (2020). Weakly supervised disentanglement with guarantees. "
    "ICLR."
)
DCI = (
    "Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled "
    "representations. ICLR."
)
HIGGINS = (
    "Higgins, Amos, Pfau, Racaniere, Matthey, Rezende and Lerchner (2018). Towards a definition of "
    "disentangled representations. arXiv:1812.02230."
)
MODULARITY = "Modularity: is each code about one factor?"
COMPACTNESS = "Compactness: is each factor in one code?"
EXPLICITNESS = "Explicitness: can the factors be read off the codes?"
SEVERAL = "Several of these at once"

PointDeviation = Literal["variance", "radius", "mad"]
PairwiseDeviation = Literal["mean_pairwise", "diameter"]
Aggregate = Literal["mean", "max"]

_SUM = {"k": "sum"}
_SEMANTICS = {
    "variance": Semantics("squared_euclidean", forall="mean", aggregators=_SUM),
    "radius": Semantics("euclidean", forall="max", aggregators=_SUM),
    "mad": Semantics("euclidean", forall="mean", aggregators=_SUM),
    "diameter": Semantics("euclidean", forall="max", aggregators=_SUM),
    # Half the mean over ordered pairs, as published.
    "mean_pairwise": Semantics(Premetric.scaled("euclidean", 0.5), forall="mean", aggregators=_SUM),
}
# Of a pair, as a class of two: the variance, half the mean distance, the diameter.
_OF_PAIRS = {
    "variance": Semantics(
        Premetric.scaled("squared_euclidean", 0.25), forall="mean", aggregators=_SUM
    ),
    "mean_pairwise": Semantics(
        Premetric.scaled("euclidean", 0.25), forall="mean", aggregators=_SUM
    ),
    "diameter": Semantics("euclidean", forall="max", aggregators=_SUM),
}


# Closed forms are functions of modules, not closures: a property must survive pickling.


class _Modularity:
    def __init__(self, deviation: str) -> None:
        self.deviation = deviation

    def __call__(self, factors: Any, codes: Any, *, factor_scale: str, **options: Any) -> float:
        from ..metrics import modularity_distance

        return modularity_distance(
            factors, codes, deviation=self.deviation, factor_bins="unique", **options
        )

    def of_tensors(self, data: Any) -> Any:
        from ..models import terms

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
        from ..metrics import informativeness_distance

        return informativeness_distance(
            factors,
            codes,
            quantity=self.quantity,
            inverse=self.inverse,
            code_scale=code_scale,
            **rest,
        )

    def of_tensors(self, data: Any) -> Any:
        from ..models import terms

        aggregate = self.quantity.removesuffix("_contraction")
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
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(
                y.values(k),
                lambda v: Exists(
                    z.space,
                    lambda c: Forall(
                        y.samples.where(lambda s: y(s)[k] == v), lambda s: z(s)[k] == c
                    ),
                ),
            ),
        ),
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


def _maps_of(inverse: Any) -> Any:
    is_name = isinstance(inverse, str)
    return {"linear": "affine", "equal_codes": "any"}[inverse] if is_name else inverse


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
    kind = _maps_of(inverse)
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


@validated
def consistency(aggregate: Aggregate = "mean") -> Property:
    """Consistency: while the codes of a factor are held fixed, so is the factor.

    Parameters
    ----------
    aggregate : {"mean", "max"}, default="mean"
        Over factors and over all ordered pairs of samples.

    Returns
    -------
    property : Property

    See Also
    --------
    restrictiveness : The other half.

    Notes
    -----
    Published for a generator, whose codes can be held fixed. Of a table of codes that rarely
    repeat, it is graded: by how much two codes are nearer to each other than their factor.

    References
    ----------
    Shu, Chen, Kumar, Ermon and Poole (2020). Weakly supervised disentanglement with guarantees.
    ICLR.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> print(properties.consistency())
    ∀ k ∈ factors. ∀ s, t ∈ samples. (z(s)[k] = z(t)[k]) → (y(s)[k] = y(t)[k])
    """
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(y.samples, lambda s, t: (z(s)[k] == z(t)[k]) >> (y(s)[k] == y(t)[k])),
        ),
        semantics=Semantics("euclidean", forall=aggregate),
        name=f"consistency_{aggregate}",
        question=EXPLICITNESS,
        reference=SHU,
    )


@validated
def restrictiveness(aggregate: Aggregate = "mean") -> Property:
    """Restrictiveness: while only the codes of a factor change, so does only the factor.

    Parameters
    ----------
    aggregate : {"mean", "max"}, default="mean"
        Over factors and over all ordered pairs of samples.

    Returns
    -------
    property : Property

    See Also
    --------
    consistency : The other half.

    Notes
    -----
    As `consistency`, it is graded. It needs at least two factors.

    References
    ----------
    Shu, Chen, Kumar, Ermon and Poole (2020). Weakly supervised disentanglement with guarantees.
    ICLR.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> properties.restrictiveness().quantity(factors, factors)
    0.0
    """
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Forall(
                y.samples,
                lambda s, t: (
                    Forall(y.columns.where(lambda j: j != k), lambda j: z(s)[j] == z(t)[j])
                    >> Forall(y.columns.where(lambda j: j != k), lambda j: y(s)[j] == y(t)[j])
                ),
            ),
        ),
        semantics=Semantics("euclidean", forall=aggregate),
        name=f"restrictiveness_{aggregate}",
        question=MODULARITY,
        reference=SHU,
    )


def disentanglement() -> Property:
    """DCI's disentanglement as a statement: every code is a function of a single factor.

    The quantity is the mean over codes of the least mean variance within the values of a factor.

    Returns
    -------
    property : Property

    See Also
    --------
    completeness : The same with codes and factors exchanged.
    sklearn_disent.metrics.dci_disentanglement_score : The published score, by importances.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> properties.disentanglement().quantity(factors, [[0, 2, 0], [0, 3, 1], [5, 2, 1], [5, 3, 2]])
    0.0833...
    """
    return Property(
        lambda y, z: Forall(
            z.columns,
            lambda d: Exists(
                y.columns,
                lambda k: Forall(
                    y.values(k),
                    lambda v: Exists(
                        z.space,
                        lambda c: Forall(
                            y.samples.where(lambda s: y(s)[k] == v), lambda s: z(s)[d] == c
                        ),
                    ),
                ),
            ),
        ),
        semantics=Semantics("squared_euclidean", forall="mean"),
        name="disentanglement",
        question=MODULARITY,
        reference=DCI,
    )


@validated
def completeness(inverse: Literal["linear", "equal_codes"] | Predictor = "linear") -> Property:
    """DCI's completeness as a statement: every factor is a function of a single code.

    The quantity is the mean over factors of the least mean squared error of a function of one code.

    Parameters
    ----------
    inverse : {"linear", "equal_codes"} or regressor, default="linear"
        Affine functions; all functions; or those of a scikit-learn regressor.

    Returns
    -------
    property : Property

    See Also
    --------
    disentanglement : The same with codes and factors exchanged.
    sklearn_disent.metrics.dci_completeness_score : The published score, by importances.

    References
    ----------
    Eastwood and Williams (2018). A framework for the quantitative evaluation of disentangled
    representations. ICLR.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> properties.completeness().quantity(factors, factors) < 1e-12
    True
    """
    kind = _maps_of(inverse)
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Exists(
                z.columns,
                lambda d: Exists(
                    maps(kind), lambda h: Forall(y.samples, lambda s: h(z(s)[d]) == y(s)[k])
                ),
            ),
        ),
        semantics=Semantics("squared_euclidean", forall="mean"),
        name="completeness",
        question=COMPACTNESS,
        reference=DCI,
    )


def equivariance() -> Property:
    """Equivariance: a step in a factor moves its codes by a step that does not depend on the place.

    For actions that add: such codes are affine functions of their factor. The quantity is the mean
    squared distance to the best one, summed over factors.

    Returns
    -------
    property : Property

    References
    ----------
    Higgins, Amos, Pfau, Racaniere, Matthey, Rezende and Lerchner (2018). Towards a definition of
    disentangled representations. arXiv:1812.02230.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.logic import properties
    >>> y = np.linspace(0, 1, 11)[:, None]
    >>> steps = properties.equivariance()
    >>> steps.quantity(y, 3 * y - 1) < 1e-12, steps.quantity(y, y**2) > 0.001
    (True, True)
    """
    return Property(
        lambda y, z: Forall(
            y.columns,
            lambda k: Exists(
                maps("affine"), lambda h: Forall(y.samples, lambda s: h(y(s)[k]) == z(s)[k])
            ),
        ),
        semantics=Semantics("squared_euclidean", forall="mean", aggregators=_SUM),
        name="equivariance",
        question=SEVERAL,
        reference=HIGGINS,
    )


def one_latent_per_factor() -> Property:
    """One latent encodes exactly one factor and every factor is decodable, up to permutation.

    There is an assignment of a code to every factor such that the code is constant where its factor
    is, and an affine function reads the factor off it. The quantity is the least sum, over
    assignments, of the mean variance within values and the mean squared error.

    Returns
    -------
    property : Property

    Notes
    -----
    With ``code_scale="unit"`` and ``factor_scale="unit"``, the default of scorers, both parts are
    shares: the variance of the code that its factor does not explain, and an error of at most 0.25.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS.

    Examples
    --------
    >>> from sklearn_disent.logic import properties
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> codes = [[0.0, 7, 5], [2, 8, 5], [0, 9, 3], [2, 6, 3]]
    >>> properties.one_latent_per_factor().quantity(factors, codes) < 1e-12
    True
    """
    return Property(
        lambda y, z: Exists(
            z.assignments,
            lambda p: Forall(
                y.columns,
                lambda k: (
                    Forall(
                        y.values(k),
                        lambda v: Exists(
                            z.space,
                            lambda c: Forall(
                                y.samples.where(lambda s: y(s)[k] == v),
                                lambda s: z(s)[p(k)] == c,
                            ),
                        ),
                    )
                    & Exists(
                        maps("affine"),
                        lambda h: Forall(y.samples, lambda s: h(z(s)[p(k)]) == y(s)[k]),
                    )
                ),
            ),
        ),
        semantics=Semantics("squared_euclidean", forall="mean", aggregators=_SUM),
        name="one_latent_per_factor",
        question=SEVERAL,
        reference=PAPER,
    )
