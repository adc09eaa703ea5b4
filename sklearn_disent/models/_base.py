"""BaseVAE: what all variational autoencoders share."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from .._params import Architecture, PositiveFloat, PositiveInt, Weight
from ..networks import make_pair
from ._bounds import LikelihoodBounds
from ._data import Layout, check_n_samples, check_outputs, check_unit_interval
from ._guidance import (
    Guidance,
    Guides,
    needs_y,
    nested_params,
    set_nested_params,
    wanted_metadata,
)
from ._module import Terms, VAEModule, VAEOutput, check_shapes
from ._net import BaseNet
from ._saved_state import decode
from ._schedules import resolve
from ._training import weighted_sum
from .terms import (
    KLParts,
    bernoulli_nll,
    gaussian_nll,
    kl_parts,
    standard_log_prior,
)

_ACTIVE = 0.01  # variance of a code over the data, from which a latent counts as active
_MIN_STEPS = 100  # optimiser steps before which a latent is not dead, but not yet in use


class BaseVAE(LikelihoodBounds, BaseNet):
    """What all variational autoencoders share: a model adds its ``__init__`` and ``terms``.

    To write a model, derive from this class. ``__init__`` takes ``n_components`` and the model's
    own parameters, hands ``**kwargs`` on, and only stores; :meth:`terms` returns the objective as a
    dictionary of named, weighted terms. Their weighted sum is the loss, and each is logged in
    ``history_``. Annotated parameters are checked by ``fit``. All else is there: networks,
    likelihood, training, guidance, ``transform``, ``sample``, ``score``, searches.

    Parameters are explained in :class:`VAE`.

    See Also
    --------
    sklearn_disent.models.terms : Terms to build an objective from.
    Guidance : A term that any model may have beside its own.

    Notes
    -----
    What ``terms`` may use, besides parameters and fitted attributes: :meth:`reconstruction` (the
    likelihood), :meth:`kl_parts`, :meth:`at_step` (the value of a schedule), :meth:`noise` and
    ``generator``, from which all that is random must be drawn for results to repeat.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_disent.models import BaseVAE, terms
    >>> class SparseVAE(BaseVAE):
    ...     def __init__(self, n_components=10, *, sparsity=1.0, **kwargs):
    ...         super().__init__(n_components, **kwargs)
    ...         self.sparsity = sparsity
    ...
    ...     def terms(self, x, output, extras):
    ...         kl = terms.gaussian_kl(output.mean, output.log_var)
    ...         return {
    ...             "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
    ...             "kl": (1.0, kl.sum(1).mean()),
    ...             "sparsity": (self.sparsity, output.mean.abs().sum(1).mean()),
    ...         }
    >>> X = load_digits().images / 16.0
    >>> SparseVAE(4, sparsity=0.5, max_epochs=1, random_state=0).fit_transform(X).shape
    (1797, 4)
    """

    _prefixes = ("encoder", "decoder", *BaseNet._prefixes)
    # Keyword arguments of fit that the model itself reads, besides those of its guidance.
    _own_metadata: tuple[str, ...] = ()

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        guidance: Guidance | list | tuple | None = None,
        architecture: Architecture = "auto",
        encoder: Callable[..., Any] | nn.Module | None = None,
        decoder: Callable[..., Any] | nn.Module | None = None,
        likelihood: Literal["auto", "bernoulli", "gaussian"] = "auto",
        sigma: PositiveFloat = 0.1,
        log_decomposition: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.n_components = n_components
        self.guidance = guidance
        self.architecture = architecture
        self.encoder = encoder
        self.decoder = decoder
        self.likelihood = likelihood
        self.sigma = sigma
        self.log_decomposition = log_decomposition

    # -- the objective -----------------------------------------------------------------------

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        """The objective of one batch: name -> (weight, value). Every model defines it.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
            Observations.
        output : VAEOutput
            ``mean`` and ``log_var`` of the posteriors, a draw ``z``, and ``decoded``.
        extras : dict of str to Tensor
            Further tensors of these rows, for models that read metadata in ``fit``.

        Returns
        -------
        terms : dict of str to (weight, value)
            Values are scalars; the loss is the weighted sum. A weight is a number, or a schedule
            such as :class:`LinearSchedule`; the weight None logs the value without adding it to
            the loss.
        """
        raise NotImplementedError(f"{type(self).__name__} must define terms(x, output, extras).")

    def reconstruction(self, x: Tensor, decoded: Tensor) -> Tensor:
        """Negative log-likelihood of each observation: ``-log p(x|z)``.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
            Observations.
        decoded : Tensor of the shape of x
            What the decoder returned: logits (Bernoulli) or means (Gaussian).

        Returns
        -------
        nll : Tensor of shape (n,)
            In nats.
        """
        if self.likelihood_ == "bernoulli":
            return bernoulli_nll(x, decoded)
        return gaussian_nll(x, decoded, self.sigma)

    def decoded_mean(self, decoded: Tensor) -> Tensor:
        """Mean of p(x|z), for what the decoder returned.

        Parameters
        ----------
        decoded : Tensor of shape (n, ...)
            Logits (Bernoulli) or means (Gaussian).

        Returns
        -------
        mean : Tensor of the same shape
            In the units of the module's input: probabilities, or the means themselves.
        """
        return torch.sigmoid(decoded) if self.likelihood_ == "bernoulli" else decoded

    def kl_parts(self, output: VAEOutput, estimator: Literal["mss", "mws"] = "mss") -> KLParts:
        """Index-code mutual information, total correlation, dimension-wise KL of one batch.

        Parameters
        ----------
        output : VAEOutput
            Posteriors of the batch and a draw from each.
        estimator : {"mss", "mws"}, default="mss"
            As in :func:`sklearn_disent.models.terms.kl_parts`.

        Returns
        -------
        parts : KLParts
            Three scalars in nats, which sum to the KL divergence from the prior.
        """
        mean, log_var, z, _ = output
        return kl_parts(z, mean, log_var, len(self._dataset), estimator, self.log_prior)

    def at_step(self, weight: Weight) -> float:
        """Value of a weight at the present optimiser step.

        Parameters
        ----------
        weight : float or schedule
            A number, or a function of the step.

        Returns
        -------
        value : float
        """
        return resolve(weight, self.n_steps_)

    def noise(self, n_rows: int) -> Tensor:
        """Draws from N(0, I), of the model's generator; during ``fit`` only.

        Parameters
        ----------
        n_rows : int
            Number of draws.

        Returns
        -------
        noise : Tensor of shape (n_rows, n_components)
        """
        return torch.randn(n_rows, self.n_components_, generator=self.generator, device=self.device)

    def log_prior(self, z: Tensor) -> Tensor:
        """Log-density of the prior, whose latents are independent.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Codes.

        Returns
        -------
        log_density : Tensor of shape (n, n_components)
            Per latent; that of N(0, 1) unless the model has another.
        """
        return standard_log_prior(z)

    # -- guidance ----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator, those with a double underscore included.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of guidance: ``guidance__weight``, or
            ``guidance__labels__weight`` where it is a list.

        Returns
        -------
        params : dict
        """
        params = super().get_params(deep=deep)
        return {**params, **nested_params(self.guidance)} if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted module is never re-initialised by it.

        Learning rates take effect at once, everything else is used by the next ``fit``.

        Parameters
        ----------
        **params : dict
            Parameter names and values; those of guidance are ``guidance__weight``, or
            ``guidance__labels__weight`` where it is a list.

        Returns
        -------
        self : object
        """
        prefix = "guidance__"
        nested = {k.removeprefix(prefix): params.pop(k) for k in [*params] if k.startswith(prefix)}
        super().set_params(**params)
        if nested:
            self.guidance = set_nested_params(self.guidance, nested, type(self).__name__)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required |= needs_y(self.guidance)
        return tags

    def _get_metadata_request(self):
        # What guidance reads is asked for, unless the user decided otherwise.
        requests = super()._get_metadata_request()
        for method in (requests.fit, requests.partial_fit):
            for name in wanted_metadata(self.guidance):
                if method.requests.get(name) is None:
                    method.add_request(param=name, alias=True)
        return requests

    # -- building ----------------------------------------------------------------------------

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        return VAEModule(*self._make_parts(kwargs, self.n_components, 2 * self.n_components))

    def _make_parts(
        self, kwargs: dict[str, Any], n_codes: int, n_outputs: int
    ) -> tuple[nn.Module, nn.Module]:
        """Encoder with so many outputs, and decoder of so many codes."""
        shape = self.input_shape_
        if self.encoder is None or self.decoder is None:
            encoder, decoder = make_pair(
                self.architecture, shape, n_codes, n_outputs=n_outputs, **kwargs
            )
        if self.encoder is not None:
            encoder = self._own_part("encoder", shape, n_outputs)
        if self.decoder is not None:
            decoder = self._own_part("decoder", n_codes, shape)
        check_shapes(encoder, decoder, shape, n_codes, n_outputs)
        return encoder, decoder

    def _own_part(self, name: str, *args: Any) -> nn.Module:
        part = getattr(self, name)
        if isinstance(part, nn.Module):
            return copy.deepcopy(part)
        return part(*args, **self.get_params_for(name))

    def initialize_module(self) -> Self:
        """Build ``module_``; part of skorch's protocol."""
        super().initialize_module()
        self.n_components_ = self.n_components
        self.likelihood_ = self._choose_likelihood(self.input_shape_)
        fitted = getattr(self, "guidance_", None)  # None where weights are to be loaded
        if fitted is not None and fitted.matches(self.guidance):
            self.guidance_ = fitted.updated(self.guidance)
        else:
            self.guidance_ = Guides.fresh(self.guidance)
        # Seeds of their own: the model's weights are those without guidance.
        modules = self.guidance_.make_modules(self, self._seed + 2)
        if modules:
            self.module_.guidance = nn.ModuleDict(modules)
        return self

    def _load_extra_state(self, state: Mapping[str, Any]) -> None:
        trained = state["attributes"].get("likelihood_", self.likelihood)
        if self.likelihood not in ("auto", trained):
            raise ValueError(
                f"The weights were trained with the {trained} likelihood, and what they decode to "
                f"means nothing under likelihood={self.likelihood!r}. Set likelihood={trained!r}."
            )
        super()._load_extra_state(state)

    def _load_guidance(self, states: Mapping[str, Mapping[str, Any]]) -> None:
        guides = Guides.fresh(self.guidance)
        fitted = getattr(self, "guidance_", None) or {}
        for name, guide in guides.items():
            read = vars(fitted[name]) if name in fitted else {}
            if name in states:  # weights may come from a model without this guidance
                read = {key: decode(value) for key, value in states[name].items()}
            params = guide.get_params(deep=False)
            guide.__dict__.update((key, value) for key, value in read.items() if key not in params)
        self.guidance_ = guides

    def _choose_likelihood(self, input_shape: tuple[int, ...]) -> str:
        if self.likelihood != "auto":
            return self.likelihood
        return "bernoulli" if len(input_shape) == 3 else "gaussian"

    def _is_bounded(self, input_shape: tuple[int, ...]) -> bool:
        return self._choose_likelihood(input_shape) == "bernoulli"

    def _check_range(self, rows: np.ndarray, layout: Layout, *, reset: bool) -> None:
        super()._check_range(rows, layout, reset=reset)
        likelihood = self._choose_likelihood(layout.input_shape) if reset else self.likelihood_
        if likelihood != "bernoulli" or (rows.dtype == np.uint8 and reset) or not rows.size:
            return
        check_unit_interval(
            rows,
            self._units.uint8_scale if rows.dtype == np.uint8 else 1.0,
            "The Bernoulli likelihood needs values",
            "Scale X (uint8 images are scaled by themselves; MinMaxScaler(clip=True) serves rows), "
            "or set likelihood='gaussian'.",
        )

    # -- training ----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
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
            Labels. Training uses them if the guidance does (:class:`Labels`); scoring callbacks
            always do.
        boxes, mask : array-like or None, default=None
            Regions of the images, for a guidance that reads them (:class:`Regions`).
        **metadata : dict
            What other guidance reads, one entry per observation.

        Returns
        -------
        self : object
        """
        cold = not (self.warm_start and self.initialized_)
        return self._fit(X, y, cold=cold, boxes=boxes, mask=mask, **metadata)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
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
        boxes, mask : array-like or None, default=None
            As in :meth:`fit`.
        **metadata : dict
            As in :meth:`fit`.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, cold=not self.initialized_, boxes=boxes, mask=mask, **metadata)

    def _read_extras(
        self, rows: np.ndarray, y: Any, metadata: dict[str, Any], *, reset: bool
    ) -> dict[str, Any]:
        extras = super()._read_extras(rows, y, metadata, reset=reset)
        guides = Guides.fresh(self.guidance) if reset else self.guidance_.updated(self.guidance)
        read = {*self._own_metadata, *wanted_metadata(self.guidance)}
        unread = [n for n, value in metadata.items() if value is not None and n not in read]
        if unread:
            raise TypeError(
                f"{type(self).__name__}.fit() got {', '.join(unread)}, which neither the model nor "
                "its guidance reads. Set a guidance that does; Regions() reads boxes or mask."
            )
        extras |= guides.read(self, y, len(rows), metadata, reset=reset)
        self.guidance_ = guides
        return extras

    def _step(self, batch: Any) -> dict[str, Any]:
        n_rows, extras = len(batch[0]), batch[1]
        x, output = self._forward(self._to_tensor(batch[0], self._layout), extras)
        terms = self.terms(x, output, extras)
        if self.guidance_:
            terms = self.guidance_.terms(terms, x[:n_rows], output.first(n_rows), extras, self)
        loss, logged = weighted_sum(terms, self)
        with torch.no_grad():
            if self.module_.training:
                mean = output.mean[:n_rows]
                self._moments += torch.stack([mean.sum(0), mean.pow(2).sum(0)])
            if self.log_decomposition and "index_code_mi" not in logged:
                logged.update(self.kl_parts(output)._asdict())
        return {"loss": loss, "y_pred": output, "terms": logged}

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        """What is to be reconstructed, first the batch itself, and the output for it."""
        return x, self.module_(x, self.noise(len(x)))

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin to add up moments of the codes; part of skorch's protocol."""
        super().on_epoch_begin(net, **kwargs)
        self._moments = torch.zeros(2, self.n_components_, device=self.device)

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Record how many latents depend on x; part of skorch's protocol."""
        first, second = self._moments.double() / len(dataset_train)
        variances = second - first**2
        self.history_.record("active_latents", int((variances > _ACTIVE).sum()))
        super().on_epoch_end(net, dataset_train=dataset_train, **kwargs)

    def _training_troubles(self) -> list[str]:
        troubles = super()._training_troubles()
        if self.n_steps_ < _MIN_STEPS or self.history_[-1, "active_latents"] > 0:
            return troubles
        return [
            *troubles,
            f"All {self.n_components_} latents of {type(self).__name__} are dead: their codes vary "
            f"by less than {_ACTIVE} over the data, and decoding ignores them. Usual remedies: a "
            "smaller weight of the KL divergence, or one that grows "
            "(beta=LinearSchedule(0, 4, n_steps=1000)), a smaller sigma, more epochs.",
        ]

    # -- using the fitted model --------------------------------------------------------------

    def _encode(self, batch: Tensor) -> Tensor:
        return self.module_.encode(batch)[0]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of the approximate posterior q(z|x), a diagonal Gaussian.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        mean, log_variance : ndarray of shape (n, n_components)
        """
        mean, log_var = self._map_batches(X, lambda batch: self.module_.encode(batch))
        check_outputs(self, mean, log_var)
        return mean, log_var

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Decode codes to observations, in the layout that ``fit`` was given.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes.

        Returns
        -------
        decoded : ndarray
            Mean of p(x|z): for images, intensities in [0, 1] under the Bernoulli likelihood,
            for uint8 images too.
        """
        check_is_fitted(self)
        return self._decode(X, self._decode_batch)

    def _decode_batch(self, z: Tensor) -> Tensor:
        return self.decoded_mean(self.module_.decoder(z))

    def reconstruct(self, X: Any) -> np.ndarray:
        """Encode to the posterior mean and decode it.

        Parameters
        ----------
        X : array-like
            Observations.

        Returns
        -------
        reconstructions : ndarray
            As from :meth:`inverse_transform`.
        """
        return self.inverse_transform(self.posterior(X)[0])

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Decode draws from the prior, see :meth:`sample_prior`.

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
        return self.inverse_transform(self.sample_prior(n_samples, random_state))

    def sample_prior(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Draw codes from the prior, N(0, I) unless the model has learnt another.

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
        return self._from_normal(rng.standard_normal((n_samples, self.n_components_)))

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        """Turn draws from N(0, I) into draws from the prior, latent by latent."""
        return normal
