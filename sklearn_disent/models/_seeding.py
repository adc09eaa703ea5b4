"""Initial weights from a seed, without a trace in torch's global generator."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

# torch's initialisers draw from the global generator only, so one thread at a time may use it.
_LOCK = threading.Lock()


def _after_fork() -> None:
    """A thread that held the lock is not there to release it in a forked process."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Borrow torch's global generator with this seed, and give it back as it was."""
    with _LOCK, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def build(make: Callable[[], nn.Module], seed: int, *, is_image: bool) -> nn.Module:
    """Make a module with weights drawn from this seed, in the memory format it likes."""
    with seeded(seed):
        module = make()
        if is_image and getattr(module, "channels_last", False):
            module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    # Saved weights do not depend on the memory format (safetensors refuses other strides).
    module.register_state_dict_post_hook(_contiguous_state)
    return module


def _contiguous_state(module: nn.Module, state: dict, prefix: str, metadata: dict) -> None:
    for name, value in state.items():
        state[name] = value.contiguous()
