"""Models that penalise the total correlation of the codes."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._params import PositiveInt, Rate, Weight
from ..networks import Discriminator, FactorizedFlow
from ._adversarial import AdversarialMixin
from ._base import BaseVAE
from ._bounds import expected_log_prior
from ._module import Terms, VAEOutput
from .terms import density_ratio_tc, gaussian_entropy, gaussian_kl, permute_dims


class BetaTCVAE(BaseVAE):
    """VAE with one weight for each part of the KL divergence: beta weighs the total correlation.

    The loss is ``-E_q log p(x|z) + alpha I(x; z) + beta KL(q(z), prod_d q(z_d)) + gamma sum_d
    KL(q(z_d), p(z_d))``, per observation in nats; the three parts are estimated from each batch.
    With alpha = beta = gamma = 1 it is the VAE in expectation.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    alpha : float or schedule, default=1.0
        Weight of the index-code mutual information.
    beta : float or schedule, default=6.0
        Weight of the total correlation.
    gamma : float or schedule, default=1.0
        Weight of the dimension-wise KL divergence.
    estimator : {"mss", "mws"}, default="mss"
        How q(z) is estimated from a batch: minibatch stratified sampling, or minibatch weighted
        sampling as in the paper's experiments.
    prior : {"normal", "factorized_flow"}, default="normal"
        p(z): N(0, I), or one planar flow per latent (:class:`FactorizedFlow`) that is trained with
        the rest and also shapes ``sample`` and ``score``.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; ``prior__n_layers`` is the depth of the
        flow.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    FactorVAE : Estimates the total correlation with a discriminator.

    Notes
    -----
    ``history_`` holds ``train_index_code_mi``, ``train_total_correlation`` and
    ``train_dimension_wise_kl`` by stratified sampling whatever the estimator: the weighted
    estimates are off by constants, tens of nats, and stand beside them with the suffix ``_mws``.

    The KL divergence from a flow has no closed form: ``score``, ``score_samples`` and
    ``elbo_terms`` compute it by quadrature of 64 points per latent, to about 1e-4 nats for flows
    that were trained. Where the density of a flow has steps much narrower than q(z|x), as one with
    random weights may have, it was off by tenths.

    The stratified weights lie on the diagonal of the matrix and beside it; several public
    versions fill its first two columns instead and report twice the total correlation.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BetaTCVAE
    >>> X = load_digits().images / 16.0
    >>> vae = BetaTCVAE(n_components=4, max_epochs=1, random_state=0).fit(X)
    >>> vae.transform(X).shape
    (1797, 4)
    """

    _prefixes = ("prior", *BaseVAE._prefixes)

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        alpha: Weight = 1.0,
        beta: Weight = 6.0,
        gamma: Weight = 1.0,
        estimator: Literal["mss", "mws"] = "mss",
        prior: Literal["normal", "factorized_flow"] = "normal",
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.estimator = estimator
        self.prior = prior

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        parts = self.kl_parts(output, self.estimator)._asdict()
        if self.estimator == "mws":
            parts = {f"{name}_mws": value for name, value in parts.items()}
        terms: Terms = {"reconstruction": (1.0, self.reconstruction(x, output.decoded).mean())}
        for (name, value), weight in zip(parts.items(), (self.alpha, self.beta, self.gamma)):
            terms[name] = (weight, value)
        with torch.no_grad():
            if self.estimator == "mws":
                logged = self.kl_parts(output)._asdict()
                terms.update((name, (None, value)) for name, value in logged.items())
            terms["kl"] = (None, self.kl_from_prior(output.mean, output.log_var).mean())
        return terms

    # -- the prior ---------------------------------------------------------------------------

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        module = super()._make_module(kwargs)
        if self.prior == "factorized_flow":
            module.prior = FactorizedFlow(self.n_components, **self.get_params_for("prior"))
        return module

    @property
    def _flow(self) -> FactorizedFlow | None:
        return getattr(self.module_, "prior", None)

    def log_prior(self, z: Tensor) -> Tensor:
        """Log-density of the prior, that of the flow if there is one.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Codes.

        Returns
        -------
        log_density : Tensor of shape (n, n_components)
        """
        return super().log_prior(z) if self._flow is None else self._flow.log_prob(z)

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        if self._flow is None:
            return normal
        draws = torch.from_numpy(normal.astype(np.float32)).to(self.device)
        return self._flow.inverse(draws).cpu().numpy()

    def kl_from_prior(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """KL divergence of q(z|x) from the prior, by quadrature where that is a flow.

        Of 64 points per latent, and at least 0: good to about 1e-4 nats per latent if the flow was
        trained, worse if its density has steps that are much narrower than q(z|x).

        Parameters
        ----------
        mean, log_var : Tensor of shape (n, n_components)
            Parameters of q(z|x).

        Returns
        -------
        kl : Tensor of shape (n,)
            In nats.
        """
        if self._flow is None:
            return super().kl_from_prior(mean, log_var)
        expected = expected_log_prior(self, mean, log_var)
        # Where q(z|x) is the prior, rounding and quadrature would take the value below 0.
        return (-gaussian_entropy(log_var) - expected).clamp(min=0).sum(1)


class FactorVAE(AdversarialMixin, BaseVAE):
    """VAE that lowers the total correlation of its codes, as a discriminator estimates it.

    The loss is that of the VAE plus ``gamma E[D_0(z) - D_1(z)]``, where the discriminator D is
    trained at the same time to tell codes (class 0) from codes with each latent permuted over the
    batch (class 1): the difference of its logits estimates the log-ratio of q(z) to the product
    of its marginals.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    gamma : float or schedule, default=10.0
        Weight of the total correlation.
    discriminator_optimizer : class, default=torch.optim.Adam
        Optimiser of the discriminator; Adam has betas (0.5, 0.9) unless
        ``discriminator_optimizer__betas`` says otherwise.
    discriminator_lr : float or schedule, default=1e-4
        Learning rate of the discriminator.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; ``discriminator__hidden_sizes`` sets the
        layers of the discriminator, six of 1000 units.

    Attributes
    ----------
    discriminator_ : torch.nn.Module
        The discriminator.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    BetaTCVAE : Estimates the total correlation from the posteriors of a batch.

    Notes
    -----
    Each batch gives one step of the VAE and one of the discriminator, which sees detached codes:
    nothing of its loss reaches the encoder. The permuted codes are those of the batch before, as
    they were then; in the first step of an epoch, those of as many rows drawn at random. The paper
    encodes a second batch in every step. Batch size and epochs mean the same as in the other
    models. Schedulers of the learning rate act on the VAE's optimiser.

    ``history_`` holds ``train_density_ratio_tc``, ``train_discriminator_loss``,
    ``train_discriminator_accuracy`` (0.5 is chance) and ``train_discriminator_spread``, the
    standard deviation of the differences of its logits.

    References
    ----------
    Kim and Mnih (2018). Disentangling by factorising. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import FactorVAE
    >>> X = load_digits().images / 16.0
    >>> vae = FactorVAE(n_components=4, discriminator__hidden_sizes=(50, 50), max_epochs=1,
    ...                 random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    _prefixes = ("discriminator", "discriminator_optimizer", *BaseVAE._prefixes)
    _betas = {"discriminator_optimizer": (0.5, 0.9)}
    _second_codes: Tensor | None = None  # those that are permuted
    _answers: tuple[Tensor, Tensor] | None = None  # of the discriminator: codes, permuted codes

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        gamma: Weight = 10.0,
        discriminator_optimizer: Callable[..., Any] = torch.optim.Adam,
        discriminator_lr: Rate = 1e-4,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.gamma = gamma
        self.discriminator_optimizer = discriminator_optimizer
        self.discriminator_lr = discriminator_lr

    def _make_discriminator(self, kwargs: dict[str, Any]) -> nn.Module:
        return Discriminator(self.n_components, **kwargs)

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (1.0, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
            "density_ratio_tc": (self.gamma, self._density_ratio(output.z)),
        }

    def _density_ratio(self, z: Tensor) -> Tensor:
        """Total correlation; in training, its backward pass is also that of the discriminator.

        The VAE needs the gradient of the logits' difference with respect to z, the discriminator
        that of the cross-entropy, a function of the same difference, with respect to its weights.
        Row by row the two backward passes differ by a factor only, so one serves both.
        """
        if not torch.is_grad_enabled():
            return density_ratio_tc(self.discriminator_(z))
        if self._second_codes is None:
            self._second_codes = self._further_codes()
        n, product = len(z), permute_dims(self._second_codes, self.generator)
        codes = torch.cat([z.detach(), product]).requires_grad_()
        logits = self.discriminator_(codes)
        joint, product = (logits[:, 0] - logits[:, 1]).split([n, len(product)])
        answers = self._answers = joint.detach(), product.detach()
        # Derivatives of the mean cross-entropies; the bound keeps the division below safe.
        upstream = -torch.sigmoid(-answers[0]).clamp_min(1e-20) / (2 * n)
        other = torch.sigmoid(answers[1]) / (2 * len(product))
        torch.autograd.backward([joint, product], [upstream, other])
        assert codes.grad is not None
        slope = codes.grad[:n] / (upstream[:, None] * n)
        return answers[0].mean() + ((z - z.detach()) * slope).sum()

    def _discriminator_step(self, batch: Any, step: dict[str, Any]) -> dict[str, Tensor]:
        # The gradient is there already. The codes of this batch are the next one's second batch.
        assert self._answers is not None
        joint, product = self._answers
        self._second_codes = step["y_pred"].z.detach()[: len(product)]
        accuracy = 0.5 * ((joint > 0).float().mean() + (product < 0).float().mean())
        return {
            "discriminator_loss": 0.5 * (F.softplus(-joint).mean() + F.softplus(product).mean()),
            "discriminator_accuracy": accuracy,
            "discriminator_spread": torch.cat([joint, product]).std(correction=0),
        }

    def run_single_epoch(self, iterator: Any, training: bool, *args: Any, **kwargs: Any) -> None:
        """One pass over the batches; part of skorch's protocol."""
        self._second_codes = self._answers = None  # so that warm epochs add up
        super().run_single_epoch(iterator, training, *args, **kwargs)
        self._second_codes = self._answers = None

    @torch.no_grad()
    def _further_codes(self) -> Tensor:
        """Codes of a full batch of rows at random."""
        n_data = len(self._dataset)
        size = self.get_params_for("iterator_train").get("batch_size", self.batch_size)
        size = n_data if size == -1 else min(size, n_data)
        index = torch.randint(n_data, (size,), generator=self.generator, device=self.device)
        rows, _ = self._dataset.__getitems__(index.tolist())
        mean, log_var = self.module_.encode(self._to_tensor(rows, self._layout))
        return mean + (0.5 * log_var).exp() * self.noise(size)
