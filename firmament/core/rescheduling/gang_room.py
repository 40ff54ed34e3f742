"""Room for a gang that waits: which few tasks would have to move so that all of it, and each of them, has a place.

A gang fits into a domain, machines that share a label such as a rack, or into the cluster as a whole. For each domain
the fewest tasks are looked for whose places, with what is free, hold the gang by its largest member; machines choose
how many of theirs go, the largest first, and together they need enough slots: a knapsack. Rounds try the domains, the
fewest moves first: every rule counts there, those of the gang's own topology too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.configuration import HOSTNAME
from firmament.core.events import TasksSubmitted
from firmament.core.filters.reasons import CORDONED, NOT_READY, UNTOLERATED, WRONG_LABELS
from firmament.core.rescheduling.trials import Trials

_MOST_LABELS = 8
"""Labels that are taken for kinds of domains: those with the fewest values."""

_MOST_MACHINES = 400
"""Machines of a domain that are looked at: those with most slots as they are."""

_NODES_OWN = (CORDONED, NOT_READY, UNTOLERATED, WRONG_LABELS)


class GangRoom(NamedTuple):
    """The gang's tasks would get ``places`` (uid -> machine) once ``moves`` (of others) are made."""

    places: Mapping[str, str]
    moves: Mapping[str, str]


class _Choice(NamedTuple):
    """Tasks of a machine that go, and how many members it holds then."""

    slots: int
    moving: tuple[str, ...]


def gang_room_for(trials: Trials, gang: Sequence[TasksSubmitted], tries: int) -> GangRoom | None:
    """Return how a gang gets its places with the fewest moves that are found, None if none are.

    ``gang``: its tasks that wait, their job defined; at most so many ``tries`` are made.
    """
    uids = [uid for each in gang for uid in each.uids]
    largest = np.maximum.reduce([trials.requests_of(each.task_class) for each in gang])
    usable = _usable(trials, gang[0])
    found = []
    for name, machines in _domains(trials, usable).items():
        moving = _fewest(trials, machines, largest, len(uids))
        if moving is not None:
            found.append((len(moving), name, moving))
    for _, _, moving in sorted(found)[:tries]:
        placed = trials.with_moves(moving, gang)
        if placed is not None:
            moves = {
                uid: machine
                for uid, machine in placed.items()
                if uid in moving and machine != trials.place_of(uid)
            }
            return GangRoom({uid: placed[uid] for uid in uids}, moves)
    return None


def _usable(trials: Trials, tasks: TasksSubmitted) -> list[str]:
    """Machines that nothing of their own keeps a member from."""
    one = replace(tasks, uids=tasks.uids[:1], names=tasks.names[:1], created=tasks.created[:1], job="")
    refusals = trials.refusals(one)
    return [
        name
        for name in trials.machines
        if not any(reason.startswith(_NODES_OWN) for reason in refusals.get(name, ()))
    ]


def _domains(trials: Trials, machines: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Machines by label and value, and all of them under no label."""
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


def _fewest(trials: Trials, machines: Sequence[str], member: Int64, wanted: int) -> tuple[str, ...] | None:
    """The fewest tasks that leave so many slots for members on machines; None if all of them are not enough."""
    nearest = sorted(machines, key=lambda name: (-_slots(trials.free_on(name), member), name))[
        :_MOST_MACHINES
    ]
    best: list[tuple[str, ...] | None] = [(), *([None] * wanted)]
    for name in nearest:
        if best[wanted] == ():
            break
        choices = _choices(trials, name, member, wanted)
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


def _choices(trials: Trials, machine: str, member: Int64, wanted: int) -> list[_Choice]:
    """What a machine can do: slots as it is, and for more of them the fewest of its tasks, the largest first."""
    free = np.maximum(trials.free_on(machine), 0).copy()
    asked = np.maximum(member, 1)
    tasks = sorted(
        trials.tasks_on(machine),
        key=lambda uid: (-float((trials.requests_of_task(uid) / asked)[member > 0].max(initial=0.0)), uid),
    )
    found = [_Choice(_slots(free, member), ())]
    moving: tuple[str, ...] = ()
    for uid in tasks:
        if found[-1].slots >= wanted:
            break
        free += trials.requests_of_task(uid)
        moving = (*moving, uid)
        slots = _slots(free, member)
        if slots > found[-1].slots:
            found.append(_Choice(slots, moving))
    return [choice for choice in found if choice.slots]


def _slots(free: Int64, member: Int64) -> int:
    needed = member > 0
    return int((np.maximum(free, 0)[needed] // member[needed]).min(initial=2**31))
