"""Standardized columns and Gaussian densities, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from sklearn_disent.metrics._numeric import (
    by_class,
    clip_below_zero,
    column_range,
    compressed,
    gaussian_entropy,
    gaussian_kl,
    squared_distances,
    standard_normal_log_density,
    standardize,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).lognormal(size=(50, 3))


def test_standardize_equals_standard_scaler(X):
    np.testing.assert_allclose(standardize(X), StandardScaler().fit_transform(X), atol=1e-12)
    weight = np.arange(50) % 3 + 0.5
    expected = StandardScaler().fit(X, sample_weight=weight).transform(X)
    np.testing.assert_allclose(standardize(X, weight), expected, atol=1e-12)


def test_standardize_takes_one_column_and_ddof(X):
    np.testing.assert_allclose(standardize(X[:, 0]), standardize(X)[:, 0], atol=1e-14)
    np.testing.assert_allclose(standardize(X, ddof=1).std(axis=0, ddof=1), 1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e149])
def test_standardize_forgets_extreme_scales(X, scale):
    np.testing.assert_allclose(standardize(X * scale), standardize(X), atol=1e-12)


def test_standardize_maps_constant_columns_to_zero():
    X = np.column_stack([np.full(1000, 0.3), np.arange(1000.0)])
    assert X[:, 0].std() > 0
    assert not standardize(X)[:, 0].any()
    assert standardize(X[:, :0]).shape == (1000, 0)


def test_gaussian_helpers_equal_scipy():
    mean, std = np.array([0.0, 2.0, -1.0]), np.array([1.0, 0.1, 3.0])
    np.testing.assert_allclose(gaussian_entropy(std), stats.norm(mean, std).entropy())
    np.testing.assert_allclose(standard_normal_log_density(mean), stats.norm.logpdf(mean))
    normal = stats.norm(mean, std)
    z = normal.rvs((400_000, 3), random_state=0)
    sampled = (normal.logpdf(z) - stats.norm.logpdf(z)).mean(axis=0)
    np.testing.assert_allclose(gaussian_kl(mean, 2 * np.log(std)), sampled, atol=0.02)
    assert gaussian_kl(np.zeros(1), np.zeros(1)) == 0.0


def test_gaussian_kl_by_hand():
    mean, variance = np.array([0.0, 1.0, 0.0, 2.0]), np.array([1.0, 1.0, 4.0, 0.5])
    expected = [0.0, 0.5, 0.5 * (3 - np.log(4)), 0.5 * (4 + 0.5 + np.log(2) - 1)]
    assert gaussian_kl(mean, np.log(variance)).tolist() == pytest.approx(expected)


def test_column_range_is_that_of_numpy(X):
    for array in (X, np.asfortranarray(X), X[:, 0], (10 * X).astype(int), X[:, :0]):
        np.testing.assert_array_equal(column_range(array), np.ptp(array, axis=0))


def test_squared_distances_are_those_of_scipy(X):
    expected = cdist(X + 100, X[:7] + 100, "sqeuclidean")
    np.testing.assert_allclose(squared_distances(X + 100, X[:7] + 100), expected, atol=1e-10)


def test_negative_numbers_are_clipped_in_place(X):
    matrix = X - X.mean(axis=0)
    expected = np.maximum(matrix, 0.0)
    assert clip_below_zero(matrix) is matrix
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("high", [3, 70_000])
def test_classes_are_sorted_as_by_numpy(high):
    classes = np.random.default_rng(0).integers(high, size=500)
    for given in (classes, -classes, classes[:0]):
        np.testing.assert_array_equal(by_class(given), np.argsort(given, kind="stable"))


@pytest.mark.parametrize("largest", [5, 39, 10**6])
def test_compressed_labels_are_those_of_unique(largest):
    labels = np.random.default_rng(0).integers(largest + 1, size=40)
    expected = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(compressed(labels), expected)
    assert compressed(labels[:0]).size == 0
