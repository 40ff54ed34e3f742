"""Ends a stage of preemption: lets needless victims stay, and says which task waits for which victims."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.preemption.victims.covering import find_counted


def consolidate(now: PreemptionState, begin: int) -> None:
    """Move placed tasks to machines that have become free elsewhere; then spare victims that need not leave any more.

    ``begin``: index in ``now.taken`` of the first place that is considered.
    """
    given = now.taken[begin:]
    touched = set()
    if not now.problem.irrevocable:
        for cls, machine in reversed(given[-now.tuning.most_moves :]):
            if now.chosen.get(machine) and _move(now, cls, machine):
                touched.add(machine)
    touched.update(machine for machine, preemptors in now.preemptors.items() if len(preemptors) > 1)
    for machine in sorted(touched):
        _reprieve(now, machine)
    reprieve_gangs(now)


def reprieve_gangs(now: PreemptionState) -> None:
    """Let gangs that would leave as a whole, or groups in such gangs, keep the members that need not leave."""
    for gang in np.flatnonzero(now.spare < 0).tolist():
        if now.gangs.find_outermost_left(gang, now.spare) == gang:
            _reprieve_gang(now, gang)


def _move(now: PreemptionState, cls: int, machine: int) -> bool:
    """Move a task from ``machine`` to a place that needs no victims, if a victim on ``machine`` can then stay."""
    request = now.request(cls)
    wanted = np.flatnonzero(now.heeds(cls))
    roomy = np.flatnonzero((now.room[:, wanted] >= request[wanted]).all(axis=1))
    roomy = roomy[roomy != machine]
    if len(roomy) == 0:
        return False
    places = roomy[now.usable(cls)[roomy]]
    now.withdraw(cls, machine)
    if any(_can_stay(now, machine, victim) for victim in now.chosen[machine]):
        for other in places.tolist():
            if now.allows(cls, other):
                now.put(cls, other)
                _reprieve(now, machine)
                return True
    now.put(cls, machine)
    return False


def _reprieve(now: PreemptionState, machine: int) -> None:
    """Let needless victims on a machine stay: first those beyond budgets, then the most important, then the oldest."""
    preemption = now.preemption
    order = sorted(
        now.chosen.get(machine, ()),
        key=lambda victim: (
            -_is_beyond(now, victim),
            -int(preemption.victim_priority[victim]),
            float(preemption.started[victim]),
            victim,
        ),
    )
    for victim in order:
        if _can_stay(now, machine, victim):
            now.spare_victim(victim)


def _reprieve_gang(now: PreemptionState, gang: int) -> None:
    """Let members of a gang that leaves as a whole stay, if it and each group in it can lose the other members."""
    members = now.gangs.members(gang).tolist()
    stay: list[int] = []
    for victim in sorted(members, key=lambda each: -int(now.preemption.victim_priority[each])):
        if _not_needed(now, int(now.preemption.machine[victim]), victim):
            now.spare_victim(victim)
            stay.append(victim)
    gang_of = now.preemption.gang
    while going := [victim for victim in stay if now.gangs.has_left(int(gang_of[victim]), now.spare)]:
        now.evict(going)
        stay = [victim for victim in stay if not now.gone[victim]]


def _is_beyond(now: PreemptionState, victim: int) -> bool:
    preemption = now.preemption
    return any(now.allowed[budget] < 0 for budget in preemption.budgets[preemption.kind[victim]])


def _can_stay(now: PreemptionState, machine: int, victim: int) -> bool:
    """Return whether a victim may stay on its machine by itself; it may not if its gang leaves as a whole."""
    gang = int(now.preemption.gang[victim]) if len(now.spare) else -1
    stays = gang < 0 or not now.gangs.has_left(gang, now.spare)
    return stays and _not_needed(now, machine, victim)


def _not_needed(now: PreemptionState, machine: int, victim: int) -> bool:
    """Return whether all tasks that got places on a machine still fit if a victim stays there."""
    preemptors = now.preemptors.get(machine, [])
    if not _leaves_room(now, machine, preemptors, now.sizes[victim]):
        return False
    if not now.ledger_closed.stays_open(machine, set(now.list_gone(machine)) - {victim}):
        return False
    state = now.state
    kind = now.problem.classes + int(now.preemption.kind[victim])
    if not now.rules(kind).matters:
        return True
    if state.rules.matters_elsewhere(kind):
        return not preemptors  # a task elsewhere in the domain may fit only if the victim leaves
    state.add(kind, machine, 1)
    allowed = True
    for cls in preemptors:
        state.add(cls, machine, -1)
        allowed = allowed and state.allows(cls, machine)
        state.add(cls, machine, 1)
    state.add(kind, machine, -1)
    return allowed


def _leaves_room(now: PreemptionState, machine: int, preemptors: list[int], size: Int64) -> bool:
    """Return whether a machine can do without ``size`` in all columns that its new tasks, ``preemptors``, need."""
    if not preemptors:
        return True
    needed = np.logical_or.reduce([now.heeds(cls) for cls in preemptors])
    return bool((now.room[machine] >= size)[needed & (size > 0)].all())


def list_decisions(now: PreemptionState) -> tuple[PreemptionDecision, ...]:
    """Return the decisions of preemption, one for each task that gets a place.

    All tasks that get a place on a machine wait for all victims on the machine. If several tasks get places on the
    machine, the victims count as evicted for the first of them.
    """
    preemption = now.preemption
    budget_left = preemption.allowed.copy()
    evicted: set[int] = set()
    waits: dict[int, tuple[int, ...]] = {}
    found = []
    for index, (cls, machine) in enumerate(now.taken):
        chosen = _add_gangs(now, sorted(now.chosen.get(machine, ())))
        if machine not in waits:
            waits[machine] = (*chosen, *_list_awaited(now, machine))
        elsewhere = now.elsewhere.get(index, ())
        chosen = tuple(dict.fromkeys((*chosen, *elsewhere)))
        evicts = tuple(
            victim for victim in chosen if victim not in evicted and not preemption.leaving[victim]
        )
        evicted.update(evicts)
        beyond = set()
        for victim in evicts:
            budgets = preemption.budgets[preemption.kind[victim]]
            granted = len(preemption.granted) > 0 and bool(preemption.granted[victim])
            if granted or any(budget_left[budget] <= 0 for budget in budgets):
                beyond.add(victim)
            for budget in budgets:
                budget_left[budget] -= 1
        awaits = tuple(dict.fromkeys((*waits[machine], *elsewhere)))
        found.append(PreemptionDecision(cls, machine, evicts, awaits, frozenset(beyond)))
    return tuple(found)


def _add_gangs(now: PreemptionState, victims: list[int]) -> tuple[int, ...]:
    """Return ``victims``, and the members on other machines of their gangs that leave as a whole."""
    if not len(now.spare):
        return tuple(victims)
    gangs = dict.fromkeys(gang for gang in now.preemption.gang[victims].tolist() if gang >= 0)
    whole = dict.fromkeys(now.gangs.find_outermost_left(gang, now.spare) for gang in gangs)
    members = (member for gang in whole if gang >= 0 for member in now.gangs.members(gang).tolist())
    return tuple(dict.fromkeys((*victims, *members)))


def _list_awaited(now: PreemptionState, machine: int) -> list[int]:
    """Return the tasks that leave a machine anyway and must be gone before its new tasks fit."""
    preemption = now.preemption
    preemptors = now.preemptors.get(machine, [])
    span = range(int(now.first[machine]), int(now.first[machine + 1]))
    needed = []
    for task in reversed([task for task in span if preemption.leaving[task]]):
        kind = now.problem.classes + int(preemption.kind[task])
        ruled = now.rules(kind).matters
        kept = machine in now.ledger_closed.preemptors
        if not ruled and not kept and _leaves_room(now, machine, preemptors, now.sizes[task]):
            now.room[machine] -= now.sizes[task]
        else:
            needed.append(task)
    return sorted({*needed, *_list_awaited_elsewhere(now, machine, preemptors)})


def _list_awaited_elsewhere(now: PreemptionState, machine: int, preemptors: list[int]) -> set[int]:
    """Return tasks that leave other machines, and until then keep the new tasks (``preemptors``) out of a domain."""
    state, preemption = now.state, now.preemption
    numbers = {each.counter for cls in preemptors for each in now.rules(cls).exclusions}
    found = set()
    for number in numbers:
        counter = state.rules.counters[number]
        if counter.coarse and counter.domain[machine] >= 0:
            same = preemption.leaving & (counter.domain[preemption.machine] == counter.domain[machine])
            found.update(np.flatnonzero(same & find_counted(now, number)[:-1]).tolist())
    return found
