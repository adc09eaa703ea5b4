"""
What collapse looks like
========================

A VAE whose KL divergence weighs too much ignores its codes: every latent is dead, all
reconstructions are the same mean image, and scores of such codes mean nothing. ``history_`` shows
it while it happens, ``fit`` warns, and a report says so.
"""

import warnings

import matplotlib.pyplot as plt

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import ReconstructionDisplay
from sklearn_disent.models import BetaVAE, LinearSchedule

dsprites = make_dsprites(800, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0)
X = dsprites.images
common = {
    "n_components": 5,
    "architecture": "mlp",
    "max_epochs": 20,
    "random_state": 0,
}

# %%
# Far too large a beta; the same beta at the end of a schedule that grows far too late to do harm
# in this short training; and a beta that suits the data.

betas = {
    "beta = 200": 200.0,
    "beta grows": LinearSchedule(0.0, 200.0, n_steps=10_000),
    "beta = 2": 2.0,
}
figure, axes = plt.subplots(3, 1, figsize=(7, 5.5), layout="constrained")
for ax, (name, beta) in zip(axes, betas.items()):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vae = BetaVAE(beta=beta, **common).fit(X)
    print(f"{name}: {vae.history_[-1, 'active_latents']} active latents")
    for warning in caught:
        print("  warned:", str(warning.message).split(":")[0])
    ReconstructionDisplay.from_estimator(vae, X[:10], ax=ax)
    ax.set_title(
        f"{name}: {vae.history_[-1, 'active_latents']} of 5 latents are active", fontsize=10
    )
plt.show()
