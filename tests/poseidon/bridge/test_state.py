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
from poseidon.lifecycle.actions import AnnounceUnschedulable
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING, SolverView

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
