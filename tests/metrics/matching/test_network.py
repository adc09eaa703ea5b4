"""The quick network against its slow forms: differences of the loss, and scikit-learn's."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics.matching import _network
from sklearn_disent.metrics.matching._network import QuickNetwork


def loss(X, place, layers):
    units = np.maximum(X @ layers[0], 0)
    logits = units @ layers[1][:-1] + layers[1][-1]
    largest = logits.max(axis=1)
    logs = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    return np.mean(logs - logits[np.arange(len(X)), place])


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), n_classes=st.integers(2, 5))
def test_gradient_is_that_of_the_loss(seed, n_classes):
    rng = RandomState(seed)
    X, place = rng.normal(size=(12, 4)), rng.randint(n_classes, size=12)
    layers = [rng.normal(size=(4, 7)), rng.normal(size=(8, n_classes))]
    slopes = [np.empty_like(layer) for layer in layers]
    _network._gradient(X, place, layers, slopes, np.ones((12, 8)))
    for layer, slope in zip(layers, slopes):
        direction = rng.normal(size=layer.shape)
        ends = []
        for sign in (1, -1):
            layer += sign * 1e-6 * direction
            ends.append(loss(X, place, layers))
            layer -= sign * 1e-6 * direction
        # A kink of a unit within 1e-6 would make them differ, and is as good as never met.
        assert (slope * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_steps_are_those_of_adam():
    rng = RandomState(0)
    weights = rng.normal(size=5).astype(np.float32)
    expected, mean, square = weights.astype(float), np.zeros(5), np.zeros(5)
    adam = _network._Adam(weights)
    for step in range(1, 4):
        slopes = rng.normal(size=5).astype(np.float32)
        mean, square = 0.9 * mean + 0.1 * slopes, 0.999 * square + 0.001 * slopes**2
        corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        expected -= 0.01 * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        adam.move(slopes, 0.01)
    np.testing.assert_allclose(weights, expected, rtol=1e-5)


def test_accuracy_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=1500)
    X = np.column_stack([np.sin(y), np.cos(2 * y)]) + 0.25 * rng.normal(size=(1500, 2))
    slow = make_pipeline(StandardScaler(), MLPClassifier((256,), max_iter=30, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slow.fit(X[:1000], y[:1000])
    quick = QuickNetwork(random_state=0).fit(X[:1000], y[:1000])
    assert quick.score(X[1000:], y[1000:]) >= slow.score(X[1000:], y[1000:]) - 0.02


def test_constant_features_and_one_class_of_few_rows():
    X = np.column_stack([np.full(6, 0.3), np.arange(6.0)])
    network = QuickNetwork(random_state=0).fit(X, np.arange(6) // 3)
    assert network.predict(X).tolist() == [0, 0, 0, 1, 1, 1]
    again = QuickNetwork(random_state=0).fit(X, np.arange(6) // 3)
    np.testing.assert_array_equal(network._layers[1], again._layers[1])
