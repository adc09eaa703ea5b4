"""Which latents are traversed, in which order, and what is decoded on the way."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .._params import NonNegativeInt
from ..metrics._estimators import has_normal_prior
from ._common import Coder, latent_kl

Base = Literal["prior"] | NonNegativeInt
Order = Literal["auto", "kl", "std", "factor", "index"]

_N_DRAWS = 10_000  # from a prior whose quantiles are only known by its draws


def resolve(order: Any, coder: Coder, y: Any) -> Any:
    """What "auto" stands for; an error where the model or the data do not give an order."""
    has_posterior = has_normal_prior(coder.estimator)
    if isinstance(order, str) and order == "auto":
        return "factor" if y is not None else "kl" if has_posterior else "std"
    if isinstance(order, str) and order == "factor" and y is None:
        raise ValueError("order='factor' needs the factors of X, got y=None. Pass y.")
    if isinstance(order, str) and order == "kl" and not has_posterior:
        raise ValueError(
            f"order='kl' needs a posterior, and {type(coder.estimator).__name__} has none. Use "
            "order='std'."
        )
    return order


def ordered(order: Any, coder: Coder, names: dict[int, str]) -> tuple[NDArray, list[str]]:
    """Latents in order, and what to write beside them."""
    n_latents = coder.codes.shape[1]
    texts = [f"z{j}" for j in range(n_latents)]
    if has_normal_prior(coder.estimator):
        amount = latent_kl(coder.estimator, coder.inner_X)
        texts = [f"{text}, KL {kl:.1f}" for text, kl in zip(texts, amount)]
    else:
        amount = coder.codes.std(axis=0)
        texts = [f"{text}, std {std:.2g}" for text, std in zip(texts, amount)]
    if isinstance(order, str) and order == "std":
        amount = coder.codes.std(axis=0)
    if isinstance(order, str):
        latents = np.arange(n_latents) if order == "index" else np.argsort(-amount, kind="stable")
        if order == "factor":
            latents = np.array([*names, *(j for j in latents if j not in names)])
    else:
        latents = _check_latents(order, n_latents)
    return latents, [f"{names[j]}: {texts[j]}" if j in names else texts[j] for j in latents]


def _check_latents(order: Any, n_latents: int) -> NDArray:
    latents = np.asarray(order)
    is_index = latents.ndim == 1 and latents.size and latents.dtype.kind in "iu"
    if not is_index or latents.min() < 0 or latents.max() >= n_latents:
        raise ValueError(
            f"order must be one of {list(get_args(Order))} or a list of latents between 0 and "
            f"{n_latents - 1}, got {order!r}."
        )
    return latents


def ends_of(given: Any, name: str) -> tuple[float, float]:
    """Low and high end of a range, in standard deviations."""
    if isinstance(given, Real):
        return -float(given), float(given)
    ends = np.asarray(given, dtype=np.float64)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise ValueError(
            f"{name} must be a number or (low, high) with low < high, got {given!r}. Use (0, 6) "
            "for one side."
        )
    return float(ends[0]), float(ends[1])


def own_steps(spans: Any, n_latents: int, n_steps: int) -> dict[int, NDArray]:
    """Steps of the latents that have a range of their own."""
    unknown = [j for j in spans or {} if j not in range(n_latents)]
    if unknown:
        raise ValueError(f"spans must name latents 0 to {n_latents - 1}, got {unknown}.")
    ends = {j: ends_of(span, f"spans[{j}]") for j, span in (spans or {}).items()}
    return {j: np.linspace(low, high, n_steps) for j, (low, high) in ends.items()}


def decode(coder: Coder, latents: NDArray, steps: Sequence[NDArray], base: Base) -> NDArray:
    """Decoded observations (n_latents, n_steps, ...); every latent has steps of its own."""
    n_codes = coder.codes.shape[1]
    center = _placed(coder, np.zeros((1, n_codes)))[0]
    if base != "prior":
        if base >= len(coder.codes):
            raise ValueError(
                f"base must be 'prior' or the number of an observation of X, 0 to "
                f"{len(coder.codes) - 1}, got {base}."
            )
        center = coder.codes[base]
    codes = np.tile(center, (len(latents), len(steps[0]), 1))
    for row, latent, own in zip(codes, latents, steps):
        row[:, latent] = _placed(coder, np.repeat(own[:, None], n_codes, axis=1))[:, latent]
    decoded = coder.decode(codes.reshape(-1, n_codes).astype(coder.codes.dtype))
    return decoded.reshape(*codes.shape[:2], *decoded.shape[1:])


def _placed(coder: Coder, normal: NDArray) -> NDArray:
    """Codes that lie in the model's prior where the given ones lie in N(0, 1).

    A prior other than N(0, 1), learned or uniform, has them at the same quantiles and so within
    its support. A model without a prior has them around the mean of its codes.
    """
    model = coder.estimator
    if hasattr(model, "_from_normal"):
        return model._from_normal(normal)
    if hasattr(model, "sample_prior"):
        draws = np.asarray(model.sample_prior(_N_DRAWS, random_state=0), dtype=np.float64)
        columns = zip(draws.T, ndtr(normal).T)
        return np.column_stack([np.quantile(draw, share) for draw, share in columns])
    if hasattr(model, "posterior"):
        return normal
    return coder.codes.mean(axis=0) + normal * coder.codes.std(axis=0)
