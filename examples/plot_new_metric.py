"""
A metric of your own
====================

A metric is a function of factors and codes. Yours takes part everywhere at once: in reports, with
an interval and a level of chance, and as a scorer of searches.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA, FastICA
from sklearn.model_selection import KFold, cross_val_score

from sklearn_disent.metrics import Metric, disentanglement_report, get_scorer

# %%
# The share of factors that have a code of their own: one that correlates with it beyond a
# threshold, and with no other factor.


def own_code_score(factors, codes, *, threshold=0.5):
    joint = np.corrcoef(np.asarray(factors, dtype=float).T, codes.T)
    related = np.abs(joint[: factors.shape[1], factors.shape[1] :]) > threshold
    alone = related & (related.sum(axis=0) == 1)
    return float(alone.any(axis=1).mean())


rng = np.random.default_rng(0)
factors = rng.integers(4, size=(600, 3))
X = factors @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(600, 6))
codes = FastICA(3, random_state=0).fit_transform(X)
own = Metric(own_code_score, label="own codes", bounds=(0, 1))
print(
    disentanglement_report(factors, codes, metrics=["mig", own], n_permutations=20, random_state=0)
)

# %%
# As a scorer, with an option.

cv = KFold(5, shuffle=True, random_state=0)
models = {"PCA": PCA(3), "FastICA": FastICA(3, random_state=0)}
thresholds = np.linspace(0.2, 0.95, 10)
figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
for name, model in models.items():
    means = [
        cross_val_score(
            model, X, factors, cv=cv, scoring=get_scorer(own_code_score, threshold=threshold)
        ).mean()
        for threshold in thresholds
    ]
    ax.plot(thresholds, means, "o-", label=name)
ax.set(xlabel="threshold", ylabel="factors with a code of their own", ylim=(-0.05, 1.05))
ax.legend()
plt.show()
