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
- ``product``: the paper's modularity (variances) and contraction, as published: in units of codes;
- ``product, unit``: the same with codes of unit variance, so that shrinking does not pay;
- ``product, memory``: this with the last 256 labelled rows beside those of the batch, since a
  property of a few rows says little;
- ``in place``: modularity of unit codes, and "an affine map reads each factor off its code", with
  memory;
- ``decodable``: the second half of it alone;
- ``diameter, max``: the paper's diameters and largest contraction;
- ``pairs``: modularity and contraction of pairs; labels are compared between neighbours of a batch
  and serve no other end.

Weights are chosen for every method by MIG at 10 % of the labels, on other seeds (from 100 on) than
those that are reported. Scores are of images that no model has seen: MIG; M, the share of the
variance of the code of a factor that it does not explain (``modularity_distance`` of unit codes in
their place, 0 is best, mean over factors); R2 of the affine map from a code to its factor; mean
contraction of the codes in their place, scaled to the spread of the factors.

A difference between two methods is stated with the 95 % interval of its mean over seeds, which
share images and labels; where it holds 0, the difference is not decided.

Run ``python study_logic.py``; it writes tables, a figure and ``summary.txt`` into
``results/logic``, and skips what is done when run again. ``--minutes 30`` ends it after that time.
Small means: 4,096 images of 8 x 8 places, 3,000 of them for training, a network with one hidden
layer, 940 steps, five seeds: half an hour on two free cores. Its beta and the number of epochs were
chosen in trials with seed 7, such that models with l2 labels of a tenth of the images learn the
factors and models without labels do not. ``--full`` has 64 x 64 pixels, convolutions, three squares
and twenty times as many steps.
"""

import textwrap
import warnings
from functools import lru_cache, partial

import matplotlib.pyplot as plt
import numpy as np
from _study import Study, shrink
from joblib import Parallel, delayed
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression

from sklearn_disent.datasets import make_xysquares
from sklearn_disent.logic import Exists, Forall, Property, Semantics, maps, properties
from sklearn_disent.metrics import informativeness_distance, mig_score, modularity_distance
from sklearn_disent.models import BetaVAE, Labels

SMALL = {
    "data": {"factors": {"x_blue": 0, "y_blue": 0}, "image_size": 32, "random_state": 0},
    "n_factors": 4,
    "shrink": 4,
    "n_train": 3000,
    "net": {
        **{"n_components": 6, "beta": 0.2, "batch_size": 64, "lr": 2e-3, "max_epochs": 20},
        **{"architecture": "mlp", "module__hidden_sizes": [256]},
    },
    "weights": [1.0, 10.0, 100.0, 1000.0],
    "tuning_seeds": [100, 101],
    "seeds": [0, 1, 2, 3, 4],
    "shares": [0.01, 0.1, 1.0],
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
INJECTIVE = properties.informativeness_by_injectivity("mean")
UNIT = {"code_scale": "unit"}
DISCRETE = {"factor_distance": "discrete"}


def product(modular, injective, modular_options=None, **options):
    """Modularity and informativeness, each with its weight."""
    first = modular.guidance(**options, **(modular_options or {}))
    return [first, injective.guidance(**DISCRETE, **options)]


METHODS = {
    "none": lambda **options: None,
    "l2": partial(Labels, "l2"),
    "xent": partial(Labels, "xent"),
    "product": partial(product, MODULAR, INJECTIVE),
    "product, unit": partial(product, MODULAR, INJECTIVE, UNIT),
    "product, memory": partial(product, MODULAR, INJECTIVE, UNIT, memory=256),
    "in place": lambda **options: [
        MODULAR.guidance(**UNIT, memory=256, **options),
        DECODABLE.guidance(**UNIT, memory=256, **options),
    ],
    "decodable": lambda **options: DECODABLE.guidance(**UNIT, memory=256, **options),
    "diameter, max": partial(
        product,
        properties.modularity_by_constancy("diameter"),
        properties.informativeness_by_injectivity("max"),
    ),
    "pairs": lambda **options: [
        properties.modularity_by_pairs().guidance(supervision="pairs", **options),
        INJECTIVE.guidance(supervision="pairs", **options),
    ],
}

# %%
# Data, fits and scores
# ---------------------


@lru_cache(maxsize=1)
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
    n_factors = y.shape[1]
    own = codes[:, :n_factors]
    values = y / y.max(axis=0)
    r2 = [
        LinearRegression().fit(own[:, [k]], values[:, k]).score(own[:, [k]], values[:, k])
        for k in range(n_factors)
    ]
    groups = [[k] for k in range(n_factors)]
    return {
        "MIG": mig_score(y, codes),
        "M": modularity_distance(y, own, groups=groups, code_scale="unit", average="macro"),
        "R2": float(np.mean(r2)),
        "contraction": informativeness_distance(
            values, own, quantity="mean_contraction", code_scale="unit"
        ),
    }


def fit_and_score(study, method, weight, share, seed):
    X, y = data_of(study)
    train = slice(study["n_train"])
    rest = slice(study["n_train"], None)
    options = {} if method == "none" else {"weight": weight}
    if method != "none" and share < 1:
        options["n_labeled"] = share
    model = BetaVAE(guidance=METHODS[method](**options), random_state=seed, **study["net"])
    with warnings.catch_warnings():
        # Of latents that are dead, and of a diameter with a maximum: both are results here.
        warnings.simplefilter("ignore")
        model.fit(X[train], None if method == "none" else y[train])
    return score(y[rest], model.transform(X[rest]))


def measure(study, method, weight, share, seeds):
    """Rows of all seeds, at the same time."""
    with study.workers():
        results = Parallel()(
            delayed(fit_and_score)(_Settings(study.settings), method, weight, share, seed)
            for seed in seeds
        )
    for seed, scores in zip(seeds, results):
        for metric, value in scores.items():
            yield {"weight": weight, "seed": seed, "metric": metric, "value": value}


class _Settings(dict):
    """What a worker needs of a study."""


def measure_tuning(study, **cell):
    return measure(study, cell["method"], cell["chosen"], 0.1, study["tuning_seeds"])


def measure_scores(study, weights, **cell):
    weight = weights.get(cell["method"], 0.0)
    return measure(study, cell["method"], weight, cell["share"], study["seeds"])


# %%
# What it says
# ------------


def choose(tuning):
    """For every method the weight of largest mean MIG."""
    mig = tuning[tuning.metric == "MIG"].groupby(["method", "weight"]).value.mean()
    return {method: float(mig[method].idxmax()) for method in mig.index.levels[0]}


def interval(values):
    """Mean and half the length of its 95 % interval."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return float(np.mean(values)), float(half)


def compare(scores, metric, first, second, share, higher=True):
    """Whether one method is better than another, from differences over seeds."""
    table = scores[(scores.metric == metric) & (scores.share == share)]
    wide = table.pivot(index="seed", columns="method", values="value")
    mean, half = interval((wide[first] - wide[second]).to_numpy())
    text = f"{metric} of '{first}' minus '{second}': {mean:+.3f} ± {half:.3f}"
    if abs(mean) <= half:
        return f"{text}: not decided"
    return f"{text}: '{first}' is {'better' if (mean > 0) == higher else 'worse'}"


def table_lines(scores, weights):
    lines = []
    for share, part in scores.groupby("share"):
        lines += ["", f"labels of {share:.0%} of the images"]
        metrics = list(dict.fromkeys(part.metric))
        lines.append(f"{'':16}{'weight':>8}" + "".join(f"{m:>20}" for m in metrics))
        for method in dict.fromkeys(part.method):
            own = part[part.method == method]
            cells = [interval(own[own.metric == m].value.to_numpy()) for m in metrics]
            text = "".join(f"{mean:>12.3f} ± {half:.3f}" for mean, half in cells)
            lines.append(f"{method:16}{weights.get(method, 0):>8g}{text}")
    return lines


def claims(scores, shares):
    few = [share for share in shares if share < 1]
    lines = ["", "Differences over seeds, with 95 % intervals:"]
    for share in shares:
        lines += ["", f"labels of {share:.0%} of the images"]
        for first, second in (
            ("product", "none"),
            ("product", "l2"),
            ("product, unit", "product"),
            ("product, memory", "product, unit"),
            ("product, memory", "l2"),
            ("in place", "l2"),
            ("in place", "decodable"),
            ("pairs", "none"),
            ("pairs", "l2"),
        ):
            lines.append("* " + compare(scores, "MIG", first, second, share))
            lines.append("* " + compare(scores, "M", first, second, share, higher=False))
    collapse = scores[(scores.method == "diameter, max") & (scores.metric == "contraction")]
    mean, half = interval(collapse[collapse.share.isin(few or shares)].value.to_numpy())
    lines += ["", f"Contraction of 'diameter, max': {mean:.3f} ± {half:.3f}."]
    return lines


def plot(scores):
    metrics = ["MIG", "M"]
    shares = sorted(scores.share.unique())
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, metric in zip(axes, metrics):
        part = scores[scores.metric == metric]
        for k, method in enumerate(dict.fromkeys(part.method)):
            own = part[part.method == method].groupby("share").value
            places = np.arange(len(shares)) + 0.08 * (k - 4)
            half = [interval(own.get_group(share).to_numpy())[1] for share in shares]
            ax.errorbar(places, own.mean(), yerr=half, fmt="o", ms=4, lw=1, label=method)
        ax.set_xticks(range(len(shares)), [f"{share:.0%}" for share in shares])
        ax.set(xlabel="images with labels", ylabel=metric)
    axes[0].legend(fontsize=8)
    return figure


def main():
    study = Study("logic", __doc__, SMALL, FULL)
    guided = [method for method in METHODS if method != "none"]
    cells = [{"method": m, "chosen": w} for m in guided for w in study["weights"]]
    tuning = study.rows("tuning", cells, partial(measure_tuning, study))
    weights = choose(tuning)
    cells = [{"method": m, "share": s} for m in METHODS for s in study["shares"]]
    scores = study.rows("scores", cells, partial(measure_scores, study, weights))
    study.figure("scores", plot(scores))
    study.text(
        [
            *textwrap.wrap(
                f"Mean and 95 % interval over {len(study['seeds'])} seeds, on images that no model "
                "has seen. M is 0 at best; MIG and R2 are 1. Weights were chosen on other seeds.",
                100,
            ),
            *table_lines(scores, weights),
            *claims(scores, study["shares"]),
        ]
    )


if __name__ == "__main__":
    main()
