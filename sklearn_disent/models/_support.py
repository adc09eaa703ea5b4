"""A model that asks for a factorised support instead of independence."""

from typing import Any

import torch
from torch import Tensor

from .._params import PositiveInt, Weight
from ._base import BaseVAE
from ._module import Terms, VAEOutput
from .terms import gaussian_kl, hausdorff_support


class HFSVAE(BaseVAE):
    """VAE whose codes should combine freely: every value of one latent with every value of another.

    The loss is ``-E_q log p(x|z) + beta KL(q(z|x), N(0, I))`` plus gamma times the squared
    Hausdorff distance between the posterior means of the batch and the product of their supports:
    ``sum_{i,j} max_{a,b} min_k [(mean_ai - mean_ki)^2 + (mean_bj - mean_kj)^2]`` over sampled
    pairs of latents. Unlike total correlation it is 0 for dependent factors too, as long as all
    combinations occur.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=1.0
        Weight of the KL divergence.
    gamma : float or schedule, default=1.0
        Weight of the Hausdorff distance.
    n_pairs : int, default=25
        Number of pairs of latents, drawn anew for every batch; all pairs where there are fewer.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    BetaTCVAE : Asks for independent codes.

    Notes
    -----
    The search for the rows a, b, k costs memory of order B^2 per pair of latents, not B^3, and is
    exact.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors via
    Hausdorff factorized support. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import HFSVAE
    >>> X = load_digits().images / 16.0
    >>> vae = HFSVAE(n_components=4, max_epochs=1, random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 1.0,
        gamma: Weight = 1.0,
        n_pairs: PositiveInt = 25,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.gamma = gamma
        self.n_pairs = n_pairs

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
            "hausdorff": (self.gamma, hausdorff_support(output.mean, self._pairs())),
        }

    def _pairs(self) -> Tensor:
        """Pairs of latents of this batch, without repeats."""
        pairs = torch.combinations(torch.arange(self.n_components_))
        order = torch.randperm(len(pairs), generator=self.generator, device=self.device)
        return pairs[order[: self.n_pairs].cpu()]
