"""
Compare models over seeds
=========================

Is one model better than another, or was it the seed? With ``random_state`` in its grid, a search
holds the answer: :func:`~sklearn_disent.model_selection.compare_models` gives intervals over
seeds, paired tests with a correction for their number, and a sentence for the paper.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.metrics import get_scorer
from sklearn_disent.model_selection import compare_models
from sklearn_disent.models import AdaGVAE, BetaVAE, Labels

fixed = {"shape": 0, "orientation": 0}
dsprites = make_dsprites(600, factors=fixed, image_size=32, random_state=0)
X, y = dsprites.images, dsprites.target[:, [1, 3, 4]]

# %%
# Three models, four seeds each. A single search with more parameters beside ``random_state`` would
# do as well: then every setting is a model.

common = {"n_components": 5, "architecture": "mlp", "max_epochs": 20}
models = {
    "BetaVAE": BetaVAE(beta=1.0, **common),
    "with labels of 20 %": BetaVAE(beta=1.0, guidance=Labels("l2", n_labeled=0.2), **common),
    "AdaGVAE (pairs)": AdaGVAE(n_changed=1, **common),
}
searches = {
    name: GridSearchCV(
        model,
        {"random_state": range(4)},
        scoring=get_scorer("mig"),
        cv=ShuffleSplit(1, test_size=0.3, random_state=0),
        refit=False,
    ).fit(X, y)
    for name, model in models.items()
}
comparison = compare_models(searches)
print(comparison)

# %%
# The table of a paper.

print(comparison.to_latex())

# %%
# Every seed, the means and their intervals.

comparison.plot()
plt.gcf().set_layout_engine("constrained")
plt.show()
