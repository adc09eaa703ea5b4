"""What the two studies of dependent factors share: metrics twice, and the data to draw from.

Each rival of minimality and sufficiency has two versions. The one of the paper's code, which takes
it from a toolbox: ten bins for factors and codes; a MIG that divides by the entropy of the code; a
modularity that looks for the best code of a factor instead of the best factor of a code; DCI by
lasso; FactorVAE votes of 200 rows. And the canonical one, that of this library.
"""

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import minmax_scale

from sklearn_disent import datasets
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    disentanglement_report,
    downstream_accuracy_score,
    factor_vae_score,
    irs_score,
    minimality_score,
    posterior_minimality_score,
    relevance_matrix,
)
from sklearn_disent.model_selection import load_dependence_setting, sample_dependent

RIVALS = {
    "factor_vae": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "Modularity",
    "dci_disentanglement": "Disentanglement",
    "dci_completeness": "Completeness",
}
PAPER = "_paper"  # ends the names of the versions of the paper's code
N_BINS = 10
ALPHAS = (1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.4, 0.8, 1.0)  # of the lasso
DCI = ("dci_disentanglement", "dci_completeness")
QUICK = ("minimality", "sufficiency", "mig", "sap", "modularity", "factor_vae", "irs")


def label_of(name):
    """Name of a metric for people."""
    base = name.removesuffix(PAPER)
    title = {**RIVALS, "irs": "IRS"}.get(base, base.replace("_", " ").capitalize())
    return title + (", paper" if base != name else "")


# -- metrics -------------------------------------------------------------------------------------


def canonical_scores(factors, codes, forests=True):
    """Scores as this library has them; DCI, which needs forests, on request."""
    names = [*QUICK, *(DCI if forests else ())]
    report = disentanglement_report(factors, codes, metrics=names, output="dict", random_state=0)
    return {name: report[name]["value"] for name in names}


def published_scores(factors, codes):
    """Scores as the paper's code has them; SAP, by r^2, is the same in both."""
    coarse = ten_bins(factors)
    options = {"n_bins": N_BINS, "min_variance": 0}
    per_code = minimality_score(coarse, codes, **options, return_matrix=True)[1]
    # I / H(code); the gap between the two best codes of each factor.
    first, second = np.sort(per_code, axis=1)[:, :-3:-1].T
    scores = {"mig": np.mean(first - second)}
    squares = relevance_matrix(coarse, codes, n_bins=N_BINS) ** 2
    best = squares.max(axis=1)
    rest = (squares.sum(axis=1) - best) / (squares.shape[1] - 1)
    scores["modularity"] = np.mean(1 - rest / np.where(best > 0, best, 1.0)) if best.any() else 0.0
    # Latents of a standard deviation below 0.05 do not vote.
    voting = codes[:, codes.std(axis=0) >= 0.05]
    votes = {"n_train": 800, "n_eval": 800, "batch_size": 200, "prune_threshold": 0.0}
    scores["factor_vae"] = (
        factor_vae_score(coarse, voting, **votes, adjusted=True, random_state=0)
        if voting.shape[1]
        else 0.0
    )
    scores |= lasso_scores(factors, codes)
    scores["minimality"] = minimality_score(factors, codes, min_variance=0)
    scores["irs"] = irs_score(coarse, codes, q=1.0)
    return {name + PAPER: float(value) for name, value in scores.items()}


def ten_bins(values):
    """Classes in at most ten bins of equal width, by the rule of the paper's code."""
    edges = np.linspace(0, 1, N_BINS + 1)[:-1]
    return np.digitize(minmax_scale(np.asarray(values, dtype=float)), edges)


def lasso_scores(factors, codes):
    """Disentanglement and completeness by lasso, with a penalty chosen by cross-validation."""
    every = np.arange(len(codes))
    lasso = LassoCV(alphas=ALPHAS, cv=10, max_iter=5000)
    options = {"estimator": lasso, "split": (every, every)}
    report = disentanglement_report(
        minmax_scale(np.asarray(factors, dtype=float)),
        minmax_scale(codes),
        metrics=DCI,
        metric_params={DCI[0]: options, DCI[1]: {**options, "average": "macro"}},
        output="dict",
    )
    return {name: report[name]["value"] for name in DCI}


class _Stored:
    """Posteriors that are there already, for metrics which ask a model for them."""

    def posterior(self, X):
        return np.split(X, 2, axis=1)


def metric_scores(factors, codes, log_var=None, forests=True):
    """Both versions of all metrics; those that need forests, or posteriors, where they are there.

    Parameters
    ----------
    factors : ndarray of shape (n_samples, n_factors)
    codes : ndarray of shape (n_samples, n_codes)
        Means of the posteriors, if there are any.
    log_var : ndarray of shape (n_samples, n_codes) or None
    forests : bool
        Whether to take DCI by forests, which needs more time than all the rest.
    """
    with warnings.catch_warnings():
        # Dead latents and equal factors are a part of the study.
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        scores = canonical_scores(factors, codes, forests) | published_scores(factors, codes)
        if log_var is not None:
            posteriors = np.hstack([codes, log_var])
            scores["minimality_posterior"] = posterior_minimality_score(
                _Stored(), posteriors, factors
            )
    return {name: round(float(value), 5) for name, value in scores.items()}


def accuracy(factors, codes, n_codes=3):
    """The paper's accuracy: of a forest on 800 rows and the best code, judged by all other rows.

    Of each factor, forests are grown for the three most informative codes only.
    """
    split = {"train_size": 800, "test_size": None, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        order = np.argsort(-relevance_matrix(factors, codes), axis=1)[:, :n_codes]
        found = [
            downstream_accuracy_score(factors[:, [k]], codes[:, best], **split)
            for k, best in enumerate(order)
        ]
    return round(float(np.mean(found)), 5)


# -- data ----------------------------------------------------------------------------------------

LOADERS = {
    "dsprites": datasets.make_dsprites,
    "shapes3d": datasets.make_shapes3d,
    "mpi3d": datasets.fetch_mpi3d,
}


@lru_cache(maxsize=4)
def grid_of(dataset):
    """Factors of all images, in the order of the data set, and their sizes."""
    sizes = LOADERS[dataset](indices=[0]).factor_sizes
    return np.indices(sizes).reshape(len(sizes), -1).T, sizes


def draw_rows(dataset, setting, n_rows, seed):
    """Numbers of images whose factors depend on each other as a setting says."""
    grid, sizes = grid_of(dataset)
    if setting == "independent":
        return np.random.RandomState(seed).randint(len(grid), size=n_rows)
    dependence = load_dependence_setting(f"{dataset}_{setting}")
    return sample_dependent(
        grid, n_samples=n_rows, factor_sizes=sizes, random_state=seed, **dependence
    )


def draws_of(levels, n_draws):
    """(level, draw, setting) of every draw; `n_draws` of each setting of a level, in turn."""
    return [
        (level, draw, settings[draw % len(settings)])
        for level, settings in levels.items()
        for draw in range(n_draws * len(settings))
    ]


class Draws(NamedTuple):
    """Draws from a data set, as places in a pool of images that holds each image once."""

    numbers: np.ndarray
    """Of the pool's images in the data set."""
    factors: np.ndarray
    """Of the pool's images."""
    places: list
    """For every draw, the places of its rows in the pool."""


@lru_cache(maxsize=4)
def pool_of(dataset, settings, n_rows):
    """Draws by a tuple of settings; the number of a draw is its seed."""
    grid, _ = grid_of(dataset)
    drawn = [draw_rows(dataset, name, n_rows, seed + 1) for seed, name in enumerate(settings)]
    numbers, places = np.unique(np.concatenate(drawn), return_inverse=True)
    return Draws(numbers, grid[numbers], np.split(places, len(drawn)))


@lru_cache(maxsize=2)
def images_of(dataset, image_size, n_train, settings, n_rows):
    """Training images and their factors, drawn without replacement, and the pool's images."""
    grid, _ = grid_of(dataset)
    train = np.random.RandomState(0).permutation(len(grid))[:n_train]
    numbers = pool_of(dataset, settings, n_rows).numbers
    options = {} if dataset == "mpi3d" else {"image_size": image_size}
    images = LOADERS[dataset](indices=np.concatenate([train, numbers]), **options).images
    return images[: len(train)], grid[train], images[len(train) :]


def true_codes(dataset, factors, angle, nuisance, seed):
    """Codes of a perfect encoder, pairs of them rotated, with noise: how good it is, is known.

    Parameters
    ----------
    dataset : str
    factors : ndarray of shape (n_samples, n_factors)
    angle : float
        Rotation of each pair of codes in degrees: 0 is a code per factor, 45 an even mixture.
    nuisance : float
        Standard deviation of the noise; that of the codes of independent factors is 1.
    seed : int
        Which factors are paired; the noise.
    """
    rng = np.random.RandomState(seed)
    sizes = np.array(grid_of(dataset)[1])
    codes = (factors - (sizes - 1) / 2) / np.sqrt((sizes**2 - 1) / 12)
    order = rng.permutation(len(sizes))
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    for i, j in zip(order[::2], order[1::2]):
        codes[:, [i, j]] = codes[:, [i, j]] @ np.array([[cos, sin], [-sin, cos]])
    return codes + nuisance * rng.standard_normal(codes.shape)
