"""Results of many calls, recorded once: any change that was not meant shows.

A file of tests names its calls in groups, ``{group: function that gives {label: call}}``, compares
with `check`, and is run by itself to record anew::

    PYTHONPATH=tests python tests/metrics/test_recorded.py
"""

import json
import platform
import types
import typing
import warnings
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sklearn

REFERENCE = Path(__file__).parent / "reference"
N_LETTERS = 45
"""Of a warning or an error; what follows may hold numbers."""


def choices(hint):
    """All values that the Literals of an annotation name, in order."""
    members = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return list(members)
    if typing.get_origin(hint) is typing.Annotated:
        return choices(members[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [value for member in members for value in choices(member)]
    return []


def numbers(result):
    """All numbers of a result, or two sums of many."""
    if is_dataclass(result):
        result = [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result) if key != "DESCR"]
    if isinstance(result, tuple | list):
        flat = np.concatenate([np.zeros(0), *map(numbers, result)])
    elif isinstance(result, str):
        flat = np.frombuffer(result.encode(), dtype=np.uint8).astype(float)
    elif result is None:
        flat = np.zeros(0)
    else:
        array = np.asarray(result)
        flat = numbers(array.tolist()) if array.dtype.kind in "UO" else array.ravel().astype(float)
    return flat if len(flat) <= 8 else np.array([flat.sum(), flat @ np.cos(np.arange(len(flat)))])


def outcome(call):
    """Values, and how errors and warnings begin."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            values, error = numbers(call()).round(9).tolist(), ""
        except (ValueError, TypeError) as problem:
            values, error = [], f"{type(problem).__name__}: {problem}"[:N_LETTERS]
    own = [w for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning)]
    messages = sorted({str(w.message)[:N_LETTERS] for w in own})
    return {"values": values, "error": error, "warnings": messages}


def where():
    """What values may depend on beside the package."""
    return [*sklearn.__version__.split(".")[:2], platform.machine()]


@cache
def recorded(name):
    return json.loads((REFERENCE / name).read_text())


def check(name, group, calls):
    """Compare one group of calls with what a file below reference/ has of it."""
    if where() != recorded(name)["where"]:
        pytest.skip("Splits, trees and solvers of another scikit-learn may give other values.")
    expected, found = recorded(name)[group], {label: outcome(call) for label, call in calls.items()}
    assert list(found) == list(expected)
    for label, result in found.items():
        values = result.pop("values"), expected[label]["values"]
        np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6, err_msg=label)
        assert result == {key: expected[label][key] for key in result}, label


def record(name, groups):
    """Write a file of results of all groups of calls."""
    lines = [f'"where": {json.dumps(where())}']
    for group, calls in groups.items():
        found = {label: outcome(call) for label, call in calls().items()}
        lines.append(f"{json.dumps(group)}: {json.dumps(found)}")
    (REFERENCE / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")
