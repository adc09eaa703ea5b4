"""Parameters and fitted attributes as JSON, and back, without unpickling or importing anything.

JSON has numbers, strings, lists and dicts. Everything else is a dict with one key that begins with
``$``: a tuple is ``{"$tuple": [...]}``, a class ``{"$class": "torch.optim.Adam"}``, an object
``{"$object": {"class": ..., "params": {...}}}``. Names are looked up in a table of what is harmless
to call, and in what the user trusts; they are never imported.
"""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from skorch import callbacks, dataset
from torch import nn, optim

_SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_ARRAY_KINDS = "biuf"
# Callbacks that neither read nor write files and talk to nobody.
_CALLBACKS = (
    "BatchScoring",
    "EarlyStopping",
    "EpochScoring",
    "EpochTimer",
    "Freezer",
    "GradientNormClipping",
    "LRScheduler",
    "PassthroughScoring",
    "PrintLog",
    "ProgressBar",
    "Unfreezer",
)


@functools.cache
def harmless() -> dict[str, Any]:
    """What a saved model may name: networks, optimisers, schedules, guidance, some callbacks.

    Functions at large are left out: ``torch.load`` or ``torch.hub.load`` run what they are given.
    """
    from .. import models, networks
    from ._data import batch_loader
    from ._guidance import Guidance
    from ._net import BaseNet

    def classes(module: Any, *bases: type) -> dict[str, Any]:
        found = {n: v for n, v in vars(module).items() if isinstance(v, type)}
        return {f"{module.__name__}.{n}": v for n, v in found.items() if issubclass(v, bases)}

    schedules = (models.LinearSchedule, models.CosineSchedule, models.CyclicSchedule)
    return {
        **classes(nn, nn.Module),
        **classes(optim, optim.Optimizer),
        **classes(optim.lr_scheduler, optim.lr_scheduler.LRScheduler),
        "torch.utils.data.DataLoader": torch.utils.data.DataLoader,
        **{f"skorch.callbacks.{name}": getattr(callbacks, name) for name in _CALLBACKS},
        "skorch.dataset.ValidSplit": dataset.ValidSplit,
        **classes(networks, nn.Module),
        **classes(models, nn.Module, BaseNet, Guidance, *schedules),
        "sklearn_disent.models.batch_loader": batch_loader,
    }


def name_of(value: Any) -> str:
    """The name under which a class or function is saved."""
    for name, known in harmless().items():
        if known is value:
            return name
    name = getattr(value, "__qualname__", "<")
    if name.endswith(">"):  # a lambda, or something without a name
        raise TypeError(f"{value!r} has no name by which it could be found again")
    return f"{value.__module__}.{name}"


def find(name: Any, trusted: Iterable[Any] = ()) -> Any:
    """The class or function of that name, if it is harmless or among the trusted."""
    if isinstance(name, str):
        if name in harmless():
            return harmless()[name]
        own = {name_of(item): item for item in trusted}
        if name in own:
            return own[name]
        # A class of a notebook is ``__main__.MyVAE`` there, and in another module elsewhere.
        short = name.rpartition(".")[2]
        same = [item for item in trusted if item.__qualname__.rpartition(".")[2] == short]
        if len(same) == 1:
            return same[0]
    raise ValueError(
        f"The saved model names {name!r}, which is neither a network, optimizer, schedule, "
        "guidance or model of sklearn_disent, torch or skorch that is safe to build, nor among "
        f"trusted. If you know it and trust it, import it and pass trusted=[{_short(name)}]."
    )


def _short(name: Any) -> str:
    return str(name).rpartition(".")[2]


class Encoder:
    """Values to JSON; large arrays and tensors go to `tensors`, if there is such a dict."""

    def __init__(self, tensors: dict[str, torch.Tensor] | None = None) -> None:
        self.tensors = tensors

    def __call__(self, value: Any, where: str) -> Any:
        """JSON of a value; `where` names it in errors, and its tensors."""
        if value is None or isinstance(value, bool | str):
            return value if value is None else type(value)(value)
        if isinstance(value, np.generic):
            return self(value.item(), where)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"$float": str(float(value))}
        for kind, encode in self._by_type.items():
            if isinstance(value, kind):
                return encode(self, value, where)
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return {"$class": name_of(value)}
        return self._object(value, where)

    def _list(self, value: list, where: str) -> list:
        return [self(item, f"{where}.{index}") for index, item in enumerate(value)]

    def _tuple(self, value: tuple, where: str) -> dict[str, Any]:
        return {"$tuple": self._list(list(value), where)}

    def _dict(self, value: dict, where: str) -> dict[str, Any]:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: self(item, f"{where}.{key}") for key, item in value.items()}
        items = value.items()
        return {"$dict": [[self(k, where), self(v, f"{where}.{k}")] for k, v in items]}

    def _array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        if value.dtype.kind not in _ARRAY_KINDS:
            return {"$array": self(value.tolist(), where), "dtype": "object"}
        if value.size == 0:  # a list of no entries has no shape
            return {"$array": [], "dtype": value.dtype.name, "shape": list(value.shape)}
        if self.tensors is not None and value.dtype.name in _TENSOR_TYPES:
            self.tensors[where] = torch.from_numpy(np.array(value, order="C"))
            return {"$array": where}
        return {"$array": self(value.tolist(), where), "dtype": value.dtype.name}

    def _tensor(self, value: torch.Tensor, where: str) -> dict[str, Any]:
        if isinstance(value, nn.Parameter) or self.tensors is None:
            raise TypeError(f"{where} is a torch tensor, which only fitted attributes may be")
        self.tensors[where] = value.detach().cpu().contiguous().clone()
        return {"$tensor": where}

    def _random_state(self, value: np.random.RandomState, where: str) -> dict[str, Any]:
        state = value.get_state(legacy=False)
        state["state"]["key"] = state["state"]["key"].tolist()
        return {"$random_state": self(state, where)}

    def _module(self, value: nn.Module, where: str) -> Any:
        raise TypeError(
            f"{where} is a module that is built already, and how is not known. Pass the class "
            f"({where}={type(value).__name__}) and its arguments ({where}__...) to the estimator"
        )

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        signature = inspect.signature(type(value)).parameters
        if dataclasses.is_dataclass(value):
            params = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        elif hasattr(value, "get_params"):
            params = value.get_params(deep=False)
        elif type(value).__module__ != "builtins" and all(hasattr(value, k) for k in signature):
            # Parameters are attributes, as with skorch's ValidSplit.
            params = {key: getattr(value, key) for key in signature}
        else:
            raise TypeError(
                f"{where} is a {type(value).__name__}, of which it is not known how it was made"
            )
        saved = {
            key: self(item, f"{where}.{key}")
            for key, item in params.items()
            # Functions that are defaults, such as print, come back by themselves.
            if not (callable(item) and key in signature and signature[key].default is item)
        }
        return {"$object": {"class": name_of(type(value)), "params": saved}}

    _by_type: dict[type, Callable[..., Any]] = {
        list: _list,
        tuple: _tuple,
        dict: _dict,
        np.ndarray: _array,
        torch.Tensor: _tensor,
        np.random.RandomState: _random_state,
        nn.Module: _module,
        torch.device: lambda self, value, where: {"$device": str(value)},
        torch.dtype: lambda self, value, where: {"$dtype": str(value).removeprefix("torch.")},
    }


class PlainEncoder(Encoder):
    """Values of training alone, tensors among them; classes and objects are refused.

    For files that hold no parameters: what is in them is built without asking whom to trust.
    """

    def __call__(self, value: Any, where: str = "") -> Any:
        if isinstance(value, type) or callable(value):
            raise TypeError(f"{where} is code")
        return super().__call__(value, where)

    def _tensor(self, value: torch.Tensor, where: str) -> dict[str, Any]:
        return {"$values": self._array(value.detach().cpu().numpy(), where)}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        raise TypeError(f"{where} is a {type(value).__name__}")

    _by_type = {**Encoder._by_type, torch.Tensor: _tensor}


_TENSOR_TYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
)


class Decoder:
    """JSON to values; what is not in the table above is refused."""

    def __init__(
        self, trusted: Iterable[Any] = (), tensors: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        self.trusted = tuple(trusted)
        self.tensors = tensors or {}

    def __call__(self, data: Any) -> Any:
        """The value."""
        if isinstance(data, list):
            return [self(item) for item in data]
        if not isinstance(data, dict):
            return data
        tag = next((key for key in data if key.startswith("$")), None)
        if tag is None:
            return {key: self(item) for key, item in data.items()}
        decode = self._by_tag.get(tag)
        if decode is None:
            raise ValueError(
                f"The saved model has a value of the kind {tag!r}, which this version does not "
                "know. Upgrade sklearn-disent, or take the file for damaged."
            )
        try:
            return decode(self, data, data[tag])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"The saved model has a {tag} that cannot be: {error}.") from error

    def _array(self, data: dict[str, Any], value: Any) -> np.ndarray:
        if isinstance(value, str):
            return self.tensors[value].numpy()
        dtype = np.dtype(data["dtype"])
        if dtype.kind not in _ARRAY_KINDS + "O":
            raise TypeError(f"dtype {dtype}")
        array = np.array(self(value), dtype=dtype)
        return array.reshape(data["shape"]) if "shape" in data else array

    def _random_state(self, data: dict[str, Any], value: Any) -> np.random.RandomState:
        state = self(value)
        state["state"]["key"] = np.array(state["state"]["key"], dtype=np.uint32)
        rng = np.random.RandomState()
        rng.set_state(state)
        return rng

    def _object(self, data: dict[str, Any], value: Any) -> Any:
        cls = find(value["class"], self.trusted)
        params = self(value["params"])
        if not isinstance(cls, type):
            raise TypeError(f"{value['class']} is not a class")
        return cls(**params)

    def _dtype(self, data: dict[str, Any], value: Any) -> torch.dtype:
        dtype = getattr(torch, value)
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"{value!r} is not a dtype")
        return dtype

    _by_tag: dict[str, Callable[..., Any]] = {
        "$tuple": lambda self, data, value: tuple(self(item) for item in value),
        "$dict": lambda self, data, value: {self(k): self(v) for k, v in value},
        "$float": lambda self, data, value: _SPECIAL_FLOATS[value],
        "$class": lambda self, data, value: find(value, self.trusted),
        "$device": lambda self, data, value: torch.device(value),
        "$tensor": lambda self, data, value: self.tensors[value],
        "$values": lambda self, data, value: torch.from_numpy(self(value)),
        "$array": _array,
        "$dtype": _dtype,
        "$object": _object,
        "$random_state": _random_state,
    }
