"""The general transformer: any torch module, any loss."""

import copy
import inspect
from collections.abc import Callable
from typing import Any, Self

import torch
from torch import nn

from ..networks import Autoencoder
from ._net import BaseNet


class ReconstructionLoss(nn.Module):
    """Mean squared error between a module's last output and its input."""

    def forward(self, output: Any, target: torch.Tensor) -> torch.Tensor:
        reconstruction = output[-1] if isinstance(output, tuple) else output
        return nn.functional.mse_loss(reconstruction, target)


class NeuralNetTransformer(BaseNet):
    """A torch module trained by skorch that behaves as a scikit-learn transformer.

    ``fit`` trains the module to map observations to codes, and ``transform`` returns the codes. All
    of skorch is available (callbacks, schedulers, parameters such as ``module__``,
    ``optimizer__`` and ``iterator_train__``), and so is all of scikit-learn: ``clone``,
    ``get_params``, ``set_output``, feature names, parameter validation, ``Pipeline``,
    ``GridSearchCV``, scikit-learn's own callbacks.

    Parameters
    ----------
    module : class, callable or torch.nn.Module, default=Autoencoder
        Called with ``input_shape`` (the shape of one observation) where its signature has that
        name, and with the ``module__`` parameters. Its ``forward`` returns the codes, or a tuple
        that begins with them. A module instance is copied at fit.
    criterion : class or callable, default=ReconstructionLoss
        Called with the ``criterion__`` parameters; the result is called with the module's output
        and the batch, and returns the loss. The default is the mean squared error between the
        last output and the batch.
    optimizer : class, default=torch.optim.Adam
        Any torch optimiser; Adam and AdamW run fused unless ``optimizer__fused=False``.
    lr : float or schedule, default=1e-3
        Learning rate; a schedule, such as ``CosineSchedule(1e-3, 1e-5, n_steps=10000)``, is a
        function of the optimiser step, as schedules of weights are.
    max_epochs : int, default=20
        Epochs of every call to ``fit`` or ``partial_fit``.
    batch_size : int, default=64
        Rows per step; -1 takes all rows at once.
    input_shape : tuple of int or None, default=None
        Shape of one observation, ``(n_features,)``, ``(H, W)`` or ``(C, H, W)``. None reads it
        off X: ``(n, features)`` are rows, ``(n, H, W)`` images of one channel, and in four
        dimensions the channels are the first or last axis, whichever is at most 4 long.
    train_split : callable or None, default=None
        How validation rows are held out, e.g. ``skorch.dataset.ValidSplit(5)``.
    callbacks : list of skorch callbacks, "disable" or None, default=None
        Further skorch callbacks.
    iterator_train, iterator_valid : callable, default=batch_loader
        Make the loaders of batches; the default is torch's ``DataLoader``, a batch per fetch.
    warm_start : bool, default=False
        Whether ``fit`` continues from the present weights.
    checkpoint : str, path-like or None, default=None
        A folder in which every finished epoch is saved: a ``fit`` that was killed goes on from its
        last epoch when it is run again with the same parameters, data and code, to the same result
        bit by bit. One folder serves a whole sweep; a file is removed when its fit is done. Only
        fits from the start are saved, not ``partial_fit``.
    verbose : int, default=0
        0 prints nothing; 1 prints a line per epoch.
    device : str or torch.device, default="cpu"
        Where to compute; "auto" takes the fastest device there is.
    compile : bool, default=False
        Whether to run the modules through ``torch.compile``.
    random_state : int, RandomState instance or None, default=None
        Determines initial weights, order of batches and noise. Equal integers give equal
        results on the same machine, whatever ``n_jobs`` and joblib backend.
    **kwargs : dict
        skorch's parameters with a double underscore, such as ``optimizer__weight_decay``.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained module.
    history_ : skorch.history.History
        A row per epoch: ``train_loss``, the model's named terms, ``dur``.
    manifest_ : dict
        Where the model comes from: versions, hashes of code and data, seed, epochs and steps
        planned and done, scale and layout of X; and ``"status"``, which is "finished" or "stopped"
        (by a callback) unless training was cut short.
    input_shape_ : tuple of int
        Shape of one observation as the module sees it.
    n_features_in_ : int
        Number of values of one observation.
    feature_names_in_ : ndarray of str
        Names of the columns, where X was a DataFrame with string columns.

    Notes
    -----
    uint8 input stays uint8 in memory and becomes float per batch: divided by 255, unless the
    training data holds only 0 and 1.

    Pressing Ctrl-C during ``fit`` raises KeyboardInterrupt, unlike in skorch: a sweep must not
    go on with a half-trained model. The estimator keeps what it has learnt.

    Dropout in a module of your own draws from torch's global generator; all other randomness
    comes from generators of this estimator, and the global ones are left as they were.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_disent.models import NeuralNetTransformer
    >>> X = load_iris().data
    >>> net = NeuralNetTransformer(module__n_components=2, max_epochs=2, random_state=0)
    >>> net.fit_transform(X).shape
    (150, 2)
    """

    _prefixes = ("criterion", *BaseNet._prefixes)

    def __init__(
        self,
        module: Callable[..., Any] | nn.Module = Autoencoder,
        *,
        criterion: Callable[..., Any] | nn.Module = ReconstructionLoss,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.module = module
        self.criterion = criterion

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        if isinstance(self.module, nn.Module):
            return copy.deepcopy(self.module)
        if "input_shape" in inspect.signature(self.module).parameters:
            kwargs = {"input_shape": self.input_shape_, **kwargs}
        return self.module(**kwargs)

    def initialize_criterion(self) -> Self:
        """Build ``criterion_``; part of skorch's protocol."""
        if isinstance(self.criterion, nn.Module):
            self.criterion_ = copy.deepcopy(self.criterion)
        else:
            self.criterion_ = self.criterion(**self.get_params_for("criterion"))
        return self

    def _step(self, batch: Any) -> dict[str, Any]:
        x = self._to_tensor(batch[0], self._layout)
        output = self.module_(x)
        return {"loss": self.criterion_(output, x), "y_pred": output}

    def _encode(self, batch: torch.Tensor) -> torch.Tensor:
        output = self.module_(batch)
        codes = output[0] if isinstance(output, tuple) else output
        return codes.flatten(1)

    @property
    def _n_features_out(self) -> int:
        with torch.inference_mode():
            return self._encode(torch.zeros(1, *self.input_shape_, device=self.device)).shape[1]
