"""
==========================================================
One property: a metric, a scorer and an objective of a VAE
==========================================================

A definition of disentanglement, once it is written as a formula, gives its own metric and can be
learned from (Zhang and Sugiyama 2024). This page writes one, "one latent encodes exactly one factor
and every factor is decodable, up to permutation", measures with it how different maps go wrong, and
trains a VAE by it from the labels of a fifth of the rows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_disent.datasets import make_logical_codes
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.logic import Exists, Forall, Property, Semantics, maps
from sklearn_disent.metrics import disentanglement_report
from sklearn_disent.models import BetaVAE

# %%
# The formula
# -----------
# ``y(s)[k]`` is factor k of sample s, ``z(s)[p(k)]`` the code that the assignment p gives to it.
# The two halves: the code is constant where its factor is, and an affine map reads the factor off.


def encodes_it_alone(y, z, code, k):
    return Forall(
        y.values(k),
        lambda v: Exists(
            z.space,
            lambda c: Forall(y.samples.where(lambda s: y(s)[k] == v), lambda s: z(s)[code] == c),
        ),
    )


def is_decodable(y, z, code, k):
    return Exists(maps("affine"), lambda h: Forall(y.samples, lambda s: h(z(s)[code]) == y(s)[k]))


def make_property(*parts):
    def one_latent_per_factor(y, z):
        def holds(code, k):
            formulas = [part(y, z, code, k) for part in parts]
            return formulas[0] & formulas[1] if len(formulas) > 1 else formulas[0]

        return Exists(z.assignments, lambda p: Forall(y.columns, lambda k: holds(p(k), k)))

    semantics = Semantics("squared_euclidean", forall="mean", aggregators={"k": "sum"})
    return Property(one_latent_per_factor, semantics=semantics)


alone, decodable = make_property(encodes_it_alone), make_property(is_decodable)
both = make_property(encodes_it_alone, is_decodable)
print(both)
print(both.guarantee)

# %%
# A metric
# --------
# Ten maps from three factors to codes, each right or wrong in one known way. Codes have unit
# variance, so that a code that has shrunk does not pass for one that is constant.

warnings.simplefilter("ignore", DegenerateScoreWarning)
kinds = [
    *("misalignment", "redundancy", "contraction", "duplicate", "complement"),
    *("nonlinear", "entanglement", "rotation", "random", "constant"),
]
table = {}
for kind in kinds:
    data = make_logical_codes(kind, n_levels=6, random_state=0)
    scale = {"code_scale": "unit"}
    table[kind] = [rule.quantity(data.factors, data.codes, **scale) for rule in (alone, decodable)]

values = np.array(list(table.values()))
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
places = np.arange(len(kinds))
ax.barh(places, values[:, 0], label="varies while its factor does not")
ax.barh(places, values[:, 1], left=values[:, 0], label="error of the best affine map")
ax.set_yticks(places, kinds)
ax.invert_yaxis()
ax.set_xlabel("quantity of the best assignment, 0 is best")
ax.legend()
plt.show()

# %%
# Permuted, repeated and shrunk codes are as good as any: the assignment finds a code for every
# factor. The nonlinear map is modular, but not affine; the constant one is modular, but holds
# nothing.
#
# A scorer, and a report
# ----------------------
# Beside other metrics, with an interval and the level of chance.

data = make_logical_codes("entanglement", n_levels=6, random_state=0)
print(
    disentanglement_report(
        data.target,
        data.codes,
        metrics=["mig", "sap", both],
        n_resamples=10,
        n_permutations=10,
        random_state=0,
    )
)

# %%
# An objective
# ------------
# Two factors, mixed into 20 features. A fifth of the rows have labels; the property is asked of
# these, beside the terms of the VAE, and scored on all.

rng = np.random.default_rng(0)
y = rng.integers(5, size=(500, 2))
X = np.tanh((y - 2) / 2 @ rng.normal(size=(2, 20))) + 0.05 * rng.normal(size=(500, 20))
common = {"n_components": 2, "max_epochs": 40, "lr": 5e-3, "random_state": 0}
guidance = both.guidance(weight=100.0, n_labeled=0.2, code_scale="unit")
models = {
    "unguided": BetaVAE(**common).fit(X),
    "guided by the property": BetaVAE(guidance=guidance, **common).fit(X, y),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    codes = model.transform(X)
    score = both.as_metric().value(y, codes)
    ax.scatter(*codes.T, c=y[:, 0] + y[:, 1] / 5, s=6, cmap="viridis")
    ax.set_title(f"{name}: score {score:.2f}")
    ax.set(xlabel="code 0", ylabel="code 1")
quantity = models["guided by the property"].history_[:, "train_logic_one_latent_per_factor"]
axes[2].plot(quantity)
axes[2].set(xlabel="epoch", ylabel="quantity in training", ylim=(0, None))
plt.show()

# %%
# The unguided codes are an arbitrary turn of the two factors. The same object has been the
# yardstick and the teacher; see the user guide, "From a definition to a metric, a scorer and an
# objective".
