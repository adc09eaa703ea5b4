"""skorch's callbacks and scikit-learn's, told of the same events; and Ctrl-C, told from both."""

import re
import signal
import threading
from types import FrameType
from typing import Any, Self

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Older scikit-learn has no callbacks: nothing to support."""


class StopTraining(Exception):
    """A callback asked to stop (skorch's callbacks raise KeyboardInterrupt for that)."""


class InterruptWatch:
    """Within this context, whether Ctrl-C was pressed.

    skorch's callbacks stop training by the very exception that Ctrl-C raises, and nothing in the
    exception tells one from the other. The signal does: its handler is wrapped for the time of the
    context. What the user's own handler does, it still does; only if it raises KeyboardInterrupt,
    as Python's does, is that an interrupt. Signals reach the main thread only, so that elsewhere
    there is nothing to watch.
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._previous = handler  # first: the wrapper may be called at once
            try:
                signal.signal(signal.SIGINT, self._handle)
            except ValueError:  # the main thread of a subinterpreter
                self._previous = None
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            self._previous(number, frame)
        except KeyboardInterrupt:
            self.is_interrupted = True
            raise

    def __exit__(self, *error: object) -> None:
        # A handler that was set in the meantime is not ours to remove.
        if self._previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous)


class CallbackBridge(CallbackSupportMixin):
    """Mixin of a skorch net: every epoch is a task of scikit-learn's callback context."""

    _interrupts: InterruptWatch | None = None
    train_split: Any

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call all skorch callbacks; part of skorch's protocol.

        After Ctrl-C the KeyboardInterrupt goes on, even if a callback has caught it; without, a
        KeyboardInterrupt is a callback's way to stop training.
        """
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt as stop:
            if self._is_interrupted:
                raise
            raise StopTraining from stop
        except KeyError as error:
            missing = re.search(r"\bvalid_\w+", str(error))
            if missing is None or self.train_split:
                raise
            raise ValueError(
                f"A callback looks for {missing[0]!r} in the history, but there are no validation "
                "data. Hold some out with train_split=skorch.dataset.ValidSplit(5), or have the "
                "callback look at training: EarlyStopping(monitor='train_loss'), "
                "WandbLogger(run, save_model=False)."
            ) from error
        if self._is_interrupted:
            raise KeyboardInterrupt
        if method_name == "on_epoch_end":
            self._after_epoch()

    def _after_epoch(self) -> None:
        """What is to be done when all callbacks have seen the end of an epoch."""

    @property
    def _is_interrupted(self) -> bool:
        return self._interrupts is not None and self._interrupts.is_interrupted

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        """Open scikit-learn's callback context; part of skorch's protocol."""
        if getattr(self, "_skl_callbacks", None):
            context = self._init_callback_context(max_subtasks=self.max_epochs)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Open a row of the history and a task for scikit-learn's callbacks."""
        super().on_epoch_begin(net, **kwargs)
        context = getattr(self, "_callback_fit_ctx", None)
        if context is not None:
            self._epoch_context = context.subcontext(task_name="epoch")
            self._epoch_context.call_on_fit_task_begin(estimator=self)

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Close the task of this epoch; a scikit-learn callback may ask to stop."""
        if getattr(self, "_epoch_context", None) is None:
            return
        context, self._epoch_context = self._epoch_context, None
        data = getattr(dataset_train, "dataset", dataset_train)
        if context.call_on_fit_task_end(
            estimator=self, X=data.X, y=data.y, reconstruction_attributes=dict
        ):
            raise StopTraining

    def on_train_end(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        """Close scikit-learn's callback context; part of skorch's protocol."""
        context = getattr(self, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=dict)
