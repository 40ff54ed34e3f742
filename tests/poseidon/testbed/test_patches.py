from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.patches import json_patch, merge_patch, strategic_merge_patch

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("ab", max_size=2), VALUES, max_size=4)


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        # Appendix A of RFC 7386.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target, patch, expected) -> None:
    before = copy.deepcopy(target)
    assert merge_patch(target, patch) == expected
    assert target == before


@given(OBJECTS, OBJECTS)
def test_merge_patches_are_idempotent_and_leave_their_input(target, patch) -> None:
    before = copy.deepcopy(target)
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert target == before


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": {"b/c": 1}}, {"op": "remove", "path": "/a/b~1c"}, {"a": {}}),
        ({"a": {"b~c": 1}}, {"op": "replace", "path": "/a/b~0c", "value": 2}, {"a": {"b~c": 2}}),
        ({"a": [1, 2, 3]}, {"op": "replace", "path": "/a/1", "value": 9}, {"a": [1, 9, 3]}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, {"b": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {}}, {}),
    ],
)
def test_json_patch(document, operation, expected) -> None:
    before = copy.deepcopy(document)
    assert json_patch(document, [operation]) == expected
    assert document == before


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ({}, 400),
        ([{"op": "add"}], 400),
        ([{"op": "add", "path": "/a"}], 400),
        ([{"op": "fly", "path": "/a"}], 400),
        ([{"op": "remove", "path": "a"}], 400),
        ([{"op": "remove", "path": "/missing"}], 422),
        ([{"op": "replace", "path": "/missing", "value": 1}], 422),
        ([{"op": "test", "path": "/a", "value": 2}], 422),
        ([{"op": "add", "path": "/list/7", "value": 2}], 422),
        ([{"op": "remove", "path": ""}], 422),
    ],
)
def test_bad_json_patches_are_refused(operations, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        json_patch({"a": 1, "list": []}, operations)
    assert caught.value.code == code


def test_conditions_merge_by_type() -> None:
    target = {
        "conditions": [{"type": "A", "status": "True", "message": "m"}, {"type": "B", "status": "True"}]
    }
    patch = {"conditions": [{"type": "A", "status": "False"}, {"type": "C", "status": "True"}]}
    assert strategic_merge_patch(target, patch) == {
        "conditions": [
            {"type": "A", "status": "False", "message": "m"},
            {"type": "B", "status": "True"},
            {"type": "C", "status": "True"},
        ]
    }


def test_elements_are_deleted_and_ordered_by_directive() -> None:
    target = {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]}
    patch = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [
            {"name": "c"},
            {"name": "a", "env": [{"name": "X", "$patch": "delete"}, {"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
        ],
    }
    assert strategic_merge_patch(target, patch) == {
        "containers": [{"name": "c"}, {"name": "a", "env": [{"name": "Y", "value": "2"}]}]
    }


def test_atomic_lists_are_replaced() -> None:
    # Taints and tolerations have no merge key in core/v1: kubectl sends them whole.
    target = {"taints": [{"key": "a"}, {"key": "b"}], "args": ["x", "y"]}
    patch = {"taints": [{"key": "b"}], "args": ["z"]}
    assert strategic_merge_patch(target, patch) == patch


def test_other_directives() -> None:
    assert strategic_merge_patch({"a": {"x": 1}}, {"a": {"$patch": "replace", "y": 2}}) == {"a": {"y": 2}}
    assert strategic_merge_patch({"a": {"x": 1}}, {"a": {"$patch": "delete"}}) == {"a": {}}
    retained = {"a": {"$retainKeys": ["y"], "y": 2}}
    assert strategic_merge_patch({"a": {"x": 1}}, retained) == {"a": {"y": 2}}
    finalizers = {"finalizers": ["a", "b"]}
    assert strategic_merge_patch(finalizers, {"finalizers": ["c"]}) == {"finalizers": ["a", "b", "c"]}
    removal = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert strategic_merge_patch(finalizers, removal) == {"finalizers": ["b"]}
    with pytest.raises(ApiError):
        strategic_merge_patch({}, {"$patch": "explode"})
