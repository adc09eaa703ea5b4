"""Models that learn from pairs of observations which share some of their factors."""

from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from .._params import NonNegativeInt, PositiveInt, Weight
from ._base import BaseVAE
from ._data import check_units
from ._module import Terms, VAEOutput
from ._partners import DrawnPartners, read_partners
from .terms import KLParts, gaussian_kl

_MANY = 0.1  # share of rows without a partner, from which the user is told


class PairedVAE(BaseVAE):
    """What models of pairs share: partners that are given, or drawn from labels anew each epoch."""

    n_changed: int | None

    _own_metadata = ("X_pair",)
    _state_names = ("_n_rows",)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless pairs are given
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_pair: Any = None,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Train the module.

        Parameters
        ----------
        X : array-like of shape (n, features), (n, H, W), (n, C, H, W) or (n, H, W, C)
            Observations: NumPy array, memory map, torch tensor, DataFrame or nested list.
        y : array-like of shape (n,) or (n, n_factors) or None, default=None
            Labels, from which pairs are drawn if ``X_pair`` is None; rows with unknown labels
            (NaN, or -1 among integers) get no partner. Guidance and scoring callbacks may use them.
        X_pair : array-like of the shape of X, default=None
            Partner of each observation, which shares some factors with it.
        boxes, mask : array-like or None, default=None
            Regions of the images, for a guidance that reads them (:class:`Regions`).
        **metadata : dict
            What other guidance reads, one entry per observation.

        Returns
        -------
        self : object
        """
        metadata |= {"X_pair": X_pair, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not (self.warm_start and self.initialized_), **metadata)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        X_pair: Any = None,
        boxes: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Train for ``max_epochs`` further epochs.

        Parameters
        ----------
        X : array-like
            Observations, as in :meth:`fit`.
        y : array-like or None, default=None
            Labels, as in :meth:`fit`.
        classes : None, default=None
            Not used; skorch's callers pass it.
        X_pair : array-like or None, default=None
            Partners, as in :meth:`fit`.
        boxes, mask : array-like or None, default=None
            As in :meth:`fit`.
        **metadata : dict
            As in :meth:`fit`.

        Returns
        -------
        self : object
        """
        metadata |= {"X_pair": X_pair, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not self.initialized_, **metadata)

    def _read_extras(
        self, rows: NDArray, y: Any, metadata: dict[str, Any], *, reset: bool
    ) -> dict[str, Any]:
        extras = super()._read_extras(rows, y, metadata, reset=reset)
        self._n_rows = len(rows)
        X_pair = metadata["X_pair"]
        partners: NDArray | DrawnPartners
        if X_pair is not None:
            partners = read_partners(X_pair, rows)
            self._check_range(partners, self._layout, reset=reset)
            check_units(partners, self._units)
            self.n_unpaired_ = 0
        elif y is not None:
            partners = drawn = DrawnPartners(rows, y, self.n_changed)
            self.n_unpaired_ = drawn.n_unpaired
        else:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Pass y "
                "to draw pairs from, or the partners themselves as X_pair."
            )
        return {**extras, "partners": partners}

    def on_epoch_begin(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Draw new pairs, if they are drawn from labels; part of skorch's protocol."""
        super().on_epoch_begin(net, dataset_train=dataset_train, **kwargs)
        dataset = dataset_train
        while hasattr(dataset, "dataset"):  # a subset, where validation rows are held apart
            dataset = dataset.dataset
        partners = dataset.extras["partners"]
        if isinstance(partners, DrawnPartners):
            # Seeded by epoch, so that 2 + 2 warm epochs are the same as 4.
            partners.draw(np.random.default_rng([self._seed, len(self.history_), 2]))
            self.n_unpaired_ = partners.n_unpaired

    def _training_troubles(self) -> list[str]:
        troubles = super()._training_troubles()
        if self.n_unpaired_ > _MANY * self._n_rows:
            troubles.append(
                f"{self.n_unpaired_} of {self._n_rows} rows have no partner that shares the value "
                f"of a factor: {type(self).__name__} learnt from them as a BetaVAE does. Label "
                "more rows, bin factors with many values, or pass partners as X_pair."
            )
        return troubles

    def kl_parts(self, output: VAEOutput, estimator: Literal["mss", "mws"] = "mss") -> KLParts:
        # Of the first views alone: stratified weights are for rows of the data set, each once.
        return super().kl_parts(output.first(len(output.mean) // 2), estimator)


class AdaGVAE(PairedVAE):
    """VAE that learns from pairs: latents that seem shared take the average of two posteriors.

    The two observations of a pair differ in some factors; it is not known in which. Latents whose
    two posteriors are near each other are taken as shared: both views use the average posterior.
    The loss is half the sum over the two views of ``-E_q log p(x|z) + beta KL(q(z|x), N(0, I))``,
    per pair in nats. ``transform`` takes single observations.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=6.0
        Weight of the KL divergence.
    n_changed : int or None, default=None
        In how many factors pairs drawn from y may differ; None draws the number for each pair,
        from 1 to all factors but one. 0 draws pairs of equal labels, which differ in what y does
        not hold; it is what None means for a single factor. Not used with ``X_pair``.
    symmetric : bool, default=False
        Whether nearness is judged by the mean of both KL divergences instead of that of the
        first posterior from the second.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    Attributes
    ----------
    n_unpaired_ : int
        Rows that got no partner in the last epoch, and counted as in a BetaVAE.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    AdaMLVAE : Shared latents take the product of posteriors.

    Notes
    -----
    Let ``d_j = KL(q_1(z_j), q_2(z_j))``. Latent j is shared if d_j is below the mean of the
    largest and the smallest of them, in each pair anew. The shared posterior has the mean of the
    two means and of the two variances.

    Pairs drawn from y are drawn anew in every epoch, from the rows at hand: a partner has equal
    labels but in the factors that may change, and differs in one of them at least. Where no row
    matches, one factor more may change. With ``X_pair``, each observation has one partner; as fit
    metadata it is sliced with the rows by a search, and asked for by
    ``set_fit_request(X_pair=True)`` where metadata routing is on. Steps of a Pipeline before the
    model transform it too if the Pipeline has ``transform_input=["X_pair"]``.

    References
    ----------
    Locatello, Poole, Rätsch, Schölkopf, Bachem and Tschannen (2020). Weakly-supervised
    disentanglement without compromises. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import AdaGVAE
    >>> y = np.random.default_rng(0).integers(4, size=(300, 2))
    >>> X = np.eye(8)[y[:, 0]] + np.eye(8)[y[:, 1] + 4]
    >>> vae = AdaGVAE(n_components=2, max_epochs=1, random_state=0).fit(X, y)
    >>> vae.transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 6.0,
        n_changed: NonNegativeInt | None = None,
        symmetric: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.n_changed = n_changed
        self.symmetric = symmetric

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        both = torch.cat([x, self._to_tensor(extras["partners"], self._layout)])
        means, log_vars = (part.chunk(2) for part in self.module_.encode(both))
        mean, log_var = self._share(*zip(means, log_vars))
        z = mean + (0.5 * log_var).exp() * self.noise(len(both))
        return both, VAEOutput(mean, log_var, z, self.module_.decoder(z))

    def _share(
        self, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Posteriors (mean, log-variance) of both views, one after the other, after sharing."""
        with torch.no_grad():
            shared = shared_latents(*first, *second, symmetric=self.symmetric)
        mean, log_var = (
            torch.cat([torch.where(shared, average, part) for part in parts])
            for average, *parts in zip(self._average(*first, *second), first, second)
        )
        return mean, log_var

    @staticmethod
    def _average(
        mean: Tensor, log_var: Tensor, other_mean: Tensor, other_log_var: Tensor
    ) -> tuple[Tensor, Tensor]:
        variance = 0.5 * (log_var.exp() + other_log_var.exp())
        return 0.5 * (mean + other_mean), variance.log()

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }


class AdaMLVAE(AdaGVAE):
    """VAE that learns from pairs: latents that seem shared take the product of two posteriors.

    The same as :class:`AdaGVAE`, except for the posterior of shared latents, which is the product
    of the two, as in the multi-level VAE.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=6.0
        Weight of the KL divergence.
    n_changed : int or None, default=None
        In how many factors pairs drawn from y may differ, see :class:`AdaGVAE`.
    symmetric : bool, default=False
        Whether nearness is judged by both KL divergences, see :class:`AdaGVAE`.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    Attributes
    ----------
    n_unpaired_ : int
        Rows that got no partner in the last epoch, and counted as in a BetaVAE.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    AdaGVAE : Explains pairs.

    Notes
    -----
    The shared posterior has the harmonic mean of the variances, ``2 v_1 v_2 / (v_1 + v_2)``, and
    the mean of the means, each weighted by the inverse of its variance.

    References
    ----------
    Locatello, Poole, Rätsch, Schölkopf, Bachem and Tschannen (2020). Weakly-supervised
    disentanglement without compromises. ICML.

    Bouchacourt, Tomioka and Nowozin (2018). Multi-level variational autoencoder: Learning
    disentangled representations from grouped observations. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import AdaMLVAE
    >>> y = np.random.default_rng(0).integers(4, size=(300, 2))
    >>> X = np.eye(8)[y[:, 0]] + np.eye(8)[y[:, 1] + 4]
    >>> vae = AdaMLVAE(n_components=2, max_epochs=1, random_state=0).fit(X, y)
    >>> vae.transform(X).shape
    (300, 2)
    """

    @staticmethod
    def _average(
        mean: Tensor, log_var: Tensor, other_mean: Tensor, other_log_var: Tensor
    ) -> tuple[Tensor, Tensor]:
        precision, other_precision = (-log_var).exp(), (-other_log_var).exp()
        total = precision + other_precision
        weighted = (mean * precision + other_mean * other_precision) / total
        return weighted, torch.log(2 / total)


def shared_latents(
    mean: Tensor,
    log_var: Tensor,
    other_mean: Tensor,
    other_log_var: Tensor,
    *,
    symmetric: bool = False,
) -> Tensor:
    """Which latents (n, D) of a pair are shared: those whose divergence is below the midpoint."""
    divergence = gaussian_kl(mean, log_var, other_mean, other_log_var)
    if symmetric:
        backward = gaussian_kl(other_mean, other_log_var, mean, log_var)
        divergence = 0.5 * (divergence + backward)
    least, most = divergence.aminmax(dim=1, keepdim=True)
    return divergence < 0.5 * (least + most)
