"""The convolutional pair of Burgess et al. (2018)."""

from sklearn_disent.networks._layers import ConvDecoder, ConvEncoder


class _Burgess:
    family = "burgess"
    widths = (32, 32, 32, 32)
    hidden_sizes = (256, 256)
    grid = 4


class BurgessEncoder(_Burgess, ConvEncoder):
    """Convolutions of 32 channels (kernel 4, stride 2), then two dense layers of 256.

    Parameters
    ----------
    input_shape : tuple (C, H, W)
        Shape of one image: square, its side a power of two from 8 up.
    n_outputs : int
        Number of outputs; a Gaussian posterior over D latents has 2 D.

    Notes
    -----
    Four convolutions at 64 pixels, three at 32: the map before the dense layers is always 4 x 4.

    References
    ----------
    C. P. Burgess et al., Understanding disentangling in beta-VAE, 2018.

    Examples
    --------
    >>> import torch
    >>> BurgessEncoder((3, 64, 64), 20)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 20])
    """


class BurgessDecoder(_Burgess, ConvDecoder):
    """Mirror of :class:`BurgessEncoder`: codes to logits or means.

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
    C. P. Burgess et al., Understanding disentangling in beta-VAE, 2018.

    Examples
    --------
    >>> import torch
    >>> BurgessDecoder(10, (1, 32, 32))(torch.zeros(2, 10)).shape
    torch.Size([2, 1, 32, 32])
    """
