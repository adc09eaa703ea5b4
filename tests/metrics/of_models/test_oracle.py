"""Counterfactual generativeness of a perfect model: codes are the factors, the decoder draws."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from sklearn_disent.datasets import make_candle_like, make_dsprites, render_candle_like
from sklearn_disent.metrics import counterfactual_generativeness_score

pytestmark = pytest.mark.slow


class Oracle(TransformerMixin, BaseEstimator):
    """Looks up the factors of the images it was fitted on, and draws images of given factors."""

    def __init__(self, draw=None):
        self.draw = draw

    def fit(self, X, y):
        self.factors_ = {image.tobytes(): row for image, row in zip(X, y)}
        return self

    def transform(self, X):
        return np.array([self.factors_[image.tobytes()] for image in X], dtype=float)

    def inverse_transform(self, X):
        return self.draw(np.rint(X).astype(int))


def sprites(size):
    """dSprites with upright shapes at every other place, and the oracle of it."""
    factors = {"orientation": [0], "posX": range(0, 32, 2), "posY": range(0, 32, 2)}
    data = make_dsprites(factors=factors, image_size=size, random_state=0)
    varied = [name != "orientation" for name in data.factor_names]
    y = data.target[:, varied]
    pictures = {tuple(row): image for row, image in zip(y.tolist(), data.images)}

    def draw(classes):
        return np.array([pictures[tuple(row)] for row in classes.tolist()])

    return data.images, y, Oracle(draw).fit(data.images, y)


def scenes(size):
    """The look-alike of CANDLE in four of its scenes, and the oracle of it."""
    data = make_candle_like(
        factors={"scene": [0, 3, 6, 9]}, jitter=0.0, image_shape=(size, size), random_state=0
    )
    y = data.target

    def draw(classes):
        return render_candle_like(classes, image_shape=(size, size))[0] / 255.0

    return data.images, y, Oracle(draw).fit(data.images, y)


@pytest.mark.parametrize("make", [sprites, scenes])
def test_default_judge_lets_a_perfect_model_pass(make):
    X, y, oracle = make(32)
    found = counterfactual_generativeness_score(
        oracle, X, y, holdout=0.75, random_state=0, return_details=True
    )
    np.testing.assert_array_equal(found.sets, np.eye(y.shape[1], dtype=bool))
    assert found.score > 0.95
    assert found.relative[np.isfinite(found.relative)].min() > 0.9
