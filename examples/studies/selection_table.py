"""
Choosing a model without labels, tried on the models of the package
===================================================================

Several scores promise to tell which model disentangles best without looking at labels: the
agreement between models (UDR, ModelCentrality), the bound that models are trained by (ELBO), the
topology of what the decoder draws (mu). Here they rank the unsupervised models of dSprites that
come with the package, and are compared with scores that know the factors:

.. code-block:: bash

   python examples/studies/selection_table.py

It writes ``docs/results/selection_scores.csv`` (a row per model), ``docs/results/selection.csv``
(rank correlations with intervals over models) and ``docs/results/selection.inc``.
"""

# sphinx_gallery_dont_run
import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from _study import bootstrap
from scipy.stats import spearmanr
from train_pretrained import DATA, N_PROBE, PROBE_SEED, TABLE

from sklearn_disent.metrics import (
    disentanglement_report,
    elbo_score,
    manifold_topology_score,
    model_centrality_score,
    udr_score,
)
from sklearn_disent.models import list_pretrained, load_pretrained

RULES = {
    "udr_lasso": "UDR (lasso)",
    "udr_spearman": "UDR (rank correlation)",
    "centrality": "ModelCentrality",
    "elbo": "ELBO",
    "mu": "mu",
}
TRUTHS = {
    "mig": "MIG",
    "dci_disentanglement": "DCI disentanglement",
    "infom": "InfoM",
    "infoc": "InfoC",
    "infoe": "InfoE",
}
N_ELBO = 2000  # images


def candidates() -> list[str]:
    """Shipped models of dSprites at 32 pixels that saw no labels, in the table's order."""
    shipped = set(list_pretrained())
    return [
        name
        for name, row in TABLE.items()
        if name in shipped and row.data == "dsprites" and row.labels is None
    ]


def divergences(model: Any, images: np.ndarray) -> np.ndarray:
    """Mean divergence of each latent from its prior, which tells the informative ones."""
    mean, log_var = model.posterior(images)
    return 0.5 * (mean**2 + np.exp(log_var) - 1 - log_var).mean(axis=0)


def scores(names: list[str], n_repeats: int) -> pd.DataFrame:
    """A row per model: what each rule says without labels, and what is true."""
    probe = DATA["dsprites"].make(N_PROBE, random_state=PROBE_SEED)
    models = [load_pretrained(name) for name in names]
    codes = [model.transform(probe.images) for model in models]
    kl = [divergences(model, probe.images) for model in models]
    table = pd.DataFrame(index=pd.Index(names, name="model"))
    table["active"] = [int((row > 0.01).sum()) for row in kl]
    for kind in ("lasso", "spearman"):
        table[f"udr_{kind}"] = udr_score(codes, kind=kind, kl=kl)
    active = [z[:, row > 0.01] for z, row in zip(codes, kl)]
    table["centrality"] = model_centrality_score(active, random_state=0)
    table["elbo"] = [elbo_score(model, probe.images[:N_ELBO]) for model in models]
    table["mu"] = [
        manifold_topology_score(model, n_repeats=n_repeats, random_state=0) for model in models
    ]
    for name, z in zip(names, codes):
        report: Any = disentanglement_report(
            probe.target, z, metrics=list(TRUTHS), output="dict", random_state=0
        )
        for truth in TRUTHS:
            table.loc[name, truth] = report[truth]["value"]
    return table


def rank_correlation(pairs: np.ndarray) -> float:
    return float(spearmanr(*pairs.T).statistic)


def correlations(table: pd.DataFrame, n_draws: int = 1000) -> pd.DataFrame:
    """Rank correlation of every rule with every truth, and its 90 % interval over models."""
    rows = []
    for rule in RULES:
        for truth in TRUTHS:
            both = table[[rule, truth]].to_numpy()
            found = bootstrap(rank_correlation, both, n_draws=n_draws)
            entry = {"rule": rule, "truth": truth, "correlation": found.value, "from": found.low}
            rows.append(entry | {"to": found.high, "outcome": found.outcome()})
    return pd.DataFrame(rows)


def as_rst(found: pd.DataFrame, n_models: int) -> str:
    lines = [
        ".. Written by examples/studies/selection_table.py.",
        "",
        f".. list-table:: Rank correlation over {n_models} models, with 90 % intervals",
        "   :header-rows: 1",
        "   :class: wide",
        "",
        "   * - rule",
        *(f"     - {label}" for label in TRUTHS.values()),
    ]
    for rule, label in RULES.items():
        lines.append(f"   * - {label}")
        for _, row in found[found["rule"] == rule].iterrows():
            lines.append(f"     - {row.correlation:+.2f} ({row['from']:+.2f} to {row['to']:+.2f})")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "docs" / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder of the page")
    parser.add_argument("--repeats", type=int, default=100, help="of mu: landmark draws")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    names = candidates()
    if len(names) < 3:
        raise SystemExit(f"A rank correlation needs three models or more, got {names}.")
    table = scores(names, options.repeats)
    found = correlations(table)
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "selection_scores.csv", float_format="%.4f")
    found.to_csv(options.out / "selection.csv", index=False, float_format="%.4f")
    (options.out / "selection.inc").write_text(as_rst(found, len(names)))
    print(table.round(3).to_string(), found.round(2).to_string(index=False), sep="\n\n")


if __name__ == "__main__":
    main()
