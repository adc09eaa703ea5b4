"""Ctrl-C in the middle of training always leaves ``fit``; a callback that asks to stop ends it."""

import contextlib
import os
import signal
import threading

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from skorch.callbacks import Callback, EarlyStopping, EpochScoring

from sklearn_disent.metrics import get_scorer
from sklearn_disent.model_selection import SweepMemory
from sklearn_disent.models import VAE

EVENTS = ["on_train_begin", "on_epoch_begin", "on_batch_end", "on_epoch_end", "on_train_end"]


class CtrlC(Callback):
    """Sends SIGINT to its own process at one event, in the second epoch where there is one."""

    def __init__(self, event="on_epoch_end", epoch=2):
        self.event = event
        self.epoch = epoch

    def send(self, event, net):
        if event == self.event and (len(net.history_) >= self.epoch or "train" in event):
            os.kill(os.getpid(), signal.SIGINT)

    def on_train_begin(self, net, **kwargs):
        self.send("on_train_begin", net)

    def on_epoch_begin(self, net, **kwargs):
        self.send("on_epoch_begin", net)

    def on_batch_end(self, net, **kwargs):
        self.send("on_batch_end", net)

    def on_epoch_end(self, net, **kwargs):
        self.send("on_epoch_end", net)

    def on_train_end(self, net, **kwargs):
        self.send("on_train_end", net)


class Swallows(CtrlC):
    """A callback, or a library within, that catches what it should not."""

    def on_epoch_end(self, net, **kwargs):
        with contextlib.suppress(KeyboardInterrupt):
            super().on_epoch_end(net)


class Stops(Callback):
    """Asks to stop, as skorch's callbacks do."""

    def on_train_begin(self, net, **kwargs):
        self.n_epochs = 0

    def on_epoch_end(self, net, **kwargs):
        self.n_epochs += 1
        if self.n_epochs == 2:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def python_handler():
    """Python's own handler, whatever the test runner was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("event", EVENTS)
def test_interrupt_in_a_callback_leaves_fit(images, small, event):
    vae = small(callbacks=[CtrlC(event)], max_epochs=4)
    with pytest.raises(KeyboardInterrupt):
        vae.fit(*images)
    assert len(vae.history_) == {"on_train_begin": 0, "on_train_end": 4}.get(event, 2)


def test_interrupt_that_a_callback_swallows_leaves_fit(images, small):
    vae = small(callbacks=[Swallows()], max_epochs=4)
    with pytest.raises(KeyboardInterrupt):
        vae.fit(*images)
    assert len(vae.history_) == 2


def test_interrupted_fit_is_not_cached(images, small, tmp_path):
    vae = small(callbacks=[CtrlC()], max_epochs=4)
    model = Pipeline([("vae", vae), ("end", "passthrough")], memory=SweepMemory(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*images)
    assert not list(tmp_path.rglob("output.pkl"))


def test_callback_that_asks_to_stop_ends_fit_quietly(images, small):
    stop = EarlyStopping("train_loss", patience=2, threshold=1e9, threshold_mode="abs")
    assert len(small(callbacks=[stop], max_epochs=9).fit(*images).history_) == 3
    vae = small(callbacks=[Stops()], max_epochs=9).fit(*images)
    assert len(vae.history_) == 2
    assert len(vae.partial_fit(*images).history_) == 4


def test_callback_that_asks_to_stop_at_the_beginning_ends_fit_quietly(images, small):
    class Never(Callback):
        def on_train_begin(self, net, **kwargs):
            raise KeyboardInterrupt

    assert len(small(callbacks=[Never()]).fit(*images).history_) == 0


def test_callback_stops_quietly_after_the_user_s_own_handler_has_dealt_with_the_signal(
    images, small
):
    pressed = []
    signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))

    class StopsWhenPressed(CtrlC):
        def on_epoch_end(self, net, **kwargs):
            super().on_epoch_end(net)
            if pressed:
                raise KeyboardInterrupt

    try:
        vae = small(callbacks=[StopsWhenPressed()], max_epochs=9).fit(*images)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert pressed == [signal.SIGINT]
    assert len(vae.history_) == 2


def test_handler_that_a_callback_installs_is_kept(images, small):
    def own(number, frame):
        raise AssertionError

    class Installs(Callback):
        def on_epoch_end(self, net, **kwargs):
            signal.signal(signal.SIGINT, own)

    small(callbacks=[Installs()]).fit(*images)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is own


def test_ignored_interrupt_stays_ignored(images, small):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    vae = small(callbacks=[CtrlC()], max_epochs=3).fit(*images)
    assert len(vae.history_) == 3
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN


def test_fit_in_another_thread_stops_quietly(images, small):
    fitted = []
    vae = small(callbacks=[Stops()], max_epochs=9)
    thread = threading.Thread(target=lambda: fitted.append(vae.fit(*images)))
    thread.start()
    thread.join()
    assert len(fitted[0].history_) == 2


MIG = get_scorer("mig")


def interrupted_mig(net, X, y):
    # Sent by another thread while the scorer computes, as by a user at the keyboard.
    if len(net.history_) == 2:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        for _ in range(100_000):
            MIG(net, X, y)
    return MIG(net, X, y)


def test_interrupt_during_epoch_scoring_leaves_fit_and_is_not_cached(tmp_path):
    y = np.random.default_rng(0).integers(0, 4, (200, 2))
    X = np.eye(4)[y].reshape(200, 8)
    callback = EpochScoring(interrupted_mig, on_train=True, lower_is_better=False, name="mig")
    vae = VAE(2, max_epochs=4, callbacks=[callback], random_state=0)
    memory = SweepMemory(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Pipeline([("vae", vae), ("end", "passthrough")], memory=memory).fit(X, y)
    assert not list(tmp_path.rglob("output.pkl"))
