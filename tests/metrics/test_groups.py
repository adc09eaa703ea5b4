"""Codes in groups: units, projections, and what metrics make of them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_disent.metrics import (
    GroupProjection,
    dci_disentanglement_score,
    dci_scores,
    factor_vae_score,
    mig_score,
    relevance_matrix,
    sap_score,
)
from sklearn_disent.metrics._groups import units_of

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(4, size=(600, 2))
# Each factor spread over three columns of a unit, none of which holds it alone.
CIRCLE = np.column_stack(
    [part for y in FACTORS.T for part in (np.cos(y * np.pi / 2), np.sin(y * np.pi / 2))]
)


@parametrize_with_checks([GroupProjection(), GroupProjection(method="pls")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_units_by_number_and_by_list():
    assert [unit.tolist() for unit in units_of(2, 4)] == [[0, 1], [2, 3]]
    assert [unit.tolist() for unit in units_of([[3], [0, 2]], 4)] == [[3], [0, 2]]
    assert len(units_of(None, 4)) == 4


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (3, "must divide the number of codes, got 4"),
        ([[0, 1], [1]], "each column at most once"),
        ([[4]], "of 0 to 3"),
        ([[]], "list of lists of column numbers"),
        ([[0.5]], "list of lists of column numbers"),
        ([], "list of lists of column numbers"),
        (True, "must be an int"),
    ],
)
def test_wrong_groups_are_named(groups, match):
    with pytest.raises(ValueError, match=match):
        mig_score(FACTORS, CIRCLE, groups=groups)


def test_projection_is_the_first_principal_component():
    X = RNG.normal(size=(200, 3)) @ RNG.normal(size=(3, 3))
    own = GroupProjection([[0, 1, 2]]).fit_transform(X)
    expected = PCA(1).fit_transform(X)
    assert np.allclose(np.abs(own), np.abs(expected))


def test_single_columns_pass_unchanged():
    X = RNG.normal(size=(50, 3))
    out = GroupProjection([[2], [0, 1]]).fit_transform(X)
    assert np.array_equal(out[:, 0], X[:, 2])
    assert np.array_equal(GroupProjection().fit_transform(X), X)


def test_projection_onto_factors_finds_what_varies_less():
    y = RNG.normal(size=(300, 1))
    X = np.column_stack([10 * RNG.normal(size=300), y[:, 0]])
    blind = GroupProjection(2).fit_transform(X)
    guided = GroupProjection(2, method="pls").fit(X, y).transform(X)
    corr = [abs(np.corrcoef(part[:, 0], y[:, 0])[0, 1]) for part in (blind, guided)]
    assert corr[0] < 0.3 < 0.6 < corr[1]
    with pytest.raises(ValueError, match="requires y"):
        GroupProjection(2, method="pls").fit(X)


def test_projection_works_in_a_pipeline():
    pipeline = make_pipeline(PCA(4), GroupProjection(2)).fit(CIRCLE)
    assert pipeline.transform(CIRCLE).shape == (600, 2)


def test_dci_adds_up_importances():
    single = dci_scores(FACTORS, CIRCLE, random_state=0)
    units = dci_scores(FACTORS, CIRCLE, groups=2, random_state=0)
    assert units.completeness > 0.99 > single.completeness
    assert units.informativeness == single.informativeness
    importance = relevance_matrix(FACTORS, CIRCLE, kind="importance", random_state=0)
    added = importance.reshape(2, 2, 2).sum(axis=2)
    assert added.argmax(axis=1).tolist() == [0, 1]
    assert dci_disentanglement_score(FACTORS, CIRCLE, groups=2, random_state=0) > 0.99


def test_units_beat_their_columns_where_a_factor_is_a_circle():
    assert sap_score(FACTORS, CIRCLE) < sap_score(FACTORS, CIRCLE, groups=2)
    draws = {"n_train": 500, "n_eval": 500, "random_state": 0}
    assert factor_vae_score(FACTORS, CIRCLE, groups=2, **draws) == 1.0


def test_columns_in_no_unit_are_left_out():
    extended = np.hstack([CIRCLE, FACTORS[:, ::-1]])
    groups = [[0, 1], [2, 3]]
    for metric in (dci_disentanglement_score, factor_vae_score):
        expected = metric(FACTORS, CIRCLE, groups=groups, random_state=0)
        assert metric(FACTORS, extended, groups=groups, random_state=0) == expected
