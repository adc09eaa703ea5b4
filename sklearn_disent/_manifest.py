"""The manifest of a fitted model: where it comes from, and whether its training came to an end.

A plain dict, ``manifest_``, which is saved with the model and read by caches, loaders and reports:

  model                         name of the class
  versions                      of Python and of the packages that training depends on
  package                       hash of the files of this package that train models
  source                        hash of the user's own classes and functions, None without any
  data                          rows, values, type and a hash of the observations, see `data_hash`
  seed                          that all random numbers come from
  epochs_planned, epochs_done   with those of earlier fits that this one went on from
  steps_planned, steps_done     the same in steps of the optimiser; planned once an epoch is done
  status                        "training", "finished", "stopped" by a callback, "interrupted" by
                                an error or Ctrl-C, or "diverged"
  input                         shape, layout, units and scale of observations

torch is not imported here.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._fingerprint import code_of, is_installed, package_source, versions

# Bytes of the observations that are hashed at most: 4 ms.
_MOST_BYTES = 4 * 2**20
_COMPLETE = ("finished", "stopped")


def data_hash(rows: np.ndarray) -> str:
    """Hash of shape, type and values of rows; of many rows, of some that are spread evenly.

    Up to 4 MB all values count. Beyond, as many whole rows as fit into 4 MB do, first and last
    among them: another order, a shift or another set is noticed, a change in a few rows may not be.
    """
    digest = hashlib.blake2b(f"{rows.shape} {rows.dtype.str}".encode(), digest_size=16)
    row_bytes = max(math.prod(rows.shape[1:]) * rows.dtype.itemsize, 1)
    n_rows = min(len(rows), max(_MOST_BYTES // row_bytes, 2))
    chosen = np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)
    digest.update(np.ascontiguousarray(rows if n_rows == len(rows) else rows[chosen]).data)
    return digest.hexdigest()


def source_hash(estimator: Any) -> str | None:
    """Hash of the code of all classes and functions of an estimator that are not installed."""
    values = estimator.get_params(deep=True).values()
    items = {type(estimator), *(v if _is_code(v) else type(v) for v in values)}
    own = [item for item in items if not is_installed(item)]
    if not own:
        return None
    return hashlib.sha256("\n".join(sorted(code_of(own))).encode()).hexdigest()


def _is_code(value: Any) -> bool:
    return isinstance(value, type) or hasattr(value, "__code__")


def begin(net: Any, rows: np.ndarray) -> dict[str, Any]:
    """The manifest of a training that is about to begin, or to go on; no epoch is planned yet."""
    return {
        "model": f"{type(net).__module__}.{type(net).__qualname__}",
        "versions": dict(versions()),
        "package": package_source(),
        "source": source_hash(net),
        "data": {
            "n_rows": len(rows),
            "n_values": rows.shape[1],
            "dtype": str(rows.dtype),
            "hash": data_hash(rows),
        },
        "seed": net._seed,
        "epochs_planned": len(net.history_),
        "epochs_done": len(net.history_),
        "steps_planned": None,
        "steps_done": net.n_steps_,
        "status": "training",
        "input": {
            "shape": list(net.input_shape_),
            "layout": net._layout.kind,
            "units": net._units.kind,
            "uint8_scale": net._units.uint8_scale,
        },
    }


def planned(manifest: Mapping[str, Any], net: Any, n_epochs: int) -> dict[str, Any]:
    """The same with so many epochs to come, after those that the net has done by now."""
    n_done = len(net.history_)
    counts = {"epochs_planned": n_done + n_epochs, "epochs_done": n_done}
    return {**manifest, **counts, "steps_done": net.n_steps_, "seed": net._seed}


def count_epoch(manifest: dict[str, Any], n_epochs: int, n_steps: int, n_batches: int) -> None:
    """Note that one more epoch is done."""
    manifest["epochs_done"], manifest["steps_done"] = n_epochs, n_steps
    manifest["steps_planned"] = n_steps + (manifest["epochs_planned"] - n_epochs) * n_batches


def is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether training ended as it was meant to."""
    return manifest.get("status") in _COMPLETE


def half_trained(model: Any) -> str | None:
    """What to say about a model whose training did not come to an end; None if it did."""
    manifest = getattr(model, "manifest_", None)
    if not isinstance(manifest, Mapping) or is_complete(manifest):
        return None
    return (
        f"{type(model).__name__} is half-trained: {manifest.get('epochs_done')} of "
        f"{manifest.get('epochs_planned')} epochs are done, and its training is "
        f"{manifest.get('status')!r}"
    )


def changed_code(model: Any) -> str | None:
    """What to say about a model whose own classes have changed since it was trained."""
    manifest = getattr(model, "manifest_", None)
    if not isinstance(manifest, Mapping) or manifest.get("source") == source_hash(model):
        return None
    return (
        f"The code of {type(model).__name__}, or of a class or function among its parameters, has "
        "changed since it was trained"
    )


def stale(model: Any) -> str | None:
    """What to say about a model that this process would not train to the same weights."""
    manifest = getattr(model, "manifest_", None)
    if not isinstance(manifest, Mapping):
        return None
    if manifest.get("model") != f"{type(model).__module__}.{type(model).__qualname__}":
        return f"{type(model).__name__} was trained as a {manifest.get('model')}"
    if manifest.get("versions") != versions() or manifest.get("package") != package_source():
        return f"{type(model).__name__} was trained with other versions of the packages"
    return changed_code(model)


def summary(model: Any) -> list[str]:
    """Lines on the origin of a model, for reports and cards; none if it has no manifest."""
    manifest = getattr(model, "manifest_", None)
    if not isinstance(manifest, Mapping):
        return []
    data, version = manifest["data"], manifest["versions"].get("sklearn-disent", "?")
    lines = [
        f"Trained for {manifest['epochs_done']} of {manifest['epochs_planned']} epochs "
        f"({manifest['steps_done']} steps) on {data['n_rows']} observations "
        f"(hash {data['hash'][:12]}), seed {manifest['seed']}, sklearn-disent {version}."
    ]
    problems = [half_trained(model), changed_code(model)]
    return lines + [f"{problem}." for problem in problems if problem]
