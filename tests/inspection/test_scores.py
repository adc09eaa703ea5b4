"""Displays of many models: sweeps, distributions, agreement of metrics."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.inspection import (
    MetricAgreementDisplay,
    ScoreDistributionDisplay,
    SweepDisplay,
)
from sklearn_disent.inspection._common import score_label


class FakeSearch:
    """What a search leaves behind."""

    def __init__(self, params, **scores):
        self.cv_results_ = {"params": params}
        for name, table in scores.items():
            for i, split in enumerate(np.transpose(table)):
                self.cv_results_[f"split{i}_test_{name}"] = np.asarray(split)
            self.cv_results_[f"mean_test_{name}"] = np.mean(table, axis=1)


@pytest.fixture
def grid():
    """Two betas, two models, two folds."""
    params = [{"beta": b, "model": m} for b in (8.0, 1.0) for m in ("A", "B")]
    mig = np.array([[0.1, 0.3], [0.2, 0.2], [0.5, 0.7], [0.4, 0.4]])
    return FakeSearch(params, mig=mig, elbo=-100 * mig)


def line_of(container):
    return container[0].get_xydata()


# -- sweeps --------------------------------------------------------------------------------------


def test_sweep_pools_what_is_not_on_the_axis(grid):
    display = SweepDisplay.from_search(grid, param="beta", scores="mig")
    (container,) = display.ax_.containers
    assert np.allclose(line_of(container), [[1, 0.5], [8, 0.2]])
    low, high = container[2][0].get_segments()[0][:, 1]
    assert np.isclose(high - low, 2 * np.std([0.5, 0.7, 0.4, 0.4]))


def test_sweep_draws_a_line_per_group(grid):
    display = SweepDisplay.from_search(grid, param="beta", param_by="model", scores=["mig"])
    first, second = display.ax_.containers
    assert np.allclose(line_of(first), [[1, 0.6], [8, 0.2]])
    assert np.allclose(line_of(second), [[1, 0.4], [8, 0.2]])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["A", "B"]


def test_sweep_of_two_scores_has_two_axes(grid):
    display = SweepDisplay.from_search(grid, param="beta")
    assert [panel.get_ylabel() for panel in display.axes_] == ["MIG", "ELBO (nats)"]
    assert display.axes_[1].get_xlabel() == "beta"
    assert display.axes_[0].get_xscale() == "log"


def test_sweep_tradeoff_is_one_score_against_the_other(grid):
    display = SweepDisplay.from_search(grid, param="beta", kind="tradeoff")
    assert np.allclose(line_of(display.ax_.containers[0]), [[0.5, -50], [0.2, -20]])
    assert [text.get_text() for text in display.ax_.texts] == ["1", "8"]
    with pytest.raises(ValueError, match=r"needs two scores, got \['mig'\]"):
        SweepDisplay.from_search(grid, param="beta", scores=["mig"], kind="tradeoff")


def test_sweep_baselines_are_levels(grid):
    baselines = {"PCA": {"test_mig": np.array([0.1, 0.3])}, "ICA": {"mig": [0.4]}}
    display = SweepDisplay.from_search(
        grid, param="beta", scores=["mig", "elbo"], baselines=baselines
    )
    levels = [line.get_ydata()[0] for line in display.axes_[0].lines if line.get_linestyle() != "-"]
    assert np.allclose([level for level in levels if level in (0.2, 0.4)], [0.2, 0.4])
    texts = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert texts == ["PCA", "ICA"]


def test_sweep_of_words_keeps_their_order():
    search = FakeSearch([{"net": "mlp"}, {"net": "chen"}, {"net": None}], mig=[[0.1], [0.2], [0.3]])
    display = SweepDisplay.from_search(search)
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["mlp", "chen", "None"]


def test_sweep_tells_estimators_of_one_class_apart():
    params = [{"pca": PCA(n, svd_solver="covariance_eigh")} for n in (2, 3)]
    display = SweepDisplay.from_search(FakeSearch(params, mig=[[0.1], [0.2]]))
    assert len(line_of(display.ax_.containers[0])) == 2
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["PCA 0", "PCA 1"]


def test_sweep_finds_the_parameter_among_seeds(search):
    display = SweepDisplay.from_search(search)
    assert display.param == "beta"
    assert display.scores["mig"].shape == (4, 2)
    mean = search.cv_results_["mean_test_mig"].reshape(2, 2).mean(axis=1)
    assert np.allclose(line_of(display.axes_[0].containers[0])[:, 1], mean)


def test_sweep_asks_which_parameter(grid):
    with pytest.raises(ValueError, match=r"several parameters, \['beta', 'model'\]"):
        SweepDisplay.from_search(grid)
    with pytest.raises(ValueError, match=r"searched, \['beta', 'model'\], got 'gamma'"):
        SweepDisplay.from_search(grid, param="gamma")
    with pytest.raises(ValueError, match=r"\['mig', 'elbo'\], got \['sap'\]"):
        SweepDisplay.from_search(grid, param="beta", scores=["sap"])
    with pytest.raises(TypeError, match=r"fitted search with cv_results_.*got PCA"):
        SweepDisplay.from_search(PCA())


def test_sweep_leaves_failed_fits_out_and_says_so():
    search = FakeSearch([{"beta": 1}, {"beta": 2}], mig=[[0.1, np.nan], [np.nan, np.nan]])
    with pytest.warns(DegenerateScoreWarning, match="3 of 4 scores 'mig'"):
        display = SweepDisplay.from_search(search)
    assert np.allclose(line_of(display.ax_.containers[0]), [[1, 0.1]])


def test_sweep_checks_its_data():
    with pytest.raises(ValueError, match=r"'mig' has shape \(2,\) for 2 values"):
        SweepDisplay([1, 2], {"mig": [0.1, 0.2]}).plot()
    with pytest.raises(ValueError, match="at least one score"):
        SweepDisplay([1, 2], {}).plot()


def test_sweep_names_a_single_score_by_its_function():
    X = load_digits().data[:200]
    search = GridSearchCV(PCA(), {"n_components": [1, 2]}, cv=2).fit(X)
    assert SweepDisplay.from_search(search).ax_.get_ylabel() == "score"
    from sklearn_disent.metrics import get_scorer

    y = np.random.default_rng(0).integers(3, size=(200, 2))
    for name, label in [
        ("mig", "MIG"),
        ("neg_code_mutual_info_error", "negative mutual information of codes"),
    ]:
        search = GridSearchCV(PCA(), {"n_components": [2, 3]}, scoring=get_scorer(name), cv=2)
        assert SweepDisplay.from_search(search.fit(X, y)).ax_.get_ylabel() == label


def test_sweep_draws_into_given_axes(grid):
    figure, axes = plt.subplots(2, 1)
    display = SweepDisplay.from_search(grid, param="beta", ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure


def test_score_label_has_units_and_abbreviations():
    assert score_label("elbo") == "ELBO (nats)"
    assert score_label("dci_completeness") == "DCI completeness"
    assert score_label("mig", {"mig": "gap"}) == "gap"


# -- distributions -------------------------------------------------------------------------------


def test_distribution_has_a_box_per_value(grid):
    display = ScoreDistributionDisplay.from_search(grid, param="beta", score="mig")
    assert list(display.scores) == ["1", "8"]
    assert sorted(display.scores["8"]) == [0.1, 0.2, 0.2, 0.3]
    medians = [line for line in display.ax_.lines if line.get_linewidth() == 2]
    assert np.allclose([line.get_ydata()[0] for line in medians], [0.45, 0.2])
    assert display.ax_.get_xlabel() == "beta"
    assert display.ax_.get_ylabel() == "MIG"


def test_distribution_asks_which_score(grid):
    with pytest.raises(ValueError, match=r"several scores, \['mig', 'elbo'\]"):
        ScoreDistributionDisplay.from_search(grid, param="beta")


def test_distribution_points_can_be_left_out():
    with_points = ScoreDistributionDisplay({"VAE": [1, 2, 3]}).plot()
    without = ScoreDistributionDisplay({"VAE": [1, 2, 3]}).plot(points=False)
    dots = [
        [line for line in d.ax_.lines if line.get_marker() == "o"] for d in (with_points, without)
    ]
    assert len(dots[0]) == 1
    assert np.array_equal(dots[0][0].get_ydata(), [1, 2, 3])
    assert all(len(line.get_ydata()) == 0 for line in dots[1])


@pytest.mark.parametrize("scores", [{}, {"VAE": []}, {"VAE": [1.0, np.nan]}])
def test_distribution_needs_finite_scores(scores):
    with pytest.raises(ValueError, match="one or more finite numbers"):
        ScoreDistributionDisplay(scores).plot()


# -- agreement -----------------------------------------------------------------------------------


def test_agreement_is_a_rank_correlation():
    scores = {"a": [1, 2, 3, 4], "b": [1, 2, 4, 3], "c": [40, 30, 20, 10]}
    spearman = MetricAgreementDisplay.from_scores(scores)
    assert np.allclose(spearman.correlation, [[1, 0.8, -1], [0.8, 1, -0.8], [-1, -0.8, 1]])
    kendall = MetricAgreementDisplay.from_scores(pd.DataFrame(scores), method="kendall")
    assert np.isclose(kendall.correlation[0, 1], 4 / 6)
    assert "4 models" in kendall.label


def test_agreement_from_search_counts_every_fit(search):
    display = MetricAgreementDisplay.from_search(search)
    assert display.names == ["MIG", "modularity"]
    assert "8 models" in display.label


def test_agreement_of_constant_scores_is_zero_with_a_warning():
    with pytest.warns(DegenerateScoreWarning, match=r"\['b'\] are the same for all models"):
        display = MetricAgreementDisplay.from_scores({"a": [1, 2, 3], "b": [1, 1, 1]})
    assert np.array_equal(display.correlation, np.eye(2))


def test_agreement_needs_models_and_metrics():
    for scores in ({"a": [1, 2, 3]}, {"a": [1, 2], "b": [1, 2]}, {"a": [1, 2, 3], "b": [1, 2]}):
        with pytest.raises(ValueError, match=r"at least 2 metrics.*at least 3"):
            MetricAgreementDisplay.from_scores(scores)
    with pytest.raises(ValueError, match="finite scores in every metric, got 2"):
        MetricAgreementDisplay.from_scores({"a": [1, 2, np.nan], "b": [1, 2, 3]})
    with pytest.raises(ValueError, match="square table of finite numbers"):
        MetricAgreementDisplay(np.zeros((2, 3))).plot()
