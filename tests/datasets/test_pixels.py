"""Rendered sets look as they did: small copies of some images, recorded once.

``python tests/datasets/test_pixels.py`` records them anew, after a change that is meant.
"""

from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from sklearn_disent import datasets

REFERENCE = Path(__file__).parents[1] / "reference" / "datasets" / "pixels.npz"
# Number of images and options: enough to see every value of the factors that change the scene.
SETS = {
    "make_dsprites": (24, {}),
    "make_shapes3d": (24, {"cache": False}),
    "make_faces3d_like": (24, {"cache": False}),
    "make_candle_like": (72, {}),
    "make_transformed_digits": (24, {}),
    "make_xysquares": (24, {}),
    "make_pendulum": (24, {}),
    "make_flow": (24, {}),
}
VARIANTS = {
    "dsprites on noise": ("make_dsprites", 12, {"background": "noise", "color": "random"}),
    "dsprites on texture": ("make_dsprites", 12, {"background": "texture"}),
    "candle unpainted": ("make_candle_like", 12, {"painted": False}),
    "pendulum with noise": ("make_pendulum", 12, {"noise": 0.1}),
    **{name: (name, *recipe) for name, recipe in SETS.items()},
}


def small(name):
    """Means over tiles of 8 x 8 pixels; (n, h, w, channels)."""
    make, n_samples, options = VARIANTS[name]
    X = getattr(datasets, make)(n_samples, random_state=0, return_X_y=True, **options)[0]
    X = X[..., None] if X.ndim == 3 else X
    X = np.moveaxis(X, 1, 3) if X.shape[1] <= 4 else X
    n, height, width, channels = X.shape
    tiles = X.reshape(n, height // 8, 8, width // 8, 8, channels)
    return tiles.mean(axis=(2, 4), dtype=np.float64).astype(np.float32)


def test_all_rendered_sets_are_recorded():
    makers = {name: getattr(datasets, name) for name in datasets.__all__ if name.startswith("make")}
    sized = {"image_size", "image_shape"}
    rendered = {name for name, make in makers.items() if sized & {*signature(make).parameters}}
    assert rendered == set(SETS)


@pytest.mark.parametrize("name", VARIANTS)
def test_images_look_as_they_did(name):
    with np.load(REFERENCE) as recorded:
        expected = recorded[name]
    found = small(name)
    assert found.shape == expected.shape
    # Rounding may move a pixel by one level of 255; a tile has 64. With numpy 1 about
    # half of those in a tile of a scene do.
    unit = 255.0 if expected.max() > 1 else 1.0
    levels = 0.12 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 0.6
    assert np.abs(found - expected).max() < levels / 255 * unit


if __name__ == "__main__":
    np.savez_compressed(REFERENCE, **{name: small(name) for name in VARIANTS})
