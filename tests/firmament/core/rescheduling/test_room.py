"""Room for a task that waits: the moves hold, and with them it has a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from benchmarks.quality.consolidation import Amounts, Running, random_cluster, trials_of
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.reasons import lacks_only_room
from firmament.core.rescheduling.room_by_moves import RoomByMoves, find_room_by_moves
from firmament.core.rescheduling.trials import Trials
from tests.support.effort import examples

CLASS = 10_000
LARGE: Amounts = (6, 12)


def found_in(running: Running, wanted: Amounts = LARGE, tries: int = 20) -> RoomByMoves | None:
    trials = trials_of(running)
    trials._classes[CLASS] = content = TaskClass((("cpu", wanted[0]), ("memory", wanted[1])))
    trials._scheduler.apply([ClassDefined(CLASS, content)])
    return looked_for(trials, tries)


def looked_for(trials: Trials, tries: int) -> RoomByMoves | None:
    task = TasksSubmitted(CLASS, ("waits",))
    machines = [name for name, causes in trials.refusals(task).items() if lacks_only_room(causes)]
    return find_room_by_moves(trials, task, machines, tries)


def fits(running: Running, machine: str, wanted: Amounts, moves: Mapping[str, str]) -> bool:
    tasks = {uid: (moves.get(uid, where), amounts) for uid, (where, amounts) in running.tasks.items()}
    return replace(running, tasks={**tasks, "waits": (machine, wanted)}).holds({}, ())


def single_moves(running: Running, wanted: Amounts) -> bool:
    """Whether one move is enough, by looking at all."""
    return any(
        fits(running, where, wanted, {uid: target})
        for uid, (where, _) in running.tasks.items()
        for target in running.machines
        if target != where
    )


def test_the_moves_hold_and_make_room():
    found = 0
    for seed in range(examples(100, least=40)):
        running = random_cluster(Random(seed), 12, fill=0.8)
        if any(fits(running, name, LARGE, {}) for name in running.machines):
            continue
        room = found_in(running)
        if room is not None:
            assert room.moves
            assert fits(running, room.machine, LARGE, room.moves)
            found += 1
    assert found >= 5


def test_where_one_move_is_enough_it_is_found():
    looked, found = 0, 0
    for seed in range(examples(100, least=40)):
        running = random_cluster(Random(seed), 12, fill=0.8)
        room = any(fits(running, name, LARGE, {}) for name in running.machines)
        if not room and single_moves(running, LARGE):
            looked += 1
            cure = found_in(running)
            found += cure is not None and len(cure.moves) == 1
    assert looked >= 5
    assert found >= 0.95 * looked


def test_nothing_is_changed_by_looking():
    running = random_cluster(Random(5), 12, fill=0.8)
    trials = trials_of(running)
    trials._classes[CLASS] = content = TaskClass((("cpu", 6), ("memory", 12)))
    trials._scheduler.apply([ClassDefined(CLASS, content)])
    before = sorted(map(str, trials._scheduler.task_states()))
    looked_for(trials, 20)
    assert sorted(map(str, trials._scheduler.task_states())) == before


def room_for(wanted: Amounts, *, tries: int = 20, **machines: Sequence[Amounts]) -> RoomByMoves | None:
    """Where a task of ``wanted`` gets room on machines of (9, 9), where tasks NAME-0, NAME-1 of these amounts run."""
    tasks = {
        f"{name}-{number}": (name, amounts)
        for name, there in machines.items()
        for number, amounts in enumerate(there)
    }
    return found_in(Running(dict.fromkeys(machines, (9, 9)), tasks), wanted, tries)


def test_the_smallest_task_that_suffices_moves():
    assert room_for((5, 5), a=[(4, 4), (3, 3)], z=[(5, 5)]) == RoomByMoves("a", {"a-1": "z"})


def test_where_none_suffices_the_largest_move_first():
    found = room_for((8, 8), a=[(1, 1), (1, 1), (3, 3)], z=[(5, 5)])
    assert found == RoomByMoves("a", {"a-1": "z", "a-2": "z"})


def test_exactly_what_is_lacking_is_enough():
    assert room_for((6, 6), a=[(5, 5), (3, 3)], z=[(4, 4)]) == RoomByMoves("a", {"a-0": "z"})


def test_fewer_moves_come_first():
    # a needs two moves, b one; both would do.
    found = room_for((9, 9), a=[(1, 1), (1, 1)], b=[(2, 2)], z=[(4, 4)])
    assert found == RoomByMoves("b", {"b-0": "a"})
    assert room_for((9, 9), tries=0, a=[(1, 1), (1, 1)], b=[(2, 2)], z=[(4, 4)]) is None
