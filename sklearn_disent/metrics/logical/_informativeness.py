"""Informativeness as distance from being invertible or injective (Zhang and Sugiyama 2024)."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import RegressorMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..._params import Array, AtLeastTwo, NanPolicy, Predictor, RandomStateLike, averaged
from .._few_rows import few_rows
from .._numeric import clip_below_zero, distance_factors
from .._sharing import shared
from .._validation import Checked, check_data, varied_factors, warn_if_constant
from ._deviations import both_orders, class_centers, row_chunks
from ._groups import embed_factors, scale_codes, total_spread
from ._linear_fits import affine_design, least_absolute, least_squares, minimax_fit
from ._modularity import combine, score_of

__all__ = [
    "informativeness_distance",
    "inverse_informativeness_score",
    "contraction_informativeness_score",
]

Floats = NDArray[np.float64]
Error = Literal["mse", "mae", "max_error"]
Inverse = Literal["linear", "equal_codes"] | Predictor
CrossValidation = Annotated[Any, "cv_object"]

# With more rows than these, mean contractions rest on quick distances, in square tiles of this
# side: they stay in the cache, and matrix products of long, flat ones are slower.
_MANY_ROWS, _TILE = 2000, 192


@averaged
def informativeness_distance(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    quantity: Error | Literal["max_contraction", "mean_contraction"] = "mse",
    inverse: Inverse = "linear",
    cv: CrossValidation | None = None,
    factor_scale: Literal["given", "unit"] = "given",
    code_scale: Literal["given", "unit"] = "given",
    sample_weight: Array | None = None,
    average: Literal["joint"] | None = "joint",
    nan_policy: NanPolicy = "raise",
) -> float | Floats:
    r"""Distance of the codes from determining the factors.

    Between 0 and infinity, lower is better. Either the error of the best inverse, a function from
    codes to factors,

    .. math:: \inf_h \nabla_y\, d(h(z(y)), y),

    or how much nearer to each other the codes are than the factors,

    .. math:: \nabla_{y, y'} \max(d(y, y') - d(z(y), z(y')), 0).

    The former is 0 if an inverse exists among the functions allowed; the latter only if the codes
    do not contract, which implies an inverse but asks for more.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors. Numbers, continuous ones included, count by their value; strings,
        booleans and unordered categories are at distance 1 from each other.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    quantity : {"mse", "mae", "max_error", "max_contraction", "mean_contraction"}, default="mse"
        Of the inverse, the mean squared or mean absolute error over samples and factors, or the
        largest Euclidean error; the largest or mean contraction over all pairs of samples.
    inverse : {"linear", "equal_codes"} or regressor, default="linear"
        The functions from codes to factors: affine ones, fitted optimally for the error in
        question; all functions, for which only samples with equal codes are confused; or those of
        a scikit-learn regressor. Not used for contractions.
    cv : int, cross-validation generator, iterable or None, default=None
        If given, a regressor predicts samples that it has not seen; else those it is fitted to,
        which is the definition but lets a flexible regressor memorize the samples.
    factor_scale : {"given", "unit"}, default="given"
        Take numbers as they are, or scale each factor to [0, 1].
    code_scale : {"given", "unit"}, default="given"
        For contractions: take codes as they are, as published, or scale them to the total variance
        of the factors. Scorers and reports have "unit" by default.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"joint"} or None, default="joint"
        All factors together, or one value per factor, as if it were the only one.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    distance : float, or ndarray of shape (n_factors,) if `average` is None
        The distance.

    See Also
    --------
    inverse_informativeness_score : ``exp(-distance)`` of the errors of an inverse.
    contraction_informativeness_score : ``exp(-distance)`` of the contractions.
    modularity_distance : The other half of disentanglement.

    Notes
    -----
    Distances are in units of the factors: classes 0 to 39 weigh more than classes 0 to 2 unless
    `factor_scale` is "unit". A factor with a single value is left out, with a warning (nan if
    `average` is None); if all are, the distance is infinite.

    The linear fits are exact: least squares, a linear program for the mean absolute error, and for
    the largest error a cone program with a proof of optimality. On the nonlinear codes of the
    paper's table 2 that gives exp(-0.217) = 0.81, where the paper has 0.79. For several unordered
    classes, errors are added over the indicator columns of the classes, each over the square root
    of 2.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import informativeness_distance
    >>> y = np.linspace(0, 1, 11)[:, None]
    >>> round(informativeness_distance(y, 3 * y - 1), 6)
    0.0
    >>> round(informativeness_distance(y, y**2, quantity="max_error"), 6)
    0.125
    >>> round(informativeness_distance(y, 0.1 * y, quantity="max_contraction"), 6)
    0.9
    """
    data = check_data(factors, codes, None, nan_policy, sample_weight, continuous=True)
    points = _points_of(data, factor_scale)
    if not quantity.endswith("_contraction"):
        return _inverse_distance(points, quantity, inverse, cv, average)
    aggregate = quantity.removesuffix("_contraction")
    return _contraction_distance(points, aggregate, average, code_scale)


@averaged
def inverse_informativeness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    error: Error = "mse",
    inverse: Inverse = "linear",
    cv: CrossValidation | None = None,
    factor_scale: Literal["given", "unit"] = "given",
    sample_weight: Array | None = None,
    average: Literal["joint"] | None = "joint",
    nan_policy: NanPolicy = "raise",
) -> float | Floats:
    r"""Informativeness by the best inverse: how well do the codes predict the factors?

    ``exp(-error)``: between 0 and 1, higher is better, 1 if the factors are a function of the
    codes, among the functions allowed.

    .. math:: \exp\Bigl(-\inf_h \nabla_y\, d(h(z(y)), y)\Bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors. Numbers, continuous ones included, count by their value; strings,
        booleans and unordered categories are at distance 1 from each other.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    error : {"mse", "mae", "max_error"}, default="mse"
        Mean squared or mean absolute error over samples and factors, or the largest Euclidean
        error of a sample.
    inverse : {"linear", "equal_codes"} or regressor, default="linear"
        Affine functions; all functions, for which only samples with equal codes are confused; or
        a scikit-learn regressor.
    cv : int, cross-validation generator, iterable or None, default=None
        If given, a regressor predicts samples that it has not seen.
    factor_scale : {"given", "unit"}, default="given"
        Take numbers as they are, or scale each factor to [0, 1].
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"joint"} or None, default="joint"
        All factors together, or one score per factor, as if it were the only one.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    score : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    informativeness_distance : The error itself, and more about the parameters.
    contraction_informativeness_score : Without the search for an inverse.

    Notes
    -----
    The score depends on the scale of the factors but not on that of the codes. Codes without
    information score above 0: exp(-0.1) = 0.90 for the mean squared error of three factors on a
    grid of eleven levels between 0 and 1.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definition 8.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_logical_codes
    >>> from sklearn_disent.metrics import inverse_informativeness_score
    >>> for kind in "rotation", "nonlinear", "constant":
    ...     data = make_logical_codes(kind)
    ...     print(round(inverse_informativeness_score(data.factors, data.codes, error="mae"), 2))
    1.0
    0.93
    0.76
    """
    data = check_data(factors, codes, None, nan_policy, sample_weight, continuous=True)
    points = _points_of(data, factor_scale)
    return score_of(_inverse_distance(points, error, inverse, cv, average))


@averaged
def contraction_informativeness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    aggregate: Literal["mean", "max"] = "mean",
    factor_scale: Literal["given", "unit"] = "given",
    code_scale: Literal["given", "unit"] = "given",
    sample_weight: Array | None = None,
    average: Literal["joint"] | None = "joint",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> float | Floats:
    r"""Informativeness by contraction: do the codes keep different factors as far apart?

    ``exp(-contraction)``: between 0 and 1, higher is better, 1 if no two codes are nearer to each
    other than their factors.

    .. math:: \exp\Bigl(-\nabla_{y, y'} \max(d(y, y') - d(z(y), z(y')), 0)\Bigr)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors. Numbers, continuous ones included, count by their value; strings,
        booleans and unordered categories are at distance 1 from each other.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    aggregate : {"mean", "max"}, default="mean"
        Mean or largest contraction over all ordered pairs of samples.
    factor_scale : {"given", "unit"}, default="given"
        Take numbers as they are, or scale each factor to [0, 1].
    code_scale : {"given", "unit"}, default="given"
        Take codes as they are, as published, or scale them to the total variance
        of the factors. Scorers and reports have "unit" by default.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each sample counts.
    average : {"joint"} or None, default="joint"
        All factors together, or one score per factor, as if it were the only one.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The rows that are drawn.

    Returns
    -------
    score : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    informativeness_distance : The contraction itself.
    inverse_informativeness_score : By the best inverse, at any scale of the codes.

    Notes
    -----
    A score of 1 implies that the codes distinguish all values of the factors, but not the other way
    around: codes that are the factors times 0.01 are invertible and yet contract. All n^2 pairs are
    compared, chunk by chunk in bounded memory.

    References
    ----------
    Zhang and Sugiyama (2024). Enriching disentanglement: from logical definitions to quantitative
    metrics. NeurIPS. Definition 9.

    Examples
    --------
    >>> from sklearn_disent.datasets import make_logical_codes
    >>> from sklearn_disent.metrics import contraction_informativeness_score
    >>> for kind in "duplicate", "nonlinear", "contraction":
    ...     data = make_logical_codes(kind)
    ...     print(round(contraction_informativeness_score(data.factors, data.codes), 2))
    1.0
    0.95
    0.49
    """
    factors, codes, sample_weight = few_rows(
        (factors, codes, sample_weight), max_samples, random_state
    )
    data = check_data(factors, codes, None, nan_policy, sample_weight, continuous=True)
    points = _points_of(data, factor_scale)
    return score_of(_contraction_distance(points, aggregate, average, code_scale))


class _Points(NamedTuple):
    points: list[Floats]
    """Per factor (n, d)."""
    codes: Floats
    sample_weight: Floats | None
    used: NDArray[np.bool_]
    """Which factors vary."""

    def parts(self, average: str | None) -> list[list[Floats]]:
        """Factors to be judged together: all that vary, or each by itself."""
        used = [self.points[k] for k in np.flatnonzero(self.used)]
        return [[points] for points in used] if average is None else [used] if used else []


@shared
def _points_of(data: Checked, factor_scale: str) -> _Points:
    used = varied_factors(data.factors)
    warn_if_constant(data.codes, "they hold no information about any factor")
    return _Points(embed_factors(data, factor_scale), data.codes, data.sample_weight, used)


def _finish(data: _Points, values: list[float], average: str | None) -> float | Floats:
    if average is not None:
        return combine(np.array(values), np.ones(len(values), dtype=bool), "sum")
    per_factor = np.zeros(len(data.used))
    per_factor[data.used] = values
    return combine(per_factor, data.used, None)


@shared
def _inverse_distance(
    data: _Points, error: str, inverse: str | RegressorMixin, cv: Any, average: str | None
) -> float | Floats:
    values = []
    for factors in data.parts(average):
        targets = np.hstack(factors)
        gap = np.abs(targets - _invert(data, targets, error, inverse, cv))
        if error == "max_error":
            values.append(float(np.linalg.norm(gap, axis=1).max()))
            continue
        size = (gap if error == "mae" else gap**2).sum(axis=1)
        values.append(float(np.average(size, weights=data.sample_weight)) / len(factors))
    return _finish(data, values, average)


def _invert(
    data: _Points, targets: Floats, error: str, inverse: str | RegressorMixin, cv: Any
) -> Floats:
    """Factors that the best inverse reads off the codes."""
    weight = data.sample_weight
    if not isinstance(inverse, str):
        return _regress(inverse, data.codes, targets, weight, cv)
    if inverse == "equal_codes":
        return _table(data.codes, targets, weight, error)
    design = affine_design(data.codes)
    if error == "mse":
        return design @ least_squares(design, targets, weight)
    if error == "mae":
        return design @ least_absolute(design, targets, weight)
    return design @ minimax_fit(design, targets).coef


def _table(codes: Floats, targets: Floats, weight: Floats | None, error: str) -> Floats:
    """Best factors for every distinct code: middle of the ball, median or mean of each column."""
    classes = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    if error == "mae":
        columns = [class_centers(column[:, None], classes, weight, "mad") for column in targets.T]
        return np.hstack(columns)[classes]
    centre = "variance" if error == "mse" else "radius"
    return class_centers(targets, classes, weight, centre)[classes]


def _regress(
    regressor: RegressorMixin, codes: Floats, targets: Floats, weight: Floats | None, cv: Any
) -> Floats:
    model = clone(regressor)
    if targets.shape[1] == 1:
        targets = targets.ravel()
    elif not get_tags(model).target_tags.multi_output:
        model = MultiOutputRegressor(model)
    params = {} if weight is None else {"sample_weight": weight}
    if weight is not None and not has_fit_parameter(regressor, "sample_weight"):
        raise ValueError(
            f"The fit of {type(regressor).__name__} takes no sample_weight. Repeat rows instead, "
            "or pass an inverse that does."
        )
    if cv is None:
        predicted = model.fit(codes, targets, **params).predict(codes)
    else:
        predicted = cross_val_predict(model, codes, targets, cv=cv, params=params)
    return np.asarray(predicted, dtype=np.float64).reshape(len(codes), -1)


@shared
def _contraction_distance(
    data: _Points, aggregate: str, average: str | None, code_scale: str
) -> float | Floats:
    parts = [np.hstack(factors) for factors in data.parts(average)]
    weight = np.ones(len(data.codes)) if data.sample_weight is None else data.sample_weight
    scaled = [
        scale_codes(data.codes, code_scale, data.sample_weight, _spread(part, data, code_scale))
        for part in parts
    ]
    # The mean of many pairs does not feel the rounding of the quicker form.
    is_quick = aggregate == "mean" and len(weight) > _MANY_ROWS
    distances_of = _quick_distances if is_quick else _exact_distances
    near_of, far_of = ([distances_of(points) for points in group] for group in (scaled, parts))
    values = np.zeros(len(parts))
    for rows, columns, share in (_tiles if is_quick else _chunks)(weight):
        near = None
        for i in range(len(parts)):
            if near is None or code_scale != "given":
                near = near_of[i](rows, columns)
            contraction = far_of[i](rows, columns)
            contraction -= near
            clip_below_zero(contraction)
            if aggregate == "max":
                values[i] = max(values[i], contraction.max())
            else:
                values[i] += weight[rows] @ (contraction @ share)
    if aggregate == "mean":
        values /= weight.sum() ** 2
    return _finish(data, values.tolist(), average)


def _chunks(weight: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    """Some rows, all rows from the first of them on, and the weights of these for both orders."""
    for rows in row_chunks(len(weight)):
        yield rows, slice(rows.start, None), both_orders(weight, rows)


def _tiles(weight: Floats) -> Iterator[tuple[slice, slice, Floats]]:
    """The same of a few rows by a few: tiles beyond the diagonal stand for both orders."""
    parts = [slice(start, start + _TILE) for start in range(0, len(weight), _TILE)]
    for i, rows in enumerate(parts):
        yield rows, rows, weight[rows]
        for columns in parts[i + 1 :]:
            yield rows, columns, 2 * weight[columns]


def _exact_distances(points: Floats) -> Callable[[slice, slice], Floats]:
    return lambda rows, columns: cdist(points[rows], points[columns])


def _quick_distances(points: Floats) -> Callable[[slice, slice], Floats]:
    left, right = distance_factors(points, points)

    def distances(rows: slice, columns: slice) -> Floats:
        squares = clip_below_zero(left[rows] @ right[columns].T)
        return np.sqrt(squares, out=squares)

    return distances


def _spread(part: Floats, data: _Points, code_scale: str) -> float:
    return 1.0 if code_scale == "given" else total_spread(part, data.sample_weight)
