"""The small and the large convolutional pair of Montero et al. (2022)."""

from sklearn_disent.networks._layers import ConvDecoder, ConvEncoder


class _MonteroSmall:
    family = "montero_small"
    widths = (32, 32, 64, 64, 128)
    hidden_sizes = (256,)
    grid = 2


class MonteroSmallEncoder(_MonteroSmall, ConvEncoder):
    """Convolutions of 32, 32, 64, 64, 128 channels (kernel 4, stride 2), a dense layer of 256.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 4 up.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    Notes
    -----
    The table is for 64 pixels. At 32 the first convolution of 32 channels is left out, at 128
    one more of 32 channels comes first: the map before the dense layers is always 2 x 2.

    References
    ----------
    M. L. Montero et al., Lost in latent space: Examining failures of disentangled models at
    combinatorial generalisation, NeurIPS 2022.

    Examples
    --------
    >>> import torch
    >>> MonteroSmallEncoder((3, 64, 64), 20)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 20])
    """


class MonteroSmallDecoder(_MonteroSmall, ConvDecoder):
    """Mirror of :class:`MonteroSmallEncoder`: codes to logits or means.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 4 up.

    Notes
    -----
    The published sigmoid at the end is left to the likelihood: the output is logits for the
    Bernoulli, means for the Gaussian.

    References
    ----------
    M. L. Montero et al., Lost in latent space: Examining failures of disentangled models at
    combinatorial generalisation, NeurIPS 2022.

    Examples
    --------
    >>> import torch
    >>> MonteroSmallDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """


class _MonteroLarge:
    family = "montero_large"
    widths = (64, 64, 128, 128, 256)
    hidden_sizes = (256,)
    grid = 2
    channels_last = False  # slower on a CPU for maps this wide


class MonteroLargeEncoder(_MonteroLarge, ConvEncoder):
    """Convolutions of 64, 64, 128, 128, 256 channels (kernel 4, stride 2), a dense layer of 256.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 4 up.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    Notes
    -----
    The table is for 64 pixels. At 32 the first convolution of 64 channels is left out, at 128
    one more of 64 channels comes first: the map before the dense layers is always 2 x 2.

    References
    ----------
    M. L. Montero et al., Lost in latent space: Examining failures of disentangled models at
    combinatorial generalisation, NeurIPS 2022.

    Examples
    --------
    >>> import torch
    >>> MonteroLargeEncoder((3, 64, 64), 20)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 20])
    """


class MonteroLargeDecoder(_MonteroLarge, ConvDecoder):
    """Mirror of :class:`MonteroLargeEncoder`: codes to logits or means.

    Parameters
    ----------
    n_components : int
        Number of latents.
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 4 up.

    Notes
    -----
    The published sigmoid at the end is left to the likelihood: the output is logits for the
    Bernoulli, means for the Gaussian.

    References
    ----------
    M. L. Montero et al., Lost in latent space: Examining failures of disentangled models at
    combinatorial generalisation, NeurIPS 2022.

    Examples
    --------
    >>> import torch
    >>> MonteroLargeDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """
