"""
Total correlation and disentanglement
=====================================

Chen et al. (2018) split the KL divergence of a VAE into three parts, penalize one of them, the
total correlation of the codes, and measure the outcome by a score of their own, MIG. This study
repeats their experiments with scikit-learn's searches:

- the bound on the likelihood (ELBO) against MIG over beta, BetaVAE and BetaTCVAE (their Figure 2);
- MIG over seeds, FactorVAE and InfoGAN beside these two (Figure 3);
- total correlation against MIG (Figure 4);
- training on joint distributions A to D of two factors: independent; independent with uneven
  marginals; dependent, but uncorrelated; correlated (Figure 5);
- two ablations of BetaTCVAE: no penalty on the index-code mutual information, a flow as prior;
- traversals of the best model.

In addition there is the UDR of Duan et al. (2020): a ranking of the same models without labels.

MIG is the paper's, of the posteriors. InfoGAN has no posterior here, so where it takes part, MIG is
that of binned codes. As in the paper, models are scored on the images they are trained on, and the
shape, where it varies, is not a factor. Models of Figure 5 are scored on the whole grid of their
two factors, each combination once, whatever the joint distribution was in training.

Run it as ``python study_total_correlation.py``: an ellipse of 16 x 16 pixels, small networks,
short training and few seeds, five minutes on two free cores. These settings were chosen in trials
on the same images, so that models of both kinds learn something in seconds; betas are smaller than
the paper's since the images have a sixteenth of the pixels. The claims of the paper are checked
against the tables, whatever comes out.

``--full`` has all of dSprites (rendered, not downloaded), the paper's networks and 40 seeds. What
the paper leaves open is taken from the public code of its authors: batches of 2048, 50 epochs, 10
latents. That makes 1,200 fits which take, by a rough estimate, one day of one processor each, and
480 shorter ones: work for a cluster (see the guide on sweeps) or, with a ``device`` among the
parameters of the networks, for GPUs, with 16 GB of memory per job and 250 GB of disk. The 3D faces
of the paper are not free; x and y of a sprite take the place of azimuth and elevation.
"""

import textwrap
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from _study import Study, shrink
from scipy.stats import spearmanr
from sklearn.model_selection import GridSearchCV, ParameterGrid

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import ScoreDistributionDisplay, SweepDisplay, TraversalDisplay
from sklearn_disent.metrics import elbo_decomposition, multimetric_scorer
from sklearn_disent.model_selection import (
    dependence_weights,
    sample_dependent,
    udr_ranking,
)
from sklearn_disent.models import BetaTCVAE, BetaVAE, FactorVAE, InfoGAN

JOINTS = "ABCD"
MIG = "posterior_mig"
ONE_SPRITE = {"shape": [1], "scale": [5], "orientation": [0]}  # only x and y are left

SMALL = {
    "factors": {
        "shape": [1],
        "orientation": [0],
        "posX": range(0, 32, 2),
        "posY": range(8, 24, 2),
    },
    "n_pixels": 16,
    "net": {
        "n_components": 5,
        "architecture": "mlp",
        "module__hidden_sizes": [128, 128],
        "module__init": "he",
        "batch_size": 64,
        "lr": 3e-3,
        "max_epochs": 150,
    },
    "seeds": range(5),
    "betas": [1.0, 2.0, 3.0, 4.0, 6.0],
    "ablation_betas": [4.0],
    "gammas": [5.0],
    "discriminator": {"discriminator__hidden_sizes": [64, 64, 64], "discriminator_lr": 1e-3},
    "infogan": {"lr": 1e-3, "discriminator_lr": 5e-4, "instance_noise": 0.3},
    "coefficient": 0.5,
    "joint_draws": 512,
    "joint_betas": [2.0, 4.0],
    "elbo_draws": 2000,
}
FULL = {
    "factors": {},
    "n_pixels": 64,
    "net": {
        "n_components": 10,
        "architecture": "chen_mlp",
        "batch_size": 2048,
        "lr": 1e-3,
        "max_epochs": 50,
    },
    "seeds": range(40),
    "betas": [float(beta) for beta in range(1, 11)],
    "ablation_betas": [4.0, 6.0],
    "gammas": [1.0, 10.0, 20.0, 40.0, 80.0],
    "discriminator": {},
    "infogan": {"architecture": "burgess"},
    "coefficient": 0.05,
    "joint_draws": 100_000,
    "joint_betas": [4.0, 6.0],
    "elbo_draws": 10_000,
}

# %%
# Data.


def load_data(study, for_joints=False):
    """Images, and the factors that vary; the shape is noise to the score, as in the paper."""
    factors, n_pixels = study["factors"] | (ONE_SPRITE if for_joints else {}), study["n_pixels"]
    sprites = make_dsprites(factors=factors, image_size=max(32, n_pixels), random_state=0)
    images, step = sprites.images, max(32, n_pixels) // n_pixels
    if step > 1:
        images = shrink(images, step)
    varied = np.ptp(sprites.target, axis=0) > 0
    kept = [i for i, name in enumerate(sprites.factor_names) if varied[i] and name != "shape"]
    # In the order in memory that rows of a split have: it is part of the key of a cached fit.
    target = np.ascontiguousarray(sprites.target[:, kept])
    return images, target, [sprites.factor_names[i] for i in kept]


# %%
# Models are a parameter of the search, like beta and the seed.


def make_grids(study):
    """By part of the study: what is searched."""
    net, seeds = study["net"], list(study["seeds"])

    def grid(model, **weights):
        ((name, values),) = weights.items()
        return {"vae": [model], f"vae__{name}": values, "vae__random_state": seeds}

    # The paper gives FactorVAE twice the iterations.
    twice = {**net, "max_epochs": 2 * net["max_epochs"], **study["discriminator"]}
    adversarial = {**net, "n_components": 5, "n_noise": 5, **study["infogan"]}
    gan = grid(InfoGAN(**adversarial), coefficient=[study["coefficient"]])
    joint_betas = study["joint_betas"]
    return {
        "sweep": [
            grid(BetaVAE(**net), beta=study["betas"]),
            grid(BetaTCVAE(**net), beta=study["betas"]),
            grid(BetaTCVAE(**net, alpha=0.0), beta=study["ablation_betas"]),
            grid(BetaTCVAE(**net, prior="factorized_flow"), beta=study["ablation_betas"]),
            grid(FactorVAE(**twice), gamma=study["gammas"]),
        ],
        "adversarial": [gan],
        "joints": [
            grid(BetaVAE(**net), beta=joint_betas[:1]),
            grid(BetaTCVAE(**net), beta=joint_betas[1:]),
        ],
        "adversarial joints": [gan],
    }


def name_of(model):
    """How a model is called in the tables."""
    if getattr(model, "alpha", 1.0) == 0:
        return "BetaTCVAE, alpha = 0"
    flow = getattr(model, "prior", "normal") == "factorized_flow"
    return "BetaTCVAE, flow prior" if flow else type(model).__name__


# %%
# One search per part; fits that are cached are read.


def score_bound(estimator, X, y, n_draws):
    """MIG, the ELBO, and the parts of the KL divergence."""
    terms = elbo_decomposition(estimator, X, n_samples=n_draws, random_state=0)
    scores = multimetric_scorer(["mig", MIG])(estimator, X, y)
    return {**scores, "elbo": terms.elbo, **terms._asdict()}


def run_search(study, grids, X, y, splits, scoring):
    search = GridSearchCV(study.pipeline(), grids, scoring=scoring, cv=splits, refit=False)
    with study.workers():
        return search.fit(X, y)


def measure(study, part):
    """Rows of a part: a score of a model each."""
    on_joints = part.endswith("joints")
    X, y, _ = load_data(study, on_joints)
    everything = np.arange(len(X))
    splits = [(everything, everything)]
    if on_joints:
        draw = partial(sample_dependent, y, [(0, 1)], study["joint_draws"], random_state=0)
        splits = [(draw(kind=kind), everything) for kind in JOINTS]
    scoring = {
        "sweep": partial(score_bound, n_draws=study["elbo_draws"]),
        "joints": multimetric_scorer(["mig", MIG]),
    }.get(part, multimetric_scorer(["mig"]))
    search = run_search(study, make_grids(study)[part], X, y, splits, scoring)
    rows = list(read_scores(search, JOINTS if on_joints else ["none"]))
    if part == "sweep":
        with study.workers():
            agreement = udr_ranking(search, X, y).udr
        rows += [
            {**describe(params), "joint": "none", "score": "udr", "value": value}
            for params, value in zip(search.cv_results_["params"], agreement)
        ]
    return rows


def describe(params):
    (weight,) = set(params) - {"vae", "vae__random_state"}
    seed = params["vae__random_state"]
    return {"model": name_of(params["vae"]), "weight": params[weight], "seed": seed}


def read_scores(search, joints):
    results = search.cv_results_
    for key in (key for key in results if key.startswith("split")):
        split, score = key.removeprefix("split").split("_test_")
        where = {"joint": joints[int(split)], "score": score}
        for params, value in zip(results["params"], results[key]):
            yield {**describe(params), **where, "value": value}


# %%
# From the table: what is compared, and how sure it is.


def one_model(table, model, scores, weights=None):
    """Scores of a model in the sweep, (n_scores, n_seeds, n_weights)."""
    part = table[(table["part"] == "sweep") & (table["model"] == model)]
    if weights is not None:
        part = part[part["weight"].isin(weights)]
    return np.array([part.pivot(index="seed", columns="weight", values=s) for s in scores])


def gap_at_equal(first, second):
    """Mean difference of the second score where curves over beta agree in the first score."""
    (x1, y1), (x2, y2) = (model.mean(1) for model in (first, second))
    low, high = max(x1.min(), x2.min()), min(x1.max(), x2.max())
    at = np.linspace(low, high, 101)
    o1, o2 = np.argsort(x1), np.argsort(x2)
    gap = np.interp(at, x2[o2], y2[o2]) - np.interp(at, x1[o1], y1[o1])
    return gap.mean() if low < high else np.nan


def mean_gap(first, second):
    return (second.mean(1) - first.mean(1)).mean()


def with_interval(statistic, *models):
    """A statistic and its 90 % interval: a bootstrap over the seeds of each model."""
    rng = np.random.default_rng(0)
    draws = [
        statistic(*(m[:, rng.integers(m.shape[1], size=m.shape[1])] for m in models))
        for _ in range(2000)
    ]
    finite = [draw for draw in draws if np.isfinite(draw)] or [np.nan]
    return statistic(*models), *np.percentile(finite, [5, 95])


def verdict(value, low, high):
    """Whether a difference is above 0, beyond the spread over seeds."""
    if not np.isfinite(value):
        return "CANNOT BE SAID HERE"
    return "HOLDS" if low > 0 else "NOT SETTLED HERE" if value > 0 else yes(False)


def yes(holds):
    return "HOLDS" if holds else "DOES NOT HOLD HERE"


def numbers(value, low, high):
    return f"{value:+.3f} (90 % interval {low:+.3f} to {high:+.3f})"


def listed(values, form):
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def best_weights(table):
    """By model, the weight with the highest mean MIG: the paper chooses by Figure 2, too."""
    sweep = table[table["part"] == "sweep"]
    return sweep.groupby(["model", "weight"])[MIG].mean().unstack().idxmax(axis=1).to_dict()


def over_seeds(table, score):
    """By model, the scores of all seeds at its best weight."""
    models, chosen = ("BetaVAE", "BetaTCVAE", "FactorVAE"), best_weights(table)
    scores = {m: one_model(table, m, [score], [chosen[m]]).ravel() for m in models}
    if score == "mig":
        scores["InfoGAN"] = table.loc[table["part"] == "adversarial", score].to_numpy()
    return scores


def over_joints(table, score):
    """(joint, model) -> scores of all seeds."""
    rows = table[table["part"].isin(["joints", "adversarial joints"])].dropna(subset=[score])
    return {key: group[score].to_numpy() for key, group in rows.groupby(["joint", "model"])}


# %%
# The claims, in the order of the paper: a sentence, a verdict, numbers.


def claims_on_bound(table, betas):
    pair = ["BetaVAE", "BetaTCVAE"]
    plane = [one_model(table, model, ["elbo", MIG]) for model in pair]
    low, high = max(m[0].mean(0).min() for m in plane), min(m[0].mean(0).max() for m in plane)
    at_equal = with_interval(gap_at_equal, *plane)
    bounds = [one_model(table, model, ["elbo"], [b for b in betas if b > 1]) for model in pair]
    elbo, least = with_interval(mean_gap, *bounds), (bounds[1] - bounds[0]).mean(1).min()
    last = [one_model(table, model, [MIG, "index_code_mi"], betas[-1:]) for model in pair]
    at_last, kept = with_interval(mean_gap, *(m[:1] for m in last)), [m[1].mean() for m in last]
    return [
        f"At equal ELBO, BetaTCVAE has the higher MIG (Figure 2): {verdict(*at_equal)}. "
        f"Difference of the mean curves where both have an ELBO from {low:.1f} to {high:.1f} "
        f"nats: {numbers(*at_equal)}.",
        "With growing beta, BetaTCVAE keeps the better model of the data (Figure 2): "
        f"{verdict(*elbo) if least > 0 else yes(False)}. ELBO of BetaTCVAE minus BetaVAE, mean "
        f"over beta > 1: {numbers(*elbo)} nats; least of all betas {least:+.2f}.",
        f"At a high beta, BetaTCVAE has the higher MIG (Figure 2): {verdict(*at_last)}. "
        f"Difference at beta = {betas[-1]:g}: {numbers(*at_last)}. There the codes of BetaVAE "
        f"hold {kept[0]:.2f} nats about the images, those of BetaTCVAE {kept[1]:.2f}.",
    ]


def claim_on_seeds(table):
    binned, exact = (
        {name: np.median(scores) for name, scores in over_seeds(table, score).items()}
        for score in ("mig", MIG)
    )
    chosen = {name: best_weights(table)[name] for name in exact}
    holds = all(max(medians, key=medians.get) == "BetaTCVAE" for medians in (binned, exact))
    return [
        f"Over seeds, the median MIG is highest for BetaTCVAE (Figure 3): {yes(holds)}. Medians: "
        f"{listed(exact, '.3f')}; of binned codes {listed(binned, '.3f')}. Weights, the best of "
        f"the sweep: {listed(chosen, 'g')}. FactorVAE has twice the epochs, as in the paper.",
    ]


def claims_on_total_correlation(table):
    planes = [
        one_model(table, model, ["total_correlation", MIG]) for model in ("BetaVAE", "BetaTCVAE")
    ]
    vae, tcvae = (np.corrcoef(plane.mean(1))[0, 1] for plane in planes)
    at_equal = with_interval(gap_at_equal, *planes)
    return [
        "In BetaTCVAE, lower total correlation goes with higher MIG (Figure 4): "
        f"{yes(tcvae < -0.5)}. Correlation of the means over {planes[0].shape[2]} betas: "
        f"{tcvae:+.2f} (holds if below -0.5).",
        "In BetaVAE this negative correlation is weaker or absent (Figure 4): "
        f"{yes(vae > tcvae)}. BetaVAE {vae:+.2f}, BetaTCVAE {tcvae:+.2f}.",
        "At equal total correlation, BetaTCVAE has the higher MIG (Figure 4): "
        f"{verdict(*at_equal)}. Difference of the mean curves where they overlap: "
        f"{numbers(*at_equal)}.",
    ]


def claims_on_joints(table):
    exact, binned = (
        {key: np.median(scores) for key, scores in over_joints(table, score).items()}
        for score in (MIG, "mig")
    )
    gaps = {kind: exact[kind, "BetaTCVAE"] - exact[kind, "BetaVAE"] for kind in JOINTS}
    gan = {kind: binned[kind, "BetaTCVAE"] - binned[kind, "InfoGAN"] for kind in JOINTS}
    medians = {kind: exact[kind, "BetaTCVAE"] for kind in JOINTS}
    return [
        "On all joints A to D, BetaTCVAE is above BetaVAE and InfoGAN (Figure 5): "
        f"{yes(min(*gaps.values(), *gan.values()) > 0)}. Differences of medians to BetaVAE: "
        f"{listed(gaps, '+.3f')}; to InfoGAN, MIG of binned codes: {listed(gan, '+.3f')}.",
        "Uneven or dependent sampling lowers the MIG of BetaTCVAE (Figure 5): "
        f"{yes(max(medians[kind] for kind in 'BCD') < medians['A'])}. Medians: "
        f"{listed(medians, '.3f')}.",
    ]


def claims_on_ablations(table, betas):
    plain = one_model(table, "BetaTCVAE", [MIG], betas)
    at, claims = " and ".join(f"{beta:g}" for beta in betas), []
    for change in ("alpha = 0", "flow prior"):
        gap = with_interval(mean_gap, plain, one_model(table, f"BetaTCVAE, {change}", [MIG], betas))
        claims.append(
            f"BetaTCVAE with {change} is not significantly different: "
            f"{'NO DIFFERENCE FOUND' if gap[1] <= 0 <= gap[2] else yes(False)}. MIG minus "
            f"that of BetaTCVAE, mean over beta = {at}: {numbers(*gap)}."
        )
    return claims


def claim_on_udr(table):
    sweep = table[table["part"] == "sweep"]
    means = sweep.groupby(["model", "weight"])[["udr", MIG]].mean()
    settings, models = (spearmanr(frame["udr"], frame[MIG]) for frame in (means, sweep))
    chosen = means["udr"].idxmax()
    return [
        "UDR, without labels, ranks settings as MIG does (not a claim of this paper): "
        f"{yes(settings.statistic > 0 and settings.pvalue < 0.05)}. Spearman's correlation over "
        f"{len(means)} settings {settings.statistic:+.2f} (p = {settings.pvalue:.2g}), over "
        f"{len(sweep)} models {models.statistic:+.2f} (p = {models.pvalue:.2g}). The setting it "
        f"puts first, {chosen[0]} at {chosen[1]:g}, has a mean MIG of "
        f"{means.loc[chosen, MIG]:.3f}; the best has {means[MIG].max():.3f}.",
    ]


def write_summary(study, table, n_images):
    columns = {MIG: "MIG", "mig": "binned", "udr": "UDR", "elbo": "ELBO"}
    columns |= {
        "index_code_mi": "I(z; n)",
        "total_correlation": "TC",
        "dimension_wise_kl": "dim KL",
    }
    sweep = table[table["part"] == "sweep"]
    means = sweep.groupby(["model", "weight"], sort=False)[list(columns)].mean()
    claims = [
        *claims_on_bound(table, study["betas"]),
        *claim_on_seeds(table),
        *claims_on_total_correlation(table),
        *claims_on_joints(table),
        *claims_on_ablations(table, study["ablation_betas"]),
        *claim_on_udr(table),
    ]
    fill = partial(textwrap.fill, width=98)
    study.text(
        [
            fill(
                f"{len(sweep)} models of {n_images} images, {len(study['seeds'])} seeds each; "
                f"{(table['joint'] != 'none').sum()} models of joints A to D. MIG is that of "
                "posteriors unless said otherwise; binned is that of binned codes. Intervals are "
                "bootstraps over seeds; medians are compared as they are."
            ),
            "\nMeans over seeds (weight is beta, or gamma of FactorVAE; from ELBO on in nats):",
            means.rename(columns=columns).round(3).reset_index().to_string(index=False) + "\n",
            *(fill(f"{i}. {text}", subsequent_indent="   ") for i, text in enumerate(claims, 1)),
        ]
    )


# %%
# Figures.


def plot_sweep(table):
    figure, axes = plt.subplots(
        1, 3, figsize=(13, 4.2), layout="constrained", width_ratios=[1.4, 1, 1]
    )
    part = table[table["model"].isin(["BetaVAE", "BetaTCVAE"]) & (table["part"] == "sweep")]
    labels = {
        "elbo": "ELBO (nats)",
        MIG: "MIG",
        "total_correlation": "total correlation (nats)",
        "udr": "UDR",
    }
    for panel, score in zip(axes, ("elbo", "total_correlation", "udr")):
        SweepDisplay(
            part["weight"].tolist(),
            {score: part[[score]], MIG: part[[MIG]]},
            param="beta",
            groups=part["model"].tolist(),
            labels=labels,
        ).plot(panel, kind="tradeoff")
    return figure


def plot_distributions(study, table):
    figure = plt.figure(figsize=(13, 8), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    left, right = top.subplots(1, 2)
    ScoreDistributionDisplay(over_seeds(table, "mig"), label="MIG of binned codes").plot(left)
    left.set_title("seeds, each model at its best weight", fontsize=10)
    beta = study["ablation_betas"][-1]
    names = {"as it is": "", "alpha = 0": ", alpha = 0", "flow prior": ", flow prior"}
    ScoreDistributionDisplay(
        {k: one_model(table, f"BetaTCVAE{v}", [MIG], [beta]).ravel() for k, v in names.items()},
        label="MIG",
    ).plot(right)
    right.set_title(f"ablations of BetaTCVAE, beta = {beta:g}", fontsize=10)
    _, y, names = load_data(study, for_joints=True)
    scores = over_joints(table, "mig")
    weights = {kind: dependence_weights(y, [(0, 1)], kind=kind) for kind in JOINTS}
    darkest = max(values.max() for values in weights.values())
    axes = bottom.subplots(2, 4, sharey="row", height_ratios=[1, 1.6])
    for kind, (density, boxes) in zip(JOINTS, axes.T):
        frame = pd.DataFrame({"x": y[:, 0], "y": y[:, 1], "p": weights[kind]})
        image = frame.pivot(index="y", columns="x", values="p")
        density.imshow(image, cmap="Blues", vmin=0, vmax=darkest, aspect="auto", origin="lower")
        density.set(title=f"joint {kind}", xlabel=names[0], xticks=[], yticks=[])
        models = ("BetaVAE", "BetaTCVAE", "InfoGAN")
        pools = {model: scores[kind, model] for model in models}
        ScoreDistributionDisplay(pools, label="MIG of binned codes").plot(boxes)
        if kind == "A":
            density.set_ylabel(names[1])
        else:
            boxes.set_ylabel("")
    return figure


def plot_traversals(study, table, X, y, names):
    """The best model of the sweep, read from the cache."""
    best = table.loc[table[MIG].where(table["part"] == "sweep").idxmax()]
    wanted = best[["model", "weight", "seed"]].to_dict()
    grid = ParameterGrid(make_grids(study)["sweep"])
    params = next(params for params in grid if describe(params) == wanted)
    model = study.pipeline().set_params(**params)
    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    TraversalDisplay.from_estimator(model.fit(X, y), X, y, factor_names=names, cmap="gray_r", ax=ax)
    ax.set_title(
        f"{best['model']} at {best['weight']:g}, seed {best['seed']:g}: MIG {best[MIG]:.2f}",
        fontsize=10,
    )
    return figure


# %%


def main():
    torch.set_num_threads(1)  # for one job, too: the number of threads may change the last bits
    # At a high beta all latents may die: that is what is being studied.
    warnings.filterwarnings("ignore", r"All \d+ latents", TrainingWarning)
    warnings.filterwarnings("ignore", ".*no informative code", DegenerateScoreWarning)
    study = Study("total_correlation", __doc__, SMALL, FULL)
    cells = [{"part": part} for part in make_grids(study)]
    rows = study.rows("scores", cells, partial(measure, study))
    index = ["part", "model", "weight", "seed", "joint"]
    table = rows.pivot_table(index=index, columns="score", values="value", sort=False).reset_index()
    X, y, names = load_data(study)
    study.figure("sweep", plot_sweep(table))
    study.figure("distributions", plot_distributions(study, table))
    study.figure("traversals", plot_traversals(study, table, X, y, names))
    write_summary(study, table, len(X))


if __name__ == "__main__":
    main()
