"""Training that a kill cannot undo: after every epoch, all that the next one depends on is saved.

One file per fit, named by a hash of the model, its data and the code, so that a folder may serve a
whole sweep. It is safetensors with JSON in its header: nothing is unpickled. It is written under
another name and renamed, so that it is always whole, and removed when the fit is done.
"""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from skorch.history import History
from torch import Tensor

from .._fingerprint import fingerprint
from ._saved_state import decode, encode

_KEY = "sklearn_disent_checkpoint"
# Parameters that do not change what is learnt.
_WITHOUT_EFFECT = ("checkpoint", "verbose")


class EpochFile:
    """Where one fit is saved after every epoch."""

    def __init__(self, net: Any, dataset: Any) -> None:
        params = {k: v for k, v in net.get_params(deep=False).items() if k not in _WITHOUT_EFFECT}
        data = (dataset.rows, dataset.y, dataset.extras, net._layout)
        key = fingerprint((type(net), params, data)).digest
        self.path = Path(net.checkpoint) / f"{type(net).__name__}-{key[:32]}.safetensors"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def save(self, net: Any) -> None:
        """Write the state of a net, all or nothing."""
        tensors = dict(_module_tensors(net))
        optimizers = {name: _pack(net, name, tensors) for name in net._optimizers}
        state = {
            "extra": net._extra_state(),
            "history": net.history_.to_list(),
            "optimizers": optimizers,
            "callbacks": {name: _callback_state(cb) for name, cb in net.callbacks_},
        }
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            whole = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
            save_file(whole, part, metadata={_KEY: json.dumps(state)})
            os.replace(part, self.path)
        except (OSError, SafetensorError) as error:
            # A full disk must not cost the epochs that are done.
            warnings.warn(
                f"An epoch cannot be saved to {self.path.parent} ({error}). Training goes on; "
                "killed now, it would begin again at the last epoch that was saved.",
                UserWarning,
                stacklevel=2,
            )
        finally:
            part.unlink(missing_ok=True)

    def load(self, net: Any) -> None:
        """Put a net into the state that was saved, if there is one."""
        if not self.path.exists():
            return
        try:
            with safe_open(self.path, framework="pt", device=str(net.device)) as file:
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
                state = json.loads(file.metadata()[_KEY])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(
                f"The checkpoint {self.path.name} cannot be read ({error}), and training begins "
                f"anew. If this recurs, check the disk of {self.path.parent}.",
                UserWarning,
                stacklevel=2,
            )
            return
        with net._unchanged_if_refused():
            for prefix, module in _modules(net).items():
                module.load_state_dict(_under(tensors, prefix))
            for name, packed in state["optimizers"].items():
                _unpack(net, name, packed, tensors)
            net._load_extra_state(state["extra"])
            net.history_ = History(state["history"])
        for name, callback in net.callbacks_:
            _load_callback(callback, state["callbacks"].get(name, {}))

    def remove(self) -> None:
        """Forget a fit that is done."""
        self.path.unlink(missing_ok=True)


def _modules(net: Any) -> dict[str, Any]:
    return {f"{name}/": getattr(net, name + "_") for name in (*net._modules, *net._criteria)}


def _module_tensors(net: Any) -> dict[str, Tensor]:
    return {
        prefix + key: value
        for prefix, module in _modules(net).items()
        for key, value in module.state_dict().items()
    }


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _pack(net: Any, name: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """State of an optimizer as JSON can hold it; its tensors are added to the others."""
    state = getattr(net, name + "_").state_dict()
    numbers: dict[str, dict[str, Any]] = {}
    for index, entries in state["state"].items():
        numbers[str(index)] = {}
        for key, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"{name}/{index}/{key}"] = value
            else:
                numbers[str(index)][key] = encode(value)
    return {"state": numbers, "param_groups": encode(state["param_groups"])}


def _unpack(net: Any, name: str, packed: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    state = {
        int(index): {
            **{key: decode(value) for key, value in numbers.items()},
            **_under(tensors, f"{name}/{index}/"),
        }
        for index, numbers in packed["state"].items()
    }
    groups = decode(packed["param_groups"])
    getattr(net, name + "_").load_state_dict({"state": state, "param_groups": groups})


def _callback_state(callback: Any) -> dict[str, Any]:
    """Fitted attributes of a callback; of schedulers and the like, their ``state_dict``."""
    state = {}
    for name, value in vars(callback).items():
        if not name.endswith("_"):
            continue
        try:
            if hasattr(value, "state_dict") and not isinstance(value, torch.nn.Module):
                state[name] = {"state_dict": encode(_json_part(value.state_dict()))}
            else:
                state[name] = {"value": encode(value)}
        except TypeError:  # such as open files, which every process makes for itself
            continue
    return state


def _json_part(state: Mapping[str, Any]) -> dict[str, Any]:
    part = {}
    for key, value in state.items():
        try:
            encode(value)
        except TypeError:
            continue
        part[key] = value
    return part


def _load_callback(callback: Any, state: Mapping[str, Mapping[str, Any]]) -> None:
    for name, saved in state.items():
        if "value" in saved:
            setattr(callback, name, decode(saved["value"]))
        elif hasattr(getattr(callback, name, None), "load_state_dict"):
            getattr(callback, name).load_state_dict(decode(saved["state_dict"]))
