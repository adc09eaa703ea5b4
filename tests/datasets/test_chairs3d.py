"""The reader of 3D Chairs, on files of the same format."""

import numpy as np
import pytest
from PIL import Image

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import load_chairs3d

MODELS = ["b663f1e4df6c51fe19fb4103277a6b93", "1a2b8749a1756a09932a5c2746cd09a4", "zz0"]
AZIMUTHS = [0, 11, 23, 348]


def color_of(model, elevation, azimuth):
    return 20 + 60 * sorted(MODELS).index(model), 5 * elevation, azimuth // 2


def write_chairs(root, models=MODELS, azimuths=AZIMUTHS, size=60):
    """Write images as the archive has them: white, with a square of its own color in the middle."""
    for model in models:
        folder = root / model / "renders"
        folder.mkdir(parents=True)
        for e, elevation in enumerate((20, 30)):
            for a, azimuth in enumerate(azimuths):
                pixels = np.full((size, size, 3), 255, dtype=np.uint8)
                third = size // 3
                pixels[third:-third, third:-third] = color_of(model, elevation, azimuth)
                name = f"image_{32 * e + a:03d}_p{elevation:03d}_t{azimuth:03d}_r096.png"
                Image.fromarray(pixels).save(folder / name)
    (root / "all_chair_names.mat").write_bytes(b"not needed")


@pytest.fixture
def chairs_folder(tmp_path):
    write_chairs(tmp_path / "rendered_chairs")
    return tmp_path / "rendered_chairs"


def load(path, *arguments, **options):
    options = {"progress": False, "data_home": path.parent / "home", **options}
    return load_chairs3d(path, *arguments, **options)


def test_chairs_come_by_model_elevation_and_azimuth(chairs_folder):
    chairs = load(chairs_folder, cache=False)
    assert chairs.images.shape == (24, 64, 64, 3)
    assert chairs.images.dtype == np.uint8
    assert chairs.factor_names == ["model", "elevation", "azimuth"]
    assert chairs.factor_sizes == (3, 2, 4)
    assert chairs.factor_values["model"].tolist() == sorted(MODELS)
    assert chairs.factor_values["elevation"].tolist() == [20, 30]
    assert chairs.factor_values["azimuth"].tolist() == AZIMUTHS
    rows = np.ravel_multi_index(chairs.target.T, (3, 2, 4))
    np.testing.assert_array_equal(rows, np.arange(24))
    for image, classes in zip(chairs.images, chairs.target):
        named = [v[c] for v, c in zip(chairs.factor_values.values(), classes)]
        assert image[32, 32].tolist() == list(color_of(*named))
        assert image[2, 2].tolist() == [255, 255, 255]
    assert "This copy has 3" in chairs.DESCR


def test_chairs_folder_may_be_the_one_above(chairs_folder):
    above = load_chairs3d(chairs_folder.parent, cache=False, progress=False)
    np.testing.assert_array_equal(above.images, load(chairs_folder, cache=False).images)


def test_chairs_crop_keeps_the_middle_of_the_file(chairs_folder):
    whole = load(chairs_folder, 1, random_state=0, image_size=60, cache=False).images[0]
    part = load(chairs_folder, 1, random_state=0, image_size=30, crop=30, cache=False).images[0]
    np.testing.assert_array_equal(part, whole[15:45, 15:45])
    grey = load(chairs_folder, 1, random_state=0, image_size=60, grayscale=True, cache=False).images
    assert grey.shape == (1, 60, 60)
    luma = whole @ [0.299, 0.587, 0.114]
    assert np.abs(grey[0] - luma).max() <= 1
    with pytest.raises(
        ValueError, match=r"crop=61 does not fit in .*image_000_p020_t000_r096\.png"
    ):
        load(chairs_folder, crop=61, cache=False)


def test_chairs_selects_before_it_reads(chairs_folder):
    broken = chairs_folder / MODELS[0] / "renders" / "image_000_p020_t000_r096.png"
    broken.write_bytes(b"broken, but not asked for")
    part = load(chairs_folder, factors={"elevation": 1})
    assert len(part.images) == 12
    assert set(part.target[:, 1]) == {1}
    drawn = load(chairs_folder, 5, factors={"elevation": 1}, shuffle=True, random_state=0)
    assert len(set(drawn.indices)) == 5
    np.testing.assert_array_equal(
        drawn.images, part.images[np.searchsorted(part.indices, drawn.indices)]
    )
    X, y = load(chairs_folder, factors={"elevation": 1}, return_X_y=True)
    np.testing.assert_array_equal(X, part.images)
    np.testing.assert_array_equal(y, part.target)
    with pytest.raises(ValueError, match=r"image_000_p020_t000_r096\.png cannot be read"):
        load(chairs_folder)
    broken.unlink()
    assert len(load(chairs_folder).images) == 23


def test_chairs_cache_is_a_memory_map_that_follows_the_files(chairs_folder):
    first = load(chairs_folder)
    assert isinstance(first.images, np.memmap)
    assert not first.images.flags.writeable
    (kept,) = (chairs_folder.parent / "home" / "sklearn_disent" / "chairs3d").iterdir()
    stamp = kept.stat().st_mtime_ns
    # Parts are read from the file, not from the images.
    part = load(chairs_folder, factors={"model": 1})
    np.testing.assert_array_equal(part.images, first.images[8:16])
    shuffled = load(chairs_folder, shuffle=True, random_state=0)
    np.testing.assert_array_equal(shuffled.images, first.images[shuffled.indices])
    assert kept.stat().st_mtime_ns == stamp
    # Other settings and other files are another array.
    assert load(chairs_folder, image_size=32).images.shape == (24, 32, 32, 3)
    file = chairs_folder / sorted(MODELS)[0] / "renders" / "image_000_p020_t000_r096.png"
    Image.new("RGB", (60, 60), (1, 2, 3)).save(file)
    assert load(chairs_folder).images[0, 0, 0].tolist() == [1, 2, 3]


def test_chairs_few_images_are_not_kept(chairs_folder):
    load(chairs_folder, 5, random_state=0)
    load(chairs_folder, cache=False)
    assert not (chairs_folder.parent / "home").exists()


def test_chairs_names_what_is_missing_or_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere, which is not a folder\. Unpack"):
        load_chairs3d(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="holds no folders with renders"):
        load_chairs3d(tmp_path)
    write_chairs(tmp_path, models=["zz0"])
    odd = tmp_path / "zz0" / "renders" / "image_099.png"
    odd.write_bytes(b"")
    with pytest.raises(ValueError, match=r"image_099\.png must be named as image_000_p020"):
        load_chairs3d(tmp_path)
    odd.unlink()
    with pytest.raises(ValueError, match=r"n_samples=9 .* which has 8"):
        load_chairs3d(tmp_path, 9)
    for options in ({"image_size": 0}, {"crop": 0}, {"grayscale": "yes"}):
        with pytest.raises(InvalidParameterError):
            load_chairs3d(tmp_path, **options)


def test_chairs_reads_png_and_jpeg_only(chairs_folder):
    file = chairs_folder / MODELS[0] / "renders" / "image_000_p020_t000_r096.png"
    Image.new("RGB", (60, 60)).save(file, format="BMP")
    with pytest.raises(ValueError, match="cannot be read as a PNG or JPEG image"):
        load(chairs_folder, cache=False)
