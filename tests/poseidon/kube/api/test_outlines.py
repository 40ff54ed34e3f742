"""What nodes are looked at by first tells apart all that is read of them, and nothing else."""

from __future__ import annotations

import msgspec
import pytest

from poseidon.kube.api.metadata import Condition, ObjectMeta
from poseidon.kube.api.nodes import Node, NodeOutline, NodeSpec, NodeStatus, Taint

NOT_READ = {"generate_name", "namespace", "owner_references", "creation_timestamp"}
"""Metadata that nothing reads of nodes."""

NODE = Node(
    ObjectMeta(name="a", uid="u", resource_version="1", labels={"zone": "x"}),
    NodeSpec(),
    NodeStatus(allocatable={"cpu": "4"}, conditions=(Condition("Ready", "True"),)),
)


def mark(node: Node) -> int:
    return msgspec.json.decode(msgspec.json.encode(node), type=NodeOutline).mark


def change(part: str, field: str, value: object) -> Node:
    inner = msgspec.structs.replace(getattr(NODE, part), **{field: value})
    return msgspec.structs.replace(NODE, **{part: inner})


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("metadata", "labels", {"zone": "y"}),
        ("metadata", "annotations", {"zone": "x"}),
        ("metadata", "name", "b"),
        ("metadata", "deletion_timestamp", "2026-01-01T00:00:00Z"),
        ("spec", "unschedulable", True),
        ("spec", "taints", (Taint("key"),)),
        ("status", "capacity", {"cpu": "4"}),
        ("status", "allocatable", {"cpu": "5"}),
        ("status", "allocatable", None),
        ("status", "conditions", (Condition("Ready", "False"),)),
        ("status", "conditions", ()),
        ("status", "declared_features", ("Some",)),
        ("status", "images", ({"names": ("nginx",)},)),
    ],
)
def test_what_is_read_has_another_mark(part, field, value):
    assert mark(change(part, field, value)) != mark(NODE)


def test_reports_that_all_is_as_it_was_have_the_same_mark():
    assert mark(change("metadata", "resource_version", "2")) == mark(NODE)
    later = Condition("Ready", "True", last_transition_time="2026-01-01T00:00:00Z")
    assert mark(change("status", "conditions", (later,))) == mark(NODE)


def test_every_field_that_is_decoded_is_part_of_the_outline():
    outline = {each.name: each.type for each in msgspec.structs.fields(NodeOutline)}

    def names(struct: type) -> set[str]:
        return {each.name for each in msgspec.structs.fields(struct)}

    assert names(ObjectMeta) - names(outline["found"]) == NOT_READ
    assert names(NodeStatus) == names(outline["status"])
    assert outline["spec"] is msgspec.Raw
