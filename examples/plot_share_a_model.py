"""
Save, share and load a trained model
====================================

``save_pretrained`` writes weights (safetensors), settings and a model card to a folder; nothing
in it is pickled. ``from_pretrained`` brings the model back, ready to encode, decode and train on.
Models that come with the package are listed by :func:`~sklearn_disent.models.list_pretrained`.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import ReconstructionDisplay
from sklearn_disent.models import BetaVAE, list_pretrained

dsprites = make_dsprites(800, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0)
X, y = dsprites.images, dsprites.target[:, [1, 3, 4]]
vae = BetaVAE(
    n_components=5,
    beta=1.0,
    architecture="mlp",
    max_epochs=25,
    random_state=0,
).fit(X)

# %%
# There and back.

with tempfile.TemporaryDirectory() as folder:
    vae.save_pretrained(folder)
    print(sorted(path.name for path in Path(folder).iterdir()))
    loaded = BetaVAE.from_pretrained(folder)
assert np.array_equal(loaded.transform(X), vae.transform(X))
print("models of the package:", list_pretrained())

# %%
# The loaded model at work.

ReconstructionDisplay.from_estimator(loaded, X[:10])
plt.show()
