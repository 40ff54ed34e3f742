"""Single situations of the bridge's state."""

from __future__ import annotations

import msgspec
import pytest

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta, PodRef
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.lifecycle.actions import AnnounceScheduled, AnnounceUnschedulable, Bind
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND, PENDING, SolverView

WEB = "Owner/default/ReplicaSet/web/uid-web"


class Harness:
    """A state with a solver's view of it."""

    def __init__(self, *names):
        self.state = BridgeState(BridgeConfiguration(scheduler_names=names or ("poseidon",)))
        self.view = SolverView()
        self.state.nodes_changed([present(node("n1")), present(node("n2"))])
        self.new_stream()

    def new_stream(self):
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    def pods(self, *changes):
        self.state.pods_changed(changes)
        return self.sync()

    def sync(self):
        reports = self.state.take_reports()
        self.view.report(reports)
        events = self.state.take_events()
        self.view.apply(events)
        return reports, events

    def place(self, uid, machine, *, depends_on=()):
        self.view.place(uid, machine)
        return self.delta(uid, machine, depends_on=depends_on)

    def delta(self, uid, machine, *, depends_on=(), kind=pb.Delta.PLACE):
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=kind, task=uid, machine=machine, depends_on=depends_on)
        self.state.on_round(result)
        return self.state.take_actions()

    def outcome(self, action, result=BindResult.BOUND, reason=""):
        request = BindRequest(action.pod.uid, action.pod.namespace, action.pod.name, action.node)
        self.state.binding_ended(BindOutcome(request, result, reason))
        return self.state.take_actions()

    def unscheduled(self, message, *uids):
        result = pb.RoundResult(round=2)
        result.unscheduled.add(tasks=uids, message=message)
        self.state.on_round(result)
        return self.state.take_actions()

    def states(self):
        return {uid: (task.state, task.machine) for uid, task in self.view.tasks.items()}


@pytest.fixture
def harness():
    return Harness()


def test_only_pods_that_are_ours_and_may_run_are_submitted(harness):
    harness.pods(
        present(pod("mine")),
        present(pod("theirs", scheduler="default-scheduler")),
        present(pod("unnamed", scheduler="")),
        present(pod("gated", gated=True)),
        present(pod("leaving", deleting=True)),
        present(pod("done", node="n1", phase="Succeeded")),
        present(pod("elsewhere", scheduler="default-scheduler", node="n2", owner="web")),
    )
    assert harness.states() == {"pod-mine": (PENDING, ""), "pod-elsewhere": (BOUND, "n2")}
    assert not harness.view.jobs, "jobs of other schedulers' pods do not matter"


def test_star_takes_every_scheduler():
    harness = Harness("*")
    harness.pods(present(pod("a", scheduler="default-scheduler")), present(pod("b", scheduler="")))
    assert set(harness.states()) == {"pod-a", "pod-b"}


def test_a_namesake_with_another_uid_is_another_task(harness):
    harness.pods(present(pod("a", uid="1")))
    [bind] = harness.place("1", "n1")
    harness.pods(present(pod("a", uid="2")), Change("1", None))
    assert harness.states() == {"2": (PENDING, "")}
    harness.outcome(bind)
    harness.sync()
    assert harness.states() == {"2": (PENDING, "")}


def test_success_is_reported_and_announced_once(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    assert bind == Bind(PodRef("pod-a", "default", "a"), "n1")
    [announced] = harness.outcome(bind)
    assert announced == AnnounceScheduled(bind.pod, "n1")
    reports, events = harness.pods(present(pod("a", node="n1")))
    assert [(r.task, r.machine, r.bound) for r in reports] == [("pod-a", "n1", True)]
    assert not events, "the report has said it already"
    assert harness.states() == {"pod-a": (BOUND, "n1")}


def test_most_of_what_happens_to_a_pod_is_no_news_to_the_solver(harness):
    assert not harness.state.has_news
    harness.state.pods_changed([present(pod("a"))])
    assert harness.state.has_news
    harness.sync()
    [bind] = harness.place("pod-a", "n1")
    assert not harness.state.has_news, "the solver has decided it"
    harness.outcome(bind)
    assert harness.state.has_news, "a report waits"
    harness.sync()
    harness.state.pods_changed([present(pod("a", node="n1"))])
    assert not harness.state.has_news, "the report has said it already"


def test_the_watch_may_be_faster_than_the_answer(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    _, events = harness.pods(present(pod("a", node="n1")))
    assert not events
    harness.outcome(bind)
    reports, events = harness.sync()
    assert [r.bound for r in reports] == [True]
    assert not events


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


@pytest.mark.parametrize("confirmed", [False, True])
def test_bindings_under_way_stand_in_a_snapshot_as_assumed_and_those_just_done_as_bound(harness, confirmed):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    if confirmed:
        harness.outcome(bind)
    harness.new_stream()
    assert harness.states() == {"pod-a": (BOUND if confirmed else ASSUMED, "n1")}
    reports, events = harness.pods(present(pod("a")))
    assert (reports, events) == ([], []), "an event older than the binding takes nothing back"
    if not confirmed:
        harness.outcome(bind)
        reports, _ = harness.sync()
        assert (reports, harness.states()) == ([], {"pod-a": (BOUND, "n1")}), (
            "the event that it is bound will do"
        )


def test_a_binding_that_fails_on_a_later_stream_is_taken_back(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    harness.new_stream()
    harness.outcome(bind, BindResult.FAILED, "500")
    reports, events = harness.sync()
    assert not reports, "this stream's solver placed nothing"
    assert [event.WhichOneof("body") for event in events] == ["task_removed", "tasks"]
    assert harness.states() == {"pod-a": (PENDING, "")}


def test_deltas_that_cannot_be_carried_out_are_reported_not_posted(harness):
    harness.pods(present(pod("a")), present(pod("b")))
    assert harness.delta("never-seen", "n1") == []
    assert harness.delta("pod-a", "no-such-node") == []
    harness.state.pods_changed([present(pod("b", node="n2"))])
    harness.state.take_actions()
    assert harness.delta("pod-b", "n1") == []
    reports = {r.task: r for r in harness.state.take_reports()}
    assert (reports["never-seen"].retry, reports["never-seen"].reason) == (False, "the pod is gone")
    assert (reports["pod-a"].retry, reports["pod-a"].reason) == (True, "node no-such-node is gone")
    assert (reports["pod-b"].retry, reports["pod-b"].reason) == (False, "already assigned to node n2")
    assert not any(report.bound for report in reports.values())
    harness.sync()
    assert harness.states() == {"pod-a": (PENDING, ""), "pod-b": (BOUND, "n2")}


def test_moves_of_running_pods_are_refused_clearly(harness, caplog):
    harness.pods(present(pod("a", node="n1")))
    assert harness.delta("pod-a", "n1", kind=pb.Delta.MIGRATE) == []
    [report] = harness.state.take_reports()
    assert (report.task, report.bound, report.retry) == ("pod-a", False, False)
    assert "can neither move running pods" in caplog.text


def test_a_pod_that_leaves_before_it_is_placed_is_removed(harness):
    harness.pods(present(pod("a")))
    harness.pods(present(pod("a", deleting=True)))
    assert harness.states() == {}
    assert harness.delta("pod-a", "n1") == []


def test_finished_pods_free_their_node(harness):
    harness.pods(present(pod("a", node="n1", phase="Running")))
    harness.pods(present(pod("a", node="n1", phase="Failed")))
    assert harness.states() == {}


def test_pods_on_an_unknown_node_count_once_it_is_known(harness):
    harness.pods(present(pod("a", node="n3")))
    assert harness.states() == {}
    harness.state.nodes_changed([present(node("n3"))])
    harness.sync()
    assert harness.states() == {"pod-a": (BOUND, "n3")}
    harness.state.nodes_changed([gone(node("n3"))])
    harness.sync()
    assert harness.states() == {}
    harness.state.nodes_changed([present(node("n3", uid="another"))])
    harness.sync()
    assert harness.states() == {"pod-a": (BOUND, "n3")}


def test_a_pod_that_ends_while_its_node_is_gone_is_not_there_when_that_returns(harness):
    harness.pods(present(pod("a", node="n1")), present(pod("b", node="n1")))
    former = node("n1")
    harness.state.nodes_changed([gone(former)])
    harness.sync()
    harness.pods(gone(pod("a")))
    harness.state.nodes_changed([present(node("n1", uid="another"))])
    harness.sync()
    assert {uid: (task.state, task.machine) for uid, task in harness.view.tasks.items()} == {
        "pod-b": (BOUND, "n1")
    }


def test_the_late_end_of_a_node_spares_its_namesake(harness):
    harness.state.nodes_changed([present(node("n1", uid="new")), Change("node-n1", None)])
    harness.sync()
    assert "n1" in harness.view.machines


def test_unchanged_nodes_are_not_sent_again(harness):
    harness.state.nodes_changed([present(node("n1"))])
    assert harness.sync() == ([], [])
    harness.state.nodes_changed([present(node("n1", unschedulable=True))])
    _, [event] = harness.sync()
    assert event.machine.unschedulable


def test_a_reason_is_announced_when_it_is_new(harness):
    harness.pods(present(pod("a")), present(pod("b")))
    first = harness.unscheduled("0/2 nodes", "pod-a", "pod-b")
    assert first == [
        AnnounceUnschedulable(PodRef("pod-a", "default", "a"), "0/2 nodes", False),
        AnnounceUnschedulable(PodRef("pod-b", "default", "b"), "0/2 nodes", False),
    ]
    harness.new_stream()
    assert harness.unscheduled("0/2 nodes", "pod-a", "pod-b") == []
    assert harness.unscheduled("0/2 nodes, or so", "pod-a") == [
        AnnounceUnschedulable(PodRef("pod-a", "default", "a"), "0/2 nodes, or so", True)
    ]


def test_a_restarted_bridge_repeats_no_reason(harness):
    harness.pods(present(pod("a", reason="0/2 nodes")))
    assert harness.unscheduled("0/2 nodes", "pod-a") == []


def test_the_condition_that_we_write_causes_no_message(harness):
    harness.pods(present(pod("a")))
    assert harness.pods(present(pod("a", reason="0/2 nodes"))) == ([], [])


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


def test_jobs_live_as_long_as_their_pods(harness):
    harness.pods(present(pod("a", owner="web")), present(pod("b", owner="web")))
    assert harness.view.jobs[WEB].name == "default/ReplicaSet/web"
    harness.pods(gone(pod("a", owner="web")))
    assert WEB in harness.view.jobs
    harness.pods(gone(pod("b", owner="web")))
    assert not harness.view.jobs


def test_priority_comes_from_the_class_when_admission_left_it_out(harness):
    high = PriorityClass(metadata=ObjectMeta(name="high", uid="1"), value=1000)
    harness.state.handlers[kinds.PRIORITY_CLASS]([present(high)])
    one = pod("a", priority=None)
    spec = msgspec.structs.replace(one.spec, priority_class_name="high")
    one = msgspec.structs.replace(one, spec=spec)
    harness.pods(present(one))
    assert harness.view.tasks["pod-a"].priority == 1000
