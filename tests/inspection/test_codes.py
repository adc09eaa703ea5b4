"""Displays of codes and factors: relevance, latents against factors."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_disent.inspection import LatentFactorDisplay, RelevanceDisplay
from sklearn_disent.metrics import relevance_matrix


def tick_texts(ticks):
    return [tick.get_text() for tick in ticks]


# -- relevance -----------------------------------------------------------------------------------


def test_relevance_assignment_maximises_the_sum():
    # The greedy choice, 0.9 first, would leave 0.1 and miss the best pairing.
    display = RelevanceDisplay([[0.9, 0.8, 0.0], [0.85, 0.1, 0.0]]).plot()
    assert display.assignment_ == {0: 1, 1: 0}
    frames = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    assert {(round(f.get_x() + 0.46), round(f.get_y() + 0.44)) for f in frames} == {(1, 0), (0, 1)}


def test_relevance_without_any_marks_nothing():
    display = RelevanceDisplay([[0.0, 0.0], [0.0, 0.5]]).plot()
    assert display.assignment_ == {1: 1}


def test_relevance_takes_any_kind(images):
    y = images[1]
    for kind, label in [
        ("correlation", "absolute correlation"),
        ("mutual_info", "mutual information (nats)"),
    ]:
        display = RelevanceDisplay.from_predictions(y, y * 2.0, kind=kind)
        assert np.array_equal(display.relevance, relevance_matrix(y, y * 2.0, kind=kind))
        assert display.figure_.axes[1].get_ylabel() == label


def test_relevance_options_reach_the_matrix(images):
    y = images[1] + 0.5
    with pytest.raises(ValueError, match="factor"):
        RelevanceDisplay.from_predictions(y, y)
    RelevanceDisplay.from_predictions(y, y, relevance_params={"factor_bins": 3})


def test_relevance_names(vae, images):
    X, y = images
    display = RelevanceDisplay.from_estimator(vae, X, y)
    assert tick_texts(display.ax_.get_yticklabels()) == ["factor 0", "factor 1"]
    assert tick_texts(display.ax_.get_xticklabels()) == ["z0", "z1", "z2"]
    frame = pd.DataFrame(y, columns=["row", "column"])
    display = RelevanceDisplay.from_estimator(vae, X, frame)
    assert tick_texts(display.ax_.get_yticklabels()) == ["row", "column"]
    with pytest.raises(ValueError, match="factor_names must have 2 names, got 1"):
        RelevanceDisplay.from_estimator(vae, X, y, factor_names=["row"])


def test_relevance_of_pipelines_and_searches(search, images):
    expected = relevance_matrix(images[1], search.transform(images[0]))
    for estimator in (search, make_pipeline(search.best_estimator_)):
        display = RelevanceDisplay.from_estimator(estimator, *images)
        assert np.array_equal(display.relevance, expected)


def test_relevance_numbers_are_legible():
    display = RelevanceDisplay([[0.0, 1.0]]).plot(cmap="cividis")
    assert [text.get_color() for text in display.ax_.texts] == ["white", "black"]
    assert not RelevanceDisplay(np.ones((20, 20))).plot().ax_.texts
    assert len(RelevanceDisplay(np.ones((20, 20))).plot(include_values=True).ax_.texts) == 400


def test_relevance_checks_the_matrix():
    with pytest.raises(ValueError, match=r"finite numbers, got shape \(2,\)"):
        RelevanceDisplay([1.0, 2.0]).plot()
    with pytest.raises(ValueError, match="finite numbers"):
        RelevanceDisplay([[1.0, np.nan]]).plot()


# -- latents against factors -----------------------------------------------------------------------


def test_latent_factor_means_and_spreads():
    factors = np.array([[0, 0], [0, 1], [3, 0], [3, 1]])
    codes = factors @ np.array([[1.0, 2.0], [0.0, 4.0]])
    display = LatentFactorDisplay.from_predictions(factors, codes)
    curve = display.curves["factor 0"]
    assert np.array_equal(curve.values, [0, 3])
    assert np.array_equal(curve.mean, [[0, 2], [3, 8]])
    assert np.array_equal(curve.std, [[0, 2], [0, 2]])


def test_latent_factor_order_follows_the_factors():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(300, 2))
    codes = np.column_stack([rng.normal(size=300), factors[:, 1], factors[:, 0] * 9])
    display = LatentFactorDisplay.from_predictions(factors, codes)
    assert display.latents == [2, 1, 0]
    assert display.axes_.shape == (3, 2)
    assert [panel.get_ylabel() for panel in display.axes_[:, 0]] == ["z2", "z1", "z0"]
    assert len(LatentFactorDisplay.from_predictions(factors, codes, n_latents=1).axes_) == 1


def test_latent_factor_rows_share_their_range(vae, images):
    display = LatentFactorDisplay.from_estimator(vae, *images, factor_names=["row", "column"])
    for panels in display.axes_:
        assert panels[0].get_ylim() == panels[1].get_ylim()
    assert [panel.get_xlabel() for panel in display.axes_[-1]] == ["row", "column"]


def test_latent_factor_pairs_are_heat_maps():
    factors = np.array([[0, 0], [0, 1], [1, 1], [2, 0], [2, 0]])
    codes = np.array([[1.0], [2.0], [3.0], [4.0], [6.0]])
    display = LatentFactorDisplay.from_predictions(
        factors, codes, factor_names=["x", "y"], pairs=[("x", "y")]
    )
    mean = display.surfaces["x", "y"][2][:, :, 0]
    assert np.array_equal(mean, [[1, 2], [np.nan, 3], [5, np.nan]], equal_nan=True)
    # Columns are the first factor.
    assert display.axes_[0, 2].images[0].get_array().shape == (2, 3)
    with pytest.raises(ValueError, match=r"among \['x', 'y'\], got \('x', 'z'\)"):
        LatentFactorDisplay.from_predictions(
            factors, codes, factor_names=["x", "y"], pairs=[("x", "z")]
        )


def test_latent_factor_of_categories_and_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"shape": rng.choice(["square", "heart"], 200), "angle": rng.uniform(0, 90, 200)}
    )
    codes = np.column_stack([frame["angle"] / 90, frame["shape"] == "heart"])
    display = LatentFactorDisplay.from_predictions(frame, codes, n_bins=5)
    assert display.curves["shape"].ticks == ["heart", "square"]
    assert display.curves["angle"].ticks is None
    assert len(display.curves["angle"].values) == 5
    assert tick_texts(display.axes_[-1, 0].get_xticklabels()) == ["heart", "square"]
    assert np.allclose(display.curves["shape"].mean[:, 1], [1, 0])


def test_latent_factor_of_dead_codes_is_flat():
    factors = np.random.default_rng(0).integers(3, size=(60, 2))
    codes = np.column_stack([factors[:, 0], np.zeros(60)])
    display = LatentFactorDisplay.from_predictions(factors, codes)
    assert display.latents == [0, 1]
    low, high = display.axes_[1, 0].get_ylim()
    assert low < 0 < high


def test_latent_factor_divides_one_axes():
    factors = np.random.default_rng(0).integers(3, size=(60, 2))
    figure, axes = plt.subplots(1, 2)
    codes = FunctionTransformer().fit_transform(factors)
    display = LatentFactorDisplay.from_predictions(factors, codes, ax=axes[1])
    assert display.figure_ is figure
    assert len(figure.axes) == 2 + 4
    assert not axes[1].axison
