"""The loop of training: epochs, batches and steps, and what is kept of them.

Mixed into :class:`BaseNet`, whose module opens with the table of what is overridden and why.
"""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .. import _manifest as manifest
from .._memory import freed_memory_kept
from ..exceptions import TrainingDivergedError
from ._callbacks import InterruptWatch, StopTraining
from ._checkpoint import EpochFile
from ._data import RowDataset
from ._fit_state import REMEDIES, GoodWeights, record_epoch

# To type checkers the mixin is a skorch net, which it is in BaseNet.
if TYPE_CHECKING:
    from skorch import NeuralNet as _Net
else:
    _Net = object

# How many times its first value the loss may grow by before that is said.
_EXPLOSION = 1000.0


class TrainingLoop(_Net):
    """Mixin of a net: how it is trained."""

    # Set by fit.
    manifest_: dict[str, Any]
    n_steps_: int
    _seed: int
    _modules: list[str]
    _good_weights: GoodWeights | None
    _first_loss: Any = None
    _epoch_file: EpochFile | None = None
    _generator: torch.Generator | None
    _dataset: Any
    _interrupts: InterruptWatch | None
    _rates: Callable[[], dict[str, Any]]

    def _train(self, dataset: RowDataset, *, cold: bool) -> None:
        """All epochs, until a callback asks to stop; Ctrl-C raises KeyboardInterrupt."""
        data = {"X": dataset.X, "y": dataset.y}
        self._first_loss = None
        self.manifest_ = origin = manifest.begin(self, dataset.rows)
        status = "interrupted"
        saved = EpochFile(self, dataset) if cold and self.checkpoint is not None else None
        try:
            with InterruptWatch() as self._interrupts, freed_memory_kept():
                is_stopped = True
                with suppress(StopTraining):
                    self.notify("on_train_begin", **data)
                    # Epochs that a callback loaded, LoadInitState for one, are not counted.
                    done = 0 if saved is None else self._resume(saved)
                    n_epochs = max(self.max_epochs - done, 0)
                    self.manifest_ = manifest.planned(origin, self, n_epochs)
                    self.fit_loop(dataset, epochs=n_epochs)
                    is_stopped = False
                with suppress(StopTraining):
                    self.notify("on_train_end", **data)
                status = "stopped" if is_stopped else "finished"
        except TrainingDivergedError:
            status = "diverged"
            raise
        finally:
            self.manifest_["status"] = status
            self._interrupts = self._epoch_file = None
            if self._first_loss is not None:
                self._first_loss = float(self._first_loss)
            self._good_weights = self._generator = self._dataset = None
        if saved is not None:
            saved.remove()

    def _resume(self, saved: EpochFile) -> int:
        """Go on from the last epoch that a killed fit had finished, and save every further one.

        Returns the number of epochs done.
        """
        saved.load(self)
        self._remember_weights()
        self._epoch_file = saved
        return len(self.history_)

    def _after_epoch(self) -> None:
        if self._epoch_file is not None:
            self._epoch_file.save(self)

    def _training_troubles(self) -> list[str]:
        """What the user should know about a training that ended without an error."""
        first, self._first_loss = self._first_loss, None
        last = self.history_[-1].get("train_loss") if len(self.history_) else None
        if first is None or last is None or last - first <= _EXPLOSION * max(abs(first), 1.0):
            return []
        return [
            f"The loss of {type(self).__name__} has grown from {first:.3g} in the first step to "
            f"{last:.3g} in the last epoch: training has diverged, though the loss is finite. "
            f"{REMEDIES}"
        ]

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Make the loader of batches; part of skorch's protocol."""
        name = "iterator_train" if training else "iterator_valid"
        kwargs = {"batch_size": self.batch_size, **self.get_params_for(name)}
        if kwargs["batch_size"] == -1:
            kwargs["batch_size"] = len(dataset)
        kwargs.setdefault("generator", torch.Generator())
        if training:
            kwargs.setdefault("shuffle", True)
        return getattr(self, name)(dataset, **kwargs)

    def get_split_datasets(self, X: Any, y: Any = None, **fit_params: Any) -> tuple:
        """Training and validation rows; part of skorch's protocol."""
        if not self.train_split:
            return X, None
        return self.train_split(X) if X.y is None else self.train_split(X, X.y)

    def run_single_epoch(
        self, iterator: Any, training: bool, prefix: str, step_fn: Callable, **fit_params: Any
    ) -> None:
        """One pass over the batches; part of skorch's protocol.

        Loss and terms are added up as tensors and read once, at the end of the epoch.
        """
        if iterator is None:
            return
        # Seeded by epoch, so that 2 + 2 warm epochs are the same as 4.
        stream = np.random.SeedSequence([self._seed, len(self.history_), not training])
        order_seed, noise_seed = stream.generate_state(2, np.uint64)
        if iterator.generator is not None:
            iterator.generator.manual_seed(int(order_seed) >> 1)
        self._generator = torch.Generator(self.device).manual_seed(int(noise_seed) >> 1)
        self._dataset = iterator.dataset
        sums: dict[str, torch.Tensor] = {}
        n_rows = n_batches = 0
        for batch in iterator:
            self.notify("on_batch_begin", batch=batch, training=training)
            step = step_fn(batch, **fit_params)
            if training and self._first_loss is None:
                self._first_loss = step["loss"].detach()
            n = len(batch[0])
            n_rows, n_batches = n_rows + n, n_batches + 1
            for name, value in {"loss": step["loss"], **step.get("terms", {})}.items():
                value = value.detach() * n
                sums[name] = sums[name] + value if name in sums else value
            self.notify("on_batch_end", batch=batch, training=training, **step)
        if n_batches == 0:
            raise ValueError(
                f"Not a single batch of {iterator.batch_size} rows can be made of "
                f"{len(iterator.dataset)} rows with drop_last=True. Set a smaller batch_size, or "
                "drop_last=False."
            )
        means = {name: total.item() / n_rows for name, total in sums.items()}
        record_epoch(self.history_, prefix, means, n_batches)
        if training:
            manifest.count_epoch(self.manifest_, len(self.history_), self.n_steps_, n_batches)
        if training and self._good_weights is not None:
            self._good_weights.check(means["loss"], len(self.history_))

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Forward and backward pass of one batch; part of skorch's protocol."""
        self._set_training(True)
        try:
            step = self._step(batch)
        except ValueError as error:
            if len(batch[0]) == 1 and self._has_batch_norm():
                raise ValueError(
                    "BatchNorm cannot be trained on a batch of one row, and the rows of X leave "
                    f"one over: {error}. Set another batch_size, or iterator_train__drop_last=True."
                ) from error
            raise
        step["loss"].backward()
        return step

    def _has_batch_norm(self) -> bool:
        kinds = nn.modules.batchnorm._BatchNorm
        return any(isinstance(part, kinds) for part in self.module_.modules())

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Loss of one validation batch; part of skorch's protocol."""
        self._set_training(False)
        with torch.no_grad():
            return self._step(batch)

    @abstractmethod
    def _step(self, batch: Any) -> dict[str, Any]:
        """Loss ("loss"), output ("y_pred") and named terms ("terms", optional) of one batch."""

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        """Remember the weights, to go back to; part of skorch's protocol."""
        self._remember_weights()
        super().on_train_begin(net, X=X, y=y, **kwargs)

    def _remember_weights(self) -> None:
        self._good_weights = GoodWeights({n: getattr(self, n + "_") for n in self._modules})

    def on_batch_begin(
        self, net: Any, batch: Any = None, training: bool = False, **kw: Any
    ) -> None:
        """Set learning rates that follow a schedule; part of skorch's protocol."""
        super().on_batch_begin(net, batch=batch, training=training, **kw)
        if training:
            for name, rate in self._rates().items():
                if callable(rate):
                    for group in getattr(self, name + "_").param_groups:
                        group["lr"] = rate(self.n_steps_)

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **kw: Any) -> None:
        """Count optimiser steps, which schedules of weights follow; part of skorch's protocol."""
        self.n_steps_ += bool(training)

    @property
    def generator(self) -> torch.Generator:
        """Generator of all noise in training, on the model's device; there during ``fit`` only.

        Seeded by epoch from ``random_state``: what is drawn from it repeats exactly.
        """
        generator = getattr(self, "_generator", None)
        if generator is None:
            raise AttributeError(f"{type(self).__name__} has a generator only while fit runs.")
        return generator


def weighted_sum(terms: Any, net: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss, and the terms by name; torch's own words about a wrong term would not name it."""
    name = f"{type(net).__name__}.terms()"
    if not isinstance(terms, dict):
        raise TypeError(
            f"{name} must return a dict {{name: (weight, value)}}, got {_kind_of(terms)}. Return "
            '{"reconstruction": (1.0, value)}, for instance.'
        )
    for key, term in terms.items():
        if not isinstance(term, tuple | list) or len(term) != 2:
            raise TypeError(
                f"{name} must give a pair (weight, value) for {key!r}, got {_kind_of(term)}. "
                "Return (1.0, value) for a weight of one, (None, value) to record it only."
            )
        value = term[1]
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise TypeError(
                f"{name} must give a tensor of one number for {key!r}, got {_kind_of(value)}. Take "
                "the mean over the rows, value.mean()."
            )
    loss: Any = sum(
        net.at_step(weight) * value for weight, value in terms.values() if weight is not None
    )
    return loss, {key: value for key, (_, value) in terms.items()}


def _kind_of(value: Any) -> str:
    kind = f"a {type(value).__name__}"
    return f"{kind} of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else kind
