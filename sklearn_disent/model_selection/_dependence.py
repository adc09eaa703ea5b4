"""Make the factors of a data set dependent by the rows that are drawn from it."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from .._params import Array, Names, PositiveFloat, PositiveInt, RandomStateLike, validated

Pair = tuple[int | str, int | str]
Pairs = Annotated[Sequence[Pair], "array-like"]
Kind = Literal["gaussian", "inverse", "A", "B", "C", "D"]


def _factor_names(factors: Any, factor_names: Sequence[str] | None) -> list[str] | None:
    if factor_names is None:
        columns = getattr(factors, "columns", None)
        return None if columns is None else [str(name) for name in columns]
    return [str(name) for name in factor_names]


def _column(name: Any, names: list[str] | None, n_factors: int) -> int:
    """Column of a factor given by number or by name."""
    if isinstance(name, (int, np.integer)):
        if not 0 <= name < n_factors:
            raise ValueError(
                f"pairs must name columns of factors by 0 to {n_factors - 1}, got {name}."
            )
        return int(name)
    if names is None:
        raise ValueError(
            f"pairs names the factor {name!r}, but factors has no names. Pass factor_names, "
            "a DataFrame, or the number of the column."
        )
    if name not in names:
        raise ValueError(
            f"pairs must name factors among {', '.join(map(repr, names))}, got {name!r}."
        )
    return names.index(name)


def _scaled_factors(
    factors: NDArray[Any], factor_sizes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Factors scaled to [0, 1], and which of them vary."""
    low, high = factors.min(axis=0), factors.max(axis=0)
    varies = high > low
    if factor_sizes is not None:
        sizes = np.asarray(factor_sizes)
        if sizes.shape != (factors.shape[1],) or sizes.dtype.kind not in "iu":
            raise ValueError(
                f"factor_sizes must hold one integer for each of the {factors.shape[1]} factors, "
                f"got {factor_sizes!r}."
            )
        outside = np.flatnonzero((low < 0) | (high > sizes - 1))
        if len(outside):
            i = outside[0]
            raise ValueError(
                f"Factor {i} must hold classes in [0, {sizes[i] - 1}] by its factor_sizes, "
                f"got values in [{low[i]}, {high[i]}]."
            )
        low, high = np.zeros(len(sizes)), sizes - 1.0
    span = np.where(high > low, high - low, 1.0)
    return (factors - low) / span, varies


def _column_pairs(
    pairs: Sequence[Pair], names: list[str] | None, varies: NDArray[np.bool_]
) -> list[list[tuple[int, int]]]:
    """For each entry of pairs, the pairs of columns it stands for."""
    n_factors, groups = len(varies), []
    seen: dict[frozenset[int], Pair] = {}
    if len(pairs) == 0:
        raise ValueError("pairs must name at least one pair of factors, got none.")
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"Each of pairs must be two factors, got {pair!r}.")
        first = _column(pair[0], names, n_factors)
        if isinstance(pair[1], str) and pair[1] == "*":
            group = [(first, j) for j in range(n_factors) if j != first and varies[j]]
            if not group:
                raise ValueError(
                    f"pairs holds {pair!r}, but no other factor varies. Take a part of the data "
                    "set in which others vary."
                )
        else:
            group = [(first, _column(pair[1], names, n_factors))]
        for i, j in group:
            if i == j:
                raise ValueError(f"pairs must join two different factors, got {pair!r}.")
            if frozenset((i, j)) in seen:
                raise ValueError(
                    f"pairs {seen[frozenset((i, j))]!r} and {pair!r} overlap: any two factors "
                    "may be joined only once. Use a smaller sigma for a stronger dependence."
                )
            seen[frozenset((i, j))] = (pair[0], pair[1])
            fixed = [c for c in (i, j) if not varies[c]]
            if fixed:
                label = repr(names[fixed[0]]) if names else str(fixed[0])
                raise ValueError(
                    f"Factor {label} of the pair {pair!r} has a single value, so nothing can "
                    "depend on it. Take a part of the data set in which it varies."
                )
        groups.append(group)
    return groups


def _log_weight(
    u: NDArray[np.float64], v: NDArray[np.float64], kind: str, sigma: float
) -> NDArray[np.float64]:
    """Logarithm of the weight of one pair of factors in [0, 1]."""
    if kind == "gaussian":
        return -((u - v) ** 2) / (2 * sigma**2)
    if kind == "inverse":
        return -((u - (1 - v)) ** 2) / (2 * sigma**2)
    if kind == "A":
        return np.zeros_like(u)
    if kind == "B":
        return np.log1p(u) + np.log1p(v)
    if kind == "C":
        return np.log1p(3 * (2 * u - 1) ** 2 * (2 * v - 1) ** 2)
    return np.log1p(3 * (1 - np.abs(u - v)))


def _sigma_of_each(sigma: Any, n_pairs: int) -> NDArray[np.float64]:
    values = np.asarray(sigma, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_pairs, values)
    if values.shape != (n_pairs,):
        raise ValueError(
            f"sigma must be a number or one number for each of the {n_pairs} pairs, got {sigma!r}."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"sigma must be positive and finite, got {sigma!r}.")
    return values


@validated
def dependence_weights(
    factors: Array,
    pairs: Pairs,
    *,
    kind: Kind = "gaussian",
    sigma: PositiveFloat | Array = 0.1,
    factor_names: Names | None = None,
    factor_sizes: Array | None = None,
) -> NDArray[np.float64]:
    r"""Probabilities of rows that make pairs of factors dependent.

    Every factor is scaled to [0, 1]; the weight of a row is the product, over the pairs, of a
    function of the two scaled factors u and v, normalized to sum to 1 over the rows:

    ========  =========================================  ======================================
    kind      weight of a pair                           u and v become
    ========  =========================================  ======================================
    gaussian  :math:`\exp(-(u - v)^2 / (2 \sigma^2))`    positively correlated
    inverse   :math:`\exp(-(u+v-1)^2 / (2 \sigma^2))`    negatively correlated
    A         1                                          uniform and independent
    B         :math:`(1 + u)(1 + v)`                     independent, with uneven marginals
    C         :math:`1 + 3 (2u - 1)^2 (2v - 1)^2`        dependent, but uncorrelated
    D         :math:`1 + 3 (1 - |u - v|)`                dependent and weakly correlated
    ========  =========================================  ======================================

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        Classes of the factors, such as `target` of the data sets. Preferably every combination of
        classes occurs once: the weights multiply whatever dependence there is already.
    pairs : list of tuple
        Pairs of factors, by column number or by name. ``("shape", "*")`` joins shape with every
        other factor that varies.
    kind : {"gaussian", "inverse", "A", "B", "C", "D"}, default="gaussian"
        Which of the functions above.
    sigma : float or array-like of shape (n_pairs,), default=0.1
        Width of the Gaussian, one for all pairs or one for each: .1 is strong, .4 moderate, .7
        weak. The kinds A to D do not use it.
    factor_names : list of str or None, default=None
        Names; those of the columns of a DataFrame if None.
    factor_sizes : array-like of int of shape (n_factors,) or None, default=None
        Number of classes of each factor, to scale by ``class / (size - 1)``. If None, factors are
        scaled by their smallest and largest value.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        Non-negative, with the sum 1.

    See Also
    --------
    sample_dependent : Draw rows with these weights.
    load_dependence_setting : Named choices of pairs and sigma.

    Notes
    -----
    Gaussian weights and one-to-all pairs follow Roth et al. (2023). The joint distributions A to
    D follow the sampling study of Chen et al. (2018), which shows them only as pictures: the
    formulas are the simplest ones with the stated properties and a ratio of 4 between the most
    and the least likely pair. With several pairs the marginals are not uniform.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors via
    Hausdorff factorized support. ICLR.

    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.model_selection import dependence_weights
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> dependence_weights(factors, [(0, 1)], kind="D")
    array([0.4, 0.1, 0.1, 0.4])
    """
    names = _factor_names(factors, factor_names)
    values = check_array(factors, dtype="numeric", input_name="factors")
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(
            f"factor_names must hold one name for each of the {values.shape[1]} columns of "
            f"factors, got {len(names)}."
        )
    scaled, varies = _scaled_factors(values, factor_sizes)
    groups = _column_pairs(pairs, names, varies)
    log_weights = np.zeros(len(values))
    for group, width in zip(groups, _sigma_of_each(sigma, len(groups))):
        for i, j in group:
            log_weights += _log_weight(scaled[:, i], scaled[:, j], kind, width)
    # The largest weight becomes 1 first: a product of narrow Gaussians may underflow everywhere.
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


@validated
def sample_dependent(
    factors: Array,
    pairs: Pairs,
    n_samples: PositiveInt | None = None,
    *,
    kind: Kind = "gaussian",
    sigma: PositiveFloat | Array = 0.1,
    factor_names: Names | None = None,
    factor_sizes: Array | None = None,
    random_state: RandomStateLike = None,
) -> NDArray[np.int64]:
    """Draw rows, with replacement, so that pairs of factors are dependent.

    Parameters
    ----------
    factors : array-like of shape (n_samples_in, n_factors)
        Classes of the factors of the rows to draw from.
    pairs : list of tuple
        Pairs of factors, by column number or by name. ``("shape", "*")`` joins shape with every
        other factor that varies.
    n_samples : int or None, default=None
        Number of rows to draw; as many as `factors` has if None.
    kind : {"gaussian", "inverse", "A", "B", "C", "D"}, default="gaussian"
        Which of the functions in :func:`dependence_weights`.
    sigma : float or array-like of shape (n_pairs,), default=0.1
        Width of the Gaussian, one for all pairs or one for each: .1 is strong, .4 moderate, .7
        weak. The kinds A to D do not use it.
    factor_names : list of str or None, default=None
        Names; those of the columns of a DataFrame if None.
    factor_sizes : array-like of int of shape (n_factors,) or None, default=None
        Number of classes of each factor, to scale by ``class / (size - 1)``. If None, factors are
        scaled by their smallest and largest value.
    random_state : int, RandomState instance or None, default=None
        Determines the draw. Pass an int for the same rows at every call.

    Returns
    -------
    indices : ndarray of shape (n_samples,), int64
        Numbers of the rows drawn, in random order; likely rows occur many times.

    See Also
    --------
    dependence_weights : The probabilities of the rows.
    DependentShuffleSplit : Dependent rows as `cv` of a search.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import make_dsprites
    >>> from sklearn_disent.model_selection import load_dependence_setting, sample_dependent
    >>> part = {"shape": 0, "scale": 5, "orientation": 0}
    >>> sprites = make_dsprites(factors=part, random_state=0)
    >>> setting = load_dependence_setting("dsprites_single_2_01")
    >>> rows = sample_dependent(sprites.target, n_samples=5000, random_state=0, **setting)
    >>> pos_x, pos_y = sprites.target[rows, 3:].T
    >>> round(float(np.corrcoef(pos_x, pos_y)[0, 1]), 2)
    0.94
    """
    weights = dependence_weights(
        factors,
        pairs,
        kind=kind,
        sigma=sigma,
        factor_names=factor_names,
        factor_sizes=factor_sizes,
    )
    rng = check_random_state(random_state)
    size = len(weights) if n_samples is None else n_samples
    return rng.choice(len(weights), size=size, p=weights).astype(np.int64, copy=False)


_NAMES = {
    "dsprites": ("shape", "scale", "orientation", "posX", "posY"),
    "shapes3d": ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    "mpi3d": (
        "object_color",
        "object_shape",
        "object_size",
        "camera_height",
        "background_color",
        "horizontal_axis",
        "vertical_axis",
    ),
    "cars3d": ("elevation", "azimuth", "object_type"),
}

# Pairs as "a-b", several joined by "+", and the sigmas of each setting. Roth et al. (2023).
_SETTINGS: dict[str, tuple[str, tuple[float, ...]]] = {
    "dsprites_single_1": ("shape-scale", (0.1,)),
    "dsprites_single_2": ("posX-posY", (0.1,)),
    "dsprites_single_3": ("shape-posY", (0.1,)),
    "dsprites_double_1": ("shape-posX + scale-posY", (0.04, 0.1, 0.4)),
    "dsprites_double_2": ("shape-scale + posX-posY", (0.04, 0.1, 0.4)),
    "dsprites_conf_1": ("shape-*", (0.2,)),
    "dsprites_conf_2": ("posX-*", (0.2,)),
    "shapes3d_single_1": ("floor_hue-wall_hue", (0.1,)),
    "shapes3d_single_2": ("shape-scale", (0.1,)),
    "shapes3d_single_3": ("shape-wall_hue", (0.1,)),
    "shapes3d_single_4": ("shape-object_hue", (0.1,)),
    "shapes3d_double_1": ("scale-floor_hue + shape-wall_hue", (0.04, 0.1, 0.4)),
    "shapes3d_double_2": ("scale-shape + floor_hue-wall_hue", (0.04, 0.1, 0.4)),
    "shapes3d_double_3": ("shape-object_hue + shape-scale", (0.1,)),
    "shapes3d_triple_1": (
        "scale-orientation + shape-wall_hue + object_hue-floor_hue",
        (0.1,),
    ),
    "shapes3d_triple_2": (
        "object_hue-orientation + shape-scale + floor_hue-wall_hue",
        (0.1,),
    ),
    "shapes3d_conf_1": ("shape-*", (0.2,)),
    "shapes3d_conf_2": ("wall_hue-*", (0.2,)),
    "mpi3d_single_1": ("camera_height-background_color", (0.1,)),
    "mpi3d_single_2": ("object_color-object_size", (0.1,)),
    "mpi3d_single_3": ("horizontal_axis-vertical_axis", (0.1,)),
    "mpi3d_double_1": (
        "object_color-object_shape + horizontal_axis-vertical_axis",
        (0.04, 0.1, 0.4),
    ),
    "mpi3d_double_2": (
        "object_color-horizontal_axis + object_shape-vertical_axis",
        (0.04, 0.1, 0.4),
    ),
    "mpi3d_triple_1": (
        "object_color-background_color + camera_height-horizontal_axis "
        "+ object_shape-vertical_axis",
        (0.1,),
    ),
    "mpi3d_triple_2": (
        "object_color-object_shape + horizontal_axis-vertical_axis "
        "+ background_color-camera_height",
        (0.1,),
    ),
    "mpi3d_conf_1": ("object_shape-*", (0.2,)),
    "mpi3d_conf_2": ("horizontal_axis-*", (0.2,)),
    "cars3d_single_1": ("elevation-azimuth", (0.1, 0.2)),
    "cars3d_single_2": ("elevation-object_type", (0.1, 0.2)),
    "cars3d_single_3": ("azimuth-object_type", (0.1, 0.2)),
    "cars3d_conf_1": ("elevation-*", (0.2,)),
    "cars3d_conf_2": ("azimuth-*", (0.2,)),
    "cars3d_conf_3": ("object_type-*", (0.2,)),
}

_BY_NAME = {
    f"{stem}_{str(sigma).replace('.', '')}": (text, sigma)
    for stem, (text, sigmas) in _SETTINGS.items()
    for sigma in sigmas
}


def get_dependence_setting_names() -> list[str]:
    """Names of all settings that :func:`load_dependence_setting` loads.

    Returns
    -------
    names : list of str
        Such as "dsprites_double_1_01": the data set; single, double, triple or conf (one factor
        confounds all others); a number; sigma without its point, so that 004 is .04 and 01 is .1.

    Examples
    --------
    >>> from sklearn_disent.model_selection import get_dependence_setting_names
    >>> get_dependence_setting_names()[:2]
    ['dsprites_single_1_01', 'dsprites_single_2_01']
    """
    return list(_BY_NAME)


@validated
def load_dependence_setting(name: str) -> dict[str, Any]:
    """Pairs and strength of dependence of a named benchmark.

    Parameters
    ----------
    name : str
        One of :func:`get_dependence_setting_names`, such as "dsprites_double_1_01".

    Returns
    -------
    setting : dict
        The keyword arguments `pairs`, `sigma`, `kind` and `factor_names`, to be passed with ``**``
        to :func:`dependence_weights`, :func:`sample_dependent` or :class:`DependentShuffleSplit`.

    Notes
    -----
    Roth et al. (2023) train on dependent rows and evaluate on independent ones. Factor names are
    those of the data sets of this package.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors via
    Hausdorff factorized support. ICLR.

    Examples
    --------
    >>> from sklearn_disent.model_selection import load_dependence_setting
    >>> setting = load_dependence_setting("dsprites_double_1_01")
    >>> setting["pairs"], setting["sigma"]
    ([('shape', 'posX'), ('scale', 'posY')], 0.1)
    """
    if name not in _BY_NAME:
        raise ValueError(
            f"Unknown dependence setting {name!r}. The settings are {', '.join(_BY_NAME)}."
        )
    text, sigma = _BY_NAME[name]
    return {
        "pairs": [tuple(pair.split("-")) for pair in text.split(" + ")],
        "sigma": sigma,
        "kind": "gaussian",
        "factor_names": list(_NAMES[name.split("_")[0]]),
    }
