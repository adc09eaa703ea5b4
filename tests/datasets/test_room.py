"""What holds for the whole room of data sets."""

import inspect
import subprocess
import sys

import pytest

from sklearn_disent import datasets

MAKERS = [name for name in datasets.__all__ if name.startswith(("make_", "fetch_", "load_"))]
IMAGES = {
    "make_dsprites": {},
    "make_shapes3d": {"factors": {"scale": 0, "orientation": 7}, "cache": False},
    "make_transformed_digits": {},
    "make_candle_like": {"image_shape": (32, 32)},
    "make_xysquares": {},
    "make_pendulum": {},
    "make_flow": {},
}


def test_room_needs_neither_torch_nor_optional_packages():
    # h5py, pillow and tqdm come with an extra; torch takes seconds to import.
    program = (
        "import sys, sklearn_disent.datasets, sklearn_disent.model_selection\n"
        "print([m for m in ('torch', 'skorch', 'h5py', 'PIL', 'tqdm') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", MAKERS)
def test_room_docstrings_are_whole(name):
    function = getattr(datasets, name)
    doc = inspect.getdoc(function)
    for section in ("Returns\n-------", "Examples\n--------", "See Also\n--------"):
        assert section in doc or (section.startswith("See") and "fetch" in name)
    assert "<" not in doc.replace("<id>", "")
    for parameter in inspect.signature(function).parameters:
        assert f"{parameter}" in doc


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
