"""Terms of labels: codes are drawn to the factors, where these are known.

Codes (n, D) are posterior means, of which the first F are meant for the F factors; labels (n, F)
are numbers, NaN where unknown.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def xent_losses(codes: Tensor, labels: Tensor, sizes: Tensor) -> Tensor:
    """Cross-entropy of the code as a logit and the label as a share ``y / size``.

    Parameters
    ----------
    codes : Tensor of shape (n, D)
        Posterior means, the first F of which are meant for the factors.
    labels : Tensor of shape (n, F)
        Classes 0, 1, ..., NaN where unknown.
    sizes : Tensor of shape (F,)
        Number of classes of every factor.

    Returns
    -------
    losses : Tensor of shape (n, F)
        In nats, 0 where the label is unknown.

    See Also
    --------
    mean_over_known : Turns the losses into a scalar.

    References
    ----------
    Locatello, Tschannen, Bauer, Rätsch, Schölkopf and Bachem (2020). Disentangling factors of
    variation using few labels. ICLR.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> labels = torch.tensor([[1.0], [torch.nan]])
    >>> terms.xent_losses(torch.zeros(2, 1), labels, torch.tensor([2]))
    tensor([[0.6931],
            [0.0000]])
    """
    known, values = _known(labels)
    targets = values / sizes
    losses = F.binary_cross_entropy_with_logits(_matched(codes, labels), targets, reduction="none")
    return torch.where(known, losses, 0.0)


def l2_losses(codes: Tensor, labels: Tensor, scale: Tensor) -> Tensor:
    """Squared distance of ``scale * code`` from the label.

    Parameters
    ----------
    codes : Tensor of shape (n, D)
        Posterior means, the first F of which are meant for the factors.
    labels : Tensor of shape (n, F)
        Numbers, NaN where unknown.
    scale : Tensor of shape (F,)
        Factor of each code, which may be learnt.

    Returns
    -------
    losses : Tensor of shape (n, F)
        0 where the label is unknown.

    See Also
    --------
    mean_over_known : Turns the losses into a scalar.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.l2_losses(torch.ones(1, 1), torch.full((1, 1), 5.0), torch.tensor([2.0]))
    tensor([[9.]])
    """
    known, values = _known(labels)
    return torch.where(known, (scale * _matched(codes, labels) - values).square(), 0.0)


def embed_losses(
    codes: Tensor, labels: Tensor, tables: Sequence[Tensor], sigma: float = 1.0
) -> Tensor:
    """Cross-entropy of classes, each the likelier the nearer its point is to the code.

    ``-log softmax_k(-(sigma (code_j - table_jk))^2)`` at the label.

    Parameters
    ----------
    codes : Tensor of shape (n, D)
        Posterior means, the first F of which are meant for the factors.
    labels : Tensor of shape (n, F)
        Classes 0, 1, ..., NaN where unknown.
    tables : sequence of F tensors of shape (size,)
        A point on the line for every class, which may be learnt.
    sigma : float, default=1.0
        Sharpness: the larger, the nearer a code must be to the point of its class.

    Returns
    -------
    losses : Tensor of shape (n, F)
        In nats, 0 where the label is unknown.

    See Also
    --------
    mean_over_known : Turns the losses into a scalar.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> table = torch.tensor([-1.0, 1.0])
    >>> terms.embed_losses(torch.zeros(1, 1), torch.zeros(1, 1), [table])
    tensor([[0.6931]])
    """
    known, values = _known(labels)
    columns = []
    for j, table in enumerate(tables):
        logits = -((codes[:, j, None] - table) * sigma).square()
        columns.append(F.cross_entropy(logits, values[:, j].long(), reduction="none"))
    return torch.where(known, torch.stack(columns, dim=1), 0.0)


def cov_penalty(codes: Tensor, labels: Tensor) -> Tensor:
    """Sum of squared covariances of every latent with the factors that are not its own.

    Parameters
    ----------
    codes : Tensor of shape (n, D)
        Posterior means, the first F of which are meant for the factors.
    labels : Tensor of shape (n, F)
        Numbers, NaN where unknown. The covariances of a factor are over the rows that have its
        label.

    Returns
    -------
    penalty : Tensor
        A scalar, at least 0.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> labels = torch.tensor([[1.0], [-1.0]])
    >>> own, other = torch.cat([labels, 0 * labels], 1), torch.cat([0 * labels, labels], 1)
    >>> terms.cov_penalty(own, labels), terms.cov_penalty(other, labels)
    (tensor(0.), tensor(1.))
    """
    known, values = _known(labels)
    share = known.to(codes.dtype) / known.sum(0).clamp(min=1)
    centred = torch.where(known, values - (share * values).sum(0), 0.0)
    covariance = (share * centred).T @ codes
    own = torch.eye(*covariance.shape, dtype=torch.bool, device=codes.device)
    return covariance.masked_fill(own, 0.0).square().sum()


def mean_over_known(losses: Tensor, labels: Tensor) -> Tensor:
    """Sum over factors of the mean over the rows that have a label.

    Parameters
    ----------
    losses : Tensor of shape (n, F)
        0 where the label is unknown.
    labels : Tensor of shape (n, F)
        NaN where unknown.

    Returns
    -------
    loss : Tensor
        A scalar; a factor without any label adds 0.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> labels = torch.tensor([[1.0], [torch.nan]])
    >>> terms.mean_over_known(torch.tensor([[4.0], [0.0]]), labels)
    tensor(4.)
    """
    counts = (~labels.isnan()).sum(0).clamp(min=1)
    return (losses.sum(0) / counts).sum()


def _known(labels: Tensor) -> tuple[Tensor, Tensor]:
    known = ~labels.isnan()
    return known, torch.where(known, labels, 0.0)


def _matched(codes: Tensor, labels: Tensor) -> Tensor:
    return codes[:, : labels.shape[1]]
