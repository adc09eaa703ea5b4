"""Models that weigh the two parts of the evidence lower bound."""

from typing import Any

import torch
from torch import Tensor

from .._params import PositiveInt, Weight
from ._base import BaseVAE
from ._module import Terms, VAEOutput
from ._schedules import LinearSchedule
from .terms import gaussian_kl


class VAE(BaseVAE):
    """Variational autoencoder: maximises the evidence lower bound.

    The loss is ``-E_q log p(x|z) + KL(q(z|x), N(0, I))``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    guidance : Guidance, list or None, default=None
        What is to guide training beside the model's own objective: :class:`Labels` of some rows,
        :class:`Regions` of images, or a :class:`Guidance` of your own. Several stand in a list, as
        objects or ``(name, object)`` pairs. Parameters are reached by ``guidance__weight``, in a
        list by ``guidance__labels__weight``: the name is that of the class in lower case, with _1,
        _2, ... where it occurs several times, unless the pair has another.
    architecture : {"auto", "burgess", "chen_mlp", "locatello", "locatello_sbd", "mlp", \
            "montero_large", "montero_small"}, default="auto"
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
        Whether to log the three parts of the KL divergence in ``history_`` in every epoch:
        ``index_code_mi``, ``total_correlation`` and ``dimension_wise_kl``, estimated by minibatch
        stratified sampling.
    optimizer : class, default=torch.optim.Adam
        Any torch optimiser.
    lr : float or schedule, default=1e-3
        Learning rate; a schedule, such as ``CosineSchedule(1e-3, 1e-5, n_steps=10000)``, is a
        function of the optimiser step, as schedules of weights are.
    max_epochs : int, default=20
        Epochs of every call to ``fit`` or ``partial_fit``.
    batch_size : int, default=64
        Rows per step; -1 takes all rows at once.
    input_shape : tuple of int or None, default=None
        Shape of one observation; None reads it off X. Needed where X holds images as flat rows:
        they are then read as ``(C, H, W)``, the last axis fastest.
    train_split : callable or None, default=None
        How validation rows are held out, e.g. ``skorch.dataset.ValidSplit(5)``.
    callbacks : list of skorch callbacks, "disable" or None, default=None
        Further skorch callbacks.
    iterator_train, iterator_valid : callable, default=batch_loader
        Make the loaders of batches, as torch's ``DataLoader`` does.
    warm_start : bool, default=False
        Whether ``fit`` continues from the present weights.
    checkpoint : str, path-like or None, default=None
        A folder in which every finished epoch is saved: a ``fit`` that was killed goes on from its
        last epoch when it is run again with the same parameters, data and code, to the same result
        bit by bit. One folder serves a whole sweep; a file is removed when its fit is done. Only
        fits from the start are saved, not ``partial_fit``.
    verbose : int, default=0
        0 prints nothing; 1 prints a line per epoch.
    device : str or torch.device, default="cpu"
        Where to compute; "auto" takes the fastest device there is.
    compile : bool, default=False
        Whether to run the modules through ``torch.compile``.
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
        ``active_latents``, how many codes have a variance above 0.01 over the data. Terms of
        guidance are ``train_<name>_<term>``.
    guidance_ : dict of str to Guidance
        The guidance by name, as copies that hold what they have read.
    n_steps_ : int
        Number of optimiser steps so far.
    n_components_ : int
        Number of latents.
    likelihood_ : str
        The likelihood in use.
    manifest_ : dict
        Where the model comes from: versions, hashes of code and data, seed, epochs and steps
        planned and done, scale and layout of X; and ``"status"``, which is "finished" or "stopped"
        (by a callback) unless training was cut short.
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
    Kingma and Welling (2014). Auto-encoding variational Bayes. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import VAE
    >>> X = load_digits().images / 16.0
    >>> vae = VAE(n_components=2, max_epochs=1, random_state=0).fit(X)
    >>> vae.transform(X).shape, vae.inverse_transform([[0.0, 0.0]]).shape
    ((1797, 2), (1, 8, 8))
    """

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (1.0, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }


class BetaVAE(BaseVAE):
    """VAE whose KL divergence has the weight beta: larger values disentangle more.

    The loss is ``-E_q log p(x|z) + beta KL(q(z|x), N(0, I))``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=4.0
        Weight of the KL divergence; 1 is the VAE, 0 an autoencoder with noise. A schedule, such
        as :class:`LinearSchedule`, is a function of the optimiser step.
    **kwargs : dict
        All other parameters are those of :class:`VAE`.

    See Also
    --------
    VAE : Lists all parameters and attributes.

    Notes
    -----
    ``score`` is the ELBO itself, without beta, so that models of different beta compare.

    References
    ----------
    Higgins, Matthey, Pal, Burgess, Glorot, Botvinick, Mohamed and Lerchner (2017). beta-VAE:
    Learning basic visual concepts with a constrained variational framework. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BetaVAE
    >>> X = load_digits().images / 16.0
    >>> vae = BetaVAE(n_components=4, beta=2.0, max_epochs=1, random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    def __init__(
        self, n_components: PositiveInt = 10, *, beta: Weight = 4.0, **kwargs: Any
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }


class AnnealedVAE(BaseVAE):
    """VAE whose KL divergence is held at a capacity that grows during training.

    The loss is ``-E_q log p(x|z) + gamma |KL(q(z|x), N(0, I)) - C_t|``, per observation in nats,
    where ``C_t = min(C, C t / T)`` after t optimiser steps and the KL divergence is the mean over
    the batch. Latents come into use one after the other, beginning with those that help the
    reconstruction most.

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
    Burgess, Higgins, Pal, Matthey, Watters, Desjardins and Lerchner (2018). Understanding
    disentangling in beta-VAE. arXiv.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import AnnealedVAE
    >>> X = load_digits().images / 16.0
    >>> vae = AnnealedVAE(n_components=4, n_annealing_steps=20, max_epochs=1, random_state=0)
    >>> vae.fit_transform(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        gamma: Weight = 100.0,
        capacity: Weight = 25.0,
        n_annealing_steps: PositiveInt = 10_000,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.gamma = gamma
        self.capacity = capacity
        self.n_annealing_steps = n_annealing_steps

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        capacity = self.capacity
        if not callable(capacity):
            capacity = LinearSchedule(0.0, capacity, self.n_annealing_steps)
        target = self.at_step(capacity)
        kl = gaussian_kl(output.mean, output.log_var).sum(1).mean()
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "capacity_gap": (self.gamma, (kl - target).abs()),
            "kl": (None, kl),
            "capacity": (None, torch.full_like(kl, target)),
        }
