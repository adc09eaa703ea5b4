"""Initial weights keep the size of activations."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sklearn_disent.models import BetaVAE, InfoGAN
from sklearn_disent.networks import make_pair


def test_he_init_keeps_the_scale_of_signals_through_encoder_and_decoder():
    torch.manual_seed(0)
    x = torch.randn(64, 1, 32, 32)
    for init, low, high in (("he", 0.3, 3.0), ("torch", 0.0, 0.1)):
        encoder, decoder = make_pair("burgess", (1, 32, 32), 10, init=init)
        with torch.no_grad():
            assert low < encoder(x).std(0).mean() < high
            assert low < decoder(torch.randn(64, 10)).std(0).mean() < high


IMAGES, ROWS = np.zeros((4, 8, 8), np.float32), np.zeros((4, 9), np.float32)


@pytest.mark.parametrize(
    ("model", "X", "init"),
    [
        (BetaVAE(2), IMAGES, "he"),
        (BetaVAE(2, architecture="mlp"), IMAGES, "he"),
        (BetaVAE(2), ROWS, "torch"),
        (InfoGAN(2), IMAGES, "torch"),
        (InfoGAN(2, architecture="mlp"), IMAGES, "torch"),
        (InfoGAN(2, module__init="auto"), IMAGES, "torch"),
    ],
    ids=str,
)
def test_only_autoencoders_of_images_begin_with_he_weights(model, X, init):
    model.set_params(max_epochs=0, random_state=0)
    given = [clone(model).set_params(module__init=i).fit(X) for i in ("he", "torch")]
    found, he, plain = (
        torch.nn.utils.parameters_to_vector(net.module_.parameters())
        for net in (model.fit(X), *given)
    )
    assert torch.equal(found, he) == (init == "he")
    assert torch.equal(found, plain) == (init == "torch")


def test_unknown_init_is_named():
    with pytest.raises(ValueError, match=r"'init' .* a str among .*'he'.* Got 'ones'"):
        make_pair("mlp", (4,), 2, init="ones")
