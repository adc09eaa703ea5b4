"""Images of one or three channels, in any layout, side by side in one picture."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._common import Axes, Colormap

# Gray between images: it stands out from black and from white grounds.
_GAP = 0.75

# Intensities of a decoder may leave [0, 1] a little; beyond this they are on another scale.
_OVERSHOOT = 0.5


def as_images(array: ArrayLike, image_shape: Sequence[int] | None = None) -> NDArray | None:
    """Observations as (n, height, width) or (n, height, width, 3); None if they are plain rows.

    `image_shape` says that rows are images, and tells which axis holds the channels.
    """
    array = np.asarray(array)
    shape = None if image_shape is None else tuple(image_shape)
    if array.ndim == 2:
        if shape is None:
            return None
        if prod(shape) != array.shape[1]:
            raise ValueError(
                f"image_shape={shape} has {prod(shape)} values, but the observations have "
                f"{array.shape[1]} features. Give (height, width) or (channels, height, width)."
            )
        array = array.reshape(-1, *shape)
    if array.ndim == 3:
        return array
    if array.ndim != 4:
        raise ValueError(
            "Observations must be rows (n, features) or images (n, height, width), "
            "(n, channels, height, width) or (n, height, width, channels), got "
            f"{array.ndim} dimensions."
        )
    images = np.moveaxis(array, 1 + _channel_axis(array.shape[1:], shape), -1)
    return images[..., 0] if images.shape[-1] == 1 else images


def _channel_axis(shape: tuple[int, ...], hint: tuple[int, ...] | None) -> int:
    axes = [axis for axis in (0, 2) if shape[axis] in (1, 3)]
    # A hint of (C, H, W) tells (3, 8, 3) with channels first from one with channels last.
    if len(axes) == 2 and hint is not None and len(hint) == 3 and hint[0] in (1, 3):
        axes = [0] if shape == hint else [2] if shape == (*hint[1:], hint[0]) else axes
    if len(axes) != 1:
        raise ValueError(
            "Images must have 1 or 3 channels, on either the first or the last axis of an "
            f"observation; got observations of shape {shape}. Give image_shape=(channels, height, "
            "width), or select channels."
        )
    return axes[0]


def intensities(*arrays: NDArray) -> list[NDArray]:
    """Arrays as intensities in [0, 1], all on one scale; uint8 is 0..255 unless all are 0 or 1."""
    scaled = [_from_bytes(array) for array in arrays]
    low = min(array.min() for array in scaled)
    high = max(array.max() for array in scaled)
    if low < -_OVERSHOOT or high > 1 + _OVERSHOOT:
        # Standardized pixels, or pixels from 0 to 16: only their own range is known.
        return [(array - low) / ((high - low) or 1.0) for array in scaled]
    return [np.clip(array, 0.0, 1.0) for array in scaled]


def _from_bytes(array: NDArray) -> NDArray:
    if array.dtype == np.uint8 and array.max() > 1:
        return array / 255.0
    return array.astype(np.float64)


def mosaic(images: NDArray) -> NDArray:
    """One picture of (rows, columns, height, width[, 3]) images with gray lines between them."""
    n_rows, n_columns, height, width = images.shape[:4]
    gap = gap_of(images)
    size = n_rows * (height + gap) - gap, n_columns * (width + gap) - gap
    picture = np.full((*size, *images.shape[4:]), _ground(images))
    for row in range(n_rows):
        for column in range(n_columns):
            top, left = row * (height + gap), column * (width + gap)
            picture[top : top + height, left : left + width] = images[row, column]
    return picture


def in_rows(images: NDArray, rows: Sequence[int], n_rows: int) -> NDArray:
    """Rows of (rows, columns, height, width[, 3]) images among others, which stay blank."""
    placed = np.full((n_rows, *images.shape[1:]), _ground(images))
    placed[list(rows)] = images
    return placed


def _ground(images: NDArray) -> float:
    """What stands where no image is."""
    # The colormap has a color of its own for nan; three channels have no such thing.
    return np.nan if images.ndim == 4 else _GAP


def gap_of(images: NDArray) -> int:
    """Pixels between (rows, columns, height, width[, 3]) images."""
    return max(1, images.shape[2] // 32)


def show_mosaic(ax: Axes, images: NDArray, cmap: Colormap) -> None:
    """Draw (rows, columns, height, width[, 3]) images of intensities in [0, 1]."""
    colors = cmap.with_extremes(bad=str(_GAP))
    ax.imshow(mosaic(images), cmap=colors, vmin=0, vmax=1, interpolation="nearest")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def centers(images: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the centers of the rows and of the columns of a mosaic are, in pixels."""
    gap = gap_of(images)
    rows, columns = (
        np.arange(n_images) * (side + gap) + (side - 1) / 2
        for n_images, side in zip(images.shape[:2], images.shape[2:4])
    )
    return rows, columns
