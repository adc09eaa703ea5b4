"""Warnings and errors of the package."""

__all__ = ["DegenerateScoreWarning", "TrainingDivergedError", "TrainingWarning"]


class DegenerateScoreWarning(UserWarning):
    """A score is defined but says little: a dead code, a factor with one value, too few samples."""


class TrainingDivergedError(RuntimeError):
    """The loss became nan or infinite; the estimator keeps its last good parameters."""


class TrainingWarning(UserWarning):
    """Training ended, but the model is of little use: dead latents, a collapsed discriminator."""
