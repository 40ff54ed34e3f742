"""Simulated nodes: what they offer, when they come and go, and how much of them is fragmented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from poseidon.nodes.machines import machine
from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.measurements import Record, measure_fragmentation
from poseidon.simulate.node_events import NodeChange, NodeEvents
from poseidon.simulate.nodes import ZONE, PoolError, SimulatedMachines, check_pool, nodes_of
from poseidon.simulate.scenario.document import Autoscaling, Drain, Failures, NodePool
from poseidon.simulate.scenario.durations import Durations
from poseidon.simulate.tasks import TaskColumns
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate
from protos.firmament.v1 import scheduler_pb2 as pb


def pool(name: str = "p", cpu: Any = 4, **more: Any) -> NodePool:
    return NodePool(name=name, allocatable={"cpu": cpu}, **more)


def made(given: NodePool, count: int, first: int = 0) -> list[pb.Machine]:
    return [machine(each)[0] for each in nodes_of(given, first, count)]


def test_the_nodes_of_a_pool_are_numbered_and_shared_out_over_zones():
    given = pool(zones=("a", "b"), labels={"x": "y"}, taints=({"key": "t", "effect": "NoSchedule"},))
    found = list(nodes_of(given, 1, 3))
    assert [each.metadata.name for each in found] == ["p-1", "p-2", "p-3"]
    assert [each.metadata.labels[ZONE] for each in found] == ["b", "a", "b"]
    assert found[0].metadata.labels["kubernetes.io/hostname"] == "p-1"
    assert found[0].metadata.labels["x"] == "y"
    assert [each.key for each in found[0].spec.taints] == ["t"]
    assert found[0].status.allocatable == {"pods": "110", "cpu": "4"}
    assert ZONE not in next(nodes_of(pool(), 0, 1)).metadata.labels


@pytest.mark.parametrize("given", [pool(cpu="much"), pool(labels={"-": "x"}, cpu="much")])
def test_a_pool_that_makes_no_sense_is_named(given):
    check_pool(pool())
    with pytest.raises(PoolError, match=r"cluster\.pools \(p\)"):
        check_pool(given)


def machines(*given: NodePool, later: Any = ()) -> SimulatedMachines:
    return SimulatedMachines([each for one in given for each in made(one, one.count)], later)


def test_machines_offer_amounts_by_resource():
    found = machines(pool(count=2), pool("q", cpu=8), later=["gpu"])
    assert found.resources == ("cpu", "gpu", "memory", "pods")
    assert found.offered.tolist() == [[4000, 0, 0, 110], [4000, 0, 0, 110], [8000, 0, 0, 110]]
    assert len(found) == 3
    assert found.number == {"p-0": 0, "p-1": 1, "q-0": 2}
    assert found.add(made(pool("r", cpu=1), 2)) == [3, 4]
    assert found.offered[3:].tolist() == [[1000, 0, 0, 110]] * 2
    assert found.add([]) == []
    assert found.there.tolist() == found.open.tolist() == [True] * 5


def test_machines_go_and_come_back():
    found = machines(pool(count=2))
    event = found.cordon(0)
    assert (event.machine.name, event.machine.unschedulable) == ("p-0", True)
    assert (found.there.tolist(), found.open.tolist()) == ([True, True], [False, True])
    assert found.remove(1).machine_removed == "p-1"
    assert found.there.tolist() == [True, False]
    assert not found.bring_back(1).machine.unschedulable
    assert found.there.tolist() == [True, True]
    assert not found.bring_back(0).machine.unschedulable
    assert found.open.tolist() == [True, True]
    closed = made(pool("c"), 1)
    closed[0].unschedulable = True
    assert found.describe(found.add(closed)[0]).machine.unschedulable


def test_a_machine_may_change_or_be_new():
    found = machines(pool(count=2))
    found.cordon(1)
    found.remove(1)
    assert found.update(made(pool(cpu=9), 1, 1)[0]) == 1
    assert found.offered[:, 0].tolist() == [4000, 9000]
    assert found.there.tolist() == found.open.tolist() == [True] * 2
    assert found.update(made(pool("n", cpu=1), 1)[0]) == 2
    assert found.names == ["p-0", "p-1", "n-0"]


# --- events -------------------------------------------------------------------------------------------------------


def make_kinds(*cpus: int) -> TaskKinds:
    count = len(cpus)
    requests = np.array([[cpu, 0, 1] for cpu in cpus], dtype=np.int64).reshape(count, 3)
    names = tuple(f"k{at}" for at in range(count))
    return TaskKinds(names, (pb.TaskClass(),) * count, (0,) * count, ("",) * count, requests, (None,) * count)


def make_tasks(*templates: int) -> TaskColumns:
    count = len(templates)
    kinds = [WorkTemplate(f"k{at}", {}) for at in range(max(templates, default=0) + 1)]
    numbers = np.array(templates, dtype=np.int64)
    alone = np.full(count, ALONE, dtype=np.int64)
    return TaskColumns(Work(kinds, np.zeros(count), np.full(count, 100.0), numbers, alone))


class Scene:
    def __init__(
        self, *pools: NodePool, failures: Failures | None = None, drains: tuple[Drain, ...] = ()
    ) -> None:
        self.machines = machines(*pools)
        members: dict[str, list[int]] = {}
        for name, number in self.machines.number.items():
            members.setdefault(name.rpartition("-")[0], []).append(number)
        self.members = {each.name: members.get(each.name, []) for each in pools}
        random = np.random.default_rng(1)
        self.events = NodeEvents({each.name: each for each in pools}, self.members, failures, drains, random)
        self.tasks, self.kinds = make_tasks(), make_kinds(1)

    def take(self, now: float) -> list[tuple[str, int]]:
        found = self.events.take(now, self.machines, self.tasks, self.kinds)
        for change, number in found:
            if change is NodeChange.REMOVE:
                self.machines.remove(number)
        return [(change.value, number) for change, number in found]


def test_nodes_are_drained_for_a_while():
    scene = Scene(pool(count=3), drains=(Drain(at=10.0, nodes=2, pool="p", lasts=5.0),))
    assert scene.events.next_time() == 10.0
    assert scene.take(9.9) == []
    assert scene.take(10.0) == [("drain", 0), ("drain", 1)]
    assert scene.events.next_time() == 15.0
    assert scene.take(20.0) == [("return", 0), ("return", 1)]
    assert scene.events.next_time() is None
    gone = Scene(pool(count=1), drains=(Drain(at=10.0, nodes=1, pool="p", lasts=5.0),))
    gone.machines.remove(0)
    assert gone.take(10.0) == [], "it is not there"


def test_nodes_fail_and_come_back_and_fail_again():
    failures = Failures(every=1000.0, repair=Durations(mean=7.0))
    scene = Scene(pool(count=1), failures=failures)
    first = scene.events.next_time()
    assert first is not None
    assert scene.take(first) == [("fail", 0)]
    assert scene.events.next_time() == first + 7.0
    assert scene.take(first + 7.0) == [("return", 0)]
    assert scene.events.next_time() is not None
    scene.events.cancel_all()
    assert scene.events.next_time() is None


GROWING = Autoscaling(least=1, most=4, delay=20.0, idle=100.0, every=30.0)


def test_a_pool_grows_by_what_waits_and_shrinks_when_it_is_empty():
    scene = Scene(pool(count=1, autoscaling=GROWING))
    scene.tasks, scene.kinds = make_tasks(0, 0, 0, 1), make_kinds(3000, 9000)
    scene.tasks.arrive(np.arange(4))
    assert scene.take(30.0) == []
    assert scene.events.next_time() == 50.0, "9 of CPU fill three nodes of 4; what fits on none asks for none"
    assert scene.take(50.0) == [("add", 1), ("add", 2), ("add", 3)]
    assert scene.machines.names == ["p-0", "p-1", "p-2", "p-3"]
    assert scene.members == {"p": [0, 1, 2, 3]}
    assert scene.take(60.0) == []
    assert scene.events.next_time() == 90.0, "it is as large as it may be"
    for task, number in ((0, 0), (1, 1), (2, 2)):
        scene.tasks.place(task, number, 61.0)
    assert scene.take(179.0) == [], "it has been empty since 60"
    assert scene.take(180.0) == [("remove", 3)]
    assert scene.take(240.0) == []


def test_nodes_that_are_on_their_way_are_not_ordered_again():
    scene = Scene(pool(count=0, autoscaling=Autoscaling(most=9, delay=100.0)))
    scene.tasks, scene.kinds = make_tasks(0, 0), make_kinds(3000)
    scene.tasks.arrive(np.arange(1))
    assert scene.take(30.0) == []
    scene.tasks.arrive(np.arange(2))
    assert scene.take(60.0) == []
    assert scene.take(130.0) == [("add", 0)]
    assert scene.take(160.0) == [("add", 1)]


def test_the_least_nodes_stay():
    scene = Scene(pool(count=3, autoscaling=GROWING))
    assert scene.take(129.0) == []
    assert scene.take(130.0) == []
    assert scene.take(150.0) == [("remove", 0), ("remove", 1)]
    assert scene.take(900.0) == []


# --- measurements -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "requests", "weights", "part"),
    [
        ([[4, 1], [4, 0]], [[2, 1]], [1.0], 0.5),
        ([[4, 1], [1, 1]], [[2, 1]], [1.0], 0.2),
        ([[4, 1], [1, 1]], [[2, 1], [9, 0]], [0.5, 0.5], 0.6),
        ([[2, 1]], [[2, 1]], [1.0], 0.0),
        ([[0, 1]], [[2, 1]], [1.0], 0.0),
        ([[-5, 1], [4, 1]], [[2, 1]], [1.0], 0.0),
        ([[4, 1]], [], [], 0.0),
    ],
)
def test_what_is_free_where_a_task_does_not_fit_is_fragmented(free, requests, weights, part):
    asked = np.array(requests, dtype=np.int64).reshape(len(requests), 2)
    found = measure_fragmentation(np.array(free, dtype=np.int64), asked, np.array(weights), 0)
    assert found == pytest.approx(part)


def test_points_are_taken_at_equal_intervals():
    kinds = make_kinds(3000)
    record = Record(10.0, kinds, np.array([1.0]))
    found, tasks = machines(pool(count=3)), make_tasks(0, 0, 0)
    record.sample_until(0.0, tasks, found)
    assert record.at == []
    tasks.arrive(np.arange(3))
    tasks.place(0, 1, 0.0)
    found.remove(2)
    record.sample_until(15.0, tasks, found)
    assert record.at == [0.0, 10.0]
    record.sample_until(20.0, tasks, found)
    assert record.at == [0.0, 10.0]
    record.sample_until(20.0, tasks, found, last=True)
    assert record.at == [0.0, 10.0, 20.0]
    assert record.running == [1] * 3
    assert record.waiting == [2] * 3
    assert record.nodes == [2] * 3
    assert record.empty == [1] * 3
    assert record.requested[0] == [3000, 0, 1]
    assert record.offered[0] == [8000, 0, 220]
    assert record.fragmented[0] == pytest.approx(1 / 5)


def test_rounds_are_summed():
    record = Record(10.0, make_kinds(1), np.array([1.0]))
    stats = pb.RoundStats(
        cost=5,
        certified=True,
        snapshot_seconds=1.0,
        network_seconds=2.0,
        solve_seconds=4.0,
        admit_seconds=8.0,
    )
    record.take_round(pb.RoundResult(stats=stats))
    record.take_round(pb.RoundResult(stats=pb.RoundStats(cost=2)))
    assert (record.rounds, record.uncertified, record.cost, record.round_seconds) == (2, 1, 7, [15.0, 0.0])
