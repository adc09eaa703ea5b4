"""Noise that belongs to an observation."""

import numpy as np
import pytest
import torch
from scipy import stats

from sklearn_disent.models._row_noise import row_noise


@pytest.fixture(scope="module")
def rows():
    return torch.from_numpy(np.random.default_rng(0).random((3000, 1, 4, 4), dtype=np.float32))


def test_row_noise_is_standard_normal(rows):
    noise = row_noise(rows, 8, 10).numpy()
    assert noise.shape == (8, 3000, 10)
    free = noise[:4]
    # 120,000 values; 3,000 rows times 4 draws for each latent.
    assert stats.kstest(free.ravel(), "norm").pvalue > 1e-3
    assert np.abs(free.mean(axis=(0, 1))).max() < 4 / np.sqrt(12_000)
    assert np.abs((free**2).mean(axis=(0, 1)) - 1).max() < 4 * np.sqrt(2 / 12_000)
    correlation = np.corrcoef(free.swapaxes(0, 1).reshape(3000, -1).T)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5 / np.sqrt(3000)


def test_row_noise_comes_in_opposite_pairs(rows):
    noise = row_noise(rows, 6, 3)
    torch.testing.assert_close(noise[:3], -noise[3:])
    odd = row_noise(rows, 5, 3)
    torch.testing.assert_close(odd, noise[:5])


def test_row_noise_depends_on_the_row_alone(rows):
    noise = row_noise(rows, 4, 5)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
    assert torch.equal(row_noise(rows[order], 4, 5), noise[:, order])
    assert torch.equal(row_noise(rows[7:9], 4, 5), noise[:, 7:9])
    channels_last = rows.contiguous(memory_format=torch.channels_last)
    assert torch.equal(row_noise(channels_last, 4, 5), noise)


def test_row_noise_of_rows_that_hardly_differ_is_unrelated():
    x = torch.zeros(2000, 64)
    x[:, 0] = torch.arange(2000) * 2.0**-20
    noise = row_noise(x, 2, 4)[0].numpy()
    neighbours = [stats.pearsonr(noise[:-1, d], noise[1:, d])[0] for d in range(4)]
    assert np.abs(neighbours).max() < 4 / np.sqrt(2000)
    permuted = torch.zeros(64, 64)
    permuted[torch.arange(64), torch.arange(64)] = 1.0
    assert len(np.unique(row_noise(permuted, 1, 1))) == 64


def sharp_rows(kind):
    """Rows of few values, whose floats have few bits that are set."""
    rng = np.random.default_rng(0)
    if kind == "blocks":
        small = rng.integers(2, size=(4000, 8, 8))
        return small.repeat(2, axis=1).repeat(2, axis=2).reshape(4000, -1)
    if kind == "signs":
        return 2 * rng.integers(2, size=(4000, 20)) - 1
    corners = 2 * np.indices((8, 8, 8, 8)).reshape(4, -1).T  # rectangles
    (top, left, height, width), side = corners.T[..., None, None], np.arange(32)
    y, x = side[:, None], side[None, :]
    inside = (y >= top) & (y < top + height + 2) & (x >= left) & (x < left + width + 2)
    return inside.reshape(len(corners), -1)


@pytest.mark.parametrize("kind", ["blocks", "signs", "rectangles"])
def test_row_noise_of_binary_rows_is_not_shared(kind):
    rows = np.unique(sharp_rows(kind).astype(np.float32), axis=0)
    noise = row_noise(torch.from_numpy(rows), 1, 2).numpy()[0]
    assert len(np.unique(noise, axis=0)) == len(rows)


def test_row_noise_does_not_tell_minus_zero_from_zero():
    zero = torch.zeros(1, 4)
    assert torch.equal(row_noise(zero, 2, 3), row_noise(-zero, 2, 3))
