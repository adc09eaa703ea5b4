"""Other definitions of the field: consistency, DCI, equivariance, one latent per factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..._params import Predictor, validated
from .._predicates import Predicate
from .._property import Property
from .._quantale import Semantics
from .._quantifiers import Exists, Forall
from .._unknowns import maps
from ._shared import (
    COMPACTNESS,
    DCI,
    EXPLICITNESS,
    HIGGINS,
    MODULARITY,
    PAPER,
    SEVERAL,
    SHU,
    SUM_OF_FACTORS,
    Aggregate,
    gathered,
    maps_of,
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
    return _of_two_samples(
        lambda y, z, k, s, t: (z(s)[k] == z(t)[k]) >> (y(s)[k] == y(t)[k]),
        aggregate,
        name="consistency",
        question=EXPLICITNESS,
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
    return _of_two_samples(
        lambda y, z, k, s, t: (
            Forall(y.columns.where(lambda j: j != k), lambda j: z(s)[j] == z(t)[j])
            >> Forall(y.columns.where(lambda j: j != k), lambda j: y(s)[j] == y(t)[j])
        ),
        aggregate,
        name="restrictiveness",
        question=MODULARITY,
    )


def _of_two_samples(
    said: Callable[..., Predicate], aggregate: Aggregate, *, name: str, question: str
) -> Property:
    """Of every factor and every two samples, in the words of Shu et al. (2020)."""
    return Property(
        lambda y, z: Forall(
            y.columns, lambda k: Forall(y.samples, lambda s, t: said(y, z, k, s, t))
        ),
        semantics=Semantics("euclidean", forall=aggregate),
        name=f"{name}_{aggregate}",
        question=question,
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
        lambda y, z: Forall(z.columns, lambda d: Exists(y.columns, lambda k: gathered(y, z, k, d))),
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
    kind = maps_of(inverse)
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
        semantics=Semantics("squared_euclidean", forall="mean", aggregators=SUM_OF_FACTORS),
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
                    gathered(y, z, k, p(k))
                    & Exists(
                        maps("affine"),
                        lambda h: Forall(y.samples, lambda s: h(z(s)[p(k)]) == y(s)[k]),
                    )
                ),
            ),
        ),
        semantics=Semantics("squared_euclidean", forall="mean", aggregators=SUM_OF_FACTORS),
        name="one_latent_per_factor",
        question=SEVERAL,
        reference=PAPER,
    )
