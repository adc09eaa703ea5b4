"""Single-code classification and knockout: what one code can do, and what it does alone."""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from ..._params import (
    AtLeastTwo,
    Average,
    FactorBins,
    NanPolicy,
    OpenShare,
    Predictor,
    RandomStateLike,
    validated,
)
from .._aggregation import Score, average_of, match_one_to_one
from .._sharing import shared
from .._subsampling import few_rows
from .._validation import Checked, check_data, varied_factors, warn_if_constant
from ..information._matrix import entropy_of, sorted_quantiles
from ..prediction._predictors import (
    Split,
    Task,
    draw_seeds,
    fit_and_predict,
    refuse_kind,
    run,
    split_rows,
)
from ._network import QuickNetwork

__all__ = ["nk_score", "snc_score"]


@validated
def snc_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    adjusted: bool = False,
    factor_bins: FactorBins | None = None,
    average: Average | None = "macro",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> Score:
    r"""Single-code classification: do intervals of one code, its own, tell the classes apart?

    Each factor is matched with a code of its own. That code is cut into as many bins as the factor
    has classes, and each bin stands for one class. Accuracy on held-out rows; between 0 and 1,
    higher is better: 1 when every factor can be read off its code bin by bin. Codes independent of
    the factors reach the accuracy of guessing.

    .. math:: \mathrm{SNC} = \frac1K \sum_k P\bigl(\sigma_k(b_k(z_{\pi(k)})) = y_k\bigr)

    where :math:`b_k` is the bin of the code, and :math:`\sigma_k` the one-to-one map of bins to
    classes with the most agreement in the training rows.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    adjusted : bool, default=False
        Whether to rescale, so that always guessing the most frequent class gives 0 and a perfect
        score stays 1; less than guessing counts as 0.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        The split.

    Returns
    -------
    snc : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    nk_score : What is lost without that code.
    downstream_accuracy_score : Any predictor from the best code, which may be that of several
        factors.

    Notes
    -----
    Codes are matched such that the information of the binned codes about their factors is largest
    in sum. Bins have equal counts, as in the authors' code; but where a code has no more distinct
    values than the factor has classes, each value is a bin, since bins of equal count would cut
    through classes of unequal size. A factor without a code, with fewer codes than factors, gets
    the accuracy of guessing. Factors with a single value are left out, with a warning (nan if
    `average` is None).

    References
    ----------
    Mahon, Shah and Lukasiewicz (2024). Correcting flaws in common disentanglement metrics.
    arXiv:2304.02335.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import snc_score
    >>> factors = np.random.default_rng(0).integers(4, size=(1000, 2))
    >>> snc_score(factors, factors[:, ::-1] * -1.0, random_state=0)
    1.0
    >>> snc_score(factors, factors @ [[1.0, 1.0], [1.0, -1.0]], random_state=0) < 0.6
    True
    """
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "they tell no classes apart")
    used = varied_factors(data.factors)
    rng = check_random_state(random_state)
    train, test, matched = _split_and_match(data, split, test_size, rng)
    values = np.zeros(len(used))
    for k in np.flatnonzero(used):
        accuracy = _bin_accuracy(data, int(k), matched.code[k], train, test)
        guessing = _guessing(data.factors[:, k], train, test)
        values[k] = _above(accuracy, guessing) if adjusted else accuracy
    return average_of(values, used, average)


@validated
def nk_score(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    estimator: Predictor | None = None,
    test_size: OpenShare = 0.25,
    split: Split | None = None,
    factor_bins: FactorBins | None = None,
    average: Average | None = "macro",
    max_samples: AtLeastTwo | None = 10_000,
    nan_policy: NanPolicy = "raise",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Score:
    r"""Knockout: how much accuracy is lost when the code of a factor is taken away?

    Each factor is matched with a code of its own, as in :func:`snc_score`, and predicted from all
    codes and from all but this one. Between -1 and 1, higher is better: codes that share the
    information about a factor replace each other, and score 0. The best value is one minus the
    accuracy of guessing, not 1.

    .. math:: \mathrm{NK} = \frac1K \sum_k a_k(z) - a_k(z_{-\pi(k)})

    where :math:`a_k` is the accuracy of predicting factor k on held-out rows.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    estimator : classifier or None, default=None
        Predictor of one factor. None means a network with one hidden layer of 256 units on
        standardized codes, trained for a few epochs by steps that become smaller.
    test_size : float, default=0.25
        Share of the rows held out at random.
    split : tuple (train, test) of array-likes or None, default=None
        Row indices (or masks) to fit and to score on, instead of a random split.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    average : {"macro"} or None, default="macro"
        The mean over factors, or one value per factor.
    max_samples : int or None, default=10_000
        Rows drawn at random if there are more; None takes all of them. A given `split` is
        taken as it is.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    n_jobs : int or None, default=None
        Fits at once, in threads. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The split, and the estimator where its own `random_state` is None.

    Returns
    -------
    nk : float, or ndarray of shape (n_factors,) if `average` is None
        The score.

    See Also
    --------
    snc_score : What that code can do by itself.
    mig_score : The gap to the second best code, in information.

    Notes
    -----
    Two networks are trained for each factor, in about 1 s in all for 10,000 rows, 10 codes and 5
    factors. They see each row four times, or more often if there are few; steps that fall to zero
    make up for it: for mixed codes, for codes of one factor each and for copies of such codes the
    scores were 0.061, 0.680 and 0.010, those of ``MLPClassifier((256,))`` after 30 epochs of
    constant steps 0.059, 0.651 and 0.011. A factor without a code, with fewer codes than factors,
    scores 0, as does a matched constant.
    Without any other code the prediction is the most frequent class. Factors with a single value
    are left out, with a warning (nan if `average` is None).

    References
    ----------
    Mahon, Shah and Lukasiewicz (2024). Correcting flaws in common disentanglement metrics.
    arXiv:2304.02335.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_disent.metrics import nk_score
    >>> factors = np.random.default_rng(0).integers(4, size=(400, 2))
    >>> tree = DecisionTreeClassifier(max_depth=5)
    >>> nk_score(factors, factors * 1.0, estimator=tree, random_state=0) > 0.6
    True
    >>> nk_score(factors, factors[:, [0, 0, 1, 1]] * 1.0, estimator=tree, random_state=0)
    0.0
    """
    factors, codes = few_rows((factors, codes), max_samples, random_state, split)
    data = check_data(factors, codes, factor_bins, nan_policy)
    warn_if_constant(data.codes, "there is nothing to lose")
    used = varied_factors(data.factors)
    rng = check_random_state(random_state)
    train, test, matched = _split_and_match(data, split, test_size, rng)
    seeds = draw_seeds(rng, len(used), 2)
    # A matched constant is not there: taking it away changes nothing but the random weights.
    fitted = np.flatnonzero(used & (matched.code >= 0) & (matched.information > 0))
    refuse_kind(estimator, "regressor")
    model = QuickNetwork() if estimator is None else estimator
    everything = np.arange(data.codes.shape[1])
    tasks = [
        Task(model, data.codes[:, kept], data.factors[:, k], train, test, seed)
        for k in fitted.tolist()
        for kept, seed in zip((everything, everything != matched.code[k]), seeds[k])
    ]
    accuracy = np.reshape(run([(_held_out_accuracy, task) for task in tasks], n_jobs), (-1, 2))
    values = np.zeros(len(used))
    values[fitted] = accuracy[:, 0] - accuracy[:, 1]
    return average_of(values, used, average)


class _Matching(NamedTuple):
    code: NDArray[np.int64]
    """(n_factors,), -1 for none."""
    information: NDArray[np.float64]
    """(n_factors,), of that code about the factor; 0 for none."""


@shared
def _information(data: Checked, train: NDArray[np.int64]) -> NDArray[np.float64]:
    """Information (n_factors, n_codes) of codes cut into as many bins as the factor has classes."""
    matrix = np.zeros((data.factors.shape[1], data.codes.shape[1]))
    columns, in_order = np.ascontiguousarray(data.codes[train].T), _sorted_codes(data, train)
    binned: dict[int, list[NDArray[np.int64]]] = {}
    for k, y in enumerate(data.factors[train].T):
        n_classes = int(data.factors[:, k].max()) + 1
        if n_classes < 2:
            continue
        if n_classes not in binned:
            binned[n_classes] = [_bin(*code, n_classes) for code in zip(columns, in_order)]
        for j, z in enumerate(binned[n_classes]):
            parts = (np.bincount(y), np.bincount(z), np.bincount(y * n_classes + z))
            h_factor, h_code, joint = map(entropy_of, parts)
            matrix[k, j] = max(h_factor + h_code - joint, 0.0)
    return matrix


def _split_and_match(
    data: Checked, split: Split | None, test_size: float, rng: RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64], _Matching]:
    """Rows to match on, rows to score on, and the match."""
    train, test = split_rows(data, split, test_size, rng)
    matrix = _information(data, train)
    code = match_one_to_one(matrix)
    information = np.where(code < 0, 0.0, matrix[np.arange(len(code)), code])
    return train, test, _Matching(code, information)


@shared
def _sorted_codes(data: Checked, train: NDArray[np.int64]) -> NDArray[np.float64]:
    """Training rows of every code (n_codes, n_train), from small to large."""
    return np.sort(data.codes[train].T, axis=1)


def _bin(
    code: NDArray[np.float64], train: NDArray[np.float64], n_classes: int
) -> NDArray[np.int64]:
    """Bins 0..n_classes-1 of a code, with edges from its sorted training rows."""
    is_new = train[1:] != train[:-1]
    if is_new.sum() < n_classes:
        values = train[np.append(True, is_new)]
        return np.searchsorted((values[1:] + values[:-1]) / 2, code, side="left")
    return np.searchsorted(sorted_quantiles(train, n_classes), code, side="left")


def _bin_accuracy(
    data: Checked, k: int, code: int, train: NDArray[np.int64], test: NDArray[np.int64]
) -> float:
    y = data.factors[:, k]
    if code < 0:
        return _guessing(y, train, test)
    n_classes = int(y.max()) + 1
    z = data.codes[:, code]
    binned = _bin(z, np.sort(z[train]), n_classes)
    table = np.bincount(binned[train] * n_classes + y[train], minlength=n_classes**2)
    class_of_bin = linear_sum_assignment(-table.reshape(n_classes, n_classes))[1]
    return float(np.mean(class_of_bin[binned[test]] == y[test]))


def _guessing(y: NDArray[np.int64], train: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Held-out accuracy of the class that is most frequent in the training rows."""
    return float(np.mean(y[test] == np.bincount(y[train]).argmax()))


def _above(accuracy: float, guessing: float) -> float:
    return max((accuracy - guessing) / (1.0 - guessing), 0.0) if guessing < 1.0 else 0.0


def _held_out_accuracy(task: Task) -> float:
    if task.X.shape[1] == 0:
        return _guessing(task.y, task.train, task.test)
    return fit_and_predict(task)[1]
