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
  take, in trials on the same images; no weight was tuned. After a first run with 3,750 steps, whose
  table was not kept, these were cut to 2,500 to save time.
- Every claim is a number, which it says is above zero. Its 90 % interval is above zero: HOLDS.
  Below zero: FAILS. Else: NOT DECIDED. This rule came after the results; before, claims were judged
  by bare taus and tests. Taus have a bootstrap over seeds, drawn for each method and data set by
  itself. In a simulation with five seeds these intervals of 90 % held the true mean tau in 91 to
  98 % of the cases. Differences between methods have Welch's interval. Where a claim is about the
  smallest or the largest of many numbers, their intervals are widened to hold together
  (Bonferroni).
- No untrained networks were scored, so that nothing says which models learned to disentangle.
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
  Single runs are not kept: ratios of times have no interval, and are no claims here.
"""

import textwrap
import time
from functools import lru_cache, partial
from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _study import FAILS, Difference, Study, bootstrap, shrink, unpaired
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


def scores_of_models(scores):
    """Scores of seeds by metrics, an array for every data set and method."""
    whole = scores[scores.factor == "all"]
    return [
        part[part.method == method].pivot(index="seed", columns="metric", values="score")[METRICS]
        for _, part in whole.groupby("set", sort=False)
        for method in METHODS
    ]


def mean_taus(*models):
    """Kendall's tau between metrics (table 6), mean over rankings: per data set and seed."""
    first, second = np.triu_indices(len(METHODS), 1)
    scores = np.reshape(models, (-1, len(METHODS), *np.shape(models[0])))
    order = np.sign(scores[:, first] - scores[:, second])
    agreement = np.einsum("dpsi,dpsj->dsij", order, order)
    untied = np.sqrt(np.einsum("dsii->dsi", agreement))
    most = untied[..., :, None] * untied[..., None, :]
    # A metric that is the same for all methods gives no ranking.
    return np.divide(agreement, most, out=np.zeros_like(agreement), where=most > 0).mean((0, 1))


def number_of_taus(models, names, number, n_claims=1):
    """A number of the taus between some metrics; intervals of so many claims hold together."""
    return bootstrap(
        lambda *drawn: number(mean_taus(*drawn)),
        *(model[names] for model in models),
        level=1 - 0.1 / n_claims,
        n_draws=1000 if n_claims == 1 else 4000,  # these ask for the far tails
    )


def smallest(found):
    """The smallest of numbers whose intervals hold together."""
    return Difference(*np.min(found, axis=0))


def largest(found):
    return Difference(*np.max(found, axis=0))


def gaps(scores, n_claims):
    """How far each method is above each other one; Welch's intervals, which hold together."""
    by_method = {method: part.score.to_numpy() for method, part in scores.groupby("method")}
    level = 1 - 0.1 / (n_claims * len(METHODS) * (len(METHODS) - 1) / 2)
    return {
        pair: unpaired(*(by_method[method] for method in pair), level)
        for pair in permutations(METHODS, 2)
    }


def method_gaps(scores):
    """Lowest less highest mean of a method, per data set and proposed metric."""
    whole = scores[(scores.factor == "all") & scores.metric.isin(PROPOSED)]
    cases = list(whole.groupby(["set", "metric"], sort=False))
    return {case: smallest(list(gaps(part, len(cases)).values())) for case, part in cases}


def table_lines(scores):
    """Table 5 with metrics as rows."""
    whole = scores[scores.factor == "all"]
    lines = []
    for name, table in whole.groupby("set", sort=False):
        lines += ["", f"{name:<10}" + "".join(f"{m:>15}" for m in METHODS)]
        cells = table.groupby(["metric", "method"]).score.agg(["mean", "std"])
        for metric in METRICS:
            row = [cells.loc[(metric, method)] for method in METHODS]
            text = "".join(f"{c['mean']:>8.3f} ±{c['std']:.3f}" for c in row)
            lines.append(f"{metric:<10}{text}")
    return lines


# %%
# Claims
# ------

BOTH = ("metric", "factor")


def verdict(claim, found, numbers):
    lines = wrapped(f"  {found.outcome()} here: {numbers}", "  ")
    return ["", *wrapped(f"* {claim}", "  "), *lines]


def wrapped(text, indent=""):
    return textwrap.wrap(text, 100, subsequent_indent=indent)


def describe_null(scores):
    whole = scores[(scores.factor == "all") & (scores.metric == "MIG")]
    means = whole.groupby(["set", "method"]).score.mean()
    return wrapped(
        f"MIG is {means.min():.2f} to {means.max():.2f} in the mean. Untrained networks were not "
        "scored: whether these models disentangle more than those do is not known. What follows is "
        "about metrics and codes as they are; it is not evidence about models that disentangle."
    )


def check_methods(scores):
    """No interval can show that there is no difference, without a size that does not count."""
    found = method_gaps(scores)
    listed = [
        f"{metric} ({name}) {gap}"
        for (name, metric), gap in found.items()
        if gap.outcome() == FAILS
    ]
    return verdict(
        "Methods do not differ in modularity and informativeness.",
        smallest(list(found.values())),
        f"the lowest less the highest mean of a method is below zero in {len(listed)} of "
        f"{len(found)} cases{': ' * bool(listed) + ', '.join(listed)}. The others are not decided.",
    )


def check_definitions(models):
    lines = []
    for title, names in (("modularity", MODULARITY), ("informativeness", INFORMATIVENESS)):
        pairs = list(combinations(names, 2))
        found = [
            number_of_taus(models, list(pair), lambda tau: tau[0, 1], len(pairs)) for pair in pairs
        ]
        least = smallest(found)
        values = [tau.value for tau in found]
        lines += verdict(
            f"Metrics of {title} correlate positively with each other.",
            least,
            f"the smallest tau of {len(pairs)} pairs is {least}; mean {np.mean(values):.2f}.",
        )
    rivals = [name for name in METRICS if name not in ("Beta", "Factor")]
    found = {
        (own, rival): number_of_taus(
            models, [own, other, rival], lambda tau: tau[0, 1] - tau[0, 2], 2 * len(rivals)
        )
        for own, other in permutations(("Beta", "Factor"))
        for rival in rivals
    }
    least = smallest(list(found.values()))
    own, rival = min(found, key=lambda pair: found[pair].value)
    return lines + verdict(
        "The beta-VAE and FactorVAE scores agree more with each other than with any other metric.",
        least,
        f"tau of the two less that with another metric is {least} at the least, of {own} with "
        f"{rival}.",
    )


def check_dci(models):
    """Weak is a mean tau between 0 and one half, of either sign."""
    lines = []
    for name, sign, title, names in (
        ("Dis.", 1, "DCI disentanglement agrees weakly with modularity", MODULARITY),
        ("Info.", -1, "DCI informativeness disagrees weakly with informativeness", INFORMATIVENESS),
    ):
        tau = number_of_taus(models, [name, *names], lambda tau: tau[0, 1:].mean())
        value, *ends = sign * np.array(tau)
        weak = Difference(value, *sorted(ends))
        to_half = Difference(0.5 - weak.value, 0.5 - weak.high, 0.5 - weak.low)
        lines += verdict(
            f"{title}.",
            smallest([weak, to_half]),
            f"mean tau {tau}, which the claim says is between 0 and {sign * 0.5:+}.",
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
    for name, title in (("DCI", "DCI with gradient boosting"), ("Beta", "The beta-VAE score")):
        text = (
            f"{title}, which trains predictors, takes {mean[name] / proposed.max():.0f} times as "
            f"long as the slowest proposed metric ({slowest}), "
            f"{mean[name] / proposed.median():.0f} times as long as their median."
        )
        lines += wrapped(text)
    return lines + wrapped("Measured once per data set, without intervals: no claim is judged.")


def lead_lost(cases, n_claims):
    """How far each method is behind another one in some case, the least of all methods.

    Below zero, one method is the best in all cases.
    """
    found = [gaps(case, n_claims) for case in cases]
    return smallest(
        [
            largest([gap for gap_of in found for pair, gap in gap_of.items() if pair[1] == method])
            for method in METHODS
        ]
    )


def check_factors(scores):
    parts = scores[scores.metric.isin(MODULARITY) & (scores.factor != "all")]
    n_cases = parts.groupby(["set", "metric", "factor"]).ngroups
    lines = []
    for claim, one, many in (
        ("A method may be the most modular for one factor and not for another.", *BOTH),
        ("Modularity metrics may name different methods as best for a factor.", *BOTH[::-1]),
    ):
        groups = [
            [case for _, case in part.groupby(many)] for _, part in parts.groupby(["set", one])
        ]
        found = [lead_lost(cases, n_cases) for cases in groups]
        several = sum(lost.value > 0 for lost in found)
        lines += verdict(
            claim,
            largest(found),
            f"how far each method is behind another one at some {many}, the least of four methods: "
            f"{largest(found)} at the most, of {len(groups)} pairs of data set and {one}. By bare "
            f"means it is above zero in {several} of these.",
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
    models = scores_of_models(scores)
    n_rankings = len(sets) * study["seeds"]
    tau = pd.DataFrame(mean_taus(*models), METRICS, METRICS).round(6) + 0.0  # no "-0.00"
    tau.round(4).to_csv(study.folder / "kendall.csv", index_label="metric")
    n = len(METHODS)
    noise = np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)) / n_rankings)
    study.figure("kendall", plot_agreement(tau, n_rankings))
    study.figure("times", plot_times(times))
    study.figure("factors", plot_factors(scores))
    study.text(
        [
            f"Scores, mean and standard deviation over {study['seeds']} seeds.",
            *table_lines(scores),
            "",
            *describe_null(scores),
            "",
            "Intervals are of 90 %. Those of several numbers of one claim hold together.",
            *check_methods(scores),
            "",
            f"Kendall's tau: {n_rankings} rankings of four methods. Between unrelated metrics a "
            "mean tau has a",
            f"standard deviation of {noise:.2f}.",
            *check_definitions(models),
            *check_dci(models),
            *check_times(times),
            *check_factors(scores),
            *describe_bound(scores),
        ]
    )


if __name__ == "__main__":
    main()
