"""Initial weights from a seed, without a trace in torch's global generator."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# torch's initialisers draw from the global generator only, so one thread at a time may use it.
_LOCK = threading.Lock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Borrow torch's global generator with this seed, and give it back as it was."""
    with _LOCK, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
