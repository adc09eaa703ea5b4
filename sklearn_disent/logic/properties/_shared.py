"""What the ready properties share: where they are from, and what they ask."""

from __future__ import annotations

from typing import Any, Literal

from .._quantale import AggregatorName
from .._quantifiers import Exists, Forall

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

Aggregate = Literal["mean", "max"]

SUM_OF_FACTORS: dict[str, AggregatorName] = {"k": "sum"}


def gathered(y: Any, z: Any, k: Any, column: Any) -> Forall:
    """For every value of factor k there is a point at which this column of all its codes is."""
    return Forall(
        y.values(k),
        lambda v: Exists(
            z.space,
            lambda c: Forall(y.samples.where(lambda s: y(s)[k] == v), lambda s: z(s)[column] == c),
        ),
    )


def maps_of(inverse: Any) -> Any:
    is_name = isinstance(inverse, str)
    return {"linear": "affine", "equal_codes": "any"}[inverse] if is_name else inverse
