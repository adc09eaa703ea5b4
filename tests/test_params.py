"""Annotations are the constraints of parameters."""

import functools
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn import config_context

from sklearn_disent._params import (
    Array,
    AtLeastTwo,
    InvalidParameterError,
    Options,
    RandomStateLike,
    StrOptions,
    check_options,
    constraints_of,
    validated,
)

Color = Literal["red", "blue"]


@validated
def paint(
    canvas: ArrayLike,
    colors: Array | None = None,
    *,
    color: Color | None = "red",
    side: Literal[32, 64] = 32,
    n_coats: AtLeastTwo | None = 2,
    dry: bool = True,
    mix: Callable[[int], int] | None = None,
    palette: Mapping[str, int] | None = None,
    anything: Any = None,
    width: float = 1.0,
    count: int = 1,
    random_state: RandomStateLike = None,
) -> str:
    return "painted"


def test_constraints_follow_annotations():
    constraints = constraints_of(paint)
    assert "canvas" not in constraints
    assert "anything" not in constraints
    assert constraints["colors"] == ["array-like", None]
    assert isinstance(constraints["color"][0], StrOptions)
    assert constraints["color"][0].options == {"red", "blue"}
    assert isinstance(constraints["side"][0], Options)
    assert constraints["dry"] == ["boolean"]
    assert constraints["mix"] == [callable, None]
    assert constraints["palette"] == [Mapping, None]
    assert constraints["width"] == [Real]
    assert constraints["count"] == [Integral]
    assert constraints["random_state"] == ["random_state"]


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("color", "green", "str among .* or None. Got 'green'"),
        ("side", 48, "{32, 64}"),
        ("n_coats", 1, "int in the range \\[2, inf\\)"),
        ("dry", 2, "'bool'"),
        ("mix", 3, "callable"),
        ("palette", [1], "Mapping"),
        ("width", "wide", "'float'"),
        ("count", 1.5, "'int'"),
        ("random_state", "seed", "random_state"),
        ("colors", 3, "array-like"),
    ],
)
def test_validated_refuses(name, value, match):
    with pytest.raises(InvalidParameterError, match=match) as caught:
        paint(np.zeros(3), **{name: value})
    assert f"'{name}' parameter of paint" in str(caught.value)


def test_validated_names_the_options_there_are():
    with pytest.raises(TypeError, match=r"paint has no option 'colour'\. Its options are canvas, "):
        paint(np.zeros(3), colour="red")
    with pytest.raises(TypeError, match=r"paint\(\) missing 1 required positional argument"):
        paint(color="red")


def test_validated_lets_good_values_pass():
    assert paint(np.zeros(3), [1], color=None, side=64, n_coats=None, width=2) == "painted"


def test_validated_follows_scikit_learns_switch():
    with config_context(skip_parameter_validation=True):
        assert paint(0, color="green") == "painted"


def test_nested_calls_are_validated_too():
    @validated
    def outer(color: Any) -> str:
        return paint(0, color=color)

    with pytest.raises(InvalidParameterError, match="green"):
        outer("green")


def test_check_options_names_what_there_is():
    with pytest.raises(
        TypeError, match=r"no option 'colour'\. Its options are colors, color, side"
    ):
        check_options(paint, {"colour": "red"}, without=["canvas"])
    with pytest.raises(TypeError, match="no option 'canvas'"):
        check_options(paint, {"canvas": 0}, without=["canvas"])
    with pytest.raises(InvalidParameterError, match="green"):
        check_options(paint, {"color": "green"})
    check_options(paint, {"color": "blue"})


def test_check_options_asks_plain_functions_for_names_only():
    def plain(canvas: "no such type", color: Color = "red") -> None: ...  # noqa: F722

    check_options(plain, {"color": "green"}, without=["canvas"])
    with pytest.raises(TypeError, match=r"plain has no option 'size'\. Its options are color"):
        check_options(plain, {"size": 3}, without=["canvas"])
    with pytest.raises(TypeError, match="partial has no option 'size'"):
        check_options(functools.partial(plain, color="blue"), {"size": 3})


def test_unknown_annotation_is_an_error():
    def odd(value: "np.sin") -> None: ...

    with pytest.raises(TypeError, match="has no constraint"):
        constraints_of(odd)
