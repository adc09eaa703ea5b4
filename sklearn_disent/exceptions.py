"""Warnings and errors of the package."""

__all__ = ["DegenerateScoreWarning", "TrainingDivergedError"]


class DegenerateScoreWarning(UserWarning):
    """A score is defined but says little: a dead code, a factor with one value, too few samples."""


class TrainingDivergedError(RuntimeError):
    """The loss became nan or infinite; the estimator keeps its last good parameters."""
