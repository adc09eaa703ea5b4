"""A folder of pictures becomes a memory map: sizes, kinds, broken files, interruptions."""

import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sklearn_disent.datasets import _image_folder, load_image_folder
from sklearn_disent.datasets._pictures import Scaling, read_picture

Image = pytest.importorskip("PIL.Image")
TAIL = struct.pack(">I", 10) + b"IDAT" + bytes(14)


@pytest.fixture
def folder(tmp_path):
    pictures = tmp_path / "mine"
    pictures.mkdir()
    Image.new("RGB", (40, 30), "red").save(pictures / "a.png")
    Image.new("L", (28, 28), 128).save(pictures / "b.jpg")
    Image.new("RGBA", (64, 48), (0, 0, 0, 0)).save(pictures / "c.png")
    Image.new("P", (10, 90)).save(pictures / "d.gif")
    (pictures / "notes.txt").write_text("not a picture")
    return pictures


def load(folder, **options):
    return load_image_folder(folder, data_home=folder.parent, progress=False, **options)


def test_pictures_of_all_kinds_become_one_memory_map(folder):
    mine = load(folder, size=(48, 64))
    assert isinstance(mine.images, np.memmap)
    assert mine.images.shape == (4, 48, 64, 3)
    assert mine.filenames == ["a.png", "b.jpg", "c.png", "d.gif"]
    assert mine.target is None
    np.testing.assert_array_equal(mine.images[0, 5, 5], [255, 0, 0])
    assert (mine.images[2] == 255).all()  # transparent: white
    assert (load(folder, size=16, background="black").images[2] == 0).all()
    assert load(folder, size=16, grayscale=True).images.shape == (4, 16, 16)


def test_crop_keeps_proportions(folder):
    picture = np.zeros((30, 60, 3), np.uint8)
    picture[:, 20:40] = 255
    Image.fromarray(picture).save(folder / "a.png")
    cropped, stretched = (load(folder, size=30, crop=crop).images[0] for crop in (True, False))
    assert (cropped[15] == 255).all(axis=-1).sum() == 20
    assert (stretched[15] > 127).all(axis=-1).sum() == 10


def test_folders_below_are_labels(tmp_path):
    for name in ("dogs", "cats"):
        (tmp_path / "all" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "all" / name / "1.png")
    mine = load(tmp_path / "all", size=8)
    assert mine.filenames == ["cats/1.png", "dogs/1.png"]
    assert mine.target.tolist() == [[0], [1]]
    assert mine.target_names == ["cats", "dogs"]


def test_broken_files_are_named_or_skipped(folder):
    (folder / "broken.png").write_bytes(b"\x89PNG nothing")
    with pytest.raises(ValueError, match=r"1 of 5 files.*broken\.png.*broken='skip'"):
        load(folder, size=8)
    mine = load(folder, size=8, broken="skip")
    assert mine.broken == ["broken.png"]
    assert len(mine.images) == len(mine.filenames) == 4
    assert "1 files were left out" in mine.DESCR


@pytest.mark.parametrize("side", [9_000, 60_000])  # the latter is too much for Pillow as well
def test_pictures_that_claim_too_many_pixels_are_not_unpacked(folder, side):
    head = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head
    (folder / "vast.png").write_bytes(content + struct.pack(">I", zlib.crc32(head)) + TAIL)
    assert load(folder, size=8, broken="skip").broken == ["vast.png"]
    with pytest.raises(ValueError, match=r"vast\.png cannot be read .*pixels"):
        read_picture(folder / "vast.png", Scaling((8, 8)))


def test_two_readers_of_one_folder_read_it_once(folder, monkeypatch):
    read, seen, two_are_there = _image_folder._read, [], threading.Barrier(2)
    exclusive = _image_folder.exclusive

    def watched(file, form):
        seen.append(file.name)
        return read(file, form)

    def meeting(path):
        two_are_there.wait(30)
        return exclusive(path)

    monkeypatch.setattr(_image_folder, "_read", watched)
    monkeypatch.setattr(_image_folder, "exclusive", meeting)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: load(folder, size=8).images.copy(), range(2))
    assert seen == ["a.png", "b.jpg", "c.png", "d.gif"]
    np.testing.assert_array_equal(one, other)


def test_interrupted_reading_goes_on(folder, monkeypatch):
    monkeypatch.setattr(_image_folder, "_BLOCK", 2)
    read, seen = _image_folder._read, []

    def interrupted(file, form):
        seen.append(file.name)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return read(file, form)

    monkeypatch.setattr(_image_folder, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load(folder, size=8)
    mine = load(folder, size=8)
    assert seen == ["a.png", "b.jpg", "c.png", "d.gif", "c.png", "d.gif"]
    again = load(folder, size=8)
    assert len(seen) == 6
    monkeypatch.undo()
    np.testing.assert_array_equal(mine.images, load(folder, size=8, crop=False).images)
    np.testing.assert_array_equal(mine.images, again.images)


def test_changed_pictures_are_read_again(folder):
    before = load(folder, size=8).images[0].copy()
    Image.new("RGB", (40, 30), "blue").save(folder / "a.png")
    assert (load(folder, size=8).images[0] != before).any()


def test_messages(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no pictures"):
        load(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"size must be one number or \(height, width\)"):
        load(folder, size=(3, 4, 5))


@pytest.mark.slow
def test_model_fits_the_memory_map(folder):
    from sklearn_disent.models import VAE

    for size in (28, (48, 64)):
        images = load(folder, size=size).images
        codes = VAE(2, max_epochs=1, random_state=0).fit_transform(images)
        assert codes.shape == (4, 2)
