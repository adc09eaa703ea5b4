"""Parameters: what a value may be is said once, by its annotation in the signature.

``n_bins: AtLeastTwo | None = 20`` is an ``int | None`` to type checkers and IDEs; `validated` reads
the same annotation to check the argument. Options are ``Literal``, so they complete in an IDE;
numbers with a range are ``Annotated`` aliases, listed below. A plain ``ArrayLike`` or ``Any`` is
not checked here: functions that take arrays say in their own words what is wrong with them.

This is the only module that imports scikit-learn's private validation.
"""

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, Union, overload

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as AnyInterval

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "averaged",
    "check_init",
    "check_options",
    "constraints_of",
    "fit_context",
    "init_constraints",
    "loads",
    "publish_signatures",
    "readable",
    "validated",
    "with_matrix",
]

P = ParamSpec("P")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)

# -- values that many parameters share -------------------------------------------------------


class Interval(AnyInterval):
    """scikit-learn's interval of numbers without True and False, which count as 1 and 0 there."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool | np.bool_) and super().is_satisfied_by(val)

    def __repr__(self) -> str:
        # Shown by help(), within annotations.
        return str(self)


PositiveInt = Annotated[int, Interval(Integral, 1, None, closed="left")]
NonNegativeInt = Annotated[int, Interval(Integral, 0, None, closed="left")]
AtLeastTwo = Annotated[int, Interval(Integral, 2, None, closed="left")]
PositiveFloat = Annotated[float, Interval(Real, 0, None, closed="neither")]
NonNegativeFloat = Annotated[float, Interval(Real, 0, None, closed="left")]
AtLeastOne = Annotated[float, Interval(Real, 1, None, closed="left")]
OpenShare = Annotated[float, Interval(Real, 0, 1, closed="neither")]
ShareBelowOne = Annotated[float, Interval(Real, 0, 1, closed="left")]
PositiveShare = Annotated[float, Interval(Real, 0, 1, closed="right")]
Share = Annotated[float, Interval(Real, 0, 1, closed="both")]
# Anything with rows that is not a scalar or a string.
Array = Annotated[ArrayLike, "array-like"]
# Widths of layers, the shape of an observation.
Sizes = Annotated[Sequence[int], "array-like"]
RandomStateLike = Annotated[int | RandomState | None, "random_state"]
Verbose = Annotated[int, "verbose"]

# -- parameters of models and networks -------------------------------------------------------

Architecture = Literal[
    "auto",
    "burgess",
    "chen_mlp",
    "locatello",
    "locatello_sbd",
    "mlp",
    "montero_large",
    "montero_small",
]

# -- parameters of metrics -------------------------------------------------------------------

Strategy = Literal["uniform", "quantile"]
BiasCorrection = Literal["none", "miller_madow", "permutation"]
NanPolicy = Literal["raise", "omit"]
Average = Literal["macro"]
FactorBins = AtLeastTwo | Literal["unique"]
Predictor = Annotated[Any, HasMethods(["fit", "predict"])]

# -- parameters of training ------------------------------------------------------------------

# A number, or a schedule: a function of the number of optimizer steps.
Weight = NonNegativeFloat | Callable[[int], float]
# The same for learning rates, which are above zero.
Rate = PositiveFloat | Callable[[int], float]
# How many rows keep their labels: a count, or a share of the rows that have any (1 is one row).
LabelCount = NonNegativeInt | Annotated[float, Interval(RealNotInt, 0, 1, closed="both")]

# -- names, shapes and scales, of Displays above all -----------------------------------------

# Names of factors, codes or scores; a single string is not a list of names.
Names = Annotated[collections.abc.Sequence[str], "array-like"]
# (height, width) or (channels, height, width).
ImageShape = Annotated[collections.abc.Sequence[int], "array-like"]
Scale = Literal["linear", "log", "symlog", "asinh", "logit"]


def validated(func: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function against its annotations whenever it is called.

    Examples
    --------
    >>> from typing import Literal
    >>> from sklearn_disent._params import validated
    >>> @validated
    ... def paint(*, color: Literal["red", "blue"] = "red") -> str:
    ...     return color
    >>> try:
    ...     paint(color="green")
    ... except ValueError as error:
    ...     print(error)
    The 'color' parameter of paint must be a str among {...}. Got 'green' instead.
    """
    signature = inspect.signature(func)

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if not get_config()["skip_parameter_validation"]:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                _refuse_unknown(func, kwargs)
                return func(*args, **kwargs)  # Python's own message says what is missing
            validate_parameter_constraints(constraints_of(func), given, func.__qualname__)
        return func(*args, **kwargs)

    vars(wrapper)["_is_validated"] = True
    return readable(wrapper)


def readable(func: Callable[P, R]) -> Callable[P, R]:
    """Let help() show the parameters of a function without their annotations.

    Written out, `ArrayLike` alone fills five lines. Type checkers read the source, and
    `constraints_of` the function below its wrapper.
    """
    vars(func)["__signature__"] = without_annotations(inspect.signature(func))
    return func


def without_annotations(signature: inspect.Signature) -> inspect.Signature:
    """The same parameters with the same defaults, as short as can be."""
    empty = inspect.Parameter.empty
    plain = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return inspect.Signature(plain)


# -- what a call returns, told by its arguments ----------------------------------------------
#
# Each decorator checks as `validated` does. Its protocol tells type checkers which argument makes
# the result another one: that case has the options of any call, every other has those of the
# function itself. A Bunch is what scikit-learn, which has no types, gives: Any.


class Averaged(Protocol[P]):
    """A metric that gives a float, unless ``average=None`` asks for one value each."""

    __name__: str

    @overload
    def __call__(self, *data: Any, average: None, **options: Any) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> float: ...


class WithMatrix(Protocol[P]):
    """A metric that gives a float, one value each, or either with its matrix."""

    __name__: str

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, *data: Any, return_matrix: Literal[True], **options: Any
    ) -> tuple[Any, NDArray[np.float64]]: ...
    @overload
    def __call__(self, *data: Any, average: None, **options: Any) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> float: ...


class Loader(Protocol[P, T_co]):
    """A data set that is a Bunch, unless ``return_X_y=True`` asks for the arrays alone."""

    __name__: str

    @overload
    def __call__(self, *args: Any, return_X_y: Literal[True], **options: Any) -> T_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def averaged(func: Callable[P, float | NDArray[np.float64]]) -> Averaged[P]:
    """`validated`, for a metric with the parameter `average`."""
    return typing.cast(Averaged[P], validated(func))


def with_matrix(func: Callable[P, Any]) -> WithMatrix[P]:
    """`validated`, for a metric with the parameters `average` and `return_matrix`."""
    return typing.cast(WithMatrix[P], validated(func))


def loads(arrays: type[R]) -> Callable[[Callable[P, Any]], Loader[P, R]]:
    """`validated`, for a data set with the parameter `return_X_y`, which gives these arrays."""

    def decorate(func: Callable[P, Any]) -> Loader[P, R]:
        return typing.cast(Loader[P, R], validated(func))

    return decorate


@functools.cache
def constraints_of(func: Callable[..., Any], *, strict: bool = True) -> dict[str, list[Any]]:
    """scikit-learn's constraints by parameter name, read off the annotations.

    Parameters that are not checked, and those without an annotation, are left out. An annotation
    that cannot be read is an error, unless `strict` is false: then the parameter is not checked.
    """
    func = inspect.unwrap(func)
    constraints = {}
    for name, parameter in inspect.signature(func).parameters.items():
        if parameter.annotation is parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        hint = parameter.annotation
        try:
            if isinstance(hint, str):
                hint = eval(hint, func.__globals__)
            allowed = _allowed(hint)
        except (AttributeError, NameError, SyntaxError, TypeError):
            if strict:
                raise
            continue
        if allowed is not None:
            constraints[name] = allowed
    return constraints


def init_constraints(cls: type) -> dict[str, list[Any]]:
    """Constraints of an estimator's parameters: its own annotations, over what it inherits.

    To be called in ``__init_subclass__``. A ``_parameter_constraints`` that the class writes itself
    has the last word.
    """
    init = vars(cls).get("__init__")
    own = {} if init is None else constraints_of(init, strict=False)
    inherited = getattr(super(cls, cls), "_parameter_constraints", {})
    return {**inherited, **own, **vars(cls).get("_parameter_constraints", {})}


def publish_signatures(cls: Any) -> None:
    """One signature without ``**kwargs``: a class's own parameters, then those of its parent.

    To be called in ``__init_subclass__``, after `init_constraints`, which reads what is left out.
    """
    for method in (vars(cls).get("fit"), vars(cls).get("partial_fit")):
        if inspect.isfunction(method):
            readable(method)
    if "__init__" not in vars(cls):
        return
    own = inspect.signature(cls.__init__).parameters
    inherited = inspect.signature(super(cls, cls).__init__).parameters
    merged = {n: p for n, p in own.items() if p.kind != p.VAR_KEYWORD}
    for name, parameter in inherited.items():
        if name not in merged and parameter.kind != parameter.VAR_KEYWORD:
            merged[name] = parameter.replace(kind=parameter.KEYWORD_ONLY)
    signature = without_annotations(inspect.Signature(list(merged.values())))
    cls.__init__.__signature__ = signature


def check_init(estimator: Any) -> None:
    """Check the parameters of an estimator, as its own ``fit`` would."""
    if not get_config()["skip_parameter_validation"]:
        validate_parameter_constraints(
            estimator._parameter_constraints,
            estimator.get_params(deep=False),
            caller_name=type(estimator).__name__,
        )


def check_options(
    func: Callable[..., Any], options: Mapping[str, Any], *, without: Iterable[str] = ()
) -> None:
    """Refuse options that a function does not have, or values that it does not take.

    `without` names parameters that are not options: they are filled by the caller. Values are
    checked for functions that are `validated`; any other function is asked for its names alone.
    """
    _refuse_unknown(func, options, without=without)
    if getattr(func, "_is_validated", False):
        validate_parameter_constraints(constraints_of(func), dict(options), _name_of(func))


def _name_of(func: Callable[..., Any]) -> str:
    return getattr(func, "__qualname__", type(func).__name__)


def _refuse_unknown(
    func: Callable[..., Any], options: Iterable[str], *, without: Iterable[str] = ()
) -> None:
    parameters = inspect.signature(func).parameters
    if any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        return
    names = [name for name in parameters if name not in {"self", "cls", *without}]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise TypeError(
            f"{_name_of(func)} has no option {', '.join(map(repr, unknown))}. Its options are "
            f"{', '.join(names) or 'none'}."
        )


def _allowed(hint: Any) -> list[Any] | None:
    """Constraints of one annotation; None where anything passes."""
    origin = typing.get_origin(hint)
    if hint is Any:
        return None
    if hint is None or hint is type(None):
        return [None]
    if origin is Annotated:
        return list(hint.__metadata__)
    if origin is Literal:
        return _options(typing.get_args(hint))
    if origin in (Union, types.UnionType):
        return _union(typing.get_args(hint))
    if origin is collections.abc.Callable or hint is collections.abc.Callable:
        return [callable]
    simple = {bool: "boolean", int: Integral, float: Real}
    kind = origin or hint
    if kind in simple:
        return [simple[kind]]
    if isinstance(kind, type):
        return [kind]
    raise TypeError(f"The annotation {hint!r} has no constraint. Add one to _allowed.")


def _union(members: tuple[Any, ...]) -> list[Any] | None:
    # `ArrayLike | None` is one flat union, in which ArrayLike is told by its members.
    if set(typing.get_args(ArrayLike)) <= set(members):
        return None
    constraints: list[Any] = []
    for member in members:
        allowed = _allowed(member)
        if allowed is None:
            return None
        constraints += allowed
    return constraints


def _options(values: tuple[Any, ...]) -> list[Any]:
    words = {value for value in values if isinstance(value, str)}
    numbers = {value for value in values if isinstance(value, (int, np.integer))}
    constraints: list[Any] = [StrOptions(words)] if words else []
    return constraints + ([Options(Integral, numbers)] if numbers else [])
