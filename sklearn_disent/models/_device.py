"""The parameter `device`, of which "auto" is the fastest device that there is."""

from typing import Any

import torch


def fastest_device() -> str:
    """CUDA, else Apple's GPU, else the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def check_device(device: Any) -> None:
    """Refuse a GPU that is not there; torch speaks of how it was compiled."""
    kind = "cpu" if device is None else torch.device(device).type
    gpus = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not gpus.get(kind, True):
        raise ValueError(
            f"device={str(device)!r} is not available here: torch finds no such GPU, or was "
            "installed without support for it. device='auto' takes the fastest that there is."
        )


def send(rows: torch.Tensor, device: Any) -> torch.Tensor:
    """Rows on a device, as float32.

    To CUDA they go from pinned memory, which lets the copy run beside the computation, and bytes
    become numbers there: a quarter of what would be sent otherwise.
    """
    if torch.device(device).type != "cuda":
        return rows.to(device, torch.float32)
    few_bytes = rows if rows.dtype == torch.uint8 else rows.to(torch.float32)
    return few_bytes.pin_memory().to(device, non_blocking=True).to(torch.float32)


class AutoDevice:
    """Keeps the parameter as it was set; whoever reads it, skorch too, is told a real device."""

    def __get__(self, net: Any, owner: type | None = None) -> Any:
        if net is None:
            return self
        device = vars(net)["device"]
        return fastest_device() if isinstance(device, str) and device == "auto" else device

    def __set__(self, net: Any, device: Any) -> None:
        vars(net)["device"] = device
