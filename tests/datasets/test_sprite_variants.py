"""dSprites in color, on noise and on a painted ground, and its number types."""

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_dsprites
from sklearn_disent.datasets._sprite_variants import painting

INDICES = np.arange(0, 737_280, 7300)
VARIANTS = [
    {"color": "random"},
    {"background": "noise"},
    {"background": "texture"},
    {"color": "random", "background": "noise"},
    {"color": "random", "background": "texture"},
]


def masks():
    return make_dsprites(indices=INDICES).images.astype(bool)


@pytest.mark.parametrize("size", [32, 64])
def test_dsprites_dtype_scales_the_same_pixels(size):
    plain = make_dsprites(indices=INDICES, image_size=size).images
    floats = make_dsprites(indices=INDICES, image_size=size, dtype="float32").images
    assert floats.dtype == np.float32
    np.testing.assert_array_equal(floats, plain)
    octets = make_dsprites(indices=INDICES, image_size=size, dtype="uint8").images
    assert octets.dtype == np.uint8
    np.testing.assert_array_equal(octets, plain if size == 64 else np.floor(255 * plain + 0.5))


@pytest.mark.parametrize("options", VARIANTS)
def test_dsprites_variants_keep_rows_and_targets(options):
    plain = make_dsprites(40, random_state=3)
    variant = make_dsprites(40, random_state=3, **options)
    np.testing.assert_array_equal(variant.indices, plain.indices)
    np.testing.assert_array_equal(variant.target, plain.target)
    assert variant.images.shape == (40, 64, 64, 3)
    assert variant.images.dtype == np.uint8
    assert np.shares_memory(variant.data, variant.images)
    assert "nuisance that is not a factor" in variant.DESCR
    X, y = make_dsprites(40, random_state=3, return_X_y=True, **options)
    np.testing.assert_array_equal(X, variant.images)
    np.testing.assert_array_equal(y, variant.target)


@pytest.mark.parametrize("options", VARIANTS)
def test_dsprites_variants_belong_to_seed_and_index(options):
    together = make_dsprites(indices=INDICES, random_state=1, **options).images
    alone = make_dsprites(indices=INDICES[[70, 2]], random_state=1, **options).images
    np.testing.assert_array_equal(alone, together[[70, 2]])
    other = make_dsprites(indices=INDICES, random_state=2, **options).images
    assert (other != together).any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize("options", VARIANTS)
def test_dsprites_small_variants_are_means_of_four_pixels(options):
    large = make_dsprites(indices=INDICES, random_state=0, **options).images
    means = large.reshape(-1, 32, 2, 32, 2, 3).mean(axis=(2, 4))
    small = make_dsprites(indices=INDICES, random_state=0, image_size=32, **options).images
    np.testing.assert_array_equal(small, np.floor(means + 0.5))
    floats = make_dsprites(
        indices=INDICES, random_state=0, image_size=32, dtype="float32", **options
    ).images
    np.testing.assert_allclose(floats, means / 255, atol=1e-6)
    assert floats.dtype == np.float32


def test_dsprites_color_fills_the_sprite_and_nothing_else():
    sprites = make_dsprites(indices=INDICES, color="random", random_state=0)
    wanted = masks()[..., None] * sprites.colors[:, None, None, :]
    np.testing.assert_array_equal(sprites.images, wanted)
    assert sprites.colors.min() >= 127
    many = make_dsprites(2000, color="random", random_state=0, image_size=32).colors / 255
    np.testing.assert_allclose(many.mean(axis=0), 0.75, atol=0.015)
    np.testing.assert_allclose(many.std(axis=0), 0.5 / 12**0.5, atol=0.01)
    assert np.abs(np.corrcoef(many.T) - np.eye(3)).max() < 0.1


def test_dsprites_noise_is_uniform_behind_a_white_sprite():
    images = make_dsprites(indices=INDICES, background="noise", random_state=0).images
    on_sprite = masks()
    assert (images[on_sprite] == 255).all()
    ground = images[~on_sprite] / 255
    np.testing.assert_allclose(ground.mean(axis=0), 0.5, atol=0.005)
    np.testing.assert_allclose(ground.std(axis=0), 12**-0.5, atol=0.005)


def test_dsprites_texture_is_a_part_of_the_picture_inverted_on_the_sprite():
    images = make_dsprites(indices=INDICES, background="texture", random_state=0).images
    on_sprite = masks()
    restored = np.where(on_sprite[..., None], 255 - images, images).astype(int)
    picture = np.rint(127.5 * painting()).astype(int)
    changes = np.diff(picture, axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(changes[..., 0], (64, 63))
    for image in restored[::20]:
        # The tint is one color, so differences of neighbours are those of the picture.
        own = np.diff(image, axis=1)[..., 0]
        places = np.argwhere((windows[:, :, 0] == own[0]).all(axis=2))
        (place,) = [place for place in places if (windows[tuple(place)] == own).all()]
        top, left = place
        tint = image - picture[top : top + 64, left : left + 64]
        assert np.ptp(tint, axis=(0, 1)).tolist() == [0, 0, 0]


def test_dsprites_color_covers_any_background():
    sprites = make_dsprites(indices=INDICES, color="random", background="texture", random_state=0)
    ground = make_dsprites(indices=INDICES, background="texture", random_state=0).images
    on_sprite = masks()
    np.testing.assert_array_equal(sprites.images[~on_sprite], ground[~on_sprite])
    owner = np.nonzero(on_sprite)[0]
    np.testing.assert_array_equal(sprites.images[on_sprite], sprites.colors[owner])


def test_dsprites_picture_does_not_change():
    picture = painting()
    assert picture.shape == (274, 350, 3)
    # Means, not checksums: the last bit of a sine may differ between platforms.
    np.testing.assert_allclose(picture.mean(axis=(0, 1)), [0.5844, 0.4021, 0.2676], atol=1e-3)
    np.testing.assert_allclose(picture.std(axis=(0, 1)), [0.3049, 0.1552, 0.0984], atol=1e-3)


def test_dsprites_refuses_unknown_variants():
    for options in ({"color": "red"}, {"background": "scream"}, {"dtype": "float64"}):
        with pytest.raises(InvalidParameterError):
            make_dsprites(3, **options)
