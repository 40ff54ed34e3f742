"""Room for gangs: the moves hold, the whole gang has its rack then, and none needs fewer moves."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job, Machine, Requirement, TaskClass, TaskSelector, TaskTerm
from firmament.core.rescheduling.room_by_moves import GangRoom, find_gang_room_by_moves
from firmament.core.rescheduling.trials import Trials
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples

MEMBER, OTHER = 1500, 1000
CPU = 6000
TOGETHER = TaskTerm("rack", TaskSelector(labels=(Requirement("gang", "In", ("g",)),)))


def looked_for(counts: list[list[int]], size: int, tries: int = 20) -> GangRoom | None:
    """``counts``: tasks on each machine of each rack; the last rack is spare, and too small for the gang."""
    events: list[Event] = [
        ClassDefined(1, TaskClass((("cpu", OTHER),))),
        ClassDefined(2, TaskClass((("cpu", MEMBER),), labels=(("gang", "g"),), affinity=(TOGETHER,))),
        JobDefined(Job("G", "G", size, size, "ns")),
    ]
    for rack, machines in enumerate(counts):
        for index, tasks in enumerate(machines):
            name = f"r{rack}n{index}"
            events.append(
                MachineUpserted(Machine(name, {"cpu": CPU, "pods": 50}, labels={"rack": f"r{rack}"}))
            )
            if tasks:
                events.append(TasksBound(name, 1, tuple(f"{name}t{each}" for each in range(tasks))))
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    gang = [TasksSubmitted(2, tuple(f"g{each}" for each in range(size)), job="G")]
    return find_gang_room_by_moves(Trials(scheduler, events), gang, tries)


def fewest(machines: list[int], size: int) -> int | None:
    """By looking at all ways to take tasks off the machines of a rack."""
    ways = (
        sum(taken)
        for taken in product(*(range(tasks + 1) for tasks in machines))
        if sum((CPU - OTHER * (tasks - off)) // MEMBER for tasks, off in zip(machines, taken, strict=True))
        >= size
    )
    return min(ways, default=None)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_a_rack_is_freed_with_the_fewest_moves(seed):
    random = Random(seed)
    racks = [[random.randint(0, 6) for _ in range(random.randint(2, 4))] for _ in range(random.randint(2, 4))]
    size = random.randint(4, 12)
    spare = [1] * 5
    best = min((each for rack in racks if (each := fewest(rack, size)) is not None), default=None)
    in_spare = fewest(spare, size)
    best = in_spare if best is None else min(best, best if in_spare is None else in_spare)
    found = looked_for([*racks, spare], size)
    if found is None:
        assert best is None or best > 10, f"{best} moves are enough"
        return
    assert best is not None
    assert len(found.moves) == best
    check(found, [*racks, spare], size)


def check(found: GangRoom, counts: list[list[int]], size: int) -> None:
    used = {
        f"r{rack}n{index}": tasks * OTHER
        for rack, row in enumerate(counts)
        for index, tasks in enumerate(row)
    }
    for uid, target in found.moves.items():
        used[uid.partition("t")[0]] -= OTHER
        used[target] += OTHER
    assert len(found.places) == size
    assert len({machine.partition("n")[0] for machine in found.places.values()}) == 1
    for machine in found.places.values():
        used[machine] += MEMBER
    assert max(used.values()) <= CPU


def test_a_gang_of_32_gets_a_rack():
    counts = [[2, 2, 3, 2, 4, 2, 2, 3, 2, 2], [3] * 10, [4] * 10, [0] * 4]
    found = looked_for(counts, 32)
    assert found is not None
    check(found, counts, 32)
    assert len(found.moves) == fewest_of_many(counts[0], 32)


def fewest_of_many(machines: list[int], size: int) -> int:
    """The same, machine by machine."""
    best = {0: 0}
    for tasks in machines:
        after: dict[int, int] = {}
        for slots, moves in best.items():
            for off in range(tasks + 1):
                reached = min(size, slots + (CPU - OTHER * (tasks - off)) // MEMBER)
                after[reached] = min(after.get(reached, 10**9), moves + off)
        best = after
    return best[size]


def test_machines_that_refuse_members_do_not_count():
    assert looked_for([[6], [6]], 8) is None


def test_nothing_is_tried_beyond_the_limit():
    assert looked_for([[2, 2], [0, 0, 0]], 8, tries=0) is None
