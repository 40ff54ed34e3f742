"""Evictions for the sake of what models count: what comes back of joint rows, and what does not."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from cost_models.firmament_policies.net import ANNOTATION, BANDWIDTH, LABEL, REASON, Net
from cost_models.interface import (
    Assessment,
    Int64,
    JointRows,
    MachineColumns,
    Returned,
    ShapeBatch,
    ShapeRow,
)
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    MachineSampled,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.cost_models.tree_groups.scene import CPU, group, overlay, tree
from tests.support.core import Clock, messages, scheduler, task_class
from tests.support.effort import examples
from tests.support.models import NEEDS, Stated

LOW, HIGH = 0, 10


def link(name: str, bandwidth: int, *, cpu: int = 100_000) -> Event:
    """A machine that says by annotation what its link has."""
    allocatable = {"cpu": cpu, "pods": 100}
    return MachineUpserted(Machine(name, allocatable, annotations={ANNOTATION: str(bandwidth)}))


def asking(bandwidth: int, cpu: int = 100):
    return task_class(cpu, labels=((LABEL, str(bandwidth)),))


def running(
    on: str, number: int, uid: str, bandwidth: int, *, cpu: int = 100, priority: int = LOW
) -> list[Event]:
    return [ClassDefined(number, asking(bandwidth, cpu)), TasksBound(on, number, (uid,), priority=priority)]


def wanted(bandwidth: int, *names: str, cpu: int = 100, job: str = "") -> list[Event]:
    return [
        ClassDefined(1, asking(bandwidth, cpu)),
        TasksSubmitted(1, names, priority=HIGH, job=job),
    ]


def core(*events: Event | list[Event]) -> Scheduler:
    made = Scheduler(
        configuration=CoreConfiguration(WeightedModel(Net())), solver=OrToolsSolver(), clock=Clock()
    )
    for each in events:
        made.apply(each if isinstance(each, list) else [each])
    return made


def evicted(result: RoundResult) -> list[str]:
    return sorted(delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT)


def placed(result: RoundResult) -> dict[str, str]:
    return {delta.uid: delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}


# --- bandwidth ---------------------------------------------------------------------------------------------------


def test_bandwidth_is_won_by_evicting_who_asked_for_it():
    made = core(link("m", 100), running("m", 2, "small", 20), running("m", 3, "large", 60), wanted(70, "p"))
    result = made.run_round()
    assert evicted(result) == ["large"]
    assert placed(result) == {"p": "m"}
    assert made.run_round().deltas == ()


def test_nobody_else_gets_the_bandwidth_while_it_is_being_vacated():
    made = core(link("m", 100), running("m", 2, "large", 90), wanted(70, "p"))
    assert evicted(made.run_round()) == ["large"]
    made.apply([ClassDefined(5, asking(5)), TasksSubmitted(5, ("q",), priority=LOW)])
    assert made.run_round().deltas == ()
    made.apply([TaskRemoved("large")])
    assert placed(made.run_round()) == {"q": "m"}


def test_what_has_been_given_away_beyond_the_link_has_to_come_back_first():
    held = [running("m", number, f"r{number}", 60) for number in (2, 3, 4)]
    result = core(link("m", 100), *held, wanted(30, "p")).run_round()
    assert len(evicted(result)) == 2


def test_what_is_measured_does_not_come_back():
    offers = MachineUpserted(Machine("m", {"cpu": 100_000, "pods": 100, BANDWIDTH: 100}))
    sampled = MachineSampled("m", time=Clock().now, usage={BANDWIDTH: 80.0})
    made = core(offers, running("m", 2, "large", 60), sampled, wanted(50, "p"))
    result = made.run_round()
    assert result.deltas == ()
    assert REASON in messages(result)["p"]


def test_equals_keep_their_bandwidth():
    made = core(link("m", 100), running("m", 2, "large", 60, priority=HIGH), wanted(70, "p"))
    assert made.run_round().deltas == ()


def test_a_victim_that_is_not_needed_for_bandwidth_nor_for_room_stays():
    made = core(
        link("m", 100, cpu=1000),
        running("m", 2, "talks", 90, cpu=100),
        running("m", 3, "computes", 0, cpu=800),
        wanted(50, "p", cpu=100),
    )
    assert evicted(made.run_round()) == ["talks"]


def test_a_gang_wins_bandwidth_for_all_it_needs_or_for_nobody():
    held = [running(name, 2 + number, f"r{number}", 90) for number, name in enumerate("ab")]
    gang = JobDefined(Job("g", min_members=3))
    one_too_few = core(link("a", 100), link("b", 100), *held, gang, wanted(60, "p", "q", "r", job="g"))
    assert one_too_few.run_round().deltas == ()
    enough = core(link("a", 100), link("b", 120), *held, gang, wanted(60, "p", "q", "r", job="g"))
    result = enough.run_round()
    assert evicted(result) == ["r0", "r1"]
    assert sorted(placed(result).values()) == ["a", "b", "b"]


def test_who_counted_on_a_victim_that_stays_waits_again():
    made = core(link("m", 100), running("m", 2, "large", 60), wanted(70, "p"))
    made.run_round()
    made.report([BindingReport("large", "m", bound=False, reason="refused by a budget")])
    assert {state.uid: state.state for state in made.task_states()} == {"large": "BOUND", "p": "BACKOFF"}


# --- any model ---------------------------------------------------------------------------------------------------


def seats(machines: int, limit: int, *, returns: bool, strict: bool = False) -> Stated:
    """A model by which each task takes its label ``app`` of the machine's row, ``limit`` of which are there.

    ``strict``: while more than that are taken nobody may come, not even those who take nothing.
    """

    def weights(rows: list[ShapeRow]) -> Int64:
        return np.array([int(row.labels.get("app", "0")) for row in rows], dtype=np.int64)

    def assess(columns: MachineColumns, shapes: ShapeBatch) -> Assessment:
        assert columns.residents is not None
        by_kind = weights(list(columns.residents.kinds))
        taken = columns.residents.sum_by_machine(by_kind.astype(np.float64), machines).astype(np.int64)
        barred = np.ones(shapes.count, dtype=np.bool_) if strict else None
        returned = Returned(np.maximum(taken - limit, 0), by_kind=by_kind, barred=barred) if returns else None
        rows = JointRows(
            np.arange(machines, dtype=np.int64),
            weights(list(shapes.rows)),
            np.maximum(limit - taken, 0),
            "no seats",
            returned,
        )
        full = np.tile(taken > limit, (shapes.count, 1)) if strict else None
        return Assessment(
            raw=np.zeros((shapes.count, 1)),
            feasible=None if full is None else ~full,
            reason="seats are overfull",
            joint=(rows,),
            occupied=full if returns else None,
        )

    return Stated(assess, name="seats", needs=replace(NEEDS, residents=True))


def seated(weight: int, cpu: int):
    return task_class(cpu, labels=(("app", str(weight)),))


def test_what_no_model_says_comes_back_stays_closed():
    for returns, expected in ((True, ["r"]), (False, [])):
        made = scheduler(
            MachineUpserted(Machine("m", {"cpu": 4000, "pods": 10})),
            [ClassDefined(2, seated(4, 100)), TasksBound("m", 2, ("r",))],
            [ClassDefined(1, seated(3, 100)), TasksSubmitted(1, ("p",), priority=HIGH)],
            policy="trivial",
            overlays=[WeightedModel(seats(1, 5, returns=returns))],
        )
        assert evicted(made.run_round()) == expected


def test_where_nobody_may_come_while_seats_are_overfull_those_who_take_none_have_others_evicted():
    def evicted_by(strict: bool, weight: int) -> list[str]:
        made = scheduler(
            MachineUpserted(Machine("m", {"cpu": 4000, "pods": 10})),
            [ClassDefined(2, seated(3, 100)), TasksBound("m", 2, ("r", "s", "t"))],
            [ClassDefined(1, seated(weight, 100)), TasksSubmitted(1, ("p",), priority=HIGH)],
            policy="trivial",
            overlays=[WeightedModel(seats(1, 5, returns=True, strict=strict))],
        )
        result = made.run_round()
        assert placed(result) == {"p": "m"}
        return evicted(result)

    assert len(evicted_by(strict=True, weight=0)) == 2
    assert evicted_by(strict=False, weight=0) == []
    assert len(evicted_by(strict=True, weight=2)) == 2


def test_a_gang_that_takes_no_seats_has_them_vacated_as_far_as_they_are_overfull():
    made = scheduler(
        MachineUpserted(Machine("m", {"cpu": 4000, "pods": 10})),
        [ClassDefined(2, seated(3, 100)), TasksBound("m", 2, ("r", "s", "t"))],
        [ClassDefined(1, seated(0, 100)), JobDefined(Job("g", min_members=3))],
        [TasksSubmitted(1, ("p", "q", "x"), priority=HIGH, job="g")],
        policy="trivial",
        overlays=[WeightedModel(seats(1, 5, returns=True, strict=True))],
    )
    result = made.run_round()
    assert len(evicted(result)) == 2
    assert placed(result) == {"p": "m", "q": "m", "x": "m"}


@pytest.mark.parametrize("weight", [0, 1])
def test_a_group_on_a_tree_has_overfull_seats_vacated_on_one_rack(weight: int):
    machines = [MachineUpserted(Machine(name, {"cpu": 8000, "pods": 10})) for name in ("a-0", "b-0")]
    held: list[Event] = [ClassDefined(5, seated(4, 100))]
    held += [TasksBound("a-0", 5, ("low", "less")), TasksBound("b-0", 5, ("high", "higher"), priority=HIGH)]
    made = scheduler(
        machines,
        tree({"a": {"a-0": 8}, "b": {"b-0": 8}}),
        held,
        [ClassDefined(7, seated(weight, CPU))],
        group("g", 3, {"rack": {"hard": True}}, cls=7, priority=5),
        policy="trivial",
        overlays=[overlay(), WeightedModel(seats(2, 7, returns=True, strict=True))],
    )
    result = made.run_round()
    assert len(evicted(result)) == 1
    assert set(placed(result).values()) == {"a-0"}


def test_a_group_on_a_tree_wins_seats_on_one_rack():
    machines = [MachineUpserted(Machine(name, {"cpu": 8000, "pods": 10})) for name in ("a-0", "b-0")]
    given = {"a": {"a-0": 8}, "b": {"b-0": 8}}
    held: list[Event] = [ClassDefined(5, seated(4, 100))]
    held += [TasksBound("a-0", 5, ("low",)), TasksBound("b-0", 5, ("high",), priority=HIGH)]
    made = scheduler(
        machines,
        tree(given),
        held,
        [ClassDefined(7, seated(1, CPU))],
        group("g", 3, {"rack": {"hard": True}}, cls=7, priority=5),
        policy="trivial",
        overlays=[overlay(), WeightedModel(seats(2, 5, returns=True))],
    )
    result = made.run_round()
    assert evicted(result) == ["low"]
    assert set(placed(result).values()) == {"a-0"}


@pytest.mark.parametrize("seed", range(examples(60)))
def test_as_unimportant_ones_go_as_can_be(seed: int):
    """One task that waits, one to three machines: against all sets of tasks on each."""
    rnd = random.Random(seed)
    names = [f"m{index}" for index in range(rnd.randint(1, 3))]
    limit, room = rnd.randint(4, 8), rnd.randint(6, 10)
    events: list[Event] = [MachineUpserted(Machine(name, {"cpu": room, "pods": 10})) for name in names]
    there: dict[str, list[tuple[str, int, int, int]]] = {name: [] for name in names}
    for number in range(rnd.randint(2, 9)):
        name, weight, cpu, priority = (
            rnd.choice(names),
            rnd.randint(0, 4),
            rnd.randint(0, 3),
            rnd.choice((0, 1, 5)),
        )
        if sum(each[2] for each in there[name]) + cpu > room:
            continue
        there[name].append((f"r{number}", weight, cpu, priority))
        events += [ClassDefined(10 + number, seated(weight, cpu))]
        events += [TasksBound(name, 10 + number, (f"r{number}",), priority=priority)]
    strict = rnd.random() < 0.5
    weight, cpu = rnd.randint(0 if strict else 1, 4), rnd.randint(0, 4)
    made = scheduler(
        events,
        [ClassDefined(1, seated(weight, cpu)), TasksSubmitted(1, ("p",), priority=3)],
        policy="trivial",
        overlays=[WeightedModel(seats(len(names), limit, returns=True, strict=strict))],
    )
    sets: list[tuple[int, int]] = []
    for name in names:
        may_go = [each for each in there[name] if each[3] < 3]
        for count in range(len(may_go) + 1):
            for gone in itertools.combinations(may_go, count):
                stay = [each for each in there[name] if each not in gone]
                seated_there = sum(each[1] for each in stay) + weight <= limit
                fits = sum(each[2] for each in stay) + cpu <= room
                if seated_there and (fits or cpu == 0):
                    priorities = [each[3] for each in gone]
                    sets.append((max(priorities, default=-1), sum(each + 2**31 for each in priorities)))
    result = made.run_round()
    if not sets:
        assert result.deltas == ()
    else:
        priority_of = {each[0]: each[3] for here in there.values() for each in here}
        victims = [priority_of[uid] for uid in evicted(result)]
        assert (max(victims, default=-1), sum(each + 2**31 for each in victims)) == min(sets)
        assert list(placed(result)) == ["p"]
