"""Active latents and scores over seeds, by initial weights: python benchmarks/collapse.py.

Every fit is a row of the table --out, and is not run twice: stop the script whenever you like, or
with --minutes, and run it again. A fit of the default size takes 20 to 60 s on one core; --images
and --epochs make it shorter.
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
from sklearn_disent.model_selection import compare_models
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
    "he_slow": {"module__init": "he", "lr": 3e-4},
}
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


def summarize(rows: list[dict[str, str]], variants: list[str]) -> None:
    """Seeds without an active latent, and scores with intervals over the seeds all have."""
    for name in SETS:
        found = {v: {r["seed"]: r for r in rows if (r["set"], r["variant"]) == (name, v)}
                 for v in variants}  # fmt: skip
        seeds = sorted(set.intersection(*map(set, found.values())), key=int)
        if not seeds:
            continue
        print(f"\n{name}, {len(seeds)} seeds")
        for variant, by_seed in found.items():
            active = np.array([int(by_seed[seed]["active"]) for seed in seeds])
            print(
                f"  {variant:<12} active latents: least {active.min()}, median "
                f"{np.median(active):g}; none in {(active == 0).sum()} of {len(seeds)} seeds"
            )
        if len(seeds) > 1 and len(variants) > 1:
            scores = {
                variant: {m: [float(by_seed[seed][m]) for seed in seeds] for m in ("mig", "sap")}
                for variant, by_seed in found.items()
            }
            print(compare_models(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--variants", nargs="+", default=["torch", "he"], choices=VARIANTS)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=np.inf, help="no fit begins after these")
    parser.add_argument("--out", type=Path, default=Path("collapse.csv"))
    args = parser.parse_args()

    torch.set_num_threads(1)
    start = time.monotonic()
    done = {tuple(row[field] for field in FIELDS[:5]) for row in read(args.out)}
    data = {
        name: SETS[name](args.images, image_size=32, random_state=0, return_X_y=True)
        for name in args.sets
    }
    for seed in range(args.seeds):
        for name, (X, y) in data.items():
            for variant in args.variants:
                key = (name, variant, str(args.images), str(args.epochs), str(seed))
                if key in done or time.monotonic() - start > 60 * args.minutes:
                    continue
                row = dict(zip(FIELDS, key)) | measure(X, y, variant, args.epochs, seed)
                append(args.out, row)
                print(" ".join(str(row[field]) for field in FIELDS), flush=True)
    size = (str(args.images), str(args.epochs))
    rows = [row for row in read(args.out) if (row["images"], row["epochs"]) == size]
    summarize(rows, args.variants)


if __name__ == "__main__":
    main()
