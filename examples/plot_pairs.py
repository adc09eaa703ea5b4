"""
Pairs instead of labels
=======================

Sometimes nobody knows the factors, but it is known that two observations differ in a few of them
only: two frames of a film, two views of a thing. :class:`~sklearn_disent.models.AdaGVAE` learns
from such pairs. Here the pairs are drawn from the factors, and the factors are then forgotten.
"""

import matplotlib.pyplot as plt

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import RelevanceDisplay
from sklearn_disent.metrics import mig_score
from sklearn_disent.models import AdaGVAE, BetaVAE

names = ["scale", "x", "y"]
dsprites = make_dsprites(
    1000, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0
)
X, y = dsprites.images, dsprites.target[:, [1, 3, 4]]
common = {
    "n_components": 5,
    "architecture": "mlp",
    "max_epochs": 25,
    "random_state": 0,
}

# %%
# With real pairs, pass the partner of every row: ``fit(X, X_pair=partners)``.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
models = {"BetaVAE": BetaVAE(beta=2.0, **common), "AdaGVAE": AdaGVAE(n_changed=1, **common)}
for ax, (name, model) in zip(axes, models.items()):
    codes = model.fit(X, y).transform(X)
    print(f"{name}: MIG {mig_score(y, codes):.2f}")
    RelevanceDisplay.from_predictions(y, codes, factor_names=names, ax=ax)
    ax.set_title(f"{name}: MIG {mig_score(y, codes):.2f}")
plt.show()
