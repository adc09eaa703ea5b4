"""The catalogue: no metric is forgotten, and no misspelt option passes, wherever it is given."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from sklearn_disent import metrics
from sklearn_disent._params import StrOptions, constraints_of
from sklearn_disent.metrics import (
    disentanglement_report,
    get_scorer,
    get_scorer_names,
    multimetric_scorer,
    relevance_matrix,
)
from sklearn_disent.metrics._catalogue import CATALOGUE, LABELS, OTHER, REPORTED, SCORERS
from sklearn_disent.metrics._relevance import _KINDS

TABLE = Path(__file__).parents[2] / "docs" / "guide" / "metrics_table.rst"
FACTORS, CODES = np.array([[0], [1], [0], [1]]), np.array([[0.0], [1.0], [2.0], [3.0]])
DATA = {
    "factors": (FACTORS, CODES),
    "codes": (CODES,),
    "estimator": (None, CODES, FACTORS),
    "models": ([CODES, CODES],),
}

each_metric = pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)


# -- completeness ----------------------------------------------------------------------------


def test_catalogue_holds_every_public_metric_once():
    public = [n for n in metrics.__all__ if n.endswith(("_score", "_error", "_distance"))]
    assert sorted(metric.function.__name__ for metric in CATALOGUE) == sorted(public)


def test_every_metric_is_served_where_it_can_be():
    assert set(get_scorer_names()) == {m.scorer_name for m in CATALOGUE if m.needs != "models"}
    assert set(REPORTED) == {m.name for m in CATALOGUE if m.needs in ("factors", "codes")}


@each_metric
def test_row_says_what_the_function_says(metric):
    name = metric.function.__name__
    assert getattr(metrics, name) is metric.function
    assert metric.greater_is_better == name.endswith("_score")
    assert metric.question != OTHER
    first = {"factors": "factors", "codes": "codes", "estimator": "estimator", "models": "codes"}
    assert next(iter(inspect.signature(metric.function).parameters)).startswith(first[metric.needs])
    assert not {"factors", "codes", "X", "y"} & set(metric.options)
    assert LABELS[metric.name] == metric.label
    if not metric.greater_is_better:
        assert LABELS[metric.scorer_name] == f"negative {metric.label}"


@pytest.mark.parametrize("name", SCORERS)
def test_scorer_survives_pickling(name):
    scorer = get_scorer(name)
    assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer) == f"get_scorer({name!r})"


@pytest.mark.skipif(not TABLE.is_file(), reason="the documentation is not here")
def test_table_in_the_guide_agrees():
    row = r"\* - :func:`~sklearn_disent\.metrics\.(\w+)`\n\n +:math:`.+`\n +- (.+)\n +- (.+)\n +-"
    rows = {name: (limits, needs) for name, limits, needs in re.findall(row, TABLE.read_text())}
    assert sorted(rows) == sorted(metric.function.__name__ for metric in CATALOGUE)
    for metric in CATALOGUE:
        limits, needs = rows[metric.function.__name__]
        assert ("lower is better" in limits) != metric.greater_is_better, metric.name
        assert limits.startswith("0 to 1") == (metric.bounds == (0.0, 1.0)), metric.name
        assert limits.startswith("0 to") == (metric.bounds[0] == 0.0), metric.name
        assert needs.startswith("codes") == (metric.needs in ("codes", "models")), metric.name


@pytest.mark.skipif(not TABLE.is_file(), reason="the documentation is not here")
def test_guide_to_choosing_names_metrics():
    text = (TABLE.parent / "choosing.rst").read_text()
    table = text.split(".. list-table::")[1].split("\n\n   * - question")[1].split("\n\n")[0]
    named = re.findall(r"(?<!:)`(\w+)`", table)
    assert len(named) > 25
    assert set(named) <= {metric.name for metric in CATALOGUE}


# -- options ---------------------------------------------------------------------------------


def misspelt(word, allowed):
    """Slips of the pen, none of which is another word that is allowed."""
    i = len(word) // 2 + 1
    swapped = word[:i] + word[i : i + 2][::-1] + word[i + 2 :]
    slips = {word[:-1], word + word[-1], swapped, word.capitalize(), word.replace("_", "-")}
    return sorted(slips - set(allowed) - {""})


def slips_of(function, options):
    """({option: value}, words that the message must have) for every slip in an option."""
    for option in options:
        for slip in misspelt(option, inspect.signature(function).parameters):
            yield {slip: None}, [slip, *options]
        for constraint in constraints_of(function).get(option, []):
            if isinstance(constraint, StrOptions):
                for value in constraint.options:
                    for slip in misspelt(value, constraint.options):
                        yield {option: slip}, [slip, *sorted(constraint.options)]


def refused(call, slip, words):
    """The call fails, with a message that has the slip and what would have been right."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call(slip)
    for word in words:
        assert re.search(rf"\b{re.escape(word)}\b", str(caught.value)), str(caught.value)


@each_metric
def test_misspelt_options_are_refused_everywhere(metric):
    def in_a_report(slip):
        params = {metric.name: slip}
        disentanglement_report(FACTORS, CODES, metrics=[metric.name], metric_params=params)

    ways = []
    if metric.needs in ("factors", "codes"):
        ways += [in_a_report]
    if metric.needs != "models":
        ways += [
            lambda slip: get_scorer(metric.scorer_name, **slip),
            lambda slip: get_scorer(metric.function, **slip),
            lambda slip: multimetric_scorer({metric.scorer_name: slip}),
        ]
    for slip, words in slips_of(metric.function, metric.options):
        for way in ways:
            refused(way, slip, words)
        # Of an unknown name Python says that it is unknown, not which ones there are.
        if None in slip.values():
            words = words[:1]
        refused(lambda slip: metric.function(*DATA[metric.needs], **slip), slip, words)


@pytest.mark.parametrize("kind", _KINDS)
def test_misspelt_options_of_a_matrix_are_refused(kind):
    options = list(inspect.signature(_KINDS[kind]).parameters)[2:]
    for slip, words in slips_of(_KINDS[kind], options):
        refused(lambda slip: relevance_matrix(FACTORS, CODES, kind=kind, **slip), slip, words)


def test_slips_are_many():
    """Neither test above passes for want of options to misspell."""
    slips = [slip for m in CATALOGUE for slip in slips_of(m.function, m.options)]
    assert len(slips) > 1000
    assert sum(None not in slip.values() for slip, _ in slips) > 300
    assert ({"strategy": "unifrom"}, ["unifrom", "quantile", "uniform"]) in slips


@each_metric
def test_every_metric_checks_its_own_options(metric):
    assert getattr(metric.function, "_is_validated", False), "decorate it with _params.validated"
