"""Regions of images from the output of a segmenter or a detector."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import ImageShape, Share, validated


@validated
def regions_from_segments(
    segments: Any,
    *,
    threshold: Share = 0.5,
    labels: Iterable[int] | None = None,
    image_shape: ImageShape | None = None,
) -> Bunch:
    """Boxes and masks of objects, as models take them, from what a segmenter says.

    A model with :class:`~sklearn_disent.models.Regions` is given either of them in ``fit``.

    Parameters
    ----------
    segments : array-like, or list of n_images dicts
        - Integers of shape (n_images, H, W): the number of an object, or of its class, in every
          pixel; 0 is the background.
        - Booleans or floats of shape (n_images, H, W) or (n_images, n_objects, H, W): masks, or
          probabilities of masks.
        - A list of dicts, one per image, as detectors of torchvision return them: "masks" of shape
          (n_objects, H, W) or (n_objects, 1, H, W), or else "boxes" of shape (n_objects, 4) as (x1,
          y1, x2, y2) in pixels; "scores" and "labels", if there are any.
    threshold : float, default=0.5
        Least probability of a pixel of a mask, and least score of an object.
    labels : iterable of int or None, default=None
        Which numbers of integer maps, or which "labels", are kept; None keeps all of them.
    image_shape : (height, width) or None, default=None
        Size of the images; needed only if all that is known of objects are boxes.

    Returns
    -------
    regions : :class:`~sklearn.utils.Bunch`
        With the attributes

        boxes : ndarray of shape (n_images, n_boxes, 4), float64
            (top, left, bottom, right) of every object, so that it lies within
            ``image[top:bottom, left:right]``; NaN where an image has fewer than others.
        mask : ndarray of shape (n_images, H, W), uint8
            1 where there is an object.

    See Also
    --------
    sklearn_disent.models.Regions : What lies within is to be reconstructed well.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import regions_from_segments
    >>> maps = np.zeros((2, 6, 8), dtype=int)
    >>> maps[0, 1:3, 2:7] = 1
    >>> regions = regions_from_segments(maps)
    >>> regions.boxes[:, 0]
    array([[ 1.,  2.,  3.,  7.],
           [nan, nan, nan, nan]])
    >>> regions.mask.sum(axis=(1, 2)).tolist()
    [10, 0]
    """
    kept = None if labels is None else {int(label) for label in labels}
    if _is_detections(segments):
        images = [_read_detection(d, i, threshold, kept) for i, d in enumerate(segments)]
    else:
        images = _read_maps(_to_array(segments), threshold, kept)
    shape = _common_shape([masks for masks, _ in images], image_shape)
    boxes = [np.concatenate([_boxes_of(masks), _clip(given, shape)]) for masks, given in images]
    n_boxes = max(1, *(len(found) for found in boxes)) if boxes else 1
    padded = np.full((len(boxes), n_boxes, 4), np.nan)
    mask = np.zeros((len(boxes), *shape), dtype=np.uint8)
    for i, (found, (masks, given)) in enumerate(zip(boxes, images)):
        padded[i, : len(found)] = found
        if masks is not None and len(masks):
            mask[i] = masks.any(axis=0)
        for top, left, bottom, right in _clip(given, shape).astype(int):
            mask[i, top:bottom, left:right] = 1
    return Bunch(boxes=padded, mask=mask)


# Of one image: masks (n_objects, H, W) or None, and boxes (n_objects, 4) without a mask.
_Objects = tuple[NDArray[np.bool_] | None, NDArray[np.float64]]
_NO_BOXES = np.empty((0, 4))


def _is_detections(segments: Any) -> bool:
    is_list = isinstance(segments, (list, tuple))
    return is_list and len(segments) > 0 and isinstance(segments[0], Mapping)


def _to_array(values: Any) -> NDArray:
    # Tensors of a segmenter may still have a gradient, or be on another device.
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values)


def _read_maps(maps: NDArray, threshold: float, kept: set[int] | None) -> list[_Objects]:
    is_integer = maps.dtype.kind in "iu"
    if maps.ndim not in ((3,) if is_integer else (3, 4)) or maps.dtype.kind not in "iubf":
        raise ValueError(
            "segments must be integers (n_images, H, W), booleans or floats (n_images, H, W) or "
            "(n_images, n_objects, H, W), or a list of dicts, got "
            f"{maps.dtype} of shape {maps.shape}."
        )
    if is_integer:
        return [(_masks_of(image, kept), _NO_BOXES) for image in maps]
    if kept is not None:
        raise ValueError(
            "labels select among numbers of objects, but masks have none. Leave it None, or pass "
            "the masks that are meant."
        )
    masks = maps[:, None] if maps.ndim == 3 else maps
    return [(_solid(image, threshold), _NO_BOXES) for image in masks]


def _masks_of(image: NDArray, kept: set[int] | None) -> NDArray[np.bool_]:
    """One mask per number in the image."""
    numbers = [n for n in np.unique(image).tolist() if n != 0 and (kept is None or n in kept)]
    return np.array([image == n for n in numbers]).reshape(len(numbers), *image.shape)


def _solid(masks: NDArray, threshold: float) -> NDArray[np.bool_]:
    if masks.dtype == bool:
        return masks
    if masks.size and not (masks.min() >= 0 and masks.max() <= 1):
        raise ValueError(
            f"Masks of floats must be probabilities in [0, 1], got values from {masks.min():g} to "
            f"{masks.max():g}. Apply a sigmoid or softmax first."
        )
    return masks >= threshold


def _read_detection(
    found: Mapping[str, Any], i: int, threshold: float, kept: set[int] | None
) -> _Objects:
    """Objects of one dict that have the score and the label."""
    values = {name: _to_array(found[name]) for name in found}
    name = "masks" if "masks" in values else "boxes"
    if name not in values:
        raise ValueError(
            f"The dict of image {i} must have 'masks' or 'boxes', got {sorted(values)}."
        )
    n_objects = len(values[name])
    chosen = np.ones(n_objects, dtype=bool)
    if "scores" in values:
        chosen &= values["scores"] >= threshold
    if kept is not None:
        if "labels" not in values:
            raise ValueError(
                f"labels selects objects by their label, but the objects of image {i} have no "
                "labels. Leave labels=None to keep them all."
            )
        chosen &= np.isin(values["labels"], sorted(kept))
    if name == "boxes":
        # (x1, y1, x2, y2) to rows and columns.
        return None, values["boxes"].reshape(-1, 4)[chosen][:, [1, 0, 3, 2]].astype(np.float64)
    masks = values["masks"]
    masks = masks[:, 0] if masks.ndim == 4 else masks
    if masks.ndim != 3:
        raise ValueError(
            f"masks of image {i} must be (n_objects, H, W) or (n_objects, 1, H, W), got shape "
            f"{values['masks'].shape}."
        )
    return _solid(masks[chosen] != 0 if masks.dtype.kind in "iu" else masks[chosen], threshold), (
        _NO_BOXES
    )


def _common_shape(masks: list[Any], image_shape: Any) -> tuple[int, int]:
    shapes = {found.shape[1:] for found in masks if found is not None}
    if image_shape is not None:
        shapes.add(tuple(int(side) for side in image_shape))
    if len(shapes) != 1:
        problem = f"masks of sizes {sorted(shapes)}" if shapes else "boxes alone"
        raise ValueError(
            f"All images must have one known size (height, width), got {problem}. Pass "
            "image_shape, and resize images to it."
        )
    (shape,) = shapes
    if len(shape) != 2:
        raise ValueError(f"image_shape must be (height, width), got {shape}.")
    return shape


def _boxes_of(masks: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Smallest boxes around masks; empty masks have none."""
    if masks is None:
        return _NO_BOXES
    masks = masks[masks.any(axis=(1, 2))]
    if not len(masks):
        return _NO_BOXES
    rows, columns = np.asarray(masks.any(axis=2)), np.asarray(masks.any(axis=1))
    top, left = rows.argmax(axis=1), columns.argmax(axis=1)
    bottom = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    right = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    return np.column_stack([top, left, bottom, right]).astype(np.float64)


def _clip(boxes: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Boxes in whole pixels, cut at the edges of the image; those outside of it are dropped."""
    whole = np.concatenate([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])], axis=1)
    whole = whole.clip(0, [*shape, *shape])
    return whole[(whole[:, 2:] > whole[:, :2]).all(axis=1)]
