"""The loop of training: what counts, and where randomness comes from."""

import numpy as np
import torch
from skorch.callbacks import Callback
from skorch.dataset import ValidSplit

from sklearn_disent.models import VAE, BetaVAE, LinearSchedule

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


class Watch(Callback):
    """Notes step and seed of the noise at every batch."""

    def __init__(self):
        self.seen = []

    def on_batch_begin(self, net, batch=None, training=None, **kwargs):
        state = (len(net.history_), training, net.n_steps_, net.generator.initial_seed())
        self.seen.append(state)


def watched(**params):
    watch = Watch()
    params = {"max_epochs": 2, "batch_size": 10, "train_split": ValidSplit(2), **params}
    net = VAE(2, callbacks=[watch], random_state=0, **params).fit(X)
    return net, watch.seen


def test_schedules_do_not_advance_by_validation_batches():
    net, seen = watched()
    assert net.n_steps_ == 4
    assert [(training, step) for _, training, step, _ in seen] == [
        (True, 0), (True, 1), (False, 2), (False, 2), (True, 2), (True, 3), (False, 4), (False, 4),
    ]  # fmt: skip
    beta = LinearSchedule(0.0, 8.0, n_steps=8)
    vae = BetaVAE(2, beta=beta, max_epochs=2, batch_size=10, train_split=ValidSplit(2)).fit(X)
    assert vae.at_step(vae.beta) == 4.0


def test_noise_has_a_stream_per_epoch_for_training_and_another_for_validation():
    seeds = {(epoch, training): seed for epoch, training, _, seed in watched()[1]}
    assert len(seeds) == len(set(seeds.values())) == 4
    # Without validation rows, training draws the same.
    alone = {(epoch, True): seed for epoch, _, _, seed in watched(train_split=None)[1]}
    assert alone == {key: seed for key, seed in seeds.items() if key[1]}


def test_validation_is_without_gradient_and_dropout():
    modes = []

    class Net(VAE):
        def _step(self, batch):
            modes.append((self.module_.training, torch.is_grad_enabled()))
            return super()._step(batch)

    Net(2, max_epochs=1, batch_size=20, train_split=ValidSplit(2)).fit(X)
    assert modes == [(True, True), (False, False)]
