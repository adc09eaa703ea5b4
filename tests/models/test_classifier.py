"""The judge of images: several factors by one network, a plateau, what it is worth."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent.exceptions import TrainingDivergedError
from sklearn_disent.models import FactorClassifier


@pytest.fixture(scope="module")
def blocks():
    """300 uint8 images of 8 x 8 with a 3 x 3 block: (X, row and column of the block)."""
    y = np.random.default_rng(0).integers(0, 3, (300, 2))
    X = np.zeros((300, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[2 * row : 2 * row + 3, 2 * column : 2 * column + 3] = 255
    return X, y


@pytest.fixture(scope="module")
def judge(blocks):
    return FactorClassifier(random_state=0, max_epochs=10).fit(*blocks)


@parametrize_with_checks([FactorClassifier(max_epochs=5, random_state=0)])
def test_classifier_passes_scikit_learn_check(estimator, check):
    if check.func.__name__ != "check_classifiers_train":  # the only one that asks for accuracy
        estimator.set_params(max_epochs=1)
    check(estimator)


def test_classifier_of_several_factors(blocks, judge):
    X, y = blocks
    proba = judge.predict_proba(X)
    assert [part.shape for part in proba] == [(300, 3), (300, 3)]
    np.testing.assert_allclose(proba[1].sum(1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(judge.predict(X), y)
    assert judge.score(X, y) == 1.0
    np.testing.assert_array_equal(judge.accuracy_, [1.0, 1.0])
    assert ((judge.chance_ > 0.2) & (judge.chance_ < 0.6)).all()
    for k in range(2):
        np.testing.assert_allclose(judge.factor_proba(X, k), proba[k], atol=1e-6)


def test_classifier_repeats_and_survives_pickling(blocks, judge):
    X, y = blocks
    again = clone(judge).fit(X, y)
    copied = pickle.loads(pickle.dumps(judge))
    for other in (again, copied):
        np.testing.assert_array_equal(other.predict_proba(X)[0], judge.predict_proba(X)[0])


def test_classifier_takes_uint8_as_intensities(blocks, judge):
    X = blocks[0]
    as_floats = judge.predict_proba(X / 255.0)[0]
    np.testing.assert_allclose(judge.predict_proba(X)[0], as_floats, atol=1e-6)
    flat = judge.predict_proba(X.reshape(300, -1))[0]
    np.testing.assert_array_equal(flat, judge.predict_proba(X)[0])


@pytest.mark.slow
def test_classifier_of_flattened_images_and_of_rows(blocks):
    X, y = blocks
    rows, options = X.reshape(300, -1), {"max_epochs": 6, "random_state": 0}
    as_images = FactorClassifier(image_shape=(8, 8), **options).fit(rows, y)
    np.testing.assert_array_equal(
        as_images.predict_proba(rows)[0],
        FactorClassifier(**options).fit(X, y).predict_proba(X)[0],
    )
    assert FactorClassifier(**options).fit(rows, y[:, 0]).score(rows, y[:, 0]) == 1.0
    with pytest.raises(ValueError, match=r"image_shape \(4, 8\) has 32 values, but X has 64"):
        FactorClassifier(image_shape=(4, 8), **options).fit(rows, y)


def test_training_ends_at_a_plateau_and_keeps_the_best_weights():
    # Labels are noise: the loss on held-out rows rises while that of the others falls.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 20)), rng.integers(0, 2, (80, 1)) @ np.ones((1, 2), dtype=int)
    judge = FactorClassifier(max_epochs=60, validation_fraction=0.5, random_state=0).fit(X, y)
    assert judge.n_epochs_ < 60
    assert judge.accuracy_[0] < 0.75
    losses = -np.log(np.clip(judge.predict_proba(X)[0][np.arange(80), y[:, 0]], 1e-9, 1))
    # Weights of the last epoch are sure of what they have learnt by heart.
    assert np.median(losses) > 1e-3


def test_some_rows_are_fitted_without_a_copy(blocks):
    X, y = blocks
    options = {"max_epochs": 3, "random_state": 0}
    rows = np.arange(0, 300, 2)
    some = FactorClassifier(**options).fit_factors(X, list(y.T), rows)
    copied = FactorClassifier(**options).fit(X[rows], y[rows])
    np.testing.assert_array_equal(some.predict_proba(X)[0], copied.predict_proba(X)[0])


@pytest.mark.parametrize("options", [{"lr": 1e30}, {"outlier": 1e200}])
def test_training_without_a_finite_loss_is_an_error(options):
    options = dict(options)
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    X[::4] *= options.pop("outlier", 1.0)
    judge = FactorClassifier(max_epochs=2, random_state=0, **options)
    with pytest.raises((TrainingDivergedError, ValueError), match=r"diverged|no finite output"):
        judge.fit(X, y).predict(X)


def test_rows_without_finite_probabilities_are_refused():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    judge = FactorClassifier(max_epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no finite output for 1 of 2 rows"):
        judge.predict_proba([[1.0, 2.0], [1e200, 0.0]])


def test_tensors_with_gradient_are_labels():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    as_tensor = torch.tensor(y, dtype=torch.bfloat16, requires_grad=True)
    one, other = (FactorClassifier(max_epochs=1, random_state=0).fit(X, v) for v in (y, as_tensor))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
