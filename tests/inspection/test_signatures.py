"""The display of topological signatures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA

from sklearn_disent.inspection import SignatureDisplay
from sklearn_disent.metrics import manifold_topology_score

SMALL = {"n_samples": 60, "n_repeats": 3, "max_holes": 20, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    return X, rng.integers(3, size=(300, 3)), PCA(3, whiten=True).fit(X)


def test_display_of_an_estimator_shows_the_signatures_of_its_score(data):
    pca = data[2]
    display = SignatureDisplay.from_estimator(pca, n_values=2, **SMALL)
    details = manifold_topology_score(pca, n_values=2, return_details=True, **SMALL)
    np.testing.assert_array_equal(display.signatures, details.signatures)
    assert display.names == ["z0", "z1", "z2"]
    assert [panel.get_title() for panel in display.axes_.flat] == display.names
    for panel, histograms in zip(display.axes_.flat, details.signatures):
        for line, histogram in zip(panel.lines, histograms, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), histogram)


def test_display_of_factors_leaves_out_what_does_not_vary(data):
    X, y, _ = data
    y = np.column_stack([y[:, 0], np.ones(len(y), dtype=int), y[:, 1]])
    with pytest.warns(UserWarning, match=r"factors \[1\]"):
        display = SignatureDisplay.from_factors(X, y, factor_names=["a", "b", "c"], **SMALL)
    assert display.names == ["a", "c"]
    assert [len(histograms) for histograms in display.signatures] == [3, 3]


def test_display_of_similarity_has_a_row_for_each_value(data):
    X, y, _ = data
    display = SignatureDisplay.from_factors(X, y, **SMALL)
    similarity = np.asarray(display.similarity)
    assert similarity.shape == (9, 9)
    np.testing.assert_array_equal(np.diag(similarity), 1)
    np.testing.assert_array_equal(similarity, similarity.T)
    ax = plt.subplots()[1]
    assert display.plot_similarity(ax) is display
    np.testing.assert_array_equal(ax.images[0].get_array(), similarity)
    np.testing.assert_array_equal(ax.get_xticks(), [1, 4, 7])
    assert [text.get_text() for text in ax.get_yticklabels()] == display.names


def test_display_draws_in_given_axes():
    display = SignatureDisplay([np.eye(4)[:2], np.eye(4)[1:]], names=["a", "b"])
    axes = plt.subplots(1, 2)[1]
    assert display.plot(axes, line_kw={"color": "red"}, n_shown=2) is display
    assert [len(panel.lines) for panel in axes] == [2, 3]
    assert axes[0].lines[0].get_color() == "red"
    assert axes[1].get_xlim() == (0, 2)
    with pytest.raises(ValueError, match="1 x 2 axes, got 3"):
        display.plot(plt.subplots(1, 3)[1])


def test_display_of_many_panels_breaks_lines():
    display = SignatureDisplay([np.eye(3)] * 7).plot(n_columns=4)
    assert display.axes_.shape == (2, 4)
    assert not display.axes_[1, 3].axison
    assert display.axes_[0, 3].get_xlabel() == "holes"


def test_bad_input_is_named(data):
    X, y, pca = data
    with pytest.raises(ValueError, match="shape \\(n_values, max_holes\\)"):
        SignatureDisplay([np.ones(3)]).plot()
    with pytest.raises(ValueError, match="similarity must have shape \\(3, 3\\)"):
        SignatureDisplay([np.eye(3)]).plot_similarity()
    with pytest.raises(ValueError, match="code_names must have 3 names"):
        SignatureDisplay.from_estimator(pca, code_names=["a"], **SMALL)
    with pytest.raises(ValueError, match="gamma"):
        SignatureDisplay.from_estimator(pca, gamma=2, **SMALL)
    with pytest.raises(TypeError, match="no inverse_transform"):
        SignatureDisplay.from_estimator(object(), **SMALL)
    with (
        pytest.warns(UserWarning, match="single value"),
        pytest.raises(ValueError, match="no signature to show"),
    ):
        SignatureDisplay.from_factors(X, np.zeros_like(y), **SMALL)
