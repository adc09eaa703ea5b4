"""
Study: do metrics tell good encoders from bad ones where factors depend on each other?
======================================================================================

Almudévar and Ortega (2025) train 36 encoders per data set on independent factors, take metrics on
draws in which factors depend on each other, and rank the encoders: sufficiency goes with the
accuracy of a small predictor (Figure 4), minimality with interventional robustness (IRS, Figure 5),
better than other metrics do, at every level of dependence. But random maps of the factors, which
nobody trained, show the same. This study repeats the figures beside what would refute them:

- as the paper: metrics, as its code has them, and targets on the same rows;
- canonical: metrics as this library has them (``_dependence.py`` tells the versions apart);
- targets on independent rows: does a metric of dependent rows tell how good the encoder is?
- nulls: the same encoders with initial weights; random two-layer maps of the factors;
- positive controls, whose truth is known: the factors themselves as codes, pairs of them rotated by
  0 to 45 degrees, or with noise.

One rule for every claim: it is a number, which the claim says is above zero. The 90 % interval, a
bootstrap over models that keeps the scores of a model together, is above zero: HOLDS. Below zero:
FAILS. Else: NOT DECIDED. A trained model counts as evidence if it has 4 active latents and a MIG
above that of untrained models of its architecture by two standard errors. Others are left out; the
summary says which outcomes change with them.

Run ``python study_dependent_factors.py``: dSprites and a look-alike of 3D Shapes, both rendered, at
32 pixels; 5 architectures x 6 losses x 2 seeds each, with He weights, that see 48,000 images. Loss
weights are those of the published code divided by four, as the images have a quarter of the pixels.
Each model is scored on three draws of every setting of Roth et al. (2023), 36 of dSprites and 48 of
the look-alike; DCI by forests is taken on the first of the three. A cell is one model. All cells
take two and a half hours on two free cores, a third of it for montero_large. The summary has the
times of what was run, and what the rest will take.
``--minutes`` ends a run in time and the next one goes on; ``--datasets``,
``--architectures`` and ``--seeds`` name a part; ``--epochs`` trains longer, in a folder of its own.
A run with ``--out docs/studies/results`` goes on from the results that are there.

``--full`` has the paper's size: 64 pixels, all images, 50 epochs, six architectures, every setting,
and MPI3D (fetched; dSprites and 3D Shapes are rendered). 108 models of 24 to 52 million images: by
a count of operations, the 18 with the broadcast decoder, 8 images a second, take about three years
of one core, and all others some months; it needs 30 GB of memory. It is there to say what the paper
did, and to run parts of.
"""

import warnings
from functools import partial
from textwrap import fill
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from _dependence import (
    PAPER,
    RIVALS,
    accuracy,
    draws_of,
    images_of,
    label_of,
    metric_scores,
    pool_of,
    true_codes,
)
from _study import FAILS, HOLDS, UNDECIDED, Study, interval, resampled
from scipy.stats import rankdata

from sklearn_disent import models
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.metrics import random_map_codes

TRAINED, UNTRAINED, MAP = "trained", "untrained", "random map"
LEAST_ACTIVE = 4
LEAST_MODELS = 10  # fewer have no rank correlation
NONE = "-"  # what a cell does not have
PAIRS = {"sufficiency": "accuracy", "minimality": "irs"}
CONTROLS = ("minimality" + PAPER, "minimality", "sufficiency")

# The settings of Roth et al. (2023), by how many factors depend on each other.
DOUBLE = [f"double_{pair}_{sigma}" for pair in (1, 2) for sigma in ("004", "01", "04")]
LEVELS = {
    "independent": ["independent"],
    "one pair": ["single_1_01", "single_2_01", "single_3_01"],
    "two pairs": DOUBLE,
    "three pairs": ["triple_1_01", "triple_2_01"],
    "one to all": ["conf_1_02", "conf_2_02"],
}
DATASETS = {
    "dsprites": {level: names for level, names in LEVELS.items() if level != "three pairs"},
    "shapes3d": {
        **LEVELS,
        "one pair": [*LEVELS["one pair"], "single_4_01"],
        "two pairs": [*DOUBLE, "double_3_01"],
    },
    "mpi3d": LEVELS,
}
SMALL = {
    "datasets": {name: DATASETS[name] for name in ("dsprites", "shapes3d")},
    "architectures": ["burgess", "chen_mlp", "locatello", "montero_small", "montero_large"],
    "losses": {
        "BetaVAE": {"beta": 1.0},
        "AnnealedVAE": {"gamma": 250.0, "capacity": 25.0, "n_annealing_steps": 500},
        "BetaTCVAE": {"alpha": 0.25, "beta": 1.5, "gamma": 0.25},
        "FactorVAE": {
            "gamma": 5.0,
            "discriminator__hidden_sizes": [256, 256, 256],
            "discriminator_lr": 1e-3,
        },
        "AdaGVAE": {"beta": 1.5},
        "HFSVAE": {"beta": 0.25, "gamma": 0.25},
    },
    "seeds": [0, 1],
    "image_size": 32,
    "n_train": 12_000,
    "epochs": 4,
    "training": {"batch_size": 64, "lr": 1e-3, "module__init": "he"},
    "n_rows": 2000,
    "n_draws": 3,  # of each setting
    "n_untrained": 4,  # of each architecture
    "n_maps": 20,
    "angles": [0, 9, 18, 27, 36, 45],
    "nuisances": [0.0, 0.1, 0.2, 0.4, 0.8],
    "pairings": 4,
}
FULL = {
    **SMALL,
    "datasets": DATASETS,
    "architectures": [*SMALL["architectures"], "locatello_sbd"],
    "losses": {
        "BetaVAE": {"beta": 4.0},
        "AnnealedVAE": {"gamma": 1000.0, "capacity": 25.0, "n_annealing_steps": 100_000},
        "BetaTCVAE": {"beta": 6.0},
        "FactorVAE": {"gamma": 20.0},
        "AdaGVAE": {"beta": 6.0},
        "HFSVAE": {},
    },
    "seeds": [0],
    "image_size": 64,
    "n_train": None,
    "epochs": 50,
    "training": None,  # training_recipe(), the paper's Table 1
}

# %%
# One cell is one model, scored on all draws.


def draws_for(settings, dataset):
    """(level, draw, setting) of every draw, and the settings alone."""
    draws = draws_of(settings["datasets"][dataset], settings["n_draws"])
    return draws, tuple(setting for *_, setting in draws)


def make_model(settings, loss, architecture, seed):
    training = settings["training"] or models.training_recipe()
    # A row of AdaGVAE is a pair of images.
    epochs = settings["epochs"] // (2 if loss == "AdaGVAE" else 1)
    net = {**training, "max_epochs": epochs, "architecture": architecture, "random_state": seed}
    if loss == NONE:
        return models.BetaVAE(**{**net, "max_epochs": 0})
    return getattr(models, loss)(**net, **settings["losses"][loss])


def measure(settings, dataset, kind, architecture, loss, seed):
    """Rows of a model: the scores on each draw, how many latents are active, and the time."""
    torch.set_num_threads(1)  # the number of threads may change the last bits
    warnings.simplefilter("ignore", TrainingWarning)  # dead latents are counted
    draws, names = draws_for(settings, dataset)
    pool = pool_of(dataset, names, settings["n_rows"])
    if kind == MAP:
        start = process_time()
        mean, log_var = random_map_codes(pool.factors, 10, random_state=seed), None
    else:
        sizes = (settings["image_size"], settings["n_train"])
        X, y, images = images_of(dataset, *sizes, names, settings["n_rows"])
        start = process_time()  # images are made once
        rows = slice(64) if kind == UNTRAINED else slice(None)
        net = make_model(settings, loss, architecture, seed).fit(X[rows], y[rows])
        mean, log_var = net.posterior(images)
    fitted = process_time() - start
    rows = scores_of(draws, pool, mean, log_var)
    active = int((mean[pool.places[0]].var(axis=0) > 0.01).sum())
    seconds = {"fit_seconds": round(fitted, 1), "seconds": round(process_time() - start, 1)}
    return [{**row, "active": active, **seconds} for row in rows]


def measure_control(settings, dataset, angle, nuisance, pairing):
    """The same for the factors themselves as codes."""
    draws, names = draws_for(settings, dataset)
    pool = pool_of(dataset, names, settings["n_rows"])
    codes = true_codes(dataset, pool.factors, angle, nuisance, pairing)
    return scores_of(draws, pool, codes, with_accuracy=False)


def scores_of(draws, pool, mean, log_var=None, with_accuracy=True):
    """A row of scores for each draw; how good the controls are is known without forests."""
    rows, drawn = [], set()
    for (level, draw, setting), places in zip(draws, pool.places):
        y, codes = pool.factors[places], np.asarray(mean[places], dtype=float)
        spread = None if log_var is None else np.asarray(log_var[places], dtype=float)
        scores = metric_scores(y, codes, spread, forests=setting not in drawn)
        drawn.add(setting)
        if with_accuracy:
            scores["accuracy"] = accuracy(y, codes)
        rows.append({"level": level, "draw": draw, "setting": setting, **scores})
    return rows


def cells_of(study):
    """Nulls first, as evidence is judged by them; then seed by seed, data sets in turn."""
    datasets, architectures = study.chosen("datasets"), study.chosen("architectures")
    cells = [
        (dataset, UNTRAINED, architecture, NONE, seed)
        for seed in range(study["n_untrained"])
        for architecture in architectures
        for dataset in datasets
    ]
    cells += [(d, MAP, NONE, NONE, seed) for seed in range(study["n_maps"]) for d in datasets]
    cells += [
        (dataset, TRAINED, architecture, loss, seed)
        for seed in study.chosen("seeds")
        for loss in study["losses"]
        for architecture in architectures
        for dataset in datasets
    ]
    keys = ("dataset", "kind", "architecture", "loss", "seed")
    return [dict(zip(keys, cell)) for cell in cells]


def control_cells(study):
    """Rotated, or noisy."""
    pairs = [(angle, 0.0) for angle in study["angles"]]
    pairs += [(0, nuisance) for nuisance in study["nuisances"] if nuisance]
    return [
        {"dataset": dataset, "angle": angle, "nuisance": nuisance, "pairing": pairing}
        for pairing in range(study["pairings"])
        for angle, nuisance in pairs
        for dataset in study.chosen("datasets")
    ]


# %%
# From the tables to arrays of (models, draws, metrics), and to rank correlations.


def with_evidence(frame):
    """The table with a column that says whether a model is evidence; nulls always are."""
    base = frame[frame.level == "independent"]
    keys = ["dataset", "kind", "architecture", "loss", "seed"]
    each = base.groupby(keys, as_index=False).agg(mig=("mig", "mean"), active=("active", "first"))
    null = each[each.kind == UNTRAINED].groupby(["dataset", "architecture"]).mig
    # Of a new model, against the mean of n.
    error = null.std() * np.sqrt(1 + 1 / null.size())
    bound = (null.mean() + 2 * error).rename("bound").reset_index()
    each = each.merge(bound, how="left", on=["dataset", "architecture"])
    learned = (each.active >= LEAST_ACTIVE) & (each.mig > each.bound)
    each["evidence"] = learned | (each.kind != TRAINED)
    return frame.merge(each[[*keys, "evidence"]], on=keys)


class Scores:
    """Scores of the models of one kind on the draws of one data set."""

    def __init__(self, frame, models, draws):
        index = pd.MultiIndex.from_tuples([draw[:2] for draw in draws], names=["level", "draw"])
        self.levels = list(dict.fromkeys(index.get_level_values("level")))
        self.level = index.get_level_values("level").to_numpy()
        self.wide = frame.set_index([*models, "level", "draw"]).unstack(["level", "draw"])
        self.index = index

    def __len__(self):
        return len(self.wide)

    def __getitem__(self, name):
        """(n_models, n_draws) of one metric; nan where it is not taken."""
        if not len(self) or name not in self.wide:
            return np.full((len(self), len(self.index)), np.nan)
        return self.wide[name].reindex(columns=self.index).to_numpy(dtype=float)

    def block(self, ours, target, rivals, independent=False):
        """(n_models, n_draws, 2 + n_rivals): target, our metric and its rivals.

        The target is an array or a name; with `independent`, its mean over independent rows.
        """
        aim = self[target] if isinstance(target, str) else target
        if independent:
            aim = aim[:, self.level == "independent"].mean(axis=1, keepdims=True)
        aim = np.broadcast_to(aim, (len(self), len(self.index)))
        return np.stack([aim, self[ours], *(self[name] for name in rivals)], axis=2)


def rank_correlations(block):
    """(n_draws, 1 + n_rivals): Spearman's correlation, over models, of metrics with the target."""
    if len(block) < LEAST_MODELS:
        return np.full((block.shape[1], block.shape[2] - 1), np.nan)
    ranks = rankdata(block, axis=0, nan_policy="propagate")
    ranks -= ranks.mean(axis=0)
    norm = np.sqrt((ranks**2).sum(axis=0))
    # A metric that is the same for all models gives no ranking: no correlation.
    ranks /= np.where(norm > 0, norm, 1.0)
    return np.einsum("nd,ndm->dm", ranks[..., 0], ranks[..., 1:])


class Ranks:
    """`rank_correlations` of many bootstrap draws of the rows of a block.

    A rank is how many values are below, and half of the equal ones: with the comparisons of all
    pairs made once, the ranks of all draws are a product with how often each row was drawn, which
    takes a small part of the time of ranking.
    """

    def __init__(self, block):
        with np.errstate(invalid="ignore"):
            below = block[:, None] < block[None]
            equal = block[:, None] == block[None]
        pairs = (below + 0.5 * equal).astype(np.float32)
        pairs[:, :, np.isnan(block).any(axis=0)] = np.nan
        self.shape, self.pairs = block.shape, pairs.reshape(len(block), block.size)

    def __call__(self, counts):
        """(n, n_models), how often each row was drawn, to (n, n_draws, n_metrics)."""
        counts = counts.astype(np.float32)
        n_models, n_draws, n_metrics = self.shape
        ranks = (counts @ self.pairs).reshape(len(counts), n_models, n_draws * n_metrics)
        ranks -= (counts[:, None] @ ranks) / n_models
        norm = np.sqrt(counts[:, None] @ ranks**2)
        ranks /= np.where(norm > 1e-3, norm, 1.0)
        ranks = ranks.reshape(len(counts), *self.shape)
        aims = counts[:, :, None] * ranks[..., 0]
        return np.einsum("bnd,bndm->bdm", aims, ranks[..., 1:], optimize=True)


def over_models(statistic, *blocks, **options):
    """A statistic of the correlations of blocks, and its draws over the models of each."""
    sizes = [len(block) for block in blocks]

    def counted(*drawn):
        return np.concatenate(
            [np.bincount(rows.astype(int), minlength=n) for rows, n in zip(drawn, sizes)]
        )

    all_once, counts = resampled(counted, *map(np.arange, sizes), **options)
    if min(sizes) < LEAST_MODELS:
        return np.array(np.nan), np.full(len(counts), np.nan)
    tables, values = [Ranks(block) for block in blocks], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        for part in np.split(np.vstack([all_once, counts]), range(1, len(counts), 50)):
            of_blocks = np.split(part, np.cumsum(sizes)[:-1], axis=1)
            correlations = [table(count) for table, count in zip(tables, of_blocks)]
            values += [statistic(*each) for each in zip(*correlations)]
    values = np.asarray(values, dtype=float)
    return values[0], values[1:]


class Statistics:
    """What claims are about; each a function of the correlations of a block.

    A rival is compared with our metric on the draws on which it is taken: DCI by forests is not
    taken on all.
    """

    def __init__(self, level):
        self.dependent = level != "independent"

    def own(self, correlations):
        """Correlation of our metric with the target, mean over dependent draws."""
        return np.nanmean(correlations[self.dependent, 0])

    def gaps(self, correlations):
        """How far it is above each rival."""
        own, rivals = beside_rivals(correlations)
        return np.nanmean((own - rivals)[self.dependent], axis=0)

    def advantage(self, correlations):
        """How far it is above the mean of its rivals."""
        return np.nanmean(self.gaps(correlations))

    def stability(self, correlations):
        """How much less than the mean rival it changes from independent to dependent draws."""
        own, rivals = (
            np.abs(np.nanmean(c[self.dependent], axis=0) - np.nanmean(c[~self.dependent], axis=0))
            for c in beside_rivals(correlations)
        )
        return np.nanmean(rivals - own)


def beside_rivals(correlations):
    """Two (n_draws, n_rivals): correlations of our metric where each rival is, and the rivals'."""
    rivals = correlations[:, 1:]
    return np.where(np.isfinite(rivals), correlations[:, :1], np.nan), rivals


def versions(paper):
    """Names of the rivals; SAP is the same in both versions."""
    return [name + PAPER if paper and name != "sap" else name for name in RIVALS]


def reading_of(ours, paper):
    """Names of our metric, its target and its rivals."""
    target = PAIRS[ours]
    if not paper:
        return ours, target, versions(False)
    both = {"minimality": ("minimality" + PAPER, "irs" + PAPER)}
    return *both.get(ours, (ours, target)), versions(True)


# %%
# Claims.


OF_RIVALS = f"{100 - 10 / len(RIVALS):.1f} %"
READINGS = {  # the paper's versions or not, targets on independent rows or not
    "as the paper": (True, False),
    "canonical": (False, False),
    "targets on independent rows": (False, True),
}


def above_every_rival(stats, block, rivals, n_draws=5000):
    """Outcome, and the difference to the rival that decides it.

    The best of several is the best by chance, too, so each is a claim of its own; intervals are
    wider in turn (Bonferroni).
    """
    value, draws = over_models(stats.gaps, block, n_draws=n_draws)
    level = 1 - 0.1 / len(rivals)
    values = np.broadcast_to(value, len(rivals))
    columns = np.broadcast_to(draws.reshape(len(draws), -1), (len(draws), len(rivals))).T
    found = {name: interval(*pair, level) for name, *pair in zip(rivals, values, columns)}
    outcomes = {name: difference.outcome() for name, difference in found.items()}
    kinds = set(outcomes.values())
    joint = FAILS if FAILS in kinds else HOLDS if kinds == {HOLDS} else UNDECIDED
    deciding = [name for name in rivals if outcomes[name] == joint]
    name = min(deciding, key=lambda name: np.nan_to_num(found[name].low, nan=-np.inf))
    return f"{joint} {found[name]} against {label_of(name)}"


def pair_claims(ours, of_kind, **options):
    """Claims about one of the two metrics and its target, on one data set, by text and reading."""
    stats = Statistics(of_kind[TRAINED].level)
    title, target = label_of(ours), "accuracy" if ours == "sufficiency" else "IRS"

    def blocks(kinds, paper, independent):
        return [of_kind[kind].block(*reading_of(ours, paper), independent) for kind in kinds]

    def verdicts(statistic, *kinds):
        found = {
            reading: interval(*over_models(statistic, *blocks(kinds, *choice), **options))
            for reading, choice in READINGS.items()
        }
        return {reading: f"{gap.outcome()} {gap}" for reading, gap in found.items()}

    claims = {
        f"{title} goes with {target}, rank correlation": verdicts(stats.own, TRAINED),
        f"{title} does so more than every rival, difference to the one that decides it, with an "
        f"interval of {OF_RIVALS}": {
            reading: above_every_rival(
                stats, *blocks([TRAINED], *choice), versions(choice[0]), **options
            )
            for reading, choice in READINGS.items()
        },
        f"{title} changes less with dependence than the mean rival, difference of changes": (
            verdicts(stats.stability, TRAINED)
        ),
    }
    gaps = {"correlation": stats.own, "advantage over the mean rival": stats.advantage}
    return claims | {
        f"{title} and {target}, {text}: trained minus {null}": verdicts(
            lambda a, b, f=statistic: f(a) - f(b), TRAINED, null
        )
        for null in (UNTRAINED, MAP)
        for text, statistic in gaps.items()
    }


def model_claims(of_kind):
    """All claims about the models of one data set."""
    pairs = [pair_claims(ours, of_kind) for ours in PAIRS]
    return pairs[0] | pairs[1] | definition_claims(of_kind[TRAINED])


def other_outcomes(claims, others):
    """The verdicts of `others` that have another outcome than in `claims`.

    What is evidence is judged by MIG, which is a rival: to leave out the models with a low MIG
    narrows its range, and may lower its correlation.
    """
    changed = {
        text: {r: v for r, v in of.items() if outcome_of(v) != outcome_of(claims[text][r])}
        for text, of in others.items()
    }
    return {text: of for text, of in changed.items() if of}


def outcomes_with_all(claims, everyone):
    """What changes if no trained model is left out, in words."""
    changed = other_outcomes(claims, model_claims(everyone))
    text = " ".join(["these outcomes change:", *(sentence(*claim) for claim in changed.items())])
    return (
        f"With all {len(everyone[TRAINED])} trained models, evidence or not, "
        f"{text if changed else 'no outcome changes.'}"
    )


def outcome_of(verdict):
    return next(outcome for outcome in (HOLDS, FAILS, UNDECIDED) if verdict.startswith(outcome))


def definition_claims(trained):
    """Binned, active and posterior minimality against each other."""
    stats = Statistics(trained.level)
    claims = {}
    for name in ("minimality", "minimality_posterior"):
        text = "of active codes" if name == "minimality" else "of posteriors"
        blocks = {
            target: trained.block(name, target, ["minimality" + PAPER], independent=True)
            for target in ("irs", "accuracy")
        }
        found = {
            target: interval(*over_models(stats.advantage, block))
            for target, block in blocks.items()
        }
        claims[
            f"Minimality {text} goes with targets on independent rows more than that of all "
            "binned codes does"
        ] = {label_of(target): f"{gap.outcome()} {gap}" for target, gap in found.items()}
    return claims


def truth_of(controls, truth):
    """Controls that differ in an angle or in the noise alone, and how good they are."""
    frame = controls[controls.nuisance == 0] if truth == "angle" else controls[controls.angle == 0]
    return frame, -frame.groupby(["angle", "nuisance", "pairing"])[truth].first().to_numpy()


def control_blocks(controls, draws, truth, names):
    frame, quality = truth_of(controls, truth)
    scores = Scores(frame.drop(columns="dataset"), ["angle", "nuisance", "pairing"], draws)
    ours, *rivals = names
    return scores.block(ours, quality[:, None].astype(float), rivals), scores


def control_claims(controls, draws):
    claims = {}
    for truth in ("angle", "nuisance"):
        for name in CONTROLS:
            text = f"{label_of(name)} finds the {truth} of known codes"
            above = claims[f"{text} more than every rival, with an interval of {OF_RIVALS}"] = {}
            for paper, reading in ((True, "as the paper"), (False, "canonical")):
                names = [name, *versions(paper)]
                block, scores = control_blocks(controls, draws, truth, names)
                stats = Statistics(scores.level)
                above[reading] = above_every_rival(stats, block, versions(paper))
            own = interval(*over_models(stats.own, block))
            claims[f"{text}, rank correlation"] = {"": f"{own.outcome()} {own}"}
    return claims


# %%
# Summary and figures.


def parts_of(study, frame, controls, dataset):
    """Scores of every kind of one data set, its controls, and its draws."""
    draws, _ = draws_for(study.settings, dataset)
    used = frame[(frame.dataset == dataset) & frame.evidence]
    keys = ["architecture", "loss", "seed"]
    of_kind = {
        kind: Scores(used[used.kind == kind], keys, draws) for kind in (TRAINED, UNTRAINED, MAP)
    }
    own = controls[controls.dataset == dataset] if len(controls) else controls
    return of_kind, own, draws


def cost_lines(study, frame, cells):
    """What was run, and what the rest will take, by the time of what was."""
    keys = ["dataset", "kind", "architecture", "loss", "seed"]
    each = frame.drop_duplicates(keys)
    trained = each[each.kind == TRAINED]
    missing = pd.DataFrame(cells).groupby("kind").size().sub(each.groupby("kind").size())
    lines = [f"{len(each)} of {len(cells)} models are there."]
    if len(trained):
        mean = trained.groupby("architecture")[["fit_seconds", "seconds"]].mean().round(0)
        costs = ", ".join(f"{a} {row.seconds:.0f} ({row.fit_seconds:.0f} for training)"
                          for a, row in mean.iterrows())  # fmt: skip
        left = sum(missing.get(kind, 0) * part.seconds.mean()
                   for kind, part in each.groupby("kind"))  # fmt: skip
        lines[0] += f" Seconds of one core each: {costs}."
        if len(each) < len(cells):
            lines[0] += f" The rest takes about {left / 3600:.1f} h."
        weak = trained[~trained.evidence]
        lines.append(
            f"Of {len(trained)} trained models {len(trained) - len(weak)} are evidence; the others "
            f"have fewer than {LEAST_ACTIVE} active latents or a MIG no higher than untrained ones."
            + "".join(f" {loss}: {n} left out." for loss, n in weak.loss.value_counts().items())
        )
    return lines


def write_summary(study, frame, controls, cells):
    """The summary, and the claims as a table."""
    lines = cost_lines(study, frame, cells)
    lines.append("A number is followed by its 90 % interval over models, if no other one is named.")
    tables = {}
    for dataset in study["datasets"]:
        of_kind, own_controls, draws = parts_of(study, frame, controls, dataset)
        everyone, *_ = parts_of(study, frame.assign(evidence=True), controls, dataset)
        sizes = ", ".join(f"{len(scores)} {kind}" for kind, scores in of_kind.items())
        lines.append(f"\n{dataset}: {sizes} models")
        claims = model_claims(of_kind)
        some_left_out = len(everyone[TRAINED]) > len(of_kind[TRAINED])
        aside = [outcomes_with_all(claims, everyone)] if some_left_out else []
        if len(own_controls):
            claims |= control_claims(own_controls, draws)
        lines += [f"{i}. {sentence(*claim)}" for i, claim in enumerate(claims.items(), 1)]
        lines += aside
        tables[dataset] = {(t, r): verdict for t, of in claims.items() for r, verdict in of.items()}
    study.text([fill(line, width=98, subsequent_indent="   ", replace_whitespace=False)
                for line in lines])  # fmt: skip
    table = pd.DataFrame(tables).rename_axis(["claim", "reading"])
    table.to_csv(study.folder / "claims.csv")


def sentence(text, verdicts):
    """A claim with its verdicts under all readings."""
    return f"{text}: {'; '.join(f'{name} {v}'.strip() for name, v in verdicts.items())}."


def means_by_level(correlations, scores):
    """Metrics x levels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        return np.array([np.nanmean(correlations[scores.level == level], axis=0)
                         for level in scores.levels]).T  # fmt: skip


ROWS = ["minimality" + PAPER, "minimality", "minimality_posterior", "sufficiency"]
ROWS += [name for pair in zip(versions(True), versions(False)) for name in dict.fromkeys(pair)]


def draw_table(ax, title, columns, table):
    image = ax.imshow(table, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            color = "white" if abs(value) > 0.65 else "black"
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7)
    ax.set_xticks(range(len(columns)), [c.replace(" ", "\n", 1) for c in columns], fontsize=7)
    ax.set_yticks(range(len(ROWS)), [label_of(name) for name in ROWS], fontsize=7)
    ax.tick_params(length=0)
    ax.set_title(title, fontsize=9)
    return image


def correlations_of_rows(scores, target, independent=False):
    """(n_draws, n_rows): of each row of the figure with the target, in the version of the row."""

    def found(name):
        return rank_correlations(scores.block(name, name, ROWS, independent))[:, 1:]

    if target != "irs":  # which alone has two versions
        return found(target)
    is_paper = [name.endswith(PAPER) for name in ROWS]
    return np.where(is_paper, found(target + PAPER), found(target))


def correlation_tables(study, frame, controls, dataset):
    """(title, columns, metrics x columns) for each target.

    Trained models by level; then, in the mean over dependent draws, what to compare with.
    """
    of_kind, _, _ = parts_of(study, frame, controls, dataset)
    trained = of_kind[TRAINED]
    dependent = trained.level != "independent"
    for target in PAIRS.values():
        table = means_by_level(correlations_of_rows(trained, target), trained)
        aside = [correlations_of_rows(trained, target, independent=True)]
        aside += [correlations_of_rows(of_kind[kind], target) for kind in (UNTRAINED, MAP)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
            means = [np.nanmean(correlations[dependent], axis=0) for correlations in aside]
        columns = [*trained.levels, "target on indep. rows", "un- trained", "random maps"]
        title = f"{dataset}: rank correlation with {label_of(target)}"
        yield f"{title}, {len(trained)} trained models", columns, np.column_stack([table, *means])


def control_tables(study, frame, controls, dataset):
    """The same for how good known codes are."""
    _, own, draws = parts_of(study, frame, controls, dataset)
    for truth in ("angle", "nuisance") if len(own) else ():
        block, scores = control_blocks(own, draws, truth, ROWS)
        title = f"{dataset}: rank correlation with minus {truth}"
        yield title, scores.levels, means_by_level(rank_correlations(block), scores)


def plot_tables(study, frame, controls, tables):
    names = study["datasets"]
    size = (14, 0.5 + 4.4 * len(names))
    figure, axes = plt.subplots(len(names), 2, figsize=size, squeeze=False, layout="constrained")
    for row, dataset in zip(axes, names):
        for ax, table in zip(row, tables(study, frame, controls, dataset)):
            image = draw_table(ax, *table)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


def main():
    options = {"parts": ("datasets", "architectures", "seeds"), "numbers": ("epochs",)}
    study = Study("dependent_factors", __doc__, SMALL, FULL, **options)
    if study.is_full:
        print("The paper's size takes years of one core, see the text at the top. Name a part.")
    settings, cells = study.settings, cells_of(study)
    frame = study.parallel_rows("models", cells, partial(measure, settings))
    controls = study.parallel_rows(
        "controls", control_cells(study), partial(measure_control, settings)
    )
    if not len(frame):
        study.text([f"None of {len(cells)} models is there yet."])
        return
    frame = with_evidence(frame)
    write_summary(study, frame, controls, cells)
    study.figure("correlations", plot_tables(study, frame, controls, correlation_tables))
    if len(controls):
        study.figure("controls", plot_tables(study, frame, controls, control_tables))


if __name__ == "__main__":
    main()
