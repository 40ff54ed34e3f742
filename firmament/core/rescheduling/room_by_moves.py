"""Finds few moves of other tasks after which a waiting task, and each moved task, has a place.

Real rounds check whether the moved tasks have places elsewhere, and whether the waiting task then has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.events import TasksSubmitted
from firmament.core.reasons import CuredBy
from firmament.core.rescheduling.trials import Trials
from firmament.core.selectors.label_columns import HOSTNAME

_MOST_MOVES = 8

_LOOKED_AT = 500
"""Most machines whose tasks are considered: those that lack least."""


@dataclass(frozen=True, slots=True)
class RoomByMoves:
    """Moves of other tasks (``moves``, uid -> machine) after which a waiting task would get ``machine``."""

    machine: str
    moves: Mapping[str, str]


def find_room_by_moves(
    trials: Trials, task: TasksSubmitted, machines: Sequence[str], tries: int
) -> RoomByMoves | None:
    """Return how a task (one uid) gets a place with the fewest moves found, or None.

    ``machines``: machines that lack nothing but resources for the task. On each machine considered, a few tasks are
    chosen that free the lacking amounts. At most ``tries`` tries are made, the fewest moves first.
    """
    wanted = trials.requests_of(task.task_class)
    nearest = sorted(machines, key=lambda name: _share(_lacking(trials, wanted, name), wanted))[:_LOOKED_AT]
    choices = sorted(_list_choices(trials, wanted, nearest), key=lambda each: (len(each[1]), each[0]))
    for _, moving in choices[:tries]:
        placed = trials.try_moves(moving, [task])
        if placed is not None:
            return RoomByMoves(placed[task.uids[0]], _moves(trials, moving, placed))
    return None


def _moves(trials: Trials, moving: Sequence[str], placed: Mapping[str, str]) -> dict[str, str]:
    """Return the tasks of ``moving`` that have been placed on another machine than before, with the machine."""
    return {uid: name for uid, name in placed.items() if uid in moving and name != trials.place_of(uid)}


def _lacking(trials: Trials, wanted: Int64, machine: str) -> Int64:
    found: Int64 = np.maximum(wanted - trials.free_on(machine), 0)
    return found


def _list_choices(
    trials: Trials, wanted: Int64, machines: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield for each machine a few of its tasks that together free the lacking amounts."""
    for machine in machines:
        lacking = _lacking(trials, wanted, machine)
        if not lacking.any():
            continue
        tasks = {uid: trials.requests_of_task(uid) for uid in trials.tasks_on(machine)}
        alone = [uid for uid, takes in tasks.items() if (takes >= lacking).all()]
        if alone:  # the smallest task that frees enough
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
    """Return the sum of the shares of ``of`` that ``amounts`` takes, over resources with a positive ``of``."""
    asked = of > 0
    return float((amounts[asked] / of[asked]).sum())


# --- Moves of other tasks that give all tasks of a gang a place.
#
# A gang fits into a domain (machines that share a label, such as a rack) or into the whole cluster. For each domain,
# the search finds the fewest tasks whose places, together with free capacity, hold the gang, as if all members were as
# large as the largest. Each machine chooses how many of its tasks leave, the largest first, and together the machines
# need enough slots: a knapsack problem. Rounds try the domains, the fewest moves first, so that every rule counts,
# including those of the gang's own topology.


_MOST_LABELS = 8
"""Most labels that are used as kinds of domains: those with the fewest values."""

_MOST_MACHINES = 400
"""Most machines of a domain that are considered: those that can take most members now."""


class GangRoom(NamedTuple):
    """Moves of other tasks (``moves``) after which a gang's tasks would get ``places``; uid -> machine each."""

    places: Mapping[str, str]
    moves: Mapping[str, str]


class _MachineChoice(NamedTuple):
    """Tasks of a machine that leave, and how many of a gang's members the machine then takes."""

    slots: int
    moving: tuple[str, ...]


def find_gang_room_by_moves(trials: Trials, gang: Sequence[TasksSubmitted], tries: int) -> GangRoom | None:
    """Return how a gang gets its places with the fewest moves found, or None.

    ``gang``: its waiting tasks, whose job is defined; at most ``tries`` tries are made.
    """
    uids = [uid for each in gang for uid in each.uids]
    largest = np.maximum.reduce([trials.requests_of(each.task_class) for each in gang])
    usable = _list_usable(trials, gang[0])
    found = []
    for name, machines in _list_domains(trials, usable).items():
        moving = _find_fewest_moves(trials, machines, largest, len(uids))
        if moving is not None:
            found.append((len(moving), name, moving))
    for _, _, moving in sorted(found)[:tries]:
        placed = trials.try_moves(moving, gang)
        if placed is not None:
            return GangRoom({uid: placed[uid] for uid in uids}, _moves(trials, moving, placed))
    return None


def _list_usable(trials: Trials, tasks: TasksSubmitted) -> list[str]:
    """Return the machines that could take a member of the gang if only other tasks changed."""
    one = replace(tasks, uids=tasks.uids[:1], names=tasks.names[:1], created=tasks.created[:1], job="")
    refusals = trials.refusals(one)
    return [
        name
        for name in trials.machines
        if not any(cause.reason.cured_by is CuredBy.CHANGE for cause in refusals.get(name, ()))
    ]


def _list_domains(trials: Trials, machines: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Return the machines by (label, value), and all machines under ("", "")."""
    found: dict[tuple[str, str], list[str]] = {("", ""): list(machines)}
    values: dict[str, dict[str, list[str]]] = {}
    for name in machines:
        for key, value in trials.machine(name).labels.items():
            if key != HOSTNAME:
                values.setdefault(key, {}).setdefault(value, []).append(name)
    useful = [key for key, by_value in values.items() if 1 < len(by_value) <= len(machines) // 2]
    for key in sorted(useful, key=lambda key: (len(values[key]), key))[:_MOST_LABELS]:
        found |= {(key, value): names for value, names in values[key].items()}
    return found


def _find_fewest_moves(
    trials: Trials, machines: Sequence[str], member: Int64, wanted: int
) -> tuple[str, ...] | None:
    """Return the fewest tasks that must leave so that ``wanted`` members fit, or None if they cannot fit."""
    nearest = sorted(machines, key=lambda name: (-count_slots(trials.free_on(name), member), name))[
        :_MOST_MACHINES
    ]
    best: list[tuple[str, ...] | None] = [(), *([None] * wanted)]
    for name in nearest:
        if best[wanted] == ():
            break
        choices = _slot_choices(trials, name, member, wanted)
        after = list(best)
        for slots, moving in enumerate(best):
            if moving is None:
                continue
            for choice in choices:
                reached = min(slots + choice.slots, wanted)
                known = after[reached]
                if known is None or len(moving) + len(choice.moving) < len(known):
                    after[reached] = (*moving, *choice.moving)
        best = after
    return best[wanted]


def _slot_choices(trials: Trials, machine: str, member: Int64, wanted: int) -> list[_MachineChoice]:
    """Return a machine's choices: its present slots, and for more slots the fewest tasks that must leave."""
    free = np.maximum(trials.free_on(machine), 0).copy()
    asked = np.maximum(member, 1)
    tasks = sorted(
        trials.tasks_on(machine),
        key=lambda uid: (-float((trials.requests_of_task(uid) / asked)[member > 0].max(initial=0.0)), uid),
    )
    found = [_MachineChoice(count_slots(free, member), ())]
    moving: tuple[str, ...] = ()
    for uid in tasks:
        if found[-1].slots >= wanted:
            break
        free += trials.requests_of_task(uid)
        moving = (*moving, uid)
        slots = count_slots(free, member)
        if slots > found[-1].slots:
            found.append(_MachineChoice(slots, moving))
    return [choice for choice in found if choice.slots]


def count_slots(free: Int64, member: Int64) -> int:
    """Return how many tasks that request ``member`` (int64[K]) fit into ``free`` (int64[K])."""
    needed = member > 0
    return int((np.maximum(free, 0)[needed] // member[needed]).min(initial=2**31))
