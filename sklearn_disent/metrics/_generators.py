"""What turns codes into observations, ours or not: estimators, torch modules, functions.

torch is never imported here: whoever passes a module has loaded it already.
"""

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from .. import _arrays
from ._estimators import path_to_model

# Where codes come from: a name, or a function of the number of codes and a random state.
Prior = Literal["auto", "normal", "uniform", "encoded"] | Callable[[int, RandomState], ArrayLike]
Draw = Callable[[int, RandomState], NDArray[np.float64]]
Decode = Callable[[NDArray[np.float64]], NDArray]

# Codes that a module or a function gets at a time.
_BATCH = 256
# Under which names generators keep the number of their latents.
_COUNTS = (
    "n_components_", "_n_features_out", "n_components",
    "n_latents", "latent_dim", "latent_size", "z_dim", "dim_z", "nz",
)  # fmt: skip


class Generator(NamedTuple):
    """A generator as two functions."""

    draw: Draw
    """(n, rng) -> codes (n, n_latents) from the prior."""
    decode: Decode
    """Codes (n, n_latents) -> observations (n, ...)."""


def check_generator(source: Any) -> None:
    if not hasattr(source, "inverse_transform") and not callable(source):
        raise TypeError(
            f"{type(source).__name__} has no inverse_transform and is not callable: it generates "
            "nothing. Pass a fitted VAE, PCA(whiten=True) or the like, a torch module, or a "
            "function of codes (n, n_latents) that returns observations."
        )


def generator_of(
    source: Any, X: ArrayLike | None, prior: Prior, n_latents: int | None, rng: RandomState
) -> Generator:
    """Look at an estimator, a torch module or a function as a generator.

    The random state is asked for a seed only where the generator itself is random.
    """
    check_generator(source)
    draw = _prior_of(source, X, prior, n_latents)
    if hasattr(source, "inverse_transform"):
        decode = _inverse_of(source, rng)
    else:
        decode = _function_of(source, rng)
    return Generator(draw, _row_by_row(decode))


def as_array(values: Any, name: str) -> NDArray:
    """An array from what a generator or an embedding returns: tensors on any device, lists."""
    if isinstance(values, (tuple, dict)) or values is None:
        raise TypeError(
            f"{name} must be one array or tensor, got {type(values).__name__}. Wrap it in a "
            "function that picks the part which holds the observations."
        )
    return _arrays.as_numbers(values, name)


def is_module(value: Any) -> bool:
    """Whether it is a torch module; without torch loaded there are none."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def applied(
    function: Callable[..., Any], rows: NDArray, name: str, seed: int | None = None
) -> NDArray:
    """What a function or a torch module makes of rows, batch by batch and without gradients.

    A module, or a method of one, gets tensors of its own device and kind of float and is in
    evaluation mode meanwhile; any other function gets arrays. Where there is a seed, what is
    random in a module is drawn from it, and the global random state stays as it was.
    """
    starts = range(0, len(rows), _BATCH)
    module = _module_behind(function)
    if module is None:
        parts = [as_array(function(rows[i : i + _BATCH]), name) for i in starts]
    else:
        torch = sys.modules["torch"]
        options = _options_of(module)
        shape = _input_shape(function, rows)
        with _evaluating(module, options.get("device"), seed):
            tensors = (torch.as_tensor(rows[i : i + _BATCH]).to(**options) for i in starts)
            parts = [as_array(function(t.reshape(-1, *shape)), name) for t in tensors]
    if any(part.ndim == 0 for part in parts):
        raise ValueError(f"{name} must have one row per code, got a single number.")
    return np.concatenate(parts)


# -- the prior -------------------------------------------------------------------------------


def _prior_of(source: Any, X: ArrayLike | None, prior: Prior, n_latents: int | None) -> Draw:
    model = path_to_model(source)[1]
    if prior == "auto":
        prior = getattr(model, "sample_prior", None) or "normal"
    if callable(prior):
        drawn = prior
        return lambda n, rng: _checked_codes(drawn(n, rng), n, n_latents)
    if prior == "encoded":
        codes = _codes_of(source, X, n_latents)
        # Each latent on its own: held at one value, a latent must leave the others as they are.
        return lambda n, rng: np.column_stack([rng.choice(column, n) for column in codes.T])
    count = _count_latents(source, model) if n_latents is None else n_latents
    stated = getattr(model, "n_components_", count)
    if hasattr(source, "inverse_transform") and stated != count:
        raise ValueError(
            f"{type(model).__name__} has {stated} latents, got {n_latents=}. Leave n_latents out."
        )
    if prior == "normal":
        return lambda n, rng: rng.standard_normal((n, count))
    return lambda n, rng: rng.uniform(-1.0, 1.0, (n, count))


def _codes_of(source: Any, X: ArrayLike | None, n_latents: int | None) -> NDArray[np.float64]:
    if X is None:
        raise ValueError("prior='encoded' draws from the codes of X, got X=None. Pass X.")
    if not hasattr(source, "transform"):
        raise TypeError(
            f"prior='encoded' needs an estimator with transform, and {type(source).__name__} has "
            "none. Use another prior, such as a function (n, rng) that returns codes."
        )
    codes = as_array(source.transform(X), "The output of transform")
    return _checked_codes(codes, len(codes) if codes.ndim else 1, n_latents, "transform")


def _checked_codes(
    codes: Any, n: int, n_latents: int | None, what: str = "prior"
) -> NDArray[np.float64]:
    array = np.asarray(as_array(codes, f"The output of {what}"), dtype=np.float64)
    width = "n_latents" if n_latents is None else n_latents
    if array.ndim != 2 or len(array) != n or 0 in array.shape or not np.isfinite(array).all():
        raise ValueError(
            f"{what} must return {n} rows of finite codes, shape ({n}, {width}), got shape "
            f"{array.shape}."
        )
    if n_latents is not None and array.shape[1] != n_latents:
        raise ValueError(
            f"{what} must return codes of n_latents={n_latents} columns, got {array.shape[1]}. "
            "Leave n_latents out to take what it returns."
        )
    return array


def _count_latents(source: Any, model: Any) -> int:
    owner = _module_behind(model)
    for holder in [model] if owner is None else [model, owner]:
        for name in _COUNTS:
            count = getattr(holder, name, None)
            if isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count > 0:
                return int(count)
    first = _first_layer(model)
    if first is not None:
        return int(getattr(first, "in_features", 0) or first.in_channels)
    name = getattr(model, "__name__", type(model).__name__)
    raise TypeError(
        f"{name} does not state the number of its latents: it has no n_components_. Pass "
        "n_latents=, or prior=, a function (n, rng) that returns codes (n, n_latents)."
    )


# -- decoding --------------------------------------------------------------------------------


def _inverse_of(source: Any, rng: RandomState) -> Decode:
    before, model = path_to_model(source)
    if not (hasattr(model, "sample_prior") and hasattr(model, "generate")):
        return lambda codes: as_array(
            source.inverse_transform(codes), "The output of inverse_transform"
        )
    # A generator with noise beside its codes: the same noise whatever the codes are held at.
    seed = rng.randint(2**31 - 1)

    def decode(codes: NDArray[np.float64]) -> NDArray:
        made = model.generate(codes, RandomState(seed))
        for step in reversed(before):
            made = step.inverse_transform(made)
        return as_array(made, "The output of generate")

    return decode


def _function_of(source: Callable[..., Any], rng: RandomState) -> Decode:
    seed = None if _module_behind(source) is None else rng.randint(2**31 - 1)
    return lambda codes: applied(source, codes, "The output of the generator", seed)


def _row_by_row(decode: Decode) -> Decode:
    def checked(codes: NDArray[np.float64]) -> NDArray:
        decoded = decode(codes)
        n_rows = len(decoded) if decoded.ndim else 0
        if n_rows != len(codes):
            raise ValueError(
                f"A generator must return one row per code, got {n_rows} rows for {len(codes)} "
                "codes."
            )
        return decoded

    return checked


# -- torch -----------------------------------------------------------------------------------


def _module_behind(function: Any) -> Any:
    """The torch module that a function is, or whose method it is; None for any other."""
    owner = getattr(function, "__self__", None)
    return next((part for part in (function, owner) if is_module(part)), None)


def _options_of(module: Any) -> dict[str, Any]:
    """Device and kind of float of a module, by its first weights; those of torch if it has none."""
    torch = sys.modules["torch"]
    weights = (w for part in (module.parameters(), module.buffers()) for w in part)
    for weight in weights:
        if weight.is_floating_point():
            return {"device": weight.device, "dtype": weight.dtype}
    return {"dtype": torch.get_default_dtype()}


def _first_layer(source: Any) -> Any:
    """The first layer with weights, if it is one whose width is the number of latents."""
    if not is_module(source):
        return None
    nn = sys.modules["torch"].nn
    for layer in source.modules():
        if next(layer.parameters(recurse=False), None) is not None:
            kinds = (nn.Linear, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
            return layer if isinstance(layer, kinds) else None
    return None


def _input_shape(function: Any, rows: NDArray) -> tuple[int, ...]:
    """Of one row: as it is, but a channel per code where transposed convolutions come first."""
    first = _first_layer(function)
    if rows.ndim == 2 and first is not None and hasattr(first, "kernel_size"):
        return (rows.shape[1], *[1] * len(first.kernel_size))
    return rows.shape[1:]


@contextmanager
def _evaluating(module: Any, device: Any, seed: int | None):
    """Evaluation mode, no gradients, maybe a random state of its own; all as before afterwards."""
    torch = sys.modules["torch"]
    modes = [(part, part.training) for part in module.modules()]
    devices = [device] if device is not None and device.type == "cuda" else []
    try:
        module.eval()
        with torch.no_grad(), torch.random.fork_rng(devices=devices, enabled=seed is not None):
            if seed is not None:
                torch.manual_seed(seed)
            yield
    finally:
        for part, training in modes:
            part.training = training
