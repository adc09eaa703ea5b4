"""A script as a user writes it: mypy must accept it in strict mode, and it runs."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.inspection import RelevanceDisplay
from sklearn_disent.metrics import (
    ScoreReport,
    disentanglement_report,
    get_scorer,
    mig_score,
    minimality_score,
    relevance_matrix,
)
from sklearn_disent.models import BetaVAE


def best_codes(X: NDArray[np.uint8], y: NDArray[np.int64]) -> NDArray[np.float32]:
    """Codes of the better of two BetaVAEs."""
    search = GridSearchCV(
        BetaVAE(n_components=3, max_epochs=1, random_state=0),
        {"beta": [1.0, 4.0]},
        scoring=get_scorer("mig", n_bins=10, strategy="uniform"),
        cv=KFold(2, shuffle=True, random_state=0),
    )
    codes: NDArray[np.float32] = search.fit(X, y).transform(X)
    return codes


def main() -> None:
    X, y = make_dsprites(60, image_size=32, random_state=0, return_X_y=True)
    assert_type(y, NDArray[np.int64])
    codes = best_codes(X, y)

    score: float = mig_score(
        y, codes, n_bins=10, strategy="quantile", bias_correction="miller_madow"
    )
    print(f"MIG {score:.3f}")
    per_factor: NDArray[np.float64] = mig_score(y, codes, average=None)
    print(np.round(per_factor, 3))

    relevance = relevance_matrix(y, codes, kind="mutual_info", n_bins=10)
    n_factors, n_codes = relevance.shape
    print(f"{n_factors} factors, {n_codes} codes, the largest entry {relevance.max():.3f}")

    report = disentanglement_report(y, codes, metrics=["mig", "sap"], random_state=0)
    print(report, report.to_latex())
    rows = disentanglement_report(y, codes, metrics=["mig"], output="dict")
    value: float = rows["mig"]["value"]
    smallest: float = minimality_score(y, codes)
    # An annotation accepts Any, this does not.
    assert_type(mig_score(y, codes), float)
    assert_type(mig_score(y, codes, average=None), NDArray[np.float64])
    assert_type(report, ScoreReport)
    assert_type(BetaVAE(2, max_epochs=1).fit(codes), BetaVAE)
    assert min(value, smallest) >= 0

    display = RelevanceDisplay.from_predictions(y, codes, kind="mutual_info")
    display.plot(cmap="viridis")


if __name__ == "__main__":
    main()
