"""One property, all metrics; and no metric forgotten.

A new metric is one line in METRICS. A property that a metric lacks by definition is named in its
`exempt`, with the reason beside it.
"""

import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent import metrics
from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import mig_score

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")


@dataclass(frozen=True)
class Metric:
    function: Callable
    options: dict = field(default_factory=dict)
    """Cheap settings for the tests, and random_state where there is one."""
    bounds: tuple[float, float] = (0.0, 1.0)
    perfect: float | None = 1.0
    """Value of codes that are the factors, rescaled; None if the metric promises none."""
    perfect_tolerance: float = 1e-9
    noise: float | None = 0.05
    """Largest value (smallest, for an error or distance) of codes independent of the factors."""
    tolerance: float = 1e-9
    """Within which invariances hold: rounding, or the spread of a stochastic metric."""
    n_samples: int = 120
    max_examples: int = 10
    exempt: frozenset[str] = frozenset()
    """Tests below, without "test_", whose property the metric lacks by definition."""

    @property
    def needs_factors(self) -> bool:
        return "factors" in inspect.signature(self.function).parameters

    def accepts(self, parameter: str) -> bool:
        return parameter in inspect.signature(self.function).parameters

    def __call__(self, factors, codes, **options):
        arguments = (factors, codes) if self.needs_factors else (codes,)
        return self.function(*arguments, **{**self.options, **options})


# Neighbours are samples: a copy is a neighbour at distance zero, and weights mean nothing.
NEIGHBOURS = frozenset({"duplicated_rows_change_nothing", "weights_equal_repetition"})
KNN = {"random_state": 0, "min_range": 0.0}
# Ties of the grid are parted by noise, which follows the order of rows and codes.
KNN_TOLERANCE = {"tolerance": 1e-2, "perfect_tolerance": 0.02}
# Standard deviations do not follow the scale of the codes by themselves.
UNCERTAIN = frozenset({"common_scale_is_irrelevant", "scale_of_each_code_is_irrelevant"})

DRAWS = {"n_train": 1000, "n_eval": 1000, "random_state": 0}
UNPRUNED = {**DRAWS, "prune_threshold": 0.0}
UNBOUNDED = (0.0, np.inf)
# Codes weigh by their largest deviation or by their variance.
WEIGHTED = frozenset({"scale_of_each_code_is_irrelevant"})
# Scores of several models at once: test_unsupervised.py has their properties.
OF_SEVERAL_MODELS = {"udr_score"}

# A copy of a held-out row among the rows to fit on gives the answer away.
SPLIT = {
    "exempt": frozenset({"duplicated_rows_change_nothing"}),
    "tolerance": 0.12,
    "perfect_tolerance": 0.03,
    "n_samples": 300,
    "max_examples": 2,
}
TREES = {"estimator": (ExtraTreesClassifier(10), ExtraTreesRegressor(10)), "random_state": 0}
SMALL_TREES = {
    "estimator": (DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5)),
    "random_state": 0,
}
NUMBERS = frozenset({"factors_may_be_relabelled", "factors_may_be_strings"})

# Distances in units of the codes, or of the factors.
IN_UNITS = frozenset({"common_scale_is_irrelevant", "scale_of_each_code_is_irrelevant"})
DISTANCE = {"bounds": UNBOUNDED, "perfect": 0.0, "tolerance": 1e-7}

# One line per metric.
METRICS = [
    # _information
    Metric(mig_score),
    # Without the activity rule, which compares the scales of codes.
    Metric(metrics.mig_sup_score, {"min_variance": 0.0}),
    Metric(metrics.dcimig_score),
    # Chance information of noise is unequal, as the numbers of classes are.
    Metric(metrics.modularity_score, noise=0.7),
    # _posterior
    Metric(metrics.rmig_score),
    Metric(metrics.rmig_score, {"codes_std": 1e-9}, exempt=UNCERTAIN),
    # Noise still has less than the largest joint entropy.
    Metric(metrics.jemmig_score, noise=0.2),
    # _minimality
    Metric(metrics.minimality_score),
    Metric(metrics.sufficiency_score),
    # _infomec; shares of next to no information mean nothing, hence no floor for noise.
    Metric(metrics.infom_score, {"method": "binned", "min_range": 0.0}, noise=0.3),
    Metric(metrics.infoc_score, {"method": "binned", "min_range": 0.0}, noise=0.1),
    Metric(metrics.infom_score, KNN, exempt=NEIGHBOURS, noise=None, **KNN_TOLERANCE),
    Metric(metrics.infoc_score, KNN, exempt=NEIGHBOURS, noise=None, **KNN_TOLERANCE),
    # Where classes are separable, the solver stops somewhere on the way to infinity.
    Metric(metrics.infoe_score, tolerance=2e-3, perfect_tolerance=1e-3, max_examples=4),
    # _med
    Metric(metrics.med_disentanglement_score),
    Metric(metrics.med_completeness_score),
    # _dci; trees split rows and thresholds at random, the more so the less there is to find.
    Metric(metrics.dci_disentanglement_score, TREES, **SPLIT),
    Metric(metrics.dci_completeness_score, TREES, **SPLIT),
    Metric(metrics.dci_informativeness_score, TREES, **SPLIT | {"noise": 0.35}),
    # _predictive; integers are numbers to regress on, strings are classes.
    Metric(metrics.sap_score, exempt=NUMBERS),
    # A linear function cannot single out the classes in the middle of 3, 4 and 5 ordered ones.
    Metric(metrics.explicitness_score, {"random_state": 0}, **SPLIT | {"perfect": 0.644}),
    Metric(metrics.explicitness_score, {"random_state": 0, "multi_class": "multinomial"}, **SPLIT),
    Metric(metrics.downstream_accuracy_score, SMALL_TREES, **SPLIT | {"noise": 0.45}),
    # _interventional; guessing is right for one factor in three.
    Metric(metrics.beta_vae_score, DRAWS, noise=0.45, tolerance=0.12, max_examples=4),
    # Without pruning, which compares the scales of codes.
    Metric(metrics.factor_vae_score, UNPRUNED, noise=0.45, tolerance=0.12),
    Metric(metrics.r_factor_vae_score, UNPRUNED, noise=0.45, tolerance=0.12),
    # _robustness; outliers look like robustness.
    Metric(metrics.irs_score, {"q": 1.0}, noise=0.4, exempt=WEIGHTED),
    # A quantile lies between two samples, and elsewhere if each is there twice.
    Metric(metrics.irs_score, noise=0.4, exempt=WEIGHTED | {"duplicated_rows_change_nothing"}),
    # Noise has a most robust code for every factor, too.
    Metric(metrics.unconfoundedness_score, noise=None),
    # _unsupervised; independent noise is as good as perfect codes.
    Metric(metrics.gaussian_total_correlation_error, bounds=UNBOUNDED, perfect=0.0, noise=None),
    Metric(
        metrics.gaussian_wasserstein_correlation_error,
        {"normalize": True},
        bounds=(0.0, 2.0),
        perfect=0.0,
        noise=None,
        exempt=WEIGHTED,
    ),
    Metric(metrics.code_mutual_info_error, bounds=(0.0, np.log(20)), perfect=0.0, noise=None),
    Metric(
        metrics.factorized_support_distance,
        {"standardize": True, "batch_size": 240},
        bounds=UNBOUNDED,
        perfect=0.0,
        noise=None,
        max_examples=4,
    ),
    # _logical_modularity; noise of unit variance.
    Metric(metrics.modularity_distance, noise=2.5, exempt=IN_UNITS, **DISTANCE),
    Metric(metrics.product_modularity_score, noise=0.06, exempt=IN_UNITS),
    Metric(metrics.product_modularity_score, {"deviation": "radius"}, noise=1e-3, exempt=IN_UNITS),
    Metric(metrics.product_modularity_score, {"deviation": "mad"}, noise=0.1, exempt=IN_UNITS),
    Metric(metrics.constancy_modularity_score, noise=0.2, exempt=IN_UNITS),
    Metric(
        metrics.constancy_modularity_score, {"assignment": "partition"}, noise=None, exempt=IN_UNITS
    ),
    # _logical_informativeness; exp(-variance) where codes say nothing.
    Metric(metrics.informativeness_distance, noise=1.2, exempt=NUMBERS, **DISTANCE),
    Metric(metrics.inverse_informativeness_score, noise=0.3, exempt=NUMBERS),
    Metric(
        metrics.inverse_informativeness_score,
        {"error": "mae"},
        noise=0.4,
        exempt=NUMBERS,
        tolerance=1e-7,
        max_examples=3,
    ),
    Metric(
        metrics.inverse_informativeness_score,
        {"error": "max_error"},
        noise=0.1,
        exempt=NUMBERS,
        tolerance=1e-7,
        max_examples=3,
    ),
    # Shrunk codes are perfect to an inverse but do contract.
    Metric(
        metrics.contraction_informativeness_score,
        perfect=None,
        noise=None,
        exempt=NUMBERS | IN_UNITS,
    ),
]


def test_metrics_table_is_complete():
    public = {n for n in metrics.__all__ if n.endswith(("_score", "_error", "_distance"))}
    # Scores of a fitted estimator are tested with their modules.
    of_estimators = {
        n
        for n in public
        if next(iter(inspect.signature(getattr(metrics, n)).parameters)) == "estimator"
    }
    tested = {metric.function.__name__ for metric in METRICS}
    assert public - OF_SEVERAL_MODELS - of_estimators == tested


def test_scorers_are_complete():
    scores = {f"neg_{n}" for n in metrics.__all__ if n.endswith(("_error", "_distance"))}
    scores |= {n.removesuffix("_score") for n in metrics.__all__ if n.endswith("_score")}
    scores -= {name.removesuffix("_score") for name in OF_SEVERAL_MODELS}
    assert scores <= set(metrics.get_scorer_names())


class Sample(NamedTuple):
    factors: np.ndarray
    codes: np.ndarray
    rng: np.random.Generator


@st.composite
def samples(draw, n_samples):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_factors, n_codes = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    n_classes = [draw(st.integers(2, 4)) for _ in range(n_factors)]
    noise = draw(st.sampled_from([0.01, 0.3, 3.0]))
    factors = np.column_stack([rng.integers(n, size=n_samples) for n in n_classes])
    factors[:4] = np.minimum(np.arange(4)[:, None], np.array(n_classes) - 1)
    mixing = rng.normal(size=(n_factors, n_codes)) * rng.integers(2, size=(n_factors, n_codes))
    codes = factors @ mixing + noise * rng.normal(size=(n_samples, n_codes))
    return Sample(factors, codes, rng)


def grid(n_repeats=10):
    """All combinations of three factors, each equally often, in random order."""
    cells = np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)
    return np.random.default_rng(0).permutation(np.repeat(cells, n_repeats, axis=0))


def test_exemptions_name_tests():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set().union(*(metric.exempt for metric in METRICS)) <= tests


def metrics_that(name, condition=lambda metric: True):
    chosen = [metric for metric in METRICS if name not in metric.exempt and condition(metric)]
    return pytest.mark.parametrize("metric", chosen, ids=lambda m: m.function.__name__)


def holds_for(condition):
    """Test of a property (metric, sample) over all metrics that meet the condition."""

    def decorate(prop):
        @metrics_that(prop.__name__.removeprefix("test_"), condition)
        def test(metric):
            @settings(
                max_examples=metric.max_examples,
                derandomize=True,
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(sample=samples(metric.n_samples))
            def run(sample):
                prop(metric, sample)

            run()

        return test

    return decorate


holds_for_all = holds_for(lambda metric: True)


def same(metric, first, second):
    assert first == pytest.approx(second, abs=metric.tolerance)


@holds_for_all
def test_value_is_python_float(metric, sample):
    assert type(metric(*sample[:2])) is float


@holds_for_all
def test_value_is_within_bounds(metric, sample):
    low, high = metric.bounds
    assert low - 1e-12 <= metric(*sample[:2]) <= high + 1e-12


@holds_for_all
def test_value_is_repeatable(metric, sample):
    assert metric(*sample[:2]) == metric(*sample[:2])


@holds_for_all
def test_rows_may_be_reordered(metric, sample):
    order = sample.rng.permutation(len(sample.codes))
    same(metric, metric(*sample[:2]), metric(sample.factors[order], sample.codes[order]))


@holds_for_all
def test_codes_may_be_permuted(metric, sample):
    order = sample.rng.permutation(sample.codes.shape[1])
    same(metric, metric(*sample[:2]), metric(sample.factors, sample.codes[:, order]))


@holds_for_all
def test_factors_may_be_permuted(metric, sample):
    order = sample.rng.permutation(sample.factors.shape[1])
    same(metric, metric(*sample[:2]), metric(sample.factors[:, order], sample.codes))


@holds_for_all
def test_code_sign_is_irrelevant(metric, sample):
    sign = sample.rng.choice([-1.0, 1.0], size=sample.codes.shape[1])
    same(metric, metric(*sample[:2]), metric(sample.factors, sample.codes * sign))


@holds_for_all
def test_common_scale_is_irrelevant(metric, sample):
    """One common factor."""
    scale = 10.0 ** sample.rng.uniform(-3, 3)
    same(metric, metric(*sample[:2]), metric(sample.factors, sample.codes * scale))


@holds_for_all
def test_scale_of_each_code_is_irrelevant(metric, sample):
    scale = 10.0 ** sample.rng.uniform(-3, 3, size=sample.codes.shape[1])
    same(metric, metric(*sample[:2]), metric(sample.factors, sample.codes * scale))


@holds_for_all
def test_code_shift_is_irrelevant(metric, sample):
    shift = sample.rng.uniform(-3, 3, size=sample.codes.shape[1])
    same(metric, metric(*sample[:2]), metric(sample.factors, sample.codes + shift))


@holds_for_all
def test_factors_may_be_relabelled(metric, sample):
    """Classes renamed in random order."""
    names = sample.rng.permutation(100)
    same(metric, metric(*sample[:2]), metric(names[sample.factors], sample.codes))


@holds_for_all
def test_factors_may_be_strings(metric, sample):
    names = np.array(["a", "b", "c", "d"])
    same(metric, metric(*sample[:2]), metric(names[sample.factors], sample.codes))


@holds_for_all
def test_integer_valued_floats_are_classes(metric, sample):
    """Integer-valued floats are classes."""
    same(metric, metric(*sample[:2]), metric(sample.factors.astype(float), sample.codes))


@holds_for_all
def test_frames_and_lists_equal_arrays(metric, sample):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    value = metric(*sample[:2])
    factors, codes = sample[:2]
    names = [f"y{k}" for k in range(factors.shape[1])], [f"z{j}" for j in range(codes.shape[1])]
    assert value == metric(factors.tolist(), codes.tolist())
    assert value == metric(pd.DataFrame(factors), pd.DataFrame(codes))
    assert value == metric(pl.DataFrame(factors, names[0]), pl.DataFrame(codes, names[1]))


@holds_for_all
def test_float32_is_close_to_float64(metric, sample):
    same_within = max(metric.tolerance, 0.05)
    rounded = sample.codes.astype(np.float32)
    single = metric(sample.factors, rounded)
    # Rounding may carry a value over the edge of a bin; the type itself must not matter.
    assert single == pytest.approx(metric(*sample[:2]), abs=same_within)
    assert single == metric(sample.factors, rounded.astype(np.float64))


@holds_for_all
def test_dead_code_is_finite(metric, sample):
    # A constant 0.3 has variance 1e-33: the trap for tests of variance > 0.
    dead = np.full((len(sample.codes), 1), 0.3)
    assert np.isfinite(metric(sample.factors, np.hstack([sample.codes, dead])))
    assert np.isfinite(metric(sample.factors, dead))


@holds_for(lambda metric: metric.needs_factors)
def test_single_valued_factor_warns(metric, sample):
    constant = np.zeros((len(sample.codes), 1), dtype=int)
    with pytest.warns(DegenerateScoreWarning):
        value = metric(np.hstack([sample.factors, constant]), sample.codes)
    assert np.isfinite(value)


@holds_for_all
def test_duplicated_rows_change_nothing(metric, sample):
    twice = np.repeat(sample.factors, 2, axis=0), np.repeat(sample.codes, 2, axis=0)
    same(metric, metric(*sample[:2]), metric(*twice))


@holds_for(lambda metric: metric.accepts("sample_weight"))
def test_weights_equal_repetition(metric, sample):
    weight = sample.rng.integers(4, size=len(sample.codes))
    repeated = np.repeat(sample.factors, weight, axis=0), np.repeat(sample.codes, weight, axis=0)
    same(metric, metric(*sample[:2], sample_weight=weight), metric(*repeated))


@holds_for(lambda metric: metric.accepts("average"))
def test_average_none_gives_each_value(metric, sample):
    values = metric(*sample[:2], average=None)
    assert values.shape in {(sample.factors.shape[1],), (sample.codes.shape[1],)}
    assert np.isfinite(values).all()


@holds_for_all
def test_missing_values_raise_or_are_omitted(metric, sample):
    factors, codes = sample.factors.astype(float), sample.codes.copy()
    codes[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        metric(factors, codes)
    if not metric.accepts("nan_policy"):
        return
    factors[5, 0] = np.nan
    keep = np.delete(np.arange(len(codes)), [3, 5] if metric.needs_factors else [3])
    omitted = metric(factors, codes, nan_policy="omit")
    assert omitted == metric(sample.factors[keep], sample.codes[keep])


@holds_for(lambda metric: metric.needs_factors)
def test_continuous_factors_are_never_silent_classes(metric, sample):
    """Never silently taken as classes: an error that names factor_bins, or a metric for them."""
    continuous = sample.factors + sample.rng.uniform(0.1, 0.9, size=sample.factors.shape)
    if metric.accepts("factor_bins"):
        with pytest.raises(ValueError, match="factor_bins"):
            metric(continuous, sample.codes)
        assert np.isfinite(metric(continuous, sample.codes, factor_bins=3))
    else:
        assert np.isfinite(metric(continuous, sample.codes))


SMALL = np.random.default_rng(0).integers([2, 3], size=(12, 2))
MIXED = SMALL @ [[1.0, 0.5, 0.0], [-0.5, 1.0, 0.2]] + np.linspace(0, 0.1, 12)[:, None]


@metrics_that("corner_cases_are_defined")
@pytest.mark.parametrize(
    ("factors", "codes"),
    [
        (SMALL, MIXED),
        (SMALL, MIXED[:, :1]),
        (SMALL[:, :1], MIXED),
        (SMALL[:, :1], MIXED[:, :1]),
        (SMALL[:, [0, 0]], MIXED[:, [0, 0]]),
        (np.column_stack([np.arange(12)] * 2), MIXED),
        (np.array([[0, 0], [1, 1]]), np.eye(2)),
        (np.array([[0, 0], [0, 1]]), np.array([[0.0, 1.0], [0.0, 1.0]])),
        (SMALL, MIXED * 1e-150),
        (SMALL, MIXED + 1e9),
    ],
    ids=[
        "few rows",
        "one code",
        "one factor",
        "one of each",
        "copies",
        "as many classes as rows",
        "two rows",
        "two equal rows",
        "tiny codes",
        "far codes",
    ],
)
def test_corner_cases_are_defined(metric, factors, codes):
    value = metric(factors, codes)
    assert type(value) is float
    assert metric.bounds[0] - 1e-12 <= value <= metric.bounds[1] + 1e-12


@metrics_that("more_bins_than_samples_is_defined", lambda metric: metric.accepts("n_bins"))
def test_more_bins_than_samples_is_defined(metric):
    value = metric(SMALL, MIXED, n_bins=500)
    assert metric.bounds[0] <= value <= max(metric.bounds[1], np.log(500))


@metrics_that("one_class_warns", lambda metric: metric.needs_factors)
def test_one_class_warns(metric):
    with pytest.warns(DegenerateScoreWarning):
        value = metric(np.ones((12, 2), dtype=int), MIXED)
    assert metric.bounds[0] <= value <= metric.bounds[1]


@metrics_that("constant_codes_warn")
def test_constant_codes_warn(metric):
    factors = grid(1)
    with pytest.warns(DegenerateScoreWarning, match="codes are constant|None of the codes"):
        value = metric(factors, np.full((len(factors), 3), 0.3))
    assert metric.bounds[0] <= value <= metric.bounds[1]


@metrics_that("perfect_codes_get_perfect_value", lambda metric: metric.perfect is not None)
def test_perfect_codes_get_perfect_value(metric):
    factors = grid()
    value = metric(factors, factors @ np.diag([2.0, -0.5, 1.0]) + 0.25)
    assert value == pytest.approx(metric.perfect, abs=metric.perfect_tolerance)


@metrics_that("noise_stays_at_floor", lambda metric: metric.noise is not None)
def test_noise_stays_at_floor(metric):
    factors = grid(34)
    value = metric(factors, np.random.default_rng(1).normal(size=(len(factors), 4)))
    if metric.function.__name__.endswith(("_error", "_distance")):
        assert value >= metric.noise
    else:
        assert value <= metric.noise


@metrics_that("bad_input_gets_a_clear_error")
@pytest.mark.parametrize(
    ("factors", "codes", "error", "match"),
    [
        (np.zeros(9, int), np.ones((9, 2)), ValueError, r"Use factors\[:, None\]"),
        (np.zeros((9, 2), int), np.ones(9), ValueError, r"Use codes\[:, None\]"),
        (np.zeros((9, 2), int), np.ones((8, 2)), ValueError, "9 rows of factors and 8"),
        (np.zeros((9, 2), int), np.full((9, 2), np.inf), ValueError, "finite"),
        (np.zeros((9, 0), int), np.ones((9, 2)), ValueError, "empty"),
        (np.zeros((9, 2), int), np.ones((9, 0)), ValueError, "empty"),
        (np.zeros((1, 2), int), np.ones((1, 2)), ValueError, "At least 2 samples"),
        (np.zeros((9, 2), int), np.full((9, 2), "a"), TypeError, "real numbers"),
        (np.zeros((9, 2), int), np.ones((9, 2), object), TypeError, "real numbers"),
        (np.zeros((9, 2), int), np.full((9, 2), 1e200), ValueError, "Rescale"),
        (np.full((9, 2), np.nan), np.ones((9, 2)), ValueError, "factors must not contain NaN"),
        (np.full((9, 2), np.inf), np.ones((9, 2)), ValueError, "factors must be finite"),
    ],
)
def test_bad_input_gets_a_clear_error(metric, factors, codes, error, match):
    about_factors = "factors" in match or factors.shape[1:] == (0,)
    if about_factors and not metric.needs_factors:
        return
    with pytest.raises(error, match=match):
        metric(factors, codes)


@metrics_that("scorer_survives_pickling")
def test_scorer_survives_pickling(metric):
    name = metric.function.__name__
    loss = name.endswith(("_error", "_distance"))
    scorer = metrics.get_scorer(f"neg_{name}" if loss else name.removesuffix("_score"))
    assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer)
