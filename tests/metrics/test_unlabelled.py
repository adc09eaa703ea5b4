"""-1 and NaN mean unlabelled to every metric, and a missing label costs its factor alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent import metrics
from sklearn_disent.metrics import (
    check_factors_codes,
    disentanglement_report,
    get_scorer,
    mig_score,
    relevance_matrix,
)
from sklearn_disent.models._labels import read_labels

# Metrics that are a mean over factors, each judged by its own rows, and what makes them cheap.
PER_FACTOR = {
    "mig_score": {},
    "sufficiency_score": {},
    "infoe_score": {},
    "sap_score": {},
    "explicitness_score": {},
    "downstream_accuracy_score": {"max_samples": 200},
    "dci_informativeness_score": {"estimator": DecisionTreeClassifier(random_state=0)},
}
# Metrics of codes, from a matrix whose rows come from rows of their own.
OF_MATRIX = [
    "mig_sup_score",
    "modularity_score",
    "minimality_score",
    "dcimig_score",
    "infom_score",
    "infoc_score",
    "med_disentanglement_score",
    "med_completeness_score",
    "dci_disentanglement_score",
    "dci_completeness_score",
]


@pytest.fixture(scope="module")
def labelled():
    """Half of the labels of each factor are hidden, independently."""
    rng = np.random.default_rng(0)
    full = rng.integers(4, size=(600, 3))
    codes = full + 0.1 * rng.normal(size=full.shape)
    return full, np.where(rng.random(full.shape) < 0.5, -1, full), codes


def test_minus_one_is_refused_with_the_way_out(labelled):
    _, half, codes = labelled
    with pytest.raises(ValueError, match=r"factor 0 is -1 in \d+ of 600 rows, and -1 means unlab"):
        mig_score(half, codes)
    with pytest.raises(ValueError, match=r"nan_policy='omit'.*factors \+ 1"):
        get_scorer("mig")(Identity(), codes, half)


class Identity:
    def transform(self, X):
        return X


def test_half_labelled_factors_score_as_labelled_ones(labelled):
    full, half, codes = labelled
    assert mig_score(half, codes, nan_policy="omit") == pytest.approx(
        mig_score(full, codes), abs=0.03
    )
    assert mig_score(half, codes, nan_policy="omit") > 0.9


@pytest.mark.parametrize("missing", ["minus", "nan", "none", "nullable"])
def test_all_ways_to_write_unlabelled_are_one(labelled, missing):
    _, half, codes = labelled
    expected = mig_score(half, codes, nan_policy="omit", average=None)
    written = {
        "minus": half.astype(float),
        "nan": np.where(half < 0, np.nan, half),
        "none": [[None if v < 0 else int(v) for v in row] for row in half],
        "nullable": pd.DataFrame(half).astype("Int64").mask(lambda frame: frame < 0),
    }[missing]
    np.testing.assert_array_equal(
        mig_score(written, codes, nan_policy="omit", average=None), expected
    )


@pytest.mark.parametrize("name", PER_FACTOR)
def test_factor_is_judged_by_all_rows_that_have_it(name, labelled):
    _, half, codes = labelled
    metric, options = getattr(metrics, name), dict(PER_FACTOR[name], average=None)
    if name not in ("mig_score", "sufficiency_score", "infoe_score"):
        options["random_state"] = 0
    values = metric(half, codes, nan_policy="omit", **options)
    first = half[:, 0] >= 0
    alone = metric(half[first, :1], codes[first], **options)
    np.testing.assert_array_equal(values[:1], alone)
    assert len(values) == 3


@pytest.mark.parametrize("name", OF_MATRIX)
def test_scores_of_codes_use_all_labels(name, labelled):
    full, half, codes = labelled
    metric = getattr(metrics, name)
    options = {"random_state": 0}
    if name.startswith("dci_"):
        options["estimator"] = DecisionTreeClassifier(max_depth=6)
    value = metric(half, codes, nan_policy="omit", **options)
    assert isinstance(value, float)
    assert value == pytest.approx(metric(full, codes, **options), abs=0.15)


def test_same_rows_missing_in_all_factors_are_dropped_rows(labelled):
    full, _, codes = labelled
    hidden = np.where(np.arange(600)[:, None] < 200, -1, full)
    assert mig_score(hidden, codes, nan_policy="omit") == mig_score(full[200:], codes[200:])


def test_metrics_of_whole_rows_drop_rows(labelled):
    _, half, codes = labelled
    whole = (half >= 0).all(axis=1)
    expected = metrics.irs_score(half[whole], codes[whole])
    assert metrics.irs_score(half, codes, nan_policy="omit") == expected
    factors, kept = check_factors_codes(half, codes, nan_policy="omit")
    assert len(factors) == len(kept) == whole.sum()


def test_weights_of_rows_without_a_label_do_not_count(labelled):
    _, half, codes = labelled
    weight = np.arange(600) % 3
    values = mig_score(half, codes, nan_policy="omit", sample_weight=weight, average=None)
    rows = np.repeat(np.arange(600), weight)
    repeated = mig_score(half[rows], codes[rows], nan_policy="omit", average=None)
    np.testing.assert_allclose(values, repeated, rtol=1e-12)


def test_relevance_and_report_take_what_is_labelled(labelled):
    full, half, codes = labelled
    for kind in ("mutual_info", "correlation", "predictability"):
        known = relevance_matrix(half, codes, kind=kind, nan_policy="omit")
        np.testing.assert_allclose(known, relevance_matrix(full, codes, kind=kind), atol=0.1)
    report = disentanglement_report(
        half, codes, metrics=["mig", "minimality"], nan_policy="omit", output="dict", n_resamples=3
    )
    assert report["mig"]["value"] > 0.9


def test_values_with_other_negative_ones_are_values():
    rng = np.random.default_rng(0)
    factors = rng.integers(-3, 4, size=(300, 2))
    assert mig_score(factors, factors) == mig_score(factors + 3, factors)
    floats = rng.choice([-1.0, -0.5, 2.0], size=(300, 2))  # not whole numbers
    assert mig_score(floats, floats, factor_bins="unique") > 0.9


def test_factor_with_one_label_is_an_error(labelled):
    full, _, codes = labelled
    lonely = full.copy()
    lonely[1:, 2] = -1
    with pytest.raises(ValueError, match="of factor 2 are needed, got 1"):
        mig_score(lonely, codes, nan_policy="omit")


def test_metrics_and_models_read_the_same_labels_as_unknown():
    y = np.array([[0, -1], [-1, 2], [1, 0], [2, 1]])
    known = ~np.isnan(read_labels(y, 4, classes=True))
    values = [mig_score(y[:, [k]], y[:, [k]].astype(float), nan_policy="omit") for k in (0, 1)]
    assert known.sum(axis=0).tolist() == [3, 3]
    assert values == [1.0, 1.0]
