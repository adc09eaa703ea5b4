"""Noise that belongs to an image."""

import numpy as np
import pytest

from sklearn_disent.datasets import _noise


def test_noise_belongs_to_key_index_and_stream():
    indices = np.array([5, 700_000, 5, 12])
    words = _noise.noise_words(np.uint64(3), indices, 16)
    np.testing.assert_array_equal(words[0], words[2])
    np.testing.assert_array_equal(words[3:], _noise.noise_words(np.uint64(3), indices[3:], 16))
    # A longer draw begins with the shorter one.
    np.testing.assert_array_equal(words[:, :4], _noise.noise_words(np.uint64(3), indices, 4))
    others = [words[[0, 1, 3]], _noise.noise_words(np.uint64(4), indices, 16)]
    others.append(_noise.noise_words(np.uint64(3), indices, 16, stream=1))
    everything = np.concatenate([other.ravel() for other in others])
    # Row 2 repeats row 0 in both of the later draws; nothing else comes twice.
    assert len(np.unique(everything)) == len(everything) - 2 * 16


def test_noise_is_splitmix64():
    # The first outputs of the public generator for the seeds 0 and 1234567.
    state = np.array([[0], [1234567]], dtype=np.uint64)
    steps = np.arange(1, 3, dtype=np.uint64) * _noise.GOLDEN
    wanted = [
        [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4],
        [0x599ED017FB08FC85, 0x2C73F08458540FA5],
    ]
    np.testing.assert_array_equal(_noise._mix(state + steps), np.array(wanted, dtype=np.uint64))


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [(_noise.noise_uniform, 0.5, 12**-0.5), (_noise.noise_normal, 0.0, 1.0)],
)
def test_noise_has_its_moments_over_columns_and_over_images(draw, mean, std):
    values = draw(np.uint64(0), np.arange(200_000), 3)
    assert np.abs(values.mean(axis=0) - mean).max() < 5 * std / 200_000**0.5
    np.testing.assert_allclose(values.std(axis=0), std, rtol=0.01)
    # Neither columns nor neighbouring images are correlated.
    assert np.abs(np.corrcoef(values.T) - np.eye(3)).max() < 0.015
    assert abs(np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]) < 0.015


def test_noise_bytes_are_uniform():
    drawn = _noise.noise_bytes(np.uint64(9), np.arange(500), (8, 8, 3))
    assert drawn.shape == (500, 8, 8, 3)
    counts = np.bincount(drawn.ravel(), minlength=256)
    # 375 of each byte, standard deviation 19.
    assert np.abs(counts - 375).max() < 100


def test_noise_key_of_an_int_leaves_other_draws_alone():
    assert _noise.noise_key(3) == _noise.noise_key(np.int64(3)) != _noise.noise_key(4)
    rng = np.random.RandomState(3)
    assert _noise.noise_key(rng) != _noise.noise_key(rng)
    assert _noise.noise_key(None) != _noise.noise_key(None)
