"""
Metrics from logical definitions on learned codes: a study
==========================================================

Zhang and Sugiyama (2024) derive metrics of *modularity* and of *informativeness* from their logical
definitions (the toy tables are in ``plot_logical_metrics.py``), and then put them to use: four
learning methods on image data sets are scored by ten of these metrics and six earlier ones
(table 5), metrics are compared by Kendall's tau (table 6) and by their computation time (table 7),
and modularity is broken down by factor (tables 8 to 11). This script does all of it, checks what
the paper concludes from its tables, and tells what holds.

``python study_logical_metrics.py`` takes four minutes on two free cores: 5,000 rendered images each
of dSprites and of a look-alike of 3D Shapes, of 16 x 16 pixels, small networks, five seeds.

``--full`` has the paper's four data sets, downloaded at the first use (30 GB on disk), 300,000
steps of batches of 64, and needs a GPU and about 32 GB of memory. A stopped run goes on where it
was; a finished one is only read again.

The study follows the paper in what it states: the methods, the metrics, "linear projection to find
the most informative representations for each factor". What it does not state was chosen here:

- Weights: beta 4 (beta-VAE), gamma 10 (FactorVAE), beta 6 (beta-TCVAE), in both sizes, and ten
  latents. Sizes of networks and lengths of training of the small run were chosen by the time they
  take, in trials on the same images; no weight was tuned. After a first run with 3,750 steps these
  were cut to 2,500 to save time, and "not decided" was added to the answers yes and no. Two answers
  were different in the first run: no difference between methods was certain (9 of 20 tests with
  p < 0.05, none at 5 % false discoveries), nor was DCI's agreement with modularity (mean tau 0.13,
  standard error 0.15).
- Modularity and contraction are those of the linear projection: every factor, scaled to [0, 1],
  regressed on all codes. Contraction of the codes themselves is near 1 and far from the numbers in
  the paper, those of the projection are near them. Errors of the inverse and all earlier metrics
  are of the codes themselves.
- Models are trained on all images but those (1,000; 10,000) on which they are scored.
- DCI uses gradient boosting as in the paper, but 10 rounds instead of 100 in the small run.
- The paper's taus are means over its four data sets, each with one ranking of the four methods.
  Here every seed of every data set gives such a ranking.
- Seconds are processor time in one thread, of every metric by itself, projection included; the
  median of up to five runs, on the codes of the first VAE. DCI is timed with 100 rounds, too.
"""

import textwrap
import time
from functools import lru_cache, partial

import matplotlib.pyplot as plt
import numpy as np
from _study import Study, shrink
from scipy.stats import false_discovery_control, kruskal
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from sklearn_disent import datasets
from sklearn_disent.inspection import MetricAgreementDisplay
from sklearn_disent.metrics import (
    beta_vae_score,
    constancy_modularity_score,
    contraction_informativeness_score,
    dci_scores,
    factor_vae_score,
    inverse_informativeness_score,
    mig_score,
    product_modularity_score,
)
from sklearn_disent.models import VAE, BetaTCVAE, BetaVAE, FactorVAE

SMALL = {
    # function of sklearn_disent.datasets, its options
    "sets": {
        "dSprites": ["make_dsprites", {"n_samples": 5000, "image_size": 32, "random_state": 0}],
        "3D Shapes": ["make_shapes3d", {"n_samples": 5000, "image_size": 32, "random_state": 0}],
    },
    "shrink": 2,
    "n_scored": 1000,
    "seeds": 5,
    "n_steps": 2500,
    "common": {
        **{"n_components": 10, "batch_size": 64, "lr": 2e-3},
        **{"architecture": "mlp", "module__hidden_sizes": (128, 128)},
    },
    "discriminator": {"discriminator__hidden_sizes": (128, 128), "discriminator_lr": 1e-3},
    "dci_rounds": 10,
}
FULL = {
    "sets": {
        "3D Cars": ["fetch_cars3d", {}],
        "dSprites": ["fetch_dsprites", {}],
        "3D Shapes": ["fetch_shapes3d", {}],
        "MPI3D": ["fetch_mpi3d", {"version": "toy"}],
    },
    "shrink": 1,
    "n_scored": 10_000,
    "seeds": 5,
    "n_steps": 300_000,
    "common": {
        **{"n_components": 10, "batch_size": 64, "lr": 1e-4},
        **{"architecture": "locatello", "device": "cuda"},
    },
    "discriminator": {},
    "dci_rounds": 100,
}

# %%
# Metrics
# -------
# Names are the paper's. All are functions of factors and codes.


def project(factors, codes):
    """Factors scaled to [0, 1], and the linear functions of the codes that are nearest to them."""
    scaled = MinMaxScaler().fit_transform(factors)
    return scaled, LinearRegression().fit(codes, scaled).predict(codes)


def contraction(factors, codes, **options):
    """Contraction of the projection: distances of codes have no scale of their own."""
    return contraction_informativeness_score(*project(factors, codes), **options)


def dci(factors, codes, rounds=100):
    estimator = GradientBoostingClassifier(n_estimators=rounds) if rounds else None
    return dci_scores(factors, codes, estimator=estimator, random_state=0)


PRODUCT = partial(product_modularity_score, assignment="projection")
CONSTANCY = partial(constancy_modularity_score, assignment="projection")
INVERSE = partial(inverse_informativeness_score, factor_scale="unit")
MODULARITY = {
    "Rad.": partial(PRODUCT, deviation="radius"),
    "MAD": partial(PRODUCT, deviation="mad"),
    "Var.": partial(PRODUCT, deviation="variance"),
    "Diam.": partial(CONSTANCY, deviation="diameter"),
    "MPD": partial(CONSTANCY, deviation="mean_pairwise"),
}
INFORMATIVENESS = {
    "ME": partial(INVERSE, error="max_error"),
    "MAE": partial(INVERSE, error="mae"),
    "MSE": partial(INVERSE, error="mse"),
    "Max": partial(contraction, aggregate="max"),
    "Mean": partial(contraction, aggregate="mean"),
}
PROPOSED = {**MODULARITY, **INFORMATIVENESS}
EARLIER = {
    "Beta": partial(beta_vae_score, random_state=0),
    "Factor": partial(factor_vae_score, random_state=0),
    "MIG": mig_score,
}
METHODS = ["VAE", "BetaVAE", "FactorVAE", "BetaTCVAE"]
DCI = ["Dis.", "Com.", "Info."]
METRICS = [*PROPOSED, *EARLIER, *DCI]
TIMED = {
    **PROPOSED,
    **EARLIER,
    "DCI, extra trees": partial(dci, rounds=0),
    "DCI, 10 rounds": partial(dci, rounds=10),
    "DCI": dci,
}


def score_codes(estimator, X, y, names, rounds):
    """All scores of one model; those of a factor are named ``metric/factor``."""
    codes = estimator.transform(X)
    with threadpool_limits(1):  # sums in the same order at any --jobs
        scores = {name: metric(y, codes) for name, metric in {**PROPOSED, **EARLIER}.items()}
        scores |= dict(zip(DCI, dci(y, codes, rounds)))
        by_factor = {name: metric(y, codes, average=None) for name, metric in MODULARITY.items()}
        variance, kept = (part.var(axis=0) for part in project(y, codes))
    by_factor |= {"R2": kept / variance, "bound": np.exp(-kept * (1 - kept / variance))}
    for name, values in by_factor.items():
        scores |= {f"{name}/{factor}": value for factor, value in zip(names, values)}
    return scores


# %%
# Data and models
# ---------------


def load(study, name):
    """Images, factors, and the names of the factors with their sizes."""
    function, options = study["sets"][name]
    bunch = getattr(datasets, function)(**options)
    images, step = bunch.images, study["shrink"]
    if step > 1:
        images = images.astype(np.float32) / (255 if images.dtype == np.uint8 else 1)
        images = shrink(images, step)
    names = [f"{name} ({size})" for name, size in zip(bunch.factor_names, bunch.factor_sizes)]
    return images, bunch.target, names


def split(study):
    return ShuffleSplit(1, test_size=study["n_scored"], random_state=0)


def make_models(study, n_rows):
    steps_per_epoch = -(-n_rows // study["common"]["batch_size"])
    common = {
        **study["common"],
        "max_epochs": -(-study["n_steps"] // steps_per_epoch),
        "module__init": "torch",  # with which the stored results were made
    }
    return [
        VAE(**common),
        BetaVAE(beta=4.0, **common),
        FactorVAE(gamma=10.0, **study["discriminator"], **common),
        BetaTCVAE(beta=6.0, **common),
    ]


def measure_scores(study, **cell):
    """Train every method with every seed, and score it on images it has not seen."""
    X, y, names = load(study, cell["set"])
    models = make_models(study, len(X) - study["n_scored"])
    search = GridSearchCV(
        study.pipeline(),
        {"vae": models, "vae__random_state": range(study["seeds"])},
        scoring=partial(score_codes, names=names, rounds=study["dci_rounds"]),
        refit=False,
        cv=split(study),
        error_score="raise",
    )
    with study.workers():
        results = search.fit(X, y).cv_results_
    for i, params in enumerate(results["params"]):
        model = {"method": type(params["vae"]).__name__, "seed": params["vae__random_state"]}
        for column in filter(lambda column: column.startswith("mean_test_"), results):
            metric, _, factor = column.removeprefix("mean_test_").partition("/")
            score = results[column][i]
            yield {**model, "metric": metric, "factor": factor or "all", "score": score}


@lru_cache(maxsize=1)
def codes_to_time(study, name):
    """Factors and codes of the first VAE, whose fit is in the cache."""
    X, y, _ = load(study, name)
    train, test = next(split(study).split(X))
    model = study.pipeline().set_params(vae=make_models(study, len(train))[0])
    codes = model.set_params(vae__random_state=0).fit(X[train], y[train]).transform(X[test])
    return y[test], codes


def measure_time(study, **cell):
    y, codes = codes_to_time(study, cell["set"])
    seconds = []
    with threadpool_limits(1):
        while not seconds or (len(seconds) < 5 and sum(seconds) < 2):
            start = time.process_time()
            TIMED[cell["metric"]](y, codes)
            seconds.append(time.process_time() - start)
    return [{"seconds": np.median(seconds), "runs": len(seconds)}]


# %%
# Tables
# ------


def kendall(scores):
    """Tau between metrics (table 6), a table for every ranking: per data set and seed."""
    whole = scores[scores.factor == "all"]
    return [
        table.pivot(index="method", columns="metric", values="score")
        .corr(method="kendall")
        .fillna(0.0)  # a metric that is the same for all methods gives no ranking
        .loc[METRICS, METRICS]
        for _, table in whole.groupby(["set", "seed"])
    ]


def difference_tests(scores, columns):
    """Kruskal-Wallis p of no difference between methods, for every group of rows."""
    tests = scores.groupby(columns, sort=False)[["method", "score"]].apply(
        lambda table: kruskal(*[group.score for _, group in table.groupby("method")]).pvalue
    )
    return tests.fillna(1.0)  # all scores the same


def differing(pvalues):
    """Which tests are significant, if 5 % of these may be false (Benjamini-Hochberg)."""
    return pvalues.index[false_discovery_control(pvalues) < 0.05]


def table_lines(scores, pvalues):
    """Table 5 with metrics as rows."""
    whole = scores[scores.factor == "all"]
    lines = []
    for name, table in whole.groupby("set", sort=False):
        lines += ["", f"{name:<10}" + "".join(f"{m:>15}" for m in METHODS) + f"{'p':>8}"]
        cells = table.groupby(["metric", "method"]).score.agg(["mean", "std"])
        for metric in METRICS:
            row = [cells.loc[(metric, method)] for method in METHODS]
            text = "".join(f"{c['mean']:>8.3f} ±{c['std']:.3f}" for c in row)
            lines.append(f"{metric:<10}{text}{pvalues[name, metric]:>9.3f}")
    return lines


# %%
# Claims
# ------


def verdict(claim, holds, numbers):
    """Holds is None where the numbers leave it open."""
    word = {True: "Holds", False: "Does not hold", None: "Not decided"}[holds]
    return ["", *wrapped(f"* {claim}", "  "), *wrapped(f"  {word} here: {numbers}", "  ")]


def wrapped(text, indent=""):
    return textwrap.wrap(text, 100, subsequent_indent=indent)


def check_methods(pvalues):
    kept = pvalues[pvalues.index.get_level_values("metric").isin(PROPOSED)]
    found, chance, n_low = differing(kept), 0.05 * len(kept), (kept < 0.05).sum()
    names = [f"{metric} ({name})" for name, metric in found]
    return verdict(
        "Methods do not differ significantly in modularity and informativeness.",
        False if names else None,  # tests that find nothing are not a sign of equality
        f"{n_low} of {len(kept)} tests have p < 0.05, where {chance:.0f} would by chance; "
        f"{len(names)} do at 5 % false discoveries{': ' * bool(names) + ', '.join(names)}.",
    )


def check_definitions(tau):
    lines = []
    for title, names in (("modularity", MODULARITY), ("informativeness", INFORMATIVENESS)):
        taus = tau.loc[list(names), list(names)].to_numpy()[np.triu_indices(len(names), 1)]
        lines += verdict(
            f"Metrics of {title} correlate positively with each other.",
            bool((taus > 0).all()),
            f"tau of {len(taus)} pairs from {taus.min():.2f} to {taus.max():.2f}, mean "
            f"{taus.mean():.2f}.",
        )
    others = tau.drop(columns=["Beta", "Factor"])
    best = {name: others.loc[name].max() for name in ("Beta", "Factor")}
    both = tau.loc["Beta", "Factor"]
    return lines + verdict(
        "The beta-VAE and FactorVAE scores agree more with each other than with any other metric.",
        bool(both > max(best.values())),
        f"tau {both:.2f}; next is {others.loc['Beta'].idxmax()} with {best['Beta']:.2f} for the "
        f"former, {others.loc['Factor'].idxmax()} with {best['Factor']:.2f} for the latter.",
    )


def check_dci(rankings):
    """Weak is a mean tau below 0.5, and one that is there at all exceeds two standard errors."""
    lines = []
    for name, sign, title, names in (
        ("Dis.", 1, "DCI disentanglement agrees weakly with modularity", MODULARITY),
        ("Info.", -1, "DCI informativeness disagrees weakly with informativeness", INFORMATIVENESS),
    ):
        taus = np.array([tau.loc[name, list(names)].mean() for tau in rankings])
        error = taus.std(ddof=1) / np.sqrt(len(taus))
        known = abs(taus.mean()) > 2 * error
        lines += verdict(
            f"{title}.",
            bool(0 < sign * taus.mean() < 0.5) if known else None,
            f"mean tau {taus.mean():.2f} with a standard error of {error:.2f}.",
        )
    return lines


def check_times(times):
    mean = times.groupby("metric").seconds.mean()
    proposed = mean[list(PROPOSED)]
    slowest = proposed.idxmax()
    lines = ["", "Seconds of processor time, one thread, mean over data sets:"]
    names = list(TIMED)
    for i in range(0, len(names), 5):
        lines.append("  " + ", ".join(f"{name} {mean[name]:.4f}" for name in names[i : i + 5]))
    for name, title in (("DCI", "DCI with gradient boosting"), ("Beta", "the beta-VAE score")):
        lines += verdict(
            f"The proposed metrics are much faster than {title}, which trains predictors "
            "(tenfold at least).",
            bool(mean[name] > 10 * proposed.max()),
            f"{mean[name]:.2f} s, {mean[name] / proposed.max():.0f} times the slowest proposed "
            f"metric ({slowest}), {mean[name] / proposed.median():.0f} times their median.",
        )
    return lines


def check_factors(scores):
    parts = scores[scores.metric.isin(MODULARITY) & (scores.factor != "all")]
    cell = ["set", "metric", "factor"]
    best = parts.groupby([*cell, "method"]).score.mean().unstack("method").idxmax(axis=1)
    # Where methods do not differ beyond their seeds, the best one is a matter of chance.
    sure = best[differing(difference_tests(parts, cell))]
    lines = [
        "",
        f"By factor, methods differ in {len(sure)} of {len(best)} cases, at 5 % false discoveries.",
    ]
    for claim, pair in (
        ("A method may be the most modular for one factor and not for another.", "metric"),
        ("Modularity metrics may name different methods as best for a factor.", "factor"),
    ):
        n_best, n_sure = (table.groupby(["set", pair]).nunique() for table in (best, sure))
        lines += verdict(
            claim,
            True if (n_sure > 1).any() else None,  # "may": not to be refuted
            f"by means over seeds in {(n_best > 1).sum()} of {len(n_best)} pairs of data set and "
            f"{pair}; in {(n_sure > 1).sum()} if only these {len(sure)} cases count.",
        )
    return lines


def describe_bound(scores):
    """How near the deviation of projections is to the most that their errors allow.

    A least-squares projection z of y has var(z) = cov(z, y) = R2 var(y). So E[z | y] has a variance
    of at least R2^2 var(y), and R2 (1 - R2) var(y) at most is left for z to deviate from it. That
    is for a mean over rows; the metric's is over values, which differ a little in number of rows.
    """
    parts = scores[scores.factor != "all"]
    wide = parts.pivot(index=["set", "factor", "method", "seed"], columns="metric", values="score")
    share = (np.log(wide["Var."]) / np.log(wide["bound"])).quantile([0.0, 0.5, 1.0])
    mean = wide.groupby(["set", "factor"])[["R2", "Var."]].mean()
    (name, factor), (least, score) = mean["R2"].idxmin(), mean.loc[mean["R2"].idxmin()]
    text = (
        "Not in the paper: of a factor that codes explain linearly by a share R2, with values that "
        "are equally frequent, the projection deviates (Var.) by at most R2 (1 - R2) times the "
        f"factor's variance, whatever the codes. Measured: {share[0.5]:.2f} of that bound in "
        f"median, from {share[0.0]:.2f} to {share[1.0]:.2f}. The factor that the codes tell least, "
        f"{factor} of {name} with R2 = {least:.2f}, has the modularity {score:.3f}."
    )
    return ["", *wrapped(text)]


# %%
# Figures
# -------


def plot_agreement(tau, n):
    label = f"Kendall's tau of four methods\nmean over {n} data sets x seeds"
    display = MetricAgreementDisplay(tau.to_numpy(), names=METRICS, label=label).plot()
    for edge in (5, 10):
        display.ax_.axhline(edge - 0.5, color="black", lw=1)
        display.ax_.axvline(edge - 0.5, color="black", lw=1)
    display.figure_.set_layout_engine("constrained")
    return display.figure_


def plot_times(times):
    mean = times.pivot(index="metric", columns="set", values="seconds").loc[list(TIMED)[::-1]]
    figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    colors = ["tab:blue"] * len(MODULARITY) + ["tab:green"] * len(INFORMATIVENESS)
    colors += ["tab:gray"] * (len(TIMED) - len(colors))
    ax.hlines(range(len(mean)), mean.min(axis=1), mean.max(axis=1), colors[::-1], lw=1)
    for name, marker in zip(mean.columns, "osD^"):
        ax.scatter(mean[name], range(len(mean)), c=colors[::-1], marker=marker, label=name, s=30)
    ax.set(xscale="log", xlabel="processor time in seconds, one thread")
    ax.set_yticks(range(len(mean)), mean.index.where(mean.index != "DCI", "DCI, 100 rounds"))
    ax.grid(axis="x", alpha=0.3)
    ax.legend(title="blue: modularity\ngreen: informativeness\ngray: earlier metrics")
    return figure


def plot_factors(scores):
    parts = scores[scores.metric.isin(MODULARITY) & (scores.factor != "all")]
    sets = list(parts.set.unique())
    heights = [parts[parts.set == name].factor.nunique() for name in sets]
    figure, axes = plt.subplots(
        len(sets),
        len(MODULARITY),
        figsize=(12, 1.4 + 0.38 * sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for (i, j), ax in np.ndenumerate(axes):
        metric = list(MODULARITY)[j]
        part = parts[(parts.set == sets[i]) & (parts.metric == metric)]
        names = list(part.factor.unique())
        cells = part.groupby(["method", "factor"]).score.agg(["mean", "std"])
        for k, method in enumerate(METHODS):
            rows = cells.loc[method].loc[names]
            height = -np.arange(len(names)) - 0.18 * (k - 1.5)
            ax.errorbar(rows["mean"], height, xerr=rows["std"], fmt="o", ms=4, lw=1, label=method)
        ax.set_yticks(-np.arange(len(names)), names if j == 0 else [])
        ax.grid(axis="x", alpha=0.3)
        if i == 0:
            ax.set_title(metric)
        if j == 0:
            ax.set_ylabel(sets[i])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


# %%


def main():
    study = Study("logical_metrics", __doc__, SMALL, FULL)
    sets = list(study["sets"])
    scores = study.rows("scores", [{"set": s} for s in sets], partial(measure_scores, study))
    cells = [{"set": s, "metric": metric} for s in sets for metric in TIMED]
    times = study.rows("times", cells, partial(measure_time, study))
    rankings = kendall(scores)
    n_rankings, tau = len(rankings), (sum(rankings) / len(rankings)).round(6) + 0.0  # no "-0.00"
    tau.round(4).to_csv(study.folder / "kendall.csv", index_label="metric")
    pvalues = difference_tests(scores[scores.factor == "all"], ["set", "metric"])
    n = len(METHODS)
    noise = np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)) / n_rankings)
    study.figure("kendall", plot_agreement(tau, n_rankings))
    study.figure("times", plot_times(times))
    study.figure("factors", plot_factors(scores))
    study.text(
        [
            f"Scores, mean and standard deviation over {study['seeds']} seeds; p of a "
            "Kruskal-Wallis test between methods.",
            *table_lines(scores, pvalues),
            *check_methods(pvalues),
            "",
            f"Kendall's tau: {n_rankings} rankings of four methods. Between unrelated metrics a "
            "mean tau has a",
            f"standard deviation of {noise:.2f}.",
            *check_definitions(tau),
            *check_dci(rankings),
            *check_times(times),
            *check_factors(scores),
            *describe_bound(scores),
        ]
    )


if __name__ == "__main__":
    main()
