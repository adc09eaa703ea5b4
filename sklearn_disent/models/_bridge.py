"""A bridge for torch models of your own: their codes, their scores, and estimators made of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from .._params import PositiveInt, Sizes, validated
from ..metrics import Metric, disentanglement_report
from ._elbo import VAE
from ._net import BaseNet
from ._point_codes import LOG_VAR
from ._transformer import NeuralNetTransformer


@validated
def encode_loader(
    module: nn.Module | Callable[..., Any],
    loader: Iterable,
    *,
    device: str | torch.device | None = None,
    max_samples: PositiveInt | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes, and factors if there are any, of all batches of a loader.

    Parameters
    ----------
    module : torch.nn.Module or callable
        Called with a batch of observations; gives the codes, or a tuple that begins with them. A
        method such as ``vae.encode`` will do.
    loader : iterable
        Batches: tensors, or tuples of observations, factors and whatever else; such as a torch
        ``DataLoader`` that does not shuffle.
    device : str, torch.device or None, default=None
        Where batches go; None takes the device of the module's parameters.
    max_samples : int or None, default=None
        Stop after that many rows.

    Returns
    -------
    codes : ndarray of shape (n, n_codes)
        The codes, flattened to rows, float32.
    factors : ndarray of shape (n, n_factors) or None
        The second entries of the batches; None where batches are tensors.

    See Also
    --------
    ScoreCollector : Scores batch by batch, within a training loop.
    from_modules : An estimator made of a trained encoder and decoder.

    Notes
    -----
    The module is in evaluation mode meanwhile, without gradients, and left as it was.

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from sklearn_disent.models import encode_loader
    >>> data = TensorDataset(torch.randn(100, 6), torch.randint(3, (100, 2)))
    >>> codes, factors = encode_loader(torch.nn.Linear(6, 4), DataLoader(data, batch_size=32))
    >>> codes.shape, factors.shape
    ((100, 4), (100, 2))
    """
    owner = module if isinstance(module, nn.Module) else getattr(module, "__self__", None)
    owner = owner if isinstance(owner, nn.Module) else nn.Identity()
    if device is None:
        device = next((part.device for part in owner.parameters()), torch.device("cpu"))
    codes: list[np.ndarray] = []
    factors: list[np.ndarray] = []
    was_training, n_rows = owner.training, 0
    owner.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                x, *rest = batch if isinstance(batch, (list, tuple)) else (batch,)
                output = module(x.to(device))
                codes.append(_as_rows(output[0] if isinstance(output, tuple) else output))
                factors += [_as_rows(part) for part in rest[:1]]
                n_rows += len(x)
                if max_samples is not None and n_rows >= max_samples:
                    break
    finally:
        owner.train(was_training)
    if not codes:
        raise ValueError("The loader has no batches. Pass one with at least one row.")
    Z = np.concatenate(codes)[:max_samples].astype(np.float32, copy=False)
    return Z, np.concatenate(factors)[:max_samples] if factors else None


class ScoreCollector:
    """Codes and factors gathered batch by batch, and scored at the end, as torchmetrics does.

    Parameters
    ----------
    metrics : list of (str, callable or Metric), default=("mig", "dci_disentanglement", "sap")
        What to compute, as in :func:`~sklearn_disent.metrics.disentanglement_report`.
    max_samples : int or None, default=10000
        Rows that are kept; further ones are let go.
    **options : dict
        Options of the report, such as `metric_params`, `factor_bins` or `random_state`.

    See Also
    --------
    encode_loader : All codes of a loader at once.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import ScoreCollector
    >>> collector = ScoreCollector(["mig"])
    >>> for _ in range(3):
    ...     factors = torch.randint(4, (200, 2))
    ...     collector.update(factors.float(), factors)
    >>> collector.compute()["mig"] > 0.9
    True
    >>> collector.reset()
    """

    def __init__(
        self,
        metrics: Sequence[str | Callable[..., Any] | Metric] = (
            "mig",
            "dci_disentanglement",
            "sap",
        ),
        *,
        max_samples: PositiveInt | None = 10_000,
        **options: Any,
    ) -> None:
        self.metrics = list(metrics)
        self.max_samples = max_samples
        self.options = options
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._codes: list[np.ndarray] = []
        self._factors: list[np.ndarray] = []

    @property
    def n_samples(self) -> int:
        """Number of rows so far."""
        return sum(map(len, self._codes))

    def update(self, codes: Any, factors: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        codes : Tensor or array-like of shape (n, n_codes)
            Codes of the batch.
        factors : Tensor or array-like of shape (n, n_factors)
            Factors of the same rows.
        """
        one, two = _as_rows(codes), _as_rows(factors)
        if len(one) != len(two):
            raise ValueError(
                f"codes and factors must have one row per sample, got {len(one)} and {len(two)}."
            )
        room = len(one) if self.max_samples is None else self.max_samples - self.n_samples
        if room > 0:
            self._codes.append(one[:room])
            self._factors.append(two[:room])

    def compute(self) -> dict[str, float]:
        """Scores of all batches since the last reset.

        Returns
        -------
        scores : dict of str to float
            By the names of the metrics.
        """
        if not self._codes:
            raise ValueError("There is nothing to score. Call update with codes and factors first.")
        report = disentanglement_report(
            np.concatenate(self._factors),
            np.concatenate(self._codes),
            metrics=self.metrics,
            output="dict",
            **self.options,
        )
        return {name: row["value"] for name, row in report.items()}


@validated
def from_modules(
    encoder: nn.Module | Callable[..., Any],
    decoder: nn.Module | Callable[..., Any] | None = None,
    input_shape: Sizes = (),
    *,
    posterior: Literal["auto", "gaussian", "point"] = "auto",
    likelihood: Literal["bernoulli", "gaussian"] = "gaussian",
    device: str | torch.device = "cpu",
) -> BaseNet:
    """A fitted estimator made of a trained torch encoder and, if there is one, its decoder.

    What takes estimators then takes the model: Displays, the report, scorers, metrics of posteriors
    and of counterfactuals. It has ``transform`` and ``inverse_transform``, and may be pickled.

    Parameters
    ----------
    encoder : torch.nn.Module, or method of one
        Maps observations ``(n, *input_shape)`` to codes ``(n, n_codes)``, to means and
        log-variances side by side ``(n, 2 * n_codes)``, or to a tuple ``(mean, log_var)``. It is
        copied.
    decoder : torch.nn.Module, method of one, or None, default=None
        Maps codes ``(n, n_codes)`` to observations ``(n, *input_shape)``. It is copied.
    input_shape : tuple of int, default=()
        Shape of one observation: ``(n_features,)`` or ``(C, H, W)``.
    posterior : {"auto", "gaussian", "point"}, default="auto"
        What the encoder's outputs are: parameters of Gaussians, or codes. "auto" tries which of
        the two the decoder takes; without a decoder, codes.
    likelihood : {"bernoulli", "gaussian"}, default="gaussian"
        What the decoder's outputs are: logits, or the observations themselves.
    device : str or torch.device, default="cpu"
        Where to compute.

    Returns
    -------
    estimator : VAE, or NeuralNetTransformer without a decoder
        Fitted. It may be trained further, as a VAE of these networks.

    See Also
    --------
    encode_loader : The codes alone.
    VAE : Takes networks of your own and trains them.

    Notes
    -----
    Observations are passed on as they are: float32, in [0, 1] where your model has seen them so.
    uint8 images are divided by 255.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sklearn_disent.models import from_modules
    >>> model = from_modules(torch.nn.Linear(6, 2), torch.nn.Linear(2, 6), (6,))
    >>> X = np.zeros((5, 6))
    >>> model.transform(X).shape, model.reconstruct(X).shape
    ((5, 2), (5, 6))
    """
    shape = tuple(int(size) for size in np.atleast_1d(np.asarray(input_shape, dtype=int)))
    if not shape:
        raise ValueError(
            "input_shape must be the shape of one observation, got (). Pass (C, H, W)."
        )
    options: dict[str, Any] = {"input_shape": shape, "device": device}
    first = _as_module(encoder, "encoder")
    if decoder is None:
        estimator: BaseNet = NeuralNetTransformer(first, **options)
    else:
        last = _as_module(decoder, "decoder")
        wrapped, n_codes = _gaussian_encoder(first, last, shape, posterior)
        parts: dict[str, Any] = {"encoder": wrapped, "decoder": last}
        estimator = VAE(n_codes, likelihood=likelihood, **parts, **options)
    estimator._defers_optimizers = True
    estimator.random_state = 0  # nothing is drawn, and the weights are given
    estimator.initialize()
    estimator.random_state = None
    return estimator


class _Method(nn.Module):
    """A method of a module as a module: ``net.encode``, for networks with encoder and decoder."""

    def __init__(self, owner: nn.Module, method: str) -> None:
        super().__init__()
        self.owner = owner
        self.method = method

    def forward(self, x: Tensor) -> Any:
        return getattr(self.owner, self.method)(x)


def _as_module(part: Any, name: str) -> nn.Module:
    if isinstance(part, nn.Module):
        return part
    owner = getattr(part, "__self__", None)
    if isinstance(owner, nn.Module):
        return _Method(owner, part.__name__)
    raise TypeError(
        f"{name} must be a torch module or a method of one, such as net.encode, got {part!r}, "
        "whose weights are not known. For codes alone, encode_loader takes any function."
    )


class _GaussianEncoder(nn.Module):
    """Means then log-variances, whatever form the outputs of an encoder have."""

    def __init__(self, inner: nn.Module, is_point: bool) -> None:
        super().__init__()
        self.inner = inner
        self.is_point = is_point

    def forward(self, x: Tensor) -> Tensor:
        output = self.inner(x)
        if isinstance(output, (list, tuple)):
            parts = [part.flatten(1) for part in output[:2]]
            return torch.cat(parts, 1)
        codes = output.flatten(1)
        return torch.cat([codes, torch.full_like(codes, LOG_VAR)], 1) if self.is_point else codes


def _gaussian_encoder(
    encoder: nn.Module, decoder: nn.Module, shape: tuple[int, ...], posterior: str
) -> tuple[nn.Module, int]:
    """The encoder as a VAE has it, and its number of codes."""
    example = next((part for part in encoder.parameters()), torch.zeros(()))
    with torch.no_grad():
        output = encoder(example.new_zeros(2, *shape))
    if isinstance(output, (list, tuple)):
        return _GaussianEncoder(encoder, False), output[0].flatten(1).shape[1]
    width = output.flatten(1).shape[1]
    half = [width // 2] if width % 2 == 0 else []
    sizes = {"point": [width], "gaussian": half, "auto": [width, *half]}[posterior]
    for size in sizes:
        if _takes(decoder, size):
            return _GaussianEncoder(encoder, size == width), size
    raise ValueError(
        f"The encoder gives {width} values, but the decoder takes codes of neither of the lengths "
        f"{sizes}. Pass a decoder of these codes, or an encoder that returns (mean, log_var)."
    )


def _takes(decoder: nn.Module, n_codes: int) -> bool:
    example = next((part for part in decoder.parameters()), torch.zeros(()))
    try:
        with torch.no_grad():
            decoder(example.new_zeros(2, n_codes))
    except (RuntimeError, ValueError, IndexError):
        return False
    return True


def _as_rows(part: Any) -> np.ndarray:
    array = part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part)
    return array.reshape(len(array), -1)
