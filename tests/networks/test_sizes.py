"""Images of any size, widths of one's own choice, and messages about what cannot be."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, KFold
from torch import nn

from sklearn_disent.models import BetaVAE, InfoGAN
from sklearn_disent.networks import (
    Autoencoder,
    ConvDecoder,
    ConvEncoder,
    Discriminator,
    FactorizedFlow,
    MLPDecoder,
    MLPEncoder,
    SpatialBroadcastDecoder,
    architecture_names,
    make_pair,
)

SIZES = [(8, 8), (28, 28), (32, 32), (48, 48), (64, 64), (64, 48), (240, 320)]
CONVOLUTIONAL = sorted(set(architecture_names()) - {"mlp", "chen_mlp"})
LEAST_MAP = {name: 2 if "montero" in name else 4 for name in CONVOLUTIONAL}


def narrow(architecture, size):
    """Widths for a test of seconds; up to 64 pixels most families' own will do."""
    if max(size) <= 64 and architecture != "chen_mlp":
        return {}
    dense = {"hidden_sizes": (16,)}
    return dense if architecture not in CONVOLUTIONAL else {**dense, "channels": (4, 4, 6, 6, 8)}


def maps_of(encoder, shape):
    """Shapes of the outputs of the encoder's convolutions."""
    x, shapes = torch.zeros(1, *shape, device="meta"), []
    for layer in encoder.layers:
        x = layer(x)
        if isinstance(layer, nn.Conv2d):
            shapes.append(tuple(x.shape[1:]))
    return shapes


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("architecture", architecture_names())
def test_every_family_serves_every_size(architecture, size):
    torch.manual_seed(0)
    n_channels = 1 if SIZES.index(size) % 2 else 3
    shape = (n_channels, *size)
    encoder, decoder = make_pair(architecture, shape, 3, init="he", **narrow(architecture, size))
    codes = encoder(torch.rand(1, *shape))
    assert codes.shape == (1, 6)
    decoded = decoder(codes[:, :3])
    assert decoded.shape == (1, *shape)
    decoded.square().mean().backward()
    for parameter in (*encoder.parameters(), *decoder.parameters()):
        assert torch.isfinite(parameter.grad).all()
    # No layer is cut off: the loss reaches the first weights of both.
    assert any(p.grad.abs().max() > 0 for p in encoder.layers[:2].parameters())
    assert decoder.layers[0].weight.grad.abs().max() > 0


@pytest.mark.parametrize("size", [*SIZES, (9, 9), (31, 17), (100, 100), (127, 8), (250, 1000)])
@pytest.mark.parametrize("architecture", CONVOLUTIONAL)
def test_maps_before_the_dense_layers_stay_small(architecture, size):
    least = LEAST_MAP[architecture]
    with torch.device("meta"):
        encoder, decoder = make_pair(architecture, (3, *size), 4)
    *_, last = maps_of(encoder, (3, *size))
    assert least <= min(last[1:]) < 2 * least
    assert decoder(torch.zeros(1, 4, device="meta")).shape == (1, 3, *size)


@pytest.mark.parametrize("size", [(9, 15), (29, 31)])
def test_odd_sides_lose_no_pixel(size):
    torch.manual_seed(0)
    encoder, decoder = make_pair("burgess", (1, *size), 2, init="he")
    x = torch.rand(1, 1, *size, requires_grad=True)
    encoder(x).sum().backward()
    assert (x.grad[0, 0, -1] != 0).any()
    assert (x.grad[0, 0, :, -1] != 0).any()
    with torch.no_grad():
        change = (decoder(torch.randn(20, 2)) - decoder(torch.randn(20, 2))).abs().amax((0, 1))
    assert (change > 0).all()  # every pixel depends on the codes


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 240, 320), ConvEncoder),
        ((3, 64, 48), ConvEncoder),
        ((1, 28, 28), ConvEncoder),
        ((1, 8, 8), ConvEncoder),
        ((1, 7, 64), MLPEncoder),
        ((10,), MLPEncoder),
    ],
)
def test_auto_takes_convolutions_where_they_fit(shape, expected):
    with torch.device("meta"):
        assert type(make_pair("auto", shape, 2)[0]) is expected


@pytest.mark.parametrize("size", [(28, 28), (48, 48), (64, 48)])
@pytest.mark.parametrize("model", [BetaVAE, pytest.param(InfoGAN, marks=pytest.mark.slow)])
def test_estimators_fit_images_of_these_sizes(model, size):
    X = np.random.default_rng(0).random((6, *size, 3), dtype=np.float32)
    net = model(2, max_epochs=1, batch_size=3, random_state=0).fit(X)
    assert net.transform(X).shape == (6, 2)
    assert net.inverse_transform(net.transform(X)).shape == X.shape


# -- widths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", CONVOLUTIONAL)
def test_channels_are_the_convolutions(architecture):
    encoder, decoder = make_pair(
        architecture, (3, 40, 24), 5, channels=[6, np.int64(7)], hidden_sizes=np.array([11, 12])
    )
    assert maps_of(encoder.to("meta"), (3, 40, 24)) == [(6, 20, 12), (7, 10, 6)]
    linear = [m for m in encoder.layers if isinstance(m, nn.Linear)]
    assert [m.out_features for m in linear] == [11, 12, 10]
    kinds = nn.Conv2d | nn.ConvTranspose2d
    channels = [m.out_channels for m in decoder.layers if isinstance(m, kinds)]
    assert channels == ([7, 6, 3] if architecture == "locatello_sbd" else [6, 3])
    assert decoder(torch.zeros(2, 5)).shape == (2, 3, 40, 24)


@pytest.mark.parametrize(
    ("architecture", "mirrored"), [("mlp", [8, 9, 12]), ("chen_mlp", [8, 8, 9, 12])]
)
def test_hidden_sizes_of_dense_families(architecture, mirrored):
    encoder, decoder = make_pair(architecture, (12,), 2, hidden_sizes=(9, 8))
    for part, expected in ((encoder, [9, 8, 4]), (decoder, mirrored)):
        assert [m.out_features for m in part.layers if isinstance(m, nn.Linear)] == expected
    encoder, decoder = make_pair(architecture, (12,), 2, hidden_sizes=())
    assert len(list(encoder.parameters())) == len(list(decoder.parameters())) == 2


def test_grid_search_over_widths():
    X = np.random.default_rng(0).random((12, 12, 10), dtype=np.float32)
    search = GridSearchCV(
        BetaVAE(2, max_epochs=1, random_state=0),
        {"module__channels": [None, (4,), (4, 6)], "module__hidden_sizes": [(8,), (8, 8)]},
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 6


def test_own_parts_take_widths():
    X = np.random.default_rng(0).random((6, 12, 10), dtype=np.float32)
    net = BetaVAE(
        2,
        encoder=ConvEncoder,
        encoder__channels=(4,),
        decoder=SpatialBroadcastDecoder,
        decoder__channels=(5,),
        max_epochs=1,
        random_state=0,
    ).fit(X)
    assert net.module_.encoder.layers[0].out_channels == 4
    assert net.module_.decoder.layers[0].out_channels == 5


def test_default_conv_pair_is_that_of_burgess():
    with torch.device("meta"):
        pair = make_pair("burgess", (3, 240, 320), 10)
        alone = ConvEncoder((3, 240, 320), 20), ConvDecoder(10, (3, 240, 320))
    assert [str(part) for part in pair] == [str(part) for part in alone]


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", CONVOLUTIONAL)
def test_images_too_small_are_named_with_the_least_size(architecture):
    least = 2 * LEAST_MAP[architecture]
    side = least - 1
    message = (
        rf"architecture='{architecture}' takes images \(C, H, W\) of at least {least} x {least} "
        rf"pixels, got \(1, {side}, 64\)\. Enlarge"
    )
    with pytest.raises(ValueError, match=message):
        make_pair(architecture, (1, side, 64), 2)
    with torch.device("meta"):
        make_pair(architecture, (1, least, least), 2)


@pytest.mark.parametrize("architecture", CONVOLUTIONAL)
def test_rows_are_not_images(architecture):
    with pytest.raises(ValueError, match=r"takes images \(C, H, W\), got .* shape \(10,\)\. Use"):
        make_pair(architecture, (10,), 2)
    with pytest.raises(ValueError, match="ConvEncoder takes images"):
        make_pair(architecture, (10,), 2, channels=(3,))


def test_more_convolutions_than_halvings_are_refused():
    with pytest.raises(ValueError, match=r"4 convolutions, .* \(1, 9, 64\) can be halved 3 times"):
        make_pair("burgess", (1, 9, 64), 2, channels=(2, 2, 2, 2))
    encoder, _ = make_pair("burgess", (1, 9, 64), 2, channels=(2, 2, 2))
    assert encoder(torch.zeros(1, 1, 9, 64)).shape == (1, 4)


@pytest.mark.parametrize("architecture", ["mlp", "chen_mlp"])
def test_dense_families_have_no_channels(architecture):
    with pytest.raises(ValueError, match=rf"'{architecture}' has no convolutions.*got \(3,\)"):
        make_pair(architecture, (1, 8, 8), 2, channels=(3,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"architecture": "burges"}, r"'architecture' .* among .*'burgess'.* Got 'burges'"),
        ({"n_components": 0}, "'n_components' .* Got 0"),
        ({"n_outputs": 0}, "'n_outputs' .* Got 0"),
        ({"channels": (4, 0)}, r"channels must hold positive integers, got \(4, 0\)"),
        ({"channels": ()}, r"channels must hold at least 1 integer, got \(\)"),
        ({"channels": 4}, "'channels' .* array-like or None. Got 4"),
        ({"hidden_sizes": (4, 1.5)}, "hidden_sizes must hold positive integers"),
        ({"hidden_sizes": "ab"}, "'hidden_sizes' .* Got 'ab'"),
        ({"input_shape": (1, -8, 8)}, "input_shape must hold positive integers"),
        ({"input_shape": 64}, "'input_shape' .* Got 64"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    good = {"architecture": "burgess", "input_shape": (1, 16, 16), "n_components": 2}
    with pytest.raises(ValueError, match=message):
        make_pair(**{**good, **arguments})


def test_misspelt_module_parameter_is_refused():
    X = np.zeros((4, 8, 8), np.float32)
    with pytest.raises(TypeError, match="chanels"):
        BetaVAE(2, module__chanels=(4,)).fit(X)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Autoencoder((4,), 0),
        lambda: ConvEncoder((1, 8, 8), 0),
        lambda: ConvDecoder(0, (1, 8, 8)),
        lambda: MLPEncoder((4,), 0),
        lambda: MLPDecoder(0, (4,)),
        lambda: SpatialBroadcastDecoder(0, (1, 8, 8)),
        lambda: Discriminator(0),
        lambda: FactorizedFlow(0),
    ],
)
def test_modules_check_their_parameters(build):
    with pytest.raises(ValueError, match=r"'n_(components|outputs)' .* \[1, inf\)\. Got 0"):
        build()
