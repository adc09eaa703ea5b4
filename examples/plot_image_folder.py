"""
A folder of your own pictures
=============================

:func:`~sklearn_disent.datasets.load_image_folder` reads pictures of any size and kind into one
array on disk, names broken files, and goes on where it was interrupted. Models take the array as
it is.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from sklearn_disent.datasets import load_image_folder
from sklearn_disent.inspection import TraversalDisplay
from sklearn_disent.models import BetaVAE

# %%
# Your folder; here one is made, of colored discs on pictures of several sizes.

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
for i in range(400):
    side = int(rng.integers(30, 60))
    rows, columns = np.mgrid[:side, :side] / side
    x, y, radius = *rng.uniform(0.25, 0.75, 2), rng.uniform(0.1, 0.22)
    disc = (rows - y) ** 2 + (columns - x) ** 2 < radius**2
    picture = np.where(disc[..., None], [240, int(rng.integers(256)), 40], [20, 20, 60])
    Image.fromarray(picture.astype(np.uint8)).save(Path(folder.name) / f"{i:03}.png")

# %%
# ``broken="skip"`` would leave unreadable files out, and list them.

mine = load_image_folder(folder.name, size=32, data_home=folder.name, progress=False)
print(type(mine.images).__name__, mine.images.shape, mine.images.dtype)

# %%
# No labels are needed to train, nor to look at what each latent does.

vae = BetaVAE(
    n_components=5,
    beta=1.0,
    architecture="mlp",
    max_epochs=25,
    device="auto",
    random_state=0,
).fit(mine.images)
TraversalDisplay.from_estimator(vae, mine.images, n_steps=9)
folder.cleanup()
plt.show()
