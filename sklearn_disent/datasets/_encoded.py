"""Factors of known structure and codes of known quality, to judge metrics by."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.utils import Bunch, check_random_state

from .._params import AtLeastTwo, PositiveInt, RandomStateLike, validated
from ._synthetic import table_bunch

Floats = NDArray[np.float64]
Structure = Literal["independent", "dependent", "unbalanced", "binary"]
EncoderName = Literal[
    "identity",
    "nonlinear",
    "rotation",
    "entangled_pair",
    "redundant",
    "overcomplete",
    "undercomplete",
    "noisy",
    "collapsed",
    "random",
]

# Correlation of the Gaussians behind dependent factors.
_CORRELATION = 0.6

DESCR = """\
Encoded factors
---------------

Factors of {n_classes} classes, {structure}, and codes made of them by the encoder "{encoder}", with
known answers: modular (each code is about one factor at most): {modular}; compact (each factor is
in one code at most): {compact}; explicit (all factors can be read off the codes): {explicit}.
"""


def _identity(z: Floats, rng: RandomState) -> Floats:
    return z


def _nonlinear(z: Floats, rng: RandomState) -> Floats:
    """A monotone function of each factor, steeper and steeper."""
    return np.sinh(1.5 * z) * np.where(np.arange(z.shape[1]) % 2, -1.0, 1.0)


def _rotation(z: Floats, rng: RandomState) -> Floats:
    """All factors in all codes, with weights of equal size: a Hadamard-like rotation."""
    size = z.shape[1]
    # Rows of cosines are orthogonal, and none is along an axis.
    place = (np.arange(size)[:, None] + 0.5) * np.arange(size)
    basis = np.cos(np.pi * place / size)
    mixed = np.linalg.qr(basis + 0.3 * rng.normal(size=(size, size)))[0]
    return z @ mixed


def _entangled_pair(z: Floats, rng: RandomState) -> Floats:
    out = z.copy()
    out[:, :2] = z[:, :2] @ np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    return out


def _redundant(z: Floats, rng: RandomState) -> Floats:
    return np.hstack([z, -2.0 * z])


def _overcomplete(z: Floats, rng: RandomState) -> Floats:
    return np.hstack([z, rng.normal(size=z.shape)])


def _undercomplete(z: Floats, rng: RandomState) -> Floats:
    return z[:, : max(z.shape[1] // 2, 1)]


def _noisy(z: Floats, rng: RandomState) -> Floats:
    return z + 0.5 * rng.normal(size=z.shape)


def _collapsed(z: Floats, rng: RandomState) -> Floats:
    out = z.copy()
    out[:, -1] = 0.0
    return out


def _random(z: Floats, rng: RandomState) -> Floats:
    return rng.normal(size=z.shape)


# Encoder, and whether its codes are modular, compact and explicit; None where it is a matter of
# degree or of definition.
ENCODERS: dict[str, tuple[Callable[..., Floats], tuple[bool | None, bool | None, bool | None]]] = {
    "identity": (_identity, (True, True, True)),
    "nonlinear": (_nonlinear, (True, True, True)),
    "rotation": (_rotation, (False, False, True)),
    "entangled_pair": (_entangled_pair, (False, False, True)),
    "redundant": (_redundant, (True, False, True)),
    "overcomplete": (_overcomplete, (None, True, True)),
    "undercomplete": (_undercomplete, (True, None, False)),
    "noisy": (_noisy, (True, True, None)),
    "collapsed": (_collapsed, (True, None, False)),
    "random": (_random, (None, False, False)),
}


@validated
def make_encoded_factors(
    n_samples: PositiveInt = 1000,
    *,
    structure: Structure = "independent",
    encoder: EncoderName = "identity",
    n_factors: AtLeastTwo = 4,
    n_codes: PositiveInt | None = None,
    return_X_y: bool = False,
    random_state: RandomStateLike = None,
) -> Bunch | tuple[Floats, NDArray[np.int64]]:
    """Make factors and codes with known answers to the questions that metrics ask.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    structure : {"independent", "dependent", "unbalanced", "binary"}, default="independent"
        The factors: independent, of 3, 4, 5, ... classes; the same with a correlation of 0.6
        behind every pair; independent, with classes of halving frequency; independent with two
        classes each.
    encoder : {"identity", "nonlinear", "rotation", "entangled_pair", "redundant", \
            "overcomplete", "undercomplete", "noisy", "collapsed", "random"}, default="identity"
        How codes are made of the factors, see Notes.
    n_factors : int, default=4
        Number of factors.
    n_codes : int or None, default=None
        Number of codes: columns of noise, of the spread of the others, are added up to it. None
        adds none.
    return_X_y : bool, default=False
        If True, return ``(codes, target)`` instead of a Bunch.
    random_state : int, RandomState instance or None, default=None
        The samples, and what encoders draw.

    Returns
    -------
    data : Bunch
        - codes, data : ndarray of shape (n_samples, n_codes), the codes.
        - target : ndarray of shape (n_samples, n_factors), the factors as classes.
        - factors, factor_names, factor_sizes, factor_values : as of other data sets.
        - modular, compact, explicit : bool or None, whether the codes are; None where it is a
          matter of degree or of definition.
        - DESCR : str
    (codes, target) : tuple
        If `return_X_y` is True.

    See Also
    --------
    make_dependent_factors : One knob for dependence, leakage and noise each.
    make_logical_codes : The tables of a paper.

    Notes
    -----
    Factors are numbers between -1 and 1 before they are encoded. "nonlinear" bends each by a
    monotone function; "rotation" mixes all of them, "entangled_pair" the first two; "redundant"
    repeats every code; "overcomplete" adds as many codes of noise as there are factors;
    "undercomplete" has codes for half of the factors; "noisy" adds noise of standard deviation 0.5;
    "collapsed" has a constant in place of the last factor; "random" is noise.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_encoded_factors
    >>> from sklearn_disent.metrics import mig_score
    >>> data = make_encoded_factors(encoder="entangled_pair", random_state=0)
    >>> data.codes.shape, data.modular, data.explicit
    ((1000, 4), False, True)
    >>> 0.8 > mig_score(data.target, data.codes)
    True
    """
    rng = check_random_state(random_state)
    sizes = [2 if structure == "binary" else 3 + k for k in range(n_factors)]
    classes = _draw_classes(structure, n_samples, sizes, rng)
    numbers = np.column_stack([2.0 * y / (n - 1) - 1 for y, n in zip(classes.T, sizes)])
    function, answers = ENCODERS[encoder]
    codes = _padded(function(numbers, rng), n_codes, rng)
    modular, compact, explicit = answers
    known = {"modular": modular, "compact": compact, "explicit": explicit}
    descr = DESCR.format(
        n_classes=", ".join(map(str, sizes)), structure=structure, encoder=encoder, **known
    )
    values = {f"factor_{k}": np.linspace(-1, 1, n) for k, n in enumerate(sizes)}
    return table_bunch(classes, values, codes, return_X_y, descr, **known)


def _draw_classes(
    structure: str, n_samples: int, sizes: list[int], rng: RandomState
) -> NDArray[np.int64]:
    normal = rng.normal(size=(n_samples, len(sizes)))
    if structure == "dependent":
        common = rng.normal(size=(n_samples, 1))
        normal = np.sqrt(_CORRELATION) * common + np.sqrt(1 - _CORRELATION) * normal
    uniform = ndtr(normal)
    columns = []
    for column, size in zip(uniform.T, sizes):
        shares = 0.5 ** np.arange(size) if structure == "unbalanced" else np.ones(size)
        edges = np.cumsum(shares / shares.sum())[:-1]
        columns.append(np.searchsorted(edges, column))
    return np.column_stack(columns)


def _padded(codes: Floats, n_codes: int | None, rng: RandomState) -> Floats:
    if n_codes is None:
        return codes
    missing = n_codes - codes.shape[1]
    if missing < 0:
        raise ValueError(
            f"n_codes must be at least what the encoder gives, {codes.shape[1]}, got {n_codes}."
        )
    spread = max(float(codes.std()), np.finfo(float).tiny)
    return np.hstack([codes, spread * rng.normal(size=(len(codes), missing))])
