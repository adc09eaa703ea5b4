"""Sources that an auxiliary variable modulates, mixed by an invertible network."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from .._params import (
    AtLeastTwo,
    Interval,
    NonNegativeFloat,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    loads,
)

Floats = NDArray[np.float64]
Variance = Annotated[float, Interval(Real, 0, 3, closed="right")]

LARGEST_VARIANCE = 3.0
MEANS = (-5.0, 5.0)
CONDITION = 4.0  # largest condition number of a layer
MODULATED = {"scale": "variances", "mean": "means", "both": "means and variances"}

DESCR = """\
Nonlinear ICA with an auxiliary variable
----------------------------------------

{n_sources} sources, independent given the segment u of {n_segments}: {distribution}, with
{modulated} drawn once for each source and segment (variances uniform on
[{least_variance:g}, 3], means on [-5, 5]; what is not modulated is 1 and 0). They are mixed into
{n_features} features by {n_layers} linear layers with leaky ReLU between them, which is invertible.
target holds the sources.

Source of the model: A. Hyvärinen and H. Morioka (2016). Unsupervised Feature Extraction by
Time-Contrastive Learning and Nonlinear ICA. NIPS. I. Khemakhem, D. P. Kingma, R. P. Monti and
A. Hyvärinen (2020). Variational Autoencoders and Nonlinear ICA: A Unifying Framework. AISTATS.
"""


@dataclass(frozen=True)
class LeakyMixing:
    """An injective network: linear layers, and a leaky ReLU after each but the last.

    Attributes
    ----------
    weights : tuple of ndarray
        Of shape (n_in, n_out) each, of full rank, with n_out >= n_in.
    negative_slope : float
        Slope of the leaky ReLU below 0.
    """

    weights: tuple[Floats, ...]
    negative_slope: float

    def transform(self, sources: Floats) -> Floats:
        """Mix sources (n, n_sources) into features."""
        mixed = np.asarray(sources, dtype=np.float64)
        for layer, weight in enumerate(self.weights):
            if layer:
                mixed = np.where(mixed < 0, self.negative_slope * mixed, mixed)
            mixed = mixed @ weight
        return mixed

    def inverse_transform(self, X: Floats) -> Floats:
        """Sources of features, exact to rounding for features without noise."""
        sources = np.asarray(X, dtype=np.float64)
        for layer in reversed(range(len(self.weights))):
            sources = sources @ np.linalg.pinv(self.weights[layer])
            if layer:
                sources = np.where(sources < 0, sources / self.negative_slope, sources)
        return sources


def _orthogonal(size: int, rng: np.random.RandomState) -> Floats:
    """A random orthogonal matrix, uniform over all of them."""
    q, r = np.linalg.qr(rng.normal(size=(size, size)))
    return q * np.sign(np.diag(r))


def _layer(n_in: int, n_out: int, rng: np.random.RandomState) -> Floats:
    """A random matrix whose singular values lie between 1/2 and 2."""
    singular = np.exp(rng.uniform(-0.5, 0.5, size=n_in) * np.log(CONDITION))
    return (_orthogonal(n_in, rng) * singular) @ _orthogonal(n_out, rng)[:n_in]


def _modulate(
    n_segments: int,
    n_sources: int,
    modulation: str,
    least_variance: float,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats]:
    """Means and standard deviations (n_segments, n_sources) of the sources."""
    means, scales = np.zeros((n_segments, n_sources)), np.ones((n_segments, n_sources))
    if modulation != "scale":
        means = rng.uniform(*MEANS, size=means.shape)
    if modulation != "mean":
        scales = np.sqrt(rng.uniform(least_variance, LARGEST_VARIANCE, size=scales.shape))
    return means, scales


def _segments(
    n_samples: int, n_segments: int, shuffle: bool, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Segment of each row; they have equally many rows, to within one."""
    u = np.sort(np.arange(n_samples, dtype=np.int64) % n_segments)
    return rng.permutation(u) if shuffle else u


def _deviates(shape: tuple[int, int], distribution: str, rng: np.random.RandomState) -> Floats:
    """Draws of mean 0 and variance 1."""
    if distribution == "gaussian":
        return rng.normal(size=shape)
    return rng.laplace(scale=2**-0.5, size=shape)


@loads(tuple[Floats, Floats])
def make_nonlinear_ica(
    n_samples: PositiveInt = 2000,
    *,
    n_sources: PositiveInt = 5,
    n_features: PositiveInt | None = None,
    n_segments: AtLeastTwo = 40,
    n_layers: PositiveInt = 3,
    distribution: Literal["gaussian", "laplace"] = "gaussian",
    modulation: Literal["scale", "mean", "both"] = "both",
    least_variance: Variance = 0.5,
    negative_slope: PositiveShare = 0.2,
    noise: NonNegativeFloat = 0.0,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[Floats, Floats]:
    r"""Mix sources that are independent given a segment: identifiable nonlinear ICA.

    Without u, nonlinear mixtures of independent sources cannot be undone; with it they can, up to
    permutation and maps of single sources [1]_, [2]_. In segment u the source i has density

    .. math::
        s_i \mid u \sim \mathrm{Gaussian} \text{ or } \mathrm{Laplace}
        \text{ of mean } \mu_{ui} \text{ and variance } \sigma^2_{ui},

    and the observed features are

    .. math::
        x = A_L\, h(A_{L-1} \dots h(A_1 s)) + \text{noise},

    with h the leaky ReLU and matrices :math:`A_l` of condition number at most 4.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows; the segments have equally many of them, to within one.

    n_sources : int, default=5
        Number of sources.

    n_features : int or None, default=None
        Number of observed features, at least `n_sources`; None is as many as sources.

    n_segments : int, default=40
        Number of values of u.

    n_layers : int, default=3
        Number L of linear layers; 1 is linear ICA.

    distribution : {"gaussian", "laplace"}, default="gaussian"
        Distribution of a source within a segment.

    modulation : {"scale", "mean", "both"}, default="both"
        What changes with the segment: variances, uniform on [`least_variance`, 3], means, uniform
        on [-5, 5], or both. What does not change is 1 or 0.

    least_variance : float in (0, 3], default=0.5
        The smaller it is, the more segments differ, and the sooner a model can tell sources apart.
        0.5 is that of [2]_; the scales of [1]_ go down to 0.

    negative_slope : float in (0, 1], default=0.2
        Slope of the leaky ReLU below 0; 1 makes the mixing linear.

    noise : float, default=0.0
        Standard deviation of Gaussian noise added to the features.

    shuffle : bool, default=True
        Whether rows come in random order or segment by segment.

    random_state : int, RandomState instance or None, default=None
        Determines mixing, segments, sources, noise and order. Pass an int for the same rows at
        every call. With the same int, mixing, means and variances do not depend on `n_samples`.

    return_X_y : bool, default=False
        If True, return ``(X, sources)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (n_samples, n_features), float64
            What is observed.
        sources, target : ndarray of shape (n_samples, n_sources), float64
            What is to be found again.
        u : ndarray of shape (n_samples,), int64
            Segment of each row, the auxiliary variable.
        means, scales : ndarray of shape (n_segments, n_sources), float64
            Mean and standard deviation of each source in each segment.
        mixing : LeakyMixing
            The mixing, with ``transform(sources)`` and ``inverse_transform(X)``, and its
            `weights`.
        factor_names : list of str
            Names of the sources.

        DESCR : str

    (X, sources) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_transitions : Identifiability from pairs in time instead of segments.
    make_superposition : More features than dimensions.

    Notes
    -----
    The theorem asks for at least ``k * n_sources + 1`` different segments, with k = 2 if both mean
    and variance of Gaussians change, else 1. `modulation` "scale", as in [1]_, is the harder case:
    segments then tell apart only the squares of Gaussian sources.

    The simulations of [1]_ and [2]_ draw matrices with columns of length 1 and keep
    well-conditioned ones; here singular values are drawn, log-uniform on [1/2, 2].

    References
    ----------
    .. [1] A. Hyvärinen and H. Morioka (2016). Unsupervised Feature Extraction by Time-Contrastive
       Learning and Nonlinear ICA. NIPS.
    .. [2] I. Khemakhem, D. P. Kingma, R. P. Monti and A. Hyvärinen (2020). Variational Autoencoders
       and Nonlinear ICA: A Unifying Framework. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import make_nonlinear_ica
    >>> ica = make_nonlinear_ica(1000, n_sources=3, random_state=0)
    >>> ica.data.shape, ica.sources.shape, int(ica.u.max())
    ((1000, 3), (1000, 3), 39)
    >>> np.allclose(ica.mixing.inverse_transform(ica.data), ica.sources)
    True
    """
    width = n_sources if n_features is None else n_features
    if width < n_sources:
        raise ValueError(
            f"n_features={n_features} features cannot hold n_sources={n_sources} sources. "
            "Ask for at least as many features as sources."
        )
    rng = check_random_state(random_state)
    widths = [n_sources] * n_layers + [width]
    mixing = LeakyMixing(tuple(_layer(a, b, rng) for a, b in pairwise(widths)), negative_slope)
    means, scales = _modulate(n_segments, n_sources, modulation, least_variance, rng)
    u = _segments(n_samples, n_segments, shuffle, rng)
    sources = means[u] + scales[u] * _deviates((n_samples, n_sources), distribution, rng)
    X = mixing.transform(sources)
    if noise:
        X += noise * rng.normal(size=X.shape)
    if return_X_y:
        return X, sources
    descr = DESCR.format(
        n_sources=n_sources,
        n_segments=n_segments,
        n_features=width,
        n_layers=n_layers,
        distribution=distribution.capitalize(),
        least_variance=least_variance,
        modulated=MODULATED[modulation],
    )
    return Bunch(
        data=X,
        target=sources,
        sources=sources,
        u=u,
        means=means,
        scales=scales,
        mixing=mixing,
        factor_names=[f"source_{i}" for i in range(n_sources)],
        DESCR=descr,
    )
