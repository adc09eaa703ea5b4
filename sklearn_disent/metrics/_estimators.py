"""Fitted estimators: their codes, and the way through Pipelines and searches to a model."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline


def encode(estimator: Any, X: ArrayLike) -> ArrayLike:
    """Codes of a transformer, a Pipeline or a search; an error that says what is missing."""
    if not hasattr(estimator, "transform"):
        raise TypeError(
            f"{type(estimator).__name__} has no transform, hence no codes to score. Pass a fitted "
            "transformer, a Pipeline that ends in one, or a search over either."
        )
    return estimator.transform(X)


def unwrap_estimator(estimator: Any, X: ArrayLike) -> tuple[Any, ArrayLike]:
    """Innermost estimator of Pipelines and searches, and the data as it reaches that estimator.

    Trailing "passthrough" steps of a Pipeline are looked through.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrap_estimator(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        if not steps:
            raise TypeError("A Pipeline of nothing but 'passthrough' has no estimator to score.")
        for step in steps[:-1]:
            X = step.transform(X)
        return unwrap_estimator(steps[-1], X)
    return estimator, X
