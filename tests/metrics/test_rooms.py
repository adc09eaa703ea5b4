"""Rooms of the metrics: what they export, and the matrices that refuse misspelt options."""

import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

from sklearn_disent import metrics
from sklearn_disent._params import constraints_of
from sklearn_disent.metrics._relevance import _KINDS

ROOT = Path(metrics.__file__).parent
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
MATRICES = list(_KINDS.values())
FACTORS = np.random.default_rng(0).integers(3, size=(60, 2))


@pytest.mark.parametrize("room", ROOMS)
def test_room_exports_what_its_modules_and_metrics_do(room):
    module = importlib.import_module(f"sklearn_disent.metrics.{room}")
    assert module.__doc__
    public = {
        name
        for path in (ROOT / room).glob("_[a-z]*.py")
        for name in getattr(
            importlib.import_module(f"sklearn_disent.metrics.{room}.{path.stem}"), "__all__", []
        )
    }
    assert set(module.__all__) == public
    for name in public:
        assert getattr(metrics, name) is getattr(module, name)


def test_only_params_imports_private_validation():
    for path in ROOT.rglob("*.py"):
        assert "_param_validation" not in path.read_text(), path.name


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda function: function.__name__)
def test_matrix_has_a_row_per_factor_and_a_column_per_code(matrix):
    codes = np.column_stack([FACTORS, FACTORS[:, 0] * -2.0])
    result = matrix(FACTORS, codes)
    assert result.shape == (2, 3)
    assert (result >= 0).all()
    assert (result[0, [0, 2]] > result[0, 1]).all()


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda function: function.__name__)
def test_matrix_refuses_misspelt_options(matrix):
    with pytest.raises(TypeError, match="n_bin"):
        matrix(FACTORS, FACTORS, n_bin=3)
    checked = set(constraints_of(matrix))
    options = {p.name for p in inspect.signature(matrix).parameters.values() if p.kind == 3}
    assert options == checked
    for name in options:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {matrix.__name__}"):
            matrix(FACTORS, FACTORS, **{name: "unifrom"})
