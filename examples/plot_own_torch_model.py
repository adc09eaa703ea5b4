"""
Judge your own torch model
==========================

No model of this package is needed to use its metrics: whatever gives one vector per observation
can be judged. Here a plain torch autoencoder, trained in a plain loop, gets a report with chance
levels and verdicts.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import RelevanceDisplay
from sklearn_disent.metrics import disentanglement_report

dsprites = make_dsprites(
    1000, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0
)
names = ["scale", "x", "y"]
X = torch.from_numpy(dsprites.images).reshape(1000, -1).float() / dsprites.images.max()
factors = dsprites.target[:, [1, 3, 4]]

# %%
# Your model: anything that ends in one vector per image.

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 4))
decoder = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 1024))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for _ in range(300):
    batch = X[torch.randint(len(X), (64,))]
    loss = nn.functional.binary_cross_entropy_with_logits(decoder(encoder(batch)), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    codes = encoder(X).numpy()

# %%
# Its codes: two arrays go in, a table with verdicts comes out. An autoencoder keeps what is
# needed to draw the image, but has no reason to keep x and y apart.

report = disentanglement_report(
    factors,
    codes,
    metrics=["minimality", "sufficiency", "mig", "infoe"],
    n_permutations=20,
    per_factor=True,
    random_state=0,
)
print(report)

# %%
# Which code is informative about which factor?

RelevanceDisplay.from_predictions(factors, codes, factor_names=names)
plt.show()
