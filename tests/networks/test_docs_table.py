"""The table of families in the API reference, computed anew; its example, run."""

import doctest
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from sklearn_disent.networks import architecture_names, make_pair

PAGE = (Path(__file__).parents[2] / "docs" / "api" / "networks.rst").read_text()
# Every row of the list-table: its cells in order.
ROWS = [
    [cell.strip() for cell in re.findall(r"^ {3}[* ] - (.*)$", row, flags=re.M)]
    for row in re.findall(r"^ {3}\* - ``.*\n(?: {5}- .*\n)+", PAGE, flags=re.M)
]


def test_example_of_the_page_runs():
    example = doctest.DocTestParser().get_doctest(PAGE, {}, "networks.rst", None, 0)
    assert len(example.examples) == 5
    assert doctest.DocTestRunner().run(example).failed == 0


def widths(network, kinds):
    """Output channels or units of the layers of these kinds, without the last layer of all."""
    layers = [m for m in network.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    sizes = [layer.weight.shape[0] for layer in layers[:-1] if isinstance(layer, kinds)]
    return ", ".join(map(str, sizes)) or "none"


def test_table_lists_every_family_once():
    assert sorted(row[0] for row in ROWS) == sorted(f"``{name}``" for name in architecture_names())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_table_has_the_layers_and_counts_of_the_modules(row):
    name, channels, dense, decoder_text, *counts, _ = row
    with torch.device("meta"):
        encoder, decoder = make_pair(name.strip("`"), (3, 64, 64), 10)
    assert widths(encoder, nn.Conv2d) == channels
    assert widths(encoder, nn.Linear) == dense
    if decoder_text != "mirror":
        assert widths(decoder, nn.Conv2d | nn.Linear) in decoder_text
    for network, count in zip((encoder, decoder), counts, strict=True):
        assert f"{sum(p.numel() for p in network.parameters()):,}" == count
