"""Logical metrics where answers are wrong, and whatever the scale of the codes."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA

from sklearn_disent.datasets import make_logical_codes
from sklearn_disent.logic import properties
from sklearn_disent.metrics import (
    classes_from_pairs,
    constancy_modularity_score,
    contraction_informativeness_score,
    disentanglement_report,
    get_scorer,
    modularity_distance,
    product_modularity_score,
)
from sklearn_disent.metrics.logical._assignment import scale_codes, total_spread


def wrong_answers(data, share, rng, n_rows=100):
    """All pairs among some samples, and what is said of them."""
    rows = rng.choice(len(data.target), n_rows, replace=False)
    pairs = np.array(list(combinations(rows, 2)))
    same = data.target[pairs[:, 0]] == data.target[pairs[:, 1]]
    return pairs, same ^ (rng.random(same.shape) < share)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.005, 0.02])
def test_modularity_of_perfect_codes_survives_wrong_pairs(share):
    data = make_logical_codes("nonlinear")
    rng = np.random.default_rng(0)
    for _ in range(3):
        pairs, same = wrong_answers(data, share, rng)
        rows, classes = classes_from_pairs(pairs, same, method="agreement")
        robust = product_modularity_score(classes, data.codes[rows], groups=data.blocks)
        direct = properties.modularity_by_pairs().score_of_pairs(pairs, same, data.codes)
        assert robust > 0.9
        assert direct > 0.9


@pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")
def test_closure_does_not_survive_wrong_pairs():
    data = make_logical_codes("nonlinear")
    pairs, same = wrong_answers(data, 0.02, np.random.default_rng(0))
    rows, classes = classes_from_pairs(pairs, same, contradictions="ignore")
    assert product_modularity_score(classes, data.codes[rows], groups=data.blocks) < 0.1


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-12, 1e160])
def test_codes_of_any_size_have_the_unit_scale(scale):
    whole = np.arange(12.0).reshape(6, 2) % 5
    expected = scale_codes(whole, "unit")
    np.testing.assert_allclose(scale_codes(whole * scale, "unit"), expected, rtol=1e-12)
    assert total_spread(expected) == pytest.approx(1.0)


def test_agreeing_classes_are_the_true_ones_without_wrong_answers():
    data = make_logical_codes("nonlinear")
    pairs, same = wrong_answers(data, 0.0, np.random.default_rng(0))
    closure = classes_from_pairs(pairs, same)
    agreement = classes_from_pairs(pairs, same, method="agreement")
    assert_array_equal(closure[0], agreement[0])
    assert_array_equal(closure[1], agreement[1])


def test_agreement_splits_a_class_that_one_wrong_link_joins():
    # Two triangles and a link between them, which the other pairs across contradict.
    pairs = np.array([(i, j) for i in range(6) for j in range(i)])
    truth = np.array([0, 0, 0, 1, 1, 1])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    same[np.flatnonzero((pairs == (3, 2)).all(axis=1))] = True
    classes = classes_from_pairs(pairs, same[:, None], method="agreement")[1]
    assert classes.ravel().tolist() == [0, 0, 0, 1, 1, 1]
    joined = classes_from_pairs(pairs, same[:, None], contradictions="ignore")[1]
    assert joined.ravel().tolist() == [0] * 6


@pytest.mark.parametrize("metric", [product_modularity_score, constancy_modularity_score])
def test_unit_scale_is_free_of_the_scale_of_the_codes(metric):
    data = make_logical_codes("rotation", n_levels=5, random_state=0)
    options = {"groups": data.blocks, "code_scale": "unit"}
    expected = metric(data.target, data.codes, **options)
    assert expected < 0.5
    for scale in (1e-3, 1e3):
        assert metric(data.target, scale * data.codes, **options) == pytest.approx(expected)
    assert metric(data.target, 1e-3 * data.codes, groups=data.blocks) > 0.99


def test_unit_variance_is_the_share_that_is_not_explained():
    data = make_logical_codes("entanglement", n_levels=5)
    distance = modularity_distance(
        data.target, data.codes, groups=data.blocks, code_scale="unit", average=None
    )
    for k, value in enumerate(distance):
        means = {v: data.codes[data.target[:, k] == v, k].mean() for v in range(5)}
        explained = np.var([means[v] for v in data.target[:, k]]) / data.codes[:, k].var()
        assert value == pytest.approx(1 - explained)


def test_unit_contraction_is_zero_for_scaled_factors():
    data = make_logical_codes("contraction", n_levels=5)
    score = contraction_informativeness_score(data.factors, data.codes, code_scale="unit")
    assert score == pytest.approx(1.0)
    assert contraction_informativeness_score(data.factors, data.codes) < 0.6


def test_scorers_and_reports_have_unit_scale_by_default():
    data = make_logical_codes("rotation", n_levels=5, random_state=0)
    small = 1e-3 * data.codes
    report = disentanglement_report(
        data.target, small, metrics=["product_modularity"], output="dict"
    )
    expected = product_modularity_score(data.target, small, code_scale="unit")
    assert report["product_modularity"]["value"] == expected < 0.6
    scorer = get_scorer("product_modularity")
    model = PCA().fit(small)
    codes = model.transform(small)
    assert scorer(model, small, data.target) == pytest.approx(
        product_modularity_score(data.target, codes, code_scale="unit")
    )
    given = get_scorer("product_modularity", code_scale="given")
    assert given(model, small, data.target) == product_modularity_score(data.target, codes)
