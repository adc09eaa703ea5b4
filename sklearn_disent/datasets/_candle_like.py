"""A drawn stand-in for CANDLE: one object in a scene, confounded factors, boxes, interventions."""

from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from .._params import Array, PositiveInt, RandomStateLike, Share, loads, validated
from ._base import (
    FactorGrid,
    ImageShape,
    Selection,
    check_factor_selection,
    choose_rows,
    make_bunch,
)
from ._candle import VALUES, load_candle_design
from ._candle_render import MIDDLE, NUISANCE, REACH, render

GRID = FactorGrid(VALUES)
_SIDES = (16, 320)

# The four contexts (home, nature, town, night) and what they prefer.
_PREFERENCES = {
    "object": np.array(
        [[0.75, 0, 0, 0, 0.25], [0, 0.75, 0, 0, 0.25], [0, 0, 0.75, 0, 0.25], [0, 0, 0, 0.75, 0.25]]
    ),
    "color": np.array(
        [[0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0, 0.5], [0.6, 0, 0, 0, 0.4], [0, 0, 0, 1, 0]]
    ),
    "size": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]]),
}
# Scenes of each context: the early hour prefers the first two, the late one the others.
_SCENES = (
    ("indoor", "hall", "garage", "station"),
    ("outdoor", "garden", "grassland", "beach"),
    ("street", "playground", "city square", "bridge"),
    ("tunnel", "skywalk", "moonlit grass", "dusk city"),
)
_HOURS = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 0.5, 0.5]])
_ARROWS = {"C": ("object", "color", "size", "scene"), "U": ("light", "scene")}
# With this weight a preference is followed at full strength; Cramer's V of object and size is
# then .5.
_OBEDIENCE = 0.82

DESCR = """\
A stand-in for CANDLE, drawn
----------------------------

One object on the ground of a scene, RGB. Factors: object 5 (cube, sphere, cylinder, cone, torus),
color 5, size 3, rotation 6 (degrees about the vertical), scene 16, light 3 (where an extra lamp
stands). Index i is row-major: light varies fastest. Besides, the object's place and depth and the
camera's direction vary from image to image: see nuisance.

The two-level causal graph is that of CANDLE (Reddy, Godfrey and Balasubramanian, 2022):

    C -> object, color, size, scene      a context: home, nature, town or night
    U -> light, scene                    unobserved: the hour
    rotation                             free

{rows}

The pictures are drawn and have nothing of CANDLE but its factors, the names of its scenes, its
boxes and its nuisance. Use load_candle for the real images.
"""
_ROWS = {
    "drawn": "Rows are drawn from this graph with confounding={confounding}, the strength of the "
    "arrows\nout of C and U.",
    "candle": "Rows are among the 12,546 combinations of CANDLE itself, each of them once at most.",
    "grid": "Rows are combinations of the full grid, as they were asked for.",
}


def causal_graph(do: Selection | None = None) -> NDArray[np.int64]:
    """Adjacency of C, U and the factors; what is set by an intervention has no causes any more."""
    names = ["C", "U", *GRID.names]
    graph = np.zeros((len(names), len(names)), dtype=np.int64)
    for cause, effects in _ARROWS.items():
        for effect in effects:
            graph[names.index(cause), names.index(effect)] = effect not in (do or {})
    return graph


def _mechanisms(confounding: float) -> dict[str, NDArray[np.float64]]:
    """Probability of each class of each factor, given the confounders: (4 contexts * 3 hours, k).

    The dependence of two children of one confounder is the product of two arrows. So each arrow
    gets the root of the strength asked for, and Cramér's V is proportional to it.
    """
    strength = _OBEDIENCE * np.sqrt(confounding)
    context, hour = np.divmod(np.arange(12), 3)
    places = {name: i for i, name in enumerate(VALUES["scene"].tolist())}
    scenes = np.zeros((12, len(places)))
    for row in range(12):
        columns = [places[name] for name in _SCENES[context[row]]]
        scenes[row, columns] = _HOURS[hour[row]]
    preferred = {name: table[context] for name, table in _PREFERENCES.items()}
    preferred |= {"scene": scenes, "light": np.eye(3)[hour]}
    tables = {}
    for name, size in zip(GRID.names, GRID.sizes):
        even = np.full((12, size), 1 / size)
        tables[name] = (
            strength * preferred[name] + (1 - strength) * even if name in preferred else even
        )
    return tables


def draw_classes(
    n_samples: int,
    confounding: float,
    factors: Selection | None,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes of the factors (n, 6) and of the confounders C and U (n, 2), among those kept.

    Given the confounders the factors are independent, so that conditioning on a selection is
    exact: the confounders are drawn by how much of their images is kept, then each factor.
    """
    kept = check_factor_selection(factors, GRID.names, GRID.sizes)
    tables = _mechanisms(confounding)
    weight = np.ones(12)
    for name, classes in zip(GRID.names, kept):
        dropped = np.setdiff1d(np.arange(tables[name].shape[1]), classes)
        tables[name][:, dropped] = 0
        mass = tables[name].sum(axis=1, keepdims=True)
        weight *= mass[:, 0]
        tables[name] /= np.where(mass > 0, mass, 1)
    cause = rng.choice(12, size=n_samples, p=weight / weight.sum())
    target = np.empty((n_samples, len(kept)), dtype=np.int64)
    for column, table in enumerate(tables.values()):
        below = rng.uniform(size=(n_samples, 1)) >= np.cumsum(table, axis=1)[cause]
        # Rounding may leave the last sum below 1; the last class with any mass is then meant.
        last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
        target[:, column] = np.minimum(below.sum(axis=1), last[cause])
    return target, np.stack(np.divmod(cause, 3), axis=1).astype(np.int64)


def _select(
    design: str,
    n_samples: int | None,
    indices: ArrayLike | None,
    factors: Selection | None,
    shuffle: bool,
    rng: np.random.RandomState,
) -> NDArray[np.int64]:
    """Classes (n, 6) of rows that are chosen from the grid, not drawn from the graph."""
    if design == "full" or indices is not None:
        chosen = GRID.select(n_samples, indices, factors, shuffle=shuffle, random_state=rng)
    if design == "full":
        return GRID.to_classes(chosen)
    released = np.sort(GRID.to_indices(load_candle_design().target))
    if indices is not None:
        foreign = ~np.isin(chosen, released)
        if foreign.any():
            raise ValueError(
                f"Index {chosen[foreign][0]} is not among the {len(released):,} combinations of "
                "CANDLE. Leave it out, or use design='full'."
            )
        return GRID.to_classes(chosen)
    target = GRID.to_classes(released)
    rows = choose_rows(
        target, VALUES, n_samples, factors=factors, shuffle=shuffle, random_state=rng
    )
    return target[rows]


def _intervene(target: NDArray[np.int64], do: Selection) -> NDArray[np.int64]:
    """The classes after an intervention on some factors."""
    if not do:
        raise ValueError("do names no factor. Pass a dict such as {'object': 3}, or None.")
    changed = target.copy()
    for name, value in do.items():
        if name not in GRID.names:
            raise ValueError(f"Unknown factor {name!r}. The factors are {', '.join(GRID.names)}.")
        column = GRID.names.index(name)
        classes = np.asarray(value)
        if classes.dtype.kind not in "iu" or classes.shape not in ((), (len(target),)):
            raise ValueError(
                f"do[{name!r}] must be an integer class or {len(target)} of them, one per image, "
                f"got {value!r}."
            )
        outside = (classes < 0) | (classes >= GRID.sizes[column])
        if outside.any():
            raise ValueError(
                f"do[{name!r}] must hold classes in [0, {GRID.sizes[column] - 1}], got "
                f"{classes[outside][0] if classes.ndim else classes}."
            )
        changed[:, column] = classes
    return changed


def _check_shape(image_shape: Any) -> tuple[int, int]:
    shape = tuple(image_shape)
    low, high = _SIDES
    whole = all(isinstance(side, Integral) for side in shape)
    if len(shape) != 2 or not whole or min(shape) < low or max(shape) > high:
        raise ValueError(
            f"image_shape must be (height, width), two integers from {low} to {high}, got "
            f"{image_shape}."
        )
    return int(shape[0]), int(shape[1])


def _check_confounding(confounding: float | None, design: str, n_samples: int | None) -> float:
    if confounding is not None and (design != "full" or n_samples is None):
        raise ValueError(
            "confounding is the strength with which images are drawn from the causal graph, which "
            "needs design='full' and n_samples; other rows have the dependence that they have. "
            "Leave it None."
        )
    return 1.0 if confounding is None else confounding


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def make_candle_like(
    n_samples: PositiveInt | None = None,
    *,
    design: Literal["full", "candle"] = "full",
    confounding: Share | None = None,
    indices: Array | None = None,
    factors: Selection | None = None,
    do: Selection | None = None,
    twins: bool = False,
    jitter: Share = 1.0,
    painted: bool = True,
    image_shape: ImageShape = (64, 64),
    shuffle: bool = True,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw one object in a scene, with confounded factors, boxes and true counterfactuals.

    The factors follow the two-level causal graph of CANDLE [1]_: a context C acts on object,
    color, size and scene; an unobserved U acts on light and scene; rotation is free. No factor
    causes another, yet they are dependent. As in CANDLE, the object's place and depth and the
    camera vary from image to image, so that size is not the number of pixels covered. Unlike in
    CANDLE, every image has true counterfactuals: the same picture with some factors set.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of images. With ``design="full"`` they are drawn independently from the causal
        graph; with ``design="candle"``, from its combinations without replacement. None takes
        every combination of the design once (21,600 or 12,546), or those that `factors` keeps.

    design : {"full", "candle"}, default="full"
        Whether every combination of factors may occur, or only the 12,546 of the 21,600 that
        CANDLE has.

    confounding : float in [0, 1] or None, default=None
        Strength of C and U in what is drawn from the graph; None is 1. At 1, object and size, and
        object and scene, have Cramér's V of about .5; V is proportional to the strength, and at 0
        all factors are independent and uniform. (In small samples V is biased upwards: for
        independent object and scene it is about .12 at 1000 rows.)

    indices : array-like of int of shape (n_samples,) or None, default=None
        Row-major indices of combinations in the full grid, in this order, repeats allowed.
        Excludes `n_samples` and `factors`.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"scene": [0, 1]}``. What is drawn from the
        graph is then drawn as if all other images were thrown away.

    do : dict of str to int or array-like of int of shape (n_samples,), or None, default=None
        An intervention, such as ``{"object": 3}``: these factors are set, in all images or in each
        to its own class; the other factors, the confounders and the nuisance are those of the same
        call without `do`.

    twins : bool, default=False
        Whether to return the images without the intervention, and those under it as their twins.

    jitter : float in [0, 1], default=1.0
        How much of its range the nuisance takes, which is drawn, too; 0 holds object and camera
        still.

    painted : bool, default=True
        Whether half of each object is darker, so that the rotation of round ones shows. False
        makes it invisible on spheres, cylinders and cones, as it is in CANDLE.

    image_shape : (height, width), default=(64, 64)
        From 16 to 320 each; CANDLE has (240, 320).

    shuffle : bool, default=True
        Whether combinations come in random or in row-major order. `indices` keep theirs.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, height, width, 3), uint8 in 0..255

        data : ndarray of shape (n_samples, height * width * 3)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 6), int64
            Classes of object, color, size, rotation, scene and light.
        boxes : ndarray of shape (n_samples, 1, 4), int64
            (top, left, bottom, right) of the object, so that it is the part
            ``image[top:bottom, left:right]``.
        nuisance : ndarray of shape (n_samples, 5), float64
            What varies besides the factors, independently of them.
        nuisance_names : list of str
            position (to the right) and depth of the object, in units of length; pan (of the scene
            to the left), tilt and roll of the camera, in degrees.
        confounders : ndarray of shape (n_samples, 2), int64, or None
            Classes of C (4) and U (3), of images that are drawn from the graph. A model is not
            meant to see them.
        graph : ndarray of shape (8, 8), int64
            1 in row i and column j if variable i causes variable j; what `do` sets has no causes,
            and rows that are chosen from the full grid have none at all.
        graph_names : list of str
            The variables of the graph: C, U and the factors.
        twins : :class:`~sklearn.utils.Bunch`
            If `twins` is True: images, data, target and boxes under the intervention.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes.
        indices : ndarray of shape (n_samples,), int64
            Row-major index of each combination in the full grid.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    render_candle_like : The picture of any factors and nuisance.
    load_candle : The real images.
    load_candle_design : The factors of the real images, without the images.

    Notes
    -----
    The pictures share their factors and the names of their scenes with CANDLE, which is rendered
    from photographs of real places. In CANDLE, U leaves no trace in the labels; here it makes
    light and scene dependent, unless ``design="candle"``.

    Scenes are painted once for each size of image (about a second for all sixteen at 64 pixels,
    ten at 240 x 320); pictures then take some 2.5 ms at 64 x 64 and 20 ms at 240 x 320.

    References
    ----------
    .. [1] A. G. Reddy, B. Godfrey L and V. N. Balasubramanian (2022). On Causally Disentangled
       Representations. AAAI.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_candle_like
    >>> scenes = make_candle_like(20, image_shape=(32, 32), random_state=0)
    >>> scenes.images.shape, scenes.boxes.shape, scenes.nuisance.shape
    ((20, 32, 32, 3), (20, 1, 4), (20, 5))

    Each image and what it would be, were the object a cone:

    >>> pairs = make_candle_like(
    ...     20, do={"object": 3}, twins=True, image_shape=(32, 32), random_state=0
    ... )
    >>> bool((pairs.images == scenes.images).all()), set(pairs.twins.target[:, 0].tolist())
    (True, {3})
    """
    shape = _check_shape(image_shape)
    if twins and do is None:
        raise ValueError("twins=True needs do, what is set in the twins. Pass {'object': 3}, say.")
    if twins and return_X_y:
        raise ValueError("Twins are in the Bunch: leave return_X_y False.")
    strength = _check_confounding(confounding, design, n_samples)
    rng = check_random_state(random_state)
    confounders = None
    if design == "full" and n_samples is not None and indices is None:
        target, confounders = draw_classes(n_samples, strength, factors, rng)
        rows = _ROWS["drawn"].format(confounding=strength)
    else:
        target = _select(design, n_samples, indices, factors, shuffle, rng)
        rows = _ROWS["candle" if design == "candle" else "grid"]
    nuisance = MIDDLE + jitter * REACH * rng.uniform(-1, 1, size=(len(target), len(NUISANCE)))
    changed = target if do is None else _intervene(target, do)
    fields: dict[str, Any] = {}
    if twins:
        others, other_boxes = render(changed, nuisance, shape, painted)
        flat = others.reshape(len(others), -1)
        fields["twins"] = Bunch(images=others, data=flat, target=changed, boxes=other_boxes)
    else:
        target = changed
    images, boxes = render(target, nuisance, shape, painted)
    if return_X_y:
        return images, target
    return make_bunch(
        images,
        target,
        VALUES,
        DESCR.format(rows=rows),
        boxes=boxes,
        nuisance=nuisance,
        nuisance_names=list(NUISANCE),
        confounders=confounders,
        graph=causal_graph(dict.fromkeys(GRID.names, 0) if rows == _ROWS["grid"] else do),
        graph_names=["C", "U", *GRID.names],
        indices=GRID.to_indices(target),
        **fields,
    )


@validated
def render_candle_like(
    target: Array,
    nuisance: Array | None = None,
    *,
    painted: bool = True,
    image_shape: ImageShape = (64, 64),
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw the pictures of given factors and nuisance, as :func:`make_candle_like` does.

    It is the true decoder of that data set: with some classes of `target` changed and the same
    `nuisance`, it gives the counterfactual twin of any image.

    Parameters
    ----------
    target : array-like of shape (n_images, 6), int
        Classes of object, color, size, rotation, scene and light.

    nuisance : array-like of shape (n_images, 5) or None, default=None
        Position, depth, pan, tilt and roll, within the ranges that :func:`make_candle_like` draws
        from; None is the middle of each.

    painted : bool, default=True
        Whether half of each object is darker.

    image_shape : (height, width), default=(64, 64)
        From 16 to 320 each.

    Returns
    -------
    images : ndarray of shape (n_images, height, width, 3), uint8 in 0..255

    boxes : ndarray of shape (n_images, 1, 4), int64
        (top, left, bottom, right) of the object.

    See Also
    --------
    make_candle_like : Draws factors and nuisance, too.

    Examples
    --------
    >>> from sklearn_disent.datasets import render_candle_like
    >>> images, boxes = render_candle_like([[0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0]])
    >>> images.shape, boxes.shape
    ((2, 64, 64, 3), (2, 1, 4))
    """
    shape = _check_shape(image_shape)
    classes = np.asarray(target)
    if classes.ndim != 2 or classes.shape[1] != len(VALUES) or classes.dtype.kind not in "iu":
        raise ValueError(
            f"target must be (n_images, {len(VALUES)}) integer classes, got {classes.dtype} of "
            f"shape {classes.shape}."
        )
    for name, size, column in zip(GRID.names, GRID.sizes, classes.T):
        check_range(f"Classes of {name!r}", column, 0, size - 1)
    shake = np.repeat(MIDDLE[None], len(classes), axis=0) if nuisance is None else nuisance
    shake = np.asarray(shake, dtype=np.float64)
    if shake.shape != (len(classes), len(NUISANCE)) or not np.isfinite(shake).all():
        raise ValueError(
            f"nuisance must be ({len(classes)}, {len(NUISANCE)}) finite numbers, one row per row "
            f"of target, got shape {shake.shape}."
        )
    for name, column, middle, reach in zip(NUISANCE, shake.T, MIDDLE, REACH):
        check_range(f"{name!r}", column, middle - reach, middle + reach)
    return render(classes.astype(np.int64), shake, shape, painted)


def check_range(name: str, values: NDArray[Any], low: float, high: float) -> None:
    outside = (values < low) | (values > high)
    if outside.any():
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}], got {values[outside][0]}.")
