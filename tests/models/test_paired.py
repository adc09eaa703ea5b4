"""Models of pairs: sharing by hand, drawing partners, metadata, what pairs are good for."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from skorch.dataset import ValidSplit
from torch.distributions import Normal, kl_divergence

from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.metrics import get_scorer, mig_score
from sklearn_disent.models import AdaGVAE, AdaMLVAE, BetaVAE
from sklearn_disent.models._paired import shared_latents
from sklearn_disent.models._partners import DrawnPartners

from .conftest import TINY

# What test_common.py sets.
COMMON_TESTS = {"AdaMLVAE": {"symmetric": True}}

CV = KFold(2, shuffle=True, random_state=0)
BOTH = pytest.mark.parametrize("model", [AdaGVAE(**TINY), AdaMLVAE(**TINY)], ids=["G", "ML"])


@pytest.fixture(scope="module")
def pairs(images):
    """Observations, labels, and partners that have the same row: (X, y, X_pair)."""
    X, y = images
    same_row = y[:, 0][:, None] == y[:, 0]
    np.fill_diagonal(same_row, False)
    partners = same_row.argmax(1)
    return X, y, X[partners]


# -- sharing ---------------------------------------------------------------------------------


def posteriors(seed=0, n=20, d=4):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator).double() for _ in range(4)]


def test_shared_latents_follow_the_divergence():
    mean, log_var, other, other_log_var = posteriors()
    q, p = (Normal(m, (0.5 * v).exp()) for m, v in ((mean, log_var), (other, other_log_var)))
    for symmetric in (False, True):
        delta = kl_divergence(q, p)
        if symmetric:
            delta = (delta + kl_divergence(p, q)) / 2
        tau = (delta.max(1, keepdim=True)[0] + delta.min(1, keepdim=True)[0]) / 2
        found = shared_latents(mean, log_var, other, other_log_var, symmetric=symmetric)
        assert_array_equal(found, delta < tau)


def test_shared_latents_by_hand():
    zero = torch.zeros(1, 3)
    # Unit variances: divergences of 0, 2 and 8, of which the first two are below 4.
    assert shared_latents(zero, zero, torch.tensor([[0.0, 2.0, 4.0]]), zero).tolist() == [
        [True, True, False]
    ]
    # Equal posteriors: none is nearer than the others.
    assert not shared_latents(zero, zero, zero, zero).any()


def test_average_posteriors_by_hand():
    v1, v2 = torch.tensor([1.0]), torch.tensor([3.0])
    m1, m2 = torch.tensor([0.0]), torch.tensor([4.0])
    mean, log_var = AdaGVAE._average(m1, v1.log(), m2, v2.log())
    assert (mean.item(), log_var.exp().item()) == pytest.approx((2.0, 2.0))
    mean, log_var = AdaMLVAE._average(m1, v1.log(), m2, v2.log())
    variance = 2 * 1 * 3 / (1 + 3)
    assert (mean.item(), log_var.exp().item()) == pytest.approx((1.0, variance))
    assert mean.item() == pytest.approx((0 / 1 + 4 / 3) * variance / 2)


@BOTH
def test_both_views_share_and_keep_the_rest(model):
    first, second = (posteriors(1)[:2], posteriors(2)[:2])
    mean, log_var = model._share(first, second)
    shared = shared_latents(*first, *second)
    a, b = mean.chunk(2)
    assert torch.equal(a[shared], b[shared])
    assert torch.equal(a[~shared], first[0][~shared])
    assert torch.equal(b[~shared], second[0][~shared])
    assert torch.equal(log_var.chunk(2)[1][~shared], second[1][~shared])
    assert 0 < shared.float().mean() < 1


def test_pairs_of_equal_rows_are_a_beta_vae(images, monkeypatch):
    """A row that has no partner counts as in the VAE: nothing is shared, both views are it."""
    X = images[0].astype(np.float32)
    model = AdaGVAE(**TINY, beta=2.0)
    monkeypatch.setattr("sklearn_disent.models._paired.read_partners", lambda pair, rows: rows)
    model.set_params(max_epochs=1, batch_size=-1).fit(X, X_pair=X)
    plain = BetaVAE(**TINY, beta=2.0).set_params(max_epochs=1, batch_size=-1).fit(X)
    assert model.history_[0, "train_kl"] == pytest.approx(plain.history_[0, "train_kl"], rel=1e-5)


@BOTH
def test_loss_is_half_the_sum_of_two_views(pairs, model):
    X, _, X_pair = pairs
    model = clone(model).set_params(max_epochs=1, batch_size=-1, beta=3.0, lr=1e-12)
    row = model.fit(X, X_pair=X_pair).history_[0]
    assert row["train_loss"] == pytest.approx(
        row["train_reconstruction"] + 3.0 * row["train_kl"], rel=1e-6
    )
    # The learning rate is next to nothing, hence these are the posteriors of that epoch.
    first, second = (
        [torch.from_numpy(part) for part in model.posterior(part)] for part in (X, X_pair)
    )
    mean, log_var = model._share(first, second)
    kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum(1)
    n = len(X)
    assert row["train_kl"] == pytest.approx(0.5 * (kl[:n].mean() + kl[n:].mean()).item(), rel=1e-5)


# -- drawing pairs ---------------------------------------------------------------------------


@settings(derandomize=True, max_examples=60, deadline=None, database=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    n_factors=st.integers(1, 4),
    n_values=st.integers(1, 4),
    data=st.data(),
)
def test_partners_share_and_differ_as_asked(seed, n, n_factors, n_values, data):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_values, (n, n_factors))
    y[rng.random(n) < 0.1, 0] = -1
    most = max(0, n_factors - 1)
    n_changed = data.draw(st.one_of(st.none(), st.integers(0, most)))
    rows = np.arange(n)[:, None]
    try:
        drawn = DrawnPartners(rows, y, n_changed)
    except ValueError:  # none can be drawn
        return
    drawn.draw(rng)
    partners = drawn[np.arange(n)][:, 0]
    alone = partners == np.arange(n)
    assert drawn.n_unpaired == alone.sum()
    assert alone[(y == -1).any(1)].all()
    assert not (y[partners[~alone]] == -1).any()
    differ = (y != y[partners]).sum(1)[~alone]
    assert (differ <= most).all()
    if n_changed != 0 and n_factors > 1:
        assert (differ >= 1).all()


def grid(sizes=(5, 4, 3), copies=1):
    axes = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    return np.tile(np.stack(axes, -1).reshape(-1, len(sizes)), (copies, 1))


@pytest.mark.parametrize("n_changed", [1, 2, None])
def test_partners_on_a_full_grid_are_exact_and_fair(n_changed):
    y = grid()
    drawn = DrawnPartners(np.arange(len(y))[:, None], y, n_changed)
    counts, rng = np.zeros(4), np.random.default_rng(0)
    changed = np.zeros(3)
    for _ in range(200):
        drawn.draw(rng)
        differ = y != y[drawn.partners]
        counts += np.bincount(differ.sum(1), minlength=4)
        changed += differ.sum(0)
    assert drawn.n_unpaired == 0
    assert counts[0] == counts[3] == 0
    if n_changed == 1:
        assert counts[2] == 0
        np.testing.assert_allclose(changed / counts.sum(), 1 / 3, atol=0.02)
    else:
        # Of two factors that may change, both change unless one happens to be drawn again.
        assert counts[2] > counts[1] if n_changed == 2 else counts[1] > counts[2] > 0


def test_partners_of_equal_labels_differ_in_something_else():
    y = grid(copies=2)
    drawn = DrawnPartners(np.arange(len(y))[:, None], y, 0)
    assert_array_equal(y[drawn.partners], y)
    assert drawn.n_unpaired == 0
    # A single factor: the same value, another row.
    drawn = DrawnPartners(np.arange(len(y))[:, None], y[:, 0], None)
    assert_array_equal(y[drawn.partners, 0], y[:, 0])
    assert drawn.n_unpaired == 0


def test_more_factors_change_where_no_row_matches():
    # No two rows share two factors, but all share the last.
    y = np.column_stack([np.arange(6), np.arange(6), np.zeros(6, int)])
    drawn = DrawnPartners(np.arange(6)[:, None], y, 1)
    assert drawn.n_unpaired == 0


def test_labels_without_pairs_are_refused(
    images,
):
    X, _ = images
    with pytest.raises(ValueError, match="No pairs can be drawn from y"):
        AdaGVAE(**TINY).fit(X, np.random.default_rng(0).normal(size=(120, 2)))
    with pytest.raises(ValueError, match="at most 1 of 2 factors, got 2"):
        AdaGVAE(**TINY, n_changed=2).fit(*images)
    with pytest.raises(ValueError, match=r"requires y to be passed.*as X_pair"):
        AdaGVAE(**TINY).fit(X)


def test_rows_without_a_partner_are_counted_and_told(images):
    X, y = images
    labels = np.where(np.arange(120)[:, None] < 60, y, -1)
    model = AdaGVAE(**TINY)
    with pytest.warns(TrainingWarning, match="60 of 120 rows have no partner"):
        model.fit(X, labels)
    assert model.n_unpaired_ == 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).fit(X, y).n_unpaired_ == 0


# -- as an estimator -------------------------------------------------------------------------


@BOTH
def test_pairs_by_labels_or_by_hand_and_codes_of_single_observations(pairs, model):
    X, y, X_pair = pairs
    by_labels, by_hand = clone(model).fit(X, y), clone(model).fit(X, X_pair=X_pair)
    assert by_labels.transform(X[:1]).shape == (1, 3)
    assert not np.allclose(by_labels.transform(X), by_hand.transform(X), atol=1e-4)
    # With partners given, labels are for scorers alone.
    assert_array_equal(clone(model).fit(X, y, X_pair=X_pair).transform(X), by_hand.transform(X))
    assert_array_equal(clone(model).fit_transform(X, y), by_labels.transform(X))
    assert by_labels.reconstruct(X).shape == X.shape


@BOTH
def test_warm_epochs_add_up_for_pairs(pairs, model):
    X, y, X_pair = pairs
    for fit_params in ({"y": y}, {"X_pair": X_pair}):
        four = clone(model).set_params(max_epochs=4).fit(X, **fit_params)
        half = clone(model).set_params(warm_start=True).fit(X, **fit_params)
        half = pickle.loads(pickle.dumps(half)).fit(X, **fit_params)
        assert_array_equal(half.transform(X), four.transform(X))
        again = clone(model).partial_fit(X, **fit_params).partial_fit(X, **fit_params)
        assert_array_equal(again.transform(X), four.transform(X))


def test_layouts_types_and_splits_of_pairs(pairs):
    X, y, X_pair = pairs
    model = AdaGVAE(**TINY)
    expected = clone(model).fit(X, X_pair=X_pair).transform(X)
    as_bool = clone(model).fit(X.astype(bool), X_pair=X_pair.astype(bool))
    assert_array_equal(as_bool.transform(X.astype(bool)), expected)
    flat = clone(model).set_params(input_shape=(8, 8))
    flat.fit(X.reshape(120, -1), X_pair=X_pair.reshape(120, -1))
    assert_array_equal(flat.transform(X.reshape(120, -1)), expected)
    split = clone(model).set_params(train_split=ValidSplit(4), log_decomposition=True)
    for fit_params in ({"y": y}, {"X_pair": X_pair}):
        row = clone(split).fit(X, **fit_params).history_[-1]
        assert np.isfinite([row["valid_loss"], row["train_total_correlation"]]).all()
    whole = clone(model).set_params(batch_size=-1, log_decomposition=True).fit(X, y)
    assert np.isfinite(whole.history_[-1, "train_total_correlation"])


def test_pairs_that_do_not_fit_are_refused(pairs):
    X, y, X_pair = pairs
    model = AdaGVAE(**TINY)
    for wrong, message in (
        (X_pair[:-1], "one partner for each of the 120 observations in X, got 119"),
        (X_pair[:, :4], "observations of 64 values, as X has, got 32"),
        (X_pair.astype(float), "of the same type"),
        (X, "X_pair equals X"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, X_pair=wrong)
    bright = 2.0 * X_pair
    with pytest.raises(ValueError, match=r"needs values in \[0, 1\]"):
        model.fit(X.astype(float), X_pair=bright)
    with pytest.raises(TypeError, match="X_pairs"):
        model.fit(X, y, X_pairs=X_pair)


class Spy(AdaGVAE):
    """Remembers what it was fitted on."""

    seen = []

    def fit(self, X, y=None, *, X_pair=None):
        Spy.seen.append((np.asarray(X), X_pair))
        return super().fit(X, y, X_pair=X_pair)


def check_sliced(X, X_pair):
    """Whatever rows were seen, their partners were seen beside them."""
    partner_of = {}
    for row, partner in zip(X.reshape(len(X), -1), X_pair.reshape(len(X), -1)):
        partner_of.setdefault(row.tobytes(), set()).add(partner.tobytes())
    assert len(Spy.seen) >= 2
    for rows, partners in Spy.seen:
        assert len(rows) == len(partners)
        rows = np.ascontiguousarray(rows).reshape(len(rows), -1)
        for row, partner in zip(rows, np.ascontiguousarray(partners).reshape(len(rows), -1)):
            assert partner.tobytes() in partner_of[row.tobytes()]


@pytest.mark.parametrize("routing", [False, True])
def test_search_slices_pairs_with_the_rows(pairs, routing):
    X, y, X_pair = pairs
    Spy.seen = []
    with config_context(enable_metadata_routing=routing):
        model = Spy(**TINY)
        if routing:
            model.set_fit_request(X_pair=True)
        search = GridSearchCV(model, {"beta": [1.0, 4.0]}, scoring=get_scorer("mig"), cv=CV)
        search.fit(X, y, X_pair=X_pair)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert {len(rows) for rows, _ in Spy.seen} == {60, 120}
    check_sliced(X, X_pair)


@pytest.mark.parametrize("routing", [False, True])
def test_pairs_reach_the_model_in_a_pipeline(pairs, routing):
    X, y, X_pair = pairs
    # In these units the scaler has something to do, and pairs must go through it too.
    X, X_pair = 4.0 * X.reshape(120, -1), 4.0 * X_pair.reshape(120, -1)
    Spy.seen = []
    scaler = MinMaxScaler(clip=True)
    with config_context(enable_metadata_routing=routing):
        model = Spy(**TINY)
        if routing:
            model.set_fit_request(X_pair=True)
            pipeline = make_pipeline(scaler, model, transform_input=["X_pair"])
            pipeline.fit(X, y, X_pair=X_pair)
            scoring, beta = get_scorer("mig"), {"spy__beta": [1.0, 4.0]}
            search = GridSearchCV(pipeline, beta, scoring=scoring, cv=CV)
            search.fit(X, y, X_pair=X_pair)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        else:
            pipeline = Pipeline([("scale", scaler), ("vae", model)])
            pipeline.fit(X, y, vae__X_pair=MinMaxScaler().fit(X).transform(X_pair))
    rows, partners = Spy.seen[0]
    assert_array_equal(partners, MinMaxScaler().fit(X).transform(X_pair))
    assert rows.max() == 1.0
    assert pipeline.transform(X).shape == (120, 3)


def test_metadata_that_nobody_asked_for_is_refused(pairs):
    X, y, X_pair = pairs
    with pytest.raises(TypeError, match="X_pair"):
        BetaVAE(**TINY).fit(X, y, X_pair=X_pair)
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="X_pair"):
            GridSearchCV(AdaGVAE(**TINY), {"beta": [1.0]}, cv=CV).fit(X, y, X_pair=X_pair)
        with pytest.raises(TypeError, match="X_pair"):
            GridSearchCV(BetaVAE(**TINY), {"beta": [1.0]}, cv=CV).fit(X, y, X_pair=X_pair)


def test_pairs_drawn_from_labels_need_no_metadata(images):
    X, y = images
    scores = []
    for n_jobs in (1, 2):
        with parallel_config("threading", n_jobs=n_jobs):
            model = AdaGVAE(**TINY)
            scores.append(cross_val_score(model, X, y, scoring=get_scorer("mig"), cv=CV))
    assert_array_equal(*scores)
    assert np.isfinite(scores).all()


@pytest.mark.slow
def test_true_pairs_raise_mig_on_the_same_budget():
    y = grid((8, 8, 4), copies=4)
    X = np.zeros((len(y), 12, 12), np.float32)
    for image, (row, column, shade) in zip(X, y):
        image[row : row + 5, column : column + 5] = (shade + 1) / 4
    params = {
        "n_components": 5,
        "beta": 1.0,
        "architecture": "mlp",
        "module__hidden_sizes": (64, 64),
        "max_epochs": 60,
        "batch_size": 32,
    }

    def mean_mig(model, seeds):
        codes = [clone(model).set_params(random_state=s).fit(X, y).transform(X) for s in seeds]
        return np.mean([mig_score(y, z) for z in codes])

    plain = mean_mig(BetaVAE(**params), range(3))
    # A step sees two images of each pair: half the epochs are as many images.
    params["max_epochs"] = 30
    for model in (AdaGVAE(**params, n_changed=1), AdaGVAE(**params), AdaMLVAE(**params)):
        assert mean_mig(model, range(3)) > plain + 0.1
