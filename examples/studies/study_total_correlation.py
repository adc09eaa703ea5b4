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
here, as two models. Every claim is also judged with MSS in place of MWS, and with MIG of binned
codes in place of MIG of posteriors: where that changes the outcome, the reason is the estimator or
the definition. A setting counts as evidence only if it has five seeds, its models have as many
active latents as there are factors (or 4) and a MIG above that of untrained models by two standard
errors.

- ELBO against MIG over beta (Figure 2); MIG over seeds (Figure 3); TC against MIG (Figure 4),
  within each beta, since beta alone moves both;
- joint distributions A to D of azimuth and elevation of a head (Figure 5), InfoGAN included;
- two ablations: no penalty on the index-code mutual information, a flow as prior;
- traversals of the best models side by side, as in Figures 1 and 6; Table 2;
- UDR, which ranks the same models without labels (Duan et al., 2020).

Weights for the comparison over seeds are chosen by the first half of the seeds and judged by the
second. Models are scored on the images they are trained on, as in the paper; the shape is not a
factor.

Run ``python study_total_correlation.py``: an ellipse of 16 x 16 pixels, small networks, minutes
on two free cores. ``--full`` has 46,080 images of dSprites at 32 pixels (rendered), 20 settings
with ten seeds and, for the joints, 12 with twenty. To take about five hours of one core, it has
narrower networks than the paper (8, 16 and 32 channels; three layers of 128 units in FactorVAE's
discriminator instead of six of 1,000), four epochs, 184,320 images, and a rate that falls along
half a cosine; the joints have a small MLP, as the paper's VAEs do, since there are only 231
different images of a head. These settings were chosen on seed 100, which is not among those that
are judged. ``--minutes`` ends a run in time, the next one goes on, and ``--minutes 0`` writes the
summary of what there is. The paper's own size, 737,280 images of 64 pixels, 50 epochs and 40 seeds,
is thousands of times that.
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
from _study import UNDECIDED, Difference, Study, bootstrap, remembered, shrink
from scipy.stats import spearmanr

from sklearn_disent.datasets import make_dsprites, make_faces3d_like
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import ScoreDistributionDisplay, TraversalDisplay
from sklearn_disent.metrics import elbo_decomposition, mig_score, posterior_mig_score, udr_score
from sklearn_disent.model_selection import sample_dependent
from sklearn_disent.models import BetaTCVAE, BetaVAE, CosineSchedule, FactorVAE, InfoGAN

JOINTS = "ABCD"
EXACT, BINNED = "posterior_mig", "mig"
VAE, MWS, MSS, FACTOR, GAN = "BetaVAE", "TC by MWS", "TC by MSS", "FactorVAE", "InfoGAN"
ABLATIONS = ("TC by MWS, alpha = 0", "TC by MWS, flow prior")
LEAST_SEEDS = 5  # bootstraps over fewer are too narrow
MARGIN = 0.05  # of MIG: smaller differences count as none
N_CODES_KEPT = 1000  # images whose codes are kept for UDR

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
    "joint_betas": [2.0, 4.0],
    "elbo_draws": 2000,
    "elbo_images": 2000,
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
    "joint_betas": [4.0, 6.0],
    "elbo_draws": 4000,
    "elbo_images": 8000,
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
        "heads": (make_faces3d_like, "heads"),
        "joints": (make_faces3d_like, "head"),
    }[part]
    factors = tuple((name, tuple(values)) for name, values in settings[subset].items())
    return load(make, factors, settings["n_pixels"])


# %%
# One cell is one model: its name, its weight, a seed and, for Figure 5, a joint distribution.


def make_model(settings, part, model, weight, seed, n_rows):
    """A model; the rate falls along half a cosine, over all steps of `n_rows` rows."""
    net = settings["joint_net" if part == "joints" else "net"] | {"random_state": seed}
    if part == "heads":
        net["max_epochs"] = settings["heads_epochs"]
    if model == "untrained":
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


def measure(settings, folder, part, model, weight, seed, joint):
    """Rows of one cell: a score each, and the seconds of the processor that it took."""
    torch.set_num_threads(1)  # the number of threads may change the last bits
    warnings.simplefilter("ignore", TrainingWarning)  # dead latents are counted below
    warnings.simplefilter("ignore", DegenerateScoreWarning)
    X, y, _ = data_of(settings, part)
    start = process_time()
    rows = np.arange(len(X))
    if joint in JOINTS:
        rows = sample_dependent(y, [(0, 1)], settings["joint_draws"], kind=joint, random_state=seed)
    net = make_model(settings, part, model, weight, seed, len(rows)).fit(X[rows])
    scores = {"fit_seconds": round(process_time() - start, 1)}
    scores |= scores_of(settings, net, X, y, with_elbo=part != "joints" and model != "untrained")
    if part == "sweep" and model != "untrained":
        kept = net.transform(X[:N_CODES_KEPT]).astype(np.float16)
        np.save(folder / f"codes_{model}_{weight:g}_{seed}.npy", kept)
    scores["seconds"] = round(process_time() - start, 1)
    return [{"score": name, "value": value} for name, value in scores.items()]


def scores_of(settings, net, X, y, with_elbo):
    """MIG twice, active latents and, on request, the ELBO and its terms."""
    mean, log_var = net.posterior(X)
    stored = SimpleNamespace(posterior=lambda _: (mean, log_var))  # images are encoded once
    scores = {BINNED: mig_score(y, mean), EXACT: posterior_mig_score(stored, X, y)}
    scores["active"] = float((mean.var(axis=0) > 0.01).sum())
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


def cells_of(settings):
    """All cells, seed by seed: a run that ends early has fewer seeds of every setting."""
    betas, first = settings["betas"], settings["joint_betas"]
    sweep = [(model, beta) for model in (VAE, MWS, MSS) for beta in betas]
    sweep += [(FACTOR, gamma) for gamma in settings["gammas"]]
    sweep += [(model, settings["ablation_beta"]) for model in ABLATIONS] + [("untrained", 0.0)]
    heads = [(model, beta) for model in (VAE, MWS) for beta in settings["heads_betas"]]
    heads += [("untrained", 0.0)]
    joints = [(VAE, first[0]), (MWS, first[1]), (GAN, 0.0), ("untrained", 0.0)]
    cells = []
    for seed in range(max(settings["seeds"], settings["joint_seeds"])):
        if seed < settings["seeds"]:
            cells += [("sweep", *pair, seed, "none") for pair in sweep]
        if seed < settings["heads_seeds"]:
            cells += [("heads", *pair, seed, "none") for pair in heads]
        if seed < settings["joint_seeds"]:
            cells += [("joints", *pair, seed, kind) for pair in joints for kind in JOINTS]
    return [dict(zip(("part", "model", "weight", "seed", "joint"), cell)) for cell in cells]


# %%
# From the table to claims.


class Table:
    """Scores by setting; of the settings, which are evidence."""

    def __init__(self, frame, n_factors):
        index = ["part", "model", "weight", "joint", "seed"]
        self.frame = frame.pivot_table(index=index, columns="score", values="value")
        self.least_active = min(4, n_factors)

    def seeds(self, score, model, weight, part="sweep", joint="none"):
        """(n_seeds,) of one setting."""
        try:
            return self.frame[score].loc[part, model, weight, joint].to_numpy()
        except KeyError:
            return np.zeros(0)

    def curve(self, scores, model, weights):
        """(n_seeds, n_scores, n_weights), of the seeds that all weights have."""
        columns = [[self.seeds(score, model, weight) for weight in weights] for score in scores]
        n_seeds = min(len(column) for row in columns for column in row)
        return np.array([[column[:n_seeds] for column in row] for row in columns]).transpose(
            2, 0, 1
        )

    def objection(self, model, weight, part="sweep", joint="none"):
        """Why a setting is not evidence; empty if it is."""
        active = self.seeds("active", model, weight, part, joint)
        if len(active) < LEAST_SEEDS:
            return f"{model} at {weight:g} has {len(active)} seeds"
        if active.mean() < (self.least_active if part == "sweep" else 2):
            return f"{model} at {weight:g} has {active.mean():.1f} active latents"
        scores = self.seeds(EXACT, model, weight, part, joint)
        null = self.seeds(EXACT, "untrained", 0.0, part, joint)
        if len(null) < LEAST_SEEDS:
            return f"there are {len(null)} untrained models"
        error = np.sqrt(scores.var(ddof=1) / len(scores) + null.var(ddof=1) / len(null))
        if scores.mean() - null.mean() < 2 * error:
            return f"{model} at {weight:g} is not above untrained models"
        return ""


def gap_at_equal(first, second):
    """Mean difference of the second score where mean curves agree in the first score."""
    (x1, y1), (x2, y2) = (curve.mean(axis=0) for curve in (first, second))
    low, high = max(x1.min(), x2.min()), min(x1.max(), x2.max())
    at = np.linspace(low, high, 101)
    o1, o2 = np.argsort(x1), np.argsort(x2)
    gap = np.interp(at, x2[o2], y2[o2]) - np.interp(at, x1[o1], y1[o1])
    return gap.mean() if low < high else np.nan


def mean_gap(first, second):
    return second.mean() - first.mean()


def median_gap(first, second):
    return np.median(second) - np.median(first)


def within_beta(curve):
    """Correlation of TC and MIG over seeds, within beta: what beta does to both is taken away."""
    tc, mig = (curve - curve.mean(axis=0)).transpose(1, 0, 2).reshape(2, -1)
    return np.corrcoef(tc, mig)[0, 1]


def claim(text, statistic, table=None, settings=()):
    """A claim with its outcome under every reading; `statistic(tc, mig)` is a Difference."""
    objections = [o for o in (table.objection(*setting) for setting in settings) if o]
    found = {
        reading: statistic(*reading) for reading in ((MWS, EXACT), (MSS, EXACT), (MWS, BINNED))
    }
    own = found[MWS, EXACT]
    outcome = own.outcome()
    if objections:
        return f"{text}: {UNDECIDED}, no evidence: {'; '.join(objections)}. {own}."
    others = {
        "with MSS": found[MSS, EXACT],
        "with MIG of binned codes": found[MWS, BINNED],
    }
    line = f"{text}: {outcome}. {own}; "
    line += "; ".join(f"{name} {other.outcome()}, {other}" for name, other in others.items())
    if outcome == "HOLDS":
        return line + "."
    turned = [name for name, other in others.items() if other.outcome() != outcome]
    reason = f"the outcome changes {' and '.join(turned)}" if turned else "neither changes it"
    return f"{line}. Reason: {reason}{'' if turned else ', so scale or the paper'}."


def claims_of(settings, table):
    betas, seeds = settings["betas"], table.seeds
    above = [beta for beta in betas if beta > 1]
    last = betas[-1]

    def curves(tc, *scores, weights=betas):
        return [table.curve(scores, model, weights) for model in (VAE, tc)]

    claims = [
        claim(
            "At equal ELBO, TC has the higher MIG (Figure 2)",
            lambda tc, mig: bootstrap(gap_at_equal, *curves(tc, "elbo", mig)),
            table, [(VAE, above[0]), (MWS, above[0])],
        ),
        claim(
            "With growing beta, TC keeps the better model of the data (Figure 2), ELBO in nats",
            lambda tc, _: bootstrap(mean_gap, *curves(tc, "elbo", weights=above)),
            table, [(MWS, above[0])],
        ),
        claim(
            f"At a high beta, {last:g}, TC has the higher MIG (Figure 2)",
            lambda tc, mig: bootstrap(mean_gap, seeds(mig, VAE, last), seeds(mig, tc, last)),
            table, [(MWS, last)],
        ),
        *claims_on_seeds(settings, table),
        claim(
            "In TC, lower total correlation goes with higher MIG (Figure 4); minus the correlation "
            "over seeds within beta",
            lambda tc, mig: bootstrap(lambda c: -within_beta(c), curves(tc, "tc", mig)[1]),
            table, [(MWS, above[0])],
        ),
        claim(
            "This is stronger in TC than in BetaVAE (Figure 4); difference of these correlations",
            lambda tc, mig: bootstrap(
                lambda vae, c: within_beta(vae) - within_beta(c), *curves(tc, "tc", mig)
            ),
            table, [(VAE, above[0]), (MWS, above[0])],
        ),
        claim(
            "At equal total correlation, TC has the higher MIG (Figure 4)",
            lambda tc, mig: bootstrap(gap_at_equal, *curves(tc, "tc", mig)),
            table, [(VAE, above[0]), (MWS, above[0])],
        ),
        *claims_on_joints(settings, table),
    ]  # fmt: skip
    beta = settings["ablation_beta"]
    for model in ABLATIONS:
        gap = bootstrap(mean_gap, seeds(EXACT, MWS, beta), seeds(EXACT, model, beta))
        weak = table.objection(MWS, beta) or table.objection(model, beta)
        outcome = f"{UNDECIDED}, no evidence: {weak}" if weak else gap.within(MARGIN)
        claims.append(
            f"{model} does not differ from TC by MWS at beta {beta:g} by {MARGIN} of MIG or more: "
            f"{outcome}. {gap}."
        )
    gap = bootstrap(mean_gap, *(table.curve([EXACT], model, above) for model in (MSS, MWS)))
    weak = table.objection(MWS, above[0]) or table.objection(MSS, above[0])
    outcome = f"{UNDECIDED}, no evidence: {weak}" if weak else gap.outcome()
    claims.append(
        "TC by MWS has a higher MIG than TC by MSS, mean over beta > 1 (not a claim of the "
        f"paper): {outcome}. {gap}."
    )
    return [*claims, claim_on_udr(settings, table)]


def claims_on_seeds(settings, table):
    """Weights are chosen by the first half of the seeds, judged by the second."""

    def best(model, weights, mig):
        of_each = {w: table.seeds(mig, model, w) for w in weights}
        half = min(map(len, of_each.values())) // 2
        weight = max(of_each, key=lambda w: of_each[w][:half].sum())
        return of_each[weight][half:]

    rivals = {VAE: settings["betas"], FACTOR: settings["gammas"]}
    return [
        claim(
            f"Over seeds, the median MIG of TC is above that of {rival} (Figure 3)",
            lambda tc, mig, rival=rival, weights=weights: bootstrap(
                median_gap, best(rival, weights, mig), best(tc, settings["betas"], mig)
            ),
            table, [(MWS, settings["betas"][1]), (rival, weights[-1])],
        )
        for rival, weights in rivals.items()
    ]  # fmt: skip


def claims_on_joints(settings, table):
    """TC by MWS only, as there are no joints with MSS."""
    weights = {VAE: settings["joint_betas"][0], MWS: settings["joint_betas"][1], GAN: 0.0}

    def seeds(model, kind, mig=EXACT):
        return table.seeds(mig, model, weights[model], "joints", kind)

    lines = []
    for rival in (VAE, GAN):
        gaps = {k: bootstrap(median_gap, seeds(rival, k), seeds(MWS, k)) for k in JOINTS}
        found = outcomes(table, gaps, weights, (MWS, rival))
        lines.append(f"TC is above {rival} on joint {found} (Figure 5).")
    gaps = {k: bootstrap(median_gap, seeds(MWS, k), seeds(MWS, "A")) for k in "BCD"}
    text = "Uneven or dependent sampling lowers the MIG of TC, A minus"
    return [*lines, f"{text} {outcomes(table, gaps, weights, (MWS,))} (Figure 5)."]


def outcomes(table, gaps: dict[str, Difference], weights, models):
    """Outcome on each joint; not decided if one of the models is not evidence there."""
    parts = []
    for kind, gap in gaps.items():
        weak = [table.objection(model, weights[model], "joints", kind) for model in models]
        why = "; ".join(text for text in weak if text)
        parts.append(f"{kind}: {f'{UNDECIDED}, {why}' if why else gap.outcome()} {gap}")
    return ", ".join(parts)


def claim_on_udr(settings, table):
    pairs = [(model, beta) for model in (VAE, MWS, MSS) for beta in settings["betas"]]
    pairs += [(FACTOR, gamma) for gamma in settings["gammas"]]
    points = []
    for model, weight in pairs:
        files = sorted(settings["folder"].glob(f"codes_{model}_{weight:g}_*.npy"))
        if len(files) > 1:
            agreement = np.mean(udr_score([np.load(file).astype(float) for file in files]))
            points.append((agreement, table.seeds(EXACT, model, weight).mean()))
    udr = bootstrap(lambda p: spearmanr(p).statistic, points)
    return (
        "UDR, without labels, ranks settings as MIG does, rank correlation over "
        f"{len(points)} settings (not a claim of the paper): {udr.outcome()}. {udr}."
    )


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


def write_summary(study, settings, table, n_images):
    columns = {EXACT: "MIG", BINNED: "binned", "elbo": "ELBO", "mi": "I(z; n)", "tc": "TC"}
    columns |= {"active": "active"}
    sweep = table.frame.loc["sweep"].groupby(level=["model", "weight"], sort=False)
    means = sweep.mean().reindex(columns=list(columns)).rename(columns=columns).round(3)
    means["seeds"] = sweep.size()
    means["evidence"] = ["no" if table.objection(*setting) else "yes" for setting in means.index]
    fill = partial(textwrap.fill, width=98)
    lines = [
        fill(
            f"{progress(cells_of(settings), table)} {n_images} images; a difference is followed by "
            "its 90 % interval. MIG is that of posteriors; binned, that of binned codes. Untrained "
            "models are the null."
        ),
        "\nTable 2, factors and their values:",
        *(f"  {name}: {sizes_of(settings, part)}" for name, part in
          (("dSprites", "sweep"), ("3D heads", "joints"))),
        "\nMeans over seeds (weight is beta, or gamma of FactorVAE):",
        means.reset_index().to_string(index=False) + "\n",
        *(
            fill(f"{i}. {text}", subsequent_indent="   ")
            for i, text in enumerate(claims_of(settings, table), 1)
        ),
    ]  # fmt: skip
    study.text(lines)


def sizes_of(settings, part):
    _, y, names = data_of(settings, part)
    return ", ".join(f"{n} ({len(np.unique(column))})" for n, column in zip(names, y.T))


def plot_curves(settings, table):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    labels = {"elbo": "ELBO (nats)", "tc": "total correlation (nats)"}
    for ax, score in zip(axes, labels):
        for model in (VAE, MWS, MSS):
            curve = table.curve([score, EXACT], model, settings["betas"])
            mean, std = curve.mean(axis=0), curve.std(axis=0)
            ax.errorbar(*mean, yerr=std[1], xerr=std[0], marker="o", capsize=2, label=model)
        ax.set(xlabel=labels[score], ylabel="MIG")
    axes[0].legend()
    return figure


def plot_distributions(settings, table):
    figure, axes = plt.subplots(1, 5, figsize=(14, 4), sharey=True, layout="constrained")
    betas, gammas = settings["betas"], settings["gammas"]
    pools = {model: table.seeds(EXACT, model, betas[-1]) for model in (VAE, MWS, MSS)}
    pools[FACTOR] = table.seeds(EXACT, FACTOR, gammas[-1])
    joint = {VAE: settings["joint_betas"][0], MWS: settings["joint_betas"][1], GAN: 0.0}
    panels = {f"beta = {betas[-1]:g}, gamma = {gammas[-1]:g}": pools}
    for kind in JOINTS:
        panels[f"joint {kind}"] = {
            model: table.seeds(EXACT, model, weight, "joints", kind)
            for model, weight in joint.items()
        }
    for ax, (title, pool) in zip(axes, panels.items()):
        ScoreDistributionDisplay(pool, label="MIG").plot(ax)
        ax.set_title(title, fontsize=10)
        ax.tick_params(axis="x", labelrotation=30)
    return figure


def plot_traversals(settings, table):
    """Models of the highest MIG, which are trained again, side by side."""
    X, y, names = data_of(settings, "sweep")
    models = {}
    for model in (VAE, MWS):
        best = table.frame[EXACT].loc["sweep", model].idxmax()
        title = f"{model} at {best[0]:g}, seed {best[2]}"
        net = make_model(settings, "sweep", model, best[0], best[2], len(X))
        models[title] = net.fit(X)
    displays = TraversalDisplay.from_estimators(
        models, X, y, factor_names=names, n_steps=7, cmap="gray_r"
    )
    return next(iter(displays.values())).figure_


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", TrainingWarning)
    warnings.simplefilter("ignore", DegenerateScoreWarning)
    study = Study("total_correlation", __doc__, SMALL, FULL)
    settings = {**study.settings, "folder": study.folder}
    cells = cells_of(settings)
    frame = study.parallel_rows("scores", cells, partial(measure, study.settings, study.folder))
    if not len(frame):
        study.text([f"None of {len(cells)} models is there yet."])
        return
    X, y, _ = data_of(settings, "sweep")
    table = Table(frame, y.shape[1])
    if {VAE, MWS, MSS, "untrained"} <= set(table.frame.loc["sweep"].index.unique("model")):
        study.figure("sweep", plot_curves(settings, table))
        study.figure("distributions", plot_distributions(settings, table))
        if len(table.frame) == len(cells) or not (study.folder / "traversals.png").exists():
            study.figure("traversals", plot_traversals(settings, table))
    write_summary(study, settings, table, len(X))


if __name__ == "__main__":
    main()
