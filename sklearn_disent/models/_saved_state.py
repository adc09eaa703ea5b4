"""All that a fitted net is besides its parameters: what must travel with the weights.

Weights alone are not the model: the same weights are another function if uint8 is scaled in
another way, or images lie in another layout. `_extra_state` gives what JSON can hold,
`_state_tensors` the weights of all modules; ``save_params`` writes both into one file,
``load_params`` reads both, and so do skorch's Checkpoint and LoadInitState, which call them.
Nothing is unpickled.
"""

import copy
import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from skorch.history import History
from torch import Tensor

from .._manifest import changed_code, half_trained
from ._codec import Decoder, PlainEncoder
from ._data import Layout, Units
from ._fit_state import unchanged_on_error

# To type checkers the mixin is a skorch net, which it is in BaseNet.
if TYPE_CHECKING:
    from skorch import NeuralNet as _Net
else:
    _Net = object

FORMAT = 1
_KEY = "sklearn_disent"  # of the state, in the metadata of a file of weights
# Fitted attributes that are tensors, are rebuilt by `initialize`, or have an entry of their own.
_NOT_ATTRIBUTES = {
    "callbacks_",
    "criterion_",
    "cuda_dependent_attributes_",
    "guidance_",
    "history_",
    "initialized_",
    "input_shape_",
    "n_steps_",
    "virtual_params_",
}


# A value as JSON can hold it, and back; TypeError where it is code, or an object.
encode, decode = PlainEncoder(), Decoder()


def _encoded(attributes: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Attributes that can be saved, and the names of those that cannot."""
    saved, left_out = {}, []
    for name, value in attributes.items():
        try:
            saved[name] = encode(value)
        except TypeError:
            left_out.append(name)
    return saved, left_out


# -- files of weights ------------------------------------------------------------------------


def write_weights(
    file: Any, tensors: Mapping[str, Tensor], state: Mapping[str, Any], *, use_safetensors: bool
) -> None:
    """Write weights, with the state in the metadata, which other readers pass over."""
    text = json.dumps(state)
    if not use_safetensors:
        weights = OrderedDict(tensors)
        weights._metadata = {**getattr(tensors, "_metadata", {}), _KEY: text}  # type: ignore
        torch.save(weights, file)
        return
    from safetensors.torch import save, save_file

    tensors = {name: value.contiguous() for name, value in tensors.items()}
    if isinstance(file, str | PathLike):
        save_file(tensors, file, metadata={_KEY: text})
    else:
        file.write(save(tensors, metadata={_KEY: text}))


def read_weights(
    file: Any, *, use_safetensors: bool, device: Any = "cpu"
) -> tuple[dict[str, Tensor], dict[str, Any] | None]:
    """Weights and the state beside them; the state is None in files of other programs."""
    if not use_safetensors:
        weights = torch.load(file, map_location=device, weights_only=True)
        text = getattr(weights, "_metadata", {}).get(_KEY)
        return weights, None if text is None else json.loads(text)
    from safetensors import safe_open
    from safetensors.torch import load

    if isinstance(file, str | PathLike):
        with safe_open(file, framework="pt", device=str(device)) as opened:
            names = opened.keys()
            tensors = {name: opened.get_tensor(name) for name in names}
            metadata = opened.metadata() or {}
    else:
        data = file.read()
        tensors = load(data)
        # The header: its length in 8 bytes, then JSON.
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        metadata = header.get("__metadata__", {})
    return tensors, json.loads(metadata[_KEY]) if _KEY in metadata else None


# -- the net ---------------------------------------------------------------------------------


class SavedState(_Net):
    """Mixin of a skorch net: files of weights hold the whole state."""

    _state_names: tuple[str, ...] = ()  # private attributes of a model that are part of its state
    _builds_on: tuple[str, ...] = ()  # those of them that its modules cannot be built without
    _layout: Layout
    _units: Units
    _seed: int
    _modules: list[str]
    _optimizers: list[str]
    input_shape_: tuple[int, ...]
    n_steps_: int

    def _extra_state(self) -> dict[str, Any]:
        """What the net is besides parameters, weights, optimizers and history, for JSON."""
        other = {name + "_" for name in (*self._modules, *self._criteria, *self._optimizers)}
        other |= set(self.get_params(deep=False))
        fitted = {
            name: value
            for name, value in vars(self).items()
            if name in self._state_names
            or (re.fullmatch(r"[^_].*_", name) and name not in _NOT_ATTRIBUTES | other)
        }
        attributes, left_out = _encoded(fitted)
        guides = {}
        for guide_name, guide in (getattr(self, "guidance_", None) or {}).items():
            read = {k: v for k, v in vars(guide).items() if k not in guide.get_params(deep=False)}
            guides[guide_name], lost = _encoded(read)
            left_out += [f"guidance_[{guide_name!r}].{name}" for name in lost]
        return {
            "format": FORMAT,
            "model": type(self).__name__,
            "layout": {"input_shape": list(self._layout.input_shape), "kind": self._layout.kind},
            "units": dict(self._units._asdict()),
            "seed": self._seed,
            "n_steps": self.n_steps_,
            "attributes": attributes,
            "guidance": guides,
            "left_out": left_out,
        }

    def _load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Become what `_extra_state` described; a net that was never built is built by it."""
        if state.get("format") != FORMAT:
            raise ValueError(
                f"The saved state has format {state.get('format')!r}, this version of "
                f"sklearn_disent reads format {FORMAT}. Load it with the version that wrote it."
            )
        layout = Layout(tuple(state["layout"]["input_shape"]), state["layout"]["kind"])
        if self.initialized_ and layout.input_shape != self.input_shape_:
            raise ValueError(
                f"The weights are those of a model for observations of shape {layout.input_shape}, "
                f"this one is for {self.input_shape_}. Load them into a new {state['model']}."
            )
        attributes = {name: decode(value) for name, value in state["attributes"].items()}
        self._layout, self._units = layout, Units(**state["units"])
        self.input_shape_ = layout.input_shape
        self._load_guidance(state["guidance"])
        for name in self._builds_on:
            setattr(self, name, attributes[name])
        if not self.initialized_:
            self.initialize()
        if "feature_names_in_" not in attributes:
            self.__dict__.pop("feature_names_in_", None)
        for name, value in attributes.items():
            setattr(self, name, value)
        self._seed, self.n_steps_ = state["seed"], state["n_steps"]
        self._name_origin(state["model"])
        missing = [name for name in state["left_out"] if name not in vars(self)]
        if missing:
            warnings.warn(
                f"The file does not hold {', '.join(missing)}, which only pickle can save. Set "
                "them by hand if the model needs them.",
                UserWarning,
                stacklevel=4,
            )

    def _name_origin(self, model: str) -> None:
        """Warn of weights of another model, and of those that training had left behind."""
        problems = [changed_code(self)]
        if model != type(self).__name__:
            problems = [f"The weights are those of a {model}, not of a {type(self).__name__}"]
        # Files of Checkpoint are written while training goes on, and are meant to be.
        if getattr(self, "manifest_", {}).get("status") in ("interrupted", "diverged"):
            problems.append(half_trained(self))
        for problem in filter(None, problems):
            warnings.warn(f"{problem}.", UserWarning, stacklevel=5)

    def _load_guidance(self, states: Mapping[str, Mapping[str, Any]]) -> None:
        """Give guidance what it had read; nets without guidance have nothing to load."""

    def _state_tensors(self) -> dict[str, Tensor]:
        """Weights of all modules: those of ``module_`` by their names, others with a prefix."""
        tensors = self.module_.state_dict()
        for name in self._modules:
            if name != "module":
                others = getattr(self, name + "_").state_dict()
                tensors.update((f"{name}_.{key}", value) for key, value in others.items())
        return tensors

    def _load_state_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Load what `_state_tensors` gave; values that are not finite are refused."""
        bad = [name for name, value in tensors.items() if not _is_finite(value)]
        if bad:
            raise ValueError(
                f"The weights {', '.join(bad)} hold values that are not finite. The file is "
                "damaged, or of a training that diverged: load an earlier one."
            )
        rest = dict(tensors)
        for name in [name for name in self._modules if name != "module"]:
            prefix = f"{name}_."
            own = {key: rest.pop(key) for key in [*rest] if key.startswith(prefix)}
            if not own:
                warnings.warn(
                    f"The file does not hold the weights of {name}_, which stay as they are. Save "
                    f"the model with save_params of {type(self).__name__}.",
                    UserWarning,
                    stacklevel=5,
                )
                continue
            loaded = {key.removeprefix(prefix): value for key, value in own.items()}
            getattr(self, name + "_").load_state_dict(loaded)
        self.module_.load_state_dict(rest)

    # -- skorch's methods --------------------------------------------------------------------

    def save_params(
        self,
        f_params: Any = None,
        f_optimizer: Any = None,
        f_criterion: Any = None,
        f_history: Any = None,
        use_safetensors: bool = False,
        **kwargs: Any,
    ) -> None:
        """Save weights, optimizers and history to files.

        The file of weights holds all that the codes depend on besides the parameters of the
        estimator: weights of all modules, the layout of observations, how uint8 is scaled, the
        steps done. :meth:`load_params` of an estimator with the same parameters reads it.

        Parameters
        ----------
        f_params, f_optimizer, f_criterion, f_history : path, file or None, default=None
            Where to save weights, optimizers (all of them), criterion and history; None does not
            save.
        use_safetensors : bool, default=False
            Whether to write the safetensors format, which optimizers cannot have; else torch's.
        **kwargs : dict
            Further modules by name, such as ``f_discriminator``.
        """
        f_params = kwargs.pop("f_module", None) or f_params
        if f_params is not None or f_optimizer is not None:
            message = "Fit or initialize the model before you save it."
            self.check_is_fitted(["module_"], msg=message)
        if f_params is not None:
            state = self._extra_state()
            write_weights(f_params, self._state_tensors(), state, use_safetensors=use_safetensors)
        if f_optimizer is not None and not use_safetensors:
            torch.save(self._optimizer_states(), f_optimizer)
            f_optimizer = None
        rest = {"f_optimizer": f_optimizer, "f_criterion": f_criterion, "f_history": f_history}
        rest |= kwargs
        if any(file is not None for file in rest.values()):
            super().save_params(use_safetensors=use_safetensors, **rest)

    def load_params(
        self,
        f_params: Any = None,
        f_optimizer: Any = None,
        f_criterion: Any = None,
        f_history: Any = None,
        checkpoint: Any = None,
        use_safetensors: bool = False,
        **kwargs: Any,
    ) -> None:
        """Load what :meth:`save_params` saved; a file that is refused leaves the net as it was.

        A net that was never fitted is built from what the file says of its input. No file is
        unpickled.

        Parameters
        ----------
        f_params, f_optimizer, f_criterion, f_history : path, file or None, default=None
            Where to load weights, optimizers, criterion and history from; None does not load.
        checkpoint : skorch.callbacks.Checkpoint or None, default=None
            Names the files that are not given.
        use_safetensors : bool, default=False
            Whether the files have the safetensors format.
        **kwargs : dict
            Further modules by name, such as ``f_discriminator``.
        """
        f_params = kwargs.pop("f_module", None) or f_params
        given = {"f_params": f_params, "f_optimizer": f_optimizer, "f_criterion": f_criterion}
        given = {key: file for key, file in {**given, **kwargs}.items() if file is not None}
        with self._unchanged_if_refused():
            if checkpoint is not None:
                if f_history is None and checkpoint.f_history is not None:
                    self.history_ = History.from_file(checkpoint.f_history_)
                given = {**checkpoint.get_formatted_files(self), **given}
                for name in ("f_history", "f_pickle"):
                    given.pop(name, None)
            self._load_files(given, f_history, use_safetensors)

    def _load_files(self, files: dict[str, Any], f_history: Any, use_safetensors: bool) -> None:
        files = {key: file for key, file in files.items() if file is not None}
        history = self.history_ if f_history is None else History.from_file(f_history)
        f_params = files.pop("f_params", None)
        if f_params is not None:
            tensors, state = read_weights(
                f_params, use_safetensors=use_safetensors, device=self.device
            )
            if state is not None:
                self._load_extra_state(state)
            else:
                self._warn_of_bare_weights()
            self._load_state_tensors(tensors)
        if history is not None:
            self.history_ = history
        if "f_optimizer" in files and not use_safetensors:
            self.check_is_fitted(["optimizer_"], msg="Load weights first, or initialize the model.")
            file = files.pop("f_optimizer")
            self._load_optimizer_states(
                torch.load(file, map_location=self.device, weights_only=True)
            )
        if files:
            super().load_params(use_safetensors=use_safetensors, **files)

    def _warn_of_bare_weights(self) -> None:
        if not self.initialized_:
            self.initialize()
        warnings.warn(
            "The file holds weights alone: nothing says how uint8 was scaled or how images lay in "
            "memory when they were trained. Pass float X, or save with save_params.",
            UserWarning,
            stacklevel=5,
        )

    def _optimizer_states(self) -> dict[str, Any]:
        """State of ``optimizer_``, and of the others under their names."""
        states = dict(self.optimizer_.state_dict())
        others = [name for name in self._optimizers if name != "optimizer"]
        return {**states, **{name: getattr(self, name + "_").state_dict() for name in others}}

    def _load_optimizer_states(self, states: Mapping[str, Any]) -> None:
        """Load what `_optimizer_states` gave."""
        for name in self._optimizers:
            if name == "optimizer":
                self.optimizer_.load_state_dict(
                    {key: states[key] for key in ("state", "param_groups")}
                )
            elif name in states:
                getattr(self, name + "_").load_state_dict(states[name])
            else:
                raise ValueError(
                    f"The file does not hold the state of {name}_. Save the model with "
                    f"save_params of {type(self).__name__}."
                )

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Whatever goes wrong within leaves attributes, weights and optimizers as they were."""
        names = (*self._modules, *self._criteria, *self._optimizers) if self.initialized_ else ()
        parts = [getattr(self, name + "_") for name in names]
        before = [copy.deepcopy(part.state_dict()) for part in parts]
        with unchanged_on_error(self):
            try:
                yield
            except BaseException:
                for part, state in zip(parts, before):
                    part.load_state_dict(state)
                raise


def _is_finite(value: Tensor) -> bool:
    return not value.is_floating_point() or bool(torch.isfinite(value).all())
