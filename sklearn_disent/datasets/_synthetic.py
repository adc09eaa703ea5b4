"""Factors and codes without images, whose disentanglement is known by construction."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sklearn.utils import Bunch, check_random_state

from .._params import AtLeastTwo, PositiveInt, PositiveShare, RandomStateLike, ShareBelowOne, loads

Floats = NDArray[np.float64]


def _mix(columns: Floats, own: float) -> Floats:
    """Each column times `own`, plus the others in equal parts that weigh 1 - own together."""
    others = columns.sum(axis=1, keepdims=True) - columns
    return own * columns + (1 - own) / (columns.shape[1] - 1) * others


def _dependent_classes(noise: Floats, delta: float, n_classes: int) -> NDArray[np.int64]:
    """Factors of independent uniform noise: mixed by delta, cut into bins of equal width."""
    classes = np.floor(n_classes * _mix(noise, delta)).astype(np.int64)
    return np.clip(classes, 0, n_classes - 1)


def _cosine_codes(
    classes: NDArray[np.int64], nuisance: Floats, alpha: float, beta: float, n_classes: int
) -> Floats:
    """Codes of the factors: mixed by alpha, disturbed by beta, bent by a cosine."""
    mixed = _mix(classes.astype(np.float64), alpha) + beta * nuisance
    return np.cos(np.pi * mixed / n_classes)


def _check_interval(name: str, value: float, low: float, high: float, why: str) -> None:
    # 1 / n has no exact binary form, so the ends are met to rounding.
    if not low - 1e-12 <= value <= high + 1e-12:
        raise ValueError(f"{name} must lie in [{low:.4g}, {high:.4g}] ({why}), got {value}.")


def table_bunch(
    classes: NDArray[np.int64],
    values: dict[str, NDArray],
    codes: Floats,
    return_X_y: bool,
    descr: str,
    **fields: object,
) -> Bunch | tuple[Floats, NDArray[np.int64]]:
    if return_X_y:
        return codes, classes
    factors = np.stack([v[column] for v, column in zip(values.values(), classes.T)], axis=1)
    return Bunch(
        data=codes,
        target=classes,
        codes=codes,
        factors=factors.astype(np.float64),
        factor_names=list(values),
        factor_sizes=tuple(len(v) for v in values.values()),
        factor_values=values,
        DESCR=descr,
        **fields,
    )


@loads(tuple[Floats, NDArray[np.int64]])
def make_dependent_factors(
    n_samples: PositiveInt = 2000,
    *,
    n_factors: AtLeastTwo = 4,
    n_classes: AtLeastTwo = 5,
    alpha: PositiveShare = 1.0,
    delta: PositiveShare = 1.0,
    beta: ShareBelowOne = 0.0,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[Floats, NDArray[np.int64]]:
    r"""Draw factors of a chosen dependence and codes of a chosen disentanglement.

    With noise :math:`\epsilon_i \sim U[0, 1]`, n factors and K classes, the factors are

    .. math::
        y'_i = \delta \epsilon_i + \frac{1 - \delta}{n - 1} \sum_{l \ne i} \epsilon_l, \qquad
        y_i = \lfloor K y'_i \rfloor

    and the codes, with fresh noise :math:`\eta_j \sim U[0, 1]`,

    .. math::
        z'_j = \alpha y_j + \frac{1 - \alpha}{n - 1} \sum_{i \ne j} y_i + \beta \eta_j, \qquad
        z_j = \cos(\pi z'_j / K).

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.

    n_factors : int, default=4
        Number n of factors, and of codes.

    n_classes : int, default=5
        Number K of classes of every factor.

    alpha : float in [1 / n_factors, 1], default=1.0
        Disentanglement: at 1 each code is a function of its own factor alone, at 1 / n every code
        is the same function of the mean of all factors.

    delta : float in [1 / n_factors, 1], default=1.0
        Independence of the factors: at 1 they are independent, at 1 / n all are equal.

    beta : float in [0, 1 - 1 / n_classes], default=0.0
        Nuisance: how much of a code is noise that is independent of the factors. With alpha = 1
        the class of a factor can still be read from its code.

    random_state : int, RandomState instance or None, default=None
        Determines the noise. Pass an int for the same rows at every call.

    return_X_y : bool, default=False
        If True, return ``(codes, classes)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        codes, data : ndarray of shape (n_samples, n_factors), float64

        target : ndarray of shape (n_samples, n_factors), int64
            Classes of the factors.
        factors : ndarray of shape (n_samples, n_factors), float64
            Values of the factors: the classes as floats.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.

        DESCR : str

    (codes, classes) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_logical_codes : Ten maps from factors to codes, each with one known defect.
    sklearn_disent.model_selection.sample_dependent : Make the factors of any data dependent.

    Notes
    -----
    The paper studies alpha and delta with beta = 0, and beta with alpha = delta = 1; here they
    may be combined. It does not spell out its binning: here bins have equal width on [0, 1], so
    that the middle classes are the frequent ones at small delta.

    References
    ----------
    .. [1] A. Almudévar and A. Ortega (2025). Rethinking Disentanglement under Dependent Factors of
       Variation. Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> independent = make_dependent_factors(delta=1.0, random_state=0).factors
    >>> dependent = make_dependent_factors(delta=0.5, random_state=0).factors
    >>> round(float(np.corrcoef(independent.T)[0, 1]), 1)
    0.0
    >>> round(float(np.corrcoef(dependent.T)[0, 1]), 1)
    0.6
    """
    _check_interval("alpha", alpha, 1 / n_factors, 1, "1 / n_factors to 1")
    _check_interval("delta", delta, 1 / n_factors, 1, "1 / n_factors to 1")
    _check_interval("beta", beta, 0, 1 - 1 / n_classes, "0 to 1 - 1 / n_classes")
    rng = check_random_state(random_state)
    noise = rng.uniform(size=(n_samples, n_factors))
    nuisance = rng.uniform(size=(n_samples, n_factors))
    classes = _dependent_classes(noise, delta, n_classes)
    codes = _cosine_codes(classes, nuisance, alpha, beta, n_classes)
    values = {f"factor_{i}": np.arange(n_classes, dtype=np.float64) for i in range(n_factors)}
    descr = (
        f"{n_factors} factors of {n_classes} classes and as many codes: independence "
        f"delta={delta}, disentanglement alpha={alpha}, nuisance beta={beta}."
    )
    return table_bunch(classes, values, codes, return_X_y, descr)


def _entangle(y: Floats, rotation: Floats, rng: np.random.RandomState) -> Floats:
    """Rotate and exponentiate twice, then scale codes to [0, 1]: injective, but not modular."""
    codes = np.exp(np.exp(y @ rotation.T) @ rotation.T)
    return (codes - codes.min(axis=0)) / np.ptp(codes, axis=0)


LogicalMap = Literal[
    "entanglement",
    "rotation",
    "duplicate",
    "complement",
    "misalignment",
    "redundancy",
    "contraction",
    "nonlinear",
    "constant",
    "random",
]
# Each map takes the factor values, a rotation and a random source; with it, how many codes belong
# to each factor, in order.
_LOGICAL_MAPS: dict[LogicalMap, tuple[Callable[..., Floats], tuple[int, int, int]]] = {
    "entanglement": (_entangle, (1, 1, 1)),
    "rotation": (lambda y, rotation, rng: y @ rotation.T, (1, 1, 1)),
    "duplicate": (lambda y, rotation, rng: y[:, [0, 1, 2, 0, 1, 2, 2]], (3, 3, 1)),
    "complement": (lambda y, rotation, rng: y[:, [1, 2, 0, 2, 0, 1]], (2, 2, 2)),
    "misalignment": (lambda y, rotation, rng: y[:, [1, 2, 0]], (1, 1, 1)),
    "redundancy": (lambda y, rotation, rng: y[:, [0, 0, 1, 2]] * [1, -1, 1, 1], (2, 1, 1)),
    "contraction": (lambda y, rotation, rng: 0.01 * y, (1, 1, 1)),
    "nonlinear": (lambda y, rotation, rng: y**2, (1, 1, 1)),
    "constant": (lambda y, rotation, rng: np.zeros_like(y), (1, 1, 1)),
    "random": (lambda y, rotation, rng: rng.uniform(size=y.shape), (1, 1, 1)),
}


@loads(tuple[Floats, NDArray[np.int64]])
def make_logical_codes(
    kind: LogicalMap = "entanglement",
    *,
    n_levels: AtLeastTwo = 11,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[Floats, NDArray[np.int64]]:
    r"""Map a grid of three factors to codes that are correct, or wrong in one known way.

    The factors :math:`(y_1, y_2, y_3)` run over :math:`\{0, .1, \dots, 1\}^3`; R is a random
    rotation.

    ============  ======================================================  ========  ===========
    kind          codes                                                   modular   informative
    ============  ======================================================  ========  ===========
    entanglement  :math:`a \exp(R \exp(R y)) + b`, scaled to [0, 1]       no        yes
    rotation      :math:`R y`                                             no        yes
    duplicate     :math:`((y_1, y_2, y_3), (y_1, y_2, y_3), y_3)`         no        yes
    complement    :math:`((y_2, y_3), (y_1, y_3), (y_1, y_2))`            no        yes
    misalignment  :math:`(y_2, y_3, y_1)`                                 no        yes
    redundancy    :math:`((y_1, -y_1), y_2, y_3)`                         yes       yes
    contraction   :math:`.01 (y_1, y_2, y_3)`                             yes       yes
    nonlinear     :math:`(y_1^2, y_2^2, y_3^2)`                           yes       yes
    constant      :math:`(0, 0, 0)`                                       yes       no
    random        uniform noise on [0, 1]                                 no        no
    ============  ======================================================  ========  ===========

    Parameters
    ----------
    kind : {"entanglement", "rotation", "duplicate", "complement", "misalignment", "redundancy", "contraction", "nonlinear", "constant", "random"}, default="entanglement"
        One of the ten maps above.

    n_levels : int, default=11
        Number of values of each factor, evenly spaced on [0, 1]; there are ``n_levels ** 3`` rows.

    shuffle : bool, default=True
        Whether the rows come in random or in row-major order.

    random_state : int, RandomState instance or None, default=None
        Determines the rotation, the noise and the order. Pass an int for the same rows at every
        call; the rotation is the same for every `kind`.

    return_X_y : bool, default=False
        If True, return ``(codes, classes)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        codes, data : ndarray of shape (n_samples, n_codes), float64
            n_codes is 7 for duplicate, 6 for complement, 4 for redundancy, otherwise 3.
        factors : ndarray of shape (n_samples, 3), float64
            Values of the factors in [0, 1].
        target : ndarray of shape (n_samples, 3), int64
            Classes of the factors in 0, ..., n_levels - 1.
        blocks : list of ndarray
            For each factor, the columns of `codes` that are meant for it.
        rotation : ndarray of shape (3, 3)
            The rotation R.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.

        DESCR : str

    (codes, classes) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    make_dependent_factors : Codes between entangled and disentangled, of dependent factors.

    Notes
    -----
    The affine map of "entanglement" scales every code to [0, 1] separately. The paper's tables
    list a random map that its text does not define; uniform noise reproduces the five modularity
    scores of its table to within .01.

    References
    ----------
    .. [1] Y. Zhang and M. Sugiyama (2024). Enriching Disentanglement: From Logical Definitions to
       Quantitative Metrics. NeurIPS. Appendix F.1.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_logical_codes
    >>> redundant = make_logical_codes("redundancy", shuffle=False)
    >>> redundant.factors[121], redundant.codes[121]
    (array([0.1, 0. , 0. ]), array([ 0.1, -0.1,  0. ,  0. ]))
    >>> [block.tolist() for block in redundant.blocks]
    [[0, 1], [2], [3]]
    """  # noqa: E501
    rng = check_random_state(random_state)
    # A normalised Gaussian quaternion is uniform over rotations.
    rotation = Rotation.from_quat(rng.normal(size=4)).as_matrix()
    levels = np.linspace(0.0, 1.0, n_levels)
    classes = np.stack(np.unravel_index(np.arange(n_levels**3), (n_levels,) * 3), axis=1)
    mapping, widths = _LOGICAL_MAPS[kind]
    codes = np.asarray(mapping(levels[classes], rotation, rng), dtype=np.float64)
    if shuffle:
        order = rng.permutation(len(codes))
        classes, codes = classes[order], codes[order]
    return table_bunch(
        classes.astype(np.int64, copy=False),
        {f"y_{i + 1}": levels for i in range(3)},
        codes,
        return_X_y,
        f"Three factors on a grid of {n_levels} levels each, and their codes by {kind}.",
        blocks=np.split(np.arange(codes.shape[1]), np.cumsum(widths)[:-1]),
        rotation=rotation,
    )
