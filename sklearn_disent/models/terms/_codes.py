"""Terms of the codes of a batch: total correlation, moments, a kernel, the support."""

import math
from typing import Literal

import torch
from torch import Tensor

# -- total correlation by a discriminator (Kim and Mnih 2018) --------------------------------


def permute_dims(z: Tensor, generator: torch.Generator) -> Tensor:
    """Shuffle every latent over the batch on its own: draws from the product of marginals.

    Parameters
    ----------
    z : Tensor of shape (B, D)
        Codes.
    generator : torch.Generator
        Determines the shuffles; a model's own is ``self.generator``.

    Returns
    -------
    shuffled : Tensor of shape (B, D)

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> z = torch.arange(4.0)[:, None].expand(4, 2)
    >>> terms.permute_dims(z, torch.Generator().manual_seed(0)).sort(0).values.equal(z)
    True
    """
    order = torch.rand(z.shape, generator=generator, device=z.device).argsort(0)
    return z.gather(0, order)


def density_ratio_tc(logits: Tensor) -> Tensor:
    """Total correlation by a discriminator: ``mean(D_0(z) - D_1(z))``.

    Parameters
    ----------
    logits : Tensor of shape (B, 2)
        Of a discriminator that tells draws of q(z), class 0, from draws of the product of its
        marginals, class 1.

    Returns
    -------
    total_correlation : Tensor
        A scalar in nats: 0 where the discriminator cannot tell.

    References
    ----------
    Kim and Mnih (2018). Disentangling by factorising. ICML.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.density_ratio_tc(torch.tensor([[2.0, 1.0], [0.5, 0.5]]))
    tensor(0.5000)
    """
    return (logits[:, 0] - logits[:, 1]).mean()


# -- moments ---------------------------------------------------------------------------------


def covariance(values: Tensor) -> Tensor:
    """Covariance of rows, divided by their number; all zero for a single row.

    Parameters
    ----------
    values : Tensor of shape (B, D)
        Rows.

    Returns
    -------
    covariance : Tensor of shape (D, D)

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.covariance(torch.tensor([[1.0], [-1.0]]))
    tensor([[1.]])
    """
    centred = values - values.mean(0)
    return centred.T @ centred / len(values)


def dip_penalties(
    mean: Tensor, log_var: Tensor, kind: Literal["i", "ii"] = "i"
) -> tuple[Tensor, Tensor]:
    """Squared distances of a covariance S of the codes from the identity.

    Parameters
    ----------
    mean, log_var : Tensor of shape (B, D)
        Posteriors of the batch.
    kind : {"i", "ii"}, default="i"
        S is the covariance of the posterior means ("i"), or of draws from the posteriors ("ii"),
        by the law of total covariance ``Cov[mean] + diag(E[variance])``.

    Returns
    -------
    off_diagonal, diagonal : Tensor
        ``sum_{i != j} S_ij^2`` and ``sum_i (S_ii - 1)^2``, scalars.

    References
    ----------
    Kumar, Sattigeri and Balakrishnan (2018). Variational inference of disentangled latent concepts
    from unlabeled observations. ICLR.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    >>> terms.dip_penalties(mean, torch.zeros(2, 2))  # S is all ones
    (tensor(2.), tensor(0.))
    """
    if kind not in ("i", "ii"):
        raise ValueError(f"kind must be 'i' or 'ii', got {kind!r}.")
    matrix = covariance(mean)
    if kind == "ii":
        matrix = matrix + torch.diag(log_var.exp().mean(0))
    diagonal = matrix.diagonal()
    off_diagonal = matrix.pow(2).sum() - diagonal.pow(2).sum()
    return off_diagonal, (diagonal - 1).pow(2).sum()


def mmd_squared(x: Tensor, y: Tensor, bandwidth: float) -> Tensor:
    """Unbiased squared maximum mean discrepancy under ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    x, y : Tensor of shape (n, D) and (m, D)
        Two samples.
    bandwidth : float
        Standard deviation of the Gaussian kernel.

    Returns
    -------
    mmd : Tensor
        A scalar, 0 in expectation where both samples are of one distribution, at most 2. It can
        be negative: within a sample, pairs of a row with itself do not count. Fewer than two
        rows tell nothing, and the value is 0.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> near, far = torch.zeros(3, 1), torch.full((3, 1), 100.0)
    >>> terms.mmd_squared(near, near, 1.0), terms.mmd_squared(near, far, 1.0)
    (tensor(0.), tensor(2.))
    """
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return 0.0 * x.sum()

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        return (-(a[:, None] - b[None]).pow(2).sum(2) / (2 * bandwidth**2)).exp()

    within_x = (kernel(x, x).sum() - n) / (n * (n - 1))
    within_y = (kernel(y, y).sum() - m) / (m * (m - 1))
    return within_x + within_y - 2 * kernel(x, y).mean()


# -- factorised support (Roth et al. 2023) ---------------------------------------------------

_CHUNK = 4096  # grid points whose nearest rows are searched at a time


def hausdorff_support(mean: Tensor, pairs: Tensor) -> Tensor:
    """Squared Hausdorff distance of the codes from the product of their supports.

    The sum over pairs (i, j) of latents of ``max_{a,b} min_k [(mean_ai - mean_ki)^2 + (mean_bj -
    mean_kj)^2]``: how far the emptiest combination of an occurring value of i with one of j lies
    from all that occur together.

    Parameters
    ----------
    mean : Tensor of shape (B, D)
        Codes of the batch.
    pairs : Tensor of shape (n_pairs, 2)
        Pairs of latents.

    Returns
    -------
    distance : Tensor
        A scalar, 0 where all combinations occur.

    Notes
    -----
    The rows a, b, k are found without gradient, in memory of order B^2; the value and its gradient
    are those of the full expression.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors via
    Hausdorff factorized support. ICLR.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> pair = torch.tensor([[0, 1]])
    >>> terms.hausdorff_support(corners, pair), terms.hausdorff_support(corners[:3], pair)
    (tensor(0.), tensor(1.))
    """
    total = 0.0 * mean.sum()
    for i, j in pairs.tolist():
        x, y = mean[:, i], mean[:, j]
        with torch.no_grad():
            a, b, k = _emptiest_combination(x.contiguous(), y.contiguous())
        total = total + (x[a] - x[k]).pow(2) + (y[b] - y[k]).pow(2)
    return total


def _emptiest_combination(x: Tensor, y: Tensor) -> tuple[int, int, int]:
    """Rows (a, b, k): (x_a, y_b) is the grid point farthest from its nearest row, and that is k.

    The distance to the nearest row changes by at most the way between two points. So exact
    distances on a coarse grid of about B points bound those of all B^2, and only points whose
    bound reaches the largest distance known are looked at: a few dozen of 65,536 at B = 256.
    """
    n = len(x)
    (xs, x_row), (ys, y_row) = x.sort(), y.sort()
    ranks = torch.linspace(0, n - 1, math.ceil(math.sqrt(n)), device=x.device).round().long()
    cx, cy = xs[ranks], ys[ranks]
    coarse, _ = _nearest(torch.cartesian_prod(cx, cy), x, y)
    x_near = torch.bucketize(xs, (cx[1:] + cx[:-1]) / 2)
    y_near = torch.bucketize(ys, (cy[1:] + cy[:-1]) / 2)
    way = ((xs - cx[x_near]).pow(2)[:, None] + (ys - cy[y_near]).pow(2)).sqrt()
    bound = coarse.sqrt().view(len(cx), len(cy))[x_near][:, y_near] + way
    bound = bound.flatten().square()
    promising = bound.topk(min(128, n * n)).indices
    known = _nearest(torch.stack([xs[promising // n], ys[promising % n]], 1), x, y)[0].max()
    # The slack covers rounding in the bounds.
    points = (bound >= torch.maximum(known, coarse.max()) * (1 - 1e-5)).nonzero()[:, 0]
    if not len(points):  # values that are not finite: let them reach the loss
        points = torch.zeros(1, dtype=torch.long, device=x.device)
    best = (-1.0, 0, 0, 0)
    for point in points.split(_CHUNK):
        a, b = x_row[point // n], y_row[point % n]
        distance, row = _nearest(torch.stack([x[a], y[b]], 1), x, y)
        top = distance.argmax()
        found = distance[top].item(), int(a[top]), int(b[top]), int(row[top])
        best = max(best, found)
    return best[1:]


def _nearest(points: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Squared distance of each point from its nearest row (x_k, y_k), and that row."""
    squares = (points[:, :1] - x).square_().add_((points[:, 1:] - y).square_())
    distance, row = squares.min(1)
    return distance, row
