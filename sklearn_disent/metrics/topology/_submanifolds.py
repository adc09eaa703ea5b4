"""Clouds of observations with one latent or one factor held fixed."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from ..._params import HasMethods
from .._estimators import path_to_model
from .._validation import Checked, varied_factors, warn_degenerate
from ._living_times import as_cloud

# Where codes come from: a name, or a function of the number of codes and a random state.
Prior = Literal["normal", "uniform", "encoded"] | Callable[[int, RandomState], ArrayLike]
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


def check_decoder(estimator: Any) -> None:
    if not hasattr(estimator, "inverse_transform"):
        raise TypeError(
            f"{type(estimator).__name__} has no inverse_transform: it generates nothing whose "
            "topology could be scored. Pass a fitted VAE, PCA(whiten=True) or the like."
        )


def prior_of(
    estimator: Any, X: ArrayLike | None, prior: str | Callable[..., ArrayLike]
) -> Callable[[int, RandomState], NDArray[np.float64]]:
    """Function (n, rng) that draws codes of shape (n, n_latents)."""
    if callable(prior):
        return lambda n, rng: _checked_codes(prior(n, rng), n)
    if prior == "normal":
        n_latents = _count_latents(estimator)
        return lambda n, rng: rng.standard_normal((n, n_latents))
    if prior == "uniform":
        n_latents = _count_latents(estimator)
        return lambda n, rng: rng.uniform(-1.0, 1.0, (n, n_latents))
    if X is None:
        raise ValueError("prior='encoded' draws from the codes of X, got X=None. Pass X.")
    codes = np.asarray(estimator.transform(X), dtype=np.float64)
    # Each latent on its own: held at one value, a latent must leave the others as they are.
    return lambda n, rng: np.column_stack([rng.choice(column, n) for column in codes.T])


def decoded_families(
    estimator: Any, base: NDArray[np.float64], values: NDArray[np.float64], embedding: Any
) -> Iterator[Family]:
    """For each latent, the decoded clouds of the codes `base` with that latent held at `values`."""
    n_samples, n_latents = base.shape
    for latent in range(n_latents):
        clouds = []
        for value in values[:, latent]:
            codes = base.copy()
            codes[:, latent] = value
            decoded = np.asarray(estimator.inverse_transform(codes))
            if len(decoded) != n_samples:
                raise ValueError(
                    f"inverse_transform must return one row per code, got {len(decoded)} rows "
                    f"for {n_samples} codes."
                )
            name = f"The output of inverse_transform for latent {latent} at {value:.3g}"
            clouds.append(_embedded(decoded, embedding, name))
        yield Family(latent, values[:, latent], clouds)


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
    images = np.asarray(X)
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


def _count_latents(estimator: Any) -> int:
    _, model = path_to_model(estimator)
    for name in ("n_components_", "_n_features_out", "n_components"):
        count = getattr(model, name, None)
        if isinstance(count, (int, np.integer)) and not isinstance(count, bool):
            return int(count)
    raise TypeError(
        f"{type(model).__name__} does not state the number of its latents: it has no "
        "n_components_. Pass prior=, a function (n, rng) that returns codes (n, n_latents)."
    )


def _checked_codes(codes: ArrayLike, n: int) -> NDArray[np.float64]:
    array = np.asarray(codes, dtype=np.float64)
    if array.ndim != 2 or len(array) != n or not np.isfinite(array).all():
        raise ValueError(
            f"prior must return {n} rows of finite codes, shape ({n}, n_latents), got shape "
            f"{array.shape}."
        )
    return array


def _embedded(observations: NDArray, embedding: Any, name: str) -> NDArray[np.float64]:
    cloud = as_cloud(observations, name)
    if embedding is None:
        return cloud
    if hasattr(embedding, "transform"):
        features = embedding.transform(observations.reshape(len(observations), -1))
    else:
        features = embedding(observations)
    return as_cloud(features, f"The embedding of {name[0].lower()}{name[1:]}")
