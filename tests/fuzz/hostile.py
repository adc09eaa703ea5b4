"""Hostile data by name: values that break numerics, and containers that break conversions.

Everything here is a function of a generator, so that a call is told by a few words and a seed.
"""

import numpy as np
import pandas as pd
import polars as pl
import torch
from scipy import sparse

# -- values ----------------------------------------------------------------------------------


def _informative(rng, n, width, factors):
    mixing = rng.normal(size=(factors.shape[1], width)) * rng.integers(2, size=width)
    return factors @ mixing + rng.choice([0.0, 0.1]) * rng.normal(size=(n, width))


def _spoilt(rng, values, what, share=0.1):
    values = values.astype(float)
    values[rng.random(values.shape) < share] = what
    return values


def _with_outlier(rng, values, size):
    values[rng.integers(len(values))] *= size
    return values


NUMBERS = {
    "normal": lambda rng, n, w, y: rng.normal(size=(n, w)),
    "informative": _informative,
    "constant": lambda rng, n, w, y: np.full((n, w), 0.3),
    "zeros": lambda rng, n, w, y: np.zeros((n, w)),
    "one constant": lambda rng, n, w, y: np.column_stack([rng.normal(size=(n, w)), np.ones(n)]),
    "tiny": lambda rng, n, w, y: rng.normal(size=(n, w)) * 1e-170,
    "subnormal": lambda rng, n, w, y: rng.integers(-3, 4, size=(n, w)) * 5e-324,
    "small": lambda rng, n, w, y: _informative(rng, n, w, y) * 1e-12,
    "large": lambda rng, n, w, y: _informative(rng, n, w, y) * 1e12,
    "huge": lambda rng, n, w, y: rng.uniform(-1, 1, size=(n, w)) * 1e150,
    "beyond": lambda rng, n, w, y: rng.normal(size=(n, w)) * 1e200,
    "largest": lambda rng, n, w, y: rng.choice([-1, 1], size=(n, w)) * np.finfo(float).max,
    "scales": lambda rng, n, w, y: rng.normal(size=(n, w)) * 10.0 ** rng.uniform(-149, 149, w),
    "offset": lambda rng, n, w, y: 1e15 + rng.normal(size=(n, w)),
    "next to": lambda rng, n, w, y: np.nextafter(1.0, 2.0 * rng.integers(2, size=(n, w))),
    "doubled": lambda rng, n, w, y: np.repeat(rng.normal(size=(n, 1)), w, axis=1),
    "collinear": lambda rng, n, w, y: np.outer(rng.normal(size=n), np.arange(w) - 1.0),
    "two values": lambda rng, n, w, y: rng.integers(2, size=(n, w)) * 1.0,
    "integers": lambda rng, n, w, y: rng.integers(-5, 6, size=(n, w)),
    "negative zero": lambda rng, n, w, y: rng.choice([0.0, -0.0], size=(n, w)),
    "outlier": lambda rng, n, w, y: _with_outlier(rng, rng.normal(size=(n, w)), 1e9),
    "far outlier": lambda rng, n, w, y: _with_outlier(rng, rng.normal(size=(n, w)), 1e140),
    "heavy": lambda rng, n, w, y: np.clip(rng.standard_cauchy(size=(n, w)) ** 9, -1e149, 1e149),
    "unit": lambda rng, n, w, y: rng.random(size=(n, w)),
    "some nan": lambda rng, n, w, y: _spoilt(rng, rng.normal(size=(n, w)), np.nan),
    "all nan": lambda rng, n, w, y: np.full((n, w), np.nan),
    "some inf": lambda rng, n, w, y: _spoilt(rng, rng.normal(size=(n, w)), np.inf),
    "row inf": lambda rng, n, w, y: _spoilt(rng, rng.normal(size=(n, w)), -np.inf, 0.5),
}

CLASSES = {
    "classes": lambda rng, n, k: rng.integers(rng.integers(2, 5, size=k), size=(n, k)),
    "binary": lambda rng, n, k: rng.integers(2, size=(n, k)),
    "single": lambda rng, n, k: np.zeros((n, k), int),
    "one single": lambda rng, n, k: np.column_stack(
        [np.ones(n, int), rng.integers(3, size=(n, k))]
    ),
    "distinct": lambda rng, n, k: np.column_stack([rng.permutation(n) for _ in range(k)]),
    "rare": lambda rng, n, k: (np.arange(n)[:, None] == rng.integers(n, size=k)).astype(int),
    "same": lambda rng, n, k: np.repeat(rng.integers(3, size=(n, 1)), k, axis=1),
    "signed": lambda rng, n, k: rng.integers(-3, 3, size=(n, k)),
    "far apart": lambda rng, n, k: rng.integers(2, size=(n, k)) * 10**12,
    "beyond 2**53": lambda rng, n, k: 2**53 + rng.integers(3, size=(n, k)),
    "uint64": lambda rng, n, k: np.uint64(2**64 - 1) - rng.integers(3, size=(n, k)).astype("u8"),
    "int64 ends": lambda rng, n, k: rng.choice([-(2**63), 2**63 - 1], size=(n, k)),
    "strings": lambda rng, n, k: rng.choice(["a", "b", "", "é"], size=(n, k)),
    "bool": lambda rng, n, k: rng.random((n, k)) < 0.5,
    "whole floats": lambda rng, n, k: rng.integers(3, size=(n, k)) * 1.0,
    "continuous": lambda rng, n, k: rng.normal(size=(n, k)),
    "tiny continuous": lambda rng, n, k: rng.random((n, k)) * 1e-200,
    "subnormal": lambda rng, n, k: rng.integers(3, size=(n, k)) * 5e-324,
    "huge": lambda rng, n, k: rng.choice([-1e308, 1e308, 0.5], size=(n, k)),
    "huge whole": lambda rng, n, k: rng.choice([-1e308, 1e308], size=(n, k)),
    "near": lambda rng, n, k: 1 + rng.integers(3, size=(n, k)) * 2e-16,
    "some nan": lambda rng, n, k: _spoilt(rng, rng.integers(3, size=(n, k)), np.nan),
    "all nan": lambda rng, n, k: np.full((n, k), np.nan),
    "some inf": lambda rng, n, k: _spoilt(rng, rng.integers(3, size=(n, k)), np.inf),
}

WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "counts": lambda rng, n: rng.integers(4, size=n),
    "random": lambda rng, n: rng.random(n),
    "tiny": lambda rng, n: np.full(n, 1e-300),
    "huge": lambda rng, n: np.full(n, 1e300),
    "small": lambda rng, n: np.full(n, 1e-30),
    "large": lambda rng, n: np.full(n, 1e30),
    "apart": lambda rng, n: rng.choice([1e-300, 1.0, 1e300], size=n),
    "uneven": lambda rng, n: rng.choice([1e-30, 1.0, 1e30], size=n),
    "subnormal": lambda rng, n: np.full(n, 5e-324),
    "one row": lambda rng, n: np.arange(n) == 0,
    "two rows": lambda rng, n: (np.arange(n) < 2) * 1.0,
    "zeros": lambda rng, n: np.zeros(n),
    "negative": lambda rng, n: -np.ones(n),
    "nan": lambda rng, n: np.full(n, np.nan),
    "inf": lambda rng, n: np.full(n, np.inf),
    "short": lambda rng, n: np.ones(max(n - 1, 0)),
    "two axes": lambda rng, n: np.ones((n, 1)),
    "strings": lambda rng, n: np.full(n, "x"),
    "list": lambda rng, n: [1] * n,
    "complex": lambda rng, n: np.ones(n, complex),
    "ragged": lambda rng, n: [[1.0], 2.0] * (n // 2),
    "objects": lambda rng, n: np.array([None] * n, dtype=object),
    "masked": lambda rng, n: np.ma.masked_array(np.ones(n), np.arange(n) == 0),
    "tensor": lambda rng, n: torch.ones(n, requires_grad=True),
    "bool": lambda rng, n: np.ones(n, bool),
}

# -- containers ------------------------------------------------------------------------------


def _tensor(array, dtype=None, grad=False):
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or array.dtype == np.longdouble:
        return array
    tensor = torch.as_tensor(np.ascontiguousarray(array)).to(dtype)
    return tensor.requires_grad_() if grad and tensor.is_floating_point() else tensor


def _masked(array, share):
    mask = np.random.default_rng(array.size).random(array.shape) < share
    return np.ma.masked_array(array, mask)


def _readonly(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def _names(array):
    return [f"c{j}" for j in range(array.shape[1])]


def _nullable(array):
    frame = pd.DataFrame(array).convert_dtypes()
    return frame.mask(pd.DataFrame(np.arange(array.size).reshape(array.shape) % 11 == 5))


def _as_float(array, dtype):
    if array.dtype.kind not in "biuf":
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype)


# Always there: one of them is chosen most of the time.
PLAIN = {
    "array": lambda a: a,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda a: a[::-1, ::-1],
    "readonly": _readonly,
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())),
    "pandas": pd.DataFrame,
    "polars": lambda a: pl.DataFrame(a.tolist(), schema=_names(a), orient="row", strict=False),
    "tensor": _tensor,
    "float32": lambda a: _as_float(a, np.float32),
}
ODD = {
    "gradient": lambda a: _tensor(a, grad=True),
    "bfloat16": lambda a: _tensor(a, torch.bfloat16),
    "half tensor": lambda a: _tensor(a, torch.float16, grad=True),
    "masked none": lambda a: _masked(a, 0.0),
    "masked some": lambda a: _masked(a, 0.1),
    "masked all": lambda a: _masked(a, 1.1),
    "float16": lambda a: _as_float(a, np.float16),
    "uint8": lambda a: _as_float(a, np.uint8),
    "int8": lambda a: _as_float(a, np.int8),
    "uint16": lambda a: _as_float(a, np.uint16),
    "uint64": lambda a: _as_float(a, np.uint64),
    "longdouble": lambda a: _as_float(a, np.longdouble),
    "complex": lambda a: _as_float(a, np.complex128),
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "objects": lambda a: a.astype(object),
    "nullable": _nullable,
    "category": lambda a: pd.DataFrame(a).astype("category"),
    "text": lambda a: a.astype(str),
    "bytes": lambda a: _as_float(a, "S4"),
    "dates": lambda a: np.zeros(a.shape, "datetime64[s]"),
    "sparse": lambda a: sparse.csr_array(_as_float(a, float)) if a.dtype.kind in "biuf" else a,
    "column": lambda a: a[:, 0],
    "three axes": lambda a: a[:, :, None],
    "scalar": lambda a: 3.0,
    "none": lambda a: None,
    "empty": lambda a: [],
    "no rows": lambda a: a[:0],
    "no columns": lambda a: a[:, :0],
    "short": lambda a: a[:-1],
    "ragged": lambda a: [row[: 1 + i % 2] for i, row in enumerate(a.tolist())],
    "dict": lambda a: {"a": a},
    "series": lambda a: pd.Series(a[:, 0]),
    "void": lambda a: np.zeros(len(a), [("a", float), ("b", int)]),
    "nested": lambda a: [[[v] for v in row] for row in a.tolist()],
    "generator": lambda a: iter(a.tolist()),
    "word": lambda a: "codes",
}
CONTAINERS = {**PLAIN, **ODD}
