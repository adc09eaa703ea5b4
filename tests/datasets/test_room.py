"""What holds for the whole room of data sets."""

import inspect
import re

import pytest

from sklearn_disent import datasets
from sklearn_disent._params import constraints_of

MAKERS = [name for name in datasets.__all__ if name.startswith(("make_", "fetch_", "load_"))]
IMAGES = {
    "make_dsprites": {},
    "make_shapes3d": {"factors": {"scale": 0, "orientation": 7}, "cache": False},
    "make_transformed_digits": {},
    "make_candle_like": {"image_shape": (32, 32)},
    "make_faces3d_like": {"factors": {"azimuth": 10}, "cache": False},
    "make_xysquares": {},
    "make_pendulum": {},
    "make_flow": {},
}


@pytest.mark.parametrize("name", MAKERS)
def test_room_docstrings_are_whole(name):
    function = getattr(datasets, name)
    doc = inspect.getdoc(function)
    for section in ("Returns\n-------", "Examples\n--------", "See Also\n--------"):
        assert section in doc or (section.startswith("See") and "fetch" in name)
    assert "<" not in doc.replace("<id>", "")
    for parameter in inspect.signature(function).parameters:
        assert f"{parameter}" in doc


def parameter_docs(name):
    """Type and text of each parameter in the docstring of a function."""
    doc = inspect.getdoc(getattr(datasets, name))
    section = doc.split("Parameters\n----------\n")[1].split("\n\nReturns\n")[0]
    parts = re.split(r"^(\w+) : ", section, flags=re.M)[1:]
    return dict(zip(parts[::2], (" ".join(part.split()) for part in parts[1::2])))


GRIDS = [
    name for name in MAKERS if "indices" in inspect.signature(getattr(datasets, name)).parameters
]
FETCHERS = [name for name in MAKERS if name.startswith("fetch_")]
READERS = [name for name in GRIDS if name.startswith(("fetch_", "load_"))]
# Parameters that mean the same in several functions, and the functions.
SHARED = {
    "n_samples": READERS,
    "indices": READERS,
    "factors": READERS,
    "data_home": FETCHERS,
    "download_if_missing": FETCHERS,
    "shuffle": READERS,
    "n_retries": FETCHERS,
    "delay": FETCHERS,
    "progress": FETCHERS,
    "random_state": GRIDS,
    "return_X_y": GRIDS,
}


@pytest.mark.parametrize("parameter", SHARED)
def test_room_explains_shared_parameters_in_the_same_words(parameter):
    names = SHARED[parameter]
    assert len(names) >= 5
    texts = {parameter_docs(name)[parameter] for name in names}
    assert len(texts) == 1, texts


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"load_candle_design"}))
def test_room_explains_and_checks_every_parameter(name):
    signature = inspect.signature(getattr(datasets, name))
    documented = parameter_docs(name)
    assert list(documented) == list(signature.parameters)
    assert set(constraints_of(getattr(datasets, name))) == set(signature.parameters)
    for parameter, text in documented.items():
        default = signature.parameters[parameter].default
        if default is not inspect.Parameter.empty:
            shown = f'"{default}"' if isinstance(default, str) else repr(default)
            assert f"default={shown}" in text


@pytest.mark.parametrize("name", IMAGES)
def test_room_images_share_one_shape_of_answer(name):
    data = getattr(datasets, name)(12, random_state=0, **IMAGES[name])
    assert len(data.images) == len(data.data) == len(data.target) == 12
    assert data.data.ndim == 2
    assert data.target.shape == (12, len(data.factor_names))
    assert list(data.factor_values) == data.factor_names
    assert tuple(len(v) for v in data.factor_values.values()) == data.factor_sizes
    assert (data.target >= 0).all()
    assert (data.target < data.factor_sizes).all()
    assert data.images.dtype.name == "uint8"
    assert len(data.DESCR) > 200
