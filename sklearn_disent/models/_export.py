"""Encoder and decoder as programs of their own, for runtimes without this package."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

_SUFFIX = {"torch": ".pt2", "onnx": ".onnx"}


class _Program(nn.Module):
    """A function of a net's modules, which must be submodules for their weights to be exported."""

    def __init__(self, function: Callable[[Tensor], Tensor], parts: dict[str, nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(parts)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def export(net: Any, folder: Path, format: str) -> None:
    """Write the programs and ``signature.json``."""
    if format == "onnx":
        _check_onnx()
    net = _twin(net)
    net._set_training(False)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: getattr(net, name + "_") for name in net._modules}
    shape, n_codes = net.input_shape_, net._n_features_out
    programs = {"encoder": (net._encode, shape)}
    if hasattr(net, "_decode_batch"):
        programs["decoder"] = (net._decode_batch, (n_codes,))
    for name, (function, row_shape) in programs.items():
        program = _Program(function, parts).eval()
        example = torch.zeros(2, *row_shape, device=net.device)
        _write_program(program, example, folder / (name + _SUFFIX[format]), format)
    signature = {
        "input": {
            "shape": ["n", *shape],
            "dtype": "float32",
            "uint8_scale": net._units.uint8_scale,
        },
        "codes": {"shape": ["n", n_codes], "dtype": "float32"},
        "layout": net._layout.kind,
        "programs": [name + _SUFFIX[format] for name in programs],
    }
    (folder / "signature.json").write_text(json.dumps(signature, indent=1) + "\n")


def _twin(net: Any) -> Any:
    """The same net with copies of its modules, in the memory format that torch.export likes."""
    twin = object.__new__(type(net))
    vars(twin).update(vars(net))
    for name in net._modules:
        module = getattr(net, name + "_")
        module = copy.deepcopy(getattr(module, "_orig_mod", module))  # without torch.compile
        vars(twin)[name + "_"] = module.to(memory_format=torch.contiguous_format)
    return twin


def _write_program(program: nn.Module, example: Tensor, path: Path, format: str) -> None:
    rows = torch.export.Dim("n", min=1)
    with torch.no_grad():
        exported = torch.export.export(
            program, (example,), dynamic_shapes=({0: rows},), strict=False
        )
    if format == "torch":
        torch.export.save(exported, path)
        return
    onnx_program: Any = torch.onnx.export(exported, (example,), dynamo=True, verbose=False)
    onnx_program.save(path)


def _check_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "format='onnx' needs onnx and onnxscript: pip install 'sklearn-disent[onnx]', or use "
            "format='torch'."
        ) from error
