"""What PodGroups of Kubernetes itself are told of where they stand."""

from __future__ import annotations

import asyncio
import time
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import Condition
from poseidon.kube.api.pod_groups import (
    GroupPolicy,
    NativePodGroupStatus,
    SchedulingConstraints,
    TopologyConstraint,
)
from poseidon.kube.api.resource import Change
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.patch_writer import GroupConditionWrite, GroupConditionWriter
from poseidon.lifecycle.actions import AnnounceGroup
from poseidon.pod_groups.group_names import NATIVE_POD_GROUP
from poseidon.pod_rules.pod_affinity import GROUP_LABEL
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import present
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.kube.scripted_api import json, scripted
from tests.poseidon.pod_groups.objects import native, pod
from tests.support.waiting import until

LACKS = "gang train needs 2 places at once: 0/2 nodes are available: 2 Insufficient cpu."


class Scene(Harness):
    def __init__(self, *conditions):
        super().__init__()
        self.group = replace(native("train", 2), status=NativePodGroupStatus(conditions))
        self.state.gangs.get_handler(NATIVE_POD_GROUP)([Change("g", self.group)])
        self.pods(present(pod("a", native="train")), present(pod("b", native="train")))
        [self.job] = self.view.jobs
        self.state.take_actions()

    def described(self):
        """The job as the solver knows it now."""
        self.sync()
        return self.view.jobs[self.job]

    def classes(self):
        """The classes of the members as the solver knows them now."""
        self.sync()
        return [pb.TaskClass.FromString(self.view.tasks[f"pod-{name}"].task_class) for name in "ab"]

    def told(self, state, message=""):
        """What is written when the solver says where the gang stands: status, reason and message."""
        result = pb.RoundResult(round=1)
        result.gangs.add(job=self.job, state=state, message=message, needed=2)
        self.state.on_round(result)
        return [
            (each.condition.status, each.condition.reason, each.condition.message)
            for each in self.state.take_actions()
            if isinstance(each, GroupConditionWrite)
        ]


def test_a_group_is_told_that_it_waits_and_that_it_is_scheduled():
    scene = Scene()
    assert scene.told(pb.GangState.WAITING, LACKS) == [("False", "Unschedulable", LACKS)]
    assert scene.told(pb.GangState.PLACED) == []
    assert scene.told(pb.GangState.BOUND) == [("True", "Scheduled", "")]
    assert scene.told(pb.GangState.BOUND) == []
    assert scene.told(pb.GangState.PREEMPTED, "members make room") == [
        ("False", "Unschedulable", "members make room")
    ]


def test_counts_alone_are_no_news_and_other_reasons_are():
    scene = Scene()
    scene.told(pb.GangState.WAITING, "0/2 nodes are available: 2 Insufficient cpu.")
    assert scene.told(pb.GangState.WAITING, "0/3 nodes are available: 3 Insufficient cpu.") == []
    other = "0/3 nodes are available: 3 Insufficient memory."
    assert scene.told(pb.GangState.WAITING, other) == [("False", "Unschedulable", other)]
    assert scene.told(pb.GangState.FAILED, "not whole in time") == [
        ("False", "Unschedulable", "not whole in time")
    ]


@pytest.mark.parametrize(("state", "said"), [(pb.GangState.BOUND, "True"), (pb.GangState.WAITING, "False")])
def test_what_an_earlier_bridge_has_written_is_not_written_again(state, said):
    message = "" if said == "True" else "no room"
    scene = Scene(Condition("PodGroupScheduled", said, "x", message, "2026-01-01T00:00:00Z"))
    assert scene.told(state, message) == []


def test_the_time_of_a_status_stays_while_reasons_change():
    scene = Scene(Condition("PodGroupScheduled", "False", "Unschedulable", "no", "2026-01-01T00:00:00Z"))
    result = pb.RoundResult(round=1)
    result.gangs.add(job=scene.job, state=pb.GangState.WAITING, message="still no room", needed=2)
    scene.state.on_round(result)
    [write] = [each for each in scene.state.take_actions() if isinstance(each, GroupConditionWrite)]
    assert write.condition.last_transition_time == "2026-01-01T00:00:00Z"
    assert (write.uid, write.namespace, write.name) == ("g", "default", "train")


async def test_the_condition_is_patched_and_others_are_left_alone():
    async def answer(request):
        return json({})

    async def quiet():
        return None

    async with (
        scripted(answer) as (api, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        writer = GroupConditionWriter(
            lambda: "/apis/scheduling.k8s.io/v1alpha3/podgroups",
            Environment(transport, random=Random(1)),
            quiet,
        )
        condition = Condition(
            "PodGroupScheduled", "False", "Unschedulable", "no room", "2026-01-01T00:00:00Z"
        )
        task = asyncio.create_task(writer.run())
        writer.submit(GroupConditionWrite("g", "ns", "train", condition))
        await until(lambda: len(api.requests) == 1)
        await writer.wait_drained()
        task.cancel()
    [(method, path, headers, body)] = api.requests
    assert (method, path) == (
        "PATCH",
        "/apis/scheduling.k8s.io/v1alpha3/namespaces/ns/podgroups/train/status",
    )
    assert headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert msgspec.json.decode(body) == {
        "metadata": {"uid": "g"},
        "status": {
            "conditions": [
                {
                    "type": "PodGroupScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "no room",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    }


NOT_HONOURED = {
    "text": ({"disruption_mode": "PodGroup"}, "spec.disruptionMode is honoured for gangs alone"),
    "union": ({"disruption_mode": {"all": {}}}, "spec.disruptionMode is honoured for gangs alone"),
}


@pytest.mark.parametrize(("asked", "words"), NOT_HONOURED.values(), ids=NOT_HONOURED)
def test_a_group_says_what_it_asks_for_in_vain(asked, words):
    scene = Scene()
    asked = {**asked, "scheduling_policy": GroupPolicy()}
    given = replace(scene.group, spec=replace(scene.group.spec, **asked))
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    take([Change("g", given)])
    [event] = [each for each in scene.state.take_actions() if isinstance(each, AnnounceGroup)]
    assert (event.group.kind, event.group.name, event.reason) == ("PodGroup", "train", "NotHonoured")
    assert event.message.startswith(words)
    [(status, _, message)] = scene.told(pb.GangState.WAITING, LACKS)
    assert (status, message) == ("False", f"{LACKS} {event.message}")
    assert scene.told(pb.GangState.BOUND) == [("True", "Scheduled", event.message)]
    take([Change("g", replace(given, status=NativePodGroupStatus()))])
    assert not any(isinstance(each, AnnounceGroup) for each in scene.state.take_actions()), "it is said once"


@pytest.mark.parametrize("mode", [None, "", "Pod", "PodGroup", {"single": {}}, {"all": {}}])
def test_what_is_honoured_needs_no_word(mode):
    scene = Scene()
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    take([Change("g", replace(scene.group, spec=replace(scene.group.spec, disruption_mode=mode)))])
    assert scene.state.take_actions() == []
    assert scene.told(pb.GangState.BOUND) == [("True", "Scheduled", "")]


@pytest.mark.parametrize("mode", ["PodGroup", {"all": {}}, "All"])
def test_a_gang_that_is_disrupted_as_a_whole_says_so_to_the_solver(mode):
    scene = Scene()
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    assert not scene.described().disrupted_whole
    take([Change("g", replace(scene.group, spec=replace(scene.group.spec, disruption_mode=mode)))])
    assert scene.described().disrupted_whole


def test_pods_of_a_group_with_a_topology_constraint_have_to_be_together():
    scene = Scene()
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    assert not scene.classes()[0].affinity
    constrained = SchedulingConstraints((TopologyConstraint("rack"),))
    take(
        [
            Change(
                "g", replace(scene.group, spec=replace(scene.group.spec, scheduling_constraints=constrained))
            )
        ]
    )
    classes = scene.classes()
    assert {each.labels[GROUP_LABEL] for each in classes} == {scene.job}
    for each in classes:
        [term] = each.affinity
        assert (term.topology_key, term.selector.labels[0].values) == ("rack", [scene.job])
    take([Change("g", scene.group)])
    assert not scene.classes()[0].affinity


@pytest.mark.parametrize("key", ["", "no key", "a/b/c"])
def test_a_topology_constraint_without_a_label_keeps_its_pods_waiting(key):
    scene = Scene()
    bad = SchedulingConstraints((TopologyConstraint("zone"), TopologyConstraint(key)))
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    take([Change("g", replace(scene.group, spec=replace(scene.group.spec, scheduling_constraints=bad)))])
    [event] = [each for each in scene.state.take_actions() if isinstance(each, AnnounceGroup)]
    assert event.reason == "InvalidGroup"
    assert "spec.schedulingConstraints.topology[1].key: " in event.message
