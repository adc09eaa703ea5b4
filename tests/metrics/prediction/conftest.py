"""Data for the tests of predictions."""

import numpy as np
import pytest


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(n, size=400) for n in (2, 3, 5)])
    return factors, factors @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(400, 4))
