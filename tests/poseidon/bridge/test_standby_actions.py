"""What a standby keeps of what it would do, for the case that the leader leaves it undone."""

from __future__ import annotations

import pytest

from poseidon.bridge.standby_actions import KEPT_SECONDS, HeldActions
from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import Condition, ObjectRef, PodRef
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.patch_writer import (
    ConfigMapWrite,
    GroupConditionWrite,
    GroupStatusWrite,
    LabelWrite,
    NominatedNodeWrite,
    QueueStatusWrite,
)
from poseidon.kube.write.suspension_writer import SuspensionWrite
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import (
    Action,
    AnnounceGroup,
    AnnouncePreempted,
    AnnounceRefused,
    AnnounceScheduled,
    AnnounceUnschedulable,
    WithdrawEviction,
)


def ref(name):
    return PodRef(f"pod-{name}", "default", name)


def waits(name, message="0/1 nodes are available."):
    return AnnounceUnschedulable(ref(name), message, was_unschedulable=False)


class Standby(HeldActions):
    def __init__(self):
        self.now = 100.0
        super().__init__(lambda: self.now)

    def left(self, *pending):
        """What is to be done if these pods wait."""
        return self.take_actions({f"pod-{name}" for name in pending}.__contains__)


def test_a_pod_that_waits_no_longer_is_not_called_unschedulable():
    standby = Standby()
    standby.add([waits("a"), waits("b")])
    assert standby.left("b") == [waits("b")]


def test_whatever_else_was_to_be_done_is_done_whether_or_not_its_pod_waits():
    standby = Standby()
    kept: list[Action] = [NominatedNodeWrite(ref("a"), "n1"), WithdrawEviction("pod-a")]
    standby.add(kept)
    assert standby.left() == kept


def test_each_is_done_once_and_the_oldest_first():
    standby = Standby()
    standby.add([waits("b"), waits("a")])
    assert standby.left("a", "b") == [waits("b"), waits("a")]
    assert standby.left("a", "b") == []


def test_of_each_kind_the_latest_is_kept_and_comes_when_the_last_was_heard():
    standby = Standby()
    standby.add([waits("a"), NominatedNodeWrite(ref("a"), "n1"), waits("b"), waits("a", "other")])
    assert standby.left("a", "b") == [NominatedNodeWrite(ref("a"), "n1"), waits("b"), waits("a", "other")]


def test_labels_add_up():
    standby = Standby()
    standby.add([LabelWrite(ref("a"), {"x": "1", "y": "1"}), LabelWrite(ref("a"), {"y": None})])
    assert standby.left() == [LabelWrite(ref("a"), {"x": "1", "y": None})]


def test_a_claim_is_given_one_thing():
    standby = Standby()
    give = GiveVolume("pod-1", "shop", "data", "uid-1", "disk", "uid-2", "77")
    standby.add([SelectNode("pod-1", "shop", "data", "uid-1", "n1"), give])
    assert standby.left() == [give]


def test_claims_of_one_name_in_two_namespaces_are_two():
    standby = Standby()
    selected: list[Action] = [
        SelectNode("pod-1", each, "data", f"uid-{each}", "n1") for each in ("shop", "zoo")
    ]
    standby.add(selected)
    assert standby.left() == selected


def test_writes_of_different_kinds_about_one_object_are_all_kept():
    standby = Standby()
    kept: list[Action] = [
        WithdrawEviction("u"),
        GroupStatusWrite("u", "ns", "g", PodGroupStatus()),
        GroupConditionWrite("u", "ns", "g", Condition(type="PodGroupScheduled", status="True")),
        ConfigMapWrite("u", "ns", "g", {}, {}),
        QueueStatusWrite("u", "/apis/q/v1/queues", "ns", "q", {}),
    ]
    standby.add(kept)
    assert standby.left() == kept


def test_what_only_a_leader_decides_is_not_kept():
    standby = Standby()
    standby.add(
        [
            DeviceClaimWrite(ResourceClaim(), None, (ref("a"),), ()),
            SuspensionWrite(
                ObjectRef("batch/v1", "Job", "j", "ns", "j"), "/apis/batch/v1/jobs", ("spec",), 1, False
            ),
        ]
    )
    assert not len(standby)


@pytest.mark.parametrize(
    ("seconds", "kept"), [(KEPT_SECONDS - 1, ["a", "b"]), (KEPT_SECONDS, ["b"]), (2 * KEPT_SECONDS, ["b"])]
)
def test_what_is_old_has_been_done_by_the_leader(seconds, kept):
    standby = Standby()
    standby.add([waits("a")])
    standby.now += seconds
    standby.add([waits("b")])
    assert [each.pod.name for each in standby.left("a", "b")] == kept


def test_events_are_not_kept():
    standby, group = Standby(), ObjectRef("v1", "PodGroup", "g", "default", "g")
    standby.add(
        [
            AnnounceScheduled(ref("a"), "n1"),
            AnnouncePreempted(ref("a"), "gone"),
            AnnounceGroup(group, EventReason.GANG_FAILED, "not whole in time"),
            AnnounceRefused(ref("a"), "OutOfcpu", "no room"),
        ]
    )
    assert not len(standby)


@pytest.mark.parametrize(("seconds", "kept"), [(599.0, True), (600.0, False)])
def test_what_was_last_heard_ten_minutes_ago_is_dropped(seconds, kept):
    standby = Standby()
    standby.add([waits("a")])
    standby.now += seconds
    standby.add([waits("b")])
    assert len(standby) == 1 + kept
