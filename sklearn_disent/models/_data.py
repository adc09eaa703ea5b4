"""From what a user passes as X to float batches: layouts, scaling, and a fast Dataset."""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from skorch.dataset import Dataset
from torch.utils.data import DataLoader

from .._arrays import as_numbers, plain_tensor
from .._lazy import FlatRows, LazyRows

Shape = tuple[int, ...]

_MAX_CHANNELS = 4  # an axis this short is read as channels


class Layout(NamedTuple):
    """How one observation lies in memory: the module's shape, and the user's way to write it."""

    input_shape: Shape  # (n_features,) or (C, H, W)
    kind: str  # "flat", "chw", "hw" or "hwc"

    @property
    def user_shape(self) -> Shape:
        """Shape of one observation as the user passed it."""
        if self.kind == "flat":
            return (prod(self.input_shape),)
        if self.kind == "hw":
            return self.input_shape[1:]
        if self.kind == "hwc":
            return (*self.input_shape[1:], self.input_shape[0])
        return self.input_shape

    def to_module(self, rows: torch.Tensor) -> torch.Tensor:
        """Flat rows in the user's order to ``(n, *input_shape)``, without a copy."""
        if self.kind == "hwc":
            return rows.reshape(-1, *self.user_shape).permute(0, 3, 1, 2)
        return rows.reshape(-1, *self.input_shape)

    def to_user(self, batch: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`to_module`, for arrays that leave the estimator."""
        if self.kind == "hwc":
            batch = np.moveaxis(batch, 1, 3)
        return np.ascontiguousarray(batch).reshape(-1, *self.user_shape)


def find_layout(shape: Shape) -> Layout:
    """Read the layout off the shape of one observation; an ambiguous shape is an error."""
    if len(shape) == 1:
        return Layout(shape, "flat")
    if len(shape) == 2:
        return Layout((1, *shape), "hw")
    if len(shape) == 3:
        first, last = shape[0] <= _MAX_CHANNELS, shape[2] <= _MAX_CHANNELS
        if first and not last:
            return Layout(shape, "chw")
        if last and not first:
            return Layout((shape[2], shape[0], shape[1]), "hwc")
        raise ValueError(
            f"X has observations of shape {shape}, and it is not clear which axis holds the "
            f"channels: exactly one of the first and the last must be at most {_MAX_CHANNELS} "
            "long. Say it with input_shape=(n_channels, height, width)."
        )
    raise ValueError(
        "X must be (n, features), (n, height, width), (n, channels, height, width) or "
        f"(n, height, width, channels), got {len(shape) + 1} dimensions."
    )


def match_layout(shape: Shape, input_shape: Shape) -> Layout:
    """Layout of observations of this shape for a module that takes ``input_shape``."""
    for kind in ("chw", "hw", "hwc", "flat"):
        layout = Layout(input_shape, kind)
        is_possible = kind == "flat" or len(input_shape) == 3
        if (
            is_possible
            and not (kind == "hw" and input_shape[0] != 1)
            and layout.user_shape == shape
        ):
            return layout
    raise ValueError(
        f"X has observations of shape {shape}, expected {input_shape} as (channels, height, "
        "width), the same with channels last, or flattened rows."
    )


def as_rows(X: Any) -> tuple[Any, Shape | None]:
    """Flatten N-d input without a copy; what is not an N-d array is left for validation.

    Returns the rows and the shape of one observation (None where X is left as it is).
    """
    if isinstance(X, LazyRows):
        return FlatRows(X.array, X.rows), X.shape[1:]
    if isinstance(X, torch.utils.data.Dataset | DataLoader):
        raise TypeError(
            f"X must be an array or a tensor, got a {type(X).__name__}: estimators slice, shuffle "
            "and scale rows themselves. Gather it once, X = torch.stack([item[0] for item in "
            "dataset]); for pictures that do not fit into memory, "
            "sklearn_disent.datasets.load_image_folder makes a memory map."
        )
    if isinstance(X, torch.Tensor):
        X = plain_tensor(X).numpy()
    elif isinstance(X, np.ma.MaskedArray):
        X = as_numbers(X, "X")
    elif isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:  # ragged: scikit-learn's own message is the better one
            return X, None
    if not isinstance(X, np.ndarray) or X.ndim < 3:
        return X, None
    return X.reshape(X.shape[0], prod(X.shape[1:])), X.shape[1:]


def check_lazy(rows: FlatRows, validate: Callable[[np.ndarray], np.ndarray], name: str) -> FlatRows:
    """Validate rows that are not in memory: the first two as usual, then whether all are finite."""
    first = validate(rows[: min(2, len(rows))])
    if first.dtype != rows.dtype or first.dtype == bool:
        raise ValueError(
            f"LazyRows must hold numbers, got {rows.dtype}. Convert the file, or pass an array."
        )
    if rows.dtype.kind == "f" and not (np.isfinite(rows.min()) and np.isfinite(rows.max())):
        raise ValueError(f"Input {name} contains NaN or infinity. Drop or replace such rows.")
    return rows


def as_native(rows: np.ndarray) -> np.ndarray:
    """Rows of a type that torch has, without a copy where they are; all but numbers are refused."""
    if rows.dtype.kind not in "biuf":
        raise TypeError(
            f"X must be real numbers, got dtype {rows.dtype}. Convert it, for instance with "
            "X.astype(float)."
        )
    if rows.dtype.itemsize > 8:
        return rows.astype(np.float64)
    return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))


def check_outputs(net: Any, *outputs: np.ndarray) -> None:
    """Refuse what a net makes of X where it is not finite."""
    is_bad = np.zeros(len(outputs[0]), dtype=bool)
    for output in outputs:
        is_bad |= ~np.isfinite(output.reshape(len(output), -1)).all(axis=1)
    if is_bad.any():
        raise ValueError(
            f"{type(net).__name__} has no finite output for {is_bad.sum()} of {len(is_bad)} rows "
            "of its input: they are far from all that it was trained on, or training has left it "
            "with extreme weights. Check the units of X, or train with a smaller lr."
        )


def read_input_shape(input_shape: Any) -> Shape | None:
    """The parameter of that name as ``(n_features,)`` or ``(C, H, W)``."""
    if input_shape is None:
        return None
    shape = tuple(input_shape)
    is_integer = all(isinstance(size, Integral) and int(size) > 0 for size in shape)
    if not is_integer or not 1 <= len(shape) <= 3:
        raise ValueError(
            "input_shape must be (n_features,), (height, width) or (channels, height, width) "
            f"of positive integers, got {input_shape!r}."
        )
    return (1, *shape) if len(shape) == 2 else shape


def check_float32(rows: np.ndarray) -> None:
    """Refuse values that float32 cannot hold."""
    if rows.dtype == np.float64 and rows.size:
        low, high = rows.min(), rows.max()
        limit = np.finfo(np.float32).max
        if low < -limit or high > limit:
            raise ValueError(
                f"X has values from {low} to {high}, too large for float32. Scale X, for "
                "instance with StandardScaler."
            )


def check_unit_interval(rows: np.ndarray, scale: float, rule: str, remedy: str) -> None:
    """Refuse values that are outside of [0, 1] after scaling."""
    low, high = rows.min() * scale, rows.max() * scale
    if low < -1e-6 or high > 1 + 1e-6:
        raise ValueError(f"{rule} in [0, 1], X has values from {low:.6g} to {high:.6g}. {remedy}")


def check_n_samples(n_samples: int) -> None:
    """Refuse a number of draws that is not a positive integer."""
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")


class Units(NamedTuple):
    """What the numbers of X mean to a model: read off the data of its first fit."""

    # "uint8": values up to 255. "bits": uint8, but 0 and 1 only. "unit": other types, in [0, 1].
    # "real": other types, any values. "unknown": before a fit.
    kind: str
    uint8_scale: float  # what values of type uint8 are multiplied by


def find_units(rows: np.ndarray, *, is_bounded: bool) -> Units:
    """Units of training data; a bounded model takes values in [0, 1] only."""
    if rows.dtype == np.uint8:
        return Units("bits", 1.0) if rows.max() <= 1 else Units("uint8", 1.0 / 255.0)
    if is_bounded:  # whatever is uint8 later on can only be meant to be scaled
        return Units("unit", 1.0 / 255.0)
    return Units("unit" if rows.min() >= 0 and rows.max() <= 1 else "real", 1.0)


def check_units(rows: np.ndarray, units: Units) -> None:
    """Refuse numbers that would mean one thing as uint8 and another as float."""
    if not rows.size:
        return
    high = rows.max()
    if rows.dtype != np.uint8:
        if units.kind == "uint8" and (rows.min() < 0 or high > 1):
            raise ValueError(
                "The model was trained on uint8 values, which are divided by 255; X has other "
                f"values from {rows.min():.6g} to {high:.6g}. Pass uint8, or divide X by 255."
            )
        return
    if units.uint8_scale != 1.0 and units.kind != "unknown" and high == 1:
        trained = "uint8 values up to 255" if units.kind == "uint8" else "values in [0, 1]"
        raise ValueError(
            f"X has the uint8 values 0 and 1 only, and the model, trained on {trained}, divides "
            "uint8 by 255. Pass 255 * X, or X.astype(float), whichever is meant."
        )
    if units.kind in ("bits", "unit") and units.uint8_scale == 1.0 and high > 1:
        trained = "the uint8 values 0 and 1" if units.kind == "bits" else "values in [0, 1]"
        raise ValueError(
            f"The model was trained on {trained} and does not scale uint8; X has uint8 values up "
            f"to {high}. Pass X / 255, or X > threshold."
        )


class RowDataset(Dataset):
    """Rows with their labels, fetched a whole batch at a time.

    ``X`` and ``y`` are the user's own objects, which skorch's scoring callbacks hand to scorers;
    batches come from ``rows``, the validated array. ``extras`` are further arrays that a model or
    its guidance needs per row, by name; all that is asked of them is ``extra[indices]``.
    """

    def __init__(self, rows: np.ndarray, X: Any, y: Any, extras: dict[str, Any]) -> None:
        # Without X and y: what skorch makes of them, by trying indices, fails for text.
        super().__init__(None, length=len(rows))
        self.X, self.y = X, y
        self.rows = rows
        self.extras = extras

    def __getitem__(self, index: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        X, extras = self.__getitems__([index])
        return X[0], {name: extra[0] for name, extra in extras.items()}

    def __getitems__(self, indices: list[int]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        # NumPy, not torch, does the fetch: rows may be a read-only memory map.
        extras = {n: torch.from_numpy(extra[indices]) for n, extra in self.extras.items()}
        return torch.from_numpy(self.rows[indices]), extras


def gather(outputs: Iterable[Sequence[torch.Tensor]], n_rows: int) -> list[np.ndarray]:
    """Arrays of all rows from tensors of one batch after the other.

    There is room for all from the beginning: tensors that are kept one by one stand in the way of
    the next batches, so that the heap grows with the data.
    """
    gathered: list[np.ndarray] = []
    start = stop = 0
    for output in outputs:
        parts = [part.cpu().numpy() for part in output]
        gathered = gathered or [np.empty((n_rows, *p.shape[1:]), p.dtype) for p in parts]
        start, stop = stop, stop + len(parts[0])
        for whole, part in zip(gathered, parts):
            whole[start:stop] = part
    return gathered


def _identity(batch: Any) -> Any:
    return batch


def batch_loader(dataset: Any, **kwargs: Any) -> DataLoader:
    """A DataLoader that takes whole batches from :class:`RowDataset` as they are."""
    if hasattr(dataset, "__getitems__"):
        kwargs.setdefault("collate_fn", _identity)
    return DataLoader(dataset, **kwargs)
