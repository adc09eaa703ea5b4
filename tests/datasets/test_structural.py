"""What holds for every set whose factors cause one another."""

import numpy as np
import pytest

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import make_flow, make_pendulum
from sklearn_disent.datasets._structural import coverage, interval

MAKERS = [make_pendulum, make_flow]
# For tests of the factors alone: drawing takes most of the time.
SMALL = {"random_state": 0, "image_size": 32}
# For each set: an effect, a value within its range, and a list of them.
EFFECTS = {
    make_pendulum: ("shadow_position", 10.5, np.linspace(3, 19, 9)),
    make_flow: ("water_flow", 3.0, np.linspace(2, 6, 9)),
}
EDGES = {
    make_pendulum: [(0, 2), (0, 3), (1, 2), (1, 3)],
    make_flow: [(0, 1), (1, 3), (2, 3)],
}


@pytest.mark.parametrize("make", MAKERS)
def test_causal_graph_has_the_published_arrows_in_causal_order(make):
    data = make(5, random_state=0)
    assert list(zip(*np.nonzero(data.graph))) == EDGES[make]
    assert data.graph.dtype == np.int64
    # Causes come before effects.
    assert not np.tril(data.graph).any()


@pytest.mark.parametrize("make", MAKERS)
def test_causal_graph_is_that_of_the_numbers(make):
    # An effect depends on its parents, and given them on nothing else: moving any other factor by
    # an intervention leaves it as it was.
    whole = make(800, **SMALL)
    for i, name in enumerate(whole.factor_names):
        low, high = whole.factors[:, i].min(), whole.factors[:, i].max()
        fixed = {
            other: float(np.median(whole.factors[:, j]))
            for j, other in enumerate(whole.factor_names)
            if j != i
        }
        for j, effect in enumerate(whole.factor_names):
            if i == j:
                continue
            held = {other: value for other, value in fixed.items() if other != effect}
            moved = make(indices=[1, 1], do={**held, name: float(low)}).factors[:, j]
            again = make(indices=[1, 1], do={**held, name: float(high)}).factors[:, j]
            assert (not np.allclose(moved, again)) == bool(whole.graph[i, j])


@pytest.mark.parametrize("make", MAKERS)
def test_causal_intervention_cuts_the_causes(make):
    name, _, values = EFFECTS[make]
    seen = make(3000, **SMALL)
    done = make(3000, do={name: values}, **SMALL)
    effect = seen.factor_names.index(name)
    np.testing.assert_array_equal(done.indices, seen.indices)
    np.testing.assert_array_equal(done.exogenous, seen.exogenous)
    assert done.graph[:, effect].sum() == 0
    other_columns = np.arange(4) != effect
    np.testing.assert_array_equal(done.graph[:, other_columns], seen.graph[:, other_columns])
    parents = np.flatnonzero(seen.graph[:, effect])
    before = np.corrcoef(seen.factors.T)[effect, parents]
    after = np.corrcoef(done.factors.T)[effect, parents]
    assert np.abs(before).max() > 0.4
    # Standard error 1 / sqrt(3000) = .018.
    assert np.abs(after).max() < 0.06
    # Chi-square of independence, at most 3 times its expectation.
    for parent in parents:
        bins = np.digitize(
            done.factors[:, parent], np.quantile(done.factors[:, parent], [0.25, 0.5, 0.75])
        )
        table = np.zeros((4, len(values)))
        np.add.at(table, (bins, np.searchsorted(values, done.factors[:, effect])), 1)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        assert ((table - expected) ** 2 / expected).sum() < 3 * 3 * (len(values) - 1)
    counts = np.unique(done.factors[:, effect], return_counts=True)[1]
    assert len(counts) == len(values)
    assert np.abs(counts - 3000 / len(values)).max() < 80


@pytest.mark.parametrize("make", MAKERS)
def test_causal_intervention_on_a_constant_and_its_twin(make):
    name, value, _ = EFFECTS[make]
    indices = np.arange(0, 7000, 500)
    seen, done = make(indices=indices), make(indices=indices, do={name: value})
    effect = seen.factor_names.index(name)
    assert (done.factors[:, effect] == value).all()
    rest = np.arange(4) != effect
    np.testing.assert_array_equal(done.factors[:, rest], seen.factors[:, rest])
    assert f"do({name} = {value:g})" in done.DESCR
    assert "do(" not in seen.DESCR
    assert (done.images != seen.images).any(axis=(1, 2, 3)).sum() >= len(indices) - 1
    # To set an effect to what it is anyway changes nothing.
    same = make(indices=indices[:1], do={name: float(seen.factors[0, effect])})
    np.testing.assert_array_equal(same.images, seen.images[:1])


@pytest.mark.parametrize("make", MAKERS)
def test_causal_noise_belongs_to_seed_and_index(make):
    plain = make(600, **SMALL)
    noisy = make(600, noise=0.1, **SMALL)
    np.testing.assert_array_equal(noisy.indices, plain.indices)
    np.testing.assert_array_equal(noisy.exogenous, plain.exogenous)
    effects = plain.graph.sum(axis=0) > 0
    np.testing.assert_array_equal(noisy.factors[:, ~effects], plain.factors[:, ~effects])
    first = int(np.argmax(effects))
    assert (noisy.factors - plain.factors)[:, first].std() == pytest.approx(0.1, rel=0.15)
    for name, column in zip(plain.factor_names, noisy.factors.T):
        low, high = make.__wrapped__.__globals__["MODEL"].ranges[name]
        assert low <= column.min() <= column.max() <= high
    part = make(indices=plain.indices[[5, 3]], noise=0.1, **SMALL)
    np.testing.assert_array_equal(part.factors, noisy.factors[[5, 3]])
    assert "standard deviation 0.1" in noisy.DESCR


@pytest.mark.parametrize("make", MAKERS)
def test_causal_target_holds_the_nearest_class(make):
    data = make(500, n_bins=7, **SMALL)
    assert sum(size == 7 for size in data.factor_sizes) == 2
    for column, classes, name in zip(data.factors.T, data.target.T, data.factor_names):
        distance = np.abs(column[:, None] - data.factor_values[name])
        np.testing.assert_allclose(distance[np.arange(500), classes], distance.min(axis=1))
    X, y = make(500, n_bins=7, return_X_y=True, **SMALL)
    np.testing.assert_array_equal(X, data.images)
    np.testing.assert_array_equal(y, data.target)


@pytest.mark.parametrize("make", MAKERS)
def test_causal_small_images_show_the_same(make):
    large = make(40, random_state=0).images
    small = make(40, random_state=0, image_size=32).images
    means = large.reshape(-1, 32, 2, 32, 2, 3).mean(axis=(2, 4))
    assert np.abs(small - means).max() < 60
    assert np.abs(small - means).mean() < 1


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ({"weather": 1.0}, "'weather', which is not a factor. The factors are"),
        ({"hole_position": 9.0}, r"must lie in \[2, 4.66667\], the range of this factor, got 9.0"),
        ({"hole_position": [3.0, 0.0]}, "got 0.0"),
        ({"hole_position": []}, "a non-empty list"),
        ({"hole_position": "low"}, "must be a number"),
    ],
)
def test_causal_refuses_impossible_interventions(do, message):
    with pytest.raises(ValueError, match=message):
        make_flow(3, do=do)


@pytest.mark.parametrize("make", MAKERS)
def test_causal_refuses_bad_parameters(make):
    for options in ({"noise": -1}, {"n_bins": 1}, {"image_size": 96}, {"do": [("a", 1)]}):
        with pytest.raises(InvalidParameterError):
            make(3, **options)
    with pytest.raises(ValueError, match="Unknown factor 'water_flow'"):
        make_flow(factors={"water_flow": 1})


def test_drawing_interval_shares_pixels_exactly():
    edges = np.arange(6.0)
    np.testing.assert_allclose(interval(1.25, 3.5, edges), [0, 0.75, 1, 0.5, 0])
    np.testing.assert_allclose(
        interval([0, 4.9], [0.5, 9], edges), [[0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0.1]], atol=1e-6
    )
    np.testing.assert_allclose(
        coverage(np.array([-1, -0.1, 0, 0.1, 1]), 0.4), [1, 0.75, 0.5, 0.25, 0]
    )
