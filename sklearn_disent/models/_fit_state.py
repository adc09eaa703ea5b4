"""What training leaves behind, and states to go back to where it fails."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from ..exceptions import TrainingDivergedError

# Attributes that are of use during fit only, and are not saved.
OF_FIT = (
    "_callback_fit_ctx",
    "_dataset",
    "_epoch_context",
    "_epoch_file",
    "_first_loss",
    "_generator",
    "_good_weights",
    "_interrupts",
    "_moments",
)


REMEDIES = (
    "Usual remedies: a smaller lr, scaled input, smaller weights of the penalty terms, gradient "
    "clipping (callbacks=[skorch.callbacks.GradientNormClipping(1.0)])."
)


def record_epoch(history: Any, prefix: str, means: Mapping[str, float], n_batches: int) -> None:
    """Write loss and terms of an epoch to its row of the history."""
    name = f"{prefix}_loss"
    best = min((row[name] for row in history[:-1] if name in row), default=np.inf)
    for key, value in means.items():
        history.record(f"{prefix}_{key}", value)
    history.record(f"{name}_best", bool(means["loss"] < best))
    history.record(f"{prefix}_batch_count", n_batches)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Whatever goes wrong within leaves the attributes of an estimator as they were."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class GoodWeights:
    """The weights of some modules, as they were when all were finite last."""

    def __init__(self, modules: Mapping[str, nn.Module]) -> None:
        self.modules = modules
        self._keep()

    def _keep(self) -> None:
        self.states = {name: _copied(m.state_dict()) for name, m in self.modules.items()}

    def check(self, loss: float, epoch: int) -> None:
        """Keep the weights if they are finite; go back to those kept, and say so, if not."""
        if np.isfinite(loss) and all(
            torch.isfinite(p).all() for m in self.modules.values() for p in m.parameters()
        ):
            self._keep()
            return
        for name, state in self.states.items():
            self.modules[name].load_state_dict(state)
        raise TrainingDivergedError(
            f"The loss became {loss} in epoch {epoch}; the weights are those from before that "
            f"epoch. {REMEDIES}"
        )


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a module, with copies of its tensors in their place."""
    for key, value in state.items():
        # deepcopy of a tensor takes several times as long: of small nets, a tenth of an epoch.
        is_tensor = isinstance(value, torch.Tensor)
        state[key] = value.clone() if is_tensor else copy.deepcopy(value)
    return state
