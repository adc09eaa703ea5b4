"""A logical property as guidance."""

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from .._params import Array, LabelCount, NonNegativeInt, Weight
from ..logic import Property
from ..logic._data import Data, in_order
from ._guidance import Guidance
from ._labels import keep_labels, read_labels
from ._module import Terms, VAEOutput


class Logic(Guidance):
    """Guidance by a logical property of factors and codes, of which some rows have labels.

    The term is the quantity of the property, which is 0 where it holds, of the posterior means of
    the labelled rows of a batch.

    Parameters
    ----------
    rule : Property
        What is to hold.
    weight : float or schedule, default=10.0
        Weight of the term.
    n_labeled : int, float or None, default=None
        How many rows keep their labels, drawn at random by the model's ``random_state``: a count,
        or a share of those that have any (0.1, but 1 is one row). None keeps all.
    groups : sequence of sequences of int or None, default=None
        Latents of every factor, ``z(s)[k]``; None takes latent k for factor k.
    code_scale : {"given", "unit"}, default="given"
        Take codes as they are, or scale the codes of each factor to a total variance of 1, so that
        collapsing does not pay.
    factor_distance : {"range", "discrete", "given"}, default="range"
        Distance between values of a factor: their difference as a share of the largest, 1 if they
        differ, or their difference.
    supervision : {"labels", "pairs"}, default="labels"
        Whether labels are compared between all rows of a batch; or only between each row and the
        next: then all that is used is whether the two have the same value.
    memory : int, default=0
        How many labelled rows of earlier batches are looked at beside those of the batch, with the
        codes that they had then. A property of a few rows says little: of 64 rows of which a tenth
        have labels, hardly two have the same factor. "pairs" has no use for it.

    Attributes
    ----------
    spans_ : ndarray of shape (n_factors, 2)
        Lowest and highest label of every factor; the copy in the model's ``guidance_`` has it.

    See Also
    --------
    sklearn_disent.logic.Property : What may guide.
    Labels : Guidance by regression or classification.
    ProductVAE : Two properties of the paper in one model, which also takes pairs of observations.

    Notes
    -----
    Labels are numbers; NaN means unknown, and so does -1 among integers. Rows of which some factors
    are unknown are left out, and what a batch says nothing about is true. ``history_`` logs the
    quantity as ``train_logic_<name of the property>``.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.logic import properties
    >>> from sklearn_disent.models import BetaVAE
    >>> y = np.random.default_rng(0).integers(4, size=(300, 2))
    >>> X = np.eye(8)[y[:, 0]] + np.eye(8)[y[:, 1] + 4]
    >>> modular = properties.modularity_by_product().guidance(weight=10.0, n_labeled=0.5)
    >>> vae = BetaVAE(n_components=2, guidance=modular, max_epochs=1, random_state=0).fit(X, y)
    >>> "train_logic_modularity_by_product_variance" in vae.history_[-1]
    True
    """

    def __init__(
        self,
        rule: Property,
        *,
        weight: Weight = 10.0,
        n_labeled: LabelCount | None = None,
        groups: Array | None = None,
        code_scale: Literal["given", "unit"] = "given",
        factor_distance: Literal["range", "discrete", "given"] = "range",
        supervision: Literal["labels", "pairs"] = "labels",
        memory: NonNegativeInt = 0,
    ) -> None:
        self.rule = rule
        self.weight = weight
        self.n_labeled = n_labeled
        self.groups = groups
        self.code_scale = code_scale
        self.factor_distance = factor_distance
        self.supervision = supervision
        self.memory = memory

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
            ``labels``, NaN where unknown, and numbers of the ``rows``.
        """
        labels = read_labels(y, n_rows, classes=False)
        if reset:
            if np.isnan(labels).all(axis=0).any():
                raise ValueError(
                    f"{self.rule} speaks of every factor, but no row has a label of factors "
                    f"{np.flatnonzero(np.isnan(labels).all(axis=0)).tolist()}. Leave these columns "
                    "out of y, or label some rows."
                )
            spans = [np.nanmin(labels, axis=0), np.nanmax(labels, axis=0)]
            self.spans_ = np.stack(spans, axis=1)
        elif len(self.spans_) != labels.shape[1]:
            raise ValueError(
                f"A model that goes on training keeps its {len(self.spans_)} factors, got "
                f"{labels.shape[1]} columns of y. Pass the same, or fit a new model."
            )
        if self.rule._uses_blocks:
            self._columns = in_order_of(self.groups, labels.shape[1], net.n_components)
        kept = keep_labels(labels, self.n_labeled, net.random_state)
        if reset or not hasattr(self, "_old_rows"):
            self._old_rows = np.zeros(0, dtype=np.int64)
            self._old_labels = np.zeros((0, labels.shape[1]))
            self._old_codes = np.zeros((0, net.n_components), dtype=np.float32)
        return {"labels": kept.astype(np.float32), "rows": np.arange(n_rows)}

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor], net: Any) -> Terms:
        """The quantity of one batch, under the name of the property.

        Parameters
        ----------
        x : Tensor
            Observations; not used.
        output : VAEOutput
            Posterior means are used.
        extras : dict
            ``labels`` and ``rows``.
        net : BaseVAE
            The model.

        Returns
        -------
        terms : dict
            Empty where fewer than two rows have labels.
        """
        known = ~extras["labels"].isnan().any(1)
        labels = extras["labels"][known].cpu().numpy().astype(np.float64)
        codes = output.mean[known]
        if len(labels) == 0:
            return {}
        if self.memory and self.supervision == "labels":
            rows = extras["rows"][known].cpu().numpy()
            labels, codes = self._with_memory(rows, labels, codes, update=net.module_.training)
        if len(labels) < 2:
            return {}
        value = self.rule._of_tensors(self._data(labels, codes))
        return {self.rule.name: (self.weight, value)}

    def _with_memory(
        self, rows: NDArray, labels: NDArray, codes: Tensor, *, update: bool
    ) -> tuple[NDArray, Tensor]:
        """Labels and codes of these rows, and of those that were seen before."""
        other = ~np.isin(self._old_rows, rows)
        old = codes.new_tensor(self._old_codes[other])
        labels = np.concatenate([labels, self._old_labels[other]])
        codes = torch.cat([codes, old])
        if update:
            newest = slice(self.memory)
            self._old_rows = np.concatenate([rows, self._old_rows[other]])[newest]
            self._old_labels = labels[newest]
            self._old_codes = codes.detach().cpu().numpy()[newest]
        return labels, codes

    def _data(self, labels: NDArray, codes: Tensor) -> Data:
        n_factors = labels.shape[1]
        columns = getattr(self, "_columns", None)
        classes = np.empty(labels.shape, dtype=np.int64)
        for k in range(n_factors):
            classes[:, k] = np.unique(labels[:, k], return_inverse=True)[1]
        kept = np.arange(n_factors)
        if self.supervision == "pairs":
            rows = np.arange(len(labels))
            pairs = np.stack([rows, np.roll(rows, 1)], axis=1)
            same = (labels == np.roll(labels, 1, axis=0)).astype(np.float64)
            return Data(
                None,
                codes,
                kept,
                columns,
                self.code_scale,
                pairs=pairs,
                same=same,
                is_batch=True,
            )
        points = [
            codes.new_tensor(self._points(labels[:, k], classes[:, k], self.spans_[k]))
            for k in range(n_factors)
        ]
        known = codes.new_tensor(classes).long()
        return Data(points, codes, kept, columns, self.code_scale, known, is_batch=True)

    def _points(self, labels: NDArray, classes: NDArray, span: NDArray) -> NDArray:
        if self.factor_distance == "discrete":
            return np.eye(classes.max() + 1)[classes] / np.sqrt(2)
        if self.factor_distance == "range":
            labels = (labels - span[0]) / ((span[1] - span[0]) or 1.0)
        return labels[:, None]


def in_order_of(groups: ArrayLike | None, n_factors: int, n_components: int) -> list[NDArray]:
    """Latents of every factor; others are free."""
    from ._product import read_groups

    if groups is None:
        return in_order(None, n_factors, n_components)
    return [np.array(columns) for columns in read_groups(groups, n_factors, n_components)]
