"""Unsupervised disentanglement ranking: how far several models agree."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.linear_model import Lasso

from ..._arrays import as_numbers
from ..._params import NonNegativeFloat, PositiveFloat, validated
from .._numeric import standardize
from .._validation import complete_codes, live_codes, warn_degenerate

__all__ = ["udr_score"]

# One array per model.
Arrays = Annotated[Sequence[ArrayLike], list, tuple, np.ndarray]


@validated
def udr_score(
    codes: Arrays,
    *,
    kind: Literal["lasso", "spearman"] = "lasso",
    alpha: PositiveFloat = 0.1,
    kl: Arrays | None = None,
    kl_threshold: NonNegativeFloat = 0.01,
) -> NDArray[np.float64]:
    r"""Unsupervised disentanglement ranking: how far does each model agree with the others?

    Several models of the same samples are compared pair by pair: R holds how strongly every code
    of one model is related to every code of the other, and two models agree when each code has
    one strong partner. The score of a model is its median agreement with the others. Between 0
    and 1, higher is better: models that disentangle agree up to the order and sign of their
    codes, other models do not.

    .. math:: \mathrm{UDR}_{xy} = \frac{1}{2} \Bigl(
        \frac{1}{D_y} \sum_j \frac{\max_i R_{ij}^2}{\sum_i R_{ij}} +
        \frac{1}{D_x} \sum_i \frac{\max_j R_{ij}^2}{\sum_j R_{ij}}\Bigr)

    Parameters
    ----------
    codes : list of array-like of shape (n_samples, n_codes)
        One representation of the same samples per model, two or more; the number of codes may
        differ.
    kind : {"lasso", "spearman"}, default="lasso"
        Absolute weights of a lasso from the standardized codes of one model to those of the
        other, or absolute rank correlations.
    alpha : float, default=0.1
        Penalty of the lasso.
    kl : list of array-like of shape (n_codes,), default=None
        Mean Kullback-Leibler divergence of every code from its prior, per model. With it only the
        informative codes count, those above `kl_threshold`; without it all codes that vary.
    kl_threshold : float, default=0.01
        Divergence above which a code is informative, in nats.

    Returns
    -------
    scores : ndarray of shape (n_models,)
        One score per model, to rank models by. A model without informative codes scores 0, with
        a warning.

    See Also
    --------
    code_mutual_info_error : A score of one model alone.

    Notes
    -----
    A lasso shrinks its weights by `alpha`: two models with equal codes agree by 1 - alpha = 0.9,
    not 1. It is not symmetric; as published, a model is scored as the target of the others. The
    score is not defined for one model alone: choose other models of the same kind that differ in
    `random_state`. Constant codes are left out, also where other implementations get nan from
    their rank correlations.

    References
    ----------
    Duan, Matthey, Saraiva, Watters, Burgess, Lerchner and Higgins (2020). Unsupervised model
    selection for variational disentangled representation learning. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import udr_score
    >>> codes = np.random.default_rng(0).normal(size=(1000, 2))
    >>> rotated = codes @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> udr_score([codes, -codes[:, ::-1], codes * 3, rotated]).round(1)
    array([0.9, 0.9, 0.9, 0.4])
    """
    models = models_of(codes, kl, kl_threshold)
    agreement = np.zeros((len(models), len(models)))
    for i, source in enumerate(models):
        for j, target in enumerate(models):
            if i != j:
                strength = _STRENGTHS[kind](source.codes, target.codes, alpha)
                agreement[i, j] = _agreement(strength[source.informative][:, target.informative])
    others = ~np.eye(len(models), dtype=bool)
    return np.array([np.median(agreement[others[:, j], j]) for j in range(len(models))])


class Model(NamedTuple):
    codes: NDArray[np.float64]
    """Codes that vary, standardized."""
    informative: NDArray[np.bool_]


def models_of(
    codes: Sequence[ArrayLike], kl: Sequence[ArrayLike] | None = None, kl_threshold: float = 0.0
) -> list[Model]:
    """Codes of each model, checked; a warning for a model of which none is informative."""
    codes = [as_numbers(model, f"codes[{m}]") for m, model in enumerate(codes)]
    if len(codes) < 2 or any(np.ndim(model) != 2 for model in codes):
        raise ValueError(
            "codes must be a list of two or more 2D arrays, one per model, got "
            f"{len(codes)} of {sorted({np.ndim(model) for model in codes})} dimensions."
        )
    arrays = [complete_codes(model, "raise") for model in codes]
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(
            "All models must encode the same samples in the same order, got "
            f"{[len(array) for array in arrays]} rows."
        )
    if kl is not None and [np.shape(k) for k in kl] != [array.shape[1:] for array in arrays]:
        raise ValueError(
            "kl must hold one value per code of every model, shapes "
            f"{[array.shape[1:] for array in arrays]}, got {[np.shape(k) for k in kl]}."
        )
    models = []
    for m, array in enumerate(arrays):
        live = live_codes(array, warn=False)
        informative = np.ones(live.sum(), dtype=bool)
        if kl is not None:
            informative = np.asarray(kl[m], dtype=float)[live] > kl_threshold
        if not informative.any():
            warn_degenerate(f"Model {m} has no informative code: it agrees with no other.")
        models.append(Model(standardize(array[:, live]), informative))
    return models


def _lasso_strength(source: NDArray, target: NDArray, alpha: float) -> NDArray[np.float64]:
    if 0 in (source.shape[1], target.shape[1]):
        return np.zeros((source.shape[1], target.shape[1]))
    coef = Lasso(alpha=alpha).fit(source, target).coef_
    return np.abs(np.reshape(coef, (target.shape[1], source.shape[1]))).T


def _spearman_strength(source: NDArray, target: NDArray, alpha: float) -> NDArray[np.float64]:
    one, two = (standardize(rankdata(codes, axis=0)) for codes in (source, target))
    return np.abs(one.T @ two) / len(one)


_STRENGTHS = {"lasso": _lasso_strength, "spearman": _spearman_strength}


def _agreement(strength: NDArray[np.float64]) -> float:
    """From the strengths (D_x, D_y) of two models' informative codes, 0 if there are none."""
    if strength.size == 0:
        return 0.0
    best = []
    for axis in (0, 1):
        total, largest = strength.sum(axis=axis), strength.max(axis=axis)
        share = np.divide(largest, total, out=np.zeros_like(total), where=total > 0)
        best.append(float(np.mean(share * largest)))
    return sum(best) / 2
