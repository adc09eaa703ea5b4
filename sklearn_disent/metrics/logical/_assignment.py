"""Which codes belong to which factor: columns named by the caller, found, or projected."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from .._numeric import column_range, row_parts
from .._validation import Checked
from ._linear_fits import affine_design, least_squares

Floats = NDArray[np.float64]


def check_groups(groups: Sequence[ArrayLike], n_factors: int, n_codes: int) -> list[NDArray]:
    """One array of columns per factor; together they name every code once."""
    columns = [np.atleast_1d(np.asarray(group)) for group in groups]
    if len(columns) != n_factors:
        raise ValueError(
            f"groups must hold one list of columns per factor, got {len(columns)} groups for "
            f"{n_factors} factors."
        )
    for k, group in enumerate(columns):
        if group.ndim != 1 or len(group) == 0 or group.dtype.kind not in "iu":
            raise ValueError(
                f"groups[{k}] must list at least one column of codes by its number, got "
                f"{groups[k]!r}. Leave groups=None to have the codes assigned."
            )
    named = np.concatenate(columns)
    if named.min() < 0 or named.max() >= n_codes:
        raise ValueError(
            f"groups must name columns 0 to {n_codes - 1} of codes, got {named.min()} to "
            f"{named.max()}."
        )
    times = np.bincount(named, minlength=n_codes)
    if times.max() > 1:
        raise ValueError(
            f"groups must name every code once, got codes {np.flatnonzero(times > 1).tolist()} "
            "several times. Repeat the columns in codes if that is meant."
        )
    if times.min() == 0:
        raise ValueError(
            f"groups must name every code, got none with {np.flatnonzero(times == 0).tolist()}. "
            "Drop these columns from codes if they are to be left out."
        )
    return columns


def explained_share(factors: NDArray, codes: Floats, weight: Floats | None) -> Floats:
    """Share (K, D) of every code's variance that lies between the classes of every factor."""
    weight = np.ones(len(codes)) if weight is None else weight
    # The range, not the variance, tells a dead code: rounding leaves the latter above zero.
    width = column_range(codes)
    live = width > 0
    # At scale 1 no square overflows; the share has no scale.
    scale = np.where(live, width, 1.0)
    mean = (
        sum(weight[rows] @ (codes[rows] / scale) for rows in row_parts(len(codes))) / weight.sum()
    )
    n_classes = factors.max(axis=0, initial=0) + 1
    sums = [np.zeros((codes.shape[1], n)) for n in n_classes]
    total = np.zeros(codes.shape[1])
    for rows in row_parts(len(codes)):
        centred = np.ascontiguousarray((codes[rows] / scale - mean).T)
        weighted = centred * weight[rows]
        total += (weighted * centred).sum(axis=1)
        for own, classes in zip(sums, factors[rows].T):
            for j, column in enumerate(weighted):
                own[j] += np.bincount(classes, column, own.shape[1])
    share = np.zeros((factors.shape[1], codes.shape[1]))
    for k, own in enumerate(sums):
        count = np.bincount(factors[:, k], weight)
        between = np.divide(own**2, count, out=np.zeros_like(own), where=count > 0).sum(axis=1)
        np.divide(between, total, out=share[k], where=live)
    return share


def assign_codes(
    factors: NDArray, codes: Floats, weight: Floats | None, assignment: str
) -> list[NDArray[np.int64]]:
    """Columns of every factor by the share of their variance that it explains.

    "one_to_one" finds the assignment of largest total share; "partition" gives every code to the
    factor that explains most of it. A factor may remain without a code.
    """
    share = explained_share(factors, codes, weight)
    groups = [np.zeros(0, dtype=np.int64) for _ in range(len(share))]
    if assignment == "one_to_one":
        for k, column in zip(*linear_sum_assignment(share, maximize=True)):
            groups[k] = np.array([column])
        return groups
    if not groups:
        return []
    owner = share.argmax(axis=0)
    return [np.flatnonzero(owner == k) for k in range(len(share))]


def embed_factors(data: Checked, scale: str) -> list[Floats]:
    """Factors as points, one array (n, d) each, whose distances are those of the values.

    Numbers are points on a line, with scale="unit" between 0 and 1. Values without an order are
    the corners of a simplex of edge 1: different or the same, nothing between.
    """
    points = []
    for k, kind in enumerate(data.kinds):
        if kind == "categorical":
            classes = data.factors[:, k]
            points.append(np.eye(classes.max() + 1)[classes] / np.sqrt(2))
            continue
        value = data.values[:, [k]]
        if scale == "unit":
            value = (value - value.min()) / (np.ptp(value) or 1.0)
        points.append(value)
    return points


def project_codes(data: Checked) -> list[Floats]:
    """For every factor the linear function of all codes that is nearest to it, scaled to [0, 1]."""
    design = affine_design(data.codes)
    return [
        design @ least_squares(design, points, data.sample_weight)
        for points in embed_factors(data, "unit")
    ]


def total_spread(points: Floats, weight: Floats | None = None) -> float:
    """Root of the total variance: the root mean square distance to the mean."""
    centred = points - np.average(points, axis=0, weights=weight)
    largest = float(np.abs(centred).max(initial=0.0))
    unit = 1.0 if largest == 0 or 1e-150 < largest < 1e150 else largest  # else squares get lost
    scaled = centred / unit
    return unit * float(np.sqrt(np.average((scaled * scaled).sum(axis=1), weights=weight)))


def scale_codes(
    points: Floats, code_scale: str, weight: Floats | None = None, spread: float = 1.0
) -> Floats:
    """Codes as they are ("given"), or with a given `total_spread` ("unit"); constants stay."""
    if code_scale == "given" or points.size == 0 or not column_range(points).any():
        return points
    centred = points - np.average(points, axis=0, weights=weight)
    total, largest = total_spread(points, weight), np.abs(centred).max()
    if largest < np.finfo(float).tiny:  # whose inverse is not finite
        centred = centred / largest
        total = total_spread(centred, weight)
    return centred * (spread / total)
