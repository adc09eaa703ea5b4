"""Fits that cannot be: a clear error, the old model kept; and those that end badly: a warning."""

import os
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from skorch.callbacks import EpochScoring
from torch import nn

from sklearn_disent import _memory
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.models import (
    VAE,
    AdaGVAE,
    BetaTCVAE,
    IdentifiableVAE,
    Labels,
    NeuralNetTransformer,
    _seeding,
    terms,
)
from sklearn_disent.models.terms import _elbo

X = np.random.default_rng(0).normal(size=(33, 4)).astype(np.float32)


def fitted(**params):
    return VAE(2, max_epochs=1, random_state=0, **params).fit(X)


# -- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["train", "valid"])
def test_drop_last_with_fewer_rows_than_a_batch_is_named(part):
    options = {f"iterator_{part}__drop_last": True, f"iterator_{part}__batch_size": 64}
    if part == "valid":
        options["train_split"] = lambda data: (data, data)
    with pytest.raises(ValueError, match="batch of 64 rows can be made of 33 rows with drop_last"):
        VAE(2, max_epochs=1, **options).fit(X)


class Normalized(nn.Module):
    def __init__(self, input_shape, n_components=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(input_shape[0], n_components), nn.BatchNorm1d(2))
        self.decoder = nn.Linear(n_components, input_shape[0])

    def forward(self, x):
        codes = self.encoder(x)
        return codes, self.decoder(codes)


def test_batch_norm_on_a_last_batch_of_one_row_is_named():
    net = NeuralNetTransformer(Normalized, batch_size=16, max_epochs=1, random_state=0)
    with pytest.raises(ValueError, match=r"BatchNorm .* one row.*iterator_train__drop_last=True"):
        net.fit(X)
    net.set_params(iterator_train__drop_last=True).fit(X)
    assert net.n_steps_ == 2
    # A single row is no trouble where nothing is trained.
    assert net.transform(X[:1]).shape == (1, 2)


def test_other_errors_of_a_batch_of_one_row_are_not_disguised():
    class Broken(Normalized):
        def forward(self, x):
            if len(x) == self.n_wrong:
                raise ValueError("of the user's own")
            return super().forward(x)

    class Plain(Broken):
        n_wrong = 1

        def __init__(self, input_shape):
            super().__init__(input_shape)
            self.encoder = self.encoder[0]

    class Large(Broken):
        n_wrong = 16

    for module in (Plain, Large):
        with pytest.raises(ValueError, match=r"^of the user's own"):
            NeuralNetTransformer(module, batch_size=16, max_epochs=1).fit(X)


# -- data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["xent", "embed"])
def test_labels_that_are_no_class_numbers_are_refused(kind):
    y = np.where(np.arange(33)[:, None] % 2, 10**12, 0)
    with pytest.raises(ValueError, match=r"Factor 0 has the label 1e\+12.*OrdinalEncoder"):
        VAE(2, max_epochs=1, guidance=Labels(kind)).fit(X, y)


def test_auxiliary_variables_of_unequal_rows_are_refused():
    with pytest.raises(ValueError, match="u cannot be read as an array"):
        IdentifiableVAE(2, max_epochs=1).fit(X, [[0] * (1 + i % 2) for i in range(33)])


def test_rows_without_a_label_have_no_partner():
    y = np.where(np.arange(33)[:, None] % 5, np.arange(33)[:, None] % [2, 3], -1)
    lost = [[None if v < 0 else v for v in row] for row in y.tolist()]
    codes = [
        AdaGVAE(2, max_epochs=1, random_state=0).fit(X, labels).transform(X)
        for labels in (y, np.array(lost, dtype=object), pd.DataFrame(lost).astype("Int64"))
    ]
    assert np.array_equal(codes[0], codes[1])
    assert np.array_equal(codes[0], codes[2])


def test_labels_of_any_size_make_pairs():
    y = np.where(np.arange(33)[:, None] % [2, 3], 10**12, 0)
    codes = AdaGVAE(2, max_epochs=1, random_state=0).fit(X, y).transform(X)
    again = AdaGVAE(2, max_epochs=1, random_state=0).fit(X, y // 10**12).transform(X)
    assert np.array_equal(codes, again)


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (np.zeros((33, 4), "datetime64[s]"), TypeError, r"real numbers, got dtype datetime64"),
        (np.zeros((33, 4), "timedelta64[s]"), TypeError, r"real numbers, got dtype timedelta64"),
        (np.ma.masked_array(X, X > 1), ValueError, "NaN"),
        (np.full((33, 4), np.inf), ValueError, "infinity"),
    ],
)
def test_a_refused_fit_keeps_the_old_model(bad, error, match):
    vae = fitted()
    codes, history = vae.transform(X), vae.history_.to_list()
    with pytest.raises(error, match=match):
        vae.fit(bad)
    assert np.array_equal(vae.transform(X), codes)
    assert vae.history_.to_list() == history


@pytest.mark.parametrize("dtype", [">f4", ">f8", "longdouble", "uint16", "int64", "float16"])
def test_numbers_of_any_type_are_observations(dtype):
    whole = np.arange(132).reshape(33, 4) % 7
    expected = VAE(2, max_epochs=1, random_state=0).fit(whole.astype(np.float32))
    net = VAE(2, max_epochs=1, random_state=0).fit(whole.astype(dtype))
    assert np.array_equal(net.transform(whole), expected.transform(whole.astype(np.float32)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_tensors_with_gradient_are_observations(dtype):
    tensor = torch.tensor(X, dtype=dtype, requires_grad=True)
    net = VAE(2, max_epochs=1, random_state=0).fit(tensor)
    plain = tensor.detach().float().numpy()
    assert np.array_equal(net.transform(tensor), net.transform(plain))


@pytest.mark.parametrize("method", ["transform", "reconstruct", "score", "posterior"])
def test_observations_without_finite_codes_are_refused(method):
    far = np.vstack([X[:3], np.full((2, 4), 3e38)])
    with pytest.raises(ValueError, match=r"no finite output for 2 of 5 rows .*units of X"):
        getattr(fitted(), method)(far)


# -- parameters ------------------------------------------------------------------------------


def test_parameters_of_callbacks_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match=r"callbacks__typo__lr .*epoch_timer.*print_log"):
        fitted(callbacks__typo__lr=3)
    with pytest.raises(ValueError, match="callbacks__scores__patience"):
        fitted(callbacks__scores__patience=3, callbacks=[("score", EpochScoring("x"))])
    fitted(callbacks__print_log__sink=print, callbacks__epoch_timer=None)


def test_sigma_whose_square_is_not_a_number_is_refused():
    for sigma in (1e-300, 1e300):
        with pytest.raises(ValueError, match="sigma must be from 1e-150"):
            fitted(sigma=sigma)


# -- training that ends badly ----------------------------------------------------------------


def test_a_loss_that_explodes_without_nan_is_said():
    with pytest.warns(TrainingWarning, match=r"loss of VAE has grown from .* Usual remedies"):
        VAE(2, max_epochs=3, lr=0.3, batch_size=8, random_state=0).fit(X)


def test_a_loss_that_falls_is_not_worth_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        vae = fitted(batch_size=8)
    assert "_first_loss" not in vae.__getstate__()


# -- large batches ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["mss", "mws"])
@pytest.mark.parametrize("n_entries", [1, 100, 130])
def test_kl_parts_of_a_large_batch_are_those_of_a_small_one(monkeypatch, estimator, n_entries):
    z, mean, log_var = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 11, 2)))
    results = []
    for limit in (2**26, n_entries):
        monkeypatch.setattr(_elbo, "_MAX_ENTRIES", limit)
        inputs = [part.clone().requires_grad_() for part in (z, mean, log_var)]
        parts = terms.kl_parts(*inputs, 500, estimator)
        sum(i * part for i, part in enumerate(parts)).backward()
        results.append([*parts, *(part.grad for part in inputs)])
    for one, other in zip(*results):
        assert torch.allclose(one, other, rtol=1e-12)


def test_beta_tc_vae_trains_on_a_batch_larger_than_memory():
    """All densities at once would take 14 GB, and again for their gradients."""
    many = np.random.default_rng(0).normal(size=(18_000, 2)).astype(np.float32)
    sizes = []
    hook = _elbo.gaussian_log_density

    def watched(z, mean, log_var):
        sizes.append(z.shape[0] * mean.shape[-2] * mean.shape[-1])
        return hook(z, mean, log_var)

    z = torch.from_numpy(many[:, :1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_elbo, "gaussian_log_density", watched)
        patch.setattr(_elbo, "_MAX_ENTRIES", 2**22)
        terms.kl_parts(z[:3000], z[:3000], torch.zeros(3000, 1), 18_000)
    assert max(sizes[:-1]) <= 2**22
    assert BetaTCVAE(1, batch_size=-1, max_epochs=0).fit(many).n_steps_ == 0


# -- forks -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_locks_held_by_another_thread_are_free_in_a_forked_process():
    inside, done = threading.Event(), threading.Event()

    def hold():
        with _memory.freed_memory_kept(), _memory._lock, _seeding.seeded(0):
            inside.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    child = os.fork()
    if child == 0:
        is_free = _memory._lock.acquire(timeout=5) and _seeding._LOCK.acquire(timeout=5)
        os._exit(0 if is_free and _memory._n_inside == 0 else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
