"""Model cards: what a saved model is, how it was trained, how it scores; Markdown for people."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from .._manifest import summary

_TAGS = ("disentanglement", "representation-learning", "scikit-learn", "pytorch")
_COLUMNS = {"value": "value", "ci_low": "from", "ci_high": "to", "chance": "chance"}


def make_scores(
    net: Any, X: Any, y: Any, options: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The report of a model as JSON can hold it; None without data."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError("A report needs X and y, got one of them. Pass both, or neither.")
    from ..metrics import disentanglement_report

    options = {"random_state": 0, **(options or {}), "output": "dict"}
    codes = net.predict(X)
    report: Any = disentanglement_report(y, codes, **options)
    return {
        "n_samples": len(codes),
        "n_factors": int(np.atleast_2d(np.asarray(y)).shape[1]),
        "metrics": {
            name: {key: _json_number(value) for key, value in row.items()}
            for name, row in report.items()
        },
    }


def _json_number(value: Any) -> Any:
    """Infinite bounds are None: JSON has no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value


def make_card(
    net: Any,
    name: str,
    config: Mapping[str, Any],
    scores: Mapping[str, Any] | None,
    description: str | None,
    license: str | None,
) -> str:
    """The card, with the header that the Hub reads."""
    history = config["history"]
    lines = [
        *_header(name, scores, license),
        "",
        f"# {name}",
        "",
        description or f"A {type(net).__name__}, trained and saved with sklearn-disent.",
        "",
        *_use(name, config),
        "## Training",
        "",
        "```python",
        _shown(net),
        "```",
        "",
        f"{len(history)} epochs, {net.n_steps_} optimizer steps"
        + (f", {_duration(history)}." if all("dur" in row for row in history) else "."),
        "",
        *(line for text in summary(net) for line in (text, "")),
        *_last_epoch(history),
        *_score_table(scores),
        "## Versions",
        "",
        ", ".join(f"{key} {value}" for key, value in config["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)


def _header(name: str, scores: Mapping[str, Any] | None, license: str | None) -> list[str]:
    """YAML; strings are written as JSON, which YAML contains."""
    lines = ["---", "library_name: sklearn-disent"]
    if license is not None:
        lines.append(f"license: {json.dumps(license)}")
    lines += ["pipeline_tag: feature-extraction", "tags:", *(f"- {tag}" for tag in _TAGS)]
    if scores is not None:
        lines += [
            "model-index:",
            f"- name: {json.dumps(name)}",
            "  results:",
            "  - task:",
            "      type: feature-extraction",
            "    dataset:",
            "      type: own",
            f"      name: {scores['n_samples']} observations",
            "    metrics:",
        ]
        for metric, row in scores["metrics"].items():
            if row["value"] is not None:
                lines += [f"    - type: {json.dumps(metric)}", f"      value: {row['value']!r}"]
    return [*lines, "---"]


def _use(name: str, config: Mapping[str, Any]) -> list[str]:
    module, _, cls = config["class"].rpartition(".")
    shape = " x ".join(map(str, config["input"]["shape"]))
    own = "" if config["class"].startswith("sklearn_disent.") else f", trusted=[{cls}]"
    return [
        "## Use",
        "",
        "```python",
        f"from {module} import {cls}",
        "",
        f"model = {cls}.from_pretrained({name!r}{own})",
        "codes = model.transform(X)",
        "```",
        "",
        f"X holds observations of {shape} values (layout {config['input']['layout']!r}). Loading "
        "executes nothing that is in this folder.",
        "",
    ]


def _shown(net: Any) -> str:
    """The estimator with the parameters that are not the defaults, one line each."""
    full = repr(net)
    return full if len(full) < 600 else full[:600] + " ..."


def _duration(history: list[dict[str, Any]]) -> str:
    seconds = sum(row["dur"] for row in history)
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.1f} seconds"


def _last_epoch(history: list[dict[str, Any]]) -> list[str]:
    if not history:
        return []
    terms = {
        key.removeprefix("train_"): value
        for key, value in history[-1].items()
        if key.startswith("train_") and type(value) is float
    }
    cells = [f"| {key} | {value:.4g} |" for key, value in terms.items()]
    return ["| last epoch | mean |", "|---|---|", *cells, ""]


def _score_table(scores: Mapping[str, Any] | None) -> list[str]:
    if scores is None:
        return []
    rows = scores["metrics"]
    columns = [key for key in _COLUMNS if any(key in row for row in rows.values())]
    lines = [
        "## Scores",
        "",
        f"Of the codes of {scores['n_samples']} observations, "
        f"{scores['n_factors']} factors. `from` and `to` bound the interval, `chance` is the mean "
        "score of codes without relation to the factors; they say nothing about other seeds."
        if len(columns) > 1
        else f"Of the codes of {scores['n_samples']} observations, {scores['n_factors']} factors.",
        "",
        "| metric | " + " | ".join(_COLUMNS[key] for key in columns) + " | range | better |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for name, row in rows.items():
        cells = [_cell(row.get(key)) for key in columns]
        better = "higher" if row["greater_is_better"] else "lower"
        limits = f"{_limit(row['lowest'])} .. {_limit(row['highest'])}"
        lines.append(f"| {name} | {' | '.join(cells)} | {limits} | {better} |")
    return [*lines, ""]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _limit(value: float | None) -> str:
    return "∞" if value is None else f"{value:g}"
