"""Placed pods until they are bound: what their status names, what they wait for, and what the solver is told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.binder import BindResult
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import AnnounceScheduled, AnnounceUnschedulable, Bind
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_state import Harness

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


class Scene(Harness):
    """A pod ``mine`` that waits on n1 until ``victim`` has left it."""

    def __init__(self):
        super().__init__()
        self.pods(present(pod("victim", node="n1", deleting=True)), present(pod("mine", priority=5)))
        self.begun = self.place("pod-mine", "n1", depends_on=["pod-victim"])

    @property
    def nominated(self):
        return self.state.pending_bindings.nominations.nominated

    def reports(self):
        return [(each.task, each.machine, each.bound, each.reason, each.retry) for each in self.sync()[0]]


def nominations(actions):
    return [each.node for each in actions if isinstance(each, NominatedNodeWrite)]


def binds(actions):
    return [each.node for each in actions if isinstance(each, Bind)]


@pytest.mark.parametrize(("machine", "named"), [("n1", []), ("n2", [""])])
def test_a_nomination_is_taken_back_only_from_who_is_bound_elsewhere(machine, named):
    harness = Harness()
    harness.pods(present(pod("a", nominated="n1")))
    actions = harness.place("pod-a", machine)
    assert (nominations(actions), binds(actions)) == (named, [machine])


def test_the_status_names_the_node_until_the_pod_is_placed_anew():
    scene = Scene()
    assert (nominations(scene.begun), binds(scene.begun)) == (["n1"], [])
    actions = scene.delta("pod-mine", "n2")
    assert (nominations(actions), binds(actions)) == ([""], ["n2"])
    scene.pods(gone(pod("victim")))
    assert scene.state.take_actions() == [], "its first place binds it no more"


@pytest.mark.parametrize(
    ("shown", "report"),
    [
        ("n1", ("pod-mine", "n1", True, "", False)),
        ("n2", ("pod-mine", "n1", False, "already assigned to node n2", False)),
    ],
)
def test_a_waiting_pod_that_somebody_else_binds_is_reported_once(shown, report):
    scene = Scene()
    scene.state.pods_changed([present(pod("mine", priority=5, node=shown))])
    assert scene.reports() == [report]
    scene.state.take_actions()
    scene.pods(gone(pod("victim")))
    assert (scene.state.take_actions(), scene.reports()) == ([], [])


def test_a_solver_that_has_not_placed_a_pod_gets_no_report_of_where_it_is_instead():
    scene = Scene()
    scene.new_stream()
    scene.state.pods_changed([present(pod("mine", priority=5, node="n2"))])
    assert scene.state.take_reports() == []
    scene.sync()
    assert scene.states()["pod-mine"] == (BOUND, "n2")


def test_a_waiting_pod_loses_its_place_with_the_node_and_one_that_is_being_bound_does_not():
    scene = Scene()
    scene.pods(present(pod("other")))
    scene.place("pod-other", "n1")
    scene.state.nodes_changed([gone(node("n1"))])
    assert scene.reports() == [("pod-mine", "n1", False, "node n1 is gone", True)]
    assert nominations(scene.state.take_actions()) == [""]


def test_a_reason_is_said_again_after_a_binding_that_failed():
    harness = Harness()
    harness.pods(present(pod("a")))
    said = harness.unscheduled(NO_ROOM, "pod-a")
    assert [type(each) for each in said] == [AnnounceUnschedulable]
    [bind] = harness.place("pod-a", "n1")
    harness.outcome(bind, BindResult.FAILED, "connection reset")
    harness.sync()
    assert [each.message for each in harness.unscheduled(NO_ROOM, "pod-a")] == [NO_ROOM]


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (BindResult.FAILED, True),
        (BindResult.WITHHELD, True),
        (BindResult.GONE, False),
        (BindResult.ELSEWHERE, False),
        (BindResult.BOUND, False),
    ],
)
def test_room_that_victims_have_left_is_kept_while_the_pod_may_be_bound_yet(result, kept):
    scene = Scene()
    scene.pods(gone(pod("victim")))
    [bind] = scene.state.take_actions()
    assert scene.nominated == {"pod-mine"}
    scene.outcome(bind, result, "why")
    assert scene.nominated == ({"pod-mine"} if kept else set())


def test_a_place_that_is_given_up_before_anything_was_posted_is_reported_and_no_longer_named():
    scene = Scene()
    scene.state.placements.recall(["pod-mine", "pod-victim", "unknown"], "the round was too old")
    assert scene.reports() == [("pod-mine", "n1", False, "the round was too old", True)]
    assert nominations(scene.state.take_actions()) == [""]


def test_nobody_waits_for_pods_that_are_where_they_belong():
    harness = Harness()
    harness.pods(present(pod("a")), present(pod("b")))
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-b", machine="n2", depends_on=["pod-a"])
    harness.state.on_round(result)
    [first] = harness.state.take_actions()
    assert first == Bind(PodRef("pod-a", "default", "a"), "n1")
    assert binds(harness.outcome(first)) == ["n2"]


def test_a_binding_holds_no_pod_back_that_was_to_come_after_another_one():
    harness = Harness()
    harness.pods(*(present(pod(name)) for name in "abc"))
    result = pb.RoundResult(round=1)
    for name, leaders in (("a", []), ("b", []), ("c", ["pod-a", "pod-b"])):
        result.deltas.add(kind=pb.Delta.PLACE, task=f"pod-{name}", machine="n1", depends_on=leaders)
    harness.state.on_round(result)
    first, second = harness.state.take_actions()
    assert binds(harness.outcome(first)) == []
    assert binds(harness.outcome(second)) == ["n1"]


def test_a_confirmed_pod_is_not_sent_again():
    harness = Harness()
    found = pod("a")
    harness.pods(present(found))
    [bind] = harness.place("pod-a", "n1")
    harness.outcome(bind)
    harness.sync()
    reports, events = harness.pods(present(replace(found, spec=replace(found.spec, node_name="n1"))))
    assert (list(reports), list(events)) == ([], [])


@pytest.fixture
def harness():
    return Harness()


def test_followers_wait_for_their_leader(harness):
    harness.pods(present(pod("a")), present(pod("b")))
    [leader] = harness.place("pod-a", "n1")
    assert harness.place("pod-b", "n1", depends_on=["pod-a"]) == []
    actions = harness.outcome(leader)
    assert actions == [AnnounceScheduled(leader.pod, "n1"), Bind(PodRef("pod-b", "default", "b"), "n1")]


def test_followers_fail_with_their_leader(harness):
    harness.pods(present(pod("a")), present(pod("b")), present(pod("c")))
    [leader] = harness.place("pod-a", "n1")
    harness.place("pod-b", "n1", depends_on=["pod-a"])
    harness.place("pod-c", "n1", depends_on=["pod-b"])
    assert harness.outcome(leader, BindResult.FAILED, "500") == []
    reports, _ = harness.sync()
    assert {r.task: (r.bound, r.retry) for r in reports} == {
        "pod-a": (False, True),
        "pod-b": (False, True),
        "pod-c": (False, True),
    }
    assert set(harness.states().values()) == {(PENDING, "")}


def test_followers_do_not_wait_for_a_leader_that_is_gone(harness):
    harness.pods(present(pod("a")), present(pod("b")))
    harness.place("pod-a", "n1")
    harness.place("pod-b", "n2", depends_on=["pod-a"])
    harness.pods(gone(pod("a")))
    assert harness.state.take_actions() == [Bind(PodRef("pod-b", "default", "b"), "n2")]


def test_a_failure_is_reported_and_leaves_the_pod_pending(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    assert harness.outcome(bind, BindResult.FAILED, "503") == []
    reports, events = harness.sync()
    assert [(r.bound, r.retry, r.reason) for r in reports] == [(False, True, "503")]
    assert not events
    assert harness.states() == {"pod-a": (PENDING, "")}


@pytest.mark.parametrize("result", [BindResult.GONE, BindResult.ELSEWHERE])
def test_what_an_event_will_settle_is_not_to_be_retried(harness, result):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    harness.outcome(bind, result, "why")
    reports, _ = harness.sync()
    assert [(r.bound, r.retry) for r in reports] == [(False, False)]


def test_a_binding_that_fails_on_a_later_stream_is_taken_back(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    harness.new_stream()
    harness.outcome(bind, BindResult.FAILED, "500")
    reports, events = harness.sync()
    assert not reports, "this stream's solver placed nothing"
    assert [event.WhichOneof("body") for event in events] == ["task_removed", "tasks"]
    assert harness.states() == {"pod-a": (PENDING, "")}
