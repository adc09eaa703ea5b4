"""Splitters for dependent factors."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseShuffleSplit
from sklearn.model_selection._split import _validate_shuffle_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from .._params import Array, Names, PositiveFloat, PositiveInt, RandomStateLike, readable, validated
from ._dependence import Kind, Pairs, dependence_weights


class DependentShuffleSplit(BaseShuffleSplit):
    """Splits that train on dependent factors and test on independent ones, or the reverse.

    Each split divides the rows at random into two pools. On a dependent side, as many rows as its
    pool holds are drawn from it, with replacement and with the weights of
    :func:`dependence_weights`; an independent side is its pool as it is. No row is on both sides.

    Parameters
    ----------
    pairs : list of tuple
        Pairs of factors, by column number or by name. ``("shape", "*")`` joins shape with every
        other factor that varies.
    kind : {"gaussian", "inverse", "A", "B", "C", "D"}, default="gaussian"
        Which of the functions in :func:`dependence_weights`.
    sigma : float or array-like of shape (n_pairs,), default=0.1
        Width of the Gaussian, one for all pairs or one for each: .1 is strong, .4 moderate, .7
        weak. The kinds A to D do not use it.
    factor_names : list of str or None, default=None
        Names; those of the columns of a DataFrame if None.
    factor_sizes : array-like of int of shape (n_factors,) or None, default=None
        Number of classes of each factor, to scale by ``class / (size - 1)``. If None, factors are
        scaled by their smallest and largest value.
    dependent : {"train", "test", "both"}, default="train"
        Which side has dependent factors. "train" asks whether a model that learns from dependent
        data disentangles all the same (Roth et al., 2023); "test" asks what a score says on
        dependent data (Almudévar and Ortega, 2025).
    n_splits : int, default=5
        Number of splits.
    test_size, train_size : float, int or None, default=None
        Sizes of the pools, as in :class:`~sklearn.model_selection.ShuffleSplit`; if both are None,
        a fifth of the rows is held out for testing.
    random_state : int, RandomState instance or None, default=None
        Determines the pools and the draws. Pass an int for the same splits at every call.

    See Also
    --------
    sample_dependent : One dependent draw.
    load_dependence_setting : Named choices of pairs and sigma, to be passed with ``**``.

    Notes
    -----
    The splitter needs y, the classes of the factors, which searches and
    :func:`~sklearn.model_selection.cross_validate` pass on. Drawn rows repeat: with a narrow
    sigma few distinct rows are left, so use a large data set.

    References
    ----------
    Roth, Ibrahim, Akata, Vincent and Bouchacourt (2023). Disentanglement of correlated factors via
    Hausdorff factorized support. ICLR.

    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.datasets import make_dependent_factors
    >>> from sklearn_disent.model_selection import DependentShuffleSplit
    >>> X, y = make_dependent_factors(4000, random_state=0, return_X_y=True)
    >>> cv = DependentShuffleSplit([(0, 1)], sigma=0.3, n_splits=1, random_state=0)
    >>> train, test = next(cv.split(X, y))
    >>> for rows in (train, test):
    ...     print(f"{np.corrcoef(y[rows].T)[0, 1]:.1f}")
    0.7
    0.0
    """

    # Checked here, since a splitter is used long after it is made.
    @validated
    def __init__(
        self,
        pairs: Pairs,
        *,
        kind: Kind = "gaussian",
        sigma: PositiveFloat | Array = 0.1,
        factor_names: Names | None = None,
        factor_sizes: Array | None = None,
        dependent: Literal["train", "test", "both"] = "train",
        n_splits: PositiveInt = 5,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(
            n_splits=n_splits,
            test_size=test_size,
            train_size=train_size,
            random_state=random_state,
        )
        self.pairs = pairs
        self.kind = kind
        self.sigma = sigma
        self.factor_names = factor_names
        self.factor_sizes = factor_sizes
        self.dependent = dependent
        self._default_test_size = 0.2

    @readable
    def split(
        self, X: Any, y: ArrayLike | None = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Generate the row numbers of the training and the test side of each split.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Observations; only their number is used.
        y : array-like of shape (n_samples, n_factors), default=None
            Classes of the factors; None is an error.
        groups : None, default=None
            Not used; present for consistency with scikit-learn.

        Yields
        ------
        train, test : ndarray of int64
            Row numbers; those of a dependent side repeat.
        """
        return super().split(X, y, groups)

    def _iter_indices(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        if y is None or np.ndim(y) != 2:
            got = "None" if y is None else f"shape {np.shape(y)}"
            raise ValueError(
                "DependentShuffleSplit needs the factors as y of shape (n_samples, n_factors), "
                f"got {got}. Pass them to split, or to the fit of the search."
            )
        n_rows = _num_samples(X)
        n_train, n_test = _validate_shuffle_split(
            n_rows, self.test_size, self.train_size, self._default_test_size
        )
        # Of all rows at once, so that every pool scales the factors alike.
        weights = dependence_weights(
            y,
            self.pairs,
            kind=self.kind,
            sigma=self.sigma,
            factor_names=self.factor_names,
            factor_sizes=self.factor_sizes,
        )
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            order = rng.permutation(n_rows)
            sides = {"test": order[:n_test], "train": order[n_test : n_test + n_train]}
            for side in ("train", "test"):
                if self.dependent in (side, "both"):
                    sides[side] = _draw(sides[side], weights, rng)
            yield sides["train"], sides["test"]


def _draw(
    rows: NDArray[np.int64], weights: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw as many rows as there are, with replacement, in proportion to their weights."""
    total = weights[rows].sum()
    if total == 0:
        raise ValueError(
            f"All {len(rows)} rows of one side have weight 0: none has a combination of classes "
            "that the dependence allows. Use a larger sigma or more rows."
        )
    return rng.choice(rows, size=len(rows), p=weights[rows] / total)
