"""What the Displays share: axes, colours, names, and the way into Pipelines and searches."""

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..metrics._scorer import unwrap_estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito: its colours stay apart for every common kind of colour vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

# Parts of the names of scores that are abbreviations, and what scores are measured in.
_ABBREVIATIONS = {
    "mig",
    "rmig",
    "sap",
    "dci",
    "irs",
    "med",
    "udr",
    "elbo",
    "jemmig",
    "dcimig",
    "kl",
}
_WRITTEN = {
    "beta_vae": "BetaVAE score",
    "factor_vae": "FactorVAE score",
    "mig_sup": "MIG-sup",
    "infom": "InfoM",
    "infoc": "InfoC",
    "infoe": "InfoE",
}
_UNITS = {"elbo": "nats"}


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install sklearn-disent[plot]") from error
    return plt


def one_axes(ax: "Axes | None", figsize: tuple[float, float], caller: str) -> "Axes":
    """The axes to draw in; those of a new figure if there are none."""
    plt = pyplot(caller)
    if ax is None:
        ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be one matplotlib Axes or None, got {type(ax).__name__}.")
    return ax


def axes_grid(
    ax: "Axes | ArrayLike | None",
    shape: tuple[int, int],
    figsize: tuple[float, float],
    caller: str,
    **options: Any,
) -> NDArray[np.object_]:
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


def score_label(name: str, labels: dict[str, str] | None = None) -> str:
    """A score's name as one reads it, with its unit: "elbo" is "ELBO (nats)"."""
    if labels and name in labels:
        return labels[name]
    words = [w.upper() if w in _ABBREVIATIONS else w for w in name.split("_")]
    unit = f" ({_UNITS[name]})" if name in _UNITS else ""
    return _WRITTEN.get(name, " ".join(words)) + unit


def assignment(relevance: NDArray[np.float64]) -> dict[int, int]:
    """Factor -> code, one to one, of the largest sum of relevances; pairs without any left out."""
    rows, columns = linear_sum_assignment(relevance, maximize=True)
    return {int(k): int(j) for k, j in zip(rows, columns) if relevance[k, j] > 0}


def innermost(estimator: Any) -> Any:
    """The estimator at the heart of Pipelines and searches."""
    if hasattr(estimator, "best_estimator_"):
        return innermost(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        if not steps:
            raise TypeError("A Pipeline of nothing but 'passthrough' has no estimator to look at.")
        return innermost(steps[-1])
    return estimator


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
    whole = getattr(estimator, "best_estimator_", estimator)
    inner, inner_X = unwrap_estimator(whole, X)
    for method in ("transform", "inverse_transform"):
        if not hasattr(inner, method):
            raise TypeError(
                f"{caller} encodes and decodes: it needs an estimator with transform and "
                f"inverse_transform, and {type(inner).__name__} has no {method}. Pass a fitted "
                "VAE, a Pipeline that ends in one, or a search over either."
            )
    # A step that cannot be undone, such as a selection, leaves the view of the last estimator.
    if not hasattr(whole, "inverse_transform"):
        whole, X = inner, inner_X
    codes, X = np.asarray(whole.transform(X)), np.asarray(X)
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
