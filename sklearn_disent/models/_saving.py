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
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import safetensors.torch
import torch
from sklearn.utils.validation import check_is_fitted

from .._fingerprint import versions
from .._manifest import changed_code, half_trained
from .._params import validated
from ._codec import Decoder, Encoder, find, name_of
from ._loading import (
    CARD,
    CONFIG,
    FORMAT,
    NOT_PARAMS,
    NOT_STATE,
    OPTIMIZERS,
    SCORES,
    WEIGHTS,
    build_net,
    damaged,
    parts_of,
    read_config,
    read_tensors,
    set_optimizers,
    set_weights,
)


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
        config = read_config(source)
        trusted = (*trusted, cls)
        found = find(config["class"], trusted)
        if not (isinstance(found, type) and issubclass(found, cls)):
            raise TypeError(
                f"{source} holds a {config['class']}, not a {cls.__name__}. Call "
                f"{config['class'].rpartition('.')[2]}.from_pretrained."
            )
        tensors = read_tensors(source / WEIGHTS, config["weights_sha256"])
        decode = Decoder(trusted, tensors)
        try:
            net = build_net(found, config, decode, params)
        except KeyError as error:
            raise damaged(source / CONFIG, f"{error} is missing") from error
        set_weights(net, tensors, source / WEIGHTS)
        if "optimizers" in config:
            moments = read_tensors(source / OPTIMIZERS)
            set_optimizers(net, Decoder((), moments)(config["optimizers"]))
        for problem in filter(None, (half_trained(net), changed_code(net))):
            warnings.warn(f"{problem}. Train it again.", UserWarning, stacklevel=2)
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
    params = {n: v for n, v in params.items() if n not in {*NOT_PARAMS, *left_out}}
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
        "versions": dict(versions()),
    }


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
        if name not in params and name not in NOT_STATE and name not in parts
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


def _weights(net: Any) -> dict[str, torch.Tensor]:
    weights = {
        f"{part}.{name}": value.detach().cpu().contiguous().clone()
        for part, module in parts_of(net).items()
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
