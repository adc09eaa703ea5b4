"""
Study: causal disentanglement
=============================

Reddy, Godfrey L and Balasubramanian (2022) ask whether models of disentanglement survive
confounding, score them by unconfoundedness (UC) and counterfactual generativeness (CG), and propose
a model that is told where the object is (SS-FVAE-BB). This script repeats their Tables 1 to 3 and
checks their claims one by one.

- Nine models: beta-VAE, beta-TCVAE, DIP-VAE and Factor-VAE, the same with labels of 10 % of the
  images (SS), and SS-Factor-VAE with bounding boxes (SS-FVAE-BB, where there are boxes).
- The look-alike of CANDLE, dSprites, and dSprites whose shape and scale, and positions, are made
  dependent. With ``--candle FOLDER`` also CANDLE itself, with ``--mpi3d FILE`` MPI3D-Toy.
- IRS, DCI disentanglement, UC and CG at the paper's numbers of codes per factor. CG has a judge,
  whose accuracy on images it has not seen is in the summary; on the look-alike, true
  counterfactuals judge as well, which shows the bias of the judge.
- IRS of beta-VAE before, at the beginning and at the end of training.

Models are trained on some images, the judge on others, and scores are taken on a third part. A
model whose DCI disentanglement is below .1 disentangles nothing: claims that rest on such models
alone are said to have no evidence.

Run ``python study_causal.py``; it writes tables, figures and ``summary.txt`` into
``results/causal``, and skips what is done when run again. ``--minutes 30`` ends it after that time,
to be run again. Small means: 4,000 images of 32 x 32 pixels and 1,750 steps at ten times the
paper's learning rate; of dSprites, one orientation and half of the heights, which tells the two
directions apart. Weights of beta-VAE, beta-TCVAE and, on dSprites, Factor-VAE were chosen on other
seeds, so that models learn something in that time. It takes about two hours of one core.
``--full`` has the paper's training: 64 x 64 pixels, 30,000 steps; it takes days.
"""

import functools
import sys
import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from _study import Difference, Study, bootstrap, paired
from joblib import Parallel, delayed
from scipy.stats import spearmanr
from sklearn.base import clone

from sklearn_disent import datasets
from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.inspection import CounterfactualDisplay
from sklearn_disent.metrics import (
    counterfactual_generativeness_score,
    dci_disentanglement_score,
    irs_score,
    unconfoundedness_score,
)
from sklearn_disent.model_selection import SweepMemory, load_dependence_setting, sample_dependent
from sklearn_disent.models import (
    DIPVAE,
    BetaTCVAE,
    BetaVAE,
    FactorClassifier,
    FactorVAE,
    Labels,
    Regions,
)

LEAST_DCI = 0.1  # below, a model disentangles nothing
UNCONFOUNDED, CONFOUNDED = "dSprites", "dSprites, dependent"
LOOK_ALIKE = "CANDLE look-alike"
PLAIN = ("beta-VAE", "beta-TCVAE", "DIP-VAE", "Factor-VAE")
WITH_BOXES = "SS-FVAE-BB"

SMALL = {
    "sets": [LOOK_ALIKE, UNCONFOUNDED, CONFOUNDED],
    "n_pixels": 32,
    "n_train": 4000,
    "n_judge": 4000,
    "n_test": 800,
    "seeds": [10, 11, 12],
    "epochs": {"candle": 14, "other": 14},
    "n_latents": {"candle": 64, "other": 10},
    "net": {"module__init": "he", "batch_size": 32, "lr": 1e-3},
    "beta": {"candle": 4.0, "other": 8.0},
    "gamma": {"candle": 4.0, "other": 20.0},
    "discriminator": {"discriminator__hidden_sizes": [128, 128], "discriminator_lr": 1e-3},
    "judge_epochs": 40,
}
FULL = {
    "sets": [LOOK_ALIKE, UNCONFOUNDED, CONFOUNDED],
    "n_pixels": 64,
    "n_train": 8000,
    "n_judge": 8000,
    "n_test": 2000,
    "seeds": [10, 11, 12, 13, 14],
    "epochs": {"candle": 240, "other": 240},
    "n_latents": {"candle": 64, "other": 10},
    "net": {"architecture": "burgess", "module__init": "he", "batch_size": 64, "lr": 1e-4},
    "beta": {"candle": 10.0, "other": 10.0},
    "gamma": {"candle": 4.0, "other": 4.0},
    "discriminator": {},
    "judge_epochs": 100,
}
# Codes per factor: those of the paper.
RHOS = {"candle": (5, 7), "other": (1, 2)}
# IRS, DCI, then UC and CG at both numbers of codes.
PUBLISHED = {
    "candle": {
        "beta-VAE": (0.85, 0.18, 0.11, 0.24, 0.08, 0.22),
        "beta-TCVAE": (0.82, 0.10, 0.11, 0.25, 0.08, 0.25),
        "DIP-VAE": (0.33, 0.08, 0.11, 0.21, 0.15, 0.22),
        "Factor-VAE": (0.88, 0.15, 0.13, 0.26, 0.08, 0.28),
        "SS-beta-VAE": (0.74, 0.18, 0.11, 0.28, 0.08, 0.19),
        "SS-beta-TCVAE": (0.68, 0.17, 0.11, 0.23, 0.08, 0.19),
        "SS-DIP-VAE": (0.35, 0.08, 0.11, 0.22, 0.15, 0.22),
        "SS-Factor-VAE": (0.61, 0.16, 0.24, 0.28, 0.14, 0.22),
        "SS-FVAE-BB": (0.61, 0.13, 0.27, 0.28, 0.18, 0.28),
    },
    "dSprites": {
        "beta-VAE": (0.49, 0.16, 0.70, 0.12, 0.46, 0.10),
        "beta-TCVAE": (0.78, 0.43, 0.90, 0.19, 0.60, 0.19),
        "DIP-VAE": (0.12, 0.03, 0.90, 0.04, 0.60, 0.03),
        "Factor-VAE": (0.44, 0.13, 0.90, 0.07, 0.60, 0.06),
        "SS-beta-VAE": (0.52, 0.23, 0.90, 0.17, 0.60, 0.17),
        "SS-beta-TCVAE": (0.72, 0.50, 0.90, 0.18, 0.67, 0.18),
        "SS-DIP-VAE": (0.20, 0.04, 0.40, 0.08, 0.13, 0.06),
        "SS-Factor-VAE": (0.47, 0.19, 0.90, 0.15, 0.33, 0.14),
    },
    "MPI3D": {
        "beta-VAE": (0.57, 0.23, 0.52, 0.10, 0.34, 0.12),
        "beta-TCVAE": (0.57, 0.22, 0.52, 0.12, 0.35, 0.14),
        "DIP-VAE": (0.22, 0.23, 0.28, 0.10, 0.19, 0.14),
        "Factor-VAE": (0.52, 0.34, 0.71, 0.14, 0.47, 0.16),
        "SS-beta-VAE": (0.60, 0.28, 0.80, 0.10, 0.67, 0.09),
        "SS-beta-TCVAE": (0.64, 0.26, 0.80, 0.09, 0.67, 0.15),
        "SS-DIP-VAE": (0.35, 0.25, 0.52, 0.10, 0.34, 0.11),
        "SS-Factor-VAE": (0.56, 0.30, 0.80, 0.12, 0.67, 0.14),
    },
}

# %%
# Data: three parts that have no image in common, for models, for the judge and for scores.


def kind_of(name):
    return "candle" if "CANDLE" in name else "other"


@functools.cache
def load_images(name, n_pixels, n_images, path):
    """Images, factors, names of factors, and boxes and nuisance where there are any."""
    shape, whole = (n_pixels, n_pixels), {}
    if name == LOOK_ALIKE:
        whole = datasets.make_candle_like(n_images, image_shape=shape, random_state=0)
    elif name == "CANDLE":
        whole = datasets.load_candle(
            path, n_images, image_shape=shape, shuffle=True, random_state=0
        )
    elif name == "MPI3D":
        whole = datasets.load_mpi3d(path, n_images, random_state=0)
    else:
        # Orientation is hidden by the symmetry of the shapes.
        places = {"orientation": [0], "posY": range(8, 24)}
        whole = datasets.make_dsprites(factors=places, image_size=n_pixels, random_state=0)
    varied = np.ptp(whole.target, axis=0) > 0
    names = [n for n, kept in zip(whole.factor_names, varied) if kept]
    target = np.ascontiguousarray(whole.target[:, varied])
    return whole.images, target, names, whole.get("boxes"), whole.get("nuisance")


def load_parts(study, name, path=None):
    """Rows of the parts "train", "judge" and "test", and what they are rows of."""
    sizes = {part: study[f"n_{part}"] for part in ("judge", "test", "train")}
    data = load_images(name, study["n_pixels"], sum(sizes.values()), path)
    n_images = len(data[0])
    shares = np.cumsum(list(sizes.values())) / sum(sizes.values())
    ends = (shares * n_images).astype(int)
    order = np.random.default_rng(0).permutation(n_images)
    parts = dict(zip(sizes, np.split(order, ends[:-1])))
    if name == CONFOUNDED:
        setting = load_dependence_setting("dsprites_double_2_01")
        setting |= {"factor_names": data[2]}
        for part, rows in parts.items():
            if part != "judge":  # an honest judge knows all combinations
                drawn = sample_dependent(data[1][rows], random_state=0, **setting)
                parts[part] = rows[drawn]
    return parts, data


def make_twins(study, target, nuisance):
    """True counterfactuals: each row with one factor set to another value, factor by factor."""
    rng, changed = np.random.default_rng(0), target.copy()
    sizes = [5, 5, 3, 6, 16, 3]
    for row, classes in enumerate(changed):
        k = row % len(sizes)
        classes[k] = (classes[k] + rng.integers(1, sizes[k])) % sizes[k]
    shape = (study["n_pixels"], study["n_pixels"])
    return datasets.render_candle_like(changed, nuisance, image_shape=shape)[0], changed


# %%
# Models.


def make_model(study, name, data_name, seed=0):
    kind = kind_of(data_name)
    common = {
        **study["net"],
        "n_components": study["n_latents"][kind],
        "max_epochs": study["epochs"][kind],
        "random_state": seed,
    }
    # Published code sums over the labels of a batch what here is their mean.
    labels = Labels("l2", n_labeled=0.1, weight=4.0 * study["net"]["batch_size"])
    plain = {
        "beta-VAE": BetaVAE(beta=study["beta"][kind], **common),
        "beta-TCVAE": BetaTCVAE(beta=study["beta"][kind], estimator="mws", **common),
        "DIP-VAE": DIPVAE(lambda_od=10.0, lambda_d=100.0, **common),
        "Factor-VAE": FactorVAE(gamma=study["gamma"][kind], **study["discriminator"], **common),
    }
    if name in plain:
        return plain[name]
    if name == WITH_BOXES:
        return clone(plain["Factor-VAE"]).set_params(guidance=[labels, Regions(weight=2.0)])
    return clone(plain[name.removeprefix("SS-")]).set_params(guidance=labels)


def model_names(boxes):
    names = [*PLAIN, *(f"SS-{name}" for name in PLAIN)]
    return names if boxes is None else [*names, WITH_BOXES]


# %%
# Scores of one fitted model.


def fit_judge(X, y, max_epochs):
    return FactorClassifier(max_epochs=max_epochs, random_state=0).fit(X, y)


def get_judge(study, name, path):
    """The judge of a data set, which is fitted once."""
    parts, (X, y, *_) = load_parts(study, name, path)
    cached = SweepMemory(study.folder / "judges").cache(fit_judge)
    return cached(X[parts["judge"]], y[parts["judge"]], study["judge_epochs"])


def score_model(study, name, names, model, X, y, judge, nuisance):
    """Rows of the table: score, factor and value."""
    codes, rhos = model.transform(X), RHOS[kind_of(name)]
    found = {
        "IRS": irs_score(y, codes),
        "DCI": dci_disentanglement_score(y, codes, random_state=0),
        "live codes": float((codes.std(axis=0) > 0.1).sum()),
    }
    rows = [{"score": score, "factor": "all", "value": value} for score, value in found.items()]
    for rho in rhos:
        details = unconfoundedness_score(
            y, codes, rho=rho, n_permutations=5, random_state=0, return_details=True
        )
        values = {"UC": details.score, "UC by chance": details.chance}
        values["UC ceiling"] = details.ceiling
        judged = counterfactual_generativeness_score(
            model, X, y, classifiers=judge, rho=rho, return_details=True
        )
        values |= {"CG": judged.score, "relative CG": np.nanmean(judged.relative)}
        rows += [
            {"score": f"{s}, rho={rho}", "factor": "all", "value": v} for s, v in values.items()
        ]
        rows += [
            {"score": f"CG, rho={rho}", "factor": factor, "value": value}
            for factor, value in zip(names, judged.generativeness)
        ]
        if nuisance is not None:
            twins = make_twins(study, y, nuisance)
            true = counterfactual_generativeness_score(
                model, X, y, X_twin=twins[0], y_twin=twins[1], rho=rho, return_details=True
            )
            rows += [
                {"score": f"CG by twins, rho={rho}", "factor": factor, "value": value}
                for factor, value in (("all", true.score), *zip(names, true.generativeness))
            ]
    return rows


def run_one(study, name, loaded, label, seed, judge, epochs=None):
    quiet()
    parts, (X, y, names, boxes, nuisance) = loaded
    train, test = parts["train"], parts["test"]
    model = make_model(study, label, name, seed)
    if epochs is not None:
        # Before training: one epoch in which nothing is learnt.
        model.set_params(max_epochs=max(1, epochs), **({"lr": 1e-12} if epochs == 0 else {}))
    pipeline = study.pipeline().set_params(vae=model)
    metadata = {"vae__boxes": boxes[train]} if label == WITH_BOXES else {}
    pipeline.fit(X[train], y[train], **metadata)
    if epochs is not None:
        return [{"score": "IRS", "value": irs_score(y[test], pipeline.transform(X[test]))}]
    moved = nuisance[test] if name == LOOK_ALIKE else None
    fitted = pipeline.named_steps["vae"]
    return score_model(study, name, names, fitted, X[test], y[test], judge, moved)


def measure(study, paths, data, model):
    """Rows of one model on one data set: all seeds."""
    path = paths.get(data)
    judge, loaded = get_judge(study, data, path), load_parts(study, data, path)
    with study.workers():
        results = Parallel()(
            delayed(run_one)(study, data, loaded, model, seed, judge) for seed in study["seeds"]
        )
    return [{"seed": s, **row} for s, rows in zip(study["seeds"], results) for row in rows]


def measure_training(study, epochs):
    """IRS of beta-VAE on the look-alike after so many epochs."""
    loaded = load_parts(study, LOOK_ALIKE)
    with study.workers():
        results = Parallel()(
            delayed(run_one)(study, LOOK_ALIKE, loaded, "beta-VAE", seed, None, epochs)
            for seed in study["seeds"]
        )
    return [{"seed": s, **row} for s, rows in zip(study["seeds"], results) for row in rows]


def measure_judge(study, paths, data):
    path = paths.get(data)
    judge, (_, _, names, _, _) = get_judge(study, data, path), load_parts(study, data, path)[1]
    return [
        {"factor": factor, "accuracy": a, "chance": c}
        for factor, a, c in zip(names, judge.accuracy_, judge.chance_)
    ]


# %%
# Verdicts. A difference is that of the same seeds; its interval is Student's.


def pick(table, **where):
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def by_seed(table, data, model, score):
    rows = pick(table, data=data, model=model, score=score, factor="all")
    return rows.set_index("seed")["value"].sort_index()


def verdict(gap, evidence=True):
    return gap.outcome() if evidence else "NO EVIDENCE, no model here disentangles anything"


def disentangles(table, data, model):
    return by_seed(table, data, model, "DCI").mean() >= LEAST_DCI


def claims(study, table, training):
    lines = []
    rho = RHOS["candle"][0]
    for data in [name for name in table["data"].unique() if "CANDLE" in name]:
        evidence = disentangles(table, data, WITH_BOXES)
        for score in (f"UC, rho={rho}", f"CG, rho={rho}"):
            gap = by_seed(table, data, WITH_BOXES, score)
            gap = paired(gap - by_seed(table, data, "SS-Factor-VAE", score))
            lines.append(
                f"{data}: boxes raise {score} (Table 1): {verdict(gap, evidence)}. SS-FVAE-BB "
                f"minus SS-Factor-VAE: {gap}."
            )
        cg = pick(table, data=data, score=f"CG, rho={rho}")
        wide = cg[cg["factor"] != "all"].pivot_table(index="seed", columns="factor", values="value")
        each = wide.mean().sort_values(ascending=False)
        other = each.drop("scene").index[0]
        gap = paired(wide["scene"] - wide[other])
        lines.append(
            f"{data}: the scene has the highest CG of all factors: {verdict(gap)}. Scene minus "
            f"{other}: {gap}. Means over models: "
            f"{', '.join(f'{factor} {value:.2f}' for factor, value in each.items())}."
        )
    for score in ("UC, rho=1", "CG, rho=1"):
        models = [m for m in model_names(None) if disentangles(table, UNCONFOUNDED, m)]
        pairs = [
            by_seed(table, UNCONFOUNDED, m, score) - by_seed(table, CONFOUNDED, m, score)
            for m in models
        ]
        gap = paired(np.mean(pairs, axis=0)) if pairs else Difference(np.nan, np.nan, np.nan)
        lines.append(
            f"Dependent factors lower {score}: {verdict(gap, bool(pairs))}. dSprites minus "
            f"dependent dSprites, over {len(models)} models with a DCI of at least {LEAST_DCI}: "
            f"{gap}."
        )
    lines += claims_on_labels(table) + claims_on_irs(training) + claims_on_judge(table)
    return lines


def claims_on_labels(table):
    gaps = {
        name: by_seed(table, LOOK_ALIKE, f"SS-{name}", "DCI")
        - by_seed(table, LOOK_ALIKE, name, "DCI")
        for name in PLAIN
    }
    each = ", ".join(f"{name} {gap.mean():+.3f}" for name, gap in gaps.items())
    gap = paired(np.mean(list(gaps.values()), axis=0))
    return [
        f"Labels of 10 % of the images raise DCI on the look-alike: {verdict(gap)}. Mean over the "
        f"four models: {gap}; {each}."
    ]


def claims_on_irs(training):
    means = training.groupby("epochs")["value"].mean()
    wide = training.pivot_table(index="seed", columns="epochs", values="value")
    gap = paired(wide.iloc[:, :-1].max(axis=1) - wide.iloc[:, -1])
    listed = ", ".join(f"{epochs} epochs {value:.3f}" for epochs, value in means.items())
    return [
        f"IRS is fooled by little training (not a claim of the paper): {verdict(gap)}. Best of "
        f"the earlier ones minus the end: {gap}. {listed}."
    ]


def rank_correlation(pairs):
    """Spearman's, of pairs of scores in any shape (..., 2)."""
    return spearmanr(*np.reshape(pairs, (-1, 2)).T).statistic


def claims_on_judge(table):
    """The verdict is that of whole models drawn: fits of one model resemble each other."""
    rho = RHOS["candle"][0]
    scores = [f"CG, rho={rho}", f"CG by twins, rho={rho}"]
    models = pick(table, data=LOOK_ALIKE)["model"].unique()
    pairs = np.array(
        [[by_seed(table, LOOK_ALIKE, model, score) for score in scores] for model in models]
    ).swapaxes(1, 2)
    learned = pairs[[disentangles(table, LOOK_ALIKE, model) for model in models]]
    drawn = bootstrap(rank_correlation, pairs)
    fits, best = (bootstrap(rank_correlation, part.reshape(-1, 2)) for part in (pairs, learned))
    judged, true = pairs.mean((0, 1))
    return [
        f"The judge ranks models as true counterfactuals do (look-alike, rho={rho}; not a claim of "
        f"the paper): {verdict(drawn)}. Spearman's correlation over {pairs[..., 0].size} fits "
        f"{drawn}, 90 % interval by drawing whole models; {fits} by drawing fits; over the "
        f"{learned[..., 0].size} fits of models with a DCI of at least {LEAST_DCI}, {best} by "
        f"drawing fits. Mean CG {judged:.3f} by the judge, {true:.3f} by twins."
    ]


# %%
# Tables and figures.


def columns_of(data):
    first, second = RHOS[kind_of(data)]
    scores = ["IRS", "DCI"]
    for rho in (first, second):
        scores += [f"UC, rho={rho}", f"CG, rho={rho}"]
    return scores


def published_of(data):
    if data == UNCONFOUNDED:
        return PUBLISHED["dSprites"]
    return PUBLISHED["candle"] if "CANDLE" in data else PUBLISHED.get(data, {})


def write_table(table, data):
    rows, scores = pick(table, data=data, factor="all"), columns_of(data)
    means = rows.pivot_table(index="model", columns="score", values="value", sort=False)[scores]
    paper = published_of(data)
    lines = [f"\n{data}: means over seeds, and the paper's values in brackets"]
    lines.append(f"{'':<16}" + "".join(f"{score:>17}" for score in scores))
    for model, values in means.iterrows():
        known = paper.get(model, [None] * 6)
        cells = [
            f"{v:.2f}" + (f" ({p:.2f})" if p is not None else "") for v, p in zip(values, known)
        ]
        none = "" if values["DCI"] >= LEAST_DCI else "  disentangles nothing"
        lines.append(f"{model:<16}" + "".join(f"{cell:>17}" for cell in cells) + none)
    return lines


def plot_scores(table):
    names = list(table["data"].unique())
    figure, axes = plt.subplots(
        len(names), 4, figsize=(13, 0.5 + 2.9 * len(names)), layout="constrained", squeeze=False
    )
    for data, row in zip(names, axes):
        scores = columns_of(data)[:4]
        models = list(dict.fromkeys(pick(table, data=data)["model"]))
        for ax, score in zip(row, scores):
            for place, model in enumerate(models):
                values = by_seed(table, data, model, score)
                color = "C0" if disentangles(table, data, model) else "0.7"
                ax.plot(values, [place] * len(values), "o", color=color, alpha=0.6, markersize=4)
                ax.plot(values.mean(), place, "|", color=color, markersize=14)
                paper = published_of(data).get(model)
                if paper is not None:
                    ax.plot(paper[scores.index(score)], place, "x", color="C1", markersize=5)
            ax.set_yticks(range(len(models)), models if ax is row[0] else [])
            ax.set(xlim=(-0.02, 1.02), title=score)
            ax.invert_yaxis()
        row[0].set_ylabel(data)
    figure.suptitle(
        "dots: seeds, bars: means (gray: DCI below .1), crosses: the paper", fontsize=10
    )
    return figure


def plot_counterfactuals(study):
    seed, label = study["seeds"][0], WITH_BOXES
    parts, (X, y, names, boxes, _) = load_parts(study, LOOK_ALIKE)
    train, test = parts["train"], parts["test"]
    pipeline = study.pipeline().set_params(vae=make_model(study, label, LOOK_ALIKE, seed))
    pipeline.fit(X[train], y[train], vae__boxes=boxes[train])
    display = CounterfactualDisplay.from_estimator(
        pipeline.named_steps["vae"],
        X[test],
        y[test],
        judge=get_judge(study, LOOK_ALIKE, None),
        rho=RHOS["candle"][0],
        factor_names=names,
    )
    for ax in display.axes_[:, 0]:
        ax.set_ylabel(ax.get_ylabel().split("\n")[0], rotation=0, ha="right", va="center")
    return display.figure_


def quiet():
    torch.set_num_threads(1)  # the number of threads may change the last bits
    # What these say is in the summary: dead latents, poor judges, the ceiling of UC.
    warnings.simplefilter("ignore", TrainingWarning)
    warnings.simplefilter("ignore", DegenerateScoreWarning)


def take_path(option):
    """Value of an option of this study alone, taken out of the command line; None without."""
    if option not in sys.argv:
        return None
    place = sys.argv.index(option)
    path = sys.argv[place + 1]
    del sys.argv[place : place + 2]
    return path


def main():
    quiet()
    paths = {"CANDLE": take_path("--candle"), "MPI3D": take_path("--mpi3d")}
    paths = {name: path for name, path in paths.items() if path is not None}
    study = Study("causal", __doc__, SMALL, FULL)
    names = [*study["sets"], *paths]
    judges = study.rows(
        "judges", [{"data": name} for name in names], functools.partial(measure_judge, study, paths)
    )
    cells = [
        {"data": name, "model": model}
        for name in names
        for model in model_names(load_parts(study, name, paths.get(name))[1][3])
    ]
    table = study.rows("scores", cells, functools.partial(measure, study, paths))
    stages = sorted({0, 3, study["epochs"]["candle"]})
    training = study.rows(
        "training", [{"epochs": e} for e in stages], functools.partial(measure_training, study)
    )
    study.figure("scores", plot_scores(table))
    study.figure("counterfactuals", plot_counterfactuals(study))
    fill = functools.partial(textwrap.fill, width=98)
    study.text(
        [
            *(line for name in names for line in write_table(table, name)),
            "\nAccuracy of the judges on images held out (chance):",
            *(
                fill(
                    f"{name}: "
                    + ", ".join(
                        f"{r.factor} {r.accuracy:.2f} ({r.chance:.2f})"
                        for r in pick(judges, data=name).itertuples()
                    )
                )
                for name in names
            ),
            "",
            *(
                fill(f"{i}. {text}", subsequent_indent="   ")
                for i, text in enumerate(claims(study, table, training), 1)
            ),
        ]
    )


if __name__ == "__main__":
    main()
