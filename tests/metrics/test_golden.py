"""Every metric against reference values, on every reference case."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from sklearn_disent.metrics import mig_score

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")


class Golden(NamedTuple):
    metric: str
    """Key in golden.json."""
    source: str
    compute: Callable
    """From a case (conftest.py: factors, values, codes, train, test, blocks) to our value."""
    n_eval: int | None = None
    """Votes of a stochastic metric, whose tolerance is 3 sqrt(p (1 - p) / n_eval)."""
    tolerance: float = 1e-9


# One line per metric and source.
GOLDEN = [
    # _information
    Golden("mig", "ref[20bins]", lambda c: mig_score(c.factors, c.codes)),
    Golden("mig", "dlib", lambda c: mig_score(c.factors, c.codes)),
    Golden("mig", "ref[10bins]", lambda c: mig_score(c.factors, c.codes, n_bins=10)),
    # _predictive
    # _interventional
    # _unsupervised
    # _logical
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g.metric}-{g.source}")
def test_metric_equals_reference(golden, case):
    value = golden.compute(case)
    assert np.isfinite(value)
    expected = case.golden[golden.metric].get(golden.source)
    if isinstance(expected, dict) and "mean" in expected:
        expected = expected["mean"]
    if expected is None or isinstance(expected, dict):
        # The reference failed here (constant codes): ours must only be finite, as asserted.
        return
    tolerance = golden.tolerance
    if golden.n_eval is not None:
        # A share of exactly 0 or 1 would leave no tolerance: one vote may always differ.
        spread = max(expected * (1 - expected), 1 / golden.n_eval)
        tolerance = 3 * np.sqrt(spread / golden.n_eval)
    assert value == pytest.approx(expected, abs=tolerance)
