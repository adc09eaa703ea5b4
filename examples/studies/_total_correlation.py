"""From the scores of the study of total correlation to its claims, all by one rule.

Apart from `study_total_correlation.py`, so that the rule can be read, and tested, without a model.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from _study import HOLDS, UNDECIDED, bootstrap, interval, resampled
from scipy.stats import spearmanr

JOINTS = "ABCD"
EXACT, BINNED = "posterior_mig", "mig"
VAE, MWS, MSS, FACTOR, GAN = "BetaVAE", "TC by MWS", "TC by MSS", "FactorVAE", "InfoGAN"
UNTRAINED = "untrained"
ABLATIONS = ("TC by MWS, alpha = 0", "TC by MWS, flow prior")
LEAST_SEEDS = 5  # bootstraps over fewer are too narrow
# As many as there are factors.
LEAST_ACTIVE = {"sweep": 4, "large": 4, "heads": 3, "joints": 2}
NAMES = {"sweep": "dSprites", "large": "dSprites, larger images", "heads": "3D heads"}
MARGIN = 0.05  # of MIG: smaller differences count as none
PAPER_WEIGHTS = 4.0, 6.0  # of BetaVAE and of TC, in Figures 3 and 5
# What else than the paper may be the reason of an outcome: the definition, what counts as evidence,
# the estimator, the scale. MSS has been trained in the sweep alone.
FEWER, BY_BINS = "if one active latent fewer were enough", "with MIG of binned codes"
BY_MSS, LARGER = "with MSS", "in larger images"


class Table:
    """Scores by setting; of the settings, which are evidence."""

    def __init__(self, frame, n_factors, fewer=0):
        index = ["part", "model", "weight", "joint", "seed"]
        self.frame = frame.pivot_table(index=index, columns="score", values="value")
        sprites = {part: min(LEAST_ACTIVE[part], n_factors) for part in ("sweep", "large")}
        least = LEAST_ACTIVE | sprites
        self.least_active = {part: n - fewer for part, n in least.items()}
        if not fewer:
            self.lenient = Table(frame, n_factors, fewer=1)

    def seeds(self, score, model, weight, part="sweep", joint="none"):
        """(n_seeds,) of one setting."""
        try:
            return self.frame[score].loc[part, model, weight, joint].to_numpy()
        except KeyError:
            return np.zeros(0)

    def curve(self, scores, model, weights, part="sweep"):
        """(n_seeds, n_scores, n_weights), of the seeds that all weights have."""
        columns = [
            [self.seeds(score, model, weight, part) for weight in weights] for score in scores
        ]
        n_seeds = min((len(column) for row in columns for column in row), default=0)
        return np.array([[column[:n_seeds] for column in row] for row in columns]).transpose(
            2, 0, 1
        )

    def objection(self, model, weight, part="sweep", joint="none"):
        """Why a setting is not evidence; empty if it is."""
        active = self.seeds("active", model, weight, part, joint)
        if len(active) < LEAST_SEEDS:
            return f"{model} at {weight:g} has {len(active)} seeds"
        if active.mean() < self.least_active[part]:
            return f"{model} at {weight:g} has {active.mean():.1f} active latents"
        scores = self.seeds(EXACT, model, weight, part, joint)
        null = self.seeds(EXACT, UNTRAINED, 0.0, part, joint)
        if len(null) < LEAST_SEEDS:
            return f"there are {len(null)} untrained models"
        error = np.sqrt(scores.var(ddof=1) / len(scores) + null.var(ddof=1) / len(null))
        if scores.mean() - null.mean() < 2 * error:
            return f"{model} at {weight:g} is not above untrained models"
        return ""

    def evident(self, model, weights, part="sweep"):
        """Those of the weights at which a model is evidence."""
        return [weight for weight in weights if not self.objection(model, weight, part)]


# -- statistics of curves (n_seeds, n_scores, n_weights) and of seeds ----------------------------


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


def over_betas(curve):
    """Correlation over beta of the means over seeds, as in the paper: beta moves both scores."""
    return np.corrcoef(*curve.mean(axis=0))[0, 1]


def within_beta(curve):
    """Correlation over seeds, within beta: what beta does to both scores is taken away."""
    first, second = (curve - curve.mean(axis=0)).transpose(1, 0, 2).reshape(2, -1)
    return np.corrcoef(first, second)[0, 1]


# -- the rule ------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """A difference under one reading, what it is of, and why it is no evidence, if it is not."""

    value: float
    draws: np.ndarray
    weak: str
    of: str

    @property
    def difference(self):
        return interval(self.value, self.draws)

    def outcome(self):
        return UNDECIDED if self.weak else self.difference.outcome()

    def differs_from(self, other):
        """Whether the interval of the difference of two findings leaves out zero."""
        return interval(self.value - other.value, self.draws - other.draws).outcome() != UNDECIDED

    def __str__(self):
        weak = f", no evidence: {self.weak}" if self.weak else ""
        return f"{self.outcome()}{weak}. {self.difference}{f' ({self.of})' if self.of else ''}"


def finding(statistic, *samples, weak=(), of=""):
    """What the seeds of some settings say; `weak` are objections to them, if any."""
    return Finding(*resampled(statistic, *samples), "; ".join(filter(None, weak)), of)


def claim(text, readings):
    """A claim with its outcome under every reading: functions that give a finding, by name.

    The one without a name counts. Where it does not hold, another reading is the reason only if
    its outcome is another one *and* the two differences differ by more than chance.
    """
    found = {name: find() for name, find in readings.items()}
    own = found.pop("")
    line = f"{text}: {own}"
    for name, other in found.items():
        line += f"; {name} {other.outcome()}, {other.weak or other.difference}"
    if own.outcome() == HOLDS:
        return f"{line}."
    if own.weak:
        larger = found.get(LARGER)
        scale = larger is not None and not larger.weak
        return f"{line}. Reason: {'scale, these are evidence ' + LARGER if scale else 'not shown'}."
    turned = [name for name, other in found.items() if other.outcome() != own.outcome()]
    shown = [name for name in turned if own.differs_from(found[name])]
    if shown:
        return f"{line}. Reason: it differs {' and '.join(shown)}."
    less = "; the outcome changes {}, but the difference not by more than chance"
    return f"{line}. Reason: not shown{less.format(' and '.join(turned)) if turned else ''}."


def readings_of(find, table, part, larger=None):
    """Readings of a claim on one part; `find(tc, mig, table)` gives a finding.

    `larger` is the same for the larger images.
    """
    readings = {
        "": partial(find, MWS, EXACT, table),
        BY_BINS: partial(find, MWS, BINNED, table),
        FEWER: partial(find, MWS, EXACT, table.lenient),
    }
    if part == "sweep":
        readings[BY_MSS] = partial(find, MSS, EXACT, table)
    if larger is not None:
        readings[LARGER] = partial(larger, MWS, EXACT, table)
    return readings


class Curves:
    """BetaVAE and TC of one part over beta, as far as their settings are evidence."""

    def __init__(self, table, part, betas):
        self.table, self.part, self.betas = table, part, betas

    def weights(self, model, betas, least):
        """Weights that are evidence; all of them, and why, if those are fewer than `least`."""
        kept = self.table.evident(model, betas, self.part)
        if len(kept) >= least:
            return kept, ""
        objections = [self.table.objection(model, beta, self.part) for beta in betas]
        return betas, next(filter(None, objections), f"{model} has too few weights")

    def finding(self, statistic, scores, models, *, betas=None, least=2, shared=False):
        """A statistic of the curves of the models; `shared` leaves the betas that all have."""
        betas = betas or self.betas
        found = [self.weights(model, betas, least) for model in models]
        of_models = [weights for weights, _ in found]
        weak = [why for _, why in found if why]
        if shared and not weak:
            common = [beta for beta in betas if all(beta in weights for weights in of_models)]
            of_models = [common] * len(models)
            weak = [] if common else ["there is no beta at which both are evidence"]
        if weak:
            of_models = [betas] * len(models)
        curves = [
            self.table.curve(scores, model, weights, self.part)
            for model, weights in zip(models, of_models)
        ]
        of = ", ".join(
            f"{model} at {' '.join(f'{weight:g}' for weight in weights)}"
            for model, weights in zip(models, of_models)
        )
        return finding(statistic, *curves, weak=weak, of=of)


def claims_of(settings, table, udr):
    """All claims; `udr` are means of UDR, for each setting (model, weight)."""
    claims = []
    for part in ("sweep", "large", "heads"):
        finds = finds_of(settings, part)
        larger = finds_of(settings, "large") if part == "sweep" else {}
        claims += [
            claim(f"{text}, {NAMES[part]}", readings_of(find, table, part, larger.get(text)))
            for text, find in finds.items()
        ]
    claims += claims_on_joints(settings, table) + claims_on_variants(settings, table)
    return [*claims, claim_on_udr(table, udr)]


def finds_of(settings, part):
    """Claims on one part as functions `find(tc, mig, table)`, by their texts."""
    betas = settings["betas" if part == "sweep" else f"{part}_betas"]
    rivals = {VAE: betas} | ({FACTOR: settings["gammas"]} if part == "sweep" else {})
    return finds_on_beta(part, betas) | finds_on_seeds(part, betas, rivals)


def finds_on_beta(part, betas):
    """Figures 2 and 4."""
    above, last = betas[1:], betas[-1]

    def high(tc, mig, table):
        # A collapse of BetaVAE is what the claim is about, so that it need not be evidence.
        pair = (table.seeds(mig, model, last, part) for model in (VAE, tc))
        weak = table.objection(VAE, last, part)
        of = f"{weak}, which counts here" if weak else ""
        return finding(mean_gap, *pair, weak=[table.objection(tc, last, part)], of=of)

    def between(statistic, *scores, **options):
        return lambda tc, mig, table: Curves(table, part, betas).finding(
            statistic, [score or mig for score in scores], (VAE, tc), **options
        )

    def of_tc(statistic, **options):
        return lambda tc, mig, table: Curves(table, part, betas).finding(
            statistic, ["tc", mig], (tc,), **options
        )

    def stronger(statistic, **options):
        """Correlations are negative, so that the stronger one is below the other."""
        return between(lambda vae, tc: statistic(vae) - statistic(tc), "tc", None, **options)

    finds = {
        "At equal ELBO, TC has the higher MIG (Figure 2)": between(gap_at_equal, "elbo", None),
        "At equal beta, TC keeps the better model of the data (Figure 2), in nats": between(
            mean_gap, "elbo", betas=above, least=1, shared=True
        ),
        f"At a high beta, {last:g}, TC has the higher MIG (Figure 2)": high,
        "In TC, lower total correlation goes with higher MIG over beta, as the paper takes it "
        "(Figure 4); minus the correlation of means": of_tc(lambda c: -over_betas(c), least=3),
        "This is stronger in TC than in BetaVAE, over beta (Figure 4); difference of these "
        "correlations": stronger(over_betas, least=3),
        "In TC, lower total correlation goes with higher MIG within beta (Figure 4); minus the "
        "correlation over seeds": of_tc(lambda c: -within_beta(c), least=1),
        "This is stronger in TC than in BetaVAE, within beta (Figure 4); difference of these "
        "correlations": stronger(within_beta, least=1),
        "At equal total correlation, TC has the higher MIG (Figure 4)": between(
            gap_at_equal, "tc", None
        ),
    }
    if len(above) > 2:
        finds["Over beta, without beta = 1, in TC"] = of_tc(
            lambda c: -over_betas(c), betas=above, least=3
        )
        finds["Over beta, without beta = 1, more so in TC than in BetaVAE"] = stronger(
            over_betas, betas=above, least=3
        )
    return finds


def chosen_weight(table, model, weights, mig, part, joint="none"):
    """The weight with the highest score of the first half of the seeds that all weights have."""
    of_each = {weight: table.seeds(mig, model, weight, part, joint) for weight in weights}
    half = min(map(len, of_each.values())) // 2
    return max(of_each, key=lambda weight: of_each[weight][:half].sum())


def finds_on_seeds(part, betas, rivals):
    """Figure 3. Weights are chosen by the first half of the seeds, judged by the second."""

    def over(rival):
        def find(tc, mig, table):
            names, samples, weak = [], [], []
            for model, weights in ((rival, rivals[rival]), (tc, betas)):
                weight = chosen_weight(table, model, weights, mig, part)
                seeds = table.seeds(mig, model, weight, part)
                samples.append(seeds[len(seeds) // 2 :])
                weak.append(table.objection(model, weight, part))
                names.append(f"{model} at {weight:g}")
            return finding(median_gap, *samples, weak=weak, of=", ".join(names))

        return find

    def at_paper_weights(tc, mig, table):
        """All seeds, as no weight is chosen; of BetaVAE and TC."""
        pair = dict(zip((VAE, tc), PAPER_WEIGHTS))
        samples = (table.seeds(mig, *setting, part) for setting in pair.items())
        weak = [table.objection(*setting, part) for setting in pair.items()]
        return finding(median_gap, *samples, weak=weak)

    text = "Over seeds, the median MIG of TC is above that of {} (Figure 3)"
    finds = {text.format(rival): over(rival) for rival in rivals}
    if set(PAPER_WEIGHTS) <= set(betas):
        weights = "BetaVAE at {:g} and TC at {:g}, the paper's weights".format(*PAPER_WEIGHTS)
        finds[f"{text.format(VAE)}, {weights}"] = at_paper_weights
    return finds


PAPER, CHOSEN = "of the paper", "at weights above 1 that half of the seeds choose"


def claims_on_joints(settings, table):
    """Figure 5. TC by MWS only, as there are no joints with MSS."""
    weights = settings["joint_betas"] | {GAN: [0.0]}

    def scores_of(model, kind, mig, weight):
        """Scores on one joint, the objection to them, and what they are of."""
        n_seen = 0
        if weight == CHOSEN and model != GAN:
            above = [beta for beta in weights[model] if beta > 1]
            weight = chosen_weight(table, model, above, mig, "joints", kind)
            n_seen = len(table.seeds(mig, model, weight, "joints", kind)) // 2
        elif weight in (PAPER, CHOSEN) or model == GAN:
            weight = weights[model][0]
        seeds = table.seeds(mig, model, weight, "joints", kind)[n_seen:]
        of = f"{model}{f' at {weight:g}' if weight else ''}, {len(seeds)} seeds"
        return seeds, table.objection(model, weight, "joints", kind), of

    def gap(low, high, mig=EXACT, weight=PAPER):
        samples, weak, of = zip(*(scores_of(*setting, mig, weight) for setting in (low, high)))
        return finding(median_gap, *samples, weak=weak, of=" and ".join(dict.fromkeys(of)))

    def readings(low, high, equal=()):
        find = partial(gap, low, high)
        at = {f"at beta {beta:g} for both": partial(find, weight=beta) for beta in equal}
        own = {"": find, BY_BINS: partial(find, mig=BINNED)}
        return own | at | {CHOSEN: partial(find, weight=CHOSEN)}

    both = sorted({beta for beta in weights[VAE] if beta > 1 and beta in weights[MWS]})
    claims = [
        claim(
            f"TC is above {rival} on joint {kind} (Figure 5)",
            readings((rival, kind), (MWS, kind), both if rival == VAE else ()),
        )
        for rival in (VAE, GAN)
        for kind in JOINTS
    ]
    return claims + [
        claim(
            f"The sampling of joint {kind} lowers the MIG of TC, A minus {kind} (Figure 5)",
            readings((MWS, kind), (MWS, "A")),
        )
        for kind in "BCD"
    ]


def claims_on_variants(settings, table):
    """The paper's two ablations, and the two estimators."""
    beta, above = settings["ablation_beta"], settings["betas"][1:]
    claims = []
    for model in ABLATIONS:
        gap = bootstrap(mean_gap, *(table.seeds(EXACT, name, beta) for name in (MWS, model)))
        weak = table.objection(MWS, beta) or table.objection(model, beta)
        outcome = f"{UNDECIDED}, no evidence: {weak}" if weak else gap.within(MARGIN)
        claims.append(
            f"{model} does not differ from TC by MWS at beta {beta:g} by {MARGIN} of MIG or more: "
            f"{outcome}. {gap}."
        )
    for text, score, models in (
        ("a higher MIG than TC by MSS", EXACT, (MSS, MWS)),
        ("less information about the images than TC by MSS, in nats", "mi", (MWS, MSS)),
    ):
        own, few = (
            Curves(scores, "sweep", above).finding(mean_gap, [score], models, least=1, shared=True)
            for scores in (table, table.lenient)
        )
        claims.append(
            f"TC by MWS has {text}, mean over beta > 1 (not a claim of the paper): {own}; "
            f"{FEWER} {few.outcome()}, {few.weak or few.difference}."
        )
    return claims


def claim_on_udr(table, udr):
    """Over settings; TC at beta 1 is the same model by both estimators, which counts once."""
    points = [
        (score, table.seeds(EXACT, *setting).mean())
        for setting, score in udr.items()
        if setting != (MSS, 1.0)
    ]
    rank = bootstrap(lambda p: spearmanr(p).statistic, points)
    return (
        "UDR, without labels, ranks settings as MIG does, rank correlation over "
        f"{len(points)} settings, which are drawn instead of seeds (not a claim of the paper): "
        f"{rank.outcome()}. {rank}."
    )
