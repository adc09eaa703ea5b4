"""
Study: total correlation and disentanglement
============================================

Chen et al. (2018) split the KL divergence of a VAE into three parts, penalize one of them, the
total correlation of the codes (TC), and measure the outcome by a score of their own, MIG. This
study repeats their experiments and checks their claims, all by one rule:

    A claim is a difference, which it says is above zero. The 90 % interval of the difference, a
    bootstrap over seeds, is above zero: HOLDS. Below zero: FAILS. Else: NOT DECIDED.

The paper estimates the densities by minibatch weighted sampling (MWS, its equation 3). Other code,
and a former version of this study, trained with minibatch stratified sampling (MSS). Both are
here, as two models. Every claim on dSprites is also judged with MSS in place of MWS, with MIG of
binned codes in place of MIG of posteriors, with one active latent fewer being enough, and in larger
images: where the outcome is another one, and the difference too by more than chance, the reason is
the estimator, the definition, what counts as evidence, or the scale. A setting counts as evidence
only if it has five seeds, its models have as many active latents as there are factors and a MIG
above that of untrained models by two standard errors; curves leave out what is no evidence. The
rule is in `_total_correlation.py`.

- ELBO against MIG over beta (Figure 2), MIG over seeds (Figure 3), TC against MIG (Figure 4), of
  dSprites and of heads. Beta alone moves both TC and MIG, so that the last is taken over beta, as
  in the paper, and over seeds within beta;
- the same in images of twice the side, at three weights: there a beta weighs a quarter, beside a
  reconstruction that is a sum over four times the pixels. What comes out otherwise is the scale;
- joint distributions A to D of azimuth and elevation of a head (Figure 5), InfoGAN included;
- two ablations: no penalty on the index-code mutual information, a flow as prior;
- traversals of the best models side by side, as in Figures 1 and 6; Table 2;
- UDR, which ranks the same models without labels (Duan et al., 2020).

Weights for the comparison over seeds are chosen by the first half of the seeds and judged by the
second. Models are scored on the images they are trained on, as in the paper; shape and identity
are not factors.

Run ``python study_total_correlation.py``: an ellipse and a head of 16 x 16 pixels, small networks,
minutes on two free cores. ``--full`` has 46,080 images of dSprites and 63,525 of heads, all
rendered at 32 pixels: 21 settings and 7 with ten seeds, 7 with ten at 64 pixels, for the joints 16
with twenty and 20, at other weights, with ten. To take about six hours of one core, it has narrower
networks than the paper (8, 16 and 32 channels; three layers of 128 units in FactorVAE's
discriminator instead of six of 1,000), five epochs (three of the heads), and a rate that falls
along half a cosine; the joints have a small MLP, as the paper's VAEs do, since there are only 231
different images of a head. Settings were chosen on seeds 100 and 101, which are not among those
that are judged; what was tried of the rate is in ``rates.csv``. ``--minutes`` ends a run in time,
the next one goes on, and ``--minutes 0`` writes the summary of what there is. The paper's own size,
737,280 images of 64 pixels, 50 epochs and 40 seeds, is thousands of times that.
"""

import textwrap
import warnings
from functools import partial
from time import process_time
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from _study import Study, remembered, shrink
from _total_correlation import (
    ABLATIONS,
    BINNED,
    EXACT,
    FACTOR,
    GAN,
    JOINTS,
    MSS,
    MWS,
    NAMES,
    UNTRAINED,
    VAE,
    Table,
    chosen_weight,
    claims_of,
)

from sklearn_disent.datasets import make_dsprites, make_faces3d_like
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import ScoreDistributionDisplay, TraversalDisplay
from sklearn_disent.metrics import elbo_decomposition, mig_score, posterior_mig_score, udr_score
from sklearn_disent.model_selection import sample_dependent
from sklearn_disent.models import BetaTCVAE, BetaVAE, CosineSchedule, FactorVAE, InfoGAN

N_CODES_KEPT = 1000  # images whose codes are kept for UDR, and show whether all latents are dead
MOST_RESTARTS = 3

SMALL = {
    "sprites": {"shape": [1], "orientation": [0], "posX": range(0, 32, 2), "posY": range(8, 24, 2)},
    "n_pixels": 16,
    "heads": {"identity": [0], "azimuth": range(0, 21, 2), "lighting": [3, 7]},
    "head": {"identity": [0], "lighting": [5]},
    "net": {
        "n_components": 5,
        "architecture": "mlp",
        "module__hidden_sizes": [128, 128],
        "module__init": "he",
        "batch_size": 64,
        "max_epochs": 100,
        "lr": [3e-3, 3e-3],
    },
    "seeds": 6,
    "betas": [1.0, 2.0, 4.0],
    "ablation_beta": 4.0,
    "gammas": [5.0],
    "large_pixels": 32,
    "large_net": {},
    "large_seeds": 5,
    "large_betas": [1.0, 4.0],
    "heads_seeds": 5,
    "heads_epochs": 100,
    "heads_betas": [1.0, 4.0],
    "discriminator": {"discriminator__hidden_sizes": [64, 64, 64], "discriminator_lr": 1e-3},
    "infogan": {"coefficient": 0.3, "discriminator_lr": 1e-3, "module__channels": [16, 32],
                "module__hidden_sizes": [128, 64], "batch_size": 32, "max_epochs": 30},
    "joint_net": {
        "n_components": 5,
        "architecture": "mlp",
        "module__hidden_sizes": [128, 128],
        "module__init": "he",
        "batch_size": 64,
        "max_epochs": 100,
        "lr": [3e-3, 3e-3],
    },
    "joint_seeds": 6,
    "joint_draws": 512,
    "joint_betas": {VAE: [2.0, 4.0], MWS: [4.0, 2.0]},
    "other_seeds": 6,
    "elbo_draws": 2000,
    "elbo_images": 2000,
    "rates": [],
    "rate_seeds": [],
}  # fmt: skip
FULL = {
    "sprites": {"orientation": range(0, 40, 4), "posX": range(0, 32, 2), "posY": range(0, 32, 2)},
    "n_pixels": 32,
    "heads": {"identity": range(0, 50, 2)},
    "head": {"identity": [0], "lighting": [5]},
    "net": {
        "n_components": 10,
        "architecture": "burgess",
        "module__channels": [8, 16, 32],
        "module__hidden_sizes": [128],
        "module__init": "he",
        "batch_size": 64,
        "max_epochs": 5,
        "lr": [1e-2, 1e-4],
    },
    "seeds": 10,
    "betas": [1.0, 2.0, 3.0, 4.0, 6.0],
    "ablation_beta": 4.0,
    "gammas": [5.0, 10.0, 40.0],
    "large_pixels": 64,
    "large_net": {"module__channels": [8, 16, 32, 32], "lr": [5e-3, 1e-4]},
    "large_seeds": 10,
    "large_betas": [1.0, 4.0, 6.0],
    "heads_seeds": 10,
    "heads_epochs": 3,
    "heads_betas": [1.0, 4.0, 6.0],
    "discriminator": {"discriminator__hidden_sizes": [128, 128, 128], "discriminator_lr": 1e-3},
    "infogan": {"coefficient": 0.3, "discriminator_lr": 1e-3, "module__channels": [16, 32, 64],
                "module__hidden_sizes": [128, 64], "batch_size": 32, "max_epochs": 4},
    "joint_net": {
        "n_components": 10,
        "architecture": "mlp",
        "module__hidden_sizes": [128, 128],
        "module__init": "he",
        "batch_size": 64,
        "max_epochs": 20,
        "lr": [2e-3, 1e-4],
    },
    "joint_seeds": 20,
    "joint_draws": 10_000,
    "joint_betas": {VAE: [4.0, 1.0, 2.0], MWS: [6.0, 1.0, 2.0, 4.0]},  # the first as in the paper
    "other_seeds": 10,
    "elbo_draws": 4000,
    "elbo_images": 8000,
    "rates": [2e-3, 5e-3, 1e-2],  # that the one of "net" and of "large_net" is chosen from
    "rate_seeds": [100, 101],
}  # fmt: skip

# %%
# Data.


@remembered
def load(make, factors, n_pixels):
    """Images, the factors that vary, and their names; shape and identity are noise."""
    size = max(32, n_pixels)
    data = make(factors=dict(factors), image_size=size, random_state=0)
    images = data.images[..., 0] if data.images.ndim == 4 else data.images
    images = images / np.float32(255 if images.max() > 1 else 1)
    if n_pixels < size:
        images = shrink(images, size // n_pixels)
    names = list(data.factor_names)
    noise = ("shape", "identity")
    varied = np.ptp(data.target, axis=0) > 0
    kept = [i for i, name in enumerate(names) if varied[i] and name not in noise]
    return images.astype(np.float32), data.target[:, kept], [names[i] for i in kept]


def data_of(settings, part):
    make, subset = {
        "sweep": (make_dsprites, "sprites"),
        "large": (make_dsprites, "sprites"),
        "heads": (make_faces3d_like, "heads"),
        "joints": (make_faces3d_like, "head"),
    }[part]
    factors = tuple((name, tuple(values)) for name, values in settings[subset].items())
    return load(make, factors, settings["large_pixels" if part == "large" else "n_pixels"])


# %%
# One cell is one model: its name, its weight, a seed and, for Figure 5, a joint distribution.


def make_model(settings, part, model, weight, seed, n_rows):
    """A model; the rate falls along half a cosine, over all steps of `n_rows` rows."""
    net = settings["joint_net" if part == "joints" else "net"] | {"random_state": seed}
    if part == "large":
        net |= settings["large_net"]
    if part == "heads":
        net["max_epochs"] = settings["heads_epochs"]
    if model == UNTRAINED:
        return BetaVAE(**net | {"max_epochs": 0, "lr": 1e-3})
    if model == GAN:
        kept = {name: net[name] for name in ("max_epochs", "random_state")}
        return InfoGAN(5, n_noise=5, **{**kept, **settings["infogan"]})
    if model == FACTOR:  # twice the iterations, as in the paper
        net["max_epochs"] *= 2
    n_steps = net["max_epochs"] * -(-n_rows // net["batch_size"])
    net["lr"] = CosineSchedule(*net["lr"], n_steps=n_steps)
    if model == VAE:
        return BetaVAE(**net, beta=weight)
    if model == FACTOR:
        return FactorVAE(**net, gamma=weight, **settings["discriminator"])
    options = {"alpha": 0.0} if model.endswith("alpha = 0") else {}
    options |= {"prior": "factorized_flow"} if model.endswith("flow prior") else {}
    return BetaTCVAE(**net, beta=weight, estimator="mss" if model == MSS else "mws", **options)


def trained(settings, part, model, weight, seed, X):
    """A fitted model, and how often it was begun anew.

    Some models lose all their latents in the first epoch, at the high rate, and then decode the
    mean image: that is a failure of the optimizer, which says nothing about an objective. They get
    another initialization. A model that a penalty has emptied fails again, and stays as it is.
    """
    for restarts in range(MOST_RESTARTS + 1):
        net = make_model(settings, part, model, weight, seed + 1000 * restarts, len(X)).fit(X)
        if model == UNTRAINED or is_active(net.transform(X[:N_CODES_KEPT])).any():
            break
    return net, restarts


def is_active(codes):
    return codes.var(axis=0, dtype=float) > 0.01


def measure(settings, folder, part, model, weight, seed, joint):
    """Rows of one cell: a score each, and the seconds of the processor that it took."""
    silenced()
    X, y, _ = data_of(settings, part)
    start = process_time()
    rows = np.arange(len(X))
    if joint in JOINTS:
        rows = sample_dependent(y, [(0, 1)], settings["joint_draws"], kind=joint, random_state=seed)
    net, restarts = trained(settings, part, model, weight, seed, X[rows])
    scores = {"fit_seconds": round(process_time() - start, 1), "restarts": restarts}
    scores |= scores_of(settings, net, X, y, with_elbo=part != "joints" and model != UNTRAINED)
    if part == "sweep" and model != UNTRAINED:
        kept = net.transform(X[:N_CODES_KEPT]).astype(np.float16)
        np.save(codes_path(folder, model, weight, seed), kept)
    scores["seconds"] = round(process_time() - start, 1)
    return [{"score": name, "value": value} for name, value in scores.items()]


def measure_rate(settings, part, rate, seed):
    """Scores of TC at the highest beta with another rate at the start, on seeds of its own."""
    silenced()
    X, y, _ = data_of(settings, part)
    net, large_net = settings["net"], settings["large_net"]
    lr = {"lr": [rate, net["lr"][1]]}
    changed = settings | {"net": net | lr, "large_net": large_net | lr}
    model, restarts = trained(changed, part, MWS, settings["betas"][-1], seed, X)
    return [{**scores_of(settings, model, X, y, with_elbo=True), "restarts": restarts}]


def rate_cells(settings):
    return [
        {"part": part, "rate": rate, "seed": seed}
        for seed in settings["rate_seeds"]
        for part in ("sweep", "large")
        for rate in settings["rates"]
    ]


def silenced():
    """One thread, as their number may change the last bits; dead latents are counted."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", TrainingWarning)
    warnings.simplefilter("ignore", DegenerateScoreWarning)


def codes_path(folder, model, weight, seed):
    return folder / f"codes_{model}_{weight:g}_{seed}.npy"


def measure_udr(settings, folder, model, weight):
    """UDR of the models of one setting, all seeds; collapsed latents are left out."""
    codes = [np.load(codes_path(folder, model, weight, n)) for n in range(settings["seeds"])]
    active = [z[:, is_active(z)].astype(float) for z in codes]
    return [{"seed": seed, "udr": value} for seed, value in enumerate(udr_score(active))]


def udr_of(study):
    """(model, weight): mean UDR, of the settings that have all their seeds."""
    cells = [
        {"model": model, "weight": weight}
        for model, weight in trained_settings(study.settings)
        if all(codes_path(study.folder, model, weight, n).exists() for n in range(study["seeds"]))
    ]
    measured = partial(measure_udr, study.settings, study.folder)
    frame = study.parallel_rows("udr", cells, measured)
    return frame.groupby(["model", "weight"], sort=False)["udr"].mean() if len(frame) else {}


def scores_of(settings, net, X, y, with_elbo):
    """MIG twice, active latents and, on request, the ELBO and its terms."""
    mean, log_var = net.posterior(X)
    stored = SimpleNamespace(posterior=lambda _: (mean, log_var))  # images are encoded once
    scores = {BINNED: mig_score(y, mean), EXACT: posterior_mig_score(stored, X, y)}
    scores["active"] = float(is_active(mean).sum())
    if with_elbo:
        stored.elbo_terms = lambda X: np.zeros((2, len(X)))  # the bound's, not those of the codes
        terms = elbo_decomposition(stored, X, n_samples=settings["elbo_draws"], random_state=0)
        scores |= {"mi": terms.index_code_mi, "tc": terms.total_correlation}
        # The same images for all models, so that what they have in common cancels in differences;
        # two draws of noise for each are enough for a mean.
        rows = np.random.RandomState(0).permutation(len(X))[: settings["elbo_images"]]
        log_likelihood, kl = net.elbo_terms(X[rows], n_draws=2)
        scores["elbo"] = float(np.mean(log_likelihood - kl))
    return scores


def trained_settings(settings):
    """Models and weights of the sweep, ablations aside."""
    sweep = [(model, beta) for model in (VAE, MWS, MSS) for beta in settings["betas"]]
    return sweep + [(FACTOR, gamma) for gamma in settings["gammas"]]


def cells_of(settings):
    """All cells, seed by seed: a run that ends early has fewer seeds of every setting."""
    null = (UNTRAINED, 0.0)
    ablations = [(model, settings["ablation_beta"]) for model in ABLATIONS]
    sweep = [*trained_settings(settings), *ablations, null]
    large, heads = (
        [(model, beta) for model in (VAE, MWS) for beta in settings[f"{part}_betas"]] + [null]
        for part in ("large", "heads")
    )
    betas = settings["joint_betas"]
    joints = [*((model, first) for model, (first, *_) in betas.items()), (GAN, 0.0), null]
    others = [(model, beta) for model, (_, *rest) in betas.items() for beta in rest]
    cells = []
    for seed in range(max(settings["seeds"], settings["joint_seeds"])):
        if seed < settings["seeds"]:
            cells += [("sweep", *pair, seed, "none") for pair in sweep]
        if seed < settings["heads_seeds"]:
            cells += [("heads", *pair, seed, "none") for pair in heads]
        if seed < settings["large_seeds"]:
            cells += [("large", *pair, seed, "none") for pair in large]
        if seed < settings["joint_seeds"]:
            cells += [("joints", *pair, seed, kind) for pair in joints for kind in JOINTS]
        if seed < settings["other_seeds"]:
            cells += [("joints", *pair, seed, kind) for pair in others for kind in JOINTS]
    return [dict(zip(("part", "model", "weight", "seed", "joint"), cell)) for cell in cells]


# %%
# Summary and figures.


def progress(cells, table):
    """How many models are there, and how long the others will take by the time of these."""
    seconds = table.frame["seconds"].groupby(level=["part", "model"])
    keys = ["part", "model"]
    missing = pd.DataFrame(cells).groupby(keys).size().sub(seconds.size(), fill_value=0)
    line = f"{len(table.frame)} of {len(cells)} models are there"
    if not missing.sum():
        return f"{line}; they took {table.frame['seconds'].sum() / 60:.0f} minutes of one core."
    costs = seconds.mean().reindex(missing.index)
    rest = (missing * costs.fillna(costs.mean())).sum() / 60
    return f"{line}; the others take about {rest:.0f} minutes of one core."


def means_of(table, part):
    """Means over seeds of all settings of a part, as text."""
    columns = {EXACT: "MIG", "sd": "sd", BINNED: "binned", "elbo": "ELBO", "mi": "I(z; n)"}
    columns |= {"tc": "TC", "active": "active", "restarts": "restarts"}
    keys = ["model", "weight", "joint"] if part == "joints" else ["model", "weight"]
    groups = table.frame.loc[part].groupby(level=keys, sort=False)
    means = groups.mean().assign(sd=groups[EXACT].std()).reindex(columns=list(columns))
    means = means.dropna(axis=1, how="all").rename(columns=columns).round(3)
    means["seeds"] = groups.size()
    weak = [table.objection(*setting[:2], part, *setting[2:]) for setting in means.index]
    means["evidence"] = ["no" if text else "yes" for text in weak]
    return means.reset_index().to_string(index=False)


def rate_lines(settings, rates):
    """Means over their seeds of the models that the rates were tried with."""
    if not len(rates):
        return []
    means = rates.groupby(["part", "rate"], sort=False)[
        ["elbo", EXACT, "active", "restarts"]
    ].mean()
    beta, seeds = settings["betas"][-1], ", ".join(map(str, settings["rate_seeds"]))
    return [
        f"\nRates tried for {MWS} at beta {beta:g}, means over the seeds {seeds}:",
        means.rename(columns={EXACT: "MIG", "elbo": "ELBO"}).round(3).reset_index()
        .replace({"part": NAMES}).to_string(index=False),
    ]  # fmt: skip


def write_summary(study, settings, table, rates, n_images):
    fill = partial(textwrap.fill, width=98)
    parts = {
        "sweep": "dSprites, means over seeds; weight is beta, or gamma of FactorVAE, sd is of MIG:",
        "large": f"dSprites in images of {settings['large_pixels']} pixels instead of "
        f"{settings['n_pixels']}:",
        "heads": "3D heads:",
        "joints": "Joints of azimuth and elevation:",
    }
    there = table.frame.index.unique("part")
    lines = [
        fill(
            f"{progress(cells_of(settings), table)} {n_images} images; a difference is followed by "
            "its 90 % interval. MIG is that of posteriors; binned, that of binned codes. Untrained "
            "models are the null."
        ),
        "\nTable 2, factors and their values:",
        *(f"  {name}: {sizes_of(settings, part)}" for name, part in
          (("dSprites", "sweep"), ("3D heads", "heads"))),
        *(f"\n{title}\n{means_of(table, part)}" for part, title in parts.items() if part in there),
        *rate_lines(settings, rates),
        "",
        *(
            fill(f"{i}. {text}", subsequent_indent="   ")
            for i, text in enumerate(claims_of(settings, table, udr_of(study)), 1)
        ),
    ]  # fmt: skip
    study.text(lines)


def sizes_of(settings, part):
    _, y, names = data_of(settings, part)
    return ", ".join(f"{n} ({len(np.unique(column))})" for n, column in zip(names, y.T))


def plot_curves(settings, table):
    """ELBO and total correlation against MIG, a row for each part; open where no evidence."""
    parts = {"sweep": (VAE, MWS, MSS), "large": (VAE, MWS), "heads": (VAE, MWS)}
    parts = {part: models for part, models in parts.items() if is_there(table, part, models)}
    labels = {"elbo": "ELBO (nats)", "tc": "total correlation (nats)"}
    size = {"figsize": (10, 3.6 * len(parts)), "layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(len(parts), 2, **size)
    for (part, models), row in zip(parts.items(), axes):
        betas = settings["betas" if part == "sweep" else f"{part}_betas"]
        for ax, score in zip(row, labels):
            for model in models:
                curve = table.curve([score, EXACT], model, betas, part)
                mean, std = curve.mean(axis=0), curve.std(axis=0)
                bars = {"yerr": std[1], "xerr": std[0], "marker": "o", "capsize": 2}
                line = ax.errorbar(*mean, **bars, label=model).lines[0]
                weak = [bool(table.objection(model, beta, part)) for beta in betas]
                ax.scatter(*mean[:, weak], color="white", edgecolor=line.get_color(), zorder=3)
                for x, y, beta in zip(*mean, betas):
                    ax.annotate(f"{beta:g}", (x, y), (4, 4), textcoords="offset points")
            ax.set(xlabel=labels[score], ylabel="MIG", title=NAMES[part])
        row[0].legend()
    return figure


def plot_distributions(settings, table):
    """MIG over seeds, each model at the weight that its first half of the seeds chooses."""

    def label(model, weight, part, joint="none"):
        weak = table.objection(model, weight, part, joint)
        return f"{model}{f', {weight:g}' if weight else ''}{' (no evidence)' if weak else ''}"

    betas, large, heads = (settings[name] for name in ("betas", "large_betas", "heads_betas"))
    weights = {
        "sweep": {VAE: betas, MWS: betas, MSS: betas, FACTOR: settings["gammas"]},
        "large": {VAE: large, MWS: large},
        "heads": {VAE: heads, MWS: heads},
    }
    panels = {}
    for part, models in weights.items():
        if not is_there(table, part, models):
            continue
        chosen = {m: chosen_weight(table, m, choices, EXACT, part) for m, choices in models.items()}
        panels[NAMES[part]] = {
            label(model, weight, part): table.seeds(EXACT, model, weight, part)
            for model, weight in chosen.items()
        }
    joint = {model: first for model, (first, *_) in settings["joint_betas"].items()} | {GAN: 0.0}
    for kind in JOINTS:
        panels[f"joint {kind}"] = {
            label(model, weight, "joints", kind): table.seeds(EXACT, model, weight, "joints", kind)
            for model, weight in joint.items()
        }
    panels = {title: {m: s for m, s in pools.items() if len(s)} for title, pools in panels.items()}
    panels = {title: pools for title, pools in panels.items() if pools}
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.2 * len(panels), 5), sharey=True, layout="constrained"
    )
    for ax, (title, pools) in zip(axes, panels.items()):
        ScoreDistributionDisplay(pools, label="MIG").plot(ax)
        ax.set_title(title, fontsize=10)
        ax.tick_params(axis="x", labelrotation=90)
    return figure


def is_there(table, part, models):
    parts = table.frame.index.unique("part")
    return part in parts and set(models) <= set(table.frame.loc[part].index.unique("model"))


def plot_traversals(settings, table):
    """Models of the highest MIG, which are trained again, side by side."""
    X, y, names = data_of(settings, "sweep")
    models = {}
    for model in (VAE, MWS):
        best = table.frame[EXACT].loc["sweep", model].idxmax()
        title = f"{model} at {best[0]:g}, seed {best[2]}"
        models[title], _ = trained(settings, "sweep", model, best[0], best[2], X)
    displays = TraversalDisplay.from_estimators(
        models, X, y, factor_names=names, n_steps=7, cmap="gray_r"
    )
    return next(iter(displays.values())).figure_


def main():
    silenced()
    study = Study("total_correlation", __doc__, SMALL, FULL)
    settings = study.settings
    cells = cells_of(settings)
    frame = study.parallel_rows("scores", cells, partial(measure, settings, study.folder))
    rates = study.parallel_rows("rates", rate_cells(settings), partial(measure_rate, settings))
    if not len(frame):
        study.text([f"None of {len(cells)} models is there yet."])
        return
    X, y, _ = data_of(settings, "sweep")
    table = Table(frame, y.shape[1])
    if is_there(table, "sweep", (VAE, MWS, MSS, UNTRAINED)):
        study.figure("sweep", plot_curves(settings, table))
        study.figure("distributions", plot_distributions(settings, table))
        if len(table.frame) == len(cells) or not (study.folder / "traversals.png").exists():
            study.figure("traversals", plot_traversals(settings, table))
    write_summary(study, settings, table, rates, len(X))


if __name__ == "__main__":
    main()
