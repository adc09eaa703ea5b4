"""skorch's callbacks and scikit-learn's, told of the same events."""

from typing import Any

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Older scikit-learn has no callbacks: nothing to support."""


class StopTraining(Exception):
    """A callback asked to stop (skorch's callbacks raise KeyboardInterrupt for that)."""


class CallbackBridge(CallbackSupportMixin):
    """Mixin of a skorch net: every epoch is a task of scikit-learn's callback context."""

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Call all skorch callbacks; part of skorch's protocol."""
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt as stop:
            raise StopTraining from stop

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
