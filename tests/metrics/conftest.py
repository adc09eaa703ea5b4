"""Reference cases for the tests of the metrics."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

REFERENCE = Path(__file__).parents[1] / "reference" / "metrics"


class Case(NamedTuple):
    name: str
    factors: np.ndarray
    """(n, K) classes."""
    values: np.ndarray
    """(n, K) the factors as numbers."""
    codes: np.ndarray
    train: np.ndarray
    test: np.ndarray
    blocks: list[list[int]]
    """Columns of the codes that belong to each factor."""
    golden: dict
    """{metric: {source: value}}."""


@cache
def load_case(name: str) -> Case:
    golden = json.loads((REFERENCE / "golden.json").read_text())[name]
    with np.load(REFERENCE / f"{name}.npz") as data:
        blocks = np.split(data["blocks_flat"], np.cumsum(data["blocks_len"])[:-1])
        return Case(
            name,
            data["factors_int"].astype(int),
            data["factors_float"],
            data["codes"],
            data["train_idx"].astype(int),
            data["test_idx"].astype(int),
            [block.tolist() for block in blocks],
            golden,
        )


def case_names() -> list[str]:
    return sorted(json.loads((REFERENCE / "golden.json").read_text()))


@pytest.fixture(params=case_names())
def case(request) -> Case:
    """Every reference case in turn."""
    return load_case(request.param)


# One of each kind.
KINDS = {"f1_constant", "f1_entanglement", "f1_nonlinear", "f1_rotation"}
KINDS |= {"toy51_a0.60_d1.00", "toy52_b0.80"}


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name in KINDS else pytest.mark.slow) for name in case_names()
    ]
)
def kind_of_case(request) -> Case:
    """For what takes long: one case of each kind in turn, and the others in slow tests."""
    return load_case(request.param)


@pytest.fixture
def get_case():
    """A reference case by its name."""
    return load_case


@pytest.fixture
def reference_dir() -> Path:
    return REFERENCE
