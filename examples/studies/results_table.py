"""
The results page, from the models that come with the package
=============================================================

Every number of the page "Results" is computed from the shipped weights and from images that are
drawn anew, so that it is the same on every run with the same versions:

.. code-block:: bash

   python examples/studies/results_table.py

It writes ``docs/results/models.csv`` (a row per model, data set and metric: mean over seeds,
interval, chance, cost) and ``docs/results/table.inc``. To add a row, add a model: see
``train_pretrained.py``.
"""

# sphinx_gallery_dont_run
import argparse
import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from train_pretrained import DATA, N_PROBE, PROBE_SEED

from sklearn_disent.metrics import disentanglement_report
from sklearn_disent.models import _pretrained, list_pretrained, load_pretrained

METRICS = {  # in the order of the columns, with their heads
    "mig": "MIG",
    "factor_vae": "FactorVAE score",
    "dci_disentanglement": "DCI disentanglement",
    "sap": "SAP",
    "infom": "InfoM",
    "infoc": "InfoC",
    "infoe": "InfoE",
}
COLUMNS = (
    *("data", "model", "metric", "mean", "from", "to", "chance", "std_over_seeds"),
    *("n_seeds", "epochs", "minutes", "megabytes"),
)


def judge(name: str, probe: Any, options: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Scores of one shipped model."""
    codes = load_pretrained(name).transform(probe.images)
    report: Any = disentanglement_report(
        probe.target, codes, metrics=list(METRICS), output="dict", random_state=0, **options
    )
    return report


def cost(name: str) -> dict[str, float]:
    """Epochs and minutes of training, as the history says, and the size of the weights."""
    folder = _pretrained._FOLDER / name
    history = json.loads((folder / "config.json").read_text())["history"]
    return {
        "epochs": len(history),
        "minutes": sum(row["dur"] for row in history) / 60,
        "megabytes": (folder / "model.safetensors").stat().st_size / 1e6,
    }


def split_name(name: str) -> tuple[str, str]:
    """Data set and model of ``dsprites-btcvae-0``; the rest is the seed."""
    data, model, _ = name.split("-")
    return data, model


def rows_of(names: Iterable[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each data set, model and metric."""
    groups = defaultdict(list)
    for name in names:
        groups[split_name(name)].append(name)
    rows: list[dict[str, Any]] = []
    for (data, model), members in groups.items():
        probe = DATA[data].make(N_PROBE, random_state=PROBE_SEED)
        reports = [judge(name, probe, options) for name in members]
        costs = [cost(name) for name in members]
        for metric in METRICS:
            found = [report[metric] for report in reports]
            values = [row["value"] for row in found]
            rows.append(
                {
                    "data": data,
                    "model": model,
                    "metric": metric,
                    "mean": np.mean(values),
                    "from": np.mean([row["ci_low"] for row in found]),
                    "to": np.mean([row["ci_high"] for row in found]),
                    "chance": np.mean([row["chance"] for row in found]),
                    "std_over_seeds": np.std(values, ddof=1) if len(values) > 1 else None,
                    "n_seeds": len(members),
                    **{key: np.mean([c[key] for c in costs]) for key in costs[0]},
                }
            )
    return rows


def as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([f"{v:.4f}" if isinstance(v, float) else v for v in map(row.get, COLUMNS)])
    return text.getvalue()


def as_rst(rows: list[dict[str, Any]]) -> str:
    """A table with a line per model: score, its interval, and chance."""
    note = ".. Written by examples/studies/results_table.py."
    if not rows:
        return f"{note}\n\nThe package has no trained models yet.\n"
    lines = [
        note,
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :class: wide",
        "",
        *_line(["data", "model", "seeds", "epochs", "minutes", *METRICS.values()]),
    ]
    models: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        models[row["data"], row["model"]][row["metric"]] = row
    for (data, model), found in models.items():
        first = next(iter(found.values()))
        cells = [f"{found[m]['mean']:.3f} ({_range(found[m])})" for m in METRICS]
        facts = [str(first["n_seeds"]), f"{first['epochs']:g}", f"{first['minutes']:.0f}"]
        lines += _line([data, model, *facts, *cells])
    chance = {m: [row["chance"] for row in rows if row["metric"] == m] for m in METRICS}
    lines += _line(["", "chance", "", "", "", *(f"{np.mean(v):.3f}" for v in chance.values())])
    return "\n".join(lines) + "\n"


def _range(row: dict[str, Any]) -> str:
    return f"{row['from']:.3f} to {row['to']:.3f}"


def _line(cells: list[str]) -> list[str]:
    return [("   * - " if index == 0 else "     - ") + cell for index, cell in enumerate(cells)]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "docs" / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder of the page")
    parser.add_argument("--resamples", type=int, default=20, help="for intervals")
    parser.add_argument("--permutations", type=int, default=5, help="for the level of chance")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    report = {"n_resamples": options.resamples, "n_permutations": options.permutations}
    rows = rows_of(list_pretrained(), report)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "models.csv").write_text(as_csv(rows))
    (options.out / "table.inc").write_text(as_rst(rows))
    print(f"{len(rows)} rows: {options.out}")


if __name__ == "__main__":
    main()
