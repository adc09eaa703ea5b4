"""Linear fits that are optimal in three senses: largest error, mean absolute, mean squared."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from .._numeric import column_range, standardize

Floats = NDArray[np.float64]

# Rows in the convex program at once; more are brought in as they are violated.
_MOST_ROWS = 1500
_MAX_ITER = 100
# Rows that are decomposed at once.
_CHUNK = 2**14


class MinimaxFit(NamedTuple):
    """Fit of least largest error, with its proof."""

    coef: Floats
    """(p, m)."""
    error: float
    """Largest Euclidean error of the fit over all rows."""
    bound: float
    """No linear fit has a largest error below this."""


def affine_design(codes: Floats) -> Floats:
    """Columns of mean square 1 that span the codes and the constant: (n, rank + 1).

    Orthogonal, so that every fit below is well conditioned and codes may have any scale; a
    constant code and one that follows from the others add nothing.
    """
    live = column_range(codes) > 0
    if not live.any():
        return np.ones((len(codes), 1))
    scaled = standardize(codes[:, live])
    longest = max(scaled.shape)
    left, size, _ = linalg.svd(scaled, full_matrices=False, overwrite_a=True, check_finite=False)
    # The smallest come last.
    rank = int((size > size[0] * longest * np.finfo(float).eps).sum())
    design = np.empty((len(codes), rank + 1), order="F")
    design[:, 0] = 1.0
    np.multiply(left[:, :rank], np.sqrt(len(codes)), out=design[:, 1:])
    return design


def least_squares(design: Floats, targets: Floats, weight: Floats | None = None) -> Floats:
    """Coefficients (p, m) of least mean squared error."""
    if weight is not None:
        root = np.sqrt(weight)[:, None]
        design, targets = design * root, targets * root
    if len(design) > _CHUNK:
        design, targets = _condensed(design, targets)
    return linalg.lstsq(design, targets)[0]


def _condensed(design: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """A few rows with the same least squares fits: the triangle of a QR decomposition.

    Chunk by chunk, which stay in the cache: at a million rows, new memory for copies would cost
    more than the decomposition.
    """
    width = design.shape[1]
    triangle = np.empty((0, width + targets.shape[1]))
    for start in range(0, len(design), _CHUNK):
        rows = slice(start, start + _CHUNK)
        part = np.vstack([triangle, np.hstack([design[rows], targets[rows]])])
        triangle = np.asarray(np.linalg.qr(part, mode="r"))
    return triangle[:, :width], triangle[:, width:]


def least_absolute(design: Floats, targets: Floats, weight: Floats | None = None) -> Floats:
    """Coefficients (p, m) of least mean absolute error, column by column.

    The linear program is solved in its dual, max y'a over design'a = 0 and |a| <= weight: as many
    constraints as coefficients, where the primal has one per row. The coefficients are the
    multipliers of these constraints.
    """
    bounds = np.ones(len(design)) if weight is None else weight / weight.max()
    coef = least_squares(design, targets, weight)
    scale = np.abs(targets - design @ coef).max(axis=0)
    for column in np.flatnonzero(scale > 1e-12 * np.abs(targets).max(initial=0.0)):
        # What the squares leave over, at scale 1: the solver's tolerances are absolute.
        rest = (targets[:, column] - design @ coef[:, column]) / scale[column]
        coef[:, column] += scale[column] * _least_absolute_program(design, rest, bounds)
    return coef


def _least_absolute_program(design: Floats, target: Floats, bounds: Floats) -> Floats:
    """Coefficients (p,) by linear programs over the rows whose sign is in doubt.

    A row that lies clearly above or below the fit has a = +-weight at the optimum. Guess these
    from a nearby fit, solve for the rest, and doubt those whose guess turns out wrong: when none
    is left, all conditions of optimality hold (Portnoy and Koenker 1997).
    """
    guess = _reweighted_fit(design, target, bounds)
    residual = target - design @ guess
    rank = np.abs(residual).argsort().argsort()
    doubted = rank < max(20 * design.shape[1], len(target) // 10)
    # On the fit a row has no sign to guess.
    doubted |= np.abs(residual) < 1e-9
    while True:
        fixed = np.where(doubted, 0.0, np.sign(residual) * bounds)
        solution = linprog(
            -target[doubted],
            A_eq=design[doubted].T,
            b_eq=-design.T @ fixed,
            bounds=np.column_stack([-bounds, bounds])[doubted],
            method="highs",
        )
        if solution.status == 0:
            coef = -solution.eqlin.marginals
            wrong = fixed * (target - design @ coef) < -1e-10 * bounds
            if not wrong.any():
                return coef
            doubted |= wrong
        elif doubted.all():
            warnings.warn(
                f"The least absolute fit was not solved ({solution.message}); an approximate one "
                "is used.",
                ConvergenceWarning,
                stacklevel=2,
            )
            return guess
        else:
            # The guesses leave no balance: doubt twice as many.
            doubted |= rank < 2 * doubted.sum()


def _reweighted_fit(design: Floats, target: Floats, weight: Floats, n_iter: int = 15) -> Floats:
    """Nearly least absolute errors, by least squares weighted with the inverse of the error."""
    coef = least_squares(design, target[:, None], weight)
    for _ in range(n_iter):
        error = np.abs(target - (design @ coef)[:, 0])
        coef = least_squares(design, target[:, None], weight / np.maximum(error, 1e-6))
    return coef[:, 0]


def minimax_fit(design: Floats, targets: Floats) -> MinimaxFit:
    """Coefficients (p, m) whose largest Euclidean error over the rows is least.

    A second-order cone program, here as min t subject to |y_i - B'x_i|^2 <= t. By duality the
    optimum is the largest, over weights of the rows that add up to 1, of the least weighted mean
    squared error: the weights that come with the solution prove a bound from below. Rows are
    brought in as they are violated, so that most of them are only ever looked at.
    """
    coef = least_squares(design, targets)
    errors = np.linalg.norm(targets - design @ coef, axis=1)
    if errors.max() <= 1e-12 * np.abs(targets).max(initial=0.0):
        return MinimaxFit(coef, float(errors.max()), 0.0)
    rows = np.argsort(-errors)[:_MOST_ROWS]
    best = MinimaxFit(coef, float(errors.max()), 0.0)
    while True:
        coef, bound = _minimax_program(design[rows], targets[rows], coef)
        errors = np.linalg.norm(targets - design @ coef, axis=1)
        if errors.max() < best.error:
            best = best._replace(coef=coef, error=float(errors.max()))
        best = best._replace(bound=max(best.bound, bound))
        new = np.setdiff1d(np.argsort(-errors)[:200], rows)
        new = new[errors[new] > errors[rows].max()]
        if best.error <= best.bound * (1 + 1e-9) or len(new) == 0:
            break
        rows = np.concatenate([rows, new])
    if best.error > best.bound * (1 + 1e-5):
        warnings.warn(
            f"The best largest error lies between {best.bound:.6g} and {best.error:.6g}, the "
            "value used; the convex program stopped short of more.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return best


def _dual_bound(design: Floats, targets: Floats, weight: Floats) -> float:
    coef = least_squares(design, targets, weight)
    return float(np.sqrt(weight @ np.square(targets - design @ coef).sum(axis=1)))


def _minimax_program(design: Floats, targets: Floats, coef: Floats) -> tuple[Floats, float]:
    """Primal-dual interior point method with Mehrotra's predictor and corrector.

    Gives the coefficients and a bound below the least largest error, by the weights of the rows.
    """
    scale = np.linalg.norm(targets - design @ coef, axis=1).max()
    targets, coef = targets / scale, coef / scale
    squared = np.square(targets - design @ coef).sum(axis=1)
    level = 1.5 * squared.max()
    slack = level - squared
    weight = 1 / slack / np.sum(1 / slack)
    best, error, bound = coef, np.inf, 0.0
    for _ in range(_MAX_ITER):
        residual = targets - design @ coef
        squared = np.square(residual).sum(axis=1)
        if squared.max() < error**2:
            best, error = coef, float(np.sqrt(squared.max()))
        bound = max(bound, _dual_bound(design, residual, weight / weight.sum()))
        # Beyond rounding the iteration only loses what it has found.
        if error <= bound * (1 + 1e-13) or weight @ slack <= 1e-17 * level:
            break
        step = _predict_and_correct(design, residual, squared - level + slack, slack, weight)
        if step is None:
            break
        length = min(1.0, 0.995 * _step_length(slack, step[2], weight, step[3]))
        coef, level = coef + length * step[0], level + length * step[1]
        slack, weight = slack + length * step[2], weight + length * step[3]
    return best * scale, bound * scale


_Step = tuple[Floats, float, Floats, Floats]


def _predict_and_correct(
    design: Floats, residual: Floats, violation: Floats, slack: Floats, weight: Floats
) -> _Step | None:
    """Step of coefficients, level, slacks and weights; None if it cannot be found any more."""
    solve = _newton_system(design, residual, slack, weight)
    if solve is None:
        return None
    complement = weight * slack
    d_coef, _, d_slack, d_weight = solve(violation, -complement)
    length = _step_length(slack, d_slack, weight, d_weight)
    ahead = (slack + length * d_slack) @ (weight + length * d_weight)
    target = (ahead / complement.sum()) ** 3 * complement.mean()
    # What the linear prediction missed: the squares of both kinds.
    return solve(
        violation + np.square(design @ d_coef).sum(axis=1),
        target - complement - d_slack * d_weight,
    )


def _step_length(slack: Floats, d_slack: Floats, weight: Floats, d_weight: Floats) -> float:
    """Largest step, at most 1, that keeps slacks and weights from turning negative."""
    ratio = max(np.max(-d_slack / slack), np.max(-d_weight / weight))
    return 1.0 if ratio <= 1 else 1 / ratio


def _newton_system(
    design: Floats, residual: Floats, slack: Floats, weight: Floats
) -> Callable[[Floats, Floats], _Step] | None:
    """Solver of the linearised optimality conditions, which is factored once for two uses."""
    n_rows, n_coef = design.shape
    n_targets = residual.shape[1]
    # Gradients of the constraints |r_i|^2 - t with respect to the coefficients and to t.
    gradient = -2 * (design[:, :, None] * residual[:, None, :]).reshape(n_rows, -1)
    gradient = np.hstack([gradient, np.full((n_rows, 1), -1.0)])
    hessian = (gradient * (weight / slack)[:, None]).T @ gradient
    curvature = (design * weight[:, None]).T @ design
    hessian[:-1, :-1] += 2 * np.kron(curvature, np.eye(n_targets))
    lagrangian = weight @ gradient
    lagrangian[-1] += 1.0
    try:
        factor = linalg.cho_factor(hessian)
    except linalg.LinAlgError:
        return None

    def solve(violation: Floats, complement: Floats) -> _Step:
        right = -lagrangian - ((complement + weight * violation) / slack) @ gradient
        step = linalg.cho_solve(factor, right)
        d_slack = -violation - gradient @ step
        d_weight = (complement - weight * d_slack) / slack
        return step[:-1].reshape(n_coef, n_targets), float(step[-1]), d_slack, d_weight

    return solve
