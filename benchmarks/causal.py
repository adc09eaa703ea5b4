"""What the causal metrics say of models and data whose truth is known: python benchmarks/causal.py.

- CG of a perfect model (codes are the factors, the decoder is the renderer), with the default judge
  and its accuracy on images it was not fitted on, on dSprites and on the look-alike of CANDLE.
- Robustness of perfect codes of CANDLE's own combinations: as observed, and its bounds under
  interventions.
- Strength of the confounding of the look-alike, as asked and as Cramer's V has it.

IRS along training is in ``examples/studies/study_causal.py``, memory of judges in ``memory.py``.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
from scipy.stats.contingency import association, crosstab

from sklearn_disent.datasets import load_candle_design, make_candle_like
from sklearn_disent.metrics import counterfactual_generativeness_score, relevance_matrix

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "metrics" / "of_models"))
test_oracle = importlib.import_module("test_oracle")  # perfect models of both sets


def oracles() -> None:
    for name, make in {"dSprites": test_oracle.sprites, "look-alike": test_oracle.scenes}.items():
        X, y, oracle = make(32)
        found = counterfactual_generativeness_score(
            oracle, X, y, holdout=0.75, random_state=0, return_details=True
        )
        print(
            f"{name}, {len(X)} images: CG of a perfect model {found.score:.3f}, relative to its "
            f"judge {np.nanmean(found.relative):.3f}; accuracy of the judge by factor "
            f"{np.round(found.accuracy, 2).tolist()}, by chance "
            f"{np.round(found.chance, 2).tolist()}"
        )


def observed_and_set() -> None:
    design = load_candle_design()
    y, names = design.target, design.factor_names
    missing = 1 - len(np.unique(y, axis=0)) / np.prod(design.factor_sizes)
    print(f"CANDLE lacks {missing:.0%} of its combinations")
    seen, low, high = (
        relevance_matrix(y, y * 1.0, kind="robustness", adjust=adjust)
        for adjust in (None, "lower", "upper")
    )
    others = seen - np.diag(np.diag(seen))
    for place in np.argsort(others, axis=None)[::-1][:3]:
        k, j = np.unravel_index(place, seen.shape)
        print(
            f"robustness of the perfect code of {names[j]} to {names[k]}: observed "
            f"{seen[k, j]:.2f}, under interventions between {low[k, j]:.2f} and {high[k, j]:.2f}"
        )


def confounding() -> None:
    full = None
    for asked in (1.0, 0.75, 0.5, 0.25, 0.0):
        y = make_candle_like(3000, image_shape=(16, 16), confounding=asked, random_state=0).target
        v = association(crosstab(y[:, 0], y[:, 2]).count, method="cramer", correction=False)
        full = v if full is None else full
        print(f"confounding={asked}: Cramer's V of object and size {v:.3f}, {v / full:.2f} of full")


if __name__ == "__main__":
    observed_and_set()
    confounding()
    oracles()
