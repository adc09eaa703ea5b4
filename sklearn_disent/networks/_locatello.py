"""The convolutional pair of Locatello et al. (2020)."""

from sklearn_disent.networks._layers import ConvDecoder, ConvEncoder


class _Locatello:
    family = "locatello"
    widths = (32, 32, 64, 64)
    hidden_sizes = (256,)
    grid = 4


class LocatelloEncoder(_Locatello, ConvEncoder):
    """Convolutions of 32, 32, 64, 64 channels (kernel 4, stride 2), a dense layer of 256.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 8 up.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    Notes
    -----
    The table is for 64 pixels. At 32 the first convolution of 32 channels is left out, at 128
    one more of 32 channels comes first: the map before the dense layers is always 4 x 4.

    References
    ----------
    F. Locatello et al., A sober look at the unsupervised learning of disentangled representations
    and their evaluation, JMLR 2020.

    Examples
    --------
    >>> import torch
    >>> LocatelloEncoder((3, 64, 64), 20)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 20])
    """


class LocatelloDecoder(_Locatello, ConvDecoder):
    """Mirror of :class:`LocatelloEncoder`: codes to logits or means.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 8 up.

    Notes
    -----
    The published sigmoid at the end is left to the likelihood: the output is logits for the
    Bernoulli, means for the Gaussian.

    References
    ----------
    F. Locatello et al., A sober look at the unsupervised learning of disentangled representations
    and their evaluation, JMLR 2020.

    Examples
    --------
    >>> import torch
    >>> LocatelloDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """
