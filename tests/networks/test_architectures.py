"""The six published pairs, layer by layer, against sums made by hand from their tables."""

import itertools
import math
import typing

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, KFold
from torch import nn

from sklearn_disent._params import Architecture
from sklearn_disent.models import BetaVAE
from sklearn_disent.networks import architecture_names, make_pair

# Weights plus biases of each layer for 10 latents and 3 channels at 64 pixels. A convolution of
# kernel 4 from 32 to 64 channels has 32 * 64 * 16 + 64 = 32832.
BURGESS_ENCODER = [1568, 16416, 16416, 16416, 131328, 65792, 5140]
BURGESS_DECODER = [2816, 65792, 131584, 16416, 16416, 16416, 1539]
LOCATELLO_ENCODER = [1568, 16416, 32832, 65600, 262400, 5140]
LOCATELLO_DECODER = [2816, 263168, 65600, 32800, 16416, 1539]
BROADCAST_DECODER = [19264, 102464, 102464, 102464, 4803]
SMALL_ENCODER = [1568, 16416, 32832, 65600, 131200, 131328, 5140]
SMALL_DECODER = [2816, 131584, 131136, 65600, 32800, 16416, 1539]
LARGE_ENCODER = [3136, 65600, 131200, 262272, 524544, 262400, 5140]
LARGE_DECODER = [2816, 263168, 524416, 262272, 131136, 65600, 3075]
CHEN_ENCODER = [14746800, 1441200, 24020]
CHEN_DECODER = [13200, 1441200, 1441200, 14757888]

TABLES = {
    "burgess": (BURGESS_ENCODER, BURGESS_DECODER),
    "chen_mlp": (CHEN_ENCODER, CHEN_DECODER),
    "locatello": (LOCATELLO_ENCODER, LOCATELLO_DECODER),
    "locatello_sbd": (LOCATELLO_ENCODER, BROADCAST_DECODER),
    "montero_small": (SMALL_ENCODER, SMALL_DECODER),
    "montero_large": (LARGE_ENCODER, LARGE_DECODER),
}
# First layer of the encoder and last of the decoder at one channel.
ONE_CHANNEL = {
    "burgess": (544, 513),
    "chen_mlp": (4096 * 1200 + 1200, 1200 * 4096 + 4096),
    "locatello": (544, 513),
    "locatello_sbd": (544, 1601),
    "montero_small": (544, 513),
    "montero_large": (1088, 1025),
}
# What 32 pixels leave out: the position of a convolution in encoder and decoder. What then comes
# first in the encoder, and last in the decoder, has the channels of the image.
LEFT_OUT = {"burgess": 16416, "locatello": 16416, "montero_small": 16416, "montero_large": 65600}
CONVOLUTIONAL = sorted(set(TABLES) - {"chen_mlp"})


def build(architecture, shape, n_components=10):
    with torch.device("meta"):  # counting needs no weights
        return make_pair(architecture, shape, n_components)


def sizes(network):
    """Parameters of each layer, in order."""
    layers = [m for m in network.modules() if isinstance(m, nn.Linear | nn.modules.conv._ConvNd)]
    return [sum(p.numel() for p in layer.parameters()) for layer in layers]


def test_tables_cover_all_names():
    assert set(TABLES) | {"mlp"} == set(architecture_names())
    assert set(typing.get_args(Architecture)) == {"auto", *architecture_names()}


@pytest.mark.parametrize("architecture", TABLES)
def test_parameters_of_each_layer_follow_the_table(architecture):
    encoder, decoder = build(architecture, (3, 64, 64))
    assert (sizes(encoder), sizes(decoder)) == TABLES[architecture]


@pytest.mark.parametrize("architecture", TABLES)
def test_parameters_of_each_layer_follow_the_table_for_one_channel(architecture):
    first, last = ONE_CHANNEL[architecture]
    expected_encoder, expected_decoder = TABLES[architecture]
    encoder, decoder = build(architecture, (1, 64, 64))
    assert sizes(encoder) == [first, *expected_encoder[1:]]
    assert sizes(decoder) == [*expected_decoder[:-1], last]


@pytest.mark.parametrize("architecture", LEFT_OUT)
def test_parameters_at_32_pixels_lack_one_convolution(architecture):
    encoder, decoder = build(architecture, (3, 32, 32))
    for network, table in zip((encoder, decoder), TABLES[architecture]):
        expected = list(table)
        expected.remove(LEFT_OUT[architecture])
        assert sizes(network) == expected


def test_parameters_at_32_pixels_without_strides():
    encoder, decoder = build("chen_mlp", (3, 32, 32))
    assert sizes(encoder) == [3072 * 1200 + 1200, 1441200, 24020]
    assert sizes(decoder) == [13200, 1441200, 1441200, 1200 * 3072 + 3072]
    assert sizes(build("locatello_sbd", (3, 32, 32))[1]) == BROADCAST_DECODER


# Channels or widths by which the layers follow each other at 64 pixels, in the order in which their
# weights are drawn: the decoder's convolutions come before its dense layers.
DRAWN = {
    "burgess": (
        [3, 32, 32, 32, 32],
        [512, 256, 256, 20],
        [32, 32, 32, 32, 3],
        [10, 256, 256, 512],
    ),
    "locatello": ([3, 32, 32, 64, 64], [1024, 256, 20], [64, 64, 32, 32, 3], [10, 256, 1024]),
    "montero_small": (
        [3, 32, 32, 64, 64, 128],
        [512, 256, 20],
        [128, 64, 64, 32, 32, 3],
        [10, 256, 512],
    ),
    "montero_large": (
        [3, 64, 64, 128, 128, 256],
        [1024, 256, 20],
        [256, 128, 128, 64, 64, 3],
        [10, 256, 1024],
    ),
}


def stack(kind, sizes, *args):
    return [kind(n_in, n_out, *args) for n_in, n_out in itertools.pairwise(sizes)]


def weights(layers):
    return [parameter for layer in layers for parameter in layer.parameters()]


@pytest.mark.parametrize("side", [32, 64])
@pytest.mark.parametrize("architecture", DRAWN)
def test_initial_weights_of_a_seed_are_those_of_plain_torch(architecture, side):
    down, dense_in, up, dense_out = DRAWN[architecture]
    if side == 32:
        down, up = [3, *down[2:]], [*up[:-2], 3]
    torch.manual_seed(3)
    expected = stack(nn.Conv2d, down, 4, 2, 1) + stack(nn.Linear, dense_in)
    convolutions = stack(nn.ConvTranspose2d, up, 4, 2, 1)
    expected += stack(nn.Linear, dense_out) + convolutions
    torch.manual_seed(3)
    pair = make_pair(architecture, (3, side, side), 10, init="torch")
    for one, other in zip(weights(expected), weights(pair), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("side", [32, 64])
@pytest.mark.parametrize("n_channels", [1, 3, 5])
@pytest.mark.parametrize("architecture", architecture_names())
def test_shapes_go_to_codes_and_back(architecture, n_channels, side):
    shape = (n_channels, side, side)
    encoder, decoder = build(architecture, shape, 7)
    assert encoder(torch.zeros(2, *shape, device="meta")).shape == (2, 14)
    assert decoder(torch.zeros(2, 7, device="meta")).shape == (2, *shape)


@pytest.mark.parametrize("architecture", CONVOLUTIONAL)
def test_maps_shrink_as_in_the_table(architecture):
    encoder, _ = build(architecture, (3, 64, 64))
    x, sides = torch.zeros(1, 3, 64, 64, device="meta"), []
    for layer in encoder.layers:
        x = layer(x)
        if isinstance(layer, nn.Conv2d):
            sides.append(tuple(x.shape[1:]))
    widths = {
        "burgess": (32, 32, 32, 32),
        "montero_small": (32, 32, 64, 64, 128),
        "montero_large": (64, 64, 128, 128, 256),
    }.get(architecture, (32, 32, 64, 64))
    assert sides == [(width, 32 >> i, 32 >> i) for i, width in enumerate(widths)]


@pytest.mark.parametrize("architecture", TABLES)
def test_activations_follow_the_table(architecture):
    encoder, decoder = build(architecture, (3, 64, 64))
    hidden = nn.Tanh if architecture == "chen_mlp" else nn.ReLU
    for network, activation in ((encoder, nn.ReLU), (decoder, hidden)):
        parts = [m for m in network.layers if not isinstance(m, nn.Flatten | nn.Unflatten)]
        # Layer, activation, layer, ..., layer: logits, hence no sigmoid at the end.
        assert all(isinstance(part, activation) for part in parts[1::2])
        assert len(parts) == 2 * len(sizes(network)) - 1


def test_decoders_return_logits():
    torch.manual_seed(0)
    for architecture in architecture_names():
        _, decoder = make_pair(architecture, (1, 8, 8), 2)
        assert decoder(100 * torch.randn(20, 2)).min() < 0


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [(name, name in {"burgess", "locatello", "montero_small"}) for name in architecture_names()],
)
def test_channels_last_where_it_is_faster(architecture, expected):
    parts = build(architecture, (1, 64, 64))
    assert all(part.channels_last for part in parts) is expected


@pytest.mark.parametrize(("architecture", "least"), [("burgess", 8), ("montero_large", 4)])
def test_least_and_larger_sides_keep_the_dense_layers(architecture, least):
    dense = [s for s in TABLES[architecture][0] if s in (131328, 65792, 262400, 5140)]
    for side in (least, 16, 128, 256):
        encoder, decoder = build(architecture, (2, side, side))
        assert sizes(encoder)[-len(dense) :] == dense
        assert len(sizes(encoder)) - len(dense) == math.log2(side // (least // 2))
        assert decoder(torch.zeros(1, 10, device="meta")).shape == (1, 2, side, side)


def test_broadcast_decoder_tells_places_apart():
    _, decoder = make_pair("locatello_sbd", (1, 8, 8), 2)
    np.testing.assert_allclose(decoder.coordinates[0, 0, :, 3], np.linspace(-1, 1, 8), atol=1e-6)
    np.testing.assert_allclose(decoder.coordinates[0, 1, 5], np.linspace(-1, 1, 8), atol=1e-6)
    assert not any("coordinates" in name for name in decoder.state_dict())
    # Away from the border every pixel sees the same codes: only coordinates tell them apart.
    _, wide = make_pair("locatello_sbd", (1, 32, 32), 2)
    inner = wide(torch.ones(1, 2))[0, 0, 12:20, 12:20]
    assert inner.std() > 0
    wide.coordinates.zero_()
    inner = wide(torch.ones(1, 2))[0, 0, 12:20, 12:20]
    assert inner.std() < 1e-6


@pytest.mark.slow
def test_grid_search_over_all_architectures():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (24, 2))
    X = np.zeros((24, 8, 8), np.uint8)
    for image, (row, column) in zip(X, y):
        image[row : row + 3, column : column + 3] = 1
    search = GridSearchCV(
        BetaVAE(2, max_epochs=1, batch_size=12, random_state=0),
        {"architecture": architecture_names()},
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores)) == len(architecture_names())
    assert search.best_estimator_.inverse_transform([[0.0, 0.0]]).shape == (1, 8, 8)
