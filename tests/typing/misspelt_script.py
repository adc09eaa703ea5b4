"""Options that do not exist: mypy must refuse every line marked as wrong, and no other."""

import numpy as np

import sklearn_disent
from sklearn_disent.inspection import RelevanceDisplay
from sklearn_disent.metrics import mig_score, relevance_matrix


def misspelt() -> None:
    factors = np.zeros((10, 2), dtype=int)
    codes = np.zeros((10, 3))
    mig_score(factors, codes, strategy="quantile")
    mig_score(factors, codes, strategy="unifrom")  # wrong: call-overload
    mig_score(factors, codes, bias_correction="miller-madow")  # wrong: call-overload
    mig_score(factors, codes, nan_policy="drop")  # wrong: call-overload
    mig_score(factors, codes, n_bin=10)  # wrong: call-overload
    relevance_matrix(factors, codes, kind="correlation")
    relevance_matrix(factors, codes, kind="mutual_information")  # wrong: arg-type
    RelevanceDisplay.from_predictions(factors, codes, kind="mutual_inof")  # wrong: arg-type
    sklearn_disent.metrics.mig_score(factors, codes)
    sklearn_disent.metrix  # wrong: attr-defined  # noqa: B018
