"""
============================
Data sets with known factors
============================

Every generator of :mod:`sklearn_disent.datasets` in pictures, and what dependent factors look like.
Nothing is downloaded; the whole page takes a few seconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_disent.datasets import (
    make_candle_like,
    make_dependent_factors,
    make_dsprites,
    make_logical_codes,
    make_shapes3d,
    make_transformed_digits,
)
from sklearn_disent.model_selection import dependence_weights


def show_traversals(make, start, n_steps=6, **arguments):
    """One row for each factor: it runs through its classes, the others stay at `start`."""
    whole = make(factors=start, **arguments)
    names, sizes = whole.factor_names, whole.factor_sizes
    figure, axes = plt.subplots(len(names), n_steps, figsize=(n_steps * 1.1, len(names) * 1.15))
    for row, (name, size) in enumerate(zip(names, sizes)):
        classes = np.unique(np.linspace(0, size - 1, n_steps).round().astype(int))
        data = make(factors={**start, name: classes}, shuffle=False, **arguments)
        for ax in axes[row]:
            ax.set_axis_off()
        for ax, image in zip(axes[row], data.images):
            ax.imshow(image, cmap="gray")
        axes[row, 0].set_title(name, loc="left", fontsize=8, pad=2)
    figure.tight_layout(pad=0.3)
    return figure


# %%
# dSprites
# --------
# :func:`~sklearn_disent.datasets.make_dsprites` draws the data set itself, exact to a handful of
# single pixels in 737,280 images. Each row changes one factor.

show_traversals(make_dsprites, {"shape": 2, "scale": 5, "orientation": 3, "posX": 16, "posY": 16})
plt.show()

# %%
# A look-alike of 3D Shapes
# -------------------------
# :func:`~sklearn_disent.datasets.make_shapes3d` has the factors of 3D Shapes, and resembles it.

start = {"floor_hue": 1, "wall_hue": 5, "object_hue": 0, "scale": 5, "shape": 2, "orientation": 4}
show_traversals(make_shapes3d, start, cache=False)
plt.show()

# %%
# Moved digits
# ------------
# :func:`~sklearn_disent.datasets.make_transformed_digits` turns, scales and shifts real
# handwriting. The row "instance" shows different hands writing the same digit.

start = {"digit": 3, "instance": 1, "rotation": 4, "scale": 4, "posX": 4, "posY": 4}
show_traversals(make_transformed_digits, start)
plt.show()

# %%
# A confounded data set with boxes
# --------------------------------
# In :func:`~sklearn_disent.datasets.make_candle_like` a hidden context changes object, color, size
# and scene together. No factor causes another, yet object and size are dependent: the tables
# below count how often their values occur together, with and without confounding.

candle = make_candle_like(24, random_state=0)
figure, axes = plt.subplots(3, 8, figsize=(8.8, 3.4))
for ax, image, (box,) in zip(axes.flat, candle.images, candle.boxes):
    top, left, bottom, right = box
    ax.imshow(image)
    ax.add_patch(
        Rectangle((left - 0.5, top - 0.5), right - left, bottom - top, fill=False, ec="white")
    )
    ax.set_axis_off()
figure.tight_layout(pad=0.3)
plt.show()

figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for ax, confounding in zip(axes, (0.0, 1.0)):
    data = make_candle_like(2000, confounding=confounding, image_shape=(16, 16), random_state=0)
    counts = np.zeros((3, 5))
    np.add.at(counts, (data.target[:, 2], data.target[:, 0]), 1)
    ax.imshow(counts, cmap="Blues", vmin=0)
    ax.set_xticks(range(5), data.factor_values["object"], fontsize=8)
    ax.set_yticks(range(3), data.factor_values["size"])
    ax.set_ylabel("size")
    ax.set_title(f"confounding = {confounding:g}")
plt.show()

# %%
# Codes of known disentanglement
# ------------------------------
# :func:`~sklearn_disent.datasets.make_dependent_factors` mixes factors (delta) and codes (alpha),
# and adds noise that is independent of the factors (beta). Color is the first factor.

settings = [{}, {"delta": 0.5}, {"alpha": 0.6}, {"beta": 0.8}]
figure, axes = plt.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
for ax, setting in zip(axes, settings):
    toy = make_dependent_factors(1000, random_state=0, **setting)
    jitter = np.random.RandomState(0).normal(scale=0.02, size=(1000, 2))
    points = toy.codes[:, :2] + jitter
    ax.scatter(*points.T, c=toy.target[:, 0], s=5, cmap="viridis")
    ax.set_title(
        ", ".join(f"{k} = {v}" for k, v in setting.items()) or "alpha = delta = 1, beta = 0"
    )
    ax.set_xlabel("code 1")
axes[0].set_ylabel("code 2")
plt.show()

# %%
# :func:`~sklearn_disent.datasets.make_logical_codes` maps a grid of three factors to codes that are
# right, or wrong in one known way. Shown are the first two codes of each map; color is the first
# factor.

kinds = ["entanglement", "rotation", "duplicate", "complement", "misalignment"]
kinds += ["redundancy", "contraction", "nonlinear", "constant", "random"]
figure, axes = plt.subplots(2, 5, figsize=(11, 4.6), layout="constrained")
for ax, kind in zip(axes.flat, kinds):
    logical = make_logical_codes(kind, random_state=2023)
    ax.scatter(*logical.codes[:, :2].T, c=logical.factors[:, 0], s=4, cmap="viridis")
    ax.set_title(f"{kind} ({logical.codes.shape[1]} codes)", fontsize=9)
    ax.tick_params(labelsize=7)
plt.show()

# %%
# Dependent factors by the rows that are drawn
# --------------------------------------------
# Any data set becomes dependent by drawing its rows with the weights of
# :func:`~sklearn_disent.model_selection.dependence_weights`: here posX and posY of dSprites.

grid = np.stack(np.unravel_index(np.arange(32 * 32), (32, 32)), axis=1)
figure, axes = plt.subplots(1, 7, figsize=(12, 2.2), layout="constrained")
choices = [{"sigma": s} for s in (0.04, 0.1, 0.4)] + [{"kind": k} for k in "ABCD"]
for ax, choice in zip(axes, choices):
    weights = dependence_weights(grid, [(0, 1)], **choice).reshape(32, 32)
    ax.imshow(weights.T, cmap="Blues", vmin=0, origin="lower")
    ax.set_title(" = ".join(str(part) for item in choice.items() for part in item), fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("posX")
axes[0].set_ylabel("posY")
plt.show()
