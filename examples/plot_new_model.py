"""
A model of your own
===================

A model is its named terms: write the loss, and networks, training, searches, saving and Displays
are there. This one asks for sparse codes, on handwritten digits.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from sklearn_disent.inspection import HistoryDisplay
from sklearn_disent.models import BaseVAE, terms


class SparseVAE(BaseVAE):
    """A VAE whose codes pay for their absolute value."""

    def __init__(self, n_components=10, *, sparsity=1.0, **kwargs):
        super().__init__(n_components, **kwargs)
        self.sparsity = sparsity

    def terms(self, x, output, extras):
        kl = terms.gaussian_kl(output.mean, output.log_var)
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (1.0, kl.sum(1).mean()),
            "sparsity": (self.sparsity, output.mean.abs().sum(1).mean()),
        }


X = load_digits().images[:900] / 16.0
codes = {}
for sparsity in (0.0, 0.1):
    vae = SparseVAE(8, sparsity=sparsity, architecture="mlp", max_epochs=30, random_state=0).fit(X)
    codes[sparsity] = vae.transform(X)
    print(f"sparsity {sparsity}: mean absolute code {abs(codes[sparsity]).mean():.2f}")

# %%
# Codes of both, and the terms of the second model over its epochs.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for sparsity, values in codes.items():
    axes[0].hist(values.ravel(), bins=60, histtype="step", label=f"sparsity {sparsity}")
axes[0].set(xlabel="code", ylabel="count")
axes[0].legend()
HistoryDisplay.from_estimator(vae, ax=axes[1])
plt.show()
