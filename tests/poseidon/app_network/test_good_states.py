"""The last good spec of an object: when it stays in force, what is written of it, and which object it belongs to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.app_network.last_good_specs import LAST_GOOD, GoodStates
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import AppGroup
from poseidon.kube.parsing.defects import Defect


def read(spec: Any) -> tuple[str, tuple[Defect, ...]]:
    """Read a spec that is good if it has a name."""
    name = spec.get("name", "") if isinstance(spec, dict) else ""
    return name, () if name else (Defect("spec.name", "is missing"),)


def group(
    name: str = "shop", *, uid: str = "1", namespace: str = "web", last: str = "", **parts: Any
) -> AppGroup:
    annotations = {LAST_GOOD: last} if last else {}
    return AppGroup(ObjectMeta(name=name, namespace=namespace, uid=uid, annotations=annotations), **parts)


@pytest.fixture
def states() -> GoodStates[AppGroup, str]:
    return GoodStates("AppGroup", read)


KEY = ObjectKey("AppGroup", "web", "shop")


def test_a_good_spec_stays_in_force_while_the_present_one_has_defects(states):
    seen = []
    for spec in ({"name": "a"}, {}, {"name": "b"}, None):
        assert states.put(group(spec=spec)) == KEY
        kept = states.get(KEY)
        seen.append((states.get_last_good(KEY), len(kept.defects), kept.annotation(), kept.object.spec))
    assert seen == [
        ("a", 0, None, {"name": "a"}),
        ("a", 1, '{"name":"a"}', {}),
        ("b", 0, None, {"name": "b"}),
        ("b", 1, '{"name":"b"}', None),
    ]


def test_a_spec_that_was_never_good_is_not_in_force(states):
    states.put(group(spec={}))
    assert states.get_last_good(KEY) is None
    assert states.get(KEY).annotation() is None
    assert states.get_last_good(ObjectKey("AppGroup", "web", "other")) is None


@pytest.mark.parametrize(
    ("last", "spec", "in_force"),
    [
        ('{"name":"old"}', {}, "old"),
        ('{"name":"old"}', {"name": "new"}, "new"),
        ('{"nom":"old"}', {}, None),
        ("{", {}, None),
        ("", {}, None),
    ],
)
def test_a_former_process_tells_the_last_good_spec(states, last, spec, in_force):
    states.put(group(last=last, spec=spec))
    assert states.get_last_good(KEY) == in_force


def test_the_annotation_counts_only_when_the_object_is_first_seen(states):
    states.put(group(spec={}))
    states.put(group(spec={}, last='{"name":"old"}'))
    assert states.get_last_good(KEY) is None


def test_another_object_of_the_same_name_begins_anew(states):
    states.put(group(spec={"name": "a"}))
    states.put(group(spec={}, uid="2"))
    assert states.get_last_good(KEY) is None
    assert states.remove("1") is None
    assert states.remove("2") == KEY
    assert [*states] == [*states.list_named("shop")] == []


def test_objects_of_one_name_in_several_namespaces(states):
    states.put(group(spec={"name": "a"}))
    other = states.put(group(spec={"name": "b"}, uid="2", namespace=""))
    assert other == ObjectKey("AppGroup", "default", "shop")
    assert [*states.list_named("shop")] == [KEY, other] == [*states]
    assert states.remove("1") == KEY
    assert states.remove("1") is None
    assert [*states.list_named("shop")] == [other] == [*states]
    assert (states.get(KEY), states.get_last_good(other)) == (None, "b")


@pytest.mark.parametrize(("letters", "written"), [(99_989, True), (99_990, False)])
def test_a_spec_that_is_too_large_for_an_annotation_is_not_written(states, letters, written):
    spec = {"name": "n" * letters}
    assert len(json.dumps(spec, separators=(",", ":"))) == letters + 11
    states.put(group(spec=spec))
    states.put(group(spec={}))
    assert (states.get(KEY).annotation() is not None) is written
    assert states.get_last_good(KEY) == spec["name"]


def test_identity_and_status(states):
    states.put(group(spec={}, status={"a": 1}))
    kept = states.get(KEY)
    assert (kept.uid, kept.status) == ("1", {"a": 1})
    states.put(group(spec={}, status=["a"]))
    assert states.get(KEY).status == {}
