"""Each operator and function of expressions: its values, its limits, what it refuses, and what work it counts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from firmament.core.rules.devices.cel.evaluation import Expression
from firmament.core.rules.devices.cel.syntax import DEEPEST, LONGEST, LONGEST_CHAIN, parse_expression
from firmament.core.rules.devices.cel.tree import (
    Call,
    Conditional,
    ExpressionError,
    Field,
    Index,
    Literal,
    Logic,
    Name,
    UInt,
)
from firmament.core.rules.devices.cel.values import (
    EvaluationError,
    Optional,
    Quantity,
    compare,
    count_size,
    parse_version,
)
from firmament.core.rules.devices.objects.quantities import LONGEST as LONGEST_QUANTITY
from firmament.core.rules.devices.objects.quantities import format_quantity, parse_quantity, simplify

GI = 2**30
MOST = 2**63 - 1
FIELDS = frozenset({"driver", "attributes"})
DEVICE: dict[str, Any] = {"driver": "d", "attributes": {"a": {"x": 1}}}


def value(text: str) -> Any:
    return Expression(text, FIELDS).evaluate(DEVICE)[0]


def work(text: str) -> int:
    return Expression(text, FIELDS).evaluate(DEVICE)[1]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        # operators
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 / -2", 3),
        ("0 / 5", 0),
        ("7 % -2", 1),
        ("-7 % 2", -1),
        ("7u / 2u", UInt(3)),
        ("7u % 2u", UInt(1)),
        ("3u - 3u", UInt(0)),
        ("6 - 2 - 1", 3),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("2.5 * 2.0", 5.0),
        ("2.5 - 3.0", -0.5),
        ("1.0 / 4.0", 0.25),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0.0", -math.inf),
        ("-(2)", -2),
        ("--2", 2),
        ("!!true", True),
        ("'a' + 'b'", "ab"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + [2]", [1, 2]),
        (f"{MOST} + 0", MOST),
        (f"-{MOST + 1}", -MOST - 1),
        (f"{2**64 - 1}u", UInt(2**64 - 1)),
        ("1 in [2, 1]", True),
        ("3 in [2, 1]", False),
        ("1.5 in {1: 2}", False),
        ("'k' in {'k': 2}", True),
        ("1 < 2.5 && 2.5 > 1u && 1 <= 1u && 1 >= 1.0", True),
        ("1 < 1 || 1 > 1 || 2 <= 1 || 1 >= 2", False),
        ("'a' < 'b' && b'a' < b'b' && false < true", True),
        ("1 == 1 && 1 == 1u && 1.0 == 1", True),
        ("[1, 2] == [1, 2u]", True),
        ("[1, 2] == [1] || [1] == [2]", False),
        ("{'a': 1} == {'a': 1.0}", True),
        ("{'a': 1} == {'b': 1} || {'a': 1} == {'a': 2} || {'a': 1} == {}", False),
        ("null == null", True),
        ("null == 0", False),
        ("1 == 2 ? 'then' : 'other'", "other"),
        ("false ? 1 : false ? 2 : 3", 3),
        ("true || false && false", True),
        # conversions
        ("int('-12')", -12),
        ("int(2.9)", 2),
        ("int(3u)", 3),
        ("uint(3)", UInt(3)),
        ("uint(3u)", UInt(3)),
        ("uint('7')", UInt(7)),
        ("double('2.5')", 2.5),
        ("double(2u)", 2.0),
        ("string(true)", "true"),
        ("string(false)", "false"),
        ("string(2.0)", "2"),
        ("string(2.5)", "2.5"),
        ("string(2u)", "2"),
        ("string('a')", "a"),
        ("string(semver('1.2.3'))", "1.2.3"),
        ("bool('TRUE')", True),
        ("bool('0')", False),
        ("bool('t') && bool('1') && bool(true)", True),
        ("bool('f') || bool('false')", False),
        ("dyn(1)", 1),
        ("[type(1), type(1u), type(1.0), type(''), type(b''), type(true)]",
         ["int", "uint", "double", "string", "bytes", "bool"]),
        ("[type([]), type({}), type(null), type(quantity('1')), type(semver('1.0.0')), type(optional.none())]",
         ["list", "map", "null_type", "quantity", "semver", "optional"]),
        # texts
        ("'abcabc'.indexOf('c')", 2),
        ("'abcabc'.indexOf('c', 3)", 5),
        ("'abcabc'.indexOf('c', 6)", -1),
        ("'abcabc'.lastIndexOf('b')", 4),
        ("'abcabc'.lastIndexOf('b', 3)", 1),
        ("'abcabc'.lastIndexOf('b', 4)", 4),
        ("'abc'.lastIndexOf('x')", -1),
        ("[1, 2, 1].indexOf(1)", 0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[1, 2].indexOf(3)", -1),
        ("[1, 2].lastIndexOf(3)", -1),
        ("'abc'.charAt(0) + 'abc'.charAt(2) + 'abc'.charAt(3)", "ac"),
        ("'abcd'.substring(1)", "bcd"),
        ("'abcd'.substring(1, 3)", "bc"),
        ("'abcd'.substring(2, 2)", ""),
        ("'abcd'.substring(4)", ""),
        ("'a,b,c'.split(',')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'a,b,c'.split(',', 1)", ["a,b,c"]),
        ("'a,b,c'.split(',', 0)", []),
        ("'a,b,c'.split(',', -1)", ["a", "b", "c"]),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("'abc'.split('', 3)", ["a", "b", "c"]),
        ("'abc'.split('', -1)", ["a", "b", "c"]),
        ("'aaa'.replace('a', 'b')", "bbb"),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("'aaa'.replace('a', 'b', 0)", "aaa"),
        ("['a', 'b'].join()", "ab"),
        ("['a', 'b'].join(', ')", "a, b"),
        ("'aÄb'.upperAscii()", "AÄB"),
        ("'AÄB'.lowerAscii()", "aÄb"),
        ("' a b\\n'.trim()", "a b"),
        ("'abc'.contains('bc') && !'abc'.contains('cb')", True),
        ("'abc'.startsWith('ab') && !'abc'.startsWith('bc')", True),
        ("'abc'.endsWith('bc') && !'abc'.endsWith('ab')", True),
        ("'abc'.matches('b') && matches('abc', '^a') && !'abc'.matches('^b')", True),
        ("'abc'.reverse()", "cba"),
        ("[1, 2].reverse()", [2, 1]),
        ("size('abc') + 'ab'.size() + size([1]) + size({'a': 1}) + size(b'ab')", 9),
        # lists
        ("[3, 1, 2].min()", 1),
        ("[1, 3, 2].max()", 3),
        ("['b', 'a'].min()", "a"),
        ("[5].min() + [5].max()", 10),
        ("[1.5, 2.0].sum()", 3.5),
        ("[].sum()", 0),
        ("[7].sum()", 7),
        ("[1, 1, 2].isSorted() && [].isSorted() && [1].isSorted()", True),
        ("[2, 1].isSorted()", False),
        ("[1, 2].includes(2)", True),
        ("[1, 2].includes(3)", False),
        ("2.includes(3)", False),
        ("sets.contains([1, 2], [2, 1, 1]) && sets.contains([1], [])", True),
        ("sets.contains([1], [1, 2])", False),
        ("sets.equivalent([1, 1], [1])", True),
        ("sets.equivalent([1], [1, 2]) || sets.equivalent([1, 2], [1])", False),
        ("sets.intersects([1, 2], [3]) || sets.intersects([], [])", False),
        ("sets.intersects([1, 2], [3, 2])", True),
        # macros
        ("[1, 2].all(x, x > 0) && [].all(x, false)", True),
        ("[1, 2].all(x, x > 1)", False),
        ("[1, 2].exists(x, x > 1)", True),
        ("[].exists(x, true)", False),
        ("[1, 2].exists_one(x, x > 1) && [1, 2].existsOne(x, x == 1)", True),
        ("[1, 2].exists_one(x, x > 0)", False),
        ("[1, 2].exists_one(x, x > 2)", False),
        ("[1, 2, 3].filter(x, x != 2)", [1, 3]),
        ("[1, 2, 3].map(x, x > 1, x * 10)", [20, 30]),
        ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
        ("cel.bind(x, 2, x * x)", 4),
        ("[1, 2].map(x, [x].map(x, x + 1)[0])", [2, 3]),
        ("[1 / 0 == 1, true].exists(x, x)", None),
        ("[0, 1].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)", True),
        # optional values
        ("optional.of(1).value()", 1),
        ("optional.of(0).hasValue()", True),
        ("optional.ofNonZeroValue(0).hasValue()", False),
        ("optional.ofNonZeroValue(2).value()", 2),
        ("optional.none().hasValue()", False),
        ("optional.none().orValue(5)", 5),
        ("optional.of(1).orValue(5)", 1),
        ("optional.none().or(optional.of(2)).value()", 2),
        ("optional.of(1).or(optional.of(2)).value()", 1),
        ("optional.of(2).optMap(x, x + 1).value()", 3),
        ("optional.none().optMap(x, x + 1).hasValue()", False),
        ("{'a': 1}.?a.value()", 1),
        ("{'a': {'b': 1}}.?a.b.value()", 1),
        ("{'a': 1}.?b.c.hasValue()", False),
        ("[7][?0].value()", 7),
        ("[7][?1].hasValue()", False),
        ("has({'a': 1}.a) && !has({'a': 1}.b)", True),
        ("has(optional.of({'a': 1}).a) && !has(optional.none().a)", True),
        ("[7, 8][1u]", 8),
        ("{1: 'x', true: 'y'}[1]", None),
        ("{1: 'x', 'k': 'y'}[1]", "x"),
        # quantities and versions
        ("quantity('2').add(quantity('3')) == quantity('5')", True),
        ("quantity('2').add(3) == quantity('5')", True),
        ("quantity('2').sub(3) == quantity('-1')", True),
        ("quantity('2').sub(quantity('500m')) == quantity('1.5')", True),
        ("quantity('-1').sign()", -1),
        ("quantity('0').sign()", 0),
        ("quantity('1m').sign()", 1),
        ("quantity('2k').asInteger()", 2000),
        ("quantity('2').isInteger() && !quantity('2500m').isInteger()", True),
        (f"quantity('{MOST}').isInteger() && !quantity('{MOST + 1}').isInteger()", True),
        (f"quantity('-{MOST + 1}').isInteger() && !quantity('-{MOST + 2}').isInteger()", True),
        ("quantity('1500m').asApproximateFloat()", 1.5),
        ("quantity('1').compareTo(quantity('2'))", -1),
        ("quantity('2').compareTo(quantity('1'))", 1),
        ("quantity('1').isLessThan(quantity('1')) || quantity('1').isGreaterThan(quantity('1'))", False),
        ("quantity('1').isLessThan(quantity('2')) && quantity('2').isGreaterThan(quantity('1'))", True),
        ("isQuantity('1Ki') && !isQuantity('1K') && !isQuantity('')", True),
        ("[semver('1.2.3').major(), semver('1.2.3').minor(), semver('1.2.3').patch()]", [1, 2, 3]),
        ("semver('1.2.3').compareTo(semver('1.2.3+build'))", 0),
        ("semver('1.2.3') == semver('1.2.3+build')", True),
        ("semver('1.2.3-a').compareTo(semver('1.2.3'))", -1),
        ("semver('2.0.0').compareTo(semver('1.9.9'))", 1),
        ("isSemver('1.2.3') && !isSemver('v1.2.3') && !isSemver('1.2') && !isSemver('01.2.3')", True),
        ("isSemver('v1', true) && isSemver('01.2', true) && !isSemver('1.2.3.4', true)", True),
        ("string(semver('v1.02-a+b', true))", "1.2.0-a+b"),
        ("string(semver('1+b-c', true))", "1.0.0+b-c"),
        ("string(semver('1.0.00', true))", "1.0.0"),
    ],
)  # fmt: skip
def test_values(text: str, result: Any):
    if result is None:
        with pytest.raises(EvaluationError):
            value(text)
        return
    found = value(text)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{MOST} + 1", "a number is too large"),
        (f"-{MOST + 1} - 1", "a number is too large"),
        (f"{MOST} * 2", "a number is too large"),
        (f"{2**64 - 1}u + 1u", "a number is too large"),
        ("1u - 2u", "a number is too large"),
        ("uint(-1)", "a number is too large"),
        (f"int({2**64 - 1}u)", "a number is too large"),
        ("int(1.0e30)", "a number is too large"),
        ("int('much')", "the value is no integer"),
        ("int(1.0 / 0.0)", "the value is no integer"),
        ("int(true)", r"there is no int\(bool\)"),
        ("double('much')", "the value is no number"),
        ("double([1])", r"there is no double\(list\)"),
        ("string([1])", r"there is no string\(list\)"),
        ("bool('yes')", r"there is no bool\(string\)"),
        ("bool(1)", r"there is no bool\(int\)"),
        ("1u % 0u", "divided by 0"),
        ("1 - 1u", r"there is no -\(int, uint\)"),
        ("1.0 % 1.0", r"there is no %\(double, double\)"),
        ("'a' * 'b'", r"there is no \*\(string, string\)"),
        ("!1", r"there is no !\(int\)"),
        ("-'a'", r"there is no -\(string\)"),
        ("-(1u)", r"there is no -\(uint\)"),
        ("true + false", r"there is no \+\(bool, bool\)"),
        ("1 in 2", r"there is no in\(int, int\)"),
        ("[1] < [2]", "list and list cannot be compared"),
        ("quantity('1') < quantity('2')", "quantity and quantity cannot be compared"),
        ("1 ? 2 : 3", "a condition is neither true nor false"),
        ("[1].all(x, x)", "a condition is neither true nor false"),
        ("[1].filter(x, x)", "a condition is neither true nor false"),
        ("1.all(x, true)", "a int has no items"),
        ("1.optMap(x, x)", "optMap is for optional values"),
        ("has('a'.b)", "a string has no fields"),
        ("'a'.b", "a string has nothing called b"),
        ("[1][-1]", "index -1 is outside of the list"),
        ("[1][1]", "index 1 is outside of the list"),
        ("[1]['a']", "a list has nothing called a"),
        ("{'a': 1, 'a': 2}", "a key of a map is given twice"),
        ("{1.5: 1}", "a key of a map is given twice, or cannot be one"),
        ("'abc'.charAt(4)", "a place is outside of the text"),
        ("'abc'.charAt(-1)", "a place is outside of the text"),
        ("'abc'.charAt('a')", "a place is outside of the text"),
        ("'abc'.substring(4)", "a place is outside of the text"),
        ("'abc'.substring(0, 4)", "a place is outside of the text"),
        ("'abc'.substring(2, 1)", "a part of a text ends before it begins"),
        ("'abc'.indexOf('a', 4)", "a place is outside of the text"),
        ("'abc'.indexOf(1)", r"there is no indexOf\(int\)"),
        ("1.indexOf(1)", r"there is no indexOf\(int\)"),
        ("'abc'.lastIndexOf(1)", r"there is no lastIndexOf\(int\)"),
        ("1.lastIndexOf(1)", r"there is no lastIndexOf\(int\)"),
        ("1.substring(1)", r"there is no substring\(int\)"),
        ("1.charAt(1)", r"there is no charAt\(int\)"),
        ("1.split('a')", r"there is no split\(int\)"),
        ("'a'.split('a', 'b')", r"there is no split\(string, string, string\)"),
        ("'a'.replace(1, 'b')", r"there is no replace\(int\)"),
        ("'a'.join()", r"there is no join\(string\)"),
        ("['a'].join(1)", r"there is no join\(int\)"),
        ("[1].join()", r"there is no join\(int\)"),
        ("1.lowerAscii()", r"there is no lowerAscii\(int\)"),
        ("1.trim()", r"there is no trim\(int\)"),
        ("1.contains('a')", r"there is no contains\(int\)"),
        ("'a'.contains(1)", r"there is no contains\(int\)"),
        ("1.startsWith('a')", r"there is no startsWith\(int\)"),
        ("'a'.startsWith(1)", r"there is no startsWith\(int\)"),
        ("1.endsWith('a')", r"there is no endsWith\(int\)"),
        ("'a'.endsWith(1)", r"there is no endsWith\(int\)"),
        ("1.matches('a')", r"there is no matches\(int\)"),
        ("'a'.matches(1)", r"there is no matches\(int\)"),
        ("1.reverse()", r"there is no reverse\(int\)"),
        ("[].min()", "min of an empty list"),
        ("[].max()", "max of an empty list"),
        ("'a'.max()", r"there is no max\(string\)"),
        ("'a'.min()", r"there is no min\(string\)"),
        ("'a'.sum()", r"there is no sum\(string\)"),
        ("['a'].sum()", r"there is no sum\(list\)"),
        ("'a'.isSorted()", r"there is no isSorted\(string\)"),
        ("sets.contains(1, [1])", r"there is no sets.contains\(int\)"),
        ("sets.contains([1], 1)", r"there is no sets.contains\(int\)"),
        ("sets.intersects(1, [1])", r"there is no sets.intersects\(int\)"),
        ("1.hasValue()", r"there is no hasValue\(int\)"),
        ("1.value()", r"there is no value\(int\)"),
        ("1.orValue(1)", r"there is no orValue\(int\)"),
        ("1.or(1)", r"there is no or\(int\)"),
        ("optional.none().or(1)", r"there is no or\(int\)"),
        ("optional.none().value()", "the optional value is none"),
        ("quantity(1)", r"there is no quantity\(int\)"),
        ("isQuantity(1)", r"there is no isQuantity\(int\)"),
        ("semver(1)", r"there is no semver\(int\)"),
        ("isSemver(1)", r"there is no isSemver\(int\)"),
        ("semver('1.0.0', 1)", r"there is no semver\(string, int\)"),
        ("quantity('1').add('a')", r"there is no add\(quantity, string\)"),
        ("quantity('1').sub(1.5)", r"there is no sub\(quantity, double\)"),
        ("1.add(1)", r"there is no add\(int, int\)"),
        ("1.sign()", r"there is no sign\(int\)"),
        ("1.asInteger()", r"there is no asInteger\(int\)"),
        ("1.isInteger()", r"there is no isInteger\(int\)"),
        ("1.asApproximateFloat()", r"there is no asApproximateFloat\(int\)"),
        ("quantity('1500m').asInteger()", "the quantity is no integer"),
        (f"quantity('{MOST + 1}').asInteger()", "a number is too large"),
        ("1.major()", r"there is no major\(int\)"),
        ("1.minor()", r"there is no minor\(int\)"),
        ("1.patch()", r"there is no patch\(int\)"),
        ("1.compareTo(1)", r"there is no compareTo\(int, int\)"),
        ("quantity('1').isLessThan(semver('1.0.0'))", r"there is no isLessThan\(quantity, semver\)"),
        ("semver('1.0.0').isGreaterThan(quantity('1'))", r"there is no isGreaterThan\(semver, quantity\)"),
        ("false || 1 / 0 == 1", "divided by 0"),
        ("true && 1 / 0 == 1", "divided by 0"),
        ("1 / 0 == 1 || 1 + 'a' == 1", "divided by 0"),
        ("size(1, 2)", "size does not take 2 arguments"),
    ],
)  # fmt: skip
def test_refusals(text: str, words: str):
    with pytest.raises(EvaluationError, match=words):
        value(text)


def test_includes_looks_through_so_many_values():
    numbers = [str(number) for number in range(49)]
    assert value(f"[{', '.join(numbers[:48])}].includes(47)") is True
    assert value(f"[{', '.join(numbers[:48])}].includes(48)") is False
    assert value(f"[{', '.join(numbers)}].includes(47)") is True
    with pytest.raises(EvaluationError, match="'includes' looks through 48 values at most"):
        value(f"[{', '.join(numbers)}].includes(48)")


LONG = "x" * 95  # as much as 1 + 9 steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1", 1),
        ("1 + 2", 3),
        (f"'{LONG}' + 'xxxxx'", 3 + 1 + 10),
        ("[1, 2] + [3]", 6 + 1 + 3),
        (f"'{LONG}' == 'a'", 3 + 10),
        ("1 in [1, 2, 3]", 6 + 4),
        ("'a' in {'b': 1}", 5),
        (f"'{LONG}'.reverse()", 2 + 10),
        ("[1, 2].max()", 4 + 3),
        ("[1, 2].sum()", 4 + 3),
        ("sets.contains([1, 2, 3], [4, 5])", 8 + 4 + 3 + 6),
        ("sets.intersects([1, 2, 3], [4, 5])", 8 + 4 + 3 + 6),
        (f"'{LONG}'.indexOf('y')", 3 + 10),
        (f"'{LONG}'.lastIndexOf('y')", 3 + 10),
        (f"'{LONG}'.substring(1)", 3 + 10),
        (f"'{LONG}'.contains('y')", 3 + 10),
        (f"'{LONG}'.trim()", 2 + 10),
        (f"'{LONG}'.lowerAscii()", 2 + 10),
        (f"'{LONG}'.split('y')", 3 + 1 + 95),
        (f"'{LONG}'.replace('x', 'yyy')", 4 + 1 + 95 * 4 // 10),
        (f"['{LONG}', 'a'].join('{LONG}')", 5 + 1 + 10 + 1 + 19),
        (f"string('{LONG}')", 2 + 10),
        ("[1, 2].indexOf(1)", 5 + 3),
        ("[1, 2].lastIndexOf(1)", 5 + 3),
        ("[1, 2].map(x, x)", 4 + 2 + 2),
        ("[1, 2].all(x, true)", 4 + 2 + 2),
        ("cel.bind(x, 1, x)", 3),
        ("true ? 1 : 2 + 2", 3),
        ("true || 1 == 2", 2),
        ("[7][0]", 4),
    ],
)
def test_work(text: str, steps: int):
    assert work(text) == steps


def test_an_evaluation_may_take_all_its_steps_but_no_more():
    expression = Expression("1 + 2", FIELDS)
    assert expression.evaluate(DEVICE, 3) == (3, 3)
    with pytest.raises(EvaluationError, match="it takes too much work"):
        expression.evaluate(DEVICE, 2)
    hidden = Expression("1 + 2 + 3 == 6 || true", FIELDS)
    with pytest.raises(EvaluationError, match="it takes too much work"):
        hidden.evaluate(DEVICE, 4)  # what comes too late decides nothing


# --- reading ---------------------------------------------------------------------------------------------------------


X, Y, Z = Name("x"), Name("y"), Name("z")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x + y * z", Call("+", (X, Call("*", (Y, Z))))),
        ("x < y + z", Call("<", (X, Call("+", (Y, Z))))),
        ("x in y", Call("in", (X, Y))),
        ("x && y || z", Logic("||", (Logic("&&", (X, Y)), Z))),
        ("x || y || z", Logic("||", (X, Y, Z))),
        ("x ? y : z", Conditional(X, Y, Z)),
        ("x.y", Field(X, "y")),
        ("x.?y", Field(X, "y", optional=True)),
        ("x[?y]", Index(X, Y, optional=True)),
        ("x[y].z", Field(Index(X, Y), "z")),
        ("x.y(z)", Call("y", (Z,), X)),
        ("x(y, z,)", Call("x", (Y, Z))),
        (".x", X),
        ("!x", Call("!x", (X,))),
        ("-x", Call("-x", (X,))),
        ("!-x", Call("!x", (Call("-x", (X,)),))),
        ("x // a comment\n + y", Call("+", (X, Y))),
    ],
)
def test_trees(text: str, tree: object):
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("0x1F", 31),
        ("0X1fu", UInt(31)),
        ("12U", UInt(12)),
        ("1.5e3", 1500.0),
        ("1e-2", 0.01),
        (".5", 0.5),
        ("-3", -3),
        ("-2.5", -2.5),
        ("'it\\'s'", "it's"),
        ('"a\\tb\\n"', "a\tb\n"),
        (r"'\x41\u0042\U00000043\104'", "ABCD"),
        (r"r'\n'", r"\n"),
        ("b'a'", b"a"),
        (r"br'\n'", rb"\n"),
        ("'''a'b'''", "a'b"),
        ('"""a\nb"""', "a\nb"),
        ("true", True),
        ("null", None),
    ],
)
def test_literals(text: str, literal: object):
    found = parse_expression(text)
    assert found == Literal(literal)
    assert isinstance(found, Literal)
    assert type(found.value) is type(literal)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x +", "'its end' is not expected there"),
        ("x y", "'y' is not expected there"),
        ("x ? y", "'its end' is not expected there"),
        ("x.1", "'.1' is not expected there"),
        ("(x", "'its end' is not expected there"),
        ("[x y]", "'y' is not expected there"),
        ("{x}", "'}' is not expected there"),
        ("{x: y z}", "'z' is not expected there"),
        ("f(x", "'its end' is not expected there"),
        ("x[y", "'its end' is not expected there"),
        ("x # y", "syntax error at '# y'"),
        (r"'\q'", r"\\q is no escape sequence"),
        (r"'\x4'", "is no character"),
        (r"'\x+4'", "is no character"),
        (r"'\u1_23'", "is no character"),
        (r"'\18'", "is no character"),
        (r"'\12'", "is no character"),
        (r"'\UFFFFFFFF'", "is no character"),
        (f"{MOST + 1}", f"the number {MOST + 1} is too large"),
        (f"-(-{MOST + 1})", f"the number {MOST + 1} is too large"),
        (f"{MOST + 2}", f"the number {MOST + 2} is too large"),
        (f"{2**64}u", f"the number {2**64}u is too large"),
        ("1" * 41, "the number 1+… is too large"),
    ],
)
def test_unreadable(text: str, words: str):
    with pytest.raises(ExpressionError, match=words):
        parse_expression(text)


def test_how_long_and_deep_an_expression_may_be():
    assert parse_expression("x" * LONGEST) == Name("x" * LONGEST)
    with pytest.raises(ExpressionError, match=f"it has {LONGEST + 1} characters; at most {LONGEST} are"):
        parse_expression("x" * (LONGEST + 1))
    assert parse_expression("(" * (DEEPEST - 1) + "x" + ")" * (DEEPEST - 1)) == X
    with pytest.raises(ExpressionError, match="it is nested too deeply"):
        parse_expression("(" * DEEPEST + "x" + ")" * DEEPEST)
    in_a_row = f"it has more than {LONGEST_CHAIN} operators or fields in a row"
    for text in ("x" + " + x" * (LONGEST_CHAIN + 1), "x" + ".x" * (LONGEST_CHAIN + 1), "-" * 152 + "x"):
        with pytest.raises(ExpressionError, match=in_a_row):
            parse_expression(text)
    assert parse_expression("-" * 80 + "1") == Literal(1)
    for signs in (89, 90):
        text = "!" * signs + "x"
        if signs < 90:
            parse_expression(text)
        else:
            with pytest.raises(ExpressionError, match="it is nested too deeply"):
                parse_expression(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1].all(x, y > x)", "there is no variable 'y'"),
        ("[1].all(x, true) && x", "there is no variable 'x'"),
        ("[y].all(x, true)", "there is no variable 'y'"),
        ("cel.bind(x, x, 1)", "there is no variable 'x'"),
        ("sets.nothing([1])", "there is no function sets.nothing"),
        ("sets.contains([x], [1])", "there is no variable 'x'"),
        ("size(x)", "there is no variable 'x'"),
        ("x.size()", "there is no variable 'x'"),
        ("device.driver[x]", "there is no variable 'x'"),
        ("[device.capacity]", "devices have no field 'capacity'"),
        ("has(device.driver, 1)", "there is no function 'has'"),
        ("[1].all(x)", "there is no function 'all'"),
        ("[1].map(x, 1, 2, 3)", "there is no variable 'x'|there is no function 'map'"),
    ],
)
def test_unknown_names(text: str, words: str):
    with pytest.raises(ExpressionError, match=words):
        Expression(text, FIELDS)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("device.attributes['a'][device.driver] == 1", {"a/"}),
        ("device.attributes['a'][device.attributes['b'].key] == 1", {"a/", "b/key"}),
        ("device.attributes['a']", {"a/"}),
        ("[1].all(x, device.attributes['a'].x == x)", {"a/x"}),
        ("device.attributes['a'].x.exists(x, x == device.attributes['b'].y)", {"a/x", "b/y"}),
        ("cel.bind(x, device.attributes['a'], [1].all(x, x == 1))", set()),
        ("cel.bind(x, device.attributes['a'], cel.bind(x, device.driver, x))", set()),
        ("[1].all(device, true)", None),
        ("device == device", None),
        ("device.attributes == {}", None),
        ("device.attributes[1].x == 1", None),
    ],
)
def test_which_attributes_may_be_read(text: str, read: set[str] | None):
    assert Expression(text, FIELDS).attributes == read


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("16Gi", 16 * GI),
        ("1Ki", 1024),
        ("1k", 1000),
        ("1M", 10**6),
        ("1.5", Fraction(3, 2)),
        ("1500m", Fraction(3, 2)),
        ("2000m", 2),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("1e3", 1000),
        ("1E-1", Fraction(1, 10)),
        ("+2", 2),
        ("-2", -2),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        (7, 7),
        (2.5, Fraction(5, 2)),
        (True, None),
        (None, None),
        ("", None),
        ("1K", None),
        ("1 Gi", None),
        ("Gi", None),
        ("1e1234", None),
        ("1" * LONGEST_QUANTITY, int("1" * LONGEST_QUANTITY)),
        ("1" * (LONGEST_QUANTITY + 1), None),
    ],
)
def test_quantities(text: object, amount: object):
    found = parse_quantity(text)
    assert found == amount
    assert type(found) is type(amount)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1536, "1536"),
        (2**20, "1Mi"),
        (3 * GI, "3Gi"),
        (2**40, "1Ti"),
        (2**50, "1Pi"),
        (2**60, "1Ei"),
        (2**70, "1024Ei"),
        (-1024, "-1Ki"),
        (Fraction(3, 2), "1500m"),
        (Fraction(1, 10**6), "1u"),
        (Fraction(1, 10**9), "1n"),
        (Fraction(1, 3 * 10**9), "1n"),
        (Fraction(4, 3 * 10**9), "2n"),
    ],
)
def test_how_quantities_are_written(amount: int | Fraction, text: str):
    assert format_quantity(amount) == text


def test_whole_amounts_are_integers():
    assert type(simplify(Fraction(4, 2))) is int
    assert type(simplify(Fraction(1, 2))) is Fraction
    assert simplify(3) == 3


def test_the_order_of_versions():
    ordered = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-a",
        "1.0.0-a.1",
        "1.0.0-b",
        "1.0.0",
        "1.0.1",
        "1.1.0",
        "2.0.0",
    ]
    found = [parse_version(text) for text in ordered]
    assert all(found)
    assert sorted(found, key=lambda each: each.precedence if each else ()) == found
    assert parse_version("1.0.0-01") is None
    assert parse_version("1.0.0-0") is not None
    assert parse_version("1.0.0-0a") is not None
    assert parse_version("1.0.0-" + "a" * 250) is not None
    assert parse_version("1.0.0-" + "a" * 251) is None
    assert parse_version("1.0") is None


def test_comparison():
    assert [compare(1, 2), compare(2, 2.0), compare(UInt(3), 2)] == [-1, 0, 1]
    assert [compare("a", "b"), compare(True, False), compare(b"a", b"a")] == [-1, 1, 0]
    for one, other in ((1, "a"), (True, 1), (None, None), (Quantity(1), Quantity(2))):
        with pytest.raises(EvaluationError, match="cannot be compared"):
            compare(one, other)


def test_sizes():
    assert [count_size(each) for each in (1, "x" * 9, "x" * 10, b"x" * 25)] == [1, 1, 2, 3]
    assert count_size([1, "x" * 10, []]) == 1 + 1 + 2 + 1
    assert count_size({"a": 1, "b": [1]}) == 1 + 1 + 2
    assert count_size(Optional([1], True)) == 1
