"""Codes in groups: units of several columns, and their projection to one number each."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.utils.validation import check_is_fitted, validate_data

from .._params import PositiveInt, constraints_of, fit_context, readable
from ._factor_columns import as_columns
from ._sharing import shared
from ._validation import Checked, check_factors

__all__ = ["GroupProjection"]

# Columns per unit, or the columns of each unit.
Groups = PositiveInt | Annotated[Sequence[Any], "array-like"]
Units = list[NDArray[np.int64]]


def units_of(groups: Groups | None, n_codes: int) -> Units:
    """Columns of each unit: those that `groups` lists, or consecutive ones by number."""
    if groups is None:
        groups = 1
    if isinstance(groups, (int, np.integer)):
        if n_codes % groups:
            raise ValueError(
                f"groups={groups} columns per unit must divide the number of codes, got {n_codes}. "
                "List the columns of each unit instead."
            )
        return list(np.arange(n_codes).reshape(-1, groups))
    units = [np.atleast_1d(np.asarray(unit)) for unit in groups]
    if not units or any(
        unit.ndim != 1 or not unit.size or unit.dtype.kind != "i" for unit in units
    ):
        raise ValueError(
            "groups must be the number of columns per unit or a list of lists of column numbers, "
            f"such as [[0, 1], [2]], got {groups!r}."
        )
    columns = np.concatenate(units)
    if columns.min() < 0 or columns.max() >= n_codes or len(set(columns.tolist())) < len(columns):
        raise ValueError(
            f"groups must hold each column at most once, of 0 to {n_codes - 1}, got {groups!r}."
        )
    return units


@shared
def projected(data: Checked, groups: Groups | None) -> Checked:
    """The data with one code per unit: its column, or its first principal component."""
    if groups is None:
        return data
    units = units_of(groups, data.codes.shape[1])
    weight = data.sample_weight
    codes = [_project(data.codes[:, unit], _principal, weight) for unit in units]
    return _with_codes(data, np.column_stack(codes))


@shared
def restricted(data: Checked, groups: Groups | None) -> tuple[Checked, Units | None]:
    """The data with the columns of all units, one after the other; and where each unit is then."""
    if groups is None:
        return data, None
    units = units_of(groups, data.codes.shape[1])
    ends = np.cumsum([len(unit) for unit in units])
    codes = np.ascontiguousarray(data.codes[:, np.concatenate(units)])
    return _with_codes(data, codes), np.split(np.arange(ends[-1]), ends[:-1])


def _with_codes(data: Checked, codes: NDArray[np.float64]) -> Checked:
    """The data with other codes of the same rows, in the parts of each factor as well."""
    parts = tuple(
        part._replace(codes=codes[np.searchsorted(data.rows, part.rows)]) for part in data.parts
    )
    return data._replace(codes=codes, parts=parts)


def mean_over_units(values: NDArray[np.float64], units: Units | None) -> NDArray[np.float64]:
    """Means (n, n_units) of columns (n, n_codes) over each unit."""
    if units is None:
        return values
    return np.column_stack([values[:, unit].mean(axis=1) for unit in units])


def kept_units(units: Units | None, kept: NDArray[np.bool_]) -> Units | None:
    """Units of the columns that are kept, by their new numbers; a unit without any is gone."""
    if units is None:
        return None
    number = np.cumsum(kept) - 1
    return [number[unit[kept[unit]]] for unit in units if kept[unit].any()]


def _project(X: NDArray[np.float64], direction_of: Any, *args: Any) -> NDArray[np.float64]:
    # A single column stays as it is, to the last bit.
    if X.shape[1] == 1:
        return X[:, 0]
    center, direction = direction_of(X, *args)
    return (X - center) @ direction


def _principal(
    X: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and direction of largest variance; its largest entry is positive."""
    center = np.average(X, axis=0, weights=weight)
    centered = X - center
    largest = max(np.abs(centered).max(), np.finfo(float).tiny)
    scaled = centered / largest
    covariance = scaled.T @ (scaled if weight is None else scaled * weight[:, None])
    direction = np.linalg.eigh(covariance)[1][:, -1]
    return center, direction * np.sign(direction[np.abs(direction).argmax()])


class GroupProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes in groups of columns to one number per group, for metrics of single codes.

    Models whose units are vectors (slots, capsules, the units of diffusion autoencoders) are scored
    after each unit is reduced to one number.

    Parameters
    ----------
    groups : int, list of lists of int or None, default=None
        Number of consecutive columns per unit, or the columns of each unit; columns in no unit are
        left out. None takes every column as a unit.
    method : {"pca", "pls"}, default="pca"
        The direction of largest variance, as in the literature, or that of largest covariance with
        the factors, which `fit` then needs as y.

    Attributes
    ----------
    units_ : list of ndarray
        Columns of each unit.
    centers_, directions_ : list of ndarray
        The mean and the direction of each unit; of a single column 0 and 1.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    mig_score : Has the same as an option, `groups`, with the direction of largest variance.

    Notes
    -----
    What is orthogonal to the direction is lost: a unit that holds a factor on a circle, or as
    indicators of classes, is not a function of one number. Scores that have another way with
    groups lose less: those of DCI add up importances, SAP predicts from all columns of a unit.
    Directions are fitted by `fit`: in a Pipeline they come from the training rows. A unit of a
    single column stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import GroupProjection
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> GroupProjection(groups=3).fit_transform(X).shape
    (100, 2)
    >>> GroupProjection([[0, 1], [5]]).fit_transform(X).shape
    (100, 2)
    """

    def __init__(
        self, groups: Groups | None = None, *, method: Literal["pca", "pls"] = "pca"
    ) -> None:
        self.groups = groups
        self.method = method

    _parameter_constraints = constraints_of(__init__)  # type: ignore[arg-type]

    @readable
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the direction of each unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_codes)
            Codes.
        y : array-like of shape (n_samples,) or (n_samples, n_factors) or None, default=None
            Factors, for ``method="pls"``.

        Returns
        -------
        self : object
        """
        codes = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self.units_ = units_of(self.groups, codes.shape[1])
        targets = self._targets(y) if self.method == "pls" else None
        self.centers_, self.directions_ = [], []
        for unit in self.units_:
            center, direction = np.zeros(1), np.ones(1)
            if len(unit) > 1 and targets is None:
                center, direction = _principal(codes[:, unit])
            elif len(unit) > 1:
                model = PLSRegression(n_components=1, scale=False).fit(codes[:, unit], targets)
                center, direction = codes[:, unit].mean(axis=0), model.x_rotations_[:, 0]
            self.centers_.append(center)
            self.directions_.append(direction)
        return self

    @readable
    def transform(self, X: ArrayLike) -> NDArray:
        """One number per unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_codes)
            Codes.

        Returns
        -------
        projected : ndarray of shape (n_samples, n_units)
        """
        check_is_fitted(self)
        codes = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        parts = zip(self.units_, self.centers_, self.directions_)
        projections = [
            _project(codes[:, unit], lambda _, c=center, d=direction: (c, d))
            for unit, center, direction in parts
        ]
        return np.column_stack(projections).astype(codes.dtype, copy=False)

    def _targets(self, y: ArrayLike | None) -> NDArray[np.float64]:
        if y is None:
            raise ValueError(
                "GroupProjection(method='pls') requires y to be passed, but the target y is None. "
                "Pass the factors, or use method='pca'."
            )
        # One factor may be a plain column, as scikit-learn's estimators take it.
        array = np.asarray(y)
        factors = array[:, None] if array.ndim == 1 else y
        return as_columns(check_factors(factors, continuous=True)).values

    @property
    def _n_features_out(self) -> int:
        return len(self.units_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.method == "pls"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
