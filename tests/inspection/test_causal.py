"""Displays of counterfactuals and of causal graphs."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.datasets import make_candle_like, make_pendulum
from sklearn_disent.inspection import CausalGraphDisplay, CounterfactualDisplay
from sklearn_disent.inspection._causal_graph import layers, place
from sklearn_disent.metrics import CounterfactualGenerativenessScorer


class Blocks(TransformerMixin, BaseEstimator):
    """Codes are row and column of a block in images of 8 x 8."""

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def transform(self, X):
        X = np.asarray(X).reshape(-1, 8, 8) > 0
        return np.column_stack([X.any(2).argmax(1), X.any(1).argmax(1)]) / 2.0

    def inverse_transform(self, X):
        decoded = np.zeros((len(X), 8, 8))
        for image, (row, column) in zip(decoded, np.rint(np.asarray(X)).astype(int)):
            image[2 * row : 2 * row + 3, 2 * column : 2 * column + 3] = 1.0
        return decoded


@pytest.fixture(scope="module")
def blocks():
    y = np.random.default_rng(0).integers(0, 3, (100, 2))
    return (255 * Blocks().inverse_transform(y)).astype(np.uint8), y


def test_counterfactuals_of_a_perfect_model(blocks):
    X, y = blocks
    scorer = CounterfactualGenerativenessScorer(X[:50], y[:50], DecisionTreeClassifier())
    display = CounterfactualDisplay.from_estimator(
        Blocks().fit(X), X[50:], y[50:], judge=scorer, sample=2, factor_names=["row", "column"]
    )
    assert display.axes_.shape == (2, 2)
    truth = y[52]
    for k in range(2):
        decoded, own, others = display.probabilities[k]
        assert display.truths[k] == truth[k]
        assert decoded[truth[k]] == others[truth[k]] == 1.0
        assert own[truth[k]] == 0.0
        assert display.latents[k] == [k]
        bold = [
            t.get_text() for t in display.axes_[k, 1].get_xticklabels() if t.get_weight() == "bold"
        ]
        assert bold == [str(truth[k])]
    observed, decoded = np.asarray(display.images)[0, :2]
    np.testing.assert_array_equal(observed, decoded)
    assert display.axes_[0, 0].get_ylabel() == "row\n(z0)"
    assert len(display.axes_[0, 1].patches) == 9


def test_bars_are_those_of_the_likely_values(blocks):
    images = np.zeros((1, 4, 8, 8))
    table = np.zeros((3, 20))
    table[:, 7], table[1, 12] = 0.6, 0.4
    display = CounterfactualDisplay(images, [table], [3]).plot(n_classes=3)
    names = [tick.get_text() for tick in display.axes_[0, 1].get_xticklabels()]
    assert names == ["3", "7", "12"]


def test_counterfactuals_refuse_what_they_cannot_draw(blocks):
    X, y = blocks
    with pytest.raises(TypeError, match=r"judge must be a Counterfactual.* got DecisionTree"):
        CounterfactualDisplay.from_estimator(Blocks().fit(X), X, y, judge=DecisionTreeClassifier())
    with pytest.raises(ValueError, match="images must be four per factor"):
        CounterfactualDisplay(np.zeros((2, 3, 8, 8)), [np.zeros((3, 2))] * 2, [0, 0]).plot()
    with pytest.raises(ValueError, match="draws images, got rows"):
        CounterfactualDisplay(np.zeros((1, 4, 9)), [np.zeros((3, 2))], [0]).plot()


def test_effects_stand_below_their_causes():
    chain = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    np.testing.assert_array_equal(layers(chain), [0, 1, 2])
    places = place(chain)
    assert (np.diff(places[:, 1]) < 0).all()
    with pytest.raises(ValueError, match="graph has a cycle"):
        layers(np.array([[0, 1], [1, 0]], dtype=bool))


def test_graph_of_the_look_alike_and_of_an_intervention():
    options = {"image_shape": (16, 16), "random_state": 0}
    data = make_candle_like(4, **options)
    display = CausalGraphDisplay.from_graph(data.graph, names=data.graph_names, hidden=["C", "U"])
    arrows = [text for text in display.ax_.texts if not text.get_text()]
    assert len(arrows) == 6
    changed = make_candle_like(4, do={"object": 3}, **options)
    assert changed.graph.sum() == 5
    assert not changed.graph[:, data.graph_names.index("object")].any()
    assert make_candle_like(indices=[3, 7], **options).graph.sum() == 0
    assert make_candle_like(4, design="candle", **options).graph.sum() == 6


def test_graph_of_the_pendulum_is_drawn_to_the_right():
    data = make_pendulum(3, random_state=0)
    display = CausalGraphDisplay.from_graph(data.graph, names=data.factor_names, direction="right")
    where = {t.get_text(): t.get_position() for t in display.ax_.texts if t.get_text()}
    assert where["shadow_length"][0] > where["light_angle"][0]


def test_graph_refuses_what_is_not_one():
    with pytest.raises(ValueError, match=r"graph must be square, .* \(2, 3\)"):
        CausalGraphDisplay.from_graph(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"hidden must be among \['a', 'b'\], got \['c'\]"):
        CausalGraphDisplay.from_graph(np.zeros((2, 2)), names=["a", "b"], hidden=["c"])
