"""
Do dead latents come back?
==========================

The trained BetaVAE of dSprites has three active latents. Its weight of the KL divergence fell from
8 to 2; at that price the orientation is not worth its information. Does a lower price bring the
other latents back? The model is trained on, with a weight that rises from 0.1 to 1; a model with
fresh weights sees the same images with the same weight:

.. code-block:: bash

   python examples/studies/dead_latents.py

It writes ``docs/results/dead_latents.csv``: a row per model and seed, in about ten minutes of one
core. Seeds draw the images and the fresh weights.
"""

# sphinx_gallery_dont_run
import argparse
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from train_pretrained import BATCH, DATA, N_PROBE, PROBE_SEED, TABLE

from sklearn_disent.exceptions import DegenerateScoreWarning, TrainingWarning
from sklearn_disent.metrics import factor_vae_score, mig_score
from sklearn_disent.models import CosineSchedule, LinearSchedule, load_pretrained

NAME = "dsprites-beta-0"
N_STEPS = 2000
WEIGHT = LinearSchedule(0.1, 1.0, 1500)
RATE = CosineSchedule(1e-3, 1e-5, N_STEPS)
LEAST_STD = 0.05  # of the codes of a latent that counts as active


def beginnings(seed: int) -> dict[str, Any]:
    """The model as it is shipped, and one of the same kind with fresh weights."""
    shipped, fresh = load_pretrained(NAME), TABLE[NAME].make()
    shipped.n_steps_ = 0  # schedules begin anew
    options = {"beta": WEIGHT, "lr": RATE, "random_state": seed}
    return {"shipped": shipped.set_params(**options), "fresh": fresh.set_params(**options)}


def scores_of(model: Any, probe: Any) -> dict[str, float]:
    codes = model.transform(probe.images)
    return {
        "active": int((codes.std(axis=0) > LEAST_STD).sum()),
        "reconstruction": -float(model.elbo_terms(probe.images, n_draws=2)[0].mean()),
        "mig": mig_score(probe.target, codes),
        "factor_vae": factor_vae_score(probe.target, codes, random_state=0),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "docs" / "results"
    parser.add_argument("--out", type=Path, default=default, help="folder of the page")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", TrainingWarning)
    warnings.simplefilter("ignore", DegenerateScoreWarning)
    probe = DATA["dsprites"].make(N_PROBE, random_state=PROBE_SEED)
    before = {"weights": "shipped", "steps": 0, **scores_of(load_pretrained(NAME), probe)}
    rows = [before]
    for seed in options.seeds:
        images = DATA["dsprites"].make(N_STEPS * BATCH, random_state=seed).images
        for weights, model in beginnings(seed).items():
            model.partial_fit(images)
            found = {"weights": weights, "steps": N_STEPS, "seed": seed}
            rows.append({**found, **scores_of(model, probe)})
            print(rows[-1])
    table = pd.DataFrame(rows).astype({"seed": "Int64"}).round(4)
    options.out.mkdir(parents=True, exist_ok=True)
    columns = ["weights", "steps", "seed", "active", "reconstruction", "mig", "factor_vae"]
    table[columns].to_csv(options.out / "dead_latents.csv", index=False)


if __name__ == "__main__":
    main()
