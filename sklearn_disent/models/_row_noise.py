"""Noise that belongs to an observation: the same wherever and beside whatever it is scored.

A score that draws noise from a generator changes with the order of the rows and the size of the
batches; one that uses the same few points for every row repeats their error in every row, where it
does not average out. Here the noise is a function of the observation's own values: deterministic,
and as good as independent between rows.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri

# Constants of splitmix64, a generator whose n-th output can be computed directly (Steele et al.
# 2014, Fast splittable pseudorandom number generators, OOPSLA).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def row_noise(x: torch.Tensor, n_draws: int, n_components: int) -> torch.Tensor:
    """Standard normal noise (n_draws, n, n_components) of each row of a batch.

    Draws come in pairs of opposite sign (with an odd number, the last one is alone), so that the
    mean of a pair is zero and whatever is linear in the noise has no error.
    """
    n_free = (n_draws + 1) // 2
    keys = _row_keys(x.detach().cpu().flatten(1).numpy())
    counter = np.arange(1, n_free * n_components + 1, dtype=np.uint64)
    words = _mix(keys[:, None] + counter * _GAMMA)
    # 53 bits, in the middle of their intervals: never 0 or 1.
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    normal = ndtri(uniform).reshape(len(keys), n_free, n_components).swapaxes(0, 1)
    both = np.concatenate([normal, -normal])[:n_draws]
    return torch.from_numpy(both.astype(np.float32)).to(x.device)


def _row_keys(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One 64-bit key per row: the sum of its words, each mixed with its place."""
    # Adding zero turns -0.0 into 0.0: equal rows have equal keys. Two values make one word.
    padded = np.zeros((len(rows), rows.shape[1] + rows.shape[1] % 2), dtype=np.float32)
    np.add(rows, np.float32(0), out=padded[:, : rows.shape[1]])
    words = padded.view(np.uint64)
    places = np.arange(1, words.shape[1] + 1, dtype=np.uint64)
    # Mixed before the sum: words such as that of two ones have few bits that are set, so that a sum
    # of their multiples has few values, and binary images would share their noise.
    return _mix(_mix(words + _mix(places * _GAMMA)).sum(axis=1, dtype=np.uint64))


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))
