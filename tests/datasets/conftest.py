"""Helpers of the data set tests."""

import numpy as np
import pytest


def _cramers_v(a, b):
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = ((table - expected) ** 2 / expected)[expected > 0].sum()
    return np.sqrt(chi2 / table.sum() / (min(table.shape) - 1))


@pytest.fixture(scope="session")
def cramers_v():
    """Cramér's V of two columns of classes."""
    return _cramers_v
