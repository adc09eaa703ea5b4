"""Tables of mixed columns: a likelihood for each, and missing entries left out of it."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax

from .._arrays import as_numbers, is_tensor
from .._params import PositiveInt, Weight
from ..exceptions import TrainingWarning
from ..networks import make_pair
from ._base import BaseVAE
from ._data import Layout
from ._module import Terms, VAEModule, VAEOutput
from .terms import gaussian_kl

Kind = Literal["gaussian", "bernoulli", "categorical"]

_LEAST_SCALE = 0.01  # of a Gaussian column, in its standard deviations: no density without bound
_FEW = 20  # rows, among which texts may all differ by chance
_HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))


class TableVAE(BaseVAE):
    """VAE of a table whose columns are of several kinds, some entries of which may be missing.

    Every column has a likelihood of its own: Gaussian for numbers, Bernoulli for two values,
    categorical for more. The loss is ``-sum_known E_q log p(x_j|z) + beta KL(q(z|x), N(0, I))``,
    per row in nats; entries that are missing have no term, and the encoder is told which they are.

    Parameters
    ----------
    n_components : int, default=10
        Number of latents.
    beta : float or schedule, default=1.0
        Weight of the KL divergence.
    kinds : dict or None, default=None
        Kind of some columns by name (or number, for arrays): "gaussian", "bernoulli" or
        "categorical". The others, or all if None, are read off the table: numbers are Gaussian,
        two values Bernoulli, strings and categories categorical. Columns of an array are Gaussian.
        Dates are refused: turn them into numbers.
    **kwargs : dict
        All other parameters are those of :class:`VAE`; `likelihood` and `sigma` are not used.

    Attributes
    ----------
    columns_ : list of dict
        Name, kind, categories and scale of every column.

    See Also
    --------
    VAE : Lists all parameters and attributes.
    sklearn.preprocessing.OneHotEncoder : Columns for any other model.

    Notes
    -----
    Gaussian columns are standardized, and each learns its own standard deviation of noise: a
    likelihood is that of the standardized values. Missing is NaN, None or a category that ``fit``
    has not seen. ``inverse_transform`` gives a table of the kind that ``fit`` was given: means of
    numbers, and the most probable of other values. ``reconstruct`` so fills in what is missing.

    References
    ----------
    Nazábal, Olmos, Ghahramani and Valera (2020). Handling incomplete heterogeneous data using VAEs.
    Pattern Recognition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_disent.models import TableVAE
    >>> table = load_iris(as_frame=True).frame.astype({"target": "category"})
    >>> table.iloc[3, 0] = None
    >>> vae = TableVAE(2, max_epochs=2, random_state=0).fit(table)
    >>> [column["kind"] for column in vae.columns_]
    ['gaussian', 'gaussian', 'gaussian', 'gaussian', 'categorical']
    >>> filled = vae.reconstruct(table.iloc[:5])
    >>> filled.shape, bool(filled.isna().any(axis=None))
    ((5, 5), False)
    """

    columns_: list[dict[str, Any]]
    is_frame_: bool
    _is_table = True

    def __init__(
        self,
        n_components: PositiveInt = 10,
        *,
        beta: Weight = 1.0,
        kinds: dict | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(n_components, **kwargs)
        self.beta = beta
        self.kinds = kinds

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "columns_":  # of a fit, or of a saved model
            self.n_features_in_ = len(value)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = False
        return tags

    # -- reading -----------------------------------------------------------------------------

    def _read_X(self, X: Any, *, reset: bool) -> tuple[np.ndarray, Layout]:
        is_frame = hasattr(X, "iloc") and hasattr(X, "columns")
        if not is_frame:
            if is_tensor(X) or isinstance(X, np.ma.MaskedArray):
                X = as_numbers(X, "X")
            X = _numbers_of(X)
        if len(X) < (2 if reset else 1):
            raise ValueError(
                f"Found array with {len(X)} sample(s) while a minimum of {2 if reset else 1} is "
                f"required by {type(self).__name__}. Pass more rows."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            self.columns_ = _read_columns(X, self.kinds or {})
            self.is_frame_ = is_frame
        rows = _encoded(X, self.columns_)
        return rows, Layout((rows.shape[1],), "flat")

    def _choose_likelihood(self, input_shape: tuple[int, ...]) -> str:
        return "mixed"

    def _make_module(self, kwargs: dict[str, Any]) -> nn.Module:
        # Half of the input are the values, the other half tells which of them are known.
        (n_inputs,), size = self.input_shape_, self.n_components
        values = (n_inputs // 2,)
        encoder, decoder = self.encoder, self.decoder
        if encoder is None:
            own_encoder = make_pair(self.architecture, (n_inputs,), size, **kwargs)[0]
        else:
            own_encoder = self._own_part("encoder", (n_inputs,), 2 * size)
        if decoder is None:
            own_decoder = make_pair(self.architecture, values, size, **kwargs)[1]
        else:
            own_decoder = self._own_part("decoder", size, values)
        module = VAEModule(own_encoder, own_decoder)
        module.log_scale = nn.Parameter(torch.zeros(values))
        return module

    # -- the objective -----------------------------------------------------------------------

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor]) -> Terms:
        return {
            "reconstruction": (1.0, self.reconstruction(x, output.decoded).mean()),
            "kl": (self.beta, gaussian_kl(output.mean, output.log_var).sum(1).mean()),
        }

    def reconstruction(self, x: Tensor, decoded: Tensor) -> Tensor:
        """Negative log-likelihood of the known entries of each row.

        Parameters
        ----------
        x : Tensor of shape (n, 2 * n_values)
            Encoded values, then which of them are known.
        decoded : Tensor of shape (n, n_values)
            Means and logits.

        Returns
        -------
        nll : Tensor of shape (n,)
            In nats.
        """
        values, known = x.chunk(2, dim=1)
        places = _places(self.columns_)
        log_scale = self.module_.log_scale.clamp(min=float(np.log(_LEAST_SCALE)))[places.gaussian]
        error = (values - decoded)[:, places.gaussian] / log_scale.exp()
        gaussian = 0.5 * error.square() + log_scale + _HALF_LOG_TAU
        nll = (gaussian * known[:, places.gaussian]).sum(1)
        bernoulli = binary_cross_entropy_with_logits(
            decoded[:, places.bernoulli], values[:, places.bernoulli], reduction="none"
        )
        nll = nll + (bernoulli * known[:, places.bernoulli]).sum(1)
        for block in places.categorical:
            # A missing entry is a row of zeros, which adds nothing.
            nll = nll - (values[:, block] * log_softmax(decoded[:, block], dim=1)).sum(1)
        return nll

    def decoded_mean(self, decoded: Tensor) -> Tensor:
        """Means of numbers, probabilities of other values.

        Parameters
        ----------
        decoded : Tensor of shape (n, n_values)
            Means and logits.

        Returns
        -------
        mean : Tensor of the same shape
        """
        places, mean = _places(self.columns_), decoded.clone()
        mean[:, places.bernoulli] = decoded[:, places.bernoulli].sigmoid()
        for block in places.categorical:
            mean[:, block] = decoded[:, block].softmax(dim=1)
        return mean

    # -- back to tables ----------------------------------------------------------------------

    def inverse_transform(self, X: Any) -> Any:
        """Decode codes to rows of the table.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Codes.

        Returns
        -------
        table : DataFrame or ndarray
            A DataFrame with the columns and types of the one that ``fit`` was given, else an array.
        """
        check_is_fitted(self)

        def padded(z: Tensor) -> Tensor:
            mean = self._decode_batch(z)
            return torch.cat([mean, torch.ones_like(mean)], dim=1)

        means = self._decode(X, padded)
        columns = {c["name"]: _decoded(means, c) for c in self.columns_}
        if not self.is_frame_:
            return np.column_stack(list(columns.values()))
        import pandas as pd

        dtypes = {c["name"]: c["dtype"] for c in self.columns_}
        for column in self.columns_:
            if "levels" in column:  # those that no row has are levels as well
                levels = pd.CategoricalDtype(column["levels"], ordered=column["ordered"])
                dtypes[column["name"]] = levels
        return pd.DataFrame(columns).astype(dtypes)


class _Places(NamedTuple):
    """Where the encoded values of each kind are."""

    gaussian: list[int]
    bernoulli: list[int]
    categorical: list[slice]


def _places(columns: list[dict[str, Any]]) -> _Places:
    return _Places(
        [c["start"] for c in columns if c["kind"] == "gaussian"],
        [c["start"] for c in columns if c["kind"] == "bernoulli"],
        [slice(c["start"], c["stop"]) for c in columns if c["kind"] == "categorical"],
    )


def _columns_of(X: Any) -> dict[Any, Any]:
    if hasattr(X, "iloc"):
        return {name: X.iloc[:, j] for j, name in enumerate(X.columns)}
    return dict(enumerate(np.asarray(X).T))


def _numbers_of(X: Any) -> NDArray:
    found = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", input_name="X")
    if found.dtype.kind not in "biuf":  # check_array leaves the texts of other frames as they are
        kind = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
        raise TypeError(
            f"X must hold numbers alone, or be a pandas DataFrame, got a {kind} with other values. "
            "Pass X.to_pandas(), or pandas.DataFrame(X): kinds of columns are read off it."
        )
    return found


def _read_columns(X: Any, kinds: Mapping[Any, str]) -> list[dict[str, Any]]:
    """Kind, scale and categories of every column."""
    given = _columns_of(X)
    unknown = [name for name in kinds if name not in given]
    wrong = {name: kind for name, kind in kinds.items() if kind not in get_args(Kind)}
    if unknown or wrong:
        raise ValueError(
            f"kinds must give one of {list(get_args(Kind))} to columns of X, {list(given)}, got "
            f"{wrong or unknown}."
        )
    columns: list[dict[str, Any]] = []
    start = 0
    for name, values in given.items():
        if kinds.get(name) is None:
            _question(name, values)
        column = _read_column(name, values, kinds.get(name), hasattr(X, "iloc"))
        size = len(column["categories"]) if column["kind"] == "categorical" else 1
        columns.append({**column, "start": start, "stop": start + size})
        start += size
    return columns


def _question(name: Any, values: Any) -> None:
    """Refuse dates, and warn of names: as categories they tell nothing about another table."""
    dtype = str(getattr(values, "dtype", ""))
    if dtype.startswith(("datetime", "timedelta", "period")):
        raise ValueError(
            f"Column {name!r} holds {dtype}. Turn it into numbers, such as the day of the year or "
            "days since the first one, leave it out, or pass kinds={...: 'categorical'} for it."
        )
    is_text = dtype in ("object", "category") or dtype.startswith("str")
    if is_text and len(values) >= _FEW and len(set(_plain(values))) == len(values):
        warnings.warn(
            f"Column {name!r} has another value in every row, as names and identifiers have: a "
            "model cannot learn from it. Leave it out.",
            TrainingWarning,
            stacklevel=7,  # the call of fit
        )


def _read_column(name: Any, values: Any, kind: str | None, is_frame: bool) -> dict[str, Any]:
    dtype = str(getattr(values, "dtype", ""))
    is_number = getattr(values.dtype, "kind", "O") in "iufb" or dtype.lower().startswith(
        ("int", "uint", "float", "boolean")
    )
    known = [value for value, lost in zip(_plain(values), _is_missing(values)) if not lost]
    if not known:
        raise ValueError(f"Column {name!r} has no known entry. Leave it out.")
    categories = sorted(set(known), key=lambda value: (str(type(value)), value))
    levels: dict[str, Any] = {}
    if dtype == "category":
        present = set(known)
        levels = {"levels": _plain(values.cat.categories), "ordered": bool(values.cat.ordered)}
        categories = [c for c in levels["levels"] if c in present]
    if kind is None:
        two = is_frame and len(categories) == 2
        kind = "bernoulli" if two else "gaussian" if is_number else "categorical"
    if kind == "bernoulli" and len(categories) > 2:
        raise ValueError(
            f"Column {name!r} has {len(categories)} values, and 'bernoulli' is for two. Use "
            "'categorical'."
        )
    if kind == "gaussian":
        if not is_number:
            raise ValueError(
                f"Column {name!r} holds {dtype}, and 'gaussian' is for numbers. Use 'categorical'."
            )
        numbers = np.asarray(known, dtype=np.float64)
        if np.isinf(numbers).any():
            raise ValueError(f"Column {name!r} has an infinite value. Drop or replace it.")
        with np.errstate(over="ignore", invalid="ignore"):
            center, spread = float(numbers.mean()), float(numbers.std())
        if not np.isfinite(spread):
            raise ValueError(
                f"Column {name!r} has values up to {np.abs(numbers).max():.3g}, whose squares are "
                "not finite. Change its unit."
            )
        scales = {"center": center, "scale": spread if spread > 0 else 1.0}
        return {"name": name, "kind": kind, "categories": [], "dtype": dtype, **scales}
    return {"name": name, "kind": kind, "categories": categories, "dtype": dtype, **levels}


def _plain(values: Any) -> list[Any]:
    """Entries as Python's own values."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_missing(values: Any) -> NDArray[np.bool_]:
    if hasattr(values, "isna"):
        return np.asarray(values.isna())
    return np.isnan(np.asarray(values, dtype=np.float64))


def _encoded(X: Any, columns: list[dict[str, Any]]) -> NDArray[np.float32]:
    """Rows of values, zeros where missing, and then which of them are known."""
    given = list(_columns_of(X).values())
    width = columns[-1]["stop"]
    rows = np.zeros((len(X), 2 * width), dtype=np.float32)
    for column, values in zip(columns, given):
        known = ~_is_missing(values)
        start, stop = column["start"], column["stop"]
        if column["kind"] == "gaussian":
            numbers = np.zeros(len(X))
            numbers[known] = np.asarray(values[known], dtype=np.float64)
            if np.isinf(numbers).any():
                raise ValueError(
                    f"Column {column['name']!r} has an infinite value. Drop or replace it."
                )
            with np.errstate(over="ignore"):
                standard = (numbers - column["center"]) / column["scale"]
                rows[:, start] = np.where(known, standard, 0.0)
            if np.isinf(rows[:, start]).any():
                raise ValueError(
                    f"Column {column['name']!r} has values too far from those of fit: standardized "
                    "by them, they are infinite. Drop or replace them."
                )
        else:
            number = {value: i for i, value in enumerate(column["categories"])}
            place = np.array([number.get(v, -1) for v in _plain(values)], dtype=np.int64)
            known &= place >= 0
            if column["kind"] == "bernoulli":
                rows[known, start] = place[known]
            else:
                rows[np.flatnonzero(known), start + place[known]] = 1.0
        rows[:, width + start : width + stop] = known[:, None]
    return rows


def _decoded(means: NDArray[np.float32], column: dict[str, Any]) -> Any:
    """One column of the table from its means and probabilities."""
    block = means[:, column["start"] : column["stop"]].astype(np.float64)
    if column["kind"] == "gaussian":
        numbers = block[:, 0] * column["scale"] + column["center"]
        return np.rint(numbers) if column["dtype"].lower().startswith(("int", "uint")) else numbers
    most = (block[:, 0] > 0.5) if column["kind"] == "bernoulli" else block.argmax(axis=1)
    last = len(column["categories"]) - 1
    values = [column["categories"][min(int(i), last)] for i in most]
    return np.asarray(values, dtype=object) if isinstance(values[0], str) else np.asarray(values)
