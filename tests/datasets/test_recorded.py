"""What the generators give, as it was recorded once; pictures are in test_pixels.py."""

import inspect
from functools import partial

import numpy as np
import pytest
from recording import check, choices, record

from sklearn_disent import datasets
from sklearn_disent.datasets._candle_panorama import look
from sklearn_disent.datasets._candle_scenes import SCENES

FILE = "datasets/recorded.json"
N_SAMPLES = 12
# Another value of each option that is not one of a few names.
OTHERS = {
    "n_samples": 7,
    "n_factors": 3,
    "n_classes": 3,
    "n_codes": 7,
    "n_levels": 4,
    "alpha": 0.4,
    "delta": 0.6,
    "beta": 0.7,
    "n_sources": 2,
    "n_features": 8,
    "n_segments": 3,
    "n_layers": 2,
    "n_dimensions": 3,
    "least_variance": 0.8,
    "negative_slope": 0.5,
    "density": 0.3,
    "noise": 0.2,
    "spacing": 3,
    "n_bins": 5,
    "confounding": 1.0,
    "jitter": 0.3,
    "painted": False,
    "image_shape": (24, 40),
    "image_size": 32,
    "indices": [5, 0, 3],
    "rate": 0.3,
    "n_changed": 2,
}
# Pictures are drawn slowly at the size they have, and their details are elsewhere.
CHEAP = {
    "make_candle_like": {"image_shape": (24, 24)},
    "make_shapes3d": {"cache": False},
    "make_faces3d_like": {"cache": False},
    "make_superposition": {"n_features": 12, "n_dimensions": 4},
    "make_transitions": {"make": (3, 4, 2)},
}
DO = {
    "make_candle_like": {"light": 1},
    "make_pendulum": {"shadow_length": 5.0},
    "make_flow": {"water_height": 3.0},
}
# Several options together, and borders.
TOGETHER = {
    "make_candle_like": [
        {"do": {"light": 1}, "twins": True},
        {"design": "candle", "factors": {"scene": [9, 5]}},
        {"confounding": 0.5, "factors": {"object": [0, 4]}},
    ],
    "make_superposition": [
        {"n_features": 4, "n_dimensions": 4},
        {"n_features": 3, "n_dimensions": 4},
        {"density": np.linspace(0.1, 1, 12)},
    ],
    "make_transitions": [
        {"make": (2, 2), "kind": "sparse", "n_changed": None},
        {"make": (5, 4, 3), "n_samples": 40, "rate": 0.5},
        {"make": datasets.make_xysquares, "n_samples": 3},
        {"make": (1, 1)},
    ],
    "make_dependent_factors": [{"alpha": 0.5, "delta": 0.5, "beta": 0.5, "n_factors": 2}],
    "make_nonlinear_ica": [
        {"modulation": "scale", "distribution": "laplace", "n_sources": 1},
        {"modulation": "mean", "n_features": 3, "n_sources": 3, "n_layers": 1},
    ],
    "make_encoded_factors": [
        {"structure": structure, "encoder": encoder, "n_factors": 3}
        for structure in ("dependent", "unbalanced", "binary")
        for encoder in ("rotation", "overcomplete", "noisy", "random")
    ],
    "make_xysquares": [{"spacing": s, "image_size": 32} for s in (1, 4, 7)],
    "make_dsprites": [{"dtype": "float32", "image_size": 32, "color": "random"}],
}
MAKERS = [name for name in datasets.__all__ if name.startswith("make_")]


def of_maker(name):
    """One change at a time."""
    make = getattr(datasets, name)
    parameters = inspect.signature(inspect.unwrap(make), eval_str=True).parameters
    base = CHEAP.get(name, {}) | {"random_state": 0}
    if "n_samples" in parameters:
        base["n_samples"] = N_SAMPLES
    found = {"default": partial(make, **base)}
    for option, parameter in parameters.items():
        others = [v for v in choices(parameter.annotation) if v != parameter.default]
        others += [OTHERS[option]] if option in OTHERS else []
        others += [not parameter.default] if option == "shuffle" else []
        others += [DO[name]] if option == "do" else []
        for other in others:
            given = {**base, option: other}
            if option == "indices":
                del given["n_samples"]
            found[f"{option}={other}"] = partial(make, **given)
    for i, options in enumerate(TOGETHER.get(name, [])):
        found[f"together {i}"] = partial(make, **{**base, **options})
    return found


def paint(scene):
    """Means over pieces of the whole view, also of what the camera of a set never sees."""
    azimuth, elevation = np.linspace(-2.01, 2.03, 120), np.linspace(-1.07, 1.03, 60)[:, None]
    picture = scene.paint(look(azimuth, elevation)).reshape(15, 4, 15, 8, 3)
    return picture.mean(axis=(1, 3), dtype=float)


def of_scenes():
    found = {name: partial(paint, scene) for name, scene in SCENES.items()}
    return found | {f"light of {name}": partial(list, scene[1:]) for name, scene in SCENES.items()}


GROUPS = {**{name: partial(of_maker, name) for name in MAKERS}, "scenes": of_scenes}


@pytest.mark.parametrize("group", GROUPS)
def test_generator_gives_what_was_recorded(group):
    check(FILE, group, GROUPS[group]())


if __name__ == "__main__":
    record(FILE, GROUPS)
