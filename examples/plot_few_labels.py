"""
A few labels help
=================

The same VAE without labels, and with the labels of one row in ten as guidance: the guided one
learns which latent belongs to which factor.
"""

import matplotlib.pyplot as plt

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import RelevanceDisplay
from sklearn_disent.metrics import mig_score
from sklearn_disent.models import BetaVAE, Labels

names = ["scale", "x", "y"]
dsprites = make_dsprites(
    1000, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0
)
X, y = dsprites.images, dsprites.target[:, [1, 3, 4]]

# %%
# `n_labeled` hides the labels of the other rows from training. Where labels are missing to begin
# with, write -1 or NaN: it means unlabelled to models and to metrics.

common = {
    "n_components": 5,
    "architecture": "mlp",
    "max_epochs": 25,
    "random_state": 0,
}
models = {
    "no labels": BetaVAE(beta=2.0, **common),
    "labels of 10 %": BetaVAE(beta=2.0, guidance=Labels("l2", weight=5.0, n_labeled=0.1), **common),
}

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    codes = model.fit(X, y).transform(X)
    mig = mig_score(y, codes)
    print(f"{name}: MIG {mig:.2f}, by factor {mig_score(y, codes, average=None).round(2)}")
    RelevanceDisplay.from_predictions(y, codes, factor_names=names, ax=ax)
    ax.set_title(f"{name}: MIG {mig:.2f}")
plt.show()
