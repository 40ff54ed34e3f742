"""Room for a task that waits: which few tasks would have to move so that it, and each of them, has a place.

A machine is worth a look if nothing but a lack of resources keeps the task from it. Of its tasks those few are chosen
that free what is lacking; whether they have a place elsewhere, and the task then has one, is tried with real rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.events import TasksSubmitted
from firmament.core.filters.reasons import TOO_MANY, insufficient
from firmament.core.rescheduling.trials import Trials

_MOST_MOVES = 8

_LOOKED_AT = 500
"""Machines whose tasks are looked at: those that lack least."""

_INSUFFICIENT = insufficient("")
"""How reasons begin that name a resource."""


@dataclass(frozen=True, slots=True)
class Room:
    """The task would get ``machine`` once ``moves`` are made: uid -> machine."""

    machine: str
    moves: Mapping[str, str]


def lacks_only_room(reasons: Sequence[str]) -> bool:
    """Whether a machine refuses a task for nothing but resources."""
    return all(reason.startswith((_INSUFFICIENT, TOO_MANY)) for reason in reasons)


def room_for(trials: Trials, task: TasksSubmitted, machines: Sequence[str], tries: int) -> Room | None:
    """Return how a task (one uid) gets a place with the fewest moves that are found, None if none are.

    ``machines``: those that lack only room for it. At most so many ``tries`` are made, the fewest moves first.
    """
    wanted = trials.requests_of(task.task_class)
    nearest = sorted(machines, key=lambda name: _share(_lacking(trials, wanted, name), wanted))[:_LOOKED_AT]
    choices = sorted(_choices(trials, wanted, nearest), key=lambda each: (len(each[1]), each[0]))
    for _, moving in choices[:tries]:
        found = trials.with_moves(moving, [task])
        if found is not None:
            (uid,) = task.uids
            moves = {
                each: name for each, name in found.items() if each != uid and name != trials.place_of(each)
            }
            return Room(found[uid], moves)
    return None


def _lacking(trials: Trials, wanted: Int64, machine: str) -> Int64:
    found: Int64 = np.maximum(wanted - trials.free_on(machine), 0)
    return found


def _choices(trials: Trials, wanted: Int64, machines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield for each machine few tasks of it that take at least what is lacking there."""
    for machine in machines:
        lacking = _lacking(trials, wanted, machine)
        if not lacking.any():
            continue
        tasks = {uid: trials.requests_of_task(uid) for uid in trials.tasks_on(machine)}
        alone = [uid for uid, takes in tasks.items() if (takes >= lacking).all()]
        if alone:  # the smallest that is enough
            yield machine, (min(alone, key=lambda uid: (_share(tasks[uid], wanted), uid)),)
            continue
        chosen: list[str] = []
        left = lacking.copy()
        while left.any() and len(chosen) < min(_MOST_MOVES, len(tasks)):
            rest = [uid for uid in tasks if uid not in chosen]
            best = max(
                rest, key=lambda uid: (_share(np.minimum(tasks[uid], left), np.maximum(lacking, 1)), uid)
            )
            chosen.append(best)
            left = np.maximum(left - tasks[best], 0)
        if not left.any():
            yield machine, tuple(chosen)


def _share(amounts: Int64, of: Int64) -> float:
    """Return the sum over resources of what amounts are a share of."""
    asked = of > 0
    return float((amounts[asked] / of[asked]).sum())
