"""Sparse features in superposition: more of them than there are dimensions."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from .._params import Array, NonNegativeFloat, PositiveInt, PositiveShare, RandomStateLike, loads

Floats = NDArray[np.float64]

N_STEPS = 100  # of repulsion between directions
POWER = 8  # of the cosines that repel: the higher, the more only the nearest pairs count

DESCR = """\
Features in superposition
-------------------------

{n_features} features of which few are active at once, each a direction of length 1 in
{n_dimensions} dimensions: X = activations @ directions. No two directions have a cosine above
{coherence:.2f} in absolute value. A feature is active in {density} of the rows, and its activation
is then {distribution}. target holds the activations, directions the features as the
decoder of a sparse autoencoder should find them.

Source of the model: N. Elhage et al. (2022). Toy Models of Superposition. Transformer
Circuits Thread.
"""


def _unit(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _coherence(directions: Floats) -> float:
    """Largest absolute cosine between two directions."""
    cosines = np.abs(directions @ directions.T)
    np.fill_diagonal(cosines, 0)
    return float(cosines.max())


def _spread(directions: Floats) -> Floats:
    """Move directions apart: descent on the sum of their cosines to the power of 8."""
    for step in range(N_STEPS):
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, 0)
        push = cosines ** (POWER - 1) @ directions
        strongest = np.linalg.norm(push, axis=1).max()
        if strongest == 0:
            break  # all at right angles
        directions = _unit(directions - 0.3 * (1 - step / N_STEPS) / strongest * push)
    return directions


def _directions(
    n_features: int, n_dimensions: int, kind: str, rng: np.random.RandomState
) -> Floats:
    directions = _unit(rng.normal(size=(n_features, n_dimensions)))
    if kind == "random":
        return directions
    if n_features <= n_dimensions:
        return np.linalg.qr(directions.T)[0].T
    return _spread(directions)


def _check_density(density: ArrayLike, n_features: int) -> Floats:
    chances = np.asarray(density, dtype=np.float64)
    if chances.ndim and chances.shape != (n_features,):
        raise ValueError(
            f"density must be a number or one for each of the {n_features} features, got shape "
            f"{chances.shape}."
        )
    if not ((chances > 0) & (chances <= 1)).all():
        bad = chances[~((chances > 0) & (chances <= 1))].flat[0]
        raise ValueError(f"density must lie in (0, 1], got {bad}.")
    return chances


@loads(tuple[Floats, Floats])
def make_superposition(
    n_samples: PositiveInt = 5000,
    *,
    n_features: PositiveInt = 64,
    n_dimensions: PositiveInt = 16,
    density: PositiveShare | Array = 0.05,
    distribution: Literal["uniform", "exponential"] = "uniform",
    directions: Literal["spread", "random"] = "spread",
    noise: NonNegativeFloat = 0.0,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[Floats, Floats]:
    r"""Superpose sparse features in fewer dimensions, as neural networks seem to.

    Each row is :math:`x = \sum_k a_k d_k`, with directions :math:`d_k` of length 1 that are as
    good as orthogonal, and activations :math:`a_k \ge 0` of which few are not 0 [1]_. A sparse
    autoencoder should find the directions in its decoder and the activations in its code.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.

    n_features : int, default=64
        Number of features, usually more than `n_dimensions`.

    n_dimensions : int, default=16
        Number of columns of X.

    density : float in (0, 1] or array-like of shape (n_features,), default=0.05
        Chance that a feature is active in a row, of all features or of each.

    distribution : {"uniform", "exponential"}, default="uniform"
        Distribution of an activation that is not 0: uniform on [0, 1], or exponential of mean 1.

    directions : {"spread", "random"}, default="spread"
        "spread" moves random directions apart, which about halves their largest cosine, and makes
        them orthogonal if there are enough dimensions; "random" leaves them as drawn, uniform on
        the sphere.

    noise : float, default=0.0
        Standard deviation of Gaussian noise added to X.

    random_state : int, RandomState instance or None, default=None
        Determines directions, activations and noise. Pass an int for the same rows at every call.
        With the same int, the directions do not depend on `n_samples`.

    return_X_y : bool, default=False
        If True, return ``(X, activations)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (n_samples, n_dimensions), float64
            What is observed.
        activations, target : ndarray of shape (n_samples, n_features), float64
            What is to be found again; 0 where a feature is not active.
        directions : ndarray of shape (n_features, n_dimensions), float64
            Directions of the features, of length 1.
        coherence : float
            Largest absolute cosine between two directions; 0 if they are orthogonal.
        factor_names : list of str
            Names of the features.

        DESCR : str

    (X, activations) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_nonlinear_ica : Dense sources, mixed by an invertible network.

    Notes
    -----
    More directions n than dimensions d have a coherence of at least
    :math:`\sqrt{(n - d) / (d (n - 1))}` (Welch's bound): .22 for 64 in 16, where "spread" reaches
    about .30 and "random" about .8. Spreading takes 100 products of n x n and n x d matrices: .03 s
    for 64 features in 16 dimensions, 2 s for 512 in 128.

    References
    ----------
    .. [1] N. Elhage, T. Hume, C. Olsson, N. Schiefer, T. Henighan et al. (2022). Toy Models of
       Superposition. Transformer Circuits Thread.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import make_superposition
    >>> toy = make_superposition(1000, random_state=0)
    >>> toy.data.shape, toy.activations.shape, toy.directions.shape
    ((1000, 16), (1000, 64), (64, 16))
    >>> np.allclose(toy.activations @ toy.directions, toy.data)
    True
    >>> round(float((toy.activations > 0).mean()), 2)
    0.05
    """
    chances = _check_density(density, n_features)
    rng = check_random_state(random_state)
    basis = _directions(n_features, n_dimensions, directions, rng)
    shape = (n_samples, n_features)
    active = rng.uniform(size=shape) < chances
    if distribution == "uniform":
        sizes = 1 - rng.uniform(size=shape)  # in (0, 1]: what is active is not 0
    else:
        sizes = rng.exponential(size=shape)
    activations = np.where(active, sizes, 0.0)
    X = activations @ basis
    if noise:
        X += noise * rng.normal(size=X.shape)
    if return_X_y:
        return X, activations
    coherence = _coherence(basis)
    descr = DESCR.format(
        n_features=n_features,
        n_dimensions=n_dimensions,
        coherence=coherence,
        density=f"{chances:.3g}" if chances.ndim == 0 else "its own share",
        distribution=(
            "uniform on [0, 1]" if distribution == "uniform" else "exponential of mean 1"
        ),
    )
    return Bunch(
        data=X,
        target=activations,
        activations=activations,
        directions=basis,
        coherence=coherence,
        factor_names=[f"feature_{k}" for k in range(n_features)],
        DESCR=descr,
    )
