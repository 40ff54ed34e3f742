"""JSON that people write by hand: what is taken, and what is said of the rest."""

from __future__ import annotations

import pytest

from poseidon.group_trees.spec.json_text import format_json, names, parse_json
from poseidon.kube.parsing.defects import Defect


@pytest.mark.parametrize(
    ("text", "found", "problem"),
    [
        ('["a", "b"]', ("a", "b"), ""),
        ("[]", (), "is empty; give at least one name"),
        ('["a", "b", "a"]', (), "gives 'a' twice; give each name once"),
        ('["a", ""]', (), '"" is not a name; write names in quotes'),
        ('["a", 7]', (), "7 is not a name; write names in quotes"),
        ('{"a": 1}', (), '{"a": 1} is not what is expected here; write a list, such as [...]'),
    ],
)
def test_names_are_a_list_of_distinct_texts(text, found, problem):
    defects: list[Defect] = []
    assert names(text, "data.x", defects) == found
    assert [str(each) for each in defects] == ([f"data.x: {problem}"] if problem else [])


@pytest.mark.parametrize(
    ("text", "kind", "value", "problem"),
    [
        ('{"a": {"b": 1}, "c": 2}', dict, {"a": {"b": 1}, "c": 2}, ""),
        ("[1]", dict, None, "[1] is not what is expected here; write a map, such as {...}"),
        ('{"a": 1, "b": 2, "b": 3}', dict, None, "'b' is given twice in one map; names are unique there"),
    ],
)
def test_a_map_gives_each_name_once(text, kind, value, problem):
    defects: list[Defect] = []
    assert parse_json(text, "data.x", kind, defects) == value
    assert [problem in str(each) for each in defects] == ([True] if problem else [])


def test_malformed_text_is_said_to_be_so():
    defects: list[Defect] = []
    assert parse_json("{", "data.x", dict, defects) is None
    assert [str(each).startswith("data.x: ") for each in defects] == [True]


def test_long_values_are_shortened():
    assert format_json("a" * 58) == f'"{"a" * 58}"'
    assert format_json("a" * 59) == f'"{"a" * 59}...'
    assert format_json("ä") == '"ä"'
