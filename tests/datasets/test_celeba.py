"""The reader of CelebA, on files of the same format."""

import time

import numpy as np
import pytest
from PIL import Image

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import load_celeba
from sklearn_disent.datasets._celeba import _read_attributes

NAMES = ["5_o_Clock_Shadow", "Male", "Smiling"]
# Smiling is every second, Male the first three of six.
CLASSES = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]])
PARTS = [0, 0, 0, 1, 2, 2]


def write_lists(attributes, partition=None):
    lines = [str(len(CLASSES)), " ".join(NAMES) + " "]
    for i, row in enumerate(CLASSES, start=1):
        # As in the original, numbers are aligned to the right.
        lines.append(f"{i:06d}.jpg " + " ".join(f"{2 * c - 1:2d}" for c in row))
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("\n".join(lines) + "\n")
    if partition is not None:
        partition.parent.mkdir(exist_ok=True)
        partition.write_text("".join(f"{i:06d}.jpg {p}\n" for i, p in enumerate(PARTS, start=1)))


def write_images(folder, suffix="jpg"):
    """Photographs of 178 x 218: grey, darker from image to image, black at top and bottom."""
    folder.mkdir(parents=True)
    for i in range(1, len(CLASSES) + 1):
        pixels = np.full((218, 178, 3), 250 - 20 * i, dtype=np.uint8)
        pixels[:30] = pixels[-30:] = 0
        options = {"quality": 100} if suffix == "jpg" else {}
        Image.fromarray(pixels).save(folder / f"{i:06d}.{suffix}", **options)


@pytest.fixture
def celeba(tmp_path):
    root = tmp_path / "celeba"
    write_images(root / "img_align_celeba")
    write_lists(root / "list_attr_celeba.txt", root / "list_eval_partition.txt")
    return root


def load(path, *arguments, **options):
    options = {"progress": False, "data_home": path.parent / "home", **options}
    return load_celeba(path, *arguments, **options)


def test_celeba_images_and_attributes(celeba):
    faces = load(celeba, cache=False)
    assert faces.images.shape == (6, 64, 64, 3)
    assert faces.factor_names == NAMES
    assert faces.factor_sizes == (2, 2, 2)
    np.testing.assert_array_equal(faces.target, CLASSES)
    assert faces.target.dtype == np.int64
    assert faces.filenames.tolist() == [f"{i:06d}.jpg" for i in range(1, 7)]
    # The middle 148 x 148 pixels hold nothing of the black borders.
    wanted = 250 - 20 * np.arange(1, 7)
    assert np.abs(faces.images - wanted[:, None, None, None]).max() <= 1
    assert "This copy lists 6 images with 3" in faces.DESCR


def test_celeba_whole_images_and_shapes(celeba):
    whole = load(celeba, image_shape=(109, 89), crop=None, cache=False).images
    assert whole.shape == (6, 109, 89, 3)
    assert whole[:, :13].max() <= 2
    assert whole[0, 54, 44, 0] == pytest.approx(230, abs=1)
    grey = load(celeba, image_shape=[32, 48], grayscale=True, cache=False)
    assert grey.images.shape == (6, 32, 48)
    assert grey.data.shape == (6, 32 * 48)
    for shape in ((64,), (0, 64), (64.0, 64)):
        with pytest.raises(ValueError, match="two positive integers"):
            load(celeba, image_shape=shape)


@pytest.mark.parametrize("kind", ["official", "png", "nested"])
def test_celeba_folders_may_be_laid_out_in_known_ways(tmp_path, celeba, kind):
    root = tmp_path / kind
    root.mkdir()
    if kind == "official":
        write_images(root / "Img" / "img_align_celeba")
        write_lists(
            root / "Anno" / "list_attr_celeba.txt", root / "Eval" / "list_eval_partition.txt"
        )
    elif kind == "png":
        write_images(root / "img_align_celeba_png", suffix="png")
        write_lists(root / "list_attr_celeba.txt", root / "list_eval_partition.txt")
    else:
        write_images(root / "img_align_celeba" / "img_align_celeba")
        write_lists(root / "list_attr_celeba.txt", root / "list_eval_partition.txt")
    wanted, found = load(celeba, subset="test"), load(root, subset="test")
    assert np.abs(found.images.astype(int) - wanted.images).max() <= 1
    np.testing.assert_array_equal(found.target, wanted.target)


def test_celeba_subsets_and_selections(celeba):
    for subset, rows in (("train", [0, 1, 2]), ("valid", [3]), ("test", [4, 5])):
        faces = load(celeba, subset=subset)
        assert faces.indices.tolist() == rows
        np.testing.assert_array_equal(faces.target, CLASSES[rows])
    men = load(celeba, factors={"Male": 1, "Smiling": 0})
    assert men.indices.tolist() == [0, 2]
    drawn = load(celeba, 2, subset="train", shuffle=True, random_state=0)
    assert set(drawn.indices) < {0, 1, 2}
    X, y = load(celeba, 2, subset="train", shuffle=True, random_state=0, return_X_y=True)
    np.testing.assert_array_equal(X, drawn.images)
    np.testing.assert_array_equal(y, drawn.target)
    with pytest.raises(ValueError, match="selects no row"):
        load(celeba, subset="valid", factors={"Male": 1})
    with pytest.raises(ValueError, match="Unknown factor 'Happy'"):
        load(celeba, factors={"Happy": 1})


def test_celeba_cache_serves_all_subsets(celeba):
    whole = load(celeba)
    assert isinstance(whole.images, np.memmap)
    # The images are not needed any more, only their stamps, which tell that they are the same.
    reads = []
    module = load_celeba.__wrapped__.__globals__["load_pictures"].__globals__
    original = module["read_picture"]
    module["read_picture"] = lambda *arguments: reads.append(arguments) or original(*arguments)
    try:
        test = load(celeba, subset="test")
        load(celeba, subset="test", cache=False)
    finally:
        module["read_picture"] = original
    assert len(reads) == 2
    np.testing.assert_array_equal(test.images, whole.images[4:])
    kept = list((celeba.parent / "home" / "sklearn_disent" / "celeba").iterdir())
    assert [file.suffix for file in kept] == [".npy"]


def test_celeba_names_the_missing_file(celeba):
    (celeba / "img_align_celeba" / "000003.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"000003\.jpg is missing"):
        load(celeba)
    assert not list((celeba.parent / "home").rglob("*.npy"))
    assert not list((celeba.parent / "home").rglob("*.part"))
    assert len(load(celeba, subset="test").images) == 2
    (celeba / "list_eval_partition.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"needs .*list_eval_partition\.txt"):
        load(celeba, subset="test")
    (celeba / "list_attr_celeba.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"list_attr_celeba\.txt is missing"):
        load(celeba)
    with pytest.raises(FileNotFoundError, match="holds no folder img_align_celeba"):
        load_celeba(celeba.parent)


def test_celeba_names_the_damaged_file(celeba):
    file = celeba / "img_align_celeba" / "000002.jpg"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"000002\.jpg cannot be read as a PNG or JPEG image"):
        load(celeba)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("000004.jpg", "000004.jpg 1"), r"Line 6 of .*3 times 1 or -1"),
        (lambda text: text.replace("000004.jpg -1", "000004.jpg  0"), r"Line 6 of .*3 times"),
        (lambda text: text.replace("000004.jpg -1 -1", "000004.jpg -11"), r"Line 6 of .*3 times"),
        (lambda text: text.replace("6\n", "7\n", 1), "announces 7 images but lists 6"),
        (lambda text: text.split("\n", 1)[1], "must begin with the number of images"),
        (lambda text: "", "must begin with the number of images"),
    ],
)
def test_celeba_refuses_a_damaged_list(celeba, change, message):
    file = celeba / "list_attr_celeba.txt"
    file.write_text(change(file.read_text()))
    with pytest.raises(ValueError, match=message):
        load(celeba)


def test_celeba_refuses_a_damaged_partition(celeba):
    file = celeba / "list_eval_partition.txt"
    text = file.read_text()
    file.write_text(text.replace("000002.jpg 0", "000002.jpg 5"))
    with pytest.raises(ValueError, match=r"Line 2 of .* 0, 1 or 2"):
        load(celeba, subset="train")
    file.write_text(text.replace("000002.jpg 0\n", ""))
    with pytest.raises(ValueError, match=r"does not list 000002\.jpg"):
        load(celeba, subset="train")
    file.write_text(text.replace(" 1\n", " 0\n"))
    with pytest.raises(ValueError, match="puts no image into 'valid'"):
        load(celeba, subset="valid")


def test_celeba_list_of_full_size_is_read_in_seconds(tmp_path):
    rng = np.random.RandomState(0)
    classes = rng.randint(2, size=(20_000, 40))
    names = [f"attribute_{k}" for k in range(40)]
    rows = [
        f"{i:06d}.jpg " + " ".join(" 1" if c else "-1" for c in row)
        for i, row in enumerate(classes)
    ]
    file = tmp_path / "list_attr_celeba.txt"
    file.write_text("\n".join(["20000", " ".join(names), *rows]))
    start = time.process_time()
    _, found, target = _read_attributes(file)
    # A tenth of the images in a second: ten seconds for all of them at the very worst.
    assert time.process_time() - start < 1
    assert found == names
    np.testing.assert_array_equal(target, classes)


def test_celeba_shows_its_progress(celeba, capsys):
    load(celeba, progress=True, cache=False)
    shown = capsys.readouterr()
    assert "celeba" in shown.err
    assert "6/6" in shown.err
    assert shown.out == ""
    load(celeba, progress=False, cache=False)
    assert capsys.readouterr().err == ""


def test_celeba_refuses_bad_parameters(celeba):
    for options in ({"subset": "dev"}, {"crop": 0}, {"image_shape": 64}):
        with pytest.raises(InvalidParameterError):
            load(celeba, **options)
    with pytest.raises(ValueError, match=r"crop=200 does not fit in .*000001\.jpg.* 178 x 218"):
        load(celeba, crop=200)
