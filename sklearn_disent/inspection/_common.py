"""What the Displays share: options, axes, colors, names, and the way to codes and decoders."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from .._params import check_options
from ..metrics._catalogue import LABELS
from ..metrics._estimators import encode, posterior_of, unwrap_estimator
from ..metrics._numeric import gaussian_kl
from ..metrics._relevance import _KINDS, Kind
from ..metrics._sharing import shared
from ..metrics._validation import check_codes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
else:
    # matplotlib is optional: `validated` cannot ask for its classes. `one_axes`, `axes_grid` and
    # `colormap` do.
    Axes = Colormap = Any

# Rows and columns of axes.
AxesGrid: TypeAlias = NDArray[Any]

# The palette of Okabe and Ito: its colors stay apart for every common kind of color vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

# Parts of names that are abbreviations, in terms of a loss and in scores outside the catalogue.
_ABBREVIATIONS = {"elbo", "kl", "mig", "udr"}


# -- options -------------------------------------------------------------------------------------

# Names along an axis, of which more could not be read.
_MAX_LABELS = 60


def check_drawing(method: Any, options: Mapping[str, Any], through: Any = None) -> None:
    """Refuse what `plot` would not take, before anything is computed.

    `method` is a class method, bound to its class, whose ``**options`` go to `plot`, or to
    `through`, a class method that hands what is not its own to `plot`.
    """
    display = method.__self__
    pyplot(display.__name__)
    own, drawn = _keywords(method), _keywords(display.plot)
    if through is not None:
        passed = [name for name in _keywords(through) if name not in own]
        check_options(through, {name: options[name] for name in passed if name in options})
        options = {name: value for name, value in options.items() if name not in passed}
        own += passed
    unknown = [name for name in options if name not in drawn]
    if unknown:
        raise TypeError(
            f"{display.__name__}.{method.__name__} has no option {', '.join(map(repr, unknown))}. "
            f"Its options are {', '.join(own)}, and those of plot: {', '.join(drawn)}."
        )
    check_options(display.plot, options)
    for name, check in _CHECKS.items():
        if options.get(name) is not None:
            check(options[name])


def _keywords(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]


def check_relevance(kind: Kind, params: Mapping[str, Any] | None) -> None:
    """Refuse options that the relevance matrix of this kind does not have."""
    check_options(_KINDS[kind], params or {}, without=("factors", "codes"))


def colormap(cmap: str | Colormap) -> Colormap:
    """A colormap by its name, or as it is."""
    pyplot("A Display")
    import matplotlib

    if isinstance(cmap, matplotlib.colors.Colormap):
        return cmap
    names = list(matplotlib.colormaps)
    if cmap not in names:
        close = difflib.get_close_matches(str(cmap), names) or ["viridis", "cividis", "gray"]
        raise ValueError(
            "cmap must be a Colormap or the name of one, such as "
            f"{', '.join(map(repr, close))}; got {cmap!r}. list(matplotlib.colormaps) has all."
        )
    return matplotlib.colormaps[cmap]


def check_number_format(values_format: str) -> None:
    """Refuse a format that numbers cannot be written in."""
    try:
        format(0.5, values_format)
    except ValueError as error:
        raise ValueError(
            f"values_format must be a format of numbers such as '.2f' or '.1e', got "
            f"{values_format!r}."
        ) from error


def line_options(line_kw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of ``Axes.plot`` by their full names; others are refused."""
    pyplot("A Display")
    from matplotlib.lines import Line2D

    return _artist_options("line_kw", line_kw, Line2D)


def image_options(image_kw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of ``Axes.imshow`` by their full names; others are refused."""
    pyplot("A Display")
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    further = inspect.signature(Axes.imshow).parameters
    return _artist_options("image_kw", image_kw, AxesImage, further)


def _artist_options(
    name: str, given: Mapping[str, Any] | None, artist: Any, further: Iterable[str] = ()
) -> dict[str, Any]:
    from matplotlib.artist import ArtistInspector
    from matplotlib.cbook import normalize_kwargs

    options = normalize_kwargs(dict(given or {}), artist)
    known = {*ArtistInspector(artist).get_setters(), *further} - {"self", "X", "kwargs"}
    unknown = [key for key in options if key not in known]
    if unknown:
        raise TypeError(
            f"{name} has no option {', '.join(map(repr, unknown))}. Its options are those of "
            f"matplotlib's {artist.__name__}: {', '.join(sorted(known))}."
        )
    return options


# Options of `plot` that an annotation cannot check, since matplotlib is optional.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "cmap": colormap,
    "values_format": check_number_format,
    "line_kw": line_options,
}


# -- axes ----------------------------------------------------------------------------------------


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install sklearn-disent[plot]") from error
    return plt


def one_axes(ax: Axes | None, figsize: tuple[float, float], caller: str) -> Axes:
    """The axes to draw in; those of a new figure if there are none."""
    plt = pyplot(caller)
    if ax is None:
        ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be one matplotlib Axes or None, got {type(ax).__name__}.")
    return ax


def axes_grid(
    ax: Any, shape: tuple[int, int], figsize: tuple[float, float], caller: str, **options: Any
) -> AxesGrid:
    """Rows and columns of axes: of a new figure, in the place of one axes, or those given.

    `options` are those of ``Figure.subplots``, such as `sharey`.
    """
    plt = pyplot(caller)
    if ax is None:
        return plt.subplots(
            *shape, figsize=figsize, layout="constrained", squeeze=False, **options
        )[1]
    if not hasattr(ax, "plot"):
        axes = np.asarray(ax, dtype=object)
        if axes.size != prod(shape):
            raise ValueError(
                f"{caller} needs {shape[0]} x {shape[1]} axes, got {axes.size}. Pass one axes to "
                "be divided, or None for a new figure."
            )
        return axes.reshape(shape)
    if shape == (1, 1):
        return np.array([[ax]])
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            f"{caller} divides its axes into {shape[0]} x {shape[1]}, which needs axes from "
            "subplots or a GridSpec, got axes with a place of their own. Pass an array of axes."
        )
    ax.set_axis_off()
    return spec.subgridspec(*shape).subplots(squeeze=False, **options)


def panel_grid(
    ax: Any,
    n_panels: int,
    n_columns: int,
    caller: str,
    *,
    panel: tuple[float, float],
    margin: tuple[float, float],
    **options: Any,
) -> AxesGrid:
    """Axes for so many panels, row by row; what is left over in the last row is switched off.

    Sizes of a panel and of the margin around all of them are in inches.
    """
    n_rows = -(-n_panels // n_columns)
    figsize = panel[0] * n_columns + margin[0], panel[1] * n_rows + margin[1]
    grid = axes_grid(ax, (n_rows, n_columns), figsize, caller, **options)
    for spare in grid.flat[n_panels:]:
        spare.set_axis_off()
    return grid


def label_edges(grid: AxesGrid, xlabel: str, ylabel: str) -> None:
    """Labels below the last row and left of the first column."""
    for panel in grid[-1]:
        panel.set_xlabel(xlabel)
    for panel in grid[:, 0]:
        panel.set_ylabel(ylabel)


def label_cells(ax: Axes, rows: Sequence[str], columns: Sequence[str], *, slanted: bool) -> None:
    """Names of the rows and columns of an image with one pixel per entry."""
    slant: dict[str, Any] = (
        {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    )
    for names, set_ticks, options in (
        (columns, ax.set_xticks, slant),
        (rows, ax.set_yticks, {}),
    ):
        # As many as can be read: names of every second, third, ... entry where there are more.
        shown = range(0, len(names), -(-len(names) // _MAX_LABELS))
        set_ticks(shown, [plain(names[i]) for i in shown], **options)
    ax.tick_params(length=0)


def write_cells(
    ax: Axes,
    table: NDArray[np.float64],
    is_dark: Callable[[float], bool],
    values_format: str = ".2f",
) -> None:
    """Write the entries of a table into an image with one pixel per entry."""
    for (row, column), value in np.ndenumerate(table):
        color = "white" if is_dark(value) else "black"
        text = format(value, values_format)
        ax.text(column, row, text, ha="center", va="center", fontsize=8, color=color)


# -- names ---------------------------------------------------------------------------------------


def names_of(
    names: Sequence[str] | None, data: Any, n_names: int, default: str, what: str
) -> list[str]:
    """Names as given, else those of a frame's columns, else "`default`0", "`default`1", ..."""
    if names is None and hasattr(data, "columns"):
        names = data.columns
    if names is None:
        return [f"{default}{i}" for i in range(n_names)]
    names = [str(name) for name in names]
    if len(names) != n_names:
        raise ValueError(f"{what} must have {n_names} names, got {len(names)}: {names}.")
    return names


def plain(name: str) -> str:
    """A name of the user's data for a figure, in which dollars would else enclose formulas."""
    return name.replace("$", r"\$")


def score_label(name: str, labels: Mapping[str, str] | None = None) -> str:
    """A score's name as one reads it, with its unit: "elbo" is "ELBO (nats)"."""
    words = (w.upper() if w in _ABBREVIATIONS else w for w in name.split("_"))
    return {**LABELS, **(labels or {})}.get(name, " ".join(words))


# -- codes and decoders --------------------------------------------------------------------------

# Variance of a posterior mean over the data, up to which a latent counts as dead.
DEAD = 0.01


def assignment(relevance: NDArray[np.float64]) -> dict[int, int]:
    """Factor -> code, one to one, of the largest sum of relevances; pairs without any left out."""
    rows, columns = linear_sum_assignment(relevance, maximize=True)
    return {int(k): int(j) for k, j in zip(rows, columns) if relevance[k, j] > 0}


@shared
def codes_of(estimator: Any, X: Any) -> NDArray:
    """Codes of X as an array; several Displays of the same X share them."""
    return np.asarray(encode(estimator, X))


@shared
def scored_codes(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Codes of X as metrics take them; one and the same array, so that matrices are shared."""
    return check_codes(codes_of(estimator, X), nan_policy="omit")


@shared
def look_inside(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The estimator at the heart of Pipelines and searches, and X as it reaches that estimator."""
    return unwrap_estimator(estimator, X)


@shared
def latent_kl(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Mean KL divergence of the posterior of each latent from N(0, 1), in nats."""
    return gaussian_kl(*posterior_of(estimator, X)).mean(axis=0)


def dead_latents(model: Any, codes: NDArray) -> NDArray[np.bool_]:
    """Which codes of the data hardly vary; of a model without a posterior, none.

    Without a prior that sets the scale of the codes, little cannot be told from nothing.
    """
    if not hasattr(model, "posterior"):
        return np.zeros(codes.shape[1], dtype=bool)
    return codes.var(axis=0) <= DEAD


class Coder(NamedTuple):
    """A fitted estimator as encoder and decoder."""

    estimator: Any
    """The innermost one."""
    inner_X: Any
    """Observations as the innermost estimator takes them."""
    X: NDArray
    """The same observations as `decode` gives them."""
    codes: NDArray
    """Of X."""
    decode: Callable[[NDArray], NDArray]
    """Codes to observations, in the shape of X where that is possible."""
    image_shape: tuple[int, ...] | None
    """Of rows that the estimator takes for images."""


def coder_of(estimator: Any, X: Any, caller: str) -> Coder:
    """Look at an estimator as encoder and decoder; Pipelines decode as far back as they can."""
    check_is_fitted(estimator)
    inner, inner_X = look_inside(estimator, X)
    for method in ("transform", "inverse_transform"):
        if not hasattr(inner, method):
            raise TypeError(
                f"{caller} encodes and decodes: it needs an estimator with transform and "
                f"inverse_transform, and {type(inner).__name__} has no {method}. Pass a fitted "
                "VAE, a Pipeline that ends in one, or a search over either."
            )
    codes = codes_of(estimator, X)
    whole = getattr(estimator, "best_estimator_", estimator)
    # A step that cannot be undone, such as a selection, leaves the view of the last estimator.
    if not hasattr(whole, "inverse_transform"):
        whole, X = inner, inner_X
    X = np.asarray(X)
    input_shape = getattr(inner, "input_shape_", ())

    def decode(codes: NDArray) -> NDArray:
        decoded = np.asarray(whole.inverse_transform(codes))
        same_size = prod(decoded.shape[1:]) == prod(X.shape[1:])
        return decoded.reshape(-1, *X.shape[1:]) if same_size else decoded

    return Coder(
        inner,
        inner_X,
        X,
        codes,
        decode,
        tuple(input_shape) if len(input_shape) == 3 else None,
    )
