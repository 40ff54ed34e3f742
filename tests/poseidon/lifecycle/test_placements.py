"""Placements that cannot be made: the solver is told, and whether to try again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.lifecycle.actions import AnnounceScheduled, Bind, Evict
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.devices.objects import allocation, with_claims
from tests.poseidon.devices.objects import claim as device_claim
from tests.poseidon.volumes.objects import claim, storage_class, volume


def told_again(events) -> list[str]:
    return [uid for each in events if each.HasField("tasks") for uid in each.tasks.uids]


def test_a_pod_whose_claims_allow_no_node_any_more_is_tried_again():
    harness = Harness()
    harness.pods(present(pod("a")))
    found = harness.state.tasks.get("pod-a")
    assert found is not None
    found.claims_refuse = "its volume is elsewhere"
    assert harness.place("pod-a", "n1") == []
    reports, _ = harness.sync()
    assert [(each.task, each.bound, each.reason, each.retry) for each in reports] == [
        ("pod-a", False, "its volume is elsewhere", True)
    ]


@pytest.mark.parametrize("machine", ["unknown", "n2"])
def test_a_pod_that_was_placed_on_a_node_that_is_gone_is_told_again(machine):
    harness = Harness()
    harness.pods(present(pod("a")))
    harness.state.nodes_changed([gone(node("n2"))])
    harness.sync()
    assert harness.delta("pod-a", machine) == []
    reports, events = harness.state.take_reports(), list(harness.state.take_events())
    assert [(each.task, each.bound, each.reason, each.retry) for each in reports] == [
        ("pod-a", False, f"node {machine} is gone", True)
    ]
    assert told_again(events) == ["pod-a"], "whatever the solver has done with it when the machine went"


def test_a_pod_that_is_gone_is_not_tried_again():
    harness = Harness()
    harness.delta("pod-a", "n1")
    [report] = harness.state.take_reports()
    assert (report.task, report.machine, report.reason, report.retry) == (
        "pod-a",
        "n1",
        "the pod is gone",
        False,
    )


def test_a_pod_that_must_not_be_scheduled_is_not_tried_again():
    harness = Harness()
    harness.pods(present(pod("a")))
    found = harness.state.tasks.get("pod-a")
    assert found is not None
    harness.state.tasks.hold(found, group="it waits for its group")
    assert harness.delta("pod-a", "n1") == []
    [report] = harness.state.take_reports()
    assert (report.reason, report.retry) == ("the pod must not be scheduled now", False)


def test_a_pod_that_depends_on_one_that_is_not_bound_gives_its_place_back():
    harness = Harness()
    harness.pods(present(pod("a")), present(pod("b")), present(pod("c", node="n1")))
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1", depends_on=["pod-b", "pod-c", "gone"])
    harness.state.on_round(result)
    assert not [each for each in harness.state.take_actions() if isinstance(each, Bind)]
    assert [(each.task, each.bound, each.reason, each.retry) for each in harness.state.take_reports()] == [
        ("pod-a", False, "depends on default/b, which was not bound", True)
    ]


def test_a_pod_that_depends_on_bound_pods_or_on_such_as_are_gone_need_not_wait():
    harness = Harness()
    harness.pods(present(pod("a")), present(pod("c", node="n1")))
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1", depends_on=["pod-c", "gone"])
    harness.state.on_round(result)
    assert [type(each) for each in harness.state.take_actions()] == [Bind]


@pytest.fixture
def harness():
    return Harness()


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


def test_the_watch_may_be_faster_than_the_answer(harness):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    _, events = harness.pods(present(pod("a", node="n1")))
    assert not events
    harness.outcome(bind)
    reports, events = harness.sync()
    assert [r.bound for r in reports] == [True]
    assert not events


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


# --- pods with claims -------------------------------------------------------------------------------------------------


def mounting(name, **more):
    made = pod(name, **more)
    mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
    return replace(made, spec=replace(made.spec, volumes=(mounted,)))


def with_one_volume(mode, *pods):
    harness = Harness()
    harness.state.handlers[kinds.STORAGE_CLASS]([storage_class()])
    harness.state.handlers[kinds.VOLUME]([volume("v", to="default/data", modes=(mode,))])
    harness.state.handlers[kinds.CLAIM]([claim("data", volume="v", modes=(mode,))])
    harness.pods(*(present(each) for each in pods))
    return harness


def test_a_pod_whose_claims_are_bound_is_bound_at_once():
    harness = with_one_volume("ReadWriteOnce", mounting("a"))
    [bind] = harness.place("pod-a", "n1")
    assert (type(bind), bind.node) == (Bind, "n1")


def test_of_two_pods_that_one_round_gives_the_same_volume_the_second_gets_no_node_and_is_tried_again():
    harness = with_one_volume("ReadWriteOncePod", mounting("a"), mounting("urgent", priority=10))
    result = pb.RoundResult(round=1)
    for uid in ("pod-urgent", "pod-a"):
        record = harness.state.tasks.get(uid)
        assert record is not None
        record.claims_refuse = ""  # the round began before either was known
        result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine="n1")
    harness.state.on_round(result)
    binds = [each for each in harness.state.take_actions() if isinstance(each, Bind)]
    assert [each.pod.name for each in binds] == ["urgent"]
    [report] = harness.state.take_reports()
    assert (report.task, report.bound, report.retry) == ("pod-a", False, True)


def test_nobody_is_evicted_for_a_pod_whose_claims_allow_no_node():
    harness = Harness()
    harness.pods(present(pod("victim", node="n1")), present(pod("preemptor", priority=10)))
    found = harness.state.tasks.get("pod-preemptor")
    assert found is not None
    found.claims_refuse = "its volume is elsewhere"
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="pod-victim", machine="n1")
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-preemptor", machine="n1", depends_on=["pod-victim"])
    harness.state.on_round(result)
    assert not [each for each in harness.state.take_actions() if isinstance(each, Evict)]
    assert {(each.task, each.bound, each.retry) for each in harness.state.take_reports()} == {
        ("pod-victim", False, True),
        ("pod-preemptor", False, True),
    }


def test_a_pod_that_finds_no_node_gives_back_the_devices_that_only_waiting_pods_hold():
    harness = Harness()
    harness.state.device_claims_changed(
        [present(device_claim("gpu", given=allocation("d0"), reserved=("a",)))]
    )
    harness.pods(present(with_claims(pod("a"), "gpu")))
    harness.state.take_actions()
    actions = harness.unscheduled("no room", "pod-a")
    [write] = [each for each in actions if isinstance(each, DeviceClaimWrite)]
    assert (write.join, write.leave) == ((), ("pod-a",))


# --- nodes that come back ---------------------------------------------------------------------------------------------


def test_a_pod_that_is_placed_on_a_node_that_was_gone_meanwhile_is_told_again():
    """The round may have begun before; the solver then forgot the pod with the node."""
    harness = Harness()
    harness.pods(present(pod("a")))
    harness.state.nodes_changed([gone(node("n1"))])
    harness.sync()
    harness.state.nodes_changed([present(node("n1"))])
    [bind] = harness.delta("pod-a", "n1")
    assert (type(bind), bind.node) == (Bind, "n1")
    events = list(harness.state.take_events())
    assert [(each.bound.machine, list(each.bound.uids)) for each in events if each.HasField("bound")] == [
        ("n1", ["pod-a"])
    ]


def test_a_pod_that_is_placed_on_a_node_that_stayed_is_not_told_again():
    harness = Harness()
    harness.pods(present(pod("a")))
    [_] = harness.place("pod-a", "n1")
    assert list(harness.state.take_events()) == []
