"""
Learning from logic: a study
============================

Zhang and Sugiyama (2024) derive objectives from logical definitions of modularity and
informativeness, and leave open whether they teach anything. Here a VAE is guided by properties
(``Property.guidance``), by labels (``Labels``) and by nothing, with labels of 1, 10 and 100 % of
the images, and with pairs of which only "the same or not?" is known, on data where training without
labels fails: XYSquares, whose pixels tell nothing about the order of places.

Methods, all beside the terms of the same beta-VAE:

- ``none``: no guidance;
- ``l2``, ``xent``: labels by regression and by cross-entropy;
- ``product``: the paper's modularity (variances) and contraction, as published: ``ProductVAE``, in
  units of codes, with contraction of all factors and their codes together;
- ``each factor``: modularity of unit codes, and contraction of every factor by itself ("where the
  codes of a factor are the same, so is the factor": ``consistency``) in unit codes, each with the
  last 128 labelled rows beside those of the batch, since a property of a few rows says little;
- ``in place``: modularity of unit codes, and "an affine map reads each factor off its code", with
  the same memory;
- ``decodable``: the second half of it alone;
- ``diameter, max``: ``ProductVAE`` with the paper's diameters and largest contraction;
- ``pairs``: as ``each factor``, of pairs: labels are compared between neighbours of a batch and
  serve no other end.

Weights are chosen for every method by MIG at 10 % of the labels, on other seeds (from 100 on) than
those that are reported. Scores are of images that no model has seen: MIG; M, the share of the
variance of the code of a factor that it does not explain (``modularity_distance`` of unit codes in
their place, 0 is best, mean over factors); R2 of the affine map from a code to its factor; told,
the share of the entropy of a factor about which its own code is informative; joint, the contraction
that ``product`` is trained by: of all factors, with values at distance 1, and their codes, in units
of codes, so that it says nothing about methods without a scale.

With a tenth of the labels, ``l2`` and ``product`` are also trained four and sixteen times as long:
runs on the seeds for tuning said that the number of steps is what ``product`` lacks. What is left
then is compared with ``l2 in places``: labels by regression, too, of which each value is where the
codes of ``product`` have put it.

A difference between two methods is stated with the 95 % interval of its mean over seeds, which
share images and labels; where it holds 0, the difference is not decided. A method whose MIG is not
above that of ``none`` has learned nothing: of two such methods no difference is evidence.

Run ``python study_logic.py``; it writes tables, a figure and ``summary.txt`` into
``results/logic``, and skips what is done when run again. ``--minutes 30`` ends it after that time.
Small means: 4,096 images of 8 x 8 places, 3,000 of them for training, a network with one hidden
layer, five seeds, 229 fits of 2 to 40 seconds: about 30 minutes on one free core. Its beta and the
number of epochs were chosen in trials with seed 7, such that models with l2 labels of a tenth of
the images learn the factors and models without labels do not. ``--full`` has 64 x 64 pixels,
convolutions, three squares and many more steps.
"""

import textwrap
import warnings
from functools import partial
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _study import Study, remembered, shrink
from scipy.stats import entropy
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder

from sklearn_disent.datasets import make_xysquares
from sklearn_disent.logic import Exists, Forall, Property, Semantics, maps, properties
from sklearn_disent.metrics import (
    informativeness_distance,
    mig_score,
    modularity_distance,
    relevance_matrix,
)
from sklearn_disent.models import BetaVAE, Labels, ProductVAE

SMALL = {
    "data": {"factors": {"x_blue": 0, "y_blue": 0}, "image_size": 32, "random_state": 0},
    "n_factors": 4,
    "shrink": 4,
    "n_train": 3000,
    "net": {
        **{"n_components": 6, "beta": 0.2, "batch_size": 128, "lr": 4e-3, "max_epochs": 12},
        **{"architecture": "mlp", "module__hidden_sizes": [128]},
    },
    "weights": [10.0, 100.0, 1000.0, 10_000.0],
    "tuning_seeds": [100, 101],
    "seeds": [0, 1, 2, 3, 4],
    "shares": [0.01, 0.1, 1.0],
    "longer": [48, 192],
}
FULL = {
    "data": {"n_samples": 50_000, "random_state": 0},
    "n_factors": 6,
    "shrink": 1,
    "n_train": 40_000,
    "net": {
        **{"n_components": 10, "beta": 4.0, "batch_size": 64, "lr": 5e-4, "max_epochs": 30},
        **{"architecture": "locatello", "device": "cuda"},
    },
    "weights": [1.0, 10.0, 100.0, 1000.0, 10_000.0],
    "tuning_seeds": [100, 101],
    "seeds": list(range(10)),
    "shares": [0.001, 0.01, 0.1, 1.0],
    "longer": [120, 480],
}

# %%
# Guidance
# --------

DECODABLE = Property(
    lambda y, z: Forall(
        y.columns,
        lambda k: Exists(
            maps("affine"), lambda h: Forall(y.samples, lambda s: h(z(s)[k]) == y(s)[k])
        ),
    ),
    semantics=Semantics("squared_euclidean", forall="mean", aggregators={"k": "sum"}),
    name="decodable",
)
MODULAR = properties.modularity_by_product("variance")
CONSISTENT = properties.consistency("mean")
MODULAR_PAIRS = properties.modularity_by_pairs()
UNIT = {"code_scale": "unit", "memory": 128}
PAIRS = {"code_scale": "unit", "supervision": "pairs"}


def guided(*rules, **fixed):
    """A beta-VAE with the properties beside its terms, all of the same weight."""

    def make(weight, n_labeled, **net):
        options = {"weight": weight, "n_labeled": n_labeled, **fixed}
        return BetaVAE(guidance=[rule.guidance(**options) for rule in rules], **net)

    return make


def labelled(loss):
    def make(weight, n_labeled, **net):
        return BetaVAE(guidance=Labels(loss, weight=weight, n_labeled=n_labeled), **net)

    return make


def product(**kinds):
    def make(weight, n_labeled, **net):
        return ProductVAE(lambda_m=weight, lambda_i=weight, n_labeled=n_labeled, **kinds, **net)

    return make


UNGUIDED, IN_PLACES = "none", "l2 in places"
METHODS = {
    UNGUIDED: lambda weight, n_labeled, **net: BetaVAE(**net),
    "l2": labelled("l2"),
    "xent": labelled("xent"),
    "product": product(),
    "each factor": guided(MODULAR, CONSISTENT, factor_distance="discrete", **UNIT),
    "in place": guided(MODULAR, DECODABLE, **UNIT),
    "decodable": guided(DECODABLE, **UNIT),
    "diameter, max": product(modularity="diameter", informativeness="max"),
    "pairs": guided(MODULAR_PAIRS, CONSISTENT, **PAIRS),
}

# %%
# Data, fits and scores
# ---------------------


@remembered
def load(n_factors, step, **options):
    squares = make_xysquares(**{**options, "factors": dict(options.get("factors", ())) or None})
    images = squares.images.astype(np.float32) / 255
    images = shrink(images, step) if step > 1 else images
    return images, np.ascontiguousarray(squares.target[:, :n_factors])


def data_of(study):
    options = dict(study["data"])
    options["factors"] = tuple(options.get("factors", {}).items())  # to be remembered
    return load(study["n_factors"], study["shrink"], **options)


def score(y, codes):
    """Scores of codes that are meant for factor k in column k."""
    own = codes[:, : y.shape[1]]
    groups = [[k] for k in range(y.shape[1])]
    lines = [LinearRegression().fit(own[:, k], y[:, k]).score(own[:, k], y[:, k]) for k in groups]
    information = np.diag(relevance_matrix(y, own, kind="mutual_info"))
    entropies = [entropy(np.unique(values, return_counts=True)[1]) for values in y.T]
    points = OneHotEncoder(sparse_output=False).fit_transform(y) / np.sqrt(2)
    return {
        "MIG": mig_score(y, codes),
        "M": modularity_distance(y, own, groups=groups, code_scale="unit", average="macro"),
        "R2": float(np.mean(lines)),
        "told": float(np.mean(information / entropies)),
        "joint": informativeness_distance(points, own, quantity="mean_contraction"),
    }


def net_of(study, **params):
    # Initial weights are those with which the stored results were made.
    return {"module__init": "torch", **study["net"], **params}


def fit_and_score(study, method, weight, share, seed):
    X, y = data_of(study)
    train = slice(study["n_train"])
    rest = slice(study["n_train"], None)
    n_labeled = share if 0 < share < 1 else None
    model = METHODS[method](weight, n_labeled, **net_of(study, random_state=seed))
    with warnings.catch_warnings():
        # Of latents that are dead, and of a diameter with a maximum: both are results here.
        warnings.simplefilter("ignore")
        model.fit(X[train], None if method == UNGUIDED else y[train])
        return score(y[rest], model.transform(X[rest]))


def measure_tuning(settings, method, chosen, seed):
    scores = fit_and_score(settings, method, chosen, 0.1, seed)
    return [{"metric": metric, "value": value} for metric, value in scores.items()]


def measure_scores(settings, method, share, seed, weight):
    scores = fit_and_score(settings, method, weight, share, seed)
    return [{"metric": metric, "value": value} for metric, value in scores.items()]


def measure_longer(settings, method, max_epochs, seed, weight):
    net = {**settings["net"], "max_epochs": max_epochs}
    return measure_scores({**settings, "net": net}, method, 0.1, seed, weight)


def measure_places(settings, max_epochs, seed, weight, weight_product):
    """Scores of ``l2`` whose labels are the mean codes of each value of a factor in ``product``."""
    X, y = data_of(settings)
    train, rest = slice(settings["n_train"]), slice(settings["n_train"], None)
    net = net_of(settings, max_epochs=max_epochs, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of latents that are dead
        teacher = METHODS["product"](weight_product, 0.1, **net).fit(X[train], y[train])
        places = in_places(y[train], teacher.transform(X[train]))
        model = METHODS["l2"](weight, 0.1, **net).fit(X[train], places)
    scores = score(y[rest], model.transform(X[rest]))
    return [{"metric": metric, "value": value} for metric, value in scores.items()]


def in_places(y, codes):
    """For every value of a factor the mean of the code in its place, in the factor's units."""
    columns = []
    for k, values in enumerate(y.T):
        _, inverse = np.unique(values, return_inverse=True)
        column = (np.bincount(inverse, codes[:, k]) / np.bincount(inverse))[inverse]
        # Of the same mean and variance: the weight of the labels then means the same.
        columns.append((column - column.mean()) / column.std() * values.std() + values.mean())
    return np.column_stack(columns)


# %%
# What it says
# ------------


def choose(tuning):
    """For every method the weight of largest mean MIG."""
    mig = tuning[tuning.metric == "MIG"].groupby(["method", "chosen"]).value.mean()
    return {method: float(mig[method].idxmax()) for method in mig.index.levels[0]}


def interval(values):
    """Mean and half the length of its 95 % interval."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return float(np.mean(values)), float(half)


def with_reference(scores, share):
    """Rows of one share of labels, and those without guidance, which have none."""
    return scores[(scores.share == share) | (scores.method == UNGUIDED)]


def difference(scores, metric, first, second, share):
    """Mean difference of two methods over seeds, and half the length of its interval."""
    table = with_reference(scores, share)
    table = table[table.metric == metric]
    wide = table.pivot(index="seed", columns="method", values="value")
    return interval((wide[first] - wide[second]).dropna().to_numpy())


def has_learned(scores, method, share):
    if method == UNGUIDED:
        return False
    mean, half = difference(scores, "MIG", method, UNGUIDED, share)
    return mean > half


def compare(scores, metric, first, second, share, higher=True):
    """Whether one method is better than another, from differences over seeds."""
    mean, half = difference(scores, metric, first, second, share)
    text = f"{metric} of '{first}' minus '{second}': {mean:+.3f} ± {half:.3f}"
    if not abs(mean) > half:
        return f"{text}: not decided"
    if not any(has_learned(scores, method, share) for method in (first, second)):
        return f"{text}: no evidence, neither has learned"
    return f"{text}: '{first}' is {'better' if (mean > 0) == higher else 'worse'}"


def compare_epochs(scores, method, fewer, more):
    """Whether a method has a higher MIG after more epochs."""
    own = scores[(scores.method == method) & (scores.metric == "MIG")]
    wide = own.pivot(index="seed", columns="max_epochs", values="value")
    mean, half = interval((wide[more] - wide[fewer]).dropna().to_numpy())
    text = f"MIG of '{method}' after {more} epochs minus after {fewer}: {mean:+.3f} ± {half:.3f}"
    if not abs(mean) > half:
        return f"{text}: not decided"
    return f"{text}: more epochs are {'better' if mean > 0 else 'worse'}"


def table_lines(title, part):
    metrics = list(dict.fromkeys(part.metric))
    lines = ["", title, f"{'':14}{'weight':>8}" + "".join(f"{m:>16}" for m in metrics)]
    for method in (method for method in (*METHODS, IN_PLACES) if method in set(part.method)):
        own = part[part.method == method]
        cells = [interval(own[own.metric == m].value.to_numpy()) for m in metrics]
        text = "".join(f"{mean:>8.3f} ± {half:.3f}" for mean, half in cells)
        lines.append(f"{method:14}{own.weight.iloc[0]:>8g}{text}")
    return lines


COMPARED = (
    ("l2", UNGUIDED),
    ("product", UNGUIDED),
    ("product", "l2"),
    ("each factor", UNGUIDED),
    ("each factor", "product"),
    ("each factor", "l2"),
    ("in place", UNGUIDED),
    ("in place", "l2"),
    ("in place", "decodable"),
    ("decodable", UNGUIDED),
    ("decodable", "l2"),
    ("diameter, max", UNGUIDED),
    ("pairs", UNGUIDED),
    ("pairs", "l2"),
)


def claim_lines(title, scores, share, compared):
    lines = ["", title]
    for first, second in compared:
        lines.append("* " + compare(scores, "MIG", first, second, share))
        lines.append("* " + compare(scores, "M", first, second, share, higher=False))
    return lines


def summary(scores, longer, shares, n_seeds, n_epochs):
    """Tables, then differences; models that were trained for longer come last in both."""
    text = (
        f"Mean and 95 % interval over {n_seeds} seeds, on images that no model has seen. M and "
        "joint are 0 at best, the others 1. Weights were chosen on other seeds, at 10 % of the "
        "labels."
    )
    tables, claims = textwrap.wrap(text, 100), ["", "Differences over seeds, with 95 % intervals:"]
    for share in shares:
        title = f"labels of {share:.0%} of the images"
        tables += table_lines(title, with_reference(scores, share))
        claims += claim_lines(title, scores, share, COMPARED)
    for max_epochs, part in longer.groupby("max_epochs"):
        title = f"labels of 10% of the images, {max_epochs} epochs"
        tables += table_lines(title, part)
        compared = [("product", "l2"), ("product", IN_PLACES), (IN_PLACES, "l2")]
        unguided = scores[scores.method == UNGUIDED]
        claims += claim_lines(title, pd.concat([part.assign(share=0.1), unguided]), 0.1, compared)
    every = pd.concat([scores[scores.share == 0.1].assign(max_epochs=n_epochs), longer])
    steps = list(pairwise([n_epochs, *sorted(longer.max_epochs.unique())]))
    claims += ["", "labels of 10% of the images, more epochs"]
    claims += ["* " + compare_epochs(every, m, *step) for m in ("product", "l2") for step in steps]
    n_intervals = sum(line.startswith("* ") for line in claims)
    claims += ["", f"These are {n_intervals} intervals of 95 %: some miss by chance."]
    return [*tables, *claims]


LABELS = {"MIG": "MIG (1 is best)", "M": "M (0 is best)", "told": "told (1 is best)"}


def plot(scores, shares):
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for ax, metric in zip(axes, LABELS):
        for k, method in enumerate(METHODS):
            values = [
                interval(part[(part.method == method) & (part.metric == metric)].value.to_numpy())
                for part in (with_reference(scores, share) for share in shares)
            ]
            mean, half = np.array(values).T
            places = np.arange(len(shares)) + 0.08 * (k - len(METHODS) / 2)
            ax.errorbar(places, mean, yerr=half, fmt="o", ms=4, lw=1, color=f"C{k}", label=method)
        ax.set_xticks(range(len(shares)), [f"{share:.0%}" for share in shares])
        ax.set(xlabel="images with labels", ylabel=LABELS[metric])
        ax.grid(axis="y", alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def complete(table, cells):
    """Rows of the cells, and whether all are there."""
    rows = table.merge(pd.DataFrame(cells)) if len(table) else table
    return rows, len(rows) > 0 and len(rows[list(cells[0])].drop_duplicates()) == len(cells)


def main():
    study = Study("logic", __doc__, SMALL, FULL, parts=("weights", "tuning_seeds", "seeds"))
    cells = [
        {"method": method, "chosen": weight, "seed": seed}
        for seed in study.chosen("tuning_seeds")
        for method in METHODS
        if method != UNGUIDED
        for weight in study.chosen("weights")
    ]
    tuning = study.parallel_rows("tuning", cells, partial(measure_tuning, study.settings))
    tuning, done = complete(tuning, cells)
    if not done:
        study.text(["Weights are not chosen yet. Run the study again: it goes on."])
        return
    weights = {UNGUIDED: 0.0, **choose(tuning)}
    # The weight is a part of the cell: another choice is another fit.
    cells = [
        {"method": method, "share": share, "seed": seed, "weight": weights[method]}
        for seed in study.chosen("seeds")
        for method in METHODS
        for share in (study["shares"] if method != UNGUIDED else [0.0])
    ]
    scores = study.parallel_rows("scores", cells, partial(measure_scores, study.settings))
    scores, done = complete(scores, cells)
    cells = [
        {"method": method, "max_epochs": max_epochs, "seed": seed, "weight": weights[method]}
        for max_epochs in study["longer"]
        for seed in study.chosen("seeds")
        for method in ("l2", "product")
    ]
    longer = study.parallel_rows("longer", cells, partial(measure_longer, study.settings))
    longer, longer_done = complete(longer, cells)
    cells = [
        {
            **{"max_epochs": max_epochs, "seed": seed},
            **{"weight": weights["l2"], "weight_product": weights["product"]},
        }
        for max_epochs in study["longer"]
        for seed in study.chosen("seeds")
    ]
    places = study.parallel_rows("places", cells, partial(measure_places, study.settings))
    places, places_done = complete(places, cells)
    if not (done and longer_done and places_done):
        study.text(["Not all models are trained yet. Run the study again: it goes on."])
        return
    study.figure("scores", plot(scores, study["shares"]))
    longer = pd.concat([longer, places.assign(method=IN_PLACES)])
    n_seeds, n_epochs = len(study.chosen("seeds")), study["net"]["max_epochs"]
    study.text(summary(scores, longer, study["shares"], n_seeds, n_epochs))


if __name__ == "__main__":
    main()
