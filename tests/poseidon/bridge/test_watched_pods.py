"""Watched pods, one situation at a time: what is kept of a pod, what it waits for, and what goes with it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.nodes import PriorityClass, Service, ServiceSpec
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceRefused
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.support.needs import words_of


class Watched:
    """A state with nodes, and a solver's view of it."""

    def __init__(self, *needs: str, names=("poseidon",), **parts) -> None:
        configuration = BridgeConfiguration(scheduler_names=names, **parts)
        self.now = 100.0
        self.state = BridgeState(configuration, words_of(*needs), clock=lambda: self.now)
        self.state.nodes_changed([present(node("n1")), present(node("n2"))])
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    def pods(self, *changes) -> list[str]:
        """Take changes of pods; return the kinds of events that follow."""
        self.state.pods_changed(changes)
        return self.tell()

    def tell(self) -> list[str]:
        events = list(self.state.take_events())
        self.view.apply(events)
        return [str(event.WhichOneof("body")) for event in events]

    def record(self, uid: str):
        return self.state.tasks.get(uid)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def described(**spec):
    """A pod whose spec differs from the usual one."""
    made = pod("a")
    return replace(made, spec=replace(made.spec, **spec))


# --- priorities -------------------------------------------------------------------------------------------------------


def priority_class(name: str, value: int, uid: str = "") -> Change[PriorityClass]:
    found = PriorityClass(ObjectMeta(name=name, uid=uid or name), value)
    return Change(found.metadata.uid, found)


def of_class(name: str, uid: str = "pod-a"):
    made = described(priority_class_name=name, priority=None)
    return replace(made, metadata=replace(made.metadata, uid=uid))


def test_a_pod_waits_for_its_priority_class(watched):
    assert watched.pods(present(of_class("high"))) == []
    [reason] = watched.state.list_held().values()
    assert reason.startswith("spec.priorityClassName: ")
    assert reason.endswith("; create it, or create the pod again with another one")
    watched.state.handlers[kinds.PRIORITY_CLASS]([priority_class("high", 70)])
    assert "tasks" in watched.tell()
    assert watched.view.tasks["pod-a"].priority == 70
    assert watched.state.list_held() == {}
    watched.state.handlers[kinds.PRIORITY_CLASS]([priority_class("high", 80)])
    assert watched.tell() == [], "classes count for pods seen later"


def test_a_pod_that_is_gone_waits_for_no_class(watched):
    watched.pods(present(of_class("high")))
    watched.pods(gone(of_class("high")))
    watched.state.handlers[kinds.PRIORITY_CLASS]([priority_class("high", 70)])
    assert watched.tell() == []
    assert watched.record("pod-a") is None


@pytest.mark.parametrize(("left", "known"), [(["1"], True), (["1", "2"], False), ([], True)])
def test_a_class_is_known_while_an_object_of_its_name_exists(watched, left, known):
    take = watched.state.handlers[kinds.PRIORITY_CLASS]
    take([priority_class("high", 70, "1"), priority_class("high", 70, "2")])
    take([Change(uid, None) for uid in left])
    watched.pods(present(of_class("high")))
    assert (watched.state.list_held() == {}) is known


def test_the_end_of_one_class_leaves_others(watched):
    take = watched.state.handlers[kinds.PRIORITY_CLASS]
    take([priority_class("high", 70), priority_class("low", 5)])
    take([Change("low", None), Change("unknown", None)])
    watched.pods(present(of_class("high", "1")), present(of_class("low", "2")))
    assert watched.state.list_held().keys() == {"2"}


# --- what a pod's status says -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "0/2 nodes"),
        ({"status": "True"}, ""),
        ({"reason": "SchedulerError"}, ""),
        ({"type": "Ready"}, ""),
    ],
)
def test_a_reason_is_that_of_the_condition_unschedulable(watched, change, message):
    made = pod("a", reason="0/2 nodes")
    condition = replace(made.status.conditions[0], **change)
    watched.pods(present(replace(made, status=replace(made.status, conditions=(condition,)))))
    assert watched.record("pod-a").message == message


def test_a_reason_that_somebody_else_writes_is_taken_over(watched):
    watched.pods(present(pod("a")))
    watched.pods(present(pod("a", reason="elsewhere")))
    assert watched.record("pod-a").message == "elsewhere"
    watched.record("pod-a").said_here = True
    watched.pods(present(pod("a", reason="again")))
    assert watched.record("pod-a").message == "elsewhere"


def test_a_pod_is_announced_when_it_is_first_seen(watched):
    watched.pods(present(pod("a")))
    watched.now = 150.0
    watched.pods(present(pod("a", cpu="200m")), present(pod("b")))
    assert [watched.record(f"pod-{each}").announced_at for each in "ab"] == [100.0, 150.0]


@pytest.mark.parametrize(
    ("phases", "ran"), [(["Pending"], False), (["Running"], True), (["Running", "Pending"], True)]
)
def test_a_pod_that_has_run_once_has_run(watched, phases, ran):
    for phase in phases:
        watched.pods(present(pod("a", node="n1", phase=phase)))
    assert watched.record("pod-a").ran is ran


# --- nominations ------------------------------------------------------------------------------------------------------


def nominated(view: SolverView) -> set[str]:
    """Return the pods of which records say that places are kept for them."""
    return {name for kind, name in view.records if "Nominat" in kind or "nominat" in kind}


def test_places_kept_for_pods_of_others_are_told_until_these_leave(watched):
    theirs = pod("b", scheduler="other", nominated="n2")
    watched.pods(present(theirs))
    before = {*watched.view.records}
    watched.pods(gone(theirs))
    [(kind, _)] = before - {*watched.view.records}
    assert "omin" in kind


def test_our_own_nominations_are_told_of_pods_that_wait(watched):
    watched.pods(present(pod("a", nominated="n1")), present(pod("c", nominated="n1", node="n1")))
    assert nominated(watched.view) == {"pod-a"}
    watched.pods(gone(pod("a", nominated="n1")))
    assert nominated(watched.view) == set()


# --- workloads, DaemonSets, services ----------------------------------------------------------------------------------


def test_jobs_follow_their_pods_from_one_owner_to_another(watched):
    watched.pods(present(pod("a", owner="web")))
    assert [job.name for job in watched.view.jobs.values()] == ["default/ReplicaSet/web"]
    watched.pods(present(pod("a", owner="api")))
    assert [job.name for job in watched.view.jobs.values()] == ["default/ReplicaSet/api"]
    watched.pods(present(pod("a", owner="api", cpu="2")))
    assert len(watched.view.jobs) == 1
    watched.pods(gone(pod("a")))
    assert watched.view.jobs == {}


def of_daemon_set(name: str, uid: str = "u1"):
    owner = OwnerReference(kind="DaemonSet", name="agent", uid=uid, controller=True, api_version="apps/v1")
    made = pod(name)
    return replace(made, metadata=replace(made.metadata, owner_references=(owner,)))


def daemon_set(uid: str = "u1") -> Change[ScaledOwner]:
    return Change(uid, ScaledOwner(metadata=ObjectMeta(name="agent", namespace="default", uid=uid)))


def test_pods_of_a_daemon_set_may_come_before_it():
    watched = Watched("load_threshold")
    if not watched.state.follows(kinds.DAEMON_SET):
        pytest.skip("no model needs to know")
    watched.pods(present(of_daemon_set("a")), present(pod("b")))
    before = watched.view.tasks["pod-a"].task_class
    watched.state.handlers[kinds.DAEMON_SET]([daemon_set("another")])
    assert watched.tell() == []
    watched.state.handlers[kinds.DAEMON_SET]([daemon_set()])
    assert watched.tell()
    assert watched.view.tasks["pod-a"].task_class != before


def service(uid: str = "s", **selector: str) -> Change[Service]:
    metadata = ObjectMeta(name=uid, namespace="default", uid=uid)
    return Change(uid, Service(metadata=metadata, spec=ServiceSpec(selector=selector)))


def labelled(name: str, **labels: str):
    made = pod(name)
    return replace(made, metadata=replace(made.metadata, labels=labels))


def test_services_say_which_pods_are_spread(watched):
    watched.pods(present(labelled("a", app="web")), present(labelled("b", app="db")))
    assert [watched.record(uid).task.spread for uid in ("pod-a", "pod-b")] == ["", ""]
    watched.state.handlers[kinds.SERVICE]([service(app="web")])
    assert watched.tell()
    spread = watched.record("pod-a").task.spread
    assert spread
    assert watched.record("pod-b").task.spread == ""
    watched.state.handlers[kinds.SERVICE]([service(app="web")])
    assert watched.tell() == []
    watched.pods(present(labelled("c", app="web")))
    assert watched.record("pod-c").task.spread == spread
    watched.state.handlers[kinds.SERVICE]([Change("s", None)])
    assert watched.record("pod-a").task.spread == ""


# --- pods that cannot be handled, and pods to be explained ------------------------------------------------------------


class BrokenError(Exception):
    """A fault that a test puts in."""


def test_a_pod_that_cannot_be_handled_holds_up_no_other_and_counts_where_it_runs(
    watched, monkeypatch, may_set_aside
):
    stores = watched.state
    translate = stores.spreading.group

    def fail(uid, found):
        if found.metadata.name == "bad" and found.spec.containers:
            raise BrokenError("no")
        return translate(uid, found)

    monkeypatch.setattr(stores.spreading, "group", fail)
    watched.pods(present(pod("bad", node="n1")), present(pod("a")))
    assert watched.view.tasks.keys() >= {"pod-a"}
    assert stores.quarantine.reason("pods", "pod-bad")
    monkeypatch.setattr(stores.spreading, "group", translate)
    watched.pods(present(pod("bad", node="n1")))
    assert not stores.quarantine.reason("pods", "pod-bad")
    assert "pod-bad" in watched.view.tasks


def test_a_store_that_fails_keeps_no_other_from_forgetting_a_pod(watched, monkeypatch, may_set_aside):
    watched.pods(present(pod("a", owner="web")))

    def fail(_):
        raise BrokenError("no")

    monkeypatch.setattr(watched.state.history, "forget_pod", fail)
    watched.pods(gone(pod("a")))
    assert watched.view.tasks == {}
    assert watched.view.jobs == {}
    assert len(watched.state.quarantine) == 0, "it is gone, so nothing of it is set aside"


def test_a_pod_that_waits_is_offered_to_be_explained(watched):
    watched.pods(present(of_class("high")), present(pod("runs", node="n1")))
    watched.state.send_for_explanation("pod-a")
    assert "tasks" in watched.tell()
    assert "pod-a" in watched.view.tasks
    watched.state.send_for_explanation("pod-runs")
    watched.state.send_for_explanation("unknown")
    assert watched.tell() == []


def test_a_pod_that_leaves_its_node_is_still_there_until_it_is_gone(watched):
    watched.pods(present(pod("a", node="n1", phase="Running")))
    watched.pods(present(pod("a", node="n1", phase="Running", deleting=True)))
    assert watched.view.tasks["pod-a"].machine == "n1"
    watched.pods(gone(pod("a")))
    assert watched.view.tasks == {}


@pytest.mark.parametrize(("scheduler", "told"), [("poseidon", True), ("other", False)])
def test_our_pods_that_a_kubelet_refuses_are_told_and_leave_their_node(watched, scheduler, told):
    watched.pods(present(pod("a", node="n1", scheduler=scheduler)))
    assert watched.view.tasks["pod-a"].machine == "n1"
    watched.state.take_actions()
    refused = pod("a", node="n1", scheduler=scheduler, phase="Failed")
    watched.pods(present(replace(refused, status=replace(refused.status, reason="OutOfcpu"))))
    assert watched.view.tasks == {}
    assert bool([each for each in watched.state.take_actions() if isinstance(each, AnnounceRefused)]) is told


def test_a_pod_of_another_scheduler_joins_no_job_and_no_group(watched):
    watched.pods(present(pod("a", scheduler="other", node="n1", owner="web")))
    assert (watched.view.jobs, watched.record("pod-a").task.job) == ({}, "")
    watched.pods(present(pod("b", node="n1", owner="web")))
    assert len(watched.view.jobs) == 1
