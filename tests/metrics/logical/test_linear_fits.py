"""Linear fits of least absolute and least largest error."""

import numpy as np

from sklearn_disent.metrics.logical._linear_fits import affine_design, least_absolute


def test_least_absolute_fit_follows_the_scale_of_tiny_targets():
    rng = np.random.default_rng(0)
    design = affine_design(rng.normal(size=(30, 2)))
    targets = rng.standard_t(2, size=(30, 2))
    expected = least_absolute(design, targets)
    found = least_absolute(design, 1e-14 * targets) / 1e-14
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_design_of_constant_codes_is_the_constant():
    np.testing.assert_array_equal(affine_design(np.full((4, 2), 3.0)), np.ones((4, 1)))
