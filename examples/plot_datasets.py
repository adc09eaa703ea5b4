"""
============================
Data sets with known factors
============================

Every generator of :mod:`sklearn_disent.datasets` in pictures, and what dependent factors look like.
Nothing is downloaded; the whole page takes a quarter of a minute.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_disent import datasets
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


def show_rows(rows):
    """One row of images for each title."""
    n_columns = max(len(images) for images in rows.values())
    figure, axes = plt.subplots(len(rows), n_columns, figsize=(n_columns * 1.1, len(rows) * 1.2))
    for row, (title, images) in zip(axes, rows.items()):
        for ax, image in zip(row, images):
            ax.imshow(image, cmap="gray", vmin=0, vmax=255)
        for ax in row:
            ax.set_axis_off()
        row[0].set_title(title, loc="left", fontsize=8, pad=2)
    figure.tight_layout(pad=0.3)


# %%
# dSprites
# --------
# :func:`~sklearn_disent.datasets.make_dsprites` draws the data set itself, exact to a handful of
# single pixels in 737,280 images. Each row changes one factor.

show_traversals(
    datasets.make_dsprites, {"shape": 2, "scale": 5, "orientation": 3, "posX": 16, "posY": 16}
)
plt.show()

# %%
# It also comes with nuisance that is not a factor: a color, noise, or a painted ground.

variants = [{"color": "random"}, {"background": "noise"}, {"background": "texture"}]
show_rows({str(v)[1:-1]: datasets.make_dsprites(8, random_state=0, **v).images for v in variants})
plt.show()

# %%
# A look-alike of 3D Shapes
# -------------------------
# :func:`~sklearn_disent.datasets.make_shapes3d` has the factors of 3D Shapes, and resembles it.

start = {"floor_hue": 1, "wall_hue": 5, "object_hue": 0, "scale": 5, "shape": 2, "orientation": 4}
show_traversals(datasets.make_shapes3d, start, cache=False)
plt.show()

# %%
# A stand-in for 3D Faces
# -----------------------
# :func:`~sklearn_disent.datasets.make_faces3d_like` has the factors of 3D Faces, and other heads.

start = {"identity": 9, "azimuth": 12, "elevation": 5, "lighting": 4}
show_traversals(datasets.make_faces3d_like, start, cache=False)
plt.show()

# %%
# Squares that pixels cannot compare
# ----------------------------------
# In :func:`~sklearn_disent.datasets.make_xysquares` all places are equally far apart in pixels.

start = {f"{axis}_{color}": 3 for color in ("red", "green", "blue") for axis in "xy"}
show_traversals(datasets.make_xysquares, {**start, "x_green": 5, "y_blue": 1})
plt.show()

# %%
# Moved digits
# ------------
# :func:`~sklearn_disent.datasets.make_transformed_digits` turns, scales and shifts real
# handwriting. The row "instance" shows different hands writing the same digit.

start = {"digit": 3, "instance": 1, "rotation": 4, "scale": 4, "posX": 4, "posY": 4}
show_traversals(datasets.make_transformed_digits, start)
plt.show()

# %%
# A confounded data set with boxes
# --------------------------------
# In :func:`~sklearn_disent.datasets.make_candle_like` a hidden context changes object, color, size
# and scene together. No factor causes another, yet object and size are dependent: the tables
# below count how often their values occur together, with and without confounding.

candle = datasets.make_candle_like(24, random_state=0)
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
    options = {"image_shape": (16, 16), "random_state": 0}
    data = datasets.make_candle_like(1000, confounding=confounding, **options)
    counts = np.zeros((3, 5))
    np.add.at(counts, (data.target[:, 2], data.target[:, 0]), 1)
    ax.imshow(counts, cmap="Blues", vmin=0)
    ax.set_xticks(range(5), data.factor_values["object"], fontsize=8)
    ax.set_yticks(range(3), data.factor_values["size"])
    ax.set_ylabel("size")
    ax.set_title(f"confounding = {confounding:g}")
plt.show()

# %%
# An intervention sets factors and leaves all else as it is: the first row is as drawn, the others
# are its true counterfactuals.

interventions = [{"object": 4}, {"size": 2}, {"scene": 7}, {"light": 0}]
options = {"image_shape": (60, 80), "random_state": 4}
rows = [datasets.make_candle_like(7, **options).images]
rows += [datasets.make_candle_like(7, do=do, **options).images for do in interventions]
labels = ["as drawn"] + [f"do({name}={c})" for do in interventions for name, c in do.items()]
show_rows(dict(zip(labels, rows)))
plt.show()

# %%
# Causes and effects
# ------------------
# In :func:`~sklearn_disent.datasets.make_pendulum` pendulum and light cause the shadow, in
# :func:`~sklearn_disent.datasets.make_flow` a ball lifts the water, which with the height of a hole
# decides how far the jet reaches. An intervention sets a factor whatever its causes.

pendulums, cups = datasets.make_pendulum(8, random_state=0), datasets.make_flow(8, random_state=0)
shadow = datasets.make_pendulum(indices=pendulums.indices, do={"shadow_position": 10.0})
water = datasets.make_flow(indices=cups.indices, do={"water_height": 5.0})
titles = ["pendulum", "do(shadow_position = 10)", "flow", "do(water_height = 5)"]
show_rows(dict(zip(titles, (d.images for d in (pendulums, shadow, cups, water)))))
plt.show()

# %%
# Pairs in time
# -------------
# :func:`~sklearn_disent.datasets.make_transitions` draws pairs on any of these grids, between which
# few factors change much.

pairs = datasets.make_transitions(datasets.make_xysquares, 8, kind="sparse", random_state=0)
show_rows({"before": pairs.images, "one factor later": pairs.images_pair})
plt.show()

# %%
# Codes of known disentanglement
# ------------------------------
# :func:`~sklearn_disent.datasets.make_dependent_factors` mixes factors (delta) and codes (alpha),
# and adds noise that is independent of the factors (beta). Color is the first factor.

settings = [{}, {"delta": 0.5}, {"alpha": 0.6}, {"beta": 0.8}]
figure, axes = plt.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
for ax, setting in zip(axes, settings):
    toy = datasets.make_dependent_factors(1000, random_state=0, **setting)
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
    logical = datasets.make_logical_codes(kind, random_state=2023)
    ax.scatter(*logical.codes[:, :2].T, c=logical.factors[:, 0], s=4, cmap="viridis")
    ax.set_title(f"{kind} ({logical.codes.shape[1]} codes)", fontsize=9)
    ax.tick_params(labelsize=7)
plt.show()

# %%
# Sources and features to be found again
# --------------------------------------
# :func:`~sklearn_disent.datasets.make_nonlinear_ica` mixes sources that depend on a segment (the
# color) by an invertible network; :func:`~sklearn_disent.datasets.make_superposition` packs sparse
# features into fewer dimensions.

ica = datasets.make_nonlinear_ica(3000, n_sources=2, n_segments=6, random_state=3)
toy = datasets.make_superposition(400, n_features=7, n_dimensions=2, density=0.1, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
axes[0].scatter(*ica.sources.T, c=ica.u, s=3, cmap="tab10")
axes[1].scatter(*ica.data.T, c=ica.u, s=3, cmap="tab10")
axes[2].scatter(*toy.data.T, s=4, color="gray")
axes[2].quiver(*np.zeros((2, 7)), *toy.directions.T, angles="xy", scale_units="xy", scale=1)
for ax, title in zip(axes, ("sources", "mixed", "7 features in 2 dimensions")):
    ax.set_title(title)
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
    ax.set(xticks=[], yticks=[], xlabel="posX")
axes[0].set_ylabel("posY")
plt.show()
