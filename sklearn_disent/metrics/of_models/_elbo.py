"""The evidence lower bound of a fitted model, and its terms."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._params import Array, AtLeastTwo, PositiveInt, RandomStateLike, check_options, validated
from .._estimators import posterior_of, unwrap_estimator
from .._numeric import gaussian_kl
from ..information._mixtures import kl_terms_exact, kl_terms_mss, resolved_std

__all__ = ["ELBODecomposition", "elbo_decomposition", "elbo_score"]


class ELBODecomposition(NamedTuple):
    """Terms of the evidence lower bound, means over a data set in nats."""

    reconstruction: float
    """-E_q log p(x|z)."""
    index_code_mi: float
    """I(z; n) of code and sample."""
    total_correlation: float
    """KL(q(z), prod_j q(z_j))."""
    dimension_wise_kl: float
    """sum_j KL(q(z_j), p(z_j))."""

    @property
    def kl(self) -> float:
        """E_n KL(q(z|n), p(z)): the sum of the last three."""
        return self.index_code_mi + self.total_correlation + self.dimension_wise_kl

    @property
    def elbo(self) -> float:
        """The bound itself; higher is better."""
        return -self.reconstruction - self.kl


@validated
def elbo_decomposition(
    estimator: Any,
    X: ArrayLike,
    *,
    method: Literal["exact", "mss"] = "exact",
    n_samples: PositiveInt = 10_000,
    batch_size: AtLeastTwo = 64,
    random_state: RandomStateLike = None,
) -> ELBODecomposition:
    r"""Terms of the evidence lower bound over a whole data set.

    The mean KL divergence is the information that codes have about the samples, plus the
    dependence between the codes, plus the divergence of each code from its prior; with
    :math:`q(z) = \frac1N \sum_n q(z|n)`,

    .. math::
        \mathrm{E}_n KL(q(z|n), p(z)) = I_q(z; n) + KL\Big(q(z), \prod_j q(z_j)\Big)
        + \sum_j KL(q(z_j), p(z_j))

    All are at least 0. A disentangling model has a small second term, the total correlation.

    Parameters
    ----------
    estimator : fitted model
        With ``posterior(X)`` and ``elbo_terms(X)``, as all VAEs here have; a Pipeline that ends in
        one, or a search over either.
    X : array-like
        Observations; N of them.
    method : {"exact", "mss"}, default="exact"
        "exact" computes q(z) from all N posteriors, in chunks. "mss" estimates it from batches, by
        minibatch stratified sampling: this is what a training log can show, and it is biased.
    n_samples : int, default=10_000
        Draws that "exact" averages log q(z) over, each at the cost of N densities.
    batch_size : int, default=64
        Rows per batch of "mss".
    random_state : int, RandomState instance or None, default=None
        Determines the draws.

    Returns
    -------
    terms : ELBODecomposition
        Named tuple (reconstruction, index_code_mi, total_correlation, dimension_wise_kl) of floats
        in nats per observation; its properties ``kl`` and ``elbo`` are their sums.

    See Also
    --------
    elbo_score : The bound alone.
    gaussian_total_correlation_error : Total correlation of points as if they were Gaussian.

    Notes
    -----
    With "exact", only E log q(z) is an average over draws. The dimension-wise KL follows from the
    entropies of the single codes, computed on a grid; the total correlation follows from these and
    the mutual information, so that the errors of the two are opposite, and a value near 0 may come
    out negative. The mutual information is at most log N, and close to that whenever samples do not
    overlap. Posteriors narrower than 1e-5 of the range of their code are widened to that, with a
    warning. The terms of "mss" sum to a Monte Carlo estimate of the KL, from one draw per sample.
    The prior must have independent components; it need not be normal.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Hoffman and Johnson (2016). ELBO surgery: yet another way to carve up the variational evidence
    lower bound. NeurIPS workshop.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import elbo_decomposition
    >>> from sklearn_disent.models import BetaVAE
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> vae = BetaVAE(2, max_epochs=2, random_state=0).fit(X)
    >>> terms = elbo_decomposition(vae, X, random_state=0)
    >>> abs(terms.elbo - vae.score(X)) < 1e-2
    True
    """
    estimator, X = unwrap_estimator(estimator, X)
    mean, log_variance = posterior_of(estimator, X)
    if not hasattr(estimator, "elbo_terms"):
        raise TypeError(
            f"{type(estimator).__name__} has no elbo_terms(X) that gives log-likelihoods and KL "
            "divergences of observations. Pass a fitted VAE, or a Pipeline that ends in one."
        )
    if method == "mss" and len(mean) < 2:
        raise ValueError("method='mss' needs at least 2 observations, got 1. Use method='exact'.")
    log_likelihood, kl = (_finite(part, estimator) for part in estimator.elbo_terms(X))
    std, rng = resolved_std(mean, log_variance), check_random_state(random_state)
    if method == "exact":
        terms = kl_terms_exact(mean, std, n_samples, rng)
    else:
        terms = kl_terms_mss(mean, std, batch_size, rng)
    # A prior other than N(0, I) concerns the last term alone.
    beyond = kl - gaussian_kl(mean, log_variance).sum(axis=1)
    return ELBODecomposition(
        -float(np.mean(log_likelihood, dtype=np.float64)),
        *terms[:2],
        terms[2] + float(np.mean(beyond, dtype=np.float64)),
    )


@validated
def elbo_score(
    estimator: Any,
    X: ArrayLike,
    y: Array | None = None,
    *,
    bound: Literal["elbo", "importance_weighted"] = "elbo",
    n_draws: PositiveInt | None = None,
    return_std: bool = False,
) -> Any:
    r"""Evidence lower bound of observations, their mean in nats; higher is better.

    .. math::
        \frac1N \sum_n \mathrm{E}_{q(z|n)} \log p(x_n|z) - KL(q(z|n), p(z))

    Parameters
    ----------
    estimator : fitted model
        With ``score_samples(X)``; a Pipeline that ends in one, or a search over either.
    X : array-like
        Observations.
    y : None, default=None
        Not used.
    bound : {"elbo", "importance_weighted"}, default="elbo"
        "importance_weighted" is nearer to the log-likelihood:
        :math:`\log \frac1K \sum_k p(x|z_k) p(z_k) / q(z_k|x)` with K draws.
    n_draws : int or None, default=None
        Draws from q(z|x) per observation; None takes the model's own number, 8 for "elbo" and 64
        for "importance_weighted". Models whose likelihood is exact have none.
    return_std : bool, default=False
        Whether to return ``(elbo, std)``, where std is the standard error that the draws leave in
        the mean; for "elbo" only.

    Returns
    -------
    elbo : float, or tuple of two floats if `return_std`
        The mean of ``score_samples`` at the end of the Pipeline.

    See Also
    --------
    elbo_decomposition : The terms that add up to it.

    Notes
    -----
    Each observation has noise of its own, which is a function of its values: the score repeats
    exactly, does not depend on the order of rows or on the size of batches, and its error averages
    out over the rows. With 1,000 images of 32 x 32 pixels it was about 0.04 nats.

    Unlike the ``score`` method of a Pipeline, it also works where "passthrough" steps follow the
    model. For models with a tractable likelihood, such as PCA, it is the log-likelihood itself.
    Compare values only between models of the same data, in the same units.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import elbo_score
    >>> from sklearn_disent.models import BetaVAE
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> vae = BetaVAE(2, max_epochs=2, random_state=0).fit(X)
    >>> elbo_score(vae, X) == vae.score(X)
    True
    >>> elbo_score(vae, X, bound="importance_weighted") > elbo_score(vae, X)
    True
    """
    estimator, X = unwrap_estimator(estimator, X)
    if not hasattr(estimator, "score_samples"):
        raise TypeError(
            f"{type(estimator).__name__} has no score_samples(X) that bounds the likelihood. "
            "Pass a fitted VAE, or a Pipeline that ends in one."
        )
    options: dict[str, Any] = {} if n_draws is None else {"n_draws": n_draws}
    if bound == "importance_weighted":
        if not hasattr(estimator, "importance_weighted_bound") or return_std:
            raise ValueError(
                "bound='importance_weighted' needs a model with importance_weighted_bound(X), as "
                f"VAEs here have, and return_std=False; got {type(estimator).__name__} and "
                f"{return_std=}. Use bound='elbo'."
            )
        return _mean(estimator.importance_weighted_bound(X, **options), estimator)
    if return_std:
        options["return_std"] = True
    check_options(estimator.score_samples, options, without={"X"})
    values = estimator.score_samples(X, **options)
    if not return_std:
        return _mean(values, estimator)
    values, errors = values
    error = np.sqrt(np.square(errors, dtype=np.float64).sum()) / len(errors)
    return _mean(values, estimator), float(error)


def _mean(values: Any, estimator: Any) -> float:
    return float(np.mean(_finite(values, estimator), dtype=np.float64))


def _finite(values: Any, estimator: Any) -> NDArray:
    """Refuse bounds that are not finite: their mean would be nan, or say nothing."""
    values = np.asarray(values)
    n_wrong = int((~np.isfinite(values)).sum())
    if n_wrong:
        raise ValueError(
            f"{type(estimator).__name__} gives no finite bound for {n_wrong} of {len(values)} "
            "observations: they are far from all that it was trained on. Check the units of X."
        )
    return values
