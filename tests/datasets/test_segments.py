"""Boxes and masks from segmenters: label maps, masks, probabilities, detections."""

import numpy as np
import pytest

from sklearn_disent.datasets import make_candle_like, regions_from_segments
from sklearn_disent.models import VAE, Regions

MAPS = np.zeros((3, 6, 8), dtype=int)
MAPS[0, 1:3, 2:7] = 4
MAPS[0, 5, 0] = 9
MAPS[1, 2:, 3:5] = 4
BOXES = [[1, 2, 3, 7], [5, 0, 6, 1]]


def test_label_maps_give_a_box_per_number():
    regions = regions_from_segments(MAPS)
    assert regions.boxes.shape == (3, 2, 4)
    np.testing.assert_array_equal(regions.boxes[0], BOXES)
    np.testing.assert_array_equal(regions.boxes[1, 0], [2, 3, 6, 5])
    assert np.isnan(regions.boxes[1, 1]).all()
    assert np.isnan(regions.boxes[2]).all()
    np.testing.assert_array_equal(regions.mask, MAPS > 0)
    some = regions_from_segments(MAPS, labels=[9])
    np.testing.assert_array_equal(some.mask, MAPS == 9)
    np.testing.assert_array_equal(some.boxes[0], BOXES[1:])


def test_masks_and_probabilities():
    masks = np.stack([MAPS == 4, MAPS == 9], axis=1)
    for given in (masks, np.where(masks, 0.7, 0.2)):
        regions = regions_from_segments(given)
        np.testing.assert_array_equal(regions.boxes, regions_from_segments(MAPS).boxes)
        np.testing.assert_array_equal(regions.mask, MAPS > 0)
    assert not regions_from_segments(np.where(masks, 0.7, 0.2), threshold=0.8).mask.any()
    with pytest.raises(ValueError, match=r"values from -3 to 2\. Apply a sigmoid"):
        regions_from_segments(np.where(masks, 2.0, -3.0))


def test_detections_of_torchvision():
    torch = pytest.importorskip("torch")
    masks = torch.tensor(np.stack([MAPS[0] == 4, MAPS[0] == 9])[:, None] * 0.9)
    boxes = torch.tensor([[2.0, 1.0, 7.0, 3.0], [-3.0, 5.0, 1.0, 9.0], [20.0, 0.0, 30.0, 2.0]])
    found = {"masks": masks, "scores": torch.tensor([0.9, 0.8]), "labels": torch.tensor([1, 7])}
    regions = regions_from_segments([found, {**found, "scores": torch.tensor([0.9, 0.1])}])
    np.testing.assert_array_equal(regions.boxes[0], BOXES)
    assert np.isnan(regions.boxes[1, 1]).all()
    np.testing.assert_array_equal(regions_from_segments([found], labels=[7]).boxes[0], BOXES[1:])
    # Boxes are cut at the edges; what lies outside is none.
    regions = regions_from_segments([{"boxes": boxes}], image_shape=(6, 8))
    np.testing.assert_array_equal(regions.boxes[0], BOXES)
    np.testing.assert_array_equal(regions.mask[0], MAPS[0] > 0)


@pytest.mark.parametrize(
    ("segments", "options", "message"),
    [
        (np.zeros((3, 2), dtype=int), {}, "segments must be integers"),
        (np.array([["a"]]), {}, "segments must be integers"),
        (MAPS > 0, {"labels": [1]}, "masks have none"),
        ([{"scores": [1.0]}], {}, r"must have 'masks' or 'boxes', got \['scores'\]"),
        ([{"boxes": [[0, 0, 1, 1]]}], {}, "one known size .* got boxes alone"),
        ([{"masks": np.ones((2, 2))}], {}, "must be .n_objects, H, W."),
        (MAPS, {"image_shape": (2, 2)}, "one known size"),
        (
            [{"boxes": [[0, 0, 1, 1]]}],
            {"labels": [1], "image_shape": (4, 4)},
            "image 0 have no labels",
        ),
    ],
)
def test_what_is_not_a_segmentation_is_named(segments, options, message):
    with pytest.raises(ValueError, match=message):
        regions_from_segments(segments, **options)


def test_regions_of_a_segmenter_guide_a_model():
    scenes = make_candle_like(16, image_shape=(16, 16), random_state=0)
    masks = np.zeros((16, 1, 16, 16), dtype=bool)
    for mask, (top, left, bottom, right) in zip(masks, scenes.boxes[:, 0]):
        mask[0, top:bottom, left:right] = True
    regions = regions_from_segments(masks)
    np.testing.assert_array_equal(regions.boxes, scenes.boxes)
    vae = VAE(n_components=2, guidance=Regions(), max_epochs=1, random_state=0)
    by_box = vae.fit(scenes.images, boxes=regions.boxes).history_[-1, "train_regions_error"]
    by_mask = vae.fit(scenes.images, mask=regions.mask).history_[-1, "train_regions_error"]
    assert by_box == pytest.approx(by_mask, rel=1e-5)
