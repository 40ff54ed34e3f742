"""Columns of resources come and go with the machines that offer them; what tasks ask for makes none."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, Event, MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.resources import FIRST_RESOURCES, LEAST_SURPLUS
from firmament.core.scheduler import Scheduler
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, messages, placed, scheduler, tasks
from tests.support.memory import array_bytes

MIB = 2**20
NAMES = [f"example.com/resource-{number:05d}" for number in range(20_000)]


def cluster_of(core: Scheduler) -> Cluster:
    return core._cluster


def many_machines(count: int) -> list[Event]:
    return [machine(f"m{number}") for number in range(count)]


def test_a_task_with_20000_resource_names_costs_no_column():
    core = scheduler(many_machines(5_000))
    core.run_round()
    before = array_bytes(core)
    hostile = TaskClass(requests=tuple((name, 1) for name in NAMES))
    core.apply([*tasks(1, "hostile", content=hostile), *tasks(2, "a", "b")])
    result = core.run_round()
    assert placed(result).keys() == {"a", "b"}
    result = core.run_round()  # so many names are more work than others should wait for
    assert messages(result)["hostile"] == f"0/5000 nodes are available: 5000 Insufficient {NAMES[0]}."
    assert array_bytes(core) - before < 50 * MIB
    assert len(cluster_of(core).resources) == len(FIRST_RESOURCES)


def test_columns_of_machines_that_are_gone_are_taken_back():
    core = scheduler(many_machines(100))
    cluster = cluster_of(core)
    before = array_bytes(core)
    for begin in range(0, 50_000, 500):
        names = {f"example.com/{begin + number}": 1 for number in range(500)}
        core.apply([machine("rare", extended=names)])
        core.apply([MachineRemoved("rare")])
        assert len(cluster.resources) < len(FIRST_RESOURCES) + 500 + LEAST_SURPLUS
    assert len(cluster.resources) == len(FIRST_RESOURCES)
    assert cluster.machines.used.shape == cluster.machines.capacity.shape == (100, len(FIRST_RESOURCES))
    assert array_bytes(core) - before < MIB


def test_what_tasks_use_counts_once_a_machine_offers_it():
    device = TaskClass(requests=(("example.com/device", 3),))
    core = scheduler(
        machine("m"), ClassDefined(1, device), TasksBound(machine="m", task_class=1, uids=("t", "u"))
    )
    core.apply([machine("m", extended={"example.com/device": 8})])
    assert next(core.machine_states()).free["example.com/device"] == 2
    core.apply([TaskRemoved("u")])
    assert next(core.machine_states()).free["example.com/device"] == 5


_MACHINES = ("m", "n")
_RESOURCES = tuple("abc")
_AMOUNTS = st.dictionaries(st.sampled_from(_RESOURCES), st.integers(0, 5), max_size=3)
_STEPS = st.lists(
    st.tuples(st.just("machine"), st.sampled_from(_MACHINES), _AMOUNTS)
    | st.tuples(st.just("gone"), st.sampled_from(_MACHINES), st.none())
    | st.tuples(st.just("bound"), st.sampled_from(_MACHINES), st.integers(0, 2))
    | st.tuples(st.just("removed"), st.integers(0, 9), st.none())
    | st.tuples(st.just("columns"), st.none(), st.none()),
    min_size=1,
    max_size=25,
)


class Books:
    """What machines offer and tasks request, in plain dictionaries, which know of no columns."""

    def __init__(self, requests: list[dict[str, int]]) -> None:
        self.requests = requests
        self.offered: dict[str, dict[str, int]] = {}
        self.running: dict[str, tuple[str, int]] = {}

    def step(self, core: Scheduler, count: int, what: str, which: object, detail: object) -> None:
        match what, which, detail:
            case "machine", str(name), dict(amounts):
                core.apply([machine(name, extended=amounts)])
                self.offered[name] = {"cpu": 4000, "pods": 110, **amounts}
            case "gone", str(name), _:
                core.apply([MachineRemoved(name)])
                self.offered.pop(name, None)
            case "bound", str(name), int(number):
                core.apply([TasksBound(machine=name, task_class=number + 1, uids=(f"t{count}",))])
                self.running[f"t{count}"] = name, number
            case "removed", int(place), _ if self.running:
                uid = list(self.running)[place % len(self.running)]
                core.apply([TaskRemoved(uid)])
                del self.running[uid]
            case "columns", _, _:
                cluster_of(core).forget_resources()

    def left(self, name: str) -> Counter[str]:
        left = Counter(self.offered[name])
        for where, number in self.running.values():
            if where == name:
                left.subtract({**self.requests[number], "pods": 1})
        return left


@given(st.lists(_AMOUNTS, min_size=3, max_size=3), _STEPS)
def test_what_fits_is_what_machines_offer_less_what_tasks_request(requests, steps):
    core, books = scheduler(), Books(requests)
    contents = [TaskClass(requests=tuple(sorted(each.items()))) for each in requests]
    core.apply([ClassDefined(number + 1, content) for number, content in enumerate(contents)])
    for count, step in enumerate(steps):
        books.step(core, count, *step)
    machines, names = cluster_of(core).machines, cluster_of(core).resources.names
    for name, allocatable in books.offered.items():
        free = (machines.capacity - machines.used)[machines.row_of[name]]
        told = {each: amount for each, amount in zip(names, free.tolist(), strict=True) if each in "pods abc"}
        assert told == {each: books.left(name)[each] for each in told}
        assert {each for each, amount in allocatable.items() if amount} <= set(names)
    core.apply([TasksSubmitted(number + 1, (f"new{number}",)) for number in range(3)])
    for number, wanted in enumerate(requests):
        for verdict in core.explain(f"new{number}").machines:
            left = books.left(verdict.machine)
            assert verdict.feasible == all(left[name] >= amount for name, amount in wanted.items() if amount)
