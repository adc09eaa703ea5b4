"""Clouds of observations with one latent or one factor held fixed."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from ... import _arrays
from ..._params import HasMethods
from .._generators import applied, as_array, is_module
from .._validation import Checked, varied_factors, warn_degenerate
from ._living_times import as_cloud

# What turns observations into points: a fitted transformer or a function.
Embedding = Annotated[Any, HasMethods("transform"), callable]


class Family(NamedTuple):
    """The clouds of one latent or one factor, one for each value it is held at."""

    number: int
    """Which latent or factor."""
    values: NDArray
    """(n_values,)."""
    clouds: list[NDArray[np.float64]]
    """(n_points, n_features) each."""


def decoded_families(
    decode: Callable[[NDArray[np.float64]], NDArray],
    base: Callable[[], NDArray[np.float64]],
    values: NDArray[np.float64],
    embedding: Any,
) -> Iterator[Family]:
    """For each latent, the decoded clouds of codes with that latent held at `values`.

    `base` gives the codes of one cloud, the same for all or others every time.
    """
    for latent, held in enumerate(values.T):
        clouds = []
        for value in held:
            codes = base().copy()
            codes[:, latent] = value
            name = f"What is decoded for latent {latent} at {value:.3g}"
            clouds.append(_embedded(decode(codes), embedding, name))
        yield Family(latent, held, clouds)


def factor_families(
    X: ArrayLike,
    data: Checked,
    n_samples: int,
    n_values: int,
    n_landmarks: int,
    embedding: Any,
    rng: RandomState,
) -> Iterator[Family]:
    """For each factor that varies, the observations with that factor at one value.

    Values with too few rows to draw landmarks from are left out, and so are factors without any
    value left; each with a warning.
    """
    images = _arrays.as_numbers(X, "X")
    if images.ndim < 2:
        raise ValueError(f"X must have shape (n_samples, ...), got shape {images.shape}.")
    if len(images) != data.n_given:
        raise ValueError(
            f"X and y must have one row per sample, got {len(images)} rows of X and "
            f"{data.n_given} of y."
        )
    factors, images = data.factors, images[data.rows]
    for factor in np.flatnonzero(varied_factors(factors)):
        column = factors[:, factor]
        counts = np.bincount(column)
        usable = np.flatnonzero(counts >= n_landmarks)
        if len(usable) < len(counts):
            warn_degenerate(
                f"{len(counts) - len(usable)} of {len(counts)} values of factor {factor} have "
                f"fewer rows than n_landmarks={n_landmarks} and are left out."
            )
        if len(usable) == 0:
            continue
        # Evenly spread over the values: neighbours of an ordered factor look alike.
        places = np.linspace(0, len(usable) - 1, min(n_values, len(usable)))
        values = usable[np.rint(places).astype(np.intp)]
        clouds = []
        for value in values:
            rows = np.flatnonzero(column == value)
            if len(rows) > n_samples:
                rows = rng.choice(rows, n_samples, replace=False)
            clouds.append(_embedded(images[rows], embedding, f"X at value {value} of {factor=}"))
        yield Family(int(factor), values, clouds)


def _embedded(observations: NDArray, embedding: Any, name: str) -> NDArray[np.float64]:
    cloud = as_cloud(observations, name)
    if embedding is None:
        return cloud
    name = f"The embedding of {name[0].lower()}{name[1:]}"
    if hasattr(embedding, "transform"):
        features = as_array(embedding.transform(observations.reshape(len(cloud), -1)), name)
    elif is_module(embedding):
        features = applied(embedding, observations, name)
    else:
        features = as_array(embedding(observations), name)
    points = as_cloud(features, name)
    if len(points) != len(cloud):
        raise ValueError(
            f"{name} must have one row per observation, got {len(points)} rows for {len(cloud)}."
        )
    return points
