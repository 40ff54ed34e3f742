"""Arguments of models: what each reader accepts, its bounds and default, and the words of its refusal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from cost_models.arguments import Arguments, is_number, unknown_argument
from cost_models.interface import ModelArgumentError

Reader = Callable[[Arguments], Any]
ABSENT = object()


def read(reader: Reader, value: object) -> Any:
    return reader(Arguments("m", {} if value is ABSENT else {"x": value}))


NUMBER: Reader = lambda it: it.number("x", 2.0, least=1.0, most=5.0)  # noqa: E731
WHOLE: Reader = lambda it: it.whole("x", 2, least=1, most=5)  # noqa: E731
TEXT: Reader = lambda it: it.text("x", "d")  # noqa: E731
TEXTS: Reader = lambda it: it.texts("x", ("d",))  # noqa: E731
FLAG: Reader = lambda it: it.flag("x", default=True)  # noqa: E731
CHOICE: Reader = lambda it: it.choice("x", ("a", "b"))  # noqa: E731
CHOICES: Reader = lambda it: it.choices("x", ("a", "b"))  # noqa: E731
MAPPING: Reader = lambda it: it.mapping("x")  # noqa: E731
ENTRIES: Reader = lambda it: it.entries("x")  # noqa: E731
ANYTHING: Reader = lambda it: it.anything("x")  # noqa: E731


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (NUMBER, ABSENT, 2.0),
        (NUMBER, 1, 1.0),
        (NUMBER, 5.0, 5.0),
        (WHOLE, ABSENT, 2),
        (WHOLE, 1, 1),
        (WHOLE, 5.0, 5),
        (TEXT, ABSENT, "d"),
        (TEXT, "t", "t"),
        (TEXTS, ABSENT, ("d",)),
        (TEXTS, ["a", "b"], ("a", "b")),
        (TEXTS, ("a",), ("a",)),
        (FLAG, ABSENT, True),
        (FLAG, False, False),
        (CHOICE, ABSENT, "a"),
        (CHOICE, "b", "b"),
        (CHOICES, ABSENT, ()),
        (CHOICES, ["b", "a"], ("b", "a")),
        (MAPPING, ABSENT, {}),
        (MAPPING, {"k": 1}, {"k": 1}),
        (ENTRIES, ABSENT, ()),
        (ENTRIES, [{"k": 1}], ({"k": 1},)),
        (ANYTHING, ABSENT, None),
        (ANYTHING, [1], [1]),
    ],
)
def test_values_are_read_or_defaults_taken(reader: Reader, value: object, expected: object):
    found = read(reader, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("reader", "values", "allowed"),
    [
        (NUMBER, [0.9, 5.1, "2", True, None, math.nan, math.inf], "a number, 1 to 5"),
        (lambda it: it.number("x", 2.0), [-1, math.inf], "a number, 0 or more"),
        (WHOLE, [2.5], "a whole number"),
        (WHOLE, [0, 6], "a number, 1 to 5"),
        (TEXT, ["", 5, None], "a non-empty text"),
        (TEXTS, [[], ["a", ""], "a", [1]], "a list of at least one non-empty text"),
        (FLAG, [1, "true", None], "true or false"),
        (CHOICE, ["c", None], "one of a, b"),
        (CHOICES, ["a", ["c"]], "a list of some of a, b"),
        (MAPPING, [[], {1: 2}, "a"], "a map"),
        (ENTRIES, [{}, [1], [{1: 2}]], "a list of maps"),
    ],
)
def test_other_values_are_refused(reader: Reader, values: list[object], allowed: str):
    for value in values:
        with pytest.raises(ModelArgumentError) as refused:
            read(reader, value)
        shown = float(value) if allowed == "a whole number" else value  # type: ignore[arg-type]
        assert str(refused.value) == f"m: x is {shown!r}; it must be {allowed}"


def test_defaults_of_bounds():
    given = Arguments("m", {"x": 10**9, "y": 10**9 + 1, "z": -1})
    assert given.whole("x", 0) == 10**9
    for name in "yz":
        with pytest.raises(ModelArgumentError):
            given.whole(name, 0)


def test_what_was_never_read_is_refused():
    given = Arguments("m", {"weight": 1, "colour": 2})
    given.anything("colour")
    given.anything("weights")
    with pytest.raises(ModelArgumentError) as refused:
        given.finish()
    assert str(refused.value) == (
        "m: unknown argument 'weight'; known: colour, weights; did you mean 'weights'?"
    )
    given.anything("weight")
    given.finish()


def test_arguments_within_arguments_are_named():
    inner = Arguments("m", {"outer": {"x": 7}}).inner("outer")
    with pytest.raises(ModelArgumentError, match="m: outer: x is 7; it must be a non-empty text"):
        inner.text("x", "d")
    assert Arguments("m", {}).inner("outer").text("x", "d") == "d"


def test_unknown_arguments_suggest_a_known_one():
    assert str(unknown_argument("m", "x", [])) == "m: unknown argument 'x'; the model takes none"
    assert str(unknown_argument("m", "x", ["long"])) == "m: unknown argument 'x'; known: long"
    assert str(unknown_argument("m", "MINsize", ["minSize"])).endswith("did you mean 'minSize'?")


def test_truth_values_are_no_numbers():
    assert [is_number(each) for each in (1, 1.5, True, "1", None)] == [True, True, False, False, False]
