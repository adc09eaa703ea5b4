"""Regions of images that must be reconstructed well: bounding boxes and masks as fit metadata."""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sklearn_disent.models._base import Terms, VAEOutput
from sklearn_disent.models._data import Layout


class RegionMixin:
    """A VAE whose ``fit`` takes boxes or a mask; has the parameters lambda_box, box_image_shape."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> Self:
        """Train the module.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, H, W), (n, C, H, W) or (n, H, W, C)
            Observations: NumPy array, memory map, torch tensor, DataFrame or nested list.
        y : array-like of shape (n,) or (n, n_factors) or None, default=None
            Labels. Training uses them if ``supervised`` is set; scoring callbacks do, too.
        boxes : array-like of shape (n, 4) or (n, k, 4), default=None
            Bounding boxes (top, left, bottom, right) of what matters, k per image, so that a box
            is ``image[top:bottom, left:right]``. NaN stands for no box.
        mask : array-like of shape (n, H, W) or of that of X, default=None
            Instead of boxes, a weight in [0, 1] for every pixel.

        Returns
        -------
        self : object
        """
        cold = not (self.warm_start and self.initialized_)
        return self._fit(X, y, cold=cold, boxes=boxes, mask=mask)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> Self:
        """Train for ``max_epochs`` further epochs.

        Parameters
        ----------
        X : array-like
            Observations, as in :meth:`fit`.
        y : array-like or None, default=None
            Labels, as in :meth:`fit`.
        classes : None
            Not used; skorch's callers pass it.
        boxes, mask : array-like or None, default=None
            As in :meth:`fit`.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, cold=not self.initialized_, boxes=boxes, mask=mask)

    def _read_fit_arrays(
        self,
        rows: NDArray,
        y: Any,
        *,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        extras = super()._read_fit_arrays(rows, y, **options)
        if boxes is not None and mask is not None:
            raise ValueError("Pass boxes or mask, not both: a mask can hold the boxes.")
        if boxes is not None:
            boxes = read_boxes(boxes, len(rows), self._layout, self.box_image_shape)
            return {**extras, "boxes": boxes}
        if mask is not None:
            return {**extras, "mask": read_mask(mask, len(rows), self._layout)}
        return extras

    def _objective(self, x: Tensor, output: VAEOutput, extras: Any) -> Terms:
        terms = super()._objective(x, output, extras)
        if not isinstance(extras, dict) or not ({"boxes", "mask"} & set(extras)):
            return terms
        if "boxes" in extras:
            weight = box_mask(extras["boxes"].to(self.device), tuple(x.shape[2:]))[:, None]
        else:
            weight = extras["mask"].to(self.device, torch.float32)
            weight = weight[:, None] if weight.ndim == 3 else self._layout.to_module(weight)
        error = region_error(x, self._observed_mean(output.decoded), weight)
        terms["region"] = (self.lambda_box, error.mean())
        return terms


def region_error(x: Tensor, reconstructed: Tensor, weight: Tensor) -> Tensor:
    """``|| w * x - w * x_hat ||^2`` per image; ``weight`` is broadcast over channels."""
    return ((x - reconstructed) * weight).square().flatten(1).sum(1)


def box_mask(boxes: Tensor, image_shape: tuple[int, int]) -> Tensor:
    """1 within any of the boxes (n, k, 4) of an image, else 0: (n, height, width)."""
    top, left, bottom, right = boxes[..., None].unbind(2)
    rows = torch.arange(image_shape[0], device=boxes.device)
    columns = torch.arange(image_shape[1], device=boxes.device)
    in_rows = (rows >= top) & (rows < bottom)
    in_columns = (columns >= left) & (columns < right)
    return (in_rows[..., :, None] & in_columns[..., None, :]).any(1).float()


def read_boxes(
    boxes: ArrayLike,
    n_rows: int,
    layout: Layout,
    box_image_shape: ArrayLike | None = None,
) -> NDArray[np.int32]:
    """Boxes (n, k, 4) in pixels of the module's images; one that is absent covers nothing."""
    height, width = _image_size(layout, "boxes")
    given = np.asarray(boxes, dtype=np.float64)
    given = given[:, None] if given.ndim == 2 else given
    if given.ndim != 3 or given.shape[2] != 4:
        raise ValueError(
            "boxes must be (n_images, n_boxes, 4), each (top, left, bottom, right), got shape "
            f"{np.shape(boxes)}."
        )
    _check_length("boxes", len(given), n_rows)
    shape = (height, width) if box_image_shape is None else tuple(box_image_shape)
    if len(shape) != 2 or not all(side > 0 for side in shape):
        raise ValueError(
            f"box_image_shape must be (height, width) of the images that boxes were measured in, "
            f"got {box_image_shape!r}."
        )
    missing = np.isnan(given)
    _refuse(missing.any(2) & ~missing.all(2), given, "has NaN beside numbers")
    absent = missing.all(2)
    top, left, bottom, right = np.moveaxis(given, 2, 0)
    _refuse((bottom <= top) | (right <= left), given, "is empty; NaN stands for no box")
    outside = (top < 0) | (left < 0) | (bottom > shape[0]) | (right > shape[1])
    _refuse(
        outside,
        given,
        f"leaves the image of {shape[0]} x {shape[1]} pixels. Clip it, or set box_image_shape if "
        "it was measured in images of another size",
    )
    scale = np.array([height / shape[0], width / shape[1]] * 2)
    # Outwards, so that no box vanishes; the rounding forgives the last digit of the scale.
    scaled = np.where(absent[..., None], 0.0, given * scale).round(6)
    scaled[..., :2], scaled[..., 2:] = np.floor(scaled[..., :2]), np.ceil(scaled[..., 2:])
    return scaled.astype(np.int32)


def read_mask(mask: ArrayLike, n_rows: int, layout: Layout) -> NDArray:
    """Weights of pixels (n, height, width), or of all values in the layout of X."""
    size = _image_size(layout, "mask")
    weights = np.asarray(mask)
    if weights.dtype == bool:
        weights = weights.view(np.uint8)
    if weights.ndim < 2 or weights.shape[1:] not in (size, layout.user_shape):
        raise ValueError(
            f"mask must be (n_images, {size[0]}, {size[1]}), or of the shape of X, got shape "
            f"{weights.shape}."
        )
    _check_length("mask", len(weights), n_rows)
    if weights.dtype.kind not in "uif" or not (weights.min() >= 0 and weights.max() <= 1):
        raise ValueError(
            "mask must hold weights from 0 to 1, got others. Use mask > 0 or the like."
        )
    # Three dimensions are left to the pixels; whatever else is flattened, as X is.
    return weights if weights.shape[1:] == size else weights.reshape(len(weights), -1)


def _image_size(layout: Layout, name: str) -> tuple[int, int]:
    if len(layout.input_shape) != 3:
        raise ValueError(
            f"{name} need images, but X has rows of {layout.input_shape[0]} values. Set "
            "input_shape if these are flattened images."
        )
    return layout.input_shape[1], layout.input_shape[2]


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(f"{name} must have one entry per image, {n_rows}, got {length}.")


def _refuse(wrong: NDArray[np.bool_], boxes: NDArray, why: str) -> None:
    if wrong.any():
        image, box = np.argwhere(wrong)[0]
        raise ValueError(
            f"Box {box} of image {image}, (top, left, bottom, right) = "
            f"{tuple(boxes[image, box].tolist())}, {why}."
        )
