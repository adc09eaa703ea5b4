"""InfoMEC: shares by hand, neighbours against scikit-learn, and the linear predictor."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import infoc_score, infoe_score, infom_score
from sklearn_disent.metrics.information import _infomec
from sklearn_disent.metrics.information._infomec import _excess_share, _neighbor_distance


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(n, size=500) for n in (2, 3, 7)])
    return factors, factors @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(500, 4))


def test_excess_share_by_hand():
    matrix = np.array([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(_excess_share(matrix, axis=0), [2 * (3 / 4 - 1 / 2), 0, 0])
    np.testing.assert_allclose(
        _excess_share(matrix, axis=1), [1.5 * (3 / 4 - 1 / 3), 1.5 * (1 / 2 - 1 / 3)]
    )
    np.testing.assert_array_equal(_excess_share(matrix[:1], axis=0), [1, 1, 0])


@pytest.mark.parametrize("k", [1, 2, 5])
def test_neighbor_distance_equals_brute_force(k):
    values = np.sort(np.random.default_rng(0).normal(size=6))
    expected = np.sort(np.abs(values[:, None] - values), axis=1)[:, k]
    np.testing.assert_array_equal(_neighbor_distance(values, k), expected)


@pytest.mark.parametrize("n_neighbors", [3, 10])
@pytest.mark.parametrize(
    ("rare_classes", "tolerance"),
    # In classes as small as the neighbourhood, scikit-learn rounds distances differently, which
    # may count one sample more or less.
    [(False, 1e-9), (True, 1e-4)],
)
def test_neighbours_information_equals_sklearn(data, n_neighbors, rare_classes, tolerance):
    factors, codes = data
    if rare_classes:
        factors[0, 2], factors[1:4, 2] = 7, 8
    _, matrix = infom_score(
        factors, codes, n_neighbors=n_neighbors, random_state=0, return_matrix=True
    )
    for y, row in zip(factors.T, matrix):
        share = np.bincount(y) / len(y)
        entropy = -share @ np.log(share)
        expected = mutual_info_classif(codes, y, n_neighbors=n_neighbors, random_state=0)
        np.testing.assert_allclose(row, expected / entropy, rtol=0, atol=tolerance)


def test_neighbours_of_all_different_classes_know_nothing():
    factors = np.arange(6)[:, None]
    codes = np.random.default_rng(0).normal(size=(6, 2))
    assert infoc_score(factors, codes, random_state=0) == 0


def test_normalised_information_stays_within_one(data):
    factors = data[0]
    codes = factors + 1e-3 * np.random.default_rng(0).normal(size=factors.shape)
    _, matrix = infoc_score(factors, codes, random_state=0, return_matrix=True)
    assert matrix.max() == 1
    assert matrix.min() == 0


def test_inactive_codes_are_left_out(data):
    factors, codes = data
    faint = np.column_stack([codes, 0.01 * codes[:, 0], np.full(500, 0.3)])
    options = {"method": "binned", "average": None}
    values = infom_score(factors, faint, **options)
    np.testing.assert_array_equal(np.isnan(values), [False] * 4 + [True] * 2)
    np.testing.assert_array_equal(values[:4], infom_score(factors, codes, **options))
    np.testing.assert_array_equal(
        infoc_score(factors, faint, **options), infoc_score(factors, codes, **options)
    )
    assert np.isnan(infom_score(factors, faint, min_range=0.0, **options)).sum() == 1


@pytest.mark.parametrize("metric", [infom_score, infoc_score])
def test_matrix_does_not_change_the_score(data, metric):
    score, matrix = metric(*data, random_state=0, return_matrix=True)
    assert score == metric(*data, random_state=0)
    assert matrix.shape == (3, 4)


@pytest.mark.parametrize(
    "options", [{"sample_weight": np.ones(500)}, {"bias_correction": "permutation"}]
)
def test_neighbours_refuse_what_needs_counts(data, options):
    with pytest.raises(ValueError, match="method='binned'"):
        infom_score(*data, **options)


@pytest.mark.parametrize("metric", [infom_score, infoc_score, infoe_score])
@pytest.mark.filterwarnings("ignore:None of the codes")
def test_constant_codes_warn_and_score_zero(metric, data):
    with pytest.warns(DegenerateScoreWarning, match="All codes are constant"):
        assert metric(data[0], np.full((500, 2), 0.3)) == 0


def test_infoe_equals_balanced_log_loss(data):
    factors, codes = data
    scaled = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    expected = []
    for y in factors.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced").fit(scaled, y)
        expected.append(1 - log_loss(y, model.predict_proba(scaled)) / np.log(y.max() + 1))
    np.testing.assert_allclose(infoe_score(factors, codes, average=None), expected, atol=1e-6)


def test_infoe_by_the_quicker_solver_is_the_same(data, monkeypatch):
    few = infoe_score(*data, average=None)
    monkeypatch.setattr(_infomec, "_MANY_ROWS", 0)
    # Both stop near the optimum, where depends on rounding: 5.01e-5 was seen.
    np.testing.assert_allclose(infoe_score(*data, average=None), few, atol=2e-4)


def test_infoe_takes_any_classifier(data):
    factors, codes = data
    forest = RandomForestClassifier(10, max_depth=8, random_state=0)
    bent = codes**2
    assert infoe_score(factors, bent, predictor=forest) > infoe_score(factors, bent)
    assert not hasattr(forest, "estimators_")


def test_infoe_names_classifiers_without_weights(data):
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="the fit of Pipeline takes no sample_weight"):
        infoe_score(*data, predictor=scaled)


def test_infoe_of_continuous_factors_is_explained_variance():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(300, 2))
    factors = np.column_stack([codes @ [1.0, 2.0], codes @ [1.0, 0.0] + rng.normal(size=300)])
    values = infoe_score(factors, codes, average=None)
    expected = np.corrcoef(codes[:, 0], factors[:, 1])[0, 1] ** 2
    np.testing.assert_allclose(values, [1, expected], atol=0.01)


def test_infoe_does_not_ask_for_disentangled_codes(data):
    factors = data[0]
    rotated = factors @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert infoe_score(factors, rotated) > 0.99
    assert infom_score(factors, rotated, random_state=0) < 0.7
