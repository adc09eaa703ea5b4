"""
The topology of disentanglement
===============================

Zhou et al. (2021) judge a generative model by the topology of what it generates: hold one latent
at a value, let the others vary, and count the holes of the cloud that is left. Latents of one
meaning leave clouds of one topology. This study repeats their experiments:

- signatures by the plain mean of relative living times, and by the Wasserstein barycenter
  (their Figure 8), of every factor of dSprites (Figure 10), and the similarity of all their values
  (Figure 11);
- the ablation of barycenter and distance (Table 2), with intervals over draws of images and
  landmarks;
- six models on two data sets: the topological score mu, its supervised form, their p-values
  against permuted signatures, and MIG, MIG-sup, DCI and InfoMEC of the same models (Figures 7 and
  12, and the rank correlations behind them).

One set, "ring", has factors which differ in topology: the place of a disc on a ring (a circle), its
size and its brightness (segments). A circle takes two latents, so that MIG, which asks for one, is
low by its definition; MIG-sup is not. The other set, "sprites", is an ellipse whose size and
position vary: all factors are segments, and mu has little to tell apart.

Run it as ``python study_topology.py``: images of 16 pixels, networks of two layers, five seeds.
Networks and betas were chosen on seeds 100 and 101, which are not reported. Untrained models of
the same seeds are the null: a model whose MIG-sup is not above theirs by two standard deviations
has learnt nothing, and is left out of every claim about metrics.

``--full`` has ten seeds, ten latents, longer training, 1,000 points and 100 repeats as in the
paper, and 64 landmarks at gamma = 1/128.
"""

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _study import Study, shrink
from joblib import Parallel, delayed
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.decomposition import PCA

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import SignatureDisplay
from sklearn_disent.metrics import (
    manifold_topology_score,
    multimetric_scorer,
    relative_living_times,
    wasserstein_barycenter_1d,
    wasserstein_distance_1d,
)
from sklearn_disent.models import VAE, AnnealedVAE, BetaTCVAE, BetaVAE, FactorVAE, InfoGAN

RING = ["place", "size", "light"]
RIVALS = ["mig", "mig_sup", "dci_disentanglement", "infom", "infoc", "infoe"]
LINES = (  # Table 2: the mean of living times, the distance, the paper's ratio
    ("mean, Euclidean", 1.60),
    ("barycenter, Euclidean", 1.75),
    ("mean, Wasserstein", 2.14),
    ("barycenter, Wasserstein", 2.93),
)

SMALL = {
    "seeds": range(5),
    "net": {
        "n_components": 6,
        "architecture": "mlp",
        "module__hidden_sizes": [128, 128],
        "module__init": "he",
        "batch_size": 64,
        "lr": 1e-3,
        "max_epochs": 30,
    },
    "beta": 4.0,
    "tc_beta": 6.0,
    "gamma_factor": 10.0,
    "capacity": 12.0,
    "annealing_steps": 2000,
    "discriminator": [64, 64, 64],
    "infogan": {"n_components": 4, "n_noise": 4, "lr": 1e-3, "discriminator_lr": 2e-4},
    "score": {"n_samples": 400, "n_values": 5, "n_repeats": 40, "n_permutations": 199},
    "real": {"n_images": 20_000, "n_values": 8, "n_points": 500, "n_repeats": 25},
    "real_draws": range(5),
}
FULL = {
    **SMALL,
    "seeds": range(10),
    "net": {**SMALL["net"], "n_components": 10, "max_epochs": 200},
    "score": {
        "n_samples": 1000,
        "n_values": 10,
        "n_repeats": 100,
        "n_landmarks": 64,
        "gamma": 1 / 128,
        "n_permutations": 999,
    },
    "real": {"n_images": 100_000, "n_values": 40, "n_points": 1000, "n_repeats": 100},
}

# %%
# Data: factors that differ in topology, and factors that do not.


def ring(n_pixels=16):
    """A disc on a ring, of any size and brightness: images, factors, names."""
    place, size, light = (axis.ravel() for axis in np.indices((48, 8, 8)))
    angle = place * 2 * np.pi / 48
    radius = 1.2 + 0.25 * size
    at = np.arange(n_pixels) - (n_pixels - 1) / 2
    across = at - 4.5 * np.cos(angle)[:, None]
    down = at - 4.5 * np.sin(angle)[:, None]
    distance = np.hypot(across[:, None, :], down[:, :, None])
    disc = np.clip(radius[:, None, None] + 0.5 - distance, 0, 1)
    images = disc * (0.3 + 0.1 * light)[:, None, None]
    return images.astype(np.float32), np.column_stack([place, size, light]), RING


def sprites():
    """An ellipse of all sizes at 16 x 16 places: images, factors, names."""
    steps = range(0, 32, 2)
    factors = {"shape": [1], "orientation": [0], "posX": steps, "posY": steps}
    data = make_dsprites(factors=factors, image_size=32, shuffle=False)
    images = shrink(data.images, 2).astype(np.float32)
    return images, data.target[:, [1, 3, 4]], ["scale", "posX", "posY"]


DATA = {"ring": ring, "sprites": sprites}


def points_of(images, n_components=20):
    """A fitted embedding of images as points; the paper takes a pretrained network."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    return PCA(n_components, random_state=0).fit(rows[:: max(1, len(rows) // 4000)])


# %%
# Models, and what is measured of each.


def make_models(study):
    net, adversarial = study["net"], study["discriminator"]
    return {
        "VAE": VAE(**net),
        "BetaVAE": BetaVAE(**net, beta=study["beta"]),
        "AnnealedVAE": AnnealedVAE(
            **net, capacity=study["capacity"], n_annealing_steps=study["annealing_steps"]
        ),
        "FactorVAE": FactorVAE(
            **net, gamma=study["gamma_factor"], discriminator__hidden_sizes=adversarial
        ),
        "BetaTCVAE": BetaTCVAE(**net, beta=study["tc_beta"], estimator="mws"),
        "InfoGAN": InfoGAN(**{**net, **study["infogan"]}),
    }


def judge(model, X, y, options, seed):
    """All scores of a fitted model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        row = multimetric_scorer(RIVALS)(model, X, y)
        embedding = points_of(X)
        for name, extra in {"mu": {}, "supervised_mu": {"supervised": True}}.items():
            found = manifold_topology_score(
                model,
                X,
                y,
                embedding=embedding,
                return_details=True,
                random_state=seed,
                **extra,
                **options,
            )
            row |= {name: found.score, f"{name}_p": found.p_value, f"{name}_chance": found.chance}
            row[f"{name}_error"] = found.standard_error
    row["active"] = int((model.transform(X).var(axis=0) > 0.01).sum())
    return row


def measure_models(study, data, seed):
    """A row for each model, and one for each untrained."""
    X, y, _ = DATA[data]()

    def measure(name, model, epochs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            model = clone(model).set_params(random_state=seed, max_epochs=epochs).fit(X)
        scores = judge(model, X, y, study["score"], seed)
        return {"model": name, "trained": epochs > 0, **scores}

    epochs = study["net"]["max_epochs"]
    tasks = [(n, m, e) for n, m in make_models(study).items() for e in (epochs, 0)]
    with study.workers():
        return Parallel()(delayed(measure)(*task) for task in tasks)


# %%
# Real images: signatures of all factors, and the ablation of Table 2.


def real_clouds(study, seed):
    """Points of dSprites on which one factor is held, and the number of that factor."""
    real = study["real"]
    data = make_dsprites(real["n_images"], image_size=32, dtype="uint8", random_state=seed)
    points = points_of(data.images).transform(data.images.reshape(len(data.images), -1))
    clouds, labels = [], []
    for index, factor in enumerate(data.target.T):
        classes = np.unique(factor)
        some = np.linspace(0, len(classes) - 1, min(real["n_values"], len(classes)))
        for value in classes[some.round().astype(int)]:
            clouds.append(points[np.flatnonzero(factor == value)[: real["n_points"]]])
            labels.append(index)
    return clouds, np.array(labels), data.factor_names


def living_times(study, clouds, gamma, seed):
    """Of all clouds, each with landmarks of its own."""
    return [
        relative_living_times(
            cloud,
            n_landmarks=64,
            gamma=gamma,
            n_repeats=study["real"]["n_repeats"],
            n_jobs=study.n_jobs,
            random_state=1000 * seed + number,
        )
        for number, cloud in enumerate(clouds)
    ]


def pairwise(objects, distance):
    """Symmetric matrix of distances."""
    matrix = np.zeros((len(objects), len(objects)))
    for i, j in zip(*np.tril_indices(len(objects), -1)):
        matrix[i, j] = matrix[j, i] = distance(objects[i], objects[j])
    return matrix


def euclidean(a, b):
    return np.linalg.norm(a - b)


def between_barycenters(a, b):
    """Exact: the barycenters need not be on bins."""
    return wasserstein_distance_1d(a[1], b[1], support_a=a[0], support_b=b[0])


def distances(times):
    """The four lines of Table 2, as matrices between clouds."""
    means = [t.mean(axis=0) for t in times]
    free = [wasserstein_barycenter_1d(t, support="free") for t in times]
    return (
        pairwise(means, euclidean),
        pairwise([wasserstein_barycenter_1d(t) for t in times], euclidean),
        pairwise(means, wasserstein_distance_1d),
        pairwise(free, between_barycenters),
    )


def measure_real(study, seed):
    """Ratios of Table 2; the two positions as one kind, by their symmetry, and as two."""
    clouds, labels, names = real_clouds(study, seed)
    apart = ~np.eye(len(labels), dtype=bool)
    rows = []
    for gamma in (1 / 8, 1 / 128):
        matrices = distances(living_times(study, clouds, gamma, seed))
        for positions in ("one kind", "two kinds"):
            last = names.index("posX") if positions == "one kind" else len(names)
            kinds = np.minimum(labels, last)
            same = kinds[:, None] == kinds
            for (line, _), matrix in zip(LINES, matrices):
                ratio = matrix[~same].mean() / matrix[same & apart].mean()
                rows.append({"gamma": gamma, "positions": positions, "line": line, "ratio": ratio})
    return rows


def draw_real(study):
    """Figures 8, 10 and 11, from the first draw."""
    clouds, labels, names = real_clouds(study, 0)
    times = living_times(study, clouds, 1 / 128, 0)

    def by_factor(histograms):
        return [np.array(histograms)[labels == index] for index in range(len(names))]

    barycenters = [wasserstein_barycenter_1d(t) for t in times]
    similarity = 1 - distances(times)[-1] / 99
    study.figure("figure_10", SignatureDisplay(by_factor(barycenters), names=names).plot().figure_)
    display = SignatureDisplay(by_factor(barycenters), names=names, similarity=similarity)
    study.figure("figure_11", display.plot_similarity().figure_)
    figure, axes = plt.subplots(2, 2, figsize=(8, 5), layout="constrained", sharex=True)
    shown = ("scale", "posX")
    for row, (title, histograms) in zip(
        axes, {"plain mean": [t.mean(axis=0) for t in times], "barycenter": barycenters}.items()
    ):
        for axis, name in zip(row, shown):
            axis.plot(by_factor(histograms)[names.index(name)].T, lw=1)
            axis.set(title=f"{name}, {title}", xlabel="holes", ylabel="share of scales")
    study.figure("figure_8", figure)


# %%
# From the tables: claims, each with an interval and one of three outcomes.


def interval(statistic, groups):
    """A statistic of rows and its 95 % interval: a bootstrap over groups, such as seeds."""
    rng = np.random.default_rng(0)
    keys = list(groups)
    draws = [
        statistic(pd.concat([groups[keys[i]] for i in rng.integers(len(keys), size=len(keys))]))
        for _ in range(2000)
    ]
    whole = statistic(pd.concat(groups.values()))
    return whole, *np.nanpercentile(draws, [2.5, 97.5])


def verdict(low, high, *, above=0.0):
    return "HOLDS" if low > above else "FAILS" if high < above else "NOT DECIDED"


def say(claim, value, low, high, *, above=0.0, more=""):
    outcome = verdict(low, high, above=above)
    text = f"{claim}: {outcome}. {value:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}. {more}"
    return textwrap.fill(text.strip(), 96, subsequent_indent="  ")


def with_evidence(models):
    """The trained models that learnt something: MIG-sup above the untrained ones of their kind."""
    null = models[~models["trained"]].groupby(["data", "model"])["mig_sup"].agg(["mean", "std"])
    limit = (null["mean"] + 2 * null["std"]).rename("limit").reset_index()
    trained = models[models["trained"]].merge(limit, on=["data", "model"])
    return trained[trained["mig_sup"] > trained["limit"]].drop(columns="limit"), len(trained)


def by_seed(frame):
    """Seeds of a set together: models of one seed share the data and the landmarks."""
    return dict(list(frame.groupby(["data", "seed"])))


def rank_correlation(first, second):
    return lambda rows: np.mean(
        [spearmanr(part[first], part[second]).statistic for _, part in rows.groupby("data")]
    )


def claims_on_models(models):
    good, n_trained = with_evidence(models)
    lines = [f"Models: {n_trained} trained, {len(good)} of them learnt something (see above)."]
    if good["seed"].nunique() < 3:
        return [*lines, "Too few for a claim about metrics."]
    vaes = good[good["model"].isin(["VAE", "BetaVAE", "BetaTCVAE"])]
    square = interval(lambda rows: rows[["mig", "mig_sup"]].corr().iloc[0, 1] ** 2, by_seed(vaes))
    lines.append(
        say(
            "MIG and MIG-sup agree over VAE, BetaVAE and BetaTCVAE (Figure 12; paper R2 .952)",
            *square,
            above=0.5,
            more="R2 above .5 counts as agreement.",
        )
    )
    for data, part in good.groupby("data"):
        for mu in ("mu", "supervised_mu"):
            for rival in RIVALS:
                found = interval(rank_correlation(mu, rival), by_seed(part))
                lines.append(say(f"{data}: {mu} ranks models as {rival} does", *found))
            shares = (part[f"{mu}_p"] < 0.05).mean()
            null = models[(models["data"] == data) & ~models["trained"]]
            lines.append(
                f"{data}: {mu} is above permuted signatures (p < .05) in {shares:.0%} of these "
                f"models, and in {(null[f'{mu}_p'] < 0.05).mean():.0%} of the untrained ones."
            )
    return lines


def claims_on_real(real):
    lines = []
    for (gamma, positions), part in real.groupby(["gamma", "positions"]):
        wide = part.pivot(index="seed", columns="line", values="ratio")
        lines.append(f"Table 2, gamma = 1/{1 / gamma:.0f}, positions as {positions}:")
        for line, paper in LINES:
            values = wide[line]
            error = values.std() / np.sqrt(len(values))
            lines.append(f"  {line:<26}{values.mean():6.2f} +- {error:.2f}   paper {paper:.2f}")
        ours = wide[LINES[-1][0]]
        best = wide.drop(columns=LINES[-1][0]).max(axis=1)
        groups = {seed: pd.DataFrame({"gap": [ours[seed] - best[seed]]}) for seed in wide.index}
        found = interval(lambda rows: rows["gap"].mean(), groups)
        lines.append(say("Ours is the best of the four lines", *found))
    return lines


def draw_models(study, models):
    """Figure 12, and the topological scores beside it."""
    good, _ = with_evidence(models)
    pairs = [("mig", "mig_sup"), ("mig", "mu"), ("mig", "supervised_mu")]
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for row, (data, part) in zip(axes, good.groupby("data")):
        for axis, (x, y) in zip(row, pairs):
            for name, rows in part.groupby("model"):
                axis.scatter(rows[x], rows[y], s=18, label=name)
            axis.set(xlabel=x, ylabel=y, title=data)
    axes[0, 0].legend(fontsize=7)
    study.figure("figure_12", figure)


def main():
    study = Study("topology", __doc__, SMALL, FULL)
    real = study.rows(
        "table_2", [{"seed": s} for s in study["real_draws"]], lambda **c: measure_real(study, **c)
    )
    cells = [{"data": data, "seed": seed} for seed in study["seeds"] for data in DATA]
    models = study.rows("models", cells, lambda **cell: measure_models(study, **cell))
    draw_real(study)
    draw_models(study, models)
    means = models.groupby(["data", "trained", "model"])[[*RIVALS, "mu", "supervised_mu", "active"]]
    study.text(
        [
            *claims_on_real(real),
            "",
            *claims_on_models(models),
            "",
            "Means over seeds:",
            means.mean().round(3).to_string(),
        ]
    )


if __name__ == "__main__":
    main()
