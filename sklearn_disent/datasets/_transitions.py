"""Pairs in time: the same scene a moment later, on any grid of factors."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from .._params import PositiveFloat, PositiveInt, RandomStateLike, loads
from ._base import FactorGrid, Selection, check_factor_selection

Classes = NDArray[np.int64]

DESCR = """\
Pairs in time
-------------

Each row has a partner (`images_pair`, `data_pair`, `target_pair`), in which {how}.
`changed` says which factors are different. The first of each pair is drawn uniformly, with
replacement.

Source of the transitions: {source}

"""
_HOW = {
    "laplace": (
        "every ordered factor took a step of Laplace's distribution: most stay or move a little, "
        "few jump. At least one moved",
        "D. Klindt, L. Schott, Y. Sharma, I. Ustyuzhaninov, W. Brendel, M. Bethge and D. Paiton "
        "(2021).\nTowards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding. "
        "ICLR.",
    ),
    "sparse": (
        "{k} factors took another class, drawn uniformly",
        "F. Locatello, B. Poole, G. Rätsch, B. Schölkopf, O. Bachem and M. Tschannen (2020).\n"
        "Weakly-Supervised Disentanglement Without Compromises. ICML.",
    ),
}


def _probe(make: Callable[..., Any]) -> Bunch:
    """First and last row of a data set, which tell its grid."""
    name = getattr(make, "__name__", repr(make))
    rule = (
        f"make must be a function of this room whose images are the full grid of their factors, "
        f"such as make_dsprites, and {name} is not: "
    )
    try:
        first = make(indices=[0])
        sizes = first.factor_sizes
        last = make(indices=[0, int(np.prod(sizes)) - 1])
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{rule}{error}") from error
    if last.target.tolist() != [[0] * len(sizes), [size - 1 for size in sizes]]:
        raise ValueError(f"{rule}its last row has the classes {last.target[-1].tolist()}.")
    return last


def _laplace_weights(size: int, rate: float, *, must_move: bool) -> NDArray[np.float64]:
    """Weights (size, size) of the next class in each class."""
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    weights = np.exp(-rate * steps / np.log(size))
    if must_move:
        np.fill_diagonal(weights, 0)
    return weights


def _draw(weights: NDArray[np.float64], rows: Classes, rng: np.random.RandomState) -> Classes:
    """One column for each of the rows, with probability proportional to its weight."""
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    # Row r lies in [r, r + 1], so one search serves all rows.
    ladder = (cumulative + np.arange(len(weights))[:, None]).ravel()
    place = np.searchsorted(ladder, rows + rng.uniform(size=len(rows)), side="right")
    return np.minimum(place - rows * weights.shape[1], weights.shape[1] - 1)


def _step_laplace(
    start: Classes, sizes: Sequence[int], movable: Classes, rate: float, rng: np.random.RandomState
) -> Classes:
    """Every movable factor steps by Laplace's distribution; one must move."""
    end = start.copy()
    for factor in movable:
        weights = _laplace_weights(sizes[factor], rate, must_move=False)
        end[:, factor] = _draw(weights, start[:, factor], rng)
    # Where nothing moved, one factor is chosen, and drawn again given that it moves.
    still = np.flatnonzero((end == start).all(axis=1))
    chosen = movable[rng.randint(len(movable), size=len(still))]
    for factor in movable:
        rows = still[chosen == factor]
        weights = _laplace_weights(sizes[factor], rate, must_move=True)
        end[rows, factor] = _draw(weights, start[rows, factor], rng)
    return end


def _step_sparse(
    start: Classes,
    sizes: Sequence[int],
    movable: Classes,
    n_changed: int | None,
    rng: np.random.RandomState,
) -> Classes:
    """Some factors of each row take another class."""
    n_samples, n_movable = len(start), len(movable)
    if n_changed is not None and n_changed > n_movable:
        raise ValueError(
            f"n_changed={n_changed} factors cannot change: only {n_movable} have more than one "
            "class. Ask for fewer, or keep more classes in factors."
        )
    if n_changed is None:
        counts = rng.randint(1, max(n_movable, 2), size=n_samples)
    else:
        counts = np.full(n_samples, n_changed)
    order = np.argsort(rng.uniform(size=(n_samples, n_movable)), axis=1)
    end = start.copy()
    for place, factor in enumerate(movable):
        # The rank of a factor in a random order decides whether it is among the first k.
        moves = np.flatnonzero(np.argmax(order == place, axis=1) < counts)
        step = 1 + rng.randint(sizes[factor] - 1, size=len(moves))
        end[moves, factor] = (start[moves, factor] + step) % sizes[factor]
    return end


def _movable(
    kind: str,
    names: Sequence[str],
    sizes: Sequence[int],
    values: Mapping[str, NDArray[Any]],
    categorical: Sequence[str] | None,
) -> Classes:
    """Factors that may change: of more than one class, and for Laplace in an order."""
    if categorical is None:
        categorical = [name for name in names if values[name].dtype.kind not in "biuf"]
    unknown = [name for name in categorical if name not in names]
    if unknown:
        raise ValueError(f"Unknown factor {unknown[0]!r}. The factors are {', '.join(names)}.")
    fixed = set(categorical) if kind == "laplace" else set()
    movable = [i for i, name in enumerate(names) if sizes[i] > 1 and name not in fixed]
    if not movable:
        raise ValueError(
            "No factor can change: each is categorical or has only one class left. Keep more "
            "classes in factors, or use kind='sparse' for categorical ones."
        )
    return np.array(movable)


@loads(tuple[NDArray[Any], NDArray[Any], Classes, Classes])
def make_transitions(
    make: Callable[..., Any] | Sequence[int],
    n_samples: PositiveInt = 1000,
    *,
    kind: Literal["laplace", "sparse"] = "laplace",
    rate: PositiveFloat = 1.0,
    n_changed: PositiveInt | None = 1,
    factors: Selection | None = None,
    categorical: Sequence[str] | None = None,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[Any], NDArray[Any], Classes, Classes]:
    r"""Draw pairs of images in time, between which few factors change much.

    Sparse transitions make factors identifiable without labels. "laplace" draws the next class
    c' of a factor with K classes in class c with probability

    .. math::
        p(c' \mid c) \propto \exp(-\mathrm{rate} \cdot |c' - c| / \ln K),

    and at least one factor changes [1]_; "sparse" gives `n_changed` factors another class [2]_.

    Parameters
    ----------
    make : callable or sequence of int
        A function of this room whose images are the full grid of their factors:
        :func:`make_dsprites`, ``functools.partial(make_shapes3d, image_size=32)``,
        :func:`fetch_mpi3d`. Or the sizes of factors, for pairs of classes without images.

    n_samples : int, default=1000
        Number of pairs.

    kind : {"laplace", "sparse"}, default="laplace"
        How factors change from the first image to the second.

    rate : float, default=1.0
        Rate of the Laplace transitions: the larger, the smaller the steps.

    n_changed : int or None, default=1
        Number of factors that change if `kind` is "sparse". None draws it for each pair,
        uniformly from 1 to one less than the number of factors.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, in both images. A factor with one class never changes.

    categorical : sequence of str or None, default=None
        Factors whose classes have no order: they do not change if `kind` is "laplace". None takes
        those whose values are words, such as the shape in dSprites.

    random_state : int, RandomState instance or None, default=None
        Determines pairs, and noise that `make` draws unless it has a `random_state` of its own.
        Pass an int for the same pairs at every call.

    return_X_y : bool, default=False
        If True, return ``(X, X_pair, target, target_pair)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images, images_pair : ndarray of shape (n_samples, ...)
            The images of `make`, before and after. Not there if `make` is a sequence.
        data, data_pair : ndarray of shape (n_samples, n_features)
            The images, flattened; views, not copies. If `make` is a sequence, the classes as
            floats.
        target, target_pair : ndarray of shape (n_samples, n_factors), int64
            Classes of the factors, before and after.
        changed : ndarray of shape (n_samples, n_factors), bool
            Which factors are different.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices, indices_pair : ndarray of shape (n_samples,), int64
            Row-major indices of the images in the whole set.

        DESCR : str

    (X, X_pair, target, target_pair) : tuple of ndarray
        If `return_X_y` is True, with images for X.

    See Also
    --------
    sklearn_disent.models.AdaGVAE : Learns from such pairs, passed as ``X_pair``.
    make_nonlinear_ica : Identifiability from segments instead of pairs.

    Notes
    -----
    The scale of the Laplace steps grows with the logarithm of the number of classes, as in the
    program of [1]_. Where no factor changed, that program as well as this one chooses a factor
    uniformly and draws its step given that it is not 0.

    References
    ----------
    .. [1] D. Klindt, L. Schott, Y. Sharma, I. Ustyuzhaninov, W. Brendel, M. Bethge and D. Paiton
       (2021). Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding. ICLR.
    .. [2] F. Locatello, B. Poole, G. Rätsch, B. Schölkopf, O. Bachem and M. Tschannen (2020).
       Weakly-Supervised Disentanglement Without Compromises. ICML.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_dsprites, make_transitions
    >>> pairs = make_transitions(make_dsprites, 200, kind="sparse", n_changed=2, random_state=0)
    >>> pairs.images.shape, pairs.images_pair.shape
    ((200, 64, 64), (200, 64, 64))
    >>> set(pairs.changed.sum(axis=1).tolist())
    {2}
    """
    rng = check_random_state(random_state)
    if callable(make):
        whole = _probe(make)
        grid, about = FactorGrid(whole.factor_values), whole.DESCR
    else:
        grid, about = _plain_grid(make), ""
    kept = check_factor_selection(factors, grid.names, grid.sizes)
    sizes = [len(classes) for classes in kept]
    movable = _movable(kind, grid.names, sizes, grid.values, categorical)
    start = np.stack([rng.randint(size, size=n_samples) for size in sizes], axis=1)
    if kind == "laplace":
        end = _step_laplace(start, sizes, movable, rate, rng)
    else:
        end = _step_sparse(start, sizes, movable, n_changed, rng)
    target, target_pair = (
        np.stack([k[column] for k, column in zip(kept, places.T)], axis=1)
        for places in (start, end)
    )
    pairs = _draw_pairs(make, grid, target, target_pair, rng)
    if return_X_y:
        X, X_pair = list(pairs.values())[:2]
        return X, X_pair, target, target_pair
    how, source = _HOW[kind]
    how = how.format(k="some" if n_changed is None else n_changed)
    return Bunch(
        **pairs,
        target=target,
        target_pair=target_pair,
        changed=target != target_pair,
        factor_names=grid.names,
        factor_sizes=grid.sizes,
        factor_values=dict(grid.values),
        indices=grid.to_indices(target),
        indices_pair=grid.to_indices(target_pair),
        DESCR=DESCR.format(how=how, source=source) + about,
    )


def _plain_grid(sizes: Sequence[int]) -> FactorGrid:
    numbers = np.asarray(sizes)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(
            f"make must be a function that makes a data set, or a list of sizes of factors, each "
            f"an integer of at least 1, got {sizes!r}."
        )
    return FactorGrid({f"factor_{i}": np.arange(size) for i, size in enumerate(numbers)})


def _draw_pairs(
    make: Any,
    grid: FactorGrid,
    target: Classes,
    target_pair: Classes,
    rng: np.random.RandomState,
) -> dict[str, NDArray[Any]]:
    """Images of both halves of the pairs, or their classes where there are none."""
    n_samples = len(target)
    if not callable(make):
        return {
            "data": target.astype(np.float64),
            "data_pair": target_pair.astype(np.float64),
        }
    options: dict[str, Any] = {}
    own = inspect.signature(make).parameters.get("random_state")
    if own is not None and own.default is None:
        options["random_state"] = int(rng.randint(2**31 - 1))
    # In one call, so that both halves have the same noise where they are the same image.
    both = grid.to_indices(np.concatenate([target, target_pair]))
    images = make(indices=both, **options).images
    flat = images.reshape(2 * n_samples, -1)
    return {
        "images": images[:n_samples],
        "images_pair": images[n_samples:],
        "data": flat[:n_samples],
        "data_pair": flat[n_samples:],
    }
