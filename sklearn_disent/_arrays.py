"""What people pass as arrays, made plain: tensors, masked arrays, lists of unequal rows.

torch is never imported here: whoever passes a tensor has loaded it already.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_tensor(value: Any) -> bool:
    """Whether it is a torch tensor; without torch loaded there are none."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def plain_tensor(values: Any) -> Any:
    """A tensor in main memory, without gradient and of a type that NumPy has; others as given."""
    if not is_tensor(values):
        return values
    values = values.detach().cpu()
    # NumPy lacks bfloat16 and its like.
    is_short = values.is_floating_point() and values.element_size() < 4
    return values.float() if is_short else values


def is_missing(value: Any) -> bool:
    """Whether one entry is None, nan or pandas.NA."""
    # pandas.NA is recognized by its name: compared with anything it gives NA, and pandas is
    # optional.
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def as_array(values: Any, name: str) -> NDArray:
    """An array of whatever is one; masked entries are missing values, nan or None."""
    try:
        array = np.asanyarray(plain_tensor(values))
    except Exception as error:  # containers raise errors of their own packages
        raise ValueError(
            f"{name} cannot be read as an array: {error}. Pass rows of equal length, of numbers."
        ) from error
    if isinstance(array, np.ma.MaskedArray):
        return _filled(array)
    return np.asarray(array)


def _filled(array: np.ma.MaskedArray) -> NDArray:
    mask = np.ma.getmaskarray(array)
    if not mask.any():
        return np.asarray(array)
    if array.dtype.kind == "f":
        return array.filled(np.nan)
    filled = np.asarray(array).astype(object)
    filled[mask] = None
    return filled


def as_numbers(values: Any, name: str) -> NDArray:
    """The same, where masked entries of whole numbers are nan as well."""
    array = as_array(values, name)
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biu":
        return array.astype(np.float64)
    return array
