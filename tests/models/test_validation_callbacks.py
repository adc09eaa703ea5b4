"""Callbacks that look at the validation loss: it is there, or the message says how to get it."""

import numpy as np
import pytest
from skorch.callbacks import Callback, EarlyStopping, WandbLogger
from skorch.dataset import ValidSplit

from sklearn_disent.models import VAE

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


class Run:
    """What WandbLogger needs of a run."""

    dir = "."

    def __init__(self):
        self.logged = []

    def watch(self, module):
        pass

    def log(self, values):
        self.logged.append(values)


def make(callback, **params):
    return VAE(2, max_epochs=2, callbacks=[callback], random_state=0, **params)


@pytest.mark.parametrize("make_callback", [EarlyStopping, lambda: WandbLogger(Run())])
def test_missing_validation_data_are_named_with_the_way_out(make_callback):
    with pytest.raises(ValueError, match=r"'valid_loss\w*' in the history.*train_split="):
        make(make_callback()).fit(X)


def test_early_stopping_works_with_validation_data_or_the_training_loss():
    split = make(EarlyStopping(), train_split=ValidSplit(5)).fit(X)
    assert "valid_loss" in split.history_[-1]
    assert len(make(EarlyStopping(monitor="train_loss", patience=1)).fit(X).history_) == 2


def test_wandb_logger_logs_without_saving(tmp_path):
    run = Run()
    make(WandbLogger(run, save_model=False)).fit(X)
    assert [set(row) >= {"train_loss", "train_kl"} for row in run.logged] == [True, True]
    run.dir = str(tmp_path)
    make(WandbLogger(run), train_split=ValidSplit(5)).fit(X)
    assert (tmp_path / "best_model.pth").is_file()


def test_other_key_errors_go_on():
    class Wrong(Callback):
        def on_epoch_end(self, net, **kwargs):
            {}["valid_key"]

    with pytest.raises(KeyError, match="valid_key"):
        make(Wrong(), train_split=ValidSplit(5)).fit(X)
