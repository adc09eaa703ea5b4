"""Scores against nulls: untrained clones and random maps of the factors."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    calibrated_report,
    mig_score,
    posterior_minimality_score,
    random_map_codes,
    sufficiency_score,
    udr_score,
)
from sklearn_disent.metrics._calibration import p_value_of
from sklearn_disent.metrics._catalogue import REPORTED
from sklearn_disent.models import BetaVAE, training_recipe


class Turner(TransformerMixin, BaseEstimator):
    """Untrained it turns its input at random, trained it leaves it as it is."""

    def __init__(self, max_epochs=5, checkpoint="weights", random_state=0):
        self.max_epochs = max_epochs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(self, X, y=None):
        assert self.max_epochs or self.checkpoint is None, "it would load trained weights"
        rng = np.random.default_rng(self.random_state)
        drawn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
        self.rotation_ = np.eye(X.shape[1]) if self.max_epochs else drawn
        return self

    def transform(self, X):
        return np.asarray(X) @ self.rotation_

    def posterior(self, X):
        mean = self.transform(X)
        return mean, np.full(mean.shape, -4.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=(600, 3))
    return y + 0.1 * rng.normal(size=y.shape), y


def report_of(data, estimator=None, **options):
    X, y = data
    model = Turner().fit(X) if estimator is None else estimator
    settings = {"metrics": ["mig", "sufficiency"], "output": "dict", "random_state": 0}
    return calibrated_report(model, X, y, **{**settings, **options})


def test_values_are_those_of_the_metrics_and_nulls_those_of_their_codes(data):
    X, y = data
    report = report_of(data, n_untrained=3, n_random_maps=2)
    assert report["mig"]["value"] == mig_score(y, X)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=5).tolist()
    clones = [Turner(0, None, seed).fit(X).transform(X) for seed in seeds[:3]]
    expected = [mig_score(y, codes) for codes in clones]
    assert report["mig"]["untrained_mean"] == pytest.approx(np.mean(expected))
    assert report["mig"]["untrained_std"] == pytest.approx(np.std(expected, ddof=1))
    maps = [random_map_codes(y, 3, random_state=seed) for seed in seeds[3:]]
    expected = [sufficiency_score(y, codes) for codes in maps]
    assert report["sufficiency"]["random_map_mean"] == pytest.approx(np.mean(expected))


def test_trained_model_is_above_and_a_null_is_not(data):
    X, _ = data
    trained = report_of(data)
    assert trained["mig"]["verdict"] == "above both"
    assert trained["mig"]["untrained_difference"] > 0.3
    assert trained["mig"]["untrained_p_value"] < 0.01
    turned = Turner(0, None, 99).fit(X)
    turned.set_params(max_epochs=5, checkpoint="weights")
    assert report_of(data, turned)["mig"]["verdict"] in ("above neither", "above random map")


def test_lower_is_better_counts_the_other_way_round(data):
    rng = np.random.default_rng(0)
    X, y = data
    # Correlated input: the identity keeps the correlation, and so is worse than a rotation.
    X = np.column_stack([X[:, 0], X[:, 0] + 0.01 * rng.normal(size=len(X)), X[:, 2]])
    row = report_of((X, y), metrics=["gaussian_total_correlation_error"], n_random_maps=0)
    row = row["gaussian_total_correlation_error"]
    assert row["untrained_difference"] == pytest.approx(row["untrained_mean"] - row["value"])
    assert "random_map_mean" not in row
    assert row["verdict"] in ("above", "not above")


def test_metrics_of_the_model_have_no_random_maps(data):
    report = report_of(data, metrics=["posterior_mig", "mig"], n_untrained=3, n_random_maps=3)
    row = report["posterior_mig"]
    assert row["verdict"] == "above"
    assert np.isnan(row["random_map_p_value"])
    assert report["mig"]["verdict"].startswith("above")


def test_pipelines_keep_their_steps_and_n_jobs_changes_nothing(data):
    X, y = data
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), Turner()).fit(X)
    found = report_of(data, pipeline, n_untrained=2, n_random_maps=2)
    direct = report_of((scaled, y), n_untrained=2, n_random_maps=2)
    assert found == direct
    with parallel_config("threading"):
        again = report_of(data, pipeline, n_untrained=2, n_random_maps=2, n_jobs=2)
    assert again == found


def test_parameters_of_callbacks_are_left_out_with_the_callbacks(data):
    X = np.clip(data[0] / 5, 0.0, 1.0).astype(np.float32)
    plain = BetaVAE(2, **{**training_recipe(), "max_epochs": 1}, random_state=0).fit(X)
    stepped = BetaVAE(2, **{**training_recipe(), "max_epochs": 1}, random_state=0)
    stepped.set_params(callbacks__lr_scheduler__step_size=5, callbacks__print_log=None).fit(X)
    settings = {"n_untrained": 2, "n_random_maps": 0}
    assert report_of((X, data[1]), stepped, **settings) == report_of(
        (X, data[1]), plain, **settings
    )
    assert stepped.get_params()["callbacks__lr_scheduler__step_size"] == 5


def test_estimators_that_cannot_be_untrained_take_others_to_compare_with(data):
    X, _ = data
    projection = GaussianRandomProjection(3, random_state=0).fit(X)
    with pytest.raises(TypeError, match="has no max_epochs"):
        report_of(data, projection)
    others = [GaussianRandomProjection(3, random_state=seed).fit(X) for seed in range(1, 6)]
    report = report_of(data, projection, untrained=others, n_random_maps=0)
    assert report["mig"]["untrained_p_value"] > 0.01
    with pytest.raises(ValueError, match="at least 2 of it, got 1 for untrained"):
        report_of(data, projection, untrained=others[:1])
    with pytest.raises(ValueError, match="compare several models"):
        report_of(data, metrics=[udr_score])


def test_missing_labels_drop_rows_of_every_null(data):
    X, y = data
    missing = y.astype(float)
    missing[::7, 0] = np.nan
    kept = ~np.isnan(missing).any(axis=1)
    some = report_of((X, missing), nan_policy="omit", n_untrained=2, n_random_maps=0)
    assert some["mig"]["value"] == pytest.approx(mig_score(missing, X, nan_policy="omit"))
    report_of((X, missing), nan_policy="omit", n_untrained=0, n_random_maps=2)
    codes = random_map_codes(missing, 2, nan_policy="omit", random_state=0)
    assert (np.isnan(codes).any(axis=1) == ~kept).all()


def test_outputs(data):
    frame = report_of(data, output="frame")
    assert isinstance(frame, pd.DataFrame)
    assert frame.loc["mig", "verdict"] == "above both"
    text = report_of(data, output="text")
    assert "untrained" in text
    assert "above both" in text
    few = tuple(array[:100] for array in data)
    report = report_of(few, metrics="all", n_untrained=0, n_random_maps=0)
    assert report.keys() == REPORTED.keys()
    assert report["mig"]["verdict"] == "no null"


def test_p_value_of_a_new_observation():
    values = np.array([0.1, 0.2, 0.3, 0.4])
    # Standard deviation .1291 and sqrt(1 + 1/4): t = 2.3534 is the 5 % point of 3 degrees.
    spread = values.std(ddof=1) * np.sqrt(1.25)
    assert p_value_of(2.353363 * spread, values) == pytest.approx(0.05, abs=1e-6)
    assert p_value_of(0.0, values) == pytest.approx(0.5)
    assert np.isnan(p_value_of(np.nan, values))
    assert np.isnan(p_value_of(0.1, values[:1]))


def test_p_value_without_spread_is_that_of_ranks():
    same = np.full(3, 0.3)
    assert p_value_of(0.1, same) == 0.25
    assert p_value_of(0.0, same) == p_value_of(-0.1, same) == 1.0
    # Equal scores of one encoder, three times, are one draw.
    assert p_value_of(0.1, same, n_encoders=1) == 0.5


class Collapsed(Turner):
    """Untrained, its posteriors hold nothing about any observation, or only some of them do."""

    n_collapsed = 10

    def posterior(self, X):
        mean = self.transform(X)
        is_collapsed = not self.max_epochs and self.random_state % 10 < self.n_collapsed
        return mean, np.full(mean.shape, 8.0 if is_collapsed else -4.0)


class HalfCollapsed(Collapsed):
    n_collapsed = 5


def found_of(data, estimator, metric, match, **options):
    with pytest.warns(DegenerateScoreWarning) as caught:
        row = report_of(data, estimator.fit(data[0]), metrics=[metric], **options)[metric]
    assert any(match in str(warning.message) for warning in caught)
    return row


def test_nulls_that_are_0_by_definition_are_undefined(data):
    match = "undefined and left out: posterior_minimality (5 of 5 untrained)."
    row = found_of(data, Collapsed(), "posterior_minimality", match)
    assert row["value"] > 0.8
    assert row["verdict"] == "untrained undefined"
    nothing = ["untrained_mean", "untrained_std", "untrained_difference", "untrained_p_value"]
    assert np.isnan([row[key] for key in nothing]).all()


def test_undefined_values_are_left_out_of_a_null(data):
    X, y = data
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=28)[:8]
    kept = seeds[seeds % 10 >= 5].tolist()
    assert 2 <= len(kept) < 8
    match = f"posterior_minimality ({8 - len(kept)} of 8 untrained)"
    row = found_of(data, HalfCollapsed(), "posterior_minimality", match, n_untrained=8)
    values = [
        posterior_minimality_score(HalfCollapsed(0, None, seed).fit(X), X, y) for seed in kept
    ]
    assert row["untrained_mean"] == pytest.approx(np.mean(values))
    assert row["untrained_std"] == pytest.approx(np.std(values, ddof=1))
    assert row["untrained_p_value"] == p_value_of(row["untrained_difference"], np.array(values))
    assert row["verdict"] == "above"


def bad_if_turned(value, of_maps):
    """A score of the codes that is undefined for those that were turned, or for all but them."""

    def own_score(factors, codes):
        is_plain = np.abs(np.corrcoef(codes[:, 0], factors[:, 0])[0, 1]) > 0.99
        # Those of random maps lie within a few units of 0.
        is_map = np.abs(codes).max() < 3.5
        return (
            value
            if (is_map if of_maps else not (is_plain or is_map))
            else mig_score(factors, codes)
        )

    return own_score


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_undefined(data, value):
    options = {"n_untrained": 3, "n_random_maps": 3}
    with pytest.warns(DegenerateScoreWarning, match=r"own \(3 of 3 untrained\)"):
        row = report_of(data, metrics=[bad_if_turned(value, False)], **options)["own"]
    assert row["verdict"] == "above random map, untrained undefined"
    with pytest.warns(DegenerateScoreWarning, match=r"own \(3 of 3 random map\)"):
        row = report_of(data, metrics=[bad_if_turned(value, True)], **options)["own"]
    assert row["verdict"] == "above untrained, random map undefined"

    def none_score(factors, codes):
        return value

    with pytest.warns(DegenerateScoreWarning, match="untrained.*random map"):
        row = report_of(data, metrics=[none_score], **options)["none"]
    assert row["verdict"] == "undefined"


def test_score_that_is_0_by_definition_is_undefined(data):
    X, _ = data
    estimator = Collapsed(0, None, 1).fit(X)
    estimator.set_params(checkpoint="weights")
    with pytest.warns(DegenerateScoreWarning, match="None of the codes can be scored"):
        row = report_of(data, estimator, metrics=["posterior_minimality"])["posterior_minimality"]
    assert row["value"] == 0.0
    assert row["verdict"] == "undefined"
    assert np.isnan(row["untrained_p_value"])


def test_equal_encoders_are_one_draw(data):
    X, _ = data
    turned = Turner(0, None, 99).fit(X)
    match = "All 30 untrained encoders give the same codes"
    row = found_of(data, Turner(), "mig", match, untrained=[turned] * 30, n_random_maps=0)
    assert row["untrained_std"] == pytest.approx(0.0, abs=1e-12)
    assert row["untrained_p_value"] == 0.5
    assert row["verdict"] == "not above"


def test_null_without_spread_warns(data):
    X, _ = data
    others = [Turner(0, None, seed).fit(X) for seed in range(3)]

    def plain_score(factors, codes):
        return float(np.corrcoef(codes[:, 0], factors[:, 0])[0, 1] > 0.99)

    with pytest.warns(DegenerateScoreWarning, match=r"same score, .*: plain \(3 untrained\)"):
        row = report_of(data, metrics=[plain_score], untrained=others, n_random_maps=0)["plain"]
    assert row["untrained_p_value"] == 0.25
    assert row["verdict"] == "not above"


def test_alpha_is_the_level_of_the_verdict(data):
    row = report_of(data, metrics=["mig"], n_random_maps=0)["mig"]
    p_value = row["untrained_p_value"]
    assert 0 < p_value < 0.05
    for alpha, verdict in ((1.01 * p_value, "above"), (0.99 * p_value, "not above")):
        found = report_of(data, metrics=["mig"], n_random_maps=0, alpha=alpha)["mig"]
        assert found == {**row, "verdict": verdict}


def test_p_values_of_a_null_model_are_uniform():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 6))
    p_values = [p_value_of(row[0] - row[1:].mean(), row[1:]) for row in draws]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_random_maps_see_all_factors_and_repeat():
    y = np.random.default_rng(0).integers(4, size=(500, 3))
    codes = random_map_codes(y, 4, random_state=0)
    assert_allclose(codes, random_map_codes(y, 4, random_state=0))
    assert not np.allclose(codes, random_map_codes(y, 4, random_state=1))
    names = np.array(["a", "b", "c", "d"])
    assert_allclose(codes, random_map_codes(names[y], 4, random_state=0))
    for k in range(3):
        changed = y.copy()
        changed[:, k] = np.random.default_rng(1).permutation(y[:, k])
        assert not np.allclose(random_map_codes(changed, 4, random_state=0), codes)


def test_nulls_that_are_degenerate_warn_once(data):
    X, _ = data
    constant = [Turner().fit(X)] * 2
    for model in constant:
        model.rotation_ = np.zeros((3, 3))
    with pytest.warns(
        match=r"Nulls were degenerate \(kinds of warnings: 1\), the most frequent in 2 of 4"
    ):
        report_of(data, metrics=["mig"], untrained=constant, n_random_maps=2)
