"""Hot machines are relieved: nobody becomes hot for it, nothing is overcommitted, and few tasks move."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cost_models.load_aware.load_threshold import LoadThreshold
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.diagnosis.task_and_machine_states import Measured
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineSampled,
    MachineUpserted,
    TasksBound,
    TaskUses,
)
from firmament.core.model import Machine, Taint, TaskClass
from firmament.core.rescheduling.hot_machines import Relief, ReliefMove, _MeasuredUse, relieve
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples

CPU, NOW = 10_000, 1_000_000.0
THRESHOLD = 70.0


@dataclass
class Load:
    """Tasks that run: machine, request and true use of cpu by uid."""

    machines: int
    tasks: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    tainted: frozenset[str] = frozenset()

    def used(self, machine: str) -> int:
        return sum(use for where, _, use in self.tasks.values() if where == machine)

    def requested(self, machine: str) -> int:
        return sum(request for where, request, _ in self.tasks.values() if where == machine)

    def hot(self) -> set[str]:
        return {name for name in self.names() if self.used(name) > CPU * THRESHOLD / 100}

    def names(self) -> list[str]:
        return [f"m{index}" for index in range(self.machines)]

    def moved(self, relief: Relief) -> Load:
        tasks = dict(self.tasks)
        for each in relief.moves:
            where, request, use = tasks[each.uid]
            assert where == each.source
            tasks[each.uid] = (each.target, request, use)
        return Load(self.machines, tasks, self.tainted)


def relieved(load: Load, movable: set[str] | None = None, most: int = 100) -> Relief:
    configuration = CoreConfiguration(
        overlays=(WeightedModel(LoadThreshold(usageThresholds={"cpu": 95}), 1),)
    )
    scheduler = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=lambda: NOW)
    requests = sorted({request for _, request, _ in load.tasks.values()})
    taint = (Taint("t", "", "NoSchedule"),)
    events: list[Event] = [
        MachineUpserted(Machine(name, {"cpu": CPU, "pods": 50}, taints=taint if name in load.tainted else ()))
        for name in load.names()
    ]
    events += [
        ClassDefined(number, TaskClass((("cpu", request),))) for number, request in enumerate(requests, 1)
    ]
    for uid, (machine, request, _) in load.tasks.items():
        events.append(TasksBound(machine, requests.index(request) + 1, (uid,), assigned=(1.0,)))
    for name in load.names():
        here = [(uid, use) for uid, (where, _, use) in load.tasks.items() if where == name]
        uses = TaskUses(tuple(uid for uid, _ in here), ("cpu",), tuple(float(use) for _, use in here), ())
        events.append(
            MachineSampled(name, NOW - 5, {"cpu": float(load.used(name))}, interval=60.0, tasks=uses)
        )
    scheduler.apply(events)
    return relieve(scheduler, load.tasks.keys() if movable is None else movable, {"cpu": THRESHOLD}, most)


def random_load(random: Random) -> Load:
    load = Load(random.randint(3, 6), tainted=frozenset(["m2"]) if random.random() < 0.3 else frozenset())
    for name in load.names():
        for index in range(random.randint(0, 9 if name == "m0" else 5)):
            request = random.choice([500, 1000, 1500])
            if load.requested(name) + request <= CPU:
                load.tasks[f"{name}t{index}"] = (name, request, random.randint(0, 2500))
    return load


@pytest.mark.parametrize("seed", range(examples(200)))
def test_hot_machines_cool_and_others_stay_cool(seed):
    load = random_load(Random(seed))
    found = relieved(load)
    after = load.moved(found)
    assert set(found.hot) == load.hot()
    assert set(found.left) == after.hot(), "no other machine has become hot"
    assert all(each.source in found.hot for each in found.moves)
    assert not {each.target for each in found.moves} & load.tainted
    assert all(after.requested(name) <= max(CPU, load.requested(name)) for name in load.names())
    assert len({each.uid for each in found.moves}) == len(found.moves)


@pytest.mark.parametrize("seed", range(examples(200)))
def test_one_move_where_one_is_enough(seed):
    load = random_load(Random(1000 + seed))
    if len(load.hot()) != 1:
        return
    single = [
        (uid, target)
        for uid, (source, request, use) in load.tasks.items()
        for target in load.names()
        if source in load.hot()
        and target != source
        and target not in load.tainted
        and load.used(source) - use <= CPU * THRESHOLD / 100
        and load.used(target) + use <= CPU * THRESHOLD / 100
        and load.requested(target) + request <= CPU
    ]
    found = relieved(load)
    if single:
        assert len(found.moves) == 1


def test_who_uses_much_goes_not_who_requests_much():
    load = Load(3, {"idle": ("m0", 3000, 100), "busy": ("m0", 500, 5000), "other": ("m0", 500, 3000)})
    assert [each.uid for each in relieved(load).moves] == ["other"]


def test_who_may_not_move_stays_and_the_machine_is_told_to_stay_hot():
    load = Load(2, {"a": ("m0", 500, 4000), "b": ("m0", 500, 4000)})
    found = relieved(load, movable=set())
    assert (found.moves, found.left) == ((), ("m0",))


def test_no_more_than_are_allowed():
    load = Load(3, {f"t{index}": ("m0", 100, 1000) for index in range(10)})
    assert len(relieved(load).moves) == 3
    assert len(relieved(load, most=2).moves) == 2


@pytest.mark.parametrize("seed", range(examples(60)))
def test_while_use_goes_up_and_down_nobody_stays_hot_for_five_minutes(seed):
    """A report each minute; moves take until the next one, and use changes meanwhile."""
    random = Random(seed)
    load = random_load(random)
    minutes = dict.fromkeys(load.names(), 0)
    moved = 0
    for _ in range(20):
        found = relieved(load)
        moved += len(found.moves)
        load = drifted(load.moved(found), random)
        for name in load.names():
            is_hot = name in load.hot() and name not in found.left
            minutes[name] = minutes[name] + 1 if is_hot else 0
            assert minutes[name] < 5
    assert moved < 20 * len(load.tasks) / 2, "pods do not go to and fro"


def drifted(load: Load, random: Random) -> Load:
    """Uses are a little more or less than they were."""
    tasks = {
        uid: (
            where,
            request,
            max(0, min(2500, round(use * random.uniform(0.8, 1.2)) + random.randint(-50, 50))),
        )
        for uid, (where, request, use) in load.tasks.items()
    }
    return Load(load.machines, tasks, load.tainted)


def test_a_task_that_uses_nothing_of_one_scarce_resource_is_no_relief():
    """A machine is too hot by 1,000 of cpu and by a tenth of its memory; only one task uses some of both."""
    both = {"cpu": 10_000, "memory": 1_000}
    uses = {"cpu-only": (900, 0), "some": (600, 50), "rest": (6_500, 750)}
    scheduler = Scheduler(
        configuration=CoreConfiguration(
            overlays=(WeightedModel(LoadThreshold(usageThresholds={"cpu": 95}), 1),)
        ),
        solver=OrToolsSolver(),
        clock=lambda: NOW,
    )
    events: list[Event] = [MachineUpserted(Machine(name, {**both, "pods": 50})) for name in ("hot", "cold")]
    events += [
        ClassDefined(1, TaskClass((("cpu", 100),))),
        TasksBound("hot", 1, (*uses,), assigned=(1.0,) * 3),
    ]
    names, amounts = tuple(uses), [float(each) for use in uses.values() for each in use]
    told = TaskUses(names, ("cpu", "memory"), tuple(amounts), ())
    for name, used, tasks in (
        ("hot", (8_000.0, 800.0), told),
        ("cold", (0.0, 0.0), TaskUses((), (), (), ())),
    ):
        measured = dict(zip(both, used, strict=True))
        events.append(MachineSampled(name, NOW - 5, measured, interval=60.0, tasks=tasks))
    scheduler.apply(events)
    found = relieve(scheduler, {"cpu-only", "some"}, dict.fromkeys(both, THRESHOLD), 100)
    assert [each.uid for each in found.moves] == ["some"]
    assert found.left == ("hot",)


# --- the book of measured use ----------------------------------------------------------------------------------------


class Reporting:
    """Stands in for a scheduler that knows measured use of ``cpu`` and ``memory``, and where tasks run."""

    def __init__(self, use: dict[str, float], tasks: dict[str, tuple[str, float]]) -> None:
        self._machines = {uid: machine for uid, (machine, _) in tasks.items()}
        measured = [[cpu, 1.0] for cpu in use.values()]
        self._known = Measured(
            ("cpu", "memory"),
            tuple(use),
            np.array(measured),
            np.full((len(use), 2), 100.0),
            {uid: np.array([cpu, 1.0]) for uid, (_, cpu) in tasks.items()},
        )

    def get_measured(self) -> Measured:
        return self._known

    def get_bound_task(self, uid: str) -> Any:
        return SimpleNamespace(event=SimpleNamespace(machine=self._machines[uid]))


USE = {"warm": 60.0, "b": 80.0, "at the limit": 50.0, "silent": float("nan"), "a": 80.0, "cool": 40.0}
TASKS = {
    "some": ("a", 10.0),
    "just enough": ("a", 30.0),
    "too much": ("a", 40.0),
    "nothing": ("a", 0.0),
    "fixed": ("a", 35.0),
    "other": ("warm", 20.0),
}


def book(**thresholds: float) -> _MeasuredUse:
    movable = TASKS.keys() - {"fixed"}
    return _MeasuredUse(Reporting(USE, TASKS), movable, thresholds or {"cpu": 50.0})  # type: ignore[arg-type]


def test_machines_are_hot_above_a_threshold_the_hottest_first_then_by_name():
    made = book()
    assert [made.names[row] for row in made.hot()] == ["a", "b", "warm"]
    assert [made.names[row] for row in book(cpu=80.0).hot()] == []
    assert [made.names[row] for row in book(cpu=79.0).hot()] == ["a", "b"]
    assert [made.names[row] for row in book(memory=0.5, gpu=1.0).hot()] == sorted(USE.keys()), (
        "all use 1 of 0.5"
    )


def test_the_smallest_task_that_suffices_goes_first_then_the_largest():
    made = book()
    assert made.tasks(made.row["a"]) == ["just enough", "too much", "some"]
    assert made.tasks(made.row["warm"]) == ["other"]
    assert made.tasks(made.row["b"]) == []


def test_a_machine_has_room_up_to_the_threshold_and_moves_are_followed():
    made = book()
    assert made.has_room("cool", "some")
    assert not made.has_room("cool", "other")
    assert not made.has_room("at the limit", "some")
    assert not made.has_room("silent", "some"), "who knows"
    made.note(ReliefMove("just enough", "a", "cool"))
    assert made.use[[made.row["a"], made.row["cool"]]].tolist() == [[50.0], [70.0]]
    assert not made.is_hot(made.row["a"])
    assert made.is_hot(made.row["cool"])
    assert made.tasks(made.row["cool"]) == [], "what has moved is not moved again"
