"""Active latents and scores over seeds, by initial weights: python benchmarks/collapse.py.

Every fit is a row of the table --out, and is not run twice: stop the script whenever you like, or
with --minutes, and run it again. A fit of the default size takes 15 to 20 s of one core. The tables
of the documentation are written by

    python benchmarks/collapse.py --out docs/guide/collapse_fits.csv --table docs/guide/collapse.csv
"""

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sklearn_disent.datasets import make_dsprites, make_shapes3d, make_transformed_digits
from sklearn_disent.exceptions import TrainingWarning
from sklearn_disent.metrics import mig_score, sap_score
from sklearn_disent.models import BetaVAE, LinearSchedule

SETS = {
    "dsprites": make_dsprites,
    "shapes3d": make_shapes3d,
    "digits": make_transformed_digits,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "torch": {"module__init": "torch"},
    "he": {"module__init": "he"},
    "he_warm_up": {"module__init": "he", "beta": LinearSchedule(0.0, 4.0, n_steps=200)},
}
BEFORE = "torch"
SCORES = {"elbo": "ELBO", "mig": "MIG", "sap": "SAP"}
FIELDS = ("set", "variant", "images", "epochs", "seed", "active", "elbo", "mig", "sap", "seconds")


def measure(X: np.ndarray, y: np.ndarray, variant: str, epochs: int, seed: int) -> dict[str, Any]:
    """One fit."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # that all latents are dead: a result here
        vae = BetaVAE(max_epochs=epochs, random_state=seed, **VARIANTS[variant]).fit(X)
    codes = vae.transform(X)
    return {
        "active": int(vae.history_[-1, "active_latents"]),
        "elbo": round(vae.score(X), 3),
        "mig": round(mig_score(y, codes), 5),
        "sap": round(sap_score(y, codes, random_state=0), 5),
        "seconds": round(time.process_time() - start, 1),
    }


def read(out: Path) -> list[dict[str, str]]:
    """Rows that are there already."""
    if not out.exists():
        return []
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def append(out: Path, row: dict[str, Any]) -> None:
    is_new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def summarize(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """A row per set and variant, over all its seeds; wins are those at seeds both have."""
    cells: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in rows:
        cells.setdefault((row["set"], row["variant"]), {})[row["seed"]] = row
    return [
        {"images": name, "initial weights": variant, "seeds": len(by_seed)}
        | _actives(by_seed)
        | {label: _mean(by_seed, key) for key, label in SCORES.items()}
        | {f"{label} wins": _wins(by_seed, cells.get((name, BEFORE), {}), key)
           for key, label in SCORES.items()}
        for (name, variant), by_seed in sorted(cells.items(), key=_in_order)
    ]  # fmt: skip


def _in_order(cell: tuple[tuple[str, str], Any]) -> tuple[int, int]:
    name, variant = cell[0]
    return list(SETS).index(name), list(VARIANTS).index(variant)


def _actives(by_seed: dict[str, dict[str, str]]) -> dict[str, Any]:
    active = np.array([int(row["active"]) for row in by_seed.values()])
    return {
        "seeds with all dead": int((active == 0).sum()),
        "fewest active": int(active.min()),
        "median active": f"{np.median(active):g}",
    }


def _mean(by_seed: dict[str, dict[str, str]], key: str) -> str:
    """Mean and standard deviation over seeds."""
    values = np.array([float(row[key]) for row in by_seed.values()])
    digits = 1 if key == "elbo" else 3
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def _wins(by_seed: dict[str, dict[str, str]], before: dict[str, dict[str, str]], key: str) -> str:
    shared = before.keys() & by_seed.keys()
    if by_seed is before or not shared:
        return ""
    wins = sum(float(by_seed[seed][key]) > float(before[seed][key]) for seed in shared)
    return f"{wins} of {len(shared)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--variants", nargs="+", default=[BEFORE, "he"], choices=VARIANTS)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=np.inf, help="no fit begins after these")
    parser.add_argument("--out", type=Path, default=Path("collapse.csv"), help="a row per fit")
    parser.add_argument("--table", type=Path, help="a row per set and variant")
    args = parser.parse_args()

    torch.set_num_threads(1)
    start = time.monotonic()
    done = {tuple(row[field] for field in FIELDS[:5]) for row in read(args.out)}
    data = {
        name: SETS[name](args.images, image_size=32, random_state=0, return_X_y=True)
        for name in args.sets
    }
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        for name, (X, y) in data.items():
            for variant in args.variants:
                key = (name, variant, str(args.images), str(args.epochs), str(seed))
                if key in done or time.monotonic() - start > 60 * args.minutes:
                    continue
                row = dict(zip(FIELDS, key)) | measure(X, y, variant, args.epochs, seed)
                append(args.out, row)
                print(" ".join(str(row[field]) for field in FIELDS), flush=True)
    size = (str(args.images), str(args.epochs))
    table = summarize([row for row in read(args.out) if (row["images"], row["epochs"]) == size])
    for row in table:
        print(", ".join(f"{name}: {value}" for name, value in row.items() if value != ""))
    if args.table:
        with args.table.open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
