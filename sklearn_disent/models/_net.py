"""A skorch net that is a scikit-learn transformer: all wiring between the two.

What is overridden, and why. Of skorch's NeuralNet:

  __init__                      stores parameters only; skorch also sets the fitted attributes below
  history_                      and `initialized_`, `virtual_params_`: on the class until `fit`
  __setattr__                   registers fitted modules only, so that a module may be a parameter
  get_params                    BaseEstimator's, plus the keys with a double underscore
  set_params                    does not re-initialise a fitted net; learning rates act at once
  __repr__                      BaseEstimator's: the parameters, whether fitted or not
  __getstate__                  leaves out what is of use during `fit` only
  _get_param_names              BaseEstimator's, from the signature; skorch's is of an instance
  _validate_params              BaseEstimator's, by constraints; skorch's reads prefixes only
  _params_to_validate           empty, since skorch's validation is not used
  fit                           validates X once, in any layout, and trains on `RowDataset`
  partial_fit                   the same; keeps `classes`, which skorch's callers pass
  predict                       the codes, so that `make_scorer(metric)` works
  predict_proba                 absent: scikit-learn would take the net for a classifier
  initialize                    needs the shape of the input; draws the seed of all that is random
  initialize_module             weights from `random_state`, not from the global generator
  initialize_criterion          an empty module: the loss is the model's own
  initialize_history            a new object: where a refit is refused, the old one is intact
  _initialize_optimizer         a model that was loaded builds its optimisers when it trains
  get_params_for_optimizer      Adam runs fused unless told otherwise
  _default_callbacks            none that log losses: `run_single_epoch` does
  use_caching                   False: cached codes are in shuffled order, labels are not
  predict_nonlinearity          None: codes are returned as they are
  torch_load_kwargs             None, as skorch's `__init__` would set it

Of scikit-learn's BaseEstimator and TransformerMixin:

  __init_subclass__             one signature without `**kwargs`; constraints from annotations
  __sklearn_tags__              float32 is kept, images are fine

In ``_training.py``, the loop of training:

  get_iterator                  rows are shuffled, by a generator of the net's own
  get_split_datasets            hands the user's y, which the data set holds, to the splitter
  run_single_epoch              seeds by epoch, so that warm epochs add up; reads losses once
  train_step_single             `_step` gives loss and named terms
  validation_step               the same without gradient
  on_train_begin                remembers the weights, to go back to if training diverges
  on_batch_begin                learning rates may follow a schedule, as weights may
  on_batch_end                  counts optimiser steps, which schedules follow

In ``_callbacks.py``, so that scikit-learn's callbacks are told what skorch's are told:

  notify                        a callback that asks to stop is told from Ctrl-C
  on_train_begin, on_train_end  open and close scikit-learn's callback context
  on_epoch_begin, on_epoch_end  an epoch is a task of it

In ``_saved_state.py``, so that a file of weights holds all that the codes depend on:

  save_params, load_params      layout, units of X, steps and the discriminator travel with weights

In ``_saving.py``: ``save_pretrained``, ``from_pretrained`` and the rest of what leaves the process.

In ``_base.py``: ``get_params`` and ``set_params`` reach into lists of guidance, and by
``_get_metadata_request`` a model asks for the metadata that its guidance reads.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from skorch import NeuralNet
from skorch.callbacks import EpochTimer, PrintLog
from skorch.history import History
from torch import nn

from .._lazy import FlatRows
from .._params import (
    NonNegativeInt,
    PositiveInt,
    RandomStateLike,
    Rate,
    Verbose,
    constraints_of,
    fit_context,
    init_constraints,
    publish_signatures,
)
from ..exceptions import TrainingWarning
from ._callbacks import CallbackBridge
from ._data import (
    Layout,
    RowDataset,
    Units,
    as_native,
    as_rows,
    batch_loader,
    check_float32,
    check_lazy,
    check_outputs,
    check_units,
    find_layout,
    find_units,
    gather,
    match_layout,
    read_input_shape,
)
from ._device import AutoDevice, check_device, send
from ._fit_state import OF_FIT, unchanged_on_error
from ._saved_state import SavedState
from ._saving import SavingMixin
from ._schedules import resolve
from ._seeding import build
from ._training import TrainingLoop


class BaseNet(
    SavingMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TrainingLoop,
    CallbackBridge,
    SavedState,
    NeuralNet,
):
    """What every estimator here shares: a skorch net under scikit-learn's rules.

    Subclasses define ``_make_module``, ``_step`` and ``_encode``; parameters are explained in
    :class:`NeuralNetTransformer`.
    """

    # Parameters may begin with one of these and a double underscore.
    _prefixes: tuple[str, ...] = (
        "module",
        "optimizer",
        "iterator_train",
        "iterator_valid",
        "callbacks",
        "compile",
    )
    # What skorch sets in __init__ and scikit-learn does not allow there.
    history_: Any = None
    initialized_ = False
    n_steps_ = 0
    _defers_optimizers = False
    virtual_params_: dict = {}
    # Set by fit. Modules are Any: what they can do is the model's business.
    module_: Any
    input_shape_: tuple[int, ...]
    n_components_: int
    _layout: Layout
    _units: Units
    _seed: int
    device = AutoDevice()
    # Where the question mark in the HTML of an estimator leads.
    _doc_link_module = "sklearn_disent"
    _doc_link_template = (
        "https://sklearn-disent.readthedocs.io/en/stable/api/generated/"
        "{estimator_module}.{estimator_name}.html"
    )
    _params_to_validate: frozenset = frozenset()
    # skorch settings that have one right value here. Cached predictions are in shuffled order:
    # EpochScoring would compare them with unshuffled labels.
    use_caching = False
    predict_nonlinearity = None
    torch_load_kwargs = None

    def __init__(
        self,
        *,
        optimizer: Callable[..., Any] = torch.optim.Adam,
        lr: Rate = 1e-3,
        max_epochs: NonNegativeInt = 20,
        batch_size: PositiveInt | Literal[-1] = 64,
        input_shape: tuple[int, ...] | list[int] | None = None,
        train_split: Callable[..., Any] | None = None,
        callbacks: list | tuple | Literal["disable"] | None = None,
        iterator_train: Callable[..., Any] = batch_loader,
        iterator_valid: Callable[..., Any] = batch_loader,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        verbose: Verbose = 0,
        device: str | torch.device = "cpu",
        compile: bool = False,
        random_state: RandomStateLike = None,
        **kwargs: Any,
    ) -> None:
        self.optimizer = optimizer
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.input_shape = input_shape
        self.train_split = train_split
        self.callbacks = callbacks
        self.iterator_train = iterator_train
        self.iterator_valid = iterator_valid
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.device = device
        self.compile = compile
        self.random_state = random_state
        for name, value in kwargs.items():
            if not self._is_prefixed(name):
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"{name!r}. Parameters are {self._get_param_names()}, or begin with one of "
                    f"{[p + '__' for p in self._prefixes]}."
                )
            setattr(self, name, value)

    _parameter_constraints: dict[str, list[Any]] = constraints_of(__init__)  # type: ignore[arg-type]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Publish one signature without ``**kwargs``: the subclass's own, then the parent's.

        What a parameter may be is read off its annotation; one without is not checked.
        """
        super().__init_subclass__(**kwargs)
        cls._parameter_constraints = init_constraints(cls)
        publish_signatures(cls)

    # -- scikit-learn's parameter rules ------------------------------------------------------

    _get_param_names: Any = classmethod(BaseEstimator._get_param_names.__func__)
    _validate_params = BaseEstimator._validate_params
    __repr__ = BaseEstimator.__repr__

    @classmethod
    def _is_prefixed(cls, name: str) -> bool:
        prefix, delimiter, rest = name.partition("__")
        return bool(delimiter and rest) and prefix in cls._prefixes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator, those with a double underscore included.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of contained estimators.

        Returns
        -------
        params : dict
        """
        params = BaseEstimator.get_params(self, deep=deep)
        params["device"] = vars(self)["device"]  # as it was set: "auto" stays "auto"
        params.update((k, v) for k, v in vars(self).items() if self._is_prefixed(k))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted module is never re-initialised by it.

        Learning rate and ``optimizer__`` parameters reach the optimiser of a fitted net at once;
        everything else is used by the next ``fit``.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        self : object
        """
        prefixed = {k: v for k, v in params.items() if self._is_prefixed(k)}
        BaseEstimator.set_params(self, **{k: v for k, v in params.items() if k not in prefixed})
        for name, value in prefixed.items():
            setattr(self, name, value)
        if self.initialized_:
            live = {k: v for k, v in params.items() if k == "lr" or k.startswith("optimizer__")}
            if "lr" in live:
                live["lr"] = resolve(live["lr"], self.n_steps_)
            self._apply_virtual_params(live)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        # skorch registers every module it meets; only fitted ones (name_) are its business.
        if name.endswith("_"):
            super().__setattr__(name, value)
        else:
            object.__setattr__(self, name, value)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.three_d_array = True
        return tags

    @property
    def predict_proba(self):
        """Not offered: codes are not probabilities (scikit-learn looks for this name)."""
        raise AttributeError(f"{type(self).__name__} has no predict_proba.")

    # -- reading X ---------------------------------------------------------------------------

    def _read_X(self, X: Any, *, reset: bool) -> tuple[np.ndarray, Layout]:
        """Validate X once; return its rows, unconverted, and their layout."""
        declared = read_input_shape(self.input_shape) if reset else self.input_shape_
        rows, shape = as_rows(X)
        validate = partial(
            validate_data,
            self,
            reset=reset,
            dtype="numeric",
            ensure_min_samples=2 if reset else 1,
        )
        # Sums of huge values overflow where scikit-learn looks for infinite ones.
        with np.errstate(invalid="ignore"):
            if isinstance(rows, FlatRows):
                rows = check_lazy(rows, validate, "X")
            else:
                rows = as_native(validate(rows))
                if rows.dtype == bool:
                    rows = rows.view(np.uint8)
        shape = shape or (rows.shape[1],)
        layout = find_layout(shape) if declared is None else match_layout(shape, declared)
        self._check_range(rows, layout, reset=reset)
        if not reset:
            check_units(rows, self._units)
        return rows, layout

    def _check_range(self, rows: np.ndarray, layout: Layout, *, reset: bool) -> None:
        """Refuse values that the module cannot take."""
        check_float32(rows)

    def _is_bounded(self, input_shape: tuple[int, ...]) -> bool:
        """Whether observations of this shape must have values in [0, 1]."""
        return False

    def _to_tensor(self, rows: torch.Tensor, layout: Layout) -> torch.Tensor:
        """Rows of a batch to the module's float32 input, in the memory format it likes."""
        scale = self._units.uint8_scale if rows.dtype == torch.uint8 else 1.0
        batch = send(layout.to_module(rows), self.device)
        if scale != 1.0:
            batch = batch * scale
        if self._channels_last:
            batch = batch.contiguous(memory_format=torch.channels_last)
        return batch

    @property
    def _channels_last(self) -> bool:
        return len(self.input_shape_) == 3 and getattr(self.module_, "channels_last", False)

    def _iter_batches(self, rows: np.ndarray, layout: Layout) -> Iterator[torch.Tensor]:
        """Batches of all rows in order, as the module's input."""
        size = self.get_params_for("iterator_valid").get("batch_size", self.batch_size)
        size = len(rows) if size == -1 else size
        for start in range(0, len(rows), size):
            # A copy of one batch: rows may be a read-only memory map, which torch warns about.
            yield self._to_tensor(torch.from_numpy(rows[start : start + size].copy()), layout)

    def _map_batches(self, X: Any, function: Callable) -> list[np.ndarray]:
        """Apply a function of one batch to all of X, without gradient; gather its outputs."""
        check_is_fitted(self)
        rows, layout = self._read_X(X, reset=False)
        self._set_training(False)
        with torch.inference_mode():
            return gather(map(function, self._iter_batches(rows, layout)), len(rows))

    # -- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the module.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, H, W), (n, C, H, W) or (n, H, W, C)
            Observations: NumPy array, memory map, torch tensor, DataFrame or nested list.
        y : array-like of shape (n,) or (n, n_factors) or None, default=None
            Labels. Training does not use them; scoring callbacks do.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, cold=not (self.warm_start and self.initialized_))

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Train for ``max_epochs`` further epochs.

        Parameters
        ----------
        X : array-like
            Observations, as in :meth:`fit`.
        y : array-like or None, default=None
            Labels, as in :meth:`fit`.
        classes : None, default=None
            Not used; skorch's callers pass it.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, cold=not self.initialized_)

    @fit_context(prefer_skip_nested_validation=False)
    def _fit(self, X: Any, y: Any, *, cold: bool, **metadata: Any) -> Self:
        with unchanged_on_error(self):
            rows, layout = self._read_X(X, reset=cold)
            self._layout = layout
            if cold:
                self._set_input(rows, layout)
            extras = self._read_extras(rows, y, metadata, reset=cold)
            if cold:
                self.initialized_ = False  # silences skorch's "Re-initializing"
                self.initialize()
            self._check_callback_names()
            self._ensure_optimizers()
        self._train(RowDataset(rows, X, y, extras), cold=cold)
        for message in self._training_troubles():
            # User code called fit, which called _fit through scikit-learn's wrapper.
            warnings.warn(message, TrainingWarning, stacklevel=4)
        return self

    def _set_input(self, rows: np.ndarray, layout: Layout) -> None:
        """Remember what one observation looks like."""
        self.input_shape_ = layout.input_shape
        self._units = find_units(rows, is_bounded=self._is_bounded(layout.input_shape))

    def _read_extras(
        self, rows: np.ndarray, y: Any, metadata: dict[str, Any], *, reset: bool
    ) -> dict[str, Any]:
        """Check y and fit's metadata; return the further arrays that each batch needs, by name."""
        if y is not None:
            check_consistent_length(rows, y)
        return {}

    def initialize(self) -> Self:
        """Build module, optimiser and callbacks; ``fit`` does it by itself.

        Before a fit it needs the ``input_shape`` parameter, and serves to load saved weights.

        Returns
        -------
        self : object
        """
        if not hasattr(self, "input_shape_"):
            shape = read_input_shape(self.input_shape)
            if shape is None:
                raise ValueError(
                    "The shape of the input is not known before fit. Set input_shape, or call fit."
                )
            self._layout = match_layout(shape, shape)
            self.input_shape_ = shape
            self.n_features_in_ = int(np.prod(shape))
            self._units = Units("unknown", 1.0 / 255.0)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.n_steps_ = 0
        check_device(self.device)
        return super().initialize()

    def initialize_module(self) -> Self:
        """Build ``module_`` with weights drawn from ``random_state``; part of skorch's protocol."""
        kwargs = self.get_params_for("module")
        self.module_ = self._build(lambda: self._make_module(kwargs), self._seed)
        return self

    def _build(self, make: Callable[[], nn.Module], seed: int) -> nn.Module:
        return build(make, seed, is_image=len(self.input_shape_) == 3)

    @abstractmethod
    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        """Build the module from the ``module__`` parameters and ``input_shape_``."""

    def initialize_criterion(self) -> Self:
        """Set an empty module, for code that looks for one: the loss is part of ``_step``."""
        self.criterion_: Any = nn.Identity()
        return self

    def initialize_history(self) -> Self:
        """Begin a new ``history_``; part of skorch's protocol."""
        self.history_ = History()
        return self

    def get_params_for_optimizer(self, prefix: str, named_parameters: Any) -> tuple:
        """Arguments of an optimiser; part of skorch's protocol."""
        args, kwargs = super().get_params_for_optimizer(prefix, named_parameters)
        rate = self._rates().get(prefix, kwargs["lr"])
        if callable(rate) and any("lr" in group for group in args[0]):
            raise ValueError(
                f"A schedule of the learning rate is that of all parameters, but "
                f"{prefix}__param_groups has rates of its own. Take them out, or set the learning "
                "rate to a number."
            )
        kwargs["lr"] = resolve(rate, self.n_steps_)
        if getattr(self, prefix, None) in (torch.optim.Adam, torch.optim.AdamW):
            kwargs.setdefault("fused", True)
        return args, kwargs

    def _initialize_optimizer(self, reason: str | None = None) -> Self:
        # A model that was loaded may never train, and torch's optimisers import its compiler, which
        # takes seconds: they are built when training goes on.
        return self if self._defers_optimizers else super()._initialize_optimizer(reason)

    def _ensure_optimizers(self) -> None:
        """Build the optimisers of a model that was loaded without."""
        if self._defers_optimizers:
            del self._defers_optimizers
            self.initialized_ = False  # silences skorch's "Re-initializing"
            self._initialize_optimizer()
            self.initialized_ = True

    def _check_callback_names(self) -> None:
        """Refuse parameters of callbacks that are not there: nothing would read them."""
        names = [name for name, _ in self.callbacks_]
        names += [
            name for name, _, _ in self._yield_callbacks() if name not in names
        ]  # set to None
        for key in vars(self):
            prefix, _, rest = key.partition("__")
            if prefix == "callbacks" and rest and rest.partition("__")[0] not in names:
                raise ValueError(
                    f"{key} is the parameter of a callback that {type(self).__name__} does not "
                    f"have. Its callbacks are {names}."
                )

    def _rates(self) -> dict[str, Any]:
        """Learning rates by the name of the optimiser, as the user set them."""
        return {"optimizer": getattr(self, "optimizer__lr", self.lr)}

    @property
    def _default_callbacks(self) -> list:
        return [("epoch_timer", EpochTimer()), ("print_log", PrintLog())]

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in OF_FIT:
            state.pop(name, None)
        return state

    # -- using the fitted module -------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Encode observations.

        Parameters
        ----------
        X : array-like
            Observations in any layout that :meth:`fit` takes.

        Returns
        -------
        codes : ndarray of shape (n, n_components), float32
        """
        return self._codes(X)

    def predict(self, X: Any) -> np.ndarray:
        """The same as :meth:`transform`, so that ``make_scorer(metric)`` works as it is.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        codes : ndarray of shape (n, n_components), float32
        """
        return self._codes(X)

    def _codes(self, X: Any) -> np.ndarray:
        """Codes as an array, whatever ``set_output`` asks of ``transform``."""
        (codes,) = self._map_batches(X, lambda batch: (self._encode(batch),))
        check_outputs(self, codes)
        return codes

    @abstractmethod
    def _encode(self, batch: torch.Tensor) -> torch.Tensor:
        """Codes of one batch."""

    def _decode(self, codes: Any, function: Callable) -> np.ndarray:
        """Observations, in the user's layout, that a function makes of batches of codes."""
        codes = check_array(codes, dtype=np.float32)
        if codes.shape[1] != self.n_components_:
            raise ValueError(
                f"Codes must have n_components={self.n_components_} columns, got {codes.shape[1]}."
            )
        self._set_training(False)
        batches = torch.from_numpy(codes.copy()).split(self._decode_size(len(codes)))
        with torch.inference_mode():
            decoded = [function(z.to(self.device)).cpu() for z in batches]
        observations = torch.cat(decoded).numpy()
        check_outputs(self, observations)
        return self._layout.to_user(observations)

    def _decode_size(self, n_codes: int) -> int:
        return n_codes if self.batch_size == -1 else self.batch_size
