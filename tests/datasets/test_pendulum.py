"""The pendulum and its shadow."""

import numpy as np
import pytest

from sklearn_disent.datasets import make_pendulum


def solve(**angles):
    data = make_pendulum(indices=[0], do=angles)
    return data.factors[0, 2:]


def test_pendulum_shadow_by_hand():
    # Light from straight above: the shadow lies below pivot (x = 10) and tip (10 + 9.5 sin).
    assert solve(pendulum_angle=0.0, light_angle=90.0) == pytest.approx([3, 10])
    assert solve(pendulum_angle=30.0, light_angle=90.0) == pytest.approx([4.75, 12.375])
    # Light at 120 degrees, cot = -1 / sqrt(3), goes 11 down from the pivot and 1.5 from the tip.
    root = 3**-0.5
    wanted = [9.5 * root, 10 + 6.25 * root]
    assert solve(pendulum_angle=0.0, light_angle=120.0) == pytest.approx(wanted)


def test_pendulum_grid_is_the_published_one():
    data = make_pendulum(shuffle=False, image_size=32)
    assert len(data.images) == 84 * 87
    assert data.factor_sizes == (84, 87, 20, 20)
    assert data.factors[0, :2] == pytest.approx([-36, 54])
    assert data.factors[-1, :2] == pytest.approx([38.7, 132.3])
    assert not np.isclose(data.factor_values["light_angle"], 90).any()
    np.testing.assert_array_equal(data.target[:, 0] * 87 + data.target[:, 1], data.indices)
    assert data.factors[:, 2].min() == 3
    assert data.factors[:, 2].max() == pytest.approx(12.577374)
    assert set(data.target[:, 2]) == set(range(20))


def test_pendulum_factors_can_be_measured():
    data = make_pendulum(150, random_state=0)
    images = data.images.astype(float)
    x = -1 + 22 * (np.arange(64) + 0.5) / 64
    y = 21 - 22 * (np.arange(64) + 0.5) / 64
    red = (images[..., 0] - images[..., 1]) * (images[..., 1] < 120) * (images[..., 0] < 240)
    ball_x = (red.sum(axis=1) @ x) / red.sum(axis=(1, 2))
    ball_y = (red.sum(axis=2) @ y) / red.sum(axis=(1, 2))
    swing = np.degrees(np.arctan2(ball_x - 10, 10.5 - ball_y))
    np.testing.assert_allclose(swing, data.factors[:, 0], atol=1.0)

    top = 255 - images[:, :8, :, 2]
    sun_x = (top.sum(axis=1) @ x) / top.sum(axis=(1, 2))
    light = np.degrees(np.arctan2(10, sun_x - 10))
    inside = (sun_x > 3) & (sun_x < 17)  # elsewhere the disc is cut by the edge
    np.testing.assert_allclose(light[inside], data.factors[inside, 1], atol=0.5)

    ground = 1 - images[:, 62, :, 0] / 255
    np.testing.assert_allclose(ground.sum(axis=1) * 22 / 64, data.factors[:, 2], atol=0.02)
    middle = (ground @ x) / ground.sum(axis=1)
    np.testing.assert_allclose(middle, data.factors[:, 3], atol=0.02)


def test_pendulum_intervention_on_the_shadow_moves_nothing_else():
    seen = make_pendulum(60, random_state=0)
    done = make_pendulum(indices=seen.indices, do={"shadow_length": 8.0, "shadow_position": 10.0})
    np.testing.assert_array_equal(done.images[:, :60], seen.images[:, :60])
    assert (done.images[:, 60:] == done.images[:1, 60:]).all()


def test_pendulum_intervention_on_a_cause_moves_the_shadow():
    seen = make_pendulum(60, random_state=0)
    done = make_pendulum(indices=seen.indices, do={"pendulum_angle": 20.0})
    assert (done.factors[:, 0] == 20).all()
    np.testing.assert_array_equal(done.factors[:, 1], seen.factors[:, 1])
    assert np.abs(done.factors[:, 2:] - seen.factors[:, 2:]).mean() > 0.5
    np.testing.assert_array_equal(done.exogenous, seen.factors[:, :2])


def test_pendulum_pictures_do_not_change():
    images = make_pendulum(indices=[0, 3000, 7307]).images
    np.testing.assert_allclose(images.mean(axis=(1, 2, 3)), [244.441, 244.454, 245.063], atol=0.02)
