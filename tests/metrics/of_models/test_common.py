"""One table of properties and bad inputs for all metrics of fitted models."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from sklearn_disent.metrics import (
    CounterfactualGenerativenessScorer,
    counterfactual_generativeness_score,
    elbo_decomposition,
    elbo_score,
    manifold_topology_score,
    posterior_mig_score,
    posterior_minimality_score,
    posterior_sufficiency_score,
    wsepin_score,
)
from sklearn_disent.metrics._catalogue import CATALOGUE


def generativeness(model, X, y, **options):
    options = {"classifiers": DecisionTreeClassifier(random_state=0), "random_state": 0, **options}
    return counterfactual_generativeness_score(model, X, y, **options)


def judged(model, X, y):
    X_other = np.random.default_rng(1).normal(size=(200, 5))
    y_other = np.random.default_rng(2).integers(4, size=(200, 2))
    tree = DecisionTreeClassifier(random_state=0)
    return CounterfactualGenerativenessScorer(X_other, y_other, tree)(model, X, y)


def fitted_judges(model, X, y):
    """The scorer's own data are checked as well."""
    return CounterfactualGenerativenessScorer(X, y, DecisionTreeClassifier(random_state=0))


def topology(model, X, y):
    """With submanifolds of real observations: else X is not looked at."""
    few = {"n_samples": 40, "n_values": 2, "n_landmarks": 8, "n_repeats": 3, "max_holes": 10}
    options = {"supervised": True, "prior": "encoded", "random_state": 0, **few}
    return manifold_topology_score(model, X, y, **options)


METRICS = {
    "counterfactual_generativeness_score": generativeness,
    "CounterfactualGenerativenessScorer": judged,
    "posterior_mig_score": posterior_mig_score,
    "posterior_minimality_score": posterior_minimality_score,
    "posterior_sufficiency_score": posterior_sufficiency_score,
    "manifold_topology_score": topology,
    "elbo_score": elbo_score,
    "wsepin_score": lambda model, X, y: wsepin_score(model, X, y, random_state=0),
    "elbo_decomposition": lambda model, X, y: elbo_decomposition(model, X, random_state=0).elbo,
}
OF_FACTORS = {
    **{name: METRICS[name] for name in list(METRICS)[:6]},
    "fitted judges": fitted_judges,
}


def with_nan(array):
    array = array.astype(float)
    array[3, 1] = np.nan
    return array


BAD_FACTORS = {
    "shorter": (lambda X, y: (X, y[:100]), r"same number of rows|300 .*100|100 .*300"),
    "longer": (lambda X, y: (X[:60], y[:100]), r"same number of rows|60 .*100|100 .*60"),
    "masked": (lambda X, y: (X, np.ma.masked_array(y, y == 1)), "NaN|missing"),
    "ragged": (lambda X, y: (X, [row[: 1 + i % 2] for i, row in enumerate(y)]), "equal length|2D"),
    "nan": (lambda X, y: (X, with_nan(y)), "NaN|missing"),
    "one column": (lambda X, y: (X, y[:, 0]), "2D"),
    "no factors": (lambda X, y: (X, y[:, :0]), "factor|feature|column"),
    "one row": (lambda X, y: (X[:1], y[:1]), "sample|row|at least|n_samples"),
}
BAD_X = {
    "nan": (lambda X, y: (with_nan(X), y), "NaN"),
    "empty": (lambda X, y: (X[:0], y[:0]), "0 sample|at least|n_samples"),
    "features": (lambda X, y: (X[:, :3], y), "3 features"),
    "masked": (lambda X, y: (np.ma.masked_array(X, X > 0), y), "NaN"),
}


def test_all_metrics_of_models_are_in_the_table():
    names = {metric.function.__name__ for metric in CATALOGUE if metric.needs == "estimator"}
    assert names <= METRICS.keys()


@pytest.mark.parametrize("bad", BAD_FACTORS)
@pytest.mark.parametrize("name", OF_FACTORS)
def test_bad_factors_are_named(vae, name, bad):
    model, X, y = vae
    change, message = BAD_FACTORS[bad]
    with pytest.raises(ValueError, match=message):
        OF_FACTORS[name](model, *change(X, y))


@pytest.mark.parametrize("bad", BAD_X)
@pytest.mark.parametrize("name", METRICS)
def test_bad_observations_are_named(vae, name, bad):
    model, X, y = vae
    change, message = BAD_X[bad]
    with pytest.raises(ValueError, match=message):
        METRICS[name](model, *change(X, y))


@pytest.mark.parametrize("name", METRICS)
def test_inputs_stay_as_they_are_and_the_score_is_a_float_that_repeats(vae, name):
    model, X, y = vae
    X_before, y_before = X.copy(), y.copy()
    score = METRICS[name](model, X, y)
    assert type(score) is float
    assert np.isfinite(score)
    assert METRICS[name](model, X, y) == score
    assert np.array_equal(X, X_before)
    assert np.array_equal(y, y_before)


@pytest.mark.parametrize("name", METRICS)
def test_data_frames_and_lists_are_arrays(vae, name):
    model, X, y = vae
    expected = METRICS[name](model, X, y)
    frames = pd.DataFrame(X), pd.DataFrame(y, columns=["a", "b"])
    assert METRICS[name](model, *frames) == pytest.approx(expected)
    assert METRICS[name](model, X.tolist(), y.tolist()) == pytest.approx(expected)


@pytest.mark.parametrize(
    "name", ["posterior_mig_score", "posterior_minimality_score", "elbo_score", "judged"]
)
def test_order_of_rows_and_labels_of_values_do_not_matter(vae, name):
    model, X, y = vae
    metric = METRICS.get(name, judged)
    order = np.random.default_rng(0).permutation(len(X))
    expected = metric(model, X, y)
    assert metric(model, X[order], y[order]) == pytest.approx(expected, rel=1e-5)
    if name.startswith("posterior"):
        assert metric(model, X, 7 - 2 * y[:, ::-1]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_tensors_with_gradient_or_short_floats_are_arrays(vae, name):
    model, X, y = vae
    rounded = torch.as_tensor(X).bfloat16()
    expected = METRICS[name](model, rounded.float().numpy(), y)
    assert METRICS[name](model, rounded.requires_grad_(), torch.as_tensor(y)) == expected
