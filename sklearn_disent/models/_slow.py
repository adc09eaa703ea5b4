"""A model of pairs in time: most latents stay, and a few of them move far."""

from typing import Any

import torch
from torch import Tensor

from .._params import NonNegativeInt, PositiveFloat, PositiveInt, Weight
from ._module import Terms, VAEOutput
from ._paired import PairedVAE
from .terms import gaussian_kl, laplace_transition_kl


class SlowVAE(PairedVAE):
    """VAE of pairs in time, whose latents take sparse steps: most stay, a few move far.

    A pair is an observation and the one before it. The codes of the earlier one have the prior
    N(0, I), those of the later one a Laplace density around them, ``prod_d rate / 2
    exp(-rate |z_d - z'_d|)``. The loss is half the sum over the pair of ``-E_q log p(x|z)``, plus
    ``beta / 2`` times the KL divergence of the earlier posterior from N(0, I), plus ``gamma / 2``
    times that of the later one from the Laplace density, per pair in nats. ``transform`` takes
    single observations.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=1.0
        Weight of the KL divergence of the earlier posterior.
    gamma : float or schedule, default=10.0
        Weight of the KL divergence of the later posterior.
    rate : float, default=6.0
        Rate of the Laplace density: the mean step of a latent is one over it.
    n_changed : int or None, default=None
        In how many factors pairs drawn from y may differ, see :class:`AdaGVAE`. Not used with
        ``X_pair``.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    Attributes
    ----------
    n_unpaired_ : int
        Rows that got no partner in the last epoch, and are their own.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    AdaGVAE : Pairs that share latents exactly.
    sklearn_disent.datasets.make_transitions : Pairs in time over any grid of factors.

    Notes
    -----
    ``X_pair`` holds the earlier observation of each pair. Without it, pairs are drawn from y, as in
    :class:`AdaGVAE`: they change few factors, but by steps of any size. The KL divergence from the
    Laplace density is the expectation over both posteriors, in closed form; the published code
    takes the mean of the earlier posterior for its draws, and every pair both ways. ``score`` is
    the ELBO of a single observation under the prior N(0, I).

    References
    ----------
    Klindt, Schott, Sharma, Ustyuzhaninov, Brendel, Bethge and Paiton (2021). Towards nonlinear
    disentanglement in natural data with temporal sparse coding. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import SlowVAE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> before = X + rng.laplace(scale=0.1, size=X.shape)
    >>> vae = SlowVAE(n_components=2, max_epochs=1, random_state=0).fit(X, X_pair=before)
    >>> vae.transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 1.0,
        gamma: Weight = 10.0,
        rate: PositiveFloat = 6.0,
        n_changed: NonNegativeInt | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.gamma = gamma
        self.rate = rate
        self.n_changed = n_changed

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        both = torch.cat([x, self._to_tensor(extras["partners"], self._layout)])
        return both, self.module_(both, self.noise(len(both)))

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        (mean, earlier_mean), (log_var, earlier_log_var) = (
            part.chunk(2) for part in (output.mean, output.log_var)
        )
        kl = gaussian_kl(earlier_mean, earlier_log_var)
        step = laplace_transition_kl(mean, log_var, earlier_mean, earlier_log_var, self.rate)
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, 0.5 * kl.sum(1).mean()),
            "transition": (self.gamma, 0.5 * step.sum(1).mean()),
        }
