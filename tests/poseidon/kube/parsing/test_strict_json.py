"""JSON of annotations: read only if it can be written again, and refused with a message otherwise."""

from __future__ import annotations

import pytest

from poseidon.kube.parsing.strict_json import MAX_DEPTH, MAX_DIGITS, MAX_LENGTH, JsonError, compact, loads


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"b": [1, -2.5, true, null], "a": "ä"}', {"b": [1, -2.5, True, None], "a": "ä"}),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
        ("1" * MAX_DIGITS, int("1" * MAX_DIGITS)),
        ('"' + "x" * (MAX_LENGTH - 2) + '"', "x" * (MAX_LENGTH - 2)),
        (r'"\ud83d\ude00"', "😀"),
        ('"[[["', "[[["),
        (r'"\"[[["', '"[[['),
        ("1.5e308", 1.5e308),
        ("-0.5", -0.5),
    ],
)
def test_what_can_be_written_again_is_read(text, value):
    found = loads(text)
    assert value is None or found == value


def test_lists_beside_each_other_are_not_deep():
    assert loads("[" + ",".join(["[{}]"] * 100) + "]") == [[{}]] * 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"' + "x" * (MAX_LENGTH - 1) + '"', "has 1048577 characters; write at most 1048576"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "is nested too deeply; make it flatter"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "is nested too deeply; make it flatter"),
        ("NaN", "is not JSON: NaN is no number there; correct it"),
        ("-Infinity", "is not JSON: -Infinity is no number there; correct it"),
        ("1" * (MAX_DIGITS + 1), "has a number of 401 digits; write a shorter one"),
        ("1e999", "has a number that is too large, 1e999; write a smaller one"),
        ("-1e999", "has a number that is too large, -1e999; write a smaller one"),
        (f"1{'0' * 350}.5", f"has a number that is too large, 1{'0' * 39}; write a smaller one"),
        (r'"\ud800"', "has half a character (a lone surrogate); correct it"),
        ('"\ud800"', "has half a character (a lone surrogate); correct it"),
    ],
)
def test_what_could_not_be_written_again_is_refused(text, said):
    with pytest.raises(JsonError) as caught:
        loads(text)
    assert str(caught.value) == said


def test_what_is_no_json_is_refused_with_its_place():
    with pytest.raises(JsonError, match=r"^is not JSON: .*line 1 column 2 .*; correct it$"):
        loads("{x")


def test_maps_are_built_from_their_entries_where_that_is_wanted():
    assert loads('{"a": 1, "a": 2}', list) == [("a", 1), ("a", 2)]


def test_equal_values_have_equal_texts():
    assert compact({"b": 1, "a": ["ä"]}) == '{"a":["ä"],"b":1}'.encode()
