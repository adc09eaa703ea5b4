"""From the scores of the study of total correlation to its claims, all by one rule.

Apart from `study_total_correlation.py`, so that the rule can be read, and tested, without a model.
"""

from typing import NamedTuple

import numpy as np
from _study import HOLDS, UNDECIDED, Difference, bootstrap
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
FEWER = "if one active latent fewer were enough"
# What else than the paper may be the reason of an outcome: estimator, definition, and what counts
# as evidence (how many active latents less are enough). MSS has been trained in the sweep alone.
_BY_MWS = {
    "": (MWS, EXACT, 0),
    "with MIG of binned codes": (MWS, BINNED, 0),
    FEWER: (MWS, EXACT, 1),
}
READINGS = {
    "sweep": _BY_MWS | {"with MSS": (MSS, EXACT, 0)},
    "large": _BY_MWS,
    "heads": _BY_MWS,
}


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
    """A difference under one reading, and why it is no evidence, if it is not."""

    difference: Difference
    weak: str

    def outcome(self):
        return UNDECIDED if self.weak else self.difference.outcome()


def claim(text, find, table, part):
    """A claim with its outcome under every reading; `find(tc, mig, table)` is a Finding."""
    found = {
        name: find(tc, mig, table.lenient if fewer else table)
        for name, (tc, mig, fewer) in READINGS[part].items()
    }
    own = found.pop("")
    outcome = own.outcome()
    line = f"{text}: {outcome}{f', no evidence: {own.weak}' if own.weak else ''}. {own.difference}"
    if own.weak:
        found = {name: other for name, other in found.items() if name == FEWER and not other.weak}
    for name, other in found.items():
        line += f"; {name} {other.outcome()}, {other.weak or other.difference}"
    if own.weak or outcome == HOLDS:
        return f"{line}."
    turned = [name for name, other in found.items() if other.outcome() != outcome]
    reason = f"the outcome changes {' and '.join(turned)}" if turned else "none of these changes it"
    return f"{line}. Reason: {reason}{'' if turned else ', so scale or the paper'}."


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
        weak = "; ".join(why for _, why in found if why)
        if shared and not weak:
            common = [beta for beta in betas if all(beta in weights for weights in of_models)]
            of_models = [common] * len(models)
            weak = "" if common else "there is no beta at which both are evidence"
        if weak:
            of_models = [betas] * len(models)
        curves = [
            self.table.curve(scores, model, weights, self.part)
            for model, weights in zip(models, of_models)
        ]
        return Finding(bootstrap(statistic, *curves), weak)


def claims_of(settings, table, udr):
    """All claims; `udr` are means of UDR, for each setting (model, weight)."""
    return [
        *claims_on_beta(table, "sweep", settings["betas"]),
        *claims_on_seeds(
            table, "sweep", settings["betas"], {VAE: settings["betas"], FACTOR: settings["gammas"]}
        ),
        *(
            text
            for part in ("large", "heads")
            for betas in [settings[f"{part}_betas"]]
            for text in (
                *claims_on_beta(table, part, betas),
                *claims_on_seeds(table, part, betas, {VAE: betas}),
            )
        ),
        *claims_on_joints(settings, table),
        *claims_on_variants(settings, table),
        claim_on_udr(table, udr),
    ]  # fmt: skip


def claims_on_beta(table, part, betas):
    """Figures 2 and 4."""
    above, last = betas[1:], betas[-1]

    def high(tc, mig, table):
        pair = (table.seeds(mig, model, last, part) for model in (VAE, tc))
        # A collapse of BetaVAE is what the claim is about.
        return Finding(bootstrap(mean_gap, *pair), table.objection(tc, last, part))

    def between(statistic, *scores, **options):
        return lambda tc, mig, table: Curves(table, part, betas).finding(
            statistic, [score or mig for score in scores], (VAE, tc), **options
        )

    def of_tc(statistic, **options):
        return lambda tc, mig, table: Curves(table, part, betas).finding(
            statistic, ["tc", mig], (tc,), **options
        )

    claims = {
        "At equal ELBO, TC has the higher MIG (Figure 2)": between(gap_at_equal, "elbo", None),
        "With growing beta, TC keeps the better model of the data (Figure 2), in nats": between(
            mean_gap, "elbo", betas=above, least=1, shared=True
        ),
        f"At a high beta, {last:g}, TC has the higher MIG (Figure 2)": high,
        "In TC, lower total correlation goes with higher MIG over beta, as the paper takes it "
        "(Figure 4); minus the correlation of means": of_tc(lambda c: -over_betas(c), least=3),
        "The same without beta = 1": of_tc(lambda c: -over_betas(c), betas=above, least=3),
        "In TC, lower total correlation goes with higher MIG within beta (Figure 4); minus the "
        "correlation over seeds": of_tc(lambda c: -within_beta(c), least=1),
        "This is stronger in TC than in BetaVAE, within beta (Figure 4); difference of these "
        "correlations": between(
            lambda vae, tc: within_beta(vae) - within_beta(tc), "tc", None, least=1
        ),
        "At equal total correlation, TC has the higher MIG (Figure 4)": between(
            gap_at_equal, "tc", None
        ),
    }
    if len(above) < 3:
        del claims["The same without beta = 1"]
    return [claim(f"{text}, {NAMES[part]}", find, table, part) for text, find in claims.items()]


def chosen_weight(table, model, weights, mig, part, joint="none"):
    """The weight with the highest score of the first half of the seeds that all weights have."""
    of_each = {weight: table.seeds(mig, model, weight, part, joint) for weight in weights}
    half = min(map(len, of_each.values())) // 2
    return max(of_each, key=lambda weight: of_each[weight][:half].sum())


def claims_on_seeds(table, part, betas, rivals):
    """Figure 3. Weights are chosen by the first half of the seeds, judged by the second."""

    def best(model, weights, mig, table):
        weight = chosen_weight(table, model, weights, mig, part)
        seeds = table.seeds(mig, model, weight, part)
        return seeds[len(seeds) // 2 :], table.objection(model, weight, part)

    def find(rival):
        def finding(tc, mig, table):
            pair = [best(rival, rivals[rival], mig, table), best(tc, betas, mig, table)]
            gap = bootstrap(median_gap, *(seeds for seeds, _ in pair))
            return Finding(gap, "; ".join(why for _, why in pair if why))

        return finding

    def at_paper_weights(tc, mig, table):
        """All seeds, as no weight is chosen; of BetaVAE and TC."""
        pair = dict(zip((VAE, tc), PAPER_WEIGHTS))
        gap = bootstrap(median_gap, *(table.seeds(mig, *setting, part) for setting in pair.items()))
        weak = [table.objection(*setting, part) for setting in pair.items()]
        return Finding(gap, "; ".join(text for text in weak if text))

    text = "Over seeds, the median MIG of TC is above that of {} (Figure 3), {}"
    claims = {text.format(rival, NAMES[part]): find(rival) for rival in rivals}
    if set(PAPER_WEIGHTS) <= set(betas):
        weights = "BetaVAE at {:g} and TC at {:g}, the paper's weights".format(*PAPER_WEIGHTS)
        claims[f"{text.format(VAE, NAMES[part])}, {weights}"] = at_paper_weights
    return [claim(text, find, table, part) for text, find in claims.items()]


def claims_on_joints(settings, table):
    """Figure 5. TC by MWS only, as there are no joints with MSS."""
    weights = settings["joint_betas"] | {GAN: [0.0]}

    def seeds(model, kind, mig=EXACT, chosen=False):
        """Scores on one joint, at the paper's weight or at a chosen one, and the objection."""
        weight, *others = weights[model]
        if chosen and others:
            weight = chosen_weight(table, model, weights[model], mig, "joints", kind)
        scores = table.seeds(mig, model, weight, "joints", kind)
        first = len(scores) // 2 if chosen else 0
        return scores[first:], table.objection(model, weight, "joints", kind)

    def outcomes(pairs, **reading):
        """Outcome for each pair; not decided if one of its models is not evidence."""
        parts = []
        for name, low, high in pairs:
            (first, weak), (second, also) = seeds(*low, **reading), seeds(*high, **reading)
            gap = bootstrap(median_gap, first, second)
            why = "; ".join(text for text in (weak, also) if text)
            parts.append(f"{name}: {f'{UNDECIDED}, {why}' if why else gap.outcome()} {gap}")
        return ", ".join(parts)

    claims = {
        f"TC is above {rival} on joint": [(kind, (rival, kind), (MWS, kind)) for kind in JOINTS]
        for rival in (VAE, GAN)
    }
    claims["Uneven or dependent sampling lowers the MIG of TC, A minus"] = [
        (kind, (MWS, kind), (MWS, "A")) for kind in "BCD"
    ]
    return [
        f"{text} {outcomes(pairs)} (Figure 5); with MIG of binned codes "
        f"{outcomes(pairs, mig=BINNED)}; at weights chosen by half of the seeds "
        f"{outcomes(pairs, chosen=True)}."
        for text, pairs in claims.items()
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
            f"TC by MWS has {text}, mean over beta > 1 (not a claim of the paper): "
            f"{own.outcome()}{f', no evidence: {own.weak}' if own.weak else ''}. {own.difference}; "
            f"{FEWER} {few.outcome()}, {few.weak or few.difference}."
        )
    return claims


def claim_on_udr(table, udr):
    points = [(score, table.seeds(EXACT, *setting).mean()) for setting, score in udr.items()]
    rank = bootstrap(lambda p: spearmanr(p).statistic, points)
    return (
        "UDR, without labels, ranks settings as MIG does, rank correlation over "
        f"{len(points)} settings (not a claim of the paper): {rank.outcome()}. {rank}."
    )
