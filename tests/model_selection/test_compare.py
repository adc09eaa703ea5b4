"""Comparison of models over seeds, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.metrics import disentanglement_report, get_scorer, multimetric_scorer
from sklearn_disent.model_selection import compare_models
from sklearn_disent.model_selection._compare import _corrected

A = np.array([0.30, 0.34, 0.29, 0.33, 0.31])
B = np.array([0.20, 0.26, 0.18, 0.25, 0.22])
C = np.array([0.21, 0.22, 0.21, 0.23, 0.22])


def test_tests_and_intervals_are_those_of_scipy():
    result = compare_models({"A": A, "B": B}, correction="none")
    (row,) = result.differences
    assert row["p_value"] == row["p_corrected"] == pytest.approx(stats.ttest_rel(A, B).pvalue)
    interval = stats.ttest_rel(A, B).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(interval))
    welch = compare_models({"A": A, "B": B}, paired=False).differences[0]
    expected = stats.ttest_ind(A, B, equal_var=False)
    assert welch["p_value"] == pytest.approx(expected.pvalue)
    assert (welch["ci_low"], welch["ci_high"]) == pytest.approx(
        tuple(expected.confidence_interval(0.95))
    )
    low, high = stats.t.interval(0.95, 4, A.mean(), stats.sem(A))
    assert (result.models[0]["ci_low"], result.models[0]["ci_high"]) == pytest.approx((low, high))


def test_permutation_test_counts_sign_flips_by_hand():
    row = compare_models({"A": A, "B": B}, test="permutation").differences[0]
    assert row["p_value"] == pytest.approx(2 / 2**5)  # the two extreme ones of 32


def test_effect_size_and_wins_by_hand():
    row = compare_models({"A": A, "B": B}).differences[0]
    pooled = np.sqrt((A.var(ddof=1) + B.var(ddof=1)) / 2)
    assert row["effect_size"] == pytest.approx((A - B).mean() / pooled * (1 - 3 / 31))
    assert row["wins"] == 1.0
    # B wins once, C thrice, one tie.
    assert compare_models({"B": B, "C": C}).differences[0]["wins"] == pytest.approx(0.5)
    lower = {"gaussian_total_correlation_error": A}, {"gaussian_total_correlation_error": B}
    result = compare_models({"A": lower[0], "B": lower[1]})
    assert result.best() == "B"
    assert result.differences[0]["wins"] == 0.0
    assert "lowest" in result.sentence()


def test_holm_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(_corrected(p, "holm"), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(_corrected(p, "fdr"), stats.false_discovery_control(p))


def test_correction_covers_all_pairs_and_scores():
    both = {name: {"mig": v, "sap": v[::-1]} for name, v in (("A", A), ("B", B), ("C", C))}
    result = compare_models(both)
    assert len(result.differences) == 6
    first = result.differences[0]
    assert first["p_corrected"] > first["p_value"]
    assert "over 6 tests" in result.sentence("sap")
    assert len(compare_models(both, scores="mig").differences) == 3


def test_sentence_says_what_is_not_decided():
    result = compare_models(
        {"A": A, "close": A + np.array([0.01, -0.02, 0.02, -0.01, -0.01]), "B": B}
    )
    text = result.sentence()
    assert text.startswith("Over 5 seeds, A has the highest mean score, 0.314 (95% interval")
    assert "better than B by 0.092" in text
    assert "the difference from close" in text
    assert "is not decided" in text
    assert text in str(result)


class Coder(TransformerMixin, BaseEstimator):
    """Codes whose noise depends on a parameter and on the seed."""

    def __init__(self, noise=0.1, random_state=None):
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X + self.noise * np.random.default_rng(self.random_state).normal(size=X.shape)


@pytest.fixture(scope="module")
def data():
    factors = np.random.default_rng(0).integers(4, size=(120, 2))
    return factors.astype(float), factors


def search(grid, data, scoring, **params):
    cv = KFold(2, shuffle=True, random_state=0)
    return GridSearchCV(Coder(**params), grid, scoring=scoring, cv=cv, refit=False).fit(*data)


def test_search_with_seeds_in_its_grid_is_read_directly(data):
    grid = {"noise": [0.1, 2.0], "random_state": range(4)}
    fitted = search(grid, data, multimetric_scorer(["mig", "sap"]))
    result = compare_models(fitted)
    assert list(result.values) == ["mig", "sap"]
    assert list(result.values["mig"]) == ["noise=0.1", "noise=2"]
    means = fitted.cv_results_["mean_test_mig"]
    np.testing.assert_allclose(result.values["mig"]["noise=0.1"], means[:4])
    assert result.paired
    assert result.best() == "noise=0.1"


def test_searches_reports_and_arrays_agree(data):
    X, y = data
    searches = {
        name: search({"random_state": range(3)}, data, get_scorer("mig"), noise=noise)
        for name, noise in {"good": 0.1, "bad": 2.0}.items()
    }
    result = compare_models(searches)
    assert list(result.values) == ["mig"]
    arrays = {n: {"mig": s.cv_results_["mean_test_score"]} for n, s in searches.items()}
    assert compare_models(arrays).models == result.models
    reports = {
        name: [
            disentanglement_report(y, Coder(noise, seed).transform(X), metrics=["mig"])
            for seed in range(3)
        ]
        for name, noise in {"good": 0.1, "bad": 2.0}.items()
    }
    of_reports = compare_models(reports)
    values = [report["mig"]["value"] for report in reports["good"]]
    np.testing.assert_array_equal(of_reports.values["mig"]["good"], values)


def test_forms_for_papers():
    for name, written in {
        "10 % & more": r"10 \% \& more",
        "a\\b^c": r"a\textbackslash{}b\textasci",
    }.items():
        assert written in compare_models({name: A, "B": B}).to_latex()
    result = compare_models({"A_1": {"mig": A}, "B": {"mig": B}})
    latex = result.to_latex()
    assert r"A\_1 & $\mathbf{0.314} \pm 0.026$ \\" in latex
    assert "model & MIG" in latex
    frame = result.to_frame("differences")
    assert frame.loc[0, "p_corrected"] == result.differences[0]["p_corrected"]
    assert list(result.to_frame()["model"]) == ["A_1", "B"]
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = result.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["B", "A_1"]
    assert ax.get_xlabel().startswith("MIG")


@pytest.mark.parametrize(
    ("results", "match"),
    [
        ({"A": A}, "at least 2 models"),
        ({"A": A[:1], "B": B[:1]}, r"at least 2 of them.*random_state"),
        ({"A": A, "B": np.full(5, np.nan)}, "finite and 1D"),
        ({"A": {"mig": A}, "B": {"sap": B}}, "no score in common"),
        ([A, B], "results must be a fitted search, or a dict"),
    ],
)
def test_messages_name_what_is_wrong(results, match):
    with pytest.raises((TypeError, ValueError), match=match):
        compare_models(results)
    with pytest.raises(ValueError, match="scores must be among"):
        compare_models({"A": A, "B": B}, scores="mig")


def test_unequal_numbers_of_seeds_are_not_paired():
    assert not compare_models({"A": A, "B": B[:3]}).paired
    with pytest.raises(ValueError, match="paired=True needs the same seeds"):
        compare_models({"A": A, "B": B[:3]}, paired=True)


def test_equal_scores_have_a_defined_result():
    row = compare_models({"A": A, "B": A.copy()}).differences[0]
    assert (row["p_value"], row["effect_size"], row["wins"]) == (1.0, 0.0, 0.5)
    constant = compare_models({"A": np.ones(3), "B": np.zeros(3)}).differences[0]
    assert (constant["p_value"], constant["effect_size"]) == (0.0, np.inf)
