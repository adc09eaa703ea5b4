"""A fit that is killed goes on from its last epoch, to the same result bit by bit."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from skorch.callbacks import Callback, EarlyStopping, LRScheduler

from sklearn_disent.models import (
    VAE,
    AdaGVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    Labels,
    LinearSchedule,
)

SCRIPT = """
    import os, signal, sys
    from pathlib import Path
    import numpy as np
    import torch
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from skorch.callbacks import Callback, LRScheduler
    from sklearn_disent.metrics import get_scorer
    from sklearn_disent.model_selection import SweepMemory
    from sklearn_disent.models import FactorVAE

    torch.set_num_threads(1)
    how, folder = sys.argv[1], Path(sys.argv[2])

    class Kill(Callback):
        # In the middle of the third epoch; every epoch that is begun leaves a line.
        def on_epoch_begin(self, net, **kwargs):
            with open(folder / "epochs", "a") as log:
                log.write(f"{len(net.history_)}\\n")

        def on_batch_end(self, net, **kwargs):
            if (folder / "kill").exists() and len(net.history_) == 3 and net.n_steps_ % 4 == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    y = np.random.default_rng(0).integers(0, 5, (120, 2))
    X = np.zeros((120, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    vae = FactorVAE(
        2, architecture="mlp", module__hidden_sizes=(16,), discriminator__hidden_sizes=(8,),
        max_epochs=5, batch_size=32, random_state=0, checkpoint=str(folder / "states"),
        callbacks=[("kill", Kill()), ("lr", LRScheduler("StepLR", step_size=2, gamma=0.5))],
    )
    if how == "alone":
        print(vae.fit(X, y).transform(X).tobytes().hex())
    else:
        memory = SweepMemory(folder / "cache")
        model = Pipeline([("vae", vae), ("end", "passthrough")], memory=memory)
        search = GridSearchCV(
            model, {"vae__gamma": [1.0, 6.0]}, scoring=get_scorer("mig"), cv=2, refit=False
        ).fit(X, y)
        print(search.cv_results_["mean_test_score"].tobytes().hex())
"""


def run(how, folder, kill=False):
    folder.mkdir(exist_ok=True)
    (folder / "kill").touch() if kill else (folder / "kill").unlink(missing_ok=True)
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), how, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["alone", "sweep"])
def test_killed_fit_goes_on_bit_by_bit(tmp_path, how):
    whole = run(how, tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    killed = run(how, tmp_path / "killed", kill=True)
    assert killed.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "killed" / "states").iterdir())) == 1
    resumed = run(how, tmp_path / "killed")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == whole.stdout
    epochs = (tmp_path / "killed" / "epochs").read_text().split()
    # Three were begun, the third again after the kill.
    assert epochs[:6] == ["1", "2", "3", "3", "4", "5"]
    assert list((tmp_path / "killed" / "states").iterdir()) == []


ERRORS = []  # a list is not part of the key of a fit; an attribute of the class would be
EPOCHS = []


class Fails(Callback):
    """Raises what ERRORS holds, once, in the middle of the third epoch; lists epochs begun."""

    def on_epoch_begin(self, net, **kwargs):
        EPOCHS.append(len(net.history_))

    def on_batch_end(self, net, **kwargs):
        if ERRORS and len(net.history_) == 3 and net.n_steps_ % 2:
            raise ERRORS.pop()


@pytest.fixture(autouse=True)
def nothing_happened():
    ERRORS.clear()
    EPOCHS.clear()


MODELS = {
    "BetaVAE": lambda **p: BetaVAE(2, beta=LinearSchedule(0, 4, n_steps=12), **p),
    "labels": lambda **p: BetaVAE(2, guidance=Labels("embed"), **p),
    "FactorVAE": lambda **p: FactorVAE(2, discriminator__hidden_sizes=(8, 8), **p),
    "AdaGVAE": lambda **p: AdaGVAE(2, **p),
    "InfoGAN": lambda **p: InfoGAN(2, **p),
    "amsgrad": lambda **p: BetaVAE(2, optimizer__amsgrad=True, **p),
}


def make(name, **params):
    small = {"architecture": "mlp", "module__hidden_sizes": (16,), "batch_size": 32}
    return MODELS[name](**{**small, "max_epochs": 5, "random_state": 0, **params})


@pytest.mark.parametrize("name", MODELS)
def test_every_model_goes_on_after_an_error(images, name, tmp_path):
    X, y = images
    expected = make(name).fit(X, y)
    model = make(name, checkpoint=tmp_path, callbacks=[Fails()])
    ERRORS.append(RuntimeError("out of memory"))
    with pytest.raises(RuntimeError, match="out of memory"):
        model.fit(X, y)
    resumed = make(name, checkpoint=tmp_path, callbacks=[Fails()]).fit(X, y)
    assert EPOCHS == [1, 2, 3, 3, 4, 5]
    assert_array_equal(resumed.transform(X), expected.transform(X))
    assert resumed.n_steps_ == expected.n_steps_
    losses = resumed.history_[:, "train_loss"]
    assert losses == expected.history_[:, "train_loss"]
    assert list(tmp_path.iterdir()) == []


def test_callbacks_go_on_where_they_were(images, small, tmp_path):
    X, _ = images

    def callbacks():
        stop = EarlyStopping("train_loss", patience=4, threshold=1e9, threshold_mode="abs")
        return [("stop", stop), ("lr", LRScheduler("StepLR", step_size=2)), ("f", Fails())]

    expected = small(max_epochs=9, callbacks=callbacks()).fit(X)
    ERRORS.append(RuntimeError("out of memory"))
    with pytest.raises(RuntimeError):
        small(max_epochs=9, callbacks=callbacks(), checkpoint=tmp_path).fit(X)
    resumed = small(max_epochs=9, callbacks=callbacks(), checkpoint=tmp_path).fit(X)
    assert len(resumed.history_) == len(expected.history_) == 5
    assert EPOCHS == [1, 2, 3, 4, 5, 1, 2, 3, 3, 4, 5]
    assert resumed.optimizer_.param_groups[0]["lr"] == expected.optimizer_.param_groups[0]["lr"]
    assert_array_equal(resumed.transform(X), expected.transform(X))


def test_other_data_or_parameters_begin_anew(images, small, tmp_path):
    X, _ = images
    ERRORS.append(RuntimeError("out of memory"))
    with pytest.raises(RuntimeError):
        small(max_epochs=5, checkpoint=tmp_path, callbacks=[Fails()]).fit(X)
    assert len(list(tmp_path.iterdir())) == 1
    for other, rows in ((small(lr=0.1, max_epochs=2), X), (small(), X[::-1])):
        expected = other.fit(rows).transform(X)
        assert_array_equal(other.set_params(checkpoint=tmp_path).fit(rows).transform(X), expected)
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_checkpoint_begins_anew_with_a_warning(images, small, tmp_path):
    X, _ = images
    ERRORS.append(RuntimeError("out of memory"))
    model = small(max_epochs=5, checkpoint=tmp_path, callbacks=[Fails()])
    with pytest.raises(RuntimeError):
        model.fit(X)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.warns(UserWarning, match="cannot be read .* training begins anew"):
        model.fit(X)
    assert_array_equal(model.transform(X), small(max_epochs=5).fit(X).transform(X))


def test_nothing_is_written_without_the_parameter(images, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().fit(images[0])
    assert os.listdir(Path.cwd()) == []
    assert np.isfinite(small(checkpoint="here").fit(images[0]).transform(images[0])).all()


def test_full_disk_does_not_end_training(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    expected = VAE(2, max_epochs=3, random_state=0).fit(X).transform(X)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sklearn_disent.models._checkpoint.save_file", full)
    with pytest.warns(UserWarning, match=r"No space left.*goes on"):
        vae = VAE(2, max_epochs=3, random_state=0, checkpoint=tmp_path).fit(X)
    assert np.array_equal(vae.transform(X), expected)
    assert list(tmp_path.iterdir()) == []
