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


def innermost(estimator: Any) -> Any:
    """The estimator at the heart of Pipelines and searches."""
    return _chain(estimator)[-1]


def unwrap_estimator(estimator: Any, X: ArrayLike) -> tuple[Any, ArrayLike]:
    """Innermost estimator of Pipelines and searches, and the data as it reaches that estimator."""
    *steps, last = _chain(estimator)
    for step in steps:
        X = step.transform(X)
    return last, X


def _chain(estimator: Any) -> list[Any]:
    """What data pass through, one after the other, up to the innermost estimator.

    "passthrough" steps of a Pipeline are looked through.
    """
    if hasattr(estimator, "best_estimator_"):
        return _chain(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    if not steps:
        raise TypeError(
            "A Pipeline of nothing but 'passthrough' has no estimator in it. Pass one that ends "
            "in a fitted model."
        )
    return [*steps[:-1], *_chain(steps[-1])]
