"""Scores of the codes alone."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    code_mutual_info_error,
    factorised_support_distance,
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    udr_score,
)
from sklearn_disent.metrics.independence._codes import _agreement

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ERRORS = [
    gaussian_total_correlation_error,
    gaussian_wasserstein_correlation_error,
    code_mutual_info_error,
    factorised_support_distance,
]
all_errors = pytest.mark.parametrize("error", ERRORS, ids=lambda f: f.__name__)


def correlated(r):
    """Two codes of variance 4/3 (four rows) whose correlation is r."""
    signs = 2 * CORNERS - 1
    return signs @ np.array([[1.0, r], [0.0, np.sqrt(1 - r**2)]])


@pytest.mark.parametrize("r", [0.0, 0.3, -0.9])
def test_total_correlation_of_two_codes(r):
    value = gaussian_total_correlation_error(correlated(r))
    assert value == pytest.approx(-0.5 * np.log(1 - r**2), abs=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.3, -0.9])
def test_wasserstein_correlation_of_two_codes(r):
    # Eigenvalues of variance^2 [[1, r], [r, 1]] are variance^2 (1 +- r).
    normed = 2 - np.sqrt(1 + r) - np.sqrt(1 - r)
    codes = correlated(r)
    value = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(normed, abs=1e-12)
    value = gaussian_wasserstein_correlation_error(codes * 3)
    assert value == pytest.approx(normed * 9 * 8 / 3, abs=1e-12)


@pytest.mark.parametrize("name", ["f1_complement", "f1_redundancy", "toy51_a0.25_d0.50"])
def test_total_correlation_of_dependent_codes_is_infinite(name, get_case):
    with pytest.warns(DegenerateScoreWarning, match="linearly dependent"):
        assert gaussian_total_correlation_error(get_case(name).codes) == np.inf


def test_total_correlation_of_more_codes_than_samples_is_infinite():
    codes = np.random.default_rng(0).normal(size=(5, 8))
    with pytest.warns(DegenerateScoreWarning, match="linearly dependent"):
        assert gaussian_total_correlation_error(codes) == np.inf


def test_wasserstein_correlation_of_equal_codes_is_exact():
    codes = np.repeat(np.random.default_rng(0).normal(size=(100, 1)), 4, axis=1)
    # W = 2 D v - 2 sqrt(D) v over D v, for D = 4.
    value = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_extreme_scales_neither_vanish_nor_overflow(scale):
    codes = correlated(0.5)
    value = gaussian_total_correlation_error(codes * scale)
    assert value == pytest.approx(gaussian_total_correlation_error(codes))
    value = gaussian_wasserstein_correlation_error(codes * scale, normalize=True)
    expected = gaussian_wasserstein_correlation_error(codes, normalize=True)
    assert value == pytest.approx(expected)
    value = factorised_support_distance(codes * scale, standardize=True)
    assert value == pytest.approx(factorised_support_distance(codes, standardize=True))


def test_code_mutual_info_averages_over_pairs():
    # Codes 0 and 2 are the same bit, 1 is another: two of six ordered pairs share log 2.
    codes = CORNERS[:, [0, 1, 0]]
    assert code_mutual_info_error(codes) == pytest.approx(np.log(2) / 3)


def test_code_mutual_info_permutation_correction_removes_chance():
    codes = np.random.default_rng(0).normal(size=(200, 3))
    plain = code_mutual_info_error(codes)
    corrected = code_mutual_info_error(codes, bias_correction="permutation", random_state=0)
    assert plain > 0.3
    assert corrected < 0.05


def test_support_distance_by_hand():
    assert factorised_support_distance(CORNERS) == 0.0
    assert factorised_support_distance(CORNERS[:3]) == 1.0
    # On the diagonal the corner (0, 3) is nearest to (2, 2): 4 + 1.
    assert factorised_support_distance(np.array([[0.0, 0], [2, 2], [3, 3]])) == 5.0
    assert factorised_support_distance(CORNERS[:3] * 2) == 4.0


@settings(derandomize=True, max_examples=25, deadline=None, database=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(2, 4))
def test_support_distance_equals_definition(seed, n, d):
    rng = np.random.default_rng(seed)
    z = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), rng.integers(2, size=(n, d)))
    z[0], z[1] = 0.0, 1.0
    expected = sum(
        max(
            min((z[a, i] - z[c, i]) ** 2 + (z[b, j] - z[c, j]) ** 2 for c in range(n))
            for a in range(n)
            for b in range(n)
        )
        for i in range(d)
        for j in range(i + 1, d)
    )
    assert factorised_support_distance(z) == pytest.approx(expected, abs=1e-12)


def test_support_distance_of_batches_repeats_and_is_larger():
    codes = np.random.default_rng(0).uniform(size=(300, 2))
    whole = factorised_support_distance(codes, batch_size=None)
    batches = [
        factorised_support_distance(codes, batch_size=50, random_state=seed) for seed in (0, 0, 1)
    ]
    assert batches[0] == batches[1] != batches[2]
    assert min(batches) > whole
    assert factorised_support_distance(codes, batch_size=300) == whole


def test_support_distance_ignores_frequency():
    often = np.repeat(CORNERS, [1, 50, 1, 700], axis=0)
    assert factorised_support_distance(often) == 0.0


@all_errors
def test_lone_code_depends_on_nothing(error):
    assert error(np.arange(9.0)[:, None]) == 0.0


@all_errors
def test_constant_code_is_as_good_as_none(error):
    codes = np.random.default_rng(0).normal(size=(100, 2))
    dead = np.full((100, 1), 0.3)
    if error is code_mutual_info_error:
        # It still counts as a code: two of six ordered pairs.
        assert error(np.hstack([codes, dead])) == pytest.approx(error(codes) / 3)
    else:
        assert error(np.hstack([codes, dead])) == pytest.approx(error(codes))


@all_errors
def test_all_missing_rows_leave_too_few(error):
    with pytest.raises(ValueError, match="At least 2 samples"):
        error(np.array([[1.0, 2.0], [np.nan, 1.0]]), nan_policy="omit")


@pytest.fixture
def udr_reference(reference_dir):
    with np.load(reference_dir / "udr.npz") as data:
        codes, kl = data["reps"], data["kl"]
    return codes, kl, json.loads((reference_dir / "udr.json").read_text())


# The Spearman reference without filter has nan for a code, which it counts as 0.
@pytest.mark.parametrize(("kind", "filtered"), [("lasso", 1), ("lasso", 0), ("spearman", 1)])
def test_udr_equals_reference(kind, filtered, udr_reference):
    codes, kl, reference = udr_reference
    expected = reference[f"{kind},filter_low_kl={bool(filtered)}"]["model_scores"]
    scores = udr_score(list(codes), kind=kind, kl=list(kl) if filtered else None)
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_udr_agreement_of_hand_made_matrices():
    assert _agreement(np.eye(3)) == 1.0
    assert _agreement(0.5 * np.eye(3)) == 0.5
    assert _agreement(np.ones((2, 4))) == (1 / 2 + 1 / 4) / 2
    assert _agreement(np.array([[1.0, 0.0]])) == (1 / 2 + 1) / 2
    assert _agreement(np.zeros((2, 2))) == 0.0
    assert _agreement(np.zeros((0, 2))) == 0.0


@pytest.mark.parametrize(("kind", "perfect"), [("lasso", 0.9), ("spearman", 1.0)])
def test_udr_forgives_order_sign_scale_and_shift(kind, perfect):
    # Whole grids, whose codes are uncorrelated exactly.
    codes = np.stack(np.meshgrid(range(5), range(4), range(3)), axis=-1).reshape(-1, 3) * 1.0
    models = [codes, codes[:, ::-1] * [-1.0, 2.0, 100.0] + 5.0]
    np.testing.assert_allclose(udr_score(models, kind=kind), perfect, atol=1e-9)
    # A rotated model agrees less.
    rotated = codes @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert udr_score([*models, rotated], kind=kind)[2] < perfect - 0.1


@pytest.mark.parametrize("kind", ["lasso", "spearman"])
def test_udr_leaves_constant_codes_out(kind, udr_reference):
    codes = list(udr_reference[0])
    dead = np.full((len(codes[0]), 1), 0.3)
    with_dead = [np.hstack([dead, codes[0]]), *codes[1:]]
    np.testing.assert_array_equal(udr_score(with_dead, kind=kind), udr_score(codes, kind=kind))


@pytest.mark.parametrize("kind", ["lasso", "spearman"])
def test_udr_of_a_model_without_informative_codes_is_zero(kind, udr_reference):
    codes = udr_reference[0][:2]
    with pytest.warns(DegenerateScoreWarning, match="Model 1 has no informative code"):
        scores = udr_score([codes[0], np.full((1000, 2), 0.3)], kind=kind)
    np.testing.assert_array_equal(scores, [0.0, 0.0])
    with pytest.warns(DegenerateScoreWarning, match="Model 0 has no informative code"):
        scores = udr_score(codes, kind=kind, kl=[np.zeros(4), np.ones(4)])
    np.testing.assert_array_equal(scores, [0.0, 0.0])


def test_udr_takes_models_of_different_width_and_frames(udr_reference):
    pd = pytest.importorskip("pandas")
    one, two = udr_reference[0][:2]
    scores = udr_score([one[:, :3], two])
    assert scores.shape == (2,)
    frames = [pd.DataFrame(one[:, :3]), pd.DataFrame(two)]
    np.testing.assert_array_equal(udr_score(frames), scores)


@pytest.mark.parametrize(
    ("codes", "kl", "match"),
    [
        ([np.ones((5, 2))], None, "two or more 2D arrays"),
        (np.ones((5, 2)), None, "two or more 2D arrays"),
        ([np.eye(5), np.eye(4)], None, r"same samples in the same order, got \[5, 4\] rows"),
        ([np.eye(4), np.eye(4)], [np.ones(4), np.ones(3)], "one value per code of every model"),
        ([np.eye(4), np.full((4, 2), np.nan)], None, "NaN"),
        ([np.eye(4), np.full((4, 2), np.inf)], None, "finite"),
    ],
)
def test_udr_names_bad_input(codes, kl, match):
    with pytest.raises(ValueError, match=match):
        udr_score(codes, kl=kl)
