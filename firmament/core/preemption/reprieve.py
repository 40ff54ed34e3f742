"""The end of a preemption stage: keeps victims that need not leave, and says which task waits for which."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.preemption.victims.covering import find_counted


def consolidate(prospect: Prospect, begin: int) -> None:
    """Move tasks to room that has become free elsewhere, then reprieve victims that nobody needs (any more).

    ``begin``: the first of the places (``prospect.taken``) that are looked at.
    """
    given = prospect.taken[begin:]
    touched = set()
    if not prospect.ledgers:  # which give no place back
        for cls, machine in reversed(given[-prospect.tuning.most_moves :]):
            if prospect.chosen.get(machine) and _move(prospect, cls, machine):
                touched.add(machine)
    touched.update(machine for machine, guests in prospect.guests.items() if len(guests) > 1)
    for machine in sorted(touched):
        _reprieve(prospect, machine)
    for gang in np.flatnonzero(prospect.spare < 0).tolist():
        _reprieve_gang(prospect, gang)


def _move(prospect: Prospect, cls: int, machine: int) -> bool:
    """Give a task a place without victims instead of ``machine``, if that lets a victim there stay."""
    request = prospect.request(cls)
    wanted = np.flatnonzero(prospect.heeds(cls))
    roomy = np.flatnonzero((prospect.room[:, wanted] >= request[wanted]).all(axis=1))
    roomy = roomy[roomy != machine]
    if len(roomy) == 0:
        return False
    places = roomy[prospect.usable(cls)[roomy]]
    prospect.take_up(cls, machine)
    if any(_can_stay(prospect, machine, victim) for victim in prospect.chosen[machine]):
        for other in places.tolist():
            if prospect.takes(cls, other):
                prospect.put(cls, other)
                _reprieve(prospect, machine)
                return True
    prospect.put(cls, machine)
    return False


def _reprieve(prospect: Prospect, machine: int) -> None:
    """Let victims on a machine stay one by one: those beyond budgets, then the most important, the oldest first."""
    preemption = prospect.preemption
    order = sorted(
        prospect.chosen.get(machine, ()),
        key=lambda victim: (
            -_is_beyond(prospect, victim),
            -int(preemption.victim_priority[victim]),
            float(preemption.started[victim]),
            victim,
        ),
    )
    for victim in order:
        if _can_stay(prospect, machine, victim):
            prospect.spare_victim(victim)


def _reprieve_gang(prospect: Prospect, gang: int) -> None:
    """Let a gang that goes as a whole stay, if no more of it than it can spare is needed."""
    members = prospect.gangs.members(gang).tolist()
    stay: list[int] = []
    for victim in sorted(members, key=lambda each: -int(prospect.preemption.victim_priority[each])):
        if _not_needed(prospect, int(prospect.preemption.machine[victim]), victim):
            prospect.spare_victim(victim)
            stay.append(victim)
    if prospect.spare[gang] < 0:
        prospect.evict(stay)


def _is_beyond(prospect: Prospect, victim: int) -> bool:
    preemption = prospect.preemption
    return any(prospect.allowed[budget] < 0 for budget in preemption.budgets[preemption.kind[victim]])


def _can_stay(prospect: Prospect, machine: int, victim: int) -> bool:
    """Return whether one of the victims on a machine may stay by itself: not if its gang goes as a whole."""
    gang = int(prospect.preemption.gang[victim]) if len(prospect.spare) else -1
    return (gang < 0 or prospect.spare[gang] >= 0) and _not_needed(prospect, machine, victim)


def _not_needed(prospect: Prospect, machine: int, victim: int) -> bool:
    """Return whether those who got a place on a machine can all have it with one of the victims staying."""
    guests = prospect.guests.get(machine, [])
    if not _leaves_room(prospect, machine, guests, prospect.sizes[victim]):
        return False
    if not prospect.kept.stays_open(machine, set(prospect.list_gone(machine)) - {victim}):
        return False
    state = prospect.state
    kind = prospect.problem.classes + int(prospect.preemption.kind[victim])
    if not prospect.rules(kind).matters:
        return True
    if prospect.rules(kind).modelled or any(
        state.rules.counters[number].coarse for number in prospect.rules(kind).adds
    ):
        return not guests  # whoever has a place elsewhere in the domain may count on its going
    state.add(kind, machine, 1)
    allowed = True
    for cls in guests:
        state.add(cls, machine, -1)
        allowed = allowed and state.allows(cls, machine)
        state.add(cls, machine, 1)
    state.add(kind, machine, -1)
    return allowed


def _leaves_room(prospect: Prospect, machine: int, guests: list[int], size: Int64) -> bool:
    """Return whether a machine has ``size`` to give of whatever ``guests`` need."""
    if not guests:
        return True
    needed = np.logical_or.reduce([prospect.heeds(cls) for cls in guests])
    return bool((prospect.room[machine] >= size)[needed & (size > 0)].all())


def evictions(prospect: Prospect) -> tuple[PreemptionDecision, ...]:
    """Return what has been decided, place by place.

    All who get a place on a machine wait for all victims there. The first of them is the one for whom they go.
    """
    preemption = prospect.preemption
    budget_left = preemption.allowed.copy()
    told: set[int] = set()
    waits: dict[int, tuple[int, ...]] = {}
    found = []
    for cls, machine in prospect.taken:
        chosen = _add_gangs(prospect, sorted(prospect.chosen.get(machine, ())))
        if machine not in waits:
            waits[machine] = (*chosen, *_list_awaited(prospect, machine))
        evicts = tuple(victim for victim in chosen if victim not in told)
        told.update(evicts)
        beyond = set()
        for victim in evicts:
            budgets = preemption.budgets[preemption.kind[victim]]
            granted = len(preemption.granted) > 0 and bool(preemption.granted[victim])
            if granted or any(budget_left[budget] <= 0 for budget in budgets):
                beyond.add(victim)
            for budget in budgets:
                budget_left[budget] -= 1
        found.append(PreemptionDecision(cls, machine, evicts, waits[machine], frozenset(beyond)))
    return tuple(found)


def _add_gangs(prospect: Prospect, victims: list[int]) -> tuple[int, ...]:
    """Return victims, and those elsewhere who go because their gang goes as a whole."""
    if not len(prospect.spare):
        return tuple(victims)
    gangs = dict.fromkeys(gang for gang in prospect.preemption.gang[victims].tolist() if gang >= 0)
    whole = [gang for gang in gangs if prospect.spare[gang] < 0]
    members = (member for gang in whole for member in prospect.gangs.members(gang).tolist())
    return tuple(dict.fromkeys((*victims, *members)))


def _list_awaited(prospect: Prospect, machine: int) -> list[int]:
    """Return the tasks that leave a machine anyway and whose room or absence is needed by those who got a
    place there.
    """
    preemption = prospect.preemption
    guests = prospect.guests.get(machine, [])
    span = range(int(prospect.first[machine]), int(prospect.first[machine + 1]))
    needed = []
    for task in reversed([task for task in span if preemption.leaving[task]]):
        kind = prospect.problem.classes + int(preemption.kind[task])
        ruled = prospect.rules(kind).matters
        kept = machine in prospect.kept.guests
        if not ruled and not kept and _leaves_room(prospect, machine, guests, prospect.sizes[task]):
            prospect.room[machine] -= prospect.sizes[task]
        else:
            needed.append(task)
    return sorted({*needed, *_list_awaited_elsewhere(prospect, machine, guests)})


def _list_awaited_elsewhere(prospect: Prospect, machine: int, guests: list[int]) -> set[int]:
    """Return tasks that leave other machines and that keep ``guests`` out of a domain which the machine is
    in.
    """
    state, preemption = prospect.state, prospect.preemption
    numbers = {each.counter for cls in guests for each in prospect.rules(cls).exclusions}
    found = set()
    for number in numbers:
        counter = state.rules.counters[number]
        if counter.coarse and counter.domain[machine] >= 0:
            same = preemption.leaving & (counter.domain[preemption.machine] == counter.domain[machine])
            found.update(np.flatnonzero(same & find_counted(prospect, number)[:-1]).tolist())
    return found
