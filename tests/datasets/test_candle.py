"""CANDLE: the design of the released images, and the loader on files of the same format."""

import io
import json
import struct
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sklearn_disent.datasets import load_candle, load_candle_design

REFERENCE = Path(__file__).parents[1] / "reference" / "datasets"

# Cramér's V of the released images, all other pairs 0.
CRAMERS_V = {
    ("object", "size"): 0.3623,
    ("size", "scene"): 0.1929,
    ("color", "scene"): 0.1688,
    ("object", "scene"): 0.1189,
    ("color", "size"): 0.0097,
    ("object", "color"): 0.0084,
}


def test_candle_design_has_exactly_the_released_ids():
    kept = np.unpackbits(np.load(REFERENCE / "candle_kept_bits.npy"))
    assert len(kept) == 21_600
    np.testing.assert_array_equal(load_candle_design().ids, np.flatnonzero(kept))
    assert len(load_candle_design().ids) == 12_546


def test_candle_design_has_the_published_dependence(cramers_v):
    design = load_candle_design()
    for i, j in combinations(range(6), 2):
        pair = design.factor_names[i], design.factor_names[j]
        found = cramers_v(design.target[:, i], design.target[:, j])
        assert found == pytest.approx(CRAMERS_V.get(pair, 0), abs=5e-4), pair


def test_candle_design_counts_are_the_published_ones():
    counts = [np.bincount(column).tolist() for column in load_candle_design().target.T]
    assert counts[0] == [2412, 2232, 2412, 1872, 3618]
    assert counts[1] == [2826, 2826, 1836, 2826, 2232]
    assert counts[2] == [5220, 6120, 1206]
    assert counts[3] == [2091] * 6
    assert counts[5] == [4182] * 3


LABELS = {
    "scene": "Moonlit_Grass",
    "lights": "left",
    "object_type": "torus",
    "color": "purple",
    "size": 2.5,
    "rotation": 45,
}


def write_pair(folder, number, *, nested=False, bounds=((10, 20), (50, 80)), mode="RGB", **labels):
    """Write one image and label file as CANDLE has them: 320 x 240, the object red."""
    labels = {**LABELS, **labels}
    thing = {key: labels[key] for key in ("object_type", "color", "size", "rotation")}
    content = {
        "scene": labels["scene"],
        "lights": labels["lights"],
        "objects": {"Torus_0": {**thing, "bounds": bounds}, "Cube_1": {}},
    }
    folder = folder / str(number) if nested else folder
    folder.mkdir(exist_ok=True)
    pixels = np.full((240, 320, 3), number % 256, dtype=np.uint8)
    (x1, y1), (x2, y2) = bounds
    pixels[max(240 - y2, 0) : max(240 - y1, 0), max(x1, 0) : max(x2, 0)] = [255, 0, 0]
    Image.fromarray(pixels).convert(mode).save(folder / f"{number}.png")
    (folder / f"{number}.json").write_text(json.dumps(content))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_candle_loader_reads_pairs_by_ascending_id(tmp_path, nested, mode):
    for number in (100, 9, 20):
        write_pair(tmp_path, number, nested=nested, mode=mode)
    (tmp_path / "notes.json").write_text("not a label file")
    candle = load_candle(tmp_path)
    assert candle.ids.tolist() == [9, 20, 100]
    assert candle.images.shape == (3, 240, 320, 3)
    assert candle.images[:, 0, 319, 0].tolist() == [9, 20, 100]
    assert candle.target.tolist() == [[4, 3, 2, 3, 12, 0]] * 3
    assert candle.factor_sizes == (5, 5, 3, 6, 16, 3)


@pytest.mark.parametrize("image_shape", [None, (120, 160), (64, 64)])
def test_candle_boxes_hold_the_object(tmp_path, image_shape):
    write_pair(tmp_path, 1)
    write_pair(tmp_path, 2, bounds=((-30, -10), (40, 100)))
    candle = load_candle(tmp_path, image_shape=image_shape)
    for image, ((top, left, bottom, right),) in zip(candle.images, candle.boxes):
        red = (image[..., 0] > 200) & (image[..., 1] < 60)
        assert red[top:bottom, left:right].mean() > 0.75
        assert red.sum() == red[top:bottom, left:right].sum()
    if image_shape is None:
        assert candle.boxes[:, 0].tolist() == [[160, 10, 220, 50], [140, 0, 240, 40]]


def test_candle_loader_selects_before_it_reads(tmp_path):
    for number in range(6):
        write_pair(tmp_path, number, size=[1.5, 2, 2.5][number % 3])
    (tmp_path / "0.png").write_bytes(b"broken, but not asked for")
    part = load_candle(tmp_path, factors={"size": [1, 2]})
    assert part.ids.tolist() == [1, 2, 4, 5]
    drawn = load_candle(tmp_path, 2, factors={"size": [1, 2]}, shuffle=True, random_state=0)
    assert set(drawn.ids) < {1, 2, 4, 5}
    X, y = load_candle(tmp_path, factors={"size": 2}, return_X_y=True)
    assert X.shape == (2, 240, 320, 3)
    assert y[:, 2].tolist() == [2, 2]
    with pytest.raises(ValueError, match="selects no row"):
        load_candle(tmp_path, factors={"color": 0})
    with pytest.raises(ValueError, match="which has 4"):
        load_candle(tmp_path, 5, factors={"size": [1, 2]})


@pytest.mark.parametrize("suffix", [".png", ".json"])
def test_candle_loader_names_the_missing_half(tmp_path, suffix):
    write_pair(tmp_path, 7)
    (tmp_path / f"7{suffix}").unlink()
    with pytest.raises(FileNotFoundError, match=f"7{suffix} is missing"):
        load_candle(tmp_path)


def test_candle_loader_names_the_corrupt_file(tmp_path):
    write_pair(tmp_path, 7)
    image = (tmp_path / "7.png").read_bytes()
    (tmp_path / "7.png").write_bytes(image[: len(image) // 2])
    with pytest.raises(ValueError, match=r"7\.png cannot be read"):
        load_candle(tmp_path)
    write_pair(tmp_path, 7)
    (tmp_path / "7.json").write_text('{"scene": ')
    with pytest.raises(ValueError, match=r"7\.json is not a label file of CANDLE"):
        load_candle(tmp_path)
    (tmp_path / "7.json").write_text('{"scene": "beach", "lights": "left", "objects": {}}')
    with pytest.raises(ValueError, match=r"7\.json is not a label file of CANDLE"):
        load_candle(tmp_path)


def test_candle_loader_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no"):
        load_candle(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        load_candle(tmp_path / "nowhere")
    write_pair(tmp_path, 7, color="green")
    with pytest.raises(
        ValueError, match=r"7\.json has color 'green', which is not one of red, blue"
    ):
        load_candle(tmp_path)
    with pytest.raises(ValueError, match=r"image_shape must be .*, two positive integers"):
        load_candle(tmp_path, image_shape=(0, 5))
    write_pair(tmp_path, 7)
    write_pair(tmp_path, 7, nested=True)
    with pytest.raises(ValueError, match=r"Image 7 is in .* twice"):
        load_candle(tmp_path)


# -- hostile files ---------------------------------------------------------------------------

EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 320 240
%%EndComments
showpage
"""


def test_candle_loader_opens_nothing_but_png(tmp_path, monkeypatch):
    from PIL import EpsImagePlugin

    started = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *a, **k: started.append("gs"))
    write_pair(tmp_path, 7)
    others = {"EPS": EPS, "text": b"not an image at all", "nothing": b""}
    for kind in ("GIF", "JPEG", "TIFF", "BMP"):
        stream = io.BytesIO()
        Image.new("RGB", (320, 240)).save(stream, kind)
        others[kind] = stream.getvalue()
    for content in others.values():
        (tmp_path / "7.png").write_bytes(content)
        with pytest.raises(ValueError, match=r"7\.png is not a PNG file"):
            load_candle(tmp_path)
    assert not started


def png_header(width, height):
    """The beginning of a PNG file that claims a size, twice if there are two."""
    content = b"\x89PNG\r\n\x1a\n"
    for w, h in zip(np.atleast_1d(width).tolist(), np.atleast_1d(height).tolist()):
        data = b"IHDR" + struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)
        content += struct.pack(">I", 13) + data + struct.pack(">I", zlib.crc32(data))
    rows = zlib.compress(bytes(1000))
    return content + struct.pack(">I", len(rows)) + b"IDAT" + rows + bytes(4)


@pytest.mark.parametrize(
    ("width", "height"), [(30_000, 30_000), (2**31 - 1, 2**31 - 1), (5000, 4000)]
)
def test_candle_loader_bounds_the_number_of_pixels(tmp_path, width, height):
    write_pair(tmp_path, 7)
    (tmp_path / "7.png").write_bytes(png_header(width, height))
    with pytest.raises(ValueError, match=rf"7\.png claims {width} x {height} pixels"):
        load_candle(tmp_path)


def test_candle_loader_refuses_a_second_header(tmp_path):
    write_pair(tmp_path, 7)
    (tmp_path / "7.png").write_bytes(png_header([320, 9000], [240, 9000]))
    with pytest.raises(ValueError, match=r"7\.png"):
        load_candle(tmp_path)


@pytest.mark.parametrize(
    "bounds",
    [
        ((400, 20), (500, 80)),
        ((-90, 20), (-30, 80)),
        ((10, 300), (50, 380)),
        ((10, -80), (50, 0)),
        ((320, 20), (330, 80)),
        ((10, 20), (10, 80)),
    ],
)
def test_candle_boxes_outside_the_image_are_missing(tmp_path, bounds):
    write_pair(tmp_path, 1)
    write_pair(tmp_path, 2, bounds=bounds)
    for image_shape in (None, (64, 64)):
        candle = load_candle(tmp_path, image_shape=image_shape)
        assert candle.boxes.dtype == np.float64
        assert np.isnan(candle.boxes[1]).all()
        assert np.isfinite(candle.boxes[0]).all()
    whole = load_candle(tmp_path, 1)
    assert whole.ids.tolist() == [1] or np.isnan(whole.boxes).all()


def test_candle_boxes_are_integers_where_none_is_missing(tmp_path):
    write_pair(tmp_path, 1)
    assert load_candle(tmp_path).boxes.dtype == np.int64


def write_labels(folder, number, **replaced):
    """Write a pair whose label file has some entries of the object replaced."""
    write_pair(folder, number)
    file = folder / f"{number}.json"
    content = json.loads(file.read_text())
    content["objects"]["Torus_0"].update(replaced)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([[50, 20], [10, 80]], r"7\.json has inverted bounds"),
        ([[10, 80], [50, 20]], r"7\.json has inverted bounds"),
        ([[10, float("nan")], [50, 80]], r"7\.json has bounds that are not finite"),
        ([[10, 20], [float("inf"), 80]], r"7\.json has bounds that are not finite"),
        ([[10, 20], [10**400, 80]], r"7\.json is not a label file"),
        ([[10, 20], [50, 80], [1, 2]], r"7\.json is not a label file"),
        ("10 20 50 80", r"7\.json is not a label file"),
        (None, r"7\.json is not a label file"),
    ],
)
def test_candle_loader_names_the_file_with_bad_bounds(tmp_path, bounds, message):
    write_labels(tmp_path, 7, bounds=bounds)
    with pytest.raises(ValueError, match=message):
        load_candle(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"objects": {}, "x": "' + "y" * (1 << 21) + '"}',
        "[]",
        "1",
        '{"scene": "beach", "lights": "left", "objects": []}',
        '{"scene": "beach", "lights": "left", "objects": {"a": 3}}',
    ],
)
def test_candle_loader_names_the_file_with_bad_labels(tmp_path, content):
    write_pair(tmp_path, 7)
    (tmp_path / "7.json").write_text(content)
    with pytest.raises(ValueError, match=r"7\.json"):
        load_candle(tmp_path)
    (tmp_path / "7.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"7\.json is not a label file"):
        load_candle(tmp_path)


@pytest.mark.parametrize(
    "size", [10**400, "big", [1.5, 2], {}, None, float("nan")], ids=lambda size: repr(size)[:9]
)
def test_candle_loader_names_the_file_with_a_bad_value(tmp_path, size):
    write_labels(tmp_path, 7, size=size)
    with pytest.raises(ValueError, match=r"7\.json has size .*, which is not one of"):
        load_candle(tmp_path)
