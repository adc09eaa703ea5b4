"""Linear fits of least squared, absolute and largest error."""

import numpy as np
import pytest
from scipy import linalg

from sklearn_disent.metrics.logical import _linear_fits
from sklearn_disent.metrics.logical._linear_fits import (
    affine_design,
    least_absolute,
    least_squares,
)


def test_least_absolute_fit_follows_the_scale_of_tiny_targets():
    rng = np.random.default_rng(0)
    design = affine_design(rng.normal(size=(30, 2)))
    targets = rng.standard_t(2, size=(30, 2))
    expected = least_absolute(design, targets)
    found = least_absolute(design, 1e-14 * targets) / 1e-14
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_design_of_constant_codes_is_the_constant():
    np.testing.assert_array_equal(affine_design(np.full((4, 2), 3.0)), np.ones((4, 1)))


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_of_many_rows_are_those_of_scipy(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    design, targets = rng.normal(size=(230, 4)) * [1, 10, 0.1, 5], rng.normal(size=(230, 2))
    design[:, 3] = design[:, 0] + design[:, 1]  # of several equal fits, the shortest
    weight = rng.uniform(size=230) if weighted else None
    root = np.sqrt(np.ones(230) if weight is None else weight)[:, None]
    expected = linalg.lstsq(design * root, targets * root)[0]
    monkeypatch.setattr(_linear_fits, "_CHUNK", 50)
    np.testing.assert_allclose(least_squares(design, targets, weight), expected, atol=1e-12)
