"""
Which metrics see what: an audit
================================

Every metric of factors and codes is given codes whose quality is known by construction
(:func:`~sklearn_disent.datasets.make_encoded_factors`): four structures of factors, ten encoders.
A metric that scores a faulty encoder as it scores perfect codes has *missed* the fault that it asks
about; one that scores a faultless encoder near noise has raised a *false alarm*.

``python study_metric_audit.py`` takes about four minutes of one core. A stopped run goes on where
it was; a finished one is only read again. ``--full`` has ten times as many rows and five seeds.

What was chosen here:

- Scores are put on a scale on which perfect codes ("identity") have 1 and noise ("random") 0, of
  the same structure and seed. A miss is above 0.9 on it, a false alarm below 0.5. A metric is
  *blind* to a structure if perfect codes are not better than noise by a tenth of its range there
  (of its largest absolute value, where the range has no end); it is not judged there.
- What a metric asks follows from its question in the catalogue: modularity, compactness or
  explicitness; identification and "several at once" ask all three. Where the right answer is a
  matter of degree, nothing is judged.
- Metrics have their defaults but for the number of draws (1,000 and 500), a tree for downstream
  accuracy, twenty of them for NK, and three halvings of T-MEX, which save time.
- Growth: perfect codes and noise, padded with columns of noise to 8, 32 and 128 codes, at 200 rows.
  What perfect codes lose and what noise gains is what the number of codes does by itself.
- Misses and false alarms are counts of what was measured, by limits that were chosen: no claims.
  Differences have Student's interval of 90 % over seeds, each by itself: among so many, some miss.
"""

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _study import HOLDS, Study, paired
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent.datasets import make_encoded_factors
from sklearn_disent.metrics import disentanglement_report

STRUCTURES = ("independent", "dependent", "unbalanced", "binary")
ENCODERS = (
    *("identity", "nonlinear", "noisy", "redundant", "overcomplete"),
    *("undercomplete", "collapsed", "entangled_pair", "rotation", "random"),
)
DRAWS = {"n_train": 1000, "n_eval": 500}
OPTIONS = {
    "beta_vae": DRAWS,
    "factor_vae": DRAWS,
    "r_factor_vae": DRAWS,
    "downstream_accuracy": {
        "estimator": (DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5))
    },
    "nk": {"estimator": ExtraTreesClassifier(20)},
    "tmex_error": {"n_splits": 3},
}
# First word of a question in the catalogue -> answers that it needs.
ASKED = {
    "Modularity": ("modular",),
    "Compactness": ("compact",),
    "Explicitness": ("explicit",),
    "Identification": ("modular", "compact", "explicit"),
    "Several": ("modular", "compact", "explicit"),
}
MISS, ALARM, BLIND = 0.9, 0.5, 0.1


def scores(data, seed, metrics="all"):
    """A row per metric; by default all of factors and codes, and of codes alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # codes that are constant, and worse, are the point
        report = disentanglement_report(
            data.target,
            data.codes,
            metrics=metrics,
            metric_params=OPTIONS,
            output="dict",
            random_state=seed,
        )
    for name, row in report.items():
        yield {
            "metric": name,
            "question": row["question"].split(":")[0].split(" ")[0],
            "value": row["value"],
            "lowest": row["lowest"],
            "highest": row["highest"],
            "greater_is_better": row["greater_is_better"],
        }


def measured(study, table, cells, measure):
    """All rows of a table; the study ends with a message if its time is over before."""
    study.parallel_rows(table, cells, measure)
    return study.rows(table, cells, measure).sort_values(list(cells[0]), kind="stable")


def answer(encoder, question):
    """What a metric of this question should say of an encoder: True, False, or None."""
    data = make_encoded_factors(10, encoder=encoder, random_state=0)
    answers = [data[name] for name in ASKED.get(question, ())]
    if not answers or any(known is False for known in answers):
        return False if answers else None
    return None if None in answers else True


def traits(frame):
    """Question, better end and range of every metric; without an end, its largest value."""
    table = frame.drop_duplicates("metric").set_index("metric")
    largest = frame.groupby("metric").value.apply(lambda value: value.abs().max())
    reach = (table.highest - table.lowest).replace(np.inf, np.nan).fillna(largest)
    return table.assign(reach=reach, sign=np.where(table.greater_is_better, 1.0, -1.0))


def judged(frame):
    """Scores on the scale of noise (0) and perfect codes (1), and what they amount to."""
    wide = frame.pivot_table(
        index=["structure", "seed", "metric"], columns="encoder", values="value"
    )
    known = traits(frame)
    own = known.reindex(wide.index.get_level_values("metric"))
    gap = wide["identity"] - wide["random"]
    sees = gap * own.sign.to_numpy() > BLIND * own.reach.to_numpy()
    scaled = wide.sub(wide["random"], axis=0).div(gap.where(sees), axis=0)
    long = scaled.stack(future_stack=True).rename("scaled").reset_index()
    long["question"] = long.metric.map(known.question)
    pairs = {(e, q): answer(e, q) for e in ENCODERS for q in known.question.unique()}
    long["right"] = [pairs[pair] for pair in zip(long.encoder, long.question)]
    seen = ~long.encoder.isin(["identity", "random"]) & long.scaled.notna()
    long["miss"] = seen & (long.right == False) & (long.scaled > MISS)  # noqa: E712
    long["alarm"] = seen & (long.right == True) & (long.scaled < ALARM)  # noqa: E712
    long["asked"] = seen & long.right.notna()
    return long


def heat_map(study, verdicts, order):
    """Mean scaled score of every metric and encoder; faults marked."""
    mean = verdicts.pivot_table(index="metric", columns="encoder", values="scaled")
    mean = mean.reindex(index=order, columns=ENCODERS)
    counts = verdicts.pivot_table(
        index="metric", columns="encoder", values=["miss", "alarm"], aggfunc="mean"
    )
    figure, ax = plt.subplots(figsize=(9, 0.24 * len(order) + 2), layout="constrained")
    image = ax.imshow(mean.clip(0, 1), aspect="auto", cmap="viridis", vmin=0, vmax=1)
    marks = (("miss", "x", "red", "miss"), ("alarm", "o", "orange", "false alarm"))
    for kind, mark, color, name in marks:
        share = counts[kind].reindex(index=order, columns=ENCODERS).to_numpy(dtype=float)
        rows, columns = np.nonzero(share > 0.5)
        ax.scatter(columns, rows, marker=mark, c=color, s=22, label=f"{name} (most structures)")
    ax.set_xticks(range(len(ENCODERS)), ENCODERS, rotation=45, ha="right")
    ax.set_yticks(range(len(order)), order, fontsize=7)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    figure.colorbar(image, label="0: noise, 1: perfect codes", shrink=0.5)
    study.figure("audit", figure)


def growth_changes(growth, encoder):
    """Change (metric, n_codes) from the fewest codes, as a share of the range; better above 0."""
    known = traits(growth)
    own = growth[growth.encoder == encoder]
    table = own.pivot_table(index="metric", columns="n_codes", values="value")
    return table.sub(table.iloc[:, 0], axis=0).mul(known.sign / known.reach, axis=0)


def growth_intervals(growth, encoder):
    """The same from the fewest to the most codes, with an interval over seeds."""
    known = traits(growth)
    own = growth[growth.encoder == encoder]
    table = own.pivot_table(index="metric", columns=["n_codes", "seed"], values="value")
    change = table[growth.n_codes.max()] - table[growth.n_codes.min()]
    change = change.mul(known.sign / known.reach, axis=0)
    return {metric: paired(row) for metric, row in change.iterrows()}


def noise_above(frame):
    """How far noise is above perfect codes, where its mean over the seeds of a structure is."""
    sign = traits(frame).sign
    own = frame[frame.encoder.isin(["identity", "random"])]
    wide = own.pivot_table(
        index=["metric", "structure"], columns=["encoder", "seed"], values="value"
    )
    gap = (wide["random"] - wide["identity"]).mul(sign, axis=0, level="metric")
    return {case: paired(row) for case, row in gap[gap.mean(axis=1) > 0].iterrows()}


def seeds_agree(verdicts):
    """Judgements of a metric, structure and encoder that are the same for all seeds, and all."""
    cases = verdicts[verdicts.asked].groupby(["metric", "structure", "encoder"])
    alike = cases[["miss", "alarm"]].nunique().eq(1).all(axis=1)
    return alike.sum(), len(alike)


def growth_map(study, growth, order):
    """What padding with noise does to perfect codes and to noise."""
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 0.2 * len(order) + 2), layout="constrained", sharey=True
    )
    for ax, encoder in zip(axes, ("identity", "random")):
        change = growth_changes(growth, encoder).reindex(order)
        image = ax.imshow(change, aspect="auto", cmap="RdBu", vmin=-0.5, vmax=0.5)
        ax.set_xticks(range(change.shape[1]), change.columns)
        ax.set(title={"identity": "perfect codes", "random": "noise"}[encoder], xlabel="codes")
    axes[0].set_yticks(range(len(order)), order, fontsize=6)
    label = "change, as a share of the range; blue is better"
    figure.colorbar(image, ax=axes, shrink=0.5, label=label)
    study.figure("growth", figure)


def summary(frame, verdicts, growth):
    """Counts, and differences with intervals, from the tables."""
    kinds = verdicts.groupby("metric")[["miss", "alarm", "asked"]].sum()
    seen = verdicts[verdicts.encoder == "nonlinear"].groupby("metric").scaled.count()
    total = verdicts[verdicts.encoder == "nonlinear"].groupby("metric").scaled.size()
    often = kinds.miss.sort_values(ascending=False).head(8)
    alarms = kinds.alarm.sort_values(ascending=False).head(8)
    blind = seen.index[seen < total]
    faultless = kinds.index[(kinds.miss == 0) & (kinds.alarm == 0)].difference(blind)
    first, last = growth.n_codes.min(), growth.n_codes.max()
    losses, gains = (growth_intervals(growth, encoder) for encoder in ("identity", "random"))
    still = [
        name
        for name in losses
        if losses[name].within(BLIND) == HOLDS and gains[name].within(BLIND) == HOLDS
    ]
    alike, n_judged = seeds_agree(verdicts)
    n_seeds = frame.seed.nunique()

    def listed(names):
        text = ", ".join(names) or "none"
        return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ")

    def largest(changes, sign):
        names = sorted(changes, key=lambda name: -sign * changes[name].value)[:8]
        return [f"{name} {changes[name]}" for name in names]

    n_cells = len(verdicts) // len(ENCODERS) // len(kinds)
    return [
        f"Counts of {len(kinds)} metrics in {n_cells} cases: {len(STRUCTURES)} structures, "
        f"{n_seeds} seeds of each,",
        f"which agree in {alike} of {n_judged} judgements of a metric, structure and encoder.",
        "Neither a miss nor a false alarm, and blind to no structure:",
        listed(faultless),
        "Most misses, of the judgements asked for:",
        listed([f"{name} ({n} of {kinds.asked[name]})" for name, n in often.items() if n]),
        "Most false alarms:",
        listed([f"{name} ({n} of {kinds.asked[name]})" for name, n in alarms.items() if n]),
        "Blind to some structure (perfect codes are not above noise by a tenth of the range):",
        listed(blind),
        "Noise above perfect codes in the mean over the seeds of a structure (difference, with its",
        "interval of 90 % over seeds):",
        listed([f"{name} ({at}) {gap}" for (name, at), gap in noise_above(frame).items()]),
        f"What perfect codes lose from {first} to {last} codes at 200 rows, shares of the range "
        "(such intervals):",
        listed(largest(losses, -1)),
        "What noise gains by it:",
        listed(largest(gains, 1)),
        "Both change by less than a tenth of the range, with all of their intervals:",
        listed(still),
    ]


def main():
    """Measure what is missing, judge, draw and tell."""
    study = Study(
        "metric_audit",
        __doc__,
        small={"n_samples": 600, "seeds": [0, 1, 2], "n_codes": [8, 32, 128]},
        full={"n_samples": 6000, "seeds": [0, 1, 2, 3, 4], "n_codes": [8, 32, 128]},
    )

    def measure(structure, encoder, seed):
        data = make_encoded_factors(
            study["n_samples"], structure=structure, encoder=encoder, random_state=seed
        )
        return scores(data, seed)

    seeds = study["seeds"]
    cells = [
        {"structure": structure, "encoder": encoder, "seed": seed}
        for seed in seeds
        for structure in STRUCTURES
        for encoder in ENCODERS
    ]
    frame = measured(study, "scores", cells, measure)
    # Metrics of codes alone are not judged, and some compare all pairs of codes.
    order = list(pd.unique(frame[frame.question.isin(list(ASKED))].metric))

    def measure_growth(encoder, n_codes, seed):
        data = make_encoded_factors(200, encoder=encoder, n_codes=n_codes, random_state=seed)
        return scores(data, seed, order)

    grown = [
        {"encoder": encoder, "n_codes": n_codes, "seed": seed}
        for seed in seeds
        for n_codes in study["n_codes"]
        for encoder in ("identity", "random")
    ]
    growth = measured(study, "growth", grown, measure_growth)
    verdicts = judged(frame)
    heat_map(study, verdicts, order)
    growth_map(study, growth, order)
    own = (table[table.metric.isin(order)] for table in (frame, verdicts))
    study.text(summary(*own, growth))


if __name__ == "__main__":
    main()
