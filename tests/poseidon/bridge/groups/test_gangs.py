"""Groups in the bridge: who is offered to the solver when, as which job, and what is said of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pod_groups import PodGroupSpec, PodGroupStatus, SigsPodGroup
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindResult
from poseidon.kube.write.patch_writer import GroupConditionWrite, GroupStatusWrite
from poseidon.lifecycle.actions import AnnounceGroup, AnnounceUnschedulable, Bind
from poseidon.pod_groups.group_names import COMPOSITE_POD_GROUP, NATIVE_POD_GROUP, POD_GROUP, SIGS_POD_GROUP
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.pod_groups.objects import native, owner, pod, pod_group
from tests.poseidon.pod_groups.test_composites import composite, leaf

JOB = "PodGroup/default/train"
WEB = "Owner/default/ReplicaSet/web/uid-web"


class Scene(Harness):
    def group(self, members, *, uid="group-train", there=True):
        found = pod_group("train", members, uid=uid) if there else None
        self.state.gangs.get_handler(POD_GROUP)([Change(uid, found)])
        return self.sync()

    def actions(self, kind):
        return [each for each in self.state.take_actions() if isinstance(each, kind)]

    def state_of(self, state, message="", needed=2, running=0):
        result = pb.RoundResult(round=3)
        result.gangs.add(job=JOB, state=state, message=message, needed=needed, running=running)
        self.state.on_round(result)
        return self.state.take_actions()


@pytest.fixture
def scene():
    return Scene()


def test_pods_wait_for_their_group_and_are_offered_when_it_comes(scene):
    scene.pods(present(pod("a", group="train")), present(pod("other")))
    assert set(scene.view.tasks) == {"pod-other"}
    [said] = scene.actions(AnnounceUnschedulable)
    assert said.message == "waits for PodGroup default/train, which does not exist"
    scene.group(2)
    assert scene.view.tasks["pod-a"].job == JOB
    job = scene.view.jobs[JOB]
    assert (job.min_members, job.name, job.namespace) == (2, "default/PodGroup/train", "default")


def test_a_group_that_comes_first_loses_no_time_either(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train", owner="x")))
    assert scene.view.tasks["pod-a"].job == JOB
    assert scene.actions(AnnounceUnschedulable) == []


def test_a_changed_group_is_told_anew(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")))
    scene.group(5)
    assert scene.view.jobs[JOB].min_members == 5
    assert scene.sync() == ([], [])


def test_a_gang_has_been_whole_whatever_becomes_of_those_that_have_succeeded(scene):
    scene.group(2)
    scene.pods(*(present(pod(each, group="train", node="n1")) for each in "ab"))
    scene.state_of(pb.GangState.BOUND, running=2)
    scene.pods(present(pod("a", group="train", node="n1", phase="Succeeded")))
    assert scene.view.jobs[JOB].was_whole
    scene.pods(present(pod("b", group="train", node="n1", priority=1)))
    scene.pods(gone(pod("a")))
    job = scene.view.jobs[JOB]
    assert (job.min_members, job.was_whole) == (2, True)


def test_a_group_that_is_deleted_holds_pending_pods_back_and_leaves_running_ones_alone(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")), present(pod("b", group="train", node="n1")))
    scene.group(2, there=False)
    assert scene.states() == {"pod-b": (BOUND, "n1")}
    assert scene.view.jobs[JOB].min_members == 0
    scene.group(2)
    assert scene.states() == {"pod-a": (PENDING, ""), "pod-b": (BOUND, "n1")}


def test_a_job_ends_with_the_last_pod_of_its_group(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")))
    scene.pods(gone(pod("a")))
    assert scene.view.jobs == {}


def test_a_new_stream_knows_groups_as_they_are(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")))
    scene.group(3)
    scene.new_stream()
    assert scene.view.jobs[JOB].min_members == 3


def test_a_share_waits_for_its_owner_and_shares_its_job(scene):
    scene.pods(present(pod("plain", owner="web")), present(pod("a", share="50", owner="web")))
    assert set(scene.view.tasks) == {"pod-plain"}
    assert "ReplicaSet" in scene.state.gangs.wanted_kinds
    assert "Job" not in scene.state.gangs.wanted_kinds
    scene.state.gangs.get_handler("ReplicaSet")([present(owner("web", replicas=6))])
    scene.sync()
    assert scene.view.tasks["pod-a"].job == scene.view.tasks["pod-plain"].job == WEB
    assert (scene.view.jobs[WEB].min_members, scene.view.jobs[WEB].size) == (3, 6)


def test_a_bad_spec_is_told_on_the_object_and_holds_up_nobody_else(scene):
    scene.group(0)
    scene.pods(present(pod("a", group="train")), present(pod("b", share="101", owner="x")), present(pod("c")))
    assert set(scene.view.tasks) == {"pod-c"}
    actions = scene.state.take_actions()
    [event] = [each for each in actions if isinstance(each, AnnounceGroup)]
    assert (event.group.kind, event.group.name, event.reason) == ("PodGroup", "train", "InvalidGroup")
    assert event.message.startswith("spec.minMember: 0 is out of range")
    said = {each.pod.name: each.message for each in actions if isinstance(each, AnnounceUnschedulable)}
    assert said["a"].startswith("PodGroup default/train: spec.minMember: 0")
    assert said["b"].startswith("annotation firmament-gang-scheduling: '101'")
    scene.group(0)
    assert scene.actions(AnnounceGroup) == []


def test_what_is_told_of_a_group_names_the_object_in_its_own_api_group(scene):
    metadata = ObjectMeta(name="other", namespace="default", uid="group-other")
    scene.state.gangs.get_handler(SIGS_POD_GROUP)(
        [present(SigsPodGroup(metadata, PodGroupSpec(min_member=0)))]
    )
    member = pod("b")
    labels = {"pod-group.scheduling.sigs.k8s.io": "other"}
    scene.group(0)
    scene.pods(
        present(pod("a", group="train")),
        present(replace(member, metadata=replace(member.metadata, labels=labels))),
    )
    told = {
        each.group.name: (each.group.api_version, each.group.kind) for each in scene.actions(AnnounceGroup)
    }
    assert told == {
        "train": ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        "other": ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup"),
    }


def test_what_a_group_waits_for_is_said_once(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")))
    scene.state.take_actions()
    [event] = scene.state_of(pb.GangState.WAITING, "waits for members")
    assert (event.reason, event.message) == ("FailedScheduling", "waits for members")
    assert scene.state_of(pb.GangState.WAITING, "waits for members") == []
    assert scene.state_of(pb.GangState.BOUND) == []
    assert len(scene.state_of(pb.GangState.WAITING, "waits for members")) == 1


def test_a_group_that_no_cluster_like_this_could_hold_is_told(scene):
    scene.group(500)
    scene.pods(present(pod("a", group="train")))
    scene.state.take_actions()
    [event] = scene.state_of(pb.GangState.WAITING, "waits for members: 1 of 500 exist", needed=500)
    assert event.message == (
        "spec.minMember: 500 pods are more than the 220 that all 2 nodes take together; add nodes or lower it"
    )


def test_bindings_of_a_gang_that_was_given_up_are_recalled(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")), present(pod("b", group="train")))
    [a] = [each for each in scene.place("pod-a", "n1") if isinstance(each, Bind)]
    [b] = scene.place("pod-b", "n2")
    scene.outcome(b)
    scene.sync()
    scene.state_of(pb.GangState.FAILED, "not whole in time")
    scene.sync()
    assert scene.states() == {"pod-a": (PENDING, ""), "pod-b": (BOUND, "n2")}
    assert scene.state.refusal(a.pod.uid, a.node) == "it has been given up"
    scene.outcome(a, BindResult.BOUND)
    scene.pods(present(pod("a", group="train", node="n1")))
    assert scene.states()["pod-a"] == (BOUND, "n1")


def test_a_new_solver_is_told_which_gangs_have_been_whole(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train", node="n1")), present(pod("b", group="train", node="n1")))
    scene.state_of(pb.GangState.BOUND, running=2)
    scene.new_stream()
    assert scene.view.jobs[JOB].was_whole
    scene.pods(gone(pod("b", group="train")))
    scene.state_of(pb.GangState.WAITING, "no room", running=1)
    scene.new_stream()
    assert scene.view.jobs[JOB].was_whole
    scene.state_of(pb.GangState.WAITING, "no room")
    scene.new_stream()
    assert not scene.view.jobs[JOB].was_whole


def test_members_of_a_gang_that_was_given_up_are_evicted_with_the_reason(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train", node="n1")))
    scene.state.take_actions()
    result = pb.RoundResult(round=4)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="pod-a", machine="n1")
    result.gangs.add(job=JOB, state=pb.GangState.FAILED, message="not whole in time", needed=2)
    scene.state.on_round(result)
    evict, event = scene.state.take_actions()
    assert evict.message == "Evicted from node n1: not whole in time"
    assert event.reason == "GangFailed"


def test_the_status_follows_the_pods(scene):
    scene.group(1)
    scene.pods(present(pod("a", group="train")))
    assert [each.status.phase for each in scene.actions(GroupStatusWrite)] == ["Scheduling"]
    scene.pods(present(pod("a", group="train", node="n1")))
    assert [each.status.phase for each in scene.actions(GroupStatusWrite)] == ["Scheduled"]
    scene.pods(present(pod("a", group="train", node="n1", phase="Running")))
    assert [each.status.running for each in scene.actions(GroupStatusWrite)] == [1]
    scene.pods(present(pod("a", group="train", node="n1", phase="Running")))
    scene.state.expire()
    assert scene.actions(GroupStatusWrite) == []


def test_a_pod_of_an_unknown_priority_class_waits_for_it(scene):
    made = pod("a")
    nameless = replace(made, spec=replace(made.spec, priority=None, priority_class_name="urgent"))
    scene.pods(present(nameless), present(pod("b")))
    assert set(scene.view.tasks) == {"pod-b"}
    [said] = scene.actions(AnnounceUnschedulable)
    assert said.message.startswith("spec.priorityClassName: no PriorityClass 'urgent' exists; create it")
    scene.state.handlers[kinds.PRIORITY_CLASS](
        [Change("u", PriorityClass(ObjectMeta(name="urgent", uid="u"), 7, preemption_policy="Never"))]
    )
    scene.sync()
    assert scene.view.tasks["pod-a"].priority == 7
    assert pb.TaskClass.FromString(scene.view.tasks["pod-a"].task_class).never_preempts


def test_of_a_gang_without_an_object_settings_without_effect_are_told_on_its_first_pod(scene):
    prefix = "gang.scheduling.koordinator.sh"
    stated = {f"{prefix}/name": "train", f"{prefix}/min-available": "1", f"{prefix}/mode": "Other"}
    for name in ("a", "b"):
        found = pod(name)
        scene.pods(present(replace(found, metadata=replace(found.metadata, annotations=stated))))
    [told] = scene.actions(AnnounceGroup)
    assert (told.group.kind, told.group.uid, told.group.name) == ("Pod", "pod-a", "a")
    assert told.group.namespace == "default"
    assert f"{prefix}/mode" in told.message


@pytest.mark.parametrize(
    ("kind", "needed", "said"),
    [
        (POD_GROUP, 220, "no room"),
        (
            POD_GROUP,
            221,
            (
                "spec.minMember: 221 pods are more than the 220 that all 2 nodes take together; "
                "add nodes or lower it"
            ),
        ),
    ],
)
def test_a_gang_is_too_large_beyond_the_pods_that_all_nodes_take(scene, kind, needed, said):
    scene.group(2)
    scene.pods(present(pod("a", group="train")), present(pod("b", group="train")))
    [event] = [
        each
        for each in scene.state_of(pb.GangState.WAITING, "no room", needed)
        if isinstance(each, AnnounceGroup)
    ]
    assert (event.reason, event.message) == ("FailedScheduling", said)


def test_what_was_said_of_a_group_is_forgotten_with_its_object(scene):
    def announced():
        return [
            each.message
            for each in scene.state_of(pb.GangState.WAITING, "no room")
            if isinstance(each, AnnounceGroup)
        ]

    scene.group(2)
    scene.pods(present(pod("a", group="train")), present(pod("b", group="train")))
    assert announced() == ["no room"]
    assert announced() == []
    scene.state_of(pb.GangState.PLACED)
    assert announced() == ["no room"], "it had found room in between"
    scene.group(2, there=False)
    scene.group(2)
    scene.actions(AnnounceGroup)
    assert announced() == ["no room"], "people look at the new object"


@pytest.mark.parametrize(
    ("state", "running", "whole"),
    [
        (pb.GangState.BOUND, 2, True),
        (pb.GangState.WAITING, 2, True),
        (pb.GangState.WAITING, 0, False),
        (pb.GangState.PREEMPTED, 0, True),
        (pb.GangState.FAILED, 1, False),
    ],
)
def test_a_gang_counts_as_whole_until_it_has_ended(scene, state, running, whole):
    scene.group(2)
    scene.pods(*(present(pod(each, group="train", node="n1")) for each in "ab"))
    scene.state_of(pb.GangState.BOUND, running=2)
    scene.state_of(state, running=running)
    scene.new_stream()
    assert scene.view.jobs[JOB].was_whole is whole


def test_of_a_gang_without_an_object_it_is_told_anew_once_all_its_pods_were_gone(scene):
    prefix = "gang.scheduling.koordinator.sh"
    stated = {f"{prefix}/name": "train", f"{prefix}/min-available": "1", f"{prefix}/mode": "Other"}
    found = pod("a")
    found = replace(found, metadata=replace(found.metadata, annotations=stated))
    for _ in range(2):
        scene.pods(present(found))
        assert len(scene.actions(AnnounceGroup)) == 1
        scene.pods(gone(found))


@pytest.mark.parametrize(("phase", "whole"), [("Running", True), ("Scheduling", False)])
def test_a_restarted_bridge_reads_from_the_objects_which_gangs_were_whole(scene, phase, whole):
    found = pod_group("train", 2, status=PodGroupStatus(phase=phase))
    scene.state.gangs.get_handler(POD_GROUP)([present(found)])
    scene.pods(*(present(pod(each, group="train", node="n1")) for each in "ab"))
    scene.state.gangs.begin()
    scene.new_stream()
    assert scene.view.jobs[JOB].was_whole is whole


def test_members_say_what_they_wait_for_once_their_object_is_gone(scene):
    scene.group(2)
    scene.pods(present(pod("a", group="train")))
    scene.state.take_actions()
    scene.group(2, there=False)
    [said] = scene.actions(AnnounceUnschedulable)
    assert said.message == "waits for PodGroup default/train, which does not exist"


def test_counts_of_a_group_are_written_late_and_not_after_its_end(scene):
    scene.group(1)
    scene.pods(present(pod("a", group="train", node="n1", phase="Running")))
    scene.state.take_actions()
    scene.pods(present(pod("b", group="train", node="n1", phase="Running")))
    assert scene.actions(GroupStatusWrite) == []
    scene.state.expire()
    assert [each.status.running for each in scene.actions(GroupStatusWrite)] == [2]
    scene.pods(gone(pod("b", group="train")))
    scene.group(1, there=False)
    scene.state.expire()
    assert scene.actions(GroupStatusWrite) == []


def test_nothing_is_said_of_the_groups_of_shares(scene):
    scene.state.gangs.get_handler("ReplicaSet")([present(owner("web", replicas=6))])
    scene.pods(present(pod("a", share="50", owner="web")))
    scene.state.take_actions()
    result = pb.RoundResult(round=3)
    result.gangs.add(job=WEB, state=pb.GangState.WAITING, message="no room", needed=500)
    scene.state.on_round(result)
    assert scene.actions(AnnounceGroup) == []


def too_large(field: str) -> str:
    words = "221 pods are more than the 220 that all 2 nodes take together; add nodes or lower it"
    return f"{field}: {words}"


def labelled(name, **labels):
    made = pod(name)
    return replace(made, metadata=replace(made.metadata, labels=labels))


@pytest.mark.parametrize(
    ("kind", "found", "member", "field"),
    [
        (NATIVE_POD_GROUP, native("train", 2), pod("a", native="train"), "minCount"),
        (
            SIGS_POD_GROUP,
            SigsPodGroup(ObjectMeta(name="train", namespace="default", uid="g"), PodGroupSpec(min_member=2)),
            labelled("a", **{"pod-group.scheduling.sigs.k8s.io": "train"}),
            "spec.minMember",
        ),
    ],
)
def test_what_makes_a_group_too_large_is_named_as_its_own_object_has_it(scene, kind, found, member, field):
    scene.state.gangs.get_handler(kind)([present(found)])
    scene.pods(present(member))
    scene.state.take_actions()
    [job] = scene.view.jobs or [each.job.id for each in scene.state.groups]
    result = pb.RoundResult(round=3)
    result.gangs.add(job=job, state=pb.GangState.WAITING, message="no room", needed=221)
    scene.state.on_round(result)
    actions = scene.state.take_actions()
    [event] = [each for each in actions if isinstance(each, AnnounceGroup)]
    assert event.message == too_large(field)
    written = [each.condition for each in actions if isinstance(each, GroupConditionWrite)]
    assert [each.message for each in written] == ([too_large(field)] if kind == NATIVE_POD_GROUP else [])


def test_pods_go_with_their_group_into_a_tree_and_out_of_it(scene):
    def jobs():
        scene.sync()
        return sorted({task.job for task in scene.view.tasks.values()})

    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)
    take([present(leaf("a")), present(leaf("b"))])
    scene.state.gangs.get_handler(COMPOSITE_POD_GROUP)([present(composite("root"))])
    scene.pods(present(pod("x", native="a")), present(pod("y", native="b")))
    alone = jobs()
    assert len(alone) == 2
    take([present(leaf("a", "root")), present(leaf("b", "root"))])
    assert jobs() == ["CompositePodGroup/default/root"]
    assert len({task.task_class for task in scene.view.tasks.values()}) == 2, (
        "each says which part it belongs to"
    )
    take([present(leaf("a")), present(leaf("b"))])
    assert jobs() == alone


def test_a_condition_is_written_anew_once_its_group_has_been_deleted(scene):
    take = scene.state.gangs.get_handler(NATIVE_POD_GROUP)

    def written():
        [job] = scene.view.jobs
        result = pb.RoundResult(round=3)
        result.gangs.add(job=job, state=pb.GangState.WAITING, message="no room")
        scene.state.on_round(result)
        return len(scene.actions(GroupConditionWrite))

    take([present(native("train", 2))])
    scene.pods(present(pod("a", native="train")))
    assert [written(), written()] == [1, 0]
    take([gone(native("train", 2))])
    take([present(native("train", 2))])
    assert written() == 1


def test_a_pod_that_changes_while_it_waits_for_its_group_waits_on(scene):
    scene.pods(present(pod("a", group="train")))
    for changed in (pod("a", group="train", cpu="2"), pod("a", group="train", reason="waits")):
        scene.pods(present(changed))
        assert scene.view.tasks == {}
        assert scene.state.list_held().keys() == {"pod-a"}
    assert {type(each) for each in scene.state.take_actions()} == {AnnounceUnschedulable}
