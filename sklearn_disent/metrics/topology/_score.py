"""Disentanglement of a generative model by the topology of what it generates."""

import warnings
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import SpectralCoclustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state

from ..._params import (
    AtLeastOne,
    AtLeastTwo,
    FactorBins,
    NanPolicy,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Verbose,
    validated,
)
from .._validation import check_factors, warn_degenerate
from ._living_times import Backend, Settings, check_backend, draw_landmarks, living_times
from ._submanifolds import (
    Embedding,
    Family,
    Prior,
    check_decoder,
    decoded_families,
    factor_families,
    prior_of,
)
from ._transport import Quantiles, quantile_distance, quantile_mean, rebin

__all__ = ["manifold_topology_score"]


class Signature(NamedTuple):
    """Living times of one latent or factor, value by value."""

    number: int
    """Which latent or factor."""
    values: NDArray
    """(n_values,), at which it was held."""
    times: NDArray[np.float64]
    """(n_values, n_repeats, max_holes), relative living times."""

    def barycenters(self) -> list[Quantiles]:
        return [quantile_mean(times) for times in self.times]

    def histograms(self) -> NDArray[np.float64]:
        """Barycentres on the bins, (n_values, max_holes)."""
        n_bins = self.times.shape[-1]
        return np.stack([_on_bins(barycenter, n_bins) for barycenter in self.barycenters()])


class Biclusters(NamedTuple):
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    scores: NDArray[np.float64]
    """(n_clusters,), mean distance to the outside minus mean distance within."""
    variances: NDArray[np.float64]
    empty: int
    """How many biclusters lack a row, a column, or an outside."""


@validated
def manifold_topology_score(
    estimator: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    n_samples: PositiveInt = 1000,
    n_values: PositiveInt = 10,
    prior: Prior = "normal",
    embedding: Embedding | None = None,
    n_landmarks: PositiveInt = 32,
    gamma: PositiveShare = 1 / 8,
    n_repeats: PositiveInt = 100,
    max_holes: AtLeastTwo = 100,
    aggregation: Literal["pairwise", "barycenter"] = "pairwise",
    p: AtLeastOne = 2,
    n_clusters: AtLeastTwo | None = None,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    backend: Backend = "numpy",
    return_details: bool = False,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    verbose: Verbose = 0,
) -> float | Bunch:
    r"""Disentanglement by topology: do latents fall into groups of one shape each?

    Holding a disentangled latent at any of its values leaves a submanifold of the same topology,
    which differs from that of latents with another meaning. The score needs only the decoder: no
    encoder and, without `y`, no labels. Between -1 and 1, higher is better; 0 when all
    submanifolds look alike.

    Each submanifold is summarised by a signature, the Wasserstein barycentre of its relative
    living times. With :math:`M` the distances between the signatures of latents (or of latents
    and of factors), and :math:`C_k` the biclusters of :math:`1 - M`,

    .. math::
        \mu = \frac{1}{c} \sum_{k=1}^{c} \Big( \operatorname*{mean}_{i \in C_k, j \notin C_k}
        M_{ij} - \operatorname*{mean}_{i \in C_k, j \in C_k} M_{ij} \Big)

    Parameters
    ----------
    estimator : estimator with `inverse_transform`
        Fitted: a VAE, a GAN, ``PCA(whiten=True)``, a Pipeline or a search over such. Codes are
        its prior, see `prior`.
    X : array-like of shape (n_samples, ...), default=None
        Real observations, in the units that `inverse_transform` returns. Needed with `y` and with
        ``prior="encoded"``, else ignored.
    y : array-like of shape (n_samples, n_factors), default=None
        Their factors. If given, generated submanifolds are compared with real ones, on which
        one factor is held fixed; otherwise among themselves.
    n_samples : int, default=1000
        Points of a submanifold; of real ones, at most.
    n_values : int, default=10
        Values at which each latent is held; of a factor, at most as many as it has.
    prior : {"normal", "uniform", "encoded"} or callable, default="normal"
        Where codes come from: independent standard normals; uniform ones in [-1, 1], as of
        InfoGAN; the codes of `X`, each latent drawn on its own; or ``prior(n, rng)``, which
        returns codes (n, n_latents).
    embedding : transformer, callable or None, default=None
        What turns observations into points: a fitted transformer, which gets them flattened, such
        as a PCA of images; a function, which gets them as they are; None only flattens.
    n_landmarks, gamma, n_repeats, max_holes, backend
        As in :func:`relative_living_times`; `gamma` and `n_landmarks` set how coarse holes must
        be to count.
    aggregation : {"pairwise", "barycenter"}, default="pairwise"
        How signatures of several values become one distance: its mean over all pairs of values,
        or the distance between two barycentres over all values.
    p : float, default=2
        Order of the Wasserstein distance.
    n_clusters : int or None, default=None
        Number of biclusters. If None, the number of factors with `y`; else that from 2 to the
        number of latents whose biclusters vary least inside and outside.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing factor is an error or drops its row.
    return_details : bool, default=False
        Whether to return all that led to the score.
    random_state : int, RandomState instance or None, default=None
        Determines codes, values, landmarks and the start of the clustering. The result does not
        depend on `n_jobs`.
    n_jobs : int or None, default=None
        Number of parallel workers over values and repeats, as in joblib. Decoding stays here.
    verbose : int, default=0
        If positive, a bar counts the latents and factors done (joblib's messages without tqdm).

    Returns
    -------
    mu : float
        The score.
    details : Bunch
        Instead, if `return_details`:

        - ``score`` : the score.
        - ``distances``, ``similarity`` : ndarrays of shape (n_latents, n_latents), or (n_latents,
          n_factors) with `y`; M and 1 - M.
        - ``n_clusters``, ``row_clusters``, ``column_clusters`` : the biclustering, as labels.
        - ``score_by_n_clusters``, ``variance_by_n_clusters`` : dicts over the numbers tried.
        - ``signatures`` : ndarray of shape (n_latents, n_values, max_holes), histograms over
          the number of holes; ``latent_values`` : where each latent was held.
        - ``factor_signatures`` : list with one ndarray (n_values, max_holes) for each factor,
          ``factor_values`` likewise, ``factors`` : their columns in y. None without `y`.

    See Also
    --------
    relative_living_times : For what share of scales a cloud has 0, 1, 2, ... holes.
    wasserstein_barycenter_1d : The signature of a cloud.
    get_scorer : ``get_scorer("manifold_topology")``, for a search without labels.

    Notes
    -----
    Distances are in shares of max_holes - 1, which keeps 1 - M between 0 and 1: compare only
    scores with the same `max_holes`, `gamma` and `n_landmarks`. Only topology counts: if all
    latents leave submanifolds of the same topology, the score is 0 however well they are
    disentangled, and a rotation among latents of one topology goes unnoticed.

    Departures from the paper and from its public code, where they differ: gamma = 1/8 and 32
    landmarks instead of 1/128 and 64 (100 in code); barycentres and distances are exact, not
    smoothed by entropy; distances are between histograms, where the code takes those between
    their heights; large numbers of holes are clipped, not dropped; images are embedded by what
    you pass instead of VGG16; "pairwise" is the code's aggregation, "barycenter" the paper's.
    The number of clusters starts at 2, as in the code. A bicluster with an empty side scores 0,
    and a clustering that has one is chosen only if all have.

    A single latent, or a single factor, has nothing to differ from: the score is 0, with a
    warning. Factors with a single value, and values with fewer than `n_landmarks` rows, are left
    out, with a warning.

    References
    ----------
    Zhou, Zelikman, Lu, Ng, Carlsson and Ermon (2021). Evaluating the disentanglement of deep
    generative models through manifold topology. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn_disent.metrics import manifold_topology_score
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [3, 2, 1]
    >>> pca = PCA(whiten=True).fit(X)
    >>> options = {"n_samples": 100, "n_values": 2, "n_repeats": 5, "random_state": 0}
    >>> abs(manifold_topology_score(pca, **options)) < 0.05
    True
    """
    check_decoder(estimator)
    if y is not None and X is None:
        raise ValueError("With factors y the observations X are needed too, got X=None. Pass X.")
    settings = Settings(n_landmarks, gamma, n_repeats, max_holes, "clip", backend)
    plan = Plan(n_samples, n_values, embedding, settings, n_jobs, verbose)
    rng = check_random_state(random_state)
    latents = latent_signatures(estimator, X, prior, plan, rng)
    factors = None if y is None else factor_signatures(X, y, factor_bins, nan_policy, plan, rng)
    distances = signature_distances(latents, factors, aggregation, p)
    chosen, tried = _choose(distances, n_clusters, factors is not None, rng.randint(2**31 - 1))
    score = float(chosen.scores.mean())
    if not return_details:
        return score
    return _details(score, distances, chosen, tried, latents, factors)


class Plan(NamedTuple):
    """How clouds are drawn and how their living times are computed."""

    n_samples: int
    """Points of a cloud, at most."""
    n_values: int
    """Values at which a latent or factor is held, at most."""
    embedding: Any
    settings: Settings
    n_jobs: int | None
    verbose: int

    def check(self) -> None:
        check_backend(self.settings.backend)
        if self.n_samples < self.settings.n_landmarks:
            raise ValueError(
                f"n_samples must be at least n_landmarks={self.settings.n_landmarks}, since "
                f"landmarks are drawn from the samples, got {self.n_samples}."
            )


def latent_signatures(
    estimator: Any, X: ArrayLike | None, prior: Prior, plan: Plan, rng: RandomState
) -> list[Signature]:
    """Signatures of the latents of a generative model."""
    check_decoder(estimator)
    plan.check()
    draw = prior_of(estimator, X, prior)
    base, values = draw(plan.n_samples, rng), draw(plan.n_values, rng)
    families = decoded_families(estimator, base, values, plan.embedding)
    return _signatures_of(families, base.shape[1], plan, rng)


def factor_signatures(
    X: Any,
    y: ArrayLike,
    factor_bins: int | str | None,
    nan_policy: str,
    plan: Plan,
    rng: RandomState,
) -> list[Signature]:
    """Signatures of the factors of real observations, without those that cannot be used."""
    plan.check()
    families = factor_families(
        X,
        check_factors(y, factor_bins, nan_policy),
        plan.n_samples,
        plan.n_values,
        plan.settings.n_landmarks,
        plan.embedding,
        rng,
    )
    return _signatures_of(families, np.shape(y)[-1], plan, rng)


def _signatures_of(
    families: Iterable[Family], n_families: int, plan: Plan, rng: RandomState
) -> list[Signature]:
    """Living times of all clouds, one family after the other: their clouds may be large."""
    bar, verbose = _progress_bar(plan.verbose, n_families)
    signatures, n_constant = [], 0
    with Parallel(n_jobs=plan.n_jobs, verbose=verbose) as parallel:
        for family in families:
            landmarks = [draw_landmarks(rng, len(cloud), plan.settings) for cloud in family.clouds]
            times = living_times(family.clouds, landmarks, plan.settings, parallel)
            signatures.append(Signature(family.number, family.values, np.stack(times)))
            n_constant += sum(np.ptp(cloud, axis=0).max() == 0 for cloud in family.clouds)
            if bar is not None:
                bar.update()
    if bar is not None:
        bar.close()
    if n_constant:
        warn_degenerate(
            f"{n_constant} submanifolds are a single point, repeated: they have no holes, by "
            "definition. A decoder that ignores its codes generates such submanifolds."
        )
    return signatures


def signature_distances(
    rows: list[Signature], columns: list[Signature] | None, aggregation: str, p: float
) -> NDArray[np.float64]:
    """M, in shares of the largest number of holes; among the rows if there are no columns."""
    groups = [_barycenters(signature, aggregation) for signature in rows]
    scale = rows[0].times.shape[-1] - 1
    if columns is not None:
        others = [_barycenters(signature, aggregation) for signature in columns]
        means = [[_mean_distance(a, b, p) for b in others] for a in groups]
        return np.reshape(means, (len(groups), len(others))) / scale
    distances = np.zeros((len(groups), len(groups)))
    for i, j in zip(*np.tril_indices(len(groups))):
        distances[i, j] = distances[j, i] = _mean_distance(groups[i], groups[j], p)
    return distances / scale


def value_distances(signatures: list[Signature], p: float = 2) -> NDArray[np.float64]:
    """Distances between the signatures of all values, in shares of the largest number of holes."""
    alone = [
        Signature(signature.number, signature.values[[k]], signature.times[[k]])
        for signature in signatures
        for k in range(len(signature.times))
    ]
    return signature_distances(alone, None, "pairwise", p)


def score_biclusters(
    distances: NDArray[np.float64], rows: NDArray[np.intp], columns: NDArray[np.intp], n: int
) -> Biclusters:
    """Score and variance of each of n biclusters, given as labels of rows and columns."""
    scores, variances = np.zeros(n), np.zeros(n)
    empty = 0
    for k in range(n):
        within = distances[np.ix_(rows == k, columns == k)]
        outside = distances[np.ix_(rows == k, columns != k)]
        if within.size == 0 or outside.size == 0:
            empty += 1
            continue
        scores[k] = outside.mean() - within.mean()
        variances[k] = (within.std() / within.size) ** 2 + (outside.std() / outside.size) ** 2
    return Biclusters(rows, columns, scores, variances, empty)


def bicluster(distances: NDArray[np.float64], n_clusters: int, seed: int) -> Biclusters:
    """Spectral co-clustering of 1 - M into n_clusters."""
    # A row of zeros cannot be normalised.
    similarity = np.clip(1.0 - distances, 1e-9, None)
    # scikit-learn asks for as many rows as clusters, of which there are at most as many as
    # factors; the problem is the same either way round.
    upright = len(similarity) >= n_clusters
    model = SpectralCoclustering(n_clusters, random_state=seed)
    with warnings.catch_warnings():
        # Equal rows make fewer distinct points than clusters. The empty ones score 0.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(similarity if upright else similarity.T)
    labels = model.row_labels_, model.column_labels_
    return score_biclusters(distances, *(labels if upright else labels[::-1]), n_clusters)


def _choose(
    distances: NDArray[np.float64], n_clusters: int | None, supervised: bool, seed: int
) -> tuple[Biclusters, dict[int, Biclusters]]:
    """The clustering to be scored, and all that were tried by their number of clusters."""
    n_rows, n_columns = distances.shape
    if n_rows < 2 or n_columns < 2:
        what = "factor" if n_rows >= 2 else "latent"
        count = min(n_rows, n_columns)
        warn_degenerate(
            f"At least 2 {what}s are needed to compare topologies, got {count}: the score is 0 by "
            "definition."
        )
        labels = np.zeros(n_rows, dtype=np.intp), np.zeros(n_columns, dtype=np.intp)
        lone = score_biclusters(distances, *labels, 1)
        return lone, {1: lone}
    if n_clusters is not None:
        if n_clusters > max(n_rows, n_columns):
            raise ValueError(
                f"n_clusters must be at most the number of latents or of factors, got "
                f"{n_clusters} for {n_rows} by {n_columns} signatures."
            )
        candidates = [n_clusters]
    else:
        candidates = [n_columns] if supervised else list(range(2, n_columns + 1))
    tried = {n: bicluster(distances, n, seed) for n in candidates}
    # Of equals, as with variance 0 everywhere, the clearest.
    return min(tried.values(), key=_preference), tried


def _preference(found: Biclusters) -> tuple[bool, float, float]:
    return found.empty > 0, found.variances.mean(), -found.scores.mean()


def _barycenters(signature: Signature, aggregation: str) -> list[Quantiles]:
    if aggregation == "pairwise":
        return signature.barycenters()
    # The barycentre of equally weighted barycentres is that of all their members.
    return [quantile_mean(signature.times.reshape(-1, signature.times.shape[-1]))]


def _mean_distance(first: list[Quantiles], second: list[Quantiles], p: float) -> float:
    return float(np.mean([quantile_distance(a, b, p) for a in first for b in second]))


def _on_bins(barycenter: Quantiles, n_bins: int) -> NDArray[np.float64]:
    return rebin(barycenter.positions, np.diff(barycenter.upper, prepend=0.0), n_bins)


def _progress_bar(verbose: int, total: int) -> tuple[Any, int]:
    """A bar of tqdm if wanted and possible; and how verbose joblib has to be instead."""
    if not verbose:
        return None, 0
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, verbose
    return tqdm(total=total, desc="topological signatures"), 0


def _details(
    score: float,
    distances: NDArray[np.float64],
    chosen: Biclusters,
    tried: dict[int, Biclusters],
    latents: list[Signature],
    factors: list[Signature] | None,
) -> Bunch:
    return Bunch(
        score=score,
        distances=distances,
        similarity=1.0 - distances,
        n_clusters=len(chosen.scores),
        row_clusters=chosen.rows,
        column_clusters=chosen.columns,
        score_by_n_clusters={n: float(found.scores.mean()) for n, found in tried.items()},
        variance_by_n_clusters={n: float(found.variances.mean()) for n, found in tried.items()},
        signatures=np.stack([signature.histograms() for signature in latents]),
        latent_values=np.stack([signature.values for signature in latents]),
        factors=None if factors is None else [signature.number for signature in factors],
        factor_signatures=None if factors is None else [s.histograms() for s in factors],
        factor_values=None if factors is None else [signature.values for signature in factors],
    )
