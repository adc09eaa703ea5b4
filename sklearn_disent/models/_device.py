"""The parameter `device`, of which "auto" is the fastest device that there is."""

from typing import Any

import torch


def fastest_device() -> str:
    """CUDA, else Apple's GPU, else the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


class AutoDevice:
    """Keeps the parameter as it was set; whoever reads it, skorch too, is told a real device."""

    def __get__(self, net: Any, owner: type | None = None) -> Any:
        if net is None:
            return self
        device = vars(net)["device"]
        return fastest_device() if isinstance(device, str) and device == "auto" else device

    def __set__(self, net: Any, device: Any) -> None:
        vars(net)["device"] = device
