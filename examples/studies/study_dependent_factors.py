"""
Study: which metrics survive dependent factors?
===============================================

Almudévar and Ortega (2025) require that a metric of disentanglement stays meaningful where factors
depend on each other, and propose minimality and sufficiency. This script repeats their experiments
and checks their claims one by one.

- Figure 2, toy: factors whose dependence is set by delta (1: independent, 1/4: all equal), codes
  whose disentanglement is set by alpha (1: a code per factor).
- Figure 3, toy: nuisance beta in the codes.
- Figures 4 and 5, models: architectures x losses, each trained once, on independent factors. All
  metrics are then taken on draws in which one, two or three pairs of factors depend on each other,
  or one factor confounds all others (settings of Roth et al., 2023), and ranked against the
  accuracy of a random forest that sees 1000 rows and the best single latent, and against IRS.
  Metrics, accuracy and IRS are taken on the same rows.

Run ``python study_dependent_factors.py``; it writes tables, figures and ``summary.txt`` into
``results/dependent_factors``, and skips what is done when run again. It takes seven minutes on two
free cores, and 0.7 GB for each process. Small means: 24 models (four architectures, six losses)
of 3,072 rendered images of 3D Shapes at 32 x 32 pixels, 480 steps each, six latents, forests of
20 trees. These sizes were chosen by their time.

``--full`` has the paper's size: the files of dSprites, 3D Shapes and MPI3D (downloaded; the arrays
of the last need 30 GB at ``--jobs 1``), six architectures, 50 epochs, ten latents, forests of 100
trees, 100,000 drawn rows. dSprites has too few factors for three pairs. Loss weights are those of
the published code, in both sizes, apart from the schedule of AnnealedVAE and the discriminator of
FactorVAE, which are cut to the short training.
"""

import time
import warnings
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _study import Study
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from sklearn_disent import datasets, models
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import disentanglement_report, multimetric_scorer
from sklearn_disent.model_selection import load_dependence_setting, sample_dependent

# Those that the paper's section 5 names come first, the others of its section 2 follow.
METRICS = {
    "minimality": "Minimality",
    "sufficiency": "Sufficiency",
    "factor_vae": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "Modularity",
    "dci_disentanglement": "Disentanglement",
    "dci_completeness": "Completeness",
    "beta_vae": "BetaVAE",
    "r_factor_vae": "R-FactorVAE",
    "dci_informativeness": "Informativeness",
    "explicitness": "Explicitness",
}
OURS = ("minimality", "sufficiency")
NAMED = list(METRICS)[:8]
TARGETS = {"downstream_accuracy": "accuracy", "irs": "IRS"}
SEEDED = ("factor_vae", "dci_disentanglement", "dci_completeness", "beta_vae", "r_factor_vae")
SEEDED += ("dci_informativeness", "explicitness", "downstream_accuracy")

PAIRED = {"sufficiency": "downstream_accuracy", "minimality": "irs"}
DCI = ("dci_disentanglement", "dci_completeness")

# What counts, fixed before the first run. The checks in other_line were added after it.
ONE = 0.99  # "reaches 1"
STEP = 0.005  # smaller changes along delta do not count
FALL = 0.05  # smaller falls along beta do not count
SPAN = 0.1  # "hardly depends on delta"
CORRELATED = 0.5  # rank correlation that counts as one

LOSSES = {
    "BetaVAE": {"beta": 4.0},
    "AnnealedVAE": {"gamma": 1000.0, "capacity": 25.0, "n_annealing_steps": 100_000},
    "BetaTCVAE": {"beta": 6.0},
    "FactorVAE": {"gamma": 20.0},
    "AdaGVAE": {"beta": 6.0},
    "HFSVAE": {},
}
SMALL = {
    "n_rows": 2000,
    "alphas": [0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0],
    "deltas": [1.0, 0.85, 0.7, 0.55, 0.4, 0.25],
    "betas": [0.0, 0.2, 0.4, 0.6, 0.8],
    "loaders": {"shapes3d": "make_shapes3d"},
    "loader_options": {"image_size": 32},
    "n_train": 3072,
    "n_draws": 3000,
    "settings": {
        "shapes3d": {
            "independent": ["independent"],
            "one pair": ["single_1_01"],
            "two pairs": ["double_1_01"],
            "three pairs": ["triple_1_01"],
            "one to all": ["conf_1_02"],
        }
    },
    "architectures": ["burgess", "locatello", "montero_small", "mlp"],
    "losses": {
        **LOSSES,
        "AnnealedVAE": {"gamma": 1000.0, "capacity": 25.0, "n_annealing_steps": 480},
        "FactorVAE": {
            "gamma": 20.0,
            "discriminator__hidden_sizes": [128, 128, 128],
            "discriminator_lr": 1e-3,
        },
    },
    "seeds": [0],
    "n_components": 6,
    "training": {"batch_size": 64, "max_epochs": 10, "lr": 1e-3, "module__init": "he"},
    "n_trees": 20,
}
LEVELS = {
    "independent": ["independent"],
    "one pair": ["single_1_01", "single_2_01", "single_3_01"],
    "two pairs": ["double_1_01", "double_2_01"],
    "three pairs": ["triple_1_01", "triple_2_01"],
    "one to all": ["conf_1_02", "conf_2_02"],
}
FULL = {
    **SMALL,
    "n_rows": 10_000,
    "alphas": np.round(np.linspace(0.25, 1, 16), 2).tolist(),
    "deltas": np.round(np.linspace(1, 0.25, 16), 2).tolist(),
    "betas": np.round(np.linspace(0, 0.8, 9), 1).tolist(),
    "loaders": {
        "dsprites": "fetch_dsprites",
        "shapes3d": "fetch_shapes3d",
        "mpi3d": "fetch_mpi3d",
    },
    "loader_options": {},
    "n_train": None,
    "n_draws": 100_000,
    "settings": {
        "dsprites": {name: LEVELS[name] for name in LEVELS if name != "three pairs"},
        "shapes3d": LEVELS,
        "mpi3d": LEVELS,
    },
    "architectures": [
        *("burgess", "chen_mlp", "locatello", "locatello_sbd", "montero_small", "montero_large")
    ],
    "losses": LOSSES,
    "n_components": 10,
    "training": None,  # training_recipe(), the paper's Table 1
    "n_trees": 100,
}

# %%
# Toys. A cell is a value of alpha and delta, or of beta; its rows are the scores.


def measure_toy(study, **options):
    toy = datasets.make_dependent_factors(study["n_rows"], random_state=0, **options)
    with warnings.catch_warnings():
        # At delta = 1/4 all factors are equal, at alpha = 1/4 all codes: some metrics say so.
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        report = disentanglement_report(
            toy.target, toy.codes, metrics=[*METRICS, "irs"], output="dict", random_state=0
        )
    return [{"metric": name, "value": row["value"]} for name, row in report.items()]


def run_toys(study):
    dependence = study.rows(
        "toy_dependence",
        [
            {"alpha": alpha, "delta": delta}
            for alpha in study["alphas"]
            for delta in study["deltas"]
        ],
        lambda **cell: measure_toy(study, **cell),
    )
    nuisance = study.rows(
        "toy_nuisance",
        [{"beta": beta} for beta in study["betas"]],
        lambda **cell: measure_toy(study, **cell),
    )
    return dependence, nuisance


# %%
# Models. One search per setting: the first one trains, the others find the fits in the cache,
# since all have the same training rows. Test rows are the draw.


def make_search(study):
    training = study["training"] or models.training_recipe()
    grid = [
        {
            "vae": [getattr(models, loss)(study["n_components"], **options, **training)],
            "vae__architecture": study["architectures"],
            "vae__random_state": study["seeds"],
        }
        for loss, options in study["losses"].items()
    ]
    forest = RandomForestClassifier(study["n_trees"], max_depth=5)
    options = {name: {} for name in (*METRICS, *TARGETS)}
    for name in SEEDED:
        options[name]["random_state"] = 0
    options["downstream_accuracy"]["estimator"] = forest
    scoring = multimetric_scorer(options)
    return GridSearchCV(study.pipeline(), grid, scoring=scoring, refit=False, error_score="raise")


def draw_rows(study, dataset, setting):
    """Numbers of the training images and of the drawn ones, in the grid of all combinations."""
    load = getattr(datasets, study["loaders"][dataset])
    sizes = load(indices=[0], **study["loader_options"]).factor_sizes
    factors = np.indices(sizes).reshape(len(sizes), -1).T
    rng = np.random.RandomState(0)
    n_train = study["n_train"] or len(factors)
    train = rng.permutation(len(factors))[:n_train]
    if setting == "independent":
        return train, rng.randint(len(factors), size=study["n_draws"])
    dependence = load_dependence_setting(f"{dataset}_{setting}")
    return train, sample_dependent(
        factors, n_samples=study["n_draws"], random_state=1, **dependence
    )


def measure_models(study, dataset, setting):
    train, drawn = draw_rows(study, dataset, setting)
    load = getattr(datasets, study["loaders"][dataset])
    X, y = load(indices=np.concatenate([train, drawn]), return_X_y=True, **study["loader_options"])
    search = make_search(study)
    search.cv = [np.split(np.arange(len(X)), [len(train)])]
    with warnings.catch_warnings(), study.workers():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        # loky replaces workers whose memory has grown by 300 MB: no harm done.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        results = search.fit(X, y).cv_results_
    return [
        {
            "loss": type(params["vae"]).__name__,
            "architecture": params["vae__architecture"],
            "seed": params["vae__random_state"],
            "metric": name,
            "value": results[f"split0_test_{name}"][i],
        }
        for i, params in enumerate(results["params"])
        for name in (*METRICS, *TARGETS)
    ]


def model_cells(study):
    return [
        {"dataset": dataset, "setting": setting}
        for dataset, levels in study["settings"].items()
        for settings in levels.values()
        for setting in settings
    ]


def run_models(study):
    return study.rows("models", model_cells(study), lambda **cell: measure_models(study, **cell))


def correlate(scores, dataset, setting):
    """Spearman's rank correlation, over the models, of every metric with both targets."""
    part = scores[(scores.dataset == dataset) & (scores.setting == setting)]
    table = part.pivot(index=["loss", "architecture", "seed"], columns="metric", values="value")
    # A metric that is the same for all models gives no ranking: no correlation.
    ranks = table.corr("spearman").fillna(0.0)
    return [
        {"target": target, "metric": name, "rank_correlation": ranks.loc[name, target]}
        for target in TARGETS
        for name in METRICS
    ]


def by_level(study, correlations, dataset, target):
    """Metrics x levels of dependence, the mean over the settings of a level."""
    part = correlations[(correlations.dataset == dataset) & (correlations.target == target)]
    table = part.pivot(index="metric", columns="setting", values="rank_correlation")
    levels = study["settings"][dataset]
    columns = {level: table[settings].mean(axis=1) for level, settings in levels.items()}
    return pd.DataFrame(columns).loc[list(METRICS)]


# %%
# The paper's claims, one by one.


def verdict(holds, text):
    return f"  [{'holds' if holds else 'does not hold here'}] {text}"


def listed(values):
    return ", ".join(f"{METRICS.get(name, name)} {value:.2f}" for name, value in values.items())


def grids_of(dependence):
    """By metric, scores over alpha (rows) and delta (columns, falling)."""
    for name in METRICS:
        part = dependence[dependence.metric == name]
        yield name, part.pivot(index="alpha", columns="delta", values="value").iloc[:, ::-1]


def growth_line(name, grid):
    """Whether a score grows as delta falls, at every alpha below 1; where it does not."""
    steps = grid.diff(axis=1).iloc[:-1, 1:].stack()
    falls = steps[steps < -STEP]
    text = f"{METRICS[name]} grows as delta falls, alpha below 1: "
    text += f"it does not fall in {len(steps) - len(falls)} of {len(steps)} steps"
    if len(falls):
        (alpha, delta), before = falls.idxmin(), list(grid.columns)
        before = before[before.index(delta) - 1]
        text += (
            f"; it falls at alpha {sorted(set(falls.index.get_level_values(0)))}, most from "
            f"{grid.loc[alpha, before]:.3f} (delta {before:g}) to {grid.loc[alpha, delta]:.3f} "
            f"(delta {delta:g}) at alpha {alpha:g}"
        )
    ends = grid.iloc[:-1, -1] - grid.iloc[:-1, 0]
    least, most = np.round([ends.min(), ends.max()], 2) + 0.0  # no -0.00
    text += f"; from delta 1 to {grid.columns[-1]:g} it rises by {least:.2f} to {most:.2f}"
    return verdict(not len(falls), text + ".")


def dependence_lines(dependence):
    grids = dict(grids_of(dependence))
    lowest = {name: grid.loc[1.0].min() for name, grid in grids.items()}
    lines = ["Figure 2: toy, alpha x delta"]
    for name in OURS:
        text = f"{METRICS[name]} reaches 1 at alpha 1 for every delta: lowest {lowest[name]:.3f}."
        lines.append(verdict(lowest[name] >= ONE, text))
    lines += [growth_line(name, grids[name]) for name in OURS]
    falling = {
        name: (grid.diff(axis=1).iloc[:-1, 1:] < -STEP).any(axis=None)
        for name, grid in grids.items()
    }
    both = [name for name in METRICS if lowest[name] >= ONE and not falling[name]]
    named, further = (
        [METRICS[name] for name in both if (name in NAMED) == wanted] for wanted in (True, False)
    )
    text = "Both do both, and no other metric that the paper names: those that do are "
    text += f"{', '.join(named) or 'none'}; of further metrics {', '.join(further) or 'none'}."
    lines.append(verdict(named == [METRICS[name] for name in OURS], text))
    lines += failure_lines(grids)
    return [*lines, f"  At alpha 1, lowest over delta: {listed(lowest)}."]


def failure_lines(grids):
    """What the paper says of other metrics."""
    values = {name: grids[name].loc[1.0, 1.0] for name in ("mig", "sap", *DCI)}
    text = f"At alpha 1 and delta 1 these miss 1: {listed(values)}."
    imperfect = verdict(max(values.values()) < ONE, text)
    names = ("factor_vae", "mig", "sap", "modularity")
    values = {name: grids[name].iloc[:, -1].max() for name in names}
    text = f"These never reach 1 at delta 1/4, best over alpha: {listed(values)}."
    low = verdict(max(values.values()) < ONE, text)
    spans, inner = (
        {name: np.ptp(grids[name].iloc[:, :stop], axis=1).mean() for name in DCI}
        for stop in (None, -1)
    )
    text = f"These hardly depend on delta, mean range over delta: {listed(spans)}; without delta "
    text += f"1/4, where all factors are equal: {listed(inner)}."
    return [imperfect, low, verdict(max(spans.values()) <= SPAN, text)]


def nuisance_lines(nuisance):
    table = nuisance.pivot(index="beta", columns="metric", values="value")
    falls = table.iloc[0] - table.iloc[-1]
    fallen = falls[list(METRICS)][lambda fall: fall > FALL]
    first, last = table.index[[0, -1]]
    down = (table["minimality"].diff().dropna() < 0).all()
    ends = table["minimality"].iloc[[0, -1]]
    text = f"Minimality falls at every step of beta, {first:g} to {last:g}: "
    text += f"from {ends.iloc[0]:.2f} to {ends.iloc[1]:.2f}."
    others = {name: falls[name] for name in METRICS if name != "minimality"}
    return [
        "Figure 3: toy, nuisance beta",
        verdict(down, text),
        verdict(
            list(fallen.index) == ["minimality"],
            f"It is the only one: falls from beta {first:g} to {last:g} are {listed(others)}.",
        ),
        f"  IRS, not in the paper's figure, falls by {falls['irs']:.2f}.",
    ]


def target_lines(table, ours, target):
    """Claims about one of our metrics and one target; a table of metrics x levels."""
    own, others = table.loc[ours], table.drop(index=ours)
    name, values = METRICS[ours], ", ".join(f"{k} {v:.2f}" for k, v in table.loc[ours].items())
    first, last = table.columns[0], table.columns[1:]
    kept = verdict(own.min() >= CORRELATED, f"{name} stays correlated with {target}: {values}.")
    ranks = table.rank(ascending=False).loc[ours].astype(int)
    text = f"{name} is the best correlate in every setting: its places among {len(table)} are "
    best = verdict((ranks == 1).all(), text + ", ".join(map(str, ranks)) + ".")
    change = table[last].mean(axis=1) - table[first]
    text = f"{name} changes less than most others, from {first} to the mean of the dependent ones: "
    text += f"{change[ours]:+.2f}, the others {change.drop(ours).mean():+.2f} in the mean"
    text += f" ({change.drop(ours).min():+.2f} to {change.drop(ours).max():+.2f})."
    stable = verdict(abs(change[ours]) < change.drop(ours).abs().median(), text)
    return [kept, best, stable, other_line(others, change.drop(ours), target)]


def other_line(others, change, target):
    """What the paper says of the other metrics, which differs between the two targets."""
    if target == "accuracy":
        share = (change < -SPAN).mean()
        text = f"Most others lose more than {SPAN} by dependence: {share:.2f} of them do."
        return verdict(share > 0.5, text)
    weak = (others < CORRELATED).mean()
    text = f"Most others are below {CORRELATED}, share by setting: "
    text += ", ".join(f"{level} {share:.2f}" for level, share in weak.items()) + "."
    return verdict((weak > 0.5).all(), text)


def model_lines(study, scores, correlations):
    lines = []
    for dataset in study["settings"]:
        part = scores[scores.dataset == dataset]
        n = len(part[["loss", "architecture", "seed"]].drop_duplicates())
        lines.append(f"Figures 4 and 5: {dataset}, rank correlations over {n} models")
        lines.append(f"  By chance alone, 95 % of them lie within +-{1.96 / np.sqrt(n - 1):.2f}.")
        base = part[part.setting == "independent"].groupby("metric").value
        for name, label in {**{name: METRICS[name] for name in OURS}, **TARGETS}.items():
            low, high = base.min()[name], base.max()[name]
            lines.append(f"  {label} of the models, independent factors: {low:.2f} to {high:.2f}.")
        for ours, target in PAIRED.items():
            table = by_level(study, correlations, dataset, target)
            lines += target_lines(table, ours, TARGETS[target])
    return lines


# %%
# Figures, with the paper's axes and colors.


def plot_dependence(dependence):
    figure, axes = plt.subplots(
        3, 4, figsize=(10, 7), sharex=True, sharey=True, layout="constrained"
    )
    colors = plt.get_cmap("coolwarm")
    for ax, (name, grid) in zip(axes.flat, grids_of(dependence)):
        low, high = grid.columns.min(), grid.columns.max()
        for delta in grid:
            color = colors((delta - low) / (high - low))
            ax.plot(grid.index, grid[delta], ".-", color=color, label=f"{delta:g}")
        ax.set_title(METRICS[name], fontsize=10, weight="bold" if name in OURS else None)
        ax.set_ylim(-0.03, 1.05)
    for ax in axes[-1]:
        ax.set_xlabel("alpha")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="delta", loc="outside right center")
    figure.suptitle("Disentanglement alpha, for independent (red) to equal (blue) factors")
    return figure


def plot_nuisance(nuisance):
    table = nuisance.pivot(index="beta", columns="metric", values="value")
    size = (11, 3.6)
    figure, axes = plt.subplots(2, 7, figsize=size, sharex=True, sharey=True, layout="constrained")
    for ax, (name, label) in zip(axes.flat, {**METRICS, "irs": "IRS"}.items()):
        ax.plot(table.index, table[name], ".-", color="C0")
        ax.set_title(label, fontsize=10, weight="bold" if name in OURS else None)
        ax.set_ylim(-0.03, 1.05)
        ax.xaxis.set_tick_params(labelbottom=True)
    axes.flat[-1].set_visible(False)
    figure.supxlabel("nuisance beta", fontsize=10)
    return figure


def plot_correlations(study, correlations):
    names = list(study["settings"])
    size = (10, 0.7 + 4.6 * len(names))
    figure, axes = plt.subplots(len(names), 2, figsize=size, squeeze=False, layout="constrained")
    for row, dataset in zip(axes, names):
        for ax, (ours, target) in zip(row, PAIRED.items()):
            table = by_level(study, correlations, dataset, target)
            image = ax.imshow(table, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
            for (i, j), value in np.ndenumerate(table.to_numpy()):
                color = "white" if abs(value) > 0.65 else "black"
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=9)
            ax.set_xticks(range(table.shape[1]), [name.replace(" ", "\n", 1) for name in table])
            labels = ax.set_yticks(range(len(table)), [METRICS[name] for name in table.index])
            labels[list(table.index).index(ours)].label1.set_weight("bold")
            ax.tick_params(length=0, labelsize=9)
            ax.set_title(f"{dataset}: rank correlation with {TARGETS[target]}", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


# %%


def main():
    study = Study("dependent_factors", __doc__, SMALL, FULL)
    start = time.perf_counter()
    dependence, nuisance = run_toys(study)
    scores = run_models(study)
    correlations = study.rows(
        "correlations", model_cells(study), lambda **cell: correlate(scores, **cell)
    )
    study.figure("toy_dependence", plot_dependence(dependence))
    study.figure("toy_nuisance", plot_nuisance(nuisance))
    study.figure("correlations", plot_correlations(study, correlations))
    lines = dependence_lines(dependence) + nuisance_lines(nuisance)
    lines += model_lines(study, scores, correlations)
    study.text([fill(line, width=100, subsequent_indent="    ") for line in lines])
    print(f"total time: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
