"""Weights that change while a model trains: functions of the number of optimiser steps."""

import math
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Self

from .._params import Weight


def resolve(weight: Weight, step: int) -> float:
    """Value of a weight at this optimiser step."""
    return weight(step) if callable(weight) else weight


@dataclass(frozen=True)
class _Schedule:
    """From one value to another in a number of optimiser steps."""

    start: float
    end: float
    n_steps: int

    def __post_init__(self) -> None:
        if not isinstance(self.n_steps, Integral) or self.n_steps < 1:
            raise ValueError(
                "n_steps must be a positive integer, a number of optimiser steps, "
                f"got {self.n_steps!r}."
            )

    # scikit-learn's protocol for what an estimator holds, so that a search may set "beta__start".

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Not used.

        Returns
        -------
        params : dict
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        self : object
        """
        known = self.get_params()
        unknown = [name for name in params if name not in known]
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}. Set one of {list(known)}."
            )
        type(self)(**{**known, **params})  # refused before anything is set
        for name, value in params.items():
            object.__setattr__(self, name, value)
        return self


@dataclass(frozen=True)
class LinearSchedule(_Schedule):
    """A weight that goes from ``start`` to ``end`` in a straight line, then stays.

    Parameters
    ----------
    start, end : float
        First and last value.
    n_steps : int
        Optimiser steps (batches, not epochs) from one to the other.

    See Also
    --------
    CosineSchedule : Leaves and arrives slowly.
    CyclicSchedule : Starts again and again.

    Examples
    --------
    >>> from sklearn_disent.models import BetaVAE, LinearSchedule
    >>> warm_up = LinearSchedule(0.0, 4.0, n_steps=1000)
    >>> [warm_up(step) for step in (0, 500, 2000)]
    [0.0, 2.0, 4.0]
    >>> BetaVAE(beta=warm_up)
    BetaVAE(beta=LinearSchedule(start=0.0, end=4.0, n_steps=1000))

    A search may set its parts, ``GridSearchCV(vae, {"beta__end": [2.0, 4.0]})``:

    >>> BetaVAE(beta=warm_up).set_params(beta__end=2.0)
    BetaVAE(beta=LinearSchedule(start=0.0, end=2.0, n_steps=1000))
    """

    def __call__(self, step: int) -> float:
        """Value at this optimiser step, counted from 0."""
        return self.start + (self.end - self.start) * min(1.0, step / self.n_steps)


@dataclass(frozen=True)
class CosineSchedule(_Schedule):
    """A weight that follows half a cosine from ``start`` to ``end``, then stays.

    Parameters
    ----------
    start, end : float
        First and last value.
    n_steps : int
        Optimiser steps (batches, not epochs) from one to the other.

    See Also
    --------
    LinearSchedule : The same in a straight line.

    Examples
    --------
    >>> from sklearn_disent.models import CosineSchedule
    >>> schedule = CosineSchedule(1.0, 5.0, n_steps=100)
    >>> [round(schedule(step), 3) for step in (0, 25, 50, 100, 200)]
    [1.0, 1.586, 3.0, 5.0, 5.0]
    """

    def __call__(self, step: int) -> float:
        """Value at this optimiser step, counted from 0."""
        progress = min(1.0, step / self.n_steps)
        return self.end + 0.5 * (self.start - self.end) * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class CyclicSchedule(_Schedule):
    """A weight that rises from ``start`` to ``end``, rests there, and begins anew.

    Parameters
    ----------
    start, end : float
        Values at the beginning of a cycle and at its rest.
    n_steps : int
        Optimiser steps of one cycle.
    rise : float, default=0.5
        Share of the cycle in which the weight rises, in (0, 1].

    See Also
    --------
    LinearSchedule : One rise only.

    References
    ----------
    Fu, Li, Liu, Gao, Celikyilmaz and Carin (2019). Cyclical annealing schedule: A simple approach
    to mitigating KL vanishing. NAACL.

    Examples
    --------
    >>> from sklearn_disent.models import CyclicSchedule
    >>> schedule = CyclicSchedule(0.0, 1.0, n_steps=100)
    >>> [schedule(step) for step in (0, 25, 50, 99, 100, 125)]
    [0.0, 0.5, 1.0, 1.0, 0.0, 0.5]
    """

    rise: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rise <= 1:
            raise ValueError(f"rise must be in (0, 1], a share of the cycle, got {self.rise!r}.")

    def __call__(self, step: int) -> float:
        """Value at this optimiser step, counted from 0."""
        progress = min(1.0, step % self.n_steps / (self.rise * self.n_steps))
        return self.start + (self.end - self.start) * progress
