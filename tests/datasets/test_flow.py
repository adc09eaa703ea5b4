"""The leaking cup."""

import numpy as np
import pytest

from sklearn_disent.datasets import make_flow


def test_flow_by_hand():
    # r = 30 / 30, s = 2.0, p = 9 / 3: h = 1 + 2, reach = sqrt(1.96 * 3 * 2.5).
    index = np.ravel_multi_index((25, 10, 3), (30, 30, 9))
    data = make_flow(indices=[index])
    assert data.factors[0] == pytest.approx([1.0, 3.0, 3.0, np.sqrt(14.7)])
    assert data.exogenous[0] == pytest.approx([1.0, 2.0, 3.0])


def test_flow_grid_is_the_published_one():
    data = make_flow(shuffle=False, image_size=32)
    assert len(data.images) == 30 * 30 * 9
    assert data.factor_sizes == (30, 20, 9, 20)
    assert data.exogenous[0] == pytest.approx([5 / 30, 1.0, 2.0])
    assert data.exogenous[-1] == pytest.approx([34 / 30, 3.9, 14 / 3])
    part = make_flow(factors={"supply": [0, 29], "hole_position": 4}, shuffle=False, image_size=32)
    assert len(part.images) == 60
    assert set(part.exogenous[:, 1]) == {1.0, 3.9}


def test_flow_factors_can_be_measured():
    data = make_flow(200, random_state=0)
    images = data.images.astype(float)
    unit = 14 / 64
    # Column of the middle between wall and ball: how much of it is water.
    column = int((3.6 - 2) / unit)
    water = (255 - images[:, :, column, 0]) / (255 - 135)
    water[:, 62:] = 1  # the ground
    np.testing.assert_allclose(water.sum(axis=1) * unit - 5, data.factors[:, 1], atol=0.03)

    inside = images[:, :, 7:25]
    red = np.clip((206 - inside[:, :62, :, 1]) / (206 - 34), 0, 1)
    radius = np.sqrt(red.sum(axis=(1, 2)) * unit**2 / np.pi)
    large = data.factors[:, 0] > 0.4
    np.testing.assert_allclose(radius[large], data.factors[large, 0], atol=0.06)
    assert np.corrcoef(radius, data.factors[:, 0])[0, 1] > 0.99

    outside = (255 - images[:, :, 30:, 0]) / (255 - 135)
    height = 14 - (np.arange(64) + 0.5) * unit
    first = outside[:, :60, 0]
    start = (first @ height[:60]) / first.sum(axis=1)
    assert np.corrcoef(start, data.factors[:, 2])[0, 1] > 0.99
    row = int((14 - 0.55) / unit)
    x = 2 + (np.arange(30, 64) + 0.5) * unit
    landing = (outside[:, row] @ x) / outside[:, row].sum(axis=1) - 8
    np.testing.assert_allclose(landing, data.factors[:, 3], atol=0.2)


def test_flow_intervention_runs_down_the_chain():
    seen = make_flow(100, random_state=0)
    done = make_flow(indices=seen.indices, do={"water_height": 4.0})
    np.testing.assert_array_equal(done.factors[:, [0, 2]], seen.factors[:, [0, 2]])
    np.testing.assert_allclose(done.factors[:, 3], np.sqrt(1.96 * 4.0 * (seen.factors[:, 2] - 0.5)))
    bigger = make_flow(indices=seen.indices, do={"ball_size": 1.0})
    np.testing.assert_allclose(bigger.factors[:, 1], 1 + seen.exogenous[:, 1])
    last = make_flow(indices=seen.indices, do={"water_flow": 5.0})
    np.testing.assert_array_equal(last.factors[:, :3], seen.factors[:, :3])
    # Left of the right wall nothing shows it.
    np.testing.assert_array_equal(last.images[:, :, :25], seen.images[:, :, :25])


def test_flow_pictures_do_not_change():
    images = make_flow(indices=[0, 4000, 8099]).images
    np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), [225.759, 221.117, 216.868], atol=0.02)
