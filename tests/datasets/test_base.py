"""The factor grid and the choice of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_disent.datasets._base import FactorGrid, make_bunch

SMALL = FactorGrid({"a": np.arange(2), "b": np.array(["x", "y", "z"]), "c": np.arange(4.0)})


def test_grid_last_factor_varies_fastest():
    classes = SMALL.to_classes(np.arange(24))
    assert classes[:5].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 1, 0]]
    assert classes.dtype == np.int64
    assert SMALL.sizes == (2, 3, 4)
    assert len(SMALL) == 24


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_grid_indices_and_classes_are_inverse(sizes):
    grid = FactorGrid({f"f{i}": np.arange(size) for i, size in enumerate(sizes)})
    everything = np.arange(len(grid))
    np.testing.assert_array_equal(grid.to_indices(grid.to_classes(everything)), everything)


@given(
    st.sets(st.integers(0, 1), min_size=1),
    st.sets(st.integers(0, 2), min_size=1),
    st.sets(st.integers(0, 3), min_size=1),
)
def test_subgrid_holds_exactly_the_named_classes(a, b, c):
    classes = SMALL.to_classes(np.arange(24))
    wanted = [i for i, (x, y, z) in enumerate(classes.tolist()) if x in a and y in b and z in c]
    assert SMALL.subgrid({"c": sorted(c), "a": sorted(a), "b": sorted(b)}).tolist() == wanted


def test_select_draws_without_replacement_from_the_subgrid():
    drawn = SMALL.select(8, factors={"a": 1}, random_state=0)
    assert len(set(drawn.tolist())) == 8
    assert (SMALL.to_classes(drawn)[:, 0] == 1).all()


def test_select_draws_every_row_equally_often():
    counts = np.zeros(24)
    for seed in range(600):
        counts[SMALL.select(6, random_state=seed)] += 1
    # Each row is drawn with probability 1/4: 150 times, standard deviation 10.6.
    assert np.abs(counts - 150).max() < 45


def test_select_repeats_with_the_same_seed_and_not_with_another():
    first = SMALL.select(10, random_state=3)
    np.testing.assert_array_equal(first, SMALL.select(10, random_state=3))
    assert first.tolist() != SMALL.select(10, random_state=4).tolist()


def test_select_without_shuffle_is_row_major():
    assert SMALL.select(shuffle=False).tolist() == list(range(24))
    drawn = SMALL.select(10, shuffle=False, random_state=0)
    assert (np.diff(drawn) > 0).all()
    assert SMALL.select(random_state=0).tolist() != list(range(24))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factors": {"d": 0}}, "Unknown factor 'd'. The factors are a, b, c"),
        ({"factors": {"b": 3}}, r"factors\['b'\] must hold classes in \[0, 2\], got 3"),
        ({"factors": {"b": [-1, 0]}}, "got -1"),
        ({"factors": {"b": []}}, "non-empty"),
        ({"factors": {"b": [0.5]}}, "integer class"),
        ({"factors": {"b": "x"}}, "integer class"),
        ({"factors": {"b": [1, 1]}}, "each class once"),
        ({"n_samples": 25}, "n_samples=25 rows .* the data set, which has 24"),
        ({"n_samples": 5, "factors": {"b": 0, "c": 1}}, "the part that factors selects.* has 2"),
        ({"n_samples": 2, "indices": [0]}, "n_samples must be None"),
        ({"factors": {"a": 0}, "indices": [0]}, "factors must be None"),
        ({"indices": [24]}, r"\[0, 23\], got 24 at position 0"),
        ({"indices": [0, -1]}, "got -1 at position 1"),
        ({"indices": [[0]]}, "1D"),
        ({"indices": []}, "non-empty"),
        ({"indices": [0.5]}, "integers"),
        ({"indices": [True, False]}, "flatnonzero"),
    ],
)
def test_select_refuses_impossible_requests(arguments, message):
    with pytest.raises(ValueError, match=message):
        SMALL.select(**arguments)


def test_bunch_data_is_a_view_of_the_images():
    images = np.zeros((2, 3, 3), dtype=np.uint8)
    bunch = make_bunch(images, np.zeros((2, 3), dtype=int), SMALL.values, "text", extra=1)
    assert np.shares_memory(bunch.data, images)
    assert bunch.data.shape == (2, 9)
    assert bunch.factor_names == ["a", "b", "c"]
    assert bunch.factor_sizes == (2, 3, 4)
    assert bunch.extra == 1
