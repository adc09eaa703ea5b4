"""A generative adversarial network whose codes can be read off the observations."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from scipy.special import ndtr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional as F

from .._params import Architecture, NonNegativeInt, PositiveInt, Rate, Weight
from ..networks import make_pair
from ..networks._gan import make_gan_pair
from ._adversarial import AdversarialMixin, frozen
from ._data import Layout, check_n_samples, check_unit_interval
from ._net import BaseNet
from ._schedules import resolve
from .terms import gaussian_log_density

_LOG_VAR_RANGE = (-8.0, 8.0)  # of Q: a code that it reads exactly would drive it to -inf


class InfoGAN(AdversarialMixin, BaseNet):
    """Generative adversarial network that keeps its codes recoverable.

    A generator G makes an observation from codes c, uniform in [-1, 1], and noise; a
    discriminator D tells it from data; a third network Q, which shares all layers of D but the
    last, reads c off the observation. G minimises ``-log D(G(c, noise)) - coefficient
    E log Q(c | G(c, noise))``; the second part bounds the mutual information of codes and
    observations.

    ``transform`` returns the mean of Q, ``inverse_transform`` applies G with zero noise,
    ``generate`` with noise that is drawn.

    Parameters
    ----------
    n_components : int, default=5
        Number of codes.
    n_noise : int, default=5
        Number of further inputs of the generator, standard normal.
    coefficient : float or schedule, default=0.05
        Weight of the information term.
    instance_noise : float or schedule, default=0.1
        Standard deviation of noise that is added to what D sees, real or not, in the units of X.
        It keeps D from winning at once; a schedule may let it fade.
    architecture : {"auto", "burgess", "chen_mlp", "locatello", "locatello_sbd", "mlp", \
            "montero_large", "montero_small"}, default="auto"
        "auto" takes the networks of the paper for images of 8 x 8 pixels or more, which have batch
        normalization and leaky ReLU (:class:`sklearn_disent.networks.GANDiscriminator`), and "mlp"
        for all else. The others are an encoder for D and Q and its decoder for G, as in
        :class:`VAE`; they learn more slowly, if at all.
    discriminator_optimizer : class, default=torch.optim.Adam
        Optimiser of D and Q.
    discriminator_lr : float or schedule, default=2e-4
        Learning rate of D and Q.
    **kwargs : dict
        Optimiser, lr (of G), epochs, batches, callbacks and random_state as in :class:`VAE`;
        ``module__`` parameters reach G and D. Adam has betas (0.5, 0.999) here.

    Attributes
    ----------
    module_ : torch.nn.Module
        The generator.
    discriminator_ : torch.nn.Module
        D and Q: a logit, then means and log-variances of the codes.
    history_ : skorch.history.History
        A row per epoch with ``train_loss`` (of G), its terms ``train_adversarial`` and
        ``train_code_nll``, ``train_discriminator_loss`` and ``train_discriminator_accuracy``.
        ``n_components * log(2) - train_code_nll`` is the lower bound on the mutual information of
        codes and generated observations, in nats: 0 or less means that no code is read.
    n_components_ : int
        Number of codes.

    See Also
    --------
    BetaVAE : Has an encoder and a likelihood.

    Notes
    -----
    There is no likelihood, hence no ``score``. Images come out in [0, 1] and have to be in that
    range (uint8 is scaled); rows come out as they are. Q has a Gaussian for every code, which
    ``posterior`` returns, so that metrics of posteriors apply; categorical codes are not offered.
    Learning rates are those of the paper, 1e-3 for G and 2e-4 for D.

    It has no ``guidance``: codes are drawn, not inferred from observations, and Q learns from
    generated ones alone.

    References
    ----------
    Chen, Duan, Houthooft, Schulman, Sutskever and Abbeel (2016). InfoGAN: Interpretable
    representation learning by information maximizing generative adversarial nets. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import InfoGAN
    >>> X = load_digits().images[:200] / 16.0
    >>> gan = InfoGAN(n_components=2, max_epochs=1, random_state=0).fit(X)
    >>> gan.transform(X).shape, gan.sample(3, random_state=0).shape
    ((200, 2), (3, 8, 8))
    """

    _prefixes = ("discriminator_optimizer", *BaseNet._prefixes)
    _betas = {"optimizer": (0.5, 0.999), "discriminator_optimizer": (0.5, 0.999)}

    def __init__(
        self,
        n_components: PositiveInt = 5,
        *,
        n_noise: NonNegativeInt = 5,
        coefficient: Weight = 0.05,
        instance_noise: Weight = 0.1,
        architecture: Architecture = "auto",
        discriminator_optimizer: Callable[..., Any] = torch.optim.Adam,
        discriminator_lr: Rate = 2e-4,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.n_components = n_components
        self.n_noise = n_noise
        self.coefficient = coefficient
        self.instance_noise = instance_noise
        self.architecture = architecture
        self.discriminator_optimizer = discriminator_optimizer
        self.discriminator_lr = discriminator_lr

    # -- building ----------------------------------------------------------------------------

    def initialize_module(self) -> Self:
        """Build generator and discriminator; part of skorch's protocol."""
        super().initialize_module()
        self.n_components_, self.n_noise_ = self.n_components, self.n_noise
        return self

    def _make_pair(self, kwargs: dict[str, Any]) -> tuple[nn.Module, nn.Module]:
        shape = self.input_shape_
        if kwargs.get("init", "auto") == "auto":
            kwargs = {**kwargs, "init": "torch"}  # with which its defaults were measured
        if self.architecture == "auto" and len(shape) == 3 and min(shape[1:]) >= 8:
            return make_gan_pair(shape, self.n_components, self.n_noise, **kwargs)
        n_inputs, n_outputs = self.n_components + self.n_noise, 1 + 2 * self.n_components
        return make_pair(self.architecture, shape, n_inputs, n_outputs=n_outputs, **kwargs)

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        return self._make_pair(kwargs)[1]

    def _make_discriminator(self, kwargs: dict[str, Any]) -> nn.Module:
        return self._make_pair(self.get_params_for("module"))[0]

    @property
    def _channels_last(self) -> bool:
        return len(self.input_shape_) == 3 and self.discriminator_.channels_last

    @property
    def _is_image(self) -> bool:
        return len(self.input_shape_) == 3

    def _is_bounded(self, input_shape: tuple[int, ...]) -> bool:
        return len(input_shape) == 3

    def _check_range(self, rows: np.ndarray, layout: Layout, *, reset: bool) -> None:
        super()._check_range(rows, layout, reset=reset)
        if len(layout.input_shape) != 3 or rows.dtype == np.uint8 or not rows.size:
            return
        remedy = "Scale X (uint8 images are scaled by themselves)."
        check_unit_interval(rows, 1.0, "InfoGAN makes images with values", remedy)

    # -- training ----------------------------------------------------------------------------

    def _step(self, batch: Any) -> dict[str, Any]:
        """The generator's step."""
        codes, noise = self._draw(len(batch[0]))
        fake = self._generate(codes, noise)
        with frozen(self.discriminator_):
            logit, code_nll = self._judge(fake, codes)
        adversarial = F.softplus(-logit).mean()  # -log D(fake)
        return {
            "loss": adversarial + resolve(self.coefficient, self.n_steps_) * code_nll,
            "y_pred": (fake.detach(), codes),
            "terms": {"adversarial": adversarial, "code_nll": code_nll},
        }

    def _discriminator_step(self, batch: Any, step: dict[str, Any]) -> dict[str, Tensor]:
        fake, codes = step["y_pred"]
        real_logit, _ = self._judge(self._to_tensor(batch[0], self._layout), codes)
        fake_logit, code_nll = self._judge(fake, codes)
        loss = F.softplus(-real_logit).mean() + F.softplus(fake_logit).mean()
        loss = loss + resolve(self.coefficient, self.n_steps_) * code_nll
        loss.backward()
        with torch.no_grad():
            hits = (real_logit > 0).float().mean() + (fake_logit < 0).float().mean()
            spread = torch.cat([real_logit, fake_logit]).std(correction=0)
        return {
            "discriminator_loss": loss,
            "discriminator_accuracy": 0.5 * hits,
            "discriminator_spread": spread,
        }

    def _draw(self, n_rows: int) -> tuple[Tensor, Tensor]:
        """Codes and noise of the generator."""
        options: dict[str, Any] = {"generator": self.generator, "device": self.device}
        codes = 2 * torch.rand(n_rows, self.n_components_, **options) - 1
        return codes, torch.randn(n_rows, self.n_noise_, **options)

    def _generate(self, codes: Tensor, noise: Tensor) -> Tensor:
        made = self.module_(torch.cat([codes, noise], 1))
        return torch.sigmoid(made) if self._is_image else made

    def _judge(self, x: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Logit of D, and the mean negative log-likelihood of the codes under Q, in nats."""
        std = resolve(self.instance_noise, self.n_steps_)
        x = x + std * torch.randn(x.shape, generator=self.generator, device=self.device)
        output = self.discriminator_(x)
        log_q = gaussian_log_density(codes, *_gaussians(output))
        return output[:, 0], -log_q.sum(1).mean()

    # -- using the fitted model --------------------------------------------------------------

    def _encode(self, batch: Tensor) -> Tensor:
        return self.discriminator_(batch)[:, 1 : 1 + self.n_components_]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of Q(c|x), a diagonal Gaussian.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        mean, log_variance : ndarray of shape (n, n_components)
            The means are what ``transform`` returns.
        """
        mean, log_var = self._map_batches(X, lambda batch: _gaussians(self.discriminator_(batch)))
        return mean, log_var

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Generate observations from codes, with zero noise, in the layout ``fit`` was given.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes; the generator has seen values in [-1, 1].

        Returns
        -------
        generated : ndarray
        """
        check_is_fitted(self)
        return self._decode(X, self._decode_batch)

    def _decode_batch(self, codes: Tensor) -> Tensor:
        return self._generate(codes, codes.new_zeros(codes.shape[0], self.n_noise_))

    def generate(
        self, X: Any, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Generate observations from codes, with noise that is drawn for every one of them.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes; the generator has seen values in [-1, 1].
        random_state : int, RandomState instance or None, default=None
            Determines the noise.

        Returns
        -------
        generated : ndarray
            As from :meth:`inverse_transform`, which has zero noise.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        noise = rng.standard_normal((len(X), self.n_noise_)).astype(np.float32)
        parts = iter(torch.from_numpy(noise).to(self.device).split(self._decode_size(len(X))))
        return self._decode(X, lambda codes: self._generate(codes, next(parts)))

    def reconstruct(self, X: Any) -> np.ndarray:
        """Read the codes off observations and generate from them.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        reconstructions : ndarray
            As from :meth:`inverse_transform`.
        """
        return self.inverse_transform(self._codes(X))

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Generate from random codes and noise.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.

        Returns
        -------
        samples : ndarray
            As from :meth:`inverse_transform`.
        """
        rng = check_random_state(random_state)
        codes = self.sample_prior(n_samples, rng)
        return self.generate(codes, rng)

    def sample_prior(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Draw codes from their prior, uniform in [-1, 1].

        Metrics and Displays that need codes to decode ask for them here.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        check_n_samples(n_samples)
        rng = check_random_state(random_state)
        return rng.uniform(-1, 1, (n_samples, self.n_components_))

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        """Turn draws from N(0, I) into draws from the prior, latent by latent."""
        return 2 * ndtr(normal) - 1


def _gaussians(output: Tensor) -> tuple[Tensor, Tensor]:
    """Means and log-variances of Q, which follow the logit of D."""
    mean, log_var = output[:, 1:].chunk(2, dim=1)
    return mean, log_var.clamp(*_LOG_VAR_RANGE)
