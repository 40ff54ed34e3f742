"""When the condition of a group is written, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.bridge.groups.group_conditions import (
    GroupConditions,
)
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pod_groups import CompositePodGroup, NativePodGroup
from poseidon.kube.write.patch_writer import GroupConditionWrite
from protos.firmament.v1 import scheduler_pb2 as pb
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
