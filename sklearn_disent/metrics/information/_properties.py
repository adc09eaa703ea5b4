"""The four properties behind minimality and sufficiency, as conditional information."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..._params import (
    Array,
    AtLeastTwo,
    FactorBins,
    Names,
    NanPolicy,
    RandomStateLike,
    Strategy,
    validated,
)
from .._validation import Checked, check_codes, check_data, check_factors, warn_degenerate
from ._matrix import bin_codes, entropy_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CodeLedger", "PropertyInformation", "code_ledger", "property_information"]

Labels = NDArray[np.int64]
Correction = Literal["none", "permutation"]

# Shuffles behind the "permutation" correction, as for the information matrix.
_N_PERMUTATIONS = 16
# Rows per cell of a joint table below which plug-in estimates say more about n than about codes.
_FEW_ROWS = 5
# Share of what could be there that chance may explain; what is left of more is noise, enlarged.
_MOST_CHANCE = 0.9


class PropertyInformation(NamedTuple):
    """What keeps codes from being disentangled, in nats; zero where a property holds."""

    factors_invariance: NDArray[np.float64]
    """(n_factors, n_codes), I(z_j; y_rest | y_i)."""
    nuisances_invariance: NDArray[np.float64] | None
    """(n_factors, n_codes), I(z_j; n | y_i); None without nuisances."""
    representations_invariance: NDArray[np.float64]
    """(n_factors, n_codes), I(y_i; z_rest | z_j)."""
    explicitness: NDArray[np.float64]
    """(n_factors,), I(y_i; x | z)."""
    minimality: NDArray[np.float64]
    """(n_factors, n_codes), I(z_j; x | y_i)."""
    sufficiency: NDArray[np.float64]
    """(n_factors, n_codes), I(y_i; x | z_j)."""


@dataclass(frozen=True)
class CodeLedger:
    """What each code holds: about its own factor, about the others, and besides.

    ``total = own + others + nuisance`` for every code, in nats. Made by :func:`code_ledger` and
    :func:`posterior_ledger`.

    Parameters
    ----------
    factor : ndarray of shape (n_codes,)
        The factor that the code is most informative about.
    total : ndarray of shape (n_codes,)
        All that the code holds about the observation.
    own : ndarray of shape (n_codes,)
        About its own factor, I(z_j; y_i).
    others : ndarray of shape (n_codes,)
        About the other factors, given its own, I(z_j; y_rest | y_i).
    nuisance : ndarray of shape (n_codes,)
        About what is not a factor, given all of them, I(z_j; x | y).
    factor_names : list of str
        Names of the factors.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import code_ledger
    >>> factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    >>> print(code_ledger(factors, factors @ [[1, 0], [4, 1]], factor_names=["size", "hue"]))
    code   factor   total     own  others  nuisance   share
    z0        hue   2.684   1.386   1.298     0.000    0.52
    z1        hue   1.386   1.386   0.000     0.000    1.00
    """

    factor: Labels
    total: NDArray[np.float64]
    own: NDArray[np.float64]
    others: NDArray[np.float64]
    nuisance: NDArray[np.float64]
    factor_names: list[str]

    @property
    def share(self) -> NDArray[np.float64]:
        """Part of the total that is about the own factor: the minimality of the code."""
        return self.own / np.where(self.total > 0, self.total, 1.0)

    def to_frame(self) -> "pd.DataFrame":
        """The ledger as a pandas DataFrame, a row per code.

        Returns
        -------
        frame : DataFrame
            With the columns `factor`, `total`, `own`, `others`, `nuisance` and `share`.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'sklearn-disent[report]', or read the "
                "attributes of the ledger."
            ) from error
        names = [self.factor_names[i] for i in self.factor]
        columns = {name: getattr(self, name) for name in _COLUMNS}
        index = pd.Index([f"z{j}" for j in range(len(names))], name="code")
        return pd.DataFrame({"factor": names, **columns, "share": self.share}, index=index)

    def __str__(self) -> str:
        names = [self.factor_names[i] for i in self.factor]
        width = max(6, *map(len, names)) + 3
        head = "".join(f"{name:>{max(8, len(name) + 2)}}" for name in _COLUMNS)
        lines = [f"{'code':<4}{'factor':>{width}}{head}   share"]
        for j, name in enumerate(names):
            cells = "".join(
                f"{getattr(self, column)[j]:>{max(8, len(column) + 2)}.3f}" for column in _COLUMNS
            )
            lines.append(f"{f'z{j}':<4}{name:>{width}}{cells}{self.share[j]:>8.2f}")
        return "\n".join(lines)


_COLUMNS = ("total", "own", "others", "nuisance")


@validated
def property_information(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    nuisances: Array | None = None,
    n_bins: AtLeastTwo | None = 15,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: Correction = "none",
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> PropertyInformation:
    r"""The four properties that make codes minimal and sufficient, as conditional information.

    For every factor :math:`y_i` and code :math:`z_j`, in nats; zero where the property holds.

    - Factors-invariance, :math:`I(z_j; y_{rest} | y_i)`: given its factor, the code is not
      informative about the others.
    - Nuisances-invariance, :math:`I(z_j; n | y_i)`: nor about nuisances.
    - Representations-invariance, :math:`I(y_i; z_{rest} | z_j)`: given the code, the other codes
      are not informative about the factor.
    - Explicitness, :math:`I(y_i; x | z)`: given all codes, neither is the observation.

    They add up to what is missing to minimality and sufficiency,

    .. math::
        I(z_j; x | y_i) &= I(z_j; y_{rest} | y_i) + I(z_j; x | y) \\
        I(y_i; x | z_j) &= I(y_i; z_{rest} | z_j) + I(y_i; x | z)

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    nuisances : array-like of shape (n_samples, n_nuisances) or None, default=None
        What the observations vary in besides the factors, as classes; None if it is not known.
    n_bins : int or None, default=15
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned, and nuisances with them; if None they are refused.
    bias_correction : {"none", "permutation"}, default="none"
        "none" is the plug-in estimate. "permutation" adjusts each of the three invariances for
        chance: codes are shuffled within samples that have the same condition, so that
        independence given the condition gets about 0. Where shuffles have more than 0.9 of what
        could be there, nothing can be told from chance: nan, with a warning.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    information : PropertyInformation
        Matrices (n_factors, n_codes) `factors_invariance`, `nuisances_invariance` (None without
        nuisances), `representations_invariance`, `minimality` and `sufficiency`, and
        `explicitness` of shape (n_factors,).

    See Also
    --------
    code_ledger : What each code holds, in one table.
    minimality_score, sufficiency_score : The shares of what is not missing.

    Notes
    -----
    Binned codes are functions of the observation, and so are the factors: what the observation
    adds is an entropy, :math:`I(y_i; x | z) = H(y_i | z)`.

    Joint tables of all codes, of all factors, or of nuisances and a factor have many cells. With
    few rows per cell each row seems to determine everything: representations-, factors- or
    nuisances-invariance is too high then, and explicitness too low, which has no correction. There
    is a warning. Use fewer bins, more rows or, if chance leaves some room,
    ``bias_correction="permutation"``.

    The paper's Theorem 1 takes a code to be minimal if it is factors- and nuisances-invariant. This
    is not so: the exclusive or of another factor and a nuisance is independent of either, and not
    of both. What is true has the nuisance given *all* factors, as in the sum above.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import property_information
    >>> factors = np.random.default_rng(0).integers(2, size=(4000, 2))
    >>> mixed = np.column_stack([factors[:, 0], factors @ [2, 1]])
    >>> found = property_information(factors, mixed, n_bins=None)
    >>> found.factors_invariance.round(1)  # the second code holds the other factor, too
    array([[0. , 0.7],
           [0.7, 0.7]])
    >>> found.explicitness.round(1)
    array([0., 0.])
    """
    y, z, n = _as_labels(factors, codes, nuisances, n_bins, strategy, factor_bins, nan_policy)
    rng = check_random_state(random_state) if bias_correction == "permutation" else None
    every_code = joint_labels(z)
    warn_of_few_rows(
        every_code, "codes", "representations_invariance is too high and explicitness too low"
    )
    warn_of_few_rows(
        joint_labels(y),
        "factors",
        "factors_invariance is too high, unless codes are functions of the factors",
        z,
    )
    if n is not None:
        with_n = max((joint_labels(np.column_stack([n, own])) for own in y.T), key=np.max)
        warn_of_few_rows(with_n, "nuisances and a factor", "nuisances_invariance is too high")
    explicit = np.array([_conditional_entropy(own, every_code) for own in y.T])
    z_rest = [joint_labels(np.delete(z, j, axis=1)) for j in range(z.shape[1])]
    others, besides, rest, minimal, sufficient = np.zeros((5, y.shape[1], z.shape[1]))
    for i, own in enumerate(y.T):
        y_rest = joint_labels(np.delete(y, i, axis=1))
        for j, code in enumerate(z.T):
            others[i, j] = conditional_information(code, y_rest, own, rng)
            rest[i, j] = conditional_information(own, z_rest[j], code, rng)
            if n is not None:
                besides[i, j] = conditional_information(code, n, own, rng)
            minimal[i, j] = _conditional_entropy(code, own)
            sufficient[i, j] = _conditional_entropy(own, code)
    nuisance = None if n is None else besides
    _warn_of_chance(others, rest, besides)
    return PropertyInformation(others, nuisance, rest, explicit, minimal, sufficient)


@validated
def code_ledger(
    factors: ArrayLike,
    codes: ArrayLike,
    *,
    n_bins: AtLeastTwo | None = 15,
    strategy: Strategy = "uniform",
    factor_bins: FactorBins | None = None,
    bias_correction: Correction = "none",
    factor_names: Names | None = None,
    nan_policy: NanPolicy = "raise",
    random_state: RandomStateLike = None,
) -> CodeLedger:
    r"""What each code holds: about its own factor, about the others, and besides.

    The entropy of a binned code, split by the chain rule:

    .. math::
        H(z_j) = I(z_j; y_i) + I(z_j; y_{rest} | y_i) + H(z_j | y),

    where :math:`y_i` is the factor that the code is most informative about. The first part over
    the whole is the code's minimality.

    Parameters
    ----------
    factors : array-like of shape (n_samples, n_factors)
        The ground-truth factors, as classes.
    codes : array-like of shape (n_samples, n_codes)
        The representation.
    n_bins : int or None, default=15
        Number of bins per code; None takes every distinct value of a discrete code as a bin.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal count.
    factor_bins : int, "unique" or None, default=None
        How continuous factors are binned; if None they are refused.
    bias_correction : {"none", "permutation"}, default="none"
        "none" is the plug-in estimate. "permutation" adjusts what a code holds of the other factors
        for chance, by shuffles within samples of the same value of its own; what it takes away is
        nuisance. Where shuffles have more than 0.9 of what could be there, as in a grid of factors
        in which every combination occurs once, others and nuisance cannot be told apart: both are
        nan, with a warning.
    factor_names : sequence of str or None, default=None
        Names of the factors; None takes those of a DataFrame, or numbers.
    nan_policy : {"raise", "omit"}, default="raise"
        Whether a missing value is an error or drops its row.
    random_state : int, RandomState instance or None, default=None
        Shuffles of the "permutation" correction.

    Returns
    -------
    ledger : CodeLedger
        Arrays `factor`, `total`, `own`, `others`, `nuisance` and `share`, one entry per code;
        ``print`` shows a table, ``to_frame()`` makes a DataFrame.

    See Also
    --------
    property_information : The same and more for every pair of factor and code.
    posterior_ledger : The same from posteriors, without bins.
    minimality_score : The mean share over active codes.

    Notes
    -----
    Where the table of all factors has few rows per combination, part of the nuisance is counted as
    information about the other factors, and there is a warning, unless rows that repeat a
    combination show that codes are functions of it. If every combination occurs once nothing can
    show it: ignore the warning where images vary in nothing but the factors.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import code_ledger
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(3, size=(3000, 2))
    >>> codes = factors + np.column_stack([0 * factors[:, 0], rng.uniform(-0.9, 0.9, 3000)])
    >>> print(code_ledger(factors, codes))
    code   factor   total     own  others  nuisance   share
    z0          0   1.099   1.099   0.000     0.000    1.00
    z1          1   2.657   0.673   0.007     1.977    0.25
    """
    y, z, _ = _as_labels(factors, codes, None, n_bins, strategy, factor_bins, nan_policy)
    rng = check_random_state(random_state) if bias_correction == "permutation" else None
    warn_of_few_rows(joint_labels(y), "factors", NUISANCE_AS_FACTORS, z)
    h_codes = np.array([entropy_of(np.bincount(code)) for code in z.T])
    information = h_codes - np.array([[_conditional_entropy(c, own) for c in z.T] for own in y.T])
    factor = information.argmax(axis=0)
    own = np.clip(information.max(axis=0), 0.0, h_codes)
    others = np.array(
        [
            conditional_information(z[:, j], joint_labels(np.delete(y, i, axis=1)), y[:, i], rng)
            for j, i in enumerate(factor)
        ]
    )
    _warn_of_chance(others)
    nuisance = np.maximum(h_codes - own - others, 0.0)
    return CodeLedger(factor, h_codes, own, others, nuisance, names_of(factors, factor_names))


def conditional_information(
    first: Labels, second: Labels, given: Labels, rng: RandomState | None = None
) -> float:
    """I(first; second | given) of labels, in nats; with `rng`, adjusted for chance.

    As for the information matrix, (I - E) / (B - E) B, where E is the mean over shuffles of
    `first` within equal values of `given`, and B the least of the conditional entropies. If E is
    nearly B, the quotient is that of two errors: nan.
    """
    both = joint_labels(np.column_stack([second, given]))
    h_given = entropy_of(np.bincount(given))
    h_first = joint_entropy(first, given) - h_given
    h_second = entropy_of(np.bincount(both)) - h_given
    # H(first, given) + H(second, given) - H(given) is the same for every shuffle.
    fixed = h_first + h_second + h_given
    bound = max(min(h_first, h_second), 0.0)
    value = float(np.clip(fixed - joint_entropy(first, both), 0.0, bound))
    if rng is None or bound == 0:
        return value
    rows = np.argsort(given, kind="stable")
    shuffled, chance = np.empty_like(first), 0.0
    for _ in range(_N_PERMUTATIONS):
        shuffled[rows] = first[np.lexsort((rng.random_sample(len(given)), given))]
        chance += (fixed - joint_entropy(shuffled, both)) / _N_PERMUTATIONS
    if chance > _MOST_CHANCE * bound:
        return np.nan
    return float(np.clip((value - chance) / (bound - chance), 0.0, 1.0) * bound)


def joint_labels(columns: Labels) -> Labels:
    """One label per distinct row; all the same where there are no columns."""
    joint = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        joint = np.unique(joint * (column.max() + 1) + column, return_inverse=True)[1]
    return joint


def joint_entropy(first: Labels, second: Labels) -> float:
    """Entropy of pairs of labels, in nats."""
    n_second = second.max() + 1
    cells = first * n_second + second
    # Counting is faster than sorting as long as the table is not much larger than the data.
    if (first.max() + 1) * n_second <= 4 * len(first) + 1000:
        return entropy_of(np.bincount(cells))
    return entropy_of(np.unique(cells, return_counts=True)[1])


def names_of(factors: ArrayLike, factor_names: Names | None) -> list[str]:
    """Names given, those of a DataFrame, or numbers."""
    n_factors = np.shape(factors)[1]
    columns = getattr(factors, "columns", range(n_factors))
    names = [str(name) for name in (columns if factor_names is None else factor_names)]
    if len(names) != n_factors:
        raise ValueError(f"factor_names must hold {n_factors} names, got {len(names)}.")
    return names


def _conditional_entropy(labels: Labels, given: Labels) -> float:
    return max(joint_entropy(labels, given) - entropy_of(np.bincount(given)), 0.0)


def _as_labels(
    factors: ArrayLike,
    codes: ArrayLike,
    nuisances: ArrayLike | None,
    n_bins: int | None,
    strategy: str,
    factor_bins: int | str | None,
    nan_policy: str,
) -> tuple[Labels, Labels, Labels | None]:
    """Classes of the factors, bins of the codes, one label for all nuisances."""
    given = None
    if nuisances is not None:
        try:
            given = check_factors(nuisances, factor_bins=factor_bins, nan_policy=nan_policy)
        except (TypeError, ValueError) as error:
            raise type(error)(f"nuisances are read as factors are: {error}") from error
        Z = check_codes(codes, nan_policy="omit")
        if given.n_given != len(Z):
            raise ValueError(
                f"nuisances must have a row per sample, {len(Z)}, got {given.n_given}."
            )
        if len(given.rows) < len(Z):
            # Rows without codes are dropped below: so are those without nuisances.
            codes = np.full_like(Z, np.nan)
            codes[given.rows] = Z[given.rows]
    data: Checked = check_data(factors, codes, factor_bins, nan_policy)
    binned = bin_codes(data.codes, n_bins, strategy)
    if given is None:
        return data.factors, binned, None
    kept = np.searchsorted(given.rows, data.rows)
    return data.factors, binned, joint_labels(given.factors[kept])


NUISANCE_AS_FACTORS = (
    "nuisance is counted as information about the other factors, unless codes are functions of the "
    "factors"
)


def warn_of_few_rows(
    joint: Labels, what: str, effect: str, functions: Labels | None = None
) -> None:
    """Warn where a joint table has few rows per combination, and say what that does.

    `functions` are codes with which nothing is wrong if they are functions of the combinations,
    as rows with the same one show, where there are any.
    """
    n_combinations = int(joint.max()) + 1
    if len(joint) < _FEW_ROWS * n_combinations:
        if functions is not None and len(joint) >= 2 * n_combinations:
            every = joint_labels(np.column_stack([joint, functions]))
            if every.max() + 1 == n_combinations:
                return
        warn_degenerate(
            f"{len(joint)} samples have {n_combinations} combinations of {what}, which is less "
            f"than {_FEW_ROWS} samples for each: {effect}. Pass more rows or coarser {what}."
        )


def _warn_of_chance(*matrices: NDArray[np.float64]) -> None:
    n_unknown = sum(int(np.isnan(matrix).sum()) for matrix in matrices)
    if n_unknown:
        warn_degenerate(
            f"{n_unknown} values cannot be told from chance and are nan: shuffled samples have "
            f"more than {_MOST_CHANCE:g} of the information that could be there. Pass more rows, "
            "or fewer bins."
        )
