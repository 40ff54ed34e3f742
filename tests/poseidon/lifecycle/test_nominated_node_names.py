"""The room that is kept for nominated pods: records for the solver."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.nominated_node_names import (
    FOREIGN_NOMINATION_RECORD,
    NOMINATION_RECORD,
    Nominations,
    make_foreign_nomination,
    reservation_record,
)
from poseidon.lifecycle.phases import PodRecord
from poseidon.pods.priority_classes import PriorityResolver
from poseidon.pods.tasks import Task
from tests.poseidon.bridge.objects import pod, present
from tests.poseidon.bridge.test_state import Harness

NONE: Any = None


class Scene:
    def __init__(self) -> None:
        self.records = CustomRecords()
        self.nominations = Nominations(self.records, [])

    def told(self) -> list[tuple[str, str, bytes | None]]:
        return [
            (event.record.key.kind, event.record.key.name, event.record.payload)
            if event.HasField("record")
            else (event.record_removed.kind, event.record_removed.name, None)
            for event in self.records.take_events()
        ]


def record(uid: str, node: str) -> PodRecord:
    return PodRecord(Task(uid, f"ns/{uid}", NONE, "", 0, 0.0), schedulable=True, nominated=node)


def test_our_pods_are_told_until_they_are_bound_or_have_no_place():
    scene = Scene()
    scene.nominations.put(record("u", "n1"))
    assert scene.told() == [(NOMINATION_RECORD, "u", b"n1")]
    scene.nominations.put(record("u", "n2"))
    assert scene.told() == [(NOMINATION_RECORD, "u", b"n2")]
    assert scene.nominations.nominated == {"u"}
    scene.nominations.end("other")
    assert scene.told() == []
    scene.nominations.end("u")
    assert scene.told() == [(NOMINATION_RECORD, "u", None)]
    assert scene.nominations.nominated == set()


def test_pods_of_others_are_told_while_they_are_nominated():
    scene = Scene()
    scene.nominations.foreign("u", b"x")
    assert scene.told() == [(FOREIGN_NOMINATION_RECORD, "u", b"x")]
    scene.nominations.foreign("u", None)
    assert scene.told() == [(FOREIGN_NOMINATION_RECORD, "u", None)]


def of_class(name: str) -> Pod:
    found = pod("p", nominated="n1")
    return replace(found, spec=replace(found.spec, priority=None, priority_class_name=name))


@pytest.mark.parametrize(
    ("found", "priority"),
    [
        (pod("p", nominated="n1", priority=7), 7),
        (of_class("high"), 50),
        (of_class("lost"), 0),
        (pod("p"), None),
        (pod("p", nominated="n1", node="n1"), None),
        (pod("p", nominated="n1", phase="Failed"), None),
        (pod("p", nominated="n1", deleting=True), None),
    ],
)
def test_what_others_keep_room_for(found, priority):
    priorities = PriorityResolver([PriorityClass(metadata=ObjectMeta(name="high", uid="c"), value=50)])
    payload = make_foreign_nomination(found, priorities)
    assert (json.loads(payload)["priority"] if payload is not None else None) == priority
    if payload is not None:
        assert payload == reservation_record(found, "n1", priority)


def test_room_is_kept_for_all_that_a_pod_requests():
    assert json.loads(reservation_record(pod("p", cpu="1500m"), "n1", 3)) == {
        "machine": "n1",
        "priority": 3,
        "requests": {"cpu": 1500, "pods": 1},
    }


def test_no_room_is_kept_for_a_pod_that_turns_out_to_have_no_place():
    harness = Harness()
    harness.pods(present(replace(pod("a"), status=replace(pod("a").status, nominated_node_name="n1"))))
    nominations = harness.state.pending_bindings.nominations
    assert nominations.nominated == {"pod-a"}
    harness.unscheduled("0/2 nodes are available: 2 Insufficient cpu.", "pod-a")
    assert nominations.nominated == set()
