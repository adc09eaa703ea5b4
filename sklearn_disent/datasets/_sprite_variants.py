"""dSprites in colour, on noise, and on a painted ground."""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._noise import noise_bytes, noise_uniform

Color = Literal["random"]
Background = Literal["noise", "texture"]

PICTURE_SHAPE = (274, 350)
# Each part of an image draws from a stream of its own, so that an option does not change others.
_COLOR, _NOISE, _PLACE, _TINT = range(4)

DESCR = """\

This is a variant with nuisance that is not a factor (Locatello et al., 2019): RGB, uint8 in 0..255
unless asked otherwise, drawn once for each image from random_state and its index.

    color="random"        the sprite has a color, each channel uniform on [0.5, 1]
    background="noise"    every channel of every background pixel is uniform on [0, 1]
    background="texture"  the background is a random part of one picture, averaged with a random
                          tint; without color, the sprite is the part in inverted colors

The picture is painted by a formula; the original uses a photograph of Munch's The Scream.
"""


@lru_cache(maxsize=1)
def painting() -> NDArray[np.float32]:
    """A picture (274, 350, 3) in [0, 1] of swirling bands: red sky, dark water, an ochre path."""
    height, width = PICTURE_SHAPE
    y, x = np.mgrid[:height, :width] / height
    # Bands are level lines of a height that is itself bent twice: the swirl of a brush.
    bend_x = x + 0.10 * np.sin(5.1 * y + 1.3) + 0.05 * np.sin(11 * y + 4 * x)
    bend_y = y + 0.09 * np.sin(4.3 * bend_x + 0.5) + 0.04 * np.sin(9.7 * bend_x - 3 * y)
    swirl = bend_y + 0.05 * np.sin(7 * bend_x + 6 * bend_y)
    stroke = 0.5 + 0.5 * np.sin(52 * swirl + 2.5 * np.sin(6 * bend_x))
    fine = 0.5 + 0.5 * np.sin(140 * swirl + 9 * np.sin(3 * bend_x))

    def blend(a: tuple[float, ...], b: tuple[float, ...]) -> NDArray[np.float64]:
        return np.array(a) + (np.array(b) - np.array(a)) * stroke[..., None]

    sky = blend((0.80, 0.27, 0.12), (0.95, 0.69, 0.30))
    water = blend((0.10, 0.16, 0.29), (0.38, 0.46, 0.42))
    path = blend((0.42, 0.25, 0.14), (0.70, 0.52, 0.30))
    shore = 0.46 + 0.06 * np.sin(4 * x + 1)
    picture = np.where((swirl < shore)[..., None], sky, water)
    picture = np.where((y > 0.55 + 0.5 * x)[..., None], path, picture)
    picture += 0.12 * (fine[..., None] - 0.5)
    return np.clip(picture, 0, 1).astype(np.float32)


def sprite_colors(key: np.uint64, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Colors (n, 3) of the sprites, each channel uniform on [0.5, 1] of the range."""
    return np.rint(255 * (0.5 + 0.5 * noise_uniform(key, indices, 3, _COLOR))).astype(np.uint8)


def _patches(key: np.uint64, indices: NDArray[np.int64], side: int) -> NDArray[np.uint8]:
    """Parts (n, side, side, 3) of the picture, each averaged with a tint."""
    picture = np.rint(127.5 * painting()).astype(np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(picture, (side, side), axis=(0, 1))
    room = np.array(windows.shape[:2])
    top, left = (noise_uniform(key, indices, 2, _PLACE) * room).astype(np.int64).T
    tint = (127.5 * noise_uniform(key, indices, 3, _TINT)).astype(np.uint8)
    return np.ascontiguousarray(windows[top, left].transpose(0, 2, 3, 1)) + tint[:, None, None, :]


def paint(
    masks: NDArray[np.uint8],
    indices: NDArray[np.int64],
    color: Color | None,
    background: Background | None,
    key: np.uint64,
) -> NDArray[np.uint8]:
    """Images (n, side, side, 3) in 0..255 of sprites given as masks (n, side, side) in {0, 1}."""
    side = masks.shape[1]
    if background == "noise":
        images = noise_bytes(key, indices, (side, side, 3), _NOISE)
    elif background == "texture":
        images = _patches(key, indices, side)
    else:
        images = np.zeros((len(masks), side, side, 3), dtype=np.uint8)
    # Channels as neighbouring columns: an innermost axis of 3 would make every step below slow.
    rows = images.reshape(len(masks), side, 3 * side)
    on_sprite = np.repeat(masks, 3, axis=2)
    if color == "random":
        rows *= 1 - on_sprite
        rows += on_sprite * np.tile(sprite_colors(key, indices), side)[:, None, :]
    elif background == "texture":
        rows ^= 255 * on_sprite  # v becomes 255 - v
    else:
        rows |= 255 * on_sprite
    return images
