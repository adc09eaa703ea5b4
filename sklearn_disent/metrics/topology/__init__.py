"""Topology of what a model generates."""

from ._living_times import relative_living_times
from ._score import manifold_topology_score
from ._transport import wasserstein_barycenter_1d, wasserstein_distance_1d

__all__ = [
    "relative_living_times",
    "manifold_topology_score",
    "wasserstein_barycenter_1d",
    "wasserstein_distance_1d",
]
