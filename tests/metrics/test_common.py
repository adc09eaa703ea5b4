"""One property, all metrics; and no metric forgotten.

Every metric of factors and codes, or of codes alone, is tested as the catalogue has it. Where that
is too slow, or where a metric lacks a property by definition, CASES says so, with the reason.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent.exceptions import DegenerateScoreWarning
from sklearn_disent.metrics import check_factors_codes
from sklearn_disent.metrics._catalogue import REPORTED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_disent.exceptions.DegenerateScoreWarning")


@dataclass(frozen=True, eq=False)
class Case:
    """A metric with one choice of options."""

    name: str
    """In a report."""
    options: Mapping = field(default_factory=dict)
    """Cheap settings for the tests, and random_state where there is one."""
    bounds: tuple[float, float] | None = None
    """Narrower than in the catalogue."""
    perfect: float | None = None
    """Value of codes that are the factors, rescaled; the best one if None, nan for no promise."""
    perfect_tolerance: float = 1e-9
    noise: float | None = 0.05
    """Largest value (smallest, for an error or distance) of codes independent of the factors."""
    tolerance: float = 1e-9
    """Within which invariances hold: rounding, or the spread of a stochastic metric."""
    n_samples: int = 120
    max_examples: int = 5
    exempt: Mapping[str, str] = field(default_factory=dict)
    """Tests below, without "test_", whose property the metric lacks by definition, and why."""

    def __post_init__(self):
        metric = REPORTED[self.name]
        perfect = float(metric.greater_is_better) if self.perfect is None else self.perfect
        object.__setattr__(self, "perfect", perfect)
        object.__setattr__(self, "bounds", self.bounds or metric.bounds)

    @property
    def needs_factors(self) -> bool:
        return REPORTED[self.name].needs == "factors"

    def accepts(self, parameter: str) -> bool:
        return parameter in REPORTED[self.name].options

    def __call__(self, factors, codes, **options):
        data = (factors, codes) if self.needs_factors else (codes,)
        return REPORTED[self.name].function(*data, **{**self.options, **options})


def because(reason, *properties):
    return dict.fromkeys(properties, reason)


SCALES = ("common_scale_is_irrelevant", "scale_of_each_code_is_irrelevant")
NEIGHBOURS = because(
    "Neighbours are samples: a copy is a neighbour at distance zero, and weights mean nothing.",
    "duplicated_rows_change_nothing",
    "weights_equal_repetition",
)
UNCERTAIN = because("Standard deviations do not follow the scale of the codes.", *SCALES)
WEIGHTED = because("Codes weigh by their largest deviation or by their variance.", SCALES[1])
IN_UNITS = because("Distances are in units of the codes.", *SCALES)
NUMBERS = because(
    "Integers are numbers to regress on, strings are classes.",
    "factors_may_be_relabelled",
    "factors_may_be_strings",
)
QUANTILE = because(
    "A quantile lies between two samples, and elsewhere if each is there twice.",
    "duplicated_rows_change_nothing",
)
HELD_OUT = because(
    "A copy of a held-out row among the rows to fit on gives the answer away.",
    "duplicated_rows_change_nothing",
)

KNN = {"random_state": 0, "min_range": 0.0}
BINNED = {"method": "binned", "min_range": 0.0}
# Noise breaks the ties of the grid, and it follows the order of rows and codes.
KNN_TOLERANCE = {"exempt": NEIGHBOURS, "tolerance": 1e-2, "perfect_tolerance": 0.02}
DRAWS = {"n_train": 1000, "n_eval": 1000, "random_state": 0}
# Pruning compares the scales of codes.
UNPRUNED = {**DRAWS, "prune_threshold": 0.0}
SPLIT = {
    "exempt": HELD_OUT,
    "tolerance": 0.12,
    "perfect_tolerance": 0.03,
    "n_samples": 300,
    "max_examples": 2,
}
TREES = {"estimator": (ExtraTreesClassifier(5), ExtraTreesRegressor(5)), "random_state": 0}
SMALL_TREES = {
    "estimator": (DecisionTreeClassifier(max_depth=5), DecisionTreeRegressor(max_depth=5)),
    "random_state": 0,
}
FITTED = {"exempt": NUMBERS, "tolerance": 1e-7, "max_examples": 3}
NO_PROMISE = float("nan")
FOLDS = {"exempt": NUMBERS | HELD_OUT, "tolerance": 0.2, "n_samples": 300, "max_examples": 4}
REGRESSED = {**SPLIT, "exempt": NUMBERS | HELD_OUT}
CHEAP_TREE = {"estimator": DecisionTreeClassifier(max_depth=5), "random_state": 0}
KNOCKED_OUT = {"estimator": ExtraTreesClassifier(5), "random_state": 0}
FEW_TESTS = {"n_splits": 2, "random_state": 0}
TESTED = {"tolerance": 4.0, "perfect_tolerance": 0.0, "n_samples": 300, "max_examples": 2}
EXPLICIT = {**REGRESSED, "noise": None, "tolerance": 0.2}

# Metrics that need more than their row in the catalogue.
CASES = [
    # Without the activity rule, which compares the scales of codes.
    Case("mig_sup", {"min_variance": 0.0}),
    Case("minimality", {"min_variance": 0.0}),
    # Chance information of noise is unequal, as the numbers of classes are.
    Case("modularity", noise=0.7),
    Case("rmig"),
    Case("rmig", {"codes_std": 1e-9}, exempt=UNCERTAIN),
    # Noise still has less than the largest joint entropy.
    Case("jemmig", noise=0.2),
    # Shares of next to no information mean nothing: there is no floor for noise.
    Case("infom", BINNED, noise=0.3),
    Case("infoc", BINNED, noise=0.1),
    Case("infom", KNN, noise=None, **KNN_TOLERANCE),
    Case("infoc", KNN, noise=None, **KNN_TOLERANCE),
    # Where classes are separable, the solver stops somewhere on the way to infinity.
    Case("infoe", tolerance=2e-3, perfect_tolerance=1e-3, max_examples=4),
    # Trees split rows and thresholds at random, the more so the less there is to find.
    Case("dci_disentanglement", TREES, **SPLIT),
    Case("dci_completeness", TREES, **SPLIT),
    Case("dci_informativeness", TREES, **SPLIT | {"noise": 0.35}),
    Case("sap", exempt=NUMBERS),
    # A linear function cannot single out the classes in the middle of 3, 4 and 5 ordered ones.
    Case("explicitness", {"random_state": 0}, **SPLIT | {"perfect": 0.644}),
    Case("explicitness", {"random_state": 0, "multi_class": "multinomial"}, **SPLIT),
    Case("downstream_accuracy", SMALL_TREES, **SPLIT | {"noise": 0.45}),
    # Guessing is right for one factor in three.
    Case("beta_vae", DRAWS, noise=0.45, tolerance=0.12, max_examples=4),
    Case("factor_vae", UNPRUNED, noise=0.45, tolerance=0.12),
    Case("r_factor_vae", UNPRUNED, noise=0.45, tolerance=0.12),
    # Outliers look like robustness.
    Case("irs", {"q": 1.0}, noise=0.4, exempt=WEIGHTED),
    Case("irs", noise=0.4, exempt=WEIGHTED | QUANTILE),
    # Noise has a most robust code for every factor, too.
    Case("unconfoundedness", noise=None),
    # Independent noise is as good as perfect codes, for all metrics of codes alone.
    Case("gaussian_total_correlation_error", noise=None),
    Case(
        "gaussian_wasserstein_correlation_error",
        {"normalize": True},
        bounds=(0.0, 2.0),
        noise=None,
        exempt=WEIGHTED,
    ),
    Case("code_mutual_info_error", bounds=(0.0, np.log(20)), noise=None),
    Case(
        "factorized_support_distance",
        {"standardize": True, "batch_size": 240},
        noise=None,
        max_examples=4,
    ),
    # Noise of unit variance.
    Case("modularity_distance", noise=2.5, exempt=IN_UNITS, tolerance=1e-7),
    Case("product_modularity", noise=0.06, exempt=IN_UNITS),
    Case("product_modularity", {"deviation": "radius"}, noise=1e-3, exempt=IN_UNITS),
    Case("product_modularity", {"deviation": "mad"}, noise=0.1, exempt=IN_UNITS),
    Case("constancy_modularity", noise=0.2, exempt=IN_UNITS),
    Case("constancy_modularity", {"assignment": "partition"}, noise=None, exempt=IN_UNITS),
    # exp(-variance) where codes say nothing.
    Case("informativeness_distance", noise=1.2, exempt=NUMBERS, tolerance=1e-7),
    Case("inverse_informativeness", noise=0.3, exempt=NUMBERS),
    Case("inverse_informativeness", {"error": "mae"}, noise=0.4, **FITTED),
    Case("inverse_informativeness", {"error": "max_error"}, noise=0.1, **FITTED),
    # Shrunk codes are perfect to an inverse but do contract.
    Case("contraction_informativeness", perfect=NO_PROMISE, noise=None, exempt=NUMBERS | IN_UNITS),
]
CASES += [
    # Noise correlates by chance with the best of four codes; held out, it does not.
    Case("mcc", noise=0.1, exempt=NUMBERS),
    Case("mcc", {"kind": "spearman"}, noise=0.1, exempt=NUMBERS),
    Case("mcc", {"n_folds": 3, "random_state": 0}, **FOLDS),
    Case("mcc", {"up_to": "linear", "n_folds": 3, "random_state": 0}, **FOLDS),
    Case("factor_r2", {"random_state": 0}, **REGRESSED),
    Case("factor_r2", {"estimator": "kernel", "random_state": 0}, **REGRESSED),
    Case("matched_r2", {"random_state": 0}, **REGRESSED),
    # Noise explains nothing that is not its own, either.
    Case("unmatched_r2_error", {"random_state": 0}, **REGRESSED | {"noise": 0.0}),
    # Guessing one class in 3, 4 and 5.
    Case("snc", {"random_state": 0}, **SPLIT | {"noise": 0.33}),
    # Without its code a factor is guessed, or worse: on a grid, a class is rare in the held-out
    # rows where it is frequent in the others. At least 1 - (1/3 + 1/4 + 1/5) / 3 is lost.
    Case("nk", KNOCKED_OUT, **SPLIT | {"perfect": 0.8, "perfect_tolerance": 0.1}),
    # One code holds 3, 4 and 5 classes.
    Case("lms", perfect=(1 / 3 + 1 / 4 + 1 / 5) / 3, perfect_tolerance=0.02),
    # An AUROC captures the two classes at the ends of each code, and none in the middle.
    Case("tad", {"min_range": 0.0, "min_auroc": 0.8}, perfect=3.0),
    # A test may reject elsewhere after another draw of the halves.
    Case("tmex_error", FEW_TESTS, noise=3.0, exempt=NUMBERS | HELD_OUT, **TESTED),
    Case("omes", {"prune_threshold": 0.0}, noise=0.3),
    Case("omes", {"prune_threshold": 0.0, "partners": "different"}, perfect=NO_PROMISE, noise=0.3),
    # Noise is as explicit as can be: the largest probe does not learn more from it.
    Case("dcies_explicitness", {"random_state": 0, "max_capacity": 16}, **EXPLICIT),
    Case("dcies_size", noise=None),
    # With 30 held-out rows per value, chance alone tells predictions apart.
    Case("unfairness_error", CHEAP_TREE, **SPLIT | {"perfect_tolerance": 0.2, "noise": 0.0}),
]
CASES += [Case(name) for name in REPORTED if name not in {case.name for case in CASES}]
CASES.sort(key=lambda case: list(REPORTED).index(case.name))


class Sample(NamedTuple):
    factors: np.ndarray
    codes: np.ndarray
    rng: np.random.Generator
    """For the changes that a test makes."""
    recipe: "Recipe"


class Recipe(NamedTuple):
    seed: int
    n_samples: int
    n_codes: int
    n_classes: tuple[int, ...]
    noise: float


@functools.cache
def made(recipe):
    """Factors, codes, and the state that their generator is left in."""
    rng = np.random.default_rng(recipe.seed)
    shape = len(recipe.n_classes), recipe.n_codes
    factors = np.column_stack([rng.integers(n, size=recipe.n_samples) for n in recipe.n_classes])
    factors[:4] = np.minimum(np.arange(4)[:, None], np.array(recipe.n_classes) - 1)
    mixing = rng.normal(size=shape) * rng.integers(2, size=shape)
    codes = factors @ mixing + recipe.noise * rng.normal(size=(recipe.n_samples, recipe.n_codes))
    # No metric may write into its data.
    factors.flags.writeable = codes.flags.writeable = False
    return factors, codes, rng.bit_generator.state


# Codes, classes and noise of the samples that every property is tried on, in this order: more and
# fewer codes than factors, one of each, next to no noise and little else.
SHAPES = [
    (3, (4, 2), 0.3),
    (1, (2,), 0.01),
    (2, (3, 4, 2), 3.0),
    (4, (3, 3, 4), 0.01),
    (4, (4,), 0.3),
]


def samples(n_samples, max_examples):
    for seed, shape in enumerate(SHAPES[:max_examples]):
        recipe = Recipe(seed, n_samples, *shape)
        factors, codes, state = made(recipe)
        rng = np.random.default_rng(0)
        rng.bit_generator.state = state
        yield Sample(factors, codes, rng, recipe)


@functools.cache
def value_of(case, recipe):
    """The value of a sample as it is, which most properties compare with: computed once."""
    return case(*made(recipe)[:2])


def grid(n_repeats=10):
    """All combinations of three factors, each equally often, in random order."""
    cells = np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)
    return np.random.default_rng(0).permutation(np.repeat(cells, n_repeats, axis=0))


def test_exemptions_name_tests_and_reasons():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    for case in CASES:
        assert set(case.exempt) <= tests, case.name
        assert all(case.exempt.values()), case.name


def cases_that(name, condition=lambda case: True):
    chosen = [case for case in CASES if name not in case.exempt and condition(case)]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


def holds_for(condition, max_examples=5):
    """Test of a property (case, sample) over all metrics that meet the condition."""

    def decorate(prop):
        @cases_that(prop.__name__.removeprefix("test_"), condition)
        def test(case):
            for sample in samples(case.n_samples, min(case.max_examples, max_examples)):
                prop(case, sample)

        return test

    return decorate


def needs_factors(case):
    return case.needs_factors


def has_units(case):
    # The groups of logical definitions say which codes belong to which factor.
    return case.accepts("groups") and ".logical" not in REPORTED[case.name].function.__module__


holds_for_all = holds_for(lambda case: True)
# One sample is enough where nothing but the type of the input or output changes.
ANOTHER_TYPE = 1


def same(case, sample, factors, codes, **options):
    value = case(factors, codes, **options)
    assert value == pytest.approx(value_of(case, sample.recipe), abs=case.tolerance)


@holds_for_all
def test_value_is_a_float_within_bounds_each_time(case, sample):
    value, (low, high) = value_of(case, sample.recipe), case.bounds
    assert type(value) is float
    assert low - 1e-12 <= value <= high + 1e-12
    assert value == case(sample.factors, sample.codes)


@holds_for_all
def test_rows_may_be_reordered(case, sample):
    order = sample.rng.permutation(len(sample.codes))
    factors, codes = sample.factors[order], sample.codes[order]
    if not case.accepts("split"):
        return same(case, sample, factors, codes)
    # Another split would be another score: the same samples are held out.
    held_out = np.arange(len(order)) < len(order) // 4
    before, after = (
        (np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in (held_out, held_out[order])
    )
    value = case(sample.factors, sample.codes, split=before)
    assert case(factors, codes, split=after) == pytest.approx(value, abs=case.tolerance)


@holds_for_all
def test_codes_may_be_permuted(case, sample):
    order = sample.rng.permutation(sample.codes.shape[1])
    same(case, sample, sample.factors, sample.codes[:, order])


@holds_for(needs_factors)
def test_factors_may_be_permuted(case, sample):
    order = sample.rng.permutation(sample.factors.shape[1])
    same(case, sample, sample.factors[:, order], sample.codes)


@holds_for_all
def test_code_sign_is_irrelevant(case, sample):
    sign = sample.rng.choice([-1.0, 1.0], size=sample.codes.shape[1])
    same(case, sample, sample.factors, sample.codes * sign)


@holds_for_all
def test_common_scale_is_irrelevant(case, sample):
    """One common factor."""
    scale = 10.0 ** sample.rng.uniform(-3, 3)
    same(case, sample, sample.factors, sample.codes * scale)


@holds_for_all
def test_scale_of_each_code_is_irrelevant(case, sample):
    scale = 10.0 ** sample.rng.uniform(-3, 3, size=sample.codes.shape[1])
    same(case, sample, sample.factors, sample.codes * scale)


@holds_for_all
def test_code_shift_is_irrelevant(case, sample):
    shift = sample.rng.uniform(-3, 3, size=sample.codes.shape[1])
    same(case, sample, sample.factors, sample.codes + shift)


@holds_for(needs_factors)
def test_factors_may_be_relabelled(case, sample):
    """Classes renamed in random order."""
    names = sample.rng.permutation(100)
    same(case, sample, names[sample.factors], sample.codes)


@holds_for(needs_factors, max_examples=ANOTHER_TYPE)
def test_factors_may_be_strings(case, sample):
    names = np.array(["a", "b", "c", "d"])
    same(case, sample, names[sample.factors], sample.codes)


@holds_for(needs_factors, max_examples=ANOTHER_TYPE)
def test_integer_valued_floats_are_classes(case, sample):
    same(case, sample, sample.factors.astype(float), sample.codes)


@holds_for(lambda case: True, max_examples=ANOTHER_TYPE)
def test_frames_and_lists_equal_arrays(case, sample):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    value, (factors, codes) = value_of(case, sample.recipe), sample[:2]
    names = [f"y{k}" for k in range(factors.shape[1])], [f"z{j}" for j in range(codes.shape[1])]
    assert value == case(factors.tolist(), codes.tolist())
    assert value == case(pd.DataFrame(factors), pd.DataFrame(codes))
    assert value == case(pl.DataFrame(factors, names[0]), pl.DataFrame(codes, names[1]))


@holds_for(lambda case: True, max_examples=ANOTHER_TYPE)
def test_float32_is_close_to_float64(case, sample):
    rounded = sample.codes.astype(np.float32)
    single = case(sample.factors, rounded)
    # Rounding may carry a value over the edge of a bin; the type itself must not matter.
    same_within = max(case.tolerance, 0.05)
    assert single == pytest.approx(value_of(case, sample.recipe), abs=same_within)
    assert single == case(sample.factors, rounded.astype(np.float64))


@holds_for_all
def test_dead_code_is_finite(case, sample):
    # A constant 0.3 has variance 1e-33: the trap for tests of variance > 0.
    dead = np.full((len(sample.codes), 1), 0.3)
    assert np.isfinite(case(sample.factors, np.hstack([sample.codes, dead])))
    assert np.isfinite(case(sample.factors, dead))


@holds_for(needs_factors)
def test_single_valued_factor_warns(case, sample):
    constant = np.zeros((len(sample.codes), 1), dtype=int)
    with pytest.warns(DegenerateScoreWarning):
        value = case(np.hstack([sample.factors, constant]), sample.codes)
    assert np.isfinite(value)


@holds_for_all
def test_duplicated_rows_change_nothing(case, sample):
    same(case, sample, *(np.repeat(array, 2, axis=0) for array in sample[:2]))


@holds_for(lambda case: case.accepts("sample_weight"))
def test_weights_equal_repetition(case, sample):
    weight = sample.rng.integers(4, size=len(sample.codes))
    repeated = (np.repeat(array, weight, axis=0) for array in sample[:2])
    weighted = case(*sample[:2], sample_weight=weight)
    assert weighted == pytest.approx(case(*repeated), abs=case.tolerance)


@holds_for(has_units, max_examples=ANOTHER_TYPE)
def test_groups_of_one_change_nothing(case, sample):
    """To the last bit; listed in another order, they are the codes in that order."""
    assert case(*sample[:2], groups=1) == value_of(case, sample.recipe)
    order = sample.rng.permutation(sample.codes.shape[1])
    listed = case(*sample[:2], groups=[[j] for j in order])
    assert listed == case(sample.factors, sample.codes[:, order])


@holds_for(has_units, max_examples=ANOTHER_TYPE)
def test_groups_of_copies_score_as_one(case, sample):
    """Two columns that are the same number hold no more than one of them."""
    if case.tolerance > 0.01:
        return
    twice = np.repeat(sample.codes, 2, axis=1)
    same(case, sample, sample.factors, twice, groups=2)


@holds_for(lambda case: case.accepts("average"), max_examples=ANOTHER_TYPE)
def test_average_none_gives_each_value(case, sample):
    values = case(*sample[:2], average=None)
    assert values.shape in {(sample.factors.shape[1],), (sample.codes.shape[1],)}
    assert np.isfinite(values).all()


@holds_for(lambda case: case.accepts("nan_policy"), max_examples=ANOTHER_TYPE)
def test_missing_values_raise_or_are_omitted(case, sample):
    factors, codes = sample.factors.astype(float), sample.codes.copy()
    codes[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        case(factors, codes)
    factors[5] = np.nan  # of one factor alone: see test_unlabelled.py
    keep = np.delete(np.arange(len(codes)), [3, 5] if case.needs_factors else [3])
    omitted = case(factors, codes, nan_policy="omit")
    assert omitted == case(sample.factors[keep], sample.codes[keep])


def test_every_metric_has_a_policy_for_missing_values():
    assert [name for name, metric in REPORTED.items() if "nan_policy" not in metric.options] == []


@holds_for(needs_factors)
def test_continuous_factors_are_never_silent_classes(case, sample):
    """Never silently taken as classes: an error that names factor_bins, or a metric for them."""
    continuous = sample.factors + sample.rng.uniform(0.1, 0.9, size=sample.factors.shape)
    if case.accepts("factor_bins"):
        with pytest.raises(ValueError, match="factor_bins"):
            case(continuous, sample.codes)
        assert np.isfinite(case(continuous, sample.codes, factor_bins=3))
    else:
        assert np.isfinite(case(continuous, sample.codes))


SMALL = np.random.default_rng(0).integers([2, 3], size=(12, 2))
MIXED = SMALL @ [[1.0, 0.5, 0.0], [-0.5, 1.0, 0.2]] + np.linspace(0, 0.1, 12)[:, None]


@cases_that("corner_cases_are_defined")
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
def test_corner_cases_are_defined(case, factors, codes):
    value = case(factors, codes)
    assert type(value) is float
    assert case.bounds[0] - 1e-12 <= value <= case.bounds[1] + 1e-12


@cases_that("more_bins_than_samples_is_defined", lambda case: case.accepts("n_bins"))
def test_more_bins_than_samples_is_defined(case):
    value = case(SMALL, MIXED, n_bins=500)
    assert case.bounds[0] <= value <= max(case.bounds[1], np.log(500))


@cases_that("one_class_warns", needs_factors)
def test_one_class_warns(case):
    with pytest.warns(DegenerateScoreWarning):
        value = case(np.ones((12, 2), dtype=int), MIXED)
    assert case.bounds[0] <= value <= case.bounds[1]


@cases_that("constant_codes_warn")
def test_constant_codes_warn(case):
    factors = grid(1)
    with pytest.warns(DegenerateScoreWarning, match="codes are constant|None of the codes"):
        value = case(factors, np.full((len(factors), 3), 0.3))
    assert case.bounds[0] <= value <= case.bounds[1]


@cases_that("perfect_codes_get_perfect_value", lambda case: not np.isnan(case.perfect))
def test_perfect_codes_get_perfect_value(case):
    factors = grid()
    value = case(factors, factors @ np.diag([2.0, -0.5, 1.0]) + 0.25)
    assert value == pytest.approx(case.perfect, abs=case.perfect_tolerance)


@cases_that("noise_stays_at_floor", lambda case: case.noise is not None)
def test_noise_stays_at_floor(case):
    factors = grid(34)
    value = case(factors, np.random.default_rng(1).normal(size=(len(factors), 4)))
    if REPORTED[case.name].greater_is_better:
        assert value <= case.noise
    else:
        assert value >= case.noise


# -- bad input -------------------------------------------------------------------------------
# One function checks the data of all metrics: what it says is tested once, and that each metric
# asks it, once per metric.


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
def test_bad_input_gets_a_clear_error(factors, codes, error, match):
    with pytest.raises(error, match=match):
        check_factors_codes(factors, codes)


@cases_that("metric_checks_its_data", needs_factors)
def test_metric_checks_its_data(case):
    with pytest.raises(ValueError, match="one row per sample, got 9 rows of factors and 8 rows"):
        case(np.zeros((9, 2), int), np.ones((8, 2)))


@cases_that("metric_checks_its_codes", lambda case: not case.needs_factors)
def test_metric_checks_its_codes(case):
    with pytest.raises(ValueError, match=r"codes must stay within 1e\+150, got 1e\+200"):
        case(None, np.full((9, 2), 1e200))
    with pytest.raises(ValueError, match="At least 2 samples"):
        case(None, np.ones((1, 2)))
