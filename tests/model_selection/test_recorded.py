"""Weights, splits, settings and comparisons as they were recorded once."""

from functools import partial

import numpy as np
import pytest
from recording import check, record

from sklearn_disent.model_selection import (
    DependentShuffleSplit,
    compare_models,
    dependence_weights,
    get_dependence_setting_names,
    load_dependence_setting,
    sample_dependent,
)

FILE = "model_selection/recorded.json"
KINDS = ("gaussian", "inverse", "A", "B", "C", "D")


def factors():
    return np.stack(np.meshgrid(range(3), range(4), range(2)), axis=-1).reshape(-1, 3)


def of_settings():
    return {name: partial(load_dependence_setting, name) for name in get_dependence_setting_names()}


def of_rows():
    y, found = factors(), {}
    names = {"factor_names": ["a", "b", "c"]}
    for kind in KINDS:
        for pairs in ([(0, 1)], [(0, 1), (1, 2)]):
            label = f"{kind}, {len(pairs)}"
            found[f"weights: {label}"] = partial(dependence_weights, y, pairs, kind=kind)
            found[f"rows: {label}"] = partial(
                sample_dependent, y, pairs, n_samples=15, kind=kind, sigma=0.3, random_state=0
            )
    found["sigmas"] = partial(dependence_weights, y, [(0, 1), (0, 2)], sigma=[0.2, 0.5])
    found["sizes"] = partial(dependence_weights, y, [(0, 1)], factor_sizes=[5, 5, 2])
    found["names"] = partial(dependence_weights, y, [("a", "c")], **names)
    found["unknown name"] = partial(dependence_weights, y, [("a", "d")], **names)
    found["constant"] = partial(dependence_weights, y * [1, 0, 1], [(0, 1)])
    for dependent in ("train", "test", "both"):
        for sizes in ({}, {"test_size": 6}, {"train_size": 0.5, "test_size": 0.25}):
            split = DependentShuffleSplit(
                [(0, 1)], sigma=0.4, dependent=dependent, n_splits=2, random_state=0, **sizes
            )
            label = f"split: {dependent}, {len(sizes)}"
            found[label] = lambda split=split: [
                part for parts in split.split(y, y) for part in parts
            ]
    return found


def of_comparison():
    rng = np.random.RandomState(0)
    three = {
        name: {"mig": 0.3 + shift + 0.05 * rng.rand(6), "sap_error": 0.2 + 0.1 * rng.rand(6)}
        for name, shift in (("A", 0.0), ("B", 0.1), ("C", 0.11))
    }
    alike = {"A": np.full(4, 0.5), "B": np.full(4, 0.5)}
    found = {}
    for results, label in ((three, "three"), (alike, "alike")):
        for test in ("t", "permutation"):
            for correction in ("holm", "fdr", "none"):
                for paired in (True, False):
                    options = {"test": test, "correction": correction, "paired": paired}
                    found[f"{label}, {test}, {correction}, {paired}"] = partial(
                        told, results, confidence_level=0.9, **options
                    )
    return found


def told(results, **options):
    """All that a comparison says."""
    result = compare_models(results, **options)
    texts = [str(result), result.to_latex(), result.sentence(next(iter(result.models))["score"])]
    return [result.models, result.differences, *texts]


GROUPS = {"settings": of_settings, "rows": of_rows, "comparison": of_comparison}


@pytest.mark.parametrize("group", GROUPS)
def test_selection_gives_what_was_recorded(group):
    check(FILE, group, GROUPS[group]())


if __name__ == "__main__":
    record(FILE, GROUPS)
