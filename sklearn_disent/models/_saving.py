"""Fitted estimators as a folder of plain data: JSON, safetensors, and a card to read.

The layout is that of the Hugging Face Hub::

  config.json            class, parameters, layout of the input, fitted attributes, history
  model.safetensors      weights
  README.md              the card
  scores.json            the report, where X and y were given
  optimizer.safetensors  state of the optimisers, where asked for

Loading builds what is in the table of ``_codec.harmless`` or what the caller trusts, and nothing
else: nothing is unpickled, evaluated or imported by name.
"""

import hashlib
import inspect
import json
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from sklearn.utils.validation import check_is_fitted
from skorch.history import History
from torch import nn

from .._params import validated
from ._codec import Decoder, Encoder, find, name_of
from ._data import Layout, Units
from ._state import OF_FIT

FORMAT = 1
CONFIG, WEIGHTS, OPTIMIZERS = "config.json", "model.safetensors", "optimizer.safetensors"
CARD, SCORES = "README.md", "scores.json"
_KINDS = ("flat", "chw", "hw", "hwc")
_UNITS = ("bits", "real", "uint8", "unit", "unknown")
# Parameters that are about the machine: where to compute, and a folder to write to.
_NOT_PARAMS = ("checkpoint", "device")
# Attributes that `initialize` sets, that have a place of their own in the config, or that are about
# the process and not about the model.
_NOT_STATE = {
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
_VERSIONS = ("sklearn-disent", "torch", "skorch", "scikit-learn", "numpy")


class SavingMixin:
    """Mixin of a net: to a folder and back, to the Hub, to other runtimes."""

    _optimizers: Any  # names; skorch's
    _ensure_optimizers: Any

    @validated
    def save_pretrained(
        self,
        folder: str | os.PathLike,
        X: Any = None,
        y: Any = None,
        *,
        dtype: Literal["float32", "float16"] = "float32",
        optimizer: bool = False,
        without: Sequence[str] | None = None,
        description: str | None = None,
        license: str | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        """Save the fitted estimator as JSON, safetensors and a model card.

        Parameters
        ----------
        folder : str or path
            Where to; made if it is not there. Files of an earlier model in it are replaced, others
            are left alone.
        X : array-like or None, default=None
            Observations to judge the model by, apart from those it was trained on.
        y : array-like of shape (n, n_factors) or None, default=None
            Their factors. With X and y, the card shows a
            :func:`sklearn_disent.metrics.disentanglement_report`, and ``scores.json`` holds it.
        dtype : {"float32", "float16"}, default="float32"
            Of the weights in the file. Half precision takes half the space; the weights are
            float32 again once loaded, rounded to 11 bits.
        optimizer : bool, default=False
            Whether to save the state of the optimisers, with which training goes on as if it had
            not stopped; it is twice as large as the weights.
        without : list of str or None, default=None
            Parameters or fitted attributes to leave out, such as those that cannot be saved.
            Parameters that are left out may be passed to :meth:`from_pretrained`.
        description : str or None, default=None
            What to say on the card, in Markdown: the data, the purpose, the limits.
        license : str or None, default=None
            Identifier of a license, for the card.
        report : dict or None, default=None
            Options of the report, such as ``{"n_resamples": 100, "random_state": 0}``.

        See Also
        --------
        from_pretrained : Loads what this saves.
        push_to_hub : Saves to the Hugging Face Hub.

        Notes
        -----
        Not saved: the device, callbacks' state, metadata requests, ``set_output``.
        """
        from ._card import make_card, make_scores

        check_is_fitted(self)
        target = Path(folder)
        left_out = set(without or ())
        weights = _half(_weights(self)) if dtype == "float16" else _weights(self)
        state = Encoder(weights)
        config = _config(self, state, left_out)
        weight_bytes = safetensors.torch.save(weights, {"format": "pt"})
        config["weights_sha256"] = hashlib.sha256(weight_bytes).hexdigest()
        files = {WEIGHTS: weight_bytes}
        if optimizer:
            self._ensure_optimizers()
            moments: dict[str, torch.Tensor] = {}
            encode = Encoder(moments)
            config["optimizers"] = {
                n: encode(getattr(self, n + "_").state_dict(), n) for n in self._optimizers
            }
            files[OPTIMIZERS] = safetensors.torch.save(moments)
        scores = make_scores(self, X, y, report)
        if scores is not None:
            files[SCORES] = _dump(scores)
        card = make_card(self, target.resolve().name, config, scores, description, license)
        files |= {CARD: card.encode(), CONFIG: _dump(config)}
        _write(target, files)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike, *, trusted: Iterable[Any] = (), **params: Any
    ) -> Self:
        """Load an estimator that :meth:`save_pretrained` saved; no code of the folder is run.

        Parameters
        ----------
        folder : str or path
            Where it was saved.
        trusted : list of (class or function), default=()
            What of your own the estimator is made of: models, networks, guidance, schedules. The
            class on which this is called is trusted.
        **params : dict
            Parameters that replace the saved ones, such as ``device="cuda"``.

        Returns
        -------
        model : object
            A fitted estimator of the class that was saved, on the CPU unless told otherwise.

        See Also
        --------
        save_pretrained : Saves what this loads.
        load_pretrained : Loads a model of the package.
        """
        source = Path(folder)
        config = _read_config(source)
        trusted = (*trusted, cls)
        found = find(config["class"], trusted)
        if not (isinstance(found, type) and issubclass(found, cls)):
            raise TypeError(
                f"{source} holds a {config['class']}, not a {cls.__name__}. Call "
                f"{config['class'].rpartition('.')[2]}.from_pretrained."
            )
        tensors = _read_tensors(source / WEIGHTS, config["weights_sha256"])
        decode = Decoder(trusted, tensors)
        try:
            net = _build(found, config, decode, params)
        except KeyError as error:
            raise _damaged(source / CONFIG, f"{error} is missing") from error
        _set_weights(net, tensors, source / WEIGHTS)
        if "optimizers" in config:
            moments = _read_tensors(source / OPTIMIZERS)
            _set_optimizers(net, Decoder((), moments)(config["optimizers"]))
        return net

    def push_to_hub(
        self,
        repo_id: str,
        X: Any = None,
        y: Any = None,
        *,
        private: bool | None = None,
        token: str | None = None,
        commit_message: str = "Upload a model of sklearn-disent",
        **options: Any,
    ) -> str:
        """Save to a repository of the Hugging Face Hub; needs the package huggingface_hub.

        Parameters
        ----------
        repo_id : str
            The repository, such as ``"me/dsprites-btcvae"``; made if it is not there.
        X : array-like or None, default=None
            As in :meth:`save_pretrained`.
        y : array-like of shape (n, n_factors) or None, default=None
            As in :meth:`save_pretrained`.
        private : bool or None, default=None
            Whether a new repository is private; None is the Hub's own default.
        token : str or None, default=None
            A token that may write; None uses that of ``huggingface_hub.login``.
        commit_message : str, default="Upload a model of sklearn-disent"
            Message of the commit.
        **options : dict
            Further options of :meth:`save_pretrained`.

        Returns
        -------
        url : str
            Address of the commit.

        Notes
        -----
        To load it, fetch the folder first:
        ``VAE.from_pretrained(huggingface_hub.snapshot_download(repo_id))``.
        """
        try:
            from huggingface_hub import HfApi
        except ImportError as error:
            raise ImportError(
                "push_to_hub needs huggingface_hub: pip install 'sklearn-disent[hub]'."
            ) from error
        check_is_fitted(self)
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / repo_id.rpartition("/")[2]
            self.save_pretrained(folder, X, y, **options)
            api = HfApi(token=token)
            api.create_repo(repo_id, private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repo_id, folder_path=folder, commit_message=commit_message
            )
        return str(commit)

    @validated
    def export(
        self, folder: str | os.PathLike, *, format: Literal["torch", "onnx"] = "torch"
    ) -> None:
        """Write encoder and decoder as programs that run without this package.

        Parameters
        ----------
        folder : str or path
            Where to; made if it is not there.
        format : {"torch", "onnx"}, default="torch"
            ``encoder.pt2`` and ``decoder.pt2`` for ``torch.export.load``, or ``encoder.onnx`` and
            ``decoder.onnx``, which need the packages onnx and onnxscript to be written.

        See Also
        --------
        save_pretrained : Keeps the estimator.

        Notes
        -----
        The encoder takes float32 batches ``(n, *input_shape_)``, uint8 already scaled, and returns
        what ``transform`` does; the decoder takes codes and returns what ``inverse_transform``
        does, in the shape ``(n, *input_shape_)``. ``signature.json`` says the same. Any number of
        rows goes. An estimator without ``inverse_transform`` has an encoder only.
        """
        from ._export import export

        check_is_fitted(self)
        export(self, Path(folder), format)


# -- saving ----------------------------------------------------------------------------------


def _config(net: Any, encode: Encoder, left_out: set[str]) -> dict[str, Any]:
    params = net.get_params(deep=False)
    params = {n: v for n, v in params.items() if n not in {*_NOT_PARAMS, *left_out}}
    names = getattr(net, "feature_names_in_", None)
    guides = getattr(net, "guidance_", None) or {}
    return {
        "library": "sklearn-disent",
        "format": FORMAT,
        "class": name_of(type(net)),
        "params": {n: _encoded(Encoder(), v, n, "parameter", net) for n, v in params.items()},
        "input": {
            "shape": list(net.input_shape_),
            "layout": net._layout.kind,
            "units": net._units.kind,
            "uint8_scale": net._units.uint8_scale,
            "feature_names": None if names is None else [str(name) for name in names],
        },
        "fitted": _encoded_state(net, encode, left_out, "state"),
        "guidance": {
            n: _encoded_state(g, encode, left_out, f"state.{n}") for n, g in guides.items()
        },
        "history": [_history_row(row) for row in net.history_],
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from its source
            from .. import __version__

            found[name] = __version__
    return found


def _state_of(owner: Any) -> dict[str, Any]:
    """Fitted attributes that are neither weights nor of use to one process only."""
    params = owner.get_params(deep=False)
    parts = [
        f"{name}_"
        for group in ("_modules", "_criteria", "_optimizers")
        for name in getattr(owner, group, ())
    ]
    return {
        name: value
        for name, value in vars(owner).items()
        if name not in params and name not in _NOT_STATE and name not in parts
    }


def _encoded_state(owner: Any, encode: Encoder, left_out: set[str], prefix: str) -> dict[str, Any]:
    state = {n: v for n, v in _state_of(owner).items() if n not in left_out}
    return {
        n: _encoded(encode, v, f"{prefix}.{n}", "fitted attribute", owner) for n, v in state.items()
    }


def _encoded(encode: Encoder, value: Any, where: str, kind: str, owner: Any) -> Any:
    try:
        return encode(value, where)
    except TypeError as error:
        name = where.rpartition(".")[2]
        raise TypeError(
            f"The {kind} {name} of {type(owner).__name__} cannot be saved as plain data: {error}. "
            f"Change it, or leave it out: save_pretrained(folder, without=[{name!r}])."
        ) from error


def _history_row(row: Mapping[str, Any]) -> dict[str, Any]:
    # An empty dict per batch is all that is in there, unless a callback has written to it.
    batches = row.get("batches", [])
    kept = {n: v for n, v in row.items() if n != "batches"}
    encode = Encoder()
    return {
        n: encode(v, n) for n, v in {**kept, "batches": batches if any(batches) else []}.items()
    }


def _parts(net: Any) -> dict[str, nn.Module]:
    """All that has weights, by name; what ``torch.compile`` wraps, without the wrapper."""
    names = (*net._modules, *net._criteria)
    parts = {name: getattr(net, name + "_") for name in names}
    return {n: getattr(p, "_orig_mod", p) for n, p in parts.items() if isinstance(p, nn.Module)}


def _weights(net: Any) -> dict[str, torch.Tensor]:
    weights = {
        f"{part}.{name}": value.detach().cpu().contiguous().clone()
        for part, module in _parts(net).items()
        for name, value in module.state_dict().items()
    }
    bad = [name for name, value in weights.items() if not torch.isfinite(value).all()]
    if bad:
        raise ValueError(f"Weights must be finite to be saved, but {bad[0]} is not. Fit again.")
    return weights


def _half(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    halved = {n: v.half() if v.is_floating_point() else v for n, v in weights.items()}
    large = [name for name, value in halved.items() if not torch.isfinite(value).all()]
    if large:
        raise ValueError(
            f"{large[0]} has values beyond the range of float16. Save with dtype='float32'."
        )
    return halved


def _dump(data: Any) -> bytes:
    return (json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """All are written before the first is put in place; the config, read first, is put last."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
        for name, content in files.items():
            (Path(scratch) / name).write_bytes(content)
        for name in (SCORES, OPTIMIZERS):
            if name not in files:
                (folder / name).unlink(missing_ok=True)  # of another model
        for name in files:
            os.replace(Path(scratch) / name, folder / name)


# -- loading ---------------------------------------------------------------------------------


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"{path} is damaged, or not a saved model: {why}. Save or fetch it again.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path.parent} is not a saved model: it has no {path.name}. save_pretrained writes "
            "such folders, and huggingface_hub.snapshot_download(repo_id) fetches one."
        ) from None


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        config = json.loads(_read(path), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(config, dict) or config.get("library") != "sklearn-disent":
        raise _damaged(path, "it does not name sklearn-disent as its library")
    number = config.get("format")
    if not isinstance(number, int) or number < 1:
        raise _damaged(path, f"its format is {number!r}")
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
            raise _damaged(path, f"its entry {name!r} is not a {kind.__name__}")
    return config


def _read_tensors(path: Path, digest: str | None = None) -> dict[str, torch.Tensor]:
    content = _read(path)
    try:
        tensors = safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _damaged(path, str(error)) from error
    if digest is not None and hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path, "these are not the weights that config.json was saved with")
    for name, value in tensors.items():
        is_weight = value.is_floating_point() and not name.startswith("state.")
        if is_weight and not torch.isfinite(value).all():
            raise _damaged(path, f"{name} has values that are not finite")
    return tensors


def _build(cls: type, config: dict[str, Any], decode: Decoder, params: dict[str, Any]) -> Any:
    """The estimator, as `fit` leaves it, except for the weights."""
    saved = {n: v for n, v in config["params"].items() if n not in _NOT_PARAMS}
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
            or name in _NOT_STATE
            or callable(own)
            or hasattr(own, "__get__")
        ):
            raise ValueError(
                f"The saved model sets {name!r} of {type(owner).__name__}, which is not a fitted "
                "attribute. Do not use this file."
            )
        setattr(owner, name, decode(value))


def _set_weights(net: Any, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    given = {n: v for n, v in tensors.items() if n.partition(".")[0] != "state"}
    parts = _parts(net)
    wanted = {f"{p}.{n}": v for p, m in parts.items() for n, v in m.state_dict().items()}
    for names, what in ((wanted.keys() - given, "lacks"), (given.keys() - wanted, "has in excess")):
        if names:
            raise _damaged(path, f"it {what} {sorted(names)[0]!r} for a {type(net).__name__}")
    for name, value in given.items():
        own = wanted[name]
        if value.shape != own.shape or value.is_floating_point() != own.is_floating_point():
            raise _damaged(
                path,
                f"{name} is {value.dtype} of shape {tuple(value.shape)}, the parameters in "
                f"config.json ask for {own.dtype} of shape {tuple(own.shape)}",
            )
    for part, module in parts.items():
        prefix = f"{part}."
        module.load_state_dict(
            {n.removeprefix(prefix): v for n, v in given.items() if n.startswith(prefix)}
        )


def _set_optimizers(net: Any, saved: Any) -> None:
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
