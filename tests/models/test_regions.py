"""Regions as guidance: the term, boxes and masks as metadata, what is refused."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_disent.datasets import make_candle_like
from sklearn_disent.metrics import get_scorer
from sklearn_disent.models import BetaVAE, FactorVAE, Labels, Regions
from sklearn_disent.models._data import find_layout
from sklearn_disent.models._regions import read_boxes, read_mask
from sklearn_disent.models.terms import box_mask, region_error

from . import conftest

TINY = {**conftest.TINY, "n_components": 6, "batch_size": 16, "discriminator__hidden_sizes": (8, 8)}
CV = KFold(2, shuffle=True, random_state=0)
IMAGE = find_layout((8, 10))


@pytest.fixture(scope="module")
def candles():
    return make_candle_like(40, image_shape=(16, 16), random_state=0)


# -- the term --------------------------------------------------------------------------------


def test_box_mask_by_hand():
    boxes = torch.tensor([[[1, 2, 3, 4], [0, 0, 0, 0]], [[0, 0, 1, 5], [3, 4, 4, 5]]])
    mask = box_mask(boxes, (4, 5))
    expected = np.zeros((2, 4, 5))
    expected[0, 1:3, 2:4] = 1
    expected[1, 0:1, 0:5] = expected[1, 3:4, 4:5] = 1
    assert_array_equal(mask, expected)


def test_region_error_is_that_of_the_box_alone():
    rng = np.random.default_rng(0)
    x, decoded = (torch.from_numpy(rng.random((2, 3, 8, 10))) for _ in range(2))
    boxes = torch.tensor([[[1, 2, 5, 7]], [[0, 0, 8, 10]]])
    error = region_error(x, decoded, box_mask(boxes, (8, 10))[:, None])
    gap = (x - decoded).square()
    assert error[0].item() == pytest.approx(gap[0, :, 1:5, 2:7].sum().item())
    assert error[1].item() == pytest.approx(gap[1].sum().item())


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_loss_is_that_of_the_equation(candles, likelihood):
    X, boxes = candles.images, candles.boxes
    model = FactorVAE(**TINY, guidance=Regions(), likelihood=likelihood)
    model.set_params(batch_size=-1, max_epochs=1).fit(X, boxes=boxes)
    row = model.history_[0]
    names = {"reconstruction": 1.0, "kl": 1.0, "density_ratio_tc": 10.0, "regions_error": 2.0}
    total = sum(weight * row[f"train_{name}"] for name, weight in names.items())
    assert row["train_loss"] == pytest.approx(total, rel=1e-5)
    # Whole images as boxes: the squared error, of probabilities in [0, 1].
    whole = np.broadcast_to([0, 0, 16, 16], boxes.shape)
    error = clone(model).fit(X, boxes=whole).history_[0, "train_regions_error"]
    assert error > row["train_regions_error"]
    if likelihood == "bernoulli":
        assert error < 16 * 16 * 3


@pytest.mark.slow
def test_regions_improve_what_is_inside(candles):
    # Without any guidance the latents of so short a training are dead. Hence the same weight
    # inside and outside of the boxes: what is improved is the part that was asked for.
    X = candles.images
    inside = box_mask(torch.from_numpy(candles.boxes), (16, 16)).numpy()

    def errors(mask):
        model = FactorVAE(**TINY, gamma=1.0, guidance=Regions(100.0))
        decoded = model.set_params(max_epochs=60, lr=5e-3).fit(X, mask=mask).reconstruct(X)
        squares = np.square(X / 255.0 - decoded).sum(axis=3)
        return (squares * inside).sum(), (squares * (1 - inside)).sum()

    with_boxes, with_ground = errors(inside), errors(1 - inside)
    assert with_boxes[0] < 0.5 * with_ground[0]
    assert with_ground[1] < 0.8 * with_boxes[1]


def test_without_boxes_nothing_changes(candles):
    X, boxes = candles.images, candles.boxes
    plain = FactorVAE(**TINY).fit(X)
    nowhere = np.full(boxes.shape, np.nan)
    guided = FactorVAE(**TINY, guidance=Regions())
    assert_array_equal(clone(guided).fit(X, boxes=nowhere).transform(X), plain.transform(X))
    with_boxes = clone(guided).fit(X, boxes=boxes)
    assert not np.allclose(with_boxes.transform(X), plain.transform(X), atol=1e-4)


def test_mask_equals_boxes_in_every_layout(candles):
    X, boxes = candles.images, candles.boxes
    mask = box_mask(torch.from_numpy(boxes), (16, 16)).numpy()
    guided = FactorVAE(**TINY, guidance=Regions())
    expected = clone(guided).fit(X, boxes=boxes).transform(X)
    for same in (mask, mask.astype(bool), np.repeat(mask[..., None], 3, axis=3)):
        assert_array_equal(clone(guided).fit(X, mask=same).transform(X), expected)
    channels_first = np.moveaxis(X, 3, 1)
    model = clone(guided).fit(channels_first, boxes=boxes)
    same = clone(guided).fit(channels_first, mask=np.repeat(mask[:, None], 3, axis=1))
    assert_array_equal(model.transform(channels_first), same.transform(channels_first))
    flat = channels_first.reshape(len(X), -1)
    model = clone(guided).set_params(input_shape=(3, 16, 16)).fit(flat, boxes=boxes)
    assert_array_equal(model.transform(flat), same.transform(channels_first))
    weights = np.full((40, 16, 16), 0.5)
    half = clone(guided).set_params(max_epochs=1, batch_size=-1).fit(X, mask=weights)
    full = clone(half).fit(X, mask=np.ones((40, 16, 16)))
    quarter = 0.25 * full.history_[0, "train_regions_error"]
    assert half.history_[0, "train_regions_error"] == pytest.approx(quarter, rel=1e-5)


def test_boxes_and_labels_together(candles):
    X, y, boxes = candles.images, candles.target, candles.boxes
    guidance = [Labels("l2", n_labeled=0.5), Regions()]
    model = FactorVAE(**TINY, guidance=guidance).fit(X, y, boxes=boxes)
    assert {"train_labels_l2", "train_regions_error"} <= set(model.history_[-1])
    four = clone(model).set_params(max_epochs=4).fit(X, y, boxes=boxes)
    again = clone(model).partial_fit(X, y, boxes=boxes).partial_fit(X, y, boxes=boxes)
    assert_array_equal(four.transform(X), again.transform(X))


# -- reading ---------------------------------------------------------------------------------


def test_boxes_are_rescaled_with_the_images(candles):
    # Measured at 240 x 320, for images of 8 x 10: outwards to whole pixels.
    box = [[[30.0, 32.0, 61.0, 64.0]]]
    assert_array_equal(read_boxes(box, 1, IMAGE, (240, 320)), [[[1, 1, 3, 2]]])
    thin = [[[0.0, 0.0, 1.0, 1.0]]]
    assert_array_equal(read_boxes(thin, 1, IMAGE, (240, 320)), [[[0, 0, 1, 1]]])
    whole = [[[0, 0, 240, 320]]]
    assert_array_equal(read_boxes(whole, 1, IMAGE, (240, 320)), [[[0, 0, 8, 10]]])
    X, boxes = candles.images, candles.boxes
    guidance = Regions(image_shape=(48, 48))
    large = FactorVAE(**TINY, guidance=guidance).fit(X, boxes=3 * boxes)
    small = FactorVAE(**TINY, guidance=Regions()).fit(X, boxes=boxes)
    assert_array_equal(large.transform(X), small.transform(X))


def test_boxes_may_be_one_or_several_per_image():
    one = np.array([[0, 0, 2, 2], [1, 1, 3, 3]])
    assert_array_equal(read_boxes(one, 2, IMAGE)[:, 0], one)
    several = np.array([[[0, 0, 2, 2], [np.nan] * 4], [[1, 1, 3, 3], [4, 4, 8, 10]]])
    read = read_boxes(several, 2, IMAGE)
    assert_array_equal(read[0, 1], [0, 0, 0, 0])
    assert_array_equal(read[1, 1], [4, 4, 8, 10])


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([[[0, 0, 9, 4]]], r"\(0.0, 0.0, 9.0, 4.0\), leaves the image of 8 x 10 pixels"),
        ([[[0, 0, 4, 11]]], "leaves the image"),
        ([[[-1, 0, 4, 4]]], "leaves the image"),
        ([[[3, 3, 3, 5]]], "is empty; NaN stands for no box"),
        ([[[3, 5, 4, 2]]], "is empty"),
        ([[[0, 0, np.nan, 4]]], "has NaN beside numbers"),
        ([[[0, 0, 4]]], r"must be \(n_images, n_boxes, 4\)"),
        ([0, 0, 4, 4], r"must be \(n_images, n_boxes, 4\)"),
        (np.ones((2, 1, 4)), "one entry per image, 1, got 2"),
    ],
)
def test_boxes_that_do_not_fit_are_refused(boxes, message):
    with pytest.raises(ValueError, match=message):
        read_boxes(boxes, 1, IMAGE)


def test_the_box_at_fault_is_named():
    boxes = np.tile([0, 0, 2, 2], (3, 2, 1))
    boxes[1, 1] = [4, 4, 4, 4]
    with pytest.raises(ValueError, match="Box 1 of image 1"):
        read_boxes(boxes, 3, IMAGE)


def test_masks_that_do_not_fit_are_refused():
    for mask, message in (
        (np.ones((1, 8, 9)), "must be .n_images, 8, 10"),
        (np.ones((2, 8, 10)), "one entry per image, 1, got 2"),
        (np.full((1, 8, 10), 2), "weights from 0 to 1"),
        (np.full((1, 8, 10), np.nan), "weights from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            read_mask(mask, 1, IMAGE)


def test_wrong_use_of_boxes_is_refused(candles):
    X, boxes = candles.images, candles.boxes
    model = FactorVAE(**TINY, guidance=Regions())
    with pytest.raises(ValueError, match="boxes or mask, got both"):
        model.fit(X, boxes=boxes, mask=np.ones((40, 16, 16)))
    with pytest.raises(ValueError, match=r"boxes or mask, got neither.*fit\(X, y, boxes=boxes\)"):
        model.fit(X)
    with pytest.raises(ValueError, match="boxes need images, but X has rows of 768 values"):
        model.fit(X.reshape(40, -1) / 255.0, boxes=boxes)
    with pytest.raises(ValueError, match="image_shape must be"):
        FactorVAE(**TINY, guidance=Regions(image_shape=(16, 0))).fit(X, boxes=boxes)
    with pytest.raises(TypeError, match="got boxes, which neither the model nor its guidance"):
        BetaVAE(4).fit(X, boxes=boxes)
    with pytest.raises(TypeError, match="got bboxes, which neither"):
        model.fit(X, bboxes=boxes)


# -- metadata --------------------------------------------------------------------------------


class Spy(FactorVAE):
    """Remembers what it was fitted on."""

    seen = []

    def fit(self, X, y=None, *, boxes=None, mask=None, **metadata):
        Spy.seen.append((np.asarray(X), boxes))
        return super().fit(X, y, boxes=boxes, mask=mask, **metadata)


@pytest.mark.parametrize("routing", ["off", "asked by guidance", "asked by the user"])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_search_slices_boxes_with_the_rows(candles, routing, in_pipeline):
    X, y, boxes = candles.images, candles.target, candles.boxes
    box_of = {image.tobytes(): box for image, box in zip(X, boxes)}
    Spy.seen = []
    with config_context(enable_metadata_routing=routing != "off"):
        model = Spy(**TINY, guidance=Regions())
        if routing == "asked by the user":
            model.set_fit_request(boxes=True)
        grid, name = {"gamma": [1.0, 4.0]}, "boxes"
        if in_pipeline:
            model = Pipeline([("same", FunctionTransformer()), ("vae", model)])
            grid = {"vae__gamma": [1.0, 4.0]}
            name = "vae__boxes" if routing == "off" else "boxes"
        search = GridSearchCV(model, grid, scoring=get_scorer("mig"), cv=CV)
        search.fit(X, y, **{name: boxes})
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert sorted({len(rows) for rows, _ in Spy.seen}) == [20, 40]
    for rows, sliced in Spy.seen:
        for image, box in zip(rows, sliced):
            assert_array_equal(box, box_of[np.ascontiguousarray(image).tobytes()])


def test_boxes_that_nobody_asked_for_are_refused(candles):
    X, y, boxes = candles.images, candles.target, candles.boxes
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="boxes"):
            GridSearchCV(FactorVAE(**TINY), {"gamma": [1.0]}, cv=CV).fit(X, y, boxes=boxes)
        with pytest.raises(ValueError, match="boxes"):
            make_pipeline(FunctionTransformer(), BetaVAE(2)).fit(X, y, boxes=boxes)
        guided = FactorVAE(**TINY, guidance=Regions()).set_fit_request(boxes=False)
        with pytest.raises(TypeError, match="boxes"):
            GridSearchCV(guided, {"gamma": [1.0]}, cv=CV).fit(X, y, boxes=boxes)
