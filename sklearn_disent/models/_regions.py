"""Regions of images that must be reconstructed well, as guidance: bounding boxes and masks."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from .._params import Sizes, Weight
from ._data import Layout
from ._guidance import Guidance
from ._module import Terms, VAEOutput
from .terms import box_mask, region_error


class Regions(Guidance):
    """Guidance by regions: what lies within boxes or a mask is to be reconstructed well.

    The loss gets ``weight || w * x - w * x_hat ||^2`` per image, where w is 1 within the boxes, or
    the mask, and x_hat is the mean of p(x|z). ``fit`` must be given one of them:
    ``fit(X, y, boxes=boxes)`` or ``fit(X, y, mask=mask)``.

    Parameters
    ----------
    weight : float or schedule, default=2.0
        Weight of the squared error.
    image_shape : (height, width) or None, default=None
        Size of the images that boxes were measured in, to rescale them to the images in X; None
        where it is the same.

    See Also
    --------
    Labels : Guidance by labels.

    Notes
    -----
    Boxes, of shape (n, 4) or (n, k, 4), are (top, left, bottom, right), so that a box is
    ``image[top:bottom, left:right]``; NaN stands for no box. A mask holds a weight in [0, 1] for
    every pixel, of shape (n, H, W) or that of X. Both are metadata: a search slices them with the
    rows, and with metadata routing the model asks for them by itself.

    ``history_`` logs the term as ``train_regions_error``. With :class:`FactorVAE` and
    :class:`Labels`, ``guidance=[Labels("l2"), Regions()]``, it is the SS-FVAE-BB of Reddy et al.

    References
    ----------
    Reddy, Godfrey L and Balasubramanian (2022). On causally disentangled representations. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BetaVAE, Regions
    >>> X = load_digits().images / 16.0
    >>> boxes = np.tile([2, 2, 6, 6], (len(X), 1))  # the middle of every image
    >>> vae = BetaVAE(n_components=4, guidance=Regions(weight=5.0), max_epochs=1, random_state=0)
    >>> vae.fit(X, boxes=boxes).transform(X).shape
    (1797, 4)
    """

    def __init__(self, weight: Weight = 2.0, image_shape: Sizes | None = None) -> None:
        self.weight = weight
        self.image_shape = image_shape

    def read(
        self,
        net: Any,
        y: Any,
        n_rows: int,
        *,
        reset: bool,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> dict[str, NDArray]:
        """Check the boxes or the mask.

        Parameters
        ----------
        net : BaseVAE
            The model.
        y : array-like or None
            Not used.
        n_rows : int
            Number of images.
        reset : bool
            Not used.
        boxes, mask : array-like or None, default=None
            As passed to ``fit``, one of them.

        Returns
        -------
        extras : dict
            ``boxes`` in pixels of the model's images, or ``mask``.
        """
        if (boxes is None) == (mask is None):
            given = "neither" if boxes is None else "both"
            raise ValueError(
                f"Regions needs boxes or mask, got {given}. Pass one of them to fit: "
                "fit(X, y, boxes=boxes); a mask can hold the boxes."
            )
        if boxes is not None:
            return {"boxes": read_boxes(boxes, n_rows, net._layout, self.image_shape)}
        return {"mask": read_mask(mask, n_rows, net._layout)}

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor], net: Any) -> Terms:
        """The squared error of one batch.

        Parameters
        ----------
        x : Tensor
            Images.
        output : VAEOutput
            ``decoded`` is used.
        extras : dict
            ``boxes`` or ``mask``.
        net : BaseVAE
            The model.

        Returns
        -------
        terms : dict
        """
        if "boxes" in extras:
            weight = box_mask(extras["boxes"], (x.shape[2], x.shape[3]))[:, None]
        else:
            weight = extras["mask"].to(torch.float32)
            weight = weight[:, None] if weight.ndim == 3 else net._layout.to_module(weight)
        error = region_error(x, net.decoded_mean(output.decoded), weight)
        return {"error": (self.weight, error.mean())}


def read_boxes(
    boxes: ArrayLike,
    n_rows: int,
    layout: Layout,
    image_shape: ArrayLike | None = None,
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
    shape = (height, width) if image_shape is None else tuple(np.asarray(image_shape).tolist())
    if len(shape) != 2 or not all(side > 0 for side in shape):
        raise ValueError(
            f"image_shape must be (height, width) of the images that boxes were measured in, got "
            f"{image_shape!r}."
        )
    missing = np.isnan(given)
    absent = np.asarray(missing.all(2))
    _refuse(missing.any(2) & ~absent, given, "has NaN beside numbers")
    top, left, bottom, right = np.moveaxis(given, 2, 0)
    _refuse((bottom <= top) | (right <= left), given, "is empty; NaN stands for no box")
    outside = (top < 0) | (left < 0) | (bottom > shape[0]) | (right > shape[1])
    _refuse(
        outside,
        given,
        f"leaves the image of {shape[0]} x {shape[1]} pixels. Clip it, or set image_shape if "
        "it was measured in images of another size",
    )
    scale = np.array([height / shape[0], width / shape[1]] * 2)
    # Outwards, so that no box vanishes; the rounding forgives the last digit of the scale.
    scaled = np.where(absent[..., None], 0.0, given * scale).round(6)
    scaled[..., :2], scaled[..., 2:] = np.floor(scaled[..., :2]), np.ceil(scaled[..., 2:])
    return scaled.astype(np.int32)


def read_mask(mask: ArrayLike | None, n_rows: int, layout: Layout) -> NDArray:
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
