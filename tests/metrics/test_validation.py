"""check_factors_codes: what is accepted, in which form, and what the errors say."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    check_factors_codes,
    med_disentanglement_score,
    mig_score,
    mig_sup_score,
    minimality_score,
)
from sklearn_disent.metrics._subsampling import rows_of
from sklearn_disent.metrics._validation import (
    check_codes,
    check_data,
    check_factors,
    live_codes,
    varied_factors,
)

CODES = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("column", "expected", "kind"),
    [
        ([7, 5, 7, 9], [1, 0, 1, 2], "ordinal"),
        ([7.0, 5.0, 7.0, 9.0], [1, 0, 1, 2], "ordinal"),
        ([-(10**12), 0, 10**12, 0], [0, 1, 2, 1], "ordinal"),
        (np.array([0, 255, 7, 0], np.uint8), [0, 2, 1, 0], "ordinal"),
        (["b", "a", "b", "c"], [1, 0, 1, 2], "categorical"),
        ([True, False, True, True], [1, 0, 1, 1], "categorical"),
    ],
)
def test_factors_become_sorted_class_indices(column, expected, kind):
    checked = check_data(np.asarray(column)[:, None], CODES)
    np.testing.assert_array_equal(checked.factors[:, 0], expected)
    assert checked.kinds == (kind,)


def test_large_int64_factors_stay_distinct():
    big = np.array([2**62, 2**62 + 1, 2**62, 2**62 + 1])[:, None]
    factors, _ = check_factors_codes(big, CODES)
    np.testing.assert_array_equal(factors[:, 0], [0, 1, 0, 1])


def test_pandas_columns_keep_their_types():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["s", "l", "m", "s"], ["s", "m", "l"], ordered=True),
            "shape": pd.Categorical(["x", "y", "x", "x"]),
            "name": ["u", "v", "w", "u"],
            "count": pd.array([3, 1, 3, 2], dtype="Int64"),
        }
    )
    checked = check_data(frame, CODES)
    assert checked.kinds == ("ordinal", "categorical", "categorical", "ordinal")
    np.testing.assert_array_equal(checked.factors[:, 0], [0, 2, 1, 0])
    np.testing.assert_array_equal(checked.values[:, 3], [3, 1, 3, 2])


def test_columns_that_numpy_has_no_type_for_are_named():
    pl = pytest.importorskip("polars", minversion="1.18", reason="has no integers of 128 bits")
    frame = pl.DataFrame({"a": [2**70, 1, 2]}, schema={"a": pl.Int128})
    with pytest.raises(ValueError, match="factor 0 cannot be read as an array"):
        check_factors(frame)
    with pytest.raises(ValueError, match="codes cannot be read as an array"):
        check_codes(frame)


def test_rows_drawn_of_any_container_stay_what_they_are():
    torch, rows = pytest.importorskip("torch"), np.array([0, 2])
    numbers = np.arange(8).reshape(4, 2)
    masked = rows_of(np.ma.masked_array(numbers, numbers == 5), rows)
    assert masked.mask.tolist() == [[False, False], [False, True]]
    tensor = torch.tensor(numbers, dtype=torch.bfloat16, requires_grad=True)
    np.testing.assert_array_equal(rows_of(tensor, rows), numbers[rows])
    sparse = csr_array(numbers)
    assert rows_of(sparse, rows) is sparse


def test_polars_frame_with_strings_equals_list():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": ["x", "y", "x", "z"], "b": [1, 2, 2, 1]})
    expected, _ = check_factors_codes([["x", 1], ["y", 2], ["x", 2], ["z", 1]], CODES)
    np.testing.assert_array_equal(check_factors_codes(frame, CODES)[0], expected)


def test_number_beside_string_in_a_list_stays_a_number():
    with pytest.raises(ValueError, match="factor 1 is continuous"):
        check_factors_codes([["a", 0.5], ["b", 1.5], ["a", 2.25], ["b", 3.0]], CODES)


def test_anything_with_array_method_is_accepted():
    class Tensor:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.array, dtype=dtype)

    factors = np.array([[0], [1], [1], [0]])
    got = check_factors_codes(Tensor(factors), Tensor(CODES.astype(np.float32)))
    np.testing.assert_array_equal(got[0], factors)
    assert got[1].dtype == np.float64


def test_continuous_error_names_parameter_and_factor():
    factors = np.column_stack([[0, 1, 0, 1], [0.5, 0.25, 1.0, 2.0]])
    with pytest.raises(
        ValueError, match=r"factor 1 is continuous \(4 distinct.*factor_bins=10.*n_bins"
    ):
        check_factors_codes(factors, CODES)


def test_factor_bins_bins_continuous_factors_only():
    factors = np.column_stack([[0.0, 1.0, 2.0, 3.0], [0.1, 0.2, 0.6, 1.1]])
    binned, _ = check_factors_codes(factors, CODES, factor_bins=2)
    np.testing.assert_array_equal(binned, [[0, 0], [1, 0], [2, 1], [3, 1]])
    unique, _ = check_factors_codes(factors, CODES, factor_bins="unique")
    np.testing.assert_array_equal(unique[:, 1], [0, 1, 2, 3])


def test_missing_rows_are_refused_or_dropped():
    factors = np.array([[0, 1], [np.nan, 1], [2, 0], [2, 1]])
    codes = CODES.copy()
    codes[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"factors must not contain NaN.*1 of 4 rows"):
        check_factors_codes(factors, codes)
    with pytest.raises(ValueError, match=r"codes must not contain NaN.*nan_policy='omit'"):
        check_factors_codes(np.nan_to_num(factors), codes)
    kept, kept_codes = check_factors_codes(factors, codes, nan_policy="omit")
    np.testing.assert_array_equal(kept, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(kept_codes, CODES[[0, 2]])


def test_none_in_a_string_factor_is_missing():
    factors = [["a"], [None], ["b"], ["a"]]
    with pytest.raises(ValueError, match="missing"):
        check_factors_codes(factors, CODES)
    assert len(check_factors_codes(factors, CODES, nan_policy="omit")[0]) == 3


def test_omitting_all_but_one_row_is_an_error():
    factors = np.array([[0.0], [np.nan], [np.nan], [np.nan]])
    with pytest.raises(ValueError, match="At least 2 samples"):
        check_factors_codes(factors, CODES, nan_policy="omit")


@pytest.mark.parametrize(
    ("factors", "codes", "error", "match"),
    [
        ([["a"], [1], ["b"], ["c"]], CODES, TypeError, "int, str"),
        (np.zeros((4, 1), complex), CODES, TypeError, "complex"),
        (np.zeros((4, 1), "datetime64[s]"), CODES, TypeError, "datetime64"),
        ([[np.inf], [0], [1], [2]], CODES, ValueError, "infinite value in factor 0"),
        (csr_array(np.eye(4)), CODES, TypeError, r"factors.toarray\(\)"),
        (np.eye(4), csr_array(CODES), TypeError, r"codes.toarray\(\)"),
        (np.zeros((4, 1, 1)), CODES, ValueError, r"got shape \(4, 1, 1\)"),
    ],
)
def test_bad_input_error_says_what_is_wrong(factors, codes, error, match):
    with pytest.raises(error, match=match):
        check_factors_codes(factors, codes)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(3), r"shape \(4,\)"),
        ([1, 1, -2, -1], r"finite and >= 0, got -2.0\. Use weight 0 to leave a sample out\."),
        ([1, 1, 1, np.nan], "finite and >= 0, got nan"),
        ([1, 1, 1, np.inf], "finite and >= 0, got inf"),
    ],
)
def test_bad_weights_are_refused(weight, match):
    with pytest.raises(ValueError, match=match):
        check_data(np.eye(4, dtype=int), CODES, sample_weight=weight)


def test_rows_of_weight_zero_vanish():
    checked = check_data([[5], [1], [5], [7]], CODES, sample_weight=[1, 0, 2, 1])
    np.testing.assert_array_equal(checked.factors[:, 0], [0, 0, 1])
    np.testing.assert_array_equal(checked.sample_weight, [1, 2, 1])


def test_rows_are_those_of_the_input_that_survive():
    factors, codes = np.array([[0.0], [np.nan], [1.0], [1.0]]), CODES.copy()
    whole = check_data(np.nan_to_num(factors), codes)
    np.testing.assert_array_equal(whole.rows, range(4))
    codes[3, 0] = np.nan
    checked = check_data(
        np.vstack([factors, [[5.0]]]),
        np.vstack([codes, [[9, 9]]]),
        nan_policy="omit",
        sample_weight=[1, 1, 2, 1, 3],
    )
    np.testing.assert_array_equal(checked.rows, [0, 2, 4])
    assert checked.n_given == 5
    np.testing.assert_array_equal(checked.codes[:, 0], [0, 4, 9])


def test_factors_alone_are_checked_as_beside_codes():
    factors = [["a", 0.5], [None, 1.5], ["b", 2.0], ["b", 0.5]]
    with pytest.raises(ValueError, match="factors must not contain NaN"):
        check_factors(factors)
    with pytest.raises(ValueError, match="factor 1 is continuous"):
        check_factors(factors, None, "omit")
    alone, beside = check_factors(factors, 2, "omit"), check_data(factors, CODES, 2, "omit")
    for name in ("factors", "values", "rows", "kinds", "n_given"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(beside, name))
    assert alone.codes.shape == (3, 0)
    assert check_factors(factors, None, "omit", continuous=True).kinds[1] == "continuous"
    with pytest.raises(ValueError, match=r"factors must be 2D.*factors\[:, None\]"):
        check_factors([0, 1, 2])


def test_constant_code_is_dead_whatever_its_value():
    codes = np.column_stack([np.full(1000, 0.3), np.arange(1000.0)])
    assert np.var(codes[:, 0]) > 0
    with pytest.warns(DegenerateScoreWarning, match=r"codes \[0\] are constant"):
        np.testing.assert_array_equal(live_codes(codes), [False, True])


def test_single_valued_factor_warning_points_at_the_caller():
    with pytest.warns(DegenerateScoreWarning, match=r"factors \[1\].*shuffle") as caught:
        mig_score([[0, 4], [1, 4], [0, 4], [1, 4]], CODES)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(varied_factors(np.eye(2)), [True, True])


# -- what the fuzzer found -------------------------------------------------------------------

SIX_FACTORS, SIX_CODES = np.arange(12).reshape(6, 2) % 3, np.arange(18.0).reshape(6, 3)


def test_masked_values_are_missing():
    mask = np.arange(6)[:, None] == [1, 4]
    factors = np.ma.masked_array(SIX_FACTORS, mask)
    with pytest.raises(ValueError, match=r"factors must not contain NaN .* 2 of 6"):
        check_factors_codes(factors, SIX_CODES)
    kept, codes = check_factors_codes(factors, SIX_CODES, nan_policy="omit")
    assert np.array_equal(codes, SIX_CODES[[0, 2, 3, 5]])
    assert np.array_equal(kept, check_factors_codes(SIX_FACTORS[[0, 2, 3, 5]], codes)[0])
    with pytest.raises(ValueError, match="codes must not contain NaN"):
        check_factors_codes(SIX_FACTORS, np.ma.masked_array(SIX_CODES, SIX_CODES == 4))
    fully = np.ma.masked_array(SIX_FACTORS, np.ones_like(SIX_FACTORS, dtype=bool))
    with pytest.raises(ValueError, match="At least 2 samples"):
        check_factors_codes(fully, SIX_CODES, nan_policy="omit")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_with_gradient_are_codes_and_factors(dtype):
    torch = pytest.importorskip("torch")
    codes = torch.tensor(SIX_CODES, dtype=getattr(torch, dtype), requires_grad=True)
    factors = torch.tensor(SIX_FACTORS, dtype=getattr(torch, dtype), requires_grad=True)
    for found, expected in zip(
        check_factors_codes(factors, codes), check_factors_codes(SIX_FACTORS, SIX_CODES)
    ):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-51, 1e51, 1e300])
def test_weights_whose_products_leave_float64_are_refused(size):
    with pytest.raises(ValueError, match=r"from 1e-50 to 1e\+50, got .*Rescale"):
        mig_score(SIX_FACTORS, SIX_CODES, sample_weight=[1, 1, 1, 1, 1, size])


@pytest.mark.parametrize("size", [1e-50, 1e-30, 1e30, 1e50])
def test_a_common_factor_of_the_weights_changes_nothing(size):
    weight = np.array([1.0, 2, 1, 3, 1, 2])
    expected = mig_score(SIX_FACTORS, SIX_CODES, sample_weight=weight)
    scaled = mig_score(
        SIX_FACTORS, SIX_CODES, sample_weight=weight * (size / 3 if size > 1 else size)
    )
    assert scaled == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("weight", "match"),
    [(["x"] * 6, "real numbers"), (np.ones(6, complex), "real numbers"), ([[1], 2] * 3, "array")],
)
def test_weights_must_be_numbers(weight, match):
    with pytest.raises((TypeError, ValueError), match=f"sample_weight .*{match}"):
        mig_score(SIX_FACTORS, SIX_CODES, sample_weight=weight)


def test_factors_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"factors must stay within 1e\+150, got 2e\+307"):
        check_factors_codes(SIX_FACTORS * 1e307, SIX_CODES)
    # 2**53 is the first whole number that has no neighbour among floats.
    above = check_factors_codes(2**53 + np.arange(6)[:, None], SIX_CODES)[0]
    assert above.ravel().tolist() == [0, 1, 2, 3, 4, 5]


def test_values_left_out_are_nan_with_a_warning():
    codes = np.column_stack([SIX_FACTORS[:, 0], np.zeros(6)])
    for metric in (mig_sup_score, minimality_score, med_disentanglement_score):
        with pytest.warns(DegenerateScoreWarning, match=r"codes \[1\]"):
            values = metric(SIX_FACTORS, codes, average=None)
        assert np.isnan(values).tolist() == [False, True]
