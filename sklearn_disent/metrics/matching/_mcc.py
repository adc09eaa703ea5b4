"""Mean correlation coefficient: codes and factors matched by their correlation."""

from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from ..._params import AtLeastTwo, Average, NanPolicy, RandomStateLike, validated
from .._aggregation import Score, average_of, match_one_to_one, matched_values
from .._numeric import standardize
from .._validation import (
    Checked,
    check_codes,
    check_data,
    varied_factors,
    warn_degenerate,
    warn_if_constant,
)

__all__ = ["dictionary_similarity", "mcc_score"]

# Folds of the weak form where their number is left open.
_N_FOLDS = 5


@validated
def mcc_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    kind: Literal["pearson", "spearman"] = "pearson",
    up_to: Literal["permutation", "linear"] = "permutation",
    n_folds: AtLeastTwo | None = None,
    divisor: Literal["matched", "factors"] = "matched",
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Mean correlation coefficient: is each factor one code, up to order, sign and scale?

    Each factor is matched with a code of its own such that the absolute correlations of the pairs
    are largest in sum; the score is their mean. Between 0 and 1, higher is better: 1 when the codes
    are the factors in another order, with other signs and scales.

    .. math:: \mathrm{MCC} = \frac{1}{\min(K, D)} \max_\pi \sum_k |\mathrm{corr}(y_k, z_{\pi(k)})|

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    kind : {"pearson", "spearman"}, default="pearson"
        Linear correlation, or that of ranks, which asks for monotone functions of factors only.
    up_to : {"permutation", "linear"}, default="permutation"
        The strong form takes the codes as they are. With "linear", the weak form, codes are
        replaced by their best linear prediction of the factors, fitted on other rows: what counts
        is whether the factors are there up to a linear map.
    n_folds : int or None, default=None
        Number of folds, drawn at random. For each of them codes are matched and signs chosen on
        the other folds, and correlations are taken on the fold itself. None scores the rows that
        the matching has seen, as published; with ``up_to="linear"`` it means 5.
    divisor : {"matched", "factors"}, default="matched"
        With fewer codes than factors, the mean over the factors that have a code, or over all of
        them, where the others count 0.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The folds.

    Returns
    -------
    mcc : float, or ndarray of shape (n_factors,) if `average` is None
        The score; 0 at factors without a code.

    See Also
    --------
    factor_r2_score : Whether all codes together determine the factors.
    relevance_matrix : The correlations, with ``kind="correlation"`` or ``kind="spearman"``.
    dictionary_similarity : The same for directions instead of samples.

    Notes
    -----
    In the sample that was matched, codes of pure noise score above 0, the more the more codes there
    are for each row: 0.5 for 20 factors, 20 codes and 20 rows. With `n_folds` they score about 0
    at any size. Signed correlations are averaged over the folds, weighted by their size, before
    values below 0 count as 0: clipped in every fold, noise would be above 0 again.

    The weak form is often computed by canonical correlation analysis. Canonical variates, taken
    back to the factors, are their least-squares predictions, which are computed here; with more
    codes than rows, those of least norm.

    Categories without order count by their sorted rank, which is arbitrary: use
    :func:`matched_r2_score` for them. A constant code has correlation 0. Factors with a single
    value are left out, with a warning (nan if `average` is None).

    References
    ----------
    Hyvärinen and Morioka (2016). Unsupervised feature extraction by time-contrastive learning and
    nonlinear ICA. NeurIPS.

    Khemakhem, Monti, Kingma and Hyvärinen (2020). ICE-BeeM: Identifiable conditional energy-based
    deep models based on nonlinear ICA. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import mcc_score
    >>> factors = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(mcc_score(factors, factors[:, ::-1] * [2.0, -1.0]), 3)
    1.0
    >>> rotated = factors @ [[0.6, 0.8], [-0.8, 0.6]]
    >>> round(mcc_score(factors, rotated), 1)
    0.8
    >>> round(mcc_score(factors, rotated, up_to="linear", random_state=0), 3)
    1.0
    """
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(data.codes, "they correlate with no factor")
    used = varied_factors(data.factors)
    if up_to == "permutation" and n_folds is None:
        values = _matched_correlation(data, used, kind)
    else:
        rng = check_random_state(random_state)
        values = _cross_fitted(data, used, kind, up_to, n_folds or _N_FOLDS, rng)
    n_pairs = min(int(used.sum()), data.codes.shape[1]) if up_to == "permutation" else used.sum()
    if average is None or divisor == "factors" or not used.any():
        return average_of(values, used, average)
    return float(values.sum() / n_pairs)


@validated
def dictionary_similarity(directions: ArrayLike, atoms: ArrayLike) -> float:
    r"""Mean cosine of true directions and the atoms of a learned dictionary, matched one to one.

    The mean correlation coefficient for dictionaries, such as the decoder of a sparse autoencoder.
    Between 0 and 1, higher is better: 1 when every true direction is an atom, up to order, sign
    and length.

    .. math:: \frac1K \max_\pi \sum_k |\cos(d_k, w_{\pi(k)})|

    Parameters
    ----------
    directions : array-like of shape (n_directions, n_features)
        The true directions, one per row.
    atoms : array-like of shape (n_atoms, n_features)
        The learned ones, such as ``TopKSparseAutoencoder.components_``. There may be more or fewer.

    Returns
    -------
    similarity : float
        The mean over the true directions; one without an atom counts 0.

    See Also
    --------
    mcc_score : The same for codes of samples.

    Notes
    -----
    A direction or an atom of length 0 has cosine 0 with everything. Random atoms are well above 0
    in few dimensions: about 0.8 for two directions in the plane.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dictionary_similarity
    >>> dictionary_similarity(np.eye(3), [[0, -2, 0], [1, 0, 0], [0, 0, 1]])
    1.0
    """
    one, two = check_codes(directions), check_codes(atoms)
    if one.shape[1] != two.shape[1]:
        raise ValueError(
            "directions and atoms must have the same number of features, got "
            f"{one.shape[1]} and {two.shape[1]}. Transpose the one whose directions are columns."
        )
    cosine = np.abs(_unit_rows(one) @ _unit_rows(two).T)
    return float(np.clip(matched_values(cosine, match_one_to_one(cosine)).mean(), 0.0, 1.0))


def _unit_rows(array: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(array, axis=1, keepdims=True)
    return array / np.where(length > 0, length, 1.0)


def _correlation(Y: NDArray[np.float64], Z: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """Signed correlation (columns of Y, columns of Z), 0 for constants."""
    if kind == "spearman":
        Y, Z = rankdata(Y, axis=0), rankdata(Z, axis=0)
    return np.clip(standardize(Y).T @ standardize(Z) / len(Y), -1.0, 1.0)


def _matched_correlation(data: Checked, used: NDArray[np.bool_], kind: str) -> NDArray[np.float64]:
    """Absolute correlation of each used factor and its code, on the rows that were matched."""
    values = np.zeros(len(used))
    if used.any():
        relevance = np.abs(_correlation(data.values[:, used], data.codes, kind))
        values[used] = matched_values(relevance, match_one_to_one(relevance))
    return values


def _cross_fitted(
    data: Checked,
    used: NDArray[np.bool_],
    kind: str,
    up_to: str,
    n_folds: int,
    rng: RandomState,
) -> NDArray[np.float64]:
    """Correlation of each used factor and its code on rows that chose neither code nor sign."""
    values, n_samples = np.zeros(len(used)), len(data.codes)
    fold = rng.permutation(np.arange(n_samples) % n_folds)
    if not used.any():
        return values
    for f in np.unique(fold):
        train, test = fold != f, fold == f
        own = _fold_correlation(data.values[:, used], data.codes, train, test, kind, up_to)
        values[used] += own * test.mean()
    if n_folds > n_samples // 2:
        warn_degenerate(
            f"Folds of {n_samples // n_folds} rows have no correlation: of {n_samples} rows, make "
            f"at most {n_samples // 2} folds."
        )
    return np.maximum(values, 0.0)


def _fold_correlation(
    Y: NDArray[np.float64],
    Z: NDArray[np.float64],
    train: NDArray[np.bool_],
    test: NDArray[np.bool_],
    kind: str,
    up_to: str,
) -> NDArray[np.float64]:
    if up_to == "linear":
        predicted = _predict_linearly(Y[train], Z[train], Z[test])
        return np.diagonal(_correlation(Y[test], predicted, kind))
    chosen = _correlation(Y[train], Z[train], kind)
    code = match_one_to_one(np.abs(chosen))
    sign = np.sign(matched_values(chosen, code))
    return sign * matched_values(_correlation(Y[test], Z[test], kind), code)


def _predict_linearly(
    Y: NDArray[np.float64], Z: NDArray[np.float64], Z_test: NDArray[np.float64]
) -> NDArray[np.float64]:
    center, scale = Z.mean(axis=0), np.ptp(Z, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    coef = np.linalg.lstsq((Z - center) / scale, Y - Y.mean(axis=0), rcond=1e-10)[0]
    return ((Z_test - center) / scale) @ coef
