"""Random numbers that belong to an image: a function of a key and of the image's index alone.

Whatever is drawn together, in any order, an image keeps its noise. A stream of NumPy could not do
that without one generator for each image, which is a thousand times slower.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def noise_key(random_state: Any) -> np.uint64:
    """Key of the noise that a random state stands for.

    An int gives its key without touching the stream from which rows are drawn, so that rows and
    order are those of the set without noise.
    """
    if isinstance(random_state, Integral):
        random_state = int(random_state)
    rng = check_random_state(random_state)
    return np.uint64(rng.randint(0, 2**63, dtype=np.int64))


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble in place, one to one: the last step of splitmix64 (Steele et al., 2014)."""
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state


def noise_words(
    key: np.uint64, indices: NDArray[np.int64], n_words: int, stream: int = 0
) -> NDArray[np.uint64]:
    """Random words (n, n_words) of the images, from one of several streams."""
    # Arrays wrap around in silence; scalars would warn.
    start = _mix(np.full(1, key, dtype=np.uint64) + np.full(1, stream + 1, np.uint64) * GOLDEN)
    rows = _mix(start + indices.astype(np.uint64) * GOLDEN)
    steps = np.arange(1, n_words + 1, dtype=np.uint64) * GOLDEN
    return _mix(rows[:, None] + steps)


def noise_bytes(
    key: np.uint64, indices: NDArray[np.int64], shape: tuple[int, ...], stream: int = 0
) -> NDArray[np.uint8]:
    """Uniform bytes (n, *shape) of the images; the size of `shape` is a multiple of 8."""
    words = noise_words(key, indices, int(np.prod(shape)) // 8, stream)
    return words.astype("<u8", copy=False).view(np.uint8).reshape(len(indices), *shape)


def noise_uniform(
    key: np.uint64, indices: NDArray[np.int64], n_columns: int, stream: int = 0
) -> NDArray[np.float64]:
    """Uniform numbers (n, n_columns) in [0, 1) of the images."""
    words = noise_words(key, indices, n_columns, stream) >> np.uint64(11)
    return words.astype(np.float64) * 2.0**-53


def noise_normal(
    key: np.uint64, indices: NDArray[np.int64], n_columns: int, stream: int = 0
) -> NDArray[np.float64]:
    """Standard normal numbers (n, n_columns) of the images, by Box and Muller."""
    u = noise_uniform(key, indices, 2 * n_columns, stream)
    radius = np.sqrt(-2 * np.log1p(-u[:, :n_columns]))
    return radius * np.cos(2 * np.pi * u[:, n_columns:])
