"""Labels of some rows as guidance, and how labels are read."""

import copy
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor, nn

from .._arrays import as_array
from .._params import LabelCount, PositiveFloat, Sizes, Weight
from ._guidance import Guidance
from ._module import Terms, VAEOutput
from .terms import cov_penalty, embed_losses, l2_losses, mean_over_known, xent_losses

LabelTerm = Literal["xent", "l2", "cov", "embed"]
_TAKES_CLASSES = ("xent", "embed")
# A label as large is a number of something else: there are parameters for each class.
_MOST_CLASSES = 1_000_000


class Labels(Guidance):
    """Guidance by labels, the y of ``fit``, of all rows or of some: latent j learns factor j.

    Parameters
    ----------
    kind : {"xent", "l2", "cov", "embed"}, default="xent"
        Which term; see Notes.
    weight : float or schedule, default=100.0
        Weight of the term.
    n_labeled : int, float or None, default=None
        How many rows keep their labels, drawn at random by the model's ``random_state``: a count,
        or a share of those that have any (0.1, but 1 is one row). None keeps all. The others are
        hidden from training only, so that scorers still see them.
    factor_sizes : sequence of int or None, default=None
        Number of classes of every factor; None takes one more than the largest label in y.
    columns : sequence of int or None, default=None
        Columns of y that are used; None takes all. The latent of a column has the same number.
        Several ``Labels`` in a list may each have their own columns, and so their own term.
    sigma : float, default=1.0
        Sharpness of "embed": the larger, the nearer a code must be to the point of its class.

    Attributes
    ----------
    factor_sizes_ : tuple of int
        Number of classes of every factor; it is the copy in the model's ``guidance_`` that has it.

    See Also
    --------
    Regions : Guidance by bounding boxes or masks.
    Logic : Guidance by a logical property.
    ProductVAE : Learns from labels by logical definitions.

    Notes
    -----
    Labels are numbers; NaN means unknown, and so does -1 among integers or classes. Entries may be
    missing one by one; without any, the model is the unguided one, bit for bit. Latents beyond the
    factors are free. The terms, of posterior means m and labels y of the rows that have them:

    - "xent": cross-entropy of the logit m_j and the share y_j / size_j;
    - "l2": ``(b_j m_j - y_j)^2`` with a learnt scale b_j;
    - "cov": squared covariances of m_i and y_j, summed over all i != j;
    - "embed": cross-entropy of ``softmax_k(-(sigma (m_j - e_jk))^2)`` with learnt points e_jk.

    All but "cov" are means over the rows, summed over factors, so that ``weight`` means the same
    at any batch size and share of labels. Published code sums "xent" and "l2" over a batch of 64
    labelled rows: its weight of 4 is 256 here. "xent" and "embed" take classes 0, 1, ...; the
    others take any numbers. "cov" keeps latents away from factors that are not theirs, but draws
    none to its own: where factors are dependent it may do more harm than good.

    ``history_`` logs the term as ``train_labels_<kind>``. In :class:`AdaGVAE` and
    :class:`AdaMLVAE` the posterior means are those after sharing.

    References
    ----------
    Locatello, Tschannen, Bauer, Rätsch, Schölkopf and Bachem (2020). Disentangling factors of
    variation using few labels. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BetaVAE, Labels
    >>> X, y = load_digits(return_X_y=True)
    >>> few = Labels("l2", weight=10.0, n_labeled=0.1)
    >>> vae = BetaVAE(n_components=4, guidance=few, max_epochs=1, random_state=0)
    >>> vae.fit(X, y).guidance_["labels"].factor_sizes_
    (10,)
    >>> vae.set_params(guidance__weight=20.0).guidance
    Labels(kind='l2', n_labeled=0.1, weight=20.0)
    """

    def __init__(
        self,
        kind: LabelTerm = "xent",
        *,
        weight: Weight = 100.0,
        n_labeled: LabelCount | None = None,
        factor_sizes: Sizes | None = None,
        columns: Sizes | None = None,
        sigma: PositiveFloat = 1.0,
    ) -> None:
        self.kind = kind
        self.weight = weight
        self.n_labeled = n_labeled
        self.factor_sizes = factor_sizes
        self.columns = columns
        self.sigma = sigma

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def read(self, net: Any, y: Any, n_rows: int, *, reset: bool) -> dict[str, NDArray]:
        """Check the labels, and hide all but ``n_labeled`` rows.

        Parameters
        ----------
        net : BaseVAE
            The model.
        y : array-like of shape (n_rows,) or (n_rows, n_factors)
            Labels.
        n_rows : int
            Number of observations.
        reset : bool
            Whether this is a fit from the start.

        Returns
        -------
        extras : dict
            ``labels``, NaN where unknown.
        """
        is_classes = self.kind in _TAKES_CLASSES
        labels = read_labels(y, n_rows, classes=is_classes, columns=self.columns)
        latents = list(range(labels.shape[1])) if self.columns is None else list(self.columns)
        check_enough_latents(1 + max(latents), net.n_components)
        if reset:
            self.factor_sizes_ = find_sizes(labels, self.factor_sizes)
            self._kind = self.kind
        elif len(self.factor_sizes_) != labels.shape[1] or self._kind != self.kind:
            raise ValueError(
                f"A model that goes on training keeps its {len(self.factor_sizes_)} factors and "
                f"kind={self._kind!r}, got {labels.shape[1]} columns of y and kind={self.kind!r}. "
                "Pass the same, or fit a new model."
            )
        if is_classes:
            check_classes(labels, self.factor_sizes_)
        kept = keep_labels(labels, self.n_labeled, net.random_state)
        return {"labels": kept.astype(np.float32)}

    def make_module(self, net: Any) -> nn.Module:
        """Build the term with what it learns; nothing in it is random.

        Parameters
        ----------
        net : BaseVAE
            The model.

        Returns
        -------
        module : torch.nn.Module
        """
        if not hasattr(self, "factor_sizes_"):
            if self.factor_sizes is None:
                raise ValueError(
                    "The number of factors is not known before fit. Set factor_sizes of Labels, "
                    "or call fit."
                )
            self.factor_sizes_ = tuple(self.factor_sizes)
        return LabelLoss(self.kind, self.factor_sizes_, self.sigma)

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor], net: Any) -> Terms:
        """The term of one batch, under the name of its kind.

        Parameters
        ----------
        x : Tensor
            Observations; not used.
        output : VAEOutput
            Posterior means are used.
        extras : dict
            ``labels``.
        net : BaseVAE
            The model.

        Returns
        -------
        terms : dict
            Empty where no row of the batch has a label.
        """
        labels = extras["labels"]
        # No labels, no term, not even one of value zero: then the loss is that of the
        # unguided model to the last bit.
        if labels.isnan().all():
            return {}
        codes = output.mean
        if self.columns is not None:
            own = list(self.columns)
            free = [latent for latent in range(codes.shape[1]) if latent not in own]
            codes = codes[:, own + free]
        return {self.kind: (self.weight, net.module_.guidance[self.name_](codes, labels))}


class LabelLoss(nn.Module):
    """One of the terms with what it learns: scales of factors, or points of classes."""

    def __init__(self, kind: LabelTerm, sizes: Sequence[int], sigma: float) -> None:
        super().__init__()
        self.kind, self.sigma = kind, sigma
        if kind == "xent":
            self.sizes: Tensor
            self.register_buffer("sizes", torch.tensor(sizes, dtype=torch.float32))
        elif kind == "l2":
            self.scale = nn.Parameter(torch.ones(len(sizes)))
        elif kind == "embed":
            self.tables = nn.ParameterList(_spread_points(size) for size in sizes)

    def forward(self, codes: Tensor, labels: Tensor) -> Tensor:
        if self.kind == "cov":
            return cov_penalty(codes, labels)
        if self.kind == "xent":
            losses = xent_losses(codes, labels, self.sizes)
        elif self.kind == "l2":
            losses = l2_losses(codes, labels, self.scale)
        else:
            losses = embed_losses(codes, labels, list(self.tables), self.sigma)
        return mean_over_known(losses, labels)


def _spread_points(size: int) -> Tensor:
    """Evenly spaced points of mean 0 and variance 1, as the prior has."""
    points = torch.arange(size, dtype=torch.float32) - (size - 1) / 2
    return points / points.square().mean().sqrt()


# -- reading labels --------------------------------------------------------------------------


def read_labels(
    y: ArrayLike | None, n_rows: int, *, classes: bool, columns: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Labels as numbers (n_rows, n_factors), NaN where unknown.

    -1 is unknown among integers, and wherever labels are `classes`, which are never negative.
    """
    if y is None:
        raise ValueError(
            "Training with labels requires y to be passed, but the target y is None. Pass y with "
            "NaN or -1 for unknown labels."
        )
    given = as_array(y, "y")
    if columns is not None:
        given = _select_columns(given, columns)
    try:
        if given.dtype.kind == "c":
            raise TypeError
        labels = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Labels must be numbers, got dtype {given.dtype}. Encode them, for instance with "
            "sklearn.preprocessing.OrdinalEncoder."
        ) from None
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.shape[1] == 0:
        raise ValueError(f"y must be 2D (n_samples, n_factors), got shape {given.shape}.")
    if len(labels) != n_rows:
        raise ValueError(f"y must have one row per observation, {n_rows}, got {len(labels)}.")
    if np.isinf(labels).any():
        raise ValueError("Labels must be finite, or NaN where unknown; got an infinite one.")
    if classes or given.dtype.kind in "iu":
        labels[labels == -1] = np.nan
        _refuse(labels < 0, labels, "classes are numbered from 0, and -1 or NaN means unknown")
    if classes:
        whole = np.isnan(labels) | (labels == np.rint(labels))
        _refuse(~whole, labels, "classes are whole numbers; for others, use 'l2' or 'cov'")
    return labels


def _select_columns(labels: NDArray, columns: ArrayLike) -> NDArray:
    wanted, labels = np.asarray(columns), labels[:, None] if labels.ndim == 1 else labels
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu" or len(set(wanted.tolist())) < wanted.size:
        raise ValueError(f"columns must be different numbers of columns of y, got {columns!r}.")
    if wanted.size == 0 or wanted.min() < 0 or wanted.max() >= labels.shape[1]:
        raise ValueError(
            f"columns must be from 0 to {labels.shape[1] - 1}, the columns of y, got {columns!r}."
        )
    return labels[:, wanted]


def _refuse(wrong: NDArray[np.bool_], labels: NDArray, rule: str) -> None:
    if wrong.any():
        row, factor = np.argwhere(wrong)[0]
        raise ValueError(
            f"The label of factor {factor} in row {row} is {labels[row, factor]:g}, but {rule}."
        )


def find_sizes(labels: NDArray, factor_sizes: ArrayLike | None) -> tuple[int, ...]:
    """Numbers of classes: as told, or one more than the largest label."""
    n_factors = labels.shape[1]
    if factor_sizes is not None:
        told = np.asarray(factor_sizes)
        if told.shape != (n_factors,) or told.dtype.kind not in "iu" or (told < 2).any():
            raise ValueError(
                "factor_sizes must hold the number of classes, at least 2, of each of the "
                f"{n_factors} factors, got {factor_sizes!r}."
            )
        return tuple(told.tolist())
    sizes: list[int] = []
    for factor, column in enumerate(labels.T):
        values = np.unique(column[~np.isnan(column)])
        if len(values) == 1:
            raise ValueError(
                f"Factor {factor} has the single value {values[0]:g} in all its labels, which "
                "teaches nothing. Leave it out of y, label more rows, or give factor_sizes if "
                "other rows have other values."
            )
        if len(values) and values[-1] >= _MOST_CLASSES:
            raise ValueError(
                f"Factor {factor} has the label {values[-1]:g}, hence as many classes, and a model "
                "has parameters for each. Number the classes from 0, for instance with "
                "sklearn.preprocessing.OrdinalEncoder."
            )
        sizes.append(max(2, int(values[-1]) + 1) if len(values) else 2)
    return tuple(sizes)


def check_classes(labels: NDArray, sizes: Sequence[int]) -> None:
    """Refuse labels beyond the number of classes."""
    for factor, size in enumerate(sizes):
        largest = np.nanmax(labels[:, factor], initial=0)
        if largest >= size:
            raise ValueError(
                f"Factor {factor} has {size} classes, hence labels from 0 to {size - 1}, got "
                f"{largest:g}. Set factor_sizes to the true numbers of classes."
            )


def check_enough_latents(n_factors: int, n_components: int) -> None:
    """Each factor has a latent of its own."""
    if n_components < n_factors:
        raise ValueError(
            f"Training with labels of {n_factors} factors needs at least as many latents, got "
            f"n_components={n_components}. Set n_components to {n_factors} or more, or leave "
            "factors out of y."
        )


def keep_labels(labels: NDArray, n_labeled: int | float | None, random_state: Any) -> NDArray:
    """Hide the labels of all rows but `n_labeled`, drawn from those that have any."""
    if n_labeled is None:
        return labels
    candidates = np.flatnonzero(~np.isnan(labels).all(axis=1))
    if not isinstance(n_labeled, Integral):
        n_labeled = round(n_labeled * len(candidates))
    if n_labeled > len(candidates):
        raise ValueError(
            f"n_labeled={n_labeled} exceeds the number of rows with labels, {len(candidates)}. "
            "Set it lower, or to a share of the rows such as 0.1."
        )
    # A copy, so that a generator of the user's has the same state for the weights that follow.
    rng = check_random_state(copy.deepcopy(random_state))
    hidden = np.ones(len(labels), dtype=bool)
    hidden[rng.permutation(candidates)[:n_labeled]] = False
    return np.where(hidden[:, None], np.nan, labels)
