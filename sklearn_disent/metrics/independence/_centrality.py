"""ModelCentrality: how far a model's codes can take the place of other models' codes."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..._params import AtLeastTwo, PositiveInt, RandomStateLike, validated
from .._validation import collecting_warnings
from ..information._matrix import bin_codes
from ..intervention import factor_vae_score
from ._udr import Arrays, models_of

__all__ = ["model_centrality_score"]


@validated
def model_centrality_score(
    codes: Arrays,
    *,
    n_bins: AtLeastTwo = 10,
    n_train: PositiveInt = 2000,
    n_eval: PositiveInt = 1000,
    batch_size: AtLeastTwo = 64,
    random_state: RandomStateLike = None,
) -> NDArray[np.float64]:
    r"""ModelCentrality: how well do a model's codes do as the factors of other models?

    The codes of each model in turn are taken for the factors, and the others are scored by their
    FactorVAE score. The score of a model is its mean agreement with the others, both ways. Between
    0 and 1, higher is better: models that disentangle agree, and are central.

    .. math:: s_x = \frac{1}{M - 1} \sum_{y \ne x} \frac{F(x, y) + F(y, x)}{2}

    where :math:`F(x, y)` is the FactorVAE score of the codes of x, with those of y as factors.

    Parameters
    ----------
    codes : list of array-like of shape (n_samples, n_codes)
        One representation of the same samples per model, two or more; the number of codes may
        differ.
    n_bins : int, default=10
        Number of bins of equal count that make a code a factor.
    n_train : int, default=2000
        Number of votes that assign codes to factors.
    n_eval : int, default=1000
        Number of votes that are judged.
    batch_size : int, default=64
        Rows behind every vote.
    random_state : int, RandomState instance or None, default=None
        The draws.

    Returns
    -------
    scores : ndarray of shape (n_models,)
        One score per model, to rank models by. A model without a code that varies scores 0, with a
        warning.

    See Also
    --------
    udr_score : The same question, by lasso weights or rank correlations.

    Notes
    -----
    The published code generates samples while one latent of a model is held fixed; here the given
    samples take the place of the generator, so any encoder can be scored. A model with a single
    code that varies has agreement 1 as factors, since there is nothing to confuse.

    References
    ----------
    Lin, Thekumparampil, Fanti and Oh (2020). InfoGAN-CR and ModelCentrality: Self-supervised model
    training and selection for disentangling GANs. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import model_centrality_score
    >>> codes = np.random.default_rng(0).normal(size=(1000, 2))
    >>> mixed = codes @ [[1.0, 1.0], [1.0, -1.0]]
    >>> scores = model_centrality_score([codes, -codes[:, ::-1], codes * 3, mixed], random_state=0)
    >>> int(scores.argmin())
    3
    """
    models = [model.codes for model in models_of(codes)]
    rng = check_random_state(random_state)
    draws = {"n_train": n_train, "n_eval": n_eval, "batch_size": batch_size}
    agreement = np.zeros((len(models), len(models)))
    for j, other in enumerate(models):
        factors = bin_codes(other, n_bins, "quantile")
        for i, model in enumerate(models):
            if i != j and model.shape[1] and factors.shape[1]:
                agreement[i, j] = _factor_vae(factors, model, draws, rng)
    both = (agreement + agreement.T) / 2
    return both.sum(axis=1) / (len(models) - 1)


def _factor_vae(
    factors: NDArray[np.int64], codes: NDArray, draws: dict[str, Any], rng: RandomState
) -> float:
    # What warns about factors would be about codes here: the Notes say it.
    with collecting_warnings():
        return factor_vae_score(factors, codes, random_state=rng, **draws)
