"""What each model adds to the VAE: its loss, its history, its schedule, its warnings."""

import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_disent.datasets import make_dsprites, make_shapes3d, make_transformed_digits
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.models import (
    HFSVAE,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    CosineSchedule,
    CyclicSchedule,
    InfoVAE,
    LinearSchedule,
)

from .conftest import TINY

# What test_common.py sets.
COMMON_TESTS = {
    "AnnealedVAE": {"n_annealing_steps": 20},
    "HFSVAE": {"n_pairs": 2},
    "BetaTCVAE-mws": {"estimator": "mws"},
    "BetaTCVAE-flow": {"prior": "factorized_flow"},
    "DIPVAE-ii": {"kind": "ii"},
}


# -- schedules -------------------------------------------------------------------------------


def test_schedules_go_from_start_to_end_and_stay():
    for schedule in (LinearSchedule(1.0, 5.0, 8), CosineSchedule(1.0, 5.0, 8)):
        values = [schedule(step) for step in range(20)]
        assert values[0] == 1.0
        assert values[4] == pytest.approx(3.0)
        assert_allclose(values[8:], 5.0)
        assert (np.diff(values[:9]) > 0).all()
    assert CosineSchedule(0.0, 1.0, 8)(1) < LinearSchedule(0.0, 1.0, 8)(1)


def test_cyclic_schedule_repeats():
    schedule = CyclicSchedule(0.0, 2.0, 10, rise=0.4)
    assert_allclose([schedule(s) for s in range(10)], [0, 0.5, 1, 1.5, 2, 2, 2, 2, 2, 2])
    assert [schedule(s + 10) for s in range(10)] == [schedule(s) for s in range(10)]


@pytest.mark.parametrize("cls", [LinearSchedule, CosineSchedule, CyclicSchedule])
def test_schedule_refuses_steps_that_are_none(cls):
    with pytest.raises(ValueError, match=r"n_steps must be a positive integer.*got 0"):
        cls(0.0, 1.0, 0)
    with pytest.raises(ValueError, match="rise must be in"):
        CyclicSchedule(0.0, 1.0, 5, rise=0.0)


def test_schedule_that_is_constant_changes_nothing(images):
    plain = BetaVAE(**TINY, beta=3.0).fit(images[0])
    scheduled = BetaVAE(**TINY, beta=LinearSchedule(3.0, 3.0, 5)).fit(images[0])
    assert_array_equal(plain.transform(images[0]), scheduled.transform(images[0]))


def test_schedule_counts_optimiser_steps_over_warm_epochs(images):
    seen = []
    vae = BetaVAE(**TINY, beta=lambda step: seen.append(step) or 1.0, warm_start=True)
    vae.fit(images[0]).fit(images[0])
    assert seen == list(range(16))  # 2 + 2 epochs of 4 batches
    assert vae.n_steps_ == 16
    vae.set_params(warm_start=False).fit(images[0])
    assert vae.n_steps_ == 8


def test_schedule_works_in_a_grid(images):
    grid = {"beta": [1.0, LinearSchedule(0.0, 50.0, 8), CosineSchedule(50.0, 0.0, 8)]}
    scores = GridSearchCV(BetaVAE(**TINY), grid, cv=2, refit=False).fit(images[0]).cv_results_
    assert len(set(scores["mean_test_score"])) == 3


def test_parts_of_a_schedule_are_searched(images):
    vae = BetaVAE(**TINY, beta=LinearSchedule(1.0, 2.0, 8))
    assert vae.get_params()["beta__start"] == 1.0
    search = GridSearchCV(vae, {"beta__start": [1.0, 50.0]}, cv=2, refit=False).fit(images[0])
    whole = GridSearchCV(
        vae, {"beta": [LinearSchedule(start, 2.0, 8) for start in (1.0, 50.0)]}, cv=2, refit=False
    ).fit(images[0])
    scores = [result.cv_results_["mean_test_score"] for result in (search, whole)]
    assert_array_equal(*scores)
    assert scores[0][0] != scores[0][1]
    assert vae.beta == LinearSchedule(1.0, 2.0, 8)  # candidates are clones


def test_schedule_refuses_a_part_that_it_does_not_have_and_bad_values():
    schedule = LinearSchedule(1.0, 2.0, 8)
    with pytest.raises(ValueError, match=r"no parameter 'begin'. Set one of \['start', 'end'"):
        BetaVAE(beta=schedule).set_params(beta__begin=3.0)
    with pytest.raises(ValueError, match="n_steps must be a positive integer"):
        schedule.set_params(start=7.0, n_steps=0)
    assert schedule == LinearSchedule(1.0, 2.0, 8)
    assert clone(schedule) == schedule


# -- logging and warnings --------------------------------------------------------------------


def test_decomposition_is_logged_on_request_and_changes_nothing(images):
    X, _ = images
    plain = VAE(**TINY).fit(X)
    logged = VAE(**TINY, log_decomposition=True).fit(X)
    assert_array_equal(plain.transform(X), logged.transform(X))
    names = ("index_code_mi", "total_correlation", "dimension_wise_kl")
    assert not any(f"train_{name}" in plain.history_[-1] for name in names)
    total = sum(logged.history_[-1, f"train_{name}"] for name in names)
    # One draw per row against the closed form: their noise is about 0.1 nats here.
    assert total == pytest.approx(logged.history_[-1, "train_kl"], abs=0.5)


def test_dead_latents_are_reported(images):
    with pytest.warns(TrainingWarning, match="All 3 latents of BetaVAE are dead"):
        vae = BetaVAE(**{**TINY, "max_epochs": 30}, beta=1e4).fit(images[0])
    assert vae.history_[-1, "active_latents"] == 0
    assert np.isfinite(vae.transform(images[0])).all()


def test_living_latents_are_not_reported(images):
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        vae = BetaVAE(**{**TINY, "max_epochs": 30}, beta=0.1, module__init="torch").fit(images[0])
    variances = vae.transform(images[0]).var(0)
    assert vae.history_[-1, "active_latents"] == (variances > 0.01).sum() == 2


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_dsprites, make_shapes3d, make_transformed_digits])
def test_defaults_do_not_collapse(make):
    """More seeds: docs/guide/collapse_fits.csv."""
    X, _ = make(1000, image_size=32, random_state=0, return_X_y=True)
    assert BetaVAE(random_state=0).fit(X).history_[-1, "active_latents"] >= 5


# -- AnnealedVAE -----------------------------------------------------------------------------


def test_annealed_capacity_grows_with_steps_not_epochs(images):
    vae = AnnealedVAE(**TINY, capacity=10.0, n_annealing_steps=6).fit(images[0])
    # Steps 0 to 3 of 32, 32, 32, 24 rows, then 4 to 7, of which the last two are at the end.
    rows = np.array([32, 32, 32, 24]) / 120
    expected = [rows @ [0, 10 / 6, 20 / 6, 30 / 6], rows @ [40 / 6, 50 / 6, 10, 10]]
    assert_allclose([row["train_capacity"] for row in vae.history_], expected, rtol=1e-5)


def test_annealed_gap_is_the_distance_of_the_mean_kl(images):
    X, _ = images
    vae = AnnealedVAE(**{**TINY, "max_epochs": 1, "batch_size": -1}, capacity=lambda step: 7.0)
    row = vae.fit(X).history_[0]
    assert row["train_capacity_gap"] == pytest.approx(7.0 - row["train_kl"], rel=1e-5)


# -- BetaTCVAE -------------------------------------------------------------------------------


def test_beta_tc_vae_with_unit_weights_is_the_vae_in_expectation(images):
    X, _ = images
    losses = {VAE: [], BetaTCVAE: []}
    other = VAE(**TINY).fit(X)
    for cls, values in losses.items():
        params = {"alpha": 1.0, "beta": 1.0, "gamma": 1.0} if cls is BetaTCVAE else {}
        net = cls(**{**TINY, "max_epochs": 1}, **params).fit(X)
        net.module_ = other.module_  # the same weights for both
        net._dataset = range(120)
        net._set_training(False)
        net._generator = torch.Generator().manual_seed(0)
        batch = (torch.from_numpy(X.reshape(120, -1)), {})
        with torch.no_grad():
            values.extend(net._step(batch)["loss"].item() for _ in range(300))
    gap = np.subtract(losses[BetaTCVAE], losses[VAE])  # the same noise in both
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(300)
    assert gap.std() > 0


def test_beta_tc_vae_logs_stratified_values_for_the_weighted_estimator(images):
    row = BetaTCVAE(**TINY, estimator="mws").fit(images[0]).history_[-1]
    assert abs(row["train_total_correlation"]) < 5
    # the weighted estimate is off by (D - 1) log N = 2 log 120 = 9.6
    assert row["train_total_correlation_mws"] > row["train_total_correlation"] + 5


@pytest.mark.slow
def test_flow_prior_learns_and_shapes_samples_and_score(images):
    X, _ = images
    params = {**TINY, "max_epochs": 60, "lr": 1e-2}
    vae = BetaTCVAE(**params, prior="factorized_flow", gamma=5.0).fit(X)
    flow = vae.module_.prior
    assert not torch.allclose(flow.raw_slope, flow.raw_slope[0, 0].expand_as(flow.raw_slope))
    normal = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    draws = vae._from_normal(normal)
    drawn = np.random.RandomState(0).standard_normal((4, 3))
    assert_allclose(vae.sample_prior(4, random_state=0), vae._from_normal(drawn))
    assert not np.allclose(draws, normal, atol=0.05)
    assert_allclose(flow(torch.from_numpy(draws))[0].detach().numpy(), normal, atol=1e-4)
    # The KL in the ELBO is that to the learnt prior: Monte Carlo with many draws agrees.
    _, kl = vae.elbo_terms(X[:20])
    mean, log_var = (torch.from_numpy(part) for part in vae.posterior(X[:20]))
    q = torch.distributions.Normal(mean, (0.5 * log_var).exp())
    torch.manual_seed(0)
    z = q.sample((4000,))
    with torch.no_grad():
        estimate = (q.log_prob(z) - flow.log_prob(z.flatten(0, 1)).view_as(z)).sum(2).mean(0)
    assert_allclose(kl, estimate, atol=0.5)


def test_flow_prior_with_no_layers_of_effect_scores_as_the_normal(images):
    X, _ = images
    normal = BetaTCVAE(**{**TINY, "max_epochs": 0}).fit(X)
    flow = BetaTCVAE(**{**TINY, "max_epochs": 0}, prior="factorized_flow").fit(X)
    assert_allclose(flow.score_samples(X), normal.score_samples(X), rtol=1e-2)


# -- DIPVAE, InfoVAE, HFSVAE -----------------------------------------------------------------


def test_info_vae_refuses_weights_that_drive_codes_away_from_the_prior(images):
    X, _ = images
    with pytest.raises(ValueError, match=r"alpha \+ lambda_ >= 1.*alpha=0.5, lambda_=0.001"):
        InfoVAE(**TINY, alpha=0.5, lambda_=0.001).fit(X)
    with pytest.raises(ValueError, match="'alpha' parameter of InfoVAE"):
        InfoVAE(**TINY, alpha=1.5).fit(X)
    with pytest.raises(ValueError, match=r"alpha \+ lambda_ >= 1"):
        InfoVAE(**TINY, lambda_=LinearSchedule(2.0, 0.0, 4)).fit(X)


def test_info_vae_at_its_limit_is_the_vae(images):
    X, _ = images
    row = InfoVAE(**{**TINY, "batch_size": -1, "max_epochs": 1}, alpha=0.0, lambda_=1.0)
    vae = VAE(**{**TINY, "batch_size": -1, "max_epochs": 1}).fit(X)
    loss = row.fit(X).history_[0, "train_loss"]
    assert loss == pytest.approx(vae.history_[0, "train_loss"], rel=1e-6)


@pytest.mark.slow
def test_info_vae_draws_codes_towards_the_prior(images):
    X, _ = images
    params = {**TINY, "max_epochs": 40, "lr": 3e-3, "alpha": 1.0}
    low = InfoVAE(**params, lambda_=0.01).fit(X)
    high = InfoVAE(**params, lambda_=1000.0).fit(X)
    assert high.history_[-1, "train_mmd"] < 0.5 * low.history_[-1, "train_mmd"]


def test_hfs_term_counts_in_the_loss(images):
    X, _ = images
    params = {**TINY, "max_epochs": 30, "lr": 3e-3, "beta": 0.1}
    without, with_ = (HFSVAE(**params, gamma=gamma).fit(X) for gamma in (0.0, 3.0))
    assert without.history_[-1, "train_hausdorff"] > 0
    assert with_.history_[-1, "train_hausdorff"] < 0.7 * without.history_[-1, "train_hausdorff"]


def test_hfs_draws_pairs_without_repeats(images):
    vae = HFSVAE(**{**TINY, "n_components": 5, "max_epochs": 0}, n_pairs=4).fit(images[0])
    vae._generator = torch.Generator().manual_seed(0)
    first, second = vae._pairs(), vae._pairs()
    assert len({tuple(pair) for pair in first.tolist()}) == 4
    assert (first[:, 0] < first[:, 1]).all()
    assert not torch.equal(first, second)
    assert len(vae.set_params(n_pairs=25)._pairs()) == 10


def test_one_latent_has_no_pairs_and_still_trains(images):
    vae = HFSVAE(**{**TINY, "n_components": 1}).fit(images[0])
    assert vae.history_[-1, "train_hausdorff"] == 0
