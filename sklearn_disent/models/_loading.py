"""Reading a folder that ``save_pretrained`` wrote: what is in it, and an estimator from that.

Whatever is damaged, missing or in excess is refused with the name of the file, and before any
weight is set.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from skorch.history import History
from torch import nn

from ._codec import Decoder
from ._data import Layout, Units
from ._fit_state import OF_FIT

FORMAT = 1
CONFIG, WEIGHTS, OPTIMIZERS = "config.json", "model.safetensors", "optimizer.safetensors"
CARD, SCORES = "README.md", "scores.json"
_KINDS = ("flat", "chw", "hw", "hwc")
_UNITS = ("bits", "real", "uint8", "unit", "unknown")
# Parameters that are about the machine: where to compute, and a folder to write to.
NOT_PARAMS = ("checkpoint", "device")
# Attributes that `initialize` sets, that have a place of their own in the config, or that are about
# the process and not about the model.
NOT_STATE = {
    *OF_FIT,
    "_answers",
    "_criteria",
    "_defers_optimizers",
    "_interrupts",
    "_layout",
    "_metadata_request",
    "_modules",
    "_optimizers",
    "_second_codes",
    "_skl_callbacks",
    "_sklearn_output_config",
    "_units",
    "callbacks_",
    "cuda_dependent_attributes_",
    "feature_names_in_",
    "guidance_",
    "history_",
    "init_context_",
    "initialized_",
    "input_shape_",
    "n_features_in_",
    "name_",
    "prefixes_",
    "virtual_params_",
}


def parts_of(net: Any) -> dict[str, nn.Module]:
    """All that has weights, by name; what ``torch.compile`` wraps, without the wrapper."""
    names = (*net._modules, *net._criteria)
    parts = {name: getattr(net, name + "_") for name in names}
    return {n: getattr(p, "_orig_mod", p) for n, p in parts.items() if isinstance(p, nn.Module)}


def damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"{path} is damaged, or not a saved model: {why}. Save or fetch it again.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path.parent} is not a saved model: it has no {path.name}. save_pretrained writes "
            "such folders, and huggingface_hub.snapshot_download(repo_id) fetches one."
        ) from None


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        config = json.loads(_read(path), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    if not isinstance(config, dict) or config.get("library") != "sklearn-disent":
        raise damaged(path, "it does not name sklearn-disent as its library")
    number = config.get("format")
    if not isinstance(number, int) or number < 1:
        raise damaged(path, f"its format is {number!r}")
    if number > FORMAT:
        versions = config.get("versions")
        by = versions.get("sklearn-disent", "?") if isinstance(versions, dict) else "?"
        raise ValueError(
            f"{folder} has format {number}, written by sklearn-disent {by}; this version reads "
            f"formats up to {FORMAT}. Upgrade: pip install -U sklearn-disent."
        )
    for name, kind in (
        ("class", str),
        ("weights_sha256", str),
        ("params", dict),
        ("input", dict),
        ("fitted", dict),
        ("guidance", dict),
        ("history", list),
    ):
        if not isinstance(config.get(name), kind):
            raise damaged(path, f"its entry {name!r} is not a {kind.__name__}")
    return config


def read_tensors(path: Path, digest: str | None = None) -> dict[str, torch.Tensor]:
    content = _read(path)
    try:
        tensors = safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise damaged(path, str(error)) from error
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise damaged(path, "these are not the weights that config.json was saved with")
    for name, value in tensors.items():
        is_weight = value.is_floating_point() and not name.startswith("state.")
        if is_weight and not torch.isfinite(value).all():
            raise damaged(path, f"{name} has values that are not finite")
    return tensors


def build_net(cls: type, config: dict[str, Any], decode: Decoder, params: dict[str, Any]) -> Any:
    """The estimator, as `fit` leaves it, except for the weights."""
    saved = {n: v for n, v in config["params"].items() if n not in NOT_PARAMS}
    params = {"device": "cpu", **decode(saved), **params}
    random_state = params.pop("random_state", None)
    try:
        net = cls(**params, random_state=0)
    except TypeError as error:
        raise ValueError(
            f"{cls.__name__} does not take the saved parameters: {error}. Is it the class that "
            "was saved?"
        ) from error
    net._validate_params()
    _set_input(net, config["input"])
    _set_guidance(net, config["guidance"], decode)
    net._defers_optimizers = "optimizers" not in config
    for name in net._builds_on:
        setattr(net, name, decode(config["fitted"].get(name)))
    net.initialize()
    net.set_params(random_state=random_state)
    _set_state(net, config["fitted"], decode)
    history = decode(config["history"])
    if not all(isinstance(row, dict) for row in history):
        raise ValueError("The saved history is not a list of rows. Save or fetch the model again.")
    net.history_ = History(history)
    return net


def _set_input(net: Any, saved: dict[str, Any]) -> None:
    shape, kind, scale = saved["shape"], saved["layout"], saved["uint8_scale"]
    names, units = saved["feature_names"], saved["units"]
    is_shape = isinstance(shape, list) and all(type(size) is int and size > 0 for size in shape)
    if not is_shape or len(shape) not in (1, 3) or kind not in _KINDS:
        raise ValueError(
            f"The saved layout of the input, {shape!r} as {kind!r}, cannot be. Save or fetch the "
            "model again."
        )
    if units not in _UNITS or type(scale) not in (int, float) or not scale > 0:
        raise ValueError(
            f"The saved units of the input, {units!r} with uint8_scale={scale!r}, cannot be. Save "
            "or fetch the model again."
        )
    net.input_shape_ = tuple(shape)
    net._layout = Layout(net.input_shape_, kind)
    net._units = Units(units, scale)
    net.n_features_in_ = prod(shape)
    if names is not None:
        if getattr(net, "_is_table", False):  # whose columns are several values, or one
            net.n_features_in_ = len(names)
        if len(names) != net.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"The saved feature names must be {net.n_features_in_} strings. Save or fetch "
                "the model again."
            )
        net.feature_names_in_ = np.array(names, dtype=object)


def _set_guidance(net: Any, saved: dict[str, Any], decode: Decoder) -> None:
    from ._guidance import Guides

    if not hasattr(net, "guidance"):
        return
    guides = Guides.fresh(net.guidance)
    if set(guides) != set(saved):
        raise ValueError(
            f"The model was saved with guidance {sorted(saved)}, got {sorted(guides)}. Pass the "
            "same guidance, or none."
        )
    for name, guide in guides.items():
        _set_state(guide, saved[name], decode)
    net.guidance_ = guides


def _set_state(owner: Any, saved: dict[str, Any], decode: Decoder) -> None:
    """Fitted attributes; a name that is not one, such as that of a method, is refused."""
    for name, value in saved.items():
        own = inspect.getattr_static(type(owner), name, None)
        is_attribute = name.isidentifier() and (name.startswith("_") or name.endswith("_"))
        if (
            not is_attribute
            or name.startswith("__")
            or name in NOT_STATE
            or callable(own)
            or hasattr(own, "__get__")
        ):
            raise ValueError(
                f"The saved model sets {name!r} of {type(owner).__name__}, which is not a fitted "
                "attribute. Do not use this file."
            )
        setattr(owner, name, decode(value))


def set_weights(net: Any, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    given = {n: v for n, v in tensors.items() if n.partition(".")[0] != "state"}
    parts = parts_of(net)
    wanted = {f"{p}.{n}": v for p, m in parts.items() for n, v in m.state_dict().items()}
    for names, what in ((wanted.keys() - given, "lacks"), (given.keys() - wanted, "has in excess")):
        if names:
            raise damaged(path, f"it {what} {sorted(names)[0]!r} for a {type(net).__name__}")
    for name, value in given.items():
        own = wanted[name]
        if value.shape != own.shape or value.is_floating_point() != own.is_floating_point():
            raise damaged(
                path,
                f"{name} is {value.dtype} of shape {tuple(value.shape)}, the parameters in "
                f"config.json ask for {own.dtype} of shape {tuple(own.shape)}",
            )
    for part, module in parts.items():
        prefix = f"{part}."
        module.load_state_dict(
            {n.removeprefix(prefix): v for n, v in given.items() if n.startswith(prefix)}
        )


def set_optimizers(net: Any, saved: Any) -> None:
    if not isinstance(saved, dict) or set(saved) != set(net._optimizers):
        raise ValueError(f"The saved state of optimizers must be that of {net._optimizers}.")
    for name, state in saved.items():
        optimizer = getattr(net, name + "_")
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        try:
            for index, moments in state["state"].items():
                for key, value in moments.items():
                    moments[key] = _like(value, parameters[index])
            optimizer.load_state_dict(state)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"The saved state of {name} does not fit its parameters: {error}. Save or fetch "
                "the model again."
            ) from error


def _like(value: Any, parameter: torch.Tensor) -> Any:
    """A moment in the memory format of its parameter, which fused steps take for granted."""
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        return value
    if value.shape != parameter.shape:
        raise ValueError(f"shape {tuple(value.shape)} for {tuple(parameter.shape)}")
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value)
