"""Training two networks against each other: one optimiser and one step per batch for each."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import torch
from skorch.utils import TeeGenerator
from torch import nn

from .._params import Rate
from ._schedules import resolve

# To type checkers the mixin is a net, which it is once a model has both.
if TYPE_CHECKING:
    from ._net import BaseNet as _Net
else:
    _Net = object

_MIN_STEPS = 100  # optimiser steps before which nothing is said about the discriminator
_PERFECT = 0.99  # accuracy from which the discriminator has no use as an opponent
_CONSTANT = 1e-6  # spread of its answers below which they do not depend on the input


class AdversarialMixin(_Net):
    """A net with a ``discriminator_`` and a ``discriminator_optimizer_`` of its own.

    Subclasses have the parameters ``discriminator_optimizer`` and ``discriminator_lr``, and define
    ``_make_discriminator`` and ``_discriminator_step``. skorch would call every optimiser with the
    same loss: here each has its own, and neither leaves a gradient in the other.
    """

    _betas: dict[str, tuple[float, float]] = {}  # of Adam, where the user sets none
    discriminator_: Any
    discriminator_optimizer_: Any
    discriminator_lr: Rate

    @abstractmethod
    def _make_discriminator(self, kwargs: dict[str, Any]) -> nn.Module:
        """Build the discriminator from the ``discriminator__`` parameters."""

    @abstractmethod
    def _discriminator_step(self, batch: Any, step: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Put gradients into the discriminator, given the batch and the step of the module.

        Returns values to log: its loss, its accuracy, and the spread of its answers.
        """

    def initialize_module(self) -> Self:
        """Build ``module_`` and ``discriminator_``; part of skorch's protocol."""
        super().initialize_module()
        kwargs = self.get_params_for("discriminator")
        self.discriminator_ = self._build(lambda: self._make_discriminator(kwargs), self._seed + 1)
        return self

    def initialize_optimizer(self, triggered_directly: Any = None) -> Self:
        """Build both optimisers; part of skorch's protocol."""
        parts = {"optimizer": self.module_, "discriminator_optimizer": self.discriminator_}
        for name, module in parts.items():
            args, kwargs = self.get_params_for_optimizer(name, module.named_parameters())
            setattr(self, name + "_", getattr(self, name)(*args, **kwargs))
        return self

    def get_params_for_optimizer(self, prefix: str, named_parameters: Any) -> tuple:
        """Arguments of an optimiser; part of skorch's protocol."""
        args, kwargs = super().get_params_for_optimizer(prefix, named_parameters)
        is_adam = getattr(self, prefix) in (torch.optim.Adam, torch.optim.AdamW)
        if is_adam and prefix in self._betas:
            kwargs.setdefault("betas", self._betas[prefix])
        return args, kwargs

    def _rates(self) -> dict[str, Any]:
        rate = getattr(self, "discriminator_optimizer__lr", self.discriminator_lr)
        return {**super()._rates(), "discriminator_optimizer": rate}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as every estimator here does; learning rates take effect at once.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        self : object
        """
        super().set_params(**params)
        if hasattr(self, "discriminator_optimizer_") and "discriminator_lr" in params:
            for group in self.discriminator_optimizer_.param_groups:
                group["lr"] = resolve(params["discriminator_lr"], self.n_steps_)
        return self

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """One step of the module, then one of the discriminator; part of skorch's protocol."""
        accumulator = self.get_train_step_accumulator()

        def closure() -> torch.Tensor:
            self.optimizer_.zero_grad()
            self.discriminator_optimizer_.zero_grad()
            step = self.train_step_single(batch, **fit_params)
            accumulator.store_step(step)
            parameters = TeeGenerator(self.module_.named_parameters())
            self.notify("on_grad_computed", named_parameters=parameters, batch=batch, training=True)
            return step["loss"]

        self.optimizer_.step(closure)
        step = accumulator.get_step()
        logged = self._discriminator_step(batch, step)
        self.discriminator_optimizer_.step()
        step["terms"] = {**step["terms"], **logged}
        return step

    def _training_troubles(self) -> list[str]:
        troubles = super()._training_troubles()
        if self.n_steps_ < _MIN_STEPS:
            return troubles
        row = self.history_[-1]
        if row["train_discriminator_accuracy"] > _PERFECT:
            troubles.append(
                f"The discriminator of {type(self).__name__} is right in "
                f"{row['train_discriminator_accuracy']:.1%} of cases: it has won, and what it "
                "teaches means little. Usual remedies: a smaller discriminator_lr, a larger weight "
                "of its term, larger batches."
            )
        elif row["train_discriminator_spread"] < _CONSTANT:
            troubles.append(
                f"The discriminator of {type(self).__name__} gives the same answer for every "
                "input: it has collapsed, and its term has no effect. Usual remedies: a smaller "
                "discriminator_lr, fewer or wider hidden layers (discriminator__hidden_sizes)."
            )
        return troubles


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Forward passes within let gradients through a module, but none into it."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
