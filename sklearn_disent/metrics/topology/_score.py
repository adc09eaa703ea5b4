"""Disentanglement of a generative model by the topology of what it generates."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from ..._params import (
    AtLeastOne,
    AtLeastTwo,
    FactorBins,
    NanPolicy,
    NonNegativeInt,
    PositiveInt,
    PositiveShare,
    RandomStateLike,
    Verbose,
    validated,
)
from .._generators import Prior, check_generator, generator_of
from .._validation import check_factors, warn_degenerate
from ._biclusters import Biclusters, choose_biclusters
from ._living_times import (
    Backend,
    Dimension,
    Settings,
    check_backend,
    draw_landmarks,
    living_times,
)
from ._null import landmark_error, permutation_null
from ._signatures import Signature, signature_distances
from ._submanifolds import Embedding, Family, decoded_families, factor_families

__all__ = ["manifold_topology_score"]


@validated
def manifold_topology_score(
    estimator: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    supervised: bool = False,
    n_samples: PositiveInt = 1000,
    n_values: PositiveInt = 10,
    n_latents: PositiveInt | None = None,
    prior: Prior = "auto",
    embedding: Embedding | None = None,
    n_landmarks: PositiveInt = 32,
    gamma: PositiveShare = 1 / 8,
    n_repeats: PositiveInt = 100,
    max_holes: AtLeastTwo = 100,
    dimension: Dimension = 1,
    aggregation: Literal["pairwise", "barycenter"] = "pairwise",
    p: AtLeastOne = 2,
    n_clusters: AtLeastTwo | None = None,
    factor_bins: FactorBins | None = None,
    nan_policy: NanPolicy = "raise",
    backend: Backend = "numpy",
    n_permutations: NonNegativeInt = 0,
    return_details: bool = False,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    verbose: Verbose = 0,
) -> float | Bunch:
    r"""Disentanglement by topology: do latents fall into groups of one shape each?

    Holding a disentangled latent at any of its values leaves a submanifold of the same topology,
    which differs from that of latents with another meaning. The score needs only a generator, ours
    or not: no encoder and, unless `supervised`, no labels. Between -1 and 1, higher is better; 0
    when all submanifolds look alike.

    Each submanifold is summarised by a signature, the Wasserstein barycentre of its relative
    living times. With :math:`M` the distances between the signatures of latents (or of latents
    and of factors), and :math:`C_k` the biclusters of :math:`1 - M`,

    .. math::
        \mu = \frac{1}{c} \sum_{k=1}^{c} \Big( \operatorname*{mean}_{i \in C_k, j \notin C_k}
        M_{ij} - \operatorname*{mean}_{i \in C_k, j \in C_k} M_{ij} \Big)

    Parameters
    ----------
    estimator : estimator, torch module or callable
        What generates: a fitted estimator with `inverse_transform`, such as a VAE, a GAN,
        ``PCA(whiten=True)``, a Pipeline or a search over such; a torch module, or a method of one
        such as ``vae.decode``, which is called in evaluation mode, without gradients, with
        batches on its own device; or any other function of an array of codes (n, n_latents) that
        returns n observations, as an array or a tensor.
    X : array-like of shape (n_samples, ...), default=None
        Real observations, in the units that are generated. Needed if `supervised` and with
        ``prior="encoded"``, else ignored.
    y : array-like of shape (n_samples, n_factors), default=None
        Their factors. Needed if `supervised`, else ignored.
    supervised : bool, default=False
        Whether generated submanifolds are compared with real ones, on which one factor is held
        fixed, or among themselves.
    n_samples : int, default=1000
        Points of a submanifold; of real ones, at most.
    n_values : int, default=10
        Values at which each latent is held; of a factor, at most as many as it has.
    n_latents : int or None, default=None
        Number of codes that the generator takes. If None, what the estimator, the module or the
        prior states; for a module, at last, the width of its first layer.
    prior : {"auto", "normal", "uniform", "encoded"} or callable, default="auto"
        Where codes come from. "auto": what the model announces by ``sample_prior(n,
        random_state)``, else "normal", independent standard normals. "uniform": in [-1, 1].
        "encoded": the codes of `X`, each latent drawn on its own. Or ``prior(n, rng)``, which
        returns codes (n, n_latents).
    embedding : transformer, callable or None, default=None
        What turns observations into points: a fitted transformer, which gets them flattened, such
        as a PCA of images; a function or a torch module, which gets them as they are; None only
        flattens.
    n_landmarks : int, default=32
        Landmarks per repeat, drawn from the points with replacement.
    gamma : float, default=1/8
        Largest relaxation, relative to the largest distance from a point to a landmark; with
        `n_landmarks` it sets how coarse holes must be to count.
    n_repeats : int, default=100
        How often landmarks are drawn anew.
    max_holes : int, default=100
        Number of bins: holes are counted from 0 to max_holes - 1.
    dimension : {0, 1, 2}, default=1
        What counts as a hole: pieces, loops or voids, as in :func:`relative_living_times`.
    aggregation : {"pairwise", "barycenter"}, default="pairwise"
        How signatures of several values become one distance: its mean over all pairs of values,
        or the distance between two barycentres over all values.
    p : float, default=2
        Order of the Wasserstein distance.
    n_clusters : int or None, default=None
        Number of biclusters. If None, the number of factors if `supervised`; else that from 2 to
        the number of latents whose biclusters vary least inside and outside.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    backend : {"numpy", "gudhi"}, default="numpy"
        Which code computes the holes. Both give the same; gudhi is an optional dependency.
    n_permutations : int, default=0
        Number of shuffles; 0 for none. Signatures change places between latents and are scored
        again; the p-value is in the details. If positive, every submanifold gets codes of its
        own, where else all share theirs: see Notes.
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
        - ``standard_error`` : that of the score over draws of landmarks, by a jackknife over the
          repeats with the biclusters found; nan for a single repeat.
        - ``null``, ``chance``, ``p_value`` : scores of permuted signatures, their mean, and the
          share of ``[score, *null]`` that is at least the score. None without permutations.
        - ``distances``, ``similarity`` : ndarrays of shape (n_latents, n_latents), or (n_latents,
          n_factors) if `supervised`; M and 1 - M.
        - ``n_clusters``, ``row_clusters``, ``column_clusters`` : the biclustering, as labels.
        - ``score_by_n_clusters``, ``variance_by_n_clusters`` : dicts over the numbers tried.
        - ``signatures`` : ndarray of shape (n_latents, n_values, max_holes), histograms over
          the number of holes; ``latent_values`` : where each latent was held.
        - ``factor_signatures`` : list with one ndarray (n_values, max_holes) for each factor,
          ``factor_values`` likewise, ``factors`` : their columns in y. None unless `supervised`.

    See Also
    --------
    relative_living_times : For what share of scales a cloud has 0, 1, 2, ... holes.
    wasserstein_barycenter_1d : The signature of a cloud.
    get_scorer : ``get_scorer("manifold_topology")``, for a search without labels.

    Notes
    -----
    Distances are in shares of max_holes - 1, which keeps 1 - M between 0 and 1: compare only
    scores with the same `max_holes`, `gamma` and `n_landmarks`.

    The score can tell something where latents differ in topology, such as an angle, whose
    submanifolds lack a circle, and a size. It cannot where they do not: if all latents leave
    submanifolds of the same topology, as those of a flat space do, the score is near 0 however
    well they are disentangled, and a rotation among latents of one topology goes unnoticed. The
    clusters are chosen after the distances are seen, so that pure noise scores above 0, too:
    whether a score is more than that is what `n_permutations` answers. Under the null hypothesis
    it makes no difference to the topology which latent is held. That needs submanifolds of
    independent codes: those of the same latent would else share all other codes, and look alike
    for no other reason (a flat toy then had p of 0.05 or
    less in five of six seeds).

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
    check_generator(estimator)
    if supervised and (X is None or y is None):
        raise ValueError(
            "supervised=True compares with real submanifolds and needs observations X and their "
            f"factors y, got {'X' if X is None else 'y'}=None. Pass both, or use supervised=False."
        )
    settings = Settings(n_landmarks, gamma, n_repeats, max_holes, "clip", backend, dimension)
    plan = Plan(n_samples, n_values, embedding, settings, n_jobs, verbose, n_permutations > 0)
    rng = check_random_state(random_state)
    latents = latent_signatures(estimator, X, prior, n_latents, plan, rng)
    factors = factor_signatures(X, y, factor_bins, nan_policy, plan, rng) if supervised else None
    distances = signature_distances(latents, factors, aggregation, p)
    seed = rng.randint(2**31 - 1)
    chosen, tried = choose_biclusters(distances, n_clusters, supervised, seed)
    score = float(chosen.scores.mean())
    if not return_details:
        return score
    details = _details(score, distances, chosen, tried, latents, factors)
    details.standard_error = landmark_error(latents, factors, aggregation, p, chosen)
    if n_permutations:
        details.null = permutation_null(
            latents, factors, aggregation, p, n_clusters, seed, n_permutations, rng, n_jobs
        )
        details.chance = float(details.null.mean())
        # Equal scores that differ by rounding are equal.
        reached = (details.null >= score - 1e-12).sum()
        details.p_value = float((1 + reached) / (1 + n_permutations))
    return details


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
    redraw: bool = False
    """Whether every cloud of a latent has codes of its own."""

    def check(self) -> None:
        check_backend(self.settings.backend)
        if self.n_samples < self.settings.n_landmarks:
            raise ValueError(
                f"n_samples must be at least n_landmarks={self.settings.n_landmarks}, since "
                f"landmarks are drawn from the samples, got {self.n_samples}."
            )


def latent_signatures(
    estimator: Any,
    X: ArrayLike | None,
    prior: Prior,
    n_latents: int | None,
    plan: Plan,
    rng: RandomState,
) -> list[Signature]:
    """Signatures of the latents of a generator."""
    plan.check()
    draw, decode = generator_of(estimator, X, prior, n_latents, rng)
    base, values = draw(plan.n_samples, rng), draw(plan.n_values, rng)
    if base.shape[1] != values.shape[1]:
        raise ValueError(
            f"prior must return codes of one width, got {base.shape[1]} columns, then "
            f"{values.shape[1]}."
        )
    codes = (lambda: draw(plan.n_samples, rng)) if plan.redraw else (lambda: base)
    families = decoded_families(decode, codes, values, plan.embedding)
    return _signatures_of(families, base.shape[1], plan, rng)


def factor_signatures(
    X: Any,
    y: Any,
    factor_bins: int | str | None,
    nan_policy: str,
    plan: Plan,
    rng: RandomState,
) -> list[Signature]:
    """Signatures of the factors of real observations, without those that cannot be used."""
    plan.check()
    data = check_factors(y, factor_bins, nan_policy)
    families = factor_families(
        X,
        data,
        plan.n_samples,
        plan.n_values,
        plan.settings.n_landmarks,
        plan.embedding,
        rng,
    )
    return _signatures_of(families, data.factors.shape[1], plan, rng)


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
        standard_error=None,
        null=None,
        chance=None,
        p_value=None,
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
