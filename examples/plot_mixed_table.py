"""
A table of mixed columns
========================

:class:`~sklearn_disent.models.TableVAE` reads the kind of every column off a DataFrame, leaves
missing entries out of its likelihood, and gives a DataFrame back. Here a tenth of the diabetes
table is hidden and filled in again.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from sklearn_disent.models import TableVAE

table = load_diabetes(as_frame=True, scaled=False).data
table["sex"] = table["sex"].map({1.0: "a", 2.0: "b"}).astype("category")
rng = np.random.default_rng(0)
hidden = pd.DataFrame(rng.random(table.shape) < 0.1, columns=table.columns)
incomplete = table.mask(hidden)
print(f"{int(hidden.to_numpy().sum())} of {table.size} entries are hidden")

# %%
# Numbers are Gaussian, two values are Bernoulli; `kinds` would say otherwise.

vae = TableVAE(n_components=5, max_epochs=150, lr=3e-3, random_state=0).fit(incomplete)
print({column["name"]: column["kind"] for column in vae.columns_})
filled = vae.reconstruct(incomplete)
print(filled.head(3).round(1))

# %%
# Hidden entries against what was filled in, in standard deviations. The mean would be a flat
# line.

numbers = table.columns.drop("sex")
center, spread = table[numbers].mean(), table[numbers].std()
figure, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
for name in numbers:
    rows = hidden[name]
    truth = (table.loc[rows, name] - center[name]) / spread[name]
    guess = (filled.loc[rows.to_numpy(), name] - center[name]) / spread[name]
    ax.plot(truth, guess, "o", markersize=4, alpha=0.7, label=name)
ax.axline((0, 0), slope=1, color="0.7", zorder=0)
ax.set(xlabel="hidden entry", ylabel="filled in", title="Entries that training has not seen")
ax.legend(fontsize=7, ncols=2)
right = (filled["sex"].to_numpy() == table["sex"].to_numpy())[hidden["sex"]].mean()
print(f"sex is filled in rightly in {right:.0%} of its hidden entries")
plt.show()
