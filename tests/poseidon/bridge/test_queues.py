"""What pods wait for is counted; and how long the solver takes with what it is told."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from firmament.core.diagnosis.failed_scheduling_message import explain_too_few_places
from firmament.core.reasons import Reason, lack_of
from poseidon import plan
from poseidon.bridge.solver_stream.batches import AnswerTimes
from poseidon.bridge.unschedulable_plugins import OTHER, PLUGINS, plugins_of
from poseidon.bridge.waiting_pod_metrics import QUEUES, QueueDepths
from poseidon.lifecycle.phases import Phase, PodRecord
from poseidon.volumes import requirements
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.documentation.markdown import ROOT


def record(phase=Phase.PENDING, *, schedulable=True, **fields) -> PodRecord:
    return PodRecord(task=None, schedulable=schedulable, phase=phase, **fields)  # type: ignore[arg-type]


def depths(*records: PodRecord) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(QueueDepths(lambda: records))
    found = {each: registry.get_sample_value("poseidon_queue_pods", {"queue": each}) for each in QUEUES}
    return {queue: value for queue, value in found.items() if value}


def test_each_pod_is_counted_by_what_holds_it_back():
    found = depths(
        record(),
        record(),
        record(message="0/1 nodes are available"),
        record(Phase.HELD, group_wait="waits for its group"),
        record(Phase.HELD, claims_wait="waits for a claim"),
        record(Phase.HELD, priority_wait="waits for its class", group_wait="and its group"),
        record(Phase.HELD, fault="cannot be dealt with", claims_wait="waits for a claim"),
        record(Phase.WAITING, binding="n1"),
    )
    assert found == {
        "active": 2,
        "unschedulable": 1,
        "group": 1,
        "claims": 1,
        "priority_class": 1,
        "set_aside": 1,
        "leaving_room": 1,
    }


def test_pods_with_a_node_and_pods_that_are_not_to_be_placed_wait_for_nothing():
    assert (
        depths(record(Phase.BOUND, node="n1"), record(Phase.BINDING, binding="n1"), record(schedulable=False))
        == {}
    )


def words_of(module) -> set[str]:
    return {each for name, each in vars(module).items() if name.isupper() and isinstance(each, str)}


def test_every_reason_of_solver_and_bridge_belongs_to_a_plugin():
    known = {each.value for each in Reason} | words_of(requirements)
    known = {each for each in known if "node(s)" in each or each == Reason.TOO_MANY.value}
    assert len(known) > 20
    for words in (*known, lack_of("cpu").words, explain_too_few_places("volumes")):
        assert plugins_of(f"0/4 nodes are available: 4 {words}.") != (OTHER,), words


@pytest.mark.parametrize(
    ("files", "config", "expected"),
    [
        (("cohort.yaml", "fair.yaml"), "fair-config.yaml", {("Quota",)}),
        (("two-queues.yaml", "jobs.yaml"), "config.yaml", {("Coscheduling", "Quota")}),
    ],
)
def test_pods_that_wait_for_quota_are_counted_so(files, config, expected):
    folder = ROOT / "examples" / "17-queues"
    made = plan(*(str(folder / each) for each in ("nodes.yaml", *files)), config=str(folder / config))
    waiting = [each for each in made.pending if "quota" in each.reason]
    assert waiting
    assert {plugins_of(each.reason) for each in waiting} == expected


def test_unschedulable_pods_are_counted_by_plugins_of_a_fixed_list():
    registry = CollectorRegistry()
    messages = [
        "0/4 nodes are available: 3 Insufficient cpu, 1 node(s) had untolerated taint(s) {a: b}.",
        "0/4 nodes are available: 4 Insufficient x. preemption: 0/4 nodes are available: 4 node(s) were unschedulable",
        "words of somebody else",
    ]
    records = [record(message=each) for each in messages] + [record()]
    registry.register(QueueDepths(lambda: records))
    (family,) = (each for each in registry.collect() if each.name == "poseidon_unschedulable_pods")
    found = {each.labels["plugin"]: each.value for each in family.samples}
    assert tuple(found) == PLUGINS
    assert {name: value for name, value in found.items() if value} == {
        "NodeResourcesFit": 2,
        "TaintToleration": 1,
        OTHER: 1,
    }


def tasks(*uids: str) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(uids=uids))


def placed(*uids: str) -> list[pb.Delta]:
    return [pb.Delta(kind=pb.Delta.PLACE, task=uid, machine="n") for uid in uids]


def test_the_time_from_being_told_of_a_pod_to_placing_it():
    now, seen = [10.0], list[float]()
    times = AnswerTimes(lambda: now[0], seen.append)
    times.note_sent([pb.Event(machine_removed="n"), tasks("a", "b")])
    now[0] = 10.5
    times.note_sent([tasks("a")])  # told anew: the first time counts
    times.note_answers(placed("b"))
    assert seen == []
    now[0] = 12.0
    times.note_answers(placed("a", "b"))
    times.note_answers(placed("a"))
    assert seen == [2.0]


def test_pods_that_find_no_place_are_forgotten():
    seen = list[float]()
    times = AnswerTimes(lambda: 0.0, seen.append)
    for number in range(5000):
        times.note_sent([tasks(f"p{number}")])
    times.note_answers(placed("p0", "p4999"))
    assert seen == [0.0]
