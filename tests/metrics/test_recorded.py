"""Every metric and every option gives the value, and the warnings, that were recorded once.

The numbers are those of this package, not of a reference (see test_golden.py): they show any change
that was not meant. After one that was, recording.py says how to record anew.
"""

import inspect
from functools import cache, partial

import numpy as np
import pytest
from recording import check, choices, record
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_disent import metrics
from sklearn_disent.metrics._catalogue import REPORTED

FILE = "metrics/recorded.json"
N_SAMPLES = 90

DEAD = "a constant factor and a constant code"
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
TREES = TREE, DecisionTreeRegressor(max_depth=3, random_state=0)
# Cheap settings.
BASE = {
    "random_state": 0,
    "n_train": 200,
    "n_eval": 200,
    "max_capacity": 8,
    "n_splits": 2,
    "max_depth": 3,
}
ESTIMATORS = {name: TREES for name in REPORTED if name.startswith("dci_")}
ESTIMATORS |= {"nk": TREE, "unfairness_error": TREE, "downstream_accuracy": TREES}
# Metrics that fit something: their options are tried on ordinary data alone.
FITTED = {*ESTIMATORS, "infoe", "explicitness", "dcies_explicitness", "tmex_error", "beta_vae"}
FITTED |= {"sap", "factor_r2", "matched_r2", "unmatched_r2_error"}
# Another value of each option that is not one of a few names.
OTHERS = {
    "n_bins": 5,
    "n_neighbors": 3,
    "factor_bins": 2,
    "min_variance": 0.6,
    "min_range": 0.5,
    "code_range": (-3.0, 3.0),
    "codes_std": 0.2,
    "top_k": 1,
    "groups": [[0, 2], [1], [3]],
    "max_samples": 50,
    "test_size": 0.5,
    "train_size": 30,
    "split": (np.arange(0, N_SAMPLES, 2), np.arange(1, N_SAMPLES, 2)),
    "sample_weight": np.arange(N_SAMPLES) % 4,
    "max_depth": 2,
    "max_capacity": 16,
    "rho": 2,
    "threshold": 0.3,
    "q": 0.8,
    "n_permutations": 4,
    "alpha": 0.2,
    "n_train": 100,
    "n_eval": 100,
    "batch_size": 16,
    "n_batches": 2,
    "prune_threshold": 0.7,
    "n_folds": 3,
    "n_splits": 3,
    "cv": 3,
    "min_class_size": 12,
    "min_auroc": 0.6,
    "max_dependence": 0.05,
    "confounders": np.arange(N_SAMPLES)[:, None] % 3,
    "graph": np.eye(3, 4, dtype=bool),
    "average": None,
    "random_state": 1,
}


@cache
def data():
    """Factors and codes by name."""
    rng = np.random.RandomState(0)
    factors = np.column_stack([rng.randint(n, size=N_SAMPLES) for n in (4, 3, 2)])
    mixing = np.array([[1.0, 0.0, 0.3, 0.0], [0.0, 1.0, -0.5, 0.0], [0.2, 0.0, 0.0, 1.5]])
    codes = factors @ mixing + 0.3 * rng.normal(size=(N_SAMPLES, 4))
    constant = np.full((N_SAMPLES, 1), 0.3)
    missing = codes.copy()
    missing[7, 1] = np.nan
    partly, unlabelled = factors.astype(float), factors.copy()
    partly[3:9, 0] = partly[5:20, 1] = np.nan
    unlabelled[2:7, 2] = -1
    grid = np.stack(np.meshgrid(range(4), range(3), range(2)), axis=-1).reshape(-1, 3)
    grid = grid[rng.permutation(np.repeat(np.arange(24), 4))]
    return {
        "ordinary": (factors, codes),
        "perfect": (grid, grid * [1.0, -2.0, 0.5]),
        DEAD: (
            np.hstack([factors, np.ones_like(factors[:, :1])]),
            np.hstack([codes, constant]),
        ),
        "one factor": (factors[:, :1], codes),
        "one code": (factors, codes[:, :1]),
        "few rows": (factors[:12], codes[:12]),
        "constant codes": (factors, constant),
        "missing": (factors, missing),
        "partly missing": (partly, codes),
        "unlabelled": (unlabelled, codes),
        "names": (np.array(["a", "b", "c", "d"])[factors], codes),
        "halves": (factors / 2, codes),
        "numbers": (factors + np.linspace(0.1, 0.9, N_SAMPLES)[:, None], codes),
    }


def calls(name):
    """(description, factors, codes, options) of all calls of one metric: one change at a time."""
    function = REPORTED[name].function
    parameters = inspect.signature(inspect.unwrap(function), eval_str=True).parameters
    base = {option: value for option, value in BASE.items() if option in parameters}
    if name in ESTIMATORS:
        base["estimator"] = ESTIMATORS[name]
    for label, (factors, codes) in data().items():
        yield label, factors, codes, base
    for label in ("missing", "partly missing", "unlabelled"):
        yield f"{label}, omitted", *data()[label], base | {"nan_policy": "omit"}
    if "factor_bins" in parameters:
        yield "binned", *data()["numbers"], base | {"factor_bins": 3}
    for key in ["ordinary"] if name in FITTED else ["ordinary", DEAD]:
        for label, option in options_of(parameters):
            yield f"{key}: {label}", *data()[key], base | option
            if name in ("infom", "infoc"):
                yield f"{key}, binned: {label}", *data()[key], base | {"method": "binned"} | option


def options_of(parameters):
    """(description, {name: value}): every other value of each option."""
    for name, parameter in parameters.items():
        others = [v for v in choices(parameter.annotation) if v != parameter.default]
        if isinstance(parameter.default, bool):
            others.append(not parameter.default)
        if name in OTHERS:
            others.append(OTHERS[name])
        for other in others:
            simple = other is None or isinstance(other, str | int | float)
            yield f"{name}={other if simple else 'another'}", {name: other}


class Model(TransformerMixin, BaseEstimator):
    """Turns observations, knows how sure it is, and decodes."""

    def fit(self, X, y=None):
        self.n_components_ = np.shape(X)[1]
        rng = np.random.RandomState(0)
        self.turn_ = np.linalg.qr(np.eye(self.n_components_) + 0.3 * rng.normal(size=(4, 4)))[0]
        return self

    def transform(self, X):
        return np.asarray(X) @ self.turn_

    def inverse_transform(self, X):
        return np.asarray(X) @ self.turn_.T

    def posterior(self, X):
        mean = self.transform(X)
        return mean, np.broadcast_to([-4.0, -2.0, -1.0, -0.01], mean.shape)

    def elbo_terms(self, X):
        mean, log_variance = self.posterior(X)
        kl = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(axis=1)
        return -1.0 - np.abs(mean).sum(axis=1), kl

    def score_samples(self, X, return_std=False):
        values = np.subtract(*self.elbo_terms(X))
        return (values, 0.1 * np.abs(values)) if return_std else values


def of_factors():
    """Functions of factors and codes that are not in the catalogue."""
    found = {}
    for key in ("ordinary", "perfect", DEAD, "one factor", "few rows"):
        y, z = data()[key]
        for correction in ("none", "permutation"):
            options = {"bias_correction": correction, "random_state": 0}
            about = f"{key}, {correction}"
            nuisances = np.arange(len(y))[:, None] % 3
            found |= {
                f"properties: {about}": partial(
                    metrics.property_information, y, z, nuisances=nuisances, n_bins=4, **options
                ),
                f"ledger: {about}": partial(metrics.code_ledger, y, z, n_bins=4, **options),
            }
        found[f"map: {key}"] = partial(metrics.random_map_codes, y, 3, random_state=0)
        for kind in ("mutual_info", "correlation", "spearman", "predictability", "robustness"):
            found[f"{kind}: {key}"] = partial(metrics.relevance_matrix, y, z, kind=kind)
        for deviation in ("variance", "radius", "mad"):
            found[f"approximation, {deviation}: {key}"] = partial(
                metrics.product_approximation, y, z, deviation=deviation
            )
    y, z = data()["ordinary"]
    some = {"metrics": ["mig", "modularity", "sap", "irs", "gaussian_total_correlation_error"]}
    more = {"n_resamples": 10, "n_permutations": 10, "per_factor": True, "random_state": 0}
    nulls = {"untrained": [Model().fit(z), StandardScaler().fit(z)], "n_random_maps": 5}
    for output in ("text", "dict"):
        found[f"report, {output}"] = partial(
            metrics.disentanglement_report, y, z, output=output, **some, **more
        )
        found[f"calibrated, {output}"] = partial(
            metrics.calibrated_report,
            *(Model().fit(z), z, y),
            output=output,
            random_state=0,
            **some,
            **nulls,
        )
    return found


def of_codes():
    """Functions of codes of several models, of clouds of points and of histograms."""
    z, rng = data()["ordinary"][1], np.random.RandomState(1)
    models = [z, z[:, ::-1] + 0.1 * rng.normal(size=z.shape), rng.normal(size=z.shape)]
    kl = [[1.0, 0.5, 0.2, 0.001]] * 3
    draws = {"n_train": 100, "n_eval": 100, "random_state": 0}
    cloud = {"n_landmarks": 8, "n_repeats": 4, "max_holes": 12, "random_state": 0}
    a, b = np.array([0.1, 0.2, 0.0, 0.7]), np.array([0.4, 0.3, 0.3, 0.0])
    found = {
        "udr": partial(metrics.udr_score, models),
        "udr, spearman": partial(metrics.udr_score, models, kind="spearman"),
        "udr, kl": partial(metrics.udr_score, models, kl=kl, alpha=0.05),
        "udr, kl_threshold": partial(metrics.udr_score, models, kl=kl, kl_threshold=0.3),
        "centrality": partial(metrics.model_centrality_score, models, **draws),
        "centrality, n_bins": partial(metrics.model_centrality_score, models, n_bins=4, **draws),
        "similarity": partial(metrics.dictionary_similarity, models[0][:5], models[2][:7]),
        "pairs": partial(
            metrics.classes_from_pairs, [(0, 1), (1, 2), (3, 4), (0, 5)], [[1], [1], [1], [0]]
        ),
        "pairs, agreement": partial(
            metrics.classes_from_pairs,
            [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)],
            [[1], [1], [0], [0], [1]],
            method="agreement",
            contradictions="ignore",
        ),
    }
    for p in (1, 2, 3):
        found[f"distance, p={p}"] = partial(metrics.wasserstein_distance_1d, a, b, p=p)
    places = {"support_a": [0.0, 0.5, 2.0, 2.5], "support_b": [1.0, 1.5, 3.0, 4.0]}
    found["distance, places"] = partial(metrics.wasserstein_distance_1d, a, b, **places)
    for support in ("bins", "nearest", "free"):
        for weights in (None, [0.2, 0.8]):
            found[f"barycenter, {support}, {weights}"] = partial(
                metrics.wasserstein_barycenter_1d, [a, b], weights=weights, support=support
            )
    circle = np.column_stack([np.cos(np.arange(60)), np.sin(np.arange(60)), z[:60, 0] / 9])
    for dimension in (0, 1, 2):
        for overflow in ("clip", "drop"):
            found[f"living times, {dimension}, {overflow}"] = partial(
                metrics.relative_living_times,
                circle,
                dimension=dimension,
                overflow=overflow,
                **cloud,
            )
    return found


def of_models():
    """Functions of a model and its data."""
    y, X = data()["ordinary"]
    model = Model().fit(X)
    found = {}
    for name, factors in (("", y), (", constant", data()[DEAD][0])):
        for function in (
            metrics.posterior_mig_score,
            metrics.posterior_minimality_score,
            metrics.posterior_sufficiency_score,
        ):
            own = function.__name__ + name
            found[own] = partial(function, model, X, factors)
            found[f"{own}, each"] = partial(function, model, X, factors, average=None)
            weights = {"sample_weight": np.arange(N_SAMPLES) % 4}
            found[f"{own}, weights"] = partial(function, model, X, factors, **weights)
        found[f"ledger{name}"] = partial(metrics.posterior_ledger, model, X, factors)
    found["minimality by information"] = partial(
        metrics.posterior_minimality_score, model, X, y, code_weights="information"
    )
    found["minimality, most"] = partial(
        metrics.posterior_minimality_score, model, X, y, min_information=1.0
    )
    for method in ("exact", "mss"):
        found[f"decomposition, {method}"] = partial(
            metrics.elbo_decomposition,
            model,
            X,
            method=method,
            n_samples=60,
            batch_size=16,
            random_state=0,
        )
    found["elbo"] = partial(metrics.elbo_score, model, X, return_std=True)
    found["wsepin"] = partial(metrics.wsepin_score, model, X, random_state=0)
    found["wsepin, fewer"] = partial(metrics.wsepin_score, model, X, max_samples=40, random_state=0)
    generated = partial(metrics.counterfactual_generativeness_score, model, X, y)
    judged = {"classifiers": TREE, "random_state": 0}
    for option, values in {
        "sets": ["top", "threshold", "matching"],
        "baseline": ["zero", "mean"],
        "reading": ["average", "signed"],
        "relative": [True],
        "rho": [2],
        "q": [0.8],
        "holdout": [0.3],
        "average": [None],
        "return_details": [True],
    }.items():
        for value in values:
            found[f"generated, {option}={value}"] = partial(generated, **judged, **{option: value})
    labels = np.random.RandomState(2).permutation(y)
    found["generated, by chance"] = partial(generated.func, model, X, labels, **judged)
    found["generated, new values"] = partial(
        generated.func, model, X, np.where(y == 3, np.arange(N_SAMPLES)[:, None] % 9, y), **judged
    )
    pixels = (60 * X - 60 * X.min()).clip(0, 255).astype(np.uint8)
    found["generated, pixels"] = partial(generated.func, model, pixels, y, **judged)
    twin = y.copy()
    twin[:40, 0] = (twin[:40, 0] + 1) % 4
    twin[40:70, 1] = (twin[40:70, 1] + 1) % 3
    twins = {"X_twin": X + (twin - y) @ np.eye(3, 4), "y_twin": twin}
    for relative in (True, False):
        found[f"twins, {relative}"] = partial(
            generated, relative=relative, return_details=True, **twins
        )
    few = {"n_samples": 20, "n_values": 2, "n_landmarks": 6, "n_repeats": 2, "max_holes": 6}
    topology = partial(metrics.manifold_topology_score, model, X, y, random_state=0, **few)
    for label, options in {
        "supervised": {"supervised": True, "p": 1},
        "encoded": {"prior": "encoded", "aggregation": "barycenter"},
        "components": {"dimension": 0, "n_permutations": 5, "n_latents": 4},
    }.items():
        found[f"topology, {label}"] = partial(topology, n_clusters=2, **options)
    found["topology, details"] = partial(topology, return_details=True)
    return found


def of_metric(name):
    """All calls of a metric of the catalogue."""
    metric = REPORTED[name]
    return {
        label: partial(metric.function, *arguments[metric.needs == "codes" : 2], **arguments[2])
        for label, *arguments in calls(name)
    }


GROUPS = {
    **{name: partial(of_metric, name) for name in REPORTED},
    **{"of factors": of_factors, "of codes": of_codes, "of models": of_models},
}


@pytest.mark.parametrize("group", GROUPS)
def test_metric_gives_what_was_recorded(group):
    check(FILE, group, GROUPS[group]())


@pytest.mark.parametrize("name", sorted(set(REPORTED) - FITTED))
def test_rounding_does_not_lift_scores_out_of_their_bounds(name):
    metric, (factors, _) = REPORTED[name], data()["perfect"]
    low, high = metric.bounds
    for scale in (1.0, 0.1, 1 / 3, 0.7, 1e-3):
        codes = factors * scale + [0.1, 1 / 3, 0.7]
        given = (factors, codes) if metric.needs == "factors" else (codes,)
        for options in [{}, {"average": None}] if "average" in metric.options else [{}]:
            values = np.atleast_1d(metric.function(*given, **options))
            assert low <= values.min() <= values.max() <= high


if __name__ == "__main__":
    record(FILE, GROUPS)
