"""What is reported of groups: conditions, ConfigMaps and records, each only when it says something new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from poseidon.bridge.groups.group_reports import (
    COUNTS_SECONDS,
    GroupConditions,
    TopologyNotes,
    TopologyRecords,
)
from poseidon.custom_records import CustomRecords
from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.json_text import Reading
from poseidon.group_trees.status.group_status import Outlook
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.pod_groups import CompositePodGroup, NativePodGroup
from poseidon.kube.write.patch_writer import ConfigMapWrite, GroupConditionWrite
from poseidon.lifecycle.actions import Action, AnnounceGroup
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.group_trees.objects import group_map
from tests.poseidon.pod_groups.objects import pod_group
from tests.poseidon.pod_groups.test_composites import composite, leaf

NAMES = {NativePodGroup: "PodGroupScheduled", CompositePodGroup: "CompositePodGroupInitiallyScheduled"}


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def group(kind: Any = NativePodGroup, conditions: Any = (), namespace: str = "ns", **spec: Any) -> Any:
    metadata = {"name": "g", "namespace": namespace}
    return convert_object(
        {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions)}}, kind
    )


def said(write: GroupConditionWrite | None) -> tuple[str, str, str] | None:
    return (
        (write.condition.status, write.condition.reason, write.condition.message)
        if write is not None
        else None
    )


@pytest.mark.parametrize("kind", [NativePodGroup, CompositePodGroup])
def test_a_group_that_waits_says_why_and_one_that_is_bound_that_it_is(kind):
    conditions = GroupConditions(Clock())
    write = conditions.consider("u", group(kind), pb.GangState.WAITING, "no room")
    assert write is not None
    assert (write.uid, write.namespace, write.name) == ("u", "ns", "g")
    assert write.composite is (kind is CompositePodGroup)
    assert write.condition.type == NAMES[kind]
    assert write.condition.last_transition_time == "2001-09-09T01:46:40Z"
    assert said(write) == ("False", "Unschedulable", "no room")
    assert said(conditions.consider("u", group(kind), pb.GangState.BOUND, "all are")) == (
        "True",
        "Scheduled",
        "",
    )
    assert conditions.consider("u", group(kind), pb.GangState.BOUND, "") is None


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (pb.GangState.WAITING, "False"),
        (pb.GangState.FAILED, "False"),
        (pb.GangState.PREEMPTED, "False"),
        (pb.GangState.BOUND, "True"),
        (pb.GangState.PLACED, None),
        (pb.GangState.PREEMPTING, None),
    ],
)
def test_while_members_are_on_their_way_nothing_is_written(state, status):
    write = GroupConditions(Clock()).consider("u", group(namespace=""), state, "")
    assert (write.condition.status if write is not None else None) == status
    assert write is None or write.namespace == "default"


def test_other_groups_have_no_condition():
    assert GroupConditions(Clock()).consider("u", pod_group("g", 2), pb.GangState.WAITING, "m") is None


def test_counts_alone_are_not_written_and_the_time_is_that_of_the_change():
    clock = Clock()
    conditions = GroupConditions(clock)
    first = "0/4 nodes are available: 4 Insufficient cpu."
    assert conditions.consider("u", group(), pb.GangState.WAITING, first) is not None
    clock.now += 60
    assert conditions.consider("u", group(), pb.GangState.WAITING, first.replace("4", "5")) is None
    write = conditions.consider("u", group(), pb.GangState.WAITING, "another reason")
    assert write is not None
    assert write.condition.last_transition_time == "2001-09-09T01:46:40Z", "it has waited since then"
    write = conditions.consider("u", group(), pb.GangState.BOUND, "")
    assert write is not None
    assert write.condition.last_transition_time == "2001-09-09T01:47:40Z"


def test_what_a_group_says_already_is_not_written_again():
    there = {
        "type": "PodGroupScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastTransitionTime": "2000-01-01T00:00:00Z",
    }
    conditions = GroupConditions(Clock())
    found = group(conditions=[{**there, "type": "Other", "message": "x"}, there])
    assert conditions.consider("u", found, pb.GangState.WAITING, "no room") is None
    assert said(conditions.consider("u", found, pb.GangState.WAITING, "new")) == (
        "False",
        "Unschedulable",
        "new",
    )
    conditions.forget("u")
    assert conditions.consider("u", found, pb.GangState.WAITING, "no room") is None, "it is read anew"
    write = conditions.consider("u", found, pb.GangState.FAILED, "new")
    assert write is not None
    assert write.condition.last_transition_time == "2000-01-01T00:00:00Z"


# --- ConfigMaps ---------------------------------------------------------------------------------------------------


def described(uid: str = "m", **data: str) -> DescribedMap[None]:
    return DescribedMap(group_map(uid=uid, **data), data, Reading(None))


class Notes:
    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.clock = Clock()
        self.notes = TopologyNotes(self.actions, self.clock)

    def describe(
        self, found: DescribedMap[None], **data: str | None
    ) -> tuple[bool, Mapping[str, str | None]]:
        """Whether something is left for later, and what is written."""
        self.actions.clear()
        left = self.notes.write_changes(found, Outlook(dict(data)))
        writes = [each.data for each in self.actions if isinstance(each, ConfigMapWrite)]
        return left, writes[0] if writes else {}

    def events(self) -> list[tuple[EventReason, str]]:
        told = [(each.reason, each.message) for each in self.actions if isinstance(each, AnnounceGroup)]
        self.actions.clear()
        return told


def test_only_what_has_changed_is_written():
    scene, found = Notes(), described(status="Waiting", message="old")
    assert dict(scene.notes.read_notes(found))["status"] == "Waiting"
    assert scene.describe(found, status="Waiting", message="old") == (False, {})
    assert scene.describe(found, status="Bound", message=None, rank="[]") == (
        False,
        {"status": "Bound", "message": None, "rank": "[]"},
    )
    assert scene.describe(found, status="Bound", message=None, rank="[]") == (False, {})


def test_figures_are_written_once_a_minute():
    scene, found = Notes(), described(status="Waiting", message="1 of 4")
    assert scene.describe(found, status="Waiting", message="2 of 4") == (True, {})
    scene.clock.now += COUNTS_SECONDS - 1
    assert scene.describe(found, status="Waiting", message="3 of 4", rank="r") == (True, {"rank": "r"})
    scene.clock.now += 1
    assert scene.describe(found, status="Waiting", message="3 of 4") == (False, {"message": "3 of 4"})
    assert scene.describe(found, status="Waiting", message="4 of 4") == (True, {}), "the minute begins anew"
    assert scene.describe(found, status="Ready", message="4 of 4") == (
        False,
        {"status": "Ready", "message": "4 of 4"},
    )
    assert scene.describe(found, status="Ready", message="no room") == (False, {"message": "no room"})
    scene.notes.forget("m")
    assert scene.describe(found, status="Waiting", message="1 of 4") == (False, {}), "it is read anew"


def test_a_fault_is_told_once_while_it_lasts():
    scene, found = Notes(), described()
    for text in ("odd", "odd", "", "odd", "worse"):
        scene.notes.warn_once(found, text, EventReason.INVALID_SPEC)
    assert [text for _, text in scene.events()] == ["odd", "odd", "worse"]
    scene.notes.warn_once(described("other", message="odd"), "odd", EventReason.INVALID_SPEC)
    assert scene.events() == [], "an earlier process has told it"


@pytest.mark.parametrize("warns", [False, True])
def test_a_map_that_describes_no_group_says_so(warns):
    scene, found = Notes(), described()
    scene.notes.note(found, "not used", EventReason.INVALID_SPEC, warns=warns)
    [write] = [each for each in scene.actions if isinstance(each, ConfigMapWrite)]
    assert write.data == {"message": "not used"}
    assert scene.events() == ([(EventReason.INVALID_SPEC, "not used")] if warns else [])
    scene.notes.note(found, "", EventReason.INVALID_SPEC, warns=warns)
    [write] = [each for each in scene.actions if isinstance(each, ConfigMapWrite)]
    assert write.data == {"message": None}


# --- records ------------------------------------------------------------------------------------------------------


class Spec:
    """A tree or group, whose payload is a word."""

    def __init__(self, word: bytes) -> None:
        self.word = word

    def payload(self, namespace: str = "") -> bytes:
        return self.word + namespace.encode()


@pytest.mark.parametrize("wanted", [True, False])
def test_records_are_kept_if_a_model_reads_them(wanted):
    records = CustomRecords()
    kept: Any = TopologyRecords(records, wanted=wanted)

    def told() -> list[bytes]:
        return [each.record.payload for each in records.take_events()]

    tree, rules = Spec(b"tree"), Spec(b"rules")
    kept.tree(tree)
    kept.group("j", "ns", rules)
    kept.group("k", "ns", None)
    assert kept.jobs() == (["j"] if wanted else [])
    assert sorted(told()) == ([b"rulesns", b"tree"] if wanted else [])
    kept.tree(tree)
    kept.group("j", "other", rules)
    assert told() == [], "these are known"
    kept.tree(None)
    kept.group("j", "ns", None)
    assert kept.jobs() == []
    assert len(told()) == 2 * wanted


def test_a_group_that_is_gone_and_comes_again_is_told_anew():
    conditions = GroupConditions(Clock())
    assert conditions.consider("u", group(), pb.GangState.WAITING, "no room")
    assert conditions.consider("u", group(), pb.GangState.WAITING, "no room") is None
    conditions.forget("u")
    conditions.forget("unknown")
    assert conditions.consider("u", group(), pb.GangState.WAITING, "no room")


@pytest.mark.parametrize(("namespace", "written"), [("", "default"), ("ns", "ns")])
def test_a_group_without_a_namespace_is_in_the_default_one(namespace, written):
    write = GroupConditions(Clock()).consider(
        "u", group(namespace=namespace), pb.GangState.WAITING, "no room"
    )
    assert write is not None
    assert write.namespace == written


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (pb.GangState.WAITING, "no room metadata.annotations[sakkara.group.constraints] is honoured"),
        (pb.GangState.BOUND, "metadata.annotations[sakkara.group.constraints] is honoured"),
    ],
)
def test_the_condition_of_a_group_names_the_settings_that_have_no_effect(state, text):
    found = leaf("g", rules='{"rack": {}}')
    write = GroupConditions(Clock()).consider("u", found, state, "no room")
    assert write is not None
    assert write.condition.message.startswith(text)
    inner = composite("g", rules='{"rack": {}}')
    write = GroupConditions(Clock()).consider("u", inner, pb.GangState.WAITING, "no room")
    assert write is not None
    assert write.condition.message == "no room", "there they count"
