"""Models that weigh the two parts of the evidence lower bound."""

from numbers import Integral
from typing import Any

import torch
from sklearn.utils._param_validation import Interval

from sklearn_disent.models._base import BaseVAE, Terms, VAEOutput
from sklearn_disent.models._schedules import LinearSchedule, Weight, weight_constraint
from sklearn_disent.models._semi_supervised import SemiSupervisedVAE
from sklearn_disent.models._terms import gaussian_kl


class VAE(BaseVAE):
    """Variational autoencoder: maximises the evidence lower bound.

    The loss is ``-E_q log p(x|z) + KL(q(z|x), N(0, I))``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    architecture : str, default="auto"
        Encoder and decoder. For images of 8 x 8 pixels or more: "burgess", "locatello",
        "locatello_sbd" (spatial broadcast decoder), "montero_small", "montero_large"; for any
        observations: "mlp", "chen_mlp". "auto" takes "burgess" for images of that size, else
        "mlp". Widths are set by ``module__channels`` and ``module__hidden_sizes``, see
        :func:`~sklearn_disent.networks.make_pair`.
    encoder : class, callable or torch.nn.Module, default=None
        Your own encoder instead: maps ``(n, *input_shape)`` to ``(n, 2 * n_components)``, means
        then log-variances. A class or callable is called with ``(input_shape,
        2 * n_components)`` and the ``encoder__`` parameters; an instance is copied at fit.
    decoder : class, callable or torch.nn.Module, default=None
        Your own decoder instead: maps ``(n, n_components)`` to ``(n, *input_shape)``, logits
        (Bernoulli) or means (Gaussian). A class or callable is called with ``(n_components,
        input_shape)`` and the ``decoder__`` parameters; an instance is copied at fit.
    likelihood : {"auto", "bernoulli", "gaussian"}, default="auto"
        p(x|z). "bernoulli" needs values in [0, 1]; "gaussian" has the fixed standard deviation
        ``sigma``; "auto" takes the first for images, the second for rows.
    sigma : float, default=0.1
        Standard deviation of the Gaussian likelihood, in the units of X.
    log_decomposition : bool, default=False
        Whether ``history_`` gets the three parts of the KL divergence in every epoch:
        ``index_code_mi``, ``total_correlation`` and ``dimension_wise_kl``, estimated by minibatch
        stratified sampling.
    optimizer : class, default=torch.optim.Adam
        Any torch optimiser.
    lr : float, default=1e-3
        Learning rate.
    max_epochs : int, default=20
        Epochs of every call to ``fit`` or ``partial_fit``.
    batch_size : int, default=64
        Rows per step; -1 takes all rows at once.
    input_shape : tuple of int or None, default=None
        Shape of one observation; None reads it off X. Needed where X holds images as flat rows:
        they are then read as ``(C, H, W)``, the last axis fastest.
    train_split : callable or None, default=None
        How to hold validation rows apart, e.g. ``skorch.dataset.ValidSplit(5)``.
    callbacks : list of skorch callbacks, "disable" or None, default=None
        Further skorch callbacks.
    iterator_train, iterator_valid : callable
        Make the loaders of batches.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the present weights.
    verbose : int, default=0
        0 prints nothing; 1 prints a line per epoch.
    device : str or torch.device, default="cpu"
        Where to compute.
    compile : bool, default=False
        Whether to run the module through ``torch.compile``.
    random_state : int, RandomState instance or None, default=None
        Determines initial weights, order of batches and noise.
    **kwargs : dict
        Parameters with a double underscore: ``module__`` for both networks (such as
        ``module__hidden_sizes``), ``optimizer__``, ``iterator_train__``, ``callbacks__``,
        ``encoder__``, ``decoder__``.

    Attributes
    ----------
    module_ : torch.nn.Module
        Encoder and decoder.
    history_ : skorch.history.History
        A row per epoch with ``train_loss``, its terms ``train_reconstruction``, ``train_kl``, and
        ``active_latents``, how many codes have a variance above 0.01 over the data.
    n_steps_ : int
        Number of optimiser steps so far.
    n_components_ : int
        Number of latents.
    likelihood_ : str
        The likelihood in use.
    input_shape_ : tuple of int
        Shape of one observation as the module sees it.
    n_features_in_ : int
        Number of values of one observation.
    feature_names_in_ : ndarray of str
        Names of the columns, where X was a DataFrame with string columns.

    See Also
    --------
    BetaVAE : The same with a weight on the KL divergence.

    Notes
    -----
    Codes (``transform``) are posterior means. uint8 images stay uint8 in memory and are scaled
    per batch: divided by 255, unless the training data holds only 0 and 1.

    References
    ----------
    D. P. Kingma and M. Welling, Auto-encoding variational Bayes, ICLR 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import VAE
    >>> X = load_digits().images / 16.0
    >>> vae = VAE(n_components=2, max_epochs=1, random_state=0).fit(X)
    >>> vae.transform(X).shape, vae.inverse_transform([[0.0, 0.0]]).shape
    ((1797, 2), (1, 8, 8))
    """

    def _terms(self, x: torch.Tensor, output: VAEOutput, extras: Any) -> Terms:
        return {
            "reconstruction": (1.0, self._reconstruction(x, output.decoded).mean()),
            "kl": (1.0, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }


class BetaVAE(SemiSupervisedVAE):
    """VAE whose KL divergence has the weight beta: larger values disentangle more.

    The loss is ``-E_q log p(x|z) + beta KL(q(z|x), N(0, I))``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=4.0
        Weight of the KL divergence; 1 is the VAE, 0 an autoencoder with noise. A schedule, such
        as :class:`LinearSchedule`, is a function of the optimiser step.
    supervised : {"xent", "l2", "cov", "embed"} or None, default=None
        Whether labels, the y of ``fit``, are used, and by which term; see Notes. Latent j then is
        meant for factor j; further latents are free.
    gamma_sup : float or schedule, default=100.0
        Weight of that term.
    n_labeled : int, float or None, default=None
        How many rows keep their labels, drawn at random: a count, or a share of those that have
        any (0.1, but 1 is one row). None keeps all. The others are hidden from training only, so
        that scorers still see them.
    factor_sizes : sequence of int or None, default=None
        Number of classes of every factor; None takes one more than the largest label in y.
    sigma_sup : float, default=1.0
        Sharpness of "embed": the larger, the nearer must a code be to the point of its class.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    Attributes
    ----------
    factor_sizes_ : tuple of int
        Number of classes of every factor, if ``supervised`` is set.

    See Also
    --------
    VAE : Lists all parameters and further attributes.

    Notes
    -----
    ``score`` is the ELBO itself, without beta, so that models of different beta compare.

    Labels are numbers; NaN means unknown, and so does -1 among integers or classes. Entries may be
    missing one by one; without any the model is the unsupervised one, bit for bit. The terms, of
    posterior means m and labels y of the rows that have them:

    - "xent": cross-entropy of the logit m_j and the share y_j / size_j;
    - "l2": ``(b_j m_j - y_j)^2`` with a learnt scale b_j;
    - "cov": squared covariances of m_i and y_j, summed over all i != j;
    - "embed": cross-entropy of ``softmax_k(-(sigma_sup (m_j - e_jk))^2)`` with learnt points e_jk.

    All but "cov" are means over the rows, summed over factors, so that ``gamma_sup`` means the
    same at any batch size and share of labels. Published code sums "xent" and "l2" over a batch of
    64 labelled rows: its weight of 4 is 256 here. "xent" and "embed" take classes 0, 1, ...; the
    others any numbers. "cov" keeps latents away from factors that are not theirs, but draws none
    to its own: where factors are dependent it may do more harm than good.

    References
    ----------
    I. Higgins et al., beta-VAE: Learning basic visual concepts with a constrained variational
    framework, ICLR 2017.

    F. Locatello et al., Disentangling factors of variation using few labels, ICLR 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BetaVAE
    >>> X = load_digits().images / 16.0
    >>> vae = BetaVAE(n_components=4, beta=2.0, max_epochs=1, random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    _parameter_constraints: dict = {
        **SemiSupervisedVAE._parameter_constraints,
        "beta": weight_constraint(),
    }

    def __init__(self, n_components: int = 10, *, beta: Weight = 4.0, **kwargs: Any) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta

    def _terms(self, x: torch.Tensor, output: VAEOutput, extras: Any) -> Terms:
        return {
            "reconstruction": (1.0, self._reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }


class AnnealedVAE(BaseVAE):
    """VAE whose KL divergence is held at a capacity that grows during training.

    The loss is ``-E_q log p(x|z) + gamma |KL(q(z|x), N(0, I)) - C_t|``, per observation in nats,
    where ``C_t = min(C, C t / T)`` after t optimiser steps and the KL divergence is the mean over
    the batch. Latents come into use one after the other, those that help the reconstruction most
    first.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    gamma : float or schedule, default=100.0
        Weight of the distance from the capacity.
    capacity : float or schedule, default=25.0
        C, the last capacity in nats. A schedule takes the place of the straight line.
    n_annealing_steps : int, default=10000
        T, the number of optimiser steps (batches, not epochs) in which the capacity grows.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    BetaVAE : A weight on the KL divergence instead.

    Notes
    -----
    ``history_`` also holds ``train_kl`` and ``train_capacity``. The paper grows the capacity over
    100,000 steps; the default here is shorter, because at T = 100,000 a training of a few
    thousand steps ends with hardly any capacity.

    References
    ----------
    C. P. Burgess et al., Understanding disentangling in beta-VAE, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import AnnealedVAE
    >>> X = load_digits().images / 16.0
    >>> vae = AnnealedVAE(n_components=4, n_annealing_steps=20, max_epochs=1, random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    _parameter_constraints: dict = {
        **BaseVAE._parameter_constraints,
        "gamma": weight_constraint(),
        "capacity": weight_constraint(),
        "n_annealing_steps": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        gamma: Weight = 100.0,
        capacity: Weight = 25.0,
        n_annealing_steps: int = 10_000,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.gamma = gamma
        self.capacity = capacity
        self.n_annealing_steps = n_annealing_steps

    def _terms(self, x: torch.Tensor, output: VAEOutput, extras: Any) -> Terms:
        capacity = self.capacity
        if not callable(capacity):
            capacity = LinearSchedule(0.0, capacity, self.n_annealing_steps)
        target = self._at(capacity)
        kl = gaussian_kl(output.mean, output.log_var).sum(1).mean()
        return {
            "reconstruction": (1.0, self._reconstruction(x, output.decoded).mean()),
            "capacity_gap": (self.gamma, (kl - target).abs()),
            "kl": (None, kl),
            "capacity": (None, torch.full_like(kl, target)),
        }
