"""Fitted estimators: their codes, and the way through Pipelines and searches to a model."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from .._arrays import plain_tensor
from ._validation import check_codes


def encode(estimator: Any, X: ArrayLike) -> ArrayLike:
    """Codes of a transformer, a Pipeline or a search; an error that says what is missing."""
    if not hasattr(estimator, "transform"):
        raise TypeError(
            f"{type(estimator).__name__} has no transform(X) that gives codes to score. Pass a "
            "fitted transformer, a Pipeline that ends in one, or a search over either."
        )
    return estimator.transform(plain_tensor(X))


def path_to_model(estimator: Any) -> tuple[list[Any], Any]:
    """Steps that data take to the innermost estimator of Pipelines and searches, and that one.

    Steps that are "passthrough" are looked through, trailing ones too.
    """
    before: list[Any] = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
            if not steps:
                raise TypeError(
                    "A Pipeline of nothing but 'passthrough' has no estimator. Pass one with a "
                    "fitted model among its steps."
                )
            before += steps[:-1]
            estimator = steps[-1]
        else:
            return before, estimator


def unwrap_estimator(estimator: Any, X: ArrayLike) -> tuple[Any, ArrayLike]:
    """Innermost estimator of Pipelines and searches, and the data as they reach it."""
    before, model = path_to_model(estimator)
    X = plain_tensor(X)
    for step in before:
        X = step.transform(X)
    return model, X


def posterior_of(estimator: Any, X: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and log-variances of the posteriors of a model, a Pipeline or a search."""
    estimator, X = unwrap_estimator(estimator, X)
    if not hasattr(estimator, "posterior"):
        raise TypeError(
            f"{type(estimator).__name__} has no posterior(X) that gives means and log-variances. "
            "Pass a fitted VAE, or a Pipeline that ends in one; for codes that are points use "
            "mig_score and gaussian_total_correlation_error."
        )
    mean, log_variance = (check_codes(part) for part in estimator.posterior(X))
    return mean, log_variance


def has_normal_prior(model: Any) -> bool:
    """Whether posteriors may be held against N(0, I), so that their KL tells which are in use.

    A model that draws from a prior of which it gives no density, as InfoGAN's uniform one, is
    another kind.
    """
    announced = hasattr(model, "sample_prior") and not hasattr(model, "log_prior")
    return hasattr(model, "posterior") and not announced
