"""The report: the same values as the metrics themselves, and what it adds to them."""

import html
import itertools
import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.decomposition import PCA
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent import metrics
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import (
    Metric,
    _report,
    disentanglement_report,
    elbo_score,
    mig_score,
    multimetric_scorer,
)
from sklearn_disent.metrics._catalogue import CATALOGUE, INDEPENDENCE, REPORTED
from sklearn_disent.metrics._score_report import summary_of, verdict
from sklearn_disent.metrics._sharing import shared, sharing
from sklearn_disent.metrics.information import _infomec, _matrix
from sklearn_disent.metrics.intervention import _robustness
from sklearn_disent.metrics.prediction import _predictors

TREES = (DecisionTreeClassifier(max_depth=4), DecisionTreeRegressor(max_depth=4))
# Fewer trees, draws and rows; the rest as it comes.
CHEAP = {
    "downstream_accuracy": {"estimator": TREES},
    "beta_vae": {"n_train": 500, "n_eval": 500},
    "mig": {"n_bins": 7},
}
FAST = ["mig", "modularity", "minimality", "sap", "gaussian_wasserstein_correlation_error"]


def make_data(n_samples=200, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(n, size=n_samples) for n in (3, 4)])
    mixing = np.array([[1.0, 0.2, 0.0], [0.0, 0.8, 0.3]])
    return factors, factors @ mixing + noise * rng.normal(size=(n_samples, 3))


def alone(name, factors, codes, **common):
    metric = REPORTED[name]
    options = {key: value for key, value in common.items() if key in metric.options}
    data = (factors, codes) if metric.needs == "factors" else (codes,)
    return metric.function(*data, **{**metric.defaults, **options, **CHEAP.get(name, {})})


def counted(monkeypatch, module, name):
    """Calls of a function of a module, by its arguments."""
    calls, func = [], getattr(module, name)

    def wrapper(*args):
        calls.append(args)
        return func(*args)

    monkeypatch.setattr(module, name, wrapper)
    return calls


@pytest.fixture(scope="module")
def whole():
    return disentanglement_report(*make_data(), metric_params=CHEAP, output="dict", random_state=0)


@pytest.mark.parametrize("name", sorted(REPORTED))
def test_report_equals_each_metric(whole, name):
    assert whole[name]["value"] == alone(name, *make_data(), random_state=0)


def test_report_holds_every_metric_by_question(whole):
    of_arrays = [metric for metric in CATALOGUE if metric.needs in ("factors", "codes")]
    assert list(whole) == [metric.name for metric in of_arrays]
    assert [row["question"] for row in whole.values()] == [m.question for m in of_arrays]
    questions = [metric.question for metric in CATALOGUE]
    # The metrics of a question stand together.
    assert len(list(itertools.groupby(questions))) == len(set(questions))


def test_report_ranges_hold(whole):
    for row in whole.values():
        assert row["lowest"] <= row["value"] <= row["highest"]


# -- metrics of users ------------------------------------------------------------------------


def tenth_score(factors, codes, *, n_bins=3):
    return float(n_bins) / 10


def first_correlation(factors, codes):
    """Not named as metrics are, and not a Python float."""
    return np.abs(np.corrcoef(factors[:, 0], codes[:, 0]))[0, 1]


def spread(codes):
    return np.ptp(codes, axis=0).mean()


def test_report_takes_a_function_as_it_comes():
    data = make_data()
    options = {"tenth": {"n_bins": 4}}
    report = disentanglement_report(
        *data, metrics=[tenth_score, "mig"], metric_params=options, output="text"
    )
    assert report.index("mig") < report.index("Other\n  tenth")
    assert report.split("Other\n")[1].split()[:2] == ["tenth", "0.400"]
    assert "-inf .. inf" in report


def test_report_takes_a_function_of_its_own_as_the_name():
    data = make_data()
    by_function, by_name = (
        disentanglement_report(*data, metrics=metrics) for metrics in ([mig_score], ["mig"])
    )
    assert by_function == by_name


def test_report_asks_a_row_where_it_wants_to_be_asked():
    rows = [
        Metric(tenth_score, question=REPORTED["mig"].question, bounds=(0.0, 1.0)),
        Metric(spread, question="Spread: how far do the codes reach?", greater_is_better=False),
        Metric(first_correlation),
    ]
    report = disentanglement_report(*make_data(), metrics=[*rows[::-1], "sap", "infoe"]).to_text()
    names = [line.split()[0] for line in report.splitlines() if line[:2] == "  "][1:]
    assert names == ["sap", "tenth", "infoe", "spread", "first_correlation"]
    assert "Spread: how far do the codes reach?\n  spread" in report
    assert [line.split()[-1] for line in report.splitlines() if "spread  " in line] == ["lower"]


def test_report_gives_users_metrics_chance_and_interval():
    factors, codes = make_data(noise=0.1)
    options = {"n_resamples": 20, "n_permutations": 19, "output": "dict", "random_state": 0}
    metrics = ["sap", first_correlation, spread]
    report = disentanglement_report(factors, codes, metrics=metrics, **options)
    row = report["first_correlation"]
    assert type(row["value"]) is float
    assert row["value"] == first_correlation(factors, codes)
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert row["chance"] < 0.2
    assert row["p_value"] == 1 / 20
    # Shuffled codes reach just as far.
    assert report["spread"]["chance"] == pytest.approx(spread(codes))
    # Lists and frames of codes are arrays to a function.
    again = disentanglement_report(factors, codes.tolist(), metrics=metrics, **options)
    assert again == report


@pytest.mark.parametrize(
    ("metrics", "match"),
    [
        ([mig_score, Metric(tenth_score, name="mig")], "Two metrics are called 'mig'"),
        ([elbo_score], "elbo needs the estimator"),
        ([metrics.udr_score], "udr needs the models"),
        ([3], r"got \[3\]"),
        ([lambda factors, codes: [1.0]], "must be one number, got list"),
    ],
)
def test_report_says_which_metrics_it_cannot_take(metrics, match):
    with pytest.raises(ValueError, match=match):
        disentanglement_report(*make_data(), metrics=metrics)


# -- what is computed, and how often ---------------------------------------------------------


def test_report_computes_every_matrix_once(monkeypatch):
    factors, codes = make_data()
    information = counted(monkeypatch, _matrix, "_information")
    fits = counted(monkeypatch, _predictors, "_importance")
    neighbours = counted(monkeypatch, _infomec, "_ross")
    quantiles = counted(monkeypatch, _robustness, "_deviation_quantile")
    names = [n for n in REPORTED if n not in ("downstream_accuracy", "beta_vae")]
    disentanglement_report(factors, codes, metrics=names, random_state=0)
    # With 20 bins, with 15, and once between the codes themselves.
    assert len(information) == 3
    assert len(fits) == 2
    assert len(neighbours) == 2 * 3
    assert len(quantiles) == 3 + 4


def test_multimetric_scorer_fits_once(monkeypatch):
    factors, codes = make_data()
    fits = counted(monkeypatch, _predictors, "_importance")
    names = ["dci_disentanglement", "dci_completeness", "dci_informativeness"]
    options = {name: {"random_state": 0, "estimator": TREES} for name in names}
    pca = PCA(3).fit(codes)
    scores = multimetric_scorer(options)(pca, codes, factors)
    assert len(fits) == 2
    single = metrics.dci_scores(factors, pca.transform(codes), random_state=0, estimator=TREES)
    assert list(scores.values()) == list(single)


def test_sharing_ends_with_its_block():
    calls = []

    @shared
    def double(data, factor=2, random_state=None):
        calls.append(factor)
        return [factor * value for value in data]

    data = [1, 2]
    with sharing():
        assert double(data) is double(data, 2)
        assert double(data, factor=2.0) is not double(data)
        assert double([1, 2]) is not double(data)
        with sharing():
            assert double(data) is double(data, 2)
        with sharing(anew=True):
            double(data)
        rng = np.random.RandomState(0)
        assert double(data, random_state=rng) is not double(data, random_state=rng)
        other = threading.Thread(target=double, args=(data,))
        other.start()
        other.join()
    double(data)
    assert len(calls) == 3 + 1 + 2 + 1 + 1


def test_report_forms_agree():
    options = {"metrics": FAST, "n_resamples": 5, "n_permutations": 5, "random_state": 0}
    as_dict, frame, text = (
        disentanglement_report(*make_data(), output=output, **options)
        for output in ("dict", "frame", "text")
    )
    assert frame.to_dict(orient="index") == as_dict
    assert frame.index.name == "metric"
    assert all(type(row["ci_low"]) is type(row["chance"]) is float for row in as_dict.values())
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line[:2] == "  "}
    assert lines.pop("value") == ["ci_low", "ci_high", "chance", "p_value", "range", "better"]
    for name, cells in lines.items():
        row = as_dict[name]
        numbers = ("value", "ci_low", "ci_high", "chance", "p_value")
        assert cells[:5] == [f"{row[key]:.3f}" for key in numbers]
        assert cells[-1] == ("higher" if row["greater_is_better"] else "lower")
    assert list(lines) == list(as_dict)
    assert text.endswith("200 samples, 2 factors, 3 codes.")


def test_report_is_an_object_of_all_forms():
    factors, codes = make_data()
    options = {"metrics": FAST, "n_resamples": 4, "n_permutations": 20, "random_state": 0}
    report = disentanglement_report(factors, codes, per_factor=True, **options)
    rows = disentanglement_report(factors, codes, output="dict", **options)
    assert report.to_dict() == dict(report.rows) == rows
    assert report["mig"] == rows["mig"]
    assert (list(report), len(report)) == (list(rows), len(rows))
    assert str(report) == report.to_text() == repr(report)
    assert "By factor" in str(report)
    assert html.escape(report.to_text()) in report._repr_html_()
    frame = report.to_frame()
    np.testing.assert_array_equal(
        frame.loc["mig", ["factor 0", "factor 1"]].astype(float),
        mig_score(factors, codes, average=None),
    )
    assert r"\begin{tabular}{lrrr}" in report.to_latex()
    assert report.to_latex().count(r"\\") == len(rows) + 1
    assert report == disentanglement_report(factors, codes, per_factor=True, **options)


@pytest.mark.slow
def test_values_per_factor_are_means_over_factors():
    """Whatever metric asks about factors and has an average is one value per factor."""
    rng = np.random.default_rng(0)
    factors, codes = rng.integers(3, size=(90, 2)), rng.normal(size=(90, 4))
    report = disentanglement_report(
        factors, codes, metric_params=CHEAP, per_factor=True, random_state=0
    )
    assert {"mig", "sap", "infoe", "dci_completeness"} <= set(report.factor_values)
    assert {len(values) for values in report.factor_values.values()} == {2}
    for name in ("mig", "sap", "infoe", "explicitness", "sufficiency"):
        mean = np.mean(report.factor_values[name])
        assert mean == pytest.approx(report[name]["value"], abs=1e-12), name


def test_verdicts_tell_signal_from_noise():
    factors, codes = make_data()
    noise = np.random.default_rng(3).normal(size=codes.shape)
    names = ["modularity", "mig", "gaussian_total_correlation_error"]
    options = {"metrics": names, "n_permutations": 20, "random_state": 0}
    good = disentanglement_report(factors, codes, **options)
    assert good.verdicts["mig"] == "above chance"
    bad = disentanglement_report(factors, noise, **options)
    assert "above chance" not in bad.verdicts.values()
    assert bad.verdicts["gaussian_total_correlation_error"] == "independent codes"
    assert bad.summary[0].startswith("No score is above chance")
    assert bad.summary[0] in str(bad)
    few = disentanglement_report(factors, codes, metrics=["mig"], n_permutations=5)
    assert few.verdicts == {"mig": "not clearly above chance"}
    assert disentanglement_report(factors, codes, metrics=["mig"]).verdicts == {}


def test_report_interval_of_a_mean_is_the_known_one():
    def mean(codes):
        return float(np.mean(codes))

    codes = np.random.default_rng(0).normal(50.0, 1.0, size=(301, 1))
    row = disentanglement_report(
        np.zeros((301, 1), int),
        codes,
        metrics=[mean],
        n_resamples=600,
        confidence_level=0.9,
        output="dict",
        random_state=0,
    )["mean"]
    half_width = 1.645 * codes.std(ddof=1) / np.sqrt(301)
    assert row["ci_high"] - row["value"] == pytest.approx(half_width, rel=0.1)
    assert row["value"] - row["ci_low"] == pytest.approx(half_width, rel=0.1)


def test_report_interval_narrows_with_rows():
    widths = []
    for n_samples in (100, 1600):
        report = disentanglement_report(
            *make_data(n_samples), metrics=["mig"], n_resamples=40, output="dict", random_state=0
        )
        row = report["mig"]
        assert 0 <= row["ci_low"] < row["value"] < row["ci_high"] <= 1
        widths.append(row["ci_high"] - row["ci_low"])
    assert widths[1] < widths[0] / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mig", "minimality", "sap", "infom", "dci_informativeness"])
def test_report_interval_covers_the_expected_score(name):
    params = {"dci_informativeness": {"estimator": TREES}}
    options = {
        "metrics": [name],
        "metric_params": {key: value for key, value in params.items() if key == name},
        "output": "dict",
        "random_state": 0,
    }
    expected = np.mean(
        [
            disentanglement_report(*make_data(seed=1000 + i), **options)[name]["value"]
            for i in range(200)
        ]
    )
    covered = 0
    for seed in range(100):
        row = disentanglement_report(
            *make_data(seed=seed), n_resamples=40, confidence_level=0.9, **options
        )[name]
        covered += row["ci_low"] <= expected <= row["ci_high"]
    assert covered >= 75


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_report_is_the_same_at_any_n_jobs(backend):
    options = {"metrics": FAST, "n_resamples": 4, "n_permutations": 4, "random_state": 3}
    with parallel_config(backend=backend):
        one, two, again = (
            disentanglement_report(*make_data(), n_jobs=n_jobs, **options) for n_jobs in (1, 2, 1)
        )
    assert one == two == again


def test_report_takes_any_random_state():
    data, options = make_data(), {"metrics": ["dci_informativeness"], "output": "dict"}
    options["metric_params"] = {"dci_informativeness": {"estimator": TREES}}
    one, two = (
        disentanglement_report(*data, random_state=np.random.RandomState(5), **options)
        for _ in range(2)
    )
    assert one == two
    assert np.isfinite(disentanglement_report(*data, **options)["dci_informativeness"]["value"])


def test_report_chance_tells_signal_from_noise():
    factors, codes = make_data(400, noise=0.1)
    noise = np.random.default_rng(3).normal(size=codes.shape)
    options = {"metrics": FAST, "n_permutations": 19, "output": "dict", "random_state": 0}
    signal = disentanglement_report(factors, codes, **options)
    nothing = disentanglement_report(factors, noise, **options)
    for name in ("mig", "minimality", "sap"):
        assert signal[name]["p_value"] == 1 / 20
        assert signal[name]["chance"] < signal[name]["value"] / 3
        assert nothing[name]["p_value"] > 1 / 20
        assert nothing[name]["chance"] == pytest.approx(nothing[name]["value"], abs=0.03)


def test_report_chance_of_codes_alone_is_independence():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(400, 1)) + 0.5 * rng.normal(size=(400, 3))
    name = "gaussian_total_correlation_error"
    row = disentanglement_report(
        rng.integers(3, size=(400, 1)), codes, metrics=[name], n_permutations=9, output="dict"
    )[name]
    assert row["chance"] < 0.05 < row["value"]
    # Lower is better: all shuffles are better than the codes.
    assert row["p_value"] == 1.0


def test_report_interval_of_an_infinite_value_is_infinite():
    factors, codes = make_data()
    name = "gaussian_total_correlation_error"
    with pytest.warns(DegenerateScoreWarning, match="linearly dependent"):
        row = disentanglement_report(
            factors, codes[:, [0, 0]], metrics=[name], n_resamples=3, output="dict"
        )[name]
    assert row["ci_low"] == row["ci_high"] == row["value"] == np.inf


def test_report_options_per_sample_follow_their_samples():
    def follows_score(factors, codes, *, sample_weight=None, codes_std=None):
        weighted = sample_weight is None or np.array_equal(codes[:, 0], sample_weight)
        return float(weighted and np.array_equal(codes, codes_std))

    factors, codes = make_data()
    options = {"metrics": [follows_score], "output": "dict", "random_state": 0}
    params = {"codes_std": codes.tolist()}
    row = disentanglement_report(
        factors, codes, metric_params={"follows": params}, n_permutations=3, **options
    )["follows"]
    assert (row["value"], row["chance"]) == (1.0, 1.0)
    params["sample_weight"] = codes[:, 0]
    row = disentanglement_report(
        factors, codes, metric_params={"follows": params}, n_resamples=3, **options
    )["follows"]
    assert (row["ci_low"], row["ci_high"]) == (1.0, 1.0)
    with pytest.raises(ValueError, match=r"sample_weight, got one for \['follows'\]"):
        disentanglement_report(
            factors, codes, metric_params={"follows": params}, n_permutations=3, **options
        )


def test_report_sums_up_warnings_of_resamples():
    factors, codes = make_data(60)
    factors[:, 0] = 0
    # A value so rare that most halves lack it.
    factors[0, 0] = 1
    with pytest.warns(DegenerateScoreWarning) as caught:
        disentanglement_report(factors, codes, metrics=["mig", "sap"], n_resamples=12)
    assert len(caught) == 1
    assert "Resamples were degenerate (kinds of warnings: 1)" in str(caught[0].message)
    assert "factors [0] have a single value" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_report_accepts_what_metrics_accept():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    factors, codes = make_data(60)
    options = {"metrics": ["mig", "minimality"], "n_resamples": 3, "random_state": 0}
    options["output"] = "dict"
    value = disentanglement_report(factors, codes, **options)
    names = np.array(["a", "b", "c", "d"])
    for other in (
        factors.tolist(),
        [tuple(row) for row in names[factors].tolist()],
        pd.DataFrame(factors),
        pl.DataFrame(factors, ["y0", "y1"]),
    ):
        assert disentanglement_report(other, codes, **options) == value
    frame = pl.DataFrame(codes, ["z0", "z1", "z2"])
    assert disentanglement_report(factors, frame, **options) == value
    assert disentanglement_report(factors, codes.tolist(), **options) == value


def test_report_passes_common_options_on():
    factors, codes = make_data()
    continuous = factors + np.random.default_rng(0).uniform(0.1, 0.9, size=factors.shape)
    codes[3, 0] = np.nan
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        disentanglement_report(continuous, codes, metrics=FAST)
    with pytest.raises(ValueError, match="factor_bins"):
        disentanglement_report(continuous, codes, metrics=FAST, nan_policy="omit")
    common = {"factor_bins": 3, "nan_policy": "omit"}
    report = disentanglement_report(continuous, codes, metrics=FAST, output="dict", **common)
    for name in ("minimality", "sap", "gaussian_wasserstein_correlation_error"):
        assert report[name]["value"] == alone(name, continuous, codes, **common)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"metrics": ["mig", "nonsense"]}, r"got \['nonsense'\]"),
        ({"metrics": []}, "one or more of"),
        ({"metrics": "mig"}, "metrics"),
        ({"metrics": ["mig"], "metric_params": {"sap": {}}}, r"options for \['sap'\]"),
        ({"metrics": ["mig"], "metric_params": {"mig": {"n_bins": 1}}}, "n_bins"),
        ({"metrics": ["mig"], "metric_params": {"mig": {"strategy": "unifrom"}}}, "quantile"),
        ({"metrics": ["mig"], "metric_params": {"mig": {"average": None}}}, "one number"),
        ({"metrics": ["mig"], "n_resamples": -1}, "n_resamples"),
        ({"metrics": ["mig"], "confidence_level": 1.0}, "confidence_level"),
        ({"metrics": ["mig"], "output": "html"}, "output"),
        (
            {
                "metrics": ["dci_informativeness"],
                "metric_params": {
                    "dci_informativeness": {
                        "estimator": TREES,
                        "split": (range(100), range(100, 200)),
                    }
                },
                "n_resamples": 2,
            },
            "row numbers",
        ),
    ],
)
def test_report_names_what_is_wrong(options, match):
    with pytest.raises(ValueError, match=match):
        disentanglement_report(*make_data(), **options)


def test_report_refuses_options_before_it_computes():
    with pytest.raises(TypeError, match=r"no option 'n_bin'\. Its options are n_bins, strategy"):
        disentanglement_report([[0]], [[0]], metrics=["mig"], metric_params={"mig": {"n_bin": 9}})


def test_report_needs_four_samples_for_intervals():
    with pytest.raises(ValueError, match="at least 4 of them, got 3"):
        disentanglement_report([[0], [1], [1]], [[0.0], [1], [2]], metrics=["mig"], n_resamples=2)


def test_metrics_that_share_fits_run_in_one_process():
    plan = _report.Plan(dict(REPORTED), {"mig": {"n_bins": 5}}, {})
    parts = _report._by_room(plan)
    names = [name for part in parts for name in part.metrics]
    assert sorted(names) == sorted(REPORTED)
    (forests,) = (part for part in parts if "dci_completeness" in part.metrics)
    assert {"dci_informativeness", "unfairness_error"} <= set(forests.metrics)
    assert [part.options for part in parts if part.options] == [{"mig": {"n_bins": 5}}]


def test_report_stays_in_its_process_within_threads_and_workers():
    with parallel_config(backend="threading"):
        assert _report._n_processes(2) == 1
    assert _report._n_processes(2) == 2
    assert _report._n_processes(None) == 1


def judged_row(p_value, question="Compactness"):
    return {"p_value": p_value, "question": question, "value": 0.3, "chance": 0.1}


def test_summary_names_the_scores_that_are_not_above_chance():
    good, open_, low = judged_row(0.05), judged_row(0.2), judged_row(0.21)
    assert summary_of({"mig": good, "sap": open_}) == []
    assert summary_of({"mig": low})[0].startswith("No score is above chance")
    (one,) = summary_of({"mig": low, "sap": good, "dci": open_})
    assert one.startswith("MIG is not above chance: ")
    (two,) = summary_of({"mig": low, "sap": low, "dci": good})
    assert two.startswith("MIG, SAP are not above chance: ")


@pytest.mark.parametrize(
    ("p_value", "question", "words"),
    [
        (0.05, "Compactness", "above chance"),
        (0.051, "Compactness", "not clearly above chance"),
        (0.2, "Compactness", "not clearly above chance"),
        (0.201, "Compactness", "not above chance"),
        (0.95, INDEPENDENCE, "independent codes"),
        (0.951, INDEPENDENCE, "dependent codes"),
    ],
)
def test_verdict_follows_the_p_value(p_value, question, words):
    assert verdict(judged_row(p_value, question)) == words


def test_codes_that_are_constant_are_not_called_dependent():
    # Every shuffle of them is as good.
    row = judged_row(1.0, INDEPENDENCE) | {"value": 0.0, "chance": 0.0}
    assert verdict(row) == "independent codes"
