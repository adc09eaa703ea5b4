"""
Factors that depend on each other
=================================

In real data, factors are dependent: a large object is seldom far up in the picture. MIG then
falls for codes that are as good as before. Minimality and sufficiency, which ask about leaks and
losses separately, tell the dependence of the factors from faults of the codes.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_disent.datasets import make_dependent_factors
from sklearn_disent.metrics import mig_score, minimality_score, sufficiency_score

# %%
# `delta` is the independence of the factors. `alpha` stays at 1: every code is a function of its
# own factor alone, so that only the data get harder, not the codes worse.

deltas = np.linspace(1, 0.3, 7)
metrics = {"MIG": mig_score, "minimality": minimality_score, "sufficiency": sufficiency_score}
scores = {name: [] for name in metrics}
for delta in deltas:
    data = make_dependent_factors(3000, alpha=1.0, delta=delta, random_state=0)
    for name, metric in metrics.items():
        scores[name].append(metric(data.target, data.codes))

figure, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
for name, values in scores.items():
    ax.plot(1 - deltas, values, "o-", label=name)
    print(f"{name:<12} {values[0]:.2f} -> {values[-1]:.2f}")
ax.set(xlabel="dependence of the factors (1 - delta)", ylabel="score", ylim=(0, 1.05))
ax.set_title("The same perfect codes, more and more dependent factors")
ax.legend()
plt.show()
