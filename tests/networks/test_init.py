"""Initial weights keep the size of activations."""

import pytest
import torch

from sklearn_disent.networks import make_pair


def test_he_init_keeps_the_scale_of_signals_through_encoder_and_decoder():
    torch.manual_seed(0)
    x = torch.randn(64, 1, 32, 32)
    for init, low, high in (("he", 0.3, 3.0), ("torch", 0.0, 0.1)):
        encoder, decoder = make_pair("burgess", (1, 32, 32), 10, init=init)
        with torch.no_grad():
            assert low < encoder(x).std(0).mean() < high
            assert low < decoder(torch.randn(64, 10)).std(0).mean() < high


def test_unknown_init_is_named():
    with pytest.raises(ValueError, match=r"'init' .* a str among .*'he'.* Got 'ones'"):
        make_pair("mlp", (4,), 2, init="ones")
