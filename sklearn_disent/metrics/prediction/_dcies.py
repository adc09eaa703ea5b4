"""DCI-ES: how soon probes of growing capacity read off the factors, and from how many codes."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid
from scipy.linalg import solve
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils import check_random_state

from ..._memory import freed_memory_kept
from ..._params import (
    AtLeastTwo,
    Average,
    FactorBins,
    NanPolicy,
    OpenShare,
    RandomStateLike,
    validated,
)
from .._aggregation import Score, average_of
from .._factor_columns import as_columns, mean_by_factor
from .._numeric import standardize
from .._subsampling import few_rows
from .._threads import one_thread
from .._validation import Checked, check_data, varied_factors, warn_if_constant
from ._predictors import Split, as_target, draw_seeds, seeded, split_rows

__all__ = ["dcies_explicitness_score", "dcies_size_score"]

Floats = NDArray[np.float64]

# Of the ridge regressions.
_PENALTY = 1e-3


@validated
def dcies_explicitness_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    probe: Literal["fourier", "forest", "mlp"] = "fourier",
    max_capacity: AtLeastTwo = 512,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    average: Average | None = "macro",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""DCI-ES explicitness: does a small probe read off the factors as well as a large one?

    The factors are predicted by probes of growing capacity :math:`\kappa`. The area between the
    curve of their losses and its lowest point says how much capacity it takes to get there. Between
    -1 and 1, higher is better: 1 when the smallest probe does as well as any, 0 when the loss falls
    in a straight line, below when it falls late.

    .. math:: E = 1 - \frac{2 \int (\ell(\kappa) - \min \ell)\, d\kappa}
        {(\kappa_{\max} - \kappa_{\min})\, \ell_b}

    where :math:`\ell(\kappa)` is the least held-out loss up to capacity :math:`\kappa`, on a
    logarithmic scale, and :math:`\ell_b` the loss without codes.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors: classes, continuous values, or some of each.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    probe : {"fourier", "forest", "mlp"}, default="fourier"
        The probe and its capacity: ridge regression on the codes and on 1, 2, 4, ... random
        Fourier features of them; extra trees of 1, 2, 4, ... splits; a network with one hidden
        layer of 1, 2, 4, ... units.
    max_capacity : int, default=512
        The largest capacity.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The split and the probes.

    Returns
    -------
    explicitness : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    dcies_size_score : How many codes there are for the factors.
    dci_informativeness_score : How well a large probe does.
    infoe_score : How well a linear probe does.

    Notes
    -----
    Explicitness does not ask how well the best probe does: codes of pure noise, from which no
    probe learns anything, score 1. Read it beside informativeness.

    The loss is the mean squared error of standardized numbers, for unordered classes of their
    indicators; no probe counts as worse than the mean. The least possible loss is taken to be 0, as
    in the authors' code. The smallest Fourier probe is linear but for one feature, so that factors
    up to a linear map score 1. The features of a smaller Fourier probe are the first ones of a
    larger one: the curve falls by what is added, not by the luck of new features. Values of
    different probes cannot be compared. Factors with a single value are left out, with a warning
    (nan if `average` is None).

    References
    ----------
    Eastwood, Nicolicioiu, von Kügelgen, Kekić, Träuble, Dittadi and Schölkopf (2023). DCI-ES: An
    extended disentanglement framework with connections to identifiability. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dcies_explicitness_score
    >>> factors = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> round(dcies_explicitness_score(factors, factors @ [[1, 1], [1, -1]], random_state=0), 2)
    1.0
    >>> waves = np.hstack([np.sin(4 * factors), np.cos(4 * factors)])
    >>> dcies_explicitness_score(factors, waves, random_state=0) < 0.95
    True
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    data = check_data(factors, codes, nan_policy=nan_policy, continuous=True)
    warn_if_constant(data.codes, "no probe learns anything from them")
    used = varied_factors(data.factors)
    rng = check_random_state(random_state)
    parts = split_rows(data, split, test_size, rng)
    # 1, 2, 4, ... and the largest, which need not be a power of two.
    n_doublings = int(np.ceil(np.log2(max_capacity)))
    capacities = np.minimum(2 ** np.arange(n_doublings + 1), max_capacity)
    loss = _relative_loss(data, parts, capacities, probe, rng)
    return average_of(_explicitness(loss, np.log(capacities)), used, average)


@validated
def dcies_size_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
) -> float:
    r"""DCI-ES size: how small is the representation for the factors that it is to hold?

    The number of factors as a share of the number of codes. Between 0 and 1, higher is better.

    .. math:: S = \min(K / D, 1)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.

    Returns
    -------
    size : float
        The score.

    See Also
    --------
    dcies_explicitness_score : How soon growing probes read off the factors.

    Notes
    -----
    Codes count whether they vary or not, as published; factors with a single value do not, with a
    warning. Fewer codes than factors score 1: whether they suffice is for other scores to say.

    References
    ----------
    Eastwood, Nicolicioiu, von Kügelgen, Kekić, Träuble, Dittadi and Schölkopf (2023). DCI-ES: An
    extended disentanglement framework with connections to identifiability. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import dcies_size_score
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> dcies_size_score(factors, factors[:, [0, 0, 1, 1]])
    0.5
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "their number says nothing")
    used = varied_factors(data.factors)
    if not used.any():
        return float(average_of(np.zeros(len(used)), used, "macro"))
    return float(min(used.sum() / data.codes.shape[1], 1.0))


def _explicitness(loss: NDArray[np.float64], capacity: NDArray) -> NDArray[np.float64]:
    """From losses relative to that without codes (n_capacities, n_factors)."""
    least = np.minimum.accumulate(np.clip(loss, 0.0, 1.0), axis=0)
    area = trapezoid(least - least[-1], capacity, axis=0)
    return 1.0 - 2.0 * area / (capacity[-1] - capacity[0])


def _relative_loss(
    data: Checked,
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    capacities: NDArray[np.int64],
    probe: str,
    rng: RandomState,
) -> NDArray[np.float64]:
    """Held-out loss (n_capacities, n_factors) as a share of that of the training mean."""
    train, test = parts
    targets, X = as_columns(data), standardize(data.codes)
    Y, n_factors = targets.values, data.factors.shape[1]
    baseline = ((Y[test] - Y[train].mean(axis=0)) ** 2).mean(axis=0)
    probed = _fourier if probe == "fourier" else partial(_one_by_one, _PROBES[probe])
    with freed_memory_kept(), one_thread(), warnings.catch_warnings():
        # A network that has not converged after its time is what it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        predictions = probed(X[train], Y[train], X[test], capacities.tolist(), rng)
        errors = [((Y[test] - predicted) ** 2).mean(axis=0) for predicted in predictions]
    loss = np.array(errors) / np.where(baseline > 0, baseline, 1.0)
    return mean_by_factor(loss, targets.factor, n_factors)


def _one_by_one(
    probe_of: Callable[[int], BaseEstimator],
    X: Floats,
    Y: Floats,
    new: Floats,
    capacities: list[int],
    rng: RandomState,
) -> Iterator[Floats]:
    """Predictions of new rows by a probe of each capacity."""
    for capacity, seed in zip(capacities, draw_seeds(rng, len(capacities))):
        probe = seeded(probe_of(capacity), seed).fit(X, as_target(Y))
        yield np.reshape(probe.predict(new), (len(new), Y.shape[1]))


def _fourier(
    X: Floats, Y: Floats, new: Floats, capacities: list[int], rng: RandomState
) -> Iterator[Floats]:
    """The same by ridge regressions on the columns and on the first ones of the same waves.

    Those of scikit-learn's RBFSampler and Ridge, by one matrix of products for all capacities; a
    test compares.
    """
    n_codes, n_waves = X.shape[1], capacities[-1]
    frequency = np.sqrt(2.0 / n_codes) * rng.normal(size=(n_codes, n_waves))
    phase = rng.uniform(0, 2 * np.pi, n_waves)

    def features(Z: Floats) -> Floats:
        # Single precision is several times faster, and enough for a cosine.
        return np.hstack([Z, np.cos((Z @ frequency + phase).astype(np.float32))])

    own, middle = features(X), Y.mean(axis=0)
    center = own.mean(axis=0)
    own -= center
    gram, cross, others = own.T @ own, own.T @ (Y - middle), features(new) - center
    for capacity in capacities:
        n = n_codes + capacity
        # A wave of height sqrt(2 / capacity), as sampled, with a penalty like that of a column.
        penalty = _PENALTY * np.append(np.ones(n_codes), np.full(capacity, capacity / 2))
        system = gram[:n, :n] + np.diag(penalty)
        yield others[:, :n] @ solve(system, cross[:n], assume_a="pos") + middle


def _forest(capacity: int) -> BaseEstimator:
    return ExtraTreesRegressor(50, max_features=None, max_leaf_nodes=capacity + 1)


def _mlp(capacity: int) -> BaseEstimator:
    return MLPRegressor(
        hidden_layer_sizes=(capacity,), learning_rate_init=0.01, max_iter=50, tol=1e-3
    )


_PROBES = {"forest": _forest, "mlp": _mlp}
