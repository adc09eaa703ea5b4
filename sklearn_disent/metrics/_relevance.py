"""Relevance matrices (n_factors, n_codes) of every kind, by one name."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import check_options, validated
from .information._matrix import mutual_info_matrix
from .intervention._robustness import robustness_matrix
from .prediction._predictors import (
    correlation_matrix,
    importance_matrix,
    predictability_matrix,
    spearman_matrix,
)

__all__ = ["relevance_matrix"]

Kind = Literal[
    "mutual_info", "correlation", "spearman", "importance", "predictability", "robustness"
]

# The validated function (factors, codes, *, options) of each kind.
_KINDS: dict[Kind, Callable[..., NDArray[np.float64]]] = {
    "mutual_info": mutual_info_matrix,
    "correlation": correlation_matrix,
    "spearman": spearman_matrix,
    "importance": importance_matrix,
    "predictability": predictability_matrix,
    "robustness": robustness_matrix,
}


@validated
def relevance_matrix(
    factors: ArrayLike, codes: ArrayLike, *, kind: Kind = "mutual_info", **options: Any
) -> NDArray[np.float64]:
    """How strongly each code depends on each factor, the matrix behind the scores.

    All entries are non-negative, and larger where a code has more to do with a factor.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    kind : {"mutual_info", "correlation", "spearman", "importance", "predictability", \
            "robustness"}, default="mutual_info"
        - "mutual_info": mutual information of factor and binned code, in nats.
        - "correlation": absolute Pearson correlation; continuous factors are welcome, classes
          count by their value, strings by their sorted rank.
        - "spearman": absolute correlation of ranks.
        - "importance": importance of the code to a predictor of the factor from all codes, as in
          :func:`dci_disentanglement_score`.
        - "predictability": r^2 or accuracy of a linear predictor of the factor from the code
          alone, as in :func:`sap_score`.
        - "robustness": how little the code changes while the factor stays the same, as in
          :func:`irs_score`, from 0 to 1.
    **options
        Options of this kind; any other is an error. "mutual_info" takes `n_bins`, `strategy`,
        `factor_bins`, `bias_correction`, `sample_weight`, `nan_policy` and `random_state`, as
        :func:`mig_score` does; "correlation" and "spearman" take `sample_weight` and `nan_policy`;
        "importance" takes `estimator`, `test_size`, `split`, `nan_policy`, `n_jobs` and
        `random_state`, as :func:`dci_disentanglement_score` does; "predictability" takes these,
        but `method` and `classifier` for `estimator`, as :func:`sap_score` does;
        "robustness" takes `q`, `adjust`, `confounders`, `factor_bins` and `nan_policy`, as
        :func:`irs_score` does.

    Returns
    -------
    relevance : ndarray of shape (n_factors, n_codes)
        One row per factor, one column per code. A constant code or factor gives zeros.

    See Also
    --------
    mig_score : The gap between the two most informative codes of each factor.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import relevance_matrix
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> codes = factors * [2.0, -1.0]
    >>> relevance_matrix(factors, codes, kind="correlation")
    array([[1., 0.],
           [0., 1.]])
    >>> relevance_matrix(factors, codes, kind="mutual_info", n_bins=2).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    matrix_of = _KINDS[kind]
    check_options(matrix_of, options, without=["factors", "codes"])
    return matrix_of(factors, codes, **options)
