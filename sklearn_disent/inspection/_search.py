"""Reading the results of a search, for the Displays of scores."""

from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics._validation import warn_degenerate
from ._common import score_label

# Values of this parameter are repetitions of a setting, not settings.
_SEEDS = "random_state"

_MAX_TEXT = 24


class Results(NamedTuple):
    """One row per candidate."""

    params: list[dict[str, Any]]
    scores: dict[str, NDArray[np.float64]]
    """By score, (n_candidates, n_splits) on held-out data."""

    def column(self, param: str) -> list[Any]:
        """A parameter's value in each candidate."""
        return [candidate.get(param) for candidate in self.params]


def read_search(search: Any, scores: str | Sequence[str] | None, caller: str) -> Results:
    """Parameters and scores of a fitted GridSearchCV or the like."""
    if not hasattr(search, "cv_results_"):
        raise TypeError(
            f"{caller} needs a fitted search with cv_results_, such as GridSearchCV after fit, "
            f"got {type(search).__name__}."
        )
    results = search.cv_results_
    known = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
    scores = [scores] if isinstance(scores, str) else scores
    wanted = known if scores is None else list(scores)
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise ValueError(f"scores must be among those of the search, {known}, got {scores!r}.")
    values = {}
    for name in wanted:
        keys = [
            key
            for key in results
            if key.startswith("split") and key.split("_", 1)[1] == f"test_{name}"
        ]
        values[name] = np.column_stack([results[key] for key in keys]).astype(np.float64)
        n_missing = int((~np.isfinite(values[name])).sum())
        if n_missing:
            warn_degenerate(
                f"{n_missing} of {values[name].size} scores {name!r} of the search are not "
                "finite and are left out: fits failed, or a score was undefined."
            )
    return Results(list(results["params"]), values)


def default_labels(search: Any) -> dict[str, str]:
    """A search calls its only score "score"; the scorer has a better name."""
    scorer = getattr(search, "scorer_", None)
    function = getattr(scorer, "_score_func", None)
    name = getattr(function, "__name__", getattr(scorer, "name", None))
    if not isinstance(name, str) or not name.isidentifier():
        return {}
    return {"score": score_label(name.removesuffix("_score"))}


def choose_param(results: Results, param: str | None) -> str:
    """The parameter of an axis: the one that was searched, if there is only one beside seeds."""
    searched = list(dict.fromkeys(name for candidate in results.params for name in candidate))
    if param is not None:
        if param not in searched:
            raise ValueError(f"param must be among those searched, {searched}, got {param!r}.")
        return param
    settings = [name for name in searched if name.rsplit("__", 1)[-1] != _SEEDS] or searched
    if len(settings) != 1:
        raise ValueError(
            f"The search varied several parameters, {settings}. Choose one with param=; the others "
            "are pooled."
        )
    return settings[0]


def is_number(value: Any) -> bool:
    """Whether a parameter's value has a place on an axis of numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def key_of(value: Any) -> Any:
    """Something equal and hashable for equal values, which may be lists or estimators."""
    return float(value) if is_number(value) else repr(value)


def texts_of(values: Sequence[Any]) -> dict[Any, str]:
    """Key -> text of distinct values: numbers in order, others as they were searched."""
    texts = {key_of(value): _as_text(value) for value in values}
    if all(is_number(value) for value in values):
        return dict(sorted(texts.items()))
    counts = Counter(texts.values())
    # Two networks of the same class are two values.
    return {
        key: f"{text} {i}" if counts[text] > 1 else text
        for i, (key, text) in enumerate(texts.items())
    }


def _as_text(value: Any) -> str:
    """A parameter's value, short enough for an axis or a legend."""
    if isinstance(value, (float, np.floating)):
        return f"{value:g}"
    if isinstance(value, type):
        return value.__name__
    text = str(value)
    # Estimators and networks print their whole configuration.
    return text if len(text) <= _MAX_TEXT else type(value).__name__
