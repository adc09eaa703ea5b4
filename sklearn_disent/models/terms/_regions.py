"""Terms of regions: parts of an image that must be reconstructed well."""

import torch
from torch import Tensor


def region_error(x: Tensor, reconstructed: Tensor, weight: Tensor) -> Tensor:
    """Squared error of each image, weighted by pixel: ``|| w * x - w * x_hat ||^2``.

    Parameters
    ----------
    x, reconstructed : Tensor of shape (n, C, H, W)
        Images, and what the model makes of them.
    weight : Tensor that is broadcast against x
        Weights of the pixels.

    Returns
    -------
    error : Tensor of shape (n,)
        At least 0.

    See Also
    --------
    box_mask : Weights from bounding boxes.

    References
    ----------
    Reddy, Godfrey L and Balasubramanian (2022). On causally disentangled representations. AAAI.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> x = torch.ones(1, 1, 2, 2)
    >>> terms.region_error(x, 0 * x, torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    tensor([1.])
    """
    return ((x - reconstructed) * weight).square().flatten(1).sum(1)


def box_mask(boxes: Tensor, image_shape: tuple[int, int]) -> Tensor:
    """1 within any of the boxes of an image, else 0.

    Parameters
    ----------
    boxes : Tensor of shape (n, k, 4)
        (top, left, bottom, right) in pixels, so that a box is ``image[top:bottom, left:right]``.
    image_shape : (height, width)
        Of the images.

    Returns
    -------
    mask : Tensor of shape (n, height, width)

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.box_mask(torch.tensor([[[0, 1, 1, 3]]]), (2, 3))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """
    top, left, bottom, right = boxes[..., None].unbind(2)
    rows = torch.arange(image_shape[0], device=boxes.device)
    columns = torch.arange(image_shape[1], device=boxes.device)
    in_rows = (rows >= top) & (rows < bottom)
    in_columns = (columns >= left) & (columns < right)
    return (in_rows[..., :, None] & in_columns[..., None, :]).any(1).float()
