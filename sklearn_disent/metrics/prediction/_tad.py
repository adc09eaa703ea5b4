"""Total attribute disentanglement: how far one code is ahead of all others at each attribute."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from scipy.stats import rankdata

from ..._params import FactorBins, NanPolicy, Share, ShareBelowOne, validated
from .._aggregation import top_gap
from .._validation import Checked, check_data, varied_factors, warn_degenerate, warn_if_constant

__all__ = ["tad_score"]


@validated
def tad_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    min_auroc: Share = 0.75,
    max_dependence: Share = 0.2,
    min_range: ShareBelowOne = 0.05,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    return_count: bool = False,
) -> float | tuple[float, int]:
    r"""Total attribute disentanglement: how far is one code ahead at each binary attribute?

    For every attribute, the area under the ROC curve (AUROC) of the best code minus that of the
    second best, summed over the attributes that some code captures and that do not depend on
    others. From 0 to half the number of attributes, higher is better.

    .. math:: \mathrm{TAD} = \sum_{a \in S} A_{a(1)} - A_{a(2)}, \qquad
        A_{aj} = \max\bigl(\mathrm{AUROC}(y_a, z_j), \mathrm{AUROC}(y_a, -z_j)\bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    min_auroc : float, default=0.75
        An attribute is captured, and counts, if a code has at least this AUROC.
    max_dependence : float, default=0.2
        An attribute counts only if no other one explains a larger share of its entropy.
    min_range : float, default=0.05
        A code whose range is not above this share of the largest range has AUROC 0.5.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    return_count : bool, default=False
        Whether to return the number of attributes that count as well.

    Returns
    -------
    tad : float
        The score, a sum.
    n_attributes : int
        The number of attributes that count. Only returned if `return_count` is True.

    See Also
    --------
    sap_score : The same gap, of linear predictors of any factor.

    Notes
    -----
    The score is for binary attributes, as of faces. Of a factor with more classes, each class is an
    attribute, "is it this one?"; those of one factor are not held to depend on each other. Classes
    in the middle of an ordered code are not captured by an AUROC.

    The authors leave out codes of an absolute range below a threshold, which depends on their
    scale. A single code is compared with 0.5. Where no attribute counts, the score is 0. Factors
    with a single value are left out, with a warning.

    References
    ----------
    Yeats, Liu, Womble and Li (2022). NashAE: Disentangling representations through adversarial
    covariance minimization. ECCV.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import tad_score
    >>> attributes = np.random.default_rng(0).integers(2, size=(1000, 3))
    >>> tad_score(attributes, attributes * [1.0, -2.0, 1.0], return_count=True)[1]
    3
    >>> tad_score(attributes, attributes * [1.0, -2.0, 1.0]) > 1.4
    True
    >>> tad_score(attributes, attributes[:, [0, 0, 1, 1, 2, 2]])
    0.0
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "they capture no attribute")
    if not varied_factors(data.factors).any():
        warn_degenerate("None of the factors can be scored: the score is 0 by definition.")
    attributes = _attributes(data)
    area = _auroc(attributes.values, data.codes)
    spread = np.ptp(data.codes, axis=0)
    area[:, ~((spread > 0) & (spread > min_range * spread.max()))] = 0.5
    free = _dependence(attributes) <= max_dependence
    score, count = _tad(area, free, min_auroc)
    return (score, count) if return_count else score


class _Attributes(NamedTuple):
    values: NDArray[np.float64]
    """(n, A), zeros and ones, both of which occur."""
    factor: NDArray[np.int64]
    """(A,): the factor that each belongs to."""


def _attributes(data: Checked) -> _Attributes:
    columns, factor = [np.zeros((len(data.codes), 0))], []
    for k, y in enumerate(data.factors.T):
        n_classes = int(y.max()) + 1
        classes = {1: [], 2: [1]}.get(n_classes, list(range(n_classes)))
        columns.append((y[:, None] == np.array(classes, dtype=int)).astype(float))
        factor += [k] * len(classes)
    return _Attributes(np.hstack(columns), np.array(factor, dtype=np.int64))


def _auroc(attributes: NDArray[np.float64], codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """AUROC (n_attributes, n_codes) in the better direction: the Mann-Whitney statistic."""
    n_on = attributes.sum(axis=0)[:, None]
    n_off = len(codes) - n_on
    above = attributes.T @ rankdata(codes, axis=0) - n_on * (n_on + 1) / 2
    area = above / (n_on * n_off)
    return np.clip(np.maximum(area, 1.0 - area), 0.5, 1.0)


def _dependence(attributes: _Attributes) -> NDArray[np.float64]:
    """Largest share of each attribute's entropy that one of another factor explains (A,)."""
    B, n = attributes.values, len(attributes.values)
    p = B.mean(axis=0)
    entropy = entr(p) + entr(1 - p)
    both = B.T @ B / n
    joint = np.stack([both, p[:, None] - both, p - both, 1 - p[:, None] - p + both])
    information = entropy[:, None] + entropy - entr(np.clip(joint, 0.0, 1.0)).sum(axis=0)
    others = attributes.factor[:, None] != attributes.factor
    share = np.where(others, information / np.where(entropy > 0, entropy, 1.0)[:, None], 0.0)
    return share.max(axis=1, initial=0.0)


def _tad(area: NDArray, free: NDArray[np.bool_], min_auroc: float) -> tuple[float, int]:
    """Sum of the gaps (and number) of attributes that are captured and free of others."""
    counted = free & (area.max(axis=1, initial=0.5) >= min_auroc)
    # An AUROC of 0.5 is nothing: a lone code stands against that.
    return float(top_gap(area - 0.5)[counted].sum()), int(counted.sum())
