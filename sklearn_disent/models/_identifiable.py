"""A model with a prior that depends on an auxiliary variable, which makes it identifiable."""

from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from torch import Tensor, nn

from .._arrays import as_array
from .._params import PositiveInt, Weight
from ..networks import MLPEncoder
from ._base import BaseVAE
from ._module import Terms, VAEOutput
from .terms import gaussian_kl, gaussian_log_density

# Log-variances of the prior are held in this range: an unbounded one could follow a point.
_LOG_VAR_RANGE = (-8.0, 8.0)


class IdentifiableVAE(BaseVAE):
    """VAE whose prior depends on an auxiliary variable: identifiable up to simple maps (iVAE).

    An auxiliary variable u (a class, a time, a segment of a recording) is known beside each
    observation in training. The prior is a Gaussian whose mean and variance are functions of u,
    ``p(z|u) = prod_d N(m_d(u), v_d(u))``, trained with the rest. If u changes the latents
    enough, the latents are identified up to their order and a function of each. The loss is
    ``-E_q log p(x|z) + beta KL(q(z|x), p(z|u))``, per observation in nats.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=1.0
        Weight of the KL divergence.
    posterior_of : {"x", "x_and_u"}, default="x"
        What the posterior in training is made of: the encoder's Gaussian, which knows x alone, or
        its product with the prior given u. ``transform`` takes x alone either way.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; ``prior__hidden_sizes`` sets the hidden
        layers of the network from u to the prior, two of 64 units.

    Attributes
    ----------
    prior_mean_, prior_variance_ : ndarray of shape (n_components,)
        Moments of the prior over the values of u in training.

    See Also
    --------
    VAE : Lists all parameters and further attributes.
    sklearn_disent.datasets.make_nonlinear_ica : Data with an auxiliary variable.
    sklearn_disent.metrics.mcc_score : The measure of identification.

    Notes
    -----
    ``fit(X, u=u)``: classes (integers, booleans, strings) become indicators, other numbers are
    standardized. As fit metadata u is sliced with the rows by a search, and asked for by
    ``set_fit_request(u=True)`` where metadata routing is on. Without u, y takes its place.

    The paper's encoder takes u beside x, which a transformer of X cannot; the product of the
    encoder's Gaussian and the prior has both. Without u, ``score`` and ``sample`` take the Gaussian
    with the moments of the prior over the training rows.

    References
    ----------
    Khemakhem, Kingma, Monti and Hyvärinen (2020). Variational autoencoders and nonlinear ICA: A
    unifying framework. AISTATS.

    Zhou and Wei (2020). Learning identifiable and interpretable latent models of high-dimensional
    neural activity using pi-VAE. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import IdentifiableVAE
    >>> rng = np.random.default_rng(0)
    >>> u = rng.integers(4, size=300)
    >>> X = rng.normal(size=(300, 3)) * (1 + u[:, None])
    >>> vae = IdentifiableVAE(n_components=2, max_epochs=1, random_state=0).fit(X, u=u)
    >>> vae.transform(X).shape
    (300, 2)
    """

    _prefixes = ("prior", *BaseVAE._prefixes)
    _own_metadata = ("u",)
    _state_names = _builds_on = ("_auxiliary",)
    # Per column of u: its classes, or the mean and the standard deviation of its numbers.
    _auxiliary: list[dict[str, Any]]
    prior_mean_: NDArray[np.float32]
    prior_variance_: NDArray[np.float32]

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 1.0,
        posterior_of: Literal["x", "x_and_u"] = "x",
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.posterior_of = posterior_of

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless u is given
        return tags

    # -- training ----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        u: ArrayLike | None = None,
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
            Labels, which stand for u if that is None. Guidance and scoring callbacks may use them.
        u : array-like of shape (n,) or (n, n_auxiliaries) or None, default=None
            Auxiliary variable of each observation: classes or numbers, without missing values.
        boxes, mask : array-like or None, default=None
            Regions of the images, for a guidance that reads them (:class:`Regions`).
        **metadata : dict
            What other guidance reads, one entry per observation.

        Returns
        -------
        self : object
        """
        metadata |= {"u": u, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not (self.warm_start and self.initialized_), **metadata)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        u: ArrayLike | None = None,
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
        u : array-like or None, default=None
            Auxiliary variable, as in :meth:`fit`; classes must be known from it.
        boxes, mask : array-like or None, default=None
            As in :meth:`fit`.
        **metadata : dict
            As in :meth:`fit`.

        Returns
        -------
        self : object
        """
        metadata |= {"u": u, "boxes": boxes, "mask": mask}
        return self._fit(X, y, cold=not self.initialized_, **metadata)

    def _read_extras(
        self, rows: NDArray, y: Any, metadata: dict[str, Any], *, reset: bool
    ) -> dict[str, Any]:
        extras = super()._read_extras(rows, y, metadata, reset=reset)
        given = y if metadata["u"] is None else metadata["u"]
        if given is None:
            raise ValueError(
                "IdentifiableVAE requires y to be passed, but the target y is None. Pass the "
                "auxiliary variable as u, or labels as y in its place."
            )
        check_consistent_length(rows, given)
        columns = as_array(given, "u")
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.ndim == 2 and columns.shape[1] == 0:
            raise ValueError("u must have at least one column, got none. Pass labels or numbers.")
        if reset:
            self._auxiliary = [_description(column) for column in columns.T]
        if columns.ndim != 2 or columns.shape[1] != len(self._auxiliary):
            raise ValueError(
                f"u must be (n,) or (n, {len(self._auxiliary)}), got shape {columns.shape}."
            )
        parts = [_numbers(*pair) for pair in zip(columns.T, self._auxiliary)]
        return {**extras, "u": np.hstack(parts).astype(np.float32)}

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        module = super()._make_module(kwargs)
        if not hasattr(self, "_auxiliary"):
            raise ValueError(
                "The width of u is not known before fit. Call fit, or from_pretrained."
            )
        n_inputs = sum(len(column.get("classes", [0])) for column in self._auxiliary)
        options = {"hidden_sizes": (64, 64), **self.get_params_for("prior")}
        module.prior = MLPEncoder((n_inputs,), 2 * self.n_components, **options)
        return module

    # -- the objective -----------------------------------------------------------------------

    def conditional_prior(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log-variances of the prior given u.

        Parameters
        ----------
        u : Tensor of shape (n, n_inputs)
            Auxiliary variable, as indicators and standardized numbers.

        Returns
        -------
        mean, log_var : Tensor of shape (n, n_components)
        """
        mean, log_var = self.module_.prior(u).chunk(2, dim=1)
        return mean, log_var.clamp(*_LOG_VAR_RANGE)

    def _forward(self, x: Tensor, extras: dict[str, Tensor]) -> tuple[Tensor, VAEOutput]:
        u = extras["u"].to(self.device, torch.float32)
        prior_mean, prior_log_var = self.conditional_prior(u)
        extras |= {"prior_mean": prior_mean, "prior_log_var": prior_log_var}
        mean, log_var = self.module_.encode(x)
        if self.posterior_of == "x_and_u":
            mean, log_var = gaussian_product(mean, log_var, prior_mean, prior_log_var)
        z = mean + (0.5 * log_var).exp() * self.noise(len(x))
        return x, VAEOutput(mean, log_var, z, self.module_.decoder(z))

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        prior = extras["prior_mean"], extras["prior_log_var"]
        kl = gaussian_kl(output.mean, output.log_var, *prior)
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, kl.sum(1).mean()),
        }

    def on_epoch_end(self, net: Any, dataset_train: Any = None, **kwargs: Any) -> None:
        """Keep the moments of the prior over the data; part of skorch's protocol."""
        dataset = dataset_train
        while hasattr(dataset, "dataset"):  # a subset, where validation rows are held apart
            dataset = dataset.dataset
        with torch.no_grad():
            u = torch.from_numpy(np.asarray(dataset.extras["u"])).to(self.device)
            mean, log_var = self.conditional_prior(u)
            variance = log_var.exp().mean(0) + mean.var(0, correction=0)
        self.prior_mean_, self.prior_variance_ = mean.mean(0).cpu().numpy(), variance.cpu().numpy()
        super().on_epoch_end(net, dataset_train=dataset_train, **kwargs)

    # -- the prior where u is not known --------------------------------------------------------

    def _marginal(self, like: Tensor) -> tuple[Tensor, Tensor]:
        if not hasattr(self, "prior_mean_"):  # before the first epoch has ended
            return like.new_zeros(self.n_components_), like.new_zeros(self.n_components_)
        mean, variance = (torch.from_numpy(a) for a in (self.prior_mean_, self.prior_variance_))
        return mean.to(like), variance.to(like).log()

    def log_prior(self, z: Tensor) -> Tensor:
        """Log-density of the Gaussian with the moments of the prior over all u.

        Parameters
        ----------
        z : Tensor of shape (n, n_components)
            Codes.

        Returns
        -------
        log_density : Tensor of shape (n, n_components)
        """
        return gaussian_log_density(z, *self._marginal(z))

    def kl_from_prior(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """KL divergence of q(z|x) from the Gaussian with the moments of the prior over all u.

        Parameters
        ----------
        mean, log_var : Tensor of shape (n, n_components)
            Parameters of q(z|x).

        Returns
        -------
        kl : Tensor of shape (n,)
            In nats.
        """
        return gaussian_kl(mean, log_var, *self._marginal(mean)).sum(1)

    def _from_normal(self, normal: np.ndarray) -> np.ndarray:
        return self.prior_mean_ + np.sqrt(self.prior_variance_) * normal


def gaussian_product(
    mean: Tensor, log_var: Tensor, other_mean: Tensor, other_log_var: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean and log-variance of the normalized product of two Gaussians."""
    precision, other = (-log_var).exp(), (-other_log_var).exp()
    total = precision + other
    return (mean * precision + other_mean * other) / total, -total.log()


def _description(column: NDArray) -> dict[str, Any]:
    """What one column of u is: its classes, or the moments of its numbers."""
    if column.dtype.kind == "f":
        if not np.isfinite(column).all():
            raise ValueError("u must be finite, got NaN or infinity. Drop these rows.")
        # Sums of squares of huge numbers are infinite: these count in units of the largest.
        largest = float(np.abs(column).max())
        unit = largest if largest > 1e150 else 1.0
        column = column / unit
        return {"mean": float(column.mean()) * unit, "std": float(column.std()) * unit or 1.0}
    return {"classes": np.unique(column.astype(str)).tolist()}


def _numbers(column: NDArray, description: dict[str, Any]) -> NDArray:
    if "mean" in description:
        return (column.astype(float)[:, None] - description["mean"]) / description["std"]
    classes, names = description["classes"], column.astype(str)
    unknown = sorted({str(name) for name in names} - set(classes))
    if unknown:
        raise ValueError(f"u has the classes {unknown}, which fit has not seen: {classes}.")
    return (names[:, None] == np.array(classes)).astype(float)
