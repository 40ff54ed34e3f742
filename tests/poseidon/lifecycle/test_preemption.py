"""Pods that make way, those that wait for it, and what becomes of both when something goes wrong."""

from __future__ import annotations

import pytest

from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import AnnouncePreempted, AnnounceUnschedulable, Bind, Evict, WithdrawEviction
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND, PENDING
from tests.poseidon.bridge.test_state import Harness


class Scene(Harness):
    """Two victims on n1, one pod that needs the place of both."""

    def __init__(self):
        super().__init__()
        self.pods(
            present(pod("low-a", node="n1")),
            present(pod("low-b", node="n1", scheduler="default-scheduler")),
            present(pod("high", priority=9)),
        )

    def preempt(self, *victims, machine="n1", beyond=False):
        self.view.place("pod-high", machine)
        result = pb.RoundResult(round=1)
        for victim in victims:
            result.deltas.add(kind=pb.Delta.PREEMPT, task=victim, machine="n1", beyond_budget=beyond)
        result.deltas.add(kind=pb.Delta.PLACE, task="pod-high", machine=machine, depends_on=victims)
        self.state.on_round(result)
        return self.state.take_actions()

    def ended(self, evict, refusal=""):
        request = EvictionRequest(evict.pod, evict.node, evict.beyond_budget, evict.message)
        self.state.eviction_ended(EvictionOutcome(request, refusal))
        return self.state.take_actions()

    def gone(self, name):
        self.pods(gone(pod(name)))
        return self.state.take_actions()


@pytest.fixture
def scene():
    return Scene()


def kinds(actions):
    return [type(each).__name__ for each in actions]


def test_a_preemptor_is_bound_once_all_of_its_victims_are_gone(scene):
    first, second, nominate, said = scene.preempt("pod-low-a", "pod-low-b", beyond=True)
    assert first.message == "Preempted by pod default/high on node n1"
    assert (first.pod.name, first.node, first.beyond_budget) == ("low-a", "n1", True)
    assert isinstance(second, Evict)
    assert (nominate.pod.name, nominate.node) == ("high", "n1")
    assert isinstance(said, AnnounceUnschedulable)
    assert said.message == "waits on node n1 until default/low-a, default/low-b left it"
    assert scene.ended(first) == [AnnouncePreempted(first.pod, first.message)]
    scene.ended(second)
    scene.pods(present(pod("low-a", node="n1", deleting=True)))
    assert scene.state.take_actions() == []
    assert scene.gone("low-a") == []
    [bind] = scene.gone("low-b")
    assert bind == Bind(nominate.pod, "n1", complained=True)
    scene.outcome(bind)
    scene.sync()
    assert scene.states() == {"pod-high": (BOUND, "n1")}


def test_a_victim_that_has_ended_is_gone(scene):
    scene.preempt("pod-low-a")
    scene.pods(present(pod("low-a", node="n1", phase="Succeeded")))
    assert kinds(scene.state.take_actions()) == ["Bind"]


def test_a_victim_that_somebody_else_deletes_is_waited_for(scene):
    scene.pods(present(pod("low-a", node="n1", deleting=True)))
    # Nothing is evicted twice; the place is counted on nevertheless.
    assert kinds(scene.preempt("pod-low-a")) == ["NominatedNodeWrite", "AnnounceUnschedulable"]
    assert kinds(scene.gone("low-a")) == ["Bind"]


def test_a_pod_may_count_on_one_that_leaves_without_evicting_anybody(scene):
    scene.pods(present(pod("low-a", node="n1", deleting=True)))
    actions = scene.place("pod-high", "n1", depends_on=["pod-low-a"])
    assert kinds(actions) == ["NominatedNodeWrite", "AnnounceUnschedulable"]
    assert kinds(scene.gone("low-a")) == ["Bind"]


@pytest.mark.parametrize(("priority", "may"), [(8, False), (9, False), (10, True)])
def test_the_room_that_a_pod_waits_for_is_kept_from_all_that_are_no_more_important(priority, may):
    """n1 has 8 cpu. ``high`` waits for 5 until a pod with 2 is gone; beside these two there is room for 4 now."""
    scene = Harness()
    scene.pods(
        present(pod("low", node="n1", cpu="2")),
        present(pod("high", priority=9, cpu="5")),
        present(pod("peer", priority=priority, cpu="4")),
    )
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="pod-low", machine="n1")
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-high", machine="n1", depends_on=["pod-low"])
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-peer", machine="n1")
    scene.state.on_round(result)
    refusal = scene.state.refusal("pod-peer", "n1")
    assert refusal == (
        "" if may else "node n1 has too little cpu left: 4000 needed, 5000 of 8000 in use by now"
    )


def test_a_refused_eviction_releases_the_preemptor(scene):
    evict, other, *_ = scene.preempt("pod-low-a", "pod-low-b")
    assert scene.ended(evict, "the budget says no") == [
        NominatedNodeWrite(scene.state.tasks.get("pod-high").ref, "")
    ]
    reports, _ = scene.sync()
    assert [(each.task, each.machine, each.bound, each.retry) for each in reports] == [
        ("pod-low-a", "n1", False, True),
        ("pod-high", "n1", False, True),
    ]
    assert reports[0].reason == "the budget says no"
    assert scene.states()["pod-high"] == (PENDING, "")
    # The other one goes all the same, and nobody is bound for it.
    scene.ended(other)
    assert scene.gone("low-b") == []
    assert kinds(scene.preempt("pod-low-a")) == ["Evict", "NominatedNodeWrite", "AnnounceUnschedulable"]


def test_a_refused_eviction_of_a_pod_that_leaves_anyway_changes_nothing(scene):
    evict, *_ = scene.preempt("pod-low-a")
    scene.pods(present(pod("low-a", node="n1", deleting=True)))
    assert scene.ended(evict, "too busy") == []
    assert kinds(scene.gone("low-a")) == ["Bind"]


def test_the_event_is_written_also_if_the_pod_is_gone_before_the_answer(scene):
    evict, *_ = scene.preempt("pod-low-a")
    assert kinds(scene.gone("low-a")) == ["Bind"]
    assert scene.ended(evict) == [AnnouncePreempted(evict.pod, evict.message)]
    request = EvictionRequest(evict.pod, evict.node, beyond_budget=False, message=evict.message)
    scene.state.eviction_ended(EvictionOutcome(request, gone=True))
    assert scene.state.take_actions() == []


def test_a_victim_that_is_gone_already_needs_no_eviction(scene):
    scene.gone("low-a")
    assert kinds(scene.preempt("pod-low-a")) == ["Bind"]


def test_a_victim_that_is_elsewhere_is_reported_and_its_preemptor_released(scene):
    scene.pods(present(pod("low-c", node="n2")))
    assert scene.preempt("pod-low-c") == []
    reports, _ = scene.sync()
    assert (reports[0].task, reports[0].reason) == ("pod-low-c", "the pod is on node n2")
    assert scene.states()["pod-high"] == (PENDING, "")


def test_a_preemptor_that_is_deleted_meanwhile_is_not_bound(scene):
    scene.preempt("pod-low-a")
    scene.gone("high")
    assert scene.gone("low-a") == []


def test_a_preemptor_whose_node_is_gone_waits_for_another_one(scene):
    scene.preempt("pod-low-a")
    scene.state.nodes_changed([gone(node("n1"))])
    assert kinds(scene.state.take_actions()) == ["NominatedNodeWrite"]
    scene.sync()
    assert scene.states()["pod-high"] == (PENDING, "")
    assert scene.gone("low-a") == []


def test_a_new_solver_sees_who_leaves_and_keeps_the_place(scene):
    scene.preempt("pod-low-a")
    scene.pods(present(pod("low-a", node="n1", deleting=True)))
    scene.new_stream()
    assert scene.states()["pod-high"] == (ASSUMED, "n1")
    seen = pb.TaskClass.FromString(scene.view.tasks["pod-low-a"].task_class)
    assert seen.terminating
    assert kinds(scene.gone("low-a")) == ["Bind"]


def test_a_new_bridge_says_who_leaves_and_takes_back_the_nomination(scene):
    scene.state.take_actions()
    fresh = Harness()
    high = pod("high", priority=9)
    nominated = type(high)(
        high.metadata, high.spec, type(high.status)(phase="Pending", nominated_node_name="n1")
    )
    fresh.pods(present(pod("low-a", node="n1", deleting=True)), present(nominated))
    assert pb.TaskClass.FromString(fresh.view.tasks["pod-low-a"].task_class).terminating
    actions = fresh.unscheduled("0/2 nodes are available: 2 Insufficient cpu.", "pod-high")
    assert kinds(actions) == ["NominatedNodeWrite", "AnnounceUnschedulable"]
    assert actions[0].node == ""


def test_a_pod_that_is_being_bound_cannot_be_evicted(scene):
    scene.pods(present(pod("new")))
    scene.place("pod-new", "n1")
    result = pb.RoundResult(round=2)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="pod-new", machine="n1")
    scene.state.on_round(result)
    assert scene.state.take_actions() == []
    [report] = scene.state.take_reports()
    assert (report.task, report.bound) == ("pod-new", False)
    assert scene.states()["pod-new"] == (ASSUMED, "n1")


def test_an_eviction_that_nobody_needs_any_more_is_withdrawn(scene):
    evict, *_ = scene.preempt("pod-low-a")
    scene.gone("high")
    no_longer = pb.Delta(kind=pb.Delta.PREEMPT, task="pod-low-a", machine="n1", withdrawn=True)
    scene.state.on_round(pb.RoundResult(round=2, deltas=[no_longer]))
    assert scene.state.take_actions() == [WithdrawEviction("pod-low-a")]
    assert scene.ended(evict, "nobody needs its place any more") == []
    reports, _ = scene.sync()
    assert [(each.task, each.machine, each.bound) for each in reports] == [("pod-low-a", "n1", False)]
    # It is not going any more: nothing is left to withdraw.
    scene.state.on_round(pb.RoundResult(round=3, deltas=[no_longer]))
    assert scene.state.take_actions() == []


# --- a place elsewhere ------------------------------------------------------------------------------------------------


def moved(scene, machine, *, depends_on=()):
    """The solver has found another place for the pod that waits, and needs nobody to go any more."""
    scene.view.tasks["pod-high"].machine = machine
    result = pb.RoundResult(round=2)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-high", machine=machine, depends_on=depends_on)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="pod-low-a", machine="n1", withdrawn=True)
    scene.state.on_round(result)
    return scene.state.take_actions()


def test_a_pod_that_waits_may_be_given_another_place(scene):
    evict, nominate, _ = scene.preempt("pod-low-a")
    withdrawal, forget, bind = moved(scene, "n2")
    assert withdrawal == WithdrawEviction("pod-low-a")
    assert (forget, bind) == (NominatedNodeWrite(nominate.pod, ""), Bind(nominate.pod, "n2", complained=True))
    assert scene.ended(evict, "nobody needs its place any more") == []
    scene.outcome(bind)
    reports, _ = scene.sync()
    assert [(each.task, each.machine, each.bound) for each in reports] == [
        ("pod-low-a", "n1", False),
        ("pod-high", "n2", True),
    ]
    assert scene.states()["pod-high"] == (BOUND, "n2")
    assert scene.gone("low-a") == []


def test_one_that_need_wait_no_longer_is_bound_where_it_is(scene):
    scene.preempt("pod-low-a")
    assert kinds(moved(scene, "n1")) == ["WithdrawEviction", "NominatedNodeWrite", "Bind"]
    assert scene.gone("low-a") == []


def test_the_other_place_may_have_to_be_waited_for_as_well(scene):
    scene.pods(present(pod("first")))
    scene.preempt("pod-low-a")
    [first] = scene.place("pod-first", "n2")
    assert kinds(moved(scene, "n2", depends_on=["pod-first"])) == ["WithdrawEviction", "NominatedNodeWrite"]
    assert scene.gone("low-a") == []
    assert kinds(scene.outcome(first)) == ["AnnounceScheduled", "Bind"]


def test_another_place_on_a_node_that_is_gone_leaves_the_pod_without_any(scene):
    scene.preempt("pod-low-a")
    scene.state.nodes_changed([gone(node("n2"))])
    assert kinds(moved(scene, "n2")) == ["WithdrawEviction", "NominatedNodeWrite"]
    scene.sync()
    assert scene.states()["pod-high"] == (PENDING, "")
    assert scene.gone("low-a") == []


def test_a_place_elsewhere_that_comes_too_late_is_corrected(scene):
    scene.preempt("pod-low-a")
    [bind] = scene.gone("low-a")
    assert kinds(moved(scene, "n2")) == []
    scene.sync()
    assert scene.states()["pod-high"] == (ASSUMED, "n1")
    scene.outcome(bind)
    scene.sync()
    assert scene.states() == {"pod-high": (BOUND, "n1"), "pod-low-b": (BOUND, "n1")}


@pytest.mark.parametrize(
    ("victims", "others", "named"),
    [
        (1, 0, "default/v0"),
        (3, 0, "default/v0, default/v1, default/v2"),
        (4, 0, "default/v0, default/v1, default/v2 and 1 more"),
        (2, 2, "default/v0, default/v1 and 2 more"),
        (0, 1, "another pod"),
        (0, 2, "2 other pods"),
    ],
)
def test_a_waiting_pod_names_three_pods_of_its_namespace_and_counts_the_others(victims, others, named):
    scene = Scene()
    low = [pod(f"v{each}", node="n1") for each in range(victims)]
    low += [pod(f"w{each}", node="n1", namespace="other") for each in range(others)]
    scene.pods(*(present(each) for each in reversed(low)))
    said = scene.preempt(*(each.metadata.uid for each in reversed(low)))[-1]
    assert isinstance(said, AnnounceUnschedulable)
    assert said.message == f"waits on node n1 until {named} left it"
