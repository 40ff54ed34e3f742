"""Expressions about devices: values, errors, and the bound on their work."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from firmament.core.rules.devices.allocation.device_selector import FIELDS
from firmament.core.rules.devices.cel.evaluation import Expression
from firmament.core.rules.devices.cel.limits import MOST_WORK
from firmament.core.rules.devices.cel.patterns import Pattern, PatternError
from firmament.core.rules.devices.cel.tree import ExpressionError
from firmament.core.rules.devices.cel.values import (
    DomainMap,
    EvaluationError,
    Quantity,
    are_equal,
    parse_version,
)

DEVICE = {
    "driver": "gpu.example.com",
    "allowMultipleAllocations": False,
    "attributes": DomainMap(
        {
            "d": {
                "size": 4,
                "model": "Big A100",
                "version": parse_version("1.2.3-beta.2"),
                "links": [1, 2, 3],
                "ready": True,
            }
        }
    ),
    "capacity": DomainMap({"d": {"memory": Quantity(2**30)}}),
}


def value(text: str) -> Any:
    return Expression(text, FIELDS).evaluate(DEVICE)[0]


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "gpu.example.com"',
        "!device.allowMultipleAllocations",
        'device.attributes["d"].size > 3 && device.attributes["d"].size in [4, 5]',
        'device.attributes["d"].ready',
        'device.attributes["d"].model.lowerAscii().matches("^.*a100.*$")',
        'device.attributes["d"].model.split(" ").exists(each, each == "Big")',
        'device.attributes["d"].version.isLessThan(semver("1.2.3"))',
        'device.attributes["d"].version.isGreaterThan(semver("v1.2", true)) && semver("1.2.3").major() == 1',
        'device.attributes["d"].links.all(each, each < 4) && device.attributes["d"].links.includes(2)',
        'device.attributes["d"].size.includes(4)',
        'device.capacity["d"].memory.compareTo(quantity("1Gi")) == 0',
        'device.capacity["d"].memory.isGreaterThan(quantity("1G")) && isQuantity("10m") && !isQuantity("much")',
        'quantity("1500m").add(quantity("500m")).asInteger() == 2',
        'cel.bind(own, device.attributes["d"], own.size == 4 && own.ready)',
        'has(device.attributes["d"].size) && !has(device.attributes["d"].nothing)',
        '!has(device.attributes["elsewhere"].size)',
        'device.attributes["d"].?nothing.orValue(7) == 7 && device.attributes["d"][?"size"].hasValue()',
        '"d" in device.attributes && !("elsewhere" in device.attributes)',
        "true ? 1 == 1 : false",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7.0 / 2.0 == 3.5",
        "1u + 2u == 3u && 1 != 1u + 1u && 2 == 2.0 && '1' != 1",
        "[1, 2].map(each, each * 2) == [2, 4] && [1, 2, 3].filter(each, each > 1).size() == 2",
        "{'a': 1}['a'] == 1 && {'a': 1}.a == 1 && {'a': 1}.all(key, key == 'a')",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1]) && sets.intersects([1], [1, 2])",
        "'abc'.substring(1) == 'bc' && 'abc'.indexOf('c') == 2 && 'a-b'.replace('-', '+') == 'a+b'",
        "['a', 'b'].join('/') == 'a/b' && ' x '.trim() == 'x' && [2, 1, 3].max() == 3 && [1, 2].sum() == 3",
        r"'\u0041\x42\103' == 'ABC' && r'\d' == '\\d' && '''a''' == 'a'",
        "int('12') == 12 && string(12) == '12' && double(1) == 1.0 && type(1) == type(2)",
        'device.attributes["d"].nothing || true',
        "[1, 0].exists(each, 2 / each == 2)",
    ],
)
def test_what_is_true(text: str):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('device.attributes["d"].nothing', "no such key: nothing"),
        ("1 / 0 == 1", "divided by 0"),
        ("9223372036854775807 + 1 > 0", "a number is too large"),
        ("1 + 'a' == 2", r"there is no \+\(int, string\)"),
        ("'a' < 1", "string and int cannot be compared"),
        ("1 && true", "neither true nor false"),
        ("quantity('much') == quantity('1')", "'much' is no quantity"),
        ("semver('1') == semver('1')", "'1' is no semantic version"),
        ("[1][5] == 1", "index 5 is outside of the list"),
        ("'a'.matches('(')", "the pattern cannot be used"),
        ("1.size() == 1.0.size()", r"there is no size\(int\)"),
        ("'a'.contains()", "does not take 1 arguments"),
    ],
)
def test_what_has_no_value(text: str, words: str):
    with pytest.raises(EvaluationError, match=words):
        value(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu.driver == 'a'", "there is no variable 'gpu'"),
        ("device.nothing", "devices have no field 'nothing'"),
        ("nothing(1)", "there is no function 'nothing'"),
        ("device.driver.nothing()", "there is no function 'nothing'"),
        ("device.driver ==", "'its end' is not expected there"),
        ("device.driver = 'a'", "syntax error at"),
        ("9" * 5_000 + " > 1", "is too large"),
        ("0x" + "f" * 5_000 + " > 1", "is too large"),
        (r"'\ud800' == 'a'", "is no character"),
        (r"b'\udfff' == b'a'", "is no character"),
        ("a" * 20_000, "at most 10240 are allowed"),
        ("(" * 100 + "1" + ")" * 100, "it is nested too deeply"),
        ("1" + "+1" * 500, "operators or fields in a row"),
        ("[" * 50 + "]" * 50 + "." + "a." * 90 + "b", "it is nested too deeply"),
        ("has(device)", r"has\(\) takes a field"),
        ("while", "'while' is a reserved word"),
    ],
)
def test_what_cannot_be_read(text: str, words: str):
    with pytest.raises(ExpressionError, match=words):
        Expression(text, FIELDS)


TEN = "[" + ", ".join("1" * 10) + "]"


@pytest.mark.parametrize(
    "text",
    [
        f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, {TEN}.all(e, a + b + c + d + e > 0)))))",
        "cel.bind(a, [1, 1], "
        + "".join(f"cel.bind({b}, {a} + {a}, " for a, b in pairwise("abcdefghijklmnopq"))
        + "q == q"
        + ")" * 17,
        "cel.bind(a, 'xxxxxxxx', "
        + "".join(f"cel.bind({b}, {a} + {a} + {a} + {a}, " for a, b in pairwise("abcdefghijkl"))
        + "l == l"
        + ")" * 12,
    ],
)
def test_the_work_is_bounded(text: str):
    with pytest.raises(EvaluationError, match="it takes too much work"):
        value(text)


def test_no_pattern_takes_more_work_than_text_and_pattern_together():
    text = "'" + "a" * 4_000 + "'.matches('(a*)*(a*)*b')"
    found, work = Expression(text, FIELDS).evaluate(DEVICE)
    assert not found
    assert work < MOST_WORK


def test_work_is_counted():
    _, work = Expression("1 + 1 == 2", FIELDS).evaluate(DEVICE)
    assert 1 < work < 20 < MOST_WORK


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ('device.attributes["d"].size > 3', {"d/size"}),
        ('device.attributes["d"]["size"] > 3 && device.attributes["e"].?x.hasValue()', {"d/size", "e/x"}),
        ('cel.bind(own, device.attributes["d"], own.size > 3 && own["a"] == 1)', {"d/size", "d/a"}),
        ('cel.bind(own, device.attributes["d"], "size" in own)', {"d/"}),
        ('device.driver == "a" && device.capacity["d"].memory.sign() > 0', set()),
        ('"d" in device.attributes', None),
        ("device.attributes[device.driver].size > 3", None),
    ],
)
def test_which_attributes_are_read(text: str, attributes: set[str] | None):
    assert Expression(text, FIELDS).attributes == attributes


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("a.c", "xabcx", "ac"),
        ("^a+$", "aaa", "ab"),
        ("^(?:ab|c)*d?$", "abcabd", "abd d"),
        (r"^[a-c\d_]{2,3}$", "a1_", "abcd"),
        (r"\bgpu\b", "a gpu.", "gpus"),
        ("(?i)A100", "the a100", "a10"),
        ("^[^x]*$", "abc", "axc"),
        (r"^\d+\.\d+$", "12.5", "12,5"),
        ("^[[:alpha:]]+$", "abc", "ab1"),
        ("^a{2}$", "aa", "aaa"),
        ("", "anything", None),
    ],
)
def test_patterns(pattern: str, fitting: str, others: str | None):
    assert Pattern(pattern).searches(fitting)
    assert others is None or not Pattern(pattern).searches(others)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[a", "*a", "a{2000}", "(?<=a)b", r"\k", "(a{900}){900}", "(" * 60 + ")" * 60]
)
def test_patterns_that_cannot_be_used(pattern: str):
    with pytest.raises(PatternError):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, "1", False),
        (True, 1, False),
        ([1, 2], [1, 2], True),
        ([1], [1, 2], False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 2}, False),
        ({}, {}, True),
        (Quantity(1000), Quantity(1000), True),
        (Quantity(1000), Quantity(1001), False),
        (Quantity(1), 1, False),
        (parse_version("1.2.3"), parse_version("1.2.3"), True),
        (parse_version("1.2.3"), parse_version("1.2.4"), False),
    ],
)
def test_values_of_different_types_or_contents_differ_whichever_comes_first(
    one: Any, other: Any, equal: bool
):
    assert are_equal(one, other) is equal
    assert are_equal(other, one) is equal
